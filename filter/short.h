/* short.h - the library's names without their prefix, for the rooms of this repository.
 *
 * Programs elsewhere may know another `bloom_add` or `struct key_hash`, so everything that the
 * library exports begins with twice_. In this repository the short names are unambiguous.
 * This header is not installed; new code may use the long names.
 */
#ifndef FILTER_SHORT_H
#define FILTER_SHORT_H

/* clang-format off */
#define key_bytes   twice_key_bytes
#define key_hash    twice_key_hash
#define key_hash_of twice_key_hash_of

#define filter_seed             twice_seed
#define filter_seed_fingerprint twice_seed_fingerprint
#define filter_seed_init        twice_seed_init

#define pair_create   twice_pair_create
#define pair_destroy  twice_pair_destroy
#define pair_load     twice_pair_load
#define pair_merge    twice_pair_merge
#define pair_number   twice_pair_number
#define pair_options  twice_pair_options
#define pair_prefetch twice_pair_prefetch
#define pair_record   twice_pair_record
#define pair_rotate   twice_pair_rotate
#define pair_save     twice_pair_save
#define pair_stats    twice_pair_stats
#define pair_test     twice_pair_test
#define pair_tick     twice_pair_tick
#define pair_try_rotate twice_pair_try_rotate

#define memory_create   twice_filter_create
#define memory_destroy  twice_filter_destroy
#define memory_kind     twice_filter_kind
#define memory_kind_for twice_filter_kind_for
#define memory_kind_of  twice_filter_kind_of
#define memory_load     twice_filter_load
#define memory_may      twice_filter_may
#define memory_options  twice_filter_options
#define memory_place    twice_filter_place
#define memory_prefetch twice_filter_prefetch
#define memory_record   twice_filter_record
#define memory_save     twice_filter_save
#define memory_sight    twice_filter_sight
#define memory_stats    twice_filter_stats
#define memory_test     twice_filter_test
#define memory_tick     twice_filter_tick
#define memory_word     twice_filter_word

#define seal_sink   twice_snapshot_sink
#define seal_source twice_snapshot_source

#define SIGHT_FIRST     TWICE_SIGHT_FIRST
#define SIGHT_CURRENT   TWICE_SIGHT_CURRENT
#define SIGHT_PREVIOUS  TWICE_SIGHT_PREVIOUS
#define MEMORY_PAIR     TWICE_FILTER_PAIR
#define MEMORY_COUNTING TWICE_FILTER_COUNTING
#define MEMORY_STABLE   TWICE_FILTER_STABLE
#define MEMORY_SCALABLE TWICE_FILTER_SCALABLE

/* clang-format on */

#include "filter/hash.h"

#include <stdbool.h>

static inline bool
key_hash_equal(struct key_hash a, struct key_hash b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

#endif
