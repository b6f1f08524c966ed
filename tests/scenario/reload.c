/* A running proxy takes over another configuration: connections stay, a bad file changes nothing. */
#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

/* ---- words --------------------------------------------------------------------------------- */

static char *
in_dir(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

/* Somebody else's socket; port 0: any. -1: the port is taken. */
static int
socket_at(unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 1) == 0)
		return fd;
	close(fd);
	return -1;
}

static unsigned
port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t n = sizeof a;
	expect_int(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

static bool
is_refused(unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)&a, sizeof a);
	close(fd);
	return r < 0;
}

static struct output
twice_reload(void)
{
	return program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()));
}

static void
change_to(const char *yaml)
{
	edge_rewrite(yaml);
	struct output o = twice_reload();
	expect_that(o.status == 0, "%s%s", o.out, o.err);
}

/* twice reload says both of it, with exit code 2. */
static void
expect_refused(const char *yaml, const char *first, const char *second)
{
	edge_rewrite(yaml);
	struct output o = twice_reload();
	expect_int(o.status, 2);
	expect_that(strstr(o.err, first) && strstr(o.err, second), "%s", o.err);
}

static struct answer
ask_by(struct client *c, const char *target)
{
	client_request(c, "GET", target, NULL);
	return client_read(c, "GET");
}

static char *
contents(const char *path)
{
	static char all[65536];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(all, 1, sizeof all - 1, f) : 0;
	all[n] = '\0';
	if (f)
		fclose(f);
	return all;
}

/* ---- what is taken over -------------------------------------------------------------------- */

SCENARIO("routes change under a connection that stays")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ ]\n");
	struct client *c = client_open();
	expect_answer(ask_by(c, "/x"), 200, "hello");
	expect_hit(ask_by(c, "/x"));
	change_to("routes: [ { path: /x, pass: on } ]\n");
	expect_verdict(ask_by(c, "/x"), "fwd=bypass");
	expect_hit((ask_by(c, "/y"), ask_by(c, "/y")));
	change_to("routes: [ ]\n");
	expect_hit(ask_by(c, "/x"));
	edge_expect_stat("connections.accepted", 1);
}

SCENARIO("lifetimes, and what Cache-Status says, change for what is asked next")
{
	origin_says("*", .body = "hello");
	edge_start_yaml(EDGE_CACHE("  default_ttl: 0s\n"));
	struct client *c = client_open();
	ask_by(c, "/a");
	expect_miss(ask_by(c, "/a"));
	change_to(EDGE_CACHE("  default_ttl: 1h\n  status_key: on\n"));
	ask_by(c, "/b");
	struct answer a = ask_by(c, "/b");
	expect_hit(a);
	expect(strstr(a.head, text("key=\"%s://", edge_is_tls() ? "https" : "http")));
	edge_expect_stat("connections.accepted", 1);
}

SCENARIO("the rule of admission changes, between one sighting and two")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("admission: { sightings: 2 }\n");
	struct client *c = client_open();
	expect_verdict(ask_by(c, "/a"), "detail=first-sight");
	change_to("admission: { sightings: 1 }\n");
	expect_verdict(ask_by(c, "/b"), "stored");
	change_to("admission: { sightings: 2, write_budget: 10MiB/s }\n");
	expect_verdict(ask_by(c, "/c"), "detail=first-sight");
	expect_verdict(ask_by(c, "/a2"), "detail=first-sight");
}

SCENARIO("limits and time limits change, for connections that are there too")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("limits: { url: 1k }\n");
	struct client *c = client_open();
	char *longer = text("/%0200d", 1);
	expect_answer(ask_by(c, longer), 200, "hello");
	change_to("limits: { url: 100 }\n");
	client_request(c, "GET", longer, NULL);
	expect_int(client_read(c, "GET").status, 414);
	c = client_open();
	expect_answer(ask_by(c, "/x"), 200, "hello");
	change_to("timeouts: { idle: 100ms }\n");
	client_expect_closed(c);
}

static struct answer
stats(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return client_read(c, "GET");
}

static bool
is_in_stats(const char *words)
{
	return strstr(stats().body, words) != NULL;
}

SCENARIO("what other settings would do is told only while the rule is that of the start")
{
	static const char *const others[] = {"admission: { sightings: 1 }\n",
					     "admission: { write_budget: 10MiB/s }\n"};
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("admission: { sightings: 2 }\n");
	get("/a");
	expect(is_in_stats("with sightings: 1: "));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		change_to(others[i]);
		expect(!is_in_stats("with sightings: 1: ") && !is_in_stats("\"as it is\""));
		change_to("admission: { sightings: 2 }\ncache: { default_ttl: 1h }\n");
		expect(is_in_stats("with sightings: 1: "));
	}
	change_to(others[0]);
	edge_restart();
	get("/b");
	expect(is_in_stats("with sightings: 2: ") && !is_in_stats("with sightings: 1: "));
}

SCENARIO("the most connections change")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("limits: { connections: 100 }\n");
	struct client *a = client_open(), *b = client_open();
	expect_answer(ask_by(a, "/x"), 200, "hello");
	expect_answer(ask_by(b, "/x"), 200, "hello");
	change_to("limits: { connections: 2 }\n");
	expect_answer(ask_by(a, "/x"), 200, "hello");
	expect_answer(ask_by(b, "/x"), 200, "hello");
	struct client *third = client_open();
	expect_answer(ask_by(third, "/x"), 200, "hello"); /* in the place of one that idles */
	edge_wait_stat("connections.evicted", 1);
}

SCENARIO("a listener comes and goes, its connections stay")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	unsigned first = edge_reserve_port(), second = edge_reserve_port();
	edge_start_yaml(text("\nlisten: [ \"127.0.0.1:%u\" ]\n", first));
	struct client *old = client_open_to(first);
	expect_answer(ask_by(old, "/x"), 200, "hello");
	change_to(text("listen: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n", first, second));
	struct client *young = client_open_to(second);
	expect_answer(ask_by(young, "/x"), 200, "hello");
	change_to(text("listen: [ \"127.0.0.1:%u\" ]\n", second));
	expect_answer(ask_by(old, "/x"), 200, "hello");
	expect_answer(ask_by(young, "/x"), 200, "hello");
	expect_answer(ask_by(client_open_to(second), "/x"), 200, "hello");
	expect(is_refused(first));
}

SCENARIO("what is spoken at an address changes, and its sockets stay")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	unsigned port = edge_reserve_port();
	edge_start_yaml(text("\nlisten: [ \"127.0.0.1:%u\" ]\n", port));
	struct client *old = client_open_to(port);
	expect_answer(ask_by(old, "/x"), 200, "hello");
	change_to(text("listen: [ \"proxy+127.0.0.1:%u\" ]\n"
		       "forwarded: { trust: [ 127.0.0.1 ] }\n",
		       port));
	struct client *c = client_open_to(port);
	client_send(c, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n");
	expect_answer(ask_by(c, "/x"), 200, "hello");
	expect_answer(ask_by(old, "/x"), 200, "hello");
	change_to(text("listen: [ \"http://127.0.0.1:%u\" ]\n", port));
	expect_answer(ask_by(client_open_to(port), "/x"), 200, "hello");
	expect_answer(ask_by(old, "/x"), 200, "hello");
	expect_answer(ask_by(c, "/x"), 200, "hello");
}

SCENARIO("a Unix socket comes and goes with its file")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	unsigned port = edge_reserve_port();
	char *path = in_dir("s");
	char *one = text("\nlisten: [ \"127.0.0.1:%u\" ]\n", port);
	edge_start_yaml(one);
	change_to(text("listen: [ \"127.0.0.1:%u\", \"unix:%s\" ]\n", port, path));
	struct client *c = client_open_path(path);
	expect_answer(ask_by(c, "/x"), 200, "hello");
	change_to(one);
	expect_int(access(path, F_OK), -1);
	expect_answer(ask_by(c, "/x"), 200, "hello");
}

SCENARIO("servers change: those that stay keep their connections, requests under way end well")
{
	by_http_only();
	struct barrier *go = barrier_new();
	origin_says("/slow", .fields = FRESH, .body = "slow", .hold_head = go);
	origin_says("*", .body = "hello");
	char *one = text("\norigins: [ { name: a, url: \"%s\" } ]\n", origin_url());
	edge_start_yaml(one);
	struct client *c = client_open();
	expect_answer(ask_by(c, "/1"), 200, "hello");
	change_to(text("%sroutes: [ { path: /b, origin: b } ]\n",
		       text("origins: [ { name: a, url: \"%s\" }, { name: b, url: "
			    "\"http://127.0.0.1:1\" } ]\n",
			    origin_url())));
	expect_answer(ask_by(c, "/2"), 200, "hello");
	expect_int(ask_by(c, "/b").status, 502);
	expect_int(origin_connections(), 1);
	struct call *slow = call_get("/slow");
	origin_wait_requests(3);
	change_to(text("origins: [ { name: a, url: \"%s\", read_timeout: 7s } ]\n", origin_url()));
	expect_answer(ask_by(c, "/3"), 200, "hello"); /* by a connection of its own */
	barrier_open(go);
	call_expect(slow, 200, "slow");
	expect_answer(ask_by(c, "/4"), 200, "hello");
	edge_expect_stat("connections.closed", 1); /* that of the call */
}

SCENARIO("the log goes to another file in another format, and a rotated one is opened again")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	char *a = in_dir("a.log"), *b = in_dir("b.log");
	edge_start_yaml(text("access_log: %s\n", a));
	struct client *c = client_open();
	ask_by(c, "/first");
	wait_until(strstr(contents(a), "/first"));
	change_to(text("access_log: %s\naccess_log_format: json\n", b));
	ask_by(c, "/second");
	wait_until(strstr(contents(b), "/second") && contents(b)[0] == '{');
	expect(!strstr(contents(a), "/second"));
	expect_int(rename(b, in_dir("b.1")), 0);
	expect_int(twice_reload().status, 0);
	/* Lines that are on their way when it is rotated go to the old one. */
	wait_until((ask_by(c, "/third"), strstr(contents(b), "/third")));
	change_to("access_log: off\n");
	expect_answer(ask_by(c, "/fourth"), 200, "hello");
}

SCENARIO("who may change something by the admin server changes")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ ]\n");
	change_to("admin_token: secret\n");
	struct output o = twice_reload();
	expect_int(o.status, 1);
	expect_that(strstr(o.err, "Authorization"), "%s", o.err);
	edge_rewrite("routes: [ ]\n");
	edge_signal(SIGHUP);
	wait_until(edge_said("admin_token has changed, and is applied") &&
		   twice_reload().status == 0);
}

SCENARIO("what needs a restart is named and keeps its value, the rest is applied")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ ]\n");
	struct client *c = client_open();
	edge_rewrite("admission: { capacity: 2M }\nlimits: { url: 100 }\n");
	struct output o = twice_reload();
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "needs a restart: admission.capacity") &&
			    strstr(o.out, "applied: limits.url"),
		    "%s", o.out);
	client_request(c, "GET", text("/%0200d", 1), NULL);
	expect_int(client_read(c, "GET").status, 414);
	o = twice_reload();
	expect_that(strstr(o.out, "needs a restart: admission.capacity") && /* still so */
			    !strstr(o.out, "limits.url"),
		    "%s", o.out);
	wait_until(edge_said("admission.capacity has changed in the configuration; restart"));
}

/* ---- what is not --------------------------------------------------------------------------- */

SCENARIO("what would not go with a setting that waits for a restart is refused")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ ]\n");
	for (int i = 0; i < 2; i++)
		expect_refused("admission: { filter: counting, sightings: 4 }\n"
			       "routes: [ { path: /x, admission: { sightings: 4 } } ]\n",
			       "routes.admission.sightings", "restart");
	change_to("routes: [ { path: /x, pass: on } ]\n");
	expect_verdict(get("/x"), "fwd=bypass");
}

SCENARIO("a bad file changes nothing, and twice reload says where and why")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	unsigned port = edge_reserve_port();
	char *web = text("\norigins: [ { name: web, url: \"%s\" } ]\n", origin_url());
	char *good = text("listen: [ \"127.0.0.1:%u\" ]\n", port);
	edge_start_yaml(text("%s%s", web, good));
	struct client *c = client_open_to(port);
	expect_answer(ask_by(c, "/x"), 200, "hello");
	int busy = socket_at(0);
	const char *pass = "routes: [ { path: /x, pass: on } ]\n";
	expect_refused(text("%s%s%slimits: [", web, good, pass), "twice.yaml:", "not YAML");
	expect_refused(text("%s%s%slimits: { connection: 7 }\n", web, good, pass), "twice.yaml:5",
		       "did you mean \"connections\"");
	expect_refused(text("%slisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n%s", web, port,
			    port_of(busy), pass),
		       "twice.yaml:3: listen", "in use");
	expect_refused(text("%slisten: [ \"127.0.0.1:%u\", \"https://127.0.0.1:0\" ]\n%stls:\n"
			    "  certificates: [ %s ]\n",
			    web, port, pass, in_dir("none.pem")),
		       "twice.yaml:6: tls.certificates", "No such file");
	expect_refused(text("%s%sorigins: [ { name: web, url: \"https://127.0.0.1:1\", ca_file: "
			    "%s } ]\n",
			    good, pass, in_dir("none.pem")),
		       "twice.yaml:3: origins.ca_file", "No such file");
	expect_refused(text("%s%sroutes: [ { path: /x, origin: nobody } ]\n", web, good), "nobody",
		       "twice.yaml:4");
	expect_refused(text("%s%s", good, pass), "origins", "--origin");
	expect_hit(ask_by(c, "/x"));
	expect_int(unlink(in_dir("twice.yaml")), 0);
	expect_int(twice_reload().status, 2);
	expect_hit(ask_by(c, "/x"));
	close(busy);
}

/* ---- what was stored under other rules ----------------------------------------------------- */

SCENARIO("what was stored with cookies is nobody's when set_cookie: share goes")
{
	origin_says("/x", .fields = FRESH "Set-Cookie: sid=1\r\n", .body = "first", .times = 1);
	origin_says("/x", .fields = FRESH "Set-Cookie: sid=2\r\n", .body = "second");
	edge_start_yaml(EDGE_CACHE("  set_cookie: share\n"));
	struct client *c = client_open();
	ask_by(c, "/x");
	expect_field(ask_by(c, "/x"), "Set-Cookie", "sid=1");
	change_to(EDGE_CACHE("  set_cookie: never\n"));
	expect_answer(ask_by(c, "/x"), 200, "second");
	expect_answer(ask_by(c, "/x"), 200, "second");
	origin_expect_requests(3);
}

SCENARIO("an error that was stored because client_errors: on said so is nobody's afterwards")
{
	origin_says("/x", .status = 400, .fields = FRESH, .body = "error");
	origin_says("/x", .fields = FRESH, .body = "good");
	edge_start_yaml(EDGE_CACHE("  client_errors: on\n"));
	struct client *c = client_open();
	ask_by(c, "/x");
	expect_int(ask_by(c, "/x").status, 400);
	change_to(EDGE_CACHE("  client_errors: off\n"));
	expect_answer(ask_by(c, "/x"), 200, "good");
}

SCENARIO("a header that becomes part of the key tells apart what was one, and so does a query")
{
	origin_says("*", .fields = FRESH, .body = "old");
	edge_start_yaml("routes: [ { path: /, query: ignore } ]\n");
	struct client *c = client_open();
	client_request(c, "GET", "/x?a=1", "X-Who: anna\r\n");
	client_read(c, "GET");
	expect_hit(ask_by(c, "/x?b=2"));
	change_to("routes: [ { path: /, query: keep, key_headers: [ X-Who ] } ]\n");
	expect_miss(ask_by(c, "/x"));
	expect_miss(ask_by(c, "/x?a=1"));
	client_request(c, "GET", "/x?a=1", "X-Who: anna\r\n");
	expect_miss(client_read(c, "GET"));
}

/* ---- under load ---------------------------------------------------------------------------- */

enum { LOADERS = 4, RELOADS = 60 };
static _Atomic bool enough;
static _Atomic long asked, failed, missed;

static void *
load(void *arg)
{
	struct client *c = client_open();
	for (int i = (int)(intptr_t)arg; !enough; i++) {
		struct answer a = ask_by(c, text("/%d", i % 50));
		atomic_fetch_add(&asked, 1);
		if (a.status != 200 || a.cut || a.fault)
			atomic_fetch_add(&failed, 1);
		if (!strstr(a.head, "; hit"))
			atomic_fetch_add(&missed, 1);
	}
	client_close(c);
	return NULL;
}

/* Another one each time, in what workers, wire and origins have of it. */
static char *
settings_number(int i)
{
	return text("\norigins: [ { name: a, url: \"%s\", read_timeout: %ds } ]\n"
		    "routes: [ { path: /r%d, pass: on }, { host: www.example.com } ]\n"
		    "limits: { connections: %d }\ntimeouts: { idle: %ds }\n"
		    "forwarded: { trust: [ 10.%d.0.0/16 ] }\naccess_log: %s\n"
		    "admission: { sightings: %d }\n",
		    origin_url(), 30 + i % 2, i % 7, 1000 + i, 60 + i % 5, i % 200,
		    i % 3 ? in_dir("a.log") : in_dir("b.log"), 1 + i % 2);
}

SCENARIO_IN(90,
	    "sixty reloads under load: no request fails, no connection is closed, hits stay hits")
{
	pthread_t threads[LOADERS];
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(settings_number(0));
	for (int i = 0; i < 50; i++)
		get(text("/%d", i));
	edge_expect_stat("connections.closed", 50); /* theirs, all of them */
	for (intptr_t i = 0; i < LOADERS; i++)
		pthread_create(&threads[i], NULL, load, (void *)i);
	for (int i = 1; i <= RELOADS; i++)
		change_to(settings_number(i));
	wait_until(asked > 1000);
	edge_expect_stat("connections.closed", 50);
	enough = true;
	for (int i = 0; i < LOADERS; i++)
		pthread_join(threads[i], NULL);
	note("%ld requests, %ld of them misses", (long)asked, (long)missed);
	expect_int(failed, 0);
	expect_int(missed, 0);
	edge_expect_stat("requests.total", 50 + (double)asked);
}

SCENARIO_IN(90, "two hundred reloads leave nothing behind")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(settings_number(0));
	struct client *c = client_open();
	uint64_t before = 0;
	for (int i = 1; i <= 260; i++) {
		edge_rewrite(settings_number(i));
		edge_signal(SIGHUP);
		wait_until(edge_times_said("is read again") >= i);
		expect_answer(ask_by(c, "/x"), 200, "hello");
		if (i == 60)
			before = edge_rss_bytes();
	}
	uint64_t after = edge_rss_bytes();
	note("%.1f MB after 60, %.1f MB after 260", (double)before / 1e6, (double)after / 1e6);
	if (!edge_is_sanitized())
		expect_that(after < before + (2 << 20), "grew by %.1f MB",
			    (double)(after - before) / 1e6);
	edge_expect_stat("connections.accepted", 1);
}

/* ---- the end ------------------------------------------------------------------------------- */

static int
health(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	int status = client_read(c, "GET").status;
	client_close(c);
	return status;
}

SCENARIO("it drains for as long as the configuration says now")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("timeouts: { drain: 5s }\n");
	edge_rewrite("timeouts: { drain: 7s }\n");
	struct output o = twice_reload();
	expect_that(o.status == 0 && strstr(o.out, "timeouts.drain"), "%s%s", o.out, o.err);
	edge_signal(SIGTERM);
	wait_until(edge_said("open requests, at most 7 s"));
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("a reload that is asked for while it drains is refused, and what is under way ends well")
{
	struct barrier *go = barrier_new();
	struct output o;
	origin_says("/slow", .body = "whole", .hold_body = go, .hold_at = 2);
	edge_start_yaml("timeouts: { drain: 1m }\n");
	struct call *slow = call_get("/slow");
	barrier_arrivals(go, 1);
	edge_signal(SIGTERM);
	wait_until(edge_said("finishing open requests"));
	wait_until((o = twice_reload()).status != 0); /* it says so a moment before */
	expect_that(strstr(o.err, "the program is about to end"), "exit %d: %s", o.status, o.err);
	barrier_open(go);
	call_expect(slow, 200, "whole");
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("a lame duck says 503 for its health, and still serves who comes")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start_yaml("timeouts: { lame_duck: 2s }\n");
	struct client *c = client_open();
	expect_answer(ask_by(c, "/x"), 200, "hello");
	expect_int(health(), 200);
	edge_signal(SIGTERM);
	wait_until(edge_said("/healthz says 503"));
	clock_advance(1999);
	expect_int(health(), 503);
	expect_answer(ask_by(c, "/x"), 200, "hello");
	expect_answer(get("/x"), 200, "hello");
	expect(!edge_said("finishing open requests"));
	clock_run(1);
	wait_until(edge_said("finishing open requests"));
	expect_int(edge_wait_exit(), 0);
}

static bool
is_farewell(void)
{
	struct client *c = client_open();
	struct answer a = ask_by(c, "/x");
	client_close(c);
	return strstr(a.head, "\nConnection: close\r\n") != NULL;
}

SCENARIO("a lame duck's answers are the last of their connections, so that balancers take others")
{
	by_h1_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_yaml("timeouts: { lame_duck: 2s }\n");
	edge_start("--workers", "1");
	struct client *c = client_open(), *idle = client_open();
	struct answer a = ask_by(c, "/x");
	expect_answer(a, 200, "hello");
	expect_no_field(a, "Connection");
	edge_signal(SIGTERM);
	wait_until(edge_said("/healthz says 503"));
	wait_until(is_farewell()); /* the worker has heard of it a moment later */
	a = ask_by(c, "/x");
	expect_answer(a, 200, "hello");
	expect_field(a, "Connection", "close");
	client_expect_closed(c);
	a = ask_by(idle, "/x"); /* it was not closed under its client */
	expect_field(a, "Connection", "close");
	clock_advance(1999);
	expect_int(edge_wait_exit(), 0);
}
