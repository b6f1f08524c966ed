/* HTTP/2 without TLS (RFC 9113): the same requests and answers as over HTTP/1, streams, flow control,
 * the end of a connection. */
#include "tests/kit/kit.h"
#include "tests/kit/tls_inside.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FRESH	   "Cache-Control: max-age=600\r\n"
#define YAML(more) "listen: [ \"127.0.0.1:0\", \"h2c://127.0.0.1:0\" ]\n" more

SCENARIO("GET, HEAD and POST are answered, from the origin and from the cache")
{
	origin_says("/x", .fields = FRESH, .body = "hello", .etag = "\"e\"");
	origin_says("/up", .body = "thanks");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	struct answer a = h2_read(c, h2_request(c, "GET", "/x", NULL, NULL));
	expect_answer(a, 200, "hello");
	expect_miss(a);
	a = h2_read(c, h2_request(c, "GET", "/x", NULL, NULL));
	expect_answer(a, 200, "hello");
	expect_hit(a);
	a = h2_read(c, h2_request(c, "HEAD", "/x", NULL, NULL));
	expect_answer(a, 200, "");
	expect_field(a, "content-length", "5");
	a = h2_read(c, h2_request(c, "GET", "/x", "If-None-Match: \"e\"\r\n", NULL));
	expect_answer(a, 304, "");
	a = h2_read(c, h2_request(c, "POST", "/up", NULL, "hello, world"));
	expect_answer(a, 200, "thanks");
	expect_text(origin_last()->body, "hello, world");
	expect_text(heard_field(origin_last(), "Host"), "example.com");
	expect(strstr(heard_field(origin_last(), "Via"), "2.0 twice"));
	expect_hit(get("/x")); /* one cache for all fronts */
}

SCENARIO("a hundred requests at once are one fetch for each key, in one connection")
{
	struct barrier *go = barrier_new();
	for (int i = 0; i < 10; i++)
		origin_says(text("/%d", i), .fields = FRESH, .body = text("body %d", i),
			    .hold_head = go);
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int streams[100];
	for (int i = 0; i < 100; i++)
		streams[i] = h2_request(c, "GET", text("/%d", i % 10), NULL, NULL);
	edge_wait_requests(100);
	barrier_open(go);
	for (int i = 0; i < 100; i++)
		expect_answer(h2_read(c, streams[i]), 200, text("body %d", i % 10));
	origin_expect_requests(10);
	edge_expect_stat("connections.accepted", 1);
}

SCENARIO("answers overtake each other: a slow one holds up nobody")
{
	struct barrier *go = barrier_new();
	origin_says("/slow", .body = "slow", .hold_head = go);
	origin_says("/half", .pattern_bytes = 1000, .seed = 3, .hold_body = go, .hold_at = 500);
	origin_says("/fast", .body = "fast");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int slow = h2_request(c, "GET", "/slow", NULL, NULL);
	int half = h2_request(c, "GET", "/half", NULL, NULL);
	h2_wait_body(c, half, 500);
	expect_answer(h2_read(c, h2_request(c, "GET", "/fast", NULL, NULL)), 200, "fast");
	barrier_open(go);
	expect_answer(h2_read(c, slow), 200, "slow");
	expect(is_pattern(h2_read(c, half).body, 3, 0, 1000));
}

SCENARIO("a large body is whole, whatever its length was said to be")
{
	enum { BYTES = 3 << 20 };
	origin_says("/len", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5);
	origin_says("/chunks", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5, .chunked = true);
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	for (int i = 0; i < 8; i++) {
		const char *target = i % 2 ? "/len" : "/chunks";
		struct answer a = h2_read(c, h2_request(c, "GET", target, NULL, NULL));
		expect_status(a, 200);
		expect(a.body_bytes == BYTES && is_pattern(a.body, 5, 0, BYTES));
	}
}

SCENARIO("ranges of a body in one connection")
{
	origin_says("/r", .fields = FRESH, .pattern_bytes = 100000, .seed = 9, .ranges = true);
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	for (int i = 0; i < 20; i++) {
		struct answer a = h2_read(
			c, h2_request(c, "GET", "/r",
				      text("Range: bytes=%d-%d\r\n", i * 5000, i * 5000 + 4999),
				      NULL));
		expect_status(a, 206);
		expect(a.body_bytes == 5000);
		expect(is_pattern(a.body, 9, i * 5000, 5000));
	}
}

SCENARIO("several ranges fit through any window, from RAM and from slices")
{
	enum { BYTES = 3 << 20 };
	origin_says("/r", .fields = FRESH, .pattern_bytes = 1000, .seed = 9);
	origin_says("/film", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 9,
		    .ranges = true, .times = 9);
	edge_start(H2_LISTEN, "--memory", "64MiB");
	static const char *const targets[] = {"/r", "/film"};
	static const char *const ranges = "Range: bytes=0-0,100-102\r\n";
	for (int i = 0; i < 2; i++) {
		struct h2_client *c = h2_open_window(1);
		get(targets[i]);
		struct answer whole = get_with(targets[i], ranges);
		expect_status(whole, 206);
		int s = h2_request(c, "GET", targets[i], ranges, NULL);
		for (size_t n = 1; n < whole.body_bytes; n++) {
			h2_wait_body(c, s, n);
			h2_window(c, s, 1);
		}
		struct answer a = h2_read(c, s);
		expect_status(a, 206);
		expect_int((long long)a.body_bytes, (long long)whole.body_bytes);
		const char *at = memmem(a.body, a.body_bytes, "bytes 100-102/", 14);
		expect(at && (at = strstr(at, "\r\n\r\n")) && is_pattern(at + 4, 9, 100, 3));
	}
}

SCENARIO("an upload streams, with a length and without one")
{
	enum { BYTES = 2 << 20 };
	origin_says("*", .body = "thanks");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	char *body = pattern(11, BYTES + 1);
	for (char *p = body; p < body + BYTES; p++)
		*p |= 1;
	body[BYTES] = 0;
	expect_answer(h2_read(c, h2_request(c, "PUT", "/len", NULL, body)), 200, "thanks");
	expect(origin_last()->body_bytes == BYTES && !memcmp(origin_last()->body, body, BYTES));
	int s = h2_request_open(c, "POST", "/open", NULL, body, 100000);
	wait_until((h2_turn(c), origin_requests() == 2));
	size_t n;
	wait_until((h2_turn(c), origin_wire(origin_connections() - 1, &n), n >= 100000));
	h2_reset(c, s);
	h2_ping(c);
	expect_answer(h2_read(c, h2_request(c, "GET", "/x", NULL, NULL)), 200, "thanks");
}

SCENARIO("an upload that nobody takes is bounded, and does not hold up others")
{
	struct barrier *go = barrier_new();
	origin_says("/slow", .body = "thanks", .slow_reader = true, .hold_head = go);
	origin_says("/x", .body = "hello");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *c = h2_open();
	char *body = pattern(11, 8 << 20);
	int s = h2_request_open(c, "PUT", "/slow", NULL, body, 8 << 20);
	wait_until((h2_turn(c), origin_requests() == 1));
	for (int i = 0; i < 20; i++)
		expect_answer(h2_read(c, h2_request(c, "GET", "/x", NULL, NULL)), 200, "hello");
	expect(h2_sent(c, s) < 8 << 20);
	barrier_open(go);
	h2_close(c);
}

SCENARIO("an upload that its origin takes more slowly than it comes is not held as a whole")
{
	enum { BYTES = 48 << 20 };
	origin_says("/slow", .body = "thanks", .sips = true);
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *c = h2_open();
	char *body = malloc(BYTES + 1);
	memset(body, 'x', BYTES);
	body[BYTES] = 0;
	double before = (double)edge_peak_bytes();
	expect_answer(h2_read(c, h2_request(c, "PUT", "/slow", NULL, body)), 200, "thanks");
	if (!edge_is_sanitized()) /* that keeps what was freed for a while */
		expect_between((double)edge_peak_bytes() - before, 0, 16 << 20);
	h2_close(c);
}

/* As on a long way: the kernel takes only a part of what there is to send. */
static void
make_socket_buffers_small(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	if (unshare(CLONE_NEWNET))
		skip("a name space for the network takes root: %s", strerror(errno));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	expect(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0 && close(fd) == 0);
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(i ? "/proc/sys/net/ipv4/tcp_rmem" : "/proc/sys/net/ipv4/tcp_wmem",
				"w");
		if (!f || fputs("4096 16384 16384", f) < 0 || fclose(f) != 0)
			skip("the sizes of socket buffers cannot be set here");
	}
}

SCENARIO("nor one of which the kernel never takes all that has come")
{
	enum { BYTES = 8 << 20 };
	make_socket_buffers_small();
	origin_says("/slow", .body = "thanks", .sips = true);
	edge_start(H2_LISTEN, "--workers", "1");
	char *body = malloc(BYTES + 1);
	memset(body, 'x', BYTES);
	body[BYTES] = 0;
	double before = (double)edge_peak_bytes();
	struct h2_client *c = h2_open();
	expect_answer(h2_read(c, h2_request(c, "PUT", "/slow", NULL, body)), 200, "thanks");
	h2_close(c);
	expect_answer(ask("PUT", "/slow", NULL, body), 200, "thanks");
	if (!edge_is_sanitized())
		expect_between((double)edge_peak_bytes() - before, 0, 4 << 20);
}

SCENARIO("Expect: 100-continue gets its 100, and hints come before the answer")
{
	origin_says("/up", .body = "thanks");
	origin_says("/hint",
		    .interim = "HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n",
		    .body = "hello");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	struct answer a =
		h2_read(c, h2_request(c, "POST", "/up", "Expect: 100-continue\r\n", "hello"));
	expect_answer(a, 200, "thanks");
	a = h2_read(c, h2_request(c, "GET", "/hint", NULL, NULL));
	expect_answer(a, 200, "hello");
	if (*a.interim)
		expect(strstr(a.interim, "HTTP/2 103\r\nlink: </s>; rel=preload\r\n"));
}

SCENARIO("a body that the origin cut is reset, never ended")
{
	struct barrier *go = barrier_new();
	origin_says("/cut", .pattern_bytes = 50000, .cut = true, .cut_at = 20000, .hold_body = go,
		    .hold_at = 20000);
	origin_says("/chunk",
		    .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
	origin_says("/x", .body = "hello");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int s = h2_request(c, "GET", "/cut", NULL, NULL);
	h2_wait_body(c, s, 1);
	barrier_open(go);
	struct answer a = h2_read(c, s);
	expect(a.cut && a.body_bytes <= 20000);
	expect_int(h2_reset_code(c, s), 2); /* INTERNAL_ERROR */
	a = h2_read(c, h2_request(c, "GET", "/chunk", NULL, NULL));
	expect(a.cut || a.status == 502);
	expect_answer(h2_read(c, h2_request(c, "GET", "/x", NULL, NULL)), 200, "hello");
	expect_int(h2_goaway(c), -1);
}

SCENARIO("crumbs of a cookie are one field before any rule sees them")
{
	origin_says("*", .body = "hello");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	h2_read(c,
		h2_request(c, "POST", "/x",
			   "Cookie: a=1\r\nX-Between: y\r\nCookie: b=2\r\nCookie: c=3\r\n", "b"));
	expect_int(heard_field_lines(origin_last(), "Cookie"), 1);
	expect_text(heard_field(origin_last(), "Cookie"), "a=1; b=2; c=3");
}

SCENARIO("trailers end an answer that is its client's alone, if it takes them (RFC 9110 6.5)")
{
	static const char lines[] = "grpc-status: 0\r\ngrpc-message: ok\r\nSet-Cookie: a=b\r\n"
				    "Content-Length: 9\r\nX-Secret: 1\r\n";
	origin_says("/call", .fields = "Content-Type: application/grpc\r\n", .body = "hello",
		    .chunked = true, .trailers = lines);
	origin_says("/none", .body = "", .chunked = true, .trailers = lines);
	origin_says("/shared", .fields = "Cache-Control: max-age=600\r\n", .body = "hello",
		    .chunked = true, .trailers = lines);
	origin_says("/long", .body = "hello", .trailers = "");
	edge_yaml("response_headers: { remove: [ X-Secret ] }\n");
	edge_start(H2_LISTEN);
	static const char takes[] = "te: trailers\r\n";
	static const char passed[] = "grpc-status: 0\r\ngrpc-message: ok\r\n";
	struct answer a = h2_ask("POST", "/call", takes, "ask");
	expect_answer(a, 200, "hello");
	expect_no_field(a, "grpc-status");
	expect_text(a.trailers, passed);
	expect_text(h2_ask("POST", "/none", takes, "ask").trailers, passed);
	expect_text(h2_ask("POST", "/call", NULL, "ask").trailers, "");
	expect_text(h2_ask("POST", "/long", takes, "ask").trailers, "");
	for (int i = 0; i < 2; i++) { /* nor are they stored */
		struct answer s = h2_ask("GET", "/shared", takes, NULL);
		expect_answer(s, 200, "hello");
		expect_text(s.trailers, "");
	}
	struct client *c = client_open(); /* in chunks, and the connection goes on */
	for (int i = 0; i < 2; i++) {
		client_request(c, "POST", "/call",
			       "TE: trailers\r\nConnection: TE\r\nContent-Length: 0\r\n");
		struct answer b = client_read(c, "POST");
		expect_answer(b, 200, "hello");
		expect_text(b.trailers, passed);
	}
	expect_text(ask("POST", "/call", NULL, "x").trailers, "");
}

SCENARIO("fields of a connection never leave, whatever an origin says")
{
	origin_says("/x",
		    .fields = "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
			      "Proxy-Connection: close\r\nUpgrade: h2c\r\nX-Stays: 1\r\n",
		    .body = "hello");
	edge_start(H2_LISTEN);
	struct answer a = h2_ask("GET", "/x", NULL, NULL); /* the client fails on any of them */
	expect_answer(a, 200, "hello");
	expect_field(a, "x-stays", "1");
	expect_no_field(a, "x-hop");
}

SCENARIO("what HTTP/1 refuses is refused")
{
	edge_start_yaml(YAML("limits:\n  head: 4KiB\n  url: 1KiB\n  fields: 20\n  body: 1000\n"));
	struct h2_client *c = h2_open();
#define REFUSED(status, method, target, fields, body) \
	expect_status(h2_read(c, h2_request(c, method, target, fields, body)), status)
	REFUSED(431, "GET", "/x", text("X-Big: %0*d\r\n", 6000, 7), NULL);
	REFUSED(414, "GET", text("/%0*d", 2000, 7), NULL, NULL);
	REFUSED(400, "GET", "/%zz", NULL, NULL);
	/* From version 1.60 or so on the library knows better than a 400 (RFC 9113 8.1.1). */
	enum { PROTOCOL_ERROR = 1 };
	int malformed = h2_request(c, "GET", "/x", ":authority: user@host\r\n", NULL);
	struct answer a = h2_read(c, malformed);
	if (h2_reset_code(c, malformed) != PROTOCOL_ERROR)
		expect_status(a, 400);
	REFUSED(421, "GET", "/x", ":scheme: https\r\n", NULL);
	REFUSED(417, "GET", "/x", "Expect: tea\r\n", NULL);
	REFUSED(413, "POST", "/x", NULL, text("%0*d", 2000, 7));
	char fields[2000] = "";
	for (int i = 0; i < 30; i++)
		strcat(fields, text("X-%d: 1\r\n", i));
	REFUSED(431, "GET", "/x", fields, NULL);
	origin_expect_requests(0);
	expect_int(h2_goaway(c), -1);
}

/* One request by hand on a connection of its own. */
static int
answer_to(const char *const *pairs)
{
	struct client *c = h2_raw_open();
	uint8_t p[8];
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 1, pairs);
	h2_raw_frame(c, H2_PING, 0, 0, "12345678", 8);
	/* The answer to the PING comes before any other frame of the stream but RST_STREAM. */
	bool reset = h2_raw_wait(c, H2_RST_STREAM, 1, p, sizeof p);
	client_close(c);
	return reset ? p[3] : -1;
}

#define PSEUDO ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/x"

SCENARIO("malformed requests are reset and logged, and reach no origin (RFC 9113 8.2, 8.3)")
{
	edge_yaml("access_log: \"-\"\n");
	edge_start(H2_LISTEN);
	static const char *const bad[][14] = {
		{":method", "GET", ":scheme", "http", ":path", "/x", "Upper", "1"},
		{":method", "GET", ":scheme", "http", ":authority", "a"},
		{":method", "GET", ":path", "/x", ":authority", "a"},
		{":scheme", "http", ":path", "/x", ":authority", "a"},
		{":method", "GET", ":scheme", "http", ":authority", "a", ":path", ""},
		{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "*"},
		{PSEUDO, ":path", "/y"},
		{PSEUDO, ":status", "200"},
		{PSEUDO, ":other", "1"},
		{":method", "GET", "x", "1", ":scheme", "http", ":authority", "a", ":path", "/x"},
		{PSEUDO, "connection", "close"},
		{PSEUDO, "keep-alive", "1"},
		{PSEUDO, "proxy-connection", "close"},
		{PSEUDO, "transfer-encoding", "chunked"},
		{PSEUDO, "upgrade", "h2c"},
		{PSEUDO, "te", "gzip"},
		{PSEUDO, "x", "a\r\nb: c"},
		{PSEUDO, "x\n", "a"},
		{PSEUDO, "x y", "a"},
		{PSEUDO, "x", " a"},
		{PSEUDO, "content-length", "5"},
		{PSEUDO, "content-length", "x"},
		{PSEUDO, "content-length", "0", "content-length", "1"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_that(answer_to(bad[i]) == 1, "case %zu was not PROTOCOL_ERROR", i);
	edge_expect_stat("http2.malformed", sizeof bad / sizeof *bad);
	/* Each has a line in the log and is counted, as those of HTTP/1 are. */
	edge_expect_stat("requests.rejected", sizeof bad / sizeof *bad);
	edge_expect_stat("requests.total", sizeof bad / sizeof *bad);
	origin_expect_requests(0);
	edge_stop();
	int lines = 0;
	for (const char *at = edge_stdout(); (at = strstr(at, " HTTP/2.0\" 400 ")); at++)
		lines++;
	expect_int(lines, sizeof bad / sizeof *bad);
}

SCENARIO("another Host than :authority is refused, the same one is fine")
{
	origin_says("*", .body = "hello");
	edge_start(H2_LISTEN);
	struct client *c = h2_raw_open();
	uint8_t p[1];
	static const char *const other[] = {PSEUDO, "host", "b", NULL};
	static const char *const same[] = {PSEUDO, "host", "a", NULL};
	static const char *const host[] = {":method", "GET",  ":scheme", "http", ":path",
					   "/x",      "host", "a",	 NULL};
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 1, other);
	expect(h2_raw_wait(c, H2_HEADERS, 1, p, 1));
	origin_expect_requests(0);
	edge_expect_stat("requests.rejected", 1);
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 3, same);
	expect(h2_raw_wait(c, H2_DATA, 3, p, 1));
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 5, host);
	expect(h2_raw_wait(c, H2_DATA, 5, p, 1));
	expect_text(heard_field(origin_last(), "Host"), "a");
	client_close(c);
}

SCENARIO("a body that is longer or shorter than its length is never whole at the origin")
{
	origin_says("*", .body = "thanks");
	edge_start(H2_LISTEN);
	static const char *const head[] = {":method",	     "POST", ":scheme", "http",
					   ":authority",     "a",    ":path",	"/x",
					   "content-length", "5",    NULL};
	for (int i = 0; i < 2; i++) {
		struct client *c = h2_raw_open();
		uint8_t p[4];
		h2_raw_headers(c, H2_END_HEADERS, 1, head);
		h2_raw_frame(c, H2_DATA, H2_END_STREAM, 1, i ? "hello, world" : "hel", i ? 12 : 3);
		expect(h2_raw_wait(c, H2_RST_STREAM, 1, p, 4));
		expect_int(p[3], 1);
		client_close(c);
	}
	for (int i = 0; i < origin_requests(); i++)
		expect(!origin_request(i)->whole);
}

SCENARIO("a client that is gone ends its requests at once")
{
	origin_says("*", .mute = true);
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int s = h2_request(c, "POST", "/a", NULL, "x");
	h2_request(c, "POST", "/b", NULL, "x");
	origin_wait_requests(2);
	h2_reset(c, s);
	edge_wait_stat("requests.abandoned", 1);
	h2_close(c);
	edge_wait_stat("requests.abandoned", 2);
	edge_wait_stat("connections.closed", 1);
}

SCENARIO("windows are honoured: no byte more than was granted, by stream and by connection")
{
	enum { BYTES = 300000 };
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	edge_start(H2_LISTEN);
	get("/x");
	struct h2_client *c = h2_open_window(1000);
	int a = h2_request(c, "GET", "/x", NULL, NULL), b = h2_request(c, "GET", "/x", NULL, NULL);
	h2_wait_body(c, a, 1000);
	h2_wait_body(c, b, 1000);
	h2_ping(c);
	for (int i = 0; i < 2; i++) /* libnghttp2 would end the connection for one more */
		h2_window(c, i ? b : a, BYTES);
	expect(is_pattern(h2_read(c, a).body, 4, 0, BYTES));
	expect(is_pattern(h2_read(c, b).body, 4, 0, BYTES));
}

SCENARIO("urgent answers come first (RFC 9218), by the field and by PRIORITY_UPDATE")
{
	enum { BYTES = 40000 };
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	edge_start(H2_LISTEN);
	for (int i = 0; i < 4; i++)
		get(text("/%d", i));
	struct h2_client *c = h2_open_window(BYTES);
	/* The window of the connection is used up first: all wait for the same. */
	h2_wait_body(c, h2_request(c, "GET", "/0", NULL, NULL), BYTES);
	int last = h2_request(c, "GET", "/1", "Priority: u=7\r\n", NULL);
	int middle = h2_request(c, "GET", "/2", NULL, NULL);
	int first = h2_request(c, "GET", "/3", "Priority: u=0\r\n", NULL);
	h2_ping(c);
	h2_window(c, 1, BYTES * 4);
	h2_read(c, last);
	h2_read(c, middle);
	h2_read(c, first);
	/* 25,535 bytes were left for the one that came first. */
	expect(h2_closed(c, 1) == first);
	expect(h2_closed(c, 2) == middle);
	expect(h2_closed(c, 3) == last);
}

SCENARIO("SIGTERM: what is under way is answered, GOAWAY comes twice, the connection ends")
{
	struct barrier *go = barrier_new();
	origin_says("/slow", .body = "slow", .hold_head = go);
	origin_says("/x", .body = "hello");
	edge_start(H2_LISTEN);
	struct h2_client *idle = h2_open(), *c = h2_open();
	expect_answer(h2_read(idle, h2_request(idle, "GET", "/x", NULL, NULL)), 200, "hello");
	int s = h2_request(c, "GET", "/slow", NULL, NULL);
	origin_wait_requests(2);
	edge_signal(SIGTERM);
	h2_wait_goaway(c, 2);
	expect_int(h2_goaway(c), 0);
	barrier_open(go);
	expect_answer(h2_read(c, s), 200, "slow");
	h2_wait_end(c);
	h2_wait_end(idle);
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("a lame duck says GOAWAY behind the next answer, and whoever comes is served")
{
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	clock_hold();
	edge_yaml("timeouts: { lame_duck: 2s }\n");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *idle = h2_open(), *c = h2_open();
	expect_answer(h2_read(idle, h2_request(idle, "GET", "/x", NULL, NULL)), 200, "hello");
	expect_answer(h2_read(c, h2_request(c, "GET", "/x", NULL, NULL)), 200, "hello");
	edge_signal(SIGTERM);
	wait_until(edge_said("/healthz says 503"));
	do
		expect_answer(h2_read(c, h2_request(c, "GET", "/x", NULL, NULL)), 200, "hello");
	while (h2_goaway(c) < 0);
	expect_int(h2_goaway(c), 0);
	h2_wait_end(c);
	h2_ping(idle);
	expect_int(h2_goaway(idle), -1);
	struct h2_client *late = h2_open();
	expect_answer(h2_read(late, h2_request(late, "GET", "/x", NULL, NULL)), 200, "hello");
	h2_wait_goaway(late, 1);
	h2_wait_end(late);
	clock_advance(1999);
	clock_run(1);
	h2_wait_end(idle);
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("an idle connection ends with GOAWAY; PINGs do not keep it")
{
	clock_hold();
	edge_start_yaml(YAML("timeouts:\n  idle: 300ms\n  header: 300ms\n"));
	struct h2_client *c = h2_open();
	clock_advance(200);
	h2_ping(c);
	clock_advance(150);
	clock_run(10); /* its end takes some more */
	h2_wait_end(c);
	expect_int(h2_goaway(c), 0);
	struct client *raw = h2_raw_open(); /* a head that never ends */
	h2_raw_headers(raw, H2_END_STREAM, 1, H2_GET("/x"));
	h2_raw_end(raw);
	client_close(raw);
	edge_wait_stat("connections.closed", 2);
}

SCENARIO("the clock of a head stops when it is refused: what is under way goes on")
{
	static const char *const bad[] = {PSEUDO, "x", "a\r\nb: c", NULL};
	struct barrier *go = barrier_new();
	uint8_t p[5];
	origin_says("/held", .body = "hello", .hold_head = go);
	clock_hold();
	edge_start_yaml(YAML("workers: 1\ntimeouts:\n  header: 300ms\n"));
	struct client *c = h2_raw_open();
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 1, H2_GET("/held"));
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 3, bad);
	edge_wait_stat("http2.malformed", 1);
	clock_run(1);
	/* One that came later, whose head is really not complete: its clock ends it. */
	struct client *late = h2_raw_open();
	h2_raw_headers(late, H2_END_STREAM | H2_END_HEADERS, 1, H2_GET("/held"));
	h2_raw_headers(late, H2_END_STREAM, 3, H2_GET("/held"));
	h2_raw_end(late);
	barrier_open(go);
	expect(h2_raw_wait(c, H2_DATA, 1, p, sizeof p) && memcmp(p, "hello", 5) == 0);
	client_close(c);
}

SCENARIO("streams that are given no window end by the least rate, others go on")
{
	enum { BYTES = 200000 };
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	clock_hold();
	edge_start_yaml(YAML("timeouts:\n  send: 1s\n"));
	get("/x");
	struct h2_client *c = h2_open_window(100), *well = h2_open();
	int s[20];
	for (int i = 0; i < 20; i++)
		s[i] = h2_request(c, "GET", "/x", NULL, NULL);
	h2_wait_head(c, s[19]);
	clock_advance(1100);
	for (int i = 0; i < 20; i++) {
		expect(h2_read(c, s[i]).cut);
		expect_status(h2_read(well, h2_request(well, "GET", "/x", NULL, NULL)), 200);
	}
	edge_expect_stat("connections.too_slow", 20);
	expect_int(h2_goaway(c), -1);
}

SCENARIO("a body of a request that does not come is 408, the connection goes on")
{
	edge_start_yaml(YAML("timeouts:\n  body: 1s\n"));
	struct h2_client *c = h2_open();
	int s = h2_request_open(c, "POST", "/x", "Content-Length: 100\r\n", "x", 1);
	expect_status(h2_read(c, s), 408);
	expect_status(h2_read(c, h2_request(c, "GET", "/x", NULL, NULL)), 404);
}

SCENARIO("the log and the metrics tell what came by HTTP/2")
{
	origin_says("*", .body = "hello");
	edge_start_yaml(YAML("access_log: \"-\"\n"));
	h2_ask("GET", "/x?y=1", NULL, NULL);
	edge_expect_stat("http2.requests", 1);
	edge_expect_stat("http2.connections", 1);
	edge_stop();
	expect_that(strstr(edge_stdout(), "\"GET /x?y=1 HTTP/2.0\" 200 5"), "%s", edge_stdout());
}

SCENARIO("curl, nghttp and h2load are served")
{
	enum { BYTES = 1 << 20 };
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	needs("curl");
	edge_start(H2_LISTEN);
	const char *url = text("http://127.0.0.1:%u/x", edge_h2_port());
	for (int i = 0; i < 3; i++) {
		struct output o = program("curl", "-sS", "--http2-prior-knowledge", url);
		expect_int(o.status, 0);
		expect(o.out_bytes == BYTES && is_pattern(o.out, 4, 0, BYTES));
	}
	needs("nghttp");
	struct output o = program("nghttp", "-n", "-m", "20", "--no-dep", url);
	expect_that(o.status == 0, "%s", o.err);
	o = program("h2load", "-n", "2000", "-c", "5", "-m", "40", url);
	expect_that(strstr(o.out, "2000 succeeded"), "%s", o.out);
	edge_expect_stat("http2.ended_frames", 0);
	edge_expect_stat("http2.ended_resets", 0);
}

SCENARIO("over TLS, the client chooses HTTP/2 by ALPN")
{
	enum { BYTES = 1 << 20 };
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	needs("curl");
	edge_start_yaml(text("listen: [ \"https://127.0.0.1:0\" ]\n"
			     "tls:\n  certificates: [ %s ]\n  strict_host: off\n",
			     kit_tls_certificate()));
	const char *url = text("https://127.0.0.1:%u/x", edge_port());
	for (int i = 0; i < 3; i++) {
		struct output o = program("curl", "-ksS", "--http2", "-D", "-", url);
		expect_int(o.status, 0);
		expect_that(strncmp(o.out, "HTTP/2 200", 10) == 0, "%.100s", o.out);
		const char *body = memmem(o.out, o.out_bytes, "\r\n\r\n", 4);
		expect(body && is_pattern(body + 4, 4, 0, BYTES));
	}
	edge_expect_stat("http2.requests", 3);
	edge_expect_stat("tls.h2", 3);
}
