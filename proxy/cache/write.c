/* write.c - objects coming in: gathered in blocks, sent to the disk fragment by fragment when they
 * are large, visible only when whole.
 */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/buf.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_write.h"

#include <assert.h>
#include <stdlib.h>

enum {
	FIRST_BLOCK = 8 << 10, /* of a body of unknown length */
	SMALL_BODY = 64 << 10,
	/* Of all writes under way; beyond, new bytes are not kept. The last quarter is for small
	 * bodies: large ones never stop them from being stored. */
	MAX_BUILDING_BYTES = 64 << 20,
	MAX_LARGE_BYTES = 48 << 20,
};

struct object_write {
	struct cache *cache;
	struct stored *o;
	struct block *tail; /* being filled; not yet the object's */
	/* ref: the flight's, when the whole body fits into it: then nothing is copied. It grows at
	 * its end only, and what was given to cache_write_body does not change. */
	struct block *shared;
	uint64_t announced, got, begun;
	uint64_t reserved, building; /* of the budget; of that, in use */
	uint64_t *written, wrote;    /* to the disk: the caller's count; of that, by this write */
	bool disk;		     /* goes to disk as it comes */
	bool keep;		     /* stays in memory whole */
	bool dead;		     /* kept nowhere */
	struct fragment *fragments;
	uint32_t fragments_n;
	uint32_t held; /* of them, the first so many are sure to stay until all are there */
};

/* ---- a write under way --------------------------------------------------------------------- */

/* Bytes are reserved before they are used: at the beginning, as far as their number is known, so
 * that a write that begins well does not die of this later. */
static bool
reserve(struct object_write *w, uint64_t bytes)
{
	_Atomic uint64_t *all = &w->cache->building_bytes;
	bool small = w->announced <= SMALL_BODY || w->got + bytes <= SMALL_BODY;
	uint64_t most = small ? MAX_BUILDING_BYTES : MAX_LARGE_BYTES;
	if (atomic_fetch_add_explicit(all, bytes, memory_order_relaxed) + bytes > most) {
		atomic_fetch_sub_explicit(all, bytes, memory_order_relaxed);
		atomic_fetch_add(&w->cache->refused, 1);
		return false;
	}
	w->reserved += bytes;
	return true;
}

/* This must hold between any two calls. */
static void
check(const struct object_write *w)
{
	assert(w->building <= w->reserved);
	assert(w->dead || w->disk || w->keep);
	assert(!w->dead || (!w->tail && !w->shared && !w->reserved && !w->held));
	assert(w->held <= w->fragments_n);
	assert(!w->shared || (!w->tail && w->got <= w->announced));
	assert(!w->tail || (w->tail->n <= w->tail->cap && w->tail->cap <= w->cache->block_bytes));
}

static bool
use(struct object_write *w, uint64_t bytes)
{
	uint64_t more = w->building + bytes;
	if (more > w->reserved && !reserve(w, more - w->reserved))
		return false;
	w->building = more;
	return true;
}

static void
drop_tail(struct object_write *w)
{
	if (w->tail)
		w->building -= w->tail->cap;
	block_unref(&w->tail);
}

/* Is the i-th fragment the first in its segment? */
static bool
begins_segment(const struct object_write *w, uint32_t i)
{
	return i == 0 || w->fragments[i].at.segment != w->fragments[i - 1].at.segment;
}

/* The segments of its fragments do not go before it is whole, as far as the log can grant that. */
static void
hold(struct object_write *w)
{
	uint32_t i = w->fragments_n - 1;
	if (w->held == i && (!begins_segment(w, i) || store_hold(w->o->store, &w->fragments[i].at)))
		w->held++;
}

static void
let_go(struct object_write *w)
{
	for (; w->held; w->held--)
		if (begins_segment(w, w->held - 1))
			store_unhold(w->o->store, &w->fragments[w->held - 1].at);
}

/* Nothing of it is kept: what it held and had reserved is for others. */
static void
die(struct object_write *w)
{
	w->dead = true;
	let_go(w);
	drop_tail(w);
	block_unref(&w->shared);
	stored_drop_blocks(w->o);
	atomic_fetch_sub_explicit(&w->cache->building_bytes, w->reserved, memory_order_relaxed);
	w->building = w->reserved = 0;
}

bool
cache_write_rest(struct object_write *w)
{
	_Atomic uint64_t *all = &w->cache->building_bytes;
	uint64_t unused = w->reserved - w->building;
	let_go(w);
	w->reserved = w->building;
	check(w);
	uint64_t was = atomic_fetch_sub_explicit(all, unused, memory_order_relaxed);
	return !w->building || was - unused <= MAX_LARGE_BYTES / 2;
}

/* A write whose length is known holds at most its body, or one block of it. */
static bool
reserve_known(struct object_write *w)
{
	uint64_t most = w->keep ? w->announced : w->cache->block_bytes;
	if (w->announced == UINT64_MAX || w->announced == 0)
		return true;
	return reserve(w, w->announced < most ? w->announced : most);
}

static bool
ram_takes_body(const struct object_write *w, uint64_t body_bytes)
{
	return ram_takes(w->cache->ram, w->o->pub.hash, stored_memory(w->o) + body_bytes, false, 0);
}

static _Atomic(struct object_write *) *
spare_of(struct cache *c)
{
	static _Thread_local char here; /* a thread's own address */
	return &c->spare_writes[((uintptr_t)&here >> 12) % SPARE_WRITES].write;
}

/* Zeroed. */
static struct object_write *
write_new(struct cache *c)
{
	struct object_write *w = atomic_exchange(spare_of(c), NULL);
	return w ? memset(w, 0, sizeof *w) : NEW(struct object_write);
}

void
cache_free_spare_writes(struct cache *c)
{
	for (int i = 0; i < SPARE_WRITES; i++)
		free(atomic_exchange(&c->spare_writes[i].write, NULL));
}

struct object_write *
cache_write_begin(struct cache *c, const struct write_options *o)
{
	struct object_write *w = write_new(c);
	bool known = o->body_bytes != UINT64_MAX;
	w->cache = c;
	w->announced = o->body_bytes;
	w->written = o->written;
	w->begun = o->begun ? o->begun : forget_now(c->forget);
	w->o = stored_create(cache_home(c, o->hash), o->hash, o->key, o->head, o->tags, &o->terms,
			     o->kind);
	w->o->pub.whole_bytes = o->whole_bytes;
	atomic_init(&w->o->pub.plain_bytes, o->plain_bytes);
	w->o->block_bytes = c->block_bytes;
	w->disk = o->disk && cache_store_is_open(c, w->o->store) &&
		  (!known || o->body_bytes <= c->max_body_bytes);
	w->keep = !w->disk && ram_takes_body(w, known ? o->body_bytes : 0);
	w->dead = !w->disk && !w->keep;
	if (!w->dead && !reserve_known(w))
		die(w);
	check(w);
	return w;
}

static void
grow_tail(struct object_write *w, uint64_t cap)
{
	struct block *b = w->tail;
	if (!use(w, cap - (b ? b->cap : 0))) {
		die(w);
		return;
	}
	struct block *grown = b ? block_try_grow(b, (uint32_t)cap) : block_try((uint32_t)cap);
	if (grown)
		w->tail = grown;
	else
		die(w);
}

/* So much went to the disk. */
static void
count(struct object_write *w, uint64_t bytes)
{
	w->wrote += bytes;
	if (w->written)
		*w->written += bytes;
}

/* The tail is full and more comes: a fragment for the disk, a block for memory, or both. */
static void
push_tail(struct object_write *w)
{
	struct block *b = w->tail;
	if (w->disk) {
		if ((w->fragments_n & (w->fragments_n + 1)) == 0)
			w->fragments = mem_realloc(w->fragments,
						   (2 * w->fragments_n + 1) * sizeof *w->fragments);
		if (w->got > w->cache->max_body_bytes ||
		    !store_put_fragment(w->o->store, w->o->pub.hash, b->p, b->n,
					&w->fragments[w->fragments_n])) {
			die(w);
			return;
		}
		w->fragments_n++;
		count(w, b->n);
		hold(w);
	}
	if (!w->keep) {
		drop_tail(w);
		return;
	}
	stored_add_block(w->o, b);
	w->tail = NULL;
	if (w->announced == UINT64_MAX && !ram_takes_body(w, w->cache->block_bytes))
		die(w);
}

static void
room_in_tail(struct object_write *w)
{
	uint64_t full = w->cache->block_bytes;
	if (w->tail && w->tail->n == full)
		push_tail(w);
	if (w->dead || (w->tail && w->tail->n < w->tail->cap))
		return;
	uint64_t cap = w->tail ? 2 * (uint64_t)w->tail->cap : FIRST_BLOCK;
	if (w->announced != UINT64_MAX && w->announced > w->got) {
		/* Memory as the body comes, in a few steps: one that is slow holds little. */
		uint64_t left = w->announced - w->got + (w->tail ? w->tail->n : 0);
		cap = cap < SMALL_BODY ? SMALL_BODY : cap;
		cap = left < cap ? left : cap;
	}
	grow_tail(w, cap < full ? cap : full);
}

bool
cache_write_is_alive(const struct object_write *w)
{
	return !w->dead;
}

bool
cache_write_turn(struct object_write *w)
{
	bool may = w->disk && !w->dead && !w->fragments_n && w->announced == UINT64_MAX;
	if (may && ram_takes_body(w, w->got)) {
		w->disk = false;
		w->keep = true;
	}
	return may && w->keep;
}

/* b is or will be the whole body, no more and no less. */
static bool
is_whole_body(const struct object_write *w, const struct block *b, uint32_t at)
{
	return w->shared == b || (w->got == 0 && at == 0 && b->cap == w->announced &&
				  w->announced <= w->cache->block_bytes);
}

void
cache_write_body(struct object_write *w, struct block *b, uint32_t at, uint32_t n)
{
	assert(at <= b->n && n <= b->n - at); /* what is there, not what there is room for */
	if (!w->dead && w->announced != UINT64_MAX && n > w->announced - w->got)
		die(w);
	if (!w->dead && is_whole_body(w, b, at)) {
		assert(at == w->got);
		if (!w->shared)
			w->shared = block_ref(b);
		w->got += n;
		check(w);
		return;
	}
	assert(n == 0 || w->dead || !w->shared); /* its block has all there is */
	while (n && !w->dead) {
		room_in_tail(w);
		if (w->dead)
			break;
		uint32_t part = w->tail->cap - w->tail->n;
		part = part < n ? part : n;
		memcpy(w->tail->p + w->tail->n, b->p + at, part);
		w->tail->n += part;
		w->got += part;
		at += part;
		n -= part;
	}
	check(w);
}

static void
free_write(struct object_write **pw)
{
	struct object_write *w = *pw;
	*pw = NULL;
	let_go(w);
	drop_tail(w);
	block_unref(&w->shared);
	atomic_fetch_sub_explicit(&w->cache->building_bytes, w->reserved, memory_order_relaxed);
	stored_unref(&w->o);
	free(w->fragments);
	free(atomic_exchange(spare_of(w->cache), w));
}

void
cache_write_abandon(struct object_write **w)
{
	free_write(w);
}

/* A body of unknown length leaves room behind its end; what is kept for long gives it back. */
static void
keep_tail(struct object_write *w)
{
	struct block *b = w->tail;
	if (w->shared)
		stored_add_block(w->o, w->shared);
	w->shared = NULL;
	if (!b)
		return;
	w->tail = NULL;
	if (b->cap - b->n > b->cap / 8) {
		b = mem_realloc(b, sizeof *b + b->n);
		b->cap = b->n;
	}
	stored_add_block(w->o, b);
}

static bool
finish_on_disk(struct object_write *w)
{
	if (w->fragments_n && w->tail)
		push_tail(w);
	else
		keep_tail(w);
	if (w->dead || !cache_place(w->cache, w->o, w->fragments, w->fragments_n, NULL))
		return false;
	const struct object *o = &w->o->pub;
	count(w, cache_record_bytes(o->key.n, o->head.n, o->body_bytes) - w->wrote);
	return true;
}

/* The newest answer for a key is the only one: whatever RAM or disk held before goes. */
static bool
publish(struct object_write *w, bool on_disk)
{
	struct cache *c = w->cache;
	struct stored *o = w->o;
	bool clean = true, is_newest = false, to_ram = w->keep || !on_disk;
	bool ram_alone = to_ram && !on_disk && c->disks_n;
	if (ram_alone && !cache_may_supersede(c))
		return false;
	if (ram_alone && cache_disks_may_have(c, o->pub.hash)) {
		if (cache_disk_is_open(c) && cache_renews(c, o))
			return true;
		if (ram_takes_body(w, 0)) {
			clean = cache_supersedes(c, o);
			is_newest = true; /* also of what is not read yet */
		}
	}
	cache_window(c);
	bool in_ram = clean && to_ram && ram_put(c->ram, o, 0);
	cache_window(c);
	/* RAM took what it had not promised to take, or somebody wrote meanwhile. */
	if (in_ram && ram_alone &&
	    (is_newest ? cache_disks_have(c, o->pub.hash) : cache_disks_may_have(c, o->pub.hash)) &&
	    !cache_supersedes(c, o)) {
		ram_remove_object(c->ram, o);
		in_ram = false;
	}
	if (on_disk && !in_ram)
		ram_remove(c->ram, o->pub.hash, o->pub.key);
	return on_disk || in_ram;
}

/* Nothing that was forgotten since the request left covers the key:
 * the answer is clean as of now. */
static bool
is_clean(struct object_write *w)
{
	struct cache *c = w->cache;
	uint64_t now;
	struct forget_thing o = {w->o->pub.hash, w->o->pub.key, w->o->pub.tags};
	if (forget_covers_fetch(c->forget, &o, w->begun, &now))
		return false;
	atomic_store(&w->o->pub.clean_as_of, now);
	w->o->pub.clean_from = now;
	return true;
}

/* The new object, whole and found from now on; NULL: it is kept nowhere. */
static struct object *
commit(struct object_write *w, bool admit)
{
	struct stored *o = w->o;
	bool on_disk = false;
	if (!is_clean(w))
		return NULL;
	cache_window(w->cache);
	o->pub.body_bytes = w->got;
	if (w->disk || (admit && cache_disk_is_open(w->cache))) {
		if (!w->disk)
			keep_tail(w);
		on_disk = finish_on_disk(w);
	}
	keep_tail(w);
	if (!stored_has_body(o)) {
		o->pub.place = OBJECT_ON_DISK;
		if (!on_disk)
			return NULL;
	}
	cache_window(w->cache);
	bool published = publish(w, on_disk);
	cache_window(w->cache);
	if (!published || !cache_is_still_clean(w->cache, o))
		return NULL;
	if (!stored_has_body(o))
		stored_lease(o); /* without it, who reads this very object may be cut by eviction */
	return object_ref(&o->pub);
}

/* Where neither RAM nor disk has anything by the key, RAM had no room for old any more: what was purged since is
 * known by its time. */
static bool
is_in_place(struct cache *c, struct object *old)
{
	struct stored *o = ram_look(c->ram, old->hash, old->key);
	bool nothing = !o && !cache_disks_may_have(c, old->hash);
	stored_unref(&o);
	return nothing || cache_is_current(c, old);
}

/* old: NULL: whatever the key means now, it is replaced. */
static struct object *
commit_over(struct object_write **pw, bool admit, struct object *old)
{
	struct object_write *w = *pw;
	struct object *out = NULL;
	if (!w->dead && (w->announced == UINT64_MAX || w->announced == w->got)) {
		pthread_mutex_t *lock = cache_commit_lock(w->cache, w->o->pub.hash);
		pthread_mutex_lock(lock);
		if (!old || is_in_place(w->cache, old))
			out = commit(w, admit);
		pthread_mutex_unlock(lock);
	}
	free_write(pw);
	return out;
}

struct object *
cache_write_commit(struct object_write **w, bool admit)
{
	return commit_over(w, admit, NULL);
}

struct object *
cache_write_commit_over(struct object_write **w, struct object *old)
{
	return commit_over(w, true, old);
}
