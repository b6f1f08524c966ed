/* cells.h - hash codes in cells: the first method of Bloom's paper, for comparison.
 *
 * [Burton H. Bloom: Space/Time Trade-offs in Hash Coding with Allowable
 * Errors, CACM 13(7), 1970.] A key is a short code; the code goes to the first
 * empty cell of the key's own row of places. A key is found when its code
 * is before the first empty cell.
 *
 * Answers   "not there" is certain. "There" is wrong with chance
 *           a q / (1 - a + a q) at load a, where q = 1 / (2^width - 1).
 * Threads   one writer at a time.
 * Errors    create: NULL. add: -1 when the cells are as full as they may be.
 *           No merge: a code has forgotten its key and cannot move.
 */
#ifndef TWICE_CELLS_H
#define TWICE_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_cells;

struct twice_cells_shape {
	uint64_t cells;
	unsigned width; /* bits of a code */
};

/* The fewest bits for so many keys at this false-positive rate. Of no keys, of a rate that is not
 * between 0 and 1, and of more than 2^48 cells: all zeros, which create refuses. */
struct twice_cells_shape twice_cells_shape(uint64_t keys, double fpr);

struct twice_cells *twice_cells_create(const struct twice_cells_shape *shape);
void twice_cells_destroy(struct twice_cells **c);

/* 1: was (or seemed to be) there. 0: new. -1: new, but there is no room left. */
int twice_cells_add(struct twice_cells *c, struct twice_key_hash h);
bool twice_cells_has(const struct twice_cells *c, struct twice_key_hash h);

uint64_t twice_cells_count(const struct twice_cells *c);
size_t twice_cells_memory(const struct twice_cells *c);
double twice_cells_fpr(const struct twice_cells *c);

int twice_cells_save(const struct twice_cells *c, const struct twice_snapshot_sink *to);
struct twice_cells *twice_cells_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
