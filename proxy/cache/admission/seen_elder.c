/* seen_elder.c - the filter of before, when its capacity or another of its options changed: what it knows counts as
 * long as it would have counted without the change.
 *
 * It learns nothing; it is asked about keys that the other one does not know. Its generations turn with those of
 * the other one: after the first turn its previous one is forgotten, after the second all of it. Of stable, which has
 * none, all counts until then.
 */
#include "proxy/cache/admission/seen_inside.h"

#include <stdlib.h>

struct twice_filter_sight
seen_elder_test(struct seen_elder *e, struct twice_key_hash h, struct twice_filter_sight is)
{
	atomic_fetch_add(&e->readers, 1); /* before it looks whether there is one */
	const struct remembered *r = atomic_load(&e->now);
	if (r && r->pair) {
		is.times += twice_pair_test(r->pair, h) != TWICE_SIGHT_FIRST;
	} else if (r) {
		is.times += twice_filter_test(r->memory, h).times;
	}
	atomic_fetch_sub(&e->readers, 1);
	if (is.sight == TWICE_SIGHT_FIRST && is.times)
		is.sight = TWICE_SIGHT_PREVIOUS;
	return is;
}

void
seen_elder_destroy(struct remembered **pr)
{
	if (*pr) {
		twice_pair_destroy(&(*pr)->pair);
		twice_filter_destroy(&(*pr)->memory);
	}
	free(*pr);
	*pr = NULL;
}

uint64_t
seen_generation(const struct twice_pair *pair, const struct twice_filter *memory)
{
	return pair ? twice_pair_number(pair) : twice_filter_number(memory);
}

/* Generations that the one which learns has begun since. One without generations is as old as it is full. */
static uint64_t
turns(const struct seen *s)
{
	struct twice_filter_stats is;
	if (s->pair || twice_filter_has_generations(s->memory))
		return seen_generation(s->pair, s->memory) - s->elder.since;
	twice_filter_stats(s->memory, &is);
	return is.keys >= s->memory_options.capacity ? ELDER_TURNS : 0;
}

void
seen_elder_turn(struct remembered *r, uint64_t turns, int64_t now_s)
{
	for (; r->turned < turns && r->turned < ELDER_TURNS; r->turned++)
		if (r->pair)
			twice_pair_rotate(r->pair, now_s);
		else
			twice_filter_rotate(r->memory, now_s);
}

void
seen_elder_tick(struct seen *s, int64_t now_s)
{
	struct seen_elder *e = &s->elder;
	struct remembered *r = atomic_load(&e->now);
	/* A reader that found it before it was taken away had said so before it looked. */
	if (e->gone && atomic_load(&e->readers) == 0)
		seen_elder_destroy(&e->gone);
	if (!r)
		return;
	uint64_t n = turns(s);
	seen_elder_turn(r, n, now_s);
	if (n < ELDER_TURNS || e->gone)
		return;
	atomic_store(&e->now, NULL);
	e->gone = r;
}

void
seen_elder_fini(struct seen_elder *e)
{
	struct remembered *r = atomic_exchange(&e->now, NULL);
	seen_elder_destroy(&r);
	seen_elder_destroy(&e->gone);
}
