/* cache_disks.c - several disks: which one an object is written to, and which one has it.
 *
 * Weighted rendezvous, at writing only: each disk draws a number from its name and the key's hash, and
 * the one that has the best for its size takes the object. So a new disk takes its share of what is
 * new, and nothing moves; when one fails its share goes to all others alike.
 *
 * Which disk has a key is asked of their indexes: n looks of some tens of nanoseconds for what is not
 * in RAM. With that a disk may come and go and no table says where things are.
 *
 * A key is on one disk: before it is written to another one, what is older is forgotten (forget.h).
 * After a restart the older record may be in its index again, and the key on two disks. Then both
 * records are read: one of them is forgotten, or a crash undid that and neither is believed (read.c).
 */
#include "proxy/cache/cache_inside.h"

#include <math.h>

/* Even, in (0, 1). */
static double
draw(uint64_t name, struct twice_key_hash hash)
{
	uint64_t x = (hash.lo ^ name) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

struct store *
cache_home(const struct cache *c, struct twice_key_hash hash)
{
	const struct disk *best = NULL;
	double most = 0;
	for (unsigned i = 0; c->disks_n > 1 && i < c->disks_n; i++) {
		const struct disk *d = &c->disks[i];
		if (!cache_store_is_open(c, d->store) || !store_takes(d->store))
			continue;
		double score = (double)d->bytes / -log(draw(d->name, hash));
		if (!best || score > most) {
			best = d;
			most = score;
		}
	}
	return best ? best->store : c->disks_n ? c->disks[0].store : NULL;
}

bool
cache_disks_have(const struct cache *c, struct twice_key_hash hash)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		if (store_has(c->disks[i].store, hash))
			return true;
	return false;
}

bool
cache_disks_may_have(const struct cache *c, struct twice_key_hash hash)
{
	return cache_has_unread(c) || cache_disks_have(c, hash);
}

bool
cache_disks_may_be_left(const struct cache *c, struct twice_key_hash hash)
{
	bool yes = cache_has_unread(c);
	for (unsigned i = 0; i < c->disks_n && !yes; i++)
		yes = store_may_be_left(c->disks[i].store, hash.hi);
	return yes;
}

bool
cache_disks_remove(struct cache *c, struct twice_key_hash hash)
{
	bool was = false;
	for (unsigned i = 0; i < c->disks_n; i++)
		was |= store_remove(c->disks[i].store, hash);
	return was;
}

void
cache_disks_drop(struct cache *c, struct twice_key_hash hash)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		store_drop(c->disks[i].store, hash);
}

unsigned
cache_disk_of(const struct cache *c, struct twice_key_hash hash, unsigned from)
{
	unsigned i = from;
	if (c->disks_n > 1 && cache_has_unread(c))
		return c->disks_n; /* even if all is known before the last one is asked */
	while (i < c->disks_n &&
	       !(cache_store_is_open(c, c->disks[i].store) && store_has(c->disks[i].store, hash)))
		i++;
	return i;
}
