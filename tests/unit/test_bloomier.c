/* test_bloomier.c - exact on its keys; a stranger passes with chance 2^-q.
 * rooms: filter
 */
#include "filter/family/bloomier.h"
#include "tests/kit/family.h"

SEALED(bloomier)

/* clang-format off */
static const struct { size_t keys; unsigned value_bits, check_bits; } maps[] = {
	{ 0, 2, 8 }, { 1, 2, 8 }, { 2, 1, 8 }, { 3, 8, 8 }, { 100, 2, 8 }, { 1000, 0, 10 },
	{ 1000, 16, 16 }, { 50000, 2, 8 }, { 50000, 8, 5 },
};
/* clang-format on */

static uint32_t
value_at(uint64_t i, unsigned bits)
{
	return (uint32_t)(mix_bits(i) & ((UINT64_C(1) << bits) - 1));
}

static struct twice_bloomier *
built(size_t n, unsigned value_bits, unsigned check_bits)
{
	struct twice_bloomier_pair *pairs = calloc(n + 1, sizeof(*pairs));
	for (size_t i = 0; i < n; i++)
		pairs[i] = (struct twice_bloomier_pair){key_at(1, i), value_at(i, value_bits)};
	struct twice_bloomier *b = twice_bloomier_build(pairs, n, value_bits, check_bits);
	free(pairs);
	return b;
}

START_TEST(exact_on_its_keys_and_rarely_wrong_on_others)
{
	struct twice_bloomier *b = built(maps[_i].keys, maps[_i].value_bits, maps[_i].check_bits);
	uint32_t value;
	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(twice_bloomier_count(b), maps[_i].keys);
	for (uint64_t i = 0; i < maps[_i].keys; i++) {
		ck_assert(twice_bloomier_get(b, key_at(1, i), &value));
		ck_assert_uint_eq(value, value_at(i, maps[_i].value_bits));
	}
	double hits = 0;
	for (uint64_t i = 0; i < 300000; i++)
		hits += twice_bloomier_has(b, key_at(1, (UINT64_C(1) << 40) + i));
	if (maps[_i].keys)
		check_rate(hits, 300000, twice_bloomier_fpr(b));
	else
		ck_assert_double_eq(hits, 0);
	twice_bloomier_destroy(&b);
	ck_assert_ptr_null(b);
}
END_TEST

START_TEST(about_1_23_cells_per_key)
{
	struct twice_bloomier *b = built(50000, 2, 8);
	ck_assert_double_le((double)twice_bloomier_memory(b) * 8 / 50000, 1.24 * 10);
	twice_bloomier_destroy(&b);
}
END_TEST

START_TEST(a_key_twice_or_a_wide_value_is_refused)
{
	struct twice_bloomier_pair pairs[] = {
		{key_at(1, 1), 1}, {key_at(1, 2), 0}, {key_at(1, 1), 1}};
	ck_assert_ptr_null(twice_bloomier_build(pairs, 3, 2, 8));
	pairs[2] = (struct twice_bloomier_pair){key_at(1, 3), 4};
	ck_assert_ptr_null(twice_bloomier_build(pairs, 3, 2, 8));
	ck_assert_ptr_null(twice_bloomier_build(pairs, 2, 30, 8));
	ck_assert_ptr_null(twice_bloomier_build(pairs, 2, 0, 0));
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_bloomier *b = built(1000, 2, 8);
	struct twice_bloomier *again = check_sealed(&bloomier_sealed, b);
	uint32_t value;
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert(twice_bloomier_get(again, key_at(1, i), &value));
		ck_assert_uint_eq(value, value_at(i, 2));
	}
	twice_bloomier_destroy(&b);
	twice_bloomier_destroy(&again);
}
END_TEST

UNIT("bloomier", LOOP(exact_on_its_keys_and_rarely_wrong_on_others, maps),
     TEST(about_1_23_cells_per_key), TEST(a_key_twice_or_a_wide_value_is_refused),
     TEST(sealed_bytes_come_back_or_are_refused))
