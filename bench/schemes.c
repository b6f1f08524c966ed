/* schemes.c - do the ways to derive k places from one hash cost false positives?
 *
 *	make build/release/bench/schemes
 *	build/release/bench/schemes [keys] [seeds]
 *
 * Each scheme at so many keys, several seeds; the measured rate against the
 * exact (1 - (1 - 1/m)^(kn))^k, with the standard error of the comparison. Then the proxy's pair, both generations
 * full, and two pairs as in a cascade, the second for a quarter of the keys: are they wrong about a key independently,
 * though both take their places from one hash? There the theory is what a pair forecasts.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/kit.h"
#include "filter/family/bloom.h"
#include "filter/pair.h"
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

static struct twice_pair *
full_pair(const struct twice_seed *seed, uint64_t capacity, uint64_t from, double *forecast)
{
	struct twice_pair_options o = {.capacity = capacity, .false_positives = 0.01};
	struct twice_pair_stats is;
	struct twice_pair *p;
	if (twice_pair_create(&p, &o, 0) != 0)
		abort();
	for (uint64_t i = 0; i < 2 * capacity - 1; i++)
		twice_pair_record(p, key(seed, from + i));
	twice_pair_stats(p, &is);
	*forecast = is.estimated_fpr;
	return p;
}

/* Strangers that the first pair of a cascade knows, and those of them that the second one knows, too. */
static void
two_pairs(uint64_t keys, uint64_t salt, uint64_t hits[2], double theory[2])
{
	struct twice_seed seed;
	uint64_t random[4] = {salt, ~salt, salt * 5, 11};
	double each[2];
	twice_seed_init(&seed, random, sizeof(random));
	struct twice_pair *first = full_pair(&seed, keys, 0, &each[0]),
			  *second = full_pair(&seed, keys / 4, 2 * keys, &each[1]);
	for (uint64_t i = 3 * keys; i < 3 * keys + TRIES; i++) {
		struct twice_key_hash h = key(&seed, i);
		bool known = twice_pair_test(first, h) != TWICE_SIGHT_FIRST;
		hits[0] += known;
		hits[1] += known && twice_pair_test(second, h) != TWICE_SIGHT_FIRST;
	}
	theory[0] += each[0];
	theory[1] += each[0] * each[1];
	twice_pair_destroy(&first);
	twice_pair_destroy(&second);
}

static void
row(const char *name, const char *formula, double p, uint64_t hits, double tries)
{
	double is = (double)hits / tries;
	printf("| %-11s | %-24s | %.5f%% | %.5f%% | %+.2f%%  | %.2f%%  |\n", name, formula, 100 * p,
	       100 * is, 100 * (is / p - 1), 100 * sqrt((1 - p) / (p * tries)));
	fflush(stdout);
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
		row(twice_probe_word(shape.scheme), twice_probe_formula(shape.scheme), p, hits,
		    tries);
	}
	uint64_t hits[2] = {0};
	double theory[2] = {0};
	for (uint64_t salt = 1; salt <= seeds; salt++)
		two_pairs(keys, salt, hits, theory);
	row("pair", "3 in each of two words", theory[0] / (double)seeds, hits[0], tries);
	row("two pairs", "the same, of one hash", theory[1] / (double)seeds, hits[1], tries);
	return 0;
}
