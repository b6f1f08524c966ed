/* Clients of HTTP/2 for whom much is held in memory: heads that cost them a few bytes, bodies that never
 * end. Those who ask for much by right do not notice that it is bounded. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { STREAMS = 98, FIELD = 3900, REFERENCES = 6 };

/* A head in which the place of a field of FIELD bytes in the client's table is named again and again;
 * the first one brings the field. */
static void
send_head(struct client *c, int stream, bool first, int references)
{
	char block[FIELD + 64] = "\x83\x86\x84\1\1a", *at = block + 6; /* POST http://a/ */
	if (first) {
		memcpy(at, "\x40\1x\x7f", 4);
		at[4] = (char)(((FIELD - 127) & 127) | 128);
		at[5] = (FIELD - 127) >> 7;
		memset(at + 6, 'y', FIELD);
		at += 6 + FIELD;
	}
	memset(at, 0xbe, (size_t)references); /* the last entry of the table */
	at += references;
	h2_raw_frame(c, H2_HEADERS, H2_END_HEADERS, stream, block, (size_t)(at - block));
}

static void
ping(struct client *c)
{
	uint8_t p[8];
	h2_raw_frame(c, H2_PING, 0, 0, "12345678", 8);
	expect(h2_raw_wait(c, H2_PING, 0, p, 8));
}

/* They say more than they bring: each is answered as too large, or refused where more of them come at once than a
 * connection may hold. */
SCENARIO("heads of a few bytes each, as long as may be: none but the first is more than an error")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *other = h2_open();
	struct client *c = h2_raw_open();
	for (int i = 0; i < STREAMS; i++)
		send_head(c, 2 * i + 1, i == 0, REFERENCES);
	ping(c);
	wait_until(edge_stat("http2.refused") + edge_stat("status.4xx") == STREAMS - 1);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	client_close(c);
}

/* An honest head: a field of this many bytes that stands there. */
static void
send_long_head(struct client *c, int stream)
{
	enum { LONG = 12000 };
	static char block[LONG + 64] = "\x82\x86\x84\1\1a\0\1x\x7f"; /* GET http://a/ */
	char *at = block + 10;
	*at++ = (char)(((LONG - 127) & 127) | 128);
	*at++ = (LONG - 127) >> 7;
	memset(at, 'y', LONG);
	h2_raw_frame(c, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, stream, block,
		     (size_t)(at + LONG - block));
}

SCENARIO("long heads that wait for an origin: a connection begins no more than it may hold")
{
	struct barrier *go = barrier_new();
	origin_says("/", .hold_head = go, .body = "hello", .times = STREAMS);
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *other = h2_open();
	struct client *c = h2_raw_open();
	for (int i = 0; i < STREAMS; i++)
		send_long_head(c, 2 * i + 1);
	ping(c);
	wait_until(edge_stat("http2.refused") + edge_stat("http2.requests") == STREAMS);
	expect_between(edge_stat("http2.requests"), STREAMS / 8, STREAMS / 2);
	expect_status(h2_read(other, h2_request(other, "GET", "/x", NULL, NULL)), 200);
	client_close(c);
	barrier_open(go);
}

/* All that c may send of its bodies is sent. */
static size_t
sent_by(struct h2_client *c, const int *streams, int n)
{
	size_t sent = 0, before;
	do {
		before = sent;
		for (int i = 0; i < 8; i++)
			h2_ping(c);
		sent = 0;
		for (int i = 0; i < n; i++)
			sent += h2_sent(c, streams[i]);
	} while (sent > before);
	return sent;
}

enum { UPLOADS = 90, UPLOAD = 60000 };

static const char *
upload_body(void)
{
	static char body[UPLOAD + 1];
	for (int i = 0; i < UPLOAD; i++)
		body[i] = (char)('a' + i % 26);
	return body;
}

SCENARIO("uploads that never end, behind one that an origin is busy with: a window holds them all")
{
	int streams[UPLOADS];
	struct barrier *go = barrier_new();
	origin_says("/busy", .body = "hello", .hold_head = go);
	edge_yaml("origins:\n  - url: %O\n    max_connections: 1\n");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *c = h2_open();
	int busy = h2_request(c, "GET", "/busy", NULL, NULL);
	origin_wait_requests(1);
	for (int i = 0; i < UPLOADS; i++)
		streams[i] =
			h2_request_open(c, "POST", text("/%d", i), NULL, upload_body(), UPLOAD);
	size_t sent = sent_by(c, streams, UPLOADS);
	expect_that(sent <= 256 << 10, "%zu bytes are held", sent);
	edge_expect_stat("http2.refused", 0);
	barrier_open(go);
	expect_answer(h2_read(c, busy), 200, "hello");
	h2_close(c);
}

SCENARIO("as many uploads at once as there may be, all of which end")
{
	int streams[UPLOADS];
	origin_says("*", .body = "thanks");
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *c = h2_open();
	for (int i = 0; i < UPLOADS; i++)
		streams[i] = h2_request(c, "POST", text("/%d", i), NULL, upload_body());
	for (int i = 0; i < UPLOADS; i++)
		expect_answer(h2_read(c, streams[i]), 200, "thanks");
	edge_expect_stat("http2.refused", 0);
	h2_close(c);
}

SCENARIO(
	"a browser's hundred requests at once, with cookies of three kilobytes, which all wait: none is refused")
{
	enum { ALL = 100, COOKIE = 3000 };
	int streams[ALL];
	char fields[COOKIE + 200] =
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n"
		"Accept: */*\r\nReferer: http://a/page\r\nCookie: ";
	struct barrier *go = barrier_new();
	size_t n = strlen(fields);
	memset(fields + n, 'c', COOKIE);
	strcpy(fields + n + COOKIE, "\r\n");
	origin_says("*", .fields = FRESH, .body = "hello", .hold_head = go);
	edge_start(H2_LISTEN, "--workers", "1");
	struct h2_client *c = h2_open();
	for (int i = 0; i < ALL; i++)
		streams[i] = h2_request(c, "GET", text("/%d", i), fields, NULL);
	h2_ping(c);
	edge_expect_stat("http2.requests", ALL);
	barrier_open(go);
	for (int i = 0; i < ALL; i++)
		expect_answer(h2_read(c, streams[i]), 200, "hello");
	edge_expect_stat("http2.refused", 0);
	h2_close(c);
}

/* A client whose address a forwarder says. */
static struct client *
open_as(const char *address)
{
	struct client *c = client_open();
	client_send(c, text("PROXY TCP4 %s 192.0.2.9 56324 443\r\n", address));
	client_send(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	h2_raw_frame(c, H2_SETTINGS, 0, 0, NULL, 0);
	return c;
}

SCENARIO("http2.memory is used up: connections of the address that holds most end, nobody else's")
{
	enum { CONNECTIONS = 6 };
	struct client *many[CONNECTIONS];
	struct barrier *go = barrier_new();
	uint8_t p[4];
	origin_says("/held", .body = "hello", .hold_head = go);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("listen: [ \"proxy+h2c://127.0.0.1:0\" ]\nworkers: 1\n"
			"forwarded:\n  trust: [ 127.0.0.1 ]\nhttp2:\n  memory: 2MiB\n");
	struct client *other = open_as("192.0.2.1");
	h2_raw_headers(other, H2_END_STREAM | H2_END_HEADERS, 1, H2_GET("/held"));
	ping(other);
	for (int i = 0; i < CONNECTIONS; i++) {
		many[i] = open_as("198.51.100.7");
		for (int k = 0; k < STREAMS; k++)
			send_head(many[i], 2 * k + 1, true, 0);
		if (edge_stat("http2.ended_memory") == 0)
			ping(many[i]);
	}
	edge_wait_stat("http2.ended_memory", 1);
	h2_raw_headers(other, H2_END_STREAM | H2_END_HEADERS, 3, H2_GET("/x"));
	expect(h2_raw_wait(other, H2_HEADERS, 3, p, 1));
	barrier_open(go);
	expect(h2_raw_wait(other, H2_HEADERS, 1, p, 1));
	client_close(other);
	expect(edge_said("198.51.100.7 was ended: it held most"));
}
