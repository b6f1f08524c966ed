/* Origins that fail: the client gets a status and a reason, in time, and the proxy goes on. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <signal.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#define QUICK "origins:\n  - url: %O\n    connect_timeout: 500ms\n    read_timeout: 300ms\n"

SCENARIO("a dead origin is 502 connect-failed")
{
	origin_says("/x", .body = "back");
	edge_start();
	origin_dies();
	struct answer a = get("/x");
	expect_status(a, 502);
	expect_verdict(a, "detail=connect-failed");
	edge_expect_stat("origin.errors", 1);
	origin_returns();
	expect_answer(get("/x"), 200, "back");
}

SCENARIO("an origin that does not answer is 504 read-timeout")
{
	origin_says("/x", .mute = true);
	edge_start_yaml(QUICK);
	struct answer a = get("/x");
	expect_status(a, 504);
	expect_verdict(a, "detail=read-timeout");
}

SCENARIO("an origin that stops in the middle of a body cuts the answer, visibly")
{
	struct barrier *never = barrier_new();
	origin_says("/x", .pattern_bytes = 100000, .hold_body = never, .hold_at = 50000);
	clock_hold();
	edge_start_yaml(QUICK);
	struct client *c = client_open();
	char body[60000];
	client_request(c, "GET", "/x", NULL);
	expect_status(client_read_head(c), 200);
	barrier_arrivals(never, 1);
	clock_advance(350);
	expect_int((long long)client_read_body(c, body, sizeof body), 50000);
}

SCENARIO("an origin name that does not exist is 502 dns-failed")
{
	edge_start_yaml(
		"origins:\n  - url: http://no-such-host.invalid\n    connect_timeout: 3s\n");
	struct answer a = get("/x");
	expect_that(a.status == 502 || a.status == 504, "got %d", a.status);
	expect_verdict(a, "detail=dns-failed");
}

SCENARIO("an origin that closes without an answer is 502, and a GET is tried at most once more")
{
	origin_says("/close", .raw = "\r\n");
	edge_start();
	struct answer a = get("/close");
	expect_status(a, 502);
	expect_between(origin_requests(), 1, 2);
}

SCENARIO("a POST is never sent twice")
{
	origin_says("/p", .raw = "HTTP/1.1 ");
	origin_says("/warm", .body = "x");
	edge_start("--workers", "1");
	get("/warm");
	struct answer a = ask("POST", "/p", NULL, "x");
	expect_status(a, 502);
	origin_expect_requests_for("/p", 1);
}

SCENARIO("a 5xx of the origin's is passed on as it is")
{
	origin_says("/x", .status = 503, .fields = "Retry-After: 7\r\n", .body = "busy");
	edge_start();
	struct answer a = get("/x");
	expect_answer(a, 503, "busy");
	expect_field(a, "Retry-After", "7");
}

SCENARIO("failures are not stored")
{
	origin_says("/x", .raw = "HTTP/1.1 200 OK\r\nContent-Len");
	origin_says("/x", .fields = "Cache-Control: max-age=60\r\n", .body = "good");
	edge_start();
	expect_status(get("/x"), 502);
	expect_answer(get("/x"), 200, "good");
}

/* ---- https ----------------------------------------------------------------------------------- */

static void
certificate(void)
{
	needs("openssl");
	struct output o =
		program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
			"ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
			"-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout",
			text("%s/key.pem", kit_dir()), "-out", text("%s/cert.pem", kit_dir()));
	expect_that(o.status == 0, "openssl: %s", o.err);
	origin_tls(text("%s/cert.pem", kit_dir()), text("%s/key.pem", kit_dir()));
}

SCENARIO("an https origin with its CA file is trusted")
{
	certificate();
	origin_says("/x", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 300000,
		    .seed = 1);
	edge_start_yaml("origins:\n  - url: %O\n    ca_file: %D/cert.pem\n");
	struct answer a = get("/x");
	expect_status(a, 200);
	expect(a.body_bytes == 300000 && is_pattern(a.body, 1, 0, 300000));
	expect_hit(get("/x"));
}

SCENARIO("an https origin with a certificate nobody vouches for is 502 tls-failed")
{
	certificate();
	origin_says("/x", .body = "secret");
	edge_start();
	struct answer a = get("/x");
	expect_status(a, 502);
	expect_verdict(a, "detail=tls-failed");
	origin_expect_requests(0);
}

SCENARIO("an https origin under another name is 502 tls-failed")
{
	needs("openssl");
	struct output o = program(
		"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
		"-nodes", "-days", "2", "-subj", "/CN=other.example", "-addext",
		"subjectAltName=DNS:other.example", "-keyout", text("%s/key.pem", kit_dir()),
		"-out", text("%s/cert.pem", kit_dir()));
	expect_int(o.status, 0);
	origin_tls(text("%s/cert.pem", kit_dir()), text("%s/key.pem", kit_dir()));
	origin_says("/x", .body = "secret");
	edge_start_yaml("origins:\n  - url: %O\n    ca_file: %D/cert.pem\n");
	struct answer a = get("/x");
	expect_status(a, 502);
	expect_verdict(a, "detail=tls-failed");
	origin_expect_requests(0);
}

SCENARIO("verify: off trusts anybody")
{
	certificate();
	origin_says("/x", .body = "hello");
	edge_start_yaml("origins:\n  - url: %O\n    verify: off\n");
	expect_answer(get("/x"), 200, "hello");
}

SCENARIO("a plain origin where https was said is an error in time")
{
	origin_says("/x", .body = "hello");
	edge_start_yaml(
		text("origins:\n  - url: https://127.0.0.1:%u\n    connect_timeout: 300ms\n",
		     origin_port()));
	/* This origin waits for the end of a head that will not come, so it is a matter of time. */
	struct answer a = get("/x");
	expect_status(a, 504);
	expect_verdict(a, "detail=connect-timeout");
}

SCENARIO("a wrong origin URL is refused at the start with a sentence")
{
	char *says;
	int status = edge_refuses(&says, "--origin", "ftp://x");
	expect_that(status == 2 && strstr(says, "ftp://x"), "exit %d: %s", status, says);
}

SCENARIO(
	"an origin whose CA file cannot be read is out of reach after a start, and another one is not")
{
	certificate();
	origin_says("*", .body = "hello");
	edge_start_yaml("origins:\n"
			"  - { name: web, url: \"%O\", ca_file: \"%D/cert.pem\" }\n"
			"  - { name: lost, url: \"%O\", ca_file: \"%D/none.pem\" }\n"
			"  - { name: bare, url: \"%O\", verify: off, cert_file: \"%D/none.pem\" }\n"
			"routes:\n"
			"  - { path: /lost, origin: lost }\n"
			"  - { path: /bare, origin: bare }\n"
			"  - { path: /, origin: web }\n");
	expect(edge_said("twice.yaml:3: origins.ca_file: cannot read") &&
	       edge_said("goes on without it"));
	expect_answer(get("/x"), 200, "hello");
	int before = origin_requests();
	struct answer a = get("/lost");
	expect_status(a, 502);
	expect_verdict(a, "detail=tls-failed");
	expect_status(get("/bare"), 502); /* it was to show who asks */
	expect_int(origin_requests(), before);
	program("cp", text("%s/cert.pem", kit_dir()), text("%s/none.pem", kit_dir()));
	edge_rewrite("origins:\n"
		     "  - { name: web, url: \"%O\", ca_file: \"%D/cert.pem\" }\n"
		     "  - { name: lost, url: \"%O\", ca_file: \"%D/none.pem\" }\n"
		     "routes:\n"
		     "  - { path: /lost, origin: lost }\n"
		     "  - { path: /, origin: web }\n");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_answer(get("/lost"), 200, "hello");
}

/* ---- certificates of our own ---------------------------------------------------------------- */

static const char *
in_dir(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

/* An origin that answers only clients of its authority; a.pem and b.pem are such certificates. */
static void
origin_that_asks(void)
{
	cert_write(in_dir("web.pem"), .names = "web.example");
	cert_write(in_dir("ca.pem"), .names = "clients", .ca = true);
	cert_write(in_dir("a.pem"), .names = "a", .issuer = in_dir("ca.pem"));
	cert_write(in_dir("b.pem"), .names = "b", .issuer = in_dir("ca.pem"),
		   .key_in = in_dir("b.key"));
	origin_tls(in_dir("web.pem"), in_dir("web.pem"));
	origin_tls_asks(in_dir("ca.pem"));
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "hello", .times = 99);
}

static const char *
group_with(const char *name, const char *files)
{
	return text("  - { name: %s, url: \"%%O\", server_name: web.example, ca_file: "
		    "%%D/web.pem%s }\n",
		    name, files);
}

SCENARIO("each group shows an origin its own certificate, on connections of its own")
{
	origin_that_asks();
	edge_start_yaml(text("origins:\n%s%s%sroutes:\n  - { path: /a, origin: a }\n"
			     "  - { path: /b, origin: b }\n",
			     group_with("none", ""), group_with("a", ", cert_file: %D/a.pem"),
			     group_with("b", ", cert_file: %D/b.pem, key_file: %D/b.key")));
	for (int i = 0; i < 6; i++) {
		const char *who = i % 2 ? "a" : "b";
		expect_answer(get(text("/%s", who)), 200, "hello");
		expect_text(origin_last()->client, who);
		expect_text(heard_field(origin_last(), "Host"),
			    heard_field(origin_request(0), "Host"));
	}
	expect_status(get("/none"), 502);
	origin_expect_requests(6);
}

SCENARIO("the log says that an origin wants a client certificate, or refuses the one it is shown")
{
	origin_that_asks();
	cert_write(in_dir("stranger.pem"), .names = "a");
	edge_start_yaml(text("origins:\n%s%sroutes: [ { path: /other, origin: other } ]\n",
			     group_with("none", ""),
			     group_with("other", ", cert_file: %D/stranger.pem")));
	expect_status(get("/"), 502);
	wait_until(edge_said("certificate_required: it wants a client certificate"));
	expect_status(get("/other"), 502);
	wait_until(edge_said("it refuses the client certificate"));
}

static struct output
reload(void)
{
	return program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()));
}

SCENARIO("a reload takes a certificate that was renewed, or says why not and keeps the old one")
{
	origin_that_asks();
	edge_start_yaml(text("origins:\n%s", group_with("a", ", cert_file: %D/a.pem")));
	expect_status(get("/"), 200);
	expect_text(origin_last()->client, "a");
	cert_write(in_dir("a.pem"), .names = "a2", .issuer = in_dir("ca.pem"));
	struct output o = reload();
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	expect_status(get("/"), 200);
	expect_text(origin_last()->client, "a2");
	cert_write(in_dir("a.pem"), .names = "a3", .issuer = in_dir("ca.pem"),
		   .key_of = in_dir("b.key"));
	o = reload();
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "origins.cert_file") && strstr(o.err, "a.pem") &&
			    strstr(o.err, "does not belong"),
		    "%s", o.err);
	expect_status(get("/"), 200);
	expect_text(origin_last()->client, "a2");
}

/* clang-format off */
static const struct { const char *says, *files, *setting, *why; } bad_files[] = {
	{ "a certificate that is not there", "cert_file: %D/none.pem", "origins.cert_file", "No such file" },
	{ "a key that is not there", "cert_file: %D/a.pem, key_file: %D/none.key", "origins.key_file", "No such file" },
	{ "a certificate without its key", "cert_file: %D/b.pem", "origins.cert_file", "holds no private key" },
	{ "a key for a certificate", "cert_file: %D/b.key", "origins.cert_file", "holds no certificate" },
	{ "a certificate for a key", "cert_file: %D/a.pem, key_file: %D/ca.crt", "origins.key_file", "holds no private key" },
	{ "the key of another", "cert_file: %D/a.pem, key_file: %D/b.key", "origins.key_file", "does not belong" },
	{ "a key with a password", "cert_file: %D/a.pem, key_file: %D/locked.key", "origins.key_file", "password" },
	{ "an authority that is none", "ca_file: %D/b.key", "origins.ca_file", "cannot read" },
};
/* clang-format on */

SCENARIO("certificates for origins that cannot be used are named at the start")
{
	needs("openssl");
	cert_write(in_dir("a.pem"), .names = "a");
	cert_write(in_dir("b.pem"), .names = "b", .key_in = in_dir("b.key"));
	cert_write(in_dir("ca.crt"), .names = "ca", .key_in = in_dir("ca.key"));
	struct output o = program("openssl", "pkey", "-in", in_dir("b.key"), "-aes256", "-passout",
				  "pass:secret", "-out", in_dir("locked.key"));
	expect_that(o.status == 0, "%s", o.err);
	for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
		edge_yaml(text("origins:\n  - { url: \"https://127.0.0.1:1\", %s }\n",
			       bad_files[i].files));
		edge_start();
		expect_that(edge_said("twice.yaml:2") && edge_said(bad_files[i].setting) &&
				    edge_said(bad_files[i].why),
			    "%s: %s", bad_files[i].says, edge_stderr());
		edge_stop();
	}
}

/* ---- connections that die -------------------------------------------------------------------- */

static const struct {
	const char *method, *body;
	int status;
} dying[] = {
	{"GET", NULL, 200},	    {"PUT", "small", 200},    {"DELETE", NULL, 200},
	{"PROPFIND", "small", 200}, {"REPORT", "small", 200}, {"SEARCH", NULL, 200},
	{"MKCOL", NULL, 200},	    {"POST", "small", 502},   {"LOCK", "small", 502},
};

SCENARIO("a kept connection that dies under an idempotent request costs nothing; a POST is told")
{
	enum { N = sizeof dying / sizeof *dying };
	origin_says("/warm", .body = "warm");
	for (int i = 0; i < N; i++) {
		origin_says(text("/%s", dying[i].method),
			    .raw = ""); /* heard, then closed without a byte */
		origin_says(text("/%s", dying[i].method), .body = "second");
	}
	edge_start("--workers", "1");
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		get("/warm");
		struct answer a =
			ask(dying[i].method, text("/%s", dying[i].method), NULL, dying[i].body);
		if (a.status == dying[i].status)
			continue;
		wrong++;
		note("%s: got %d (%s)", dying[i].method, a.status, verdict(a));
	}
	expect_int(wrong, 0);
}

/* Lines that the proxy has written are still on their way when its answer is here already. */
static void
expect_lines(const char *words, int n)
{
	wait_until(edge_times_said(words) >= n);
	expect_int(edge_times_said(words), n);
}

/* A port on which nobody accepts and whose queue is full: connections to it hang. */
static unsigned
hanging_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	expect(!bind(fd, (struct sockaddr *)&a, n) && !listen(fd, 0) &&
	       !getsockname(fd, (struct sockaddr *)&a, &n));
	/* It holds one, which may come to it a moment after its client hears so. */
	expect(!connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof a));
	expect(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, KIT_FOREVER) == 1);
	return ntohs(a.sin_port);
}

SCENARIO(
	"a first origin that takes no connection is remembered: one request waits for it, not each")
{
	enum { N = 9 };
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	unsigned port = hanging_port();
	clock_hold();
	edge_start_yaml(text("origins:\n  - url: http://127.0.0.1:%u\n    connect_timeout: 200ms\n"
			     "  - url: %%O\n",
			     port));
	struct call *first = call_get("/0");
	wait_until(kit_connects_in_vain("127.0.0.1", port) > 0);
	clock_advance(250);
	call_expect(first, 200, "hello");
	for (int i = 1; i < N; i++)
		expect_answer(get(text("/%d", i)), 200, "hello");
	expect_lines("is left alone for a while: connect-timeout", 1);
	expect_int(origin_requests(), N);
	expect_int((long long)edge_stat("origin.retries"), 1); /* no second has passed */
}

SCENARIO("the first failure of a lone origin is in the log, and the next such one after a minute")
{
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	clock_hold();
	edge_start();
	for (int i = 0; i < 3; i++) {
		origin_dies();
		expect_status(get("/x"), 502);
		expect_lines("fails: connect-failed", i < 2 ? 1 : 2);
		origin_returns();
		expect_answer(get("/x"), 200, "hello");
		expect_lines("answers again", i < 2 ? 1 : 2);
		clock_advance(i ? 60000 : 0);
	}
	expect(edge_said("1 time; it is asked all the same, for there is no other"));
}

SCENARIO("an origin that is away is one line in the log, and one when it is back")
{
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	edge_start();
	expect_answer(get("/0"), 200, "hello");
	origin_dies();
	for (int i = 0; i < 5; i++)
		expect_status(get("/1"), 502);
	expect_lines("fails: connect-failed", 1);
	expect_int(edge_times_said("answers again"), 0);
	origin_returns();
	/* A single origin is asked whatever is remembered of it. */
	expect_answer(get("/2"), 200, "hello");
	expect_answer(get("/3"), 200, "hello");
	expect_lines("answers again", 1);
}
