/* test_cells.c - hash codes in cells, as in 1970.
 * rooms: filter
 */
#include "filter/family/cells.h"
#include "tests/kit/family.h"

SEALED(cells)

/* clang-format off */
static const struct { uint64_t keys; double fpr; } wishes[] = {
	{ 20000, 0.1 }, { 20000, 0.01 }, { 20000, 0.001 },
};
/* clang-format on */

START_TEST(holds_its_keys_at_the_rate_asked_for)
{
	struct twice_cells_shape shape = twice_cells_shape(wishes[_i].keys, wishes[_i].fpr);
	struct twice_cells *c = twice_cells_create(&shape);
	uint64_t hits = 0, tries = 1000000, there = 0;
	for (uint64_t i = 0; i < wishes[_i].keys; i++)
		there += twice_cells_add(c, key_at(1, i)) == 1;
	ck_assert_uint_eq(twice_cells_count(c) + there, wishes[_i].keys);
	for (uint64_t i = 0; i < wishes[_i].keys; i++)
		ck_assert(twice_cells_has(c, key_at(1, i)));
	for (uint64_t i = 0; i < tries; i++)
		hits += twice_cells_has(c, key_at(1, wishes[_i].keys + i));
	check_rate((double)hits, (double)tries, twice_cells_fpr(c));
	ck_assert_double_le(twice_cells_fpr(c), wishes[_i].fpr);
	twice_cells_destroy(&c);
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(full_cells_say_so_and_still_find)
{
	struct twice_cells *c = twice_cells_create(&(struct twice_cells_shape){160, 20});
	for (uint64_t i = 0; i < 150; i++)
		ck_assert_int_eq(0, twice_cells_add(c, key_at(2, i)));
	ck_assert_int_eq(-1, twice_cells_add(c, key_at(2, 150)));
	ck_assert_int_eq(1, twice_cells_add(c, key_at(2, 149)));
	ck_assert(!twice_cells_has(c, key_at(2, 150)));
	struct twice_cells *again = check_sealed(&cells_sealed, c);
	ck_assert(twice_cells_has(again, key_at(2, 3)) && !twice_cells_has(again, key_at(2, 151)));
	twice_cells_destroy(&again);
	twice_cells_destroy(&c);
}
END_TEST

START_TEST(a_seal_without_an_empty_cell_is_refused)
{
	uint64_t words[32], params[TWICE_SNAPSHOT_PARAMS] = {256, [6] = 256, 8};
	memset(words, 0xff, sizeof(words));
	struct twice_snapshot_buffer b = {.bytes = malloc(1024), .size = 1024};
	ck_assert_int_eq(
		0, twice_snapshot_write(&(struct twice_snapshot_sink){twice_snapshot_buffer_write,
								      &b, SEALED_TAG},
					TWICE_SNAPSHOT_CELLS, params, words, sizeof(words)));
	b.size = b.used;
	check_refused(&cells_sealed, &b, SEALED_TAG, "an endless search");
	free(b.bytes);
}
END_TEST

UNIT("cells", LOOP(holds_its_keys_at_the_rate_asked_for, wishes),
     TEST(full_cells_say_so_and_still_find), TEST(a_seal_without_an_empty_cell_is_refused))
