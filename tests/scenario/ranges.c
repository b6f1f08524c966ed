/* Ranges answered from a stored 200 (RFC 9110 14), and what a range may cost. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

static const struct {
	const char *says, *range;
	int status;
	const char *content_range, *body;
} rows[] = {
	/* clang-format off: the body is 0123456789 */
	{"first bytes", "bytes=0-3", 206, "bytes 0-3/10", "0123"},
	{"one byte", "bytes=5-5", 206, "bytes 5-5/10", "5"},
	{"to the end", "bytes=7-", 206, "bytes 7-9/10", "789"},
	{"last bytes", "bytes=-2", 206, "bytes 8-9/10", "89"},
	{"more last bytes than there are", "bytes=-99", 206, "bytes 0-9/10", "0123456789"},
	{"an end beyond the end", "bytes=8-99", 206, "bytes 8-9/10", "89"},
	{"a huge end", "bytes=8-99999999999999999999999", 206, "bytes 8-9/10", "89"},
	{"whitespace is tolerated in the list", "bytes= 0-1", 206, "bytes 0-1/10", "01"},
	{"overlapping ranges are joined", "bytes=0-3,2-5", 206, "bytes 0-5/10", "012345"},
	{"adjacent ranges are joined", "bytes=0-3,4-5", 206, "bytes 0-5/10", "012345"},
	{"beyond the end: 416", "bytes=10-", 416, "bytes */10", NULL},
	{"zero last bytes: 416", "bytes=-0", 416, "bytes */10", NULL},
	{"backwards is invalid, so ignored", "bytes=5-3", 200, NULL, "0123456789"},
	{"another unit is ignored", "lines=0-3", 200, NULL, "0123456789"},
	{"garbage is ignored", "bytes=abc", 200, NULL, "0123456789"},
	{"an empty list is ignored", "bytes=", 200, NULL, "0123456789"},
	{"one unsatisfiable among good ones is left out", "bytes=0-1,50-60", 206, "bytes 0-1/10",
	 "01"},
	/* clang-format on */
};

SCENARIO("a part in a unit of the origin's own is nobody else's")
{
	origin_says("/list", .fields = FRESH, .body = "all rows");
	origin_says("/odd", .fields = FRESH "Content-Range: rows 0-0/9\r\n", .body = "one row");
	origin_says("/odd", .fields = FRESH, .body = "all rows");
	edge_start();
	expect_answer(get_with("/list", "Range: rows=0-0\r\n"), 200, "all rows");
	expect(!heard_field(origin_last(), "Range"));
	expect_answer(get("/odd"), 200, "one row");
	expect_answer(get("/odd"), 200, "all rows");
}

SCENARIO("ranges of a stored object")
{
	origin_says("/x", .fields = FRESH "Content-Type: text/plain\r\n", .etag = "\"v\"",
		    .body = "0123456789");
	edge_start();
	get("/x");
	int wrong = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct answer a = get_with("/x", text("Range: %s\r\n", rows[i].range));
		const char *cr = field(a, "Content-Range");
		bool right = a.status == rows[i].status && !cr == !rows[i].content_range &&
			     (!cr || strcmp(cr, rows[i].content_range) == 0) &&
			     (!rows[i].body || strcmp(a.body, rows[i].body) == 0);
		/* A suffix or an end that covers everything may be answered as the whole. */
		right |= rows[i].body && strlen(rows[i].body) == 10 && a.status == 200 &&
			 strcmp(a.body, rows[i].body) == 0;
		if (right)
			continue;
		wrong++;
		note("%s (%s): got %d, Content-Range %s, \"%.40s\"", rows[i].says, rows[i].range,
		     a.status, cr, a.body);
	}
	origin_expect_requests(1);
	expect_int(wrong, 0);
}

/* RFC 9530 2, RFC 1864: not of the representation, but of the bytes that this very answer has. */
#define DIGESTS "Content-MD5: eB5eJF1ptWaXm4bijSPyxw==\r\nContent-Digest: sha-256=:hNiH=:\r\n"

static void
expect_digests(struct answer a, int lines)
{
	expect_int(field_lines(a, "Content-MD5"), lines);
	expect_int(field_lines(a, "Content-Digest"), lines);
	expect_int(field_lines(a, "Repr-Digest"), 1);
}

SCENARIO("what says of the bytes of a whole answer goes with no part of it")
{
	origin_says("/x", .fields = FRESH DIGESTS "Repr-Digest: sha-256=:hNiH=:\r\n",
		    .etag = "\"v\"", .body = "0123456789");
	edge_start();
	get("/x");
	expect_digests(get("/x"), 1);
	expect_digests(get_with("/x", "Range: bytes=0-3\r\n"), 0);
	expect_digests(get_with("/x", "Range: bytes=0-1,5-6\r\n"), 0);
	expect_digests(get_with("/x", "Range: bytes=99-\r\n"), 0);
	expect_digests(ask("HEAD", "/x", NULL, NULL), 1);
	origin_expect_requests(1);
}

SCENARIO("what says of the bytes of a part goes with no other part, nor with the whole")
{
	origin_says("/x", .fields = FRESH DIGESTS "Repr-Digest: sha-256=:hNiH=:\r\n",
		    .etag = "\"v\"", .body = "0123456789", .ranges = true, .times = 9);
	edge_start();
	expect_digests(get_with("/x", "Range: bytes=0-3\r\n"), 1); /* the origin's own */
	expect_digests(get_with("/x", "Range: bytes=1-2\r\n"), 0);
	struct answer a = get("/x");
	expect_hit(a);
	expect_answer(a, 200, "0123456789");
	expect_digests(a, 0);
	origin_expect_requests(2);
}

SCENARIO("several ranges are a multipart answer whose parts say where they are")
{
	origin_says("/x", .fields = FRESH "Content-Type: text/plain\r\n", .body = "0123456789");
	edge_start();
	get("/x");
	struct answer a = get_with("/x", "Range: bytes=0-1,4-5,-1\r\n");
	expect_status(a, 206);
	const char *type = field(a, "Content-Type"), *b = type ? strstr(type, "boundary=") : NULL;
	expect_that(type && strncmp(type, "multipart/byteranges", 20) == 0 && b, "Content-Type: %s",
		    type);
	expect_no_field(a, "Content-Range");
	char *boundary = strdup(b + 9);
	if (*boundary == '"') {
		boundary++;
		boundary[strcspn(boundary, "\"")] = 0;
	}
	static const char *const parts[][2] = {
		{"bytes 0-1/10", "01"}, {"bytes 4-5/10", "45"}, {"bytes 9-9/10", "9"}};
	char *at = a.body;
	for (int i = 0; i < 3; i++) {
		char *open = text("--%s\r\n", boundary);
		at = strstr(at, open);
		expect_that(at, "no boundary before part %d:\n%s", i, a.body);
		at += strlen(open);
		char *end = strstr(at, "\r\n\r\n");
		expect(end);
		*end = 0;
		expect_that(strcasestr(at, text("Content-Range: %s", parts[i][0])), "part %d: %s",
			    i, at);
		expect_that(strcasestr(at, "Content-Type: text/plain"), "part %d: %s", i, at);
		at = end + 4;
		expect_that(strncmp(at, parts[i][1], strlen(parts[i][1])) == 0, "part %d: %s", i,
			    at);
	}
	expect_that(strstr(at, text("\r\n--%s--", boundary)), "no closing boundary:\n%s", at);
}

SCENARIO("the boundary between parts is another one each time, and tells nothing of the key")
{
	char seen[8][9] = {""};
	origin_says("*", .fields = FRESH, .body = "0123456789");
	edge_start();
	get("/x");
	for (int i = 0; i < 8; i++) {
		struct answer a = get_with("/x", "Range: bytes=0-1,4-5\r\n");
		const char *type = field(a, "Content-Type");
		const char *b = type ? strstr(type, "boundary=") : NULL;
		expect_status(a, 206);
		expect_that(b && strlen(b) >= 9 + 16, "Content-Type: %s", type);
		/* A clock that is mixed with something constant changes the last digits alone. */
		memcpy(seen[i], b + 9, 8);
		for (int k = 0; k < i; k++)
			expect_that(strcmp(seen[k], seen[i]) != 0, "%s comes twice", seen[i]);
	}
}

SCENARIO("a range attack costs no amplification")
{
	enum { BYTES = 1 << 20 };
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start();
	get("/x");
	char list[20000] = "Range: bytes=0-";
	for (int i = 0; i < 1000; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), ",%d-", i);
	strcat(list, "\r\n");
	struct answer a = get_with("/x", list);
	expect_that(a.status == 200 || a.status == 206 || a.status == 416 || a.status == 431,
		    "got %d", a.status);
	expect_between((double)a.body_bytes, 0, BYTES * 1.1);
	/* Many small ones, each with a part head of its own. */
	strcpy(list, "Range: bytes=0-0");
	for (int i = 1; i < 1300; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), ",%d-%d", i * 2, i * 2);
	strcat(list, "\r\n");
	a = get_with("/x", list);
	expect_between((double)a.body_bytes, 0, BYTES * 1.1);
	origin_expect_requests(1);
}

SCENARIO("If-Range: the range when the validator is the same strong one, else the whole")
{
	static const struct {
		const char *says, *if_range;
		int status;
	} cases[] = {
		{"the same strong tag", "\"v\"", 206},
		{"another tag", "\"w\"", 200},
		{"a weak tag", "W/\"v\"", 200},
		{"the same date", "Thu, 01 Jan 2015 00:00:00 GMT", 206},
		{"another date", "Fri, 01 Jan 2016 00:00:00 GMT", 200},
		{"garbage", "yesterday", 200},
	};
	origin_says("/x", .fields = FRESH, .etag = "\"v\"",
		    .last_modified = "Thu, 01 Jan 2015 00:00:00 GMT", .body = "0123456789");
	edge_start();
	get("/x");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct answer a = get_with(
			"/x", text("Range: bytes=0-3\r\nIf-Range: %s\r\n", cases[i].if_range));
		expect_that(a.status == cases[i].status, "%s: got %d", cases[i].says, a.status);
	}
	origin_expect_requests(1);
}

SCENARIO("If-None-Match that matches wins over Range")
{
	origin_says("/x", .fields = FRESH, .etag = "\"v\"", .body = "0123456789");
	edge_start();
	get("/x");
	expect_status(get_with("/x", "Range: bytes=0-3\r\nIf-None-Match: \"v\"\r\n"), 304);
	expect_status(get_with("/x", "Range: bytes=0-3\r\nIf-None-Match: \"w\"\r\n"), 206);
}

SCENARIO("a Range on HEAD is ignored")
{
	origin_says("/x", .fields = FRESH, .body = "0123456789");
	edge_start();
	get("/x");
	struct answer a = ask("HEAD", "/x", "Range: bytes=0-3\r\n", NULL);
	expect_status(a, 200);
	expect_field(a, "Content-Length", "10");
}

SCENARIO(
	"a range of what is not stored is answered by the origin's 206, and not served as a whole later")
{
	origin_says("/x", .fields = FRESH, .etag = "\"v\"", .body = "0123456789", .ranges = true);
	edge_start();
	struct answer a = get_with("/x", "Range: bytes=2-4\r\n");
	expect_answer(a, 206, "234");
	expect_field(a, "Content-Range", "bytes 2-4/10");
	expect_answer(get("/x"), 200, "0123456789");
	expect_answer(get_with("/x", "Range: bytes=2-4\r\n"), 206, "234");
}

SCENARIO("a 206 whose Content-Range was not asked for is not stored as something else")
{
	origin_says("/x", .status = 206, .fields = FRESH "Content-Range: bytes 0-2/10\r\n",
		    .body = "012");
	origin_says("/x", .fields = FRESH, .body = "0123456789");
	edge_start();
	get("/x");
	expect_answer(get("/x"), 200, "0123456789");
}

SCENARIO("ranges of a big object on disk are the right bytes")
{
	enum { BYTES = 5 << 20 };
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	edge_yaml("admission:\n  sightings: 1\n");
	edge_start("--memory", "1MiB");
	get("/x");
	edge_restart();
	char *want = pattern(4, BYTES);
	for (int i = 0; i < 40; i++) {
		size_t at = (size_t)i * 131071 % (BYTES - 70000),
		       n = (size_t)(i * 1777 % 65536 + 1);
		struct answer a = get_with("/x", text("Range: bytes=%zu-%zu\r\n", at, at + n - 1));
		expect_status(a, 206);
		expect(a.body_bytes == n && memcmp(a.body, want + at, n) == 0);
	}
	origin_expect_requests(1);
}

SCENARIO("what a range left does not outlive what the origin says of the whole")
{
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .body = "0123456789", .ranges = true);
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .etag = "\"2\"",
		    .body = "abcdefghij");
	edge_start();
	expect_answer(get_with("/x", "Range: bytes=2-5\r\n"), 206, "2345");
	expect_answer(get("/x"), 200, "abcdefghij");
	struct answer a = get_with("/x", "Range: bytes=2-5\r\n");
	expect_that(!strstr(a.body, "2345"), "the old part: %s", a.body);
}

/* RFC 9110 15.3.7: a 206 to who has an If-Range need not say again what the client knows. */
SCENARIO("a part that came for an If-Range is nobody else's, nor is the whole made of it")
{
	const char *type = FRESH "Content-Type: image/png\r\n";
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .body = "0123456789", .ranges = true);
	origin_says("/x", .fields = type, .etag = "\"1\"", .body = "0123456789", .ranges = true,
		    .times = 9);
	edge_start();
	expect_answer(get_with("/x", "Range: bytes=0-4\r\nIf-Range: \"1\"\r\n"), 206, "01234");
	struct answer a = get_with("/x", "Range: bytes=1-3\r\n");
	expect_answer(a, 206, "123");
	expect_field(a, "Content-Type", "image/png");
	a = get("/x");
	expect_answer(a, 200, "0123456789");
	expect_field(a, "Content-Type", "image/png");
}

SCENARIO("parts of different versions are never put together")
{
	static const char *const tags[][2] = {{"\"v1\"", "\"v2\""}, {"W/\"w\"", "W/\"w\""}};
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < 2; i++) {
		char *path = text("/%d", i);
		origin_says(path, .fields = FRESH, .etag = tags[i][0], .body = "aaaaaaaaaa",
			    .ranges = true);
		origin_says(path, .fields = FRESH, .etag = tags[i][1], .body = "bbbbbbbbbb",
			    .ranges = true);
		struct answer a = get_with(path, "Range: bytes=0-4\r\n");
		expect_answer(a, 206, "aaaaa");
		get_with(path, "Range: bytes=5-9\r\n");
		a = get(path);
		expect_that(strcmp(a.body, "aaaaaaaaaa") == 0 || strcmp(a.body, "bbbbbbbbbb") == 0,
			    "%s and %s: %s", tags[i][0], tags[i][1], a.body);
		expect_int((long long)a.body_bytes, 10);
	}
}

SCENARIO("an origin that ignores Range: its 200 is stored as the whole, the range answered from it")
{
	origin_says("/x", .fields = FRESH, .body = "0123456789");
	edge_start();
	struct answer a = get_with("/x", "Range: bytes=2-4\r\n");
	expect_that((a.status == 206 && strcmp(a.body, "234") == 0) ||
			    (a.status == 200 && a.body_bytes == 10),
		    "got %d \"%s\"", a.status, a.body);
	a = get("/x");
	expect_answer(a, 200, "0123456789");
}

SCENARIO("a 206 with the wrong bytes of a Content-Range is not served as something it is not")
{
	origin_says("/x", .status = 206, .fields = FRESH "Content-Range: bytes 0-9/10\r\n",
		    .body = "01234");
	origin_says("/x", .fields = FRESH, .body = "0123456789");
	edge_start_yaml("admission:\n  sightings: 1\n");
	try_ask("GET", "/x", "Range: bytes=0-9\r\n", NULL);
	expect_answer(get("/x"), 200, "0123456789");
}

SCENARIO("behind a range of a small body the whole is fetched once, by whoever asks next")
{
	static const struct {
		const char *first, *second;
	} cases[] = {
		{"bytes=0-3", "bytes=6-7"},
		{"bytes=6-9", "bytes=0-1"},
	};
	static const char *const between[] = {"67", "01"};
	origin_says("*", .fields = FRESH, .etag = "\"v\"", .body = "0123456789", .ranges = true);
	edge_start();
	for (int i = 0; i < 2; i++) {
		char *path = text("/%d", i);
		get_with(path, text("Range: %s\r\n", cases[i].first));
		struct answer a = get(path);
		expect_answer(a, 200, "0123456789");
		expect_verdict(a, "fwd=partial");
		a = get_with(path, text("Range: %s\r\n", cases[i].second));
		expect_answer(a, 206, between[i]);
		expect_hit(a);
		expect_text(heard_field(origin_last(), "Range"), "bytes=0-9");
		expect_text(heard_field(origin_last(), "If-Range"), "\"v\"");
		origin_expect_requests(2 * i + 2);
	}
}

SCENARIO("of a body that lies in no slices a range leaves nothing, and the second client all of it")
{
	static const struct {
		const char *says;
		struct say say;
	} cases[] = {
		{"a weak tag", {.fields = FRESH, .etag = "W/\"v\""}},
		{"no validator", {.fields = FRESH}},
		{"a tag beside a time that all files have",
		 {.fields = FRESH,
		  .etag = "\"v\"",
		  .last_modified = "Thu, 01 Jan 1970 00:00:01 GMT"}},
		{"a field for its client alone",
		 {.fields = "Cache-Control: max-age=600, private=\"X-Of\"\r\nX-Of: me\r\n",
		  .etag = "\"v\""}},
	};
	edge_start();
	for (int i = 0; i < 4; i++) {
		char *path = text("/%d", i);
		struct say s = cases[i].say;
		s.body = "0123456789";
		s.ranges = true;
		s.times = 9;
		origin_script(path, &s);
		client_from("127.0.0.2");
		expect_answer(get_with(path, "Range: bytes=2-5\r\n"), 206, "2345");
		struct answer a = get_with(path, "Range: bytes=3-4\r\n");
		expect_answer(a, 206, "34");
		expect_that(verdict_has(a, "fwd=uri-miss"), "%s: %s", cases[i].says, verdict(a));
		expect_text(heard_field(origin_last(), "Range"), "bytes=3-4");
		client_from("127.0.0.3"); /* the second sighting of the whole */
		expect_answer(get_with(path, "Range: bytes=4-7\r\n"), 206, "4567");
		expect_text(heard_field(origin_last(), "Range"), NULL);
		a = get_with(path, "Range: bytes=0-1\r\n");
		expect_answer(a, 206, "01");
		expect_hit(a);
		a = get(path);
		expect_answer(a, 200, "0123456789");
		expect_hit(a);
		expect_text(heard_field(origin_last(), "If-Range"), NULL);
		origin_expect_requests(3 * i + 3);
	}
}

SCENARIO("what was another version when its range was asked for is fetched anew")
{
	origin_says("/x", .fields = FRESH, .etag = "\"v\"", .body = "0123456789", .ranges = true);
	origin_says("/x", .fields = FRESH, .etag = "\"w\"", .body = "abcdefghij", .ranges = true,
		    .times = 9);
	edge_start();
	get_with("/x", "Range: bytes=3-6\r\n");
	struct answer a = get("/x");
	expect_answer(a, 200, "abcdefghij");
	expect_verdict(a, "fwd=stale");
	expect_answer(get("/x"), 200, "abcdefghij");
	origin_expect_requests(3); /* for the range, for the slice, and for the new version */
}

SCENARIO("without a tag the rest is asked for by a date that is strong, else the whole")
{
	static const struct {
		const char *says, *lm, *date, *asked;
	} cases[] = {
		{"a date long past", "Thu, 01 Jan 2015 00:00:00 GMT",
		 "Thu, 01 Jan 2026 00:00:00 GMT", "bytes=0-9"},
		{"changed in the second it was sent", "Thu, 01 Jan 2026 00:00:00 GMT",
		 "Thu, 01 Jan 2026 00:00:00 GMT", NULL},
		{"no date", NULL, "Thu, 01 Jan 2026 00:00:00 GMT", NULL},
	};
	for (int i = 0; i < 3; i++)
		origin_says(text("/%d", i),
			    .fields = text("Cache-Control: max-age=999999999\r\nDate: %s\r\n",
					   cases[i].date),
			    .no_date = true, .last_modified = cases[i].lm, .body = "0123456789",
			    .ranges = true);
	edge_start();
	for (int i = 0; i < 3; i++) {
		expect_answer(get_with(text("/%d", i), "Range: bytes=0-3\r\n"), 206, "0123");
		expect_answer(get(text("/%d", i)), 200, "0123456789");
		const char *asked = heard_field(origin_last(), "Range");
		expect_that((!asked && !cases[i].asked) ||
				    (asked && cases[i].asked && !strcmp(asked, cases[i].asked)),
			    "%s: asked for %s", cases[i].says, asked);
		expect_text(heard_field(origin_last(), "If-Range"),
			    cases[i].asked ? cases[i].lm : NULL);
	}
}

SCENARIO("ranges of a stale object: validated, replaced, or stale for an error")
{
	static const struct {
		const char *says;
		struct say then;
		int status;
		const char *body;
	} cases[] = {
		{"a 304", {.fields_304 = FRESH, .etag = "\"1\"", .body = "0123456789"}, 206, "234"},
		{"a new one", {.fields = FRESH, .etag = "\"2\"", .body = "abcdefghij"}, 206, "cde"},
		{"an error", {.status = 503, .body = "error"}, 206, "234"},
		{"gone", {.status = 404, .body = "gone"}, 404, "gone"},
		{"shorter now", {.fields = FRESH, .etag = "\"2\"", .body = "a"}, 416, NULL},
	};
	enum { N = sizeof cases / sizeof *cases };
	for (int i = 0; i < N; i++) {
		origin_says(text("/%d", i), .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n",
			    .etag = "\"1\"", .body = "0123456789");
		origin_script(text("/%d", i), &cases[i].then);
	}
	edge_start();
	for (int i = 0; i < N; i++) {
		get(text("/%d", i));
		struct answer a = get_with(text("/%d", i), "Range: bytes=2-4\r\n");
		expect_that(a.status == cases[i].status &&
				    (!cases[i].body || strcmp(a.body, cases[i].body) == 0),
			    "%s: got %d \"%s\"", cases[i].says, a.status, a.body);
		expect_text(heard_field(origin_last(), "Range"), NULL);
	}
}

SCENARIO("a range of what is arriving is answered as its bytes come")
{
	enum { BYTES = 1 << 20 };
	struct barrier *half = barrier_new();
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .seed = 3, .hold_body = half,
		    .hold_at = BYTES / 2);
	edge_start();
	struct call *whole = call_get("/x");
	origin_wait_requests(1);
	struct answer a = get_with("/x", "Range: bytes=1000-1999\r\n");
	expect_status(a, 206);
	expect(is_pattern(a.body, 3, 1000, 1000));
	expect(!call_is_done(whole));
	barrier_open(half);
	expect_int((long long)call_wait(whole).body_bytes, BYTES);
	origin_expect_requests(1);
}

SCENARIO("a piece near the end does not wait for what lies before it")
{
	enum { BYTES = 4 << 20, AT = 3 << 20 };
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"1\"",
		    .pattern_bytes = BYTES, .seed = 5, .ranges = true);
	origin_says("/v", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"1\"",
		    .pattern_bytes = BYTES, .seed = 5, .ranges = true, .hold_body = go,
		    .hold_at = 1 << 19);
	edge_start();
	client_from("127.0.0.2");
	expect_status(get_with("/v", "Range: bytes=0-9\r\n"), 206);
	client_from("127.0.0.3"); /* the second sighting: the whole is fetched */
	expect_status(get_with("/v", "Range: bytes=0-99\r\n"), 206);
	struct answer a = get_with("/v", text("Range: bytes=%d-%d\r\n", AT, AT + 999));
	expect_status(a, 206);
	expect_int((long long)a.body_bytes, 1000);
	expect(is_pattern(a.body, 5, AT, 1000));
	barrier_open(go);
	edge_wait_stat("disk.objects", 3); /* a head and two slices */
	expect_hit(get_with("/v", text("Range: bytes=%d-%d\r\n", AT, AT + 999)));
}

SCENARIO(
	"of what cannot lie in slices the whole is fetched behind such a piece, not the piece again")
{
	enum { BYTES = 4 << 20, AT = 3 << 20 };
	edge_start_yaml("routes: [ { path: /, admit: always } ]\n");
	for (int i = 0; i < 2; i++) { /* the piece is here before its client is told, or later */
		struct barrier *go = i ? barrier_new() : NULL;
		const char *path = text("/%d", i),
			   *of = text("Range: bytes=%d-%d\r\n", AT, AT + 999);
		origin_says(path, .fields = "Cache-Control: max-age=600\r\n", .etag = "W/\"1\"",
			    .pattern_bytes = BYTES, .seed = 5, .ranges = true);
		origin_says(path, .fields = "Cache-Control: max-age=600\r\n", .etag = "W/\"1\"",
			    .pattern_bytes = BYTES, .seed = 5, .ranges = true, .hold_body = go,
			    .hold_at = 500);
		origin_says(path, .fields = "Cache-Control: max-age=600\r\n", .etag = "W/\"1\"",
			    .pattern_bytes = BYTES, .seed = 5, .ranges = true, .times = 9);
		client_from("127.0.0.2");
		expect_status(get_with(path, "Range: bytes=0-9\r\n"), 206);
		client_from("127.0.0.3"); /* another client wants some of it too */
		struct call *piece = call_with("GET", path, of, NULL);
		origin_wait_requests(3 * i + 3);
		const char *range = heard_field(origin_last(), "Range");
		expect_that(!range, "the piece again: %s", range);
		if (go)
			barrier_open(go);
		struct answer a = call_wait(piece);
		expect_status(a, 206);
		expect(is_pattern(a.body, 5, AT, 1000));
		edge_wait_stat("disk.objects", i + 1);
		expect_hit(get_with(path, of));
		origin_expect_requests(3 * i + 3);
	}
}

enum { PARTS = 16, PART = 1 << 20, AT_ONCE = 8 };

/* A download in parts: AT_ONCE connections, each part a request of its own. */
static void
download_in_parts(const char *from)
{
	struct call *calls[AT_ONCE];
	client_from(from);
	for (int first = 0; first < PARTS; first += AT_ONCE) {
		for (int i = 0; i < AT_ONCE; i++) {
			int at = (first + i) * PART;
			calls[i] =
				call_with("GET", "/file",
					  text("Range: bytes=%d-%d\r\n", at, at + PART - 1), NULL);
		}
		for (int i = 0; i < AT_ONCE; i++) {
			struct answer a = call_wait(calls[i]);
			expect_status(a, 206);
			expect_int((long long)a.body_bytes, PART);
			expect(is_pattern(a.body, 9, (first + i) * PART, PART));
		}
	}
}

SCENARIO("a download in parts fetches no more than it is sent, until the file is wanted on disk")
{
	origin_says("/file", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = PARTS * PART,
		    .seed = 9, .ranges = true);
	edge_start("--disk", "512MiB");
	download_in_parts("127.0.0.2");
	double once = edge_stat("bytes.from_origin");
	note("first client: %.2f times the file", once / (PARTS * PART));
	expect_between(once / (PARTS * PART), 1, 1.15);
	edge_expect_stat("disk.objects", 0);
	download_in_parts("127.0.0.2"); /* the same client within a minute: the same sighting */
	edge_expect_stat("disk.objects", 0);
	once = edge_stat("bytes.from_origin");
	download_in_parts("127.0.0.3");
	edge_wait_stat("disk.objects", 1);
	double more = edge_stat("bytes.from_origin") - once;
	note("second client, the file is wanted on disk: %.2f times", more / (PARTS * PART));
	expect_between(more / PART, 0, PARTS);
	/* It asked for no more before its first byte was refused. */
	download_in_parts("127.0.0.4");
	expect_between(edge_stat("bytes.from_origin") - once - more, 0, (AT_ONCE - 1) * PART);
	edge_wait_stat("disk.objects", PARTS + 1);
	once = edge_stat("bytes.from_origin");
	download_in_parts("127.0.0.5");
	edge_expect_stat("bytes.from_origin", once);
}
