/* bloom.h - the classic filter: all of a key's k bits set, or it was never added.
 *
 * [Burton H. Bloom: Space/Time Trade-offs in Hash Coding with Allowable
 * Errors, CACM 13(7), 1970, the second method.] How the k places come from
 * one hash is the probe's scheme.
 *
 * Answers   "not there" is certain, "there" is wrong with chance (X/m)^k.
 * Lifetime  create / destroy; load instead of create restores a saved one.
 * Threads   one writer at a time. The pair (pair.h) is for many.
 * Errors    create: NULL for an impossible shape or when memory is out.
 */
#ifndef TWICE_BLOOM_H
#define TWICE_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/family/estimate.h"
#include "filter/family/probe.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_bloom;

/* The smallest shape that holds so many keys at this false-positive rate. Of no keys, of a rate
 * that is not between 0 and 1, and of more than 2^48 bits: all zeros, which create refuses. */
struct twice_probe twice_bloom_shape(uint64_t keys, double fpr);

struct twice_bloom *twice_bloom_create(const struct twice_probe *shape);
void twice_bloom_destroy(struct twice_bloom **b);

/* Adds the key; says whether it was there already (or seemed to be). */
bool twice_bloom_add(struct twice_bloom *b, struct twice_key_hash h);
bool twice_bloom_has(const struct twice_bloom *b, struct twice_key_hash h);

/* Keys whose add answered "new"; after a set operation, the estimate from the ones. */
uint64_t twice_bloom_count(const struct twice_bloom *b);

uint64_t twice_bloom_ones(const struct twice_bloom *b);
struct twice_probe twice_bloom_probe(const struct twice_bloom *b);
size_t twice_bloom_memory(const struct twice_bloom *b);
size_t twice_bloom_shape_memory(const struct twice_probe *shape); /* the same, of one to come */

/* The chance, at this fill, that an absent key is found. */
double twice_bloom_fpr(const struct twice_bloom *b);

/* into becomes the filter of both sets' keys: exactly the one that all adds had made.
 * -1, and nothing done, when the two differ in shape. */
int twice_bloom_union(struct twice_bloom *into, const struct twice_bloom *other);

/* into keeps the bits set in both. Holds every common key; the other keys' bits that
 * coincide stay too, so its rate is above that of a filter of the common keys alone. */
int twice_bloom_intersection(struct twice_bloom *into, const struct twice_bloom *other);

/* Distinct keys of one; of either; of both. -1 when the two differ in shape. */
struct twice_estimate twice_bloom_estimate(const struct twice_bloom *b);
int twice_bloom_estimate_either(const struct twice_bloom *a, const struct twice_bloom *b,
				struct twice_estimate *e);
int twice_bloom_estimate_both(const struct twice_bloom *a, const struct twice_bloom *b,
			      struct twice_estimate *e);

int twice_bloom_save(const struct twice_bloom *b, const struct twice_snapshot_sink *to);
struct twice_bloom *twice_bloom_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
