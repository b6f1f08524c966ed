/* test_rests.c - how long a key rests whose refresh has failed.
 * rooms: serve base
 */
#include "proxy/serve/rules/rests.h"

#include "tests/kit/unit.h"

static const struct twice_key_hash key = {.lo = 5, .hi = UINT64_C(0x9e3779b97f4a7c15)},
				   same_slot = {.lo = 5, .hi = UINT64_C(0xbf58476d1ce4e5b9)},
				   zeros = {.lo = 0, .hi = 0};

START_TEST(each_failure_makes_it_longer_up_to_four_seconds)
{
	static const int64_t rests_ms[] = {1000, 2000, 4000, 4000};
	struct rests *r = rests_create();
	int64_t now = 123456000;
	ck_assert(!rests_has(r, key, now));
	for (int i = 0; i < 4; i++) {
		rests_begin(r, key, now);
		ck_assert(rests_has(r, key, now));
		ck_assert(rests_has(r, key, now + rests_ms[i] - 100));
		now += rests_ms[i];
		ck_assert(!rests_has(r, key, now));
	}
	rests_destroy(&r);
	ck_assert_ptr_null(r);
}
END_TEST

START_TEST(when_it_is_over_one_asks)
{
	struct rests *r = rests_create();
	rests_begin(r, key, 1000);
	ck_assert(!rests_has(r, key, 2500));
	ck_assert(rests_has(r, key, 2500));
	ck_assert(rests_has(r, key, 3400));
	ck_assert(!rests_has(r, key, 3500)); /* that one takes long: another one */
	ck_assert(rests_has(r, key, 3500));
	rests_end(r, key);
	ck_assert(!rests_has(r, key, 3500));
	ck_assert(!rests_has(r, key, 3500));
	rests_destroy(&r);
}
END_TEST

START_TEST(after_a_minute_it_begins_anew)
{
	struct rests *r = rests_create();
	rests_begin(r, key, 1000);
	rests_begin(r, key, 2000);
	ck_assert(!rests_has(r, key, 4000 + 60000)); /* all of them ask, together */
	ck_assert(!rests_has(r, key, 4000 + 60000));
	rests_begin(r, key, 4000 + 60000);
	ck_assert(!rests_has(r, key, 4000 + 61000));
	rests_destroy(&r);
}
END_TEST

START_TEST(another_key_never_answers_for_it)
{
	struct rests *r = rests_create();
	ck_assert(!rests_has(r, zeros, 0));
	rests_begin(r, key, 1000);
	ck_assert(!rests_has(r, same_slot, 1000));
	rests_end(r, same_slot);
	ck_assert(rests_has(r, key, 1000));
	rests_begin(r, same_slot, 1000);
	ck_assert(!rests_has(r, key, 1000));
	rests_destroy(&r);
}
END_TEST

START_TEST(the_clock_comes_round)
{
	int64_t turn = ((int64_t)1 << 30) * 1000 / 16;
	struct rests *r = rests_create();
	rests_begin(r, key, turn - 500);
	ck_assert(rests_has(r, key, turn - 200));
	ck_assert(rests_has(r, key, turn + 200));
	ck_assert(!rests_has(r, key, turn + 600));
	rests_destroy(&r);
}
END_TEST

UNIT("rests", TEST(each_failure_makes_it_longer_up_to_four_seconds), TEST(when_it_is_over_one_asks),
     TEST(after_a_minute_it_begins_anew), TEST(another_key_never_answers_for_it),
     TEST(the_clock_comes_round))
