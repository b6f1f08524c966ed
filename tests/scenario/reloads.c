/* The others do not get what one client asks, or what was made for one client. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

static const char *const reloads[] = {"Cache-Control: no-cache\r\n", "Cache-Control: max-age=0\r\n",
				      "Pragma: no-cache\r\n", "Cache-Control: min-fresh=100000\r\n",
				      "Cache-Control: no-cache\r\nAuthorization: x\r\n"};
enum { RELOADS = sizeof reloads / sizeof *reloads };

SCENARIO("a client's reload directives are ignored")
{
	origin_says("/x", .fields = FRESH, .body = "x");
	edge_start();
	get("/x");
	for (int i = 0; i < RELOADS; i++)
		expect_hit(get_with("/x", reloads[i]));
	expect_hit(get_with("/x", "Cache-Control: no-store\r\n"));
	expect_status(get_with("/y", "Cache-Control: only-if-cached\r\n"), 504); /* his own loss */
	origin_expect_requests(1);
}

SCENARIO("what a client wants of caches goes to the origin only where nobody else gets the answer")
{
	static const char *const wish = "Cache-Control: no-cache\r\nPragma: no-cache\r\n";
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("routes:\n  - path: /passed\n    pass: on\n");
	get_with("/shared", wish);
	expect(!heard_field(origin_last(), "Cache-Control"));
	expect(!heard_field(origin_last(), "Pragma"));
	ask("HEAD", "/head", wish, NULL);
	expect(!heard_field(origin_last(), "Cache-Control"));
	get_with("/passed", wish);
	expect_text(heard_field(origin_last(), "Cache-Control"), "no-cache");
	expect_text(heard_field(origin_last(), "Pragma"), "no-cache");
	get_with("/unkept", "Cache-Control: no-store\r\n");
	expect_text(heard_field(origin_last(), "Cache-Control"), "no-store");
	ask("POST", "/post", wish, "x");
	expect_text(heard_field(origin_last(), "Cache-Control"), "no-cache");
}

SCENARIO("obey: it goes to the origin too")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	get_with("/x", "Cache-Control: no-cache\r\n");
	expect_text(heard_field(origin_last(), "Cache-Control"), "no-cache");
}

SCENARIO("validate: reloads are validations, one a second, and an error changes nothing")
{
	enum { TIMES = 40 };
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .body = "x", .times = 1 + TIMES);
	origin_says("/e", .fields = FRESH, .body = "x");
	origin_says("/e", .status = 503, .body = "error");
	clock_hold();
	edge_start_yaml(EDGE_CACHE("  client_directives: validate\n"));
	get("/x");
	for (int second = 1; second <= 2; second++) {
		clock_advance(1000);
		for (int i = 0; i < TIMES / 2; i++)
			expect_answer(get_with("/x", reloads[i % (RELOADS - 1)]), 200, "x");
		origin_expect_requests_for("/x", 1 + second);
	}
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"1\"");
	get("/e");
	clock_advance(1000);
	expect_answer(get_with("/e", "Cache-Control: no-cache\r\n"), 200, "x");
	origin_expect_requests_for("/e", 2);
	expect_hit(get("/e"));
}

SCENARIO("answers with Set-Cookie are not shared")
{
	origin_says("/x", .fields = FRESH "Set-Cookie: sid=1\r\n", .body = "first");
	origin_says("/x", .fields = FRESH "Set-Cookie: sid=2\r\n", .body = "second");
	edge_start();
	expect_field(get("/x"), "Set-Cookie", "sid=1");
	expect_field(get("/x"), "Set-Cookie", "sid=2");
}

SCENARIO("set_cookie: strip shares them without it, share shares them with it")
{
	origin_says("/x", .fields = FRESH "Set-Cookie: sid=1\r\nX-Other: 1\r\n", .body = "x");
	edge_start_yaml(EDGE_CACHE("  set_cookie: strip\n"));
	expect_field(get("/x"), "Set-Cookie", "sid=1");
	struct answer a = get("/x");
	expect_hit(a);
	expect_no_field(a, "Set-Cookie");
	expect_field(a, "X-Other", "1");
}

SCENARIO("set_cookie: share")
{
	origin_says("/x", .fields = FRESH "Set-Cookie: sid=1\r\n", .body = "x");
	edge_start_yaml(EDGE_CACHE("  set_cookie: share\n"));
	get("/x");
	struct answer a = get("/x");
	expect_hit(a);
	expect_field(a, "Set-Cookie", "sid=1");
}

SCENARIO("a Set-Cookie that came with a 304 or a HEAD is not handed to others")
{
	origin_says("/x", .fields = "Cache-Control: max-age=0\r\n", .etag = "\"1\"", .body = "x",
		    .fields_304 = "Cache-Control: max-age=600\r\nSet-Cookie: sid=evil\r\n",
		    .times = 2);
	edge_start_yaml(EDGE_CACHE("  set_cookie: share\n"));
	get("/x");
	get("/x"); /* validated */
	struct answer a = get("/x");
	expect_hit(a);
	expect_no_field(a, "Set-Cookie");
	origin_expect_requests(2);
}

SCENARIO("a page made for somebody's cookie has no guessed lifetime")
{
	origin_says("/x", .fields = "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n",
		    .body = "hello, anna");
	origin_says("/x", .fields = "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n",
		    .body = "hello, stranger");
	edge_start();
	expect_answer(get_with("/x", "Cookie: user=anna\r\n"), 200, "hello, anna");
	expect_answer(get("/x"), 200, "hello, stranger");
	expect_hit(get("/x")); /* that was made for nobody */
}

SCENARIO("an error that one client's fields can cause is not what others get")
{
	static const int errors[] = {400, 401, 403, 406, 413, 414, 417, 431, 501};
	enum { N = sizeof errors / sizeof *errors };
	for (int i = 0; i < N; i++) {
		origin_says(text("/%d", i), .status = errors[i],
			    .fields = "Cache-Control: public, max-age=600\r\n", .body = "error");
		origin_says(text("/%d", i), .fields = FRESH, .body = "good");
	}
	edge_start();
	for (int i = 0; i < N; i++) {
		expect_answer(get_with(text("/%d", i), "X-Evil: \\\r\n"), errors[i], "error");
		expect_answer(get(text("/%d", i)), 200, "good");
	}
}

SCENARIO("client_errors: on stores them as long as they say")
{
	origin_says("/x", .status = 400, .fields = FRESH, .body = "error");
	edge_start_yaml(EDGE_CACHE("  client_errors: on\n"));
	get("/x");
	expect_hit(get("/x"));
}
