/* Objects and sightings survive: over a clean stop and over kill -9. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("a clean stop keeps the filter: a sighting before it counts after it")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	expect_verdict(get("/x"), "detail=first-sight");
	edge_restart();
	struct answer a = get("/x");
	expect_verdict(a, "stored");
	expect_verdict(a, "detail=seen-current");
	edge_wait_stat("disk.objects", 1);
	edge_restart();
	expect_hit(get("/x"));
	origin_expect_requests(2);
}

SCENARIO("a clean stop keeps objects with their heads, ages and variants")
{
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\nX-Tag: one\r\n", .body = "red");
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\nX-Tag: two\r\n", .body = "blue");
	edge_start_yaml("admission:\n  sightings: 1\n");
	get_with("/v", "X-Kind: red\r\n");
	get_with("/v", "X-Kind: blue\r\n");
	edge_restart();
	struct answer a = get_with("/v", "X-Kind: red\r\n");
	expect_answer(a, 200, "red");
	expect_hit(a);
	expect_field(a, "X-Tag", "one");
	expect_answer(get_with("/v", "X-Kind: blue\r\n"), 200, "blue");
	origin_expect_requests(2);
}

SCENARIO("kill -9: what was sealed comes back, what was not is a miss, nothing is wrong")
{
	enum { N = 200, BYTES = 40000 };
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_kill9();
	int64_t start = kit_now_ms();
	edge_restart();
	int took_ms = (int)(kit_now_ms() - start);
	int hits = 0;
	for (int i = 0; i < N; i++) {
		struct answer a = get(text("/o/%d", i));
		expect_status(a, 200);
		expect(a.body_bytes == BYTES && is_pattern(a.body, (uint64_t)i, 0, BYTES));
		hits += verdict_has(a, "hit");
	}
	note("%d of %d objects came back after kill -9, in %d ms", hits, N, took_ms);
}

SCENARIO("an object removed before kill -9 does not come back")
{
	origin_says("/x", .fields = FRESH, .body = "old");
	origin_says("/x", .fields = FRESH, .body = "posted");
	origin_says("/x", .fields = FRESH, .body = "new");
	clock_hold(); /* logs that are written every ten seconds or so would be taken for the tombstone */
	edge_start_yaml("admission:\n  sightings: 1\n");
	expect_answer(get("/x"), 200, "old");
	edge_restart(); /* it is on disk for certain */
	expect_hit(get("/x"));
	double written = edge_stat("disk.written_bytes");
	ask("POST", "/x", NULL, "change");
	/* The tombstone reaches the file without any further request. */
	clock_advance(2000);
	wait_until(edge_stat("disk.written_bytes") > written);
	edge_kill9();
	edge_restart();
	struct answer a = get("/x");
	expect_that(strcmp(a.body, "old") != 0,
		    "the invalidated object came back after kill -9: %s", verdict(a));
}

SCENARIO("a snapshot of the filter that is damaged is ignored with a warning")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	get("/x");
	edge_stop();
	/* Every file that is neither segment nor seed gets a flipped byte in its middle. */
	struct output o = program(
		"sh", "-c",
		text("for f in $(find %s -type f -size -32M ! -name 'seed' ! -name '*seg*' ! -name lock); do "
		     "n=$(stat -c %%s $f); [ $n -gt 100 ] || continue; echo $f; "
		     "printf '\\377\\000\\377\\000' | dd of=$f bs=1 seek=$((n/2)) conv=notrunc 2>/dev/null; done",
		     edge_cache_dir()));
	note("damaged: %s", o.out);
	edge_restart();
	struct answer a = get("/x");
	expect_answer(a, 200, "hello");
}

SCENARIO("a cache directory written with another disk size still opens")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = 100000);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < 50; i++)
		get(text("/%d", i));
	edge_stop();
	edge_start("--disk", "16MiB");
	for (int i = 0; i < 50; i++)
		expect_status(get(text("/%d", i)), 200);
	expect_between((double)edge_disk_usage(), 0, 16 << 20);
}
