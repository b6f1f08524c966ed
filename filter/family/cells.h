/* cells.h - hash codes in cells: the first method of Bloom's paper, for comparison.
 *
 * [Burton H. Bloom: Space/Time Trade-offs in Hash Coding with Allowable
 * Errors, CACM 13(7), 1970.] A key is a short code; the code goes to the first
 * empty cell of the key's own row of places. A key is found when its code
 * stands before the first empty cell.
 *
 * Answers   "not there" is certain. "There" is wrong with chance
 *           a q / (1 - a + a q) at load a, where q = 1 / (2^width - 1).
 * Threads   one writer at a time.
 * Errors    create: NULL. add: -1 when the cells are as full as they may be.
 *           No merge: a code has forgotten its key and cannot move.
 */
#ifndef FILTER_CELLS_H
#define FILTER_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/seal.h"

struct cells;

struct cells_shape {
	uint64_t cells;
	unsigned width; /* bits of a code */
};

/* The fewest bits for so many keys at this false-positive rate. */
struct cells_shape cells_shape(uint64_t keys, double fpr);

struct cells *cells_create(const struct cells_shape *shape);
void cells_destroy(struct cells **c);

/* 1: was (or seemed to be) there. 0: new. -1: new, but there is no room left. */
int cells_add(struct cells *c, struct key_hash h);
bool cells_has(const struct cells *c, struct key_hash h);

uint64_t cells_count(const struct cells *c);
size_t cells_memory(const struct cells *c);
double cells_fpr(const struct cells *c);

int cells_save(const struct cells *c, const struct seal_sink *to);
struct cells *cells_load(struct seal_source *from);

#endif
