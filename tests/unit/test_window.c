/* test_window.c - where readers are, what is held, what may go: against a model of one array.
 * rooms: cache http base filter
 */
#include "proxy/cache/flight/window.h"

#include "tests/kit/unit.h"

#include <string.h>

enum { READERS = 40, CAP = 64, STEPS = 30000 };

static uint64_t seed = 88172645463325252u;

static uint64_t
below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static char
byte_at(uint64_t at)
{
	return (char)(at * 2654435761u >> 13);
}

struct one {
	struct mark mark;
	uint64_t at;
	bool here, lost;
};

static uint64_t
add(struct window *w, unsigned n)
{
	char bytes[256];
	uint32_t at, got;
	for (unsigned i = 0; i < n; i++)
		bytes[i] = byte_at(w->total + i);
	struct block *b = window_add(w, bytes, n, CAP, &at, &got);
	ck_assert_int_eq(memcmp(b->p + at, bytes, got), 0);
	ck_assert_uint_ge(got, 1);
	return got;
}

/* The first piece in front of which no reader is, by asking everybody. */
static uint64_t
slowest(const struct one *all, uint64_t total)
{
	uint64_t least = total;
	for (int i = 0; i < READERS; i++)
		if (all[i].here && !all[i].lost && all[i].at < least)
			least = all[i].at;
	return least;
}

static void
check(const struct window *w, const struct one *all, uint64_t held)
{
	uint64_t least = slowest(all, w->total), caps = 0;
	ck_assert_uint_le(w->base, least);
	/* Only whole pieces are let go, so at most one piece too much is held: the last stays,
	 * because whoever brought it is still looking at it. */
	ck_assert_uint_le(least - w->base, CAP);
	if (w->total) {
		const struct piece *last = &w->pieces[w->first + w->count - 1];
		ck_assert_uint_ge(w->count, 1);
		ck_assert_uint_eq(last->at + last->block->n, w->total);
	}
	for (unsigned i = 0; i < w->count; i++)
		caps += w->pieces[w->first + i].block->cap;
	ck_assert_uint_eq(held, caps);
	uint64_t behind = window_behind(w);
	ck_assert_uint_le(behind, w->total - least + CAP);
	if (w->total - least >= 2 * CAP)
		ck_assert_uint_ge(behind, w->total - least);
}

/* The first piece goes though somebody is in it: exactly those are lost. */
static void
shed(struct window *w, struct one *all, unsigned *left_behind, unsigned *seen_lost)
{
	uint64_t was = w->base;
	*left_behind += window_shed(w);
	for (int i = 0; i < READERS; i++)
		if (all[i].here && !all[i].lost && w->base > was && all[i].at < w->base) {
			ck_assert(window_lost(w, &all[i].mark));
			all[i].lost = true;
			++*seen_lost;
		}
}

static void
move(struct window *w, struct one *o)
{
	if (o->here && !o->lost) {
		o->at += below(w->total - o->at + 1);
		if (o->at < w->total) {
			const struct piece *p = window_find(w, o->at);
			ck_assert(p->at <= o->at && o->at < p->at + p->block->n);
			ck_assert(p->block->p[o->at - p->at] == byte_at(o->at));
		}
	}
	if (o->here)
		window_move(w, &o->mark, o->at);
}

START_TEST(it_holds_what_the_slowest_needs_and_no_more)
{
	struct one all[READERS] = {0};
	struct window w;
	_Atomic uint64_t held = 0;
	unsigned left_behind = 0, seen_lost = 0;
	window_init(&w, 0, &held);
	for (int step = 0; step < STEPS; step++) {
		struct one *o = &all[below(READERS)];
		switch (below(8)) {
		case 0:
		case 1:
		case 2:
			add(&w, 1 + (unsigned)below(100));
			break;
		case 3:
			if (o->here)
				window_leave(&w, &o->mark);
			*o = (struct one){.here = !o->here, .at = w.base};
			if (o->here)
				window_enter(&w, &o->mark);
			break;
		case 4:
			if (below(20) == 0)
				shed(&w, all, &left_behind, &seen_lost);
			break;
		default:
			move(&w, o);
			break;
		}
		window_trim(&w);
		check(&w, all, atomic_load(&held));
	}
	ck_assert_uint_eq(left_behind, seen_lost);
	ck_assert_uint_ge(left_behind, 20);
	for (int i = 0; i < READERS; i++)
		if (all[i].here)
			window_leave(&w, &all[i].mark);
	window_fini(&w);
	ck_assert_uint_eq(atomic_load(&held), 0);
}
END_TEST

START_TEST(the_rest_of_a_body_begins_where_it_begins)
{
	struct window w;
	struct mark m;
	window_init(&w, 1000, NULL);
	window_enter(&w, &m);
	ck_assert_uint_eq(add(&w, 10), 10);
	ck_assert_uint_eq(window_find(&w, 1009)->at, 1000);
	window_move(&w, &m, 1010);
	ck_assert_uint_eq(window_behind(&w), 0);
	window_leave(&w, &m);
	window_fini(&w);
}
END_TEST

START_TEST(those_at_the_end_of_an_open_piece_are_not_behind)
{
	struct window w;
	struct mark m;
	window_init(&w, 0, NULL);
	window_enter(&w, &m);
	add(&w, CAP - 1);
	ck_assert_uint_eq(window_behind(&w), 0); /* more of it may come: nobody waits for room */
	add(&w, 1);
	ck_assert_uint_eq(window_behind(&w), CAP);
	window_move(&w, &m, CAP);
	window_trim(&w);
	ck_assert_uint_eq(window_behind(&w), 0);
	ck_assert_uint_eq(window_shed(&w), 0);
	window_leave(&w, &m);
	window_fini(&w);
}
END_TEST

/* One window after the other, as a flight that is used again. */
START_TEST(a_block_is_lent_from_window_to_window)
{
	struct window w;
	struct block *b = block_create(2 * CAP), *first = b, *other;
	_Atomic uint64_t held = 0;
	for (int i = 0; i < 3; i++) {
		window_init(&w, 0, &held);
		window_lend_block(&w, &b);
		ck_assert_ptr_null(b);
		if (i != 1)
			add(&w, CAP);
		ck_assert_uint_eq(atomic_load(&held), i == 1 ? 0 : 2 * CAP);
		b = window_take_block(&w);
		ck_assert_ptr_eq(b, first);
		ck_assert_uint_eq(b->n, 0);
		ck_assert_uint_eq(atomic_load(&held), 0);
		window_fini(&w);
	}
	window_init(&w, 0, &held);
	window_lend_block(&w, &b);
	add(&w, 1);
	other = block_ref(first);
	ck_assert_ptr_null(window_take_block(&w)); /* somebody has it */
	window_fini(&w);
	ck_assert_uint_eq(other->n, 1);
	block_unref(&other);
}
END_TEST

START_TEST(a_block_that_is_too_small_is_not_used)
{
	struct window w;
	struct block *b = block_create(CAP - 1);
	window_init(&w, 0, NULL);
	window_lend_block(&w, &b);
	ck_assert_uint_eq(add(&w, CAP), CAP);
	ck_assert_uint_eq(window_find(&w, 0)->block->cap, CAP);
	window_fini(&w);
}
END_TEST

UNIT("window", TEST(a_block_is_lent_from_window_to_window),
     TEST(a_block_that_is_too_small_is_not_used), TEST(it_holds_what_the_slowest_needs_and_no_more),
     TEST(the_rest_of_a_body_begins_where_it_begins),
     TEST(those_at_the_end_of_an_open_piece_are_not_behind))
