/* cache.c - what was forgotten since when, what is removed and what is counted: below the rest of
 * the door. */
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_variants.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/heritage.h"

#include "proxy/base/log.h"

#include <assert.h>

_Static_assert((int)CACHE_PREFIX_MOST == (int)PURGE_PREFIX_MOST, "what is promised is kept");

/* ---- time ---------------------------------------------------------------------------------- */

uint64_t
cache_now(const struct cache *c)
{
	return forget_now(c->forget);
}

bool
cache_is_clean(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags,
	       uint64_t since)
{
	uint64_t now;
	struct forget_thing o = {hash, key, tags};
	return !forget_covers_fetch(c->forget, &o, since, &now);
}

struct cache_purges
cache_latest_purges(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags)
{
	struct cache_purges p = {.now = forget_now(c->forget)};
	struct forget_thing o = {hash, key, tags};
	struct forget_latest last = forget_latest(c->forget, &o);
	p.gone = last.gone;
	p.stale = last.stale;
	return p;
}

uint32_t
cache_tag(const struct cache *c, struct str tag)
{
	return forget_tag(c->forget, tag);
}

/* Nobody asks whether these are fresh: the response does that they belong to. */
static bool
has_no_freshness(uint8_t kind)
{
	return kind == OBJECT_SLICE || kind == OBJECT_MARKER;
}

struct judged
cache_judge(struct cache *c, struct stored *o)
{
	uint64_t since = atomic_load_explicit(&o->pub.clean_as_of, memory_order_relaxed);
	struct judged j = {.now = forget_now(c->forget)};
	if (j.now == since)
		return j;
	struct forget_thing thing = {o->pub.hash, o->pub.key, o->pub.tags};
	j.word = forget_judge(c->forget, &thing, since, &j.now, &j.stale_s);
	if (j.word == FORGET_STALE && has_no_freshness(o->pub.kind))
		j.word = FORGET_CLEAN;
	if (j.word == FORGET_CLEAN)
		atomic_store_explicit(&o->pub.clean_as_of, j.now, memory_order_relaxed);
	return j;
}

bool
cache_record_is_forgotten(struct cache *c, struct record *r)
{
	struct forget_thing thing = {r->hash, r->key, r->tags};
	uint64_t now;
	uint32_t stale_s;
	enum forget_word word = forget_judge(c->forget, &thing, r->clean_as_of, &now, &stale_s);
	if (word == FORGET_GONE)
		return true;
	if (word == FORGET_STALE && !has_no_freshness(r->kind))
		terms_outdate(&r->terms, stale_s);
	r->clean_as_of = now;
	return false;
}

bool
cache_is_forgotten(struct cache *c, struct stored *o)
{
	return cache_judge(c, o).word == FORGET_GONE;
}

bool
cache_was_forgotten(struct cache *c, struct object *o)
{
	return cache_is_forgotten(c, stored_of(o));
}

bool
cache_was_of(const struct object *o, uint64_t from, struct str tags)
{
	uint64_t since = atomic_load_explicit(&o->clean_as_of, memory_order_relaxed);
	return since >= from && o->kind == OBJECT_SLICE && cache_tags_within(o->tags, tags);
}

/* A thread that publishes looks once more: a purge or invalidation between its first look and its
 * publishing either finds the object, or is found here. */
bool
cache_is_still_clean(struct cache *c, struct stored *o)
{
	if (!cache_is_forgotten(c, o))
		return true;
	cache_remove(c, o->pub.hash, o->pub.key);
	return false;
}

bool
cache_tags_within(struct str a, struct str b)
{
	static const size_t most = 1 << 20; /* bytes to compare */
	if (str_eq(a, b))
		return true;
	if (a.n * b.n > most)
		return false;
	for (size_t i = 0; i + 4 <= a.n; i += 4) {
		size_t k = 0;
		while (k + 4 <= b.n && memcmp(a.p + i, b.p + k, 4) != 0)
			k += 4;
		if (k + 4 > b.n)
			return false;
	}
	return true;
}

bool
cache_outlives(struct cache *c, struct stored *o, enum forget_kind kind, struct str tags,
	       uint64_t since)
{
	bool clean;
	struct forget_thing own = {o->pub.hash, o->pub.key, tags};
	uint64_t at = forget_add_own(c->forget, kind, &own, FORGET_AT_ONCE, since, &clean);
	if (!clean)
		return false;
	atomic_store(&o->pub.clean_as_of, at);
	if (kind == FORGET_URL) /* its slices of before are what is forgotten */
		o->pub.clean_from = at;
	return true;
}

bool
cache_leave_others(struct cache *c, struct stored *o)
{
	for (unsigned i = 0; i < c->disks_n; i++) {
		struct store *st = c->disks[i].store;
		if (st == o->store || !store_has(st, o->pub.hash))
			continue;
		bool clean = cache_outlives(c, o, FORGET_KEY, o->pub.tags, o->pub.clean_as_of);
		cache_window(c);
		store_remove(st, o->pub.hash);
		if (!clean)
			return false;
	}
	return true;
}

/* ---- change -------------------------------------------------------------------------------- */

void
cache_remove_lasting(struct cache *c, struct twice_key_hash hash, struct str key)
{
	forget_add(c->forget, FORGET_KEY, hash, key, FORGET_AT_ONCE);
	cache_disks_remove(c, hash);
}

/* RAM first: who writes from RAM looks there again when he has written (cache_admit). */
bool
cache_remove(struct cache *c, struct twice_key_hash hash, struct str key)
{
	bool in_ram = ram_remove(c->ram, hash, key);
	cache_window(c);
	bool on_disk = cache_disks_may_have(c, hash);
	if (on_disk)
		cache_remove_lasting(c, hash, key);
	return on_disk || in_ram;
}

/* Not forgotten, as what is not true any more is: after a crash they may be there again. */
static void
drop_variants(struct cache *c, const struct twice_key_hash *gone, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		ram_drop(c->ram, gone[i]);
		cache_disks_drop(c, gone[i]);
	}
}

void
cache_variant_stored(struct cache *c, struct twice_key_hash primary, struct twice_key_hash variant,
		     unsigned most)
{
	struct twice_key_hash gone[SIBLINGS_GONE];
	drop_variants(c, gone, siblings_add(c->siblings, primary, variant, most, gone));
}

void
cache_variant_used(struct cache *c, struct twice_key_hash primary, struct twice_key_hash variant,
		   unsigned most)
{
	struct twice_key_hash gone[SIBLINGS_GONE];
	drop_variants(c, gone, siblings_use(c->siblings, primary, variant, most, gone));
}

/* Out of RAM and index, so that the room is free; the entry in the tables is what counts. */
static bool
clear(struct cache *c, struct twice_key_hash hash, struct str key)
{
	bool in_ram = ram_remove(c->ram, hash, key);
	bool on_disk = cache_disks_remove(c, hash);
	return in_ram || on_disk;
}

static bool
holds(struct cache *c, struct twice_key_hash hash, struct str key)
{
	struct stored *o = ram_find(c->ram, hash, key, 0, NULL);
	bool yes = o || cache_disks_may_have(c, hash);
	stored_unref(&o);
	return yes;
}

/* Where the key holds more than the URL, the URL's other keys cannot be looked for; nor can its other
 * spellings, where it has one of those that are in use. */
static bool
has_other_keys(struct str key)
{
	return memchr(key.p, '\n', key.n) || memchr(key.p, '%', key.n) || memchr(key.p, '~', key.n);
}

struct forgotten
cache_forget(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags,
	     uint64_t since)
{
	struct forgotten f;
	struct forget_thing own = {hash, key, tags};
	bool lasting = has_other_keys(key) || cache_rests(c) ||
		       atomic_load_explicit(&c->bequeathed, memory_order_relaxed);
	f.at = forget_add_own(c->forget, FORGET_URL, &own,
			      lasting ? FORGET_GATHERED : FORGET_PASSING, since, &f.was_clean);
	f.had = clear(c, hash, key);
	cache_window(c);
	if (!lasting && (f.had || cache_disks_may_be_left(c, hash))) {
		bool still;
		f.at = forget_add_own(c->forget, FORGET_URL, &own, FORGET_GATHERED, f.at, &still);
		f.was_clean = f.was_clean && still;
	}
	return f;
}

struct purged
cache_purge(struct cache *c, enum forget_kind kind, bool soft, struct twice_key_hash hash,
	    struct str name)
{
	assert(kind != FORGET_KEY && kind != FORGET_PREFIX_HOST);
	struct purged p = {.at = soft ? forget_add_softly(c->forget, kind, name)
				      : forget_add(c->forget, kind, hash, name, FORGET_ORDERED)};
	struct cache_stats stats;
	if (kind == FORGET_URL) {
		p.had = soft ? holds(c, hash, name) : clear(c, hash, name);
	} else {
		cache_stats(c, &stats);
		p.had = stats.objects || stats.ram_objects;
	}
	return p;
}

bool
cache_purge_wait(struct cache *c, uint64_t at)
{
	return forget_wait(c->forget, at) == 0;
}

void
cache_hold(struct cache *c, bool holds)
{
	atomic_store_explicit(&c->held, holds, memory_order_release);
}

void
cache_purge_tell(struct cache *c, struct forget_letter *l, uint64_t at)
{
	forget_tell(c->forget, l, at);
}

/* ---- facts --------------------------------------------------------------------------------- */

void
cache_expect(struct cache *c, bool asked_before)
{
	atomic_store_explicit(&c->asked_before, asked_before, memory_order_relaxed);
}

static bool
is_failing(const struct cache *c, unsigned i, bool store_fails)
{
	return store_fails || atomic_load(&c->lost.hangs) >> i & 1 ||
	       !forget_is_sound_at(c->forget, i);
}

/* Of all disks together, and each. False: it still grows. */
static bool
add_disk(struct cache *c, unsigned i, struct cache_stats *out)
{
	struct disk *d = &c->disks[i];
	struct store_stats s;
	store_stats(d->store, &s);
	bool hangs = atomic_load(&c->lost.hangs) >> i & 1;
	out->disks[i] = (struct cache_disk_stats){
		.dir = d->dir,
		.written_bytes = s.written_bytes,
		.used_bytes = s.used_bytes,
		.limit_bytes = d->bytes,
		.objects = s.objects,
		.io_errors = s.io_errors,
		.failing = is_failing(c, i, s.failing),
	};
	out->written_bytes += s.written_bytes;
	out->pending_bytes += s.pending_bytes;
	out->used_bytes += s.used_bytes;
	out->limit_bytes += d->bytes;
	out->objects += s.objects;
	out->evicted_objects += s.evicted_objects;
	out->io_errors += s.io_errors;
	out->refused_writes += s.refused_writes;
	out->carried_bytes += s.carried_bytes;
	out->unread_segments += s.unread_segments;
	out->scrubbed_bytes += s.scrubbed_bytes;
	out->scrub_damaged += s.scrub_damaged;
	out->damaged_records += s.scrub_damaged;
	out->admitted_bytes += s.admitted_bytes;
	out->index_bytes += s.index_bytes;
	out->failing |= s.failing || hangs;
	out->turn_bytes += s.turn_bytes;
	return s.turn_bytes || s.failing;
}

unsigned
cache_directories(const struct cache *c)
{
	return c->disks_n + c->lost.left_out;
}

unsigned
cache_lost(const struct cache *c)
{
	unsigned n = c->lost.left_out;
	for (unsigned i = 0; i < c->disks_n; i++)
		n += is_failing(c, i, store_fails(c->disks[i].store));
	return n;
}

void
cache_mind_memory(struct cache *c)
{
	struct ram_stats r;
	if (!ram_mind_memory(c->ram))
		return;
	ram_stats(c->ram, &r);
	log_warning(
		"the system has no more memory for this process (a limit of its unit, container or shell, or "
		"vm.overcommit_memory): the RAM tier gives up objects and keeps %llu MiB for now; a smaller "
		"cache.memory keeps that from happening",
		(unsigned long long)(r.used_bytes >> 20));
}

void
cache_stats(struct cache *c, struct cache_stats *out)
{
	struct ram_stats r;
	struct forget_stats f;
	forget_stats(c->forget, &f);
	ram_stats(c->ram, &r);
	*out = (struct cache_stats){
		.written_bytes = atomic_load(&c->files_written) + f.written_bytes,
		.purge_bytes = f.written_bytes,
		.used_bytes = atomic_load(&c->files_bytes) + f.log_bytes,
		.damaged_records = atomic_load(&c->damaged),
		.ram_used_bytes = r.used_bytes,
		.ram_limit_bytes = r.limit_bytes,
		.ram_objects = r.objects,
		.ram_evicted_objects = r.evicted_objects,
		.refused_writes = atomic_load(&c->refused),
		.purges = {f.lasting + f.passing, f.room, f.merged, f.shed, f.sound},
		.disks_n = c->disks_n,
		.disks_left_out = c->lost.left_out,
	};
	bool is_full = true;
	for (unsigned i = 0; i < out->disks_n; i++)
		is_full &= add_disk(c, i, out);
	if (!is_full)
		out->turn_bytes = 0;
}

uint64_t
cache_record_bytes(size_t key_bytes, size_t head_bytes, uint64_t body_bytes)
{
	uint64_t tables = 2 * SEGMENT_ENTRY_BYTES; /* in the batch and in the footer */
	uint64_t n = body_bytes > CACHE_RAM_BLOCK ? (body_bytes - 1) / CACHE_RAM_BLOCK + 1 : 0;
	uint64_t record = record_bytes(key_bytes + head_bytes, n, n ? 0 : body_bytes);
	return round_up(record, SEGMENT_ALIGN) + (n ? round_up(body_bytes, SEGMENT_ALIGN) : 0) +
	       tables;
}
