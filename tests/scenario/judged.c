/* Whether the node is well: one judgement for `twice stats`, /stats and /healthz. */
#include "tests/kit/kit.h"

#include <jansson.h>
#include <signal.h>

#define FRESH "Cache-Control: max-age=600\r\n"

static struct answer
healthz(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return client_read(c, "GET");
}

static struct output
twice_stats(void)
{
	struct output o =
		program(edge_binary(), "stats", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0, "%s", o.err);
	return o;
}

/* The first line begins with one of these words, and says this too. */
static void
expect_first_line(const char *begins, const char *says)
{
	struct output o = twice_stats();
	char *line = strndup(o.out, strcspn(o.out, "\n"));
	expect_that(strncmp(line, begins, strlen(begins)) == 0 && strstr(line, says),
		    "%s... %s: %s", begins, says, o.out);
}

static void
ask_many(int n)
{
	for (int i = 0; i < n; i++)
		get(text("/%d", i));
}

SCENARIO("a node that is well is ok since its start, and says what comes")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start();
	ask_many(4);
	expect_first_line("ok since 20", "");
	struct output o = twice_stats();
	expect_that(strstr(o.out, "requests, last ") && strstr(o.out, "0.0% failed"), "%s", o.out);
	expect_that(strstr(o.out, "asked of origins"), "%s", o.out);
	expect_that(strstr(o.out, "\nSince the start\n"), "%s", o.out);
	expect_int((int)edge_stat("health.level"), 0);
	expect_answer(healthz(), 200, "ok\n");
}

SCENARIO("errors of the last minute make it degraded, then failing, and are over with the minute")
{
	clock_hold();
	origin_says("/bad", .status = 503);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start();
	clock_advance(1500);
	int began = (int)edge_stat("health.since_timestamp_s");
	ask_many(7);
	expect_int((int)edge_stat("health.level"), 0);
	for (int i = 0; i < 3; i++)
		get("/bad");
	clock_settle(); /* an answer is counted when it has been sent */
	expect_first_line("degraded since", "30% of the answers of the last minute are errors");
	expect((int)edge_stat("health.since_timestamp_s") > began);
	expect(edge_stat("last_minute.failed_ratio") > 0.29);
	expect(edge_stat("last_minute.failed_ratio") < 0.31);
	expect_int(
		(int)(edge_stat("last_minute.requests_per_s") * edge_stat("last_minute.seconds") +
		      0.5),
		10);
	expect_answer(healthz(), 200,
		      "degraded: 30% of the answers of the last minute are errors of 5xx\n");
	for (int i = 0; i < 5; i++)
		get("/bad");
	clock_settle();
	expect_first_line("failing since", "53% of the answers");
	expect_int(healthz().status, 200); /* it still has what it keeps */
	for (int s = 0; s < 62; s++)
		clock_advance(1000);
	expect_first_line("ok since", "");
	expect_answer(healthz(), 200, "ok\n");
	expect((int)edge_stat("health.since_timestamp_s") >= began + 58);
}

SCENARIO("a 504 that a client asked for is no failure")
{
	clock_hold();
	edge_start();
	clock_advance(1500);
	for (int i = 0; i < 9; i++)
		expect_status(get_with(text("/%d", i), "Cache-Control: only-if-cached\r\n"), 504);
	expect_first_line("ok since", "");
}

SCENARIO("an origin that is out is named to those who may see statistics, and to nobody else")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(
		"origins:\n  - url: %O\n    connect_timeout: 500ms\nforwarded:\n  trust: [ 127.0.0.1 ]\n");
	origin_dies();
	for (int i = 0; i < 6; i++)
		get_with(text("/%d", i), text("X-Forwarded-For: 10.1.%d.1\r\n", i));
	expect_first_line("failing since", text("the only server of origins fails: %s is failing "
						"(connect-failed)",
						origin_url()));
	struct answer a = healthz();
	expect_int(a.status, 200);
	expect_that(strncmp(a.body, "failing: ", 9) == 0 && !strstr(a.body, "http://"), "%s",
		    a.body);
}

SCENARIO("a reload that was refused is degraded until one is applied")
{
	edge_start_yaml("workers: 2\n");
	edge_rewrite("workers: two\n");
	edge_signal(SIGHUP);
	wait_until(edge_stat("configuration.reload_refused") > 0);
	expect_first_line("degraded since", "the last reload was refused");
	edge_rewrite("workers: 2\n");
	edge_signal(SIGHUP);
	wait_until(edge_stat("configuration.reload_refused") == 0);
	expect_first_line("ok since", "");
}

SCENARIO("--watch says what comes from one look to the next")
{
	edge_start();
	struct output o =
		program("sh", "-c",
			text("%s stats --watch --admin 127.0.0.1:%u | grep -m 1 'requests, now'",
			     edge_binary(), edge_admin_port()));
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "0.0/s 0.0% from the cache"), "%s", o.out);
}
