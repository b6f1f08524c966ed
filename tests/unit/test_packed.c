/* test_packed.c - cells of any width keep their own value and nobody else's.
 * rooms: filter
 */
#include "filter/family/packed.h"
#include "tests/kit/family.h"

#define CELLS 131

/* _i + 1 is the width: random sets against a plain array. */
START_TEST(cells_are_an_array_of_numbers)
{
	struct twice_packed p;
	uint64_t model[CELLS] = {0}, row = (uint64_t)_i, used = 0;
	ck_assert_int_eq(0, twice_packed_init(&p, CELLS, (unsigned)_i + 1));
	for (int step = 0; step < 5000; step++) {
		uint64_t i = mix_range(mix_next(&row), CELLS);
		model[i] = mix_next(&row) & twice_packed_top(&p);
		twice_packed_set(&p, i, model[i]);
		ck_assert_uint_eq(twice_packed_get(&p, (i + 1) % CELLS), model[(i + 1) % CELLS]);
		ck_assert_uint_eq(twice_packed_get(&p, (i + CELLS - 1) % CELLS),
				  model[(i + CELLS - 1) % CELLS]);
	}
	for (uint64_t i = 0; i < CELLS; i++) {
		ck_assert_uint_eq(twice_packed_get(&p, i), model[i]);
		used += model[i] != 0;
	}
	ck_assert_uint_eq(twice_packed_used(&p), used);
	twice_packed_fini(&p);
	twice_packed_fini(&p); /* twice is harmless */
}
END_TEST

/* clang-format off */
static const struct { uint64_t n; unsigned width; } impossible[] = {
	{ 0, 4 }, { 100, 0 }, { 100, TWICE_PACKED_WIDTH_MOST + 1 },
	{ TWICE_PACKED_CELLS_MOST + 1, 1 }, { UINT64_MAX, 32 },
};
/* clang-format on */

START_TEST(impossible_shapes_are_refused)
{
	struct twice_packed p;
	ck_assert_int_eq(-1, twice_packed_init(&p, impossible[_i].n, impossible[_i].width));
}
END_TEST

/* A seal of one word for 10 cells of 4 bits, with these two last parameters. */
static int
load(uint64_t n, uint64_t width, uint64_t word, enum twice_snapshot_fault *why)
{
	unsigned char room[256];
	uint64_t params[TWICE_SNAPSHOT_PARAMS] = {[6] = n, [7] = width};
	struct twice_snapshot_buffer b = {.bytes = room, .size = sizeof(room)};
	struct twice_packed p = {0};
	struct twice_snapshot_head head;
	twice_snapshot_write(&(struct twice_snapshot_sink){twice_snapshot_buffer_write, &b, 0},
			     TWICE_SNAPSHOT_BLOOM, params, &word, 8);
	b = (struct twice_snapshot_buffer){.bytes = room, .size = b.used};
	struct twice_snapshot_source from = {
		.read = twice_snapshot_buffer_read, .ctx = &b, .limit = b.size};
	ck_assert_int_eq(0, twice_snapshot_open(&from, TWICE_SNAPSHOT_BLOOM, &head));
	int r = twice_packed_load(&p, &from, &head);
	*why = from.fault;
	twice_packed_fini(&p);
	return r;
}

START_TEST(a_seal_must_fit_its_own_parameters)
{
	enum twice_snapshot_fault why;
	ck_assert_int_eq(0, load(10, 4, 0xffffffffff, &why));
	ck_assert_int_eq(-1, load(10, 4, 0x1ffffffffff, &why)); /* a bit behind the last cell */
	ck_assert_int_eq(why, TWICE_SNAPSHOT_ABSURD);
	static const uint64_t lies[][2] = {{17, 4},	   {10, 7},	    {0, 4},
					   {10, 0},	   {UINT64_MAX, 4}, {10, UINT64_MAX},
					   {1ull << 62, 4}};
	for (int i = 0; i < COUNT(lies); i++) {
		ck_assert_int_eq(-1, load(lies[i][0], lies[i][1], 0, &why));
		ck_assert_int_eq(why, TWICE_SNAPSHOT_ABSURD);
	}
}
END_TEST

UNIT("packed", TIMES(cells_are_an_array_of_numbers, TWICE_PACKED_WIDTH_MOST),
     LOOP(impossible_shapes_are_refused, impossible), TEST(a_seal_must_fit_its_own_parameters))
