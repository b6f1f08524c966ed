/* index.c - arrays ordered by tag; see index.h for the idea. */
#include "proxy/cache/store/index.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	SHARD_BITS = 10,
	SHARDS = 1 << SHARD_BITS,
	TAG_BITS = 36,
	OFFSET_BITS = 26,
	FIRST_SLOTS = 8,
	SPILL = 24, /* slots behind the last home; more means: grow */
};

/* tag 36 | offset 26 | hits 2, then segment 16 | generation 6 | length 10: length 0 is empty. */
struct slot {
	uint32_t low, high, place;
};

struct shard {
	pthread_mutex_t lock;
	struct slot *slots; /* homes + SPILL */
	uint32_t homes, used;
};

struct index {
	struct shard shards[SHARDS];
	_Atomic uint64_t count, memory;
};

/* ---- a slot -------------------------------------------------------------------------------- */

static bool
is_empty(const struct slot *s)
{
	return (s->place & 1023) == 0;
}

static uint64_t
word_of(const struct slot *s)
{
	return (uint64_t)s->high << 32 | s->low;
}

static uint64_t
tag_in(const struct slot *s)
{
	return word_of(s) >> (64 - TAG_BITS);
}

static unsigned
hits_in(const struct slot *s)
{
	return s->low & INDEX_MAX_HITS;
}

static struct slot
slot_of(uint64_t tag, const struct locator *at)
{
	uint32_t units = (at->bytes + RECORD_UNIT - 1) / RECORD_UNIT;
	assert(units > 0 && units < 1024 && at->segment < INDEX_MAX_SEGMENTS);
	assert(at->offset < 1u << OFFSET_BITS);
	uint64_t word = tag << (64 - TAG_BITS) | (uint64_t)at->offset << 2;
	return (struct slot){
		.low = (uint32_t)word,
		.high = (uint32_t)(word >> 32),
		.place = at->segment << 16 | (at->generation & INDEX_GENERATION_MASK) << 10 | units,
	};
}

static struct locator
locator_in(const struct slot *s)
{
	return (struct locator){
		.segment = s->place >> 16,
		.generation = s->place >> 10 & INDEX_GENERATION_MASK,
		.offset = (uint32_t)(word_of(s) >> 2) & ((1u << OFFSET_BITS) - 1),
		.bytes = (s->place & 1023) * RECORD_UNIT,
	};
}

static bool
is_at(const struct slot *s, const struct locator *at)
{
	struct locator in = locator_in(s);
	return in.segment == at->segment && in.offset == at->offset &&
	       in.generation == (at->generation & INDEX_GENERATION_MASK);
}

/* Of a key that was removed while the index was being filled. No object lies there: a segment ends
 * with its footer. */
static const struct locator GRAVE = {.segment = INDEX_MAX_SEGMENTS - 1,
				     .generation = INDEX_GENERATION_MASK,
				     .offset = (1u << OFFSET_BITS) - 1,
				     .bytes = RECORD_UNIT};

static bool
is_grave(const struct slot *s)
{
	return s->place >> 16 == GRAVE.segment && is_at(s, &GRAVE);
}

/* ---- a shard ------------------------------------------------------------------------------- */

static struct shard *
shard_of(struct index *ix, uint64_t hash_hi)
{
	return &ix->shards[hash_hi >> (64 - SHARD_BITS)];
}

static uint64_t
tag_of(uint64_t hash_hi)
{
	return hash_hi << SHARD_BITS >> (64 - TAG_BITS);
}

static uint32_t
home_of(const struct shard *s, uint64_t tag)
{
	return (uint32_t)((tag * s->homes) >> TAG_BITS); /* homes < 2^28 */
}

static uint32_t
slots_n(const struct shard *s)
{
	return s->homes + SPILL;
}

/* The first slot from the tag's home on that is empty or holds no smaller tag; slots_n: none. */
static uint32_t
seek(const struct shard *s, uint64_t tag)
{
	uint32_t i = home_of(s, tag);
	while (i < slots_n(s) && !is_empty(&s->slots[i]) && tag_in(&s->slots[i]) < tag)
		i++;
	return i;
}

/* Or a grave. */
static struct slot *
find_any(const struct shard *s, uint64_t tag)
{
	uint32_t i = seek(s, tag);
	if (i == slots_n(s) || is_empty(&s->slots[i]) || tag_in(&s->slots[i]) != tag)
		return NULL;
	return &s->slots[i];
}

static struct slot *
find(const struct shard *s, uint64_t tag)
{
	struct slot *found = find_any(s, tag);
	return found && !is_grave(found) ? found : NULL;
}

/* False when the run that it would join reaches the end of the array. */
static bool
insert(struct shard *s, const struct slot *new)
{
	uint32_t i = seek(s, tag_in(new)), end = i;
	while (end < slots_n(s) && !is_empty(&s->slots[end]))
		end++;
	if (end == slots_n(s))
		return false;
	memmove(&s->slots[i + 1], &s->slots[i], (end - i) * sizeof *new);
	s->slots[i] = *new;
	s->used++;
	return true;
}

/* Closes the hole: what is behind its home moves up by one. */
static void
erase(struct shard *s, struct slot *gone)
{
	uint32_t i = (uint32_t)(gone - s->slots);
	uint32_t end = i + 1;
	while (end < slots_n(s) && !is_empty(&s->slots[end]) &&
	       home_of(s, tag_in(&s->slots[end])) < end)
		end++;
	memmove(&s->slots[i], &s->slots[i + 1], (end - i - 1) * sizeof *gone);
	s->slots[end - 1] = (struct slot){0};
	s->used--;
}

static void
resize(struct index *ix, struct shard *s, uint32_t homes)
{
	struct shard old = *s;
	bool fits;
	do {
		s->homes = homes;
		s->used = 0;
		s->slots = mem_zalloc(slots_n(s) * sizeof *s->slots);
		fits = true;
		uint32_t next = 0;
		for (uint32_t i = 0; old.slots && fits && i < slots_n(&old); i++) {
			if (is_empty(&old.slots[i]))
				continue;
			uint32_t home = home_of(s, tag_in(&old.slots[i]));
			next = next > home ? next : home;
			fits = next < slots_n(s);
			if (fits)
				s->slots[next++] = old.slots[i];
			s->used += fits;
		}
		if (!fits)
			free(s->slots);
		homes += homes / 4 + 1;
	} while (!fits);
	atomic_fetch_add(&ix->memory, slots_n(s) * sizeof *s->slots);
	if (old.slots)
		atomic_fetch_sub(&ix->memory, slots_n(&old) * sizeof *s->slots);
	free(old.slots);
}

static void
give_room(struct index *ix, struct shard *s)
{
	if (s->used >= s->homes / 8 * 7)
		resize(ix, s, s->homes + s->homes / 4);
}

static void
take_room(struct index *ix, struct shard *s)
{
	if (s->homes > 4 * FIRST_SLOTS && s->used < s->homes / 3)
		resize(ix, s, s->homes / 2);
}

/* ---- the door ------------------------------------------------------------------------------ */

void
index_create(struct index **out)
{
	struct index *ix = NEW(struct index);
	atomic_store(&ix->memory, sizeof *ix);
	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&ix->shards[i].lock, NULL);
		resize(ix, &ix->shards[i], FIRST_SLOTS);
	}
	*out = ix;
}

void
index_destroy(struct index **pix)
{
	struct index *ix = *pix;
	*pix = NULL;
	for (unsigned i = 0; ix && i < SHARDS; i++) {
		pthread_mutex_destroy(&ix->shards[i].lock);
		free(ix->shards[i].slots);
	}
	free(ix);
}

bool
index_find(struct index *ix, uint64_t hash_hi, struct locator *out)
{
	struct shard *s = shard_of(ix, hash_hi);
	pthread_mutex_lock(&s->lock);
	const struct slot *found = find(s, tag_of(hash_hi));
	if (found)
		*out = locator_in(found);
	pthread_mutex_unlock(&s->lock);
	return found;
}

bool
index_hit(struct index *ix, uint64_t hash_hi, struct locator *out, unsigned *hits)
{
	struct shard *s = shard_of(ix, hash_hi);
	pthread_mutex_lock(&s->lock);
	struct slot *found = find(s, tag_of(hash_hi));
	if (found) {
		*out = locator_in(found);
		*hits = hits_in(found);
		if (*hits < INDEX_MAX_HITS)
			found->low++;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

unsigned
index_hits(struct index *ix, uint64_t hash_hi, struct locator *out)
{
	struct shard *s = shard_of(ix, hash_hi);
	unsigned hits = 0;
	pthread_mutex_lock(&s->lock);
	const struct slot *found = find(s, tag_of(hash_hi));
	if (found) {
		*out = locator_in(found);
		hits = hits_in(found);
	}
	pthread_mutex_unlock(&s->lock);
	return hits;
}

/* Over what is found there, or as a slot more. */
static void
enter(struct index *ix, struct shard *s, struct slot *found, const struct slot *new)
{
	int was = found && !is_grave(found), is = !is_grave(new);
	if (found) {
		*found = *new;
	} else {
		give_room(ix, s);
		while (!insert(s, new))
			resize(ix, s, s->homes + s->homes / 4);
	}
	if (is > was)
		atomic_fetch_add_explicit(&ix->count, 1, memory_order_relaxed);
	else if (is < was)
		atomic_fetch_sub_explicit(&ix->count, 1, memory_order_relaxed);
}

bool
index_put(struct index *ix, uint64_t hash_hi, const struct locator *at)
{
	struct shard *s = shard_of(ix, hash_hi);
	struct slot new = slot_of(tag_of(hash_hi), at);
	assert(!is_grave(&new));
	pthread_mutex_lock(&s->lock);
	struct slot *found = find_any(s, tag_in(&new));
	bool was_there = found && !is_grave(found);
	enter(ix, s, found, &new);
	pthread_mutex_unlock(&s->lock);
	return was_there;
}

void
index_load(struct index *ix, uint64_t hash_hi, const struct locator *at,
	   bool (*gives_way)(void *ctx, const struct locator *there), void *ctx)
{
	struct shard *s = shard_of(ix, hash_hi);
	struct slot new = slot_of(tag_of(hash_hi), at);
	pthread_mutex_lock(&s->lock);
	struct slot *found = find_any(s, tag_in(&new));
	bool stays = false;
	if (found) {
		struct locator there = locator_in(found);
		stays = is_grave(found) || !gives_way(ctx, &there);
	}
	if (!stays)
		enter(ix, s, found, &new);
	pthread_mutex_unlock(&s->lock);
}

bool
index_bury(struct index *ix, uint64_t hash_hi, const struct locator *at)
{
	struct shard *s = shard_of(ix, hash_hi);
	struct slot grave = slot_of(tag_of(hash_hi), &GRAVE);
	pthread_mutex_lock(&s->lock);
	struct slot *found = find_any(s, tag_in(&grave));
	bool was_there = found && !is_grave(found) && (!at || is_at(found, at));
	if (was_there || (!at && !found))
		enter(ix, s, found, &grave);
	pthread_mutex_unlock(&s->lock);
	return was_there;
}

static bool
remove_if_at(struct index *ix, uint64_t hash_hi, const struct locator *at)
{
	struct shard *s = shard_of(ix, hash_hi);
	pthread_mutex_lock(&s->lock);
	struct slot *found = find(s, tag_of(hash_hi));
	bool yes = found && (!at || is_at(found, at));
	if (yes) {
		erase(s, found);
		atomic_fetch_sub_explicit(&ix->count, 1, memory_order_relaxed);
		take_room(ix, s);
	}
	pthread_mutex_unlock(&s->lock);
	return yes;
}

bool
index_remove(struct index *ix, uint64_t hash_hi)
{
	return remove_if_at(ix, hash_hi, NULL);
}

bool
index_remove_at(struct index *ix, uint64_t hash_hi, const struct locator *at)
{
	return remove_if_at(ix, hash_hi, at);
}

static struct index_entry
entry_in(const struct index *ix, const struct shard *s, const struct slot *slot)
{
	uint64_t number = (uint64_t)(s - ix->shards);
	return (struct index_entry){
		.hash_hi = number << (64 - SHARD_BITS) | tag_in(slot)
								 << (64 - SHARD_BITS - TAG_BITS),
		.at = locator_in(slot),
		.hits = hits_in(slot),
	};
}

/* A sweep drops entries of one generation of a segment but for those that keep wants, or graves. */
struct sweep {
	bool graves;
	uint32_t segment, generation;
	bool (*keep)(void *ctx, const struct index_entry *e);
	void *ctx;
};

static bool
goes(const struct sweep *w, const struct slot *slot, const struct index_entry *e)
{
	if (is_grave(slot))
		return w->graves;
	return !w->graves && e->at.segment == w->segment &&
	       e->at.generation == (w->generation & INDEX_GENERATION_MASK) &&
	       !(w->keep && w->keep(w->ctx, e));
}

/* Rebuilds the shard in place without what goes: entries only ever move towards their homes. */
static uint64_t
sweep_shard(struct index *ix, struct shard *s, const struct sweep *w)
{
	uint32_t next = 0, before = s->used;
	for (uint32_t i = 0; i < slots_n(s); i++) {
		struct slot slot = s->slots[i];
		if (is_empty(&slot))
			continue;
		s->slots[i] = (struct slot){0};
		struct index_entry e = entry_in(ix, s, &slot);
		if (goes(w, &slot, &e)) {
			s->used--;
			continue;
		}
		uint32_t home = home_of(s, tag_in(&slot));
		next = next > home ? next : home;
		s->slots[next++] = slot;
	}
	take_room(ix, s);
	return before - s->used;
}

static uint64_t
sweep(struct index *ix, const struct sweep *w)
{
	uint64_t gone = 0;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &ix->shards[i];
		pthread_mutex_lock(&s->lock);
		gone += sweep_shard(ix, s, w);
		pthread_mutex_unlock(&s->lock);
	}
	return gone;
}

uint64_t
index_sweep(struct index *ix, uint32_t segment, uint32_t generation,
	    bool (*keep)(void *ctx, const struct index_entry *e), void *ctx)
{
	struct sweep w = {false, segment, generation, keep, ctx};
	uint64_t gone = sweep(ix, &w);
	atomic_fetch_sub_explicit(&ix->count, gone, memory_order_relaxed);
	return gone;
}

void
index_unbury(struct index *ix)
{
	sweep(ix, &(struct sweep){.graves = true}); /* they were not counted */
}

void
index_fade(struct index *ix)
{
	for (unsigned n = 0; n < SHARDS; n++) {
		struct shard *s = &ix->shards[n];
		pthread_mutex_lock(&s->lock);
		for (uint32_t i = 0; i < slots_n(s); i++) {
			uint32_t *low = &s->slots[i].low;
			*low = (*low & ~(uint32_t)INDEX_MAX_HITS) | (*low & INDEX_MAX_HITS) / 2;
		}
		pthread_mutex_unlock(&s->lock);
	}
}

uint64_t
index_count(const struct index *ix)
{
	return atomic_load_explicit(&ix->count, memory_order_relaxed);
}

uint64_t
index_memory(const struct index *ix)
{
	return atomic_load_explicit(&ix->memory, memory_order_relaxed);
}

void
index_check(struct index *ix)
{
	uint64_t count = 0;
	for (unsigned n = 0; n < SHARDS; n++) {
		struct shard *s = &ix->shards[n];
		pthread_mutex_lock(&s->lock);
		uint32_t used = 0, graves = 0;
		const struct slot *last = NULL;
		for (uint32_t i = 0; i < slots_n(s); i++) {
			const struct slot *slot = &s->slots[i];
			if (is_empty(slot))
				continue;
			used++;
			graves += is_grave(slot);
			assert(!last || tag_in(last) < tag_in(slot));
			uint32_t home = home_of(s, tag_in(slot));
			assert(home <= i);
			for (uint32_t j = home; j < i; j++)
				assert(!is_empty(&s->slots[j]));
			last = slot;
		}
		assert(used == s->used);
		count += used - graves;
		pthread_mutex_unlock(&s->lock);
	}
	assert(count == index_count(ix));
}
