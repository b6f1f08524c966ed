/* replica.h - a sibling's digest, as it told it last: what is on its disk.
 *
 * It grows old (filter/family/digest.h), and says no to everything when it is REPLICA_OLD_MS old.
 *
 * Threads   any; a lock for a moment, which readers share.
 * Memory    it owns the digest.
 */
#ifndef FLEET_REPLICA_H
#define FLEET_REPLICA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct twice_digest;

enum { REPLICA_OLD_MS = 10 * 60 * 1000, REPLICA_HASH_BITS = 46 };

/* The bits of a key's hash that a digest is of: the upper ones, which an index has. */
static inline uint64_t
replica_key(uint64_t hash)
{
	return hash >> (64 - REPLICA_HASH_BITS) << (64 - REPLICA_HASH_BITS);
}

struct replica {
	pthread_rwlock_t lock;
	struct twice_digest *digest; /* NULL: there is none */
	int64_t heard_ms;
};

void replica_init(struct replica *r);
void replica_fini(struct replica *r);
/* digest: taken; NULL: what was there is dropped. */
void replica_put(struct replica *r, struct twice_digest *digest, int64_t now_ms);
bool replica_has(struct replica *r, uint64_t hash, int64_t now_ms);
/* Whether there is one, and its bytes. Frees one that is too old. */
bool replica_look(struct replica *r, int64_t now_ms, uint64_t *bytes);

#endif
