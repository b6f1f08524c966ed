/* Bodies flow: nothing waits for the whole, nothing holds the whole, and who goes away is not
 * served on. */
#include <errno.h>

#include "tests/kit/kit.h"

#include <sys/socket.h>
#include <signal.h>

SCENARIO("the beginning of a body reaches the client before its end exists")
{
	struct barrier *half = barrier_new();
	origin_says("/x", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 100000,
		    .hold_body = half, .hold_at = 50000);
	edge_start();
	struct client *c = client_open();
	client_request(c, "GET", "/x", NULL);
	expect_status(client_read_head(c), 200);
	char got[50000];
	expect_int((long long)client_read_body(c, got, 50000), 50000);
	barrier_open(half);
	expect_int((long long)client_read_body(c, got, 50000), 50000);
	client_quiet(c);
}

static void
bounded(const char *fields, size_t bytes, double most)
{
	if (edge_is_sanitized())
		skip("a sanitizer keeps freed memory for itself");
	origin_says("/big", .fields = fields, .pattern_bytes = bytes, .seed = 8);
	edge_start();
	get("/nothing");
	double before = (double)edge_rss_bytes();
	enum { N = 4 };
	struct client *c[N];
	for (int i = 0; i < N; i++) {
		c[i] = client_open_narrow();
		client_request(c[i], "GET", "/big", NULL);
		expect_status(client_read_head(c[i]), 200);
	}
	/* The clients read nothing: the proxy takes what its bounds allow and then waits. */
	double last = -1, now;
	for (int quiet = 0; quiet < 100; quiet = now == last ? quiet + 1 : 0, last = now) {
		kit_pause();
		now = edge_stat("bytes.from_origin");
	}
	double grown = (double)edge_rss_bytes() - before;
	note("%d stalled clients of %zu MiB: %.1f MiB more memory, %.1f MiB taken from the origin",
	     N, bytes >> 20, grown / 1048576, now / 1048576);
	expect_between(grown, -1e9, most);
	for (int i = 1; i < N; i++)
		client_reset(c[i]);
	char *want = pattern(8, bytes), *got = malloc(bytes);
	expect_int((long long)client_read_body(c[0], got, bytes), (long long)bytes);
	expect(memcmp(got, want, bytes) == 0);
	expect_between((double)edge_rss_bytes() - before, -1e9, most);
}

SCENARIO("slow clients of a big uncacheable object: memory stays bounded")
{
	bounded("Cache-Control: no-store\r\n", (size_t)48 << 20, 24 << 20);
}

SCENARIO("slow clients of a big cacheable object: memory stays bounded")
{
	bounded("Cache-Control: max-age=60\r\n", (size_t)48 << 20, 40 << 20);
}

SCENARIO("a stalled client does not hold up another one of the same object")
{
	enum { BYTES = 32 << 20 };
	origin_says("/big", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = BYTES,
		    .seed = 8);
	edge_start();
	struct client *stalled = client_open_narrow(), *good = client_open();
	client_request(stalled, "GET", "/big", NULL);
	expect_status(client_read_head(stalled), 200);
	client_request(good, "GET", "/big", NULL);
	int64_t start = kit_now_ms();
	struct answer a = client_read(good, "GET");
	expect(a.body_bytes == BYTES && is_pattern(a.body, 8, 0, BYTES));
	note("took %lld ms beside a stalled one", (long long)(kit_now_ms() - start));
	client_reset(stalled);
}

SCENARIO("a slow origin under a big upload: memory stays bounded")
{
	struct barrier *go = barrier_new();
	origin_says("/up", .body = "thanks", .slow_reader = true, .hold_head = go);
	edge_start();
	get("/nothing");
	double before = (double)edge_rss_bytes();
	enum { BYTES = 64 << 20 };
	struct client *c = client_open();
	client_request(c, "PUT", "/up", text("Content-Length: %d\r\n", BYTES));
	char *body = pattern(6, BYTES);
	size_t sent = 0;
	for (int quiet = 0; quiet < 200 && sent < BYTES;) {
		size_t n = client_send_some(c, body + sent, BYTES - sent);
		sent += n;
		quiet = n ? 0 : quiet + 1;
		if (!n)
			kit_pause();
	}
	expect_that(sent < BYTES, "all of the upload was taken though the origin reads nothing");
	note("%.1f MiB were taken", (double)sent / 1048576);
	expect_between((double)edge_rss_bytes() - before, -1e9, 16 << 20);
	barrier_open(go);
	client_send_bytes(c, body + sent, BYTES - sent);
	expect_answer(client_read(c, "PUT"), 200, "thanks");
	expect(origin_last()->body_bytes == BYTES && memcmp(origin_last()->body, body, BYTES) == 0);
}

SCENARIO("a client that goes away cancels what only it wanted")
{
	struct barrier *half = barrier_new();
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = 64 << 20,
		    .hold_body = half, .hold_at = 1000);
	edge_start();
	struct client *c = client_open();
	client_request(c, "GET", "/x", NULL);
	expect_status(client_read_head(c), 200);
	client_reset(c);
	barrier_open(half);
	origin_wait_closed(0);
	expect_status(get("/other"), 404);
}

SCENARIO(
	"a client that goes away while the origin thinks cancels the request, or its answer is kept for others")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = "Cache-Control: max-age=60\r\n", .body = "hello",
		    .hold_head = go);
	edge_start();
	struct client *c = client_open();
	client_request(c, "GET", "/x", NULL);
	origin_wait_requests(1);
	client_reset(c);
	barrier_open(go);
	expect_answer(get("/x"), 200, "hello");
}

SCENARIO("a client that shuts down its sending side still gets its answer")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .body = "hello", .hold_head = go);
	edge_start();
	struct client *c = client_open();
	client_request(c, "GET", "/x", NULL);
	client_half_close(c);
	origin_wait_requests(1);
	barrier_open(go);
	struct answer a = client_try(c, "GET");
	expect_that(a.status == 200 && strcmp(a.body, "hello") == 0, "got %d %s", a.status,
		    a.fault ? a.fault : "");
}

SCENARIO("a request and the end of sending in one segment: answered, then closed at once")
{
	by_http_only();
	static const char request[] = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	edge_start_yaml("timeouts:\n  idle: 1h\n");
	get("/x");
	struct client *c = client_open();
	expect_int(send(client_fd(c), request, sizeof request - 1, MSG_MORE), sizeof request - 1);
	client_half_close(c);
	expect_answer(client_read(c, "GET"), 200, "hello");
	client_expect_closed(c);
}

/* A chunk of an upload that the origin hears, and more to come. */
static struct client *
begin_upload(void)
{
	origin_says("/up", .body = "thanks");
	edge_start();
	struct client *c = client_open();
	client_request(c, "POST", "/up", "Transfer-Encoding: chunked\r\n");
	client_send(c, "11170\r\n");
	client_send_bytes(c, pattern(1, 70000), 70000);
	client_send(c, "\r\n");
	origin_wait_requests(1);
	return c;
}

SCENARIO("an upload whose client goes away is not passed on as whole")
{
	struct client *c = begin_upload();
	client_reset(c);
	origin_wait_closed(0);
	expect(!origin_last()->whole);
}

SCENARIO("an upload that turns out malformed is no failure of its origin")
{
	struct client *c = begin_upload();
	client_send(c, "what\r\n");
	expect_status(client_read(c, "POST"), 400);
	origin_wait_closed(0);
	edge_wait_stat("requests.rejected", 1);
	edge_expect_stat("origin.errors", 0);
}

SCENARIO("SIGTERM: requests under way are answered, then it ends; new connections are refused")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .body = "hello", .hold_head = go);
	edge_start();
	struct client *idle = client_open();
	struct call *call = call_get("/x");
	origin_wait_requests(1);
	edge_signal(SIGTERM);
	size_t extra;
	expect_that(client_try_closed(idle, KIT_FOREVER, &extra),
		    "an idle connection outlives SIGTERM");
	barrier_open(go);
	call_expect(call, 200, "hello");
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("SIGTERM: a worker without clients still fetches for those of another worker")
{
	by_http_only();
	enum { BYTES = 1 << 20 };
	struct barrier *head = barrier_new(), *half = barrier_new();
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "seen");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"v\"",
		    .pattern_bytes = BYTES, .seed = 3, .hold_head = head, .hold_body = half,
		    .hold_at = BYTES / 2);
	edge_start("--workers", "8");
	get("/x");
	struct client *purge = client_open_to(edge_admin_port());
	client_send(purge, "POST /purge?url=http://example.com/x HTTP/1.1\r\nHost: localhost\r\n"
			   "Content-Length: 0\r\nConnection: close\r\n\r\n");
	expect_status(client_read(purge, "POST"), 200);
	/* The leader has what it asked for with the head; the follower reads on. */
	struct client *leader = client_open();
	client_request(leader, "GET", "/x", "If-None-Match: \"w\", \"v\"\r\n");
	origin_wait_requests(2);
	struct call *follower = call_get("/x");
	edge_wait_stat("requests.joined", 1);
	barrier_open(head);
	expect_status(client_read(leader, "GET"), 304);
	client_close(leader);
	edge_wait_stat("connections.closed", 2);
	edge_signal(SIGTERM);
	wait_until(edge_said("finishing open requests"));
	for (int i = 0; i < 100; i++) /* for some turns of the workers' clocks */
		kit_pause();
	barrier_open(half);
	struct answer a = call_wait(follower);
	expect_status(a, 200);
	char *want = pattern(3, BYTES);
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("SIGHUP while it drains cuts nothing off")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .body = "hello", .hold_head = go);
	edge_start();
	struct call *call = call_get("/x");
	origin_wait_requests(1);
	edge_signal(SIGTERM);
	wait_until(edge_said("finishing open requests"));
	edge_signal(SIGHUP);
	barrier_open(go);
	call_expect(call, 200, "hello");
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("SIGTERM: what does not end within timeouts.drain is cut, and the exit is clean")
{
	struct barrier *never = barrier_new();
	origin_says("/x", .body = "hello", .hold_head = never);
	clock_hold();
	edge_start_yaml("timeouts:\n  drain: 300ms\n");
	struct client *c = client_open();
	client_request(c, "GET", "/x", NULL);
	origin_wait_requests(1);
	edge_signal(SIGTERM);
	wait_until(edge_said("finishing open requests"));
	clock_advance(299);
	expect(!client_has_ended(c));
	clock_run(1);
	client_expect_closed(c);
	expect_int(edge_wait_exit(), 0);
}

/* Nothing more is taken of the origin. */
static bool
is_full(void)
{
	static double was;
	double before = was;
	was = edge_stat("flights.bytes");
	return was > 100000 && was == before;
}

/* The window is full in the middle of a piece; what is wrong then is on the other side. */
SCENARIO("a body that breaks off while its answer waits for the client ends that client alone")
{
	enum { CHUNK = 70000, BYTES = 64 << 20 };
	by_h1_only();
	origin_says("/big", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = BYTES,
		    .early = true, .times = 9);
	edge_start();
	char *bytes = malloc(CHUNK + 1);
	memset(bytes, 'a', CHUNK);
	bytes[CHUNK] = '\0';
	for (int i = 0; i < 3; i++) {
		struct client *c = client_open_narrow();
		client_send(c, text("GET /big HTTP/1.1\r\nHost: example.com\r\n"
				    "Transfer-Encoding: chunked\r\n\r\n%x\r\n",
				    CHUNK));
		client_send(c, bytes);
		wait_until(is_full());
		client_send(c, "\r\nno chunk\r\n");
		client_close(c);
		wait_until(edge_stat("flights.active") == 0);
	}
	free(bytes);
	expect(edge_alive());
}

SCENARIO("/healthz is 200")
{
	edge_start();
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	expect_status(client_read(c, "GET"), 200);
	expect_between(edge_stat("uptime_s"), 0, 60);
}

SCENARIO("a body that ends with the connection and is cut short is reset, not closed as if whole")
{
	origin_says("/x",
		    .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
	edge_start();
	struct client *c = client_open();
	char got[4096];
	client_send(c, "GET /x HTTP/1.0\r\nHost: example.com\r\n\r\n");
	errno = 0;
	client_read_body(c, got, sizeof got);
	expect_that(errno == ECONNRESET, "it was closed as if the body were whole (%s)",
		    strerror(errno));
}
