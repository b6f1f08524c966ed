/* The origin is told about the client and the way, and the client about the way (RFC 9110 7.6,
 * RFC 7239). */
#include "tests/kit/kit.h"

SCENARIO("Via, X-Forwarded-* and Forwarded are added")
{
	by_h1_only();
	by_http_only();
	origin_says("/x", .body = "hello");
	edge_start();
	struct answer a = get("/x");
	const struct heard *h = origin_last();
	expect_that(heard_field(h, "Via") && strstr(heard_field(h, "Via"), "1.1 twice"), "Via: %s",
		    heard_field(h, "Via"));
	expect_text(heard_field(h, "X-Forwarded-For"), "127.0.0.1");
	expect_text(heard_field(h, "X-Forwarded-Proto"), "http");
	expect_text(heard_field(h, "X-Forwarded-Host"), "example.com");
	const char *f = heard_field(h, "Forwarded");
	expect_that(f && strcasestr(f, "for=127.0.0.1") && strcasestr(f, "proto=http"),
		    "Forwarded: %s", f);
	expect_text(heard_field(h, "Host"), "example.com");
	expect_that(field(a, "Via") && strstr(field(a, "Via"), "1.1 twice"),
		    "Via to the client: %s", field(a, "Via"));
}

SCENARIO("what a client claims about itself is not believed")
{
	by_http_only();
	origin_says("/x", .body = "hello");
	edge_start();
	get_with(
		"/x",
		"X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example\r\n"
		"Forwarded: for=10.0.0.1;proto=https\r\nVia: 1.0 other\r\n");
	const struct heard *h = origin_last();
	expect_text(heard_field(h, "X-Forwarded-For"), "127.0.0.1");
	expect_text(heard_field(h, "X-Forwarded-Proto"), "http");
	expect_text(heard_field(h, "X-Forwarded-Host"), "example.com");
	expect_that(!strstr(heard_field(h, "Forwarded"), "10.0.0.1"), "Forwarded: %s",
		    heard_field(h, "Forwarded"));
	/* Via is a trace, not a claim: what was there stays, in front. */
	expect_that(strncmp(heard_field(h, "Via"), "1.0 other, ", 11) == 0, "Via: %s",
		    heard_field(h, "Via"));
}

SCENARIO("forwarded.trust keeps and appends")
{
	origin_says("/x", .body = "hello");
	edge_start_yaml("forwarded:\n  trust: any\n");
	get_with("/x", "X-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\n");
	const struct heard *h = origin_last();
	expect_text(heard_field(h, "X-Forwarded-For"), "10.0.0.1, 127.0.0.1");
	expect_that(strncmp(heard_field(h, "Forwarded"), "for=10.0.0.1", 12) == 0 &&
			    strstr(heard_field(h, "Forwarded"), "127.0.0.1"),
		    "Forwarded: %s", heard_field(h, "Forwarded"));
}

SCENARIO("forwarded.via gives another name")
{
	by_h1_only();
	origin_says("/x", .body = "hello");
	edge_start_yaml("forwarded:\n  via: edge-7\n");
	struct answer a = get("/x");
	expect_that(strstr(heard_field(origin_last(), "Via"), "1.1 edge-7"), "Via: %s",
		    heard_field(origin_last(), "Via"));
	expect_that(strstr(field(a, "Via"), "1.1 edge-7"), "Via: %s", field(a, "Via"));
}

SCENARIO("Host can be overridden for an origin; the client's goes into X-Forwarded-Host")
{
	origin_says("/x", .body = "hello");
	edge_start_yaml("origins:\n  - url: %O\n    host: inner.example\n");
	get("/x");
	expect_text(heard_field(origin_last(), "Host"), "inner.example");
	expect_int(heard_field_lines(origin_last(), "Host"), 1);
	expect_text(heard_field(origin_last(), "X-Forwarded-Host"), "example.com");
}

SCENARIO("the target reaches the origin as it was written")
{
	static const char *const targets[] = {"/a%2Fb", "/a//b",      "/%e4?x=%20", "/a/../b",
					      "/?",	"/a?b?c=d&&", "/;p=1",	    "/a+b"};
	origin_says("*", .body = "hello");
	edge_start();
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		get(targets[i]);
		expect_text(origin_last()->target, targets[i]);
	}
}

SCENARIO("fields reach the origin as they were, order and case and all")
{
	by_h1_only();
	origin_says("/x", .body = "hello");
	edge_start();
	get_with(
		"/x",
		"X-b: 1\r\nx-A:  two  words \r\nCookie: a=1; b=2\r\nX-b: 3\r\nUser-Agent: me\r\nX-Empty:\r\n");
	const struct heard *h = origin_last();
	expect_text(heard_field(h, "X-b"), "1, 3");
	expect_int(heard_field_lines(h, "X-b"), 1); /* joined: how a list is split is in no key */
	expect_text(heard_field(h, "X-A"), "two  words");
	expect_text(heard_field(h, "Cookie"), "a=1; b=2");
	expect_text(heard_field(h, "User-Agent"), "me");
	expect_text(heard_field(h, "X-Empty"), "");
	expect_int(heard_field_lines(h, "Accept"), 0); /* libcurl would add its own */
	expect_int(heard_field_lines(h, "Expect"), 0);
}

SCENARIO("no field of the client's library reaches the origin of its own accord")
{
	origin_says("*", .body = "hello");
	edge_start();
	ask("POST", "/x", NULL, "a=b");
	const struct heard *h = origin_last();
	static const char *const mine[] = {"Content-Type", "Accept",	      "Expect",
					   "User-Agent",   "Accept-Encoding", "Cookie"};
	for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
		expect_that(!heard_field(h, mine[i]), "%s: %s was added", mine[i],
			    heard_field(h, mine[i]));
	expect_text(heard_field(h, "Content-Length"), "3");
}

SCENARIO("Cache-Status of inner caches stays, ours is appended")
{
	origin_says("/x", .fields = "Cache-Control: max-age=60\r\nCache-Status: inner; hit\r\n",
		    .body = "x");
	edge_start();
	struct answer a = get("/x");
	expect_that(strncmp(field(a, "Cache-Status"), "inner; hit, twice;", 18) == 0,
		    "Cache-Status: %s", field(a, "Cache-Status"));
	a = get("/x");
	expect_that(strncmp(field(a, "Cache-Status"), "inner; hit, twice; hit", 22) == 0,
		    "Cache-Status: %s", field(a, "Cache-Status"));
}

SCENARIO("connections to the origin are used again")
{
	origin_says("*", .body = "hello");
	edge_start("--workers", "1");
	for (int i = 0; i < 20; i++)
		get(text("/%d", i));
	expect_between(origin_connections(), 1, 3);
}

SCENARIO("a kept connection that the origin has closed costs an idempotent request nothing")
{
	origin_says("/a", .body = "a", .close = true);
	origin_says("/b", .body = "b");
	edge_start("--workers", "1");
	for (int i = 0; i < 10; i++) {
		expect_answer(get("/a"), 200, "a");
		origin_wait_closed(origin_connections() - 1);
		expect_answer(get("/b"), 200, "b");
	}
}

SCENARIO("a request that has passed here before is a loop; another node of the same name is none")
{
	origin_says("/x", .body = "hello");
	edge_start();
	get("/x");
	char *via = text("Via: %s\r\n", heard_field(origin_last(), "Via"));
	expect_that(strlen(via) > strlen("Via: 1.1 twice-\r\n"), "%s", via);
	struct answer a = get_with("/x", via);
	expect_status(a, 508);
	expect_verdict(a, "detail=loop");
	expect_status(ask("POST", "/x", via, "x"), 508);
	origin_expect_requests(1);
	expect_status(get_with("/x", "Via: 1.1 twice, 1.1 twice-0a0b0c0d\r\n"), 200);
	edge_restart(); /* the same directory, the same node */
	expect_status(get_with("/x", via), 508);
}
