/* Routes override the settings for all: lifetimes, stale answers, admission. */
#include "tests/kit/kit.h"

#include <signal.h>
#include <stdio.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define STALE "Cache-Control: max-age=10\r\nAge: 20\r\n"

static void
expect_ttl(const char *path, int ttl)
{
	int64_t begun = kit_now_ms();
	get(path);
	struct answer a = get(path);
	const char *says = strstr(verdict(a), "ttl=");
	expect_hit(a);
	expect_between(says ? atoi(says + strlen("ttl=")) : 0,
		       (double)(ttl - kit_seconds_since(begun)), ttl);
}

SCENARIO("a route has a default lifetime of its own, or none")
{
	origin_says("*", .body = "hello");
	edge_start_yaml(EDGE_CACHE(
		"  default_ttl: 1h\n") "routes:\n"
				       "  - { path: /none/, cache: { default_ttl: 0s } }\n"
				       "  - { path: /short/, cache: { default_ttl: 1m } }\n");
	expect_ttl("/x", 3600);
	expect_ttl("/short/x", 60);
	get("/none/x");
	expect_miss(get("/none/x"));
}

SCENARIO("a route guesses no lifetimes")
{
	origin_says("*", .fields = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
		    .body = "hello");
	edge_start_yaml("routes: [ { path: /exact/, cache: { heuristic_max: 0s } } ]\n");
	get("/x");
	expect_hit(get("/x"));
	get("/exact/x");
	expect_miss(get("/exact/x"));
}

SCENARIO("a route serves nothing stale where others do")
{
	origin_says("*", .fields = STALE, .etag = "\"1\"", .body = "old");
	edge_start_yaml(EDGE_CACHE(
		"  stale_if_error: 1h\n") "routes: [ { path: /now/, cache: { stale_if_error: 0s } } ]\n");
	get("/x");
	get("/now/x");
	origin_dies();
	expect_answer(get("/x"), 200, "old");
	expect_status(get("/now/x"), 502);
}

SCENARIO("a route waits less for an origin that hangs, and may refresh behind answers")
{
	struct barrier *go = barrier_new();
	origin_says("/soon/x", .fields = STALE, .etag = "\"1\"", .body = "old");
	origin_says("/soon/x", .fields = FRESH, .etag = "\"2\"", .body = "new", .hold_head = go);
	origin_says("/swr/x", .fields = STALE, .etag = "\"1\"", .body = "old");
	origin_says("/swr/x", .fields = FRESH, .etag = "\"2\"", .body = "new", .hold_head = go);
	edge_start_yaml(EDGE_CACHE(
		"  stale_after: 1h\n") "routes:\n"
				       "  - { path: /soon/, cache: { stale_after: 50ms } }\n"
				       "  - { path: /swr/, cache: { stale_while_revalidate: 1h } }\n");
	get("/soon/x");
	get("/swr/x");
	expect_answer(get("/soon/x"), 200, "old");
	expect_answer(get("/swr/x"), 200, "old");
	barrier_open(go);
	wait_until(strcmp(get("/soon/x").body, "new") == 0);
	wait_until(strcmp(get("/swr/x").body, "new") == 0);
}

SCENARIO("what a route stored with a cookie is not found when the route says so no more")
{
	by_http_only();
	origin_says("*", .fields = FRESH "Set-Cookie: a=b\r\n", .body = "hello");
	edge_start_yaml("routes: [ { path: /shared/, cache: { set_cookie: share } } ]\n");
	get("/x");
	expect_miss(get("/x"));
	get("/shared/x");
	struct answer a = get("/shared/x");
	expect_hit(a);
	expect_field(a, "Set-Cookie", "a=b");
	FILE *f = fopen(text("%s/twice.yaml", kit_dir()), "w");
	expect(f && fputs("routes: [ ]\n", f) >= 0 && fclose(f) == 0);
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_miss(get("/shared/x"));
	expect_miss(get("/shared/x"));
}

SCENARIO("a route stores errors that a request can cause, or does not")
{
	origin_says("*", .status = 400, .fields = FRESH, .body = "no");
	edge_start_yaml("routes: [ { path: /on/, cache: { client_errors: on } } ]\n");
	for (int i = 0; i < 2; i++)
		expect_status(get("/x"), 400);
	expect_int(origin_requests(), 2);
	for (int i = 0; i < 2; i++)
		expect_status(get("/on/x"), 400);
	expect_int(origin_requests(), 3);
}

SCENARIO("a route writes at first sight, another at the second although all others do at once")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ { path: /first/, admission: { sightings: 1 } } ]\n");
	expect_verdict(get("/x"), "detail=first-sight");
	expect_verdict(get("/first/x"), "stored");
	edge_wait_stat("disk.objects", 1);
	edge_expect_stat("admission.first_sight", 1);
	edge_stop();
}

SCENARIO("a second sighting is asked for by one route alone")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("admission: { sightings: 1 }\n"
		  "routes: [ { path: /second/, admission: { sightings: 2 } } ]\n");
	edge_start();
	expect_verdict(get("/x"), "stored");
	expect_verdict(get("/second/x"), "detail=first-sight");
	get("/second/x");
	edge_wait_stat("disk.objects", 2);
}

SCENARIO("a route writes no large bodies, whole or in slices, and the baseline has none of them")
{
	origin_says("/small/a", .fields = FRESH, .pattern_bytes = 200000);
	origin_says("/small/b", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = 5 << 20,
		    .ranges = true);
	origin_says("/small/c", .fields = FRESH, .pattern_bytes = 200000, .chunked = true);
	origin_says("/a", .fields = FRESH, .pattern_bytes = 200000);
	edge_start_yaml(
		"routes: [ { path: /small/, admission: { sightings: 1, max_object: 100k } } ]\n");
	for (int i = 0; i < 3; i++) {
		expect_status(get("/small/a"), 200);
		expect_status(get("/small/b"), 200);
		expect_status(get("/small/c"), 200); /* how large it is shows at its end */
	}
	expect_hit(get("/small/c")); /* it was known the second time, and RAM took it */
	edge_expect_stat("disk.objects", 0);
	expect_between(edge_stat("disk.admitted_bytes"), 0, 150000);
	expect(edge_stat("disk.baseline_bytes") < 20000); /* the beginning of the log */
	edge_wait_stat("admission.too_large", 1);
	for (int i = 0; i < 2; i++)
		get("/a");
	edge_wait_stat("disk.objects", 1);
	edge_wait_stat("disk.baseline_bytes", 200000);
}
