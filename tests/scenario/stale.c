/* Stale answers: only where allowed (RFC 9111 4.2.4, RFC 5861), and then without delay. */
#include "tests/kit/kit.h"

#include <pthread.h>

#define STALE(more) "Cache-Control: max-age=10" more "\r\nAge: 20\r\n"
#define ON	    "cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n  stale_if_error: 1h\n"

SCENARIO("stale-while-revalidate: the client does not wait, one fetch refreshes behind its back")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = STALE(", stale-while-revalidate=600"), .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new", .hold_head = go);
	edge_start();
	get("/x");
	for (int i = 0; i < 5; i++) {
		struct answer a = get("/x");
		expect_answer(a, 200, "old");
	}
	origin_wait_requests(2);
	origin_expect_requests(2);
	edge_expect_stat("requests.stale_served", 5);
	barrier_open(go);
	wait_until(strcmp(get("/x").body, "new") == 0);
	origin_expect_requests(2);
}

SCENARIO("beyond the stale-while-revalidate window the client waits for the origin")
{
	origin_says("/x", .fields = STALE(", stale-while-revalidate=5"), .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new");
	edge_start();
	get("/x");
	expect_answer(get("/x"), 200, "new");
}

SCENARIO("a dead origin: the stale object answers, and says so")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	edge_start_yaml(ON);
	get("/x");
	origin_dies();
	struct answer a = get("/x");
	expect_answer(a, 200, "old");
	edge_expect_stat("requests.stale_served", 1);
	expect_that(atoi(field(a, "Age") ? field(a, "Age") : "0") >= 20, "Age: %s",
		    field(a, "Age"));
	origin_returns();
	expect_answer(get("/x"), 200, "old");
}

SCENARIO("serving stale on a dead origin is on by default where nothing forbids it")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	edge_start();
	get("/x");
	origin_dies();
	expect_answer(get("/x"), 200, "old");
}

static const struct {
	const char *says, *fields;
	int status;
} errors[] = {
	{"500 with stale-if-error", STALE(", stale-if-error=600"), 500},
	{"502 with stale-if-error", STALE(", stale-if-error=600"), 502},
	{"503 with stale-if-error", STALE(", stale-if-error=600"), 503},
	{"504 with stale-if-error", STALE(", stale-if-error=600"), 504},
};

SCENARIO("stale-if-error: server errors are answered with the stale object")
{
	enum { N = sizeof errors / sizeof *errors };
	for (int i = 0; i < N; i++) {
		origin_says(text("/%d", i), .fields = errors[i].fields, .etag = "\"1\"",
			    .body = "old");
		origin_says(text("/%d", i), .status = errors[i].status, .body = "error");
	}
	edge_start();
	for (int i = 0; i < N; i++) {
		get(text("/%d", i));
		struct answer a = get(text("/%d", i));
		expect_that(a.status == 200 && strcmp(a.body, "old") == 0, "%s: got %d",
			    errors[i].says, a.status);
	}
}

SCENARIO("a 404 is no error of the origin's: it replaces the stale object")
{
	origin_says("/x", .fields = STALE(", stale-if-error=600"), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 404, .body = "gone");
	edge_start();
	get("/x");
	expect_answer(get("/x"), 404, "gone");
}

static const struct {
	const char *says, *fields;
} forbids[] = {
	{"must-revalidate", STALE(", must-revalidate")},
	{"proxy-revalidate", STALE(", proxy-revalidate")},
	{"s-maxage", "Cache-Control: s-maxage=10\r\nAge: 20\r\n"},
	{"no-cache", "Cache-Control: max-age=600, no-cache\r\n"},
	{"must-revalidate over stale-if-error", STALE(", must-revalidate, stale-if-error=600")},
	{"no-cache over stale-while-revalidate",
	 "Cache-Control: no-cache, stale-while-revalidate=600\r\n"},
};

SCENARIO("what forbids serving stale is obeyed when the origin is dead")
{
	enum { N = sizeof forbids / sizeof *forbids };
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = forbids[i].fields, .etag = "\"1\"",
			    .body = "old");
	edge_start_yaml(ON);
	for (int i = 0; i < N; i++)
		get(text("/%d", i));
	origin_dies();
	for (int i = 0; i < N; i++) {
		struct answer a = get(text("/%d", i));
		expect_that(a.status == 502 || a.status == 504, "%s: got %d \"%s\"",
			    forbids[i].says, a.status, a.body);
	}
}

SCENARIO("an origin that does not answer in time: the stale object answers")
{
	origin_says("/x", .fields = STALE(", stale-if-error=600"), .etag = "\"1\"", .body = "old");
	origin_says("/x", .mute = true);
	clock_hold();
	edge_start_yaml("origins:\n  - url: %O\n    read_timeout: 300ms\n");
	get("/x");
	struct call *call = call_get("/x");
	origin_wait_requests(2);
	clock_advance(350);
	call_expect(call, 200, "old");
}

SCENARIO("max-stale of a request lets it have a stale object")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	edge_start();
	get("/x");
	struct answer a = get_with("/x", "Cache-Control: max-stale=600\r\n");
	expect_answer(a, 200, "old");
	expect_that(origin_requests() == 1 || verdict_has(a, "fwd=stale"), "Cache-Status: %s",
		    verdict(a));
}

SCENARIO("a refused refresh never leaves an older copy to be served")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "new, not to be kept");
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/x");
	expect_answer(get("/x"), 200, "new, not to be kept");
	expect_answer(get("/x"), 200, "new, not to be kept");
	edge_kill9();
	edge_restart();
	expect_answer(get("/x"), 200, "new, not to be kept");
}

SCENARIO("nor one that may be served while it is refreshed")
{
	origin_says("/x", .fields = STALE(", stale-while-revalidate=600"), .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "new, not to be kept");
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/x");
	wait_until(strcmp(get("/x").body, "old") != 0);
	expect_answer(get("/x"), 200, "new, not to be kept");
}

SCENARIO(
	"an error does not use up the stale object: it answers the second time too, also from disk")
{
	static const int statuses[] = {500, 502, 503, 504};
	for (size_t i = 0; i < 4; i++) {
		char *path = text("/%d", statuses[i]);
		origin_says(path, .fields = STALE(", stale-if-error=600"), .etag = "\"1\"",
			    .body = "old");
		/* Also one that might be stored itself. */
		origin_says(path, .status = statuses[i], .body = "error",
			    .fields = i % 2 ? "" : "Cache-Control: max-age=60\r\n");
	}
	edge_start_yaml("routes:\n  - { path: /, admit: always }\n");
	for (size_t i = 0; i < 4; i++) {
		char *path = text("/%d", statuses[i]);
		get(path);
		for (int again = 0; again < 3; again++)
			expect_answer(get(path), 200, "old");
	}
	edge_restart();
	for (size_t i = 0; i < 4; i++)
		expect_answer(get(text("/%d", statuses[i])), 200, "old");
}

SCENARIO("a background refresh that meets an error leaves the stale object")
{
	origin_says("/x", .fields = STALE(", stale-while-revalidate=600"), .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .status = 503, .body = "error", .times = 2);
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new");
	edge_start();
	get("/x");
	wait_until(strcmp(get("/x").body, "error") != 0 && origin_requests() >= 4);
	wait_until(strcmp(get("/x").body, "new") == 0);
	origin_expect_requests(4);
}

SCENARIO(
	"an error with must-revalidate is the client's to see, and the copy is still validated later")
{
	origin_says("/x", .fields = STALE(", must-revalidate"), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 503, .body = "error");
	origin_says("/x", .fields = STALE(", must-revalidate"), .etag = "\"1\"", .body = "old");
	edge_start();
	get("/x");
	expect_answer(get("/x"), 503, "error");
	expect_answer(get("/x"), 200, "old");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"1\"");
}

SCENARIO("a HEAD that is answered stale refreshes the object as a GET")
{
	origin_says("/x", .fields = STALE(", stale-while-revalidate=600"), .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new");
	edge_start();
	get("/x");
	expect_status(ask("HEAD", "/x", NULL, NULL), 200);
	wait_until(strcmp(get("/x").body, "new") == 0);
	origin_expect_requests(2);
	expect_text(origin_request(1)->method, "GET");
}

/* Asks on one connection, again and again, until the new body comes. */
static void *
ask_until_new(void *ctx)
{
	struct client *c = client_open();
	struct answer a;
	do {
		client_request(c, "GET", ctx, "");
		a = client_read(c, "GET");
	} while (strcmp(a.body, "new") != 0);
	client_close(c);
	return NULL;
}

/* A request that looked before the refresh landed, and would begin one after it,
 * looks once more. */
SCENARIO_IN(120, "a stale object is refreshed once, however many meet it while its refresh lands")
{
	enum { URLS = 500, AT_ONCE = 4 };
	for (int i = 0; i < URLS; i++) {
		const char *path = text("/%d", i);
		origin_says(path, .fields = STALE(", stale-while-revalidate=600"), .etag = "\"1\"",
			    .body = "old");
		origin_says(path, .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
			    .body = "new");
	}
	edge_start();
	for (int i = 0; i < URLS; i++) {
		pthread_t threads[AT_ONCE];
		char *path = text("/%d", i);
		get(path);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_create(&threads[k], NULL, ask_until_new, path);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(threads[k], NULL);
		expect_int(origin_requests(), 2 * (i + 1));
	}
}

SCENARIO("only-if-cached asks nobody, whatever the method and the age")
{
	origin_says("/x", .fields = STALE(", must-revalidate"), .etag = "\"1\"", .body = "old");
	edge_start();
	get("/x");
	expect_status(get_with("/x", "Cache-Control: only-if-cached\r\n"), 504);
	expect_status(ask("HEAD", "/x", "Cache-Control: only-if-cached\r\n", NULL), 504);
	origin_expect_requests(1);
}

#define CACHE(more) "cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n" more

SCENARIO(
	"stale-while-revalidate by default, where the configuration says so and nothing forbids it")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new", .hold_head = go);
	origin_says("/must", .fields = STALE(", proxy-revalidate"), .etag = "\"1\"", .body = "old");
	origin_says("/must", .fields = STALE(""), .etag = "\"2\"", .body = "new");
	edge_start_yaml(CACHE("  stale_while_revalidate: 1h\n  client_directives: obey\n"));
	get("/x");
	get("/must");
	expect_answer(get("/x"), 200, "old");
	/* Its client said that this is too old: it waits. */
	struct call *wants_fresh = call_with("GET", "/x", "Cache-Control: max-age=5\r\n", NULL);
	expect_answer(get("/must"), 200, "new");
	barrier_open(go);
	call_expect(wants_fresh, 200, "new");
}

SCENARIO("stale-if-error: the origin's, the client's, and none where the default is switched off")
{
	static const struct {
		const char *says, *fields, *request;
		int status;
	} cases[] = {
		{"nobody allows it", STALE(""), "", 502},
		{"the origin allows it", STALE(", stale-if-error=600"), "", 200},
		{"the origin allowed it for less long", STALE(", stale-if-error=5"), "", 502},
		{"the client allows it", STALE(""), "Cache-Control: stale-if-error=600\r\n", 200},
		{"the client may not, past must-revalidate", STALE(", must-revalidate"),
		 "Cache-Control: stale-if-error=600\r\n", 502},
		{"the client wants no cache", STALE(", stale-if-error=600"),
		 "Cache-Control: no-cache\r\n", 502},
	};
	enum { N = sizeof cases / sizeof *cases };
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = cases[i].fields, .etag = "\"1\"",
			    .body = "old");
	edge_start_yaml(CACHE("  stale_if_error: 0s\n  client_directives: obey\n"));
	for (int i = 0; i < N; i++)
		get(text("/%d", i));
	origin_dies();
	for (int i = 0; i < N; i++) {
		struct answer a = get_with(text("/%d", i), cases[i].request);
		expect_that(a.status == cases[i].status, "%s: got %d", cases[i].says, a.status);
	}
}

SCENARIO("a HEAD of a stale object refreshes what is stored, it does not lose it")
{
	origin_says("/x", .fields = "Cache-Control: max-age=0, stale-while-revalidate=600\r\n",
		    .body = "hello");
	edge_start();
	get("/x");
	expect_status(ask("HEAD", "/x", NULL, NULL), 200);
	origin_wait_requests(2);
	edge_expect_stat("flights.active", 0);
	expect_hit(get("/x"));
}

enum { TICK_MS = 50 }; /* so often it is looked at what waits */

/* The first answer, which is good for a second, takes so long. */
static void
serves_stale_beside_what_hangs(int64_t first_takes_ms)
{
	struct barrier *hang = barrier_new(), *first = barrier_new();
	origin_says("/x", .fields = "Cache-Control: max-age=1\r\n", .etag = "\"1\"", .body = "old",
		    .hold_head = first);
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "new",
		    .hold_head = hang);
	clock_hold();
	edge_start_yaml("cache:\n  stale_after: 1500ms\n");
	struct call *call = call_get("/x");
	barrier_arrivals(first, 1);
	clock_advance(first_takes_ms);
	barrier_open(first);
	call_expect(call, 200, "old");
	clock_advance(2100); /* whole seconds count */
	call = call_get("/x");
	barrier_arrivals(hang, 1);
	clock_advance(1499);
	edge_expect_stat("requests.stale_served", 0);
	expect(!call_is_done(call));
	clock_advance(TICK_MS);
	struct answer a = call_wait(call);
	expect_answer(a, 200, "old");
	expect_verdict(a, "detail=stale-after");
	/* The fetch is still on its way; who comes now does not wait anew: no time passes. */
	a = get("/x");
	expect_answer(a, 200, "old");
	expect_verdict(a, "detail=stale-after");
	expect_int(origin_requests(), 2);
	/* And when it comes after all, it is the new copy. */
	barrier_open(hang);
	wait_until(strcmp(get("/x").body, "new") == 0);
	expect_int(origin_requests(), 2);
}

SCENARIO("an origin that hangs: the stale copy is served after stale_after, then at once")
{
	serves_stale_beside_what_hangs(0);
}

SCENARIO("the same, where the copy took longer to come than it is fresh")
{
	serves_stale_beside_what_hangs(1100);
}

SCENARIO("stale_after does not serve what may not be served stale")
{
	struct barrier *hang = barrier_new();
	origin_says("/x", .fields = "Cache-Control: max-age=1, must-revalidate\r\nAge: 5\r\n",
		    .etag = "\"1\"", .body = "old");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "new",
		    .hold_head = hang);
	edge_start_yaml("cache:\n  stale_after: 50ms\n");
	get("/x");
	struct call *call = call_get("/x");
	barrier_arrivals(hang, 1);
	struct call *other = call_with("GET", "/x", "X: y\r\n", NULL);
	edge_wait_requests(3);
	barrier_open(hang);
	call_expect(call, 200, "new");
	call_expect(other, 200, "new");
}

/* So many requests, one after the other, which are all answered with the copy. */
static void
get_old(const char *path, const char *fields, int n)
{
	for (int i = 0; i < n; i++)
		expect_answer(get_with(path, fields), 200, "old");
}

/* How often the origin is asked in ten seconds, by four requests a second. */
static int
asked_in_10_s(const char *path)
{
	int before = origin_requests_for(path);
	for (int i = 0; i < 40; i++) {
		get_old(path, "", 1);
		clock_advance(250);
	}
	return origin_requests_for(path) - before;
}

static const struct {
	const char *path, *fields;
	struct say fails;
} failing[] = {
	{"/500", STALE(""), {.status = 500, .body = "oops"}},
	{"/500-swr", STALE(", stale-while-revalidate=600"), {.status = 500, .body = "oops"}},
	{"/429-swr", STALE(", stale-while-revalidate=600"), {.status = 429, .body = "less"}},
	{"/dropped", STALE(""), {.raw = "HTTP/1.1 200", .raw_keeps = false}},
	{"/dropped-swr", STALE(", stale-while-revalidate=600"), {.raw = "HTTP/1.1 200"}},
};

SCENARIO("after a failed refresh the key rests: all get the copy, and the origin is left in peace")
{
	enum { N = sizeof failing / sizeof *failing };
	for (int i = 0; i < N; i++) {
		origin_says(failing[i].path, .fields = failing[i].fields, .etag = "\"1\"",
			    .body = "old");
		origin_script(failing[i].path, &failing[i].fails);
	}
	clock_hold();
	edge_start();
	for (int i = 0; i < N; i++) {
		const char *path = failing[i].path;
		note("%s", path);
		get(path);
		get_old(path, "", 1);
		wait_until(origin_answers_for(path) >= 2);
		clock_settle();
		int asked = origin_requests_for(path);
		get_old(path, "", 100);
		expect_int(origin_requests_for(path), asked);
		/* 1, 2, 4, 4 seconds behind each other */
		expect_between(asked_in_10_s(path), 1, 8);
	}
}

SCENARIO("when the rest is over one asks, and brings what is new for all")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 503, .body = "oops");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new", .hold_head = go);
	clock_hold();
	edge_start();
	get("/x");
	get_old("/x", "", 10);
	origin_expect_requests(2);
	clock_advance(1100);
	struct call *one = call_get("/x");
	origin_wait_requests(3);
	get_old("/x", "", 10);
	origin_expect_requests(3);
	barrier_open(go);
	call_expect(one, 200, "new");
	expect_answer(get("/x"), 200, "new");
	origin_expect_requests(3);
}

SCENARIO("a stranger's own failure lets no key rest")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 500, .body = "oops", .times = 3);
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"2\"",
		    .body = "new");
	edge_start();
	get("/x");
	get_old("/x", "X-Break: 1\r\n", 3);
	origin_expect_requests(4);
	expect_answer(get("/x"), 200, "new");
}

SCENARIO("what two addresses met lets it rest, whatever fields they send")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 500, .body = "oops");
	clock_hold();
	edge_start();
	get("/x");
	client_from("127.0.0.2");
	get_old("/x", "User-Agent: one\r\n", 1);
	client_from("127.0.0.3");
	get_old("/x", "User-Agent: two\r\n", 20);
	origin_expect_requests(3);
}

SCENARIO("a copy that may not stand in does not rest")
{
	origin_says("/x", .fields = STALE(", must-revalidate"), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 503, .body = "oops");
	origin_says("/x", .fields = STALE(", must-revalidate"), .etag = "\"1\"", .body = "old");
	clock_hold();
	edge_start();
	get("/x");
	expect_answer(get("/x"), 503, "oops");
	expect_answer(get("/x"), 200, "old");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"1\"");
}
