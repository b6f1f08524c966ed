/* clients.c - a number, and a small hash table of those addresses that are connected. */
#include "proxy/wire/clients.h"

#include "proxy/base/mem.h"
#include "proxy/base/network.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

enum { SHARDS = 64, BUCKETS = 256 };

struct client {
	unsigned char address[16]; /* as in network.h */
};

struct address_count {
	struct address_count *next;
	struct client of;
	unsigned n;
};

struct shard {
	pthread_mutex_t lock;
	struct address_count *buckets[BUCKETS]; /* under lock */
};

struct clients {
	_Atomic unsigned count, most, per_address;
	struct network *forwarders;
	unsigned forwarder_count;
	uint64_t seed; /* clients choose their addresses */
	struct shard *shards;
};

struct clients *
clients_create(const struct clients_limits *l)
{
	struct clients *c = NEW(struct clients);
	atomic_init(&c->most, l->most);
	atomic_init(&c->per_address, l->per_address);
	c->forwarder_count = l->forwarder_count;
	c->forwarders = mem_zalloc((l->forwarder_count + 1) * sizeof *c->forwarders);
	if (l->forwarder_count)
		memcpy(c->forwarders, l->forwarders, l->forwarder_count * sizeof *c->forwarders);
	if (getrandom(&c->seed, sizeof c->seed, 0) != (ssize_t)sizeof c->seed)
		c->seed = (uintptr_t)c; /* an old kernel without entropy: better than a constant */
	if (l->per_address) {
		c->shards = mem_zalloc(SHARDS * sizeof *c->shards);
		for (unsigned i = 0; i < SHARDS; i++)
			pthread_mutex_init(&c->shards[i].lock, NULL);
	}
	return c;
}

void
clients_settle(struct clients *c, unsigned most, unsigned per_address)
{
	atomic_store(&c->most, most);
	if (per_address)
		atomic_store(&c->per_address, per_address);
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
	free(c->forwarders);
	free(c);
}

static struct client
client_of(const struct sockaddr *peer)
{
	struct client k = {0};
	network_of_socket(peer, k.address);
	network_cut_to_client(k.address);
	return k;
}

/* Whether connections of this address are counted. It is asked when one comes and when it goes, and
 * says the same both times. */
static bool
has_share(const struct clients *c, const struct sockaddr *peer)
{
	unsigned char address[16];
	if (!c->shards || (peer->sa_family != AF_INET && peer->sa_family != AF_INET6))
		return false;
	network_of_socket(peer, address);
	return !network_any_has(c->forwarders, c->forwarder_count, address);
}

static struct address_count **
find(struct clients *c, uint64_t hash, const struct client *k)
{
	struct address_count **at = &c->shards[hash % SHARDS].buckets[hash / SHARDS % BUCKETS];
	while (*at && memcmp(&(*at)->of, k, sizeof *k) != 0)
		at = &(*at)->next;
	return at;
}

/* One more of this address; false when it has its share. */
static bool
add_address(struct clients *c, const struct sockaddr *peer)
{
	struct client k = client_of(peer);
	uint64_t hash = XXH3_64bits_withSeed(&k, sizeof k, c->seed);
	struct shard *s = &c->shards[hash % SHARDS];
	pthread_mutex_lock(&s->lock);
	struct address_count **at = find(c, hash, &k);
	bool in = !*at || (*at)->n < atomic_load(&c->per_address);
	if (!*at) {
		*at = NEW(struct address_count);
		(*at)->of = k;
	}
	(*at)->n += in;
	pthread_mutex_unlock(&s->lock);
	return in;
}

static void
drop_address(struct clients *c, const struct sockaddr *peer)
{
	struct client k = client_of(peer);
	uint64_t hash = XXH3_64bits_withSeed(&k, sizeof k, c->seed);
	struct shard *s = &c->shards[hash % SHARDS];
	pthread_mutex_lock(&s->lock);
	struct address_count **at = find(c, hash, &k), *gone = NULL;
	assert(*at && (*at)->n > 0);
	if (--(*at)->n == 0) {
		gone = *at;
		*at = gone->next;
	}
	pthread_mutex_unlock(&s->lock);
	free(gone);
}

static enum clients_entry
enter(struct clients *c, const struct sockaddr *peer, unsigned most)
{
	bool counted = has_share(c, peer);
	if (counted && !add_address(c, peer))
		return CLIENTS_TOO_MANY_OF;
	if (atomic_fetch_add(&c->count, 1) < most)
		return CLIENTS_IN;
	atomic_fetch_sub(&c->count, 1);
	if (counted)
		drop_address(c, peer);
	return CLIENTS_FULL;
}

enum clients_entry
clients_enter(struct clients *c, const struct sockaddr *peer)
{
	return enter(c, peer, atomic_load(&c->most));
}

enum clients_entry
clients_enter_full(struct clients *c, const struct sockaddr *peer)
{
	return enter(c, peer, UINT_MAX);
}

bool
clients_move(struct clients *c, const struct sockaddr *from, const struct sockaddr *to)
{
	if (has_share(c, to) && !add_address(c, to))
		return false;
	if (has_share(c, from))
		drop_address(c, from);
	return true;
}

void
clients_leave(struct clients *c, const struct sockaddr *peer)
{
	unsigned before = atomic_fetch_sub(&c->count, 1);
	assert(before > 0);
	if (has_share(c, peer))
		drop_address(c, peer);
}

unsigned
clients_count(const struct clients *c)
{
	return atomic_load(&c->count);
}
