/* Requests that somebody may have signed, or that pass: the origin gets them as they came. Normal forms are for
 * what is shared. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: public, max-age=600\r\n"
#define BASIC "Authorization: Basic eDp5\r\n"
#define ODD \
	"Accept: Text/HTML;q=0.50, */*\r\nAccept-Encoding: deflate, gzip;q=0.5\r\nAccept-Language: DE,  en\r\n"
#define PLAIN \
	"Accept: text/html,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate\r\nAccept-Language: de,en\r\n"
#define SORTED "routes:\n  - { path: /, query: sort, drop_params: [ drop ], normalise: on }\n"

/* The last that the origin heard has these lines, byte for byte. */
static void
expect_lines(const char *lines)
{
	expect_that(strcasestr(origin_last()->head, lines), "the origin heard\n%s",
		    origin_last()->head);
}

/* The field names by HTTP/2 are in lower case; values, and their order, are as they came. */
static void
expect_odd(void)
{
	expect_text(heard_field(origin_last(), "Accept"), "Text/HTML;q=0.50, */*");
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "deflate, gzip;q=0.5");
	expect_text(heard_field(origin_last(), "Accept-Language"), "DE,  en");
}

SCENARIO("a request with Authorization goes to the origin as it came, and its answer is not kept")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml(SORTED);
	expect_status(get_with("/a?b=1&a=%7E2&drop=3", BASIC ODD), 200);
	expect_text(origin_last()->target, "/a?b=1&a=%7E2&drop=3");
	expect_odd();
	expect_status(get_with("/a?b=1&a=%7E2&drop=3", BASIC ODD), 200);
	origin_expect_requests(2);
	/* For all who ask the question is another one. */
	expect_status(get_with("/a?b=1&a=%7E2&drop=3", ODD), 200);
	origin_expect_requests(3);
	expect_text(origin_last()->target, "/a?a=~2&b=1");
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "gzip");
	/* Its answer is for everybody. */
	expect_hit(get_with("/a?b=1&a=%7E2&drop=3", BASIC ODD));
	origin_expect_requests(3);
}

SCENARIO("one that is in normal form is stored, as its answer allows")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml(SORTED);
	expect_status(get_with("/a?a=1&b=2", BASIC PLAIN), 200);
	expect_hit(get_with("/a?b=2&a=1", ODD));
	origin_expect_requests(1);
}

SCENARIO("what is said to caches changes no form")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start();
	expect_status(get_with("/a", BASIC "Cache-Control: no-such-thing\r\nPragma: x\r\n"), 200);
	expect_that(!heard_field(origin_last(), "Pragma"), "%s", origin_last()->head);
	expect_hit(get_with("/a", BASIC "Cache-Control: no-such-thing\r\n"));
}

SCENARIO("signatures in fields and in the query count as Authorization does")
{
	static const struct {
		const char *query, *fields;
	} ways[] = {
		{"", "Signature: sig1=:YQ==:\r\n"},
		{"", "Signature-Input: sig1=(\"accept\");created=1\r\n"},
		{"", "X-Shopify-Hmac-Sha256: YQ==\r\n"},
		{"", "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=y\r\n"},
		{"&X-Amz-Signature=ff", ""},
		{"&X-Goog-Signature=ff", ""},
		{"&Signature=ff&Expires=1", ""},
		{"&sig=ff&se=2030-01-01", ""},
	};
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml(SORTED);
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
		const char *path = text("/%u?z=1%s&a=1", i, ways[i].query);
		get_with(path, text(ODD "%s", ways[i].fields));
		expect_text(origin_last()->target, path);
		expect_odd();
	}
	get_with("/none?z=1&sig=ff&a=1", ODD); /* short, without an end: a version, perhaps */
	expect_text(origin_last()->target, "/none?a=1&sig=ff&z=1");
}

SCENARIO("the client's Host, conditions and ranges are part of what it signed")
{
	by_h1_only();
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start();
	get_with("/a", "Host: Example.COM:80\r\n" BASIC);
	expect_lines("Host: Example.COM:80\r\n");
	get_with("/b", BASIC "Cache-Control: no-cache\r\nIf-None-Match: \"1\"\r\n");
	expect_lines("Cache-Control: no-cache\r\nIf-None-Match: \"1\"\r\n");
	get_with("/b", "If-None-Match: \"2\"\r\n" BASIC);
	expect_lines("If-None-Match: \"2\"\r\n");
	get_with("/c", BASIC "Range: lines=1-2\r\n");
	expect_lines("Range: lines=1-2\r\n");
	/* Others' go without. */
	get_with("/a", "Host: Example.COM:80\r\n");
	expect_lines("Host: example.com\r\n");
}

SCENARIO("a route that passes changes neither Host, nor target, nor lines")
{
	by_h1_only();
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("routes:\n  - { path: /, pass: on }\n");
	get_with("/%7Ea?b=1&a=2", "Host: Example.COM:80\r\n" ODD "X-List: a,b\r\nX-List: c\r\n");
	expect_text(origin_last()->target, "/%7Ea?b=1&a=2");
	expect_lines("Host: Example.COM:80\r\n");
	expect_lines(ODD "X-List: a,b\r\nX-List: c\r\n");
}

SCENARIO("nobody waits for the fetch of a question that was another client's own")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "own", .hold_head = go);
	origin_says("/x", .fields = FRESH, .body = "all");
	edge_start();
	struct call *own = call_with("GET", "/x", BASIC ODD, NULL);
	origin_wait_requests(1);
	expect_answer(get_with("/x", ODD), 200, "all");
	barrier_open(go);
	call_expect(own, 200, "own");
	expect_answer(get_with("/x", ODD), 200, "all");
	origin_expect_requests(2);
}

SCENARIO("a stale copy is not refreshed by a question that was one client's own")
{
	origin_says(
		"/x",
		.fields =
			"Cache-Control: public, max-age=10, stale-while-revalidate=60\r\nAge: 20\r\n",
		.etag = "\"1\"", .body = "x");
	edge_start();
	get_with("/x", ODD);
	expect_status(get_with("/x", BASIC ODD), 200);
	origin_expect_requests(2);
	expect_odd();
	expect_that(!heard_field(origin_last(), "If-None-Match"), "it was a validation:\n%s",
		    origin_last()->head);
}

SCENARIO("slices are not fetched with one client's own question")
{
	origin_says("/x", .fields = FRESH "Accept-Ranges: bytes\r\n", .etag = "\"1\"",
		    .pattern_bytes = 3 << 20, .ranges = true);
	edge_start();
	expect_status(get_with("/x", PLAIN "Range: bytes=2200000-2200009\r\n"), 206);
	expect_status(get_with("/x", PLAIN "Range: bytes=2200000-2200009\r\n"), 206);
	expect_status(get_with("/x", BASIC ODD "Range: bytes=5-9\r\n"), 206);
	expect_text(heard_field(origin_last(), "Range"), "bytes=5-9");
	expect_odd();
}
