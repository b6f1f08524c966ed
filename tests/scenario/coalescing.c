/* Many clients that ask for the same missing object cause one origin fetch (RFC 9111 4). A follower asks for itself when it
 * has waited for a second or two, so the clock stands still where none is to. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("two misses for one key are one fetch")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "hello", .hold_head = go);
	clock_hold();
	edge_start();
	struct call *a = call_get("/x"), *b = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(a, 200, "hello");
	call_expect(b, 200, "hello");
	origin_expect_requests(1);
}

SCENARIO("a follower is a second sighting: the object is written")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "hello", .hold_head = go);
	clock_hold();
	edge_start();
	struct call *a = call_get("/x"), *b = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(a, 200, "hello");
	call_expect(b, 200, "hello");
	edge_wait_stat("disk.objects", 1);
	edge_restart();
	expect_hit(get("/x"));
	origin_expect_requests(1);
}

SCENARIO("a follower that asks for a later part is a second sighting, as it has the first slice")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .pattern_bytes = 5000, .hold_head = go, .ranges = true);
	clock_hold();
	edge_start();
	struct call *leader = call_get("/x");
	origin_wait_requests(1);
	struct client *later[3];
	for (int i = 0; i < 3; i++)
		client_request(later[i] = client_open(), "GET", "/x",
			       text("Range: bytes=%d-\r\n", 1000 + i));
	edge_wait_stat("requests.joined", 3);
	barrier_open(go);
	expect_status(call_wait(leader), 200);
	for (int i = 0; i < 3; i++)
		expect_status(client_read(later[i], "GET"), 206);
	edge_wait_stat("requests.coalesced", 3);
	edge_wait_stat("disk.objects", 1);
	expect_hit(get("/x"));
	origin_expect_requests(1);
}

SCENARIO("twenty clients read one body while it arrives")
{
	enum { N = 20, BYTES = 3 << 20 };
	struct barrier *half = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 7, .hold_body = half,
		    .hold_at = BYTES / 2);
	clock_hold();
	edge_start();
	struct call *call[N];
	for (int i = 0; i < N; i++)
		call[i] = call_get("/big");
	edge_wait_requests(N);
	struct client *late = client_open();
	client_request(late, "GET", "/big", NULL);
	expect_status(client_read_head(late), 200);
	char *want = pattern(7, BYTES), *got = malloc(BYTES);
	expect_int(client_read_body(late, got, BYTES / 2),
		   BYTES / 2); /* the second half is not there yet */
	barrier_open(half);
	expect_int(client_read_body(late, got + BYTES / 2, BYTES / 2), BYTES / 2);
	expect(memcmp(got, want, BYTES) == 0);
	for (int i = 0; i < N; i++) {
		struct answer a = call_wait(call[i]);
		expect_status(a, 200);
		expect_int((long long)a.body_bytes, BYTES);
		expect(memcmp(a.body, want, BYTES) == 0);
	}
	origin_expect_requests(1);
}

SCENARIO("followers of an answer that must not be shared each ask for themselves, all at once")
{
	enum { N = 8 };
	struct barrier *first = barrier_new(), *rest = barrier_new();
	origin_says("/private", .fields = "Cache-Control: private\r\n", .body = "one",
		    .hold_head = first);
	origin_says("/private", .fields = "Cache-Control: private\r\n", .body = "other",
		    .hold_head = rest);
	clock_hold();
	edge_start();
	struct call *leader = call_get("/private");
	origin_wait_requests(1);
	struct call *call[N];
	for (int i = 0; i < N; i++)
		call[i] = call_get("/private");
	edge_wait_requests(N + 1);
	barrier_open(first);
	call_expect(leader, 200, "one");
	/* None of the followers is answered before all of them have reached the origin. */
	barrier_arrivals(rest, N);
	barrier_open(rest);
	for (int i = 0; i < N; i++)
		call_expect(call[i], 200, "other");
	origin_expect_requests(N + 1);
}

SCENARIO("what turned out uncacheable is remembered: the next ones do not wait for each other")
{
	struct barrier *go = barrier_new();
	origin_says("/u", .fields = "Cache-Control: no-store\r\n", .body = "a");
	origin_says("/u", .fields = "Cache-Control: no-store\r\n", .body = "b", .hold_head = go);
	edge_start();
	expect_answer(get("/u"), 200, "a");
	struct call *a = call_get("/u"), *b = call_get("/u"), *c = call_get("/u");
	barrier_arrivals(go, 3);
	barrier_open(go);
	call_expect(a, 200, "b");
	call_expect(b, 200, "b");
	call_expect(c, 200, "b");
}

SCENARIO("the leader's client goes away: its followers still get the whole body")
{
	enum { BYTES = 1 << 20 };
	struct barrier *half = barrier_new();
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .hold_body = half,
		    .hold_at = BYTES / 2);
	clock_hold();
	edge_start();
	struct client *leader = client_open();
	client_request(leader, "GET", "/x", NULL);
	origin_wait_requests(1);
	struct call *follower = call_get("/x");
	edge_wait_requests(2);
	client_reset(leader);
	barrier_open(half);
	struct answer a = call_wait(follower);
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, BYTES);
	expect(is_pattern(a.body, 0, 0, BYTES));
}

SCENARIO("the leader's fetch fails before the head: followers are answered, not left waiting")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .raw = "HTTP/1.1 200", .hold_head = go);
	origin_says("/x", .fields = FRESH, .body = "well");
	clock_hold();
	edge_start();
	struct call *leader = call_get("/x"), *follower = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	struct answer a = call_wait(leader), b = call_wait(follower);
	expect_that(a.status == 502 || a.status == 200, "expected 502 or 200, there came %d",
		    a.status);
	expect_that(b.status == 502 || b.status == 200, "expected 502 or 200, there came %d",
		    b.status);
	expect_answer(get("/x"), 200, "well");
}

SCENARIO("a follower that wants another variant fetches its own")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "red", .hold_head = go);
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "blue");
	clock_hold();
	edge_start();
	struct call *red = call_with("GET", "/v", "X-Kind: red\r\n", NULL);
	origin_wait_requests(1);
	struct call *blue = call_with("GET", "/v", "X-Kind: blue\r\n", NULL);
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(red, 200, "red");
	call_expect(blue, 200, "blue");
	origin_expect_requests(2);
	expect_text(heard_field(origin_request(1), "X-Kind"), "blue");
}

SCENARIO("collapsed requests say so in Cache-Status")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "hello", .hold_head = go);
	clock_hold();
	edge_start();
	struct call *a = call_get("/x");
	origin_wait_requests(1);
	struct call *b = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	expect_no_verdict(call_wait(a), "collapsed");
	expect_verdict(call_wait(b), "collapsed");
}

SCENARIO("a follower does not wait for ever: after timeouts.coalesce it asks for itself")
{
	struct barrier *never = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "late", .hold_head = never);
	origin_says("/x", .fields = FRESH, .body = "own");
	edge_start_yaml("timeouts:\n  coalesce: 300ms\n");
	struct client *leader = client_open();
	client_request(leader, "GET", "/x", NULL);
	origin_wait_requests(1);
	expect_answer(get("/x"), 200, "own");
	client_reset(leader);
	barrier_open(never);
}

SCENARIO("a HEAD joins nobody and holds up nobody")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "hello", .hold_head = go);
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	struct call *a = call_get("/x");
	origin_wait_requests(1);
	struct call *head = call_with("HEAD", "/x", NULL, NULL);
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(a, 200, "hello");
	call_expect(head, 200, "");
}

SCENARIO("a Range follower gets its bytes out of the whole that arrives")
{
	enum { BYTES = 1 << 20 };
	struct barrier *half = barrier_new();
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .seed = 3, .hold_body = half,
		    .hold_at = BYTES / 2);
	clock_hold();
	edge_start();
	struct call *a = call_get("/x");
	origin_wait_requests(1);
	struct call *b = call_with("GET", "/x", "Range: bytes=1000-1999\r\n", NULL);
	edge_wait_requests(2);
	barrier_open(half);
	struct answer whole = call_wait(a), part = call_wait(b);
	expect(whole.body_bytes == BYTES && is_pattern(whole.body, 3, 0, BYTES));
	if (part.status == 206)
		expect(part.body_bytes == 1000 && is_pattern(part.body, 3, 1000, 1000));
	else
		expect(part.status == 200 && part.body_bytes == BYTES);
}

SCENARIO("a follower is not given a variant because the answer varies on more than before")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\nVary: A\r\n",
		    .etag = "\"1\"", .body = "old");
	origin_says("/v", .fields = FRESH "Vary: A, B\r\n", .body = "one", .hold_head = go);
	origin_says("/v", .fields = FRESH "Vary: A, B\r\n", .body = "two");
	clock_hold();
	edge_start();
	get_with("/v", "A: 1\r\nB: 1\r\n");
	struct call *one = call_with("GET", "/v", "A: 1\r\nB: 1\r\n", NULL);
	origin_wait_requests(2);
	struct call *two = call_with("GET", "/v", "A: 1\r\nB: 2\r\n", NULL);
	edge_wait_requests(3);
	barrier_open(go);
	call_expect(one, 200, "one");
	call_expect(two, 200, "two");
	expect_answer(get_with("/v", "B: 1\r\nA: 1\r\n"), 200, "one");
	expect_answer(get_with("/v", "B: 2\r\nA: 1\r\n"), 200, "two");
	origin_expect_requests(3);
}

SCENARIO("followers of a flight with an Age get one that has grown with it, once")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH "Age: 100\r\n", .body = "hello", .hold_head = go);
	clock_hold();
	edge_start();
	int64_t begun = kit_now_ms();
	struct call *a = call_get("/x");
	origin_wait_requests(1);
	struct call *b = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	struct call *calls[] = {a, b};
	for (int i = 0; i < 2; i++) {
		struct answer x = call_wait(calls[i]);
		expect_answer(x, 200, "hello");
		expect_int(field_lines(x, "Age"), 1);
		expect_between(atoi(field(x, "Age")), 100, 100 + (double)kit_seconds_since(begun));
	}
}

SCENARIO("a follower waits only so long, then fetches for itself, and both are answered")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "slow", .hold_head = go);
	origin_says("/x", .fields = FRESH, .body = "quick");
	clock_hold();
	edge_start_yaml("timeouts:\n  coalesce: 200ms\n");
	struct call *a = call_get("/x");
	origin_wait_requests(1);
	struct call *b = call_get("/x");
	edge_wait_requests(2);
	clock_advance(199);
	edge_expect_stat("origin.requests", 1);
	clock_advance(50); /* it is looked at so often */
	call_expect(b, 200, "quick");
	barrier_open(go);
	call_expect(a, 200, "slow");
}

SCENARIO("followers of a revalidation: all get the object, of an error all get the stale one")
{
	enum { N = 5 };
	struct barrier *go = barrier_new(), *err = barrier_new();
	origin_says("/ok", .fields = "Cache-Control: max-age=50\r\n", .etag = "\"1\"",
		    .body = "hello");
	origin_says("/ok", .fields_304 = FRESH, .etag = "\"1\"", .body = "hello", .hold_head = go);
	origin_says("/bad", .fields = "Cache-Control: max-age=50\r\n", .etag = "\"1\"",
		    .body = "hello");
	origin_says("/bad", .status = 503, .body = "no", .hold_head = err);
	clock_hold();
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	static const char *const paths[] = {"/ok", "/bad"};
	for (int k = 0; k < 2; k++) {
		get(paths[k]);
		struct call *calls[N];
		for (int i = 0; i < N; i++)
			calls[i] =
				call_with("GET", paths[k], "Cache-Control: min-fresh=99\r\n", NULL);
		edge_wait_requests((k + 1) * (N + 1));
		barrier_open(k ? err : go);
		for (int i = 0; i < N; i++)
			call_expect(calls[i], 200, "hello");
		origin_expect_requests_for(paths[k], 2);
	}
}

SCENARIO("a body larger than a flight keeps is fetched and written once for all who come")
{
	enum { BYTES = 40 << 20, N = 4 };
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5, .hold_head = go);
	edge_yaml("admission:\n  sightings: 1\n");
	clock_hold(); /* who comes late waits for as long as the one who stores takes */
	edge_start("--disk", "512MiB");
	struct call *call[N];
	for (int i = 0; i < N; i++)
		call[i] = call_get("/big");
	edge_wait_requests(N);
	barrier_open(go);
	char *want = pattern(5, BYTES);
	for (int i = 0; i < N; i++) {
		struct answer a = call_wait(call[i]);
		expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	}
	edge_wait_stat("disk.objects", 1);
	expect_between(edge_stat("disk.written_bytes"), BYTES * 0.9, BYTES * 1.3);
	struct answer a = get("/big");
	expect_hit(a);
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	origin_expect_requests(1);
}

SCENARIO("late clients of a large body wait for the one who stores it, when its end is near")
{
	enum { BYTES = 48 << 20, N = 5 };
	struct barrier *end = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5, .hold_body = end,
		    .hold_at = 40 << 20);
	edge_yaml("admission:\n  sightings: 1\n");
	clock_hold();
	edge_start("--disk", "512MiB");
	struct call *call[N];
	call[0] = call_get("/big");
	barrier_arrivals(end, 1);
	/* One that reads nothing does not hold up the others. */
	struct client *idle = client_open();
	client_request(idle, "GET", "/big", NULL);
	for (int i = 1; i < N; i++)
		call[i] = call_get("/big");
	edge_wait_requests(N + 1);
	barrier_open(end);
	char *want = pattern(5, BYTES);
	for (int i = 0; i < N; i++) {
		struct answer a = call_wait(call[i]);
		expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
		if (i)
			expect_hit(a);
	}
	struct answer a = client_read(idle, "GET");
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	origin_expect_requests(1);
}

SCENARIO("late clients of a large body do not wait for one who makes its end hang")
{
	enum { BYTES = 48 << 20, PATIENCE_MS = 1000, STEP_MS = 250 };
	enum {
		UNKNOWN_MS = 2000
	};	      /* where no answer has come, or all at once: a fifth of timeouts.coalesce */
	by_h1_only(); /* the origin knows the field by its capital letters */
	struct barrier *never = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5, .hold_body = never,
		    .hold_at = 40 << 20, .hold_for = "X-Evil");
	edge_yaml("admission:\n  sightings: 1\n");
	clock_hold();
	edge_start("--disk", "512MiB");
	struct call *evil = call_with("GET", "/big", "X-Evil: 1\r\n", NULL);
	barrier_arrivals(never, 1);
	clock_settle();
	struct call *late = call_get("/big");
	edge_wait_requests(2);
	clock_advance(PATIENCE_MS - 1);
	origin_expect_requests(1);
	for (int ms = 0; origin_requests() < 2;
	     ms += STEP_MS) { /* what came at first speaks for it */
		expect_that(ms <= 2 * UNKNOWN_MS, "it waits for over two patiences");
		clock_advance(STEP_MS);
		wait_until(origin_requests() >= edge_stat("origin.requests"));
	}
	struct answer a = call_wait(late);
	expect(a.body_bytes == BYTES && memcmp(a.body, pattern(5, BYTES), BYTES) == 0);
	origin_expect_requests(2);
	barrier_open(never);
	call_wait(evil);
}

SCENARIO("late clients of a large body wait only so long; then they fetch it too, and one writes")
{
	enum { BYTES = 48 << 20, N = 3 };
	struct barrier *end = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5, .hold_body = end,
		    .hold_at = 40 << 20);
	edge_yaml("admission:\n  sightings: 1\ntimeouts:\n  coalesce: 300ms\n");
	clock_hold(); /* a write of which nothing comes for two seconds gives its turn away */
	edge_start("--disk", "512MiB");
	struct call *call[N];
	for (int i = 0; i < N; i++) {
		call[i] = call_get("/big");
		edge_wait_requests(i + 1);
		clock_advance(i ? 350 : 0);
		barrier_arrivals(end, i + 1);
	}
	barrier_open(end);
	char *want = pattern(5, BYTES);
	for (int i = 0; i < N; i++) {
		struct answer a = call_wait(call[i]);
		expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	}
	edge_wait_stat("disk.objects", 1);
	expect_between(edge_stat("disk.written_bytes"), BYTES * 0.9, BYTES * 1.3);
}

SCENARIO(
	"a range joins who fetches the whole; what turns out not to be shared is asked for as it came")
{
	struct barrier *good = barrier_new(), *mine = barrier_new();
	origin_says("/good", .fields = FRESH, .etag = "\"1\"", .body = "0123456789", .ranges = true,
		    .hold_head = good);
	origin_says("/mine", .fields = "Cache-Control: private\r\n", .etag = "\"1\"",
		    .body = "0123456789", .ranges = true, .hold_head = mine);
	clock_hold();
	edge_start();
	struct call *a = call_get("/good");
	origin_wait_requests(1);
	struct call *b = call_with("GET", "/good", "Range: bytes=2-4\r\n", NULL);
	edge_wait_requests(2);
	barrier_open(good);
	call_expect(a, 200, "0123456789");
	call_expect(b, 206, "234");
	origin_expect_requests(1);
	a = call_get("/mine");
	origin_wait_requests(2);
	b = call_with("GET", "/mine", "Range: bytes=2-4\r\n", NULL);
	edge_wait_requests(4);
	barrier_open(mine);
	call_expect(a, 200, "0123456789");
	call_expect(b, 206, "234");
	/* And remembered. */
	expect_answer(get_with("/mine", "Range: bytes=5-6\r\n"), 206, "56");
	expect_text(heard_field(origin_last(), "Range"), "bytes=5-6");
}
