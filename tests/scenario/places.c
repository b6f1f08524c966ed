/* places.c - what one client takes up of what all share: connections, tunnels, memory. It keeps it as long as nobody
 * else asks for it. */
#include "tests/kit/h2.h"
#include "tests/kit/packed.h"
#include "tests/kit/uncoded.h"

#include <string.h>

enum { PLACES = 16 };

static struct client *
ask_from(const char *address, const char *path)
{
	client_from(address);
	struct client *c = client_open();
	client_from(NULL);
	client_request(c, "GET", path, NULL);
	return c;
}

static void
start(struct barrier *go, const char *workers, const char *yaml)
{
	origin_says("/held", .body = "hello", .hold_head = go,
		    .fields = "Cache-Control: max-age=600\r\n");
	origin_says("/x", .body = "x", .fields = "Cache-Control: max-age=600\r\n");
	edge_yaml(text("limits: { connections: %d }\n%s", PLACES, yaml));
	edge_start("--workers", workers);
}

static void
hold_all(const char *address, struct client **c)
{
	for (int i = 0; i < PLACES; i++)
		c[i] = ask_from(address, "/held");
	edge_wait_requests(PLACES);
}

static void
newcomers_come_in(int n)
{
	for (int i = 0; i < n; i++) {
		struct client *c = ask_from(text("127.0.0.%d", 10 + i), "/x");
		expect_answer(client_read(c, "GET"), 200, "x");
		client_close(c);
	}
	edge_expect_stat("connections.refused", 0);
}

SCENARIO(
	"all connections wait for one client's URL: the oldest is told to come again, and a newcomer has its place")
{
	struct client *held[PLACES];
	struct barrier *go = barrier_new();
	start(go, "1", "");
	hold_all("127.0.0.2", held);
	struct client *c = ask_from("127.0.0.3", "/x");
	expect_answer(client_read(c, "GET"), 200, "x");
	struct answer a = client_read(held[0], "GET");
	expect_status(a, 503);
	expect_field(a, "Retry-After", "1");
	client_expect_closed(held[0]);
	edge_expect_stat("connections.evicted", 1);
	edge_expect_stat("connections.refused", 0);
	expect(edge_said("127.0.0.2 holds most of them"));
	barrier_open(go);
	for (int i = 1; i < PLACES; i++)
		expect_answer(client_read(held[i], "GET"), 200, "hello");
}

SCENARIO("newcomers have places of an address that holds most, at whichever worker these are")
{
	struct client *held[PLACES];
	struct barrier *go = barrier_new();
	start(go, "4", "");
	hold_all("127.0.0.2", held);
	newcomers_come_in(6);
	barrier_open(go);
}

SCENARIO(
	"where all places are of one address it gives none up to itself, nor to one that has as many")
{
	struct client *held[PLACES];
	struct barrier *go = barrier_new();
	by_http_only(); /* by TLS a client that is refused is told nothing */
	start(go, "1", "");
	hold_all("127.0.0.2", held);
	struct client *more = ask_from("127.0.0.2", "/x");
	expect_status(client_read(more, "GET"), 503);
	edge_expect_stat("connections.refused", 1);
	edge_expect_stat("connections.evicted", 0);
	struct client *others[PLACES];
	int in = 0;
	for (; in < 3; in++)
		others[in] = ask_from("127.0.0.3", "/held");
	edge_wait_stat("connections.evicted", 3); /* 13 of 16 are left, and that is 4 times 3 */
	others[in] = ask_from("127.0.0.3", "/held");
	expect_status(client_read(others[in], "GET"), 503);
	edge_expect_stat("connections.evicted", 3);
	barrier_open(go);
	for (int i = 3; i < PLACES; i++)
		expect_answer(client_read(held[i], "GET"), 200, "hello");
	for (int i = 0; i < in; i++)
		expect_answer(client_read(others[i], "GET"), 200, "hello");
}

SCENARIO(
	"a forwarder brings many clients: none of its places is given to others, and it has others' places")
{
	struct client *held[PLACES];
	struct barrier *go = barrier_new();
	by_http_only(); /* by TLS a client that is refused is told nothing */
	start(go, "1", "forwarded: { trust: [ 127.0.0.2, 127.0.0.4 ] }\n");
	hold_all("127.0.0.2", held);
	struct client *c = ask_from("127.0.0.3", "/x");
	expect_status(client_read(c, "GET"), 503);
	edge_expect_stat("connections.evicted", 0);
	barrier_open(go);
	for (int i = 0; i < PLACES; i++)
		expect_answer(client_read(held[i], "GET"), 200, "hello");
}

SCENARIO("a client that takes its answers as slowly as it may gives places up too")
{
	origin_says("/big", .pattern_bytes = 64 << 20, .seed = 1,
		    .fields = "Cache-Control: no-store\r\n");
	origin_says("/x", .body = "x");
	edge_yaml(text("limits: { connections: %d, least_rate: 1 }\ntimeouts: { drain: 100ms }\n",
		       PLACES));
	edge_start("--workers", "1");
	for (int i = 0; i < PLACES; i++)
		ask_from("127.0.0.2", "/big");
	edge_wait_requests(PLACES);
	newcomers_come_in(2);
}

static struct client *
h2_from(const char *address, const char *const *pairs)
{
	client_from(address);
	struct client *c = client_open();
	client_from(NULL);
	client_send(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	h2_raw_frame(c, H2_SETTINGS, 0, 0, NULL, 0);
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 1, pairs);
	return c;
}

SCENARIO(
	"by HTTP/2 a connection is a place, however much is asked for by it: it gives way with a GOAWAY")
{
	struct client *held[PLACES];
	struct barrier *go = barrier_new();
	uint8_t p[8];
	start(go, "1", "listen: [ \"h2c://127.0.0.1:0\" ]\n");
	for (int i = 0; i < PLACES; i++)
		held[i] = h2_from("127.0.0.2", H2_GET("/held"));
	edge_wait_requests(PLACES);
	struct client *c = h2_from("127.0.0.3", H2_GET("/x"));
	expect(h2_raw_wait(c, H2_HEADERS, 1, p, 1));
	expect(h2_raw_wait(held[0], H2_GOAWAY, 0, p, 8));
	edge_expect_stat("connections.refused", 0);
	barrier_open(go);
	expect(h2_raw_wait(held[1], H2_HEADERS, 1, p, 1));
}

/* ---- tunnels ---------------------------------------------------------------------------------- */

enum { TUNNELS = 16 };

static struct client *
switches(const char *address, const char *fields)
{
	client_from(address);
	struct client *c = client_open();
	client_from(NULL);
	client_request(c, "GET", "/ws", text("Connection: Upgrade\r\nUpgrade: chat\r\n%s", fields));
	return c;
}

static void
start_tunnels(struct barrier *go, const char *yaml)
{
	by_h1_only();
	origin_says("/ws", .body = "hello", .hold_head = go);
	edge_yaml(text("limits: { tunnels: %d }\nroutes:\n  - { path: /ws, upgrade: [ chat ] }\n%s",
		       TUNNELS, yaml));
	edge_start("--workers", "1");
}

static void
expect_full(struct client *c)
{
	struct answer a = client_read(c, "GET");
	expect_status(a, 503);
	expect_verdict(a, "detail=tunnels-full");
}

SCENARIO(
	"a client has three times as many tunnels as are left, so that the first of another finds room")
{
	struct barrier *go = barrier_new();
	start_tunnels(go, "");
	for (int i = 0; i < 12; i++)
		switches("127.0.0.2", "");
	origin_wait_requests(12);
	expect_full(switches("127.0.0.2", ""));
	for (int i = 0; i < 3; i++)
		switches("127.0.0.3", "");
	origin_wait_requests(15);
	expect_full(switches("127.0.0.3", ""));
	switches("127.0.0.4", "");
	origin_wait_requests(16);
	expect_full(switches("127.0.0.5", ""));
	barrier_open(go);
	edge_wait_stat("tunnels.refused", 3);
}

SCENARIO(
	"the tunnels of a forwarder are those of the clients that it names, and all its own where it names none")
{
	struct barrier *go = barrier_new();
	start_tunnels(go, "forwarded: { trust: [ 127.0.0.2 ] }\n");
	for (int i = 0; i < 12; i++)
		switches("127.0.0.2", "X-Forwarded-For: 192.0.2.1\r\n");
	origin_wait_requests(12);
	expect_full(switches("127.0.0.2", "X-Forwarded-For: 192.0.2.1\r\n"));
	switches("127.0.0.2", "X-Forwarded-For: 192.0.2.2\r\n");
	for (int i = 0; i < 3; i++)
		switches("127.0.0.2", "");
	origin_wait_requests(16);
	barrier_open(go);
}

/* ---- bodies that are expanded ----------------------------------------------------------------- */

#define HTML "Cache-Control: max-age=600\r\nContent-Type: text/html\r\nVary: Accept-Encoding\r\n"

/* Each slow client holds an expander, with a window. */
SCENARIO("one client cannot take all memory of bodies that are expanded")
{
	enum { SIZE = 3000000, N = 24 };
	clock_hold(); /* on a slow machine the first ones would be too slow before the last ones come */
	by_h1_only();
	char *p = uncoded_page(SIZE);
	struct packed br = packed_br(p, SIZE);
	origin_says("/x", .fields = HTML "Content-Encoding: br\r\n", .body = br.p,
		    .body_bytes = br.n);
	origin_says("/x", .fields = HTML, .body = p, .body_bytes = SIZE, .times = 99);
	edge_start_yaml("cache: { dir: %D/c, memory: 1MiB }\nadmission: { sightings: 1 }\n");
	uncoded_expect_bytes(get_with("/x", "Accept-Encoding: gzip, deflate, br\r\n"), br.p, br.n);
	uncoded_expect_bytes(get("/x"), p, SIZE);
	struct client *c[N];
	int hits = 0;
	client_from("127.0.0.2");
	for (int i = 0; i < N; i++) {
		c[i] = client_open_narrow();
		client_request(c[i], "GET", "/x", NULL);
		hits += verdict_has(client_read_head(c[i]), "hit");
	}
	note("%d of %d were expanded", hits, N);
	expect_between(
		hits, 5,
		16); /* three quarters of 128 MiB, by 16.5, or 6.5 once it is known what becomes of it */
	client_from("127.0.0.3");
	struct answer a = get("/x");
	expect_hit(a);
	uncoded_expect_bytes(a, p, SIZE);
	client_from("127.0.0.2");
	expect(!verdict_has(get("/x"), "hit"));
	for (int i = 0; i < N; i++)
		client_reset(c[i]);
	wait_until(verdict_has(get("/x"), "hit"));
}
