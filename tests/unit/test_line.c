/* test_line.c - who waits, and whose turn it is.
 * rooms: origin http base
 */
#include "proxy/origin/line.h"

#include "tests/kit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

/* Places of clients A to Z at routes 0 to 9, in the order they come: "A0", "B1". */
struct waiting {
	struct line line;
	struct line_place places[MOST];
	unsigned n;
};

static void
comes(struct waiting *w, const char *who)
{
	struct line_place *p = &w->places[w->n++];
	ck_assert_uint_le(w->n, MOST);
	*p = (struct line_place){.client = (uint64_t)who[0], .route = (unsigned)(who[1] - '0')};
	line_enter(&w->line, p);
}

static void
come(struct waiting *w, const char *all)
{
	memset(w, 0, sizeof *w);
	line_init(&w->line);
	for (; *all; all += all[2] ? 3 : 2)
		comes(w, all);
}

/* Everybody's turn, and in which place each came. */
static const char *
turns(struct waiting *w)
{
	static char out[MOST * 6];
	struct line_place *p;
	char *at = out;
	*at = '\0';
	while ((p = line_first(&w->line))) {
		line_take(&w->line, p);
		at += sprintf(at, "%s%c%u", at == out ? "" : " ", (int)p->client, p->route);
	}
	ck_assert_uint_eq(w->line.count, 0);
	return out;
}

static const struct {
	const char *says, *come, *want;
} orders[] = {
	{"one client's requests keep their order", "A0 A0 A0", "A0 A0 A0"},
	{"a newcomer is next after one round", "A0 A0 A0 A0 B0", "A0 B0 A0 A0 A0"},
	{"clients take turns", "A0 A0 A0 B0 B0 C0", "A0 B0 C0 A0 B0 A0"},
	{"routes of a client take turns", "A0 A0 A0 A1 A2 A2", "A0 A1 A2 A0 A2 A0"},
	{"many routes are no more turns of the client", "A0 A1 A2 A3 B0 B0", "A0 B0 A1 B0 A2 A3"},
	{"those whom nobody knows are one client", "?0 ?0 ?0 A0", "?0 A0 ?0 ?0"},
};

START_TEST(order)
{
	struct waiting w;
	come(&w, orders[_i].come);
	ck_assert_msg(strcmp(turns(&w), orders[_i].want) == 0, "%s", orders[_i].says);
}
END_TEST

START_TEST(who_leaves_changes_nobodys_turn)
{
	struct waiting w;
	come(&w, "A0 A0 B0 C0 C1");
	line_leave(&w.line, &w.places[0]);
	line_leave(&w.line, &w.places[2]);
	ck_assert_uint_eq(line_places(&w.line, 'B'), 0);
	ck_assert_str_eq(turns(&w), "A0 C0 C1");
}
END_TEST

START_TEST(who_had_a_turn_out_of_turn_is_behind_the_others)
{
	struct waiting w;
	come(&w, "A0 A0 B0 C0");
	line_take(&w.line, &w.places[0]);
	line_take(&w.line, &w.places[3]);
	comes(&w, "C0");
	ck_assert_str_eq(turns(&w), "B0 A0 C0");
}
END_TEST

static const struct {
	const char *says, *come;
	unsigned least;
	int want; /* number of the place; -1: none */
} longest[] = {
	{"nobody waits", "", 0, -1},
	{"the client with most places gives its newest", "A0 B0 B0 C0", 1, 2},
	{"of its longest route", "A1 A0 A0 A1 A1 A0 A0 B0", 1, 6},
	{"nobody has more than the newcomer", "A0 A0 B0 B0", 2, -1},
	{"one more is enough", "A0 A0 B0", 1, 1},
};

START_TEST(gives_way)
{
	struct waiting w;
	come(&w, longest[_i].come);
	struct line_place *p = line_longest(&w.line, longest[_i].least);
	ck_assert_msg(p == (longest[_i].want < 0 ? NULL : &w.places[longest[_i].want]), "%s",
		      longest[_i].says);
	turns(&w);
}
END_TEST

/* Each client gets as many turns as any other that
 * waits all the time, but one. */
START_TEST(nobody_has_two_turns_more)
{
	enum { CLIENTS = 5, STEPS = 20000 };
	struct line l;
	struct line_place p[MOST];
	unsigned waits[CLIENTS] = {0}, turns[CLIENTS] = {0}, used = 0;
	memset(p, 0, sizeof p);
	line_init(&l);
	srand(7);
	for (unsigned i = 0; i < MOST; i++, used++) { /* uneven, and everybody waits */
		unsigned c = i < CLIENTS ? i : (unsigned)rand() % 2;
		p[i] = (struct line_place){.client = c * LINE_CHAINS, .route = i % 3};
		line_enter(&l, &p[i]);
		waits[c]++;
	}
	for (int i = 0; i < STEPS; i++) {
		struct line_place *first = line_first(&l);
		uint64_t c = first->client / LINE_CHAINS;
		ck_assert_ptr_eq(line_nth(&l, 0), first);
		struct line_place *second = line_nth(&l, 1);
		ck_assert_ptr_null(line_nth(&l, CLIENTS));
		line_take(&l, first);
		ck_assert_ptr_eq(line_first(&l), second);
		turns[c]++;
		line_enter(&l, first); /* asks again at once */
		ck_assert_uint_eq(line_places(&l, first->client), waits[c]);
		for (unsigned a = 0; a < CLIENTS; a++)
			ck_assert_msg(turns[c] <= turns[a] + 1, "%u: %u, %u: %u", (unsigned)c,
				      turns[c], a, turns[a]);
	}
	ck_assert_uint_eq(l.count, used);
	for (unsigned i = 0; i < MOST; i++)
		line_leave(&l, &p[i]);
	ck_assert_ptr_null(line_first(&l));
}
END_TEST

UNIT("line", LOOP(order, orders), TEST(who_leaves_changes_nobodys_turn),
     TEST(who_had_a_turn_out_of_turn_is_behind_the_others), LOOP(gives_way, longest),
     TEST(nobody_has_two_turns_more))
