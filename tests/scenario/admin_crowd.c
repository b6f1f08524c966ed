/* A crowd at the admin server. */
#include "tests/kit/kit.h"

#include <unistd.h>

enum { CROWD = 200, PLACES = 64 };

SCENARIO("connections to the admin server that ask for nothing give way to one that asks")
{
	struct client *crowd[CROWD];
	edge_start();
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = client_open_to(edge_admin_port());
		client_send(crowd[i], "GET /stats HT");
	}
	struct client *c = client_open_to(edge_admin_port());
	client_request(c, "GET", "/healthz", "");
	expect_int(client_read(c, "GET").status, 200);
	for (int i = 0; i <= CROWD - PLACES; i++) /* first come, first gone */
		client_expect_closed(crowd[i]);
	for (int i = CROWD - PLACES + 1; i < CROWD; i++) { /* the others are still there */
		client_send(crowd[i], "TP/1.1\r\nHost: localhost\r\n\r\n");
		expect_int(client_read(crowd[i], "GET").status, 200);
		client_close(crowd[i]);
	}
}

SCENARIO("without descriptors the admin server does not spin, and who came is served later")
{
	clock_hold();
	edge_start();
	clock_settle(); /* nobody is about to close a file */
	edge_let_open(false);
	struct client *c = client_open_to(edge_admin_port());
	client_request(c, "GET", "/healthz", "");
	wait_until(edge_said("Too many open files"));
	double before_s = edge_cpu_s();
	int64_t then = kit_now_ms();
	wait_until(kit_now_ms() > then + 1000); /* in which it would say so thousands of times */
	expect_int(edge_times_said("Too many open files"), 1);
	expect_that(edge_cpu_s() - before_s < 0.5, "it took %.1f s", edge_cpu_s() - before_s);
	edge_let_open(true);
	clock_run(10);
	expect_int(client_read(c, "GET").status, 200);
	struct client *next = client_open_to(edge_admin_port());
	client_request(next, "GET", "/healthz", "");
	expect_int(client_read(next, "GET").status, 200);
}
