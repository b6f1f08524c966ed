/* A client may begin what it will not take: large bodies that it asks for and does not read. */
#include "tests/kit/clock.h"
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)

/* More than a flight keeps for those who come later, so that it pauses; it lies in no slices. */
enum { LARGE = 40 * MIB };

static void
start(const char *more)
{
	edge_yaml(more);
	edge_start("--disk", "128MiB");
}

static struct client *
begin(const char *path, const char *word)
{
	struct client *c = client_open_narrow();
	client_request(c, "GET", path, NULL);
	expect_verdict(client_read_head(c), word);
	return c;
}

/* Asked for twice, so that the disk wants it, and not taken. */
static struct client *
begin_twice(const char *path)
{
	client_reset(begin(path, "detail=first-sight"));
	origin_wait_closed(origin_last()->connection);
	return begin(path, "detail=seen-current");
}

/* The log grows no more, and a generation has just begun. */
static void
fill_the_log(void)
{
	double was = edge_stat("admission.generation.number");
	for (int i = 0; edge_stat("admission.generation.number") < was + 1; i++)
		get(text("/fill/%d", i));
}

SCENARIO("a body that is only begun ends no generation of the filter")
{
	origin_says("/once", .fields = FRESH, .body = "x");
	origin_says("*", .fields = FRESH, .pattern_bytes = 2 * MIB);
	for (int i = 0; i < 3; i++)
		origin_says(text("/big/%d", i), .fields = FRESH, .pattern_bytes = LARGE);
	start("routes:\n  - path: /fill\n    admit: always\n");
	fill_the_log();
	double was = edge_stat("admission.generation.number");
	expect_verdict(get("/once"), "detail=first-sight");
	struct client *held[3];
	for (int i = 0; i < 3; i++)
		held[i] = begin_twice(text("/big/%d", i));
	expect_int((int)edge_stat("admission.generation.number"), (int)was);
	expect_verdict(get("/once"), "detail=ram");
	edge_wait_stat("admission.seen_current", 1);
	for (int i = 0; i < 3; i++)
		client_reset(held[i]);
}

SCENARIO("a body that is only begun uses up nothing of the write budget")
{
	origin_says("/page", .fields = FRESH, .body = "x");
	origin_says("/big", .fields = FRESH, .pattern_bytes = LARGE);
	start("admission:\n  write_budget: 4MiB\n");
	struct client *held = begin_twice("/big");
	get("/page");
	get("/page");
	edge_expect_stat("disk.objects", 1);
	client_reset(held);
}

SCENARIO("a body that is only begun is not said to be saved")
{
	origin_says("/big", .fields = FRESH, .pattern_bytes = LARGE);
	origin_says("/page", .fields = FRESH, .pattern_bytes = MIB);
	start("");
	for (int i = 0; i < 3; i++) {
		client_reset(begin("/big", i ? "detail=seen-current" : "detail=first-sight"));
		origin_wait_closed(origin_last()->connection);
	}
	get("/page");
	edge_wait_stat("disk.baseline_bytes", MIB);
	expect_between(edge_stat("disk.baseline_bytes"), MIB, 2 * MIB);
}

SCENARIO("large bodies that one client begins and does not take keep nobody's from the disk")
{
	enum { BEGUN = 240, WHOLE = 4 * MIB };
	struct barrier *go = barrier_new();
	origin_says("*", .fields = FRESH, .pattern_bytes = MIB, .promise = LARGE, .hold_body = go,
		    .hold_at = MIB);
	for (int i = 0; i < 2; i++)
		origin_says(text("/page/%d", i), .fields = FRESH, .pattern_bytes = WHOLE);
	clock_hold();
	edge_yaml("routes:\n  - path: /\n    admit: always\n");
	edge_start("--disk", "1GiB");
	struct client *held[BEGUN];
	for (int i = 0; i < BEGUN; i++)
		held[i] = begin(text("/begun/%d", i), "detail=always");
	get("/page/0"); /* nothing is taken away at once */
	edge_expect_stat("disk.objects", 0);
	for (int i = 0; i < 8; i++)
		clock_advance(1000);
	expect_verdict(get("/page/1"), "detail=always");
	expect_hit(get("/page/1"));
	expect_between(edge_stat("disk.objects"), 1, 2);
	for (int i = 0; i < BEGUN; i++)
		client_reset(held[i]);
	barrier_open(go);
}

/* ---- what is fetched when nobody reads it --------------------------------------------------- */

/* The origin's last answer is out, or was given up. */
static void
wait_for_the_rest(void)
{
	wait_until(edge_stat("connections.closed") == edge_stat("connections.accepted"));
	const struct heard *h = origin_last();
	wait_until(origin_has_closed(h->connection) || origin_last()->answered);
}

static void
ask_and_leave(const char *path, const char *fields)
{
	struct client *c = client_open_narrow();
	client_request(c, "GET", path, fields);
	client_read_head(c);
	client_reset(c);
	wait_for_the_rest();
}

SCENARIO("a client that cuts its requests has little fetched, by ranges of what was seen too")
{
	by_http_only();
	origin_says("/big", .fields = FRESH, .etag = "W/\"1\"", .pattern_bytes = LARGE,
		    .ranges = true);
	edge_start();
	ask_and_leave("/big", NULL);
	for (int i = 0; i < 4; i++) {
		ask_and_leave("/big", "Range: bytes=0-0\r\n");
		ask_and_leave("/big", "Range: bytes=5-5\r\n");
	}
	ask_and_leave("/big", NULL);
	double fetched = edge_stat("bytes.from_origin");
	note("%.1f MiB fetched", fetched / MIB);
	expect_between(fetched, 1, LARGE / 4);
	edge_expect_stat("disk.objects", 0);
}

SCENARIO("a whole that clients of two addresses want parts of is fetched, though they leave")
{
	origin_says("/film", .fields = FRESH, .etag = "W/\"1\"", .pattern_bytes = 5 * MIB,
		    .seed = 3, .ranges = true);
	edge_start();
	client_from("127.0.0.2");
	for (int i = 0; i < 3; i++)
		expect_status(get_with("/film", text("Range: bytes=%d-%d\r\n", i, i + 9)), 206);
	edge_expect_stat("disk.objects", 0);
	client_from("127.0.0.3");
	expect_status(get_with("/film", "Range: bytes=0-99\r\n"), 206);
	edge_wait_stat("disk.objects", 1);
	struct answer a = get("/film");
	expect_hit(a);
	expect(is_pattern(a.body, 3, 0, 5 * MIB));
}

SCENARIO("of what nobody reads any more the rest is fetched where most of it is here")
{
	for (int i = 0; i < 2; i++) {
		struct barrier *go = barrier_new();
		origin_says(text("/%d", i), .fields = FRESH, .pattern_bytes = 4 * MIB,
			    .hold_body = go, .hold_at = i ? 3 * MIB : MIB);
		if (!i)
			edge_start_yaml("routes:\n  - path: /\n    admit: always\n");
		struct client *c = client_open();
		double was = edge_stat("bytes.from_origin");
		client_request(c, "GET", text("/%d", i), NULL);
		client_read_head(c);
		edge_wait_stat("bytes.from_origin", was + (i ? 3 * MIB : MIB));
		client_reset(c);
		wait_until(edge_stat("connections.closed") == edge_stat("connections.accepted"));
		barrier_open(go);
		wait_for_the_rest();
	}
	expect_miss(get("/0"));
	wait_until(verdict_has(get("/1"), "hit"));
	origin_expect_requests_for("/1", 1);
}
