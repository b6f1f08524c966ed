/* How often a client may ask: a burst, then 429, and whom that concerns. */
#include "tests/kit/kit.h"

#include <stdlib.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define TRUST "forwarded: { trust: [ 127.0.0.0/8 ] }\n"
#define ONE   "X-Forwarded-For: 192.0.2.1\r\n"
#define TWO   "X-Forwarded-For: 192.0.2.2\r\n"
/* Used requests do not come back while a scenario runs. */
#define THREE "rate: { requests: 3, per: 1h }"

static void
expect_limited(struct answer a)
{
	expect_status(a, 429);
	expect_verdict(a, "detail=rate");
	expect_miss(a);
	expect_field(a, "Cache-Control", "no-store");
	const char *after = field(a, "Retry-After");
	expect_that(after && atoi(after) > 1000 && atoi(after) <= 1200, "Retry-After: %s",
		    after ? after : "none");
}

static void
reload(const char *yaml)
{
	FILE *f = fopen(text("%s/twice.yaml", kit_dir()), "w");
	expect(f && fputs(yaml, f) >= 0 && fclose(f) == 0);
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0, "%s%s", o.out, o.err);
}

SCENARIO("a client has its burst, then 429, and others have theirs")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST THREE "\n");
	for (int i = 0; i < 3; i++)
		expect_answer(get_with(text("/%d", i), ONE), 200, "hello");
	struct answer a = get_with("/0", ONE);
	expect_limited(a);
	expect_that(strstr(a.body, "rate") && strstr(a.body, "request id"), "%s", a.body);
	expect_answer(get_with("/0", TWO), 200, "hello");
	edge_expect_stat("requests.limited", 1);
	expect_int(origin_requests(), 3);
}

SCENARIO("a HEAD, a range, a POST with a body and a PURGE are requests, too")
{
	origin_says("*", .fields = FRESH, .body = "hello", .ranges = true);
	edge_start_yaml(
		EDGE_CACHE("  purge_from: [ any ]\n") "rate: { requests: 4, per: 4000s }\n");
	expect_status(get_with("/x", "Range: bytes=0-1\r\n"), 206);
	expect_status(ask("HEAD", "/x", NULL, NULL), 200);
	expect_status(ask("POST", "/y", NULL, "body"), 200);
	expect_status(ask("PURGE", "/x", NULL, NULL), 200);
	expect_status(ask("PURGE", "/x", NULL, NULL), 429);
	expect_status(ask("HEAD", "/x", NULL, NULL), 429);
	expect_status(ask("POST", "/y", NULL, "body"), 429);
	expect_status(get_with("/x", "Range: bytes=0-1\r\n"), 429);
	edge_expect_stat("requests.limited", 4);
}

SCENARIO("many connections to all workers share one rate")
{
	enum { CALLS = 40 };
	struct call *calls[CALLS];
	int let_through = 0;
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("rate: { requests: 7, per: 7000s }\n");
	edge_start("--workers", "4");
	for (int i = 0; i < CALLS; i++)
		calls[i] = call_get(text("/%d", i));
	for (int i = 0; i < CALLS; i++) {
		struct answer a = call_wait(calls[i]);
		let_through += a.status == 200;
		expect(a.status == 200 || a.status == 429);
	}
	expect_int(let_through, 7);
	edge_expect_stat("requests.limited", CALLS - 7);
}

SCENARIO("hits: off exempts answers from the cache, and nothing for which an origin is asked")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	origin_says("/old", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n", .body = "old");
	edge_start_yaml(TRUST
			"routes: [ { path: /, rate: { requests: 3, per: 1h, hits: off } } ]\n");
	expect_status(get_with("/old", ONE), 200);
	for (int i = 0; i < 2; i++)
		expect_status(get_with(text("/%d", i), ONE), 200);
	for (int i = 0; i < 10; i++)
		expect_hit(get_with("/0", ONE));
	expect_limited(get_with("/2", ONE));
	expect_limited(get_with("/old", ONE));
	expect_limited(ask("POST", "/0", ONE, "body"));
	expect_hit(get_with("/0", ONE));
	edge_expect_stat("requests.limited", 3);
	expect_int(origin_requests(), 3);
}

SCENARIO("a slice that is not here counts although its head is")
{
	origin_says("/big", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = 8 << 20,
		    .ranges = true);
	edge_start_yaml(TRUST
			"routes: [ { path: /, rate: { requests: 2, per: 2000s, hits: off } } ]\n");
	expect_status(get_with("/big", ONE "Range: bytes=0-9\r\n"), 206);
	expect_status(get_with("/big", ONE "Range: bytes=0-2097151\r\n"), 206);
	edge_wait_stat("requests.misses", 2);
	expect_hit(get_with("/big", ONE "Range: bytes=5-9\r\n"));
	int before = origin_requests();
	expect_status(get_with("/big", ONE "Range: bytes=7000000-7000009\r\n"), 429);
	expect_int(origin_requests(), before);
	expect_hit(get_with("/big", ONE "Range: bytes=5-9\r\n"));
}

SCENARIO("a route has a rate besides that for all, and a refusal by one costs nothing of the other")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST THREE
			"\n"
			"routes: [ { path: /login, rate: { requests: 1, per: 1100s } } ]\n");
	expect_status(get_with("/login", ONE), 200);
	for (int i = 0; i < 5; i++)
		expect_limited(get_with("/login", ONE));
	expect_status(get_with("/x", ONE), 200);
	expect_status(get_with("/x", ONE), 200);
	expect_limited(get_with("/x", ONE));
	expect_status(get_with("/login", TWO), 200);
}

SCENARIO("no other spelling of a path leads around the rate of its route")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ { path: /login, rate: { requests: 1, per: 1100s } }, "
			"{ path: /open/, admit: always } ]\n");
	expect_status(get("/login"), 200);
	expect_limited(get("/Login"));
	expect_limited(get("/login?a=1"));
	expect_status(get("/%6cogin"), 403);
	expect_status(get("//login"), 403);
	expect_status(get("/open/..%2flogin"), 403);
	expect_status(get("/open/x"), 200);
}

SCENARIO("what was used up stays so over a reload, where the rule is the same")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	const char *before = "routes: [ { path: /a, " THREE " }, { path: /b, " THREE " } ]\n";
	const char *after = "routes: [ { path: /c, pass: on }, { path: /a, " THREE " }, "
			    "{ path: /b, rate: { requests: 3, per: 1h, burst: 4 } } ]\n";
	edge_start_yaml(before);
	for (int i = 0; i < 3; i++) {
		expect_status(get("/a"), 200);
		expect_status(get("/b"), 200);
	}
	expect_limited(get("/a"));
	expect_limited(get("/b"));
	reload(after);
	expect_limited(get("/a"));
	expect_status(get("/b"), 200);
	reload("routes: [ ]\n");
	expect_status(get("/a"), 200);
	reload(before);
	expect_limited(get("/a"));
}

SCENARIO("who is not trusted cannot ask in the name of another address")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(THREE "\n");
	for (int i = 0; i < 3; i++)
		expect_status(get_with("/x", text("X-Forwarded-For: 192.0.2.%d\r\n", i)), 200);
	expect_limited(get_with("/x", "X-Forwarded-For: 192.0.2.9\r\n"));
}

SCENARIO("a client that a trusted forwarder names in two ways has no rate of its own")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST THREE "\n");
	for (int i = 0; i < 3; i++)
		expect_status(get_with("/x", text(ONE "Forwarded: for=198.51.100.%d\r\n", i)), 200);
	expect_limited(get_with("/x", ONE "Forwarded: for=198.51.100.9\r\n"));
	expect_status(get_with("/x", ONE), 200);
}

SCENARIO("IPv6 clients are known by their first 64 bits")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST THREE "\n");
	for (int i = 0; i < 3; i++)
		expect_status(get_with("/x", text("X-Forwarded-For: 2001:db8::%d\r\n", i)), 200);
	expect_limited(get_with("/x", "X-Forwarded-For: 2001:db8::9\r\n"));
	expect_status(get_with("/x", "X-Forwarded-For: 2001:db8:0:1::9\r\n"), 200);
}

SCENARIO("what a route answers by itself has its rate, and a refusal is in the log")
{
	edge_start_yaml(TRUST "access_log: \"-\"\n"
			      "routes: [ { path: /moved, redirect: { to: /x }, " THREE " } ]\n");
	for (int i = 0; i < 3; i++)
		expect_status(get_with("/moved", ONE), 301);
	expect_limited(get_with("/moved", ONE));
	wait_until(strstr(edge_stdout(), "\" 429 "));
	expect(strstr(edge_stdout(), "detail=rate"));
}
