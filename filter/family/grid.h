/* grid.h - small cells that keys are probed into: what Bloom, counting, stable and retouched share.
 *
 * A grid says where a key's cells are, reads them, saves and restores them.
 * What it means to add a key is the business of the filter that owns it.
 *
 * Lifetime  init / fini; open, because only filters of this room hold one.
 * Threads   one writer at a time, as the filters above it say.
 */
#ifndef FILTER_GRID_H
#define FILTER_GRID_H

#include "filter/family/packed.h"
#include "filter/family/probe.h"

#define GRID_OWN 3 /* parameters of a seal that are left to the filter */

struct grid {
	struct probe probe;
	struct packed cells;
	uint64_t keys; /* what the filter counts as held */
	uint64_t used; /* cells that are not zero */
};

/* -1 when no filter can have this shape, or there is no memory for it. */
int grid_init(struct grid *g, const struct probe *shape, unsigned width);
void grid_fini(struct grid *g);

/* The smallest of the key's cells: for cells of one bit, whether all are set. */
uint64_t grid_least(const struct grid *g, struct key_hash h);

/* Changes a cell and keeps count of those used. */
void grid_put(struct grid *g, uint64_t at, uint64_t x);

/* The chance that an absent key finds all its cells used. */
double grid_fpr(const struct grid *g);

/* After cells changed wholesale: counts those used, and estimates the keys from them. */
void grid_recount(struct grid *g);

/* Same places for every key and the same cells: can the two be combined? */
bool grid_alike(const struct grid *a, const struct grid *b);

size_t grid_memory(const struct grid *g);

int grid_save(const struct grid *g, const struct seal_sink *to, enum seal_kind kind,
	      const uint64_t own[GRID_OWN]);

/* Cells of any other width than this are refused; 0: any will do. */
int grid_load(struct grid *g, struct seal_source *from, enum seal_kind kind, unsigned width,
	      uint64_t own[GRID_OWN]);

#endif
