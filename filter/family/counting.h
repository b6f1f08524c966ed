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
#ifndef FILTER_COUNTING_H
#define FILTER_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/family/probe.h"
#include "filter/family/seal.h"

#define COUNTING_MOST 15 /* what a cell can hold: "so many or more" */

struct counting;

enum counting_update { COUNTING_PLAIN, COUNTING_CONSERVATIVE };

/* The shape is bloom_shape's: a cell for a bit. */
struct counting *counting_create(const struct probe *shape, enum counting_update update);
void counting_destroy(struct counting **c);

/* Adds the key once more; says how often it was there before. */
unsigned counting_add(struct counting *c, struct key_hash h);

/* How often the key was added, as far as the cells know: 0..COUNTING_MOST. */
unsigned counting_times(const struct counting *c, struct key_hash h);
bool counting_has(const struct counting *c, struct key_hash h);

/* Makes the key at least so often there: a count carried over from elsewhere.
 * Says how often it was there before. Only conservative filters: elsewhere
 * the key could not leave again. */
unsigned counting_raise(struct counting *c, struct key_hash h, unsigned times);

/* Takes the key out once; says whether it was there. Removing a key that was
 * never added takes others' bits: false positives become false negatives.
 * Conservative filters refuse. */
bool counting_remove(struct counting *c, struct key_hash h);

uint64_t counting_count(const struct counting *c); /* distinct keys held */
size_t counting_memory(const struct counting *c);
double counting_fpr(const struct counting *c);
double counting_fill(const struct counting *c); /* share of cells in use */

/* The sum of both: cell by cell, up to 15. -1 when they differ in shape or update. */
int counting_merge(struct counting *into, const struct counting *other);

int counting_save(const struct counting *c, const struct seal_sink *to);
struct counting *counting_load(struct seal_source *from);

#endif
