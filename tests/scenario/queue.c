/* queue.c - many wait for the few connections that an origin may be given: whose turn it is, and who
 * has no place any more.
 */
#include "tests/kit/h2.h"
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#define NO_STORE .fields = "Cache-Control: no-store\r\n"

/* One worker, one group of one server; more: lines of the group. */
static void
start(unsigned connections, const char *more)
{
	edge_start_yaml(text(
		"workers: 1\ntimeouts: { half_close: 1h, drain: 100ms }\norigins:\n  - name: g\n    servers: [ { url: %%O } ]\n"
		"    connect_timeout: 1m\n    max_connections: %u\n%s",
		connections, more));
}

/* A client from that address, who has asked. */
static struct client *
asks(const char *address, const char *target)
{
	client_from(address);
	struct client *c = client_open();
	client_request(c, "GET", target, NULL);
	client_from(NULL);
	return c;
}

enum { MANY = 8 };

/* So many requests of one address, the first of which is at the origin. */
static void
ask_many(struct client **c, unsigned n, const char *address, const char *path)
{
	for (unsigned i = 0; i < n; i++) {
		int before = (int)edge_stat("requests.total");
		c[i] = asks(address, text("%s%u", path, i));
		edge_wait_stat("requests.total", before + 1);
	}
}

static void
expect_heard(int i, const char *target)
{
	expect_text(origin_request(i)->target, target);
}

SCENARIO("who comes to a queue in which one client has many places is next after one of them")
{
	struct barrier *go = barrier_new();
	struct client *c[MANY];
	origin_says("/slow0", NO_STORE, .body = "x", .hold_head = go);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "");
	ask_many(c, MANY, "127.0.0.2", "/slow");
	struct client *other = asks("127.0.0.3", "/small");
	edge_wait_stat("origin.active_fetches", MANY + 1);
	origin_wait_requests(1);
	barrier_open(go);
	expect_answer(client_read(other, "GET"), 200, "x");
	for (int i = 0; i < MANY; i++)
		expect_status(client_read(c[i], "GET"), 200);
	expect_heard(1, "/slow1");
	expect_heard(2, "/small");
	expect_heard(3, "/slow2");
}

SCENARIO("routes of one client take turns in the queue")
{
	struct barrier *go = barrier_new();
	struct client *c[MANY];
	origin_says("/slow0", NO_STORE, .body = "x", .hold_head = go);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "routes: [ { path: /other/ } ]\n");
	ask_many(c, MANY, "127.0.0.2", "/slow");
	struct client *other = asks("127.0.0.2", "/other/");
	edge_wait_stat("origin.active_fetches", MANY + 1);
	origin_wait_requests(1);
	barrier_open(go);
	expect_answer(client_read(other, "GET"), 200, "x");
	for (int i = 0; i < MANY; i++)
		expect_status(client_read(c[i], "GET"), 200);
	expect_heard(1, "/slow1");
	expect_heard(2, "/other/");
}

SCENARIO("clients behind a forwarder take turns by the addresses that it names")
{
	struct barrier *go = barrier_new();
	struct client *c[MANY], *b = NULL;
	origin_says("/slow0", NO_STORE, .body = "x", .hold_head = go);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "forwarded: { trust: [ 127.0.0.0/8 ] }\n");
	for (int i = 0; i < MANY; i++) { /* of one network of 64 bits */
		c[i] = client_open();
		client_request(c[i], "GET", text("/slow%d", i),
			       text("X-Forwarded-For: 2001:db8::%d\r\n", i + 1));
		edge_wait_requests(i + 1);
	}
	b = client_open();
	client_request(b, "GET", "/small", "X-Forwarded-For: 2001:db8:0:1::1\r\n");
	edge_wait_stat("origin.active_fetches", MANY + 1);
	origin_wait_requests(1);
	barrier_open(go);
	expect_answer(client_read(b, "GET"), 200, "x");
	for (int i = 0; i < MANY; i++)
		expect_status(client_read(c[i], "GET"), 200);
	expect_heard(2, "/small");
}

SCENARIO("a full queue takes who comes, and the client with most places in it gives one up")
{
	enum { QUEUE = 4 };
	struct barrier *go = barrier_new();
	struct client *c[QUEUE + 1];
	origin_says("/slow0", NO_STORE, .body = "x", .hold_head = go);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "    queue: 4\n");
	ask_many(c, QUEUE + 1, "127.0.0.2", "/slow");
	edge_wait_stat("origin.active_fetches", QUEUE + 1);
	struct client *b[2] = {asks("127.0.0.3", "/small0")};
	struct answer a = client_read(c[QUEUE], "GET"); /* the newest of the many */
	expect_status(a, 503);
	expect_verdict(a, "detail=queue-full");
	b[1] = asks("127.0.0.3", "/small1");
	expect_status(client_read(c[QUEUE - 1], "GET"), 503);
	a = client_read(asks("127.0.0.3", "/small2"), "GET"); /* it has as many as the other */
	expect_status(a, 503);
	expect_verdict(a, "detail=queue-full");
	expect_status(client_read(asks("127.0.0.2", "/slow9"), "GET"), 503);
	edge_expect_stat("origin.refused", 4);
	barrier_open(go);
	for (int i = 0; i < 2; i++)
		expect_answer(client_read(b[i], "GET"), 200, "x");
	for (int i = 0; i < QUEUE - 1; i++)
		expect_status(client_read(c[i], "GET"), 200);
}

/* ---- those who are gone ---------------------------------------------------------------------- */

enum leaving { CLOSES, RESETS, HALF_CLOSES };

static void
leaves(struct client *c, enum leaving how)
{
	if (how == CLOSES)
		client_close(c);
	else if (how == RESETS)
		client_reset(c);
	else
		client_half_close(c);
}

/* Many wait, one of them at the origin; all leave, and another client asks. Nothing that they asked for
 * reaches the origin any more, and what was asked of it first is given up. */
static void
many_leave(enum leaving how)
{
	struct client *c[MANY];
	origin_says("/slow0", .mute = true);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "");
	ask_many(c, MANY, "127.0.0.2", "/slow");
	edge_wait_stat("origin.active_fetches", MANY);
	origin_wait_requests(1);
	for (int i = 1; i < MANY; i++)
		leaves(c[i], how);
	wait_until(edge_stat("origin.active_fetches") == 1); /* the queue is empty */
	leaves(c[0], how);
	struct client *other = asks("127.0.0.3", "/small");
	expect_answer(client_read(other, "GET"), 200, "x");
	origin_expect_requests(2);
	origin_wait_closed(0);
	wait_until(edge_stat("origin.active_fetches") == 0);
	if (how == HALF_CLOSES)
		for (int i = 0; i < MANY; i++) {
			struct answer a = client_read(c[i], "GET");
			expect_status(a, 503);
			expect_verdict(a, "detail=half-closed");
		}
}

SCENARIO("requests of clients that have closed leave the queue and the origin")
{
	many_leave(CLOSES);
}

SCENARIO("requests of clients that have reset leave the queue and the origin")
{
	many_leave(RESETS);
}

SCENARIO("a half-closed client keeps no place where others wait, and is told")
{
	many_leave(HALF_CLOSES);
}

SCENARIO("a half-closed client is served where nobody waits")
{
	struct barrier *go = barrier_new();
	origin_says("/x", NO_STORE, .body = "hello", .hold_head = go);
	start(1, "");
	struct client *c = asks("127.0.0.2", "/x");
	client_half_close(c);
	origin_wait_requests(1);
	edge_wait_stat("origin.active_fetches", 1);
	barrier_open(go);
	expect_answer(client_read(c, "GET"), 200, "hello");
	client_expect_closed(c);
}

SCENARIO("a reset behind a second request that nobody has read is noticed")
{
	origin_says("/slow", .mute = true);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "");
	struct client *c = asks("127.0.0.2", "/slow");
	origin_wait_requests(1);
	client_request(c, "GET", "/next", NULL);
	client_reset(c);
	origin_wait_closed(0);
	expect_answer(get("/small"), 200, "x");
	origin_expect_requests(2);
}

SCENARIO("by HTTP/2 what is reset leaves the queue, and with its connection all that was asked for")
{
	origin_says("/slow0", .mute = true);
	origin_says("*", NO_STORE, .body = "x");
	edge_yaml(
		"workers: 1\norigins: [ { url: %O, max_connections: 1, connect_timeout: 1m } ]\n");
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int stream[MANY];
	for (int i = 0; i < MANY; i++)
		stream[i] = h2_request(c, "GET", text("/slow%d", i), NULL, NULL);
	edge_wait_stat("origin.active_fetches", MANY);
	origin_wait_requests(1);
	for (int i = MANY / 2; i < MANY; i++)
		h2_reset(c, stream[i]);
	wait_until(edge_stat("origin.active_fetches") == MANY / 2);
	for (int i = 1; i < MANY / 2; i++)
		h2_reset(c, stream[i]);
	wait_until(edge_stat("origin.active_fetches") == 1);
	h2_close(c);
	origin_wait_closed(0);
	expect_answer(get("/small"), 200, "x");
	origin_expect_requests(2);
}

SCENARIO(
	"a TLS client that says it is done, and leaves its socket open, keeps no place in the queue")
{
	origin_says("/slow", .mute = true);
	origin_says("*", NO_STORE, .body = "x");
	cert_write(text("%s/a.pem", kit_dir()), .names = "a.example");
	edge_start_yaml("workers: 1\nlisten: [ \"https://127.0.0.1:0\" ]\n"
			"tls: { certificates: [ %D/a.pem ] }\n"
			"timeouts: { half_close: 1h }\n"
			"origins: [ { url: %O, max_connections: 1, connect_timeout: 1m } ]\n");
	struct client *c = client_open_tls(.name = "a.example"),
		      *other = client_open_tls(.name = "a.example");
	client_send(c, "GET /slow HTTP/1.1\r\nHost: a.example\r\n\r\n");
	origin_wait_requests(1);
	client_says_end(c);
	client_send(other, "GET /small HTTP/1.1\r\nHost: a.example\r\n\r\n");
	expect_answer(client_read(other, "GET"), 200, "x");
	origin_wait_closed(0);
}

SCENARIO("what another client waits for goes on when the one who asked first has closed")
{
	struct barrier *go = barrier_new();
	origin_says("/page", .fields = "Cache-Control: max-age=60\r\n", .body = "hello",
		    .hold_head = go);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "");
	struct client *first = asks("127.0.0.2", "/page");
	origin_wait_requests(1);
	struct client *second = asks("127.0.0.3", "/page");
	edge_wait_stat("requests.total", 2);
	client_half_close(first);
	edge_wait_stat("requests.total", 2);
	struct client *third = asks("127.0.0.4", "/small");
	edge_wait_stat("origin.active_fetches", 2);
	barrier_open(go);
	expect_answer(client_read(second, "GET"), 200, "hello");
	expect_answer(client_read(third, "GET"), 200, "x");
	expect_answer(client_read(first, "GET"), 200, "hello");
	origin_expect_requests(2);
}

SCENARIO("a POST that was sent is not given up for those who wait, nor sent twice")
{
	struct barrier *go = barrier_new();
	origin_says("/form", NO_STORE, .body = "done", .hold_head = go);
	origin_says("*", NO_STORE, .body = "x");
	start(1, "");
	struct client *c = client_open();
	client_send(c, "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
	origin_wait_requests(1);
	client_half_close(c);
	struct client *other = asks("127.0.0.3", "/small");
	edge_wait_stat("origin.active_fetches", 2);
	barrier_open(go);
	expect_answer(client_read(c, "POST"), 200, "done");
	expect_answer(client_read(other, "GET"), 200, "x");
	origin_expect_requests(2);
}

/* ---- those who take nothing ------------------------------------------------------------------ */

/* LARGE: more than is kept in memory for those who read it. */
enum { SLOW = 4, MOST = 2, LARGE = 34 << 20 };

/* Numbers are told from time to time, and the clock stands otherwise. */
static void
pass_until_active(int n)
{
	while (edge_stat("origin.active_fetches") < n)
		clock_advance(50);
}

/* Those of them whose requests the origin has heard hear its answers: time that passes before that counts
 * against the origin, and not against clients who take nothing. */
static void
are_answered(struct client **slow)
{
	for (int i = 0; i < SLOW; i++)
		if (slow[i] && origin_requests_for(text("/big%d", i)))
			wait_until(client_hears(slow[i]));
}

/* More of them than the origin may have connections, each with more than fits between it and its client,
 * who does not read. Another client's page comes all the same. */
static void
others_come(struct client **slow)
{
	for (int i = 0; i < SLOW; i++)
		slow[i] = NULL;
	clock_hold();
	start(MOST, "");
	for (int i = 0; i < SLOW; i++) {
		slow[i] = asks("127.0.0.2", text("/big%d", i));
		if (i ==
		    MOST - 1) /* the first ones have the connections, whichever worker hears them */
			origin_wait_requests(MOST);
	}
	are_answered(slow);
	pass_until_active(SLOW);
	struct client *other = asks("127.0.0.3", "/small");
	pass_until_active(SLOW + 1);
	while (origin_requests_for("/small") == 0) {
		clock_advance(250);
		are_answered(slow);
	}
	expect_answer(client_read(other, "GET"), 200, "hello");
}

SCENARIO(
	"clients that take nothing give their connections to others who wait, and have no more of them")
{
	struct client *slow[SLOW];
	origin_says("/small", NO_STORE, .body = "hello");
	origin_says("*", NO_STORE, .pattern_bytes = LARGE);
	others_come(slow);
	/* Two went, for one of the many who wait and for the other client; nobody took a place beside. The
	 * second may be the one that came last, which takes nothing either. */
	expect_int((int)origin_connections(), MOST + 2);
	int cut = 0;
	for (int i = 0; i < SLOW; i++)
		cut += client_try(slow[i], "GET").cut;
	expect_int(cut, 2);
}

SCENARIO("what was given up for others goes on by Range when its client reads on")
{
	struct client *slow[SLOW];
	origin_says("/small", NO_STORE, .body = "hello");
	origin_says("*", NO_STORE, .pattern_bytes = LARGE, .etag = "\"1\"", .ranges = true);
	others_come(slow);
	for (int i = MOST; i < SLOW; i++)
		client_reset(slow[i]);
	for (int i = 0; i < MOST; i++) {
		struct answer a = client_read(slow[i], "GET");
		expect_status(a, 200);
		expect_int((int)a.body_bytes, LARGE);
		expect_that(is_pattern(a.body, 0, 0, a.body_bytes), "the body is another one");
	}
}

/* ---- those to whom nothing is said -------------------------------------------------------------- */

/* So many fetches are under way or wait: it is said once in a while. */
static void
fetches_are(unsigned n)
{
	clock_advance(100);
	wait_until(edge_stat("origin.active_fetches") == n);
}

/* All connections, by requests of one address that the origin does not answer. */
static void
hang_all(struct client **c, unsigned n)
{
	ask_many(c, n, "127.0.0.2", "/hung");
	origin_wait_requests((int)n);
}

SCENARIO(
	"requests that hang give connections to those who wait, one for each and no more than is fair")
{
	enum { PLACES = 6 };
	struct barrier *never = barrier_new();
	struct client *c[PLACES];
	clock_hold();
	origin_says("*", NO_STORE, .body = "x", .hold_head = never);
	origin_says("/small", NO_STORE, .body = "x");
	start(PLACES, "");
	hang_all(c, PLACES);
	struct client *other = asks("127.0.0.3", "/small");
	fetches_are(PLACES + 1);
	clock_advance(900);
	fetches_are(PLACES + 1);
	clock_advance(12000);
	expect_answer(client_read(other, "GET"), 200, "x");
	struct answer a = client_read(c[0], "GET");
	expect_status(a, 503);
	expect_verdict(a, "detail=yielded");
	expect_field(a, "Retry-After", "1");
	fetches_are(PLACES - 1);
	/* Of six connections of two who wait for long, each has three. */
	struct client *d[PLACES];
	for (int i = 0; i < PLACES; i++)
		d[i] = asks("127.0.0.3", text("/held%d", i));
	fetches_are(2 * PLACES - 1);
	for (int i = 0; i < 3; i++)
		clock_advance(1000);
	origin_wait_requests(PLACES + 1 + 3);
	clock_advance(12000);
	fetches_are(PLACES + 3);
	barrier_open(never);
	for (int i = 3; i < PLACES; i++)
		expect_answer(client_read(c[i], "GET"), 200, "x");
	for (int i = 0; i < PLACES; i++)
		expect_answer(client_read(d[i], "GET"), 200, "x");
}

SCENARIO(
	"a request that hangs keeps its connection where its method is not safe, or its client has no more than others")
{
	struct barrier *never = barrier_new();
	struct client *c[3];
	clock_hold();
	origin_says("*", NO_STORE, .body = "x", .hold_head = never);
	start(3, "");
	client_from("127.0.0.2");
	for (int i = 0; i < 2; i++) {
		c[i] = client_open();
		client_request(c[i], "DELETE", text("/hung%d", i), NULL);
	}
	client_from(NULL);
	c[2] = asks("127.0.0.2", "/hung");
	origin_wait_requests(3);
	struct client *d = asks("127.0.0.3", "/a");
	fetches_are(4);
	clock_advance(20000);
	origin_wait_requests(4); /* for the GET */
	struct client *e = asks("127.0.0.4", "/b");
	fetches_are(4);
	clock_advance(20000);
	fetches_are(4);
	barrier_open(never);
	for (int i = 0; i < 2; i++)
		expect_answer(client_read(c[i], "DELETE"), 200, "x");
	expect_answer(client_read(d, "GET"), 200, "x");
	expect_answer(client_read(e, "GET"), 200, "x");
}

SCENARIO("requests that wait behind their client's hanging ones do not stand before others")
{
	enum { PLACES = 4, BEHIND = 40 };
	struct barrier *never = barrier_new();
	struct client *c[PLACES + BEHIND];
	clock_hold();
	origin_says("*", NO_STORE, .body = "x", .hold_head = never);
	origin_says("/small", NO_STORE, .body = "x");
	start(PLACES, "");
	ask_many(c, PLACES + BEHIND, "127.0.0.2", "/hung");
	struct client *other = asks("127.0.0.3", "/small");
	fetches_are(PLACES + BEHIND + 1);
	for (int i = 0; i < 13; i++)
		clock_advance(1000);
	expect_answer(client_read(other, "GET"), 200, "x");
	barrier_open(never);
}

SCENARIO("uploads that drip give connections to clients that have fewer")
{
	enum { BEGUN = 80000 };
	struct client *c[2];
	size_t n = 0;
	clock_hold();
	origin_says("*", NO_STORE, .body = "x");
	start(4, "");
	client_from("127.0.0.2");
	for (int i = 0; i < 2; i++) {
		c[i] = client_open();
		client_request(c[i], "POST", text("/slow%d", i), "Content-Length: 100000000\r\n");
		client_send_bytes(c[i], pattern(3, BEGUN), BEGUN);
	}
	client_from("127.0.0.3");
	origin_wait_requests(2);
	/* Bytes that come when a client was waited for already speak for its pace. */
	for (unsigned i = 0; i < 2; i++)
		wait_until((origin_wire(i, &n), n >= BEGUN + origin_request(0)->head_bytes));
	clock_advance(1000);
	struct client *other = client_open();
	client_from(NULL);
	client_request(other, "POST", "/small", "Content-Length: 5\r\n");
	client_send(other, "hello");
	fetches_are(3);
	client_send(c[0], "more");
	client_send(c[1], "more");
	clock_advance(1000);
	expect_answer(client_read(other, "POST"), 200, "x");
	fetches_are(1);
	client_close(c[0]);
	client_close(c[1]);
}
