/* test_silly.c - parameters that make no sense are refused at every door, and no formula
 * answers with something that is not a number. rooms: filter
 */
#include "tests/kit/unit.h"

#include <math.h>

#include "filter/family/blocked.h"
#include "filter/family/bloom.h"
#include "filter/family/bloomier.h"
#include "filter/family/cells.h"
#include "filter/family/counting.h"
#include "filter/family/dynamic.h"
#include "filter/family/estimate.h"
#include "filter/family/filter.h"
#include "filter/family/retouched.h"
#include "filter/family/scalable.h"
#include "filter/family/stable.h"
#include "filter/pair.h"
#include "filter/sizing.h"

static const double rates[] = {0, -1, 1, 1.5, 1e300, -1e-9, NAN, INFINITY, -INFINITY};
static const uint64_t counts[] = {0, UINT64_MAX, UINT64_C(1) << 60};

/* Whether anything takes these: nobody may. */
static const char *
taken_by(uint64_t keys, double fpr)
{
	struct twice_pair *p = NULL;
	struct twice_probe shape = twice_bloom_shape(keys, fpr);
	struct twice_cells_shape cells = twice_cells_shape(keys, fpr);
	struct twice_stable_shape stable = twice_stable_shape_for(keys, 0.9, fpr);
	struct twice_sizing_plan plan;

	if (twice_pair_create(&p, &(struct twice_pair_options){keys, fpr, 0}, 0) == 0)
		return "pair";
	if (twice_sizing_plan_lines(&plan, 4, 62, 2, keys, fpr))
		return "plan";
	if (twice_sizing_explain(NULL, 0, keys, fpr, 2))
		return "explain";
	if (twice_blocked_create(keys, fpr))
		return "blocked";
	if (twice_bloom_create(&shape))
		return "bloom";
	if (twice_counting_create(&shape, TWICE_COUNTING_PLAIN))
		return "counting";
	if (twice_retouched_create(&shape, 1))
		return "retouched";
	if (twice_cells_create(&cells))
		return "cells";
	if (twice_stable_create(&stable, 1))
		return "stable";
	if (twice_dynamic_create(keys, fpr))
		return "dynamic";
	if (twice_scalable_create(&(struct twice_scalable_options){.keys = keys, .fpr = fpr}))
		return "scalable";
	for (int kind = 0; kind < TWICE_FILTER_KIND_COUNT; kind++) {
		struct twice_filter_options o = {.kind = (enum twice_filter_kind)kind,
						 .sightings = 2,
						 .capacity = keys,
						 .false_positives = fpr};
		if (twice_filter_create(&o, 0) || !twice_filter_may(&o))
			return twice_filter_word(o.kind);
	}
	return NULL;
}

START_TEST(rates_that_are_none)
{
	const char *who = taken_by(1000, rates[_i]);

	ck_assert_msg(!who, "%s takes a rate of %g", who, rates[_i]);
}
END_TEST

START_TEST(keys_that_are_none_or_too_many)
{
	const char *who = taken_by(counts[_i], 0.01);

	ck_assert_msg(!who, "%s takes %llu keys", who, (unsigned long long)counts[_i]);
}
END_TEST

START_TEST(ratios_and_shares_that_are_none)
{
	double x = rates[_i];
	struct twice_scalable_options o = {.keys = 100, .fpr = 0.01, .ratio = x};
	struct twice_stable_shape s = twice_stable_shape_for(100, x, 0.01);

	ck_assert(x == 0 || !twice_scalable_create(&o)); /* 0 is the default */
	ck_assert(!twice_stable_create(&s, 1));
}
END_TEST

/* clang-format off */
static const struct twice_probe probes[] = {
	{0, 0, 0}, {1000, 0, 0}, {63, 3, 0}, {1000, 65, 0}, {(UINT64_C(1) << 48) + 1, 3, 0},
	{UINT64_MAX, 3, 0}, {1000, 3, TWICE_PROBE_SCHEME_COUNT},
};
static const struct twice_stable_shape stables[] = {
	{0, 0, 0, 0}, {1000, 0, 3, 1}, {1000, 9, 3, 1}, {1000, 3, 0, 1}, {1000, 3, 3, 0},
	{1000, 3, 3, 1001}, {UINT64_MAX, 3, 3, 1},
};
/* clang-format on */

START_TEST(shapes_that_are_none)
{
	ck_assert(!twice_bloom_create(&probes[_i]));
	ck_assert(!twice_counting_create(&probes[_i], TWICE_COUNTING_PLAIN));
	ck_assert(!twice_retouched_create(&probes[_i], 1));
	ck_assert(!twice_stable_create(&stables[_i], 1));
}
END_TEST

START_TEST(choices_that_are_none)
{
	struct twice_probe shape = twice_bloom_shape(100, 0.01);
	struct twice_bloomier_pair two[] = {{{1, 2}, 4}, {{1, 2}, 4}};
	struct twice_sizing_plan plan;

	ck_assert(!twice_counting_create(&shape, (enum twice_counting_update)2));
	ck_assert(!twice_bloomier_build(two, 1, 2, 8)); /* the value needs three bits */
	ck_assert(!twice_bloomier_build(two, 2, 3, 8)); /* a key twice */
	ck_assert(!twice_bloomier_build(two, 0, 0, 0)); /* no bits at all */
	ck_assert(!twice_bloomier_build(two, 1, 33, 8));
	ck_assert(!twice_bloomier_build(two, 1, 20, 13)); /* 33 bits */
	ck_assert(!twice_sizing_plan_lines(&plan, 0, 62, 2, 100, 0.01));
	ck_assert(!twice_sizing_plan_lines(&plan, 4, 0, 2, 100, 0.01));
	ck_assert(!twice_sizing_plan_lines(&plan, 4, 65, 2, 100, 0.01));
	ck_assert(!twice_sizing_plan_lines(&plan, 4, 62, 0, 100, 0.01));
}
END_TEST

START_TEST(estimates_are_numbers)
{
	static const uint64_t bits[] = {0, 1, 64, UINT64_MAX};
	static const unsigned hashes[] = {0, 1, 64, UINT32_MAX};

	for (unsigned i = 0; i < 64; i++) {
		uint64_t b = bits[i & 3], ones = bits[i >> 4];
		unsigned k = hashes[i >> 2 & 3];
		struct twice_estimate e = twice_estimate_keys(b, k, ones);
		struct twice_estimate_pair two = {b, k, ones, ones / 2, ones};
		struct twice_estimate both = twice_estimate_both(&two);

		ck_assert(!isnan(e.keys) && !isnan(e.error) && e.keys >= 0 && e.error >= 0);
		ck_assert(!isnan(both.keys) && !isnan(both.error) && both.keys >= 0);
		ck_assert(!isnan(twice_estimate_fpr(b, k, ones)));
	}
	ck_assert(isinf(twice_estimate_keys(64, 0, 0).keys));
	ck_assert(twice_estimate_keys(64, 1, 0).keys == 0);
}
END_TEST

UNIT("silly", LOOP(rates_that_are_none, rates), LOOP(keys_that_are_none_or_too_many, counts),
     LOOP(ratios_and_shares_that_are_none, rates), LOOP(shapes_that_are_none, probes),
     TEST(choices_that_are_none), TEST(estimates_are_numbers))
