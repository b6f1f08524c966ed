/* test_blocked.c - one line per key: no false negative, the rate asked for, one winner.
 * rooms: filter
 */
#include <pthread.h>

#include "filter/family/blocked.h"
#include "tests/kit/family.h"

SEALED(blocked)

/* Until so many keys were new to it; more come, for some are taken for known. */
static struct twice_blocked *
filled(uint64_t keys, double fpr, uint64_t salt, uint64_t *came)
{
	struct twice_blocked *b = twice_blocked_create(keys, fpr);

	for (*came = 0; twice_blocked_count(b) < keys; ++*came)
		twice_blocked_add(b, key_at(salt, *came));
	return b;
}

START_TEST(impossible_options_are_refused)
{
	ck_assert_ptr_null(twice_blocked_create(0, 0.01));
	ck_assert_ptr_null(twice_blocked_create(100, 0));
	ck_assert_ptr_null(twice_blocked_create(100, 0.9));
	ck_assert_ptr_null(twice_blocked_create(UINT64_MAX, 0.01));
}
END_TEST

START_TEST(every_key_added_is_found)
{
	struct twice_blocked *b = twice_blocked_create(20000, 0.01);

	for (uint64_t i = 0; i < 20000; i++) {
		twice_blocked_add(b, key_at(1, i));
		ck_assert(twice_blocked_add(b, key_at(1, i)));
	}
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert(twice_blocked_has(b, key_at(1, i)));
	twice_blocked_destroy(&b);
	ck_assert_ptr_null(b);
}
END_TEST

static const double rates[] = {0.1, 0.03, 0.01, 0.005, 0.001};

START_TEST(false_positives_are_as_forecast)
{
	enum { KEYS = 200000, TRIES = 500000 };
	uint64_t came;
	struct twice_blocked *b = filled(KEYS, rates[_i], (uint64_t)_i, &came);
	double hits = 0, fpr = rates[_i];

	for (uint64_t i = 0; i < TRIES; i++)
		hits += twice_blocked_has(b, key_at((uint64_t)_i, (UINT64_C(1) << 40) + i));
	/* This filter's own ones forecast the rate; so does the plan, to which the spread of
	 * lines adds. */
	check_within(4, hits, TRIES, twice_blocked_fpr(b));
	ck_assert_msg(fabs(hits / TRIES / fpr - 1) < 0.1, "measured %g of %g", hits / TRIES, fpr);
	ck_assert(fabs(twice_blocked_estimate(b) / (double)came - 1) < 0.01);
	twice_blocked_destroy(&b);
}
END_TEST

START_TEST(costs_little_more_than_a_classic_filter)
{
	struct twice_blocked *b = twice_blocked_create(1000000, 0.01);

	ck_assert((double)twice_blocked_memory(b) * 8 / 1e6 < 1.06 * 9.585);
	twice_blocked_destroy(&b);
}
END_TEST

START_TEST(a_union_knows_both)
{
	struct twice_blocked *a = twice_blocked_create(20000, 0.01),
			     *b = twice_blocked_create(20000, 0.01);
	struct twice_blocked *other = twice_blocked_create(20001, 0.01);

	for (uint64_t i = 0; i < 8000; i++) {
		twice_blocked_add(a, key_at(3, i));
		twice_blocked_add(b, key_at(3, 5000 + i));
	}
	ck_assert_int_eq(twice_blocked_union(a, other), -1);
	ck_assert_int_eq(twice_blocked_union(a, b), 0);
	for (uint64_t i = 0; i < 13000; i++)
		ck_assert(twice_blocked_has(a, key_at(3, i)));
	ck_assert(fabs((double)twice_blocked_count(a) / 13000 - 1) < 0.02);
	twice_blocked_destroy(&a);
	twice_blocked_destroy(&b);
	twice_blocked_destroy(&other);
}
END_TEST

START_TEST(saved_and_restored_or_refused)
{
	uint64_t came;
	struct twice_blocked *b = filled(3000, 0.01, 5, &came),
			     *again = check_sealed(&blocked_sealed, b);

	for (uint64_t i = 0; i < 20000; i++)
		ck_assert(twice_blocked_has(b, key_at(5, i)) ==
			  twice_blocked_has(again, key_at(5, i)));
	ck_assert_uint_eq(twice_blocked_count(again), 3000);
	twice_blocked_destroy(&b);
	twice_blocked_destroy(&again);
}
END_TEST

enum { RACED = 200000 };

static struct twice_key_hash
raced_key(uint64_t i)
{
	return (struct twice_key_hash){mix_bits(2 * i), mix_bits(2 * i + 1)};
}

struct racer {
	struct twice_blocked *b;
	unsigned char is_new[RACED];
};

static void *
race(void *ctx)
{
	struct racer *r = ctx;

	for (uint64_t i = 0; i < RACED; i++)
		r->is_new[i] = !twice_blocked_add(r->b, raced_key(i));
	return NULL;
}

START_TEST(one_of_two_threads_is_told_new)
{
	static struct racer r[2];
	struct twice_blocked *b = twice_blocked_create(2 * RACED, 0.001);
	pthread_t t[2];
	int none = 0;

	for (int i = 0; i < 2; i++) {
		r[i].b = b;
		pthread_create(&t[i], NULL, race, &r[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < RACED; i++) {
		ck_assert(r[0].is_new[i] + r[1].is_new[i] <= 1);
		none += r[0].is_new[i] + r[1].is_new[i] == 0;
	}
	ck_assert_int_lt(none, RACED / 1000);
	ck_assert_uint_eq(twice_blocked_count(b), (uint64_t)(RACED - none));
	twice_blocked_destroy(&b);
}
END_TEST

UNIT("blocked", TEST(impossible_options_are_refused), TEST(every_key_added_is_found),
     LOOP(false_positives_are_as_forecast, rates), TEST(costs_little_more_than_a_classic_filter),
     TEST(a_union_knows_both), TEST(saved_and_restored_or_refused),
     TEST(one_of_two_threads_is_told_new))
