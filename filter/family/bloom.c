#include "filter/family/bloom.h"

#include <math.h>
#include <stdlib.h>

#include "filter/family/counters.h"

struct twice_bloom {
	struct twice_counters counters;
};

struct twice_bloom *
twice_bloom_create(const struct twice_probe *shape)
{
	struct twice_bloom *b = calloc(1, sizeof(*b));
	if (b && twice_counters_init(&b->counters, shape, 1))
		twice_bloom_destroy(&b);
	return b;
}

void
twice_bloom_destroy(struct twice_bloom **b)
{
	if (*b)
		twice_counters_fini(&(*b)->counters);
	free(*b);
	*b = NULL;
}

bool
twice_bloom_add(struct twice_bloom *b, struct twice_key_hash h)
{
	uint64_t place[TWICE_PROBE_MOST], before = b->counters.used;
	twice_probe_places(&b->counters.probe, h, place);
	for (unsigned i = 0; i < b->counters.probe.n; i++)
		twice_counters_put(&b->counters, place[i], 1);
	b->counters.keys += b->counters.used != before;
	return b->counters.used == before;
}

bool
twice_bloom_has(const struct twice_bloom *b, struct twice_key_hash h)
{
	return twice_counters_least(&b->counters, h);
}

uint64_t
twice_bloom_count(const struct twice_bloom *b)
{
	return b->counters.keys;
}

uint64_t
twice_bloom_ones(const struct twice_bloom *b)
{
	return b->counters.used;
}

struct twice_probe
twice_bloom_probe(const struct twice_bloom *b)
{
	return b->counters.probe;
}

size_t
twice_bloom_memory(const struct twice_bloom *b)
{
	return twice_bloom_shape_memory(&b->counters.probe);
}

size_t
twice_bloom_shape_memory(const struct twice_probe *shape)
{
	return sizeof(struct twice_bloom) + (size_t)twice_packed_bytes(shape->range, 1);
}

double
twice_bloom_fpr(const struct twice_bloom *b)
{
	return twice_counters_fpr(&b->counters);
}

static uint64_t
word_count(const struct twice_bloom *b)
{
	return twice_counters_memory(&b->counters) / sizeof(uint64_t);
}

int
twice_bloom_union(struct twice_bloom *into, const struct twice_bloom *other)
{
	if (!twice_counters_alike(&into->counters, &other->counters))
		return -1;
	for (uint64_t w = 0; w < word_count(into); w++)
		into->counters.cells.words[w] |= other->counters.cells.words[w];
	twice_counters_recount(&into->counters);
	return 0;
}

int
twice_bloom_intersection(struct twice_bloom *into, const struct twice_bloom *other)
{
	if (!twice_counters_alike(&into->counters, &other->counters))
		return -1;
	for (uint64_t w = 0; w < word_count(into); w++)
		into->counters.cells.words[w] &= other->counters.cells.words[w];
	twice_counters_recount(&into->counters);
	return 0;
}

struct twice_estimate
twice_bloom_estimate(const struct twice_bloom *b)
{
	return twice_estimate_keys(b->counters.probe.range, b->counters.probe.n, b->counters.used);
}

static uint64_t
ones_of_either(const struct twice_bloom *a, const struct twice_bloom *b)
{
	uint64_t ones = 0;
	const uint64_t *x = a->counters.cells.words, *y = b->counters.cells.words;
	for (uint64_t w = 0; w < word_count(a); w++)
		ones += (uint64_t)__builtin_popcountll(x[w] | y[w]);
	return ones;
}

int
twice_bloom_estimate_either(const struct twice_bloom *a, const struct twice_bloom *b,
			    struct twice_estimate *e)
{
	if (!twice_counters_alike(&a->counters, &b->counters))
		return -1;
	*e = twice_estimate_keys(a->counters.probe.range, a->counters.probe.n,
				 ones_of_either(a, b));
	return 0;
}

int
twice_bloom_estimate_both(const struct twice_bloom *a, const struct twice_bloom *b,
			  struct twice_estimate *e)
{
	if (!twice_counters_alike(&a->counters, &b->counters))
		return -1;
	struct twice_estimate_pair p = {.bits = a->counters.probe.range,
					.hashes = a->counters.probe.n,
					.ones_a = a->counters.used,
					.ones_b = b->counters.used,
					.ones_either = ones_of_either(a, b)};
	*e = twice_estimate_both(&p);
	return 0;
}

int
twice_bloom_save(const struct twice_bloom *b, const struct twice_snapshot_sink *to)
{
	return twice_counters_save(&b->counters, to, TWICE_SNAPSHOT_BLOOM,
				   (uint64_t[TWICE_COUNTERS_OWN]){0});
}

struct twice_bloom *
twice_bloom_load(struct twice_snapshot_source *from)
{
	uint64_t own[TWICE_COUNTERS_OWN];
	struct twice_bloom *b = twice_snapshot_room(from, sizeof(*b));
	if (b && twice_counters_load(&b->counters, from, TWICE_SNAPSHOT_BLOOM, 1, own))
		twice_bloom_destroy(&b);
	return b;
}

/* Bits that n keys need when each sets k of them: from p = (1 - e^(-kn/m))^k. */
static double
bits_for(double keys, double fpr, unsigned k)
{
	return -keys * k / log1p(-pow(fpr, 1.0 / k));
}

struct twice_probe
twice_bloom_shape(uint64_t keys, double fpr)
{
	double n = (double)keys;
	unsigned k = 1;
	while (k < TWICE_PROBE_MOST && bits_for(n, fpr, k + 1) < bits_for(n, fpr, k))
		k++;
	double bits = fmax(ceil(bits_for(n, fpr, k)), TWICE_PROBE_RANGE_LEAST);
	/* Out of reach, or nonsense: a shape that create refuses. */
	if (keys == 0 || !(bits <= (double)TWICE_PROBE_RANGE_MOST) || !(fpr > 0 && fpr < 1))
		return (struct twice_probe){0};
	return (struct twice_probe){
		.range = (uint64_t)bits, .n = k, .scheme = TWICE_PROBE_ENHANCED};
}
