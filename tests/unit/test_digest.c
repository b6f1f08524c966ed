/* test_digest.c - a digest has all that was there, and is wrong as often as its model says.
 * rooms: filter
 */
#include "filter/family/digest.h"
#include "tests/kit/family.h"

SEALED(digest)

/* As an index knows its keys: 46 bits, in the upper ones. */
static uint64_t
part_of(uint64_t salt, uint64_t i)
{
	return key_at(salt, i).hi >> 18 << 18;
}

static struct twice_digest *
digest_of(uint64_t salt, uint64_t from, uint64_t to, double bits)
{
	struct twice_digest *d = twice_digest_create(to - from, bits);
	for (uint64_t i = from; i < to; i++)
		twice_digest_add(d, part_of(salt, i));
	return d;
}

static double
found(const struct twice_digest *d, uint64_t salt, uint64_t from, uint64_t to)
{
	uint64_t n = 0;
	for (uint64_t i = from; i < to; i++)
		n += twice_digest_has(d, part_of(salt, i));
	return (double)n;
}

START_TEST(all_that_was_there_is_found)
{
	struct twice_digest *d = digest_of(1, 0, 100000, 5);
	ck_assert_double_eq(found(d, 1, 0, 100000), 100000);
	ck_assert_uint_le(twice_digest_count(d), 100000);
	ck_assert_uint_ge(twice_digest_memory(d), 100000 * 5 / 8);
	ck_assert_uint_le(twice_digest_memory(d), 100000 * 5 / 8 + 256);
	twice_digest_destroy(&d);
	ck_assert_ptr_null(d);
}
END_TEST

static const double bits[] = {1, 2, 3, 5, 8, 10, 16};

START_TEST(what_never_was_there_is_found_as_often_as_the_bits_say)
{
	struct twice_digest *d = digest_of(2, 0, 200000, bits[_i]);
	double f = twice_digest_fpr(d);
	check_rate(found(d, 2, 1u << 24, (1u << 24) + 400000), 400000, f);
	ck_assert_double_eq_tol(f, twice_digest_full_fpr(bits[_i]),
				0.01 * twice_digest_full_fpr(bits[_i]) + 1e-5);
	twice_digest_destroy(&d);
}
END_TEST

START_TEST(five_bits_are_nine_percent)
{
	ck_assert_uint_eq(twice_digest_places(5), 3);
	ck_assert_double_eq_tol(twice_digest_full_fpr(5), 0.092, 0.0005);
	ck_assert_uint_eq(twice_digest_save_bytes(10000000, 5), 104 + 6250000 + 8);
}
END_TEST

/* So much of the set was replaced since. */
static const double replaced[] = {0, 0.01, 0.058, 0.25, 0.5, 1};

START_TEST(one_that_is_old_is_wrong_as_the_model_says)
{
	enum { SET = 100000, ASKED = 200000, BEYOND = 1 << 24 };
	struct twice_digest *d = digest_of(3, 0, SET, 5);
	uint64_t news = (uint64_t)(replaced[_i] * SET), missed;
	double f = twice_digest_fpr(d);
	/* The oldest went; as many came. All of what is there is asked for once. */
	missed = SET - (uint64_t)found(d, 3, news, SET + news);
	check_within(4, (double)missed, SET, twice_digest_false_negatives(f, replaced[_i]));
	/* Among what is not there: those that went, and others. */
	double yes = found(d, 3, 0, news) + found(d, 3, BEYOND, BEYOND + ASKED - news);
	check_within(4, yes, ASKED, twice_digest_false_positives(f, (double)news / ASKED));
	twice_digest_destroy(&d);
}
END_TEST

START_TEST(of_nothing_it_has_nothing)
{
	struct twice_digest *d = twice_digest_create(0, 5);
	ck_assert_double_eq(found(d, 4, 0, 1000), 0);
	twice_digest_destroy(&d);
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
	ck_assert_ptr_null(twice_digest_create(1000, 0));
	ck_assert_ptr_null(twice_digest_create(1000, 65));
	ck_assert_ptr_null(twice_digest_create(1000, NAN));
	ck_assert_ptr_null(twice_digest_create(UINT64_MAX, 5));
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_digest *d = digest_of(5, 0, 3000, 5);
	struct twice_snapshot_buffer b = sealed_bytes(&digest_sealed, d);
	ck_assert_uint_eq(b.size, twice_digest_save_bytes(3000, 5));
	free(b.bytes);
	struct twice_digest *again = check_sealed(&digest_sealed, d);
	ck_assert_uint_eq(twice_digest_count(again), twice_digest_count(d));
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert(twice_digest_has(again, part_of(5, i)) ==
			  twice_digest_has(d, part_of(5, i)));
	twice_digest_destroy(&d);
	twice_digest_destroy(&again);
}
END_TEST

UNIT("digest", TEST(all_that_was_there_is_found),
     TIMES(what_never_was_there_is_found_as_often_as_the_bits_say, sizeof bits / sizeof *bits),
     TEST(five_bits_are_nine_percent),
     TIMES(one_that_is_old_is_wrong_as_the_model_says, sizeof replaced / sizeof *replaced),
     TEST(of_nothing_it_has_nothing), TEST(impossible_sizes_are_refused),
     TEST(sealed_bytes_come_back_or_are_refused))
