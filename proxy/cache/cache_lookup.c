/* cache_lookup.c - RAM first, then the disk. */
#include "proxy/cache/read_inside.h"

/* A hit in RAM keeps the copy on disk warm as well, and finds out when that was evicted. */
static void
look_after_copy(struct cache *c, struct stored *o, bool tells)
{
	if (!stored_lies_there(o))
		ram_moved(c->ram, o);
	else if (tells && store_touch(o->store, o->pub.hash))
		atomic_store_explicit(&o->pays, true, memory_order_relaxed);
}

/* A forgotten object goes; a softly forgotten one is another object from now on. */
static struct stored *
judge(struct cache *c, const struct object *head, struct stored *o)
{
	struct stored *stale;
	if (atomic_load_explicit(&o->pub.clean_as_of, memory_order_relaxed) ==
	    forget_now(c->forget)) /* nothing was forgotten since: most hits end here */
		return o;
	struct judged j = cache_judge(c, o);
	switch (j.word) {
	case FORGET_CLEAN:
		break;
	case FORGET_STALE:
		stale = cache_outdate(c, o, &j);
		stored_unref(&o);
		return stale;
	case FORGET_GONE:
		if (head && cache_was_of(&o->pub, head->clean_from, head->tags))
			return o;
		ram_remove_object(c->ram, o);
		stored_unref(&o);
		break;
	}
	return o;
}

enum found
cache_lookup(struct cache *c, struct cache_lookup *l, struct twice_key_hash hash, struct str key,
	     struct object **out)
{
	bool tells;
	struct stored *o = ram_find(c->ram, hash, key, cache_fades(c), &tells);
	if (o)
		o = judge(c, l->head, o);
	if (!o)
		return cache_disk_is_open(c) ? read_object(c, l, hash, key, out) : FOUND_NOT;
	if (atomic_load_explicit(&o->pub.on_disk, memory_order_relaxed))
		look_after_copy(c, o, tells);
	*out = &o->pub;
	return FOUND_OBJECT;
}

enum found
cache_peek(struct cache *c, struct twice_key_hash hash, struct str key, struct object **out)
{
	struct stored *o = ram_find(c->ram, hash, key, cache_fades(c), NULL);
	if (o && cache_is_forgotten(c, o))
		stored_unref(&o);
	*out = o ? &o->pub : NULL;
	if (o)
		return FOUND_OBJECT;
	return cache_disks_have(c, hash) ? FOUND_LATER : FOUND_NOT;
}

struct object *
cache_look(struct cache *c, struct twice_key_hash hash, struct str key, struct terms *terms)
{
	struct stored *o = ram_look(c->ram, hash, key);
	struct judged j = {.word = FORGET_CLEAN};
	if (o)
		j = cache_judge(c, o);
	if (j.word == FORGET_GONE)
		stored_unref(&o);
	struct object *found = o ? &o->pub : NULL;
	if (!found && cache_disk_is_open(c))
		found = read_look(c, hash, key);
	if (found)
		*terms = found->terms;
	if (found && j.word == FORGET_STALE)
		terms_outdate(terms, j.stale_s);
	return found;
}
