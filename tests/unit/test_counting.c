/* test_counting.c - cells that count: never too few, and keys can leave.
 * rooms: filter
 */
#include "filter/family/bloom.h"
#include "filter/family/counting.h"
#include "tests/kit/family.h"

SEALED(counting)

static struct twice_counting *
counting_for(uint64_t keys, double fpr, enum twice_counting_update update)
{
	struct twice_probe shape = twice_bloom_shape(keys, fpr);
	return twice_counting_create(&shape, update);
}

/* Random adds and removes against an exact count of each key: never too few. */
START_TEST(never_counts_too_few)
{
	enum { KEYS = 500, STEPS = 40000 };
	static unsigned exact[KEYS];
	struct twice_counting *c = counting_for(KEYS, 0.01, TWICE_COUNTING_PLAIN);
	uint64_t row = 11;
	for (int s = 0; s < STEPS; s++) {
		uint64_t i = mix_range(mix_next(&row), KEYS);
		if (mix_next(&row) & 1) {
			twice_counting_add(c, key_at(1, i));
			exact[i]++;
		} else if (exact[i]) { /* only what was added may be removed */
			ck_assert(twice_counting_remove(c, key_at(1, i)));
			exact[i]--;
		}
	}
	for (uint64_t i = 0; i < KEYS; i++) {
		unsigned want = exact[i] < TWICE_COUNTING_MOST ? exact[i] : TWICE_COUNTING_MOST;
		ck_assert_uint_ge(twice_counting_times(c, key_at(1, i)), want);
	}
	twice_counting_destroy(&c);
}
END_TEST

START_TEST(keys_that_left_are_gone)
{
	struct twice_counting *c = counting_for(10000, 0.01, TWICE_COUNTING_PLAIN);
	for (uint64_t i = 0; i < 10000; i++)
		twice_counting_add(c, key_at(2, i));
	uint64_t held = twice_counting_count(c);
	for (uint64_t i = 0; i < 10000; i += 2)
		ck_assert(twice_counting_remove(c, key_at(2, i)));
	uint64_t hits = 0;
	for (uint64_t i = 0; i < 10000; i++) {
		hits += i % 2 == 0 && twice_counting_has(c, key_at(2, i));
		ck_assert(i % 2 == 0 || twice_counting_has(c, key_at(2, i)));
	}
	/* Not the rate of a fresh filter: a left key cannot be "false" by its own bits. */
	check_rate((double)hits, 5000, twice_counting_fpr(c));
	ck_assert_uint_le(twice_counting_count(c), held - 4900);
	twice_counting_destroy(&c);
}
END_TEST

/* _i is the update */
START_TEST(false_positives_are_as_forecast)
{
	struct twice_counting *c = counting_for(30000, 0.02, (enum twice_counting_update)_i);
	uint64_t hits = 0;
	for (uint64_t i = 0; i < 30000; i++)
		twice_counting_add(c, key_at(3, i));
	for (uint64_t i = 0; i < 300000; i++)
		hits += twice_counting_has(c, key_at(3, 1000000 + i));
	check_rate((double)hits, 300000, twice_counting_fpr(c));
	ck_assert_double_eq_tol(twice_counting_fpr(c), 0.02, 0.001);
	twice_counting_destroy(&c);
}
END_TEST

START_TEST(a_cell_that_lost_count_is_never_lowered)
{
	struct twice_counting *c = counting_for(100, 0.01, TWICE_COUNTING_PLAIN);
	for (int i = 0; i < 20; i++)
		twice_counting_add(c, key_at(4, 1));
	ck_assert_uint_eq(twice_counting_times(c, key_at(4, 1)), TWICE_COUNTING_MOST);
	for (int i = 0; i < 20; i++)
		ck_assert(twice_counting_remove(c, key_at(4, 1)));
	ck_assert_uint_eq(twice_counting_times(c, key_at(4, 1)), TWICE_COUNTING_MOST);
	ck_assert(!twice_counting_remove(c, key_at(4, 2)));
	twice_counting_destroy(&c);
}
END_TEST

/* How many of a crowd of keys, each added 1..5 times, are counted too high. */
static unsigned
overcounted(enum twice_counting_update update)
{
	unsigned over = 0;
	struct twice_counting *c = counting_for(3000, 0.1, update);
	for (uint64_t round = 1; round <= 5; round++)
		for (uint64_t i = 0; i < 3000; i++)
			if (i % 5 + 1 >= round)
				twice_counting_add(c, key_at(5, i));
	for (uint64_t i = 0; i < 3000; i++) {
		ck_assert_uint_ge(twice_counting_times(c, key_at(5, i)), i % 5 + 1);
		over += twice_counting_times(c, key_at(5, i)) > i % 5 + 1;
	}
	twice_counting_destroy(&c);
	return over;
}

START_TEST(conservative_update_counts_better)
{
	ck_assert_uint_lt(overcounted(TWICE_COUNTING_CONSERVATIVE) * 2,
			  overcounted(TWICE_COUNTING_PLAIN));
}
END_TEST

START_TEST(conservative_keys_are_raised_and_cannot_leave)
{
	struct twice_counting *c = counting_for(100, 0.01, TWICE_COUNTING_CONSERVATIVE);
	ck_assert_uint_eq(twice_counting_raise(c, key_at(6, 1), 3), 0);
	ck_assert_uint_eq(twice_counting_raise(c, key_at(6, 1), 2), 3);
	ck_assert_uint_eq(twice_counting_add(c, key_at(6, 1)), 3);
	ck_assert_uint_eq(twice_counting_times(c, key_at(6, 1)), 4);
	ck_assert_uint_eq(twice_counting_count(c), 1);
	ck_assert(!twice_counting_remove(c, key_at(6, 1)));
	for (int i = 0; i < 20; i++)
		twice_counting_add(c, key_at(6, 1));
	ck_assert_uint_eq(twice_counting_times(c, key_at(6, 1)), TWICE_COUNTING_MOST);
	twice_counting_destroy(&c);
}
END_TEST

START_TEST(a_merge_sums)
{
	struct twice_counting *a = counting_for(1000, 0.01, TWICE_COUNTING_PLAIN);
	struct twice_counting *b = counting_for(1000, 0.01, TWICE_COUNTING_PLAIN);
	struct twice_counting *other = counting_for(1000, 0.01, TWICE_COUNTING_CONSERVATIVE);
	for (uint64_t i = 0; i < 500; i++) {
		twice_counting_add(a, key_at(7, i));
		twice_counting_add(b, key_at(7, 250 + i));
	}
	ck_assert_int_eq(-1, twice_counting_merge(a, other));
	ck_assert_int_eq(0, twice_counting_merge(a, b));
	for (uint64_t i = 0; i < 750; i++)
		ck_assert_uint_ge(twice_counting_times(a, key_at(7, i)),
				  i < 250 || i >= 500 ? 1 : 2);
	ck_assert_double_eq_tol((double)twice_counting_count(a), 750, 30);
	for (uint64_t i = 250; i < 750; i++)
		ck_assert(twice_counting_remove(a, key_at(7, i)));
	for (uint64_t i = 0; i < 500; i++)
		ck_assert(twice_counting_has(a, key_at(7, i)));
	twice_counting_destroy(&a);
	twice_counting_destroy(&b);
	twice_counting_destroy(&other);
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_counting *c = counting_for(500, 0.01, (enum twice_counting_update)_i);
	for (uint64_t i = 0; i < 1000; i++)
		twice_counting_add(c, key_at(8, i % 500));
	struct twice_counting *again = check_sealed(&counting_sealed, c);
	ck_assert_uint_eq(twice_counting_count(again), twice_counting_count(c));
	ck_assert_double_eq(twice_counting_fpr(again), twice_counting_fpr(c));
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(twice_counting_add(again, key_at(8, i)),
				  twice_counting_add(c, key_at(8, i)));
	twice_counting_destroy(&c);
	twice_counting_destroy(&again);
}
END_TEST

UNIT("counting", TEST(never_counts_too_few), TEST(keys_that_left_are_gone),
     TIMES(false_positives_are_as_forecast, 2), TEST(a_cell_that_lost_count_is_never_lowered),
     TEST(conservative_update_counts_better), TEST(conservative_keys_are_raised_and_cannot_leave),
     TEST(a_merge_sums), TIMES(sealed_bytes_come_back_or_are_refused, 2))
