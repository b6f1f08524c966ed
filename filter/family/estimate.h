/* estimate.h - how many keys made these ones? Cardinality from the fill of Bloom filters.
 *
 * n* = -(m/k) ln(1 - X/m) [Swamidass, Baldi: Mathematical Correction for
 * Fingerprint Similarity Measures, 2007]. Its standard error follows from the
 * occupancy of random boxes by the delta method: sqrt(m (e^l - 1 - l)) / k
 * with l = k n / m; so do the covariances that the overlap's error needs.
 *
 * Answers   for the classic filter, whose k bits may lie anywhere. Blocked
 *           filters crowd their bits and are estimated slightly low.
 * Errors    none. Saturated, or an overlap that cannot be told because the
 *           union is: infinity, never NaN. Impossible counts count as full; of a filter
 *           without bits or hashes nothing can be told: infinity.
 */
#ifndef TWICE_ESTIMATE_H
#define TWICE_ESTIMATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct twice_estimate {
	double keys;
	double error; /* one standard error */
};

/* One filter of so many bits and hashes, of which ones are set. */
struct twice_estimate twice_estimate_keys(uint64_t bits, unsigned hashes, uint64_t ones);

/* Ones of two filters of the same shape, and of the two OR-ed. */
struct twice_estimate_pair {
	uint64_t bits;
	unsigned hashes;
	uint64_t ones_a, ones_b, ones_either;
};

/* Keys in both: n(A) + n(B) - n(A u B); at least 0. */
struct twice_estimate twice_estimate_both(const struct twice_estimate_pair *p);

/* The chance that an absent key is found now: (X/m)^k. */
double twice_estimate_fpr(uint64_t bits, unsigned hashes, uint64_t ones);

#ifdef __cplusplus
}
#endif

#endif
