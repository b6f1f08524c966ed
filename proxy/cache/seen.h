/* seen.h - the memory of sightings and its snapshot: the rotating pair, or another kind of filter
 * where one is asked for, or more than two sightings.
 *
 * Threads   test, record, report from any; tick and save from the keeper.
 */
#ifndef CACHE_SEEN_H
#define CACHE_SEEN_H

#include "filter/family/filter.h"
#include "filter/pair.h"
#include "filter/short.h"
#include "proxy/cache/cache.h"

struct seen;

struct seen_options {
	struct cache *cache;	      /* borrowed: its seed, and its directory for the snapshot */
	bool saved;		      /* the cache has a directory */
	struct memory_options memory; /* but for the seed */
};

/* Restores the snapshot beside the cache, or starts empty with a warning that says why. -1 and a
 * sentence when there is no memory for it. */
int seen_open(struct seen **out, const struct seen_options *o, char *err, size_t err_bytes);
void seen_close(struct seen **s); /* saves nothing */

/* Asks for the key's line of memory, to be there when test or record comes. */
void seen_prefetch(const struct seen *s, struct key_hash h);
struct memory_sight seen_test(const struct seen *s, struct key_hash h);
struct memory_sight seen_record(struct seen *s, struct key_hash h);

void seen_tick(struct seen *s, int64_t now_s);
/* Writes the snapshot, if there is a directory and something new; a warning when that fails. */
void seen_save(struct seen *s, int64_t now_s);
void seen_report(const struct seen *s, struct pair_stats *out);

#endif
