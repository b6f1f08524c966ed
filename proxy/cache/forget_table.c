/* forget_table.c - shards of open addressing; what is dropped is dropped
 * by building a shard anew. */
#include "proxy/cache/forget_table.h"

#include "filter/hash_equal.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 64, FIRST_SLOTS = 16 };

struct slot {
	struct purge_entry e; /* at 0: empty */
	bool lasting;
};

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct slot *slots;
	size_t slots_n, used; /* a power of two */
};

struct forget_table {
	struct shard shards[SHARDS];
	_Atomic uint64_t lasting, passing;
};

void
forget_table_create(struct forget_table **out)
{
	struct forget_table *t = aligned_alloc(64, sizeof *t);
	if (!t)
		abort();
	memset(t, 0, sizeof *t);
	for (int i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&t->shards[i].lock, NULL);
		t->shards[i].slots_n = FIRST_SLOTS;
		t->shards[i].slots = mem_zalloc(FIRST_SLOTS * sizeof(struct slot));
	}
	*out = t;
}

void
forget_table_destroy(struct forget_table **pt)
{
	struct forget_table *t = *pt;
	*pt = NULL;
	for (int i = 0; t && i < SHARDS; i++) {
		pthread_mutex_destroy(&t->shards[i].lock);
		free(t->shards[i].slots);
	}
	free(t);
}

static struct shard *
shard_of(struct forget_table *t, struct twice_key_hash hash)
{
	return &t->shards[hash.hi % SHARDS];
}

/* What must be true when a shard's lock is given back: whoever seeks comes to an empty slot. */
static void
check(const struct shard *s)
{
	assert(s->slots_n >= FIRST_SLOTS && (s->slots_n & (s->slots_n - 1)) == 0);
	assert(s->used <= s->slots_n / 4 * 3);
}

/* Where the hash is, or would be. */
static struct slot *
seek(const struct shard *s, struct twice_key_hash hash)
{
	size_t i = hash.lo & (s->slots_n - 1);
	while (s->slots[i].e.at && !key_hash_equal(s->slots[i].e.hash, hash))
		i = (i + 1) & (s->slots_n - 1);
	return &s->slots[i];
}

uint64_t
forget_table_find(struct forget_table *t, struct twice_key_hash hash, struct purge_entry *out)
{
	struct shard *s = shard_of(t, hash);
	pthread_mutex_lock(&s->lock);
	*out = seek(s, hash)->e;
	pthread_mutex_unlock(&s->lock);
	return out->at;
}

static void
count(struct forget_table *t, bool lasting, int64_t n)
{
	atomic_fetch_add_explicit(lasting ? &t->lasting : &t->passing, (uint64_t)n,
				  memory_order_relaxed);
}

/* A new array with so many slots, holding what is kept of the old one. */
static void
rebuild(struct forget_table *t, struct shard *s, size_t slots_n, uint64_t lasting_up_to,
	uint64_t passing_up_to)
{
	struct shard old = *s;
	s->slots = mem_zalloc(slots_n * sizeof *s->slots);
	s->slots_n = slots_n;
	s->used = 0;
	for (size_t i = 0; i < old.slots_n; i++) {
		const struct slot *from = &old.slots[i];
		if (!from->e.at)
			continue;
		if (from->e.at <= (from->lasting ? lasting_up_to : passing_up_to)) {
			count(t, from->lasting, -1);
			continue;
		}
		*seek(s, from->e.hash) = *from;
		s->used++;
	}
	free(old.slots);
}

void
forget_table_put(struct forget_table *t, const struct purge_entry *e, bool lasting)
{
	struct shard *s = shard_of(t, e->hash);
	assert(e->at); /* no time is what an empty slot has */
	pthread_mutex_lock(&s->lock);
	if (s->used >= s->slots_n / 4 * 3)
		rebuild(t, s, 2 * s->slots_n, 0, 0);
	struct slot *slot = seek(s, e->hash);
	if (!slot->e.at) {
		s->used++;
		count(t, lasting, 1);
	} else if (lasting && !slot->lasting) {
		count(t, true, 1);
		count(t, false, -1);
	}
	if (slot->e.at < e->at)
		slot->e = *e;
	slot->lasting |= lasting;
	check(s);
	pthread_mutex_unlock(&s->lock);
}

void
forget_table_drop(struct forget_table *t, uint64_t lasting_up_to, uint64_t passing_up_to)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *s = &t->shards[i];
		pthread_mutex_lock(&s->lock);
		rebuild(t, s, s->slots_n, lasting_up_to, passing_up_to);
		size_t n = s->slots_n;
		while (n > FIRST_SLOTS && s->used < n / 8)
			n /= 2;
		if (n < s->slots_n)
			rebuild(t, s, n, 0, 0);
		check(s);
		pthread_mutex_unlock(&s->lock);
	}
}

size_t
forget_table_list(struct forget_table *t, bool lasting, struct purge_entry **list)
{
	size_t n = 0, room = 0;
	*list = NULL;
	for (int i = 0; i < SHARDS; i++) {
		struct shard *s = &t->shards[i];
		pthread_mutex_lock(&s->lock);
		if (n + s->used > room) {
			room = 2 * (n + s->used);
			*list = mem_realloc(*list, room * sizeof **list);
		}
		for (size_t k = 0; k < s->slots_n; k++)
			if (s->slots[k].e.at && s->slots[k].lasting == lasting)
				(*list)[n++] = s->slots[k].e;
		pthread_mutex_unlock(&s->lock);
	}
	return n;
}

void
forget_table_count(const struct forget_table *t, uint64_t *lasting, uint64_t *passing)
{
	*lasting = atomic_load_explicit(&t->lasting, memory_order_relaxed);
	*passing = atomic_load_explicit(&t->passing, memory_order_relaxed);
}
