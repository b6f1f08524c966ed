/* Some answers may be stored and used again without asking: RFC 9111 3 and 5.2, RFC 9213, RFC 8246.
 *
 * Each row: the answer's fields, the requests' fields, and whether a second request is a hit. */
#include "tests/kit/kit.h"

#define CC "Cache-Control: "

static const struct {
	const char *says;
	int status;
	const char *answer, *request;
	bool reused;
} rows[] = {
	/* clang-format off */
	{ "max-age is reused", 200, CC "max-age=60\r\n", "", true },
	{ "s-maxage is reused", 200, CC "s-maxage=60\r\n", "", true },
	{ "s-maxage=0 wins over max-age", 200, CC "max-age=60, s-maxage=0\r\n", "", false },
	{ "s-maxage wins over max-age=0", 200, CC "max-age=0, s-maxage=60\r\n", "", true },
	{ "Expires in the future is reused", 200, "Expires: Fri, 01 Jan 2100 00:00:00 GMT\r\n", "", true },
	{ "Expires: 0 is not", 200, "Expires: 0\r\n", "", false },
	{ "max-age wins over a past Expires", 200, CC "max-age=60\r\nExpires: 0\r\n", "", true },
	{ "max-age=0 wins over a future Expires", 200, CC "max-age=0\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT\r\n", "", false },
	{ "nothing said, no Last-Modified: not reused", 200, "", "", false },
	{ "an old Last-Modified is a guess at freshness", 200, "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "", true },
	{ "a 404 with max-age is reused", 404, CC "max-age=60\r\n", "", true },
	{ "a 301 with max-age is reused", 301, CC "max-age=60\r\nLocation: /y\r\n", "", true },
	{ "a 302 without freshness is not", 302, "Location: /y\r\n", "", false },
	{ "a 503 with max-age may be reused, without is not", 503, "", "", false },
	{ "no-store is not", 200, CC "max-age=60, no-store\r\n", "", false },
	{ "NO-STORE in capitals is not", 200, CC "max-age=60, NO-STORE\r\n", "", false },
	{ "no-store on a second line is not", 200, CC "max-age=60\r\n" CC "no-store\r\n", "", false },
	{ "private is not", 200, CC "max-age=60, private\r\n", "", false },
	{ "no-cache is not without asking", 200, CC "max-age=60, no-cache\r\n", "", false },
	{ "must-revalidate is reused while fresh", 200, CC "max-age=60, must-revalidate\r\n", "", true },
	{ "an answer older than its lifetime is not", 200, CC "max-age=60\r\nAge: 61\r\n", "", false },
	{ "an answer aged elsewhere but fresh is reused", 200, CC "max-age=60\r\nAge: 10\r\n", "", true },
	{ "a quoted no-store of an extension is no no-store", 200, CC "x=\"no-store\", max-age=60\r\n", "", true },
	{ "a directive nobody knows is no obstacle", 200, CC "max-age=60, super=1\r\n", "", true },
	{ "must-understand with a known status overrules no-store", 200, CC "max-age=60, no-store, must-understand\r\n", "", true },
	{ "must-understand with an unknown status does not", 599, CC "max-age=60, no-store, must-understand\r\n", "", false },
	{ "an answer to Authorization is not", 200, CC "max-age=60\r\n", "Authorization: Basic eDp5\r\n", false },
	{ "an answer to Authorization with public is", 200, CC "max-age=60, public\r\n", "Authorization: Basic eDp5\r\n", true },
	{ "an answer to Authorization with s-maxage is", 200, CC "s-maxage=60\r\n", "Authorization: Basic eDp5\r\n", true },
	{ "an answer to Authorization with must-revalidate is", 200, CC "max-age=60, must-revalidate\r\n", "Authorization: Basic eDp5\r\n", true },
	{ "Vary: * is not", 200, CC "max-age=60\r\nVary: *\r\n", "", false },
	{ "Vary: X, * is not", 200, CC "max-age=60\r\nVary: X, *\r\n", "", false },
	{ "Vary on two lines, one of them *, is not", 200, CC "max-age=60\r\nVary: X\r\nVary: *\r\n", "", false },
	{ "the request said no-store: not kept", 200, CC "max-age=60\r\n", CC "no-store\r\n", false },
	{ "the request says no-cache: asked again", 200, CC "max-age=60\r\n", CC "no-cache\r\n", false },
	{ "the request says max-age=0: asked again", 200, CC "max-age=60\r\n", CC "max-age=0\r\n", false },
	{ "the request says Pragma: no-cache and no Cache-Control: asked again", 200, CC "max-age=60\r\n", "Pragma: no-cache\r\n", false },
	{ "the request says something unknown: reused", 200, CC "max-age=60\r\n", CC "nothing-to-see\r\nPragma: foo\r\n", true },
	{ "Set-Cookie is one visitor's, however fresh", 200, CC "public, max-age=60\r\nSet-Cookie: a=b\r\n", "", false },
	{ "Last-Modified alone, for a request with a cookie, is not", 200, "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "Cookie: a=b\r\n", false },
	{ "unless it is public", 200, CC "public\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "Cookie: a=b\r\n", true },
	{ "nor for one with a key to an API", 200, "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "X-Api-Key: a\r\n", false },
	{ "a tag is none that others may ask with", 200, "ETag: \"a\"\r\n", "X-Session-Id: a\r\n", false },
	{ "a lifetime that the origin states counts beside it", 200, CC "max-age=60\r\n", "X-Api-Key: a\r\n", true },
	{ "so does public", 200, CC "public\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "X-Api-Key: a\r\n", true },
	{ "a variant by it may be guessed", 200, "Vary: X-Api-Key\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "X-Api-Key: a\r\n", true },
	{ "fields of browsers are no obstacle", 200, "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "Sec-Fetch-Mode: navigate\r\nX-Requested-With: x\r\n", true },
	{ "an error that a client's fields can cause is not", 400, CC "public, max-age=60\r\n", "", false },
	{ "Set-Cookie without explicit freshness is one visitor's", 200, "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\nSet-Cookie: a=b\r\n", "", false },
	{ "Cookie in the request is no obstacle", 200, CC "max-age=60\r\n", "Cookie: a=b\r\n", true },
	{ "CDN-Cache-Control wins over no-store", 200, CC "no-store\r\nCDN-Cache-Control: max-age=60\r\n", "", true },
	{ "CDN-Cache-Control: no-store wins over max-age", 200, CC "max-age=60\r\nCDN-Cache-Control: no-store\r\n", "", false },
	{ "CDN-Cache-Control: private wins over max-age", 200, CC "max-age=60\r\nCDN-Cache-Control: private\r\n", "", false },
	{ "CDN-Cache-Control: max-age=0 wins over Expires", 200, "Expires: Fri, 01 Jan 2100 00:00:00 GMT\r\nCDN-Cache-Control: max-age=0\r\n", "", false },
	{ "an invalid CDN-Cache-Control is as if absent (garbage)", 200, CC "no-store\r\nCDN-Cache-Control: max-age=60, &&&&\r\n", "", false },
	{ "an invalid CDN-Cache-Control is as if absent (wrong type)", 200, CC "no-store\r\nCDN-Cache-Control: max-age=\"60\"\r\n", "", false },
	{ "an empty Cache-Control says nothing", 200, CC "\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n", "", true },
	{ "a huge max-age is a long time, not an overflow", 200, CC "max-age=99999999999999999999\r\n", "", true },
	{ "a negative max-age is stale", 200, CC "max-age=-5\r\n", "", false },
	{ "two different max-age: the strictest is safe", 200, CC "max-age=0, max-age=60\r\n", "", false },
	{ "Expires in RFC 850 form is understood", 200, "Expires: Thursday, 18-Aug-50 02:01:18 GMT\r\n", "", true },
	{ "Expires in asctime form is understood", 200, "Expires: Thu Aug 18 02:01:18 2050\r\n", "", true },
	{ "Expires in a foreign time zone is invalid, so stale", 200, "Expires: Thu, 18 Aug 2050 02:01:18 AEST\r\n", "", false },
	/* clang-format on */
};

SCENARIO("which answers are used again")
{
	enum { N = sizeof rows / sizeof *rows };
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .status = rows[i].status, .fields = rows[i].answer,
			    .body = "x");
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		get_with(text("/%d", i), rows[i].request);
		struct answer a = get_with(text("/%d", i), rows[i].request);
		bool reused = origin_requests_for(text("/%d", i)) == 1;
		if (reused == rows[i].reused && verdict_has(a, "hit") == reused)
			continue;
		wrong++;
		note("%s: %s, Cache-Status: %s", rows[i].says,
		     reused ? "was reused" : "was not reused", verdict(a));
	}
	expect_int(wrong, 0);
}

SCENARIO("an answer to Authorization is not given to others")
{
	origin_says("/me", .fields = CC "max-age=60\r\n", .body = "secret");
	origin_says("/me", .status = 401, .body = "who are you?");
	edge_start();
	expect_answer(get_with("/me", "Authorization: Basic eDp5\r\n"), 200, "secret");
	expect_status(get("/me"), 401);
}

#define GUESSED "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n"

SCENARIO("an answer to another credential is not given to others by a guess")
{
	static const char *const names[] = {
		"Api-Key",	"X-Api-Key",	  "X-Auth-Token",	  "X-CSRF-Token",
		"X-Session-Id", "X-Access-Token", "X-Amz-Security-Token", "X-Signature"};
	enum { N = sizeof names / sizeof *names };
	for (int i = 0; i < N; i++) {
		origin_says(text("/%d", i), .fields = GUESSED, .body = "secret");
		origin_says(text("/%d", i), .fields = GUESSED, .body = "for all");
	}
	edge_start();
	for (int i = 0; i < N; i++) {
		expect_answer(get_with(text("/%d", i), text("%s: 1\r\n", names[i])), 200, "secret");
		expect_answer(get(text("/%d", i)), 200, "for all");
		expect_hit(get(text("/%d", i)));
	}
}

SCENARIO("an answer to another credential is not given to those who wait for it")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = GUESSED, .body = "secret", .hold_head = go);
	origin_says("/x", .fields = GUESSED, .body = "for all");
	edge_start();
	struct call *a = call_with("GET", "/x", "X-Api-Key: 1\r\n", NULL);
	origin_wait_requests(1);
	struct call *b = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(a, 200, "secret");
	call_expect(b, 200, "for all");
}

SCENARIO("a credential that the key holds, or that no origin is sent, is no obstacle to a guess")
{
	origin_says("*", .fields = GUESSED, .body = "x");
	edge_start_yaml("forwarded: { drop: [ default, X-Dropped-Token ] }\n"
			"routes:\n  - { path: /keyed/, key_headers: [ X-Api-Key ] }\n"
			"  - { path: /hidden/, request_headers: { remove: [ X-Api-Key ] } }\n");
	get_with("/keyed/x", "X-Api-Key: 1\r\n");
	expect_hit(get_with("/keyed/x", "X-Api-Key: 1\r\n"));
	expect_miss(get_with("/keyed/x", "X-Api-Key: 2\r\n"));
	get_with("/hidden/x", "X-Api-Key: 1\r\n");
	expect_hit(get("/hidden/x"));
	get_with("/x", "X-Dropped-Token: 1\r\n");
	expect_hit(get("/x"));
}

SCENARIO(
	"ignore_cookies: a cookie that measures visits is no reason not to guess, and no origin sees it")
{
	static const char old[] = "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n";
	origin_says("*", .fields = old, .body = "hello");
	edge_start_yaml(EDGE_CACHE("  ignore_cookies: [ default, \"shop_*\" ]\n"));
	get_with("/a", "Cookie: _ga=GA1.2.3; _ga_X1=GS1; shop_seen=1\r\n");
	expect_hit(get_with("/a", "Cookie: _ga=GA1.2.4\r\n"));
	expect_hit(get("/a"));
	expect(heard_field(origin_request(0), "Cookie") == NULL);
	get_with("/b", "Cookie: _ga=GA1.2.3; session=1\r\n");
	expect_miss(get("/b"));
	expect_text(heard_field(origin_request(1), "Cookie"), "session=1");
	ask("POST", "/c", "Cookie: _ga=1; b=2\r\n", "x");
	expect_text(heard_field(origin_request(3), "Cookie"), "_ga=1; b=2");
}

SCENARIO("without ignore_cookies any cookie is a reason not to guess")
{
	static const char old[] = "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n";
	origin_says("*", .fields = old, .body = "hello");
	edge_start();
	get_with("/a", "Cookie: _ga=GA1.2.3\r\n");
	expect_miss(get("/a"));
	expect_text(heard_field(origin_request(0), "Cookie"), "_ga=GA1.2.3");
}

SCENARIO("heuristic_fields: beside no other field than these is a lifetime guessed")
{
	origin_says("*", .fields = GUESSED, .body = "x");
	edge_start_yaml(EDGE_CACHE("  heuristic_fields: [ Referer, \"sec-*\" ]\n"));
	get_with("/a", "Referer: /\r\nSec-Fetch-Mode: cors\r\nAccept: */*\r\n");
	expect_hit(get("/a"));
	get_with("/b", "X-Who: me\r\n");
	expect_miss(get("/b"));
	expect_hit(get("/b"));
}

SCENARIO("only-if-cached: a hit, or 504 without asking the origin")
{
	origin_says("/x", .fields = CC "max-age=60\r\n", .body = "hello");
	edge_start();
	expect_status(get_with("/x", CC "only-if-cached\r\n"), 504);
	origin_expect_requests(0);
	get("/x");
	expect_answer(get_with("/x", CC "only-if-cached\r\n"), 200, "hello");
}

SCENARIO("Age is what it should be, and Date is the origin's")
{
	origin_says("/x",
		    .fields =
			    CC "max-age=600\r\nAge: 100\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
		    .body = "x", .no_date = true);
	origin_says("/y", .fields = CC "max-age=600\r\n", .body = "y");
	edge_start();
	int64_t begun = kit_now_ms();
	get("/y");
	struct answer a = get("/y");
	expect_hit(a);
	expect_that(field(a, "Age") && atoi(field(a, "Age")) <= kit_seconds_since(begun),
		    "Age of a new object: %s", field(a, "Age"));
	expect_int(field_lines(a, "Age"), 1);
	/* An old Date makes it old: apparent_age, RFC 9111 4.2.3. */
	get("/x");
	a = get("/x");
	expect_miss(a);
	expect_field(a, "Date", "Thu, 01 Jan 2026 00:00:00 GMT");
}

SCENARIO("Cache-Control, CDN-Cache-Control and Expires are passed on as they came")
{
	origin_says(
		"/x",
		.fields =
			"Cache-Control: max-age=60, foo=\"a, b\"\r\nCDN-Cache-Control: max-age=600\r\n"
			"Expires: Fri, 01 Jan 2100 00:00:00 GMT\r\nETag: W/\"strange  one\"\r\n",
		.body = "x");
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_field(a, "Cache-Control", "max-age=60, foo=\"a, b\"");
		expect_field(a, "CDN-Cache-Control", "max-age=600");
		expect_field(a, "Expires", "Fri, 01 Jan 2100 00:00:00 GMT");
		expect_field(a, "ETag", "W/\"strange  one\"");
	}
}

SCENARIO("all lines of a field with several lines come back from the cache, in order")
{
	origin_says(
		"/x",
		.fields = CC
		"max-age=60\r\nSet-Cookie: a=1\r\nX-Many: 1\r\nSet-Cookie: b=2\r\nX-Many: 2\r\n",
		.body = "x");
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_int(field_lines(a, "Set-Cookie"), 2);
		expect_field(a, "Set-Cookie", "a=1, b=2");
		expect_field(a, "X-Many", "1, 2");
	}
}

SCENARIO("an answer cut short is never stored")
{
	origin_says("/cut", .fields = CC "max-age=60\r\n", .pattern_bytes = 100000, .cut = true,
		    .cut_at = 50000);
	origin_says("/cut", .fields = CC "max-age=60\r\n", .pattern_bytes = 100000);
	origin_says("/chunked", .fields = CC "max-age=60\r\n", .pattern_bytes = 100000,
		    .chunked = true, .cut = true, .cut_at = 50000);
	origin_says("/chunked", .fields = CC "max-age=60\r\n", .pattern_bytes = 100000,
		    .chunked = true);
	origin_says("/reset", .fields = CC "max-age=60\r\n", .pattern_bytes = 100000, .cut = true,
		    .cut_at = 50000, .reset = true);
	origin_says("/reset", .fields = CC "max-age=60\r\n", .pattern_bytes = 100000);
	edge_start_yaml("admission:\n  sightings: 1\n");
	static const char *const paths[] = {"/cut", "/chunked", "/reset"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct answer a = try_ask("GET", paths[i], NULL, NULL);
		expect_that(a.cut || a.status == 502, "%s: the client was not told that it was cut",
			    paths[i]);
		a = get(paths[i]);
		expect_status(a, 200);
		expect_miss(a);
		expect_int((long long)a.body_bytes, 100000);
	}
}

SCENARIO("an HTTP/1.1 answer delimited by close is not taken for whole when it was promised longer")
{
	origin_says("/short", .fields = CC "max-age=60\r\n", .body = "short", .promise = 5000,
		    .close = true);
	origin_says("/short", .fields = CC "max-age=60\r\n", .body = "whole");
	edge_start_yaml("admission:\n  sightings: 1\n");
	expect(try_ask("GET", "/short", NULL, NULL).fault != NULL);
	expect_answer(get("/short"), 200, "whole");
}

SCENARIO("POST: a second GET is not answered by a POST's answer, unless it says so")
{
	origin_says("/p", .fields = CC "max-age=60\r\n", .body = "posted");
	origin_says("/p", .fields = CC "max-age=60\r\n", .body = "gotten");
	edge_start();
	ask("POST", "/p", NULL, "x");
	expect_answer(get("/p"), 200, "gotten");
	/* And a POST is never answered from the cache. */
	ask("POST", "/p", NULL, "x");
	origin_expect_requests(3);
}

SCENARIO("an answer to POST is nobody else's, whatever it says of itself")
{
	origin_says("/p", .fields = CC "max-age=60\r\nContent-Location: /p\r\n",
		    .body = "what one client posted");
	origin_says("/p", .fields = CC "max-age=60\r\n", .body = "gotten");
	edge_start();
	expect_answer(ask("POST", "/p", NULL, "x"), 200, "what one client posted");
	expect_answer(get("/p"), 200, "gotten");
}

SCENARIO(
	"a HEAD answer that disagrees with the stored object makes it stale, never changes its body")
{
	origin_says("/x", .fields = CC "max-age=60\r\n", .etag = "\"1\"", .body = "hello");
	origin_says("/x", .fields = CC "max-age=60\r\n", .etag = "\"2\"",
		    .body = "longer than before");
	edge_start();
	get("/x");
	struct answer a = ask("HEAD", "/x", CC "no-cache\r\n", NULL);
	expect_status(a, 200);
	a = get("/x");
	expect_that(strcmp(a.body, "hello") == 0 || strcmp(a.body, "longer than before") == 0,
		    "got %s", a.body);
	expect_int(atoi(field(a, "Content-Length")), (int)a.body_bytes);
}

SCENARIO("an own targeted field comes before CDN-Cache-Control, which comes before Cache-Control")
{
	static const struct {
		const char *says, *fields;
		bool reused;
	} cases[] = {
		{"own over both",
		 "Edge-Control: max-age=60\r\nCDN-Cache-Control: no-store\r\n" CC "no-store\r\n",
		 true},
		{"own forbids", "Edge-Control: no-store\r\nCDN-Cache-Control: max-age=60\r\n",
		 false},
		{"own is no structured field",
		 "Edge-Control: max-age=x, &\r\nCDN-Cache-Control: max-age=60\r\n" CC
		 "no-store\r\n",
		 true},
		{"own is empty",
		 "Edge-Control:\r\nCDN-Cache-Control: max-age=60\r\n" CC "no-store\r\n", true},
		{"both are none",
		 "Edge-Control: \"\r\nCDN-Cache-Control: \"\r\n" CC "max-age=60\r\n", true},
		{"stale by the targeted, fresh by the other",
		 "CDN-Cache-Control: max-age=5\r\nAge: 10\r\n" CC "max-age=60\r\n", false},
		{"names in capitals are no directives of a dictionary",
		 "Edge-Control: MAX-AGE=60\r\n" CC "no-store\r\n", false},
	};
	enum { N = sizeof cases / sizeof *cases };
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = cases[i].fields, .body = "x");
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n"
			"  targeted_field: Edge-Control\n");
	for (int i = 0; i < N; i++) {
		get(text("/%d", i));
		struct answer a = get(text("/%d", i));
		expect_that((origin_requests_for(text("/%d", i)) == 1) == cases[i].reused, "%s",
			    cases[i].says);
		if (strstr(cases[i].fields, "Edge-Control: max-age=60"))
			expect_field(a, "Edge-Control", "max-age=60");
	}
}

SCENARIO("no-cache=\"a\" and private=\"a\": who asked gets the field, who comes after does not")
{
	static const char *const words[] = {"no-cache", "private"};
	for (int i = 0; i < 2; i++)
		origin_says(text("/%s", words[i]),
			    .fields = text(CC "max-age=60, %s=\"Set-Cookie, x-mine\"\r\n"
					      "Set-Cookie: a=b\r\nX-Mine: 1\r\nX-Theirs: 2\r\n",
					   words[i]),
			    .body = "x");
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct answer a = get(text("/%s", words[i]));
		expect_field(a, "Set-Cookie", "a=b");
		expect_field(a, "X-Mine", "1");
		a = get(text("/%s", words[i]));
		expect_hit(a);
		expect_no_field(a, "Set-Cookie");
		expect_no_field(a, "X-Mine");
		expect_field(a, "X-Theirs", "2");
	}
}

SCENARIO("a download that is cut at once is not fetched to its end")
{
	enum { BYTES = 8 << 20 };
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = BYTES,
		    .seed = 3, .hold_body = go, .hold_at = 64 << 10);
	edge_start("--memory", "1MiB");
	for (int i = 0; i < 2; i++) { /* the second one is for the disk */
		struct client *c = client_open();
		client_request(c, "GET", "/big", NULL);
		expect_status(client_read_head(c), 200);
		client_reset(c);
		edge_wait_stat("connections.closed", i + 1);
	}
	barrier_open(go);
	edge_expect_stat("flights.active", 0);
	expect_between(edge_stat("bytes.from_origin"), 0, 1 << 20);
}
