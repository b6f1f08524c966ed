/* bill.c - facts of a request as one event for the ghost. */
#include "proxy/serve/bill.h"

#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/fill_inside.h"
#include "proxy/serve/packing.h"
#include "proxy/serve/sight.h"

#include <assert.h>

static uint64_t
url_of(const struct twice_seed *seed, const struct route *route, struct twice_key_hash primary,
       struct str key)
{
	if (!route_splits_urls(route))
		return primary.hi; /* the key is the URL and no more */
	struct str url = cachekey_url(key);
	return twice_key_hash_of(seed, url.p, url.n).hi;
}

uint32_t
bill_request(const struct txn *t)
{
	uint32_t place = (uint32_t)((uintptr_t)t >> 4), when = (uint32_t)t->begun_us;
	return (place ^ when * UINT32_C(2654435761)) | 1;
}

static uint64_t
hash_of(const struct twice_seed *seed, struct str s)
{
	return twice_key_hash_of(seed, s.p, s.n).hi;
}

/* The authority in a key. A worker remembers the last one, as the beginning of a key up to the path:
 * most requests need not look where it ends. */
static uint32_t
host_of(struct serve *s, struct str key)
{
	struct billed_host *last = &s->billed_host;
	if (last->n && str_starts(key, (struct str){last->text, last->n}))
		return last->hash;
	struct str host = outgoing_authority(key);
	size_t n = (size_t)(host.p - key.p) + host.n + 1;
	uint32_t hash = (uint32_t)hash_of(s->shelves->seed, host);
	if (n <= key.n && key.p[n - 1] == '/' && n <= sizeof last->text) {
		memcpy(last->text, key.p, n);
		last->n = n;
		last->hash = hash;
	}
	return hash;
}

static uint32_t
fresh_for(const struct terms *t)
{
	int64_t s = t->flags & TERMS_NO_CACHE ? 0 : t->lifetime - t->initial_age;
	return s <= 0 ? 0 : s < UINT32_MAX ? (uint32_t)s : UINT32_MAX;
}

uint32_t
bill_validator(struct str head, const struct terms *terms)
{
	static const struct twice_seed fixed; /* only ever compared with our own */
	if (terms->etag_bytes)
		return (uint32_t)twice_key_hash_of(&fixed, head.p + terms->etag_at,
						   terms->etag_bytes)
			       .lo |
		       1;
	if (terms->last_modified < 0)
		return 0;
	return (uint32_t)twice_key_hash_of(&fixed, &terms->last_modified,
					   sizeof terms->last_modified)
		       .lo |
	       1;
}

/* A rule that says never, or not so much, holds for the baseline too; and nobody stores what a HEAD
 * or POST brought. */
static bool
is_compared(const struct route *route, uint64_t body_bytes)
{
	return route->admit != RULE_NEVER && !route->pass &&
	       (!route->max_object_bytes || body_bytes <= route->max_object_bytes);
}

static bool
is_always(const struct route *route)
{
	return route->admit == RULE_ALWAYS || route->sightings == 1;
}

static void
say_purges(const struct serve *s, struct twice_key_hash hash, struct str key, struct str tags,
	   struct ghost_event *e)
{
	struct cache_purges p = cache_latest_purges(s->shelves->cache, hash, key, tags);
	e->purge_now = p.now;
	e->gone_at = p.gone;
	e->stale_at = p.stale;
}

/* A head is sampled with its slices: by the size of the whole. 0: it has none. */
static uint64_t
sliced_bytes(const struct object *o)
{
	return o && o->kind == OBJECT_SLICED ? o->whole_bytes : 0;
}

static bool
is_wanted(const struct serve *s, const struct route *route, struct twice_key_hash key,
	  uint64_t record_bytes, uint64_t body_bytes, uint64_t whole_bytes)
{
	return is_compared(route, whole_bytes ? whole_bytes : body_bytes) &&
	       baseline_wants(s->ring, key, whole_bytes ? whole_bytes : record_bytes);
}

/* An ordinary cache of the same rule has no use for it on its disk either. */
static bool
is_too_short(const struct serve *s, const struct route *route, const struct terms *terms)
{
	return route->admit != RULE_ALWAYS && !(terms->flags & TERMS_CONFIRMED) &&
	       seen_is_too_short(s->shelves->seen, sight_life_s(terms));
}

static void
say_sighting(const struct sighting *s, struct ghost_event *e)
{
	e->behind = s->kind == SIGHTING_RANGE_BEHIND ? s->slice + 1 : 0;
	e->first = s->kind == SIGHTING_RANGE_FIRST;
}

/* As it lies here; 0: it was not packed. */
static uint64_t
packed_bytes(const struct object *o)
{
	return o->terms.flags & TERMS_PACKED
		       ? cache_record_bytes(o->key.n, o->head.n, o->body_bytes)
		       : 0;
}

void
bill_hit(const struct txn *t, const struct object *o, uint64_t body_bytes)
{
	uint64_t bytes = cache_record_bytes(o->key.n, o->head.n, body_bytes);
	uint64_t whole = sliced_bytes(o);
	assert(o->kind != OBJECT_SLICE && o->kind != OBJECT_MARKER);
	if (!is_wanted(t->serve, t->route, t->key.sighting, bytes, body_bytes, whole))
		return;
	int64_t now = now_s();
	struct ghost_event e = {
		.key = t->key.sighting.hi,
		.host = host_of(t->serve, key_primary(&t->key)),
		.url = url_of(t->serve->shelves->seed, t->route, t->key.primary,
			      key_primary(&t->key)),
		.record_bytes = bytes,
		.packed_bytes = packed_bytes(o),
		.packable = !o->on_disk && packing_is_meant(t->serve, &o->terms, body_bytes),
		.sampled_as = whole,
		.body_bytes = body_bytes,
		.request = whole ? bill_request(t) : 0,
		.sightings = t->sighting.recorded,
		.always = is_always(t->route),
		.now_s = (uint32_t)now,
		.fresh_s = fresh_for(&o->terms),
		.validator = bill_validator(o->head, &o->terms),
		.deed = GHOST_HIT,
		.whole = true,
		.refused = is_too_short(t->serve, t->route, &o->terms),
	};
	say_sighting(&t->sighting, &e);
	say_purges(t->serve, o->hash, o->key, o->tags, &e);
	baseline_note(t->serve->ring, &e);
}

/* Its own, and those of who waited for it. A 304 is none here, but to a cache that has nothing. */
static uint8_t
sightings_of(const struct fill *f, enum ghost_deed deed)
{
	unsigned n = f->sighting.recorded || deed == GHOST_CHECKED;
	n += f->flight ? flight_followers(f->flight) : 0;
	return n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
}

void
bill_fetch(const struct fill *f, enum ghost_deed deed, uint64_t body_bytes, uint64_t origin_bytes)
{
	uint64_t bytes = cache_record_bytes(f->filed.key_bytes, f->filed.head_bytes, body_bytes);
	uint64_t whole = f->filed.sliced_bytes ? f->filed.sliced_bytes : sliced_bytes(f->object);
	if (backend_is_elsewhere(&f->backend) ||
	    !is_wanted(f->serve, f->route, f->key.sighting, bytes, body_bytes, whole))
		return;
	bool part = deed == GHOST_PART;
	struct ghost_event e = {
		.key = f->key.sighting.hi,
		.host = host_of(f->serve, key_primary(&f->key)),
		.url = url_of(f->serve->shelves->seed, f->route, f->key.primary,
			      key_primary(&f->key)),
		.record_bytes = bytes,
		.sampled_as = whole,
		.body_bytes = body_bytes,
		.packable = packing_is_meant(f->serve, &f->terms, body_bytes),
		.origin_bytes = origin_bytes,
		.request = whole ? f->filed.request : 0,
		.sightings = sightings_of(f, deed),
		.always = is_always(f->route),
		.now_s = (uint32_t)now_s(),
		.fresh_s = fresh_for(&f->terms),
		.validator = f->filed.validator,
		.deed = deed,
		.background = f->background,
		/* With one sighting asked for, a part of what was seen before is enough. */
		.whole = !part || f->sighting.known.times || is_always(f->route),
		.refused = is_too_short(f->serve, f->route, &f->terms),
	};
	say_sighting(&f->sighting, &e);
	say_purges(f->serve, f->key.hash, buf_str(&f->key.text), buf_str(&f->tags), &e);
	baseline_note(f->serve->ring, &e);
}

/* In the sample exactly when its head is: that goes by the high bits. */
static uint64_t
slice_key(uint64_t head, struct twice_key_hash slice)
{
	return (head & ~(uint64_t)UINT32_MAX) | (uint32_t)slice.hi;
}

/* Its key tells the version, so a slice never gets stale; its head does. */
static void
bill_slice(struct serve *s, const struct route *route, const struct billed_slice *b,
	   struct str tags, struct ghost_event *e)
{
	enum { LONG_S = 365 * 86400 };
	const struct key *key = b->key;
	e->body_bytes = b->bytes;
	e->sampled_as = b->whole_bytes;
	e->joins = b->joins;
	e->record_bytes = cache_record_bytes(key->text.n, 0, b->bytes);
	e->key = slice_key(e->head, key->hash);
	if (!is_wanted(s, route, (struct twice_key_hash){.hi = e->key}, e->record_bytes, b->bytes,
		       b->whole_bytes))
		return;
	struct str primary = key_primary(key);
	e->sightings = b->sightings < UINT8_MAX ? (uint8_t)b->sightings : UINT8_MAX;
	e->behind = b->sightings ? b->number + 1 : 0;
	e->host = host_of(s, primary);
	e->url = url_of(s->shelves->seed, route, key->primary, primary);
	e->now_s = (uint32_t)now_s();
	e->fresh_s = LONG_S;
	e->whole = true;
	say_purges(s, key->hash, buf_str(&key->text), tags, e);
	e->slice = true;
	e->always = is_always(route);
	baseline_note(s->ring, e);
}

void
bill_slice_hit(const struct txn *t, const struct billed_slice *s, const struct object *o)
{
	struct ghost_event e = {
		.head = t->key.sighting.hi, .request = bill_request(t), .deed = GHOST_HIT};
	bill_slice(t->serve, t->route, s, o->tags, &e);
}

void
bill_slice_fetched(const struct fill *f, const struct billed_slice *s)
{
	struct ghost_event e = {.head = f->key.sighting.hi,
				.origin_bytes = s->bytes,
				.request = f->filed.request,
				.background = f->background,
				.deed = GHOST_FETCHED};
	if (!backend_is_elsewhere(&f->backend))
		bill_slice(f->serve, f->route, s, buf_str(&f->tags), &e);
}

void
bill_slice_asked(const struct fill *f, const struct billed_slice *s)
{
	struct ghost_event e = {.head = f->key.sighting.hi, .deed = GHOST_ASKED};
	if (!backend_is_elsewhere(&f->backend))
		bill_slice(f->serve, f->route, s, buf_str(&f->tags), &e);
}

void
bill_forget(const struct shelves *sh, struct str key)
{
	struct str url = cachekey_url(key);
	baseline_forget(sh->baseline, twice_key_hash_of(sh->seed, url.p, url.n));
}

void
bill_forget_host(const struct shelves *sh, struct str host)
{
	baseline_forget_host(sh->baseline, (uint32_t)hash_of(sh->seed, host));
}
