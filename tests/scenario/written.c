/* The disk is given more than the objects: indexes, footers, purges, snapshots. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { URLS = 1600, BYTES = 10000 };

static void
ask_for_all(void)
{
	struct client *c = client_open();
	for (int i = 0; i < URLS; i++) {
		client_request(c, "GET", text("/page/%d", i), "");
		expect_status(client_read(c, "GET"), 200);
	}
	client_close(c);
}

SCENARIO("what is written is at most a twentieth more than what is admitted")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	clock_hold(); /* what is gathered is written from time to time, full or not */
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 1MiB\n");
	ask_for_all();
	ask_for_all();
	edge_wait_stat("disk.admitted_bytes", (double)URLS * BYTES);
	clock_advance(3000); /* by now all of it is */
	edge_expect_stat("disk.pending_bytes", 0);
	double more = edge_stat("disk.write_amplification");
	note("%.0f bytes admitted, %.0f written", edge_stat("disk.admitted_bytes"),
	     edge_stat("disk.written_bytes"));
	expect_that(more >= 1 && more <= 1.05, "%.3f bytes are written for each that is admitted",
		    more);
}
