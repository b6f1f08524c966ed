/* test_stable.c - the stable point, its false positives, and what is still remembered.
 * rooms: filter
 */
#include "filter/family/stable.h"
#include "tests/kit/family.h"

SEALED(stable)

/* clang-format off */
static const struct { unsigned width, probes; double fpr; } shapes[] = {
	{ 1, 3, 0.10 }, { 2, 3, 0.05 }, { 3, 3, 0.01 }, { 2, 6, 0.01 }, { 3, 5, 0.02 },
};
/* clang-format on */

#define CELLS 40000

/* Run for long enough that nothing of the empty start is left. */
static struct twice_stable *
settled(int i, struct twice_stable_shape *shape, uint64_t adds)
{
	*shape = (struct twice_stable_shape){CELLS, shapes[i].width, shapes[i].probes, 0};
	shape->decrements = twice_stable_decrements(shape, shapes[i].fpr);
	struct twice_stable *s = twice_stable_create(shape, 42);
	for (uint64_t k = 0; k < adds; k++)
		twice_stable_add(s, key_at((uint64_t)i, k));
	return s;
}

START_TEST(decrements_are_rounded_up_to_keep_the_bound)
{
	struct twice_stable_shape s = {CELLS, shapes[_i].width, shapes[_i].probes, 0};
	s.decrements = twice_stable_decrements(&s, shapes[_i].fpr);
	ck_assert_double_le(twice_stable_fpr(&s), shapes[_i].fpr);
	s.decrements--;
	ck_assert(!s.decrements || twice_stable_fpr(&s) > shapes[_i].fpr);
}
END_TEST

/* The share of zeros, averaged over snapshots; and false positives at the same time. */
START_TEST(the_stable_point_and_its_false_positives)
{
	enum { ADDS = 200000, SNAPSHOTS = 40, GAP = 4000, TRIES = 5000 };
	struct twice_stable_shape shape;
	struct twice_stable *s = settled(_i, &shape, ADDS);
	double zeros = 0, hits = 0;
	for (uint64_t n = 0; n < SNAPSHOTS; n++) {
		for (uint64_t k = 0; k < GAP; k++)
			twice_stable_add(s, key_at((uint64_t)_i, ADDS + n * GAP + k));
		zeros += twice_stable_zeros(s) / SNAPSHOTS;
		for (uint64_t k = 0; k < TRIES; k++)
			hits += twice_stable_has(s, key_at((uint64_t)_i, (n + 1) << 40 | k));
	}
	ck_assert_double_eq_tol(zeros, twice_stable_point(&shape),
				0.005 * twice_stable_point(&shape) + 0.002);
	check_rate(hits, SNAPSHOTS * TRIES, twice_stable_fpr(&shape));
	twice_stable_destroy(&s);
	ck_assert_ptr_null(s);
}
END_TEST

/* Keys added so long ago, of which as many are remembered as the formula says. */
static void
check_recall(struct twice_stable *s, const struct twice_stable_shape *shape, int i, uint64_t adds,
	     uint64_t ago)
{
	enum { ASKED = 2000 };
	double hits = 0, want = 0;
	for (uint64_t k = 0; k < ASKED; k++) {
		hits += twice_stable_has(s, key_at((uint64_t)i, adds - 1 - ago - k));
		want += twice_stable_recall(shape, (double)(ago + k)) / ASKED;
	}
	/* Keys of one filter share its luck (rows of P cells fade together): 4 errors. */
	check_within(4, hits, ASKED, want);
}

START_TEST(recall_falls_with_age_as_forecast)
{
	enum { ADDS = 150000 };
	struct twice_stable_shape shape;
	struct twice_stable *s = settled(_i, &shape, ADDS);
	for (uint64_t ago = 500; ago < 40000; ago *= 3)
		check_recall(s, &shape, _i, ADDS, ago);
	twice_stable_destroy(&s);
}
END_TEST

START_TEST(the_shape_for_a_window_remembers_it)
{
	struct twice_stable_shape shape = twice_stable_shape_for(5000, 0.95, 0.01);
	struct twice_stable *s = twice_stable_create(&shape, 1);
	ck_assert_ptr_nonnull(s);
	ck_assert_double_ge(twice_stable_recall(&shape, 5000), 0.95);
	ck_assert_double_le(twice_stable_fpr(&shape), 0.01);
	for (uint64_t k = 0; k < 60000; k++)
		twice_stable_add(s, key_at(9, k));
	double hits = 0;
	for (uint64_t k = 0; k < 1000; k++)
		hits += twice_stable_has(s, key_at(9, 60000 - 5000 + k));
	ck_assert_double_ge(hits / 1000, 0.93);
	twice_stable_destroy(&s);
}
END_TEST

START_TEST(a_key_just_added_is_there)
{
	struct twice_stable_shape shape;
	struct twice_stable *s = settled(1, &shape, 50000);
	for (uint64_t k = 0; k < 1000; k++) {
		twice_stable_add(s, key_at(10, k));
		ck_assert(twice_stable_has(s, key_at(10, k)));
		ck_assert(twice_stable_add(s, key_at(10, k)));
	}
	twice_stable_destroy(&s);
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_stable_shape shape = twice_stable_shape_for(200, 0.9, 0.02);
	struct twice_stable *s = twice_stable_create(&shape, 5);
	for (uint64_t k = 0; k < 3000; k++)
		twice_stable_add(s, key_at(11, k));
	struct twice_stable *again = check_sealed(&stable_sealed, s);
	for (uint64_t k = 2000; k < 6000; k++) /* the same future, too */
		ck_assert(twice_stable_add(s, key_at(11, k)) ==
			  twice_stable_add(again, key_at(11, k)));
	ck_assert_uint_eq(twice_stable_count(s), twice_stable_count(again));
	twice_stable_destroy(&s);
	twice_stable_destroy(&again);
}
END_TEST

/* clang-format off */
static const struct twice_stable_shape impossible[] = {
	{ 1000, 0, 3, 10 }, { 1000, TWICE_STABLE_WIDTH_MOST + 1, 3, 10 }, { 1000, 3, 0, 10 },
	{ 1000, 3, 3, 0 }, { 1000, 3, 3, 1001 }, { 10, 3, 3, 5 },
};
/* clang-format on */

START_TEST(impossible_shapes_are_refused)
{
	ck_assert_ptr_null(twice_stable_create(&impossible[_i], 1));
}
END_TEST

UNIT("stable", LOOP(decrements_are_rounded_up_to_keep_the_bound, shapes),
     LOOP(the_stable_point_and_its_false_positives, shapes),
     LOOP(recall_falls_with_age_as_forecast, shapes), TEST(the_shape_for_a_window_remembers_it),
     TEST(a_key_just_added_is_there), TEST(sealed_bytes_come_back_or_are_refused),
     LOOP(impossible_shapes_are_refused, impossible))
