/* blocked.h - one Bloom filter, one cache line per key.
 *
 * [F. Putze, P. Sanders, J. Singler: Cache-, Hash- and Space-Efficient Bloom Filters,
 * JEA 14, 2009.] A key sets bits in two of the eight words of one 64-byte line: one
 * access to memory, at most two locked operations.
 *
 * Answers   "not there" is certain; "there" is wrong with the rate asked for when `keys`
 *           keys are in. 5% more bits than a classic filter at 1%.
 * Lifetime  create / destroy; load instead of create restores a saved one.
 * Threads   add, has, count from any, without locks: of several that add the same new
 *           key one is told that it was new. The rest one at a time.
 * Errors    create: NULL for options out of range or when memory is out.
 */
#ifndef TWICE_BLOCKED_H
#define TWICE_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_blocked;

/* keys from 1 to 2^30, a rate from 1e-6 to 0.5. */
struct twice_blocked *twice_blocked_create(uint64_t keys, double fpr);
void twice_blocked_destroy(struct twice_blocked **b);

/* Adds the key; says whether it was there already (or seemed to be). */
bool twice_blocked_add(struct twice_blocked *b, struct twice_key_hash h);
bool twice_blocked_has(const struct twice_blocked *b, struct twice_key_hash h);
void twice_blocked_prefetch(const struct twice_blocked *b, struct twice_key_hash h);

/* Keys whose add answered "new"; after a union, the estimate from the ones. */
uint64_t twice_blocked_count(const struct twice_blocked *b);

uint64_t twice_blocked_ones(const struct twice_blocked *b);
size_t twice_blocked_memory(const struct twice_blocked *b);

/* At this fill: the chance that an absent key is found; distinct keys, infinity when all
 * bits are ones. */
double twice_blocked_fpr(const struct twice_blocked *b);
double twice_blocked_estimate(const struct twice_blocked *b);

/* into becomes the filter of both sets' keys. -1, and nothing done, when the two were not
 * created alike. */
int twice_blocked_union(struct twice_blocked *into, const struct twice_blocked *other);

int twice_blocked_save(const struct twice_blocked *b, const struct twice_snapshot_sink *to);
struct twice_blocked *twice_blocked_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
