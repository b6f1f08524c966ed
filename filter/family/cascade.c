/* cascade.c - pairs one behind the other, and how they turn together.
 *
 * A pair ends its generation by itself when it is full. The others follow when a key has gone further than the first,
 * and at each tick: they are turned until their numbers are that of the furthest. Each turn names the number that it
 * ends, so of several threads that do this one has its way, and none ends a generation that has just begun. A pair
 * that must be swept first is asked again by the next key; until then it remembers longer than the others.
 */
#include "filter/family/cascade.h"

#include <stdlib.h>

#include "filter/sizing.h"

enum {
	PAIRS_MOST = TWICE_FILTER_SIGHTINGS_MOST - 1,
	BLOCK = 256,	/* keys of a batch that are worked on together */
	AHEAD_MOST = 8, /* generations that snapshots of two pairs may be apart */
};

struct twice_cascade {
	unsigned n;
	struct twice_pair *pair[PAIRS_MOST]; /* owned */
};

/* ---- turning ------------------------------------------------------------------------------- */

uint64_t
twice_cascade_number(const struct twice_cascade *c)
{
	uint64_t latest = 0;

	for (unsigned i = 0; i < c->n; i++) {
		uint64_t number = twice_pair_number(c->pair[i]);

		latest = number > latest ? number : latest;
	}
	return latest;
}

static bool
follow(struct twice_pair *p, uint64_t latest)
{
	for (uint64_t n = twice_pair_number(p); n < latest; n++)
		if (!twice_pair_try_rotate(p, n))
			return false;
	return true;
}

static inline bool
are_together(const struct twice_cascade *c)
{
	uint64_t number = twice_pair_number(c->pair[0]);

	for (unsigned i = 1; i < c->n; i++)
		if (twice_pair_number(c->pair[i]) != number)
			return false;
	return true;
}

static void
catch_up(struct twice_cascade *c)
{
	uint64_t latest = twice_cascade_number(c);

	for (unsigned i = 0; i < c->n; i++)
		follow(c->pair[i], latest);
}

static inline void
turn_together(struct twice_cascade *c)
{
	if (!are_together(c))
		catch_up(c);
}

void
twice_cascade_tick(struct twice_cascade *c, int64_t now_s)
{
	for (unsigned i = 0; i < c->n; i++)
		twice_pair_tick(c->pair[i], now_s);
	turn_together(c);
}

void
twice_cascade_rotate(struct twice_cascade *c, int64_t now_s)
{
	uint64_t latest = twice_cascade_number(c) + 1;

	for (unsigned i = 0; i < c->n; i++)
		while (twice_pair_number(c->pair[i]) < latest)
			twice_pair_rotate(c->pair[i], now_s);
}

bool
twice_cascade_try_rotate(struct twice_cascade *c, uint64_t number)
{
	turn_together(c);
	if (twice_cascade_number(c) != number || !twice_pair_try_rotate(c->pair[0], number))
		return false;
	turn_together(c);
	return true;
}

/* ---- one key ------------------------------------------------------------------------------- */

/* Adds what the next pair says of a key. False: it does not know it. */
static bool
goes_on(struct twice_filter_sight *known, enum twice_sight is)
{
	if (is == TWICE_SIGHT_FIRST)
		return false;
	if (known->times++ == 0 || is == TWICE_SIGHT_PREVIOUS)
		known->sight = is;
	return true;
}

struct twice_filter_sight
twice_cascade_test(const struct twice_cascade *c, struct twice_key_hash h)
{
	struct twice_filter_sight known = {TWICE_SIGHT_FIRST, 0};

	for (unsigned i = 0; i < c->n && goes_on(&known, twice_pair_test(c->pair[i], h)); i++)
		;
	return known;
}

struct twice_filter_sight
twice_cascade_record(struct twice_cascade *c, struct twice_key_hash h)
{
	struct twice_filter_sight known = {TWICE_SIGHT_FIRST, 0};

	if (!goes_on(&known, twice_pair_record(c->pair[0], h)))
		return known;
	turn_together(c);
	for (unsigned i = 1; i < c->n && goes_on(&known, twice_pair_record(c->pair[i], h)); i++)
		;
	if (known.sight != TWICE_SIGHT_CURRENT ||
	    known.times < c->n) /* a pair took it, and may be full */
		turn_together(c);
	return known;
}

void
twice_cascade_prefetch(const struct twice_cascade *c, struct twice_key_hash h)
{
	twice_pair_prefetch(c->pair[0], h);
}

/* ---- many ---------------------------------------------------------------------------------- */

/* Those of a block that all pairs so far have known, one behind the other. */
struct block {
	struct twice_filter_sight *out; /* of all of the block */
	size_t n, at[BLOCK];
	struct twice_key_hash h[BLOCK];
	enum twice_sight is[BLOCK];
};

static void
block_begin(struct block *b, const struct twice_key_hash *h, struct twice_filter_sight *out,
	    size_t n)
{
	b->out = out;
	b->n = n;
	for (size_t i = 0; i < n; i++) {
		b->at[i] = i;
		b->h[i] = h[i];
		out[i] = (struct twice_filter_sight){TWICE_SIGHT_FIRST, 0};
	}
}

/* Keeps those that the next pair is to be asked about. */
static void
block_go_on(struct block *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		if (goes_on(&b->out[b->at[i]], b->is[i])) {
			b->at[n] = b->at[i];
			b->h[n++] = b->h[i];
		}
	b->n = n;
}

void
twice_cascade_test_batch(const struct twice_cascade *c, const struct twice_key_hash *h,
			 struct twice_filter_sight *out, size_t n)
{
	struct block b;

	for (size_t at = 0, m; at < n; at += m) {
		m = n - at < BLOCK ? n - at : BLOCK;
		block_begin(&b, h + at, out + at, m);
		for (unsigned i = 0; i < c->n && b.n; i++) {
			twice_pair_test_batch(c->pair[i], b.h, b.is, b.n);
			block_go_on(&b);
		}
	}
}

void
twice_cascade_record_batch(struct twice_cascade *c, const struct twice_key_hash *h,
			   struct twice_filter_sight *out, size_t n)
{
	struct block b;

	for (size_t at = 0, m; at < n; at += m) {
		m = n - at < BLOCK ? n - at : BLOCK;
		block_begin(&b, h + at, out + at, m);
		for (unsigned i = 0; i < c->n && b.n; i++) {
			if (i == 1)
				turn_together(c);
			twice_pair_record_batch(c->pair[i], b.h, b.is, b.n);
			block_go_on(&b);
		}
		turn_together(c);
	}
}

/* ---- numbers ------------------------------------------------------------------------------- */

void
twice_cascade_stats(const struct twice_cascade *c, struct twice_pair_stats *out)
{
	struct twice_pair_stats later;

	twice_pair_stats(c->pair[0], out);
	out->memory_bytes += sizeof(*c);
	for (unsigned i = 1; i < c->n; i++) {
		twice_pair_stats(c->pair[i], &later);
		out->memory_bytes += later.memory_bytes;
		out->bits_per_key +=
			later.bits_per_key * (double)later.capacity / (double)out->capacity;
	}
}

uint64_t
twice_cascade_keys(const struct twice_cascade *c)
{
	struct twice_pair_stats is;
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->n; i++) {
		twice_pair_stats(c->pair[i], &is);
		sum += is.keys;
	}
	return sum;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Only the first one looks at its age. */
static struct twice_pair_options
options_of(const struct twice_filter_options *o, unsigned i)
{
	return (struct twice_pair_options){
		.capacity = i ? twice_sizing_later_capacity(o->capacity) : o->capacity,
		.false_positives = o->false_positives,
		.rotate_after_s = i ? 0 : o->rotate_after_s,
	};
}

static struct twice_cascade *
frame(const struct twice_filter_options *o)
{
	if (o->sightings < 2 || o->sightings > TWICE_FILTER_SIGHTINGS_MOST)
		return NULL;
	return calloc(1, sizeof(struct twice_cascade));
}

struct twice_cascade *
twice_cascade_create(const struct twice_filter_options *o, int64_t now_s)
{
	struct twice_cascade *c = frame(o);

	for (unsigned i = 0; c && i < o->sightings - 1; i++) {
		struct twice_pair_options po = options_of(o, i);

		if (twice_pair_create(&c->pair[i], &po, now_s) == 0)
			c->n++;
		else
			twice_cascade_destroy(&c);
	}
	return c;
}

void
twice_cascade_destroy(struct twice_cascade **c)
{
	for (unsigned i = 0; *c && i < (*c)->n; i++)
		twice_pair_destroy(&(*c)->pair[i]);
	free(*c);
	*c = NULL;
}

/* ---- snapshots ----------------------------------------------------------------------------- */

int
twice_cascade_save(const struct twice_cascade *c, const struct twice_seed *seed, int64_t now_s,
		   twice_pair_write_fn *write, void *ctx)
{
	for (unsigned i = 0; i < c->n; i++)
		if (twice_pair_save(c->pair[i], seed, now_s, write, ctx) != 0)
			return -1;
	return 0;
}

/* Generations may have turned while one pair after the other was written. */
static bool
is_of_one_time(const struct twice_cascade *c)
{
	uint64_t latest = twice_cascade_number(c);

	for (unsigned i = 0; i < c->n; i++)
		if (latest - twice_pair_number(c->pair[i]) > AHEAD_MOST)
			return false;
	return true;
}

const char *
twice_cascade_load(struct twice_cascade **out, const struct twice_filter_options *o,
		   const struct twice_seed *seed, int64_t now_s, twice_pair_read_fn *read,
		   void *ctx)
{
	struct twice_cascade *c = frame(o);
	const char *why = c ? NULL : "no memory, or options out of range";

	for (unsigned i = 0; !why && i < o->sightings - 1; i++) {
		struct twice_pair_options po = options_of(o, i);

		why = twice_pair_load(&c->pair[i], &po, seed, now_s, read, ctx);
		c->n += !why;
	}
	if (!why && !is_of_one_time(c))
		why = "its pairs are of different times";
	if (why) {
		twice_cascade_destroy(&c);
		return why;
	}
	for (unsigned i = 0; i < c->n; i++)
		while (twice_pair_number(c->pair[i]) < twice_cascade_number(c))
			twice_pair_rotate(c->pair[i], now_s);
	*out = c;
	return NULL;
}
