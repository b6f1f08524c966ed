/* counting.h - four-bit cells instead of bits: keys can leave, and sightings can be counted.
 *
 * [Fan, Cao, Almeida, Broder: Summary Cache, 1998.] A cell that reached 15
 * has lost count: it stays there, so that no key that is in is ever lost.
 *
 * Conservative filters raise only the smallest of a key's cells [Estan,
 * Varghese: New Directions in Traffic Measurement, 2002]: far better counts,
 * but a key cannot leave them.
 *
 * Answers   how often a key was added: never too few (up to 15), too many
 *           with about the chance of a Bloom filter of as many cells.
 * Threads   one writer at a time.
 * Errors    create: NULL. remove: false, and nothing done, for an absent key.
 */
#ifndef TWICE_COUNTING_H
#define TWICE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/family/probe.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TWICE_COUNTING_MOST 15 /* what a cell can hold: "so many or more" */

struct twice_counting;

enum twice_counting_update { TWICE_COUNTING_PLAIN, TWICE_COUNTING_CONSERVATIVE };

/* The shape is twice_bloom_shape's: a cell for a bit. */
struct twice_counting *
twice_counting_create(const struct twice_probe *shape, enum twice_counting_update update);
void twice_counting_destroy(struct twice_counting **c);

/* Adds the key once more; says how often it was there before. */
unsigned twice_counting_add(struct twice_counting *c, struct twice_key_hash h);

/* How often the key was added, as far as the cells know: 0..TWICE_COUNTING_MOST. */
unsigned twice_counting_times(const struct twice_counting *c, struct twice_key_hash h);
bool twice_counting_has(const struct twice_counting *c, struct twice_key_hash h);

/* Makes the key at least so often there: a count carried over from elsewhere.
 * Says how often it was there before. Only conservative filters: elsewhere
 * the key could not leave again. */
unsigned twice_counting_raise(struct twice_counting *c, struct twice_key_hash h, unsigned times);

/* Takes the key out once; says whether it was there. Removing a key that was
 * never added takes others' bits: false positives become false negatives.
 * Conservative filters refuse. */
bool twice_counting_remove(struct twice_counting *c, struct twice_key_hash h);

uint64_t twice_counting_count(const struct twice_counting *c); /* distinct keys held */
size_t twice_counting_memory(const struct twice_counting *c);
double twice_counting_fpr(const struct twice_counting *c);
double twice_counting_fill(const struct twice_counting *c); /* share of cells in use */

/* The sum of both: cell by cell, up to 15. -1 when they differ in shape or update. */
int twice_counting_merge(struct twice_counting *into, const struct twice_counting *other);

int twice_counting_save(const struct twice_counting *c, const struct twice_snapshot_sink *to);
struct twice_counting *twice_counting_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
