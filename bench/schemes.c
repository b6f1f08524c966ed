/* schemes.c - do the ways to derive k places from one hash cost false positives?
 *
 *	make build/release/bench/schemes
 *	build/release/bench/schemes [keys] [seeds]
 *
 * Each scheme at so many keys, several seeds; the measured rate against the
 * exact (1 - (1 - 1/m)^(kn))^k, with the standard error of the comparison.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/kit.h"
#include "filter/family/bloom.h"
#include "filter/sizing.h"

#define TRIES 10000000 /* per seed */

static struct twice_key_hash
key(const struct twice_seed *seed, uint64_t i)
{
	return twice_key_hash_of(seed, &i, sizeof(i));
}

/* False positives of one filter. */
static uint64_t
one(const struct twice_probe *shape, uint64_t keys, uint64_t salt)
{
	struct twice_seed seed;
	uint64_t hits = 0, random[4] = {salt, ~salt, salt * 3, 7};
	twice_seed_init(&seed, random, sizeof(random));
	struct twice_bloom *b = twice_bloom_create(shape);
	for (uint64_t i = 0; i < keys; i++)
		twice_bloom_add(b, key(&seed, i));
	for (uint64_t i = keys; i < keys + TRIES; i++)
		hits += twice_bloom_has(b, key(&seed, i));
	twice_bloom_destroy(&b);
	return hits;
}

int
main(int argc, char **argv)
{
	uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 5;
	struct twice_probe shape = twice_bloom_shape(keys, 0.01);
	double p = twice_sizing_fpr_exact((double)shape.range, (double)keys, shape.n);
	double tries = (double)seeds * TRIES;
	bench_head(argc, argv);
	printf("| scheme      | place i                  | theory   | measured | differs | +-     |\n"
	       "|---|---|---:|---:|---:|---:|\n");
	for (unsigned s = 0; s < TWICE_PROBE_SCHEME_COUNT; s++) {
		uint64_t hits = 0;
		shape.scheme = (enum twice_probe_scheme)s;
		for (uint64_t salt = 1; salt <= seeds; salt++)
			hits += one(&shape, keys, salt);
		double is = (double)hits / tries;
		printf("| %-11s | %-24s | %.5f%% | %.5f%% | %+.2f%%  | %.2f%%  |\n",
		       twice_probe_word(shape.scheme), twice_probe_formula(shape.scheme), 100 * p,
		       100 * is, 100 * (is / p - 1), 100 * sqrt((1 - p) / (p * tries)));
		fflush(stdout);
	}
	return 0;
}
