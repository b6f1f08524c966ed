/* hash_equal.h - do two hashes stand for the same key?
 *
 * For the rooms of this repository: it is not installed.
 */
#ifndef FILTER_HASH_EQUAL_H
#define FILTER_HASH_EQUAL_H

#include "filter/hash.h"

#include <stdbool.h>

static inline bool
key_hash_equal(struct twice_key_hash a, struct twice_key_hash b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

#endif
