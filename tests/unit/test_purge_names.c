/* rooms: fleet origin http base
 *
 * test_purge_names.c - which purges of which node are known, and who is behind. */
#include "proxy/fleet/purge_names.h"
#include "tests/kit/unit.h"

enum { A = 7, B = 9, NOW = 1000000 };

static bool
is_behind(struct purge_names *l, uint64_t node, uint64_t number, int64_t now)
{
	return purge_names_is_behind(l, &(struct purge_name){node, number}, 1, now);
}

START_TEST(a_purge_is_skipped_when_it_was_applied)
{
	struct purge_names *l = purge_names_create(100);
	purge_names_advance(l, A, 50, NOW);
	ck_assert(purge_names_hear(l, A, 50, NOW));
	ck_assert(purge_names_hear(l, A, 50, NOW)); /* heard of is not applied */
	ck_assert(is_behind(l, A, 50, NOW));
	purge_names_apply(l, A, 50, NOW);
	ck_assert(!purge_names_hear(l, A, 50, NOW));
	ck_assert(!is_behind(l, A, 50, NOW));
	ck_assert(is_behind(l, A, 51, NOW));
	ck_assert(is_behind(l, B, 1, NOW)); /* of whom nothing is known */
	purge_names_destroy(&l);
}
END_TEST

START_TEST(a_gap_is_behind_until_it_is_filled_or_old)
{
	struct purge_names *l = purge_names_create(100);
	purge_names_advance(l, A, 50, NOW);
	purge_names_apply(l, A, 51, NOW);
	ck_assert(is_behind(l, A, 51, NOW));
	purge_names_apply(l, A, 50, NOW);
	ck_assert(!is_behind(l, A, 51, NOW));
	purge_names_apply(l, A, 53, NOW);
	ck_assert(is_behind(l, A, 53, NOW + PURGE_NAMES_GAP_MS - 1));
	ck_assert(!is_behind(l, A, 53, NOW + PURGE_NAMES_GAP_MS));
	purge_names_advance(l, A, 53, NOW);
	ck_assert(!is_behind(l, A, 53, NOW));
	purge_names_destroy(&l);
}
END_TEST

START_TEST(what_was_heard_of_lately_is_said)
{
	struct purge_name seen[PURGE_NAMES_SEEN_MOST];
	struct purge_names *l = purge_names_create(100);
	ck_assert_uint_eq(purge_names_seen(l, NOW, seen), 0);
	purge_names_hear(l, A, 5, NOW);
	purge_names_hear(l, B, 8, NOW + 10);
	purge_names_hear(l, A, 4, NOW + 10);
	ck_assert_uint_eq(purge_names_seen(l, NOW + 10, seen), 2);
	ck_assert(seen[0].node == A && seen[0].number == 5);
	ck_assert(seen[1].node == B && seen[1].number == 8);
	ck_assert_uint_eq(purge_names_seen(l, NOW + 10 + PURGE_NAMES_SEEN_MS, seen), 0);
	for (uint64_t n = 1; n < 100; n++)
		purge_names_hear(l, 100 + n, 1, NOW + 10);
	ck_assert_uint_eq(purge_names_seen(l, NOW + 10, seen), PURGE_NAMES_SEEN_MOST);
	purge_names_destroy(&l);
}
END_TEST

START_TEST(many_numbers_in_any_order_take_bounded_memory)
{
	struct purge_names *l = purge_names_create(100);
	for (uint64_t n = 10 * PURGE_NAMES_RECENT; n > 0; n--)
		purge_names_apply(l, A, 2 * n, NOW);
	for (uint64_t n = 1; n <= 10 * PURGE_NAMES_RECENT; n++)
		purge_names_apply(l, A, 2 * n, NOW);
	ck_assert(!purge_names_hear(l, A, 20 * PURGE_NAMES_RECENT, NOW));
	ck_assert(!is_behind(l, A, 20 * PURGE_NAMES_RECENT, NOW + PURGE_NAMES_GAP_MS));
	purge_names_destroy(&l);
}
END_TEST

START_TEST(nodes_beyond_the_table_are_behind_and_never_skipped)
{
	struct purge_names *l = purge_names_create(100);
	for (uint64_t n = 1; n <= 2 * PURGE_NAMES_NODES; n++) {
		ck_assert(purge_names_hear(l, n, 1, NOW));
		purge_names_apply(l, n, 1, NOW);
	}
	ck_assert(!purge_names_hear(l, PURGE_NAMES_NODES, 1, NOW));
	ck_assert(purge_names_hear(l, PURGE_NAMES_NODES + 1, 1, NOW));
	purge_names_destroy(&l);
}
END_TEST

START_TEST(a_restart_gives_no_number_twice)
{
	struct buf file = {0};
	struct purge_names *l = purge_names_create(100), *next;
	uint64_t last = 0;
	purge_names_begin(l, A);
	purge_names_apply(l, B, 3, NOW);
	purge_names_write(l, &file);
	for (int i = 0; i < 5; i++) {
		uint64_t n = purge_names_take(l, A, NOW);
		ck_assert_uint_gt(n, last);
		ck_assert(is_behind(l, A, n, NOW));
		purge_names_apply(l, A, n, NOW);
		ck_assert(!is_behind(l, A, n, NOW));
		last = n;
	}
	purge_names_destroy(&l);
	next = purge_names_create(50); /* the clock went back */
	ck_assert_int_eq(purge_names_read(next, buf_str(&file)), 0);
	ck_assert_uint_gt(purge_names_take(next, A, NOW), last);
	ck_assert(!purge_names_hear(next, B, 3, NOW));
	for (size_t n = 0; n < file.n; n++)
		ck_assert_int_eq(purge_names_read(next, (struct str){file.p, n}), -1);
	purge_names_destroy(&next);
	buf_fini(&file);
}
END_TEST

UNIT("purge_names", TEST(a_purge_is_skipped_when_it_was_applied),
     TEST(a_gap_is_behind_until_it_is_filled_or_old), TEST(what_was_heard_of_lately_is_said),
     TEST(many_numbers_in_any_order_take_bounded_memory),
     TEST(nodes_beyond_the_table_are_behind_and_never_skipped),
     TEST(a_restart_gives_no_number_twice))
