/* How fast it is by the machine's clock: wide bounds, which a pause or a busy machine can break all the
 * same. So nothing depends on them: `make test-slow` tells.
 */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("a restart after kill -9 takes no five seconds")
{
	enum { N = 200, BYTES = 40000 };
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_kill9();
	int64_t begun = kit_now_ms();
	edge_restart();
	expect_status(get("/o/0"), 200);
	expect_between((double)(kit_now_ms() - begun), 0, 5000);
	note("it took %lld ms", (long long)(kit_now_ms() - begun));
}

SCENARIO("beside idle and slow clients no request takes a second")
{
	enum { IDLE = 300, SLOW = 100, REQUESTS = 1000 };
	struct client *idle[IDLE], *slow[SLOW];
	by_http_only();
	origin_says("/x", .fields = FRESH, .body = "hello");
	origin_says("/big", .fields = FRESH, .pattern_bytes = 1 << 20);
	edge_start_yaml("timeouts:\n  header: 10m\n  idle: 10m\n  send: 10m\n");
	for (int i = 0; i < IDLE; i++) {
		idle[i] = client_open();
		client_request(idle[i], "GET", "/x", NULL);
		expect_answer(client_read(idle[i], "GET"), 200, "hello");
	}
	for (int i = 0; i < SLOW; i++) {
		slow[i] = client_open_narrow();
		client_request(slow[i], "GET", "/big", NULL);
	}
	edge_wait_requests(IDLE + SLOW);
	int64_t worst = 0;
	for (int i = 0; i < REQUESTS; i++) {
		char sip[16];
		int64_t begun = kit_now_ms();
		expect_answer(get("/x"), 200, "hello");
		worst = kit_now_ms() - begun > worst ? kit_now_ms() - begun : worst;
		client_read_body(slow[i % SLOW], sip, sizeof sip);
	}
	expect_between((double)worst, 0, 1000);
	note("the slowest of %d requests took %lld ms", REQUESTS, (long long)worst);
}
