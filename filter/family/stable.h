/* stable.h - forgets at random at a fixed rate, so it never fills up.
 *
 * [Deng, Rafiei: Approximately Detecting Duplicates for Streaming Data using
 * Stable Bloom Filters, SIGMOD 2006.] Every add first takes 1 from P cells in
 * a row, starting at random, and then sets the key's K cells to their maximum.
 * The share of zeros settles at (1 / (1 + 1/(P (1/K - 1/m))))^Max, the
 * stable point, and so does the false-positive rate.
 *
 * Answers   "there" is wrong with at most stable_fpr; "not there" is wrong
 *           too, the more often the longer ago: stable_recall says how often.
 * Threads   one writer at a time.
 * Errors    create: NULL. No merge: two ages of a cell have no sum.
 */
#ifndef FILTER_STABLE_H
#define FILTER_STABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/seal.h"

#define STABLE_WIDTH_MOST 8

struct stable;

struct stable_shape {
	uint64_t cells;
	unsigned width;	     /* d: bits of a cell; Max = 2^d - 1 */
	unsigned probes;     /* K */
	uint64_t decrements; /* P */
};

/* P for a wanted rate, rounded up so that the rate is a bound; 0: cannot be reached. */
uint64_t stable_decrements(const struct stable_shape *s, double fpr);

/* The fewest bits that still know so large a share of the keys seen window adds ago. */
struct stable_shape stable_shape_for(uint64_t window, double recall, double fpr);

double stable_point(const struct stable_shape *s); /* share of zeros in the long run */
double stable_fpr(const struct stable_shape *s);   /* (1 - stable_point)^K */
double stable_recall(const struct stable_shape *s, double adds_ago);

/* seed: where the row of random starts begins. */
struct stable *stable_create(const struct stable_shape *shape, uint64_t seed);
void stable_destroy(struct stable **s);

/* Says whether the key was there, and refreshes it. */
bool stable_add(struct stable *s, struct key_hash h);
bool stable_has(const struct stable *s, struct key_hash h);

uint64_t stable_count(const struct stable *s); /* adds that answered "new"; many are forgotten */
double stable_zeros(const struct stable *s);   /* share of zero cells now */
struct stable_shape stable_shape_of(const struct stable *s);
size_t stable_memory(const struct stable *s);

int stable_save(const struct stable *s, const struct seal_sink *to);
struct stable *stable_load(struct seal_source *from);

#endif
