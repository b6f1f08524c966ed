/* Listeners with https://: which certificate is shown, what is resumed, and how connections end. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <signal.h>
#include <unistd.h>

static const char listens[] = "listen: [ \"https://127.0.0.1:0\", \"127.0.0.1:0\" ]\n";

static const char *
in_dir(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

static void
start_with(const char *tls, const char *more)
{
	edge_yaml(text("%stls:\n%s%s", listens, tls, more));
	edge_start();
}

/* One certificate for a.example and all below it. */
static void
start_simply(const char *more)
{
	cert_write(in_dir("a.pem"), .names = "a.example,*.a.example");
	start_with("  certificates: [ %D/a.pem ]\n", more);
}

/* Of the listener without TLS. */
static unsigned
plain_port(void)
{
	const char *at = strstr(edge_stderr(), "listening on 127.0.0.1:");
	return at ? (unsigned)strtoul(strrchr(strndup(at, strcspn(at, "\n")), ':') + 1, NULL, 10)
		  : 0;
}

static struct answer
ask_host(struct client *c, const char *host, const char *target)
{
	client_send(c, text("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, host));
	return client_read(c, "GET");
}

static struct client *
open_as(const char *name)
{
	struct client *c = client_open_tls(.name = name);
	expect_that(client_is_in(c), "no handshake for %s", name);
	return c;
}

/* ---- requests ------------------------------------------------------------------------------ */

SCENARIO("what came by TLS is another object than what came without, and the origin is told")
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "secure");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "plain");
	start_simply("");
	struct client *c = open_as("a.example");
	expect_answer(ask_host(c, "a.example", "/x"), 200, "secure");
	expect_text(heard_field(origin_request(0), "X-Forwarded-Proto"), "https");
	struct answer again = ask_host(c, "a.example", "/x");
	expect_answer(again, 200, "secure");
	expect_hit(again);
	struct client *p = client_open_to(plain_port());
	expect_answer(ask_host(p, "a.example", "/x"), 200, "plain");
	expect_text(heard_field(origin_request(1), "X-Forwarded-Proto"), "http");
	edge_expect_stat("tls.handshakes", 1);
	edge_expect_stat("tls.tls_1_3", 1);
}

SCENARIO("the log says by which TLS a request came, and whether its session was resumed")
{
	origin_says("/x", .body = "hello");
	start_simply("access_log: \"-\"\nworkers: 1\n"); /* its lines are in order */
	struct client *c = client_open_tls(.name = "a.example", .alpn = "http/1.1");
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	struct client *again = client_open_tls(.name = "a.example", .resume = c);
	expect(client_was_resumed(again));
	expect_answer(ask_host(again, "a.example", "/x"), 200, "hello");
	struct client *p = client_open_to(plain_port());
	expect_answer(ask_host(p, "a.example", "/x"), 200, "hello");
	edge_stop();
	char *log = edge_stdout(), *line[4] = {NULL};
	for (int i = 0; i < 4; i++)
		expect((line[i] = strtok_r(log, "\n", &log)) != NULL);
	static const char tls[] = "tls=\"TLSv1.3\" cipher=\"TLS_AES_", sni[] = "sni=\"a.example\"";
	expect_that(strstr(line[0], tls) && strstr(line[0], sni) &&
			    strstr(line[0], "alpn=\"http/1.1\"") && !strstr(line[0], " resumed") &&
			    !strstr(line[0], " reused"),
		    "first: %s", line[0]);
	expect_that(strstr(line[1], " reused tls=") && !strstr(line[1], " resumed"), "second: %s",
		    line[1]);
	expect_that(strstr(line[2], tls) && strstr(line[2], sni) &&
			    strstr(line[2], "alpn=\"-\" resumed") && !strstr(line[2], " reused"),
		    "resumed: %s", line[2]);
	expect_that(!strstr(line[3], "tls="), "plain: %s", line[3]);
}

SCENARIO("curl and openssl s_client are served, by TLS 1.2 and 1.3; older ones are not")
{
	needs("curl");
	needs("openssl");
	origin_says("/x", .body = "hello");
	start_simply("");
	const char *url = text("https://a.example:%u/x", edge_port());
	const char *at = text("a.example:%u:127.0.0.1", edge_port());
	const char *versions[][2] = {{"--tlsv1.3", "1.3"}, {"--tlsv1.2", "1.2"}};
	for (int i = 0; i < 2; i++)
		expect_text(program("curl", "-sS", "--fail", "--resolve", at, "--cacert",
				    in_dir("a.pem"), versions[i][0], "--tls-max", versions[i][1],
				    url)
				    .out,
			    "hello");
	edge_expect_stat("tls.tls_1_2", 1);
	edge_expect_stat("tls.tls_1_3", 1);
	const char *port = text("127.0.0.1:%u", edge_port());
	struct output old = program("openssl", "s_client", "-connect", port, "-tls1_1", "-cipher",
				    "ALL:@SECLEVEL=0");
	expect_that(strstr(old.out, "Cipher is (NONE)"), "TLS 1.1: %s", old.out);
	edge_wait_stat("tls.nothing_shared", 1);
	struct output weak = program("openssl", "s_client", "-connect", port, "-tls1_2", "-cipher",
				     "AES128-SHA");
	expect_that(strstr(weak.out, "Cipher is (NONE)"), "AES128-SHA: %s", weak.out);
	struct output fine = program("openssl", "s_client", "-connect", port, "-servername",
				     "www.a.example", "-CAfile", in_dir("a.pem"),
				     "-verify_hostname", "www.a.example", "-verify_return_error");
	expect_that(strstr(fine.out, "Verify return code: 0 (ok)"), "s_client: %s", fine.out);
}

SCENARIO("a request without TLS is told in its own words where it went wrong")
{
	start_simply("");
	struct client *c = client_open_to(edge_port());
	client_request(c, "GET", "/", NULL);
	expect_status(client_read(c, "GET"), 400);
	client_expect_closed(c);
	edge_expect_stat("tls.plain", 1);
	edge_expect_stat("requests.total", 0);
}

SCENARIO("a client that offers only other protocols is refused")
{
	start_simply("");
	expect(!client_is_in(client_open_tls(.alpn = "imap")));
	edge_wait_stat("tls.nothing_shared", 1);
	struct client *c = client_open_tls(.alpn = "http/1.1");
	expect_text(client_alpn(c), "http/1.1");
}

SCENARIO("a host that the certificate does not have is misdirected, unless it was asked for")
{
	origin_says("*", .body = "hello");
	start_simply("");
	expect_answer(ask_host(open_as("a.example"), "A.example.:443", "/x"), 200, "hello");
	expect_answer(ask_host(open_as("a.example"), "www.a.example", "/x"), 200, "hello");
	expect_answer(ask_host(open_as("b.example"), "b.example", "/x"), 200, "hello");
	expect_answer(ask_host(open_as("a.example"), "127.0.0.1", "/x"), 200, "hello");
	struct client *c = open_as("a.example");
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	expect_status(ask_host(c, "b.example", "/x"), 421);
	client_expect_closed(c);
	expect_status(ask_host(open_as("a.example"), "x.www.a.example", "/x"), 421);
	struct client *second = client_open_tls(.name = "a.example", .only_1_2 = true);
	expect_answer(ask_host(second, "a.example", "/x"), 200, "hello");
	origin_expect_requests(6);
}

/* ---- certificates -------------------------------------------------------------------------- */

SCENARIO("certificates are chosen by name: its own, then a star, then the first")
{
	cert_write(in_dir("1.pem"), .names = "first.example");
	cert_write(in_dir("2.pem"), .names = "*.b.example");
	cert_write(in_dir("3.pem"), .names = "www.b.example", .key_in = in_dir("3.key"));
	start_with("  certificates: [ %D/1.pem, %D/2.pem, %D/3.pem ]\n", "");
	static const char *const rows[][2] = {
		{"first.example", "first.example"}, {"www.b.example", "www.b.example"},
		{"WWW.B.example", "www.b.example"}, {"img.b.example", "*.b.example"},
		{"b.example", "first.example"},	    {"x.img.b.example", "first.example"},
		{"other.example", "first.example"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		expect_text(client_saw(open_as(rows[i][0])), rows[i][1]);
	expect_text(client_saw(client_open_tls(.name = NULL)), "first.example");
}

SCENARIO("RSA and ECDSA side by side: a client is shown the one it knows")
{
	cert_write(in_dir("e.pem"), .names = "a.example");
	cert_write(in_dir("r.pem"), .names = "a.example", .rsa = true);
	start_with("  certificates: [ %D/e.pem, %D/r.pem ]\n", "");
	expect(!client_saw_rsa(open_as("a.example")));
	struct client *c = client_open_tls(.name = "a.example", .rsa_only = true);
	expect(client_is_in(c) && client_saw_rsa(c));
}

SCENARIO("a directory as ACME clients lay it out: chains, keys and old certificates beside")
{
	const char *live = in_dir("live");
	program("mkdir", "-p", text("%s/a.example", live), text("%s/b.example", live));
	cert_write(text("%s/ca.pem", kit_dir()), .names = "CA", .ca = true);
	cert_write(text("%s/a.example/fullchain.pem", live), .names = "a.example",
		   .key_in = text("%s/a.example/privkey.pem", live));
	program("cp", text("%s/a.example/fullchain.pem", live),
		text("%s/a.example/cert.pem", live));
	cert_write(text("%s/a.example/chain.pem", live), .names = "CA", .ca = true,
		   .key_in = in_dir("ca.key"));
	cert_write(text("%s/b.example/b.crt", live), .names = "b.example",
		   .key_in = text("%s/b.example/b.key", live));
	cert_write(text("%s/b.example/old.pem", live), .names = "b.example", .from_days = -90,
		   .until_days = -1);
	program("cp", text("%s/b.example/b.key", live), text("%s/README", kit_dir()));
	start_with("  certificates: [ %D/live ]\n", "");
	expect_text(client_saw(open_as("a.example")), "a.example");
	expect_text(client_saw(open_as("b.example")), "b.example");
}

/* ---- what is wrong with certificates --------------------------------------------------------- */

static void
expect_refused(const char *tls, const char *words, const char *file)
{
	char *says;
	edge_yaml(text("%stls:\n%s", listens, tls));
	int status = edge_refuses(&says);
	expect_that(status == 2 && strstr(says, words) && strstr(says, file),
		    "expected status 2, \"%s\" and %s; there came %d: %s", words, file, status,
		    says);
}

static void
expect_started_without(const char *tls, const char *words, const char *file)
{
	edge_yaml(text("%stls:\n%s", listens, tls));
	edge_start();
	expect_that(edge_said(words) && edge_said(text("%s", file)) &&
			    edge_said("goes on without it"),
		    "expected \"%s\" and %s; there came: %s", words, file, edge_stderr());
	edge_stop();
}

SCENARIO("what is wrong with a certificate is said, with the file, and a start goes on without it")
{
	cert_write(in_dir("good.pem"), .names = "good.example");
	cert_write(in_dir("other.pem"), .names = "a.example", .key_of = in_dir("good.pem"));
	cert_write(in_dir("alone.crt"), .names = "a.example", .key_in = in_dir("elsewhere"));
	expect_started_without("  certificates: [ %D/other.pem ]\n", "does not belong to",
			       in_dir("other.pem"));
	expect_started_without("  certificates: [ %D/alone.crt ]\n", "there is no key for",
			       in_dir("alone.crt"));
	expect_started_without("  certificates: [ %D/none.pem ]\n", "No such file",
			       in_dir("none.pem"));
	expect_started_without("  certificates: [ %D/twice.yaml ]\n", "holds no certificate",
			       in_dir("twice.yaml"));
	expect_started_without("  certificates: [ %D/good.pem ]\n  ticket_key: %D/none\n",
			       "No such file", "tls.ticket_key");
}

SCENARIO(
	"a start that misses a certificate serves the others, and a reload brings it when it is there")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("good.pem"), .names = "good.example");
	start_with("  certificates: [ %D/none.pem, %D/good.pem ]\n", "");
	struct client *c = open_as("good.example");
	expect_text(client_saw(c), "good.example");
	expect_answer(ask_host(c, "good.example", "/x"), 200, "hello");
	edge_signal(SIGHUP); /* nothing has changed: none.pem is still missing */
	wait_until(edge_said("was not reloaded"));
	cert_write(in_dir("none.pem"), .names = "none.example");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_text(client_saw(open_as("none.example")), "none.example");
}

SCENARIO("without any certificate clients without TLS are served, and no handshake succeeds")
{
	origin_says("*", .body = "hello");
	start_with("  certificates: [ %D/none.pem ]\n", "");
	struct client *c = client_open_to(plain_port());
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	struct client *no = client_open_tls(.name = "a.example");
	expect(!client_is_in(no));
	cert_write(in_dir("none.pem"), .names = "a.example");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_text(client_saw(open_as("a.example")), "a.example");
}

SCENARIO("a start refuses where it could serve nobody, or could not tell clients from strangers")
{
	char *says;
	cert_write(in_dir("good.pem"), .names = "good.example");
	edge_yaml("listen: \"https://127.0.0.1:0\"\ntls:\n  certificates: [ %D/none.pem ]\n");
	int status = edge_refuses(&says);
	expect_that(status == 2 && strstr(says, in_dir("none.pem")) &&
			    strstr(says, "twice.yaml:1: listen"),
		    "exit %d: %s", status, says);
	expect_refused("  certificates: [ %D/good.pem ]\n  client_ca: %D/none.pem\n",
		       "No such file", "tls.client_ca");
}

SCENARIO("SIGHUP takes over renewed certificates, and connections go on")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "first.example,a.example");
	start_with("  certificates: [ %D/a.pem ]\n", "");
	struct client *old = open_as("a.example");
	expect_text(client_saw(old), "first.example");
	cert_write(in_dir("a.pem"), .names = "second.example,a.example");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_text(client_saw(open_as("a.example")), "second.example");
	expect_answer(ask_host(old, "first.example", "/x"), 200, "hello");
}

SCENARIO("SIGHUP with a bad certificate changes nothing, and says which one it is")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	cert_write(in_dir("b.pem"), .names = "b.example");
	start_with("  certificates: [ %D/a.pem, %D/b.pem ]\n", "");
	cert_write(in_dir("a.pem"), .names = "renewed.example,a.example");
	cert_write(in_dir("b.pem"), .names = "b.example", .key_of = in_dir("a.pem"));
	edge_signal(SIGHUP);
	wait_until(edge_said("was not reloaded"));
	expect(edge_said(in_dir("b.pem")) && edge_said("does not belong to"));
	expect_text(client_saw(open_as("a.example")), "a.example");
	expect_text(client_saw(open_as("b.example")), "b.example");
	cert_write(in_dir("b.pem"), .names = "b.example");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	wait_until(strcmp(client_saw(open_as("a.example")), "renewed.example") == 0);
}

/* ---- certificates of another time ------------------------------------------------------------ */

SCENARIO("a certificate that has expired, or is not valid yet, is served as it is")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("good.pem"), .names = "good.example");
	cert_write(in_dir("old.pem"), .names = "old.example", .from_days = -90, .until_days = -1);
	cert_write(in_dir("new.pem"), .names = "new.example", .from_days = 1, .until_days = 90);
	start_with("  certificates: [ %D/good.pem, %D/old.pem, %D/new.pem ]\n", "");
	expect(edge_said(text("certificate in %s for old.example expired at", in_dir("old.pem"))));
	expect(edge_said(
		text("certificate in %s for new.example is not valid before", in_dir("new.pem"))));
	expect_text(client_saw(open_as("good.example")), "good.example");
	expect_text(client_saw(open_as("old.example")), "old.example");
	expect_text(client_saw(open_as("new.example")), "new.example");
}

SCENARIO("a reload takes over a certificate beside one that has expired, with a warning")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	cert_write(in_dir("b.pem"), .names = "b.example");
	start_with("  certificates: [ %D/a.pem, %D/b.pem ]\n", "");
	cert_write(in_dir("a.pem"), .names = "renewed.example,a.example");
	cert_write(in_dir("b.pem"), .names = "b.example", .from_days = -9, .until_days = -1);
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect(edge_said("warning: ") && edge_said("for b.example expired at"));
	expect_text(client_saw(open_as("a.example")), "renewed.example");
	expect_text(client_saw(open_as("b.example")), "b.example");
}

SCENARIO("check fails for a certificate that has expired")
{
	cert_write(in_dir("old.pem"), .names = "a.example", .from_days = -90, .until_days = -1);
	FILE *f = fopen(in_dir("t.yaml"), "w");
	fprintf(f,
		"cache: { dir: none }\nlisten: 'https://127.0.0.1:0'\nadmin: off\n"
		"origins: http://127.0.0.1:9\ntls: { certificates: [ %s ] }\n",
		in_dir("old.pem"));
	fclose(f);
	struct output o = program(edge_binary(), "check", "-c", in_dir("t.yaml"));
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "t.yaml:5: tls.certificates: ") && strstr(o.err, "expired at"),
		    "%s", o.err);
}

SCENARIO("an expired certificate gives way to a valid one of another kind for the same name")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("ec.pem"), .names = "a.example", .from_days = -9, .until_days = -1);
	cert_write(in_dir("rsa.pem"), .names = "a.example", .rsa = true);
	start_with("  certificates: [ %D/ec.pem, %D/rsa.pem ]\n", "");
	expect(client_saw_rsa(open_as("a.example")));
}

/* ---- sessions ------------------------------------------------------------------------------ */

SCENARIO("sessions are resumed by every worker, in both versions, and after a renewal")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	edge_yaml(text("%stls:\n  certificates: [ %%D/a.pem ]\n", listens));
	edge_start("--workers", "4");
	for (int old = 0; old < 2; old++) {
		struct client *c = client_open_tls(.name = "a.example", .only_1_2 = old);
		for (int i = 0; i < 20; i++) {
			expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
			c = client_open_tls(.name = "a.example", .only_1_2 = old, .resume = c);
			expect_that(client_is_in(c) && client_was_resumed(c),
				    "not resumed: TLS 1.%d, client %d", 3 - old, i);
		}
		edge_expect_stat("tls.resumed", 20 * (old + 1));
	}
	struct client *c = open_as("a.example");
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect(client_was_resumed(client_open_tls(.name = "a.example", .resume = c)));
}

SCENARIO("a session of one certificate is not resumed under another")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	cert_write(in_dir("b.pem"), .names = "b.example");
	start_with("  certificates: [ %D/a.pem, %D/b.pem ]\n", "");
	for (int old = 0; old < 2; old++) {
		struct client *c = client_open_tls(.name = "a.example", .only_1_2 = old);
		expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
		struct client *d =
			client_open_tls(.name = "b.example", .only_1_2 = old, .resume = c);
		expect_that(!client_is_in(d) || !client_was_resumed(d), "resumed, TLS 1.%d",
			    3 - old);
		struct client *e =
			client_open_tls(.name = "a.example", .only_1_2 = old, .resume = c);
		expect(client_was_resumed(e));
	}
}

SCENARIO("nodes that share a secret resume each other's sessions; others do not")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	FILE *f = fopen(in_dir("secret"), "w");
	fputs("0123456789abcdef0123456789abcdef0123456789abcdef", f);
	fclose(f);
	const char *shared = "  certificates: [ %D/a.pem ]\n  ticket_key: %D/secret\n";
	start_with(shared, "");
	struct client *c = open_as("a.example");
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	static const char more[] =
		"listen: [ \"127.0.0.1:0\", \"https://127.0.0.1:%u\" ]\n"
		"admin: off\norigins: [ \"%%O\" ]\ncache: { dir: none }\ntls:\n%s";
	unsigned port = edge_reserve_port(), alone = edge_reserve_port();
	edge_beside(text(more, port, shared));
	edge_beside(text(more, alone, "  certificates: [ %D/a.pem ]\n"));
	expect(client_was_resumed(client_open_tls(.port = port, .name = "a.example", .resume = c)));
	struct client *d = client_open_tls(.port = alone, .name = "a.example", .resume = c);
	expect(client_is_in(d) && !client_was_resumed(d));
}

/* ---- clients' certificates ------------------------------------------------------------------- */

SCENARIO("client_ca: only clients with a certificate of it are served, resumed or not")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("ca.pem"), .names = "CA", .ca = true);
	cert_write(in_dir("client.pem"), .names = "client", .issuer = in_dir("ca.pem"));
	cert_write(in_dir("stranger.pem"), .names = "client");
	cert_write(in_dir("a.pem"), .names = "a.example");
	start_with("  certificates: [ %D/a.pem ]\n  client_ca: %D/ca.pem\n", "");
	struct client *c = client_open_tls(.name = "a.example", .cert = in_dir("client.pem"));
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	struct client *again = client_open_tls(.name = "a.example", .resume = c);
	expect(client_was_resumed(again));
	expect_answer(ask_host(again, "a.example", "/x"), 200, "hello");
	const char *const bad[] = {NULL, in_dir("stranger.pem")};
	for (int i = 0; i < 4; i++) {
		struct client *d = client_open_tls(.name = "a.example", .cert = bad[i % 2],
						   .only_1_2 = i >= 2);
		if (client_is_in(d)) /* a client of TLS 1.3 is done before it is judged */
			client_send(d, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n");
		expect_int(client_is_in(d) ? client_try(d, "GET").status : 0, 0);
	}
	edge_expect_stat("tls.certificate", 4);
	origin_expect_requests(2);
}

/* ---- ends ---------------------------------------------------------------------------------- */

SCENARIO("a client is told the end of what is whole, and not of what was cut")
{
	origin_says("/whole", .body = "hello");
	origin_says("/cut", .pattern_bytes = 100000, .seed = 1, .cut = true, .cut_at = 50000);
	start_simply("");
	struct client *c = open_as("a.example");
	client_send(c, "GET /whole HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect(client_closed(c) && client_was_told(c));
	struct client *d = open_as("a.example");
	client_send(d, "GET /cut HTTP/1.0\r\nHost: a.example\r\n\r\n");
	struct answer a = client_try(d, "GET");
	expect(a.fault);
	size_t extra;
	client_try_closed(d, KIT_FOREVER, &extra);
	expect(!client_was_told(d));
}

SCENARIO("handshakes that do not go on end by their time limit, however they drip")
{
	origin_says("*", .body = "hello");
	clock_hold();
	start_simply("timeouts:\n  header: 200ms\n");
	struct client *silent = client_open_to(edge_port()), *drips = client_open_to(edge_port());
	client_send_bytes(drips, "\x16\x03\x01\x02", 4);
	edge_wait_stat("connections.accepted", 2);
	clock_advance(100);
	client_send_bytes(drips, "\x00", 1);
	clock_advance(150);
	client_expect_closed(silent);
	client_expect_closed(drips);
	edge_expect_stat("tls.timeout", 2);
	expect_answer(ask_host(open_as("a.example"), "a.example", "/x"), 200, "hello");
}

SCENARIO("handshakes under way are limited: of an address, and in all, where the oldest makes room")
{
	origin_says("*", .body = "hello");
	cert_write(in_dir("a.pem"), .names = "a.example");
	edge_yaml(text("%stls:\n  certificates: [ %%D/a.pem ]\n  handshakes: 3\n"
		       "  handshakes_per_address: 2\n",
		       listens));
	edge_start("--workers", "1");
	struct client *first = client_open_to(edge_port()), *second = client_open_to(edge_port());
	edge_wait_stat("connections.accepted", 2);
	client_expect_closed(client_open_to(edge_port()));
	edge_expect_stat("tls.refused", 1);
	client_from("127.0.0.2");
	client_open_to(edge_port());
	edge_wait_stat("connections.accepted", 4);
	expect_answer(ask_host(open_as("a.example"), "a.example", "/x"), 200, "hello");
	client_expect_closed(first);
	edge_expect_stat("tls.refused", 2);
	client_close(second);
	edge_wait_stat("tls.left", 1);
}

SCENARIO("a client that renews keys for ever is ended, one that does it at times is not")
{
	origin_says("*", .body = "hello");
	start_simply("");
	struct client *c = open_as("a.example");
	for (int i = 0; i < 20; i++)
		client_renew_keys(c);
	expect_answer(ask_host(c, "a.example", "/x"), 200, "hello");
	for (int i = 0; i < 400; i++)
		client_renew_keys(c);
	client_send(c, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n");
	expect_int(client_try(c, "GET").status, 0);
}

SCENARIO("large bodies, both ways, at once and in drops")
{
	enum { BYTES = 3000000 };
	char *up = pattern(7, BYTES);
	origin_says("/up", .body = "thanks");
	origin_says("/down", .pattern_bytes = BYTES, .seed = 9);
	start_simply("");
	struct client *c = open_as("a.example");
	client_send(c, text("POST /up HTTP/1.1\r\nHost: a.example\r\nContent-Length: %d\r\n\r\n",
			    BYTES));
	client_send_bytes(c, up, BYTES);
	expect_answer(client_read(c, "POST"), 200, "thanks");
	expect(origin_last()->body_bytes == BYTES && memcmp(origin_last()->body, up, BYTES) == 0);
	struct answer a = ask_host(c, "a.example", "/down");
	expect(a.body_bytes == BYTES && is_pattern(a.body, 9, 0, BYTES));
	const char *drops = "GET /down HTTP/1.1\r\nHost: a.example\r\n\r\n";
	for (; *drops; drops++)
		client_send_bytes(c, drops, 1);
	a = client_read(c, "GET");
	expect(a.body_bytes == BYTES && is_pattern(a.body, 9, 0, BYTES));
}

SCENARIO("a client that takes only small records gets the same answers, whole")
{
	enum { BYTES = 300000 };
	origin_says("/down", .pattern_bytes = BYTES, .seed = 9);
	start_simply("");
	for (int old = 0; old < 2; old++) {
		struct client *c = client_open_tls(.name = "a.example", .small_records = true,
						   .only_1_2 = old);
		expect(client_is_in(c));
		for (int i = 0; i < 2; i++) {
			struct answer a = ask_host(c, "a.example", "/down");
			expect(a.body_bytes == BYTES && is_pattern(a.body, 9, 0, BYTES));
		}
	}
}

/* ---- the way to https ------------------------------------------------------------------------ */

SCENARIO("redirect: https sends clients there, but for challenges, which a directory answers")
{
	origin_says("*", .body = "hello");
	program("mkdir", in_dir("acme"));
	FILE *f = fopen(in_dir("acme/token_-1"), "w");
	fputs("token_-1.thumbprint", f);
	fclose(f);
	cert_write(in_dir("secret"), .names = "secret");
	expect_int(symlink(in_dir("secret"), in_dir("acme/link")), 0);
	cert_write(in_dir("a.pem"), .names = "a.example");
	start_with("  certificates: [ %D/a.pem ]\n  redirect: https\n  acme_challenges: %D/acme\n",
		   "forwarded:\n  trust: [ 127.0.0.2 ]\n");
	struct client *c = client_open_to(plain_port());
	struct answer a = ask_host(c, "a.example:8080", "/x?y=1");
	expect_answer(a, 301, "");
	expect_field(a, "Location", "https://a.example/x?y=1");
	client_send(c, "POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n");
	expect_status(client_read(c, "POST"), 308);
	a = ask_host(c, "[::1]:80", "/");
	expect_field(a, "Location", "https://[::1]/");
	expect_answer(ask_host(c, "a.example", "/.well-known/acme-challenge/token_-1"), 200,
		      "token_-1.thumbprint");
	static const char *const none[] = {
		"other",	 "",	      ".",	    "..", "link", "../secret",
		"%2e%2e/secret", "token_-1/", "token_-1?x", "a/b"};
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		expect_status(
			ask_host(c, "a.example", text("/.well-known/acme-challenge/%s", none[i])),
			404);
	edge_expect_stat("requests.local", 14);
	origin_expect_requests(0);
	expect_answer(ask_host(open_as("a.example"), "a.example", "/x"), 200, "hello");
	client_from("127.0.0.2");
	struct client *front = client_open_to(plain_port());
	client_send(front,
		    "GET /x HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-Proto: https\r\n\r\n");
	expect_answer(client_read(front, "GET"), 200, "hello");
}

SCENARIO("--self-signed: TLS without a certificate of one's own, for a first try")
{
	needs("curl");
	origin_says("*", .body = "hello");
	edge_start("--listen", "https://127.0.0.1:0", "--self-signed");
	expect_text(program("curl", "-sk", text("https://127.0.0.1:%u/x", edge_port())).out,
		    "hello");
	expect_text(client_saw(open_as("localhost")), "localhost");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_answer(ask_host(open_as("localhost"), "localhost", "/x"), 200, "hello");
	edge_stop();
	char *says;
	expect_int(edge_refuses(&says, "--listen", "https://127.0.0.1:0"), 2);
	expect(strstr(says, "needs a certificate") && strstr(says, "--self-signed"));
}
