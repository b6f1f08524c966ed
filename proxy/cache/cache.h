/* cache.h - the one door of the shelves is opened and closed. What goes through it:
 *
 *	object_facts.h      a stored response, as others see it
 *	cache_lookup.h      what lies under a key
 *	object_read.h       the bytes of a body
 *	cache_write.h       objects come in, get a new head, and go
 *	cache_variants.h    how many variants of a URL stay
 *	cache_forget.h      purging and invalidating
 *	cache_files.h       small files beside the log
 *	cache_stats.h       numbers
 *
 * Behind it: the RAM tier (ram.c), the index (index.c), the segment log (store.c over segment.c
 * and ledger.c) and the I/O threads (diskio.c). It knows keys, heads, terms and bytes; it does not
 * know requests, origins or flights.
 *
 * Threads   all that goes through the door may be asked for by any worker, but for what says
 *           otherwise. Nothing blocks on the disk: what the page cache cannot serve at once goes to
 *           an I/O thread and comes home as a letter.
 * Errors    a disk that fails or fills never fails a request: storing stops for a while, reads are
 *           misses, and cache_stats says so. A damaged record is a miss.
 */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "proxy/cache/cache_disk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;
struct diskio_ops;
struct twice_seed;

enum { CACHE_SEED_BYTES = 256 };

struct cache_options {
	const char *dir;     /* NULL: RAM tier only */
	uint64_t disk_bytes; /* hard limit of everything below dir; never exceeded */
	/* Disks beside that one. An object is written to one of them all, as their sizes are; where
	 * it lies their indexes say, so that adding one moves nothing. What cannot be used is left
	 * out, at the start and while it fails. The small files lie on the first that can be used. */
	const struct cache_disk *more;
	unsigned more_n;
	uint64_t memory_bytes;	   /* RAM tier */
	uint64_t segment_bytes;	   /* 0: chosen from disk_bytes (64 MiB to 1 GiB; smaller for small
				      disks) */
	uint64_t max_object_bytes; /* body; 0: chosen from disk_bytes */
	unsigned io_threads;	   /* that read; 0: 8 */
	bool verify_always;	   /* nothing is ever sent unread: object_file never says yes */
	unsigned read_limit_ms;	   /* what the disk has not read by then is a miss; 0: 3000 */
	/* Left free on the file system for others; STORE_KEEP_SHARE | millionths: that share of it;
	 * 0: a twentieth of it, at most 1 GiB. The log grows as it fills, and stops growing there.
	 */
	uint64_t keep_free;
	uint64_t
		scrub_every_s; /* in so many seconds all that is on disk is checked once; 0: never */
	unsigned shards;       /* of the RAM tier; 0: chosen from memory_bytes, at most 64 */
	/* Kept out of the log for the one file that cache_save_file saves: it may take half of
	 * this, for old and new stand side by side for a moment. 0: a thirty-second of disk_bytes.
	 * The baseline wants the same number. */
	uint64_t reserve_bytes;
	/* Of a process that takes the directories over from one that still serves (heritage.h): the
	 * locks that it has sent, copied; and nothing is written to the log before cache_work. */
	const int *locks;
	unsigned locks_n;
	bool rests;
	/* Nodes of a fleet have one seed, made of their secret: CACHE_SEED_BYTES of it, borrowed while the cache is
	 * opened. A directory of another seed is emptied. NULL: that of the directory, or a random one. */
	const char *seed;
	bool required; /* dir, and opening fails without it though it may come back */
	/* A directory is left out whose disk lets a call stand still for so long; 0: it is waited for. */
	unsigned still_ms;
	const struct diskio_ops *ops; /* for tests: another disk; NULL: the system's */
	uint64_t load_at_once;	      /* store_options; 0: a million */
	/* For tests: a purge log that could not be written is tried again after so long; 0: 250. */
	unsigned purge_retry_ms;
	/* For tests: called wherever another thread may come between two steps, on the thread that
	 * makes them and without a lock. NULL: nobody is. */
	void (*window)(void *ctx);
	void *window_ctx;
};

/* Opens the directory (made if missing), takes its lock, restores the index. On failure -1 and a
 * plain sentence naming the place and a way out in err. */
int cache_open(struct cache **out, const struct cache_options *o, char *err, size_t err_bytes);
/* Writes what is pending and ends the I/O threads: what was asked of them has come home as letters
 * by then, which are still to be opened. Objects may be read from memory and given back from then
 * on; nothing else. */
void cache_stop(struct cache *c);
/* Requested objects stay on disk over a restart: earnings are saved at cache_stop, and here for a
 * process that is killed. */
void cache_save_earnings(struct cache *c);
/* Looks whether the directories are still there, once a second or so. It waits for a disk that hangs. */
void cache_watch(struct cache *c);
/* The cache began without any of its directories. So many of them can be used again and hold what was stored, and
 * nothing was forgotten meanwhile: 0, or cache_lost once all can be. Their hashes are of another seed than this
 * cache's, so that another cache must open them (heritage.h). Any thread. */
unsigned cache_waits(const struct cache *c);
/* Objects are written when they are asked for again (asked_before, so it begins), or at once: then nothing stays on
 * disk that was not asked for since, however small it is. Any thread. */
void cache_expect(struct cache *c, bool asked_before);
/* Where memory is short (mem.h) the RAM tier gives some up and is kept lower, later it is let rise again; once a
 * second or so. It waits for nothing. */
void cache_mind_memory(struct cache *c);
/* Stops it, if that was not done; gives the lock back. All objects have been given back. */
void cache_close(struct cache **c);

/* 192+ bytes of secret kept beside the objects (file "seed" in dir, made at first open, mode 0600;
 * random when dir is NULL): the per-installation seed of key hashes. */
const struct twice_seed *cache_seed(const struct cache *c);
/* Of so many directories in the configuration so many cannot be used now. */
unsigned cache_directories(const struct cache *c);
unsigned cache_lost(const struct cache *c);
/* This directory has the files beside the log; "": none has. */
const char *cache_directory(const struct cache *c);

#endif
