/* clients.c - a number, and a small hash table of those addresses that are connected. */
#include "proxy/wire/clients.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

enum { SHARDS = 64, BUCKETS = 256 };

struct address_count {
	struct address_count *next;
	uint64_t address;
	sa_family_t family;
	unsigned n;
};

struct shard {
	pthread_mutex_t lock;
	struct address_count *buckets[BUCKETS]; /* under lock */
};

struct clients {
	_Atomic unsigned count;
	unsigned most, per_address;
	uint64_t seed; /* clients choose their addresses */
	struct shard *shards;
};

struct clients *
clients_create(unsigned most, unsigned per_address)
{
	struct clients *c = NEW(struct clients);
	c->most = most;
	c->per_address = per_address;
	if (getrandom(&c->seed, sizeof c->seed, 0) != (ssize_t)sizeof c->seed)
		c->seed = (uintptr_t)c; /* an old kernel without entropy: better than a constant */
	if (per_address) {
		c->shards = mem_zalloc(SHARDS * sizeof *c->shards);
		for (unsigned i = 0; i < SHARDS; i++)
			pthread_mutex_init(&c->shards[i].lock, NULL);
	}
	return c;
}

void
clients_destroy(struct clients **cp)
{
	struct clients *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	for (unsigned i = 0; c->shards && i < SHARDS; i++) {
		for (unsigned b = 0; b < BUCKETS; b++)
			assert(!c->shards[i].buckets[b]);
		pthread_mutex_destroy(&c->shards[i].lock);
	}
	free(c->shards);
	free(c);
}

static uint64_t
number_of(const struct sockaddr *peer)
{
	uint64_t n = 0;
	if (peer->sa_family == AF_INET6)
		memcpy(&n, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 8);
	else
		n = ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
	return n;
}

static struct address_count **
find(struct clients *c, uint64_t hash, uint64_t address, sa_family_t family)
{
	struct address_count **at = &c->shards[hash % SHARDS].buckets[hash / SHARDS % BUCKETS];
	while (*at && ((*at)->address != address || (*at)->family != family))
		at = &(*at)->next;
	return at;
}

/* One more of this address; false when it has its share. */
static bool
add_address(struct clients *c, const struct sockaddr *peer)
{
	uint64_t address = number_of(peer), hash = XXH3_64bits_withSeed(&address, 8, c->seed);
	struct shard *s = &c->shards[hash % SHARDS];
	pthread_mutex_lock(&s->lock);
	struct address_count **at = find(c, hash, address, peer->sa_family);
	bool in = !*at || (*at)->n < c->per_address;
	if (!*at) {
		*at = NEW(struct address_count);
		**at = (struct address_count){.address = address, .family = peer->sa_family};
	}
	(*at)->n += in;
	pthread_mutex_unlock(&s->lock);
	return in;
}

static void
drop_address(struct clients *c, const struct sockaddr *peer)
{
	uint64_t address = number_of(peer), hash = XXH3_64bits_withSeed(&address, 8, c->seed);
	struct shard *s = &c->shards[hash % SHARDS];
	pthread_mutex_lock(&s->lock);
	struct address_count **at = find(c, hash, address, peer->sa_family), *gone = NULL;
	assert(*at && (*at)->n > 0);
	if (--(*at)->n == 0) {
		gone = *at;
		*at = gone->next;
	}
	pthread_mutex_unlock(&s->lock);
	free(gone);
}

enum clients_entry
clients_enter(struct clients *c, const struct sockaddr *peer)
{
	if (c->per_address && !add_address(c, peer))
		return CLIENTS_TOO_MANY_OF;
	if (atomic_fetch_add(&c->count, 1) < c->most)
		return CLIENTS_IN;
	atomic_fetch_sub(&c->count, 1);
	if (c->per_address)
		drop_address(c, peer);
	return CLIENTS_FULL;
}

void
clients_leave(struct clients *c, const struct sockaddr *peer)
{
	atomic_fetch_sub(&c->count, 1);
	if (c->per_address)
		drop_address(c, peer);
}

unsigned
clients_count(const struct clients *c)
{
	return atomic_load(&c->count);
}
