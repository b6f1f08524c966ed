/* seen_replay.c - what was recorded since the snapshot is recorded again, as the log names it. */
#include "proxy/cache/admission/seen_inside.h"

#include "proxy/cache/cache.h"

#include <string.h>
#include <xxhash.h>

/* Tells the filter that understands the keys from others. */
static uint64_t
shape_of(const struct seen *s, const struct twice_filter_options *o)
{
	bool packs = twice_filter_kind_for(o) == TWICE_FILTER_PAIR;
	uint64_t facts[4] = {twice_seed_fingerprint(cache_seed(s->cache)), packs};
	if (packs) {
		facts[2] = o->capacity;
		memcpy(&facts[3], &o->false_positives, sizeof facts[3]);
	}
	return XXH3_64bits(facts, sizeof facts);
}

struct recording {
	struct seen *s;
	struct twice_pair *pair; /* one of the two */
	struct twice_filter *memory;
	int64_t now;
	uint64_t snapshot; /* generation; of what is older all is in it */
	uint64_t more;	   /* its number, over that of the block's generation */
	bool any;	   /* more is known */
};

static void
rotate(const struct recording *r)
{
	if (r->pair)
		twice_pair_rotate(r->pair, r->now);
	else
		twice_filter_rotate(r->memory, r->now);
}

/* Generations that began since then begin again, unless the keys themselves have ended them. */
static void
turn_to(struct recording *r, uint64_t generation)
{
	enum { FORGOTTEN = 2 }; /* more turns make no difference */
	uint64_t number = seen_generation(r->pair, r->memory);
	if (!r->any)
		r->more = number - generation;
	r->any = true;
	int64_t turns = (int64_t)(generation + r->more - number);
	if (turns > FORGOTTEN) {
		r->more -= (uint64_t)turns - FORGOTTEN;
		turns = FORGOTTEN;
	}
	for (; turns > 0; turns--) {
		rotate(r);
		atomic_store(&r->s->admitted, 0);
	}
}

static void
record_again(void *ctx, uint64_t generation, struct twice_key_hash key)
{
	struct recording *r = ctx;
	if (generation < r->snapshot)
		return;
	turn_to(r, generation);
	if (r->pair)
		twice_pair_record(r->pair, twice_pair_unpack_key(r->pair, key.lo));
	else
		twice_filter_record(r->memory, key);
}

static struct seen_log *
log_for(const struct seen *s, const struct twice_pair *pair, const struct twice_filter *memory,
	const struct twice_filter_options *o)
{
	return seen_log_create(&(struct seen_log_options){
		.cache = s->cache,
		.pair = pair,
		.memory = memory,
		.shape = shape_of(s, o),
		.most_keys = o->capacity,
		.now_ms = atomic_load(&s->ticked_s) * 1000,
	});
}

/* The log belongs to the snapshot: if that is an elder's by now, so is what it names. */
void
seen_restore_log(struct seen *s, int64_t now, bool restored)
{
	struct remembered *elder = s->saved.moves ? atomic_load(&s->elder.now) : NULL;
	struct recording r = {.s = s,
			      .pair = elder ? elder->pair : s->pair,
			      .memory = elder ? elder->memory : s->memory,
			      .now = now,
			      .any = restored || elder};
	if (r.any)
		r.snapshot = seen_generation(r.pair, r.memory);
	s->log = log_for(s, s->pair, s->memory, &s->memory_options);
	struct seen_log *from =
		elder ? log_for(s, elder->pair, elder->memory, &elder->options) : s->log;
	seen_log_restore(from, record_again, &r);
	if (elder)
		seen_log_destroy(&from);
	if (s->saved.moves)
		s->elder.since = seen_generation(s->pair, s->memory);
}
