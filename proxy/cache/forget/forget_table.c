/* forget_table.c - shards of open addressing; what is dropped is dropped
 * by building a shard anew. */
#include "proxy/cache/forget/forget_table.h"

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
	uint32_t host;
	bool lasting;
};

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct slot *slots;
	size_t slots_n, used; /* a power of two */
};

struct forget_table {
	struct shard shards[SHARDS];
	_Atomic uint64_t count[FORGET_CLASSES];
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

/* This must hold when a shard's lock is given back: each search comes to an empty slot. */
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

static enum forget_class
class_of(const struct slot *s)
{
	if (!s->lasting)
		return FORGET_CLASS_PASSING;
	return s->e.flags & FORGET_UNORDERED ? FORGET_CLASS_UNORDERED : FORGET_CLASS_ORDERED;
}

static void
count(struct forget_table *t, const struct slot *s, int n)
{
	atomic_fetch_add_explicit(&t->count[class_of(s)], (uint64_t)n, memory_order_relaxed);
}

/* Entries to drop; of some hosts: their ordered URLs and prefixes alone. */
struct drop {
	uint64_t up_to[FORGET_CLASSES];
	const uint32_t *hosts; /* NULL: of all */
	size_t hosts_n;
};

static int
by_number(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;
	return *a < *b ? -1 : *a > *b;
}

static bool
is_of_a_host(const struct slot *s)
{
	return class_of(s) == FORGET_CLASS_ORDERED && s->host;
}

static bool
goes(const struct slot *s, const struct drop *d)
{
	if (s->e.at > d->up_to[class_of(s)])
		return false;
	return !d->hosts || (is_of_a_host(s) &&
			     bsearch(&s->host, d->hosts, d->hosts_n, sizeof s->host, by_number));
}

/* A new array with so many slots, holding what is kept of the old one. */
static void
rebuild(struct forget_table *t, struct shard *s, size_t slots_n, const struct drop *d)
{
	struct shard old = *s;
	s->slots = mem_zalloc(slots_n * sizeof *s->slots);
	s->slots_n = slots_n;
	s->used = 0;
	for (size_t i = 0; i < old.slots_n; i++) {
		const struct slot *from = &old.slots[i];
		if (!from->e.at)
			continue;
		if (d && goes(from, d)) {
			count(t, from, -1);
			continue;
		}
		*seek(s, from->e.hash) = *from;
		s->used++;
	}
	free(old.slots);
}

/* An entry that was ordered once stays among the ordered ones. */
static void
enter(struct slot *slot, const struct purge_entry *e, uint32_t host, bool lasting)
{
	bool was_ordered = slot->e.at && class_of(slot) == FORGET_CLASS_ORDERED;
	bool is_ordered = lasting && !(e->flags & FORGET_UNORDERED);
	if (slot->e.at < e->at) {
		slot->e = *e;
		slot->host = host;
	}
	slot->lasting |= lasting;
	if (was_ordered || is_ordered)
		slot->e.flags &= (uint8_t)~FORGET_UNORDERED;
}

void
forget_table_put(struct forget_table *t, const struct purge_entry *e, uint32_t host, bool lasting)
{
	struct shard *s = shard_of(t, e->hash);
	assert(e->at); /* no time is what an empty slot has */
	pthread_mutex_lock(&s->lock);
	if (s->used >= s->slots_n / 4 * 3)
		rebuild(t, s, 2 * s->slots_n, NULL);
	struct slot *slot = seek(s, e->hash);
	if (slot->e.at)
		count(t, slot, -1);
	else
		s->used++;
	enter(slot, e, host, lasting);
	count(t, slot, 1);
	check(s);
	pthread_mutex_unlock(&s->lock);
}

static void
drop(struct forget_table *t, const struct drop *d)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *s = &t->shards[i];
		pthread_mutex_lock(&s->lock);
		rebuild(t, s, s->slots_n, d);
		size_t n = s->slots_n;
		while (n > FIRST_SLOTS && s->used < n / 8)
			n /= 2;
		if (n < s->slots_n)
			rebuild(t, s, n, NULL);
		check(s);
		pthread_mutex_unlock(&s->lock);
	}
}

void
forget_table_drop(struct forget_table *t, const uint64_t up_to[FORGET_CLASSES])
{
	struct drop d = {.hosts = NULL};
	memcpy(d.up_to, up_to, sizeof d.up_to);
	drop(t, &d);
}

void
forget_table_drop_hosts(struct forget_table *t, uint64_t up_to, uint32_t *hosts, size_t n)
{
	qsort(hosts, n, sizeof *hosts, by_number);
	drop(t, &(struct drop){.up_to = {[FORGET_CLASS_ORDERED] = up_to}, hosts, n});
}

/* Calls for each slot that is taken, a shard at a time under its lock; room: how many there can be in it. */
typedef void each_slot(void *ctx, const struct slot *s, size_t room);

static void
for_each(struct forget_table *t, each_slot *each, void *ctx)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *s = &t->shards[i];
		pthread_mutex_lock(&s->lock);
		for (size_t k = 0; k < s->slots_n; k++)
			if (s->slots[k].e.at)
				each(ctx, &s->slots[k], s->used);
		pthread_mutex_unlock(&s->lock);
	}
}

struct listing {
	enum forget_class class;
	struct purge_entry *list;
	size_t n, room;
};

static void
list_one(void *ctx, const struct slot *s, size_t room)
{
	struct listing *l = ctx;
	if (class_of(s) != l->class)
		return;
	if (l->n == l->room) {
		l->room = 2 * (l->n + room);
		l->list = mem_realloc(l->list, l->room * sizeof *l->list);
	}
	l->list[l->n++] = s->e;
}

size_t
forget_table_list(struct forget_table *t, enum forget_class class, struct purge_entry **list)
{
	struct listing l = {.class = class};
	for_each(t, list_one, &l);
	*list = l.list;
	return l.n;
}

struct hosts {
	uint64_t up_to;
	struct forget_hosted *list;
	size_t n, room;
};

static void
list_host(void *ctx, const struct slot *s, size_t room)
{
	struct hosts *h = ctx;
	if (!is_of_a_host(s) || s->e.at > h->up_to)
		return;
	if (h->n == h->room) {
		h->room = 2 * (h->n + room);
		h->list = mem_realloc(h->list, h->room * sizeof *h->list);
	}
	h->list[h->n++] = (struct forget_hosted){s->e.at, s->host, s->e.flags & FORGET_SOFT};
}

static int
by_host(const void *pa, const void *pb)
{
	uint32_t a = (uint32_t) * (const uint64_t *)pa, b = (uint32_t) * (const uint64_t *)pb;
	return a < b ? -1 : a > b;
}

size_t
forget_table_hosted(struct forget_table *t, uint64_t up_to, struct forget_hosted **list)
{
	struct hosts h = {.up_to = up_to};
	for_each(t, list_host, &h);
	if (h.n)
		qsort(h.list, h.n, sizeof *h.list, by_host);
	*list = h.list;
	return h.n;
}

uint64_t
forget_table_count(const struct forget_table *t, enum forget_class class)
{
	return atomic_load_explicit(&t->count[class], memory_order_relaxed);
}
