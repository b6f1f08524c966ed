/* cache_digest.c - hashes from the indexes into a filter. */
#include "proxy/cache/cache_digest.h"

#include "filter/family/digest.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/store/index.h"

_Static_assert((int)CACHE_DIGEST_HASH_BITS == (int)INDEX_HASH_BITS, "it has no others");

static void
see(void *ctx, const uint64_t *hash_hi, size_t n)
{
	for (size_t i = 0; i < n; i++)
		twice_digest_add(ctx, hash_hi[i]);
}

struct twice_digest *
cache_digest(struct cache *c, double bits_per_object, size_t most_bytes)
{
	struct cache_stats stats;
	if (!cache_disk_is_open(c))
		return NULL;
	cache_stats(c, &stats);
	double most = (double)most_bytes * 8 / (double)(stats.objects + 1);
	struct twice_digest *d =
		twice_digest_create(stats.objects, most < bits_per_object ? most : bits_per_object);
	for (unsigned i = 0; d && i < c->disks_n; i++)
		if (cache_store_is_open(c, c->disks[i].store))
			store_list(c->disks[i].store, see, d);
	return d;
}
