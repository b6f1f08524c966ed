/* Several make one large body drip, and the second fetches that its readers try do not go well: the
 * tries have an end, and who did not bring it about gets the rest. */
#include "tests/kit/kit.h"

#define FRESH	 "Cache-Control: max-age=600\r\n"
#define NO_STORE "Cache-Control: no-store\r\n"

enum { BYTES = 600000, TRIES = 3 };

/* The origin is held up by what each of these asks; who follows them reads what came so far. */
static void
drip_together(struct client **c, int n, const char *field, size_t sent)
{
	char *got = malloc(sent);
	for (int i = 0; i < n; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", "/x", text("%s: %d\r\n", field, i));
		expect_status(client_read_head(c[i]), 200);
		expect_int((long long)client_read_body(c[i], got, sent), (long long)sent);
	}
}

/* All bytes behind so many are the body's, to its end. */
static void
expect_rest(struct client *c, size_t sent)
{
	char *got = malloc(BYTES - sent);
	expect_int((long long)client_read_body(c, got, BYTES - sent), (long long)(BYTES - sent));
	expect(is_pattern(got, 0, sent, BYTES - sent));
	free(got);
}

/* Each tries three times at most, and the tries of those who make it drip are of no use. */
SCENARIO("those who make a large body drip do not take all the tries, nor try without an end")
{
	enum { EVIL = 2, N = 6, SENT = 580000 };
	struct barrier *never = barrier_new();
	struct client *evil[EVIL], *readers[N];
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES,
		    .hold_body = never, .hold_at = SENT, .hold_for = "X-Evil", .times = 999);
	edge_start();
	get("/warm");
	drip_together(evil, EVIL, "X-Evil", SENT);
	drip_together(readers, N, "X-Client", SENT);
	for (int i = 0; i < N; i++)
		expect_rest(readers[i], SENT);
	int asked = origin_requests_for("/x");
	expect_that(asked <= 1 + (EVIL - 1) * TRIES + N, "%d requests at the origin", asked);
	for (int i = 0; i < EVIL; i++)
		client_reset(evil[i]);
	barrier_open(never);
}

SCENARIO("who reads a body that drips does not try without an end when another fetch of it fails")
{
	enum { N = 3, SENT = 200000, ROUNDS = 1000 };
	struct barrier *never = barrier_new();
	struct client *readers[N + 1];
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES,
		    .hold_body = never, .hold_at = SENT);
	origin_says("/x", .status = 503, .body = "busy", .times = 9999);
	edge_start();
	get("/warm");
	drip_together(readers, N + 1, "X-Client", SENT);
	edge_wait_stat("requests.beside", 1);
	for (int i = 0; i < ROUNDS; i++)
		get("/warm");
	int asked = origin_requests_for("/x");
	expect_that(asked <= 1 + N * TRIES, "%d requests at the origin", asked);
	barrier_open(never);
	for (int i = 0; i <= N; i++)
		expect_rest(readers[i], SENT);
}

/* Another client's answer lies on disk meanwhile: an answer that comes now is not filed, for it may
 * vary on more. */
SCENARIO("who reads a body that drips goes on with a fetch of its own that is not kept")
{
	enum { SENT = 200000 };
	struct barrier *never = barrier_new();
	struct client *readers[2];
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES,
		    .hold_body = never, .hold_at = SENT);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .times = 9);
	edge_start();
	get("/warm");
	drip_together(readers, 2, "X-Client", SENT);
	struct client *admin = client_open_to(edge_admin_port());
	client_send(admin, "POST /purge?url=http://example.com/x HTTP/1.1\r\nHost: localhost\r\n"
			   "Content-Length: 0\r\n\r\n");
	expect_status(client_read(admin, "POST"), 200);
	struct answer a = get("/x");
	expect_int((long long)a.body_bytes, BYTES);
	expect_rest(readers[1], SENT);
	expect_that(origin_requests_for("/x") <= 4, "%d", origin_requests_for("/x"));
	client_reset(readers[0]);
	barrier_open(never);
}

SCENARIO("what another fetch brings for one client alone is not put behind what was sent")
{
	enum { SENT = 200000 };
	struct barrier *never = barrier_new();
	struct client *readers[2];
	origin_says("/warm", .fields = NO_STORE, .body = "x");
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES,
		    .hold_body = never, .hold_at = SENT);
	origin_says("/x", .fields = "Cache-Control: private\r\n", .etag = "\"1\"", .seed = 1,
		    .pattern_bytes = BYTES, .times = 9);
	edge_start();
	get("/warm");
	drip_together(readers, 2, "X-Client", SENT);
	edge_wait_stat("requests.beside", 1);
	edge_wait_stat("bytes.from_origin", SENT + 1);
	get("/warm");
	barrier_open(never); /* it drips on, and comes to its end */
	for (int i = 0; i < 2; i++)
		expect_rest(readers[i], SENT);
}
