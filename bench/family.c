/* family.c - every kind of filter of the library, side by side: bits, time and errors.
 *
 *	make build/release/bench/family
 *	build/release/bench/family [KEYS]	1000000
 *
 * Each is made for so many keys at 1% and filled; then as many absent ones are asked for. The kinds
 * take turns in every round; a figure is the median, in CPU time of the thread. Hashing a key is
 * not counted: it is the same for all (bench/filter.c has it).
 */
#include <stdlib.h>

#include "bench/kit.h"
#include "filter/family/blocked.h"
#include "filter/family/bloom.h"
#include "filter/family/bloomier.h"
#include "filter/family/cells.h"
#include "filter/family/counting.h"
#include "filter/family/dynamic.h"
#include "filter/family/retouched.h"
#include "filter/family/scalable.h"
#include "filter/family/stable.h"
#include "filter/mix.h"
#include "filter/pair.h"

enum { ROUNDS = 5 };

static uint64_t n = 1000000;
static volatile uint64_t sink;

static struct twice_key_hash
key(uint64_t i)
{
	return (struct twice_key_hash){mix_bits(2 * i), mix_bits(2 * i + 1)};
}

static double
cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct result {
	double add_ns, absent_ns, bits, found;
};

/* Makes f, adds n keys, asks for n others. */
#define MEASURE(make, add, has, memory, destroy)                                             \
	do {                                                                                 \
		make;                                                                        \
		double made = cpu_seconds();                                                 \
		for (uint64_t i = 0; i < n; i++) {                                           \
			struct twice_key_hash h = key(i);                                    \
			(void)h;                                                             \
			add;                                                                 \
		}                                                                            \
		double added = cpu_seconds();                                                \
		uint64_t found = 0;                                                          \
		for (uint64_t i = 0; i < n; i++) {                                           \
			struct twice_key_hash h = key((UINT64_C(1) << 40) + i);              \
			found += has;                                                        \
		}                                                                            \
		double asked = cpu_seconds();                                                \
		sink = found;                                                                \
		r = (struct result){                                                         \
			(added - made) / (double)n * 1e9, (asked - added) / (double)n * 1e9, \
			8.0 * (double)(memory) / (double)n, (double)found / (double)n};      \
		destroy;                                                                     \
	} while (0)

static size_t
pair_memory(const struct twice_pair *p)
{
	struct twice_pair_stats s;
	twice_pair_stats(p, &s);
	return s.memory_bytes;
}

/* The previous generation is full too. */
static struct twice_pair *
pair_make(void)
{
	struct twice_pair *p = NULL;
	if (twice_pair_create(&p, &(struct twice_pair_options){n, 0.01, 0}, 0) != 0)
		exit(1);
	for (uint64_t i = 0; i < n; i++)
		twice_pair_record(p, key((UINT64_C(1) << 41) + i));
	return p;
}

static struct result
run_pair(void)
{
	struct result r;
	struct twice_pair *p;
	MEASURE(p = pair_make(), twice_pair_record(p, h),
		twice_pair_test(p, h) != TWICE_SIGHT_FIRST, pair_memory(p), twice_pair_destroy(&p));
	return r;
}

static struct result
run_blocked(void)
{
	struct result r;
	struct twice_blocked *f;
	MEASURE(f = twice_blocked_create(n, 0.01), twice_blocked_add(f, h), twice_blocked_has(f, h),
		twice_blocked_memory(f), twice_blocked_destroy(&f));
	return r;
}

static struct result
run_bloom(void)
{
	struct result r;
	struct twice_probe shape = twice_bloom_shape(n, 0.01);
	struct twice_bloom *f;
	MEASURE(f = twice_bloom_create(&shape), twice_bloom_add(f, h), twice_bloom_has(f, h),
		twice_bloom_memory(f), twice_bloom_destroy(&f));
	return r;
}

static struct result
run_cells(void)
{
	struct result r;
	struct twice_cells_shape shape = twice_cells_shape(n, 0.01);
	struct twice_cells *f;
	MEASURE(f = twice_cells_create(&shape), twice_cells_add(f, h), twice_cells_has(f, h),
		twice_cells_memory(f), twice_cells_destroy(&f));
	return r;
}

static struct result
run_counting(void)
{
	struct result r;
	struct twice_probe shape = twice_bloom_shape(n, 0.01);
	struct twice_counting *f;
	MEASURE(f = twice_counting_create(&shape, TWICE_COUNTING_PLAIN), twice_counting_add(f, h),
		twice_counting_has(f, h), twice_counting_memory(f), twice_counting_destroy(&f));
	return r;
}

static struct result
run_dynamic(void)
{
	struct result r;
	struct twice_chain *f;
	MEASURE(f = twice_dynamic_create(n / 4, 0.0025), twice_chain_add(f, h),
		twice_chain_has(f, h), twice_chain_memory(f), twice_chain_destroy(&f));
	return r;
}

static struct result
run_scalable(void)
{
	struct result r;
	struct twice_scalable_options o = {.keys = n / 1000, .fpr = 0.01};
	struct twice_chain *f;
	MEASURE(f = twice_scalable_create(&o), twice_chain_add(f, h), twice_chain_has(f, h),
		twice_chain_memory(f), twice_chain_destroy(&f));
	return r;
}

static struct result
run_stable(void)
{
	struct result r;
	struct twice_stable_shape shape = twice_stable_shape_for(n, 0.95, 0.01);
	struct twice_stable *f;
	MEASURE(f = twice_stable_create(&shape, 1), twice_stable_add(f, h), twice_stable_has(f, h),
		twice_stable_memory(f), twice_stable_destroy(&f));
	return r;
}

static struct result
run_retouched(void)
{
	struct result r;
	struct twice_probe shape = twice_bloom_shape(n, 0.01);
	struct twice_retouched *f;
	MEASURE(f = twice_retouched_create(&shape, 1), twice_retouched_add(f, h),
		twice_retouched_has(f, h), twice_retouched_memory(f), twice_retouched_destroy(&f));
	return r;
}

/* Built as a whole: its "add" is its share of that. Values of one bit, and six and a half of check:
 * 1 in 128. */
static struct result
run_bloomier(void)
{
	struct result r;
	struct twice_bloomier *f;
	struct twice_bloomier_pair *all = malloc(n * sizeof(*all));
	for (uint64_t i = 0; all && i < n; i++)
		all[i] = (struct twice_bloomier_pair){key(i), i & 1};
	double began = cpu_seconds();
	f = twice_bloomier_build(all, n, 1, 7);
	double built = (cpu_seconds() - began) / (double)n * 1e9;
	MEASURE(, , twice_bloomier_has(f, h), twice_bloomier_memory(f), twice_bloomier_destroy(&f));
	r.add_ns = built;
	free(all);
	return r;
}

/* clang-format off */
static const struct {
	const char *word;
	struct result (*run)(void);
} kinds[] = {
	{ "pair",      run_pair },
	{ "blocked",   run_blocked },
	{ "bloom",     run_bloom },
	{ "cells",     run_cells },
	{ "counting",  run_counting },
	{ "dynamic",   run_dynamic },
	{ "scalable",  run_scalable },
	{ "stable",    run_stable },
	{ "retouched", run_retouched },
	{ "bloomier",  run_bloomier },
};
/* clang-format on */

enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double
median(double v[ROUNDS])
{
	qsort(v, ROUNDS, sizeof(*v), by_size);
	return v[ROUNDS / 2];
}

int
main(int argc, char **argv)
{
	static double add[KINDS][ROUNDS], absent[KINDS][ROUNDS];
	struct result last[KINDS];

	bench_head(argc, argv);
	if (argc > 1)
		n = strtoull(argv[1], NULL, 10);
	for (int round = 0; round < ROUNDS; round++)
		for (int k = 0; k < KINDS; k++) {
			last[k] = kinds[k].run();
			add[k][round] = last[k].add_ns;
			absent[k][round] = last[k].absent_ns;
		}
	printf("%llu keys at 1%%\n%-10s %14s %10s %10s %10s\n", (unsigned long long)n, "kind",
	       "bits per key", "add ns", "absent ns", "false");
	for (int k = 0; k < KINDS; k++)
		printf("%-10s %14.1f %10.1f %10.1f %9.2f%%\n", kinds[k].word, last[k].bits,
		       median(add[k]), median(absent[k]), 100 * last[k].found);
	return 0;
}
