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
#ifndef FILTER_BLOOM_H
#define FILTER_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/family/estimate.h"
#include "filter/family/probe.h"
#include "filter/family/seal.h"

struct bloom;

/* The smallest shape that holds so many keys at this false-positive rate. */
struct probe bloom_shape(uint64_t keys, double fpr);

struct bloom *bloom_create(const struct probe *shape);
void bloom_destroy(struct bloom **b);

/* Adds the key; says whether it was there already (or seemed to be). */
bool bloom_add(struct bloom *b, struct key_hash h);
bool bloom_has(const struct bloom *b, struct key_hash h);

/* Keys whose add answered "new"; after a set operation, the estimate from the ones. */
uint64_t bloom_count(const struct bloom *b);

uint64_t bloom_ones(const struct bloom *b);
struct probe bloom_probe(const struct bloom *b);
size_t bloom_memory(const struct bloom *b);
size_t bloom_shape_memory(const struct probe *shape); /* the same, of one to come */

/* The chance, at this fill, that an absent key is found. */
double bloom_fpr(const struct bloom *b);

/* into becomes the filter of both sets' keys: exactly the one that all adds had made.
 * -1, and nothing done, when the two differ in shape. */
int bloom_union(struct bloom *into, const struct bloom *other);

/* into keeps the bits set in both. Holds every common key; the other keys' bits that
 * coincide stay too, so its rate is above that of a filter of the common keys alone. */
int bloom_intersection(struct bloom *into, const struct bloom *other);

/* Distinct keys of one; of either; of both. -1 when the two differ in shape. */
struct estimate bloom_estimate(const struct bloom *b);
int bloom_estimate_either(const struct bloom *a, const struct bloom *b, struct estimate *e);
int bloom_estimate_both(const struct bloom *a, const struct bloom *b, struct estimate *e);

int bloom_save(const struct bloom *b, const struct seal_sink *to);
struct bloom *bloom_load(struct seal_source *from);

#endif
