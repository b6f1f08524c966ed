/* Many requests wait for one fetch, and it does not go well: nobody inherits a stranger's failure,
 * and the origin is asked once at a time all the same. */
#include "tests/kit/kit.h"

#define FRESH	 "Cache-Control: max-age=600\r\n"
#define NO_STORE "Cache-Control: no-store\r\n"

/* Requests that wait are looked at every TICK_MS. */
enum { HERD = 30, TICK_MS = 50 };

/* So many calls at once, each with a field of its own. */
static void
herd(struct call **calls, int n, const char *target)
{
	int before = (int)edge_stat("requests.total");
	for (int i = 0; i < n; i++)
		calls[i] = call_with("GET", target, text("X-Client: %d\r\n", i), NULL);
	edge_wait_requests(before + n);
}

/* Two, where all goes in good time; one more for each second or two that the machine takes to bring
 * the herd together. Without the rules each of the herd would fetch. */
static void
expect_few(const char *path)
{
	int n = origin_requests_for(path);
	expect_that(n >= 2 && n <= 5, "%s: %d requests at the origin", path, n);
}

/* An error that a client's own request brought must not end the sharing for the others. */
static const struct {
	const char *path, *fields;
	int status;
	const char *answer;
} bringers[] = {
	{"/503", NULL, 503, ""},
	{"/503-no-store", NULL, 503, NO_STORE},
	{"/400", NULL, 400, NO_STORE},
	{"/403", "Authorization: Basic eDp5\r\n", 403, "Cache-Control: private\r\n"},
	{"/431", "Cookie: a=b\r\n", 431, NO_STORE},
	{"/cookie", "Cookie: a=b\r\n", 200, "Cache-Control: private\r\n"},
	{"/authorization", "Authorization: Basic eDp5\r\n", 200, NO_STORE},
	{"/reload", "Cache-Control: no-cache\r\n", 200, NO_STORE},
};

SCENARIO("after one client's error, or its private answer, there is one fetch for all the others")
{
	enum { N = sizeof bringers / sizeof *bringers };
	struct barrier *go[N];
	for (int i = 0; i < N; i++) {
		go[i] = barrier_new();
		origin_says(bringers[i].path, .status = bringers[i].status,
			    .fields = bringers[i].answer, .body = "mine");
		origin_says(bringers[i].path, .fields = FRESH, .body = "ours", .hold_head = go[i]);
	}
	clock_hold();
	edge_start();
	for (int i = 0; i < N; i++) {
		struct call *calls[HERD];
		struct answer a = get_with(bringers[i].path, bringers[i].fields);
		expect_status(a, bringers[i].status);
		herd(calls, HERD, bringers[i].path);
		barrier_open(go[i]);
		for (int k = 0; k < HERD; k++)
			call_expect(calls[k], 200, "ours");
		expect_few(bringers[i].path);
	}
}

SCENARIO("one client's credentials let nobody loose who waits behind it")
{
	struct barrier *go = barrier_new();
	struct call *calls[HERD];
	origin_says("/x", .fields = FRESH, .body = "mine", .hold_head = go);
	origin_says("/x", .fields = FRESH, .body = "ours", .times = 99);
	clock_hold();
	edge_start();
	struct call *own = call_with("GET", "/x", "Authorization: Basic eDp5\r\n", NULL);
	origin_wait_requests(1);
	herd(calls, HERD, "/x");
	barrier_open(go);
	call_expect(own, 200, "mine");
	for (int k = 0; k < HERD; k++)
		call_expect(calls[k], 200, "ours");
	expect_few("/x");
}

SCENARIO("a private answer lets others fetch side by side, until one comes that may be shared")
{
	struct barrier *go = barrier_new();
	struct call *calls[HERD];
	origin_says("/x", .fields = "Cache-Control: private\r\n", .body = "mine");
	origin_says("/x", .fields = FRESH, .body = "ours", .hold_head = go, .times = 2 * HERD);
	clock_hold();
	edge_start();
	expect_answer(get_with("/x", "X-Evil: 1\r\n"), 200, "mine");
	herd(calls, HERD, "/x");
	barrier_arrivals(go, HERD);
	barrier_open(go);
	for (int i = 0; i < HERD; i++)
		call_expect(calls[i], 200, "ours");
	expect_hit(get("/x"));
	origin_expect_requests(1 + HERD);
}

/* How a fetch can fail by the fault of the request that asked for it. */
SCENARIO("followers of a leader that fails by its own fault are answered by one more fetch")
{
	static const char *const paths[] = {"/status", "/drop", "/garbage", "/half"};
	enum { N = sizeof paths / sizeof *paths };
	struct barrier *go[N];
	for (int i = 0; i < N; i++)
		go[i] = barrier_new();
	origin_says(paths[0], .status = 500, .body = "you did that", .hold_head = go[0]);
	origin_says(paths[1], .raw = "", .raw_bytes = 1, .hold_head = go[1]);
	origin_says(paths[2], .raw = "garbage\r\n\r\n", .hold_head = go[2]);
	origin_says(paths[3], .raw = "HTTP/1.1 200 OK\r\nContent-Le", .hold_head = go[3]);
	for (int i = 0; i < N; i++)
		origin_says(paths[i], .fields = FRESH, .body = "well");
	clock_hold();
	edge_start();
	for (int i = 0; i < N; i++) {
		struct call *calls[HERD];
		struct call *leader = call_with("GET", paths[i], "X-Evil: 1\r\n", NULL);
		barrier_arrivals(go[i], 1);
		herd(calls, HERD, paths[i]);
		barrier_open(go[i]);
		expect_that(call_wait(leader).status >= 500, "%s", paths[i]);
		for (int k = 0; k < HERD; k++)
			call_expect(calls[k], 200, "well");
		expect_few(paths[i]);
	}
}

SCENARIO("each gets a try of its own while the origin fails, one at a time")
{
	enum { N = 5 };
	struct barrier *go[N];
	struct call *calls[N];
	for (int i = 0; i < N; i++) {
		go[i] = barrier_new();
		origin_says("/x", .status = 503, .body = "no", .hold_head = go[i]);
	}
	clock_hold();
	edge_start();
	herd(calls, N, "/x");
	for (int i = 0; i < N; i++) {
		barrier_arrivals(go[i], 1);
		/* The others were told of the failure by now, or will be: nobody else goes. */
		edge_wait_stat("origin.requests", i + 1);
		expect_int(origin_requests_for("/x"), i + 1);
		edge_expect_stat("origin.requests", i + 1);
		barrier_open(go[i]);
	}
	for (int i = 0; i < N; i++)
		expect_status(call_wait(calls[i]), 503);
	origin_expect_requests(N);
}

SCENARIO("requests that are the same in every field share their failure")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .status = 503, .body = "no", .hold_head = go, .times = 9);
	clock_hold();
	edge_start();
	struct call *calls[HERD];
	for (int i = 0; i < HERD; i++)
		calls[i] = call_get("/x");
	edge_wait_requests(HERD);
	barrier_open(go);
	for (int i = 0; i < HERD; i++)
		expect_status(call_wait(calls[i]), 503);
	origin_expect_requests(1);
}

/* Has the origin heard a request for /x without that field? */
static bool
is_heard_without(const char *name)
{
	int n = 0;
	for (int i = 0; i < origin_requests(); i++)
		n += strcmp(origin_request(i)->target, "/x") == 0 &&
		     !heard_field(origin_request(i), name);
	return n > 0;
}

SCENARIO("a leader that hangs by its own fault holds up the others for a second, not for all time")
{
	struct barrier *never = barrier_new();
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .body = "late", .hold_head = never);
	origin_says("/x", .fields = FRESH, .body = "well");
	clock_hold();
	edge_start();
	get("/warm"); /* now it is known what an answer usually takes */
	struct client *leader = client_open();
	client_request(leader, "GET", "/x", "X-Evil: 1\r\n");
	barrier_arrivals(never, 1);
	struct call *calls[HERD];
	herd(calls, HERD, "/x");
	clock_advance(999);
	edge_expect_stat("origin.requests", 2); /* the one for what is warm, and the leader's */
	clock_advance(TICK_MS);
	for (int i = 0; i < HERD; i++)
		call_expect(calls[i], 200, "well");
	origin_expect_requests_for("/x", 2);
	client_reset(leader);
	barrier_open(never);
}

/* Those who wait behind a leader that hangs get another fetch after wait_ms, and not before. */
static void
hangs_for(int wait_ms)
{
	struct barrier *never = barrier_new();
	int before = (int)edge_stat("origin.requests");
	origin_says("/x", .fields = FRESH, .body = "late", .hold_head = never);
	origin_says("/x", .fields = FRESH, .body = "well");
	struct client *leader = client_open();
	client_request(leader, "GET", "/x", "X-Evil: 1\r\n");
	barrier_arrivals(never, 1);
	struct call *calls[HERD];
	herd(calls, HERD, "/x");
	clock_advance(wait_ms - 1);
	edge_expect_stat("origin.requests", before + 1);
	clock_advance(TICK_MS);
	for (int i = 0; i < HERD; i++)
		call_expect(calls[i], 200, "well");
	origin_expect_requests_for("/x", 2);
	client_reset(leader);
	barrier_open(never);
}

SCENARIO("a leader that hangs before any answer came holds up the others for a fifth of the limit")
{
	clock_hold();
	edge_start_yaml("timeouts:\n  coalesce: 10s\n");
	hangs_for(2000);
}

SCENARIO("a stranger's slow URLs do not make the others wait longer for a leader that hangs")
{
	enum { SLOW = 6, QUICK = 8 };
	struct barrier *slow = barrier_new();
	struct call *calls[SLOW];
	for (int i = 0; i < SLOW; i++)
		origin_says(text("/slow?%d", i), .fields = NO_STORE, .body = "x",
			    .hold_head = slow);
	for (int i = 0; i < QUICK; i++)
		origin_says(text("/quick%d", i), .fields = NO_STORE, .body = "x");
	clock_hold();
	edge_start();
	for (int i = 0; i < SLOW; i++)
		calls[i] = call_get(text("/slow?%d", i));
	barrier_arrivals(slow, SLOW);
	clock_advance(5000);
	barrier_open(slow);
	for (int i = 0; i < SLOW; i++)
		call_expect(calls[i], 200, "x");
	for (int i = 0; i < QUICK; i++)
		get(text("/quick%d", i));
	hangs_for(1000);
}

SCENARIO("many that hang by their own fault hold up the others for some seconds, not for all time")
{
	enum { EVIL = 7 };
	struct barrier *never = barrier_new();
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .body = "well", .hold_head = never, .hold_for = "X-Evil",
		    .times = EVIL + 1);
	clock_hold();
	edge_start();
	get("/warm");
	struct client *evil[EVIL];
	for (int i = 0; i < EVIL; i++) {
		evil[i] = client_open();
		client_request(evil[i], "GET", "/x", text("X-Evil: %d\r\n", i));
	}
	barrier_arrivals(never, 1);
	edge_wait_requests(EVIL + 1);
	struct call *plain = call_get("/x");
	edge_wait_requests(EVIL + 2);
	for (int ms = 0; !is_heard_without("X-Evil"); ms += 250) {
		expect_that(ms < 9000, "it has not had its turn after 9 s");
		clock_advance(250);
		wait_until(origin_requests() >= edge_stat("origin.requests"));
	}
	call_expect(plain, 200, "well");
	for (int i = 0; i < EVIL; i++)
		client_reset(evil[i]);
	barrier_open(never);
}

/* How a small body can fail to come by the fault of the request that asked for it: its followers
 * were sent nothing yet. */
SCENARIO("followers of a leader whose body hangs, drips or breaks off by its own fault get another")
{
	static const char *const paths[] = {"/hang", "/cut"};
	enum { N = sizeof paths / sizeof *paths };
	struct barrier *never[N];
	for (int i = 0; i < N; i++) {
		never[i] = barrier_new();
		origin_says(paths[i], .fields = FRESH, .body = "late and long",
			    .hold_body = never[i], .hold_at = 4, .cut = i == 1, .cut_at = 5);
		origin_says(paths[i], .fields = FRESH, .body = "well", .times = 9);
	}
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	edge_start();
	get("/warm");
	for (int i = 0; i < N; i++) {
		struct client *leader = client_open();
		client_request(leader, "GET", paths[i], "X-Evil: 1\r\n");
		expect_status(client_read_head(leader), 200);
		struct call *calls[HERD];
		herd(calls, HERD, paths[i]);
		if (i == 1)
			barrier_open(never[i]);
		for (int k = 0; k < HERD; k++)
			call_expect(calls[k], 200, "well");
		expect_few(paths[i]);
		client_reset(leader);
		if (i != 1)
			barrier_open(never[i]);
	}
}

/* The others get the rest of the body, or all of it, though the leader's own stops or breaks off. */
static void
read_beside(const char *path, struct say evil, const struct say *well, size_t sent)
{
	enum { N = 12 };
	struct barrier *never = barrier_new();
	struct client *readers[N];
	char *want = pattern(evil.seed, evil.pattern_bytes), *got = malloc(evil.pattern_bytes);
	evil.hold_body = never;
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_script(path, &evil);
	origin_script(path, well);
	clock_hold(); /* until all have joined: who waits asks for another one after a second */
	edge_start();
	get("/warm");
	struct client *leader = client_open();
	client_request(leader, "GET", path, "X-Evil: 1\r\n");
	expect_status(client_read_head(leader), 200);
	for (int i = 0; i < N; i++) {
		readers[i] = client_open();
		client_request(readers[i], "GET", path, text("X-Client: %d\r\n", i));
	}
	edge_wait_stat("requests.joined", N);
	clock_run(1);
	if (evil.cut)
		barrier_open(never);
	for (int i = 0; i < N && sent; i++) { /* what has come goes to everybody */
		expect_status(client_read_head(readers[i]), 200);
		expect_int((long long)client_read_body(readers[i], got, sent), (long long)sent);
		expect(memcmp(got, want, sent) == 0);
	}
	for (int i = 0; i < N; i++) {
		size_t n = evil.pattern_bytes - sent;
		if (sent) {
			expect_int((long long)client_read_body(readers[i], got, n), (long long)n);
			expect(memcmp(got, want + sent, n) == 0);
		} else {
			struct answer a = client_read(readers[i], "GET");
			expect_int((long long)a.body_bytes, (long long)n);
			expect(memcmp(a.body, want, n) == 0);
		}
	}
	expect_few(path);
	client_reset(leader);
	barrier_open(never);
}

SCENARIO("followers of a large body that drips are sent the rest from another fetch of the same")
{
	struct say film = {.fields = FRESH, .etag = "\"1\"", .pattern_bytes = 600000, .times = 9};
	struct say evil = film;
	evil.times = 1;
	evil.hold_at = 200000;
	read_beside("/x", evil, &film, 200000);
}

SCENARIO("several that make a large body drip do not hold up those who read it")
{
	enum { EVIL = 2, BYTES = 600000, SENT = 200000 };
	struct barrier *never = barrier_new();
	struct client *evil[EVIL];
	char *got = malloc(BYTES);
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .times = EVIL,
		    .hold_body = never, .hold_at = SENT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .times = 9);
	edge_start();
	get("/warm");
	for (int i = 0; i < EVIL; i++) {
		evil[i] = client_open();
		client_request(evil[i], "GET", "/x", text("X-Evil: %d\r\n", i));
		expect_status(client_read_head(evil[i]), 200);
		expect_int((long long)client_read_body(evil[i], got, SENT), SENT);
	}
	struct client *reader = client_open();
	client_request(reader, "GET", "/x", NULL);
	expect_status(client_read_head(reader), 200);
	expect_int((long long)client_read_body(reader, got, BYTES), BYTES);
	expect(is_pattern(got, 0, 0, BYTES));
	for (int i = 0; i < EVIL; i++)
		client_reset(evil[i]);
	barrier_open(never);
}

SCENARIO("followers of a page of unknown length that drips get another: they were sent nothing yet")
{
	struct say page = {.fields = FRESH, .chunked = true, .pattern_bytes = 300000, .times = 9};
	struct say evil = page;
	evil.times = 1;
	evil.hold_at = 30000;
	read_beside("/x", evil, &page, 0);
}

SCENARIO("followers of a page of unknown length that breaks off soon get another")
{
	struct say page = {.fields = FRESH, .chunked = true, .pattern_bytes = 300000, .times = 9};
	struct say evil = page;
	evil.times = 1;
	evil.cut = true;
	evil.hold_at = evil.cut_at = 30000;
	read_beside("/x", evil, &page, 0);
}

SCENARIO("what another fetch brings of another version is not put behind what was sent")
{
	/* So little is fetched to its end, though nobody reads it: rest.h. */
	enum { BYTES = 500000, SENT = 200000 };
	struct barrier *never = barrier_new();
	char *got = malloc(BYTES);
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES,
		    .hold_body = never, .hold_at = SENT);
	origin_says("/x", .fields = FRESH, .etag = "\"2\"", .pattern_bytes = BYTES, .seed = 1,
		    .times = 9);
	edge_start();
	get("/warm");
	struct client *leader = client_open(), *reader = client_open();
	client_request(leader, "GET", "/x", "X-Evil: 1\r\n");
	expect_status(client_read_head(leader), 200);
	client_request(reader, "GET", "/x", NULL);
	expect_status(client_read_head(reader), 200);
	expect_int((long long)client_read_body(reader, got, SENT), SENT);
	edge_wait_stat("requests.beside", 1);
	edge_wait_stat("bytes.from_origin", SENT + BYTES);
	barrier_open(never); /* it drips on, and comes to its end */
	expect_int((long long)client_read_body(reader, got + SENT, BYTES - SENT), BYTES - SENT);
	expect(is_pattern(got, 0, 0, BYTES));
	client_reset(leader);
}

SCENARIO("an error that the leader earned serves the stale copy to the leader alone")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = "Cache-Control: max-age=10, stale-if-error=600\r\nAge: 20\r\n",
		    .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 503, .body = "you did that", .hold_head = go);
	origin_says("/x", .fields = FRESH, .etag = "\"2\"", .body = "new");
	clock_hold();
	edge_start_yaml(EDGE_CACHE("  stale_after: 60s\n"));
	get("/x");
	struct call *calls[HERD], *leader = call_with("GET", "/x", "X-Evil: 1\r\n", NULL);
	barrier_arrivals(go, 1);
	herd(calls, HERD, "/x");
	barrier_open(go);
	call_expect(leader, 200, "old");
	for (int i = 0; i < HERD; i++)
		call_expect(calls[i], 200, "new");
}

SCENARIO("at the limit of waiting one more fetch is tried, not one for each")
{
	struct barrier *slow = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "slow", .hold_head = slow);
	clock_hold();
	edge_start_yaml("timeouts:\n  coalesce: 1s\n");
	struct call *calls[HERD];
	herd(calls, HERD, "/x");
	clock_advance(1000 + TICK_MS);
	barrier_arrivals(slow, 2);
	/* The next try is due a second after this one. */
	barrier_open(slow);
	for (int i = 0; i < HERD; i++)
		call_expect(calls[i], 200, "slow");
	expect_few("/x");
}

SCENARIO("followers of a second fetch that comes when the first has landed are answered by that")
{
	enum { N = 12, BYTES = 3000000 };
	struct barrier *first = barrier_new(), *second = barrier_new();
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .hold_head = first);
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .hold_head = second);
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .times = N);
	edge_yaml("admission:\n  sightings: 1\n");
	clock_hold();
	edge_start("--memory", "1MiB");
	get("/warm");
	struct call *leader = call_with("GET", "/x", "X-Evil: 1\r\n", NULL), *calls[N];
	barrier_arrivals(first, 1);
	struct call *tries = call_with("GET", "/x", "X-Tries: 1\r\n", NULL);
	edge_wait_stat("requests.joined", 1);
	clock_advance(1000 + TICK_MS);
	barrier_arrivals(second, 1);
	for (int i = 0; i < N; i++)
		calls[i] = call_with("GET", "/x", text("X-Client: %d\r\n", i), NULL);
	edge_wait_stat("requests.joined", N + 1);
	barrier_open(first); /* it goes to the disk, and is too large for RAM */
	expect_int((long long)call_wait(leader).body_bytes, BYTES);
	barrier_open(second);
	expect_int((long long)call_wait(tries).body_bytes, BYTES);
	for (int i = 0; i < N; i++)
		expect_int((long long)call_wait(calls[i]).body_bytes, BYTES);
	expect_few("/x");
}

SCENARIO("a page that is refused to everybody is not a queue")
{
	enum { N = 40 };
	struct barrier *first = barrier_new(), *rest = barrier_new();
	origin_says("/x", .status = 401, .body = "who?", .hold_head = first);
	origin_says("/x", .status = 401, .body = "who?", .times = 8);
	origin_says("/x", .status = 401, .body = "who?", .hold_head = rest);
	clock_hold();
	edge_start("--workers", "1"); /* so that each follower meets each failure */
	struct call *calls[N];
	herd(calls, N, "/x");
	barrier_open(first);
	/* After nine refusals one after the other, the rest are at the origin side by side. */
	barrier_arrivals(rest, 10);
	barrier_open(rest);
	for (int i = 0; i < N; i++)
		expect_status(call_wait(calls[i]), 401);
	origin_expect_requests(N);
}

static const struct {
	const char *path, *fields;
	int status;
} errors[] = {
	{"/404", "Cache-Control: no-cache, must-revalidate, max-age=0\r\n", 404},
	{"/403", "", 403},
	{"/429", "", 429},
	{"/503", "Cache-Control: no-store\r\n", 503},
};

static void
call_all(struct call **calls, int n, const char *target)
{
	int before = (int)edge_stat("requests.total");
	for (int i = 0; i < n; i++)
		calls[i] = call_get(target);
	edge_wait_requests(before + n);
}

/* The application takes a second to find that a page is missing, and nobody may keep that. */
SCENARIO(
	"after one error that is not for keeping those who waited go all at once, and so do the next")
{
	enum { N = sizeof errors / sizeof *errors, MANY = 12 };
	struct barrier *first[N], *rest[N];
	struct call *calls[MANY];
	for (int i = 0; i < N; i++) {
		first[i] = barrier_new();
		rest[i] = barrier_new();
		origin_says(errors[i].path, .status = errors[i].status, .fields = errors[i].fields,
			    .body = "no", .hold_head = first[i]);
		origin_says(errors[i].path, .status = errors[i].status, .fields = errors[i].fields,
			    .body = "no", .hold_head = rest[i], .times = 99);
	}
	clock_hold();
	edge_start("--workers", "1");
	for (int i = 0; i < N; i++) {
		bool inherited = errors[i].status >= 500; /* by those who asked the very same */
		note("%s", errors[i].path);
		call_all(calls, MANY, errors[i].path);
		barrier_arrivals(first[i], 1);
		expect_int(origin_requests_for(errors[i].path), 1);
		barrier_open(first[i]);
		if (!inherited)
			barrier_arrivals(rest[i], MANY - 1);
		for (int k = 0; k < MANY && inherited; k++)
			expect_status(call_wait(calls[k]), errors[i].status);
		int before = origin_requests_for(errors[i].path);
		struct call *more[MANY];
		call_all(more, MANY, errors[i].path);
		barrier_arrivals(rest[i], before - 1 + MANY);
		barrier_open(rest[i]);
		for (int k = 0; k < MANY; k++)
			expect_status(call_wait(more[k]), errors[i].status);
		for (int k = 0; k < MANY && !inherited; k++)
			expect_status(call_wait(calls[k]), errors[i].status);
		origin_expect_requests_for(errors[i].path, before + MANY);
	}
}

SCENARIO("an error that two addresses met ends the queue, whatever fields they send")
{
	struct barrier *go[3] = {barrier_new(), barrier_new(), barrier_new()};
	struct call *calls[10];
	for (int i = 0; i < 3; i++)
		origin_says("/x", .status = 404, .fields = NO_STORE, .body = "no",
			    .hold_head = go[i], .times = i == 2 ? 99 : 1);
	clock_hold();
	edge_start("--workers", "1");
	for (int i = 0; i < 10; i++) {
		client_from(text("127.0.0.%d", i + 2));
		calls[i] = call_with("GET", "/x", text("User-Agent: %d\r\n", i), NULL);
		edge_wait_requests(i + 1);
	}
	barrier_arrivals(go[0], 1);
	barrier_open(go[0]);
	barrier_arrivals(go[1], 1);
	barrier_open(go[1]);
	barrier_arrivals(go[2], 8);
	barrier_open(go[2]);
	for (int i = 0; i < 10; i++)
		expect_status(call_wait(calls[i]), 404);
	origin_expect_requests(10);
}

/* Pages of a second's lifetime, from an origin that is slow: by one client's doing, or because it
 * has too much to do. The time of the exchange counts as age (RFC 9111 4.2.3). */
SCENARIO("an answer that takes longer to come than it is fresh is for all who waited for it")
{
#define A_SECOND "Cache-Control: max-age=1, must-revalidate\r\n"
	static const struct {
		const char *path, *etag;
		bool kept;
	} pages[] = {{"/bare", NULL, false}, {"/tagged", "\"1\"", false}, {"/kept", "\"1\"", true}};
	enum { N = sizeof pages / sizeof *pages, SECOND_MS = 1100 };
	struct barrier *slow[N], *go[N], *first = barrier_new();
	origin_says("/kept", .fields = A_SECOND, .etag = "\"1\"", .body = "page",
		    .hold_head = first);
	for (int i = 0; i < N; i++) {
		slow[i] = barrier_new();
		go[i] = barrier_new();
		origin_says(pages[i].path, .fields = A_SECOND, .etag = pages[i].etag,
			    .body = "page", .hold_head = slow[i]);
		origin_says(pages[i].path, .fields = FRESH, .body = "again", .hold_head = go[i]);
	}
	clock_hold();
	edge_start();
	/* Its origin is known to be slow: no fetch is tried beside another one so soon. */
	struct call *stored = call_get("/kept");
	barrier_arrivals(first, 1);
	clock_advance(SECOND_MS / 2);
	barrier_open(first);
	call_expect(stored, 200, "page");
	for (int i = 0; i < N; i++) {
		int before = pages[i].kept;
		struct call *calls[HERD],
			*leader = call_with("GET", pages[i].path, "X-Evil: 1\r\n", NULL);
		barrier_arrivals(slow[i], 1);
		herd(calls, HERD, pages[i].path);
		clock_advance(SECOND_MS);
		barrier_open(slow[i]);
		call_expect(leader, 200, "page");
		for (int k = 0; k < HERD; k++)
			call_expect(calls[k], 200, "page");
		origin_expect_requests_for(pages[i].path, before + 1);
		/* And who comes later waits for one fetch, as if that one had been quick. */
		herd(calls, HERD, pages[i].path);
		barrier_open(go[i]);
		for (int k = 0; k < HERD; k++)
			call_expect(calls[k], 200, "again");
		int n = origin_requests_for(pages[i].path) - (before + 1);
		expect_that(n >= 1 && n <= 4, "%s: %d more requests", pages[i].path, n);
	}
}

/* A purge on the way makes an answer nobody's but its leader's. */
static void
purge(const char *path)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("POST /purge?url=http://example.com%s HTTP/1.1\r\nHost: localhost\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n",
			    path));
	expect_status(client_read(c, "POST"), 200);
}

SCENARIO("a purge while many wait for one fetch makes one more fetch, not one for each")
{
	by_http_only();
	static const char *const paths[] = {"/head", "/body"};
	struct barrier *go[2] = {barrier_new(), barrier_new()}, *more = barrier_new();
	origin_says(paths[0], .fields = FRESH, .body = "old", .hold_head = go[0]);
	origin_says(paths[1], .fields = FRESH, .body = "old", .hold_body = go[1], .hold_at = 1);
	for (int i = 0; i < 2; i++)
		origin_says(paths[i], .fields = FRESH, .body = "new", .hold_head = more);
	clock_hold();
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct call *calls[HERD], *leader = call_get(paths[i]);
		barrier_arrivals(go[i], 1);
		herd(calls, HERD, paths[i]);
		purge(paths[i]);
		barrier_open(go[i]);
		call_expect(leader, 200, "old");
		barrier_arrivals(more, i + 1);
		barrier_open(more);
		for (int k = 0; k < HERD; k++)
			call_expect(calls[k], 200, "new");
		expect_few(paths[i]);
	}
}
