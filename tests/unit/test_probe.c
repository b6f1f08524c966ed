/* test_probe.c - the places of a key are the ones its scheme's formula names.
 * rooms: filter
 */
#include "filter/family/probe.h"
#include "tests/kit/family.h"

#define RANGE 1009u

/* The formulas as they are printed, in wide numbers and with a division. */
static uint64_t
by_formula(enum twice_probe_scheme s, uint64_t h1, uint64_t h2, uint64_t i)
{
	uint64_t extra = s == TWICE_PROBE_ENHANCED    ? (i * i * i - i) / 6
			 : s == TWICE_PROBE_QUADRATIC ? i * i
						      : 0;
	return (h1 + i * h2 + extra) % RANGE;
}

START_TEST(places_follow_the_formula)
{
	uint64_t place[TWICE_PROBE_MOST];
	for (unsigned s = TWICE_PROBE_DOUBLE; s < TWICE_PROBE_SCHEME_COUNT; s++)
		for (uint64_t k = 0; k < 500; k++) {
			struct twice_probe p = {RANGE, TWICE_PROBE_MOST,
						(enum twice_probe_scheme)s};
			struct twice_key_hash h = key_at(1, k);
			uint64_t h1 = mix_range(h.lo, RANGE), h2 = 1 + mix_range(h.hi, RANGE - 1);
			twice_probe_places(&p, h, place);
			for (uint64_t i = 0; i < TWICE_PROBE_MOST; i++)
				ck_assert_uint_eq(place[i], by_formula(p.scheme, h1, h2, i));
		}
}
END_TEST

/* _i is the scheme: every place equally often, at every turn (chi-squared, 64 boxes). */
START_TEST(places_are_spread_evenly)
{
	enum { BOXES = 64, KEYS = 64000, TURNS = 8 };
	static double boxes[TURNS][BOXES];
	struct twice_probe p = {TWICE_PROBE_RANGE_LEAST, TURNS, (enum twice_probe_scheme)_i};
	uint64_t place[TWICE_PROBE_MOST];
	for (uint64_t k = 0; k < KEYS; k++) {
		twice_probe_places(&p, key_at(2, k), place);
		for (unsigned i = 0; i < TURNS; i++)
			boxes[i][place[i]]++;
	}
	for (unsigned i = 0; i < TURNS; i++) {
		double want = KEYS / BOXES, chi = 0;
		for (unsigned b = 0; b < BOXES; b++)
			chi += (boxes[i][b] - want) * (boxes[i][b] - want) / want;
		ck_assert_double_lt(chi, BOXES - 1 + 5 * sqrt(2.0 * (BOXES - 1)));
	}
}
END_TEST

START_TEST(distinct_places_are_the_same_without_repeats)
{
	struct twice_probe p = {TWICE_PROBE_RANGE_LEAST, 20, (enum twice_probe_scheme)_i};
	uint64_t all[TWICE_PROBE_MOST], some[TWICE_PROBE_MOST];
	for (uint64_t k = 0; k < 2000; k++) {
		uint64_t seen = 0, left = 0;
		twice_probe_places(&p, key_at(3, k), all);
		unsigned n = twice_probe_distinct(&p, key_at(3, k), some);
		for (unsigned i = 0; i < p.n; i++)
			seen |= UINT64_C(1) << all[i];
		for (unsigned i = 0; i < n; i++)
			left |= UINT64_C(1) << some[i];
		ck_assert_uint_eq(seen, left);
		ck_assert_int_eq((int)n, __builtin_popcountll(seen));
	}
}
END_TEST

UNIT("probe", TEST(places_follow_the_formula),
     TIMES(places_are_spread_evenly, TWICE_PROBE_SCHEME_COUNT),
     TIMES(distinct_places_are_the_same_without_repeats, TWICE_PROBE_SCHEME_COUNT))
