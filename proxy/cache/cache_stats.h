/* cache_stats.h - what a cache holds, has written and has let go, in numbers.
 *
 * Units     bytes and counts; all but what says otherwise since start.
 * Threads   any.
 */
#ifndef CACHE_CACHE_STATS_H
#define CACHE_CACHE_STATS_H

#include "proxy/cache/cache_disk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;

struct cache_purge_stats {
	uint64_t kept;	 /* that lookups are compared with */
	uint64_t room;	 /* so many more that somebody purges are kept apart */
	uint64_t merged; /* URLs and prefixes that became purges of hosts, for want of room */
	uint64_t shed;	 /* dropped for want of it: all from before is fetched anew, or validated */
	bool durable;	 /* false: nothing is answered from the directory */
};

struct cache_stats {
	uint64_t written_bytes; /* all bytes written below dir: records, padding, index, tombstones
				 */
	uint64_t used_bytes, limit_bytes, objects, evicted_objects, damaged_records;
	uint64_t ram_used_bytes, ram_limit_bytes, ram_objects, ram_evicted_objects;
	uint64_t io_errors, refused_writes; /* disk failing, behind or not read yet */
	uint64_t unread_segments; /* whose objects are not found yet; until 0 nothing is written */
	bool failing;		  /* storing is suspended now */
	struct cache_purge_stats purges;
	uint64_t pending_bytes; /* gathered, or under way to the disk; in whole batches */
	uint64_t
		carried_bytes; /* of written_bytes: records moved on because they were hot or small */
	uint64_t
		admitted_bytes; /* of records and bodies that came in: written_bytes has all else too */
	uint64_t purge_bytes;	 /* of written_bytes: the log of what was purged */
	uint64_t index_bytes;	 /* memory of the index */
	uint64_t scrubbed_bytes; /* read and checked in the background */
	uint64_t scrub_damaged;	 /* of damaged_records: found by that, and forgotten */
	uint64_t turn_bytes; /* of the log, once it grows no more; 0: it grows, fails, or is none */
	struct cache_disk_stats {
		const char *dir; /* the cache's */
		uint64_t written_bytes, used_bytes, limit_bytes, objects, io_errors;
		bool failing; /* nothing is written to it now, or nothing read */
	} disks[CACHE_DISKS_MOST];
	unsigned disks_n, disks_left_out; /* that are used; that could not be, since the start */
};
void cache_stats(struct cache *c, struct cache_stats *out);

/* Bytes a record of such an object takes in the log, overhead included: what the baseline counts.
 */
uint64_t cache_record_bytes(size_t key_bytes, size_t head_bytes, uint64_t body_bytes);

#endif
