/* probe.h - one hash of a key -> the k places it has in a filter.
 *
 * The classic filters derive all their places from the key's two 64-bit
 * lanes; the scheme says how. All but the first take a start and a step and
 * differ in how the step grows [Kirsch, Mitzenmacher: Less Hashing, Same
 * Performance, 2006; Dillinger, Manolios: Bloom Filters in Probabilistic
 * Verification, 2004, for the enhanced one].
 *
 * Memory    none; the caller holds PROBE_MOST places.
 * Errors    none. probe_may says what a filter accepts at its door.
 */
#ifndef FILTER_PROBE_H
#define FILTER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/hash.h"

#define PROBE_MOST	  64  /* places per key; 2^-64 is less than anybody asks for */
#define PROBE_RANGE_LEAST 64u /* so that a step never laps its range */
#define PROBE_RANGE_MOST  (UINT64_C(1) << 48)

/* clang-format off */
#define PROBE_SCHEMES(X)                                           \
	/* name        word           the i-th place, mod range */ \
	X(INDEPENDENT, "independent", "hash_i")                    \
	X(DOUBLE,      "double",      "h1 + i*h2")                 \
	X(ENHANCED,    "enhanced",    "h1 + i*h2 + (i^3 - i)/6")   \
	X(QUADRATIC,   "quadratic",   "h1 + i*h2 + i*i")
/* clang-format on */

enum probe_scheme {
#define X(name, word, formula) PROBE_##name,
	PROBE_SCHEMES(X)
#undef X
		PROBE_SCHEME_COUNT
};

struct probe {
	uint64_t range; /* places are 0..range-1 */
	unsigned n;	/* places per key */
	enum probe_scheme scheme;
};

/* Is this something a filter can work with? */
bool probe_may(const struct probe *p);

/* The p->n places of the key, possibly with repeats. */
void probe_places(const struct probe *p, struct key_hash h, uint64_t place[PROBE_MOST]);

/* The same without repeats, for cells that count; returns how many are left. */
unsigned probe_distinct(const struct probe *p, struct key_hash h, uint64_t place[PROBE_MOST]);

/* Its name, and how it finds the i-th place. */
const char *probe_word(enum probe_scheme s);
const char *probe_formula(enum probe_scheme s);

#endif
