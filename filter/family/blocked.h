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
#ifndef FILTER_BLOCKED_H
#define FILTER_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/seal.h"

struct blocked;

/* keys from 1 to 2^30, a rate from 1e-6 to 0.5. */
struct blocked *blocked_create(uint64_t keys, double fpr);
void blocked_destroy(struct blocked **b);

/* Adds the key; says whether it was there already (or seemed to be). */
bool blocked_add(struct blocked *b, struct key_hash h);
bool blocked_has(const struct blocked *b, struct key_hash h);
void blocked_prefetch(const struct blocked *b, struct key_hash h);

/* Keys whose add answered "new"; after a union, the estimate from the ones. */
uint64_t blocked_count(const struct blocked *b);

uint64_t blocked_ones(const struct blocked *b);
size_t blocked_memory(const struct blocked *b);

/* At this fill: the chance that an absent key is found; distinct keys, infinity when all
 * bits are ones. */
double blocked_fpr(const struct blocked *b);
double blocked_estimate(const struct blocked *b);

/* into becomes the filter of both sets' keys. -1, and nothing done, when the two were not
 * created alike. */
int blocked_union(struct blocked *into, const struct blocked *other);

int blocked_save(const struct blocked *b, const struct seal_sink *to);
struct blocked *blocked_load(struct seal_source *from);

#endif
