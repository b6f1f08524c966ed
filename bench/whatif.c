/* whatif.c - what does what-if (cache/ghost/whatif.h) cost for an event that it follows, in all its rows?
 *
 *	build/release/bench/whatif
 */
#include "proxy/cache/ghost/whatif.h"

#include <stdio.h>
#include <time.h>

enum { EVENTS = 300000 };

static double
cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Three quarters of the requests are for a tenth of the URLs. */
static struct ghost_event
draw(uint64_t *x, uint64_t urls, unsigned at)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	uint64_t url = (*x >> 33) % ((*x >> 62) ? urls / 10 + 1 : urls),
		 bytes = 2000 + url * 7919 % 30000;
	uint64_t key = (url + 1) * 0x9e3779b97f4a7c15u;
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	return (struct ghost_event){.key = key,
				    .url = key,
				    .record_bytes = bytes + 300,
				    .body_bytes = bytes,
				    .origin_bytes = bytes,
				    .now_s = 1000 + at / 10000,
				    .fresh_s = 1 << 30,
				    .deed = GHOST_FETCHED,
				    .sightings = 1,
				    .whole = true};
}

static void
measure(uint64_t urls)
{
	struct whatif *w = whatif_create(&(struct whatif_options){
		.ghost = {.disk_bytes = 512 << 20, .memory_bytes = 32 << 20},
		.memory = {
			.sightings = 2, .capacity = 1000000, .false_positives = 0.01, .seed = 1}});
	uint64_t x = 1;
	double begun = cpu_ns();
	for (unsigned i = 0; i < EVENTS; i++) {
		struct ghost_event e = draw(&x, urls, i);
		whatif_earn(w, EVENTS, 0); /* never too dear */
		whatif_see(w, &e);
	}
	printf("%6llu URLs: %4.0f ns\n", (unsigned long long)urls, (cpu_ns() - begun) / EVENTS);
	whatif_destroy(&w);
}

int
main(void)
{
	measure(1);
	measure(3000);
	measure(12000);
	return 0;
}
