/* Key rules, cache poisoning and cache deception. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

static void
expect_same(const char *says, const char *one, const char *other, bool same)
{
	int before = origin_requests();
	expect_status(get(one), 200);
	int between = origin_requests();
	expect_status(get(other), 200);
	expect_that(between == before + 1, "%s: %s was stored already", says, one);
	expect_that((origin_requests() == between) == same, "%s: %s and %s are %s", says, one,
		    other, same ? "different objects" : "one object");
}

SCENARIO("by default different spellings are different objects, and the query counts")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start();
	expect_same("query", "/a?x=1", "/a?x=2", false);
	expect_same("query or none", "/b", "/b?", false);
	expect_same("order of parameters", "/c?a=1&b=2", "/c?b=2&a=1", false);
	expect_same("case of the path", "/d", "/D", false);
	expect_same("an encoded slash", "/e/f", "/e%2Ff", false);
	expect_same("a trailing slash", "/g", "/g/", false);
	expect_same("double slashes", "/h/i", "/h//i", false);
	expect_same("a path parameter", "/j", "/j;k", false);
	expect_same("the same twice", "/l?m=n", "/l?m=n", true);
}

SCENARIO("the host is part of the key, its case is not, nor its default port")
{
	by_http_only();
	origin_says("/x", .fields = FRESH, .body = "x");
	edge_start();
	get_with("/x", "Host: one.example\r\n");
	get_with("/x", "Host: two.example\r\n");
	origin_expect_requests(2);
	get_with("/x", "Host: ONE.example\r\n");
	get_with("/x", "Host: one.example:80\r\n");
	origin_expect_requests(2);
	get_with("/x", "Host: one.example:8080\r\n");
	origin_expect_requests(3);
}

SCENARIO("query: ignore, sort, chosen and dropped parameters")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("routes:\n"
			"  - path: /ignore/\n    query: ignore\n"
			"  - path: /sort/\n    query: sort\n"
			"  - path: /keep/\n    keep_params: [ id ]\n"
			"  - path: /drop/\n    drop_params: [ \"utm_*\", fbclid ]\n");
	expect_same("ignored", "/ignore/a?x=1", "/ignore/a?x=2", true);
	expect_same("sorted", "/sort/a?a=1&b=2", "/sort/a?b=2&a=1", true);
	expect_same("sorted, other value", "/sort/b?a=1", "/sort/b?a=2", false);
	expect_same("not kept", "/keep/a?id=1&t=5", "/keep/a?t=6&id=1", true);
	expect_same("kept", "/keep/b?id=1", "/keep/b?id=2", false);
	expect_same("tracking", "/drop/a?id=1&utm_source=x", "/drop/a?id=1&fbclid=y", true);
	expect_same("not tracking", "/drop/b?id=1&utm_source=x", "/drop/b?id=2&utm_source=x",
		    false);
	/* Parameters that the key leaves out do not reach the origin either:
	 * it could change what is stored. */
	expect(origin_heard_bytes("GET /ignore/a HTTP/1.1"));
	expect(!origin_heard_bytes("utm_source"));
	/* A request that passes goes as it came. */
	ask("POST", "/ignore/a?x=1", NULL, "x");
	expect_text(origin_last()->target, "/ignore/a?x=1");
}

SCENARIO("normalise: equivalent spellings are one object, others are not")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("routes:\n  - normalise: on\n");
	expect_same("unreserved bytes need no encoding", "/a/%7Euser", "/a/~user", true);
	expect_same("hex case", "/b/%c3%a4", "/b/%C3%A4", true);
	expect_same("dot segments", "/c/x/../y", "/c/y", true);
	expect_same("an encoded slash is no slash", "/d/%2F", "/d//", false);
	expect_same("an encoded question mark begins no query", "/e%3Fx", "/e?x", false);
}

SCENARIO("headers and cookies as part of the key or as a reason to pass")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("routes:\n"
			"  - path: /h/\n    key_headers: [ x-device ]\n"
			"  - path: /c/\n    key_cookies: [ lang ]\n"
			"  - path: /p/\n    pass_cookies: [ session ]\n"
			"  - path: /pass/\n    pass: on\n");
	get_with("/h/", "X-Device: phone\r\n");
	get_with("/h/", "X-Device: desk\r\n");
	get_with("/h/", "X-Device: phone\r\n");
	origin_expect_requests_for("/h/", 2);
	get_with("/c/", "Cookie: a=1; lang=de\r\n");
	get_with("/c/", "Cookie: lang=en\r\n");
	get_with("/c/", "Cookie: lang=de; a=2\r\n");
	origin_expect_requests_for("/c/", 2);
	get_with("/p/", "Cookie: session=1\r\n");
	get_with("/p/", "Cookie: session=1\r\n");
	get("/p/");
	get("/p/");
	origin_expect_requests_for("/p/", 3);
	get("/pass/");
	struct answer a = get("/pass/");
	origin_expect_requests_for("/pass/", 2);
	expect_miss(a);
}

SCENARIO("a name that ends in a star is all that begin so")
{
	origin_says("*", .fields = FRESH "X-Int-A: 1\r\nX-Int-B: 2\r\nX-Other: 3\r\n", .body = "x");
	edge_start_yaml("response_headers: { remove: \"X-Int-*\" }\n"
			"routes:\n"
			"  - path: /p/\n    pass_cookies: [ \"wordpress_logged_in_*\" ]\n"
			"  - path: /h/\n    key_headers: [ \"X-Feature-*\" ]\n"
			"  - path: /c/\n    key_cookies: [ \"shop_*\" ]\n");
	get("/p/");
	expect_hit(get("/p/"));
	expect_miss(get_with("/p/", "Cookie: wordpress_logged_in_7f=ann\r\n"));
	expect_hit(get_with("/p/", "Cookie: wordpress_test=1\r\n"));
	get_with("/h/", "X-Feature-B: 1\r\nX-Feature-A: 2\r\n");
	expect_hit(get_with("/h/", "X-Feature-A: 2\r\nX-Feature-B: 1\r\n"));
	expect_miss(get_with("/h/", "X-Feature-A: 2\r\n"));
	get_with("/c/", "Cookie: shop_a=1; b=2\r\n");
	expect_hit(get_with("/c/", "Cookie: b=3; shop_a=1\r\n"));
	expect_miss(get_with("/c/", "Cookie: shop_a=2\r\n"));
	struct answer a = get("/p/");
	expect_field(a, "X-Other", "3");
	expect_no_field(a, "X-Int-A");
	expect_no_field(a, "X-Int-B");
}

SCENARIO("poisoning: what is not in the key cannot change the stored answer")
{
	/* An origin that would reflect these fields must not see what a client wrote into them. */
	static const char *const evil[] = {
		"X-Forwarded-Host: evil.example", "X-Forwarded-Proto: gopher",
		"X-Forwarded-Scheme: nothttps",	  "X-Forwarded-For: 6.6.6.6",
		"Forwarded: host=evil.example",
	};
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start();
	for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
		get_with(text("/%zu", i), text("%s\r\n", evil[i]));
		const char *value = strchr(evil[i], ' ') + 1;
		const struct heard *h = origin_last();
		if (strncmp(evil[i], "X-Forwarded-Scheme", 18) == 0)
			continue; /* not a field this proxy speaks: passed as any other */
		expect_that(!strstr(h->head, value), "the origin was told \"%s\"", evil[i]);
	}
}

SCENARIO("poisoning: a GET with a body is not stored for those without")
{
	origin_says("/x", .fields = FRESH, .body = "for the body");
	origin_says("/x", .fields = FRESH, .body = "plain");
	edge_start();
	ask("GET", "/x", NULL, "payload");
	struct answer a = get("/x");
	expect_that(strcmp(a.body, "plain") == 0,
		    "a GET without a body got the answer to one with");
}

SCENARIO("poisoning: absolute form and Host cannot disagree about the key")
{
	origin_says("/x", .fields = FRESH, .body = "evil");
	origin_says("/x", .fields = FRESH, .body = "good");
	edge_start();
	struct client *c = client_open();
	client_send(c, "GET http://evil.example/x HTTP/1.1\r\nHost: example.com\r\n\r\n");
	client_read(c, "GET");
	expect_answer(get("/x"), 200, "good");
}

SCENARIO("poisoning: an error that a client provoked is not stored for others")
{
	origin_says("/x", .status = 400, .body = "bad header");
	origin_says("/x", .fields = FRESH, .body = "good");
	edge_start();
	get_with("/x", "X-Oversized: aaaaaaaa\r\n");
	expect_answer(get("/x"), 200, "good");
}

SCENARIO("deception: a static look of the path makes no private answer storable")
{
	static const char *const paths[] = {"/account.php/nothing.css", "/account;x.css",
					    "/account%2F..%2Fx.css",	"/account?x.css",
					    "/account%00.css",		"/static/..%2Faccount.js"};
	origin_says(
		"*",
		.fields =
			"Cache-Control: no-cache, private\r\nSet-Cookie: s=1\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n",
		.body = "secret");
	edge_start_yaml("admission:\n  sightings: 1\nroutes:\n  - normalise: on\n");
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct answer a = get_with(paths[i], "Cookie: s=1\r\n");
		if (a.status == 400)
			continue;
		expect_no_verdict(a, "stored");
		get(paths[i]);
		expect_that(origin_requests_for(paths[i]) == 2, "%s was served to a stranger",
			    paths[i]);
	}
	expect_int((long long)edge_stat("disk.objects"), 0);
}

SCENARIO("status_key says the key, and is off by default")
{
	origin_says("/x?y", .fields = FRESH, .body = "x");
	edge_start_yaml(
		"cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n  status_key: on\n");
	get("/x?y");
	struct answer a = get("/x?y");
	expect_that(strstr(verdict(a), "key=\"") && strstr(verdict(a), "/x?y"), "Cache-Status: %s",
		    verdict(a));
	edge_stop();
	edge_yaml("");
	edge_start();
	expect_that(!strstr(verdict(get("/x?y")), "key="), "the key is said by default");
}

SCENARIO("poisoning: nor can a condition, a range or a HEAD carry past the key what it leaves out")
{
	static const struct {
		const char *says, *method, *fields;
	} rows[] = {
		{"a range", "GET", "Range: bytes=0-3\r\n"},
		{"a condition", "GET", "If-None-Match: \"x\"\r\n"},
		{"a date", "GET", "If-Modified-Since: Thu, 01 Jan 2015 00:00:00 GMT\r\n"},
	};
	origin_says("*", .fields = FRESH, .body = "good");
	edge_start_yaml("routes:\n  - drop_params: [ evil ]\n");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ask(rows[i].method, text("/%zu?evil=1", i), rows[i].fields, NULL);
		expect_that(!strstr(origin_last()->target, "evil"), "%s told the origin %s",
			    rows[i].says, origin_last()->target);
	}
}
