/* The test's own clock: the proxy lives by it, and by nothing else. */
#include "tests/kit/kit.h"

#include <signal.h>

static void
begin(void)
{
	origin_says("*", .fields = "Cache-Control: max-age=100\r\n", .body = "hello");
	edge_start_yaml("admission: { sightings: 1 }\ntimeouts: { idle: 5s, header: 60s }\n");
}

/* How many seconds the answer for /x, kept since a first request, is old. */
static int
age(void)
{
	struct answer a = get("/x");
	expect_hit(a);
	const char *s = field(a, "Age");
	expect(s);
	return atoi(s);
}

/* Stands still for longer than its kernel's clocks need to move. */
static void
pause_proxy(void)
{
	edge_pause();
	for (int64_t end = kit_now_ms() + 1200; kit_now_ms() < end;)
		kit_pause();
	edge_resume();
}

SCENARIO("a clock that is held stands still, whatever the machine's does")
{
	clock_hold();
	begin();
	int64_t then = clock_ms();
	expect_status(get("/x"), 200);
	double up = edge_stat("uptime_s");
	pause_proxy();
	expect_int(age(), 0);
	expect_int((long long)(edge_stat("uptime_s") * 1000), (long long)(up * 1000));
	expect_int(clock_ms(), then);
}

SCENARIO("an answer ages by what the clock is advanced, to the second")
{
	clock_hold();
	begin();
	expect_status(get("/x"), 200);
	clock_advance(3000);
	expect_int(age(), 3);
	clock_advance(96999);
	expect_int(age(), 99);
	expect_hit(get("/x"));
	clock_advance(1000);
	expect_miss(get("/x"));
	origin_expect_requests(2);
}

SCENARIO("an idle connection is closed when the clock says so, and not before")
{
	clock_hold();
	begin();
	struct client *c = client_open();
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	edge_wait_stat("requests.total", 1);
	clock_advance(4000);
	pause_proxy();
	client_quiet(c);
	edge_expect_stat("connections.closed", 0);
	clock_advance(3000);
	client_expect_closed(c);
}

SCENARIO("a clock that runs makes an answer age by itself, and fast if it is told so")
{
	clock_hold();
	origin_says("/x", .fields = "Cache-Control: max-age=100000\r\n", .body = "hello");
	begin();
	expect_status(get("/x"), 200);
	clock_run(100);
	wait_until(age() >= 3);
	clock_hold();
	int then = age();
	expect_int(age(), then);
}

SCENARIO("the proxies beside and the next process live by the same clock")
{
	clock_hold();
	begin();
	origin_says("/y", .fields = "Cache-Control: max-age=1000\r\n", .body = "hello");
	unsigned port = edge_beside("listen: [ \"127.0.0.1:0\" ]\nadmin: \"127.0.0.1:0\"\n"
				    "origins: [ { url: %O } ]\nadmission: { sightings: 1 }\n"
				    "cache: { dir: %D/other, disk: 64MiB, memory: 8MiB }\n");
	struct client *c = client_open_to(port);
	client_request(c, "GET", "/y", NULL);
	expect_status(client_read(c, "GET"), 200);
	clock_advance(500000);
	client_close(c);
	c = client_open_to(port);
	client_request(c, "GET", "/y", NULL);
	expect_text(field(client_read(c, "GET"), "Age"), "500");
	edge_restart();
	int64_t then = clock_ms();
	expect_status(get("/y"), 200);
	clock_advance(7000);
	expect_text(field(get("/y"), "Age"), "7");
	expect_int(clock_ms(), then + 7000);
}
