/* baseline.h - the ghost (ghost.h), and what-if (whatif.h), beside a running proxy: fed by all workers,
 * kept over restarts.
 *
 * Each worker writes what it did into a ring of its own, and one thread reads the rings: a worker
 * takes no lock, and writes nothing that another worker writes. A ring that is full loses events,
 * which are counted.
 *
 * Threads   note: the ring's worker. forget, stats, save: any.
 */
#ifndef CACHE_BASELINE_H
#define CACHE_BASELINE_H

#include "filter/hash.h"
#include "proxy/cache/ghost/ghost.h"
#include "proxy/cache/ghost/whatif.h"

struct baseline;
struct baseline_ring;
struct cache;

struct baseline_options {
	struct ghost_options ghost;
	struct twice_filter_options memory; /* of sightings, for what-if; capacity 0: none */
	bool chooses;			    /* likewise, as the next two: whatif.h */
	unsigned sightings, large_sightings;
	uint64_t budget_bytes_s; /* of writes, for what-if; 0: none (budget.h) */
	unsigned budget_saved_s;
	unsigned rings;	     /* one for each worker */
	struct cache *cache; /* borrowed; where the snapshot is kept. NULL: nowhere */
};
/* Restores the snapshot beside the cache, or starts empty with a warning that says why. -1 when the
 * thread cannot be started. */
int baseline_create(struct baseline **out, const struct baseline_options *o);
void baseline_destroy(struct baseline **b); /* saves nothing */

struct baseline_ring *baseline_ring(struct baseline *b, unsigned i);
/* Whether a note about this key, with a record of this size, would change anything; else the facts
 * need not be gathered. */
bool
baseline_wants(const struct baseline_ring *r, struct twice_key_hash key, uint64_t record_bytes);
void baseline_note(struct baseline_ring *r, const struct ghost_event *e);

/* A URL with its variants was purged or invalidated: after all that was noted before. Never waits
 * long: while a snapshot is taken it is done later. */
void baseline_forget(struct baseline *b, struct twice_key_hash url);
/* The same for all of a host's, and for everything; not for workers: these wait. */
void baseline_forget_host(struct baseline *b, uint32_t host);
void baseline_forget_all(struct baseline *b);

struct baseline_stats {
	struct ghost_stats ghost;
	struct whatif_stats what_if;
	uint64_t dropped; /* events that found their ring full */
};
void baseline_stats(struct baseline *b, struct baseline_stats *out); /* all notes are in it */

/* whatif_settle and whatif_period of its what-if; false: there is none. */
void baseline_settle(struct baseline *b, unsigned sightings, unsigned large_sightings);
bool baseline_period(struct baseline *b, bool from_here, struct choice_period *out);

/* About once a second: what came to lie in it goes to the log beside the snapshot (baseline_log.h). It, and what is
 * below, are the keeper's, or before or behind that. */
void baseline_tick(struct baseline *b, int64_t now_ms);
/* Writes the snapshot, of at most a hundredth of the disk; a warning when that fails. */
void baseline_save(struct baseline *b);
/* Room beside the log for the snapshots, of the filter (26 bits per key), of the baseline and of what
 * segments earned, and for those that replace them; at most a thirty-second of the disk, of small ones a sixteenth. There the
 * filter's is compressed and knows few keys: a generation is a tenth of a turn of the log. If it
 * has no room all the same, that is a warning. */
uint64_t baseline_reserve_bytes(uint64_t disk_bytes, uint64_t capacity);

#endif
