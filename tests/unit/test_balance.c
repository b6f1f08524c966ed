/* test_balance.c - each server gets its part, and keys move no further than they must.
 * rooms: origin http base
 */
#include "proxy/origin/balance.h"

#include "tests/kit/unit.h"

#include <string.h>

enum { KEYS = 20000 };

/* Servers of these weights, named alike in every test. */
static unsigned
servers(struct balance_server *v, const unsigned *weights, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		v[i] = (struct balance_server){.may = weights[i] > 0,
					       .weight = weights[i],
					       .name = (i + 1) * 0x9e3779b97f4a7c15u};
	return n;
}

START_TEST(in_order_is_the_first_that_may_be_asked)
{
	struct balance_server v[3];
	servers(v, (const unsigned[]){0, 1, 1}, 3);
	for (uint64_t turn = 0; turn < 9; turn++)
		ck_assert_int_eq(balance_pick(BALANCE_ORDER, v, 3, turn, turn), 1);
}
END_TEST

START_TEST(nobody_may_be_asked)
{
	struct balance_server v[2];
	servers(v, (const unsigned[]){0, 0}, 2);
	for (int how = BALANCE_ORDER; how <= BALANCE_HASH; how++) {
		ck_assert_int_eq(balance_pick((enum balance)how, v, 2, 7, 7), BALANCE_NONE);
		ck_assert_int_eq(balance_pick((enum balance)how, v, 0, 7, 7), BALANCE_NONE);
	}
}
END_TEST

START_TEST(the_least_busy_by_weight)
{
	struct balance_server v[3];
	unsigned n = servers(v, (const unsigned[]){1, 2, 0}, 3), total = 0;
	for (uint64_t turn = 0; turn < 30; turn++, total++) /* nothing ends */
		v[balance_pick(BALANCE_LEAST, v, n, turn, 0)].active++;
	ck_assert_uint_eq(v[0].active, 10);
	ck_assert_uint_eq(v[1].active, 20);
	v[0].active = 0; /* one is done with all of it */
	ck_assert_int_eq(balance_pick(BALANCE_LEAST, v, n, 5, 0), 0);
}
END_TEST

START_TEST(equally_idle_servers_take_turns)
{
	struct balance_server v[4];
	unsigned count[4] = {0};
	servers(v, (const unsigned[]){1, 1, 1, 1}, 4);
	for (uint64_t turn = 0; turn < 400; turn++)
		count[balance_pick(BALANCE_LEAST, v, 4, turn, 0)]++;
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(count[i], 100);
}
END_TEST

/* clang-format off */
static const struct {
	const char *says;
	unsigned n, weights[8];
	const char *order; /* of a round; NULL: only counts are looked at */
} rounds[] = {
	{"equal servers, one after the other", 3, {1, 1, 1}, "abc"},
	{"two to one",                         2, {2, 1}, "aba"},
	{"three to one, mixed",                2, {3, 1}, "aaba"},
	{"five, one, one",                     3, {5, 1, 1}, "aaabcaa"},
	{"one is out",                         3, {2, 0, 2}, "acac"},
	{"only one is there",                  3, {0, 7, 0}, "bbbbbbb"},
	{"odd weights",                        8, {13, 1, 7, 100, 2, 0, 31, 64}, NULL},
	{"the largest",                        3, {1000, 999, 1}, NULL},
};
/* clang-format on */

START_TEST(each_has_its_turns_in_every_round)
{
	struct balance_server v[8];
	unsigned n = servers(v, rounds[_i].weights, rounds[_i].n), total = 0;
	for (unsigned i = 0; i < n; i++)
		total += rounds[_i].weights[i];
	for (uint64_t from = 0; from < 3ull * total; from += total) {
		unsigned count[8] = {0};
		for (unsigned turn = 0; turn < total; turn++) {
			int i = balance_pick(BALANCE_ROUND_ROBIN, v, n, from + turn, 99);
			ck_assert_int_ge(i, 0);
			count[i]++;
			if (rounds[_i].order)
				ck_assert_msg('a' + i == rounds[_i].order[turn],
					      "%s: turn %u is %c", rounds[_i].says, turn, 'a' + i);
		}
		for (unsigned i = 0; i < n; i++)
			ck_assert_msg(count[i] == rounds[_i].weights[i], "%s: server %u has %u",
				      rounds[_i].says, i, count[i]);
	}
}
END_TEST

START_TEST(sixty_four_servers_of_one_weight_each_have_one_turn)
{
	struct balance_server v[BALANCE_MOST];
	unsigned ones[BALANCE_MOST], count[BALANCE_MOST] = {0};
	for (int i = 0; i < BALANCE_MOST; i++)
		ones[i] = 1;
	servers(v, ones, BALANCE_MOST);
	for (unsigned turn = 0; turn < BALANCE_MOST; turn++)
		count[balance_pick(BALANCE_ROUND_ROBIN, v, BALANCE_MOST, turn, 0)]++;
	for (int i = 0; i < BALANCE_MOST; i++)
		ck_assert_uint_eq(count[i], 1);
}
END_TEST

START_TEST(a_key_has_a_server_by_weight)
{
	struct balance_server v[3];
	unsigned count[3] = {0};
	servers(v, (const unsigned[]){1, 2, 5}, 3);
	for (uint64_t key = 0; key < KEYS; key++) {
		int i = balance_pick(BALANCE_HASH, v, 3, key, key);
		ck_assert_int_eq(balance_pick(BALANCE_HASH, v, 3, key + 1, key), i);
		count[i]++;
	}
	for (int i = 0; i < 3; i++) { /* within five standard deviations */
		double share = v[i].weight / 8.0, want = KEYS * share;
		ck_assert_double_eq_tol(count[i], want, 5 * 70);
	}
}
END_TEST

START_TEST(a_server_that_goes_moves_only_its_own_keys)
{
	struct balance_server v[5], w[5];
	unsigned moved = 0, lost = 0;
	servers(v, (const unsigned[]){1, 1, 1, 1, 1}, 5);
	memcpy(w, v, sizeof w);
	w[2].may = false;
	for (uint64_t key = 0; key < KEYS; key++) {
		int before = balance_pick(BALANCE_HASH, v, 5, 0, key),
		    after = balance_pick(BALANCE_HASH, w, 5, 0, key);
		lost += before == 2;
		moved += before != after;
		ck_assert(before == 2 || before == after);
	}
	ck_assert_uint_eq(moved, lost);
}
END_TEST

START_TEST(the_order_of_the_list_does_not_matter_to_a_key)
{
	struct balance_server v[3], w[3];
	servers(v, (const unsigned[]){1, 2, 3}, 3);
	w[0] = v[2], w[1] = v[0], w[2] = v[1];
	for (uint64_t key = 0; key < 1000; key++)
		ck_assert_uint_eq(v[balance_pick(BALANCE_HASH, v, 3, 0, key)].name,
				  w[balance_pick(BALANCE_HASH, w, 3, 0, key)].name);
}
END_TEST

START_TEST(one_hot_key_never_gives_a_server_more_than_its_bound)
{
	struct balance_server v[4];
	unsigned all = 0;
	servers(v, (const unsigned[]){1, 1, 1, 1}, 4);
	for (; all < 1000; all++) {
		int i = balance_pick(BALANCE_HASH, v, 4, 0, 42);
		ck_assert_int_ge(i, 0); /* somebody always has room */
		v[i].active++;
		for (int k = 0; k < 4; k++)
			ck_assert_double_le(v[k].active, 1.25 * (all + 1) / 4 + 1);
	}
}
END_TEST

UNIT("balance", TEST(in_order_is_the_first_that_may_be_asked), TEST(nobody_may_be_asked),
     TEST(the_least_busy_by_weight), TEST(equally_idle_servers_take_turns),
     LOOP(each_has_its_turns_in_every_round, rounds),
     TEST(sixty_four_servers_of_one_weight_each_have_one_turn), TEST(a_key_has_a_server_by_weight),
     TEST(a_server_that_goes_moves_only_its_own_keys),
     TEST(the_order_of_the_list_does_not_matter_to_a_key),
     TEST(one_hot_key_never_gives_a_server_more_than_its_bound))
