/* test_siblings.c - the variants of a URL are bounded, and the least used go.
 * rooms: cache http base filter
 */
#include "proxy/cache/siblings.h"

#include "filter/hash_equal.h"
#include "tests/kit/unit.h"

#include <stdlib.h>

static struct twice_key_hash
hash(uint64_t n)
{
	return (struct twice_key_hash){n * 0x9e3779b97f4a7c15u, (n + 1) * 0xbf58476d1ce4e5b9u};
}

enum { URL = 1, POPULAR = 1000 };

/* Whether the variant is one of those that went. */
static bool
is_among(const struct twice_key_hash *gone, unsigned n, struct twice_key_hash h)
{
	for (unsigned i = 0; i < n; i++)
		if (key_hash_equal(gone[i], h))
			return true;
	return false;
}

START_TEST(one_more_than_the_bound_and_the_oldest_unused_goes)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	for (uint64_t i = 0; i < 4; i++)
		ck_assert_uint_eq(siblings_add(s, hash(URL), hash(100 + i), 4, gone), 0);
	ck_assert_uint_eq(siblings_add(s, hash(URL), hash(101), 4, gone), 0); /* is known */
	ck_assert_uint_eq(siblings_add(s, hash(URL), hash(104), 4, gone), 1);
	ck_assert(is_among(gone, 1, hash(100)));
	ck_assert_uint_eq(siblings_use(s, hash(URL), hash(101), 4, gone), 0);
	ck_assert_uint_eq(siblings_add(s, hash(URL), hash(105), 4, gone), 1);
	ck_assert(is_among(gone, 1, hash(102)));
	siblings_destroy(&s);
	ck_assert_ptr_null(s);
}
END_TEST

START_TEST(what_is_popular_outlives_a_thousand_that_are_asked_for_twice)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	unsigned went = 0;
	siblings_add(s, hash(URL), hash(POPULAR), 64, gone);
	for (uint64_t i = 0; i < 1000; i++) {
		unsigned n = siblings_add(s, hash(URL), hash(2000 + i), 64, gone);
		ck_assert(!is_among(gone, n, hash(POPULAR)));
		ck_assert_uint_eq(siblings_use(s, hash(URL), hash(2000 + i), 64, gone), 0);
		if (i % 20 == 0)
			ck_assert_uint_eq(siblings_use(s, hash(URL), hash(POPULAR), 64, gone), 0);
		if (i % 20 == 1)
			ck_assert_uint_eq(siblings_use(s, hash(URL), hash(POPULAR), 64, gone), 0);
		went += n;
	}
	ck_assert_uint_eq(went, 1001 - 64);
	siblings_destroy(&s);
}
END_TEST

START_TEST(what_was_popular_once_goes_in_the_end)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	siblings_add(s, hash(URL), hash(POPULAR), 8, gone);
	for (uint64_t i = 0; i < 7; i++)
		siblings_add(s, hash(URL), hash(100 + i), 8, gone);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(siblings_use(s, hash(URL), hash(POPULAR), 8, gone), 0);
	uint64_t i = 0;
	for (; i < 1000; i++) {
		unsigned n = siblings_add(s, hash(URL), hash(2000 + i), 8, gone);
		ck_assert_uint_eq(siblings_use(s, hash(URL), hash(2000 + i), 8, gone), 0);
		if (is_among(gone, n, hash(POPULAR)))
			break;
	}
	ck_assert(i > 8 && i < 1000);
	siblings_destroy(&s);
}
END_TEST

START_TEST(a_lower_bound_is_reached_step_by_step)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	unsigned went = 0;
	for (uint64_t i = 0; i < 20; i++)
		siblings_add(s, hash(URL), hash(100 + i), 20, gone);
	for (uint64_t i = 0; i < 20; i++)
		went += siblings_add(s, hash(URL), hash(200 + i), 5, gone);
	ck_assert_uint_eq(went, 40 - 5);
	siblings_destroy(&s);
}
END_TEST

/* As after a restart: they are on disk, and nothing knows of them before they answer. */
START_TEST(variants_from_before_count_when_they_answer)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	for (uint64_t i = 0; i < 4; i++)
		ck_assert_uint_eq(siblings_use(s, hash(URL), hash(100 + i), 4, gone), 0);
	ck_assert_uint_eq(siblings_use(s, hash(URL), hash(100), 4, gone), 0); /* is known now */
	ck_assert_uint_eq(siblings_add(s, hash(URL), hash(104), 4, gone), 1);
	ck_assert(is_among(gone, 1, hash(101)));
	ck_assert_uint_eq(siblings_use(s, hash(URL), hash(105), 4, gone), 1);
	ck_assert(is_among(gone, 1, hash(102)));
	siblings_destroy(&s);
}
END_TEST

START_TEST(one_place_is_the_least_there_is)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	siblings_add(s, hash(URL), hash(1), 1, gone);
	ck_assert_uint_eq(siblings_add(s, hash(URL), hash(2), 1, gone), 1);
	ck_assert(is_among(gone, 1, hash(1)));
	siblings_destroy(&s);
}
END_TEST

START_TEST(other_urls_lose_nothing_and_the_crowded_one_is_not_lost_sight_of)
{
	struct siblings *s = siblings_create();
	struct twice_key_hash gone[SIBLINGS_GONE];
	unsigned went = 0;
	for (uint64_t i = 0; i < 500; i++) {
		went += siblings_add(s, hash(URL), hash(5000 + i), 16, gone);
		/* A site with more varying URLs than there are places. */
		for (uint64_t k = 0; k < 40; k++) {
			uint64_t url = 1000000 + i * 40 + k;
			ck_assert_uint_eq(siblings_add(s, hash(url), hash(2 * url), 16, gone), 0);
			ck_assert_uint_eq(siblings_add(s, hash(url), hash(2 * url + 1), 16, gone),
					  0);
		}
	}
	ck_assert_uint_eq(went, 500 - 16);
	siblings_destroy(&s);
}
END_TEST

UNIT("siblings", TEST(one_more_than_the_bound_and_the_oldest_unused_goes),
     TEST(what_is_popular_outlives_a_thousand_that_are_asked_for_twice),
     TEST(what_was_popular_once_goes_in_the_end), TEST(a_lower_bound_is_reached_step_by_step),
     TEST(variants_from_before_count_when_they_answer), TEST(one_place_is_the_least_there_is),
     TEST(other_urls_lose_nothing_and_the_crowded_one_is_not_lost_sight_of))
