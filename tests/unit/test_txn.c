/* test_txn.c - the life of a request as a table: what must hold of any such table.
 * rooms: serve coding http base filter
 */
#include "proxy/serve/txn.h"

#include "tests/kit/states.h"

#define STATES_ROWS "proxy/serve/txn_states.h"
#include "proxy/base/states.h"
static const struct states life = {states_words, states_moves[0], STATES_COUNT, TXN_BEGUN,
				   TXN_DONE};

START_TEST(every_state_but_done_has_a_way_out)
{
	states_have_a_way_out(&life);
}
END_TEST

START_TEST(done_is_reached_from_everywhere)
{
	states_reach_the_end(&life);
}
END_TEST

START_TEST(nothing_returns_to_the_beginning)
{
	states_never_return(&life);
}
END_TEST

START_TEST(a_client_may_leave_in_every_state)
{
	for (int s = 0; s < TXN_DONE; s++)
		ck_assert(states_moves[s][TXN_DONE]);
}
END_TEST

/* One that is in `from` and has what it must have in `to`; what it points to is not looked at. */
static struct txn
ready_for(int from, int to)
{
	static char something;
	struct txn t = {.state = (enum txn_state)from,
			.settings = (struct settings *)&something,
			.stream = (struct stream *)&something};
	if (to == TXN_WAIT_FLIGHT)
		t.reader = (struct flight_reader *)&something;
	if (to == TXN_WALK)
		t.body.walk = (struct walk *)&something;
	if (to == TXN_EXPAND)
		t.body.plain = (struct plain *)&something;
	if (to == TXN_GATHER) {
		t.way = WAY_PASSING;
		t.upload.state = UPLOAD_COMES;
	}
	return t;
}

START_TEST(what_has_a_row_is_a_move)
{
	for (int from = 0; from <= TXN_DONE; from++)
		for (int to = 0; to <= TXN_DONE; to++) {
			struct txn t = ready_for(from, to);
			if (!states_moves[from][to])
				continue;
			txn_move(&t, (enum txn_state)to);
			ck_assert_int_eq((int)t.state, to);
		}
}
END_TEST

START_TEST(what_has_no_row_is_a_defect)
{
	struct txn t = ready_for(TXN_DONE, TXN_SEND);
	txn_move(&t, TXN_SEND);
}
END_TEST

START_TEST(nobody_waits_for_no_flight)
{
	struct txn t = ready_for(TXN_LOOKUP, TXN_SEND);
	txn_move(&t, TXN_WAIT_FLIGHT);
}
END_TEST

START_TEST(what_passes_is_not_looked_up)
{
	struct txn t = ready_for(TXN_WAIT_FLIGHT, TXN_LOOKUP);
	t.way = WAY_PASSING;
	txn_move(&t, TXN_LOOKUP);
}
END_TEST

UNIT("txn", TEST(every_state_but_done_has_a_way_out), TEST(done_is_reached_from_everywhere),
     TEST(nothing_returns_to_the_beginning), TEST(a_client_may_leave_in_every_state),
     TEST(what_has_a_row_is_a_move), ABORTS(what_has_no_row_is_a_defect),
     ABORTS(nobody_waits_for_no_flight), ABORTS(what_passes_is_not_looked_up))
