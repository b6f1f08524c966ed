/* rooms: coding http base
 *
 * test_ration.c - a share of a core: what is earned, what it buys, and what it was in the end. */
#include "proxy/coding/ration.h"
#include "tests/kit/coded.h"
#include "tests/kit/unit.h"

enum { PERCENT = 10000, SECOND = 1000000, MS_NS = 1000000 };
static const int64_t START = 1234567;

/* 5% of a core over ten seconds: 500 ms are saved up. */
static struct ration
five_percent(void)
{
	struct ration r;
	ration_init(&r, 5 * PERCENT, START);
	ck_assert_int_eq(r.most_ns, 500 * MS_NS);
	ck_assert_int_eq(r.left_ns, 500 * MS_NS);
	r.cost_ps[STRENGTH_BEST] = 20000; /* 1 MB: 20 ms */
	r.cost_ps[STRENGTH_QUICK] = 4000; /* 1 MB: 4 ms */
	return r;
}

START_TEST(the_upper_half_is_for_brotli_all_for_zstd)
{
	struct ration r = five_percent();
	int64_t paid;
	int best = 0, quick = 0;
	enum strength s;
	while ((s = ration_take(&r, 1000000, START, &paid)) == STRENGTH_BEST) {
		ck_assert_int_eq(paid, 20 * MS_NS);
		best++;
	}
	for (; s == STRENGTH_QUICK; s = ration_take(&r, 1000000, START, &paid)) {
		ck_assert_int_eq(paid, 4 * MS_NS);
		quick++;
	}
	ck_assert_int_eq(best, 12);  /* 250 ms by 20 */
	ck_assert_int_eq(quick, 65); /* 260 ms by 4 */
	ck_assert_int_eq(s, STRENGTH_NONE);
	ck_assert_int_eq(paid, 0);
	ck_assert_int_eq(r.left_ns, 0);
	/* A smaller body has none either, until time has passed. */
	ck_assert_int_eq(ration_take(&r, 1, START, &paid), STRENGTH_NONE);
	ck_assert_int_eq(ration_take(&r, 1000000, START + 79999, &paid), STRENGTH_NONE);
	ck_assert_int_eq(ration_take(&r, 1000000, START + 80000, &paid), STRENGTH_QUICK);
}
END_TEST

START_TEST(time_earns_its_share_and_no_more_than_a_window)
{
	struct ration r = five_percent();
	int64_t paid;
	r.left_ns = 0;
	ration_take(&r, 0, START + SECOND, &paid);
	ck_assert_int_eq(r.left_ns, 50 * MS_NS);
	ration_take(&r, 0, START + SECOND - 1, &paid); /* another worker's clock is behind */
	ck_assert_int_eq(r.left_ns, 50 * MS_NS);
	ration_take(&r, 0, START + SECOND, &paid);
	ck_assert_int_eq(r.left_ns, 50 * MS_NS);
	ration_take(&r, 0, START + 10 * SECOND, &paid);
	ck_assert_int_eq(r.left_ns, 500 * MS_NS);
	ration_take(&r, 0, INT64_MAX, &paid);
	ck_assert_int_eq(r.left_ns, 500 * MS_NS);
}
END_TEST

START_TEST(a_share_of_0_is_none)
{
	struct ration r;
	int64_t paid;
	ration_init(&r, 0, START);
	ck_assert_int_eq(ration_take(&r, 0, START + SECOND, &paid), STRENGTH_NONE);
	ck_assert_int_eq(ration_take(&r, 1, INT64_MAX, &paid), STRENGTH_NONE);
}
END_TEST

START_TEST(a_share_may_change)
{
	struct ration r = five_percent();
	int64_t paid;
	r.left_ns = 400 * MS_NS;
	ration_change(&r, 10000,
		      START + SECOND); /* what was earned by then is more than its window */
	ck_assert_int_eq(r.left_ns, 100 * MS_NS);
	r.left_ns = 0;
	ration_take(&r, 0, START + 2 * SECOND, &paid);
	ck_assert_int_eq(r.left_ns, 10 * MS_NS);
	ration_change(&r, 0, START + 2 * SECOND);
	ck_assert_int_eq(ration_take(&r, 1, START + 9 * SECOND, &paid), STRENGTH_NONE);
	ration_change(&r, 50000, START + 9 * SECOND);
	ck_assert_int_eq(r.left_ns, 500 * MS_NS);
}
END_TEST

START_TEST(a_debt_is_paid_first)
{
	struct ration r = five_percent();
	int64_t paid;
	ck_assert_int_eq(ration_take(&r, 1000000, START, &paid), STRENGTH_BEST);
	ration_settle(&r, STRENGTH_BEST, 1000000, paid, 600 * MS_NS);
	ck_assert_int_eq(r.left_ns, -100 * MS_NS);
	ck_assert_int_eq(ration_take(&r, 1, START + 2 * SECOND - 1, &paid), STRENGTH_NONE);
	ck_assert_int_eq(ration_take(&r, 1000, START + 3 * SECOND, &paid), STRENGTH_QUICK);
}
END_TEST

START_TEST(a_cheaper_one_is_paid_back)
{
	struct ration r = five_percent();
	int64_t paid;
	ration_take(&r, 1000000, START, &paid);
	ration_settle(&r, STRENGTH_BEST, 1000000, paid, 5 * MS_NS);
	ck_assert_int_eq(r.left_ns, 495 * MS_NS);
	ration_settle(&r, STRENGTH_BEST, 1000000, 20 * MS_NS, 0);
	ck_assert_int_eq(r.left_ns, 500 * MS_NS); /* no more than may be saved up */
}
END_TEST

/* Costs come near what was measured, and stay within bounds, whatever was. */
START_TEST(costs_are_learned)
{
	struct ration r;
	ration_init(&r, 5 * PERCENT, START);
	int64_t usual = r.cost_ps[STRENGTH_BEST];
	for (int i = 0; i < 100; i++)
		ration_settle(&r, STRENGTH_BEST, 100000, 0, 100000ll * usual / 1000 * 3);
	ck_assert_int_le(llabs(r.cost_ps[STRENGTH_BEST] - 3 * usual), 8);
	for (int i = 0; i < 1000; i++)
		ration_settle(&r, STRENGTH_BEST, 1, 0, INT64_MAX / 1000000);
	ck_assert_int_le(r.cost_ps[STRENGTH_BEST], 8 * usual);
	for (int i = 0; i < 1000; i++)
		ration_settle(&r, STRENGTH_BEST, 1 << 20, 0, 0);
	ck_assert_int_ge(r.cost_ps[STRENGTH_BEST], usual / 8);
	ck_assert_int_le(r.cost_ps[STRENGTH_BEST], usual / 8 + 8);
	ration_settle(&r, STRENGTH_BEST, 0, 0, MS_NS); /* of no bytes nothing is learned */
	ck_assert_int_gt(r.cost_ps[STRENGTH_QUICK], 0);
}
END_TEST

/* A day of any load, with costs that are not what was thought: the share holds, over all and in each window. */
START_TEST(the_share_holds)
{
	static const struct {
		const char *says;
		int64_t every_us; /* a body, on average */
		double least_best;
	} loads[] = {
		{"a load that brotli keeps up with", 1000000, 1.0},
		{"one that zstd keeps up with", 100000, 0.1},
		{"one that nothing keeps up with", 2000, 0},
	};
	enum { WINDOW_S = RATION_WINDOW_S, WINDOWS = 360 };
	static int64_t used[WINDOWS + 1];
	uint64_t seed = 11 + (uint64_t)_i;
	struct ration r;
	int64_t all = 0, at = 0, given = 0, best = 0, refused = 0;
	memset(used, 0, sizeof used);
	ration_init(&r, 5 * PERCENT, 0);
	while (at < (int64_t)WINDOWS * WINDOW_S * SECOND) {
		int64_t paid;
		size_t bytes = 1024 + coded_below(&seed, 400000);
		at += (int64_t)coded_below(&seed, 2 * (size_t)loads[_i].every_us);
		enum strength s = ration_take(&r, bytes, at, &paid);
		given++;
		best += s == STRENGTH_BEST;
		refused += s == STRENGTH_NONE;
		if (s == STRENGTH_NONE)
			continue;
		/* 10 to 50 ns a byte, 2 to 10 */
		int64_t ns = (int64_t)(bytes * (10 + coded_below(&seed, 40)) /
				       (s == STRENGTH_BEST ? 1 : 5));
		ration_settle(&r, s, bytes, paid, ns);
		used[at / (WINDOW_S * SECOND)] += ns;
		all += ns;
	}
	const int64_t share = 500 * MS_NS, one = 50 * 400000;
	for (int i = 0; i < WINDOWS; i++)
		ck_assert_int_le(used[i], 2 * share + one);
	ck_assert_int_le(all, (WINDOWS + 1) * share + one);
	ck_assert_msg((double)best / (double)given >= loads[_i].least_best, "%s: %lld of %lld",
		      loads[_i].says, (long long)best, (long long)given);
	ck_assert((refused > 0) == (_i == 2));
	if (_i > 0) /* what there is is used */
		ck_assert_int_ge(all, (WINDOWS - 2) * share / (_i == 1 ? 2 : 1));
}
END_TEST

UNIT("ration", TEST(the_upper_half_is_for_brotli_all_for_zstd),
     TEST(time_earns_its_share_and_no_more_than_a_window), TEST(a_share_of_0_is_none),
     TEST(a_share_may_change), TEST(a_debt_is_paid_first), TEST(a_cheaper_one_is_paid_back),
     TEST(costs_are_learned), TIMES(the_share_holds, 3))
