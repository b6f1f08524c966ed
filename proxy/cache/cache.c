/* cache.c - the one door: RAM first, then the disk; and what changes an object that is there. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RAM_ONLY_BLOCK = 256 << 10 };

static const uint64_t MIN_LOG_BYTES = 4 << 20;

/* ---- life ---------------------------------------------------------------------------------- */

static bool
is_record_forgotten(void *ctx, struct record *r)
{
	struct cache *c = ctx;
	uint64_t now;
	if (forget_covers(c->forget, r->hash, r->key, r->clean_as_of, &now))
		return true;
	r->clean_as_of = now;
	return false;
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
	if (there && cache_disk_is_open(c) && !cache_is_forgotten(c, o) && cache_refer(c, o, &p))
		cache_is_still_clean(c, o);
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
	if (c->store)
		say_room(c);
	forget_begin(c->forget, c->store ? oldest_on_disk : NULL, c->store);
	c->block_bytes = c->store ? store_fragment_bytes(c->store) : RAM_ONLY_BLOCK;
	uint64_t most = c->store ? store_max_body(c->store) : UINT64_MAX;
	c->max_body_bytes =
		o->max_object_bytes && o->max_object_bytes < most ? o->max_object_bytes : most;
	c->reads = reads_create();
	ram_create(&c->ram, o->memory_bytes, o->shards);
	c->siblings = siblings_create();
	if (c->store)
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
	if (c->ram && !atomic_load(&c->stopped))
		ram_tell_unwritten(c->ram);
	forget_stop(c->forget); /* asks the store */
	if (c->store)
		store_stop(c->store); /* asks what is forgotten */
	atomic_store(&c->stopped, true);
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

/* ---- time ---------------------------------------------------------------------------------- */

uint64_t
cache_now(const struct cache *c)
{
	return forget_now(c->forget);
}

bool
cache_is_clean(struct cache *c, struct key_hash hash, struct str key, uint64_t since)
{
	uint64_t now;
	return !forget_covers_fetch(c->forget, hash, key, since, &now);
}

bool
cache_is_forgotten(struct cache *c, struct stored *o)
{
	uint64_t since = atomic_load_explicit(&o->pub.clean_as_of, memory_order_relaxed), now;
	if (forget_covers(c->forget, o->pub.hash, o->pub.key, since, &now))
		return true;
	if (now != since)
		atomic_store_explicit(&o->pub.clean_as_of, now, memory_order_relaxed);
	return false;
}

/* ---- lookup -------------------------------------------------------------------------------- */

/* A hit in RAM keeps the copy on disk warm as well, and finds out when that was evicted. */
static void
look_after_copy(struct cache *c, struct stored *o, bool first)
{
	if (!stored_lies_there(o))
		ram_moved(c->ram, o);
	else if (first)
		store_touch(c->store, o->pub.hash);
}

enum found
cache_lookup(struct cache *c, struct cache_lookup *l, struct key_hash hash, struct str key,
	     struct object **out)
{
	bool first;
	struct stored *o = ram_find(c->ram, hash, key, &first);
	if (o && cache_is_forgotten(c, o)) {
		ram_remove_object(c->ram, o);
		stored_unref(&o);
	}
	if (!o)
		return cache_disk_is_open(c) ? read_object(c, l, hash, key, out) : FOUND_NOT;
	if (atomic_load_explicit(&o->pub.on_disk, memory_order_relaxed))
		look_after_copy(c, o, first);
	*out = &o->pub;
	return FOUND_OBJECT;
}

enum found
cache_peek(struct cache *c, struct key_hash hash, struct str key, struct object **out)
{
	bool first;
	struct stored *o = ram_find(c->ram, hash, key, &first);
	if (o && cache_is_forgotten(c, o))
		stored_unref(&o);
	*out = o ? &o->pub : NULL;
	if (o)
		return FOUND_OBJECT;
	return c->store && store_has(c->store, hash) ? FOUND_LATER : FOUND_NOT;
}

/* ---- change -------------------------------------------------------------------------------- */

/* Is o what the key means now? */
static bool
is_current(struct cache *c, struct stored *o, const struct placement *p)
{
	return ram_holds(c->ram, o) ||
	       (p->at.bytes && store_lies_at(c->store, o->pub.hash, &p->at));
}

/* Whoever publishes looks behind himself: what was forgotten between his look and his publishing
 * either finds what he published, or is found here. */
bool
cache_is_still_clean(struct cache *c, struct stored *o)
{
	if (!cache_is_forgotten(c, o))
		return true;
	cache_remove(c, o->pub.hash, o->pub.key);
	return false;
}

bool
cache_is_current(struct cache *c, struct object *object)
{
	struct stored *o = stored_of(object);
	struct placement p = {0};
	if (o->store)
		stored_placement(o, &p);
	bool yes = is_current(c, o, &p);
	placement_fini(&p);
	return yes;
}

struct object *
cache_refresh(struct cache *c, struct object *object, struct str head, const struct terms *terms)
{
	struct stored *old = stored_of(object);
	struct stored *o =
		stored_create(c->store, old->pub.hash, old->pub.key, head, terms, old->pub.kind);
	bool clean = !cache_is_forgotten(c, old);
	atomic_store(&o->pub.clean_as_of, atomic_load(&old->pub.clean_as_of));
	o->pub.whole_bytes = old->pub.whole_bytes;
	stored_share_body(o, old);
	struct placement p;
	bool there = stored_placement(old, &p);
	bool current = clean && is_current(c, old, &p);
	/* As long as RAM holds it, its head is not written: a popular object that is validated all
	 * the time costs the disk nothing. A crash loses a 304, no more. */
	bool has_body = stored_has_body(o);
	if (current && there && has_body) {
		stored_place(o, &p);
		if (ram_replace(c->ram, o, true))
			goto published;
	}
	bool placed = current && there && cache_refer(c, o, &p);
	if (!has_body) {
		o->pub.place = OBJECT_ON_DISK;
		if (!placed)
			stored_place(o, &p);
		stored_lease(o); /* the old object's own lease holds until the caller lets it go */
	}
	if (current)
		ram_replace(c->ram, o, false); /* old itself, or its copy that was hot */
published:
	placement_fini(&p);
	if (current)
		cache_is_still_clean(c, o);
	return &o->pub;
}

void
cache_remove_lasting(struct cache *c, struct key_hash hash, struct str key)
{
	forget_add(c->forget, FORGET_KEY, hash, key, true);
	store_remove(c->store, hash);
}

/* RAM first: who writes from RAM looks there again when he has written (cache_admit). */
bool
cache_remove(struct cache *c, struct key_hash hash, struct str key)
{
	bool in_ram = ram_remove(c->ram, hash, key);
	bool on_disk = c->store && store_has(c->store, hash);
	if (on_disk)
		cache_remove_lasting(c, hash, key);
	return on_disk || in_ram;
}

void
cache_variant_stored(struct cache *c, struct key_hash primary, struct key_hash variant,
		     unsigned most)
{
	struct key_hash gone[SIBLINGS_GONE];
	unsigned n = siblings_add(c->siblings, primary, variant, most, gone);
	/* Not forgotten, as what is not true any more is: after a crash they may be there again. */
	for (unsigned i = 0; i < n; i++) {
		ram_drop(c->ram, gone[i]);
		if (c->store)
			store_remove(c->store, gone[i]);
	}
}

void
cache_variant_used(struct cache *c, struct key_hash primary, struct key_hash variant)
{
	siblings_use(c->siblings, primary, variant);
}

/* Out of RAM and index, so that the room is free; the entry in the tables is what counts. */
static bool
clear(struct cache *c, struct key_hash hash, struct str key)
{
	bool in_ram = ram_remove(c->ram, hash, key);
	bool on_disk = c->store && store_remove(c->store, hash);
	return in_ram || on_disk;
}

struct forgotten
cache_forget(struct cache *c, struct key_hash hash, struct str key, uint64_t since)
{
	struct forgotten f;
	/* Where the key holds more than the URL, the URL's other keys cannot be looked for. */
	bool lasting = memchr(key.p, '\n', key.n) != NULL;
	f.at = forget_add_own(c->forget, FORGET_URL, hash, key, lasting, since, &f.was_clean);
	f.had = clear(c, hash, key);
	if (f.had && !lasting)
		f.at = forget_add(c->forget, FORGET_URL, hash, key, true);
	return f;
}

struct purged
cache_purge(struct cache *c, enum purge_what what, struct key_hash hash, struct str name)
{
	static const enum forget_kind kinds[] = {FORGET_URL, FORGET_HOST, FORGET_ALL};
	struct purged p = {.at = forget_add(c->forget, kinds[what], hash, name, true)};
	struct cache_stats stats;
	if (what == PURGE_URL) {
		p.had = clear(c, hash, name);
	} else {
		cache_stats(c, &stats);
		p.had = stats.objects || stats.ram_objects;
	}
	p.durable = forget_wait(c->forget, p.at) == 0;
	return p;
}

/* ---- facts --------------------------------------------------------------------------------- */

void
cache_stats(struct cache *c, struct cache_stats *out)
{
	struct store_stats s = {0};
	struct ram_stats r;
	struct forget_stats f;
	forget_stats(c->forget, &f);
	if (c->store)
		store_stats(c->store, &s);
	ram_stats(c->ram, &r);
	pthread_mutex_lock(&c->files_lock);
	uint64_t files = c->files_bytes;
	pthread_mutex_unlock(&c->files_lock);
	*out = (struct cache_stats){
		.written_bytes = s.written_bytes + atomic_load(&c->files_written) + f.written_bytes,
		.purge_bytes = f.written_bytes,
		.used_bytes = s.used_bytes + files + f.log_bytes,
		.limit_bytes = c->store ? c->o.disk_bytes : 0,
		.objects = s.objects,
		.evicted_objects = s.evicted_objects,
		.damaged_records = atomic_load(&c->damaged),
		.ram_used_bytes = r.used_bytes,
		.ram_limit_bytes = r.limit_bytes,
		.ram_objects = r.objects,
		.ram_evicted_objects = r.evicted_objects,
		.io_errors = s.io_errors,
		.refused_writes = s.refused_writes + atomic_load(&c->refused),
		.failing = s.failing,
		.purges_kept = f.lasting + f.passing,
		.purges_shed = f.shed,
		.purges_durable = f.sound,
		.carried_bytes = s.carried_bytes,
		.index_bytes = s.index_bytes,
	};
}

uint64_t
cache_record_bytes(size_t key_bytes, size_t head_bytes, uint64_t body_bytes)
{
	uint64_t tables = 2 * SEGMENT_ENTRY_BYTES; /* in the batch and in the footer */
	uint64_t n = body_bytes > RAM_ONLY_BLOCK ? (body_bytes - 1) / RAM_ONLY_BLOCK + 1 : 0;
	uint64_t record = record_bytes(key_bytes, head_bytes, n, n ? 0 : body_bytes);
	return round_up(record, SEGMENT_ALIGN) + (n ? round_up(body_bytes, SEGMENT_ALIGN) : 0) +
	       tables;
}
