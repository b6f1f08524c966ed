/* states.h - what must hold of any table of states and moves, such as serve/txn_states.h: each is a
 * test of its own over the rows themselves. The states are numbered from first to last, in order.
 */
#ifndef KIT_STATES_H
#define KIT_STATES_H

#include "tests/kit/unit.h"

#include <stdbool.h>

struct states { /* base/states.h makes the first three */
	const char *const *words;
	const bool *moves; /* [from][to], count by count */
	int count;
	int first, last;
};

static inline bool
states_may(const struct states *s, int from, int to)
{
	return s->moves[from * s->count + to];
}

static inline bool
states_reach(const struct states *s, int from, int to)
{
	bool seen[64] = {false};
	int todo[64], n = 0;
	ck_assert_int_le(s->count, 64);
	todo[n++] = from;
	seen[from] = true;
	while (n) {
		int at = todo[--n];
		if (at == to)
			return true;
		for (int i = s->first; i <= s->last; i++)
			if (!seen[i] && states_may(s, at, i)) {
				seen[i] = true;
				todo[n++] = i;
			}
	}
	return false;
}

/* Every state but the last has a way out, other than to itself; the last has none. */
static inline void
states_have_a_way_out(const struct states *s)
{
	for (int from = s->first; from <= s->last; from++) {
		bool out = false;
		for (int to = 0; to < s->count; to++) {
			ck_assert_msg(!states_may(s, from, to) || (to >= s->first && to <= s->last),
				      "%s leads out of its table", s->words[from]);
			out = out || (to != from && states_may(s, from, to));
		}
		ck_assert_msg(out == (from != s->last), "%s: a trap, or an end that is none",
			      s->words[from]);
	}
}

/* The last state is reached from everywhere, and everything from the first. */
static inline void
states_reach_the_end(const struct states *s)
{
	for (int i = s->first; i <= s->last; i++) {
		ck_assert_msg(states_reach(s, i, s->last), "no end from %s", s->words[i]);
		ck_assert_msg(states_reach(s, s->first, i), "nothing leads to %s", s->words[i]);
	}
}

static inline void
states_never_return(const struct states *s)
{
	for (int i = s->first; i <= s->last; i++)
		ck_assert_msg(!states_may(s, i, s->first), "%s returns to the first", s->words[i]);
}

#endif
