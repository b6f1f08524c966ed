/* A crowd at the admin server. */
#include "tests/kit/kit.h"

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
