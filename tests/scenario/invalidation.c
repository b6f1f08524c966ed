/* Unsafe methods invalidate what they change (RFC 9111 4.4); purging does so by hand. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("a successful unsafe method invalidates its URL")
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "M-SEARCH"};
	edge_start();
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		char *path = text("/%s", methods[i]);
		origin_says(path, .fields = FRESH, .body = "old");
		origin_says(path, .body = "done");
		origin_says(path, .fields = FRESH, .body = "new");
		expect_answer(get(path), 200, "old");
		expect_answer(ask(methods[i], path, NULL, "x"), 200, "done");
		struct answer a = get(path);
		expect_that(strcmp(a.body, "new") == 0, "%s left the old object", methods[i]);
	}
}

SCENARIO("a failed unsafe method does not")
{
	origin_says("/x", .fields = FRESH, .body = "old");
	origin_says("/x", .status = 500, .body = "no");
	origin_says("/x", .fields = FRESH, .body = "new");
	edge_start();
	get("/x");
	expect_status(ask("POST", "/x", NULL, "x"), 500);
	expect_answer(get("/x"), 200, "old");
}

SCENARIO("a safe method does not")
{
	origin_says("/x", .fields = FRESH, .body = "old");
	origin_says("/x", .body = "options");
	edge_start();
	get("/x");
	ask("OPTIONS", "/x", NULL, NULL);
	expect_answer(get("/x"), 200, "old");
	ask("PROPFIND", "/x", NULL, "what is there?");
	expect_answer(get("/x"), 200, "old");
	ask("HEAD", "/x", NULL, NULL);
	expect_answer(get("/x"), 200, "old");
}

/* The purge log of so small a disk keeps 1,500 of them apart. */
SCENARIO("thousands of changed pages cost nobody else a page, nor a purge its room")
{
	enum { CHANGED = 2000, OTHERS = 20 };
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 16MiB\n  memory: 8MiB\n"
			"admission:\n  sightings: 1\n");
	for (int i = 0; i < OTHERS; i++)
		get(text("/other%d", i));
	double room = edge_stat("purges.room");
	struct client *c = client_open();
	for (int i = 0; i < CHANGED; i++) {
		client_request(c, "GET", text("/%d", i), NULL);
		expect_miss(client_read(c, "GET"));
		client_request(c, "POST", text("/%d", i), "Content-Length: 0\r\n");
		expect_status(client_read(c, "POST"), 200);
	}
	client_close(c);
	for (int i = 0; i < OTHERS; i++)
		expect_hit(get(text("/other%d", i)));
	for (int i = 0; i < CHANGED; i += 100)
		expect_miss(get(text("/%d", i)));
	expect_that(edge_stat("purges.room") == room, "the room is %g, and was %g",
		    edge_stat("purges.room"), room);
	expect_int((long long)edge_stat("purges.shed"), 0);
	/* Those that the log has no room for are not told from others behind a restart: nothing is taken for fresh. */
	edge_restart();
	for (int i = 1; i < CHANGED; i += 100)
		expect_that(!verdict_has(get(text("/%d", i)), "hit"), "page %d is back", i);
}

SCENARIO("Location and Content-Location invalidate only where a setting says so")
{
	origin_says("/hot", .fields = FRESH, .body = "old");
	origin_says("/hot", .fields = FRESH, .body = "new");
	origin_says("/login?next=/hot", .status = 303,
		    .fields = "Location: /hot\r\nContent-Location: /hot\r\n");
	edge_start();
	get("/hot");
	ask("POST", "/login?next=/hot", NULL, "x");
	expect_answer(get("/hot"), 200, "old");
}

SCENARIO("where it does, those of the same origin are invalidated, others' are not")
{
	by_http_only();
	origin_says("/a", .fields = FRESH, .body = "old");
	origin_says("/a", .fields = FRESH, .body = "new");
	origin_says("/b", .fields = FRESH, .body = "old");
	origin_says("/b", .fields = FRESH, .body = "new");
	origin_says("/c", .fields = FRESH, .body = "old");
	origin_says("/c", .fields = FRESH, .body = "new");
	origin_says("/do", .status = 201,
		    .fields = "Location: /a\r\nContent-Location: http://example.com/b\r\n");
	origin_says("/evil", .status = 201, .fields = "Location: http://other.example/c\r\n");
	edge_start_yaml(EDGE_CACHE("  invalidate_locations: on\n"));
	get("/a");
	get("/b");
	get("/c");
	ask("POST", "/do", NULL, "x");
	ask("POST", "/evil", NULL, "x");
	expect_answer(get("/a"), 200, "new");
	expect_answer(get("/b"), 200, "new");
	expect_answer(get("/c"), 200, "old");
}

SCENARIO("POST /purge on the admin server forgets an object; twice purge does the same")
{
	by_http_only();
	origin_says("/x", .fields = FRESH, .body = "old");
	origin_says("/x", .fields = FRESH, .body = "new");
	origin_says("/x", .fields = FRESH, .body = "newest");
	edge_start();
	get("/x");
	struct client *c = client_open_to(edge_admin_port());
	client_send(
		c,
		"POST /purge?url=http://example.com/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	struct answer a = client_try(c, "POST");
	if (a.status == 400 || a.status == 404) { /* the URL may be asked for in the body instead */
		c = client_open_to(edge_admin_port());
		client_send(
			c,
			"POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\nConnection: close\r\n\r\nhttp://example.com/x");
		a = client_try(c, "POST");
	}
	expect_that(a.status == 200 || a.status == 204, "purge got %d: %s", a.status, a.body);
	expect_answer(get("/x"), 200, "new");
}

static void
purge(const char *url)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("POST /purge?url=%s HTTP/1.1\r\nHost: localhost\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n",
			    url));
	expect_that(client_read(c, "POST").status == 200, "the purge failed");
}

SCENARIO("a purge and an unsafe method reach what a range left, and all variants")
{
	by_http_only();
	static const char *const how[] = {"purge", "POST"};
	for (int i = 0; i < 2; i++) {
		char *part = text("/part/%s", how[i]), *kinds = text("/kinds/%s", how[i]);
		origin_says(part, .fields = FRESH, .etag = "\"1\"", .body = "0123456789",
			    .ranges = true);
		origin_says(part, .fields = FRESH, .etag = "\"2\"", .body = "abcdefghij",
			    .ranges = true, .times = 9);
		origin_says(kinds, .fields = FRESH "Vary: X-Kind\r\n", .body = "old", .times = 1);
		origin_says(kinds, .fields = FRESH "Vary: X-Kind\r\n", .body = "new", .times = 9);
	}
	edge_start();
	for (int i = 0; i < 2; i++) {
		char *part = text("/part/%s", how[i]), *kinds = text("/kinds/%s", how[i]);
		expect_answer(get_with(part, "Range: bytes=2-7\r\n"), 206, "234567");
		expect_answer(get_with(kinds, "X-Kind: a\r\n"), 200, "old");
		if (i == 0) {
			purge("http://example.com/part/purge");
			purge("http://example.com/kinds/purge");
		} else {
			ask("POST", part, NULL, "x");
			ask("POST", kinds, NULL, "x");
		}
		expect_answer(get_with(part, "Range: bytes=3-4\r\n"), 206, "de");
		expect_answer(get_with(kinds, "X-Kind: a\r\n"), 200, "new");
	}
}

SCENARIO("what was in the air when its URL was invalidated is not stored, whoever fetches it")
{
	/* A first sighting with a condition goes to the origin as it came,
	 * on a flight of its own. */
	struct barrier *head = barrier_new(), *body = barrier_new();
	origin_says("/a", .fields = FRESH, .body = "old", .hold_head = head);
	origin_says("/a", .body = "done");
	origin_says("/a", .fields = FRESH, .body = "new");
	origin_says("/b", .fields = FRESH, .body = "old", .hold_body = body, .hold_at = 1);
	origin_says("/b", .body = "done");
	origin_says("/b", .fields = FRESH, .body = "new");
	edge_start();
	static const char *const paths[] = {"/a", "/b"};
	for (int i = 0; i < 2; i++) {
		struct call *old = call_with("GET", paths[i], "If-None-Match: \"x\"\r\n", NULL);
		if (i == 0)
			barrier_arrivals(head, 1);
		else
			barrier_arrivals(body, 1);
		expect_answer(ask("POST", paths[i], NULL, "x"), 200, "done");
		barrier_open(i == 0 ? head : body);
		call_expect(old, 200, "old");
		expect_answer(get(paths[i]), 200, "new");
	}
}

SCENARIO("Location is looked up by the rules of its own route, and past a cookie that passes")
{
	origin_says("/a", .fields = FRESH, .body = "old");
	origin_says("/a", .fields = FRESH, .body = "new");
	origin_says("/do", .status = 201, .fields = "Location: /a?session=5\r\n");
	edge_start_yaml(
		EDGE_CACHE("  invalidate_locations: on\n") "routes:\n"
							   "  - path: /a\n    query: ignore\n"
							   "    pass_cookies: [ id ]\n"
							   "  - path: /do\n    pass: on\n");
	get("/a");
	ask("POST", "/do", "Cookie: id=1\r\n", "x");
	expect_answer(get("/a"), 200, "new");
}

/* The first variant is written from RAM: so is what leads to it. */
SCENARIO("a variant that lies on disk alone is invalidated behind a restart too")
{
	by_http_only();
	static const char *const fields = "Vary: X-A\r\nCache-Control: max-age=600\r\n";
	origin_says("/v", .fields = fields, .body = "old one");
	origin_says("/v", .fields = fields, .body = "old two");
	origin_says("/v", .body = "done");
	origin_says("/v", .fields = fields, .body = "new", .times = 9);
	edge_start();
	get_with("/v", "X-A: 1\r\n");
	expect_hit(get_with("/v", "X-A: 1\r\n"));
	get_with("/v", "X-A: 2\r\n");
	edge_wait_stat("disk.objects", 2);
	edge_stop();
	edge_restart();
	expect_answer(ask("POST", "/v", NULL, "x"), 200, "done");
	expect_answer(get_with("/v", "X-A: 2\r\n"), 200, "new");
	edge_stop();
	edge_restart();
	expect_answer(get_with("/v", "X-A: 1\r\n"), 200, "new");
}

/* A request that joins before it arrives is its second sighting: it is written from RAM at its end. */
SCENARIO("with a variant that was joined goes to disk what leads to it")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = "Vary: X-A\r\nCache-Control: max-age=600\r\n", .body = "one",
		    .hold_head = go);
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start();
	struct call *first = call_get("/v");
	barrier_arrivals(go, 1);
	struct call *second = call_get("/v");
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(first, 200, "one");
	call_expect(second, 200, "one");
	edge_wait_stat("disk.objects", 2);
}

SCENARIO("where headers or cookies are part of the key, a URL is invalidated under all of them")
{
	by_http_only();
	static const char *const devices[] = {"phone", "desk", "watch"};
	for (int i = 0; i < 3; i++)
		origin_says("/x", .fields = FRESH, .body = text("old %s", devices[i]));
	origin_says("/x", .body = "done");
	origin_says("/x", .fields = FRESH, .body = "new");
	for (int i = 0; i < 2; i++)
		origin_says("/y", .fields = FRESH, .body = "old");
	origin_says("/y", .fields = FRESH, .body = "new");
	edge_start_yaml(
		"routes:\n"
		"  - { path: /x, key_headers: [ x-device ], key_cookies: [ lang ] }\n"
		"  - { path: /y, key_headers: [ \"x-dev*\" ], key_cookies: [ \"la*\" ] }\n");
	for (int i = 0; i < 3; i++)
		get_with("/x", text("X-Device: %s\r\n", devices[i]));
	get_with("/y", "X-Device: a\r\n");
	get_with("/y", "Cookie: lang=de\r\n");
	ask("POST", "/x", "X-Device: desk\r\n", "x");
	purge("http://example.com/y");
	for (int i = 0; i < 3; i++)
		expect_answer(get_with("/x", text("X-Device: %s\r\n", devices[i])), 200, "new");
	expect_answer(get_with("/y", "X-Device: a\r\n"), 200, "new");
	expect_answer(get_with("/y", "Cookie: lang=de\r\n"), 200, "new");
	wait_until(verdict_has(get_with("/x", "X-Device: desk\r\n"), "hit"));
}

SCENARIO("what was asked for before a POST is not kept after it, also when it was fetched alone")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = "Cache-Control: private\r\n", .body = "mine");
	origin_says("/x", .fields = FRESH, .body = "old", .hold_head = go);
	origin_says("/x", .body = "done");
	origin_says("/x", .fields = FRESH, .body = "new");
	edge_start();
	get("/x"); /* not to be shared: those that follow fetch alone */
	struct call *slow = call_get("/x");
	origin_wait_requests(2);
	expect_status(ask("POST", "/x", NULL, "x"), 200);
	barrier_open(go);
	call_expect(slow, 200, "old");
	expect_answer(get("/x"), 200, "new");
}

SCENARIO("what a range left is forgotten with its whole")
{
	origin_says("/x", .fields = FRESH, .etag = "\"v\"", .body = "0123456789", .ranges = true);
	origin_says("/x", .body = "done");
	origin_says("/x", .fields = FRESH, .etag = "\"w\"", .body = "abcdefghij", .ranges = true);
	edge_start();
	expect_answer(get_with("/x", "Range: bytes=2-4\r\n"), 206, "234");
	expect_status(ask("POST", "/x", NULL, "x"), 200);
	expect_answer(get_with("/x", "Range: bytes=2-4\r\n"), 206, "cde");
}
