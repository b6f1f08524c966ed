/* Conditional requests: answered from the cache, and sent to the origin (RFC 9110 13, RFC
 * 9111 4.3). */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define STALE "Cache-Control: max-age=10\r\nAge: 20\r\n"
#define LM    "Thu, 01 Jan 2015 00:00:00 GMT"

static const struct {
	const char *says, *request;
	int status;
} rows[] = {
	/* clang-format off */
	{ "If-None-Match that matches is a 304", "If-None-Match: \"abc\"\r\n", 304 },
	{ "among several", "If-None-Match: \"x\", \"abc\" , \"y\"\r\n", 304 },
	{ "on a second line", "If-None-Match: \"x\"\r\nIf-None-Match: \"abc\"\r\n", 304 },
	{ "weakly", "If-None-Match: W/\"abc\"\r\n", 304 },
	{ "a star matches", "If-None-Match: *\r\n", 304 },
	{ "If-None-Match that does not match is a 200", "If-None-Match: \"abcd\"\r\n", 200 },
	{ "the prefix of a tag is not the tag", "If-None-Match: \"ab\"\r\n", 200 },
	{ "If-Modified-Since with the same date is a 304", "If-Modified-Since: " LM "\r\n", 304 },
	{ "with a later date", "If-Modified-Since: Fri, 01 Jan 2016 00:00:00 GMT\r\n", 304 },
	{ "with an earlier date is a 200", "If-Modified-Since: Wed, 01 Jan 2014 00:00:00 GMT\r\n", 200 },
	{ "with no date at all is a 200", "If-Modified-Since: yesterday\r\n", 200 },
	{ "in RFC 850 form is a 304", "If-Modified-Since: Thursday, 01-Jan-15 00:00:00 GMT\r\n", 304 },
	{ "If-None-Match wins over If-Modified-Since: no match", "If-None-Match: \"z\"\r\nIf-Modified-Since: " LM "\r\n", 200 },
	{ "If-None-Match wins over If-Modified-Since: match", "If-None-Match: \"abc\"\r\nIf-Modified-Since: Wed, 01 Jan 2014 00:00:00 GMT\r\n", 304 },
	/* clang-format on */
};

SCENARIO("conditional requests are answered from a stored answer")
{
	origin_says(
		"/x",
		.fields = FRESH
		"X-Big: y\r\nContent-Type: text/plain\r\nVary: X-Nothing\r\nContent-Location: /x.txt\r\n",
		.etag = "\"abc\"", .last_modified = LM, .body = "hello");
	edge_start();
	get("/x");
	int wrong = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct answer a = get_with("/x", rows[i].request);
		if (a.status != rows[i].status || origin_requests() != 1) {
			wrong++;
			note("%s: got %d, %d requests", rows[i].says, a.status, origin_requests());
		}
		if (a.status != 304)
			continue;
		expect_field(a, "ETag", "\"abc\"");
		expect_field(a, "Vary", "X-Nothing");
		expect_field(a, "Content-Location", "/x.txt");
		expect(field(a, "Date") && field(a, "Cache-Control"));
	}
	expect_int(wrong, 0);
}

SCENARIO("If-Match and If-Unmodified-Since: 412 or passed on, never a wrong 200")
{
	origin_says("/x", .fields = FRESH, .etag = "\"abc\"", .last_modified = LM, .body = "hello");
	edge_start();
	get("/x");
	expect_status(get_with("/x", "If-Match: \"abc\"\r\n"), 200);
	int n = origin_requests();
	struct answer a = get_with("/x", "If-Match: \"other\"\r\n");
	/* An origin would say 412; a cache may leave the question to it (RFC 9111 4.3.2). */
	expect_that(a.status == 412 || origin_requests() > n,
		    "If-Match that fails got %d from the cache", a.status);
}

SCENARIO("a stale object is revalidated by ETag; 304 refreshes it without writing its body again")
{
	enum { BYTES = 1 << 20 };
	origin_says("/x", .fields = STALE, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = 2);
	origin_says("/x", .fields_304 = FRESH "X-New: 1\r\n", .fields = FRESH, .etag = "\"v1\"",
		    .pattern_bytes = BYTES, .seed = 2);
	edge_start_yaml("routes:\n  - { path: /, admit: always }\n");
	get("/x");
	edge_wait_stat("disk.objects", 1);
	edge_restart(); /* all of it is on disk */
	double written = edge_stat("disk.written_bytes");
	struct answer a = get("/x");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"v1\"");
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 2, 0, BYTES));
	expect_field(a, "X-New", "1");
	expect_verdict(a, "fwd=stale");
	expect_verdict(a, "fwd-status=304");
	edge_expect_stat("requests.revalidated", 1);
	a = get("/x");
	expect_hit(a);
	expect_field(a, "X-New", "1");
	origin_expect_requests(2);
	edge_restart();
	a = get("/x");
	expect_hit(a);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 2, 0, BYTES));
	(void)written;
}

SCENARIO("a revalidation writes little")
{
	enum { BYTES = 4 << 20 };
	origin_says("/x", .fields = STALE, .fields_304 = STALE, .etag = "\"v1\"",
		    .pattern_bytes = BYTES);
	edge_start_yaml("routes:\n  - { path: /, admit: always }\n");
	get("/x");
	edge_restart();
	double before = edge_stat("disk.written_bytes");
	for (int i = 0; i < 10; i++)
		expect_status(get("/x"), 200);
	edge_expect_stat("requests.revalidated", 10);
	expect_between(edge_stat("disk.written_bytes") - before, 0, BYTES / 4);
}

SCENARIO("a storm of revalidations does not write the disk")
{
	enum { STORM = 400, BYTES = 3000, PAGES = 4 * 4096 };
	origin_says("/x", .fields = STALE, .fields_304 = STALE, .etag = "\"v1\"",
		    .pattern_bytes = BYTES);
	origin_says("/other", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < 5; i++) /* hot: into RAM */
		expect_status(get("/x"), 200);
	wait_until(edge_stat("disk.written_bytes") > 0);
	edge_restart();
	for (int i = 0; i < 5; i++)
		expect_status(get("/x"), 200);
	double before = edge_stat("disk.written_bytes"), os = (double)edge_written_os();
	for (int i = 0; i < STORM; i++)
		expect_status(get("/x"), 200);
	edge_expect_stat("requests.revalidated", STORM + 5);
	get("/other"); /* is written behind all that came before it */
	wait_until(edge_stat("disk.written_bytes") >= before + BYTES);
	expect_between(edge_stat("disk.written_bytes") - before, BYTES, PAGES);
	expect_between((double)edge_written_os() - os, 0, PAGES);
}

SCENARIO("a stale object is revalidated by Last-Modified when it has no ETag")
{
	origin_says("/x", .fields = STALE, .last_modified = LM, .body = "hello");
	edge_start();
	get("/x");
	expect_answer(get("/x"), 200, "hello");
	expect_text(heard_field(origin_last(), "If-Modified-Since"), LM);
	expect_text(heard_field(origin_last(), "If-None-Match"), NULL);
}

SCENARIO("an answer other than 304 replaces the stale one")
{
	origin_says("/x", .fields = STALE, .etag = "\"v1\"", .body = "old");
	origin_says("/x", .fields = FRESH, .etag = "\"v2\"", .body = "new");
	edge_start();
	expect_answer(get("/x"), 200, "old");
	expect_answer(get("/x"), 200, "new");
	struct answer a = get("/x");
	expect_answer(a, 200, "new");
	expect_hit(a);
	origin_expect_requests(2);
}

SCENARIO("a client's own validator does not take the place of the cache's")
{
	origin_says("/x", .fields = STALE, .etag = "\"mine\"", .body = "hello");
	edge_start();
	get("/x");
	struct answer a = get_with("/x", "If-None-Match: \"theirs\"\r\n");
	expect_answer(a, 200, "hello");
	a = get_with("/x", "If-None-Match: \"mine\"\r\n");
	expect_status(a, 304);
}

SCENARIO("a conditional request for something not stored does not store a 304")
{
	origin_says("/x", .fields = FRESH, .etag = "\"v1\"", .body = "hello");
	edge_start();
	struct answer a = get_with("/x", "If-None-Match: \"v1\"\r\n");
	expect_that(a.status == 304 || a.status == 200, "got %d", a.status);
	expect_answer(get("/x"), 200, "hello");
	expect_answer(get("/x"), 200, "hello");
}

/* Nothing says that all may have it: its lifetime is a guess. */
SCENARIO("what a 304 says to who has a cookie goes to nobody else")
{
	static const char *const old = "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n";
	origin_says("/p", .fields = old, .etag = "\"1\"", .body = "page");
	origin_says("/p", .fields_304 = text("%sX-User: alice\r\n", old), .etag = "\"1\"");
	origin_says("/p", .fields = old, .etag = "\"1\"");
	edge_start_yaml("cache: { default_ttl: 1s, heuristic_max: 1s }\n");
	get("/p");
	wait_until(!verdict_has(get_with("/p", "Cookie: sid=alice\r\n"), "hit"));
	struct answer a = get("/p");
	expect_answer(a, 200, "page");
	expect_that(!field(a, "X-User"), "%s", field(a, "X-User"));
}

SCENARIO("what a 304 or a HEAD that sets a cookie says goes to nobody else")
{
	static const char *const own = FRESH "Set-Cookie: sid=1\r\nX-Token: 1\r\n";
	origin_says("/a", .fields = STALE, .etag = "\"v\"", .body = "hello", .fields_304 = own);
	origin_says("/a", .fields = own, .fields_304 = own, .etag = "\"v\"", .body = "hello");
	origin_says("/b", .fields = STALE, .etag = "\"v\"", .body = "hello");
	origin_says("/b", .fields = own, .fields_304 = FRESH, .etag = "\"v\"", .body = "hello");
	edge_start();
	get("/a");
	struct answer a = get("/a");
	expect_verdict(a, "fwd-status=304");
	a = get("/a");
	expect_hit(a); /* that it is good still is true for all */
	expect_that(!field(a, "X-Token") && !field(a, "Set-Cookie"), "%s", a.head);
	get("/b");
	ask("HEAD", "/b", NULL, NULL);
	a = get("/b");
	expect_answer(a, 200, "hello");
	expect_that(!field(a, "X-Token") && !field(a, "Set-Cookie"), "%s", a.head);
}

SCENARIO("a 304 updates the stored fields, but not those of the body's form")
{
	origin_says("/x", .fields = STALE "X-A: 1\r\nX-B: 1\r\nContent-Type: text/plain\r\n",
		    .etag = "\"v\"", .body = "hello");
	origin_says("/x", .fields_304 = FRESH "X-A: 2\r\nContent-Length: 99\r\n", .etag = "\"v\"",
		    .body = "hello");
	edge_start();
	get("/x");
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_answer(a, 200, "hello");
		expect_field(a, "X-A", "2");
		expect_field(a, "X-B", "1");
		expect_field(a, "Content-Length", "5");
		expect_field(a, "Content-Type", "text/plain");
	}
	origin_expect_requests(2);
}

SCENARIO("no-cache is stored and asked about each time")
{
	origin_says("/x", .fields = "Cache-Control: no-cache\r\n", .etag = "\"v\"",
		    .body = "hello");
	edge_start();
	for (int i = 0; i < 3; i++)
		expect_answer(get("/x"), 200, "hello");
	origin_expect_requests(3);
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"v\"");
}

SCENARIO("the request's no-cache asks the origin and refreshes")
{
	origin_says("/x", .fields = FRESH, .body = "old");
	origin_says("/x", .fields = FRESH, .body = "new");
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	get("/x");
	expect_answer(get_with("/x", "Cache-Control: no-cache\r\n"), 200, "new");
	expect_answer(get("/x"), 200, "new");
	origin_expect_requests(2);
}

SCENARIO("the Age of a 304 or of a HEAD counts: the inner cache's time is not had twice")
{
	origin_says("/x", .fields = STALE, .etag = "\"v\"", .body = "hello");
	origin_says("/x", .fields_304 = "Cache-Control: max-age=600\r\nAge: 500\r\n",
		    .etag = "\"v\"", .body = "hello");
	origin_says("/x", .fields_304 = "Cache-Control: max-age=600\r\nAge: 900\r\n",
		    .etag = "\"v\"", .body = "hello");
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	get("/x");
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_answer(a, 200, "hello");
		expect_that(field(a, "Age") && atoi(field(a, "Age")) >= 500, "Age: %s",
			    field(a, "Age"));
	}
	origin_expect_requests(2);
	get_with("/x", "Cache-Control: no-cache\r\n"); /* validated, and old already */
	expect_miss(get("/x"));
	origin_expect_requests(4);
}

SCENARIO("a 304 that varies otherwise than the stored answer is not taken for its news")
{
	origin_says("/x", .fields = STALE, .etag = "\"v\"", .body = "red");
	origin_says("/x", .fields_304 = FRESH "Vary: X-Kind\r\n", .etag = "\"v\"", .body = "red");
	origin_says("/x", .fields = FRESH "Vary: X-Kind\r\n", .body = "blue");
	edge_start();
	get_with("/x", "X-Kind: red\r\n");
	expect_answer(get_with("/x", "X-Kind: red\r\n"), 200, "red");
	expect_answer(get_with("/x", "X-Kind: blue\r\n"), 200, "blue");
	origin_expect_requests(3);
}

SCENARIO("a HEAD that goes to the origin is news of the stored GET (RFC 9111 4.3.5)")
{
	static const struct {
		const char *says, *fields, *etag;
		const char *body; /* HEAD's Content-Length is its length */
		bool kept;
	} cases[] = {
		{"the same, and fresh", FRESH "X-New: 1\r\n", "\"1\"", "hello", true},
		{"another tag", FRESH, "\"2\"", "hello", false},
		{"another length", FRESH, "\"1\"", "hello, world", false},
		{"not to be stored any more", "Cache-Control: no-store\r\n", "\"1\"", "hello",
		 false},
		{"for some only, by now", FRESH "Vary: X-Kind\r\n", "\"1\"", "hello", false},
	};
	enum { N = sizeof cases / sizeof *cases };
	for (int i = 0; i < N; i++) {
		origin_says(text("/%d", i), .fields = STALE, .etag = "\"1\"", .body = "hello");
		origin_says(text("/%d", i), .fields = cases[i].fields, .etag = cases[i].etag,
			    .body = cases[i].body);
		origin_says(text("/%d", i), .fields = FRESH, .body = "anew");
	}
	edge_start();
	for (int i = 0; i < N; i++) {
		get(text("/%d", i));
		expect_status(ask("HEAD", text("/%d", i), NULL, NULL), 200);
		struct answer a = get(text("/%d", i));
		expect_that(strcmp(a.body, cases[i].kept ? "hello" : "anew") == 0, "%s: got %s",
			    cases[i].says, a.body);
		if (cases[i].kept)
			expect_field(a, "X-New", "1");
		expect_int(origin_requests_for(text("/%d", i)), cases[i].kept ? 2 : 3);
	}
}

#define NEWS "Cache-Control: no-cache\r\n"

SCENARIO("who asks for what is new gets no answer whose lifetime was only guessed")
{
	origin_says("/index", .etag = "\"1\"", .last_modified = LM, .body = "one");
	origin_says("/index", .etag = "\"2\"", .last_modified = LM, .body = "two", .times = 2);
	origin_says("/said", .fields = FRESH, .etag = "\"1\"", .body = "said");
	clock_hold();
	edge_start();
	get("/index");
	get("/said");
	clock_advance(2000);
	expect_hit(get("/index")); /* it was guessed, and is fresh for who wants nothing else */
	struct answer a = get_with("/index", "Cache-Control: max-age=0\r\n");
	expect_answer(a, 200, "two");
	expect_hit(get_with("/said", NEWS));
	int asked = origin_requests_for("/index");
	for (int i = 0; i < 20; i++) /* once a second, for all who ask so */
		expect_answer(get_with("/index", i % 2 ? NEWS : "Pragma: no-cache\r\n"), 200,
			      "two");
	origin_expect_requests_for("/index", asked);
	clock_advance(1000);
	expect_answer(get_with("/index", NEWS), 200, "two");
	expect_hit(get_with("/index", NEWS));
	origin_expect_requests_for("/index", asked + 1);
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"2\"");
}

SCENARIO("all who ask for what is new at once wait for one validation")
{
	enum { MANY = 8 };
	struct barrier *go = barrier_new();
	struct call *calls[MANY];
	origin_says("/index", .etag = "\"1\"", .last_modified = LM, .body = "one");
	origin_says("/index", .etag = "\"2\"", .last_modified = LM, .body = "two", .hold_head = go);
	clock_hold();
	edge_start();
	get("/index");
	clock_advance(5000);
	for (int i = 0; i < MANY; i++) {
		calls[i] = call_with("GET", "/index", NEWS, NULL);
		edge_wait_requests(2 + i);
	}
	barrier_open(go);
	for (int i = 0; i < MANY; i++)
		call_expect(calls[i], 200, "two");
	origin_expect_requests(2);
}
