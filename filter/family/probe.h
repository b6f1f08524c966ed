/* probe.h - one hash of a key -> the k places it has in a filter.
 *
 * The classic filters derive all their places from the key's two 64-bit
 * lanes; the scheme says how. All but the first take a start and a step and
 * differ in how the step grows [Kirsch, Mitzenmacher: Less Hashing, Same
 * Performance, 2006; Dillinger, Manolios: Bloom Filters in Probabilistic
 * Verification, 2004, for the enhanced one].
 *
 * Memory    none; the caller holds TWICE_PROBE_MOST places.
 * Errors    none. twice_probe_may says what a filter accepts at its door.
 */
#ifndef TWICE_PROBE_H
#define TWICE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TWICE_PROBE_MOST	64  /* places per key; 2^-64 is less than anybody asks for */
#define TWICE_PROBE_RANGE_LEAST 64u /* so that a step never laps its range */
#define TWICE_PROBE_RANGE_MOST	(UINT64_C(1) << 48)

/* clang-format off */
#define TWICE_PROBE_SCHEMES(X)                                           \
	/* name        word           the i-th place, mod range */ \
	X(INDEPENDENT, "independent", "hash_i")                    \
	X(DOUBLE,      "double",      "h1 + i*h2")                 \
	X(ENHANCED,    "enhanced",    "h1 + i*h2 + (i^3 - i)/6")   \
	X(QUADRATIC,   "quadratic",   "h1 + i*h2 + i*i")
/* clang-format on */

enum twice_probe_scheme {
#define X(name, word, formula) TWICE_PROBE_##name,
	TWICE_PROBE_SCHEMES(X)
#undef X
		TWICE_PROBE_SCHEME_COUNT
};

struct twice_probe {
	uint64_t range; /* places are 0..range-1 */
	unsigned n;	/* places per key */
	enum twice_probe_scheme scheme;
};

/* Is this something a filter can work with? */
bool twice_probe_may(const struct twice_probe *p);

/* The p->n places of the key, possibly with repeats. */
void twice_probe_places(const struct twice_probe *p, struct twice_key_hash h,
			uint64_t place[TWICE_PROBE_MOST]);

/* The same without repeats, for cells that count; returns how many are left. */
unsigned twice_probe_distinct(const struct twice_probe *p, struct twice_key_hash h,
			      uint64_t place[TWICE_PROBE_MOST]);

/* Its name, and how it finds the i-th place. */
const char *twice_probe_word(enum twice_probe_scheme s);
const char *twice_probe_formula(enum twice_probe_scheme s);

#ifdef __cplusplus
}
#endif

#endif
