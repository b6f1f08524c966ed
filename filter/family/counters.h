/* counters.h - an array of small cells, and the places of a key in it: Bloom, counting, stable
 * and retouched filters share it.
 *
 * It says where a key's cells are, reads them, saves and restores them.
 * What it means to add a key is the business of the filter that owns it.
 *
 * Lifetime  init / fini; open, because only filters of this room hold one.
 * Threads   one writer at a time, as the filters above it say.
 */
#ifndef TWICE_COUNTERS_H
#define TWICE_COUNTERS_H

#include "filter/family/packed.h"
#include "filter/family/probe.h"

#define TWICE_COUNTERS_OWN 3 /* parameters of an envelope that are left to the filter */

struct twice_counters {
	struct twice_probe probe;
	struct twice_packed cells;
	uint64_t keys; /* what the filter counts as held */
	uint64_t used; /* cells that are not zero */
};

/* -1 when no filter can have this shape, or there is no memory for it. */
int twice_counters_init(struct twice_counters *g, const struct twice_probe *shape, unsigned width);
void twice_counters_fini(struct twice_counters *g);

/* The smallest of the key's cells: for cells of one bit, whether all are set. */
uint64_t twice_counters_least(const struct twice_counters *g, struct twice_key_hash h);

/* Changes a cell and keeps count of those used. */
void twice_counters_put(struct twice_counters *g, uint64_t at, uint64_t x);

/* The chance that an absent key finds all its cells used. */
double twice_counters_fpr(const struct twice_counters *g);

/* After cells changed wholesale: counts those used, and estimates the keys from them. */
void twice_counters_recount(struct twice_counters *g);

/* Same places for every key and the same cells: can the two be combined? */
bool twice_counters_alike(const struct twice_counters *a, const struct twice_counters *b);

size_t twice_counters_memory(const struct twice_counters *g);

int twice_counters_save(const struct twice_counters *g, const struct twice_snapshot_sink *to,
			enum twice_snapshot_kind kind, const uint64_t own[TWICE_COUNTERS_OWN]);

/* Cells of any other width than this are refused; 0: any will do. */
int twice_counters_load(struct twice_counters *g, struct twice_snapshot_source *from,
			enum twice_snapshot_kind kind, unsigned width,
			uint64_t own[TWICE_COUNTERS_OWN]);

#endif
