/* cache_open.c - the shelves are made, in order, and ended. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FORGETS_SHARE = 4 }; /* of the purge log, for what eviction forgets in a turn of the log */

static const uint64_t MIN_LOG_BYTES = 4 << 20;

static bool
is_record_forgotten(void *ctx, struct record *r)
{
	bool yes = cache_record_is_forgotten(ctx, r);
	cache_window(ctx);
	return yes;
}

/* Of what left the disk, older records may still be there: everything under the keys up to now is
 * forgotten. */
static bool
on_forget(void *ctx, const uint64_t *hashes, size_t n, bool waits)
{
	struct cache *c = ctx;
	uint64_t at = 0;
	if (!hashes)
		at = forget_add(c->forget, FORGET_ALL, (struct key_hash){0}, STR(""), true);
	for (size_t i = 0; hashes && i < n; i++)
		at = forget_add(c->forget, FORGET_KEY, (struct key_hash){.hi = hashes[i]}, STR(""),
				true);
	return !waits || !at || forget_wait(c->forget, at) == 0;
}

/* The object in RAM, if it is the same, knows its copy on disk again. */
static void
on_record_moved(void *ctx, const struct record *r, const struct locator *from)
{
	struct cache *c = ctx;
	if (c->ram) /* room is made before there is one */
		ram_adopt(c->ram, r, from);
}

/* RAM lets go of an object whose head on disk is an older one. */
static void
write_head(void *ctx, struct stored *o)
{
	struct cache *c = ctx;
	struct placement p;
	bool there = stored_placement(o, &p);
	cache_window(c);
	if (there && cache_disk_is_open(c) && !cache_is_forgotten(c, o) && cache_refer(c, o, &p)) {
		cache_window(c);
		cache_is_still_clean(c, o);
	}
	placement_fini(&p);
}

static int
open_store(struct cache *c, char *err, size_t err_bytes)
{
	const struct cache_options *o = &c->o;
	c->reserve_bytes = o->reserve_bytes ? o->reserve_bytes : o->disk_bytes / 32;
	uint64_t log_bytes = ledger_log_bytes(o->disk_bytes, o->reserve_bytes);
	if (log_bytes < MIN_LOG_BYTES) {
		snprintf(err, err_bytes,
			 "cache %s: %llu bytes are too few for a disk cache: give it 8MiB or more",
			 c->dir, (unsigned long long)o->disk_bytes);
		return -1;
	}
	return store_open(&c->store,
			  &(struct store_options){
				  .dir = c->dir,
				  .dir_fd = c->dir_fd,
				  .log_bytes = log_bytes,
				  .segment_bytes = o->segment_bytes,
				  .io_threads = o->io_threads,
				  .keep_free = o->keep_free,
				  .ops = o->ops,
				  .is_forgotten = is_record_forgotten,
				  .moved = on_record_moved,
				  .forget = on_forget,
				  .most_forgets = forget_most(c->forget) / FORGETS_SHARE,
				  .ctx = c,
				  .fresh = c->must_empty,
				  .is_ours = !c->fresh, /* the seed is */
			  },
			  err, err_bytes);
}

/* What the directory takes and may take, and what its file system has. */
static void
say_room(struct cache *c)
{
	uint64_t free_bytes, all_bytes;
	struct store_stats s;
	const struct diskio_ops *ops = c->o.ops ? c->o.ops : &diskio_system;
	if (!ops->room || ops->room(c->dir_fd, &free_bytes, &all_bytes) != 0)
		return;
	store_stats(c->store, &s);
	uint64_t keep = store_reserve(c->o.keep_free, all_bytes);
	uint64_t mib = 1 << 20, may = free_bytes > keep ? free_bytes - keep : 0;
	log_info("cache %s: takes %llu MiB of at most %llu MiB and grows as it fills; %llu MiB are "
		 "free, of which %llu MiB are left to others",
		 c->dir, (unsigned long long)(s.file_bytes / mib),
		 (unsigned long long)(c->o.disk_bytes / mib),
		 (unsigned long long)(free_bytes / mib), (unsigned long long)(keep / mib));
	if (s.file_bytes + may < c->o.disk_bytes)
		log_warning(
			"cache %s: its file system has less room than cache.disk says: the cache "
			"stops growing at about %llu MiB",
			c->dir, (unsigned long long)((s.file_bytes + may) / mib));
}

static uint64_t
oldest_on_disk(void *ctx)
{
	return store_oldest(ctx);
}

/* Without the order of what was purged, nothing that was stored can be trusted. */
static void
open_forget(struct cache *c)
{
	struct forget_options o = {
		.dir_fd = c->dir_fd,
		.dir = c->dir,
		.seed = &c->seed,
		.log_bytes = ledger_purge_bytes(c->o.disk_bytes),
		.ops = c->o.ops,
	};
	enum forget_found found = forget_open(&c->forget, &o);
	if (found == FORGET_LOST ||
	    (found == FORGET_MISSING && !c->fresh && faccessat(c->dir_fd, "format", F_OK, 0) == 0))
		log_warning(
			"cache %s: its purge log is %s, so that nobody can say what was purged: "
			"starting empty",
			c->dir, found == FORGET_LOST ? "damaged" : "missing");
	c->must_empty = c->fresh || found != FORGET_KEPT;
}

int
cache_open(struct cache **out, const struct cache_options *o, char *err, size_t err_bytes)
{
	struct cache *c = NEW(struct cache);
	c->o = *o;
	c->dir = o->dir ? mem_strdup(o->dir) : NULL;
	c->dir_fd = c->lock_fd = -1;
	pthread_mutex_init(&c->files_lock, NULL);
	if (files_open(c, err, err_bytes) != 0)
		goto failed;
	open_forget(c);
	if (c->dir && open_store(c, err, err_bytes) != 0)
		goto failed;
	if (c->store) {
		cache_load_earnings(c);
		say_room(c);
	}
	forget_begin(c->forget, c->store ? oldest_on_disk : NULL, c->store);
	c->block_bytes = c->store ? store_fragment_bytes(c->store) : CACHE_RAM_BLOCK;
	uint64_t most = c->store ? store_max_body(c->store) : UINT64_MAX;
	c->max_body_bytes =
		o->max_object_bytes && o->max_object_bytes < most ? o->max_object_bytes : most;
	c->reads = reads_create();
	ram_create(&c->ram, o->memory_bytes, o->shards);
	c->siblings = siblings_create();
	if (c->store)
		ram_on_evicted(c->ram, write_head, c);
	if (c->store)
		cache_late_start(c);
	*out = c;
	return 0;
failed:
	cache_close(&c);
	return -1;
}

void
cache_stop(struct cache *c)
{
	if (c->ram && !atomic_load(&c->stopped))
		ram_tell_unwritten(c->ram);
	cache_late_stop(c);
	if (c->store)
		store_stop(c->store); /* asks what is forgotten, and forgets */
	forget_stop(c->forget);	      /* asks the store, which still has its facts */
	if (!atomic_exchange(&c->stopped, true))
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
	store_close(&c->store);
	forget_close(&c->forget);
	files_close(c);
	pthread_mutex_destroy(&c->files_lock);
	cache_free_spare_writes(c);
	free(c);
}

const struct filter_seed *
cache_seed(const struct cache *c)
{
	return &c->seed;
}
