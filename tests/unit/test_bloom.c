/* test_bloom.c - the classic filter holds what it promises, under every scheme.
 * rooms: filter
 */
#include "filter/family/bloom.h"
#include "tests/kit/family.h"

SEALED(bloom)

static struct bloom *
filled(enum probe_scheme scheme, uint64_t keys, double fpr, uint64_t salt)
{
	struct probe shape = bloom_shape(keys, fpr);
	shape.scheme = scheme;
	struct bloom *b = bloom_create(&shape);
	for (uint64_t i = 0; i < keys; i++)
		bloom_add(b, key_at(salt, i));
	return b;
}

static double
false_hits(const struct bloom *b, uint64_t tries, uint64_t salt)
{
	uint64_t hits = 0;
	for (uint64_t i = 0; i < tries; i++)
		hits += bloom_has(b, key_at(salt, (UINT64_C(1) << 40) + i));
	return (double)hits;
}

/* _i is the scheme */
START_TEST(every_key_added_is_found)
{
	struct bloom *b = filled((enum probe_scheme)_i, 20000, 0.01, 1);
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert(bloom_has(b, key_at(1, i)));
	ck_assert(bloom_add(b, key_at(1, 7)));
	ck_assert(!bloom_add(b, key_at(2, 7)) || bloom_fpr(b) > 0);
	bloom_destroy(&b);
	ck_assert_ptr_null(b);
}
END_TEST

START_TEST(false_positives_are_as_forecast)
{
	struct bloom *b = filled((enum probe_scheme)_i, 50000, 0.01, 3);
	check_rate(false_hits(b, 400000, 3), 400000, bloom_fpr(b));
	ck_assert_double_eq_tol(bloom_fpr(b), 0.01, 0.0003);
	bloom_destroy(&b);
}
END_TEST

START_TEST(count_is_of_keys_that_were_new)
{
	struct bloom *b = filled(PROBE_DOUBLE, 10000, 0.01, 4);
	uint64_t count = bloom_count(b);
	ck_assert_uint_ge(count, 9950); /* those found falsely were not counted */
	ck_assert_uint_le(count, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		bloom_add(b, key_at(4, i));
	ck_assert_uint_eq(bloom_count(b), count);
	bloom_destroy(&b);
}
END_TEST

START_TEST(a_union_is_the_filter_of_all_adds)
{
	struct probe shape = bloom_shape(3000, 0.01);
	struct bloom *a = bloom_create(&shape), *b = bloom_create(&shape),
		     *both = bloom_create(&shape);
	for (uint64_t i = 0; i < 2000; i++) {
		bloom_add(a, key_at(5, i));
		bloom_add(b, key_at(5, 1000 + i));
		bloom_add(both, key_at(5, i));
		bloom_add(both, key_at(5, 1000 + i));
	}
	ck_assert_int_eq(0, bloom_union(a, b));
	ck_assert_uint_eq(bloom_ones(a), bloom_ones(both));
	for (uint64_t i = 0; i < 50000; i++)
		ck_assert(bloom_has(a, key_at(5, i)) == bloom_has(both, key_at(5, i)));
	bloom_destroy(&a);
	bloom_destroy(&b);
	bloom_destroy(&both);
}
END_TEST

START_TEST(an_intersection_keeps_the_common_keys)
{
	struct bloom *a = filled(PROBE_ENHANCED, 5000, 0.01, 6),
		     *b = bloom_create(&(struct probe){bloom_probe(a).range, bloom_probe(a).n,
						       PROBE_ENHANCED});
	for (uint64_t i = 4000; i < 9000; i++)
		bloom_add(b, key_at(6, i));
	ck_assert_int_eq(0, bloom_intersection(a, b));
	for (uint64_t i = 4000; i < 5000; i++)
		ck_assert(bloom_has(a, key_at(6, i)));
	ck_assert_double_lt(false_hits(a, 100000, 6) / 100000, 0.01);
	bloom_destroy(&a);
	bloom_destroy(&b);
}
END_TEST

START_TEST(filters_of_other_shapes_do_not_mix)
{
	struct bloom *a = filled(PROBE_DOUBLE, 100, 0.01, 7),
		     *b = filled(PROBE_ENHANCED, 100, 0.01, 7);
	struct estimate e;
	ck_assert_int_eq(-1, bloom_union(a, b));
	ck_assert_int_eq(-1, bloom_intersection(a, b));
	ck_assert_int_eq(-1, bloom_estimate_both(a, b, &e));
	ck_assert_int_eq(-1, bloom_estimate_either(a, b, &e));
	bloom_destroy(&a);
	bloom_destroy(&b);
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct bloom *b = filled(PROBE_QUADRATIC, 1000, 0.01, 8);
	struct bloom *again = check_sealed(&bloom_sealed, b);
	ck_assert_uint_eq(bloom_count(again), bloom_count(b));
	ck_assert_uint_eq(bloom_ones(again), bloom_ones(b));
	for (uint64_t i = 0; i < 50000; i++)
		ck_assert(bloom_has(again, key_at(8, i)) == bloom_has(b, key_at(8, i)));
	bloom_destroy(&b);
	bloom_destroy(&again);
}
END_TEST

/* clang-format off */
static const struct probe impossible[] = {
	{ 0, 7, PROBE_DOUBLE },
	{ PROBE_RANGE_LEAST - 1, 7, PROBE_DOUBLE },
	{ PROBE_RANGE_MOST + 1, 7, PROBE_DOUBLE },
	{ 1000, 0, PROBE_DOUBLE },
	{ 1000, PROBE_MOST + 1, PROBE_DOUBLE },
	{ 1000, 7, PROBE_SCHEME_COUNT },
};

static const struct { uint64_t keys; double fpr; } hopeless[] = {
	{ 100, 0 }, { 100, -1 }, { 100, 1 }, { 100, 2 }, { 100, NAN }, { UINT64_MAX, 1e-9 },
};
/* clang-format on */

START_TEST(impossible_shapes_are_refused)
{
	ck_assert_ptr_null(bloom_create(&impossible[_i]));
}
END_TEST

START_TEST(hopeless_wishes_are_refused)
{
	struct probe shape = bloom_shape(hopeless[_i].keys, hopeless[_i].fpr);
	ck_assert_ptr_null(bloom_create(&shape));
}
END_TEST

START_TEST(a_shape_is_the_usual_one)
{
	struct probe shape = bloom_shape(1000000, 0.01);
	ck_assert_uint_eq(shape.n, 7);
	ck_assert_double_eq_tol((double)shape.range / 1e6, 9.59, 0.01);
}
END_TEST

UNIT("bloom", TIMES(every_key_added_is_found, PROBE_SCHEME_COUNT),
     TIMES(false_positives_are_as_forecast, PROBE_SCHEME_COUNT),
     TEST(count_is_of_keys_that_were_new), TEST(a_union_is_the_filter_of_all_adds),
     TEST(an_intersection_keeps_the_common_keys), TEST(filters_of_other_shapes_do_not_mix),
     TEST(sealed_bytes_come_back_or_are_refused), LOOP(impossible_shapes_are_refused, impossible),
     LOOP(hopeless_wishes_are_refused, hopeless), TEST(a_shape_is_the_usual_one))
