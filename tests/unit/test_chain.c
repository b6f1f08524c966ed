/* test_chain.c - filters that grow: dynamic rows and scalable links.
 * rooms: filter
 */
#include "filter/family/dynamic.h"
#include "filter/family/scalable.h"
#include "tests/kit/family.h"

SEALED(chain)

static double
false_hits(const struct twice_chain *c, uint64_t tries, uint64_t salt)
{
	uint64_t hits = 0;
	for (uint64_t i = 0; i < tries; i++)
		hits += twice_chain_has(c, key_at(salt, (UINT64_C(1) << 40) + i));
	return (double)hits;
}

static void
fill(struct twice_chain *c, uint64_t salt, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++)
		twice_chain_add(c, key_at(salt, i));
	for (uint64_t i = first; i < first + n; i++)
		ck_assert(twice_chain_has(c, key_at(salt, i)));
}

/* clang-format off */
static const struct twice_scalable_options scalables[] = {
	{ .keys = 1000, .fpr = 0.01 },
	{ .keys = 100,  .fpr = 0.01, .growth = 2, .ratio = 0.8 },
	{ .keys = 500,  .fpr = 0.05, .growth = 4, .ratio = 0.9 },
	{ .keys = 3000, .fpr = 0.02, .growth = 1, .ratio = 0.5 },
};
/* clang-format on */

START_TEST(a_scalable_chain_keeps_its_bound)
{
	struct twice_chain *c = twice_scalable_create(&scalables[_i]);
	fill(c, (uint64_t)_i, 0, 40000);
	ck_assert_uint_gt(twice_chain_links(c), 3);
	/* P0/(1-r) is the wanted rate: the sum of all links ever. */
	ck_assert_double_le(twice_chain_fpr_full(c), scalables[_i].fpr);
	ck_assert_double_le(twice_chain_fpr(c), scalables[_i].fpr);
	check_rate(false_hits(c, 300000, (uint64_t)_i), 300000, twice_chain_fpr(c));
	ck_assert_double_ge((double)twice_chain_count(c), 40000 * (1 - scalables[_i].fpr));
	twice_chain_destroy(&c);
	ck_assert_ptr_null(c);
}
END_TEST

/* Its seed decides how many ones they make: none may be unlucky. */
START_TEST(a_link_takes_the_keys_it_was_made_for)
{
	for (uint64_t salt = 0; salt < 200; salt++) {
		struct twice_chain *c = twice_scalable_create(&scalables[_i]);
		for (uint64_t i = 0; i < scalables[_i].keys; i++)
			twice_chain_add(c, key_at(salt, i));
		ck_assert_uint_eq(twice_chain_links(c), 1);
		ck_assert_double_le(twice_chain_fpr(c), twice_chain_fpr_full(c));
		twice_chain_destroy(&c);
	}
}
END_TEST

START_TEST(growth_is_announced)
{
	struct twice_chain_plan plan = twice_scalable_plan(&scalables[_i]);
	struct twice_chain *c = twice_scalable_create(&scalables[_i]);
	ck_assert_uint_eq(twice_chain_memory(c), twice_chain_first_bytes(&plan));
	for (uint64_t i = 0; i < 20000; i++) {
		size_t before = twice_chain_memory(c), more = twice_chain_next_bytes(c);
		twice_chain_add(c, key_at((uint64_t)_i, i));
		ck_assert(twice_chain_memory(c) == before ||
			  twice_chain_memory(c) == before + more);
	}
	twice_chain_destroy(&c);
}
END_TEST

START_TEST(a_dynamic_filter_pays_for_its_rows)
{
	struct twice_chain *c = twice_dynamic_create(2000, 0.002);
	fill(c, 5, 0, 20000);
	ck_assert_uint_ge(twice_chain_links(c), 10);
	ck_assert_double_eq_tol(twice_chain_fpr_full(c),
				1 - pow(1 - 0.002, (double)twice_chain_links(c)), 1e-9);
	check_rate(false_hits(c, 300000, 5), 300000, twice_chain_fpr(c));
	twice_chain_destroy(&c);
}
END_TEST

START_TEST(rows_of_dynamic_filters_merge)
{
	struct twice_chain *a = twice_dynamic_create(1000, 0.001),
			   *b = twice_dynamic_create(1000, 0.001);
	fill(a, 6, 0, 2300);
	fill(b, 6, 2000, 1500);
	ck_assert_int_eq(0, twice_chain_merge(a, b));
	for (uint64_t i = 0; i < 3500; i++)
		ck_assert(twice_chain_has(a, key_at(6, i)));
	ck_assert_uint_eq(twice_chain_links(a), 4); /* 2 full + 300|500 together + 1 full */
	fill(a, 6, 5000, 3000);
	twice_chain_destroy(&a);
	twice_chain_destroy(&b);
}
END_TEST

START_TEST(what_cannot_merge_says_so)
{
	struct twice_chain *a = twice_dynamic_create(1000, 0.001),
			   *b = twice_dynamic_create(1001, 0.001);
	struct twice_chain *s = twice_scalable_create(&scalables[0]);
	ck_assert_int_eq(-1, twice_chain_merge(a, b));
	ck_assert_int_eq(-1, twice_chain_merge(s, s));
	twice_chain_destroy(&a);
	twice_chain_destroy(&b);
	twice_chain_destroy(&s);
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_chain *c =
		twice_scalable_create(&(struct twice_scalable_options){.keys = 100, .fpr = 0.01});
	fill(c, 7, 0, 1000);
	struct twice_chain *again = check_sealed(&chain_sealed, c);
	ck_assert_uint_eq(twice_chain_count(again), twice_chain_count(c));
	fill(again, 7, 0, 3000); /* and it grows on by its plan */
	ck_assert_double_le(twice_chain_fpr(again), 0.01);
	twice_chain_destroy(&c);
	twice_chain_destroy(&again);
}
END_TEST

/* clang-format off */
static const struct twice_chain_plan impossible[] = {
	{ 0, 0.01, 1, 1 }, { 100, 0, 1, 1 }, { 100, 1, 1, 1 }, { 100, NAN, 1, 1 },
	{ 100, 0.01, 0, 1 }, { 100, 0.01, 1.1, 1 }, { 100, 0.01, 1, 0 }, { 100, 0.01, 1, 17 },
	{ UINT64_MAX, 0.01, 1, 1 },
};
/* clang-format on */

START_TEST(impossible_plans_are_refused)
{
	ck_assert_ptr_null(twice_chain_create(&impossible[_i]));
}
END_TEST

/* Growth from 100 keys to 100,000 costs what the table in README.md says. */
START_TEST(growing_a_thousandfold_costs_seventeen_bits_a_key)
{
	struct twice_scalable_options o = {.keys = 100, .fpr = 0.01};
	struct twice_chain *c = twice_scalable_create(&o);
	fill(c, 8, 0, 100000);
	double bits = 8 * (double)twice_chain_memory(c) / 100000;
	ck_assert_msg(bits > 14 && bits < 17.5, "%.2f bits", bits);
	check_rate(false_hits(c, 300000, 8), 300000, twice_chain_fpr(c));
	ck_assert_double_le(twice_chain_fpr(c), 0.01);
	twice_chain_destroy(&c);
}
END_TEST

UNIT("chain", TEST(growing_a_thousandfold_costs_seventeen_bits_a_key),
     LOOP(a_scalable_chain_keeps_its_bound, scalables),
     LOOP(a_link_takes_the_keys_it_was_made_for, scalables), LOOP(growth_is_announced, scalables),
     TEST(a_dynamic_filter_pays_for_its_rows), TEST(rows_of_dynamic_filters_merge),
     TEST(what_cannot_merge_says_so), TEST(sealed_bytes_come_back_or_are_refused),
     LOOP(impossible_plans_are_refused, impossible))
