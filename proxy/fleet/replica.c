/* replica.c - a digest under a lock. */
#include "proxy/fleet/replica.h"

#include "filter/family/digest.h"

#include <stddef.h>

void
replica_init(struct replica *r)
{
	*r = (struct replica){0};
	pthread_rwlock_init(&r->lock, NULL);
}

void
replica_fini(struct replica *r)
{
	twice_digest_destroy(&r->digest);
	pthread_rwlock_destroy(&r->lock);
}

void
replica_put(struct replica *r, struct twice_digest *digest, int64_t now_ms)
{
	pthread_rwlock_wrlock(&r->lock);
	struct twice_digest *before = r->digest;
	r->digest = digest;
	r->heard_ms = now_ms;
	pthread_rwlock_unlock(&r->lock);
	twice_digest_destroy(&before);
}

static bool
is_here(const struct replica *r, int64_t now_ms)
{
	return r->digest && now_ms - r->heard_ms < REPLICA_OLD_MS;
}

bool
replica_has(struct replica *r, uint64_t hash, int64_t now_ms)
{
	pthread_rwlock_rdlock(&r->lock);
	bool yes = is_here(r, now_ms) && twice_digest_has(r->digest, replica_key(hash));
	pthread_rwlock_unlock(&r->lock);
	return yes;
}

bool
replica_look(struct replica *r, int64_t now_ms, uint64_t *bytes)
{
	pthread_rwlock_rdlock(&r->lock);
	bool here = is_here(r, now_ms), old = r->digest && !here;
	*bytes = here ? twice_digest_memory(r->digest) : 0;
	pthread_rwlock_unlock(&r->lock);
	if (old)
		replica_put(r, NULL, now_ms);
	return here;
}
