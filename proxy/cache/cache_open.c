/* cache_open.c - the shelves are made, in order, and ended. */
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/heritage.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/ledger.h"
#include "proxy/cache/store/packing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FORGETS_SHARE = 4 }; /* of the purge log, for what eviction forgets in a turn of the log */

static const uint64_t MIN_LOG_BYTES = 4 << 20;

static bool
is_record_forgotten(void *ctx, struct record *r)
{
	struct disk *d = ctx;
	bool yes = cache_record_is_forgotten(d->cache, r);
	cache_window(d->cache);
	return yes;
}

/* Of what left the disk, older records may still be there: everything under the keys up to now is
 * forgotten. */
static bool
on_forget(void *ctx, const uint64_t *hashes, size_t n, bool waits)
{
	struct disk *d = ctx;
	struct forget *f = d->cache->forget;
	uint64_t at = 0;
	if (!hashes)
		at = forget_add(f, FORGET_ALL, (struct twice_key_hash){0}, STR(""), FORGET_AT_ONCE);
	for (size_t i = 0; hashes && i < n; i++)
		at = forget_add(f, FORGET_KEY, (struct twice_key_hash){.hi = hashes[i]}, STR(""),
				FORGET_AT_ONCE);
	return !waits || !at || forget_wait(f, at) == 0;
}

static bool
may_forget(void *ctx)
{
	struct disk *d = ctx;
	return forget_is_sound_at(d->cache->forget, (unsigned)(d - d->cache->disks));
}

static bool
has_lock(void *ctx)
{
	struct disk *d = ctx;
	return cache_has_lock(d->cache, (unsigned)(d - d->cache->disks));
}

static bool
has_lock_at(void *ctx, unsigned disk)
{
	return cache_has_lock(ctx, disk);
}

/* The object in RAM, if it is the same, knows its copy on disk again. */
static void
on_record_moved(void *ctx, const struct record *r, const struct locator *from)
{
	struct disk *d = ctx;
	ram_adopt(d->cache->ram, (unsigned)(d - d->cache->disks), r, from);
}

/* RAM lets go of an object whose head on disk is an older one. */
static void
write_head(void *ctx, struct stored *o)
{
	struct cache *c = ctx;
	struct placement p;
	bool there = stored_placement(o, &p);
	cache_window(c);
	if (there && cache_store_is_open(c, o->store) && !cache_is_forgotten(c, o) &&
	    cache_refer(c, o, &p)) {
		cache_window(c);
		cache_is_still_clean(c, o);
	}
	placement_fini(&p);
}

/* The small files lie on the first disk; on the others as little is kept for them as can be said. */
static uint64_t
log_bytes_of(const struct cache *c, uint64_t disk_bytes, bool first)
{
	return ledger_log_bytes(disk_bytes, first ? c->reserve_bytes : 1);
}

int
cache_open_store(struct cache *c, struct disk *d, char *err, size_t err_bytes)
{
	const struct cache_options *o = &c->o;
	uint64_t log_bytes = log_bytes_of(c, d->bytes, d == c->disks);
	if (log_bytes < MIN_LOG_BYTES) {
		snprintf(err, err_bytes,
			 "cache %s: %llu bytes are too few for a disk cache: give it 8MiB or more",
			 d->dir, (unsigned long long)d->bytes);
		return -1;
	}
	return store_open(
		&d->store,
		&(struct store_options){
			.dir = d->dir,
			.dir_fd = d->dir_fd,
			.number = (unsigned)(d - c->disks),
			.log_bytes = log_bytes,
			.segment_bytes = o->segment_bytes,
			.io_threads = o->io_threads,
			.keep_free = o->keep_free,
			.beside_bytes = d->bytes - log_bytes,
			.verify_always = o->verify_always,
			.scrub_every_s = o->scrub_every_s,
			.ops = o->ops,
			.is_forgotten = is_record_forgotten,
			.moved = on_record_moved,
			.forget = on_forget,
			.may_forget = may_forget,
			.has_lock = has_lock,
			.most_forgets = forget_most(c->forget) / FORGETS_SHARE / (o->more_n + 1),
			.ctx = d,
			.fresh = d->must_empty,
			.rests = o->rests,
			.unread = &c->unread,
			.asked_before = &c->asked_before,
			.load_at_once = o->load_at_once,
			.is_ours = !d->fresh, /* the seed is */
		},
		err, err_bytes);
}

static void
say_room(const struct cache *c, const struct disk *d)
{
	uint64_t free_bytes, all_bytes;
	struct store_stats s;
	const struct diskio_ops *ops = c->o.ops ? c->o.ops : &diskio_system;
	if (!ops->room || ops->room(d->dir_fd, &free_bytes, &all_bytes) != 0)
		return;
	store_stats(d->store, &s);
	uint64_t keep = store_reserve(c->o.keep_free, all_bytes);
	uint64_t mib = 1 << 20, may = free_bytes > keep ? free_bytes - keep : 0;
	log_info("cache %s: takes %llu MiB of at most %llu MiB and grows as it fills; %llu MiB are "
		 "free, of which %llu MiB are left to others",
		 d->dir, (unsigned long long)(s.file_bytes / mib),
		 (unsigned long long)(d->bytes / mib), (unsigned long long)(free_bytes / mib),
		 (unsigned long long)(keep / mib));
	if (s.file_bytes + may < d->bytes)
		log_warning(
			"cache %s: its file system has less room than cache.disk says: the cache "
			"stops growing at about %llu MiB",
			d->dir, (unsigned long long)((s.file_bytes + may) / mib));
}

static uint64_t
oldest_on_disk(void *ctx)
{
	struct cache *c = ctx;
	uint64_t oldest = UINT64_MAX;
	for (unsigned i = 0; i < c->disks_n; i++) {
		uint64_t here = store_oldest(c->disks[i].store);
		oldest = here < oldest ? here : oldest;
	}
	return oldest;
}

/* Without the order of what was purged, nothing that was stored can be trusted. */
static void
judge_disk(const struct cache *c, struct disk *d)
{
	enum forget_found found = forget_found_at(c->forget, (unsigned)(d - c->disks));
	d->must_empty = d->fresh || found != FORGET_KEPT;
	if (found == FORGET_BEHIND && !d->fresh)
		log_warning("cache %s: it was away or failed while the other disks went on, and "
			    "purges may be missing there: starting empty",
			    d->dir);
	else if (found == FORGET_LOST || (found == FORGET_MISSING && !d->fresh &&
					  faccessat(d->dir_fd, "format", F_OK, 0) == 0))
		log_warning("cache %s: its purge log is %s, so that purges may be missing: "
			    "starting empty",
			    d->dir, found == FORGET_LOST ? "damaged" : "missing");
}

static void
open_forget(struct cache *c)
{
	struct forget_place more[CACHE_DISKS_MOST];
	struct forget_options o = {
		.dir_fd = c->dir_fd,
		.dir = c->dir,
		.more = more,
		.left_out_n = c->lost.away_n,
		.seed = &c->seed,
		.log_bytes = c->o.dir ? UINT64_MAX : 0,
		.ops = c->o.ops,
		.retry_ms = c->o.purge_retry_ms,
		.has_lock = has_lock_at,
		.ctx = c,
	};
	for (unsigned i = 0; i < c->lost.away_n; i++) {
		uint64_t bytes = ledger_purge_bytes(c->lost.away[i].bytes);
		o.log_bytes = bytes < o.log_bytes ? bytes : o.log_bytes;
		o.left_out[i] = c->lost.away[i].dir;
	}
	for (unsigned i = 0; i < c->disks_n; i++) {
		const struct disk *d = &c->disks[i];
		uint64_t bytes = ledger_purge_bytes(d->bytes);
		o.log_bytes = bytes < o.log_bytes ? bytes : o.log_bytes;
		if (i)
			more[o.more_n++] = (struct forget_place){d->dir_fd, d->dir};
	}
	forget_open(&c->forget, &o);
	for (unsigned i = 0; i < c->disks_n; i++)
		judge_disk(c, &c->disks[i]);
}

/* All disks can take them, those too that were left out and may be taken back. */
static void
size_bodies(struct cache *c)
{
	uint64_t most = UINT64_MAX, wish = c->o.max_object_bytes;
	c->block_bytes = CACHE_RAM_BLOCK;
	for (unsigned i = 0; i < c->disks_n; i++) {
		uint32_t block = store_fragment_bytes(c->disks[i].store);
		uint64_t body = store_max_body(c->disks[i].store);
		c->block_bytes = block < c->block_bytes ? block : c->block_bytes;
		most = body < most ? body : most;
	}
	for (unsigned i = 0; i < c->lost.away_n; i++) {
		uint64_t log = log_bytes_of(c, c->lost.away[i].bytes, c->disks_n == 0);
		if (log < MIN_LOG_BYTES)
			continue;
		uint64_t segment =
			c->o.segment_bytes ? c->o.segment_bytes : ledger_segment_bytes(log);
		uint32_t block = packing_fragment_bytes(segment);
		uint64_t body = packing_max_body(log, segment);
		c->block_bytes = block < c->block_bytes ? block : c->block_bytes;
		most = body < most ? body : most;
	}
	c->max_body_bytes = wish && wish < most ? wish : most;
}

int
cache_open(struct cache **out, const struct cache_options *o, char *err, size_t err_bytes)
{
	struct cache *c = NEW(struct cache);
	c->o = *o;
	atomic_init(&c->asked_before, true);
	c->dir_fd = -1;
	atomic_store(&c->rests, o->rests);
	c->reserve_bytes = o->reserve_bytes ? o->reserve_bytes : o->disk_bytes / 32;
	pthread_mutex_init(&c->files_lock, NULL);
	for (int i = 0; i < COMMIT_LOCKS; i++)
		pthread_mutex_init(&c->commit_locks[i], NULL);
	if (files_open(c, err, err_bytes) != 0)
		goto failed;
	open_forget(c);
	ram_create(&c->ram, o->memory_bytes, o->shards);
	for (unsigned i = 0; i < c->disks_n; i++)
		if (cache_open_store(c, &c->disks[i], err, err_bytes) != 0)
			goto failed;
	cache_load_earnings(c);
	for (unsigned i = 0; i < c->disks_n; i++)
		say_room(c, &c->disks[i]);
	size_bodies(c);
	c->reads = reads_create();
	c->siblings = siblings_create();
	if (forget_begin(c->forget, c->o.dir ? oldest_on_disk : NULL, c) ||
	    (c->o.dir && cache_late_start(c))) {
		snprintf(err, err_bytes,
			 "cannot start the threads of the cache; raise the limit on "
			 "threads");
		goto failed;
	}
	c->lost.begun_at = forget_now(c->forget);
	if (c->o.dir)
		ram_on_evicted(c->ram, write_head, c);
	*out = c;
	return 0;
failed:
	cache_close(&c);
	return -1;
}

void
cache_stop(struct cache *c)
{
	if (c->ram && !atomic_load(&c->stopped) && !cache_rests(c))
		ram_tell_unwritten(c->ram);
	cache_late_stop(c);
	for (unsigned i = 0; i < c->disks_n; i++)
		if (c->disks[i].store)
			store_stop(c->disks[i].store); /* asks what is forgotten, and forgets */
	forget_stop(c->forget); /* asks the store, which still has its facts */
	if (!atomic_exchange(&c->stopped, true) && !cache_rests(c))
		cache_save_earnings(c);
}

void
cache_close(struct cache **pc)
{
	struct cache *c = *pc;
	*pc = NULL;
	if (!c)
		return;
	cache_stop(c);
	ram_destroy(&c->ram);
	siblings_destroy(&c->siblings);
	reads_destroy(&c->reads);
	for (unsigned i = 0; i < c->disks_n; i++)
		store_close(&c->disks[i].store);
	forget_close(&c->forget);
	files_close(c);
	pthread_mutex_destroy(&c->files_lock);
	for (int i = 0; i < COMMIT_LOCKS; i++)
		pthread_mutex_destroy(&c->commit_locks[i]);
	cache_free_spare_writes(c);
	free(c);
}

const char *
cache_directory(const struct cache *c)
{
	const char *dir = atomic_load(&c->dir);
	return dir ? dir : "";
}

const struct twice_seed *
cache_seed(const struct cache *c)
{
	return &c->seed;
}
