/* stable.h - forgets at random at a fixed rate, so it never fills up.
 *
 * [Deng, Rafiei: Approximately Detecting Duplicates for Streaming Data using
 * Stable Bloom Filters, SIGMOD 2006.] Every add first takes 1 from P cells in
 * a row, starting at random, and then sets the key's K cells to their maximum.
 * The share of zeros settles at (1 / (1 + 1/(P (1/K - 1/m))))^Max, the
 * stable point, and so does the false-positive rate.
 *
 * Answers   "there" is wrong with at most twice_stable_fpr; "not there" is wrong
 *           too, the more often the longer ago: twice_stable_recall says how often.
 * Threads   one writer at a time.
 * Errors    create: NULL. No merge: two ages of a cell have no sum.
 */
#ifndef TWICE_STABLE_H
#define TWICE_STABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TWICE_STABLE_WIDTH_MOST 8

struct twice_stable;

struct twice_stable_shape {
	uint64_t cells;
	unsigned width;	     /* d: bits of a cell; Max = 2^d - 1 */
	unsigned probes;     /* K */
	uint64_t decrements; /* P */
};

/* P for a wanted rate, rounded up so that the rate is a bound; 0: cannot be reached. */
uint64_t twice_stable_decrements(const struct twice_stable_shape *s, double fpr);

/* The fewest bits that still know so large a share of the keys seen window adds ago. All zeros,
 * which create refuses, where no shape can, and for shares that are not between 0 and 1. */
struct twice_stable_shape twice_stable_shape_for(uint64_t window, double recall, double fpr);

double twice_stable_point(const struct twice_stable_shape *s); /* share of zeros in the long run */
double twice_stable_fpr(const struct twice_stable_shape *s);   /* (1 - twice_stable_point)^K */
double twice_stable_recall(const struct twice_stable_shape *s, double adds_ago);

/* seed: where the row of random starts begins. */
struct twice_stable *twice_stable_create(const struct twice_stable_shape *shape, uint64_t seed);
void twice_stable_destroy(struct twice_stable **s);

/* Says whether the key was there, and refreshes it. */
bool twice_stable_add(struct twice_stable *s, struct twice_key_hash h);
bool twice_stable_has(const struct twice_stable *s, struct twice_key_hash h);

uint64_t
twice_stable_count(const struct twice_stable *s); /* adds that answered "new"; many are forgotten */
double twice_stable_zeros(const struct twice_stable *s); /* share of zero cells now */
struct twice_stable_shape twice_stable_shape_of(const struct twice_stable *s);
size_t twice_stable_memory(const struct twice_stable *s);

int twice_stable_save(const struct twice_stable *s, const struct twice_snapshot_sink *to);
struct twice_stable *twice_stable_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
