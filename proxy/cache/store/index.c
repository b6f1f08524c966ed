/* index.c - arrays ordered by tag; see index.h for the idea. */
#include "proxy/cache/store/index_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

/* ---- a shard ------------------------------------------------------------------------------- */

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

void
index_take_room(struct index *ix, struct shard *s)
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
		index_take_room(ix, s);
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
