/* rooms: base
 * test_histogram.c - buckets, quantiles, differences.
 */
#include "proxy/base/histogram.h"
#include "tests/kit/unit.h"

static struct histogram h;

static struct histogram_sum
sum_of_h(void)
{
	struct histogram_sum s = {0};
	histogram_sum_add(&s, &h);
	return s;
}

START_TEST(a_power_of_two_is_an_upper_bound)
{
	uint64_t v = (uint64_t)1 << _i;
	ck_assert_uint_lt(histogram_bucket(v), histogram_bucket(v + 1));
	ck_assert_uint_eq(histogram_bucket(v), histogram_bucket(v - (v > 8)));
}
END_TEST

START_TEST(buckets_never_go_back_and_huge_numbers_share_the_last)
{
	unsigned last = 0;
	for (uint64_t v = 0; v < 100000; v++) {
		unsigned b = histogram_bucket(v);
		ck_assert(b == last || b == last + 1);
		last = b;
	}
	ck_assert_uint_eq(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}
END_TEST

static const struct {
	const char *says;
	double share, want;
} quantiles[] = {
	{"the median of 1 to 100000", 0.5, 50000},
	{"of a hundred ninety", 0.9, 90000},
	{"nearly all", 0.99, 99000},
	{"all", 1, 100000},
};

START_TEST(a_quantile_is_right_to_an_eighth)
{
	memset(&h, 0, sizeof h);
	for (uint64_t v = 1; v <= 100000; v++)
		histogram_add(&h, v);
	struct histogram_sum s = sum_of_h();
	double q = histogram_quantile(&s, quantiles[_i].share);
	ck_assert_msg(q > quantiles[_i].want * 0.875 && q < quantiles[_i].want * 1.32, "%s: %g",
		      quantiles[_i].says, q);
	ck_assert_uint_eq(s.count, 100000);
	ck_assert_uint_eq(s.sum, 100000ull * 100001 / 2);
}
END_TEST

START_TEST(bytes_up_to_a_power_of_two)
{
	memset(&h, 0, sizeof h);
	histogram_add(&h, 4096);
	struct histogram_sum s = sum_of_h();
	ck_assert_uint_eq(histogram_up_to(&s, 12), 1);
	ck_assert_uint_eq(histogram_up_to(&s, 11), 0);
	ck_assert_double_eq(histogram_quantile(&(struct histogram_sum){0}, 0.5), 0);
}
END_TEST

UNIT("histogram", TIMES(a_power_of_two_is_an_upper_bound, 41),
     TEST(buckets_never_go_back_and_huge_numbers_share_the_last),
     LOOP(a_quantile_is_right_to_an_eighth, quantiles), TEST(bytes_up_to_a_power_of_two))
