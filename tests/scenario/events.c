/* events.c - answers of the type text/event-stream: each client has its own, which may be silent for long. */
#include "tests/kit/kit.h"

#include <signal.h>

#define EVENTS "Content-Type: text/event-stream; charset=utf-8\r\n"
#define FIRST  "data: 1\n\n"
#define SECOND "data: 2\n\n"

/* The first event at once, the second when go opens. */
static struct barrier *
origin_streams(const char *fields)
{
	struct barrier *go = barrier_new();
	origin_says("/events", .fields = fields, .body = FIRST SECOND, .chunked = true,
		    .hold_body = go, .hold_at = strlen(FIRST));
	return go;
}

static void
expect_event(struct client *c, const char *event)
{
	const char *want = text("%zx\r\n%s\r\n", strlen(event), event);
	char got[64];
	expect_int((long long)client_read_body(c, got, strlen(want)), (long long)strlen(want));
	expect(memcmp(got, want, strlen(want)) == 0);
}

/* It has the first event. */
static struct client *
listener(void)
{
	struct client *c = client_open();
	client_request(c, "GET", "/events", "Accept: text/event-stream\r\n");
	expect_status(client_read_head(c), 200);
	expect_event(c, FIRST);
	return c;
}

static void
pass_seconds(int s)
{
	for (int i = 0; i < s; i += 5)
		clock_advance(5000);
}

SCENARIO("an event stream goes on behind a silence that is longer than read_timeout")
{
	clock_hold();
	struct barrier *go = origin_streams(EVENTS "Cache-Control: no-cache\r\n");
	edge_start();
	struct client *c = listener();
	pass_seconds(600);
	barrier_open(go);
	expect_event(c, SECOND);
	client_close(c);
	edge_expect_stat("origin.errors", 0);
}

SCENARIO("so does one by HTTP/2")
{
	clock_hold();
	struct barrier *go = origin_streams(EVENTS);
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int stream = h2_request(c, "GET", "/events", "", NULL);
	h2_wait_body(c, stream, strlen(FIRST));
	pass_seconds(600);
	barrier_open(go);
	expect_answer(h2_read(c, stream), 200, FIRST SECOND);
	h2_close(c);
}

SCENARIO("and one that answers a POST")
{
	clock_hold();
	struct barrier *go = origin_streams(EVENTS);
	edge_start();
	struct call *c = call_with("POST", "/events", "", "question");
	origin_wait_requests(1);
	pass_seconds(120);
	barrier_open(go);
	call_expect(c, 200, FIRST SECOND);
}

SCENARIO("another type of answer is cut when it is silent for read_timeout")
{
	clock_hold();
	origin_streams("Content-Type: text/event-streams\r\n");
	edge_start();
	struct client *c = listener();
	pass_seconds(65);
	client_expect_closed(c);
	edge_expect_stat("origin.errors", 1);
}

SCENARIO("an event stream that is silent for timeouts.tunnel ends; each event begins that anew")
{
	clock_hold();
	struct barrier *go = barrier_new();
	origin_says("/events", .fields = EVENTS, .body = FIRST SECOND SECOND, .chunked = true,
		    .hold_body = go, .hold_at = strlen(FIRST));
	edge_start_yaml("timeouts: { tunnel: 100s }\n");
	struct client *c = listener();
	pass_seconds(90);
	expect(!client_has_ended(c));
	pass_seconds(15);
	client_expect_closed(c);
	barrier_open(go);
	origin_wait_closed(0);
	edge_expect_stat("origin.errors", 0);
	edge_expect_stat("connections.too_slow", 1);
}

SCENARIO("by HTTP/2 it is the stream that ends")
{
	clock_hold();
	struct barrier *go = origin_streams(EVENTS);
	edge_yaml("timeouts: { tunnel: 100s }\n");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int stream = h2_request(c, "GET", "/events", "", NULL);
	h2_wait_body(c, stream, strlen(FIRST));
	pass_seconds(105);
	h2_ping(c);
	expect_int(h2_reset_code(c, stream), 8 /* CANCEL */);
	h2_close(c);
	barrier_open(go);
	origin_wait_closed(0);
}

SCENARIO("a client that leaves a silent event stream does not hold its connection to the origin")
{
	clock_hold();
	struct barrier *go = origin_streams(EVENTS);
	edge_start();
	struct client *c = listener();
	client_half_close(c); /* as a browser's close looks until it is sent something */
	clock_advance(4900);
	expect(!client_has_ended(c));
	clock_advance(200);
	client_expect_closed(c);
	c = listener();
	client_reset(c);
	clock_settle();
	barrier_open(go);
	origin_wait_closed(0);
	origin_wait_closed(1);
}

SCENARIO(
	"the connection of an event stream that is silent for read_timeout is given to who waits for one")
{
	clock_hold();
	origin_streams(EVENTS);
	origin_says("/x", .body = "hello");
	edge_start_yaml(
		"workers: 1\norigins: [ { url: %O, max_connections: 1, read_timeout: 3s } ]\n");
	struct client *c = listener();
	clock_advance(1000);
	struct call *x = call_get("/x");
	edge_wait_requests(2);
	clock_advance(1000);
	expect(!call_is_done(x) && !client_has_ended(c));
	clock_advance(1500);
	call_expect(x, 200, "hello");
	client_expect_closed(c);
	edge_expect_stat("origin.errors", 0);
}

SCENARIO("at the limit of connections a silent event stream makes room")
{
	clock_hold();
	origin_streams(EVENTS);
	origin_says("/x", .body = "hello");
	edge_start_yaml("workers: 1\nlimits: { connections: 1 }\ntimeouts: { idle: 500ms }\n");
	struct client *c = listener();
	clock_advance(1000);
	expect_answer(get("/x"), 200, "hello");
	client_expect_closed(c);
}

SCENARIO("each client has an event stream of its own, also where the first is silent")
{
	origin_streams(EVENTS);
	edge_start();
	struct client *a = listener(), *b = listener();
	origin_expect_requests(2);
	client_reset(a);
	client_reset(b);
}

SCENARIO("and where its head comes with the first event")
{
	clock_hold();
	struct barrier *go = barrier_new();
	origin_says("/events", .fields = EVENTS, .body = FIRST, .chunked = true, .hold_head = go);
	edge_start();
	struct client *c[3];
	for (int i = 0; i < 3; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", "/events", "Accept: text/event-stream\r\n");
		origin_wait_requests(i + 1);
	}
	barrier_open(go);
	for (int i = 0; i < 3; i++)
		expect_answer(client_read(c[i], "GET"), 200, FIRST);
}

SCENARIO("one that its origin lets be shared is, from its head on")
{
	struct barrier *go = origin_streams(EVENTS "Cache-Control: max-age=30\r\n");
	clock_hold(); /* nobody asks beside the first one */
	edge_start();
	struct client *a = listener();
	struct call *b = call_with("GET", "/events", "Accept: text/event-stream\r\n", NULL);
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(b, 200, FIRST SECOND);
	expect_event(a, SECOND);
	origin_expect_requests(1);
	client_close(a);
}

SCENARIO("an event stream is kept by what its origin states, and not by a guess or a setting")
{
	origin_says("/guess", .fields = EVENTS "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
		    .body = FIRST, .chunked = true);
	origin_says("/public", .fields = EVENTS "Cache-Control: public\r\n", .etag = "\"1\"",
		    .body = FIRST, .chunked = true);
	origin_says("/ttl", .fields = EVENTS, .body = FIRST, .chunked = true);
	origin_says("/said", .fields = EVENTS "Cache-Control: max-age=60\r\n", .body = FIRST,
		    .chunked = true);
	edge_start_yaml("cache: { default_ttl: 1h }\n"
			"routes: [ { path: /ttl, cache: { ttl: 1h } } ]\n");
	const char *fetched[] = {"/guess", "/public", "/ttl"};
	for (int i = 0; i < 3; i++) {
		expect_answer(get(fetched[i]), 200, FIRST);
		expect_answer(get(fetched[i]), 200, FIRST);
		origin_expect_requests_for(fetched[i], 2);
	}
	expect_answer(get("/said"), 200, FIRST);
	expect_hit(get("/said"));
}

SCENARIO("draining ends an event stream when its time is over")
{
	clock_hold();
	origin_streams(EVENTS);
	edge_start_yaml("timeouts: { drain: 1s }\n");
	struct client *c = listener();
	edge_signal(SIGTERM);
	expect_int(edge_wait_exit(), 0);
	client_expect_closed(c);
}
