/* Large bodies lie in slices (RFC 9110 14, 15.3.7): what one client leaves behind answers others
 * slice by slice, and what is missing is fetched slice by slice. */
#include "tests/kit/kit.h"

#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)

enum { BYTES = 5 * MIB + 123, SEED = 7 };

/* A film: a strong tag, and ranges that work. */
#define FILM .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = SEED, .ranges = true

static void
expect_bytes_of(struct answer a, uint64_t seed, size_t at, size_t n)
{
	expect_int((long long)a.body_bytes, (long long)n);
	expect_that(is_pattern(a.body, seed, at, n), "other bytes at %zu", at);
}

static struct answer
get_range(const char *path, size_t at, size_t n)
{
	struct answer a = get_with(path, text("Range: bytes=%zu-%zu\r\n", at, at + n - 1));
	expect_status(a, 206);
	expect_bytes_of(a, SEED, at, n);
	return a;
}

static double
fetched_mib(void)
{
	return edge_stat("bytes.from_origin") / MIB;
}

static void
everything_is_answered(void)
{
	struct answer a = get("/film");
	expect_status(a, 200);
	expect_hit(a);
	expect_bytes_of(a, SEED, 0, BYTES);
	a = ask("HEAD", "/film", NULL, NULL);
	expect_status(a, 200);
	expect_field(a, "Content-Length", text("%d", BYTES));
	expect_field(a, "ETag", "\"v1\"");
	expect_hit(get_range("/film", 2 * MIB - 5, 10));
	expect_hit(get_range("/film", 0, 1));
	expect_hit(get_range("/film", BYTES - 1, 1));
	expect_hit(get_range("/film", MIB, 3 * MIB));
	a = get_with("/film", "Range: bytes=-7\r\n");
	expect_status(a, 206);
	expect_bytes_of(a, SEED, BYTES - 7, 7);
	a = get_with("/film", text("Range: bytes=%d-\r\n", BYTES));
	expect_status(a, 416);
	expect_field(a, "Content-Range", text("bytes */%d", BYTES));
	expect_status(get_with("/film", "If-None-Match: \"v1\"\r\n"), 304);
	a = get_with("/film", "Range: bytes=0-9\r\nIf-Range: \"v1\"\r\n");
	expect_status(a, 206);
	a = get_with("/film", "Range: bytes=0-9\r\nIf-Range: \"v2\"\r\n");
	expect_status(a, 200);
	expect_bytes_of(a, SEED, 0, BYTES);
	a = get_with("/film", "Range: bytes=0-0,9-9,19-19,29-29,39-39\r\n"); /* too many */
	expect_status(a, 200);
	expect_bytes_of(a, SEED, 0, BYTES);
	a = get_with("/film", text("Range: bytes=10-11,%d-%d\r\n", 3 * MIB - 1, 3 * MIB));
	expect_status(a, 206);
	const char *two = memmem(a.body, a.body_bytes, "\r\n\r\n", 4);
	expect(two && is_pattern(two + 4, SEED, 10, 2));
	two = memmem(two + 4, a.body_bytes - (size_t)(two + 4 - a.body), "\r\n\r\n", 4);
	expect(two && is_pattern(two + 4, SEED, 3 * MIB - 1, 2));
	a = get_with("/film", "Cache-Control: only-if-cached\r\n");
	expect_status(a, 200);
}

/* The part is kept as it came, and completed: that begins in the middle of the first slice. */
SCENARIO("a large body is filed where it belongs behind a range that came for an If-Range")
{
	origin_says("/film", FILM, .times = 99);
	edge_start();
	struct answer a = get_with("/film", "Range: bytes=0-99\r\nIf-Range: \"v1\"\r\n");
	expect_status(a, 206);
	expect_bytes_of(a, SEED, 0, 100);
	for (int i = 0; i < 3; i++) {
		a = get("/film");
		expect_status(a, 200);
		expect_bytes_of(a, SEED, 0, BYTES);
	}
	get_range("/film", MIB, 10);
}

SCENARIO(
	"one GET leaves slices that answer everything that is asked of the body, over restarts too")
{
	origin_says("/film", FILM);
	edge_start_yaml("admission:\n  sightings: 1\n");
	struct answer a = get("/film");
	expect_status(a, 200);
	expect_bytes_of(a, SEED, 0, BYTES);
	expect_verdict(a, "stored");
	edge_expect_stat("disk.objects", 7); /* a head, five slices and the rest */
	everything_is_answered();
	edge_restart();
	everything_is_answered();
	origin_expect_requests(1);
	expect_between(fetched_mib(), 0, 0);
}

SCENARIO("who comes late to a large body reads what is there, and follows what comes")
{
	enum { LATE = 4 };
	struct barrier *go = barrier_new();
	origin_says("/film", FILM, .hold_body = go, .hold_at = 2 * MIB + MIB / 2);
	edge_start("--disk", "64MiB", "--memory", "64MiB");
	struct call *late[LATE], *first = call_get("/film");
	edge_wait_stat("bytes.from_origin", 2 * MIB + MIB / 2);
	for (int i = 0; i < LATE; i++)
		late[i] = call_get("/film");
	expect_hit(get_range("/film", MIB - 5, 10));
	edge_wait_stat("requests.total", 2 + LATE);
	barrier_open(go);
	expect_bytes_of(call_wait(first), SEED, 0, BYTES);
	for (int i = 0; i < LATE; i++)
		expect_bytes_of(call_wait(late[i]), SEED, 0, BYTES);
	origin_expect_requests(1);
}

/* Each comes to the end of each slice at about the time at which it lands on the disk. */
SCENARIO("many who read a large body together cost one exchange, wherever they meet")
{
	enum { FILMS = 30, MANY = 8 };
	clock_hold(); /* nobody loses patience with a fetch that is slow */
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int film = 0; film < FILMS; film++) {
		struct call *reads[MANY];
		const char *path = text("/film/%d", film);
		origin_says(path, FILM, .times = 9);
		for (int i = 0; i < MANY; i++)
			reads[i] = call_get(path);
		for (int i = 0; i < MANY; i++) {
			struct answer a = call_wait(reads[i]);
			expect_bytes_of(a, SEED, 0, BYTES);
			free(a.body); /* it would be a gigabyte */
		}
		origin_expect_requests(film + 1);
	}
}

SCENARIO("a seek does not wait for what lies before it, with or without an end")
{
	struct barrier *go = barrier_new();
	origin_says("/film", FILM, .hold_body = go, .hold_at = MIB / 2);
	origin_says("/film", FILM, .times = 9);
	edge_start();
	struct call *first = call_get("/film");
	edge_wait_stat("bytes.from_origin", MIB / 2);
	struct answer a = get_with("/film", text("Range: bytes=%d-\r\n", 4 * MIB + 100));
	expect_status(a, 206);
	expect_bytes_of(a, SEED, 4 * MIB + 100, BYTES - 4 * MIB - 100);
	expect_text(heard_field(origin_request(1), "Range"),
		    text("bytes=%d-%d", 4 * MIB, 5 * MIB - 1));
	expect_text(heard_field(origin_last(), "If-Range"), "\"v1\"");
	get_range("/film", 2 * MIB + 1, 10);
	expect_text(heard_field(origin_last(), "Range"), text("bytes=%d-%d", 2 * MIB, 3 * MIB - 1));
	/* The fetch that hangs comes to this one next; one more is tried beside it after a while.
	 */
	get_range("/film", MIB + 1, 10);
	expect(!call_is_done(first));
	barrier_open(go);
	expect_bytes_of(call_wait(first), SEED, 0, BYTES);
}

SCENARIO("a seek into what nobody has asked for is one request, as it came, and leaves its slices")
{
	origin_says("/film", FILM, .times = 9);
	edge_start("--memory", "64MiB");
	struct answer a = get_with("/film", text("Range: bytes=%d-\r\n", 2 * MIB - 3));
	expect_status(a, 206);
	expect_bytes_of(a, SEED, 2 * MIB - 3, BYTES - 2 * MIB + 3);
	expect_text(heard_field(origin_last(), "Range"), text("bytes=%d-", 2 * MIB - 3));
	get_range("/film", 2 * MIB, 3 * MIB); /* all of it is kept: nothing is fetched */
	origin_expect_requests(1);
	get_range("/film", 2 * MIB - 3, 3);
	origin_expect_requests(2);
	expect_text(heard_field(origin_last(), "Range"), text("bytes=%d-%d", MIB, 2 * MIB - 1));
}

SCENARIO("one byte costs one slice at most, and once")
{
	origin_says("/film", FILM, .times = 30);
	edge_start("--memory", "64MiB");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 5; i++)
			get_range("/film", (size_t)i * MIB + 77, 1);
	edge_expect_stat("flights.active", 0); /* a slice comes to its end behind its client */
	expect_between(fetched_mib(), 4, 5.01);
	expect_between(origin_requests(), 5, 6);
	edge_expect_stat("disk.objects", 0); /* nobody asked for the first byte */
}

SCENARIO("a client that leaves ends the fetch behind the slice under way")
{
	enum { LARGE = 64 * MIB };
	origin_says("/large", .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = LARGE,
		    .ranges = true);
	edge_start();
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/large", NULL);
	client_read_head(c);
	client_reset(c);
	origin_wait_closed(0);
	expect_between(fetched_mib(), 0, 3);
}

SCENARIO("an exchange is never far ahead of who reads it")
{
	enum { LARGE = 64 * MIB };
	origin_says("/large", .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = LARGE, .seed = 3,
		    .ranges = true);
	edge_start();
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/large", NULL);
	client_read_head(c);
	for (int i = 0; i < 100; i++)
		kit_pause();
	expect_between(fetched_mib(), 0.5, 8);
	size_t n = LARGE;
	char *body = malloc(n);
	expect_int((long long)client_read_body(c, body, n), LARGE);
	expect(is_pattern(body, 3, 0, n));
	origin_expect_requests(1);
}

SCENARIO(
	"what changed at the origin is fetched anew when nothing was sent yet, else the answer is cut")
{
	struct barrier *go = barrier_new();
	origin_says("/film", FILM, .hold_body = go, .hold_at = 2 * MIB + 5, .cut = true,
		    .cut_at = 2 * MIB + 5);
	edge_start("--memory", "64MiB");
	struct client *c = client_open();
	client_request(c, "GET", "/film", NULL);
	edge_wait_stat("bytes.from_origin", 2 * MIB + 5);
	origin_forget("/film");
	origin_says("/film", .fields = FRESH, .etag = "\"v2\"", .pattern_bytes = BYTES + 1,
		    .seed = 8, .ranges = true, .times = 99);
	barrier_open(go);
	struct answer a = client_try(c, "GET");
	expect_int(a.status, 200);
	expect(a.cut && a.body_bytes >= MIB && a.body_bytes < BYTES);
	expect(is_pattern(a.body, SEED, 0, a.body_bytes));
	/* The head that is kept turned out to be old. */
	a = get("/film");
	expect_status(a, 200);
	expect_bytes_of(a, 8, 0, BYTES + 1);
	a = get_with("/film", text("Range: bytes=%d-\r\n", 4 * MIB));
	expect_status(a, 206);
	expect_bytes_of(a, 8, 4 * MIB, BYTES + 1 - 4 * MIB);
}

SCENARIO("a range of a version that is gone is answered with the new one")
{
	static const struct {
		const char *says;
		struct say now;
	} cases[] = {
		{"a part of the new one",
		 {.fields = FRESH,
		  .etag = "\"v2\"",
		  .pattern_bytes = BYTES,
		  .seed = 8,
		  .ranges = true,
		  .times = 9}},
		{"the new one as a whole, with ranges to come",
		 {.fields = FRESH "Accept-Ranges: bytes\r\n",
		  .etag = "\"v2\"",
		  .pattern_bytes = BYTES,
		  .seed = 8,
		  .times = 9}},
		{"the same tag, but another length",
		 {.fields = FRESH,
		  .etag = "\"v1\"",
		  .pattern_bytes = BYTES - MIB,
		  .seed = 8,
		  .ranges = true,
		  .times = 9}},
		{"the same tag, but coded otherwise",
		 {.fields = FRESH "Content-Encoding: br\r\n",
		  .etag = "\"v1\"",
		  .pattern_bytes = BYTES,
		  .seed = 8,
		  .ranges = true,
		  .times = 9}},
		{"no validator any more",
		 {.fields = FRESH, .pattern_bytes = BYTES, .seed = 8, .ranges = true, .times = 9}},
	};
	enum { N = sizeof cases / sizeof *cases };
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), FILM);
	edge_start("--memory", "64MiB");
	for (int i = 0; i < N; i++) {
		char *path = text("/%d", i);
		get_range(path, 0, MIB);
		origin_forget(path);
		origin_script(path, &cases[i].now);
		struct answer a =
			get_with(path, text("Range: bytes=%d-%d\r\n", 2 * MIB, 2 * MIB + 9));
		expect_that(a.status == 206, "%s: %d", cases[i].says, a.status);
		expect_bytes_of(a, 8, 2 * MIB, 10);
		a = get(path);
		expect_status(a, 200);
		expect_bytes_of(a, 8, 0, cases[i].now.pattern_bytes);
	}
}

SCENARIO("an origin that claims ranges and has none: what is missing comes out of the whole")
{
	enum { LARGE = 6 * MIB }; /* more than the kernel takes for a client that reads nothing */
	origin_says("/x", .fields = FRESH "Accept-Ranges: bytes\r\n", .etag = "\"v1\"",
		    .pattern_bytes = LARGE, .seed = SEED, .times = 9);
	edge_start_yaml("admission:\n  sightings: 1\n");
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/x", NULL);
	client_read_head(c);
	client_reset(c);
	origin_wait_closed(0);
	struct answer a = get("/x");
	expect_status(a, 200);
	expect_bytes_of(a, SEED, 0, LARGE);
	origin_expect_requests(2); /* what was there of it, and the rest of the whole */
	a = get("/x");
	expect_hit(a);
	expect_bytes_of(a, SEED, 0, LARGE);
	get_range("/x", MIB, 10);
	origin_expect_requests(2);
}

SCENARIO("what cannot be told apart, or is not for everybody, lies in no slices")
{
	static const struct {
		const char *says;
		struct say say;
	} cases[] = {
		{"a weak tag", {.fields = FRESH, .etag = "W/\"v\"", .ranges = true}},
		{"no validator", {.fields = FRESH, .ranges = true}},
		{"no ranges", {.fields = FRESH "Accept-Ranges: none\r\n", .etag = "\"v\""}},
		{"no length", {.fields = FRESH, .etag = "\"v\"", .ranges = true, .chunked = true}},
		{"varies on Range",
		 {.fields = FRESH "Vary: Range\r\n", .etag = "\"v\"", .ranges = true}},
		{"private",
		 {.fields = "Cache-Control: private, max-age=600\r\n",
		  .etag = "\"v\"",
		  .ranges = true}},
		{"sets a cookie",
		 {.fields = FRESH "Set-Cookie: a=b\r\n", .etag = "\"v\"", .ranges = true}},
		{"no-store",
		 {.fields = "Cache-Control: no-store\r\n", .etag = "\"v\"", .ranges = true}},
	};
	enum { N = sizeof cases / sizeof *cases };
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < N; i++) {
		struct say s = cases[i].say;
		s.pattern_bytes = 2 * MIB;
		s.seed = SEED;
		s.times = 9;
		origin_script(text("/%d", i), &s);
		struct answer a = get(text("/%d", i));
		expect_bytes_of(a, SEED, 0, 2 * MIB);
		a = get_with(text("/%d", i), text("Range: bytes=%d-\r\n", 2 * MIB - 9));
		if (a.status == 206)
			expect_bytes_of(a, SEED, 2 * MIB - 9, 9);
		for (int r = 0; r < origin_requests(); r++)
			expect_that(!heard_field(origin_request(r), "If-Range"), "%s",
				    cases[i].says);
	}
}

SCENARIO("a purge takes the head and all slices")
{
	by_http_only();
	origin_says("/film", FILM);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/film");
	origin_forget("/film");
	/* The same tag and length, but other bytes: only the purge can tell. */
	origin_says("/film", .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = 8,
		    .ranges = true, .times = 9);
	struct output o =
		program(edge_binary(), "purge", "--admin", text("127.0.0.1:%u", edge_admin_port()),
			"http://example.com/film");
	expect_int(o.status, 0);
	struct answer a = get_with("/film", text("Range: bytes=%d-%d\r\n", 4 * MIB, 4 * MIB + 9));
	expect_status(a, 206);
	expect_bytes_of(a, 8, 4 * MIB, 10);
	a = get("/film");
	expect_bytes_of(a, 8, 0, BYTES);
	edge_restart();
	a = get("/film");
	expect_bytes_of(a, 8, 0, BYTES);
}

SCENARIO("a 304 for the head is good for all slices")
{
	origin_says("/film", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n",
		    .fields_304 = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = SEED,
		    .ranges = true, .times = 9);
	edge_start("--memory", "64MiB");
	get("/film");
	struct answer a = get("/film");
	expect_status(a, 200);
	expect_bytes_of(a, SEED, 0, BYTES);
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"v1\"");
	expect_hit(get_range("/film", 3 * MIB, 10));
	origin_expect_requests(2);
	expect_between(fetched_mib(), 5, 5.01);
}

SCENARIO("slices that are fetched behind a 304 for their head go to disk as others do")
{
	origin_says("/film", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n",
		    .fields_304 = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = SEED,
		    .ranges = true, .times = 9);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get_range("/film", 0, 2 * MIB);
	struct answer a = get("/film");
	expect_text(heard_field(origin_request(1), "If-None-Match"), "\"v1\"");
	expect_bytes_of(a, SEED, 0, BYTES);
	expect_between(fetched_mib(), 5, 5.01);
	edge_restart();
	expect_bytes_of(get("/film"), SEED, 0, BYTES);
	expect_between(fetched_mib(), 0, 0.01);
}

SCENARIO("after kill -9 what is left of the slices is right, and the rest is fetched")
{
	origin_says("/film", FILM, .times = 99);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int round = 0; round < 3; round++) {
		struct answer a = get("/film");
		expect_status(a, 200);
		expect_bytes_of(a, SEED, 0, BYTES);
		get_range("/film", (size_t)round * MIB + 5, MIB);
		edge_kill9();
		edge_restart();
	}
	expect_bytes_of(get("/film"), SEED, 0, BYTES);
}

SCENARIO("variants have slices of their own")
{
	origin_says("/v", .fields = FRESH "Vary: Accept-Language\r\n", .etag = "\"de\"",
		    .pattern_bytes = BYTES, .seed = 1, .ranges = true);
	origin_says("/v", .fields = FRESH "Vary: Accept-Language\r\n", .etag = "\"en\"",
		    .pattern_bytes = BYTES, .seed = 2, .ranges = true);
	edge_start("--memory", "64MiB");
	static const char *const lines[] = {"Accept-Language: de\r\n", "Accept-Language: en\r\n"};
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 2; i++)
			expect_bytes_of(get_with("/v", lines[i]), (uint64_t)i + 1, 0, BYTES);
	origin_expect_requests(2);
}

SCENARIO("a variant that breaks off at its first fetch is completed as others are")
{
	static const char *const fields = FRESH "Vary: Accept-Language\r\n";
	origin_says("/v", .fields = fields, .etag = "\"de\"", .pattern_bytes = BYTES, .seed = 1,
		    .ranges = true, .cut = true, .cut_at = 2 * MIB + 5);
	origin_says("/v", .fields = fields, .etag = "\"de\"", .pattern_bytes = BYTES, .seed = 1,
		    .ranges = true, .times = 9);
	edge_start("--memory", "64MiB");
	expect_bytes_of(get_with("/v", "Accept-Language: de\r\n"), 1, 0, BYTES);
}

/* A client that waits for the end of the whole's successor is answered stale, and the stale one has a
 * slice too few, which is of the successor by now. */
SCENARIO("a stale body whose missing slice is of the next version is asked for anew")
{
	enum { FIRST = 8 * MIB, NEXT = 40 * MIB };
	struct barrier *go = barrier_new();
	origin_says("/film", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n", .etag = "\"v1\"",
		    .pattern_bytes = FIRST, .seed = 1, .ranges = true);
	origin_says("/film", .fields = FRESH, .pattern_bytes = NEXT, .seed = 2, .hold_body = go,
		    .hold_at = 38 * MIB);
	origin_says("/film", .fields = FRESH, .pattern_bytes = NEXT, .seed = 2, .times = 9);
	edge_yaml("admission: { sightings: 1 }\ncache: { stale_after: 100ms }\n");
	clock_hold();
	edge_start("--memory", "64MiB", "--disk", "512MiB");
	expect_status(get_with("/film", "Range: bytes=0-1\r\n"), 206);
	struct call *whole = call_get("/film");
	edge_wait_stat("bytes.from_origin", 38 * MIB);
	struct call *rest = call_with("GET", "/film", text("Range: bytes=%d-\r\n", 5 * MIB), NULL);
	edge_wait_requests(3);
	clock_advance(150); /* it waits no longer for the answer that refreshes */
	struct answer a = call_wait(rest);
	expect_status(a, 206);
	expect_bytes_of(a, 2, 5 * MIB, NEXT - 5 * MIB);
	barrier_open(go);
	expect_bytes_of(call_wait(whole), 2, 0, NEXT);
}

SCENARIO("a lone slice that is missing is not fetched for only-if-cached")
{
	origin_says("/film", FILM, .times = 9);
	edge_start("--memory", "64MiB");
	get_range("/film", 0, 1);
	int before = origin_requests();
	expect_status(get_with("/film", "Range: bytes=0-9\r\nCache-Control: only-if-cached\r\n"),
		      504);
	get_range("/film", 0, 1); /* its slice is whole soon after */
	wait_until(
		get_with("/film", "Range: bytes=0-9\r\nCache-Control: only-if-cached\r\n").status ==
		206);
	expect_status(get_with("/film", "Cache-Control: only-if-cached\r\n"), 504);
	before = origin_requests();
	origin_expect_requests(before);
}

SCENARIO("an answer that a missing slice turns into an error is no hit, and counts as an error")
{
	origin_says("/film", FILM);
	origin_says("/film", .status = 503, .times = 9);
	edge_start("--memory", "64MiB");
	get_range("/film", 0, 2 * MIB);
	struct answer a = get_with("/film", "Cache-Control: only-if-cached\r\n");
	expect_status(a, 504);
	expect_verdict(a, "detail=only-if-cached");
	expect(!verdict_has(a, "hit") && !verdict_has(a, "ttl"));
	edge_wait_stat("requests.only_if_cached", 1);
	a = get_with("/film", text("Range: bytes=%d-\r\n", 4 * MIB));
	expect_status(a, 503);
	expect(!verdict_has(a, "hit") && !verdict_has(a, "ttl"));
	edge_wait_stat("requests.errors", 1);
	edge_expect_stat("requests.hits", 0);
	edge_expect_stat("requests.misses", 1);
}

SCENARIO("who leaves before the first slice is here had no answer")
{
	struct barrier *go = barrier_new();
	origin_says("/film", FILM);
	origin_says("/film", FILM, .hold_head = go);
	edge_start("--memory", "64MiB");
	get_range("/film", 0, 2 * MIB);
	edge_wait_stat("requests.misses", 1);
	struct client *c = client_open();
	client_request(c, "GET", "/film", text("Range: bytes=%d-\r\n", 4 * MIB));
	origin_wait_requests(2);
	client_reset(c);
	edge_wait_stat("requests.abandoned", 1);
	edge_expect_stat("requests.misses", 1);
	edge_expect_stat("requests.hits", 0);
	edge_expect_stat("status.none", 1);
	edge_expect_stat("status.2xx", 1);
	barrier_open(go);
}

/* A 206 of one slice, chunked, with so many bytes more than its range. */
static void
origin_says_chunked(const char *path, size_t slice, size_t more)
{
	size_t at = slice * MIB;
	char *head = text("HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\n"
			  "Content-Range: bytes %zu-%zu/%d\r\n"
			  "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
			  at, at + MIB - 1, BYTES, MIB + more);
	size_t n = strlen(head);
	char *raw = calloc(1, n + MIB + more + 7);
	memcpy(raw, head, n);
	memcpy(raw + n, pattern(SEED, BYTES) + at, MIB);
	memcpy(raw + n + MIB + more, "\r\n0\r\n\r\n", 7);
	origin_says(path, .raw = raw, .raw_bytes = n + MIB + more + 7);
}

SCENARIO("a slice that comes without a length ends where its range does")
{
	static const size_t more[] = {0, 1, MIB};
	edge_start("--memory", "64MiB");
	for (int i = 0; i < 3; i++) {
		char *path = text("/%d", i);
		origin_says(path, FILM);
		origin_says_chunked(path, 4, more[i]);
		origin_says(path, FILM, .times = 9);
		get_range(path, 0, 2 * MIB);
		get_range(path, 4 * MIB, MIB);
		get_range(path, 5 * MIB - 10, 20);
		expect_bytes_of(get(path), SEED, 0, BYTES);
	}
}

/* An answer holds bytes of one version, of the one whose tag it carries, whatever is asked for, in
 * whatever order, while the origin goes from version to version. */
SCENARIO("any ranges over any versions: an answer is of one version")
{
	enum { ROUNDS = 150, VERSIONS = 4 };
	unsigned seed = (unsigned)getpid(), version = 1;
	note("seed %u", seed);
	edge_start("--memory", "32MiB");
	char *want[VERSIONS + 1];
	for (unsigned v = 1; v <= VERSIONS; v++)
		want[v] = pattern(v, BYTES);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 10 == 0) {
			version = (unsigned)rand_r(&seed) % VERSIONS + 1;
			origin_forget("/p");
			origin_says("/p",
				    .fields = rand_r(&seed) % 2 ? FRESH
								: "Cache-Control: max-age=0\r\n",
				    .etag = text("\"v%u\"", version), .pattern_bytes = BYTES,
				    .seed = version, .ranges = true, .times = 999,
				    .cut = rand_r(&seed) % 3 == 0, .cut_at = 3 * MIB / 2);
		}
		size_t at = (size_t)rand_r(&seed) % BYTES,
		       n = (size_t)rand_r(&seed) % (2 * MIB) + 1;
		n = n > BYTES - at ? BYTES - at : n;
		bool whole = rand_r(&seed) % 8 == 0;
		struct answer a = try_ask(
			"GET", "/p", whole ? "" : text("Range: bytes=%zu-%zu\r\n", at, at + n - 1),
			NULL);
		const char *tag = field(a, "ETag");
		if (a.status != 200 && a.status != 206)
			continue;
		expect_that(tag && tag[1] == 'v', "tag %s", tag);
		unsigned v = (unsigned)atoi(tag + 2);
		if (a.status == 200)
			at = 0;
		expect_that(a.body_bytes <= BYTES - at &&
				    memcmp(a.body, want[v] + at, a.body_bytes) == 0,
			    "round %d: other bytes than those of %s at %zu", i, tag, at);
	}
}

static void
expect_file(const char *name, uint64_t seed, size_t n)
{
	FILE *f = fopen(name, "r");
	char *got = malloc(n + 1);
	expect_that(f, "no file %s", name);
	expect_int((long long)fread(got, 1, n + 1, f), (long long)n);
	fclose(f);
	expect(is_pattern(got, seed, 0, n));
}

SCENARIO("aria2c with eight connections fetches a file once, and then not again")
{
	by_http_only();
	enum { FILE_BYTES = 16 * MIB };
	needs("aria2c");
	origin_says("/file", .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = FILE_BYTES,
		    .seed = 5, .ranges = true, .times = 99);
	edge_start("--disk", "512MiB", "--memory", "128MiB");
	for (int i = 0; i < 2; i++) {
		char *name = text("f%d", i);
		struct output o =
			program("aria2c", "-x", "8", "-s", "8", "-k", "1M", "-q", "-d", kit_dir(),
				"-o", name, text("http://127.0.0.1:%u/file", edge_port()));
		expect_int(o.status, 0);
		expect_file(text("%s/%s", kit_dir(), name), 5, FILE_BYTES);
		note("download %d: %.2f times the file so far", i + 1, fetched_mib() / 16);
		expect_between(fetched_mib() / 16, 1, 1.15);
	}
}

/* Cold objects go by, more than twice what the log takes. A disk that is behind is spared some. */
SCENARIO("slices that are asked for stay on disk while others go")
{
	origin_says("/film", FILM);
	origin_says("*", .fields = FRESH, .pattern_bytes = 60000);
	edge_start_yaml("admission:\n  sightings: 1\n"
			"cache:\n  dir: %D/cache\n  disk: 24MiB\n  memory: 1MiB\n");
	get("/film");
	double before = edge_stat("bytes.from_origin");
	int others = 0;
	while (edge_stat("disk.evicted_objects") < 800) {
		expect_bytes_of(get("/film"), SEED, 0, BYTES);
		for (int end = others + 40; others < end; others++)
			get(text("/other/%d", others));
	}
	note("%d others", others);
	double again = edge_stat("bytes.from_origin") - before - others * 60000.0;
	expect_between(again / MIB, 0, 2);
}
