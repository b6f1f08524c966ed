/* cache_replace.c - an object comes for a key that RAM or a disk has another one for. */
#include "proxy/cache/cache_inside.h"

#include <string.h>

static bool
is_same_body(const struct stored *a, const struct stored *b)
{
	uint64_t n = a->pub.body_bytes;
	bool same = n == b->pub.body_bytes && stored_has_body(a) && stored_has_body(b);
	for (uint64_t at = 0; same && at < n;) {
		struct str x = stored_piece(a, at), y = stored_piece(b, at);
		size_t part = x.n < y.n ? x.n : y.n;
		same = memcmp(x.p, y.p, part) == 0;
		at += part;
	}
	return same;
}

/* RAM holds the same body, which is on disk: then only the head is news, and written as a refreshed
 * one is. Clients that have a popular object fetched again do not wear the disk. */
bool
cache_renews(struct cache *c, struct stored *o)
{
	bool tells, yes = false;
	struct placement p = {0};
	struct stored *old = ram_find(c->ram, o->pub.hash, o->pub.key, cache_fades(c), &tells);
	if (!old)
		return false;
	/* Of a body in slices there are no bytes to compare. */
	if (old->pub.kind == o->pub.kind && o->pub.kind != OBJECT_SLICED && is_same_body(old, o) &&
	    cache_tags_within(o->pub.tags, old->pub.tags) && stored_placement(old, &p) &&
	    !cache_is_forgotten(c, old) && store_lies_at(old->store, o->pub.hash, &p.at)) {
		o->store = old->store; /* nobody else knows it */
		stored_place(o, &p);
		cache_window(c);
		yes = ram_replace(c->ram, o, true) || cache_refer(c, o, &p);
		if (!yes)
			atomic_store(&o->pub.on_disk, 0);
	}
	placement_fini(&p);
	stored_unref(&old);
	return yes;
}

/* o will be in RAM only, and the disk has an older answer, which must not be back when RAM lets go
 * of o, nor after a crash. False: something else that covers o was forgotten meanwhile. */
bool
cache_supersedes(struct cache *c, struct stored *o)
{
	bool clean = cache_outlives(c, o, FORGET_KEY, o->pub.tags, o->pub.clean_as_of);
	cache_window(c);
	cache_disks_remove(c, o->pub.hash);
	return clean;
}

/* Each object that RAM takes while the disks are being read is an entry of the purge log, which is
 * not theirs alone. */
bool
cache_may_supersede(struct cache *c)
{
	enum { SHARE = 8 };
	return !cache_has_unread(c) ||
	       atomic_fetch_add(&c->superseded, 1) < forget_most(c->forget) / SHARE;
}
