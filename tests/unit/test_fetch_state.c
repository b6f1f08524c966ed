/* test_fetch_state.c - the life of a fetch as two tables: what must hold of any such table.
 * rooms: origin base
 */
#include "proxy/origin/fetch_state.h"

#include "tests/kit/states.h"

#define STATES_ROWS "proxy/origin/fetch_states.h"
#include "proxy/base/states.h"
static const struct states halves[] = {
	{states_words, states_moves[0], STATES_COUNT, ASK_STARTED, ASK_LEFT},
	{states_words, states_moves[0], STATES_COUNT, HEAR_SILENT, HEAR_LEFT},
};

START_TEST(every_state_but_the_last_has_a_way_out)
{
	states_have_a_way_out(&halves[_i]);
}
END_TEST

START_TEST(the_end_is_reached_from_everywhere)
{
	states_reach_the_end(&halves[_i]);
}
END_TEST

START_TEST(nothing_returns_to_the_first)
{
	states_never_return(&halves[_i]);
}
END_TEST

START_TEST(what_has_a_row_is_a_move)
{
	for (int from = 0; from < STATES_COUNT; from++)
		for (int to = 0; to < STATES_COUNT; to++) {
			enum fetch_state state = (enum fetch_state)from;
			if (!states_moves[from][to])
				continue;
			fetch_state_move(&state, (enum fetch_state)to);
			ck_assert_int_eq((int)state, to);
		}
}
END_TEST

START_TEST(what_has_no_row_is_a_defect)
{
	enum fetch_state state = HEAR_OVER;
	fetch_state_move(&state, HEAR_BODY);
}
END_TEST

UNIT("fetch_state", LOOP(every_state_but_the_last_has_a_way_out, halves),
     LOOP(the_end_is_reached_from_everywhere, halves), LOOP(nothing_returns_to_the_first, halves),
     TEST(what_has_a_row_is_a_move), ABORTS(what_has_no_row_is_a_defect))
