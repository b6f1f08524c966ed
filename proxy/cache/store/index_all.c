/* index_all.c - all entries: told, swept, faded, checked. */
#include "proxy/cache/store/index_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

_Static_assert(SHARD_BITS + TAG_BITS == (int)INDEX_HASH_BITS, "as index.h says");

/* Of one shard, which fits; how many. */
static size_t
list_shard(const struct index *ix, const struct shard *s, uint64_t *out)
{
	size_t n = 0;
	for (uint32_t i = 0; i < slots_n(s); i++)
		if (!is_empty(&s->slots[i]) && !is_grave(&s->slots[i]))
			out[n++] = entry_in(ix, s, &s->slots[i]).hash_hi;
	return n;
}

void
index_list(struct index *ix, void (*see)(void *ctx, const uint64_t *hash_hi, size_t n), void *ctx)
{
	uint64_t *hashes = NULL;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &ix->shards[i];
		pthread_mutex_lock(&s->lock);
		hashes = mem_realloc(hashes, (s->used + 1) * sizeof *hashes);
		size_t n = list_shard(ix, s, hashes);
		pthread_mutex_unlock(&s->lock);
		see(ctx, hashes, n);
	}
	free(hashes);
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
	index_take_room(ix, s);
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
