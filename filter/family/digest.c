/* digest.c - a bloom filter, its size and places chosen by bits per key. */
#include "filter/family/digest.h"

#include <math.h>
#include <stdlib.h>

#include "filter/family/bloom.h"
#include "filter/mix.h"
#include "filter/sizing.h"

struct twice_digest {
	struct twice_bloom *bits; /* owned */
};

enum { BITS_LEAST = 1, BITS_MOST = 64, PLACES_MOST = 16 };

/* ---- its shape ---- */

unsigned
twice_digest_places(double bits_per_key)
{
	unsigned best = 1;
	for (unsigned k = 2; k <= PLACES_MOST; k++)
		if (twice_sizing_fpr(bits_per_key, 1, k) < twice_sizing_fpr(bits_per_key, 1, best))
			best = k;
	return best;
}

static struct twice_probe
shape(uint64_t keys, double bits_per_key)
{
	double bits = fmax((double)keys * bits_per_key, TWICE_PROBE_RANGE_LEAST);
	bool may = bits_per_key >= BITS_LEAST && bits_per_key <= BITS_MOST &&
		   bits <= (double)TWICE_PROBE_RANGE_MOST;
	if (!may)
		return (struct twice_probe){0};
	return (struct twice_probe){.range = (uint64_t)bits,
				    .n = twice_digest_places(bits_per_key),
				    .scheme = TWICE_PROBE_ENHANCED};
}

/* Two lanes of bits that have nothing to do with each other. */
static struct twice_key_hash
lanes(uint64_t key)
{
	return (struct twice_key_hash){mix_bits(key + MIX_GOLDEN), mix_bits(~key)};
}

/* ---- the filter ---- */

static struct twice_digest *
of_bits(struct twice_bloom *bits)
{
	struct twice_digest *d = bits ? malloc(sizeof(*d)) : NULL;
	if (d)
		d->bits = bits;
	else
		twice_bloom_destroy(&bits);
	return d;
}

struct twice_digest *
twice_digest_create(uint64_t keys, double bits_per_key)
{
	struct twice_probe p = shape(keys, bits_per_key);
	return of_bits(twice_bloom_create(&p));
}

void
twice_digest_destroy(struct twice_digest **d)
{
	if (*d)
		twice_bloom_destroy(&(*d)->bits);
	free(*d);
	*d = NULL;
}

void
twice_digest_add(struct twice_digest *d, uint64_t key)
{
	twice_bloom_add(d->bits, lanes(key));
}

bool
twice_digest_has(const struct twice_digest *d, uint64_t key)
{
	return twice_bloom_has(d->bits, lanes(key));
}

uint64_t
twice_digest_count(const struct twice_digest *d)
{
	return twice_bloom_count(d->bits);
}

double
twice_digest_fpr(const struct twice_digest *d)
{
	return twice_bloom_fpr(d->bits);
}

size_t
twice_digest_memory(const struct twice_digest *d)
{
	return sizeof(*d) + twice_bloom_memory(d->bits);
}

size_t
twice_digest_save_bytes(uint64_t keys, double bits_per_key)
{
	uint64_t words = (shape(keys, bits_per_key).range + 63) / 64;
	return sizeof(struct twice_snapshot_head) + (size_t)(words + 1) * sizeof(uint64_t);
}

int
twice_digest_save(const struct twice_digest *d, const struct twice_snapshot_sink *to)
{
	return twice_bloom_save(d->bits, to);
}

struct twice_digest *
twice_digest_load(struct twice_snapshot_source *from)
{
	return of_bits(twice_bloom_load(from));
}

/* ---- the model ---- */

double
twice_digest_full_fpr(double bits_per_key)
{
	return twice_sizing_fpr(bits_per_key, 1, twice_digest_places(bits_per_key));
}

double
twice_digest_false_negatives(double fpr, double newer)
{
	return newer * (1 - fpr);
}

double
twice_digest_false_positives(double fpr, double gone)
{
	return fpr + gone * (1 - fpr);
}
