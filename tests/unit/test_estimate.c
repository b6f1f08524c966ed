/* test_estimate.c - estimates hit the truth as often as their errors say.
 * rooms: filter
 */
#include "filter/family/bloom.h"
#include "tests/kit/family.h"

#define RUNS 200

/* Of RUNS estimates, how far off in units of their own error: mean near 0, spread near 1? */
struct tally {
	double sum, squares;
};

static void
tally_add(struct tally *t, struct twice_estimate e, double truth)
{
	double off = (e.keys - truth) / e.error;
	t->sum += off;
	t->squares += off * off;
}

static void
check_tally(const struct tally *t)
{
	ck_assert_double_le(fabs(t->sum / RUNS), 3 / sqrt(RUNS));
	ck_assert_double_le(fabs(t->squares / RUNS - 1), 3 * sqrt(2.0 / RUNS));
}

static struct twice_bloom *
holding(uint64_t salt, uint64_t first, uint64_t n)
{
	struct twice_bloom *b =
		twice_bloom_create(&(struct twice_probe){20000, 5, TWICE_PROBE_INDEPENDENT});
	for (uint64_t i = first; i < first + n; i++)
		twice_bloom_add(b, key_at(salt, i));
	return b;
}

START_TEST(keys_of_one_of_either_and_of_both)
{
	struct tally one = {0}, either = {0}, both = {0};
	for (uint64_t run = 0; run < RUNS; run++) {
		struct twice_bloom *a = holding(100 + run, 0, 3000),
				   *b = holding(100 + run, 2000, 2500);
		struct twice_estimate e;
		tally_add(&one, twice_bloom_estimate(a), 3000);
		ck_assert_int_eq(0, twice_bloom_estimate_either(a, b, &e));
		tally_add(&either, e, 4500);
		ck_assert_int_eq(0, twice_bloom_estimate_both(a, b, &e));
		tally_add(&both, e, 1000);
		twice_bloom_destroy(&a);
		twice_bloom_destroy(&b);
	}
	check_tally(&one);
	check_tally(&either);
	check_tally(&both);
}
END_TEST

START_TEST(an_empty_filter_holds_nothing)
{
	struct twice_estimate e = twice_estimate_keys(1000, 7, 0);
	ck_assert_double_eq(e.keys, 0);
	ck_assert_double_eq(e.error, 0);
	ck_assert_double_eq(twice_estimate_fpr(1000, 7, 0), 0);
}
END_TEST

/* clang-format off */
static const struct { const char *says; uint64_t ones; } full[] = {
	{ "all ones", 1000 }, { "more ones than bits", 1001 }, { "nonsense", UINT64_MAX },
};
/* clang-format on */

START_TEST(saturated_is_infinite_and_never_nan)
{
	uint64_t x = full[_i].ones;
	struct twice_estimate e = twice_estimate_keys(1000, 7, x);
	ck_assert_msg(isinf(e.keys) && isinf(e.error), "%s", full[_i].says);
	const struct twice_estimate_pair pairs[] = {{1000, 7, x, x, x},
						    {1000, 7, 500, 500, x},
						    {1000, 7, x, 500, 600},
						    {1000, 7, 500, x, 600}};
	for (int i = 0; i < COUNT(pairs); i++) {
		e = twice_estimate_both(&pairs[i]);
		ck_assert(isinf(e.keys) && isinf(e.error));
	}
	ck_assert_double_eq(twice_estimate_fpr(1000, 7, x), 1);
}
END_TEST

START_TEST(nothing_in_common_is_zero_never_less)
{
	struct twice_estimate e =
		twice_estimate_both(&(struct twice_estimate_pair){1000, 7, 300, 300, 600});
	ck_assert_double_eq(e.keys, 0);
	ck_assert(isfinite(e.error) && e.error > 0);
}
END_TEST

UNIT("estimate", TEST(keys_of_one_of_either_and_of_both), TEST(an_empty_filter_holds_nothing),
     LOOP(saturated_is_infinite_and_never_nan, full), TEST(nothing_in_common_is_zero_never_less))
