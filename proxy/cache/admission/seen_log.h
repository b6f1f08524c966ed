/* seen_log.h - sightings are on disk within a minute: what is recorded between two snapshots is gathered, and
 * appended to the file "sightings" (seen_file.h), which begins anew with each snapshot.
 *
 * A thread that records puts the key into a stripe of its own; once a second the keeper empties the stripes, and
 * hands what has come together to a thread that waits for disks. While a disk hangs, or keys come faster than
 * the stripes are emptied, some are in the next snapshot only, and are counted.
 *
 * Threads   note from any; restore, tick and the snapshot's two from the keeper, or before it begins.
 * Memory    256 KiB for each thread that records, and at most 3 MiB in all.
 */
#ifndef CACHE_SEEN_LOG_H
#define CACHE_SEEN_LOG_H

#include "filter/hash.h"
#include "filter/family/filter.h"
#include "filter/pair.h"

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct seen_log;

struct seen_log_options {
	struct cache *cache; /* borrowed; it has a directory */
	/* One of the two, borrowed: the keys are recorded there. A pair packs them; else they are whole. */
	const struct twice_pair *pair;
	const struct twice_filter *memory;
	uint64_t shape;	    /* of what understands the keys */
	uint64_t most_keys; /* in the file */
	int64_t now_ms;	    /* of the clock that seen_log_tick is told */
};

struct seen_log *seen_log_create(const struct seen_log_options *o);
/* Waits for what is being written. */
void seen_log_destroy(struct seen_log **l);

/* The keys that the file holds, with the generation they were recorded in; what comes goes behind them. A warning
 * where they end before the file does. */
typedef void seen_log_tell(void *ctx, uint64_t generation, struct twice_key_hash key);
void seen_log_restore(struct seen_log *l, seen_log_tell *tell, void *ctx);

/* It was recorded, and was not known to the current generation. */
void seen_log_note(struct seen_log *l, struct twice_key_hash key);
/* About once a second. */
void seen_log_tick(struct seen_log *l, int64_t now_ms);

/* Around a snapshot: what was noted before begin is in it, if it is saved. */
void seen_log_snapshot_begin(struct seen_log *l);
void seen_log_snapshot_end(struct seen_log *l, bool saved);

/* Keys that are in no log, but in the next snapshot. */
uint64_t seen_log_missed(const struct seen_log *l);

#endif
