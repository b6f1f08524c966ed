/* A body that the origin cuts short is completed by Range where a strong validator allows it, for
 * all who read it; where none does, the answers are cut. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { BYTES = 1 << 20, CUT = 400000, CUT_AGAIN = 300000 };

static void
expect_whole(struct answer a)
{
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 4, 0, BYTES));
}

SCENARIO("a body that breaks off is completed, for its followers too, and stored as one")
{
	enum { N = 5 };
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .cut = true, .cut_at = CUT, .hold_head = go);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true);
	clock_hold(); /* followers wait for their leader */
	edge_start();
	struct call *calls[N];
	for (int i = 0; i < N; i++)
		calls[i] = call_get("/x");
	edge_wait_requests(N);
	barrier_open(go);
	for (int i = 0; i < N; i++)
		expect_whole(call_wait(calls[i]));
	origin_expect_requests(2);
	const struct heard *h = origin_request(1);
	expect_text(heard_field(h, "Range"), text("bytes=%d-", CUT));
	expect_text(heard_field(h, "If-Range"), "\"1\"");
	struct answer a = get("/x");
	expect_hit(a);
	expect_whole(a);
}

SCENARIO("one that breaks off again and again is completed as long as each try brings something")
{
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .cut = true, .cut_at = CUT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true, .cut = true, .cut_at = CUT_AGAIN);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true);
	edge_start();
	expect_whole(get("/x"));
	origin_expect_requests(3);
	expect_text(heard_field(origin_last(), "Range"), text("bytes=%d-", CUT + CUT_AGAIN));
}

SCENARIO("one that brings nothing more is given up")
{
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .cut = true, .cut_at = CUT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true, .cut = true, .cut_at = 0, .times = 9);
	edge_start();
	expect(try_ask("GET", "/x", NULL, NULL).cut);
	expect_between(origin_requests(), 2, 3);
}

SCENARIO("a chunked body that breaks off is completed too: the rest says how long it is")
{
	by_h1_only();
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .chunked = true, .cut = true, .cut_at = CUT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true, .cut = true, .cut_at = CUT_AGAIN);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true);
	edge_start();
	struct answer a = get("/x");
	expect(a.chunked);
	expect_whole(a);
	origin_expect_requests(3);
	expect_text(heard_field(origin_request(1), "Range"), text("bytes=%d-", CUT));
	expect_text(heard_field(origin_request(1), "If-Range"), "\"1\"");
	a = get("/x");
	expect_hit(a);
	expect_whole(a);
}

/* On the fly it is coded under one tag with what is not coded, and a part of it is not. */
SCENARIO("behind a coded body of unknown length nothing is put that may not be coded")
{
	origin_says("/x", .fields = FRESH "Content-Encoding: gzip\r\n", .etag = "\"1\"",
		    .pattern_bytes = BYTES, .seed = 4, .chunked = true, .cut = true, .cut_at = CUT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true, .times = 9);
	edge_start();
	struct answer a = try_ask("GET", "/x", "Accept-Encoding: gzip\r\n", NULL);
	expect_that(a.body_bytes < BYTES, "%zu bytes", a.body_bytes);
	origin_expect_requests(1);
}

SCENARIO("a chunked body of which only the end is missing is whole when the origin says so")
{
	static const char *const ends[] = {"ETag: \"1\"\r\n", "ETag: \"2\"\r\n", ""};
	for (int i = 0; i < 3; i++) {
		char *path = text("/%d", i);
		origin_says(path, .raw = text("HTTP/1.1 200 OK\r\n" FRESH "ETag: \"1\"\r\n"
					      "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
		origin_says(path, .status = 416,
			    .fields = text("Content-Range: bytes */5\r\n%s", ends[i]),
			    .body = "no");
	}
	edge_start();
	expect_answer(get("/0"), 200, "hello");
	expect_hit(get("/0"));
	expect(try_ask("GET", "/1", NULL, NULL).cut);
	expect(try_ask("GET", "/2", NULL, NULL).cut); /* of which version, nobody can say */
}

/* These must not be taken for the rest, or cannot be asked for. */
static const struct {
	const char *path, *first, *fields_first, *second;
	int requests;
} cuts[] = {
	{"/changed", "\"1\"", FRESH, "\"2\"", 2},
	{"/weak", "W/\"1\"", FRESH, "W/\"1\"", 1},
	{"/none", NULL, FRESH, NULL, 1},
	{"/weak-date", NULL,
	 FRESH "Last-Modified: Fri, 13 Nov 2026 10:00:00 GMT\r\n"
	       "Date: Fri, 13 Nov 2026 10:00:00 GMT\r\n",
	 NULL, 1},
};

SCENARIO("what is not the rest of the same is never put behind it")
{
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		origin_says(cuts[i].path, .fields = cuts[i].fields_first, .etag = cuts[i].first,
			    .pattern_bytes = BYTES, .seed = 4, .cut = true, .cut_at = CUT,
			    .no_date = i == 3);
		origin_says(cuts[i].path, .fields = FRESH, .etag = cuts[i].second,
			    .pattern_bytes = BYTES, .seed = 5, .ranges = true);
	}
	edge_start();
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		struct answer a = try_ask("GET", cuts[i].path, NULL, NULL);
		expect_that(a.cut && a.body_bytes == CUT, "%s: %zu bytes", cuts[i].path,
			    a.body_bytes);
		expect_int(origin_requests_for(cuts[i].path), cuts[i].requests);
		/* And nothing of it was stored. */
		a = get(cuts[i].path);
		expect_miss(a);
		expect(a.body_bytes == BYTES && is_pattern(a.body, 5, 0, BYTES));
	}
}

SCENARIO("an origin that answers the Range with the whole is not believed twice")
{
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .cut = true, .cut_at = CUT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4);
	edge_start();
	struct answer a = try_ask("GET", "/x", NULL, NULL);
	expect(a.cut && is_pattern(a.body, 4, 0, a.body_bytes));
	expect_whole(get("/x"));
}

/* The rest of ten bytes, five of which were sent, without a length but by what it says of its range. */
static void
rest_says(const char *path, const char *framed)
{
	origin_says(path, .raw = text("HTTP/1.1 200 OK\r\n" FRESH "ETag: \"1\"\r\n"
				      "Content-Length: 10\r\n\r\nhello"));
	origin_says(path, .raw = text("HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\n"
				      "Content-Range: bytes 5-9/10\r\n%s",
				      framed));
	origin_says(path, .fields = FRESH, .etag = "\"1\"", .body = "helloworld");
}

SCENARIO("a rest without a length that is longer or shorter than its range is no rest")
{
	rest_says("/fits", "Transfer-Encoding: chunked\r\n\r\n5\r\nworld\r\n0\r\n\r\n");
	rest_says("/longer", "Transfer-Encoding: chunked\r\n\r\n8\r\nworldabc\r\n0\r\n\r\n");
	rest_says("/longer-rest", "Connection: close\r\n\r\nworldabc");
	rest_says("/shorter", "Transfer-Encoding: chunked\r\n\r\n3\r\nwor\r\n0\r\n\r\n");
	rest_says("/shorter-rest", "Connection: close\r\n\r\nwor");
	edge_start();
	expect_answer(get("/fits"), 200, "helloworld");
	expect_hit(get("/fits"));
	static const char *const odd[] = {"/longer", "/longer-rest", "/shorter", "/shorter-rest"};
	for (int i = 0; i < 4; i++) {
		expect(try_ask("GET", odd[i], NULL, NULL).body_bytes <= 10);
		struct answer a = get(odd[i]);
		expect_answer(a, 200, "helloworld");
		expect_miss(a); /* nothing of it was stored */
	}
}
