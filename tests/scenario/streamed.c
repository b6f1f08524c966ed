/* Answers that come from an origin are coded on their way to clients (compress.stream): which ones, and their fields. */
#include "tests/kit/uncoded.h"

#include <signal.h>

#define STREAM "compress: { stream: on }\n"
#define FRESH  "Cache-Control: max-age=600\r\n"
#define TEXT   FRESH "Content-Type: text/html; charset=utf-8\r\n"
#define BR     "Accept-Encoding: gzip, deflate, br\r\n"
#define GZIP   "Accept-Encoding: gzip\r\n"
enum { SIZE = 200000 };

/* ---- which form -------------------------------------------------------------------------------- */

#define OF_BYTES "Accept-Ranges: bytes\r\nContent-MD5: x\r\nRepr-Digest: y\r\n"

SCENARIO("what comes for the first time is coded for who takes that, and stored as it came")
{
	char *p = uncoded_page(SIZE);
	static const char *const says[] = {"br", "gzip"}, *const asks[] = {BR, GZIP};
	for (int i = 0; i < 2; i++)
		origin_says(text("/%d", i), .fields = TEXT OF_BYTES, .body = p, .body_bytes = SIZE,
			    .etag = "\"p\"");
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE, .etag = "\"p\"");
	edge_start_yaml(STREAM);
	for (int i = 0; i < 2; i++) {
		struct answer a = get_with(text("/%d", i), asks[i]);
		uncoded_expect_streamed(a, says[i], p, SIZE);
		expect_field(a, "ETag", "W/\"p\"");
		a = get(text("/%d", i));
		expect_hit(a);
		uncoded_expect_plain(a, p, SIZE);
		expect_field(a, "ETag", "\"p\"");
		expect_field(a, "Vary", "Accept-Encoding");
		expect_field(a, "Content-MD5", "x");
		expect_field(a, "Accept-Ranges", "bytes");
	}
	struct answer a = get("/x"); /* the plain sister says it, too */
	uncoded_expect_plain(a, p, SIZE);
	expect_field(a, "Content-Length", text("%d", SIZE));
	expect_field(a, "ETag", "\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	origin_expect_requests(3);
	/* Admitted to the disk, it is packed as ever. */
	for (int i = 0; i < 3; i++)
		expect_hit(get_with("/x", BR));
	wait_until(field(get_with("/x", BR), "Content-Encoding"));
	uncoded_expect(get_with("/x", BR), "br", p, SIZE);
	origin_expect_requests(3);
}

SCENARIO("zstd, where the list names it; a strong tag is made weak, a weak one stays")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE, .etag = "W/\"p\"");
	edge_start_yaml(STREAM "accept_encoding: [ zstd, br ]\n");
	struct answer a = get_with("/x", "Accept-Encoding: br, zstd\r\n");
	uncoded_expect_streamed(a, "zstd", p, SIZE);
	expect_field(a, "ETag", "W/\"p\"");
}

SCENARIO("bodies of any length, also of one that is not said")
{
	static const int bytes[] = {1024, 65535, 65536, 65537, 131072, 3000000};
	char *p = uncoded_page(3000000);
	for (int i = 0; i < 6; i++) {
		origin_says(text("/%d", i), .fields = TEXT, .body = p,
			    .body_bytes = (size_t)bytes[i]);
		origin_says(text("/c%d", i), .fields = TEXT, .body = p,
			    .body_bytes = (size_t)bytes[i], .chunked = true);
		origin_says(text("/e%d", i), .fields = TEXT, .body = p,
			    .body_bytes = (size_t)bytes[i], .until_close = true);
	}
	origin_says("/tiny", .fields = TEXT, .body = "tiny", .chunked = true);
	origin_says("/empty", .fields = TEXT, .body = "", .chunked = true);
	edge_start_yaml(STREAM);
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 3; k++)
			uncoded_expect_streamed(
				get_with(text("/%s%d", &"c\0e\0\0"[2 * k], i), k == 1 ? BR : GZIP),
				k == 1 ? "br" : "gzip", p, (size_t)bytes[i]);
	uncoded_expect(get_with("/tiny", BR), "br", "tiny", 4);
	uncoded_expect(get_with("/empty", GZIP), "gzip", "", 0);
}

static const struct {
	const char *says, *fields, *asks;
	int bytes, status;
} rows[] = {
	{"an image", FRESH "Content-Type: image/png\r\n", BR, SIZE, 200},
	{"no type", FRESH, BR, SIZE, 200},
	{"events", FRESH "Content-Type: text/event-stream\r\n", BR, SIZE, 200},
	{"a small one", TEXT, BR, 1023, 200},
	{"an error", TEXT, BR, SIZE, 404},
	{"no-transform", "Cache-Control: max-age=600, no-transform\r\nContent-Type: text/css\r\n",
	 BR, SIZE, 200},
	{"private", "Cache-Control: private\r\nContent-Type: text/css\r\n", BR, SIZE, 200},
	{"no-store", "Cache-Control: no-store\r\nContent-Type: text/css\r\n", BR, SIZE, 200},
	{"a cookie is set", TEXT "Set-Cookie: a=b\r\n", BR, SIZE, 200},
	{"coded already", TEXT "Content-Encoding: compress\r\n", BR, SIZE, 200},
	{"for one with a cookie", TEXT, BR "Cookie: a=b\r\n", SIZE, 200},
	{"for one with credentials",
	 "Cache-Control: public, max-age=600\r\nContent-Type: text/css\r\n",
	 "Authorization: x\r\n" BR, SIZE, 200},
};

SCENARIO("nothing is coded that would not be packed, with everything else on")
{
	enum { N = sizeof rows / sizeof *rows };
	char *p = uncoded_page(SIZE);
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = rows[i].fields, .body = p,
			    .body_bytes = (size_t)rows[i].bytes, .status = rows[i].status,
			    .etag = "\"p\"");
	origin_says("/off/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	origin_says("/any/x", .fields = TEXT "Set-Cookie: a=b\r\n", .body = p, .body_bytes = SIZE);
	origin_says("/any/y", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_start_yaml(
		"compress: { stream: on, types: [ default ] }\n"
		"routes:\n- { path: /off/, compress: off }\n- { path: /any/, compress: any }\n");
	for (int i = 0; i < N; i++) {
		struct answer a = get_with(text("/%d", i), rows[i].asks);
		expect_that(a.status == rows[i].status && a.body_bytes == (size_t)rows[i].bytes,
			    "%s", rows[i].says);
		expect_that(!field(a, "Vary"), "%s", rows[i].says);
		expect_that(strcmp(field(a, "ETag"), "\"p\"") == 0, "%s", rows[i].says);
	}
	expect_no_field(get_with("/off/x", BR), "Content-Encoding");
	expect_no_field(get_with("/any/x", BR), "Content-Encoding");
	uncoded_expect(get_with("/any/y", BR "Cookie: a=b\r\n"), "br", p, SIZE);
}

SCENARIO("requests that ask for the origin's own bytes get them")
{
	static const char *const asks[] = {
		BR "Cache-Control: no-transform\r\n",
		BR "Range: bytes=5-\r\n",
		BR "If-Match: \"p\"\r\n",
		"Accept-Encoding: br;q=0, *;q=0\r\n",
		"Accept-Encoding: identity\r\n",
		"Accept-Encoding: *\r\n",
		"Accept-Encoding: zstd\r\n",
	};
	enum { N = sizeof asks / sizeof *asks };
	char *p = uncoded_page(SIZE);
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = TEXT, .body = p, .body_bytes = SIZE,
			    .etag = "\"p\"", .ranges = i > 0);
	edge_start_yaml(STREAM);
	for (int i = 0; i < N; i++) {
		struct answer a = get_with(text("/%d", i), asks[i]);
		expect_no_field(a, "Content-Encoding");
		expect_field(a, "Vary", "Accept-Encoding");
		expect_field(a, "ETag", "\"p\"");
		if (i != 1) {
			uncoded_expect_plain(a, p, SIZE);
			continue;
		}
		expect_status(a, 206);
		expect(a.body_bytes == SIZE - 5 && memcmp(a.body, p + 5, SIZE - 5) == 0);
	}
}

SCENARIO("a client of HTTP/1.0 keeps its connection")
{
	by_h1_only();
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_start_yaml(STREAM);
	struct client *c = client_open();
	client_send(c,
		    "GET /x HTTP/1.0\r\nHost: example.com\r\nConnection: keep-alive\r\n" BR "\r\n");
	struct answer a = client_read(c, "GET");
	uncoded_expect_plain(a, p, SIZE);
	expect_field(a, "Content-Length", text("%d", SIZE));
	client_quiet(c);
}

SCENARIO("it is off unless it is asked for, and a reload turns it on and off")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = "Content-Type: text/css\r\nCache-Control: max-age=0\r\n",
		    .body = p, .body_bytes = SIZE);
	edge_start_yaml("routes: [ { path: /, pass: on } ]\n");
	uncoded_expect_plain(get_with("/x", BR), p, SIZE);
	expect_no_field(get("/x"), "Vary");
	edge_rewrite("routes: [ { path: /, pass: on } ]\n" STREAM);
	edge_signal(SIGHUP);
	wait_until(field(get_with("/x", BR), "Content-Encoding"));
	edge_rewrite("routes: [ { path: /, pass: on } ]\n");
	edge_signal(SIGHUP);
	wait_until(!field(get_with("/x", BR), "Content-Encoding"));
}

/* ---- HEAD, 304 ----------------------------------------------------------------------------------- */

SCENARIO("HEAD has the fields that GET would have, and so have both kinds of 304")
{
	char *p = uncoded_page(SIZE);
	static const char *const says[] = {"ETag", "Vary", "Content-Encoding", "Content-Length",
					   "Accept-Ranges"};
	static const char *const asks[] = {BR, GZIP, "", BR "Cache-Control: no-transform\r\n"};
	for (int i = 0; i < 8; i++)
		origin_says(text("/%s%d", i < 4 ? "own/" : "", i % 4), .fields = TEXT, .body = p,
			    .body_bytes = SIZE, .etag = "\"p\"");
	edge_start_yaml(STREAM "routes: [ { path: /own/, pass: on } ]\n");
	for (int i = 0; i < 8; i++) {
		char *path = text("/%s%d", i < 4 ? "own/" : "", i % 4);
		struct answer head = ask("HEAD", path, asks[i % 4], NULL);
		struct answer a = get_with(path, asks[i % 4]);
		for (int k = 0; k < 5; k++)
			expect_field(head, says[k], field(a, says[k]));
		expect_text(field(a, "ETag"), i % 4 < 2 ? "W/\"p\"" : "\"p\"");
	}
	for (int i = 0; i < 2; i++) { /* passed, as the origin says it */
		struct answer a =
			get_with(text("/own/%d", i), text("%sIf-None-Match: W/\"p\"\r\n", asks[i]));
		expect_status(a, i < 2 ? 304 : 200);
		expect_field(a, "ETag", "W/\"p\"");
		expect_field(a, "Vary", "Accept-Encoding");
		expect_no_field(a, "Content-Encoding");
	}
	struct answer a = get_with("/own/2", "If-None-Match: \"p\"\r\n");
	expect_status(a, 304);
	expect_field(a, "ETag", "\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	a = get_with("/own/2", BR "If-None-Match: \"p\"\r\n"); /* it has the plain one */
	expect_status(a, 304);
	expect_field(a, "ETag", "\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
}

SCENARIO("HEAD of what is stored, and is to be validated: GET is answered with that")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = "Cache-Control: max-age=100\r\nContent-Type: text/css\r\n",
		    .body = p, .body_bytes = SIZE, .etag = "\"p\"");
	clock_hold();
	edge_start_yaml(STREAM);
	uncoded_expect_plain(get("/x"), p, SIZE);
	clock_advance(150000);
	struct answer a = ask("HEAD", "/x", BR, NULL);
	expect_no_field(a, "Content-Encoding");
	expect_field(a, "Content-Length", text("%d", SIZE));
	expect_field(a, "ETag", "\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	origin_expect_requests(2);
	clock_advance(150000);
	a = get_with("/x", BR);
	uncoded_expect_plain(a, p, SIZE);
	expect_field(a, "ETag", "\"p\"");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"p\"");
}

SCENARIO("a condition that is decided here, of what is fetched for all")
{
	char *p = uncoded_page(SIZE);
	for (int i = 0; i < 3; i++)
		origin_says(text("/%d", i), .fields = TEXT "ETag: \"p\"\r\n", .body = p,
			    .body_bytes = SIZE);
	edge_start_yaml(STREAM);
	struct answer a = get_with("/0", BR "If-None-Match: W/\"p\"\r\n");
	expect_status(a, 304);
	expect_field(a, "ETag", "W/\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	expect_no_field(a, "Content-Encoding");
	a = get_with("/1", "If-None-Match: W/\"p\"\r\n");
	expect_status(a, 304);
	expect_field(a, "ETag", "\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	uncoded_expect_streamed(get_with("/2", BR "If-None-Match: \"other\"\r\n"), "br", p, SIZE);
}
