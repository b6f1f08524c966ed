/* test_budget.c - the write budget: what is let go, what is charged, what is paid back.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission/budget.h"
#include "tests/kit/unit.h"

START_TEST(none_is_never_over)
{
	struct budget b;
	budget_init(&b, 0, 0, 0);
	budget_charge(&b, INT64_MAX / 2);
	budget_fill(&b, 1000, UINT64_MAX / 4);
	ck_assert(!budget_is_over(&b));
}
END_TEST

START_TEST(a_debt_is_paid_before_the_next_write)
{
	struct budget b;
	budget_init(&b, 1000, 0, 0);
	budget_charge(&b, 5000); /* larger than the bucket, let go because it was not empty */
	ck_assert(budget_is_over(&b));
	budget_fill(&b, 4000, 5000);
	ck_assert(budget_is_over(&b)); /* 1000 - 5000 + 4000 is 0 */
	budget_fill(&b, 4100, 5000);
	ck_assert(!budget_is_over(&b));
	budget_charge(&b, 200);
	ck_assert(budget_is_over(&b));
}
END_TEST

START_TEST(it_holds_two_seconds_worth)
{
	struct budget b;
	budget_init(&b, 1000, 0, 0);
	budget_fill(&b, 3600 * 1000, 0);
	budget_charge(&b, 1999);
	ck_assert(!budget_is_over(&b));
	budget_charge(&b, 1);
	ck_assert(budget_is_over(&b));
}
END_TEST

START_TEST(what_nobody_was_charged_for_is_charged_once)
{
	struct budget b;
	budget_init(&b, 1000, 0, 0);
	budget_charge(&b, 300);
	budget_fill(&b, 1, 900); /* 600 were carried over */
	ck_assert_int_eq(atomic_load(&b.left), 1000 - 900 + 1);
	budget_fill(&b, 2, 900);
	ck_assert_int_eq(atomic_load(&b.left), 1000 - 900 + 2);
}
END_TEST

START_TEST(a_clock_that_steps_back_gives_nothing_but_goes_on)
{
	struct budget b;
	budget_init(&b, 1000, 0, 5000);
	budget_charge(&b, 1000);
	budget_fill(&b, 1000, 1000);
	ck_assert(budget_is_over(&b));
	budget_fill(&b, 1001, 1000);
	ck_assert(!budget_is_over(&b));
	ck_assert_int_eq(atomic_load(&b.left), 1);
}
END_TEST

/* Over any time: at most rate * time + the bucket + one object for each writer. */
START_TEST(the_rate_holds_over_time)
{
	struct budget b;
	uint64_t written = 0, x = 7;
	budget_init(&b, 64 << 10, 0, 0);
	for (int64_t ms = 0; ms < 100000; ms += 10) {
		budget_fill(&b, ms, written);
		for (int i = 0; i < 5; i++) {
			x = x * 6364136223846793005u + 1;
			int64_t bytes = (int64_t)(x >> 40) % 60000;
			if (!budget_is_over(&b)) {
				budget_charge(&b, bytes);
				written += (uint64_t)bytes;
			}
		}
	}
	ck_assert_uint_le(written, 64 * 1024 * (100 + 2) + 60000);
	ck_assert_uint_ge(written, 64 * 1024 * 99);
}
END_TEST

START_TEST(one_by_the_day_saves_up_an_hour)
{
	struct budget b;
	budget_init(&b, 1000, 3600, 0);
	for (int64_t ms = 0; ms <= 7200 * 1000; ms += 1000)
		budget_fill(&b, ms, 0);
	budget_charge(&b, 3600 * 1000 - 1);
	ck_assert(!budget_is_over(&b));
	budget_charge(&b, 1);
	ck_assert(budget_is_over(&b));
}
END_TEST

/* Bytes written while there was no bound are nobody's debt. */
START_TEST(a_bound_may_come_change_and_go)
{
	struct budget b;
	budget_init(&b, 0, 0, 0);
	budget_fill(&b, 1000, 5000000);
	budget_charge(&b, 1000000);
	ck_assert(!budget_is_over(&b));
	budget_settle(&b, 1000, 0);
	ck_assert(!budget_is_over(&b));
	budget_fill(&b, 2000, 5000000);
	ck_assert(!budget_is_over(&b));
	budget_charge(&b, 1000);
	ck_assert(budget_is_over(&b));
	budget_settle(&b, 5000, 0);
	budget_fill(&b, 3000, 5001000);
	ck_assert(!budget_is_over(&b));
	budget_charge(&b, 4999);
	ck_assert(!budget_is_over(&b));
	budget_charge(&b, 1);
	ck_assert(budget_is_over(&b));
	budget_settle(&b, 0, 0);
	ck_assert(!budget_is_over(&b));
}
END_TEST

/* A rate that nobody's disk can reach is no bound, and not one of nothing. */
START_TEST(a_bound_beyond_all_disks_lets_everything_go)
{
	static const uint64_t rates[] = {UINT64_C(1) << 60, INT64_MAX, UINT64_C(1) << 63,
					 UINT64_MAX};
	struct budget b;
	budget_init(&b, rates[_i], _i % 2 ? 3600 : 0, 0);
	for (int64_t s = 1; s < 100; s++) {
		ck_assert(!budget_is_over(&b));
		budget_charge(&b, INT64_C(1) << 40);
		budget_fill(&b, 1000 * s, (uint64_t)s << 40);
	}
	budget_settle(&b, 0, 0);
	budget_settle(&b, rates[_i], 0);
	ck_assert(!budget_is_over(&b));
}
END_TEST

UNIT("budget", TIMES(a_bound_beyond_all_disks_lets_everything_go, 4),
     TEST(a_bound_may_come_change_and_go), TEST(one_by_the_day_saves_up_an_hour),
     TEST(none_is_never_over), TEST(a_debt_is_paid_before_the_next_write),
     TEST(it_holds_two_seconds_worth), TEST(what_nobody_was_charged_for_is_charged_once),
     TEST(a_clock_that_steps_back_gives_nothing_but_goes_on), TEST(the_rate_holds_over_time))
