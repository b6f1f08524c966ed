/* index_inside.h - slots and shards of the index, for index.c, which finds and changes one entry, and index_all.c, which goes
 * through all.
 */
#ifndef CACHE_INDEX_INSIDE_H
#define CACHE_INDEX_INSIDE_H

#include "proxy/cache/store/index.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

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

static inline bool
is_empty(const struct slot *s)
{
	return (s->place & 1023) == 0;
}

static inline uint64_t
word_of(const struct slot *s)
{
	return (uint64_t)s->high << 32 | s->low;
}

static inline uint64_t
tag_in(const struct slot *s)
{
	return word_of(s) >> (64 - TAG_BITS);
}

static inline unsigned
hits_in(const struct slot *s)
{
	return s->low & INDEX_MAX_HITS;
}

static inline struct slot
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

static inline struct locator
locator_in(const struct slot *s)
{
	return (struct locator){
		.segment = s->place >> 16,
		.generation = s->place >> 10 & INDEX_GENERATION_MASK,
		.offset = (uint32_t)(word_of(s) >> 2) & ((1u << OFFSET_BITS) - 1),
		.bytes = (s->place & 1023) * RECORD_UNIT,
	};
}

static inline bool
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

static inline bool
is_grave(const struct slot *s)
{
	return s->place >> 16 == GRAVE.segment && is_at(s, &GRAVE);
}

/* ---- a shard ------------------------------------------------------------------------------- */

static inline struct shard *
shard_of(struct index *ix, uint64_t hash_hi)
{
	return &ix->shards[hash_hi >> (64 - SHARD_BITS)];
}

static inline uint64_t
tag_of(uint64_t hash_hi)
{
	return hash_hi << SHARD_BITS >> (64 - TAG_BITS);
}

static inline uint32_t
home_of(const struct shard *s, uint64_t tag)
{
	return (uint32_t)((tag * s->homes) >> TAG_BITS); /* homes < 2^28 */
}

static inline uint32_t
slots_n(const struct shard *s)
{
	return s->homes + SPILL;
}

static inline struct index_entry
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

/* index.c. Under the shard's lock: a smaller array, where there is much room. */
void index_take_room(struct index *ix, struct shard *s);

#endif
