/* histogram.h - how often a number was how large, in buckets of four to each doubling.
 *
 * So a quantile is right to within an eighth, from 1 to 2^41: microseconds of 25 days, or bytes of
 * 2 TiB. More falls into the last bucket. A bucket holds what is above its lower bound, up to and
 * with its upper one, so that powers of two are bounds as Prometheus wants them ("le").
 *
 * Cost      of histogram_add: about a dozen instructions, two lines of memory.
 * Threads   add only from the thread that owns it; the rest from any. A reader sees each number
 *           whole, not all at one instant.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 160 };

struct histogram { /* zeroed: nothing was added */
	_Atomic uint64_t sum, n[HISTOGRAM_BUCKETS];
};

static inline unsigned
histogram_bucket(uint64_t v)
{
	uint64_t below = v - (v > 0);
	if (below < 4)
		return (unsigned)below;
	unsigned doubling = 63 - (unsigned)__builtin_clzll(below);
	unsigned i = 4 * (doubling - 1) + ((below >> (doubling - 2)) & 3);
	return i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1;
}

/* A relaxed load and store, not a locked add: one writer. */
static inline void
histogram_raise(_Atomic uint64_t *n, uint64_t by)
{
	uint64_t v = atomic_load_explicit(n, memory_order_relaxed);
	atomic_store_explicit(n, v + by, memory_order_relaxed);
}

static inline void
histogram_add(struct histogram *h, uint64_t v)
{
	histogram_raise(&h->n[histogram_bucket(v)], 1);
	histogram_raise(&h->sum, v);
}

/* Several have counted this together. */
struct histogram_sum {
	uint64_t sum, count, n[HISTOGRAM_BUCKETS];
};

void histogram_sum_add(struct histogram_sum *to, const struct histogram *from);
/* Subtracts `before`. What went meanwhile, with one of several that were summed up, is not told from
 * nothing. */
void histogram_sum_since(const struct histogram_sum *now, const struct histogram_sum *before,
			 struct histogram_sum *out);
/* A share (0 to 1) of all is not above the quantile; 0 when there is nothing. */
double histogram_quantile(const struct histogram_sum *h, double share);
/* How many are not above 2^doubling. */
uint64_t histogram_up_to(const struct histogram_sum *h, unsigned doubling);

#endif
