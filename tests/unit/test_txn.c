/* test_txn.c - the life of a request as a table: what must hold of any such table.
 * rooms: serve base
 */
#include "proxy/serve/txn.h"

#include "tests/kit/unit.h"

static bool
reaches(enum txn_state from, enum txn_state to)
{
	bool seen[TXN_DONE + 1] = {false};
	enum txn_state todo[TXN_DONE + 1];
	int n = 0;
	todo[n++] = from;
	seen[from] = true;
	while (n) {
		enum txn_state s = todo[--n];
		if (s == to)
			return true;
		for (int i = 0; i <= TXN_DONE; i++)
			if (!seen[i] && txn_may_move(s, (enum txn_state)i)) {
				seen[i] = true;
				todo[n++] = (enum txn_state)i;
			}
	}
	return false;
}

START_TEST(every_state_but_done_has_a_way_out)
{
	for (int s = 0; s < TXN_DONE; s++) {
		bool out = false;
		for (int to = 0; to <= TXN_DONE; to++)
			out = out ||
			      (to != s && txn_may_move((enum txn_state)s, (enum txn_state)to));
		ck_assert_msg(out, "%s is a trap", txn_state_word((enum txn_state)s));
	}
	for (int to = 0; to <= TXN_DONE; to++)
		ck_assert(!txn_may_move(TXN_DONE, (enum txn_state)to));
}
END_TEST

START_TEST(done_is_reached_from_everywhere)
{
	for (int s = 0; s <= TXN_DONE; s++)
		ck_assert_msg(reaches((enum txn_state)s, TXN_DONE), "not from %s",
			      txn_state_word((enum txn_state)s));
}
END_TEST

START_TEST(nothing_returns_to_the_beginning)
{
	for (int s = 0; s <= TXN_DONE; s++)
		ck_assert(!txn_may_move((enum txn_state)s, TXN_BEGUN));
}
END_TEST

START_TEST(a_client_may_leave_in_every_state)
{
	for (int s = 0; s < TXN_DONE; s++)
		ck_assert(txn_may_move((enum txn_state)s, TXN_DONE));
}
END_TEST

UNIT("txn", TEST(every_state_but_done_has_a_way_out), TEST(done_is_reached_from_everywhere),
     TEST(nothing_returns_to_the_beginning), TEST(a_client_may_leave_in_every_state))
