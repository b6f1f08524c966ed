/* membership_digest.c - what is on this node's disk, for nodes of other zones: when it is told anew. */
#include "proxy/node/membership_inside.h"

#include "filter/family/digest.h"
#include "proxy/base/clock.h"
#include "proxy/cache/cache_digest.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/fleet/digest_parts.h"
#include "proxy/fleet/replica.h"

#include <stdlib.h>

_Static_assert((int)CACHE_DIGEST_HASH_BITS == (int)REPLICA_HASH_BITS, "both mean the same bits");
_Static_assert((int)MEMBERSHIP_DIGEST_MOST_MS < (int)REPLICA_OLD_MS, "or nobody would have one");

/* So that each node which hears it is sent no more than that. */
enum { BYTES_PER_S = 256 << 10, NEW_SHARE = 100 /* one of so many objects */ };

static uint64_t
apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The copies of others grow old by what has come since, and by time. */
static bool
is_due(const struct membership_digest *d, const struct fleet *f, const struct cache_stats *now)
{
	int64_t since_ms = now_ms() - d->made_ms;
	int64_t least_ms = (int64_t)(d->bytes * 1000 / BYTES_PER_S);
	uint64_t changed =
		apart(now->objects, d->objects) + apart(now->evicted_objects, d->evicted);
	if (least_ms < MEMBERSHIP_DIGEST_LEAST_MS)
		least_ms = MEMBERSHIP_DIGEST_LEAST_MS;
	bool is_old = !d->bytes || (changed && changed >= now->objects / NEW_SHARE);
	return d->of != f || since_ms >= MEMBERSHIP_DIGEST_MOST_MS ||
	       (since_ms >= least_ms && is_old);
}

/* The fleet that runs, if it wants to know now. */
static struct fleet *
wants(struct membership *m, const struct cache_stats *now)
{
	pthread_rwlock_rdlock(&m->using);
	struct fleet *f = m->fleet;
	bool has_zones = f && fleet_has_zones(f);
	if (f && !has_zones && m->digest.of) {
		fleet_put_digest(f, NULL, 0);
		m->digest.of = NULL;
	}
	if (!has_zones || !is_due(&m->digest, f, now))
		f = NULL;
	pthread_rwlock_unlock(&m->using);
	return f;
}

void
membership_tell_disk(struct membership *m)
{
	struct membership_digest *d = &m->digest;
	struct cache_stats now;
	cache_stats(m->cache, &now);
	struct fleet *f = wants(m, &now);
	if (!f)
		return;
	struct twice_digest *digest =
		cache_digest(m->cache, DIGEST_PARTS_BITS, DIGEST_PARTS_MOST - 256);
	*d = (struct membership_digest){.of = f,
					.number = d->number + 1,
					.made_ms = now_ms(),
					.bytes = digest ? twice_digest_memory(digest) : 0,
					.objects = now.objects,
					.evicted = now.evicted_objects};
	pthread_rwlock_rdlock(&m->using);
	if (m->fleet == f)
		fleet_put_digest(f, digest, d->number);
	pthread_rwlock_unlock(&m->using);
	twice_digest_destroy(&digest);
}
