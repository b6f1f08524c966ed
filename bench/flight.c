/* flight.c - one body for many readers: how much bookkeeping does a byte cost?
 *
 *	flight [megabytes]
 *
 * Readers of one flight on one thread; each piece of 64 KiB is appended, its readers are woken, and
 * each reads it. No sockets: what is left is what the flight itself costs.
 */
#include "bench/kit.h"
#include "proxy/base/block.h"
#include "proxy/base/mailbox.h"
#include "proxy/base/mem.h"
#include "proxy/cache/flight/flight.h"

#include <stdlib.h>

enum { PIECE = 64 << 10 };

static void
on_wake(void *ctx)
{
	(void)ctx;
}

static void
read_on(struct flight_reader *r, uint64_t *at)
{
	const char *p;
	size_t n;
	struct block *b = NULL;
	while (flight_read(r, *at, &p, &n, &b) == FLIGHT_READY) {
		*at += n;
		block_unref(&b);
	}
	flight_done_until(r, *at);
}

static void
run(unsigned count, uint64_t bytes)
{
	static char data[PIECE];
	struct flights_options o = {
		.retain_bytes = 1 << 20, .window_bytes = 512 << 10, .total_bytes = 64 << 20};
	struct flights *all = flights_create(&o);
	struct flight_reader **readers = mem_zalloc(count * sizeof(*readers));
	uint64_t *at = mem_zalloc(count * sizeof(*at)), total = 0;
	struct mailbox box;
	mailbox_init(&box);
	for (unsigned i = 0; i < count; i++)
		flights_enter(all, (struct twice_key_hash){1, 2}, STR("k"), &box, on_wake, NULL, 0,
			      &readers[i]);
	struct flight *f = flight_ref(flight_of(readers[0]));
	struct flight_head h = {.status = 200, .body_bytes = UINT64_MAX};
	flight_publish(f, &h);
	double began = bench_seconds();
	while (total < bytes) {
		struct block *b;
		uint32_t where, got;
		if (flight_append(f, data, PIECE, 0, &b, &where, &got))
			total += got;
		mailbox_run(&box, true);
		for (unsigned i = 0; i < count; i++)
			read_on(readers[i], &at[i]);
	}
	double s = bench_seconds() - began;
	printf("%6u readers: %8.1f MB/s of body, %6.0f ns for each reader and piece\n", count,
	       (double)total / 1e6 / s, 1e9 * s / ((double)total / PIECE * count));
	flight_end(f, NULL);
	flights_close(f);
	for (unsigned i = 0; i < count; i++)
		flight_leave(&readers[i]);
	mailbox_run(&box, true);
	flight_unref(&f);
	flights_destroy(&all);
	mailbox_fini(&box);
	free(readers);
	free(at);
}

int
main(int argc, char **argv)
{
	uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 64) << 20;
	bench_head(argc, argv);
	run(1, bytes);
	run(10, bytes);
	run(1000, bytes / 4);
	run(4000, bytes / 16);
	return 0;
}
