/* test_block.c - blocks that pass: memory of many at once does not stay.
 * rooms: base
 */
#include "proxy/base/block.h"

#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 200, LARGE = 250000 };

/* Bytes of memory that this process has. */
static size_t
resident(void)
{
	unsigned long all = 0, here = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu %lu", &all, &here), 2);
	fclose(f);
	return here * (size_t)sysconf(_SC_PAGESIZE);
}

static struct block *between[MANY];

static void
hold_many(size_t cap)
{
	static struct block *held[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		if (!between[i]) /* what lives on behind a freed piece keeps the heap large */
			between[i] = block_create(100);
		held[i] = block_try_passing((uint32_t)cap);
		ck_assert_uint_eq(held[i]->cap, cap);
		ck_assert_uint_eq(held[i]->n, 0);
		memset(held[i]->p, (int)i, cap);
	}
	for (unsigned i = 0; i < MANY; i++)
		for (size_t at = 0; at < cap; at += 4096)
			ck_assert_int_eq((unsigned char)held[i]->p[at], i & 0xff);
	for (unsigned i = 0; i < MANY; i++)
		block_unref(&held[i * 7 % MANY]);
}

START_TEST(many_at_once_are_given_back)
{
	if (SANITIZED) /* the memory of its own that it keeps is more */
		return;
	/* An emulator keeps some bytes for each page that there ever was, and the code that has run. */
	const size_t else_most = MANY * (size_t)LARGE / 20;
	size_t before = resident();
	for (int round = 0; round < 3; round++) {
		hold_many(LARGE);
		ck_assert_uint_le(resident(), before + BLOCK_SPARE_BYTES + else_most);
	}
	for (unsigned i = 0; i < MANY; i++)
		block_unref(&between[i]);
}
END_TEST

START_TEST(the_next_one_has_the_memory_of_the_last)
{
	struct block *b = block_try_passing(LARGE);
	bool mapped = b->mapped;
	void *was = b;
	block_unref(&b);
	ck_assert_ptr_null(b);
	b = block_try_passing(LARGE - 100);
	ck_assert(!mapped || was == b);
	block_unref(&b);
}
END_TEST

START_TEST(small_and_huge_ones_are_as_others)
{
	static const uint32_t sizes[] = {
		0, 1, BLOCK_PASSING_LEAST - 1, BLOCK_PASSING_MOST, BLOCK_PASSING_MOST + 1, 8 << 20};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct block *b = block_try_passing(sizes[i]);
		ck_assert_uint_eq(b->mapped, 0);
		ck_assert_uint_eq(b->cap, sizes[i]);
		struct block *other = block_ref(b);
		block_unref(&b);
		memset(other->p, 'x', sizes[i]);
		block_unref(&other);
	}
}
END_TEST

START_TEST(one_that_is_not_shared_may_be_filled_again)
{
	struct block *b = block_create(10), *other;
	b->n = 10;
	other = block_ref(b);
	ck_assert(!block_renew(b));
	ck_assert_uint_eq(b->n, 10);
	block_unref(&other);
	ck_assert(block_renew(b));
	ck_assert_uint_eq(b->n, 0);
	block_unref(&b);
}
END_TEST

static void *
come_and_go(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	for (int i = 0; i < 2000; i++) {
		seed = seed * 1103515245 + 12345;
		struct block *b = block_try_passing(100000 + seed % 300000);
		memset(b->p, (int)seed & 0x7f, 64);
		memset(b->p + b->cap - 64, (int)seed & 0x7f, 64);
		ck_assert_int_eq(b->p[0], (int)seed & 0x7f);
		block_unref(&b);
	}
	return NULL;
}

START_TEST(threads_share_what_is_spare)
{
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, come_and_go, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

UNIT("block", TEST(many_at_once_are_given_back), TEST(the_next_one_has_the_memory_of_the_last),
     TEST(small_and_huge_ones_are_as_others), TEST(one_that_is_not_shared_may_be_filled_again),
     TEST(threads_share_what_is_spare))
