/* test_passes.c - a bounded memory of keys that must not queue.
 * rooms: serve base
 */
#include "proxy/serve/rules/passes.h"

#include "tests/kit/unit.h"

static struct twice_key_hash
key(uint64_t n)
{
	return (struct twice_key_hash){n * 0x9e3779b97f4a7c15u, (n + 1) * 0xbf58476d1ce4e5b9u};
}

START_TEST(a_key_is_remembered_until_its_time)
{
	struct passes *p = passes_create();
	ck_assert(!passes_has(p, PASSES_ALONE, key(1), 1000));
	passes_remember(p, PASSES_ALONE, key(1), 1060);
	ck_assert(passes_has(p, PASSES_ALONE, key(1), 1000));
	ck_assert(passes_has(p, PASSES_ALONE, key(1), 1059));
	ck_assert(!passes_has(p, PASSES_ALONE, key(1), 1060));
	ck_assert(!passes_has(p, PASSES_ALONE, key(2), 1000));
	passes_forget(p, PASSES_ALONE, key(1));
	ck_assert(!passes_has(p, PASSES_ALONE, key(1), 1000));
	passes_destroy(&p);
	ck_assert_ptr_null(p);
}
END_TEST

START_TEST(the_clock_may_come_round)
{
	/* 24 bits of the time are kept: the one moment at which they
	 * overflow is none too special. */
	int64_t turn = (int64_t)7 << 24;
	struct passes *p = passes_create();
	passes_remember(p, PASSES_ALONE, key(1), turn + 30);
	ck_assert(passes_has(p, PASSES_ALONE, key(1), turn - 10));
	ck_assert(!passes_has(p, PASSES_ALONE, key(1), turn + 30));
	passes_destroy(&p);
}
END_TEST

START_TEST(a_flood_of_keys_pushes_out_but_never_answers_for_another)
{
	enum { FLOOD = 200000 };
	struct passes *p = passes_create();
	int wrong = 0;
	for (uint64_t n = 0; n < FLOOD; n++)
		passes_remember(p, PASSES_ALONE, key(n), 1060);
	for (uint64_t n = FLOOD; n < 2 * FLOOD; n++)
		wrong += passes_has(p, PASSES_ALONE, key(n), 1000);
	ck_assert_int_eq(wrong, 0);
	ck_assert(passes_has(p, PASSES_ALONE, key(FLOOD - 1), 1000));
	passes_destroy(&p);
}
END_TEST

START_TEST(kinds_and_numbers_are_told_apart)
{
	struct passes *p = passes_create();
	for (enum passes_kind k = PASSES_ALONE; k <= PASSES_WITNESSED; k++) {
		ck_assert(!passes_has(p, k, key(1), 1000));
		passes_remember(p, k, key(1), 1060);
		ck_assert(!passes_has(p, k, passes_key(key(1), 200), 1000));
		passes_remember(p, k, passes_key(key(1), 404), 1060);
		ck_assert(!passes_has(p, k, passes_key(key(1), 200), 1000));
	}
	passes_forget(p, PASSES_ALONE, key(1));
	for (enum passes_kind k = PASSES_ALONE; k <= PASSES_WITNESSED; k++)
		ck_assert(passes_has(p, k, key(1), 1000) == (k != PASSES_ALONE));
	passes_destroy(&p);
}
END_TEST

UNIT("passes", TEST(kinds_and_numbers_are_told_apart), TEST(a_key_is_remembered_until_its_time),
     TEST(the_clock_may_come_round), TEST(a_flood_of_keys_pushes_out_but_never_answers_for_another))
