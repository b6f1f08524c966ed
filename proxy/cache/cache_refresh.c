/* cache_refresh.c - an object that is there gets a new head, or new terms. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/buf.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_write.h"

/* Is o what the key means now? */
static bool
is_current(struct cache *c, struct stored *o, const struct placement *p)
{
	return ram_holds(c->ram, o) ||
	       (p->at.bytes && store_lies_at(o->store, o->pub.hash, &p->at));
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

/* o, which takes old's place, has other tags. By those of the record on disk a purge by a new tag
 * would not reach it, and after a crash it would be back: so the key, as it was so far, is
 * forgotten, and o is newer. Slices have the tags of their time: where the head gets one more, they
 * go too. False: something that covers o or old was forgotten on the way. */
static bool
takes_tags(struct cache *c, struct stored *o, const struct stored *old, uint64_t begun)
{
	struct buf both = {0};
	bool slices =
		o->pub.kind == OBJECT_SLICED && !cache_tags_within(o->pub.tags, old->pub.tags);
	buf_add_str(&both, old->pub.tags);
	buf_add_str(&both, o->pub.tags);
	bool clean = cache_outlives(c, o, slices ? FORGET_URL : FORGET_KEY, buf_str(&both), begun);
	buf_fini(&both);
	return clean;
}

static bool
has_same_tags(const struct stored *a, const struct stored *b)
{
	return cache_tags_within(a->pub.tags, b->pub.tags) &&
	       cache_tags_within(b->pub.tags, a->pub.tags);
}

static struct object *
refresh(struct cache *c, struct stored *old, struct str head, struct str tags,
	const struct terms *terms, uint64_t begun)
{
	struct stored *o = stored_create(old->store, old->pub.hash, old->pub.key, head, tags, terms,
					 old->pub.kind);
	bool clean = !cache_is_forgotten(c, old);
	atomic_store(&o->pub.clean_as_of, atomic_load(&old->pub.clean_as_of));
	o->pub.clean_from = old->pub.clean_from;
	o->pub.whole_bytes = old->pub.whole_bytes;
	atomic_init(&o->pub.plain_bytes, atomic_load(&old->pub.plain_bytes));
	stored_share_body(o, old);
	atomic_store(&o->pays, atomic_exchange(&old->pays, false)); /* what is answered is o */
	struct placement p;
	bool there = stored_placement(old, &p);
	bool current = clean && is_current(c, old, &p);
	bool same_tags = has_same_tags(o, old), in_ram = ram_holds(c->ram, old);
	cache_window(c);
	if (current && !same_tags)
		current = takes_tags(c, o, old, begun);
	/* As long as RAM holds it, its head is not written: a popular object that is validated all
	 * the time costs the disk nothing. A crash loses a 304, no more. */
	bool has_body = stored_has_body(o);
	if (current && there && has_body && same_tags) {
		stored_place(o, &p);
		if (ram_replace(c->ram, o, true))
			goto published;
	}
	bool placed = current && there && cache_refer(c, o, &p);
	cache_window(c);
	if (!has_body) {
		o->pub.place = OBJECT_ON_DISK;
		if (!placed)
			stored_place(o, &p);
		stored_lease(o); /* the old object's own lease holds until the caller lets it go */
	}
	if (current && in_ram && !same_tags)
		ram_put(c->ram, o, 0);	       /* who found old forgotten meanwhile took it out */
	else if (current && has_body)	       /* else what is in RAM by now is newer */
		ram_replace(c->ram, o, false); /* old itself, or its copy that was hot */
published:
	placement_fini(&p);
	cache_window(c);
	if (current)
		cache_is_still_clean(c, o);
	return &o->pub;
}

struct object *
cache_refresh(struct cache *c, struct object *object, struct str head, struct str tags,
	      const struct terms *terms, uint64_t begun)
{
	struct stored *old = stored_of(object);
	pthread_mutex_t *lock = cache_commit_lock(c, old->pub.hash);
	pthread_mutex_lock(lock);
	struct object *o = refresh(c, old, head, tags, terms, begun);
	pthread_mutex_unlock(lock);
	return o;
}

struct stored *
cache_outdate(struct cache *c, struct stored *old, const struct judged *j)
{
	struct terms terms = old->pub.terms;
	terms_outdate(&terms, j->stale_s);
	struct stored *o = stored_create(old->store, old->pub.hash, old->pub.key, old->pub.head,
					 old->pub.tags, &terms, old->pub.kind);
	atomic_store(&o->pub.clean_as_of, j->now);
	o->pub.clean_from = old->pub.clean_from;
	o->pub.whole_bytes = old->pub.whole_bytes;
	atomic_init(&o->pub.plain_bytes, atomic_load(&old->pub.plain_bytes));
	stored_share_body(o, old);
	struct placement p = {0};
	if (old->store && stored_placement(old, &p))
		stored_place(o, &p);
	placement_fini(&p);
	cache_window(c);
	ram_swap(c->ram, old, o);
	return o;
}
