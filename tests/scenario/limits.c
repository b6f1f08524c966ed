/* Limits and timeouts: what is too much or too slow is answered, closed, and never forwarded. */
#include "tests/kit/kit.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Limits of time are looked at so often. */
enum { TICK_MS = 50 };
#define TIMES "timeouts:\n  header: 1s\n  idle: 1s\n  body: 1s\n  send: 1s\n"

SCENARIO("a head over the limit is 431 and the connection closes")
{
	edge_start_yaml("limits:\n  head: 4KiB\n  url: 2KiB\n");
	struct client *c = client_open();
	client_request(c, "GET", "/x", text("X-Big: %0*d\r\n", 8000, 7));
	expect_status(client_read(c, "GET"), 431);
	client_expect_closed(c);
	origin_expect_requests(0);
	expect_status(get_with("/x", text("X-Big: %0*d\r\n", 2000, 7)), 404);
}

SCENARIO("a head that never ends is refused when it reaches the limit, not later")
{
	edge_start_yaml("limits:\n  head: 4KiB\n  url: 2KiB\n");
	struct client *c = client_open();
	client_send(c, "GET /x HTTP/1.1\r\nHost: a\r\n");
	for (int i = 0; i < 100; i++)
		client_send(c, text("X-%d: %0*d\r\n", i, 100, 0));
	expect_status(client_try(c, "GET"), 431);
	client_close(c);
}

SCENARIO("too many fields are 431")
{
	edge_start_yaml("limits:\n  fields: 20\n");
	char fields[4000] = "";
	for (int i = 0; i < 30; i++)
		strcat(fields, text("X-%d: 1\r\n", i));
	expect_status(get_with("/x", fields), 431);
	origin_expect_requests(0);
}

SCENARIO("a URL over the limit is 414")
{
	edge_start_yaml("limits:\n  url: 100\n");
	expect_status(get(text("/%0*d", 200, 7)), 414);
	origin_expect_requests(0);
	expect_status(get(text("/%0*d", 50, 7)), 404);
}

SCENARIO("a body over the limit is 413: announced, and found out on the way")
{
	origin_says("*", .body = "thanks");
	edge_start_yaml("limits:\n  body: 1000\n");
	struct client *c = client_open();
	client_request(c, "POST", "/x", "Content-Length: 2000\r\n");
	expect_status(client_try(c, "POST"), 413);
	client_expect_closed(c);
	origin_expect_requests(0);
	c = client_open();
	client_request(c, "POST", "/x", "Transfer-Encoding: chunked\r\n");
	for (int i = 0; i < 20; i++)
		client_send(c, text("64\r\n%0*d\r\n", 100, i));
	client_send(c, "0\r\n\r\n");
	struct answer a = client_try(c, "POST");
	expect_that(a.status == 413 || a.status == 0, "got %d", a.status);
	for (int i = 0; i < origin_requests(); i++)
		expect_that(!origin_request(i)->whole, "the body reached the origin whole");
	client_close(c);
	expect_answer(ask("POST", "/x", NULL, "small"), 200, "thanks");
}

SCENARIO("more requests at once than the limit of connections: the next client is turned away")
{
	struct barrier *go = barrier_new();
	origin_says("/held", .body = "hello", .hold_head = go,
		    .fields = "Cache-Control: no-store\r\n");
	edge_yaml("limits:\n  connections: 10\n");
	edge_start("--workers", "1");
	struct client *c[10];
	for (int i = 0; i < 10; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", "/held", NULL);
	}
	edge_wait_requests(10);
	struct client *one_more = client_open();
	client_request(one_more, "GET", "/x", NULL);
	struct answer a = client_try(one_more, "GET");
	expect_that(a.status == 503 || a.status == 0, "the eleventh got %d", a.status);
	edge_wait_stat("connections.refused", 1);
	barrier_open(go);
	for (int i = 0; i < 10; i++)
		expect_answer(client_read(c[i], "GET"), 200, "hello");
	client_close(c[0]);
	wait_until(try_ask("GET", "/held", NULL, NULL).status == 200);
}

SCENARIO("at the limit of connections the one that is idle longest makes room")
{
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  connections: 10\n");
	edge_start("--workers", "1");
	struct client *c[11];
	for (int i = 0; i < 11; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", "/x", NULL);
		expect_answer(client_read(c[i], "GET"), 200, "hello");
	}
	client_expect_closed(c[0]);
	for (int i = 1; i < 11; i++) {
		client_request(c[i], "GET", "/x", NULL);
		expect_answer(client_read(c[i], "GET"), 200, "hello");
	}
	edge_expect_stat("connections.evicted", 1);
	edge_expect_stat("connections.refused", 0);
}

SCENARIO("at the limit of connections an idle one makes room for a client of any worker")
{
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  connections: 1\n");
	edge_start("--workers", "2");
	struct client *c = client_open();
	edge_wait_stat("connections.open", 1);
	/* The kernel chooses the worker that a connection comes to: one in two comes to the
	 * other one. */
	for (int i = 1; i <= 20; i++) {
		struct client *before = c;
		c = client_open();
		client_expect_closed(before);
		edge_wait_stat("connections.closed", i);
		edge_expect_stat("connections.open", 1);
	}
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	edge_expect_stat("connections.evicted", 20);
	edge_expect_stat("connections.refused", 0);
}

SCENARIO(
	"at the limit of connections each newcomer costs one idle connection, whatever worker has it")
{
	enum { MOST = 8, ALL = 60 };
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  connections: 8\n");
	edge_start("--workers", "2");
	for (int i = 0; i < ALL; i++) {
		struct client *c = client_open();
		client_request(c, "GET", "/x", NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	edge_expect_stat("connections.evicted", ALL - MOST);
	edge_expect_stat("connections.refused", 0);
	edge_expect_stat("connections.open", MOST);
}

SCENARIO("at the limit of connections heads that are never finished make room, the oldest first")
{
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  connections: 6\ntimeouts:\n  header: 1h\n");
	clock_hold();
	edge_start("--workers", "2");
	struct client *half[6];
	for (int i = 0; i < 6; i++) {
		half[i] = client_open();
		client_send(half[i], "GET /x HTTP/1.1\r\nHost: a\r\nX-Slow: ");
		edge_wait_stat("connections.open", i + 1);
		clock_advance(1); /* the next one is younger */
	}
	expect_answer(get("/x"), 200, "hello");
	client_expect_closed(half[0]);
	edge_expect_stat("connections.open", 5);
	for (int i = 1; i < 6; i++) {
		client_send(half[i], "a\r\n\r\n");
		expect_answer(client_read(half[i], "GET"), 200, "hello");
	}
	edge_expect_stat("connections.evicted", 1);
	edge_expect_stat("connections.refused", 0);
}

/* Nobody makes room for one more until `least` seconds of the proxy's have passed, somebody does before
 * `most` have. */
static void
makes_room_after_seconds(int least, int most)
{
	int s = 0;
	for (; try_ask("GET", "/x", NULL, NULL).status != 200; s++)
		clock_advance(1000);
	expect_between(s, least, most);
}

SCENARIO(
	"at the limit of connections slow clients make room before their time is over, others do not")
{
	origin_says("/up", .body = "thanks");
	origin_says("/big", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = 64 << 20);
	origin_says("/x", .body = "hello");
	edge_yaml("limits:\n  connections: 3\n  least_rate: 8KiB\n"
		  "timeouts:\n  body: 16s\n  send: 16s\n");
	clock_hold();
	edge_start("--workers", "1");
	struct client *up = client_open(), *well = client_open(), *down = client_open_narrow();
	client_request(well, "PUT", "/up", "Content-Length: 200001\r\n");
	client_send_bytes(well, pattern(3, 200000), 200000); /* enough for a while */
	client_request(up, "PUT", "/up", "Content-Length: 200001\r\n");
	client_send(up, "a");
	client_request(down, "GET", "/big", NULL);
	expect_status(client_read_head(down), 200);
	edge_wait_requests(3);
	makes_room_after_seconds(2, 15);
	client_expect_closed(up);
	/* Its place is taken by one that is well too. */
	struct client *other = client_open();
	client_request(other, "PUT", "/up", "Content-Length: 200001\r\n");
	client_send_bytes(other, pattern(3, 200000), 200000);
	edge_expect_stat("connections.open", 3);
	makes_room_after_seconds(1, 12);
	edge_expect_stat("connections.evicted", 2);
	edge_expect_stat("connections.too_slow", 0);
	client_send(well, "z");
	expect_answer(client_read(well, "PUT"), 200, "thanks");
	client_send(other, "z");
	expect_answer(client_read(other, "PUT"), 200, "thanks");
	client_close(down);
}

SCENARIO("at the limit of connections a request that is here is not taken for an idle connection")
{
	by_http_only();
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	edge_yaml("limits:\n  connections: 1\n");
	edge_start("--workers", "1");
	edge_pause(); /* then both are accepted in one turn */
	struct client *first = client_open(), *second = client_open();
	client_request(first, "GET", "/x", NULL);
	client_request(second, "GET", "/x", NULL);
	edge_resume();
	expect_answer(client_read(first, "GET"), 200, "hello");
	expect_status(client_read(second, "GET"), 503);
	edge_expect_stat("connections.evicted", 0);
}

SCENARIO("at the limit of connections one that was refused and does not go makes room at once")
{
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  connections: 1\n");
	edge_start("--workers", "1");
	struct client *c = client_open();
	client_request(c, "GET", "/x y", NULL);
	expect_status(client_read(c, "GET"), 400);
	expect_answer(get("/x"), 200, "hello");
	edge_expect_stat("connections.evicted", 1);
	edge_expect_stat("connections.refused", 0);
}

SCENARIO("where descriptors run out an idle connection makes room too, and the log says so once")
{
	enum { MORE = 20, ALL = 60 };
	origin_says("*", .body = "hello", .fields = "Cache-Control: max-age=600\r\n");
	edge_start("--workers", "1");
	get("/x");
	expect_hit(get("/x"));
	struct client *first = client_open();
	edge_wait_stat("connections.open", 1);
	unsigned used = 0;
	for (unsigned fd = 0; fd < 1000; fd++)
		used = access(text("/proc/%d/fd/%u", (int)edge_pid(), fd), F_OK) ? used : fd + 1;
	const struct rlimit few = {used + MORE, used + MORE};
	expect(prlimit(edge_pid(), RLIMIT_NOFILE, &few, NULL) == 0);
	for (int i = 0; i < ALL; i++) {
		struct client *c = client_open();
		client_request(c, "GET", "/x", NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	client_expect_closed(first);
	wait_until(edge_said("cannot accept"));
	expect(!strstr(strstr(edge_stderr(), "cannot accept") + 1, "cannot accept"));
}

SCENARIO("clients that reset while the origin hangs take nobody's place")
{
	struct barrier *never = barrier_new();
	origin_says("/hang", .body = "late", .hold_head = never,
		    .fields = "Cache-Control: no-store\r\n");
	origin_says("/x", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	edge_yaml("limits:\n  connections: 10\n");
	edge_start("--workers", "1");
	get("/x");
	double before = edge_stat("connections.closed");
	for (int round = 1; round <= 3; round++) {
		struct client *c[9];
		for (int i = 0; i < 9; i++) {
			c[i] = client_open();
			client_request(c[i], "GET", "/hang", NULL);
		}
		edge_wait_requests(1 + 9 * round + (round - 1));
		for (int i = 0; i < 9; i++)
			client_reset(c[i]);
		edge_wait_stat("connections.closed", before + 9 * round + (round - 1));
		expect_hit(get("/x"));
	}
	barrier_open(never);
}

SCENARIO(
	"fetches that wait for a connection to the origin, and whose clients are gone, never leave")
{
	enum { QUEUED = 20 };
	struct barrier *go = barrier_new();
	struct client *c[QUEUED];
	origin_says("/held", .body = "late", .hold_head = go,
		    .fields = "Cache-Control: no-store\r\n");
	origin_says("*", .body = "hello", .fields = "Cache-Control: no-store\r\n");
	edge_yaml("origins:\n  - url: %O\n    max_connections: 1\n");
	edge_start("--workers", "1");
	struct call *held = call_get("/held");
	barrier_arrivals(go, 1);
	for (int i = 0; i < QUEUED; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", text("/queued/%d", i), NULL);
	}
	edge_wait_requests(1 + QUEUED);
	double before = edge_stat("connections.closed");
	for (int i = 0; i < QUEUED; i++)
		client_reset(c[i]);
	edge_wait_stat("connections.closed", before + QUEUED);
	barrier_open(go);
	call_expect(held, 200, "late");
	expect_answer(get("/x"), 200, "hello"); /* behind all that were queued */
	origin_expect_requests(2);
}

SCENARIO("a client that stopped sending is waited for a little, then counts as gone")
{
	struct barrier *never = barrier_new();
	origin_says("/hang", .body = "late", .hold_head = never,
		    .fields = "Cache-Control: no-store\r\n");
	clock_hold();
	edge_start_yaml("timeouts:\n  half_close: 300ms\n");
	struct client *c = client_open();
	client_request(c, "GET", "/hang", NULL);
	client_half_close(c);
	origin_wait_requests(1);
	clock_advance(299);
	edge_expect_stat("connections.open", 1);
	clock_advance(TICK_MS);
	client_expect_closed(c);
	clock_advance(TICK_MS);
	edge_expect_stat("origin.active_fetches", 0); /* nobody waits for it any more */
	barrier_open(never);
}

SCENARIO("at the limit of connections, a client that stopped sending is the first to go")
{
	struct barrier *never = barrier_new();
	origin_says("/hang", .body = "late", .hold_head = never,
		    .fields = "Cache-Control: no-store\r\n");
	origin_says("/x", .body = "hello");
	edge_yaml("limits:\n  connections: 3\ntimeouts:\n  half_close: 1h\n");
	edge_start("--workers", "1");
	struct client *idle = client_open(), *gone = client_open(), *waits = client_open();
	client_request(idle, "GET", "/x", NULL);
	expect_answer(client_read(idle, "GET"), 200, "hello");
	client_request(waits, "GET", "/hang", NULL);
	client_request(gone, "GET", "/hang", NULL);
	client_half_close(gone);
	edge_wait_requests(3);
	expect_answer(get("/x"), 200, "hello");
	client_expect_closed(gone);
	client_request(idle, "GET", "/x", NULL);
	expect_answer(client_read(idle, "GET"), 200, "hello");
	barrier_open(never);
	expect_answer(client_read(waits, "GET"), 200, "late");
}

SCENARIO("one address has its share of connections, if the settings say so")
{
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  per_address: 5\n");
	edge_start("--workers", "2");
	struct client *c[5];
	for (int i = 0; i < 5; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", "/x", NULL);
		expect_answer(client_read(c[i], "GET"), 200, "hello");
	}
	struct answer a = try_ask("GET", "/x", NULL, NULL);
	expect_that(a.status == 503 || a.status == 0, "the sixth got %d", a.status);
	client_close(c[0]);
	wait_until(try_ask("GET", "/x", NULL, NULL).status == 200);
}

SCENARIO("a trusted forwarder has no share, and the other addresses keep theirs")
{
	origin_says("*", .body = "hello");
	edge_yaml("limits:\n  per_address: 3\nforwarded:\n  trust: [ \"127.0.0.2\" ]\n");
	edge_start("--workers", "2");
	client_from("127.0.0.2");
	for (int i = 0; i < 8; i++) {
		struct client *c = client_open();
		client_request(c, "GET", "/x", NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	client_from("127.0.0.3");
	for (int i = 0; i < 3; i++) {
		struct client *c = client_open();
		client_request(c, "GET", "/x", NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	struct answer a = try_ask("GET", "/x", NULL, NULL);
	expect_that(a.status == 503 || a.status == 0, "the fourth got %d", a.status);
	edge_expect_stat("connections.refused", 1);
}

SCENARIO("bodies sent byte by byte hold no connection to the origin")
{
	enum { DRIPS = 40 };
	origin_says("/up", .body = "thanks");
	origin_says("/x", .body = "hello", .fields = "Cache-Control: no-store\r\n");
	edge_yaml("origins:\n  - url: %O\n    max_connections: 4\n    connect_timeout: 2s\n");
	clock_hold();
	edge_start("--workers", "1");
	struct client *c[DRIPS];
	for (int i = 0; i < DRIPS; i++) {
		c[i] = client_open();
		client_request(c[i], "POST", "/up",
			       i % 2 ? "Content-Length: 30\r\n" : "Transfer-Encoding: chunked\r\n");
		client_send(c[i], i % 2 ? "0123456789" : "a\r\n0123456789\r\n");
	}
	edge_wait_requests(DRIPS);
	for (int i = 0; i < 10; i++)
		expect_answer(get("/x"), 200, "hello");
	origin_expect_requests(10);
	for (int i = 0; i < DRIPS; i++) {
		client_send(c[i], i % 2 ? "01234567890123456789" : "5\r\nabcde\r\n0\r\n\r\n");
		expect_answer(client_read(c[i], "POST"), 200, "thanks");
		expect_text(origin_last()->body,
			    i % 2 ? "012345678901234567890123456789" : "0123456789abcde");
	}
}

/* Sends one of the two drops after the other, every_ms of the proxy's between them, until it closes. How
 * many. */
static int
drops_until_closed(struct client *c, const char *const drops[2], int64_t every_ms)
{
	int n = 0;
	for (; !client_has_ended(c); n++) {
		client_send(c, drops[n % 2]);
		clock_advance(every_ms);
		expect_that(n < 1000, "still open after %d drops", n);
	}
	return n;
}

SCENARIO("an upload below the least rate is ended, however regularly its bytes come")
{
	origin_says("/up", .body = "thanks");
	clock_hold();
	edge_start_yaml("limits:\n  least_rate: 100KiB\ntimeouts:\n  body: 300ms\n");
	struct client *c = client_open();
	client_request(c, "PUT", "/up", "Content-Length: 1000000\r\n");
	client_send_bytes(c, pattern(3, 100000), 100000);
	origin_wait_requests(1);
	/* 100,000 bytes are enough for a second. */
	expect_between(drops_until_closed(c, (const char *[]){"a", "a"}, 100), 2, 20);
	expect(!origin_last()->whole);
	edge_wait_stat("connections.too_slow", 1);
}

SCENARIO("a reader below the least rate is ended, however regularly it takes a little")
{
	enum { BYTES = 64 << 20 };
	origin_says("/big", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = BYTES);
	clock_hold();
	edge_start_yaml("limits:\n  least_rate: 100MiB\ntimeouts:\n  send: 300ms\n");
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/big", NULL);
	expect_status(client_read_head(c), 200);
	char *got = malloc(BYTES);
	while (client_read_body(c, got, 16384) == 16384)
		clock_advance(10);
	edge_wait_stat("connections.too_slow", 1);
}

SCENARIO("a request line without a version is answered at its line end")
{
	clock_hold(); /* no limit of time ends it */
	edge_start();
	static const char *const lines[] = {"GET /\r\n", "GET / \r\n", "GET /x y\r\n",
					    "\x16\x03\x01\r\n", "\r\nGET /\r\n"};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		struct client *c = client_open();
		client_send(c, lines[i]);
		expect_status(client_try(c, "GET"), 400);
		client_expect_closed(c);
	}
	origin_expect_requests(0);
}

SCENARIO("a head that does not come in time: 408 or nothing, and closed")
{
	clock_hold();
	edge_start_yaml(TIMES);
	struct client *c = client_open();
	client_send(c, "GET /x HTTP/1.1\r\nHo");
	edge_wait_stat("connections.open", 1);
	clock_advance(999);
	edge_expect_stat("connections.open", 1);
	client_quiet(c);
	clock_advance(TICK_MS);
	struct answer a = client_try(c, "GET");
	expect_that(a.status == 408 || a.status == 0, "got %d", a.status);
	client_expect_closed(c);
	origin_expect_requests(0);
}

SCENARIO("a head that comes in drops is not saved by each drop")
{
	clock_hold();
	edge_start_yaml(TIMES);
	struct client *c = client_open();
	client_send(c, "GET /x HTTP/1.1\r\nX: ");
	edge_wait_stat("connections.open", 1);
	expect_int(drops_until_closed(c, (const char *[]){"a", "a"}, 100), 10);
	client_close(c);
}

SCENARIO("an idle connection is not saved by empty lines, in halves or whole")
{
	static const char *const drops[][2] = {{"\r", "\n"}, {"\r\n", "\r\n"}, {"\r\n\r", "\n"}};
	clock_hold();
	edge_start_yaml(TIMES);
	for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
		struct client *c = client_open();
		edge_wait_stat("connections.open", 1);
		expect_int(drops_until_closed(c, drops[i], 100), 10);
		client_close(c);
	}
}

SCENARIO("an idle connection is closed, one in use is not")
{
	origin_says("*", .body = "hello");
	clock_hold();
	edge_start_yaml(TIMES);
	struct client *c = client_open(), *silent = client_open();
	edge_wait_stat("connections.open", 2);
	clock_advance(600);
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	clock_advance(600);
	client_expect_closed(silent);
	edge_expect_stat("connections.open", 1);
	clock_advance(600);
	client_expect_closed(c);
}

SCENARIO("a body that stops coming: 408 or closed, and the origin's request is given up")
{
	origin_says("*", .body = "thanks");
	clock_hold();
	edge_start_yaml(TIMES);
	struct client *c = client_open();
	client_request(c, "POST", "/x", "Content-Length: 100\r\n");
	client_send(c, "some");
	edge_wait_requests(1);
	clock_advance(999);
	edge_expect_stat("connections.open", 1);
	client_quiet(c);
	clock_advance(TICK_MS);
	struct answer a = client_try(c, "POST");
	expect_that(a.status == 408 || a.status == 0, "got %d", a.status);
	client_expect_closed(c);
	if (origin_requests())
		expect(!origin_last()->whole);
}

/* A second after the other passes until the proxy gives the exchange on the origin's first connection up. */
static void
let_give_up(void)
{
	while (!origin_has_closed(0))
		clock_advance(1000);
}

SCENARIO("a client that takes nothing is given up, and the others are served meanwhile")
{
	origin_says("/big", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = 64 << 20);
	origin_says("/x", .body = "hello");
	clock_hold();
	edge_start_yaml(TIMES);
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/big", NULL);
	origin_wait_requests(1);
	expect_answer(get("/x"), 200, "hello");
	let_give_up();
	expect_answer(get("/x"), 200, "hello");
	size_t extra;
	expect(client_try_closed(c, KIT_FOREVER, &extra));
	expect_between((double)extra, 0, 63 << 20);
}

SCENARIO("a slow client that keeps taking is not given up")
{
	enum { BYTES = 16 << 20, MOST = 12 << 20, PIECE = 16384, TIMES_TAKEN = 10 };
	origin_says("/big", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = BYTES);
	clock_hold();
	edge_start_yaml(TIMES);
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/big", NULL);
	expect_status(client_read_head(c), 200);
	char *got = malloc(BYTES), *want = pattern(0, BYTES);
	size_t n = 0;
	for (int i = 0; i < TIMES_TAKEN; i++) {
		clock_settle();
		double before = edge_stat("bytes.to_clients");
		for (; edge_stat("bytes.to_clients") == before && n < MOST; n += PIECE) {
			expect_int((long long)client_read_body(c, got + n, PIECE), PIECE);
			clock_settle(); /* a worker that is slow would be taken for one that has no room */
		}
		clock_advance(400);
	}
	expect_int((long long)client_read_body(c, got + n, BYTES - n), (long long)(BYTES - n));
	expect(memcmp(got, want, BYTES) == 0);
}

/* Until the proxy has sent what the client's socket takes, and no more. */
static void
wait_until_it_stalls(void)
{
	double before = -1, now = 0;
	for (int same = 0; same<5; same = now> 0 && before == now ? same + 1 : 0) {
		before = now;
		clock_settle();
		now = edge_stat("bytes.to_clients");
	}
}

SCENARIO("a client that takes nothing is given up, also when its own body is whole only then")
{
	origin_says("/big", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = 64 << 20,
		    .early = true);
	clock_hold();
	edge_start_yaml("timeouts:\n  body: 5s\n  send: 500ms\n");
	struct client *c = client_open_narrow();
	client_request(c, "POST", "/big", "Content-Length: 100000\r\n");
	client_send_bytes(c, pattern(1, 99904), 99904); /* more than is gathered before */
	origin_wait_requests(1);
	wait_until_it_stalls();
	char rest[96] = {0};
	client_send_bytes(c, rest, sizeof rest);
	let_give_up();
	edge_wait_stat("connections.closed", 1);
}

/* ---- a process that stood still ------------------------------------------------------------- */

enum { PAUSED = 150 }; /* of each kind: more than one turn of the loop takes */

static void
stand_still(int64_t ms)
{
	int64_t until = clock_ms() + ms;
	clock_run(10000);
	wait_until(clock_ms() >= until);
	clock_hold();
	edge_resume();
}

SCENARIO("what had come while the process stood still is answered, whatever its clock says by then")
{
	struct client *begun[PAUSED], *idle[PAUSED], *body[PAUSED];
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	clock_hold();
	edge_start("--workers", "1");
	expect_answer(get("/x"), 200, "hello");
	for (int i = 0; i < PAUSED; i++) {
		begun[i] = client_open();
		client_send(begun[i], "GET /x HTTP/1.1\r\n");
		idle[i] = client_open();
		client_send(idle[i], "GET /x HTTP/1.1\r\nHost: example.com\r\n\r\n");
		expect_answer(client_read(idle[i], "GET"), 200, "hello");
		body[i] = client_open();
		client_send(
			body[i],
			"PUT /y HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100000\r\n\r\nabc");
	}
	clock_settle();
	edge_pause();
	for (int i = 0; i < PAUSED; i++) {
		client_send(begun[i], "Host: example.com\r\n\r\n");
		client_send(idle[i], "GET /x HTTP/1.1\r\nHost: example.com\r\n\r\n");
		client_send(body[i], text("%0*d", 99997, 0));
	}
	stand_still(200000);
	for (int i = 0; i < PAUSED; i++) {
		expect_answer(client_read(begun[i], "GET"), 200, "hello");
		expect_answer(client_read(idle[i], "GET"), 200, "hello");
		expect_answer(client_read(body[i], "PUT"), 200, "hello");
	}
}
