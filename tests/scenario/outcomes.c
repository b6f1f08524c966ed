/* Every answer has exactly one outcome and one verdict: the counters of both tables sum to the
 * requests, and a hit is what the clients saw as a hit. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define STALE "Cache-Control: max-age=10\r\nAge: 20\r\n"

static const char *const outcomes[] = {
	"ram_hits",	"disk_hits", "misses",	       "coalesced", "revalidated",
	"stale_served", "passed",    "only_if_cached", "errors",    "rejected",
	"denied",	"limited",   "routed",	       "local",	    "abandoned",
};
static const char *const verdicts[] = {
	"not_storable", "first_sight", "seen_current", "seen_previous", "always",
	"never",	"filling",     "too_large",    "over_budget",	"reload",
	"on_disk",	"head",	       "too_short",    "elsewhere",
};
enum {
	OUTCOMES = sizeof outcomes / sizeof *outcomes,
	VERDICTS = sizeof verdicts / sizeof *verdicts
};

static int sent, hits;

static struct answer
saw(struct answer a)
{
	sent++;
	hits += verdict_has(a, "hit");
	return a;
}

static double
sum_of(const char *group, const char *const *keys, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += edge_stat(text("%s.%s", group, keys[i]));
	return sum;
}

/* A request that ended is counted a moment later. */
static void
expect_sums(void)
{
	edge_expect_stat("requests.total", sent);
	edge_expect_stat("requests.hits", hits);
	wait_until(sum_of("requests", outcomes, OUTCOMES) >= sent &&
		   sum_of("admission", verdicts, VERDICTS) >= sent);
	expect_int((long long)sum_of("requests", outcomes, OUTCOMES), sent);
	expect_int((long long)sum_of("admission", verdicts, VERDICTS), sent);
	wait_until((int)edge_stat("origin.requests") == origin_requests());
}

static void
script(void)
{
	origin_says("/a", .fields = FRESH, .body = "a");
	origin_says("/big", .fields = FRESH, .pattern_bytes = 3 << 20);
	origin_says("/tag", .fields = STALE, .etag = "\"1\"", .body = "tag");
	origin_says("/swr", .fields = STALE "Cache-Control: stale-while-revalidate=600\r\n",
		    .etag = "\"1\"", .body = "swr");
	origin_says("/part", .fields = FRESH, .etag = "\"1\"", .body = "0123456789",
		    .ranges = true);
	origin_says("/post", .body = "posted");
	origin_says("/head", .fields = FRESH, .body = "head");
	origin_says("/no", .fields = "Cache-Control: no-store\r\n", .body = "no");
	origin_says("/never/x", .fields = FRESH, .body = "x");
	origin_says("/always/x", .fields = FRESH, .body = "x");
	origin_says("/moved", .status = 301, .fields = FRESH "Location: /a\r\n");
	origin_says("/cut", .raw = "HTTP/1.1 what\r\n\r\n");
}

static void
sequential(void)
{
	saw(get("/a"));
	expect_verdict(saw(get("/a")), "detail=ram");
	expect_verdict(saw(get("/a")), "detail=ram");
	expect_hit(saw(ask("HEAD", "/a", NULL, NULL)));
	saw(get("/big"));
	expect_verdict(saw(get("/big")), "stored");
	edge_wait_stat("disk.objects", 2);
	expect_verdict(saw(get("/big")), "detail=disk");
	saw(get("/tag"));
	expect_verdict(saw(get("/tag")), "fwd-status=304");
	saw(get("/swr"));
	expect_hit(saw(get("/swr")));
	saw(get_with("/part", "Range: bytes=0-4\r\n"));
	saw(get_with("/part", "Range: bytes=2-3\r\n")); /* the whole is fetched, in a slice */
	expect_hit(saw(get_with("/part", "Range: bytes=6-7\r\n")));
	saw(ask("POST", "/post", NULL, "x"));
	saw(ask("HEAD", "/post", NULL, NULL));
	double heads = edge_stat("admission.head");
	expect_verdict(saw(ask("HEAD", "/head", NULL, NULL)), "detail=head");
	edge_wait_stat("admission.head", (int)heads + 1);
	for (int i = 0; i < 3; i++)
		saw(get("/no"));
	for (int i = 0; i < 2; i++) {
		saw(get("/never/x"));
		saw(get("/always/x"));
		saw(get("/moved"));
	}
	expect_status(saw(get_with("/nowhere", "Cache-Control: only-if-cached\r\n")), 504);
	expect_status(saw(get("/cut")), 502);
	expect_status(saw(ask("TRACE", "/a", NULL, NULL)), 405);
	expect_status(saw(get("/denied/x")), 403);
	expect_status(saw(get("/routed/x")), 410);
	saw(get("/limited/x"));
	expect_status(saw(get("/limited/x")), 429);
	struct client *c = client_open();
	client_send(c, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
	expect_status(saw(client_read(c, "GET")), 400);
}

/* Joins that worked, others that did not, and a client that leaves. */
static void
together(void)
{
	struct barrier *go = barrier_new();
	origin_says("/shared", .fields = FRESH, .body = "shared", .hold_head = go);
	origin_says("/private", .fields = "Cache-Control: private\r\n", .body = "own",
		    .hold_head = go);
	int before = origin_requests();
	struct call *shared[3], *private[3];
	shared[0] = call_get("/shared");
	private[0] = call_get("/private");
	origin_wait_requests(before + 2);
	for (int i = 1; i < 3; i++) {
		shared[i] = call_get("/shared");
		private[i] = call_get("/private");
	}
	struct client *gone = client_open();
	client_request(gone, "GET", "/shared", "");
	sent++;
	edge_wait_stat("requests.joined", 5);
	client_reset(gone);
	edge_wait_stat("requests.abandoned", 1); /* before there is any answer */
	barrier_open(go);
	for (int i = 0; i < 3; i++) {
		expect_answer(saw(call_wait(shared[i])), 200, "shared");
		expect_answer(saw(call_wait(private[i])), 200, "own");
	}
	edge_wait_stat("requests.coalesced", 2);
	edge_expect_stat("requests.abandoned", 1);
	origin_expect_requests_for("/shared", 1);
	origin_expect_requests_for("/private", 3);
}

SCENARIO("each answer has one outcome and one verdict, and the counters sum to the answers")
{
	script();
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 1MiB\n"
			"routes:\n"
			"  - path: /always/\n    admit: always\n"
			"  - path: /never/\n    admit: never\n"
			"  - path: /denied/\n    deny: any\n"
			"  - path: /limited/\n    rate: { requests: 1, per: 1h }\n"
			"  - path: /routed/\n    answer: { status: 410 }\n");
	sequential();
	together();
	edge_wait_stat("requests.background", 1);
	expect_sums();
	/* A row that none of the above drives would be tested by nobody. */
	for (int i = 0; i < OUTCOMES; i++)
		expect_that(edge_stat(text("requests.%s", outcomes[i])) > 0,
			    "no answer counts as %s", outcomes[i]);
}

SCENARIO("what cannot be a hit is none: private answers that many clients ask for at once")
{
	enum { URLS = 5, CLIENTS = 20 };
	struct call *calls[CLIENTS];
	edge_start();
	for (int u = 0; u < URLS; u++) {
		struct barrier *go = barrier_new();
		origin_says(text("/%d", u), .fields = "Cache-Control: no-store\r\n", .body = "mine",
			    .hold_head = go);
		for (int i = 0; i < CLIENTS; i++)
			calls[i] = call_get(text("/%d", u));
		edge_wait_stat("requests.total", (u + 1) * CLIENTS);
		barrier_open(go);
		for (int i = 0; i < CLIENTS; i++)
			expect_answer(saw(call_wait(calls[i])), 200, "mine");
	}
	expect_int(hits, 0);
	expect_sums();
	expect_that(edge_stat("requests.hit_ratio") == 0, "a hit ratio of %f",
		    edge_stat("requests.hit_ratio"));
	expect_int((long long)edge_stat("requests.misses"), origin_requests());
}
