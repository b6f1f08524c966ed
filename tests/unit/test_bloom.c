/* test_bloom.c - the classic filter holds what it promises, under every scheme.
 * rooms: filter
 */
#include "filter/family/bloom.h"
#include "tests/kit/family.h"

SEALED(bloom)

static struct twice_bloom *
filled(enum twice_probe_scheme scheme, uint64_t keys, double fpr, uint64_t salt)
{
	struct twice_probe shape = twice_bloom_shape(keys, fpr);
	shape.scheme = scheme;
	struct twice_bloom *b = twice_bloom_create(&shape);
	for (uint64_t i = 0; i < keys; i++)
		twice_bloom_add(b, key_at(salt, i));
	return b;
}

static double
false_hits(const struct twice_bloom *b, uint64_t tries, uint64_t salt)
{
	uint64_t hits = 0;
	for (uint64_t i = 0; i < tries; i++)
		hits += twice_bloom_has(b, key_at(salt, (UINT64_C(1) << 40) + i));
	return (double)hits;
}

/* _i is the scheme */
START_TEST(every_key_added_is_found)
{
	struct twice_bloom *b = filled((enum twice_probe_scheme)_i, 20000, 0.01, 1);
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert(twice_bloom_has(b, key_at(1, i)));
	ck_assert(twice_bloom_add(b, key_at(1, 7)));
	ck_assert(!twice_bloom_add(b, key_at(2, 7)) || twice_bloom_fpr(b) > 0);
	twice_bloom_destroy(&b);
	ck_assert_ptr_null(b);
}
END_TEST

START_TEST(false_positives_are_as_forecast)
{
	struct twice_bloom *b = filled((enum twice_probe_scheme)_i, 50000, 0.01, 3);
	check_rate(false_hits(b, 400000, 3), 400000, twice_bloom_fpr(b));
	ck_assert_double_eq_tol(twice_bloom_fpr(b), 0.01, 0.0003);
	twice_bloom_destroy(&b);
}
END_TEST

START_TEST(count_is_of_keys_that_were_new)
{
	struct twice_bloom *b = filled(TWICE_PROBE_DOUBLE, 10000, 0.01, 4);
	uint64_t count = twice_bloom_count(b);
	ck_assert_uint_ge(count, 9950); /* those found falsely were not counted */
	ck_assert_uint_le(count, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		twice_bloom_add(b, key_at(4, i));
	ck_assert_uint_eq(twice_bloom_count(b), count);
	twice_bloom_destroy(&b);
}
END_TEST

START_TEST(a_union_is_the_filter_of_all_adds)
{
	struct twice_probe shape = twice_bloom_shape(3000, 0.01);
	struct twice_bloom *a = twice_bloom_create(&shape), *b = twice_bloom_create(&shape),
			   *both = twice_bloom_create(&shape);
	for (uint64_t i = 0; i < 2000; i++) {
		twice_bloom_add(a, key_at(5, i));
		twice_bloom_add(b, key_at(5, 1000 + i));
		twice_bloom_add(both, key_at(5, i));
		twice_bloom_add(both, key_at(5, 1000 + i));
	}
	ck_assert_int_eq(0, twice_bloom_union(a, b));
	ck_assert_uint_eq(twice_bloom_ones(a), twice_bloom_ones(both));
	for (uint64_t i = 0; i < 50000; i++)
		ck_assert(twice_bloom_has(a, key_at(5, i)) == twice_bloom_has(both, key_at(5, i)));
	twice_bloom_destroy(&a);
	twice_bloom_destroy(&b);
	twice_bloom_destroy(&both);
}
END_TEST

START_TEST(an_intersection_keeps_the_common_keys)
{
	struct twice_bloom *a = filled(TWICE_PROBE_ENHANCED, 5000, 0.01, 6),
			   *b = twice_bloom_create(&(struct twice_probe){twice_bloom_probe(a).range,
									 twice_bloom_probe(a).n,
									 TWICE_PROBE_ENHANCED});
	for (uint64_t i = 4000; i < 9000; i++)
		twice_bloom_add(b, key_at(6, i));
	ck_assert_int_eq(0, twice_bloom_intersection(a, b));
	for (uint64_t i = 4000; i < 5000; i++)
		ck_assert(twice_bloom_has(a, key_at(6, i)));
	ck_assert_double_lt(false_hits(a, 100000, 6) / 100000, 0.01);
	twice_bloom_destroy(&a);
	twice_bloom_destroy(&b);
}
END_TEST

START_TEST(filters_of_other_shapes_do_not_mix)
{
	struct twice_bloom *a = filled(TWICE_PROBE_DOUBLE, 100, 0.01, 7),
			   *b = filled(TWICE_PROBE_ENHANCED, 100, 0.01, 7);
	struct twice_estimate e;
	ck_assert_int_eq(-1, twice_bloom_union(a, b));
	ck_assert_int_eq(-1, twice_bloom_intersection(a, b));
	ck_assert_int_eq(-1, twice_bloom_estimate_both(a, b, &e));
	ck_assert_int_eq(-1, twice_bloom_estimate_either(a, b, &e));
	twice_bloom_destroy(&a);
	twice_bloom_destroy(&b);
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_bloom *b = filled(TWICE_PROBE_QUADRATIC, 1000, 0.01, 8);
	struct twice_bloom *again = check_sealed(&bloom_sealed, b);
	ck_assert_uint_eq(twice_bloom_count(again), twice_bloom_count(b));
	ck_assert_uint_eq(twice_bloom_ones(again), twice_bloom_ones(b));
	for (uint64_t i = 0; i < 50000; i++)
		ck_assert(twice_bloom_has(again, key_at(8, i)) == twice_bloom_has(b, key_at(8, i)));
	twice_bloom_destroy(&b);
	twice_bloom_destroy(&again);
}
END_TEST

/* clang-format off */
static const struct twice_probe impossible[] = {
	{ 0, 7, TWICE_PROBE_DOUBLE },
	{ TWICE_PROBE_RANGE_LEAST - 1, 7, TWICE_PROBE_DOUBLE },
	{ TWICE_PROBE_RANGE_MOST + 1, 7, TWICE_PROBE_DOUBLE },
	{ 1000, 0, TWICE_PROBE_DOUBLE },
	{ 1000, TWICE_PROBE_MOST + 1, TWICE_PROBE_DOUBLE },
	{ 1000, 7, TWICE_PROBE_SCHEME_COUNT },
};

static const struct { uint64_t keys; double fpr; } hopeless[] = {
	{ 100, 0 }, { 100, -1 }, { 100, 1 }, { 100, 2 }, { 100, NAN }, { UINT64_MAX, 1e-9 },
};
/* clang-format on */

START_TEST(impossible_shapes_are_refused)
{
	ck_assert_ptr_null(twice_bloom_create(&impossible[_i]));
}
END_TEST

START_TEST(hopeless_wishes_are_refused)
{
	struct twice_probe shape = twice_bloom_shape(hopeless[_i].keys, hopeless[_i].fpr);
	ck_assert_ptr_null(twice_bloom_create(&shape));
}
END_TEST

START_TEST(a_shape_is_the_usual_one)
{
	struct twice_probe shape = twice_bloom_shape(1000000, 0.01);
	ck_assert_uint_eq(shape.n, 7);
	ck_assert_double_eq_tol((double)shape.range / 1e6, 9.59, 0.01);
}
END_TEST

UNIT("bloom", TIMES(every_key_added_is_found, TWICE_PROBE_SCHEME_COUNT),
     TIMES(false_positives_are_as_forecast, TWICE_PROBE_SCHEME_COUNT),
     TEST(count_is_of_keys_that_were_new), TEST(a_union_is_the_filter_of_all_adds),
     TEST(an_intersection_keeps_the_common_keys), TEST(filters_of_other_shapes_do_not_mix),
     TEST(sealed_bytes_come_back_or_are_refused), LOOP(impossible_shapes_are_refused, impossible),
     LOOP(hopeless_wishes_are_refused, hopeless), TEST(a_shape_is_the_usual_one))
