/* ram.c - shards: a hash table of chains through the objects, and the policy of ram_policy.c. */
#include "proxy/cache/ram.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_SHARDS = 64, FIRST_BUCKETS = 64, LEAST_BOUND = 64 << 10, RISES = 4096 };

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct stored **buckets;
	uint32_t buckets_n; /* a power of two */
	struct ram_policy policy;
	uint64_t evicted;
};

struct ram {
	ram_evicted_fn *tell;
	void *ctx;
	struct shard *shards;
	unsigned shards_n;   /* a power of two */
	uint64_t shard_most; /* bytes: the bound that it was made for */
	bool was_short;	     /* ram_mind_memory alone knows */
};

void
ram_create(struct ram **out, uint64_t memory_bytes, unsigned shards)
{
	struct ram *r = NEW(struct ram);
	r->shards_n = shards ? 1 : ram_policy_shards(memory_bytes);
	while (r->shards_n < shards && r->shards_n < MAX_SHARDS)
		r->shards_n *= 2;
	r->shards = aligned_alloc(64, r->shards_n * sizeof *r->shards);
	if (!r->shards)
		abort();
	r->shard_most = memory_bytes / r->shards_n;
	for (unsigned i = 0; i < r->shards_n; i++) {
		struct shard *s = &r->shards[i];
		*s = (struct shard){.buckets_n = FIRST_BUCKETS};
		pthread_mutex_init(&s->lock, NULL);
		s->buckets = mem_zalloc(s->buckets_n * sizeof(struct stored *));
		ram_policy_init(&s->policy, r->shard_most);
	}
	*out = r;
}

void
ram_destroy(struct ram **pr)
{
	struct ram *r = *pr;
	*pr = NULL;
	for (unsigned i = 0; r && i < r->shards_n; i++) {
		struct shard *s = &r->shards[i];
		for (uint32_t b = 0; b < s->buckets_n; b++)
			for (struct stored *o; (o = s->buckets[b]);) {
				s->buckets[b] = o->chain;
				stored_unref(&o);
			}
		free(s->buckets);
		pthread_mutex_destroy(&s->lock);
	}
	if (r)
		free(r->shards);
	free(r);
}

static struct shard *
shard_of(struct ram *r, struct twice_key_hash hash)
{
	return &r->shards[hash.lo & (r->shards_n - 1)];
}

static struct stored **
bucket_of(const struct shard *s, uint64_t hash_lo)
{
	return &s->buckets[hash_lo >> 32 & (s->buckets_n - 1)];
}

/* The link that points to the key's object, or to NULL at the end of its chain. */
static struct stored **
link_of(const struct shard *s, struct twice_key_hash hash, struct str key)
{
	struct stored **link = bucket_of(s, hash.lo);
	while (*link && !((*link)->chain_hash == hash.lo && (*link)->pub.hash.hi == hash.hi &&
			  str_eq((*link)->pub.key, key)))
		link = &(*link)->chain;
	return link;
}

static bool
tells_disk(struct stored *o, uint32_t fade)
{
	if (o->fade != fade)
		o->told = 0;
	o->fade = fade;
	bool yes = o->told < STORE_PAYING_HITS;
	o->told += yes;
	return yes;
}

struct stored *
ram_find(struct ram *r, struct twice_key_hash hash, struct str key, uint32_t fade, bool *tells)
{
	struct shard *s = shard_of(r, hash);
	pthread_mutex_lock(&s->lock);
	struct stored *o = *link_of(s, hash, key);
	if (o) {
		if (tells)
			*tells = tells_disk(o, fade);
		ram_policy_touch(&o->node);
		object_ref(&o->pub);
	}
	pthread_mutex_unlock(&s->lock);
	return o;
}

struct stored *
ram_look(struct ram *r, struct twice_key_hash hash, struct str key)
{
	struct shard *s = shard_of(r, hash);
	pthread_mutex_lock(&s->lock);
	struct stored *o = *link_of(s, hash, key);
	if (o)
		object_ref(&o->pub);
	pthread_mutex_unlock(&s->lock);
	return o;
}

bool
ram_holds(struct ram *r, struct stored *o)
{
	struct shard *s = shard_of(r, o->pub.hash);
	pthread_mutex_lock(&s->lock);
	bool yes = o->in_ram;
	pthread_mutex_unlock(&s->lock);
	return yes;
}

bool
ram_takes(struct ram *r, struct twice_key_hash hash, uint64_t bytes, bool on_disk, unsigned hits)
{
	struct shard *s = shard_of(r, hash);
	pthread_mutex_lock(&s->lock);
	bool yes = !mem_is_short() && ram_policy_takes(&s->policy, bytes, on_disk, hits);
	pthread_mutex_unlock(&s->lock);
	return yes;
}

/* Out of the table (the policy has let it go already), onto a list to be freed without the lock. */
static void
unchain(struct shard *s, struct stored *o, struct stored **gone)
{
	struct stored **link = bucket_of(s, o->chain_hash);
	while (*link != o)
		link = &(*link)->chain;
	*link = o->chain;
	o->in_ram = false;
	o->chain = *gone;
	*gone = o;
}

/* Removed or replaced: nobody writes its head any more. */
static void
forget(struct shard *s, struct stored *o, struct stored **gone)
{
	ram_policy_remove(&s->policy, &o->node);
	unchain(s, o, gone);
	o->unwritten = false;
}

static void
free_list(const struct ram *r, struct stored *gone)
{
	while (gone) {
		struct stored *next = gone->chain;
		if (gone->unwritten && r->tell)
			r->tell(r->ctx, gone);
		stored_unref(&gone);
		gone = next;
	}
}

static void
grow(struct shard *s)
{
	if (s->policy.nodes < s->buckets_n)
		return;
	struct stored **old = s->buckets;
	uint32_t old_n = s->buckets_n;
	struct stored **buckets = mem_realloc_try(NULL, 2 * old_n * sizeof *buckets);
	if (!buckets)
		return; /* longer chains, for now */
	s->buckets_n *= 2;
	s->buckets = memset(buckets, 0, s->buckets_n * sizeof *buckets);
	for (uint32_t b = 0; b < old_n; b++)
		for (struct stored *o; (o = old[b]);) {
			old[b] = o->chain;
			struct stored **link = bucket_of(s, o->chain_hash);
			o->chain = *link;
			*link = o;
		}
	free(old);
}

static struct stored *
of_node(struct ram_node *n)
{
	return (struct stored *)((char *)n - offsetof(struct stored, node));
}

/* This must hold whenever the lock is given back. */
static void
check(const struct shard *s)
{
	const struct ram_policy *p = &s->policy;
	assert(p->used <= p->limit && (p->nodes == 0) == (p->used == 0));
	assert((p->nodes == 0) == (p->filled[0] == 0 && p->filled[1] == 0));
	assert((s->buckets_n & (s->buckets_n - 1)) == 0);
}

enum over { OVER_ANY_OR_NONE, OVER_ANY, OVER_THIS };

static bool
may_go_over(const struct stored *older, const struct stored *o, enum over over,
	    const struct stored *this)
{
	return older != o && (over == OVER_ANY_OR_NONE || (older && over == OVER_ANY) ||
			      (older && older == this));
}

/* OVER_THIS: this one only, and it is as unwritten as that. */
static bool
put(struct ram *r, struct stored *o, unsigned hits, enum over over, struct stored *this,
    bool unwritten)
{
	struct shard *s = shard_of(r, o->pub.hash);
	struct stored *gone = NULL;
	bool on_disk = atomic_load(&o->pub.on_disk);
	uint64_t bytes = stored_memory(o);
	assert(stored_has_body(
		o)); /* else its placement, which its readers look at, would change */
	pthread_mutex_lock(&s->lock);
	struct stored *older = *link_of(s, o->pub.hash, o->pub.key);
	if (!may_go_over(older, o, over, this)) {
		pthread_mutex_unlock(&s->lock);
		return older == o;
	}
	if (older) {
		unwritten = over == OVER_THIS ? older->unwritten : unwritten;
		hits = older->node.hits > hits ? older->node.hits : hits;
		o->told = older->told;
		o->fade = older->fade;
		forget(s, older, &gone);
	}
	bool yes = !mem_is_short() && ram_policy_takes(&s->policy, bytes, on_disk, hits);
	if (yes) {
		for (struct ram_node *n; (n = ram_policy_make_room(&s->policy, bytes));) {
			unchain(s, of_node(n), &gone);
			s->evicted++;
		}
		o->node = (struct ram_node){.bytes = bytes, .on_disk = on_disk};
		o->node.hits = hits < RAM_MAX_HITS ? (uint8_t)hits : RAM_MAX_HITS;
		ram_policy_add(&s->policy, &o->node);
		grow(s);
		o->chain_hash = o->pub.hash.lo;
		struct stored **link = bucket_of(s, o->chain_hash);
		o->chain = *link;
		*link = o;
		o->in_ram = true;
		o->unwritten = unwritten;
		object_ref(&o->pub);
	}
	check(s);
	pthread_mutex_unlock(&s->lock);
	free_list(r, gone);
	return yes;
}

bool
ram_put(struct ram *r, struct stored *o, unsigned hits)
{
	return put(r, o, hits, OVER_ANY_OR_NONE, NULL, false);
}

bool
ram_replace(struct ram *r, struct stored *o, bool unwritten)
{
	return put(r, o, 0, OVER_ANY, NULL, unwritten);
}

bool
ram_swap(struct ram *r, struct stored *old, struct stored *o)
{
	return put(r, o, 0, OVER_THIS, old, false);
}

bool
ram_remove(struct ram *r, struct twice_key_hash hash, struct str key)
{
	struct shard *s = shard_of(r, hash);
	struct stored *gone = NULL;
	pthread_mutex_lock(&s->lock);
	struct stored *o = *link_of(s, hash, key);
	if (o)
		forget(s, o, &gone);
	pthread_mutex_unlock(&s->lock);
	free_list(r, gone);
	return o;
}

void
ram_drop(struct ram *r, struct twice_key_hash hash)
{
	struct shard *s = shard_of(r, hash);
	struct stored *gone = NULL;
	pthread_mutex_lock(&s->lock);
	struct stored *o = *bucket_of(s, hash.lo);
	while (o && !(o->chain_hash == hash.lo && o->pub.hash.hi == hash.hi))
		o = o->chain;
	if (o)
		forget(s, o, &gone);
	pthread_mutex_unlock(&s->lock);
	free_list(r, gone);
}

void
ram_remove_object(struct ram *r, struct stored *o)
{
	struct shard *s = shard_of(r, o->pub.hash);
	struct stored *gone = NULL;
	pthread_mutex_lock(&s->lock);
	if (o->in_ram)
		forget(s, o, &gone);
	pthread_mutex_unlock(&s->lock);
	free_list(r, gone);
}

void
ram_moved(struct ram *r, struct stored *o)
{
	struct shard *s = shard_of(r, o->pub.hash);
	pthread_mutex_lock(&s->lock);
	if (o->in_ram)
		ram_policy_moved(&s->policy, &o->node, atomic_load(&o->pub.on_disk));
	pthread_mutex_unlock(&s->lock);
}

void
ram_on_evicted(struct ram *r, ram_evicted_fn *tell, void *ctx)
{
	r->tell = tell;
	r->ctx = ctx;
}

static void
tell_of_shard(struct ram *r, struct shard *s)
{
	size_t n = 0;
	pthread_mutex_lock(&s->lock);
	struct stored **all = mem_alloc((s->policy.nodes + 1) * sizeof(struct stored *));
	for (uint32_t b = 0; b < s->buckets_n; b++)
		for (struct stored *o = s->buckets[b]; o; o = o->chain)
			if (o->unwritten) {
				o->unwritten = false;
				object_ref(&o->pub);
				all[n++] = o;
			}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		r->tell(r->ctx, all[i]);
		stored_unref(&all[i]);
	}
	free(all);
}

void
ram_empty(struct ram *r)
{
	for (unsigned i = 0; i < r->shards_n; i++) {
		struct shard *s = &r->shards[i];
		struct stored *gone = NULL;
		pthread_mutex_lock(&s->lock);
		for (uint32_t b = 0; b < s->buckets_n; b++)
			while (s->buckets[b])
				forget(s, s->buckets[b], &gone);
		check(s);
		pthread_mutex_unlock(&s->lock);
		free_list(r, gone);
	}
}

static void
fall(struct ram *r, struct shard *s)
{
	struct stored *gone = NULL;
	pthread_mutex_lock(&s->lock);
	uint64_t bound = s->policy.used - s->policy.used / 8;
	if (bound > LEAST_BOUND && bound < s->policy.limit)
		s->policy.limit = bound;
	for (struct ram_node *n; (n = ram_policy_make_room(&s->policy, 0));) {
		unchain(s, of_node(n), &gone);
		s->evicted++;
	}
	check(s);
	pthread_mutex_unlock(&s->lock);
	free_list(r, gone);
}

static void
rise(const struct ram *r, struct shard *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t bound = s->policy.limit + r->shard_most / RISES + 1;
	s->policy.limit = bound < r->shard_most ? bound : r->shard_most;
	pthread_mutex_unlock(&s->lock);
}

bool
ram_mind_memory(struct ram *r)
{
	bool is_short = mem_is_short(), was_short = r->was_short;
	for (unsigned i = 0; i < r->shards_n; i++)
		if (is_short)
			fall(r, &r->shards[i]);
		else
			rise(r, &r->shards[i]);
	mem_refill();
	r->was_short = is_short;
	return is_short && !was_short;
}

void
ram_tell_unwritten(struct ram *r)
{
	for (unsigned i = 0; r->tell && i < r->shards_n; i++)
		tell_of_shard(r, &r->shards[i]);
}

void
ram_adopt(struct ram *r, unsigned disk, const struct record *record, const struct locator *from)
{
	struct shard *s = shard_of(r, record->hash);
	pthread_mutex_lock(&s->lock);
	struct stored *o = *link_of(s, record->hash, record->key);
	if (o && store_number(o->store) == disk && stored_follow(o, record, from)) {
		o->told = 0;
		ram_policy_moved(&s->policy, &o->node, true);
	}
	pthread_mutex_unlock(&s->lock);
}

void
ram_stats(struct ram *r, struct ram_stats *out)
{
	*out = (struct ram_stats){0};
	for (unsigned i = 0; i < r->shards_n; i++) {
		struct shard *s = &r->shards[i];
		pthread_mutex_lock(&s->lock);
		out->used_bytes += s->policy.used;
		out->limit_bytes += s->policy.limit;
		out->objects += s->policy.nodes;
		out->evicted_objects += s->evicted;
		pthread_mutex_unlock(&s->lock);
	}
}
