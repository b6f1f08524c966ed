/* One client asks for a piece of a large body in a way that the origin refuses, answers oddly, or
 * never answers. Those who read the same body must not feel it. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)
#define EVIL  "X-Evil: 1\r\n"

enum { SLICES = 10, BYTES = SLICES * MIB, SEED = 7 };

#define FILM .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = SEED, .ranges = true

static struct answer
try_range(size_t at, size_t n, const char *fields)
{
	return get_with("/film", text("Range: bytes=%zu-%zu\r\n%s", at, at + n - 1, fields));
}

static struct answer
get_range(size_t at, size_t n)
{
	struct answer a = try_range(at, n, "");
	expect_status(a, 206);
	expect_int((long long)a.body_bytes, (long long)n);
	expect(is_pattern(a.body, SEED, at, n));
	return a;
}

/* The head and the first slice are kept; the rest is not. */
static void
keep_the_beginning_after(int requests)
{
	get_range(0, MIB);
	expect_hit(get_range(0, MIB));
	origin_expect_requests(requests + 1);
}

static void
keep_the_beginning(void)
{
	keep_the_beginning_after(0);
}

SCENARIO("an error for a piece that one client asked for oddly costs nobody the copy")
{
	enum { TIMES = 4 };
	origin_says("/film", FILM);
	origin_says("/film", .status = 403, .body = "not you",
		    .times = 2);    /* the copy is doubted */
	origin_says("/film", FILM); /* and validated */
	origin_says("/film", .status = 403, .body = "not you", .times = 99);
	edge_start("--memory", "64MiB");
	keep_the_beginning();
	expect_status(try_range(5 * MIB, 9, EVIL), 403);
	get_range(0, 9);
	origin_expect_requests(4);
	for (int i = 0; i < TIMES; i++) {
		expect_status(try_range(5 * MIB, 9, EVIL), 403);
		int before = origin_requests();
		expect_hit(get_range(0, 9));
		origin_expect_requests(before);
	}
}

SCENARIO("that an origin has no ranges after all, clients of two addresses have to find")
{
	origin_says("/film", FILM);
	for (int i = 0; i < 3; i++)
		origin_says("/film", .fields = FRESH "Accept-Ranges: bytes\r\n", .etag = "\"v1\"",
			    .pattern_bytes = BYTES, .seed = SEED);
	origin_says("/film", FILM, .times = 9);
	edge_start("--memory", "64MiB");
	client_from("127.0.0.2");
	keep_the_beginning();
	for (int i = 0; i < 2; i++) {
		int before = origin_requests();
		get_range((size_t)(3 * i + 2) * MIB, 9); /* by what follows in the whole */
		origin_expect_requests(before + 1);
		client_from("127.0.0.3");
		expect_hit(get_range(0, 9));
		client_from("127.0.0.2");
		origin_expect_requests(before + 1);
	}
	client_from("127.0.0.3");
	get_range(8 * MIB, 9);
	int before = origin_requests();
	client_from("127.0.0.4");
	expect_miss(get_range(0, 9)); /* no slices from now on */
	expect(origin_requests() > before);
}

/* A stranger leads the fetch of a slice that somebody who reads the whole comes to next. */
static void
read_behind_a_stranger(const struct say *refusal)
{
	struct barrier *go = barrier_new();
	struct say held = *refusal;
	held.hold_head = go;
	origin_says("/film", FILM);
	origin_script("/film", &held);
	origin_says("/film", FILM, .times = 99);
	edge_start("--memory", "64MiB");
	keep_the_beginning();
	struct call *stranger =
		call_with("GET", "/film", text(EVIL "Range: bytes=%d-%d\r\n", MIB, MIB + 9), NULL);
	barrier_arrivals(go, 1);
	struct call *reader = call_get("/film");
	edge_wait_stat("requests.joined", 1);
	barrier_open(go);
	struct answer a = call_wait(reader);
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, BYTES);
	expect(is_pattern(a.body, SEED, 0, BYTES));
	call_wait(stranger);
}

SCENARIO("who follows a stranger's fetch of a slice has a try of its own: a refusal")
{
	read_behind_a_stranger(&(struct say){.status = 403, .body = "not you"});
}

SCENARIO("who follows a stranger's fetch of a slice has a try of its own: an error")
{
	read_behind_a_stranger(&(struct say){.status = 503, .body = "not now"});
}

SCENARIO("a reader goes on when the head of what it reads is replaced by another answer")
{
	struct barrier *go = barrier_new(), *late = barrier_new();
	origin_says("/film", FILM);
	origin_says("/film", .status = 403, .body = "not you", .hold_head = go);
	origin_says("/film", FILM, .hold_head = late); /* to the reader itself */
	origin_says("/film", .status = 410, .fields = FRESH, .body = "gone"); /* is stored */
	origin_says("/film", FILM, .times = 99);
	edge_start("--memory", "64MiB");
	keep_the_beginning();
	struct client *stranger = client_open();
	client_request(stranger, "GET", "/film", text(EVIL "Range: bytes=%d-%d\r\n", MIB, MIB + 9));
	barrier_arrivals(go, 1);
	struct call *reader = call_get("/film");
	edge_wait_stat("requests.joined", 1);
	client_reset(stranger);
	barrier_open(go);
	barrier_arrivals(late, 1);
	expect_status(get("/film"), 410);
	barrier_open(late);
	struct answer a = call_wait(reader);
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, BYTES);
	expect(is_pattern(a.body, SEED, 0, BYTES));
}

SCENARIO("who follows a stranger's fetch of a slice has a try of its own: a private answer")
{
	read_behind_a_stranger(&(struct say){.fields = "Cache-Control: private\r\n",
					     .etag = "\"v1\"",
					     .pattern_bytes = BYTES,
					     .seed = SEED,
					     .ranges = true});
}

SCENARIO("who follows a stranger's fetch of a slice has a try of its own: nothing at all")
{
	read_behind_a_stranger(&(struct say){.raw = "", .raw_bytes = 1});
}

/* All that the proxy has asked is heard and answered, but so many that never are. */
static bool
all_are_answered_but(int mute)
{
	int n = 0, heard = origin_requests();
	for (int i = 0; i < heard; i++)
		n += origin_request(i)->answered;
	return heard >= edge_stat("origin.requests") && n + mute >= heard;
}

SCENARIO("strangers' fetches that hang, one on each slice, hold up a reader once, not at each")
{
	struct call *strangers[SLICES];
	origin_says("/film", FILM);
	origin_says("/film", .mute = true, .times = SLICES - 1);
	origin_says("/film", FILM, .times = 99);
	origin_says("/warm", .fields = "Cache-Control: no-store\r\n", .body = "x");
	/* One waits a second for another's fetch at most. */
	edge_yaml("timeouts:\n  coalesce: 1s\n");
	clock_hold();
	edge_start("--memory", "64MiB");
	for (int i = 0; i < 20; i++) /* it is known how long a fetch usually takes */
		get("/warm");
	get_range(0, MIB);
	for (int i = 1; i < SLICES; i++)
		strangers[i] =
			call_with("GET", "/film",
				  text(EVIL "Range: bytes=%d-%d\r\n", i * MIB, i * MIB + 9), NULL);
	origin_wait_requests(20 + SLICES);
	struct call *reader = call_get("/film");
	edge_wait_stat("requests.joined", 1);
	/* A second, the least patience, at the first; nine of them is what it must not be. */
	int waited_ms = 0;
	for (double joined = 0; !call_is_done(reader);) {
		wait_until(call_is_done(reader) || edge_stat("requests.joined") > joined);
		joined = edge_stat("requests.joined");
		for (int heard = origin_requests();
		     !call_is_done(reader) && origin_requests() == heard; waited_ms += 50) {
			expect_that(waited_ms < 3000, "not answered after 3 s");
			clock_advance(50);
			wait_until(call_is_done(reader) || all_are_answered_but(SLICES - 1));
		}
	}
	struct answer a = call_wait(reader);
	expect_status(a, 200);
	expect(is_pattern(a.body, SEED, 0, BYTES));
	for (int i = 1; i < SLICES; i++)
		expect(!call_is_done(strangers[i]));
	origin_dies();
	for (int i = 1; i < SLICES; i++)
		expect(call_wait(strangers[i]).status >= 500);
}

SCENARIO("who follows a stranger's fetch of a slice has a try of its own: a body that drips")
{
	struct barrier *never = barrier_new();
	origin_says("/warm", .fields = "Cache-Control: no-store\r\n", .body = "x");
	origin_says("/film", FILM);
	origin_says("/film", FILM, .hold_body = never, .hold_at = 300000);
	origin_says("/film", FILM, .times = 99);
	edge_start("--memory", "64MiB");
	get("/warm");
	keep_the_beginning_after(1);
	struct client *stranger = client_open();
	client_request(stranger, "GET", "/film",
		       text(EVIL "Range: bytes=%d-%d\r\n", MIB, MIB + 400000));
	expect_status(client_read_head(stranger), 206);
	struct call *readers[5];
	for (int i = 0; i < 5; i++)
		readers[i] = call_get("/film");
	for (int i = 0; i < 5; i++) {
		struct answer a = call_wait(readers[i]);
		expect_status(a, 200);
		expect_int((long long)a.body_bytes, BYTES);
		expect(is_pattern(a.body, SEED, 0, BYTES));
	}
	client_reset(stranger);
	barrier_open(never);
}

/* Each reader asks whether the head is good still, and leads that question. */
SCENARIO("neither do those wait for it who validate the head themselves")
{
	struct barrier *never = barrier_new();
	origin_says("/warm", .fields = "Cache-Control: no-store\r\n", .body = "x");
	origin_says("/film", .fields = "Cache-Control: max-age=0\r\n", .etag = "\"v1\"",
		    .pattern_bytes = BYTES, .seed = SEED, .ranges = true, .hold_body = never,
		    .hold_at = 300000, .hold_for = "X-Evil", .times = 99);
	edge_start("--memory", "64MiB");
	get("/warm");
	get_range(0, MIB);
	struct client *stranger = client_open();
	client_request(stranger, "GET", "/film",
		       text(EVIL "Range: bytes=%d-%d\r\n", MIB, MIB + 400000));
	expect_status(client_read_head(stranger), 206);
	struct answer a = get("/film");
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && is_pattern(a.body, SEED, 0, BYTES));
	client_reset(stranger);
	barrier_open(never);
}

/* RFC 9111 5.2.1.5: nothing is kept of it. */
SCENARIO("a piece asked for with no-store is its client's alone: it is not kept, and nobody waits")
{
	struct barrier *never = barrier_new();
	origin_says("/film", FILM, .times = 2);
	origin_says("/film", FILM, .hold_head = never, .hold_for = "no-store", .times = 99);
	edge_start("--memory", "64MiB");
	keep_the_beginning();
	struct answer a = try_range(5 * MIB, 9, "Cache-Control: no-store\r\n");
	expect_status(a, 206);
	expect(a.body_bytes == 9 && is_pattern(a.body, SEED, 5 * MIB, 9));
	origin_expect_requests(2);
	expect_text(heard_field(origin_last(), "Range"), "bytes=5242880-5242888");
	struct call *hangs = call_with(
		"GET", "/film",
		text("Cache-Control: no-store\r\nRange: bytes=%d-%d\r\n", 5 * MIB, 5 * MIB + 8),
		NULL);
	barrier_arrivals(never, 1);
	expect_miss(get_range(5 * MIB, 9));
	origin_expect_requests(4);
	wait_until(verdict_has(get_range(5 * MIB, 9), "hit")); /* when all of it is here */
	expect_hit(get_range(0, 9));
	origin_expect_requests(4);
	expect(!call_is_done(hangs));
	barrier_open(never);
	expect_status(call_wait(hangs), 206);
}
