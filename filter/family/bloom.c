#include "filter/family/bloom.h"

#include <math.h>
#include <stdlib.h>

#include "filter/family/grid.h"

struct bloom {
	struct grid grid;
};

struct bloom *
bloom_create(const struct probe *shape)
{
	struct bloom *b = calloc(1, sizeof(*b));
	if (b && grid_init(&b->grid, shape, 1))
		bloom_destroy(&b);
	return b;
}

void
bloom_destroy(struct bloom **b)
{
	if (*b)
		grid_fini(&(*b)->grid);
	free(*b);
	*b = NULL;
}

bool
bloom_add(struct bloom *b, struct key_hash h)
{
	uint64_t place[PROBE_MOST], before = b->grid.used;
	probe_places(&b->grid.probe, h, place);
	for (unsigned i = 0; i < b->grid.probe.n; i++)
		grid_put(&b->grid, place[i], 1);
	b->grid.keys += b->grid.used != before;
	return b->grid.used == before;
}

bool
bloom_has(const struct bloom *b, struct key_hash h)
{
	return grid_least(&b->grid, h);
}

uint64_t
bloom_count(const struct bloom *b)
{
	return b->grid.keys;
}

uint64_t
bloom_ones(const struct bloom *b)
{
	return b->grid.used;
}

struct probe
bloom_probe(const struct bloom *b)
{
	return b->grid.probe;
}

size_t
bloom_memory(const struct bloom *b)
{
	return bloom_shape_memory(&b->grid.probe);
}

size_t
bloom_shape_memory(const struct probe *shape)
{
	return sizeof(struct bloom) + (size_t)packed_bytes(shape->range, 1);
}

double
bloom_fpr(const struct bloom *b)
{
	return grid_fpr(&b->grid);
}

static uint64_t
word_count(const struct bloom *b)
{
	return grid_memory(&b->grid) / sizeof(uint64_t);
}

int
bloom_union(struct bloom *into, const struct bloom *other)
{
	if (!grid_alike(&into->grid, &other->grid))
		return -1;
	for (uint64_t w = 0; w < word_count(into); w++)
		into->grid.cells.words[w] |= other->grid.cells.words[w];
	grid_recount(&into->grid);
	return 0;
}

int
bloom_intersection(struct bloom *into, const struct bloom *other)
{
	if (!grid_alike(&into->grid, &other->grid))
		return -1;
	for (uint64_t w = 0; w < word_count(into); w++)
		into->grid.cells.words[w] &= other->grid.cells.words[w];
	grid_recount(&into->grid);
	return 0;
}

struct estimate
bloom_estimate(const struct bloom *b)
{
	return estimate_keys(b->grid.probe.range, b->grid.probe.n, b->grid.used);
}

static uint64_t
ones_of_either(const struct bloom *a, const struct bloom *b)
{
	uint64_t ones = 0;
	const uint64_t *x = a->grid.cells.words, *y = b->grid.cells.words;
	for (uint64_t w = 0; w < word_count(a); w++)
		ones += (uint64_t)__builtin_popcountll(x[w] | y[w]);
	return ones;
}

int
bloom_estimate_either(const struct bloom *a, const struct bloom *b, struct estimate *e)
{
	if (!grid_alike(&a->grid, &b->grid))
		return -1;
	*e = estimate_keys(a->grid.probe.range, a->grid.probe.n, ones_of_either(a, b));
	return 0;
}

int
bloom_estimate_both(const struct bloom *a, const struct bloom *b, struct estimate *e)
{
	if (!grid_alike(&a->grid, &b->grid))
		return -1;
	struct estimate_pair p = {.bits = a->grid.probe.range,
				  .hashes = a->grid.probe.n,
				  .ones_a = a->grid.used,
				  .ones_b = b->grid.used,
				  .ones_either = ones_of_either(a, b)};
	*e = estimate_both(&p);
	return 0;
}

int
bloom_save(const struct bloom *b, const struct seal_sink *to)
{
	return grid_save(&b->grid, to, SEAL_BLOOM, (uint64_t[GRID_OWN]){0});
}

struct bloom *
bloom_load(struct seal_source *from)
{
	uint64_t own[GRID_OWN];
	struct bloom *b = seal_room(from, sizeof(*b));
	if (b && grid_load(&b->grid, from, SEAL_BLOOM, 1, own))
		bloom_destroy(&b);
	return b;
}

/* Bits that n keys need when each sets k of them: from p = (1 - e^(-kn/m))^k. */
static double
bits_for(double keys, double fpr, unsigned k)
{
	return -keys * k / log1p(-pow(fpr, 1.0 / k));
}

struct probe
bloom_shape(uint64_t keys, double fpr)
{
	double n = (double)keys;
	unsigned k = 1;
	while (k < PROBE_MOST && bits_for(n, fpr, k + 1) < bits_for(n, fpr, k))
		k++;
	double bits = fmax(ceil(bits_for(n, fpr, k)), PROBE_RANGE_LEAST);
	/* Out of reach, or nonsense: a shape that create refuses. */
	if (!(bits <= (double)PROBE_RANGE_MOST) || !(fpr > 0 && fpr < 1))
		return (struct probe){0};
	return (struct probe){.range = (uint64_t)bits, .n = k, .scheme = PROBE_ENHANCED};
}
