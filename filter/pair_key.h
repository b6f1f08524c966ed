/* pair_key.h - where a key lives in the pair, and how it is looked for and added. Private.
 *
 * Inline, because the calls for one key (pair.c) and for many (pair_batch.c) are made of it.
 *
 * Exactly one FIRST. A key has bits in two columns, lower column first, always. A
 * thread looks at both, adds what is missing in that order, and has won if its own
 * swap added the missing bits of the last word that needed any. Two winners A and B
 * of one generation: say A's last word is not after B's. In the same word: only one
 * swap adds a missing bit. Otherwise B won in the second word, where A saw nothing
 * missing; so A looked after B's swap, hence after B had seen to the first word, and
 * found it complete there: nothing left for A to win. Of two generations: the later
 * winner has looked at g - 1 in columns that were turned to g, where nobody adds to
 * g - 1 any more, and would have seen the key there. (Should a different key happen to
 * set just the missing bits in between, both are told it was seen: a false positive
 * like any other.)
 *
 * No lost key. A thread that finds the generation changed after it added a key adds
 * it again to the new one.
 */
#ifndef TWICE_PAIR_KEY_H
#define TWICE_PAIR_KEY_H

#include "filter/pair_inner.h"

/* ---- where ---- */

struct place {
	struct column *column;
	uint64_t bits;
};

struct spot {
	struct place a, b; /* a is the lower column */
};

/* hi picks the line; lo the two columns (14 bits) and the bits (25 each). */
static inline struct spot
spot_of(const struct twice_pair *p, struct twice_key_hash h)
{
	static const unsigned char pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
	uint64_t at = (uint64_t)((unsigned __int128)h.hi * p->line_count >> 64);
	const unsigned char *two = pairs[(h.lo >> 50) * 6 >> 14];
	struct column *column = p->lines[at].column;

	return (struct spot){
		{column + two[0], pattern_bits(p->pattern, WORD_BITS, h.lo)},
		{column + two[1], pattern_bits(p->pattern, WORD_BITS, h.lo >> PATTERN_HASH)},
	};
}

/* Asks for a line that will be written, for this core alone: a line that was asked for only to be
 * read may come shared, and the first compare-and-swap waits again to own it. On AMD (Zen 5) at
 * 10^7 keys a first sighting costs 2.2 times the one-line floor without this and 1.5 with it.
 * In assembler, since the compiler's own prefetch for writing is a plain one without -mprfchw;
 * every x86-64 processor that does not know prefetchw takes it for a no-op. */
static inline void
prefetch_to_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* ---- looking ---- */

static inline enum twice_sight
sight_of(const struct spot *s, const struct halves *a, const struct halves *b)
{
	if (!((s->a.bits & ~a->now) | (s->b.bits & ~b->now)))
		return TWICE_SIGHT_CURRENT;
	if (!((s->a.bits & ~a->then) | (s->b.bits & ~b->then)))
		return TWICE_SIGHT_PREVIOUS;
	return TWICE_SIGHT_FIRST;
}

/* *v is kept from key to key, and renewed when it is out of date. */
static inline void
look_around(const struct twice_pair *p, struct view *v)
{
	uint64_t g = now_at(p);

	if (v->generation != g)
		*v = view_of(g);
}

static inline enum twice_sight
test_spot(const struct twice_pair *p, const struct spot *s, struct view *v)
{
	struct halves a, b;

	do {
		look_around(p, v);
		if (!column_at(s->a.column, v, &a))
			column_untouched(s->a.column, v, &a);
		if (!column_at(s->b.column, v, &b))
			column_untouched(s->b.column, v, &b);
	} while (now_at(p) != v->generation);
	return sight_of(s, &a, &b);
}

/* ---- counting what a batch added ---- */

/* A batch counts what it added in one piece, but never past a key that must look. */
struct tally {
	struct stripe *stripe;
	uint64_t generation;
	uint64_t keys, recurring;
	uint64_t room; /* keys until somebody must look at the sum */
};

static inline void
tally_end(struct twice_pair *p, struct tally *t)
{
	if (t->keys)
		twice_pair_count(p, t->stripe, t->generation, t->keys, t->recurring);
	t->keys = t->recurring = 0;
}

static inline void
tally_begin(struct tally *t, uint64_t g)
{
	struct stripe *s = t->stripe;
	uint64_t look_at = atomic_load_explicit(&s->look_at[parity(g)], memory_order_relaxed);
	uint64_t have = atomic_load_explicit(&s->keys[parity(g)], memory_order_relaxed);

	t->generation = g;
	t->room = look_at > have ? look_at - have : 1;
}

static inline void
tally_key(struct twice_pair *p, struct tally *t, uint64_t g, bool recurring)
{
	if (t->generation != g || t->keys == 0) {
		tally_end(p, t);
		tally_begin(t, g);
	}
	t->keys++;
	t->recurring += recurring;
	if (t->keys >= t->room)
		tally_end(p, t);
}

/* ---- adding ---- */

enum outcome { ADDED, OTHERS_DID, RETIRED };

/* Adds bits to a word of this generation, last seen with `data`. */
static inline enum outcome
word_add(const struct place *at, const struct view *v, uint64_t data)
{
	uint64_t is = data | v->tag;

	for (;;) {
		if ((is ^ v->tag) > WORD_DATA)
			return RETIRED;
		if (!(at->bits & ~is))
			return OTHERS_DID;
		if (atomic_compare_exchange_strong(&at->column->word[v->half], &is, is | at->bits))
			return ADDED;
	}
}

struct attempt {
	enum twice_sight sight;
	bool won; /* this thread completed the key */
};

/* One try. False when a column is not of this generation: turn it and try again. */
static inline bool
record_at(const struct spot *s, const struct view *v, struct attempt *out)
{
	enum outcome last = OTHERS_DID;
	struct halves a, b;

	if (!column_at(s->a.column, v, &a) || !column_at(s->b.column, v, &b))
		return false;
	if (s->a.bits & ~a.now)
		last = word_add(&s->a, v, a.now);
	if (last != RETIRED && s->b.bits & ~b.now)
		last = word_add(&s->b, v, b.now);
	if (last == RETIRED)
		return false;
	out->won = last == ADDED;
	out->sight = out->won ? sight_of(s, &a, &b) : TWICE_SIGHT_CURRENT;
	return true;
}

/* t: the batch's tally; NULL to count at once. */
static inline enum twice_sight
record_spot(struct twice_pair *p, const struct spot *s, struct view *v, struct tally *t)
{
	bool told = false;
	enum twice_sight sight = TWICE_SIGHT_FIRST;

	for (;;) {
		struct attempt a;

		look_around(p, v);
		if (!record_at(s, v, &a)) {
			twice_pair_turn_line(p, s->a.column);
			continue;
		}
		if (!told)
			sight = a.sight;
		told = true;

		bool late = now_at(p) != v->generation;
		if (a.won && t)
			tally_key(p, t, v->generation, a.sight == TWICE_SIGHT_PREVIOUS);
		else if (a.won)
			twice_pair_count(p, stripe_here(p), v->generation, 1,
					 a.sight == TWICE_SIGHT_PREVIOUS);
		if (!late)
			return sight;
	}
}

#endif
