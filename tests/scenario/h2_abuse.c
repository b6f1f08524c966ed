/* Clients of HTTP/2 that cost more than they ask for: each kind of attack ends with a word and a
 * counter, no connection has more work done than http2.streams, and others are served meanwhile. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { UNITS = 2000, CALM = 11 };

/* Ends with ENHANCE_YOUR_CALM and the counter (NULL: one of them, as some resets come when the answer
 * is out already and bring nothing); another client, on the same worker, is served
 * before, meanwhile and after it. */
static void
expect_calmed(struct client *c, const char *counter, struct h2_client *other)
{
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	struct h2_end e = h2_raw_end(c);
	expect_that(e.code == CALM, "ended with GOAWAY %d", e.code);
	if (counter)
		edge_wait_stat(counter, 1);
	wait_until(edge_stat("http2.ended_resets") + edge_stat("http2.ended_frames") +
			   edge_stat("http2.ended_headers") ==
		   1);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	expect_int(h2_goaway(other), -1);
	h2_close(other);
}

static struct h2_client *
begin(void)
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *other = h2_open();
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	return other;
}

static void
get_by_hand(struct client *c, int stream, const char *target)
{
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, stream, H2_GET(target));
}

SCENARIO("rapid reset: requests given up at once, of what is cached")
{
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	for (int i = 0; i < UNITS; i++) {
		get_by_hand(c, 2 * i + 1, "/x");
		h2_raw_frame(c, H2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x8", 4);
	}
	expect_calmed(c, NULL, other);
	expect(edge_said("was ended: more "));
}

/* Asks for the i-th of many, and gives it up when its fetch has begun. */
static void
ask_and_give_up(struct client *c, int i, bool answered)
{
	uint8_t p[8];
	get_by_hand(c, 2 * i + 1, text("/%d", i));
	/* It is told of, and begins to be fetched, before it is given up. */
	if (answered)
		expect(h2_raw_wait(c, H2_HEADERS, 2 * i + 1, p, 1));
	h2_raw_frame(c, H2_PING, 0, 0, "12345678", 8);
	expect(h2_raw_wait(c, H2_PING, 0, p, 8));
	h2_raw_frame(c, H2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x8", 4);
}

#define STREAMS(n)                                                         \
	"listen: [ \"127.0.0.1:0\", \"h2c://127.0.0.1:0\" ]\nworkers: 1\n" \
	"http2:\n  streams: " #n "\n  resets: 100000\n  frames: 100000\n"

SCENARIO("rapid reset of what is not cached: no more fetches than streams, reset ones included")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "hello");
	origin_says("*", .fields = FRESH, .body = "hello", .hold_head = go);
	edge_start_yaml(STREAMS(10));
	struct client *c = h2_raw_open();
	for (int i = 0; i < 500; i++)
		ask_and_give_up(c, i, false);
	edge_expect_stat("http2.requests", edge_stat("requests.total"));
	double at_once = edge_stat("http2.requests") - edge_stat("requests.abandoned");
	expect_that(at_once <= 10, "%g under way", at_once);
	barrier_open(go);
	struct h2_client *other = h2_open();
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	client_close(c);
}

SCENARIO("http2.streams is raised by a reload: a connection keeps the number it was told")
{
	enum { TOLD = 4, ALL = 40 };
	struct barrier *go = barrier_new();
	origin_says("*", .fields = FRESH, .body = "hello", .hold_body = go, .hold_at = 1);
	edge_start_yaml(STREAMS(4));
	struct client *c = h2_raw_open();
	for (int i = 0; i < TOLD; i++)
		ask_and_give_up(c, i, true);
	edge_rewrite(STREAMS(100));
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	for (int i = TOLD; i < ALL; i++)
		ask_and_give_up(c, i, false);
	edge_expect_stat("http2.refused", ALL - TOLD);
	barrier_open(go);
	client_close(c);
}

SCENARIO("MadeYouReset: a window that overflows, each time")
{
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	for (int i = 0; i < UNITS; i++) {
		get_by_hand(c, 2 * i + 1, "/x");
		h2_raw_frame(c, H2_WINDOW_UPDATE, 0, 2 * i + 1, "\x7f\xff\xff\xff", 4);
	}
	expect_calmed(c, NULL, other);
}

SCENARIO("MadeYouReset: bodies longer than their length")
{
	static const char *const post[] = {":method",	     "POST", ":scheme", "http",
					   ":authority",     "a",    ":path",	"/x",
					   "content-length", "1",    NULL};
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	for (int i = 0; i < UNITS; i++) {
		h2_raw_headers(c, H2_END_HEADERS, 2 * i + 1, post);
		h2_raw_frame(c, H2_DATA, H2_END_STREAM, 2 * i + 1, "hello", 5);
	}
	expect_calmed(c, NULL, other);
}

SCENARIO("malformed requests, one after the other")
{
	static const char *const bad[] = {":method", "GET", "connection", "close", NULL};
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	for (int i = 0; i < UNITS; i++)
		h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 2 * i + 1, bad);
	expect_calmed(c, "http2.ended_resets", other);
}

SCENARIO("more streams than there may be, all at once")
{
	struct h2_client *other = begin();
	origin_says("/mute", .mute = true);
	struct client *c = h2_raw_open();
	for (int i = 0; i < UNITS; i++)
		get_by_hand(c, 2 * i + 1, "/mute");
	struct h2_end e = h2_raw_end(c);
	expect(e.code > 0);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	expect(origin_requests_for("/mute") <= 100);
}

/* UNITS frames of one kind. */
static void
flood(int type, int flags, int stream, const char *p, size_t n)
{
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	if (stream)
		h2_raw_headers(c, H2_END_HEADERS, stream, H2_GET("/x"));
	for (int i = 0; i < UNITS; i++)
		h2_raw_frame(c, type, flags, stream, p, n);
	expect_calmed(c, "http2.ended_frames", other);
}

SCENARIO("SETTINGS without end")
{
	flood(H2_SETTINGS, 0, 0, "\0\x4\0\1\0\0", 6);
}

SCENARIO("answers to SETTINGS that nobody sent, and PINGs")
{
	flood(H2_PING, H2_ACK, 0, "12345678", 8);
}

SCENARIO("PRIORITY without end")
{
	flood(H2_PRIORITY, 0, 3, "\0\0\0\0\x10", 5);
}

SCENARIO("PRIORITY_UPDATE without end")
{
	flood(16, 0, 0, "\0\0\0\1u=1", 7);
}

SCENARIO("WINDOW_UPDATE of one byte without end")
{
	flood(H2_WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4);
}

SCENARIO("empty DATA without end")
{
	flood(H2_DATA, 0, 1, "", 0);
}

SCENARIO("frames of a kind that nobody knows, without end")
{
	flood(77, 0, 0, "?", 1);
}

SCENARIO("CONTINUATION without end")
{
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	h2_raw_headers(c, H2_END_STREAM, 1, H2_GET("/x"));
	for (int i = 0; i < UNITS; i++)
		h2_raw_frame(c, H2_CONTINUATION, 0, 1, "\0\1x\1y", 5);
	expect(h2_raw_end(c).code > 0);
	wait_until(edge_stat("http2.ended_errors") + edge_stat("http2.ended_frames") == 1);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
}

SCENARIO("a bomb: a head of few bytes that becomes a hundred times as long")
{
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	char block[16000], *at = block;
	/* A literal that is indexed, of 3,900 bytes, and then its index again and again. */
	*at++ = 0x40;
	*at++ = 1;
	*at++ = 'x';
	*at++ = 0x7f;
	*at++ = (char)(((3900 - 127) & 127) | 128);
	*at++ = (3900 - 127) >> 7;
	memset(at, 'y', 3900);
	at += 3900;
	memset(at, 0xbe, (size_t)(block + sizeof block - at));
	h2_raw_frame(c, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, 1, block, sizeof block);
	expect_calmed(c, "http2.ended_headers", other);
}

/* A line "x: y..." of so many bytes enters the table (0: none does), and the newest one is named so often. */
static int
ask_with_lines(struct client *c, int stream, size_t bytes, int times)
{
	char block[6000], *at = block;
	uint8_t answer[64];
	memcpy(at, "\x82\x86\x84\1\1a", 6); /* GET, http, "/", :authority: a */
	at += 6;
	if (bytes) {
		*at++ = 0x40;
		*at++ = 1;
		*at++ = 'x';
		*at++ = 0x7f;
		*at++ = (char)(((bytes - 127) & 127) | 128);
		*at++ = (char)((bytes - 127) >> 7);
		memset(at, 'y', bytes);
		at += bytes;
	}
	memset(at, 0xbe, (size_t)times);
	at += times;
	h2_raw_frame(c, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, stream, block,
		     (size_t)(at - block));
	expect(h2_raw_wait(c, H2_HEADERS, stream, answer, sizeof answer));
	/* ":status: 200" of the static table, behind an update of the table's size; else a literal */
	return memchr(answer, 0x88, 4) ? 200 : 0;
}

SCENARIO("a line in the table of HPACK is said once, not again and again")
{
	begin();
	struct client *c = h2_raw_open();
	expect_int(ask_with_lines(c, 1, 3900, 0), 200);
	expect_int(ask_with_lines(c, 3, 0, 1), 200);
	expect_int(ask_with_lines(c, 5, 0, 7), 0);
	expect_int(ask_with_lines(c, 7, 0, 1), 200);
	origin_expect_requests(2);
}

SCENARIO("a long line that comes in CONTINUATION is no more than its bytes say")
{
	begin();
	struct client *c = h2_raw_open();
	char line[10010] = "\0\1z\x7f";
	uint8_t answer[64];
	enum { BYTES = 10000 };
	line[4] = (char)(((BYTES - 127) & 127) | 128);
	line[5] = (char)((BYTES - 127) >> 7);
	memset(line + 6, 'y', BYTES);
	h2_raw_frame(c, H2_HEADERS, H2_END_STREAM, 1, "\x82\x86\x84\1\1a", 6);
	h2_raw_frame(c, H2_CONTINUATION, H2_END_HEADERS, 1, line, BYTES + 6);
	expect(h2_raw_wait(c, H2_HEADERS, 1, answer, sizeof answer));
	expect(memchr(answer, 0x88, 4));
	expect_int((int)strlen(heard_field(origin_last(), "z")), BYTES);
}

SCENARIO("PINGs by a client that reads nothing")
{
	struct h2_client *other = begin();
	struct client *c = h2_raw_open();
	for (int i = 0; i < UNITS; i++)
		h2_raw_frame(c, H2_PING, 0, 0, "12345678", 8);
	struct h2_end e = h2_raw_end(c);
	expect(e.code == CALM);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
}

SCENARIO("not HTTP/2 at all")
{
	struct h2_client *other = begin();
	struct client *c = client_open_to(edge_h2_port());
	client_send(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	h2_raw_end(c);
	edge_wait_stat("http2.ended_errors", 1);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
}

/* ---- who must not suffer --------------------------------------------------------------------- */

SCENARIO("a player that seeks, and one call after the other: no guard is in their way")
{
	enum { BYTES = 400000 };
	origin_says("/video", .fields = FRESH, .pattern_bytes = BYTES, .seed = 4);
	origin_says("/call", .body = "answer");
	edge_start(H2_LISTEN);
	get("/video");
	struct h2_client *c = h2_open();
	for (int i = 0; i < 100; i++) { /* gives up what it has begun to take */
		int s = h2_request(c, "GET", "/video", NULL, NULL);
		h2_wait_body(c, s, 1);
		h2_reset(c, s);
	}
	for (int i = 0; i < 1500; i++) { /* in the manner of gRPC: PING and an update with each */
		int s = h2_request(c, "POST", "/call", "TE: trailers\r\n", "message");
		expect_answer(h2_read(c, s), 200, "answer");
		h2_ping(c);
		h2_window(c, 0, 1);
	}
	expect_int(h2_goaway(c), -1);
	edge_expect_stat("http2.ended_frames", 0);
}
