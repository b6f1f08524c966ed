/* Many idle and slow connections beside normal traffic: the normal client sees no failure, and an
 * idle connection takes little memory. TWICE_LONG=1: 10,000 idle and 2,000 slow ones,
 * else 1,000 and 200; fewer where RLIMIT_NOFILE is low.
 */
#include "tests/kit/kit.h"

#include <sys/resource.h>

SCENARIO_IN(240, "idle and slow connections beside normal traffic")
{
	by_http_only();
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	int idle_n = kit_long() ? 10000 : 1000, slow_n = kit_long() ? 2000 : 200;
	while ((rlim_t)(idle_n + slow_n + 300) > r.rlim_cur)
		idle_n = idle_n * 9 / 10, slow_n = slow_n * 9 / 10;
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	origin_says("/big", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = 1 << 20);
	edge_start_yaml("timeouts:\n  header: 10m\n  idle: 10m\n  send: 10m\n");
	get("/x");
	get("/x");
	get("/big");
	get("/big");
	double before = (double)edge_rss_bytes();
	struct client **idle = calloc((size_t)idle_n, sizeof *idle),
		      **slow = calloc((size_t)slow_n, sizeof *slow);
	for (int i = 0; i < idle_n; i++) {
		idle[i] = client_open();
		client_request(idle[i], "GET", "/x", NULL);
		expect_answer(client_read(idle[i], "GET"), 200, "hello");
	}
	double per_idle = ((double)edge_rss_bytes() - before) / idle_n;
	if (!edge_is_sanitized())
		expect_between(per_idle, -1e9, 8192);
	for (int i = 0; i < slow_n; i++) {
		slow[i] = i % 2 ? client_open_narrow() : client_open();
		/* One half never finishes its request, the other takes a
		 * big answer in small sips. */
		if (i % 2)
			client_request(slow[i], "GET", "/big", NULL);
		else
			client_send(slow[i], "GET /x HTTP/1.1\r\nHost: a\r\nX-Slow: ");
	}
	/* The burst of a thousand big answers goes into the kernel's buffers first. */
	double last = -1, now = edge_stat("bytes.to_clients");
	for (int quiet = 0; quiet < 25; quiet = now == last ? quiet + 1 : 0) {
		last = now;
		kit_pause();
		now = edge_stat("bytes.to_clients");
	}
	double with_slow = (double)edge_rss_bytes() - before;
	int64_t worst = 0;
	for (int round = 0; round < 2000; round++) {
		int64_t start = kit_now_ms();
		expect_answer(get("/x"), 200, "hello");
		int64_t took = kit_now_ms() - start;
		worst = took > worst ? took : worst;
		struct client *c = slow[round % slow_n];
		char sip[16];
		if (round % slow_n % 2)
			client_read_body(c, sip, sizeof sip);
		else
			client_send(c, "a");
	}
	note("%d idle: %.0f bytes each; with %d slow ones: %.1f MiB more; slowest of 2,000 normal requests: %lld ms",
	     idle_n, per_idle, slow_n, with_slow / 1048576, (long long)worst);
	/* All of them are still served. */
	for (int i = 0; i < idle_n; i += 7) {
		client_request(idle[i], "GET", "/x", NULL);
		expect_answer(client_read(idle[i], "GET"), 200, "hello");
	}
	for (int i = 0; i < slow_n; i += 2) {
		client_send(slow[i], "\r\n\r\n");
		expect_answer(client_read(slow[i], "GET"), 200, "hello");
	}
	expect_between(edge_stat("origin.requests"), 2, 3); /* /big twice, if RAM did not keep it */
}
