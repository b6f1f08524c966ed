/* Normal tools under normal load agree that nothing fails. */
#include "tests/kit/kit.h"

SCENARIO("h2load over HTTP/1.1: every request succeeds")
{
	by_http_only();
	needs("h2load");
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = 3000);
	clock_hold(); /* nobody asks beside the first one for an answer that is late */
	edge_start();
	struct output o = program("h2load", "--h1", "-n", "20000", "-c", "20", "-t", "1",
				  text("http://127.0.0.1:%u/a", edge_port()),
				  text("http://127.0.0.1:%u/b", edge_port()));
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "20000 succeeded, 0 failed"), "%s", o.out);
	edge_expect_stat("requests.total", 20000);
	expect_between(origin_requests(), 2, 2);
	char *said = strstr(o.out, "finished in");
	note("%.*s", (int)(said ? strcspn(said, "\n") : 0), said ? said : "");
}

static double
kinds(void)
{
	return edge_stat("requests.ram_hits") + edge_stat("requests.disk_hits") +
	       edge_stat("requests.misses") + edge_stat("requests.passed");
}

SCENARIO("the sum of the kinds of answers is the number of requests")
{
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .body = "x");
	edge_start();
	for (int i = 0; i < 100; i++)
		get(text("/%d", i % 30));
	for (int i = 0; i < 10; i++)
		ask("POST", "/p", NULL, "x");
	edge_expect_stat("requests.total", 110);
	wait_until(kinds() >= 110); /* a request is of a kind when it has ended */
	expect_int((long long)kinds(), 110);
	edge_expect_stat("requests.passed", 10);
	edge_expect_stat("requests.misses", 30);
	edge_expect_stat("origin.requests", 40);
	origin_expect_requests(40);
}
