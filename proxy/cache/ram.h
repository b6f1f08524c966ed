/* ram.h - the RAM tier: objects ready to send, by key, within a hard bound.
 *
 * Threads   any; a lock per shard. Objects are freed outside of it.
 * Memory    limit bytes counts objects with all their overheads; a shard has its part of it. What
 *           was evicted while a reader held it is the reader's, and no longer counted.
 */
#ifndef CACHE_RAM_H
#define CACHE_RAM_H

#include "proxy/cache/store/object.h"

struct ram;

/* shards 0: one per 8 MiB, 1 to 64. */
void ram_create(struct ram **out, uint64_t memory_bytes, unsigned shards);
/* It hears of unwritten objects that had to go, without any lock; set before the first object. */
typedef void ram_evicted_fn(void *ctx, struct stored *o);
void ram_on_evicted(struct ram *r, ram_evicted_fn *tell, void *ctx);
/* Tells of all that are unwritten, which they then are no more. */
void ram_tell_unwritten(struct ram *r);
void ram_destroy(struct ram **r);
/* All objects go, and nobody is told. */
void ram_empty(struct ram *r);

/* Once a second or so, by one thread. Where memory is short (mem.h) the bound falls by an eighth of what is held: the
 * least worthy go, and who is told of them is. Else it rises by a 4,096th of what the tier was made for, up to that.
 * True: it is short, and was not the last time. */
bool ram_mind_memory(struct ram *r);

/* A reference to the object, or NULL; counts a hit. *tells: the disk wants to hear of it, which it
 * does of a few hits per object and fade (store_fades), and of those after its copy on disk moved;
 * NULL: it will not.
 */
struct stored *
ram_find(struct ram *r, struct twice_key_hash hash, struct str key, uint32_t fade, bool *tells);
/* The same, and nothing is counted. */
struct stored *ram_look(struct ram *r, struct twice_key_hash hash, struct str key);
/* Does it hold this very object? */
bool ram_holds(struct ram *r, struct stored *o);
/* Would an object of this size be taken now? */
bool
ram_takes(struct ram *r, struct twice_key_hash hash, uint64_t bytes, bool on_disk, unsigned hits);
/* Takes o (its own reference) over any older object of the key, or leaves it. An older object goes
 * in either case. hits: how often o was asked for before. */
bool ram_put(struct ram *r, struct stored *o, unsigned hits);
/* As ram_put, but only where an older object of the key is held. unwritten: o's head is not on
 * disk. */
bool ram_replace(struct ram *r, struct stored *o, bool unwritten);
/* o in the place of old, if that is there still; with its hits, and unwritten if that is. */
bool ram_swap(struct ram *r, struct stored *old, struct stored *o);
bool ram_remove(struct ram *r, struct twice_key_hash hash, struct str key);
/* The same by the hash alone: nobody makes two keys with one. */
void ram_drop(struct ram *r, struct twice_key_hash hash);
void ram_remove_object(struct ram *r, struct stored *o); /* only if it is this very object */
/* pub.on_disk changed: what losing the object costs does too. */
void ram_moved(struct ram *r, struct stored *o);

/* The copy on disk of the key's object was carried from there to r->at. */
void
ram_adopt(struct ram *r, unsigned disk, const struct record *record, const struct locator *from);

struct ram_stats {
	uint64_t used_bytes, limit_bytes, objects, evicted_objects;
};
void ram_stats(struct ram *r, struct ram_stats *out);

#endif
