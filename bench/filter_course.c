/* filter_course.c - the well-known course experiment on a server-side filter, with ours beside it.
 *
 * Sequential keys go in batches of 1,000 into a filter created for 100 keys at
 * 1% that grows by doubling, then as many absent keys are asked for; and
 * 500,000 keys into one reserved at 0.1%. The reported figures are of a
 * server behind a socket, ours are in process: times are not the same thing,
 * rates and bits are.
 *
 *	make build/release/bench/filter_course
 *-lxxhash -lm build/filter_course
 */
#include <stdlib.h>

#include "bench/kit.h"
#include "filter/bloom.h"
#include "filter/scalable.h"

#define BATCH 1000

struct course {
	const char *says;
	uint64_t keys;
	uint64_t reserved; /* keys the filter is created for */
	double fpr;
	double add_s, ask_s, false_percent; /* as reported */
};

/* clang-format off */
static const struct course courses[] = {
	{ "created for 100, grows",   1000,    100, 0.01,  0.0409, 0.0060, 1.4 },
	{ "created for 100, grows",  10000,    100, 0.01,  0.1389, 0.0628, 1.1 },
	{ "created for 100, grows", 100000,    100, 0.01,  0.5372, 0.4318, 1.419 }, /* printed 0.4190 */
	{ "reserved",               500000, 500000, 0.001, 1.9484, 2.2177, 0.0304 },
};
/* clang-format on */

static const struct filter_seed seed = {"a fixed seed, for a measurement that can be repeated"};

static struct key_hash
key(const char *prefix, uint64_t i)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%s:%llu", prefix, (unsigned long long)i);
	return key_hash_of(&seed, text, (size_t)n);
}

static void
add_batch(struct chain *c, uint64_t first)
{
	for (uint64_t i = first; i < first + BATCH; i++)
		chain_add(c, key("key", i));
}

static uint64_t
ask_batch(const struct chain *c, const char *prefix, uint64_t first)
{
	uint64_t found = 0;
	for (uint64_t i = first; i < first + BATCH; i++)
		found += chain_has(c, key(prefix, i));
	return found;
}

/* Reserved: one link of a chain, which is a plain filter. */
static struct chain *
filter_for(const struct course *e)
{
	if (e->reserved >= e->keys)
		return chain_create(&(struct chain_plan){e->reserved, e->fpr, 1, 1});
	return scalable_create(&(struct scalable_options){.keys = e->reserved, .fpr = e->fpr});
}

static void
run(const struct course *e)
{
	struct chain *c = filter_for(e);
	uint64_t lost = e->keys, wrong = 0;
	double t0 = bench_seconds();
	for (uint64_t i = 0; i < e->keys; i += BATCH)
		add_batch(c, i);
	double t1 = bench_seconds();
	for (uint64_t i = 0; i < e->keys; i += BATCH)
		wrong += ask_batch(c, "absent", i);
	double t2 = bench_seconds();
	for (uint64_t i = 0; i < e->keys; i += BATCH)
		lost -= ask_batch(c, "key", i);
	struct probe enough = bloom_shape(e->keys, e->fpr);
	printf("%-24s %8llu | %8.4f %8.4f %8.4f%% | %8.4f %8.4f %8.4f%% %6llu %5llu %5zu %7.2f %6.2f\n",
	       e->says, (unsigned long long)e->keys, e->add_s, e->ask_s, e->false_percent, t1 - t0,
	       t2 - t1, 100.0 * (double)wrong / (double)e->keys, (unsigned long long)wrong,
	       (unsigned long long)lost, chain_links(c),
	       8.0 * (double)chain_memory(c) / (double)e->keys,
	       8.0 * (double)chain_memory(c) / (double)enough.range);
	chain_destroy(&c);
}

int
main(int argc, char **argv)
{
	bench_head(argc, argv);
	printf("%-33s | reported               %5s | ours, in process\n", "", "");
	printf("%-24s %8s | %8s %8s %9s | %8s %8s %9s %6s %5s %5s %7s %6s\n", "filter", "keys",
	       "add s", "absent s", "false", "add s", "absent s", "false", "wrong", "lost", "links",
	       "bits/k", "x res.");
	for (size_t i = 0; i < sizeof(courses) / sizeof(*courses); i++)
		run(&courses[i]);
	printf("\nx res.: memory against a filter reserved for as many keys at the same rate.\n");
	return 0;
}
