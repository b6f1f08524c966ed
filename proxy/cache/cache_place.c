/* cache_place.c - an object in memory gets a record on the disk. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/cache_write.h"

#include <assert.h>
#include <stdlib.h>

typedef bool put_fn(struct store *, struct record *, const struct locator *over);

static bool
put_record(struct cache *c, struct stored *o, const struct fragment *fragments, uint32_t n,
	   bool is_inline, const struct locator *over, put_fn *put)
{
	if (c->disks_n > 1 && !cache_leave_others(c, o))
		return false;
	char *table = n ? mem_alloc((size_t)n * FRAGMENT_ENTRY_BYTES) : NULL;
	for (uint32_t i = 0; i < n; i++)
		fragment_put(table, i, &fragments[i]);
	struct record r = {
		.hash = o->pub.hash,
		.key = o->pub.key,
		.head = o->pub.head,
		.tags = o->pub.tags,
		.terms = o->pub.terms,
		.kind = o->pub.kind,
		.clean_as_of = atomic_load(&o->pub.clean_as_of),
		.body_bytes = o->pub.body_bytes,
		.whole_bytes = o->pub.whole_bytes,
		.plain_bytes = atomic_load(&o->pub.plain_bytes),
		.is_inline = is_inline,
		.fragments = table,
		.fragments_n = n,
	};
	if (is_inline && r.body_bytes) {
		struct str body = stored_piece(o, 0);
		assert(body.n == r.body_bytes); /* in one piece, or others' memory goes to disk */
		r.body = body.p;
		r.body_checksum = segment_checksum(r.body, r.body_bytes);
	} else {
		r.body_checksum = segment_checksum("", 0);
	}
	bool yes = cache_store_is_open(c, o->store) && put(o->store, &r, over);
	if (!yes) {
		free(table);
		return false;
	}
	struct placement p;
	r.fragments = table;
	placement_of_record(&p, &r);
	stored_place(o, &p);
	placement_fini(&p);
	free(table);
	return true;
}

/* Every block in memory as a fragment. */
static bool
put_blocks(struct cache *c, struct stored *o, const struct locator *over)
{
	struct fragment *list = mem_alloc(o->blocks_n * sizeof *list);
	bool yes = true;
	for (uint32_t i = 0; yes && i < o->blocks_n; i++) {
		/* Readers count on pieces of one size. */
		assert(o->blocks[i]->n == o->block_bytes || i + 1 == o->blocks_n);
		yes = store_put_fragment(o->store, o->pub.hash, o->blocks[i]->p, o->blocks[i]->n,
					 &list[i]);
	}
	yes = yes && put_record(c, o, list, o->blocks_n, false, over, store_put);
	free(list);
	return yes;
}

/* Puts the body's bytes and the record on disk; over: as store_put. */
bool
cache_place(struct cache *c, struct stored *o, const struct fragment *fragments,
	    uint32_t fragments_n, const struct locator *over)
{
	if (fragments_n)
		return put_record(c, o, fragments, fragments_n, false, over, store_put);
	if (o->pub.body_bytes > c->max_body_bytes)
		return false;
	/* One that was written in one piece is at most as large as its own disk's pieces, which may be
	 * more than what all disks have in common. */
	if (o->pub.body_bytes <= c->block_bytes ||
	    (o->whole && o->pub.body_bytes <= store_fragment_bytes(o->store)))
		return put_record(c, o, NULL, 0, true, over, store_put);
	return o->blocks_n && put_blocks(c, o, over);
}

bool
cache_refer(struct cache *c, struct stored *o, const struct placement *body)
{
	return put_record(c, o, placement_fragment(body, 0), body->fragments_n, false, &body->at,
			  store_put_head);
}

static bool
admit(struct cache *c, struct stored *o)
{
	uint8_t no = 0;
	static const struct locator nowhere;
	struct placement p;
	if (!ram_holds(c->ram, o) || !atomic_compare_exchange_strong(&o->pub.on_disk, &no, 1))
		return false;
	cache_window(c);
	/* A refreshed head may still be there, without its body. */
	stored_placement(o, &p);
	bool head = p.at.bytes && store_lies_at(o->store, o->pub.hash, &p.at);
	bool placed = cache_place(c, o, NULL, 0, head ? &p.at : &nowhere);
	placement_fini(&p);
	if (!placed) {
		atomic_store(&o->pub.on_disk, 0);
		return false;
	}
	cache_window(c);
	/* Removed while we wrote: then this is not the key's object any more. */
	stored_placement(o, &p);
	if (!ram_holds(c->ram, o) && store_lies_at(o->store, o->pub.hash, &p.at))
		cache_remove_lasting(c, o->pub.hash, o->pub.key);
	else
		ram_moved(c->ram, o);
	placement_fini(&p);
	return true;
}

bool
cache_admit(struct cache *c, struct object *object)
{
	struct stored *o = stored_of(object);
	if (!cache_store_is_open(c, o->store) || !stored_has_body(o) || cache_is_forgotten(c, o))
		return false;
	pthread_mutex_t *lock = cache_commit_lock(c, o->pub.hash);
	pthread_mutex_lock(lock);
	bool yes = admit(c, o);
	pthread_mutex_unlock(lock);
	return yes;
}
