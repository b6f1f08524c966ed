/* heritage.h - the directories of a cache go over from one process to another, while both serve.
 *
 * At any moment one of them writes a file:
 *
 *	the old one                              the new one
 *	cache_rest: all is written, and it
 *	  writes to no log any more
 *	cache_locks, sent                        cache_open with the locks, at rest: reads the
 *	                                           directory, and begins a purge log of its own
 *	saves what it has learnt
 *	cache_waiting, sent                      cache_inherit, cache_work: writes
 *	cache_bequeath: what it is told to         and serves; empties no segment
 *	  forget is made durable there
 *	ends: its reads are over                 cache_release
 *
 * Until cache_bequeath the old one may take everything back with cache_work, when the new one is no
 * more: its purge log is written anew, and what the new one has begun in the log of segments is
 * not there for it.
 *
 * Threads   one at a time; not workers.
 */
#ifndef CACHE_HERITAGE_H
#define CACHE_HERITAGE_H

#include "proxy/cache/cache_disk.h"
#include "proxy/cache/forget/forget.h"

struct cache;

/* Each directory has taken a write, or refused it: whoever asks waits for as long as a disk hangs. */
void cache_answers(const struct cache *c);
/* All that was stored or forgotten is on disk, and from here on nothing is written: what is stored
 * stays in RAM, what is forgotten holds and waits to be made durable, files are not saved. Reads go on.
 * False: a disk is too slow or fails. cache_work is due either way, or cache_bequeath. */
bool cache_rest(struct cache *c, int64_t limit_ms);
bool cache_rests(const struct cache *c);
/* It is written (again), but what another process may read there stays until cache_release. */
void cache_work(struct cache *c);
/* The last process that could read has ended. No effect while the cache rests, and any thread. */
void cache_release(struct cache *c);
/* Does it use no directory, and was nothing forgotten since it was opened? Whoever takes its place then may believe
 * what directories hold, by a seed of their own. */
bool cache_is_as_it_was(const struct cache *c);
/* The locks of the directories, borrowed; how many. */
unsigned cache_locks(const struct cache *c, int out[CACHE_DISKS_MOST]);
/* Lists the entries made since cache_rest; the caller frees. */
size_t cache_waiting(struct cache *c, struct purge_entry **out);
/* From now on entries are durable when the heir says so (on the thread of the purge log); all
 * invalidations count as lasting; RAM is emptied. For good: this process never writes there again. */
void cache_bequeath(struct cache *c, forget_heir *heir, void *ctx);
/* The entries of a process with the same seed are forgotten, and durable: true. */
bool cache_inherit(struct cache *c, const struct purge_entry *list, size_t n);

#endif
