/* test_arena.c - memory in a row, given back at once and kept warm.
 * rooms: base
 */
#include "proxy/base/arena.h"

#include "tests/kit/unit.h"

#include <stdint.h>
#include <string.h>

START_TEST(pieces_are_aligned_and_do_not_overlap)
{
	enum { N = 400 };
	struct arena_pool pool = {.spare_most = 4};
	struct arena *a = arena_create(&pool);
	char *p[N];
	for (unsigned i = 0; i < N; i++) {
		size_t n = 1 + i * 37 % 9000;
		p[i] = arena_alloc(a, n);
		ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
		memset(p[i], (int)(i & 0xff), n);
	}
	for (unsigned i = 0; i < N; i++)
		for (size_t k = 0; k < 1 + i * 37 % 9000; k++)
			if (p[i][k] != (char)(i & 0xff))
				ck_abort_msg("piece %u is not as it was at byte %zu", i, k);
	arena_unref(&a);
	ck_assert_ptr_null(a);
	ck_assert_uint_le(pool.spare_count, 4);
	arena_pool_fini(&pool);
}
END_TEST

START_TEST(the_last_reference_gives_the_memory_back)
{
	struct arena_pool pool = {.spare_most = 4};
	struct arena *a = arena_create(&pool), *fetch = arena_ref(a);
	struct str s = arena_copy(a, STR("a view that outlives the client"));
	arena_unref(&a);
	ck_assert_uint_eq(pool.arenas, 1);
	ck_assert(str_eq(s, STR("a view that outlives the client")));
	arena_unref(&fetch);
	ck_assert_uint_eq(pool.arenas, 0);
	arena_unref(&fetch);
	arena_pool_fini(&pool);
}
END_TEST

START_TEST(the_steady_state_takes_what_is_there)
{
	struct arena_pool pool = {.spare_most = 8};
	struct arena *first = arena_create(&pool);
	const void *where = first;
	arena_unref(&first);
	for (int i = 0; i < 100; i++) {
		struct arena *a = arena_create(&pool);
		ck_assert_ptr_eq(a, where);
		arena_alloc(a, 6000);
		arena_unref(&a);
		ck_assert_uint_eq(pool.spare_count, 1);
	}
	arena_pool_fini(&pool);
}
END_TEST

START_TEST(a_large_piece_leaves_the_room_beside_it)
{
	struct arena_pool pool = {0};
	struct arena *a = arena_create(&pool);
	char *before = arena_alloc(a, 16);
	arena_alloc(a, 100000);
	ck_assert_ptr_eq((char *)arena_alloc(a, 16), before + 16);
	arena_unref(&a);
	ck_assert_uint_eq(pool.spare_count, 0);
	arena_pool_fini(&pool);
}
END_TEST

START_TEST(all_that_it_has_counts_as_held)
{
	struct arena_pool pool = {0};
	struct arena *a = arena_create(&pool);
	size_t first = arena_held(a);
	ck_assert_uint_le(first, ARENA_CHUNK_BYTES);
	arena_alloc(a, 100);
	ck_assert_uint_eq(arena_held(a), first);
	arena_alloc(a, 100000);
	ck_assert_uint_ge(arena_held(a), first + 100000);
	for (size_t before = arena_held(a), i = 0; i < 8; i++, arena_alloc(a, 1000))
		ck_assert_uint_le(arena_held(a), before + 2 * ARENA_CHUNK_BYTES);
	ck_assert_uint_ge(arena_held(a), first + 100000 + ARENA_CHUNK_BYTES);
	arena_unref(&a);
	arena_pool_fini(&pool);
}
END_TEST

UNIT("arena", TEST(all_that_it_has_counts_as_held), TEST(pieces_are_aligned_and_do_not_overlap),
     TEST(the_last_reference_gives_the_memory_back), TEST(the_steady_state_takes_what_is_there),
     TEST(a_large_piece_leaves_the_room_beside_it))
