/* test_sizing.c - formulas against published values, against each other, and against counted
 * false positives of the plainest filter there is.
 * rooms: filter
 */
#include "filter/sizing.h"
#include "tests/kit/family.h"

static void
near_to(double got, double want, double relative)
{
	ck_assert_msg(fabs(got / want - 1) <= relative, "%.8g, not %.8g", got, want);
}

/* Fan et al., "Summary cache", table of bits per key by hashes; to three figures. */
static const struct {
	unsigned bits, hashes;
	double fpr;
} published[] = {
	{2, 1, 0.393},	{2, 2, 0.400},	{3, 2, 0.237},	{3, 3, 0.253},	{4, 3, 0.147},
	{5, 3, 0.092},	{6, 4, 0.0561}, {7, 5, 0.0347}, {8, 4, 0.0240}, {8, 5, 0.0217},
	{8, 6, 0.0216}, {8, 7, 0.0229}, {9, 5, 0.0141}, {9, 6, 0.0133}, {9, 7, 0.0135},
};

START_TEST(table_is_the_published_one)
{
	near_to(twice_sizing_table_fpr(published[_i].bits, published[_i].hashes), published[_i].fpr,
		4e-3);
}
END_TEST

static const struct {
	double p;
	unsigned bits, hashes;
} fewest[] = {
	{0.025, 8, 4}, {0.01, 10, 5}, {0.001, 15, 7}, {0.5, 2, 1}, {0.1, 5, 3},
};

START_TEST(fewest_hashes_that_reach_p)
{
	struct twice_sizing_choice c = twice_sizing_fewest_hashes(fewest[_i].p);

	ck_assert_uint_eq(c.bits_per_key, fewest[_i].bits);
	ck_assert_uint_eq(c.hashes, fewest[_i].hashes);
}
END_TEST

START_TEST(no_choice_reaches_zero)
{
	ck_assert_uint_eq(twice_sizing_fewest_hashes(0).hashes, 0);
	ck_assert_uint_eq(twice_sizing_fewest_hashes(1e-30).hashes, 0);
}
END_TEST

START_TEST(exact_approximate_and_bound_agree_and_are_in_order)
{
	for (double m = 100; m < 1e9; m *= 10)
		for (unsigned k = 1; k <= 10; k++) {
			double exact = twice_sizing_fpr_exact(m, m / 10, k);

			near_to(twice_sizing_fpr(m, m / 10, k), exact, 5.0 / m * k);
			ck_assert(twice_sizing_fpr_bound(m, m / 10, k) >= exact);
			near_to(twice_sizing_fpr_bound(m, m / 10, k), exact, 20.0 / m * k);
		}
	near_to(twice_sizing_fpr_exact(8, 1, 1), 1.0 / 8,
		1e-12); /* one key, one hash: one bit of 8 */
	near_to(twice_sizing_fpr_exact(2, 2, 1), 3.0 / 4, 1e-12);
}
END_TEST

START_TEST(best_hashes_and_bits_fit_together)
{
	for (double p = 0.3; p > 1e-9; p /= 3) {
		double m = twice_sizing_bits(1000, p), k = twice_sizing_best_hashes(m, 1000);

		near_to(twice_sizing_fpr(m, 1000, k), p, 1e-9);
		near_to(m / twice_sizing_least_bits(1000, p), TWICE_SIZING_BLOOM_COST, 1e-9);
		ck_assert(twice_sizing_fpr(m, 1000, k * 1.1) > p &&
			  twice_sizing_fpr(m, 1000, k * 0.9) > p);
	}
	near_to(twice_sizing_bits(1, 0.01), 9.585, 1e-4);
	near_to(twice_sizing_least_bits(1, 1.0 / 1024), 10, 1e-12);
}
END_TEST

/* The reference: a bit per byte, k independent places, nothing clever. */
static double
counted_fpr(size_t keys, unsigned bits, unsigned hashes, unsigned tries)
{
	size_t m = keys * bits;
	unsigned char *set = calloc(m, 1);
	uint64_t row = bits * 100 + hashes, found = 0;

	for (size_t i = 0; i < keys * hashes; i++)
		set[mix_next(&row) % m] = 1;
	for (unsigned i = 0; i < tries; i++) {
		bool all = true;
		for (unsigned h = 0; h < hashes; h++)
			all &= set[mix_next(&row) % m];
		found += all;
	}
	free(set);
	return (double)found / tries;
}

START_TEST(table_is_reproduced_by_counting)
{
	enum { KEYS = 50000, TRIES = 200000 };
	unsigned bits = TWICE_SIZING_TABLE_BITS_MIN + (unsigned)_i;

	for (unsigned k = 1; k <= TWICE_SIZING_TABLE_HASHES_MAX; k++) {
		double p = twice_sizing_fpr_exact((double)KEYS * bits, KEYS, k);
		/* the tries' own spread, and that of the ones: k/m of theirs per key */
		double error = sqrt(p * (1 - p) / TRIES) + p * k * 0.5 / sqrt((double)KEYS * bits);
		double counted = counted_fpr(KEYS, bits, k, TRIES);

		ck_assert_msg(fabs(counted - p) < 3.5 * error, "m/n=%u k=%u: %.5f, forecast %.5f",
			      bits, k, counted, p);
	}
}
END_TEST

/* ---- lines ---- */

/* Counts what twice_sizing_line_fpr forecasts, with truly different bits per word. */
static double
counted_line_fpr(const struct twice_sizing_line *l, double keys_per_line)
{
	enum { LINES = 4000, TRIES = 400 };
	uint64_t row = 99, found = 0;
	uint64_t(*lines)[8] = calloc(LINES, sizeof(*lines));

	for (uint64_t i = 0; i < (uint64_t)(keys_per_line * LINES) + (uint64_t)LINES * TRIES; i++) {
		bool adds = i < (uint64_t)(keys_per_line * LINES), all = true;
		uint64_t *line = lines[mix_next(&row) % LINES];
		uint64_t first = mix_next(&row) % l->words, second;

		do
			second = mix_next(&row) % l->words;
		while (second == first);
		for (unsigned w = 0; w < 2; w++) {
			uint64_t bits = 0;
			while (__builtin_popcountll(bits) < (int)l->per_word)
				bits |= UINT64_C(1) << mix_next(&row) % l->word_bits;
			uint64_t *word = &line[w ? second : first];
			all &= (*word & bits) == bits;
			if (adds)
				*word |= bits;
		}
		found += !adds && all;
	}
	free(lines);
	return (double)found / ((double)LINES * TRIES);
}

static const struct {
	struct twice_sizing_line line;
	double keys;
} lines[] = {
	{{4, 62, 3, 0}, 20}, {{4, 62, 1, 0}, 40}, {{4, 62, 2, 0}, 30},
	{{8, 64, 3, 0}, 50}, {{8, 64, 4, 0}, 30},
};

START_TEST(line_model_is_reproduced_by_counting)
{
	double p = twice_sizing_line_fpr(&lines[_i].line, lines[_i].keys);
	double counted = counted_line_fpr(&lines[_i].line, lines[_i].keys);

	/* 1.6 million tries in 4000 lines: both spreads */
	near_to(counted, p, 3.5 * (1 / sqrt(p * 1.6e6) + 1 / sqrt(4000) / 2));
}
END_TEST

START_TEST(fill_and_keys_are_inverse)
{
	struct twice_sizing_line l = {4, 62, 3, 0};

	for (double keys = 0.1; keys < 100; keys *= 2)
		near_to(twice_sizing_line_keys(&l, twice_sizing_line_fill(&l, keys)), keys, 1e-9);
	ck_assert(twice_sizing_line_keys(&l, 0) == 0);
	ck_assert(isinf(twice_sizing_line_keys(&l, 1)));
	ck_assert(twice_sizing_line_fpr(&l, 0) == 0);
	ck_assert(fabs(twice_sizing_line_fpr(&l, (double)INFINITY) - 1) < 1e-9);
}
END_TEST

START_TEST(plans_keep_rate_and_memory)
{
	struct twice_sizing_plan plan;

	for (double p = 0.2; p >= 1e-6; p /= 2) {
		ck_assert(twice_sizing_plan_lines(&plan, 4, 62, 2, 1000000, p));
		ck_assert_msg(plan.fpr <= p && plan.fpr > 0.95 * p, "%g for %g", plan.fpr, p);
		ck_assert(twice_sizing_line_fill(&plan.line, plan.keys_per_line) < 0.5);
	}
	ck_assert(twice_sizing_plan_lines(&plan, 4, 62, 2, 10000000, 0.01));
	ck_assert(512.0 * (double)plan.lines / 1e7 <= 25.5);
	ck_assert(!twice_sizing_plan_lines(&plan, 4, 62, 2, 0, 0.01));
	ck_assert(!twice_sizing_plan_lines(&plan, 4, 62, 2, 10, 0));
	ck_assert(!twice_sizing_plan_lines(&plan, 4, 62, 2, 10, (double)NAN));
}
END_TEST

START_TEST(a_cascade_is_said_in_words)
{
	char text[8192];

	ck_assert_uint_gt(twice_sizing_explain(text, sizeof(text), 10000000, 0.01, 3), 0);
	ck_assert_ptr_nonnull(strstr(text, "For 3 sightings, a cascade of 2 pairs"));
	ck_assert_ptr_nonnull(strstr(text, "31.50 bits per URL"));
	ck_assert_ptr_nonnull(strstr(text, "(less if more than 2,500,000 of them come back)"));
	ck_assert_uint_gt(twice_sizing_explain(text, sizeof(text), 10000000, 0.01, 1), 0);
	ck_assert_ptr_null(strstr(text, "cascade"));
	ck_assert_uint_eq(twice_sizing_explain(text, sizeof(text), 10000000, 0.01, 16), 0);
}
END_TEST

START_TEST(text_is_whole_or_cut_as_snprintf_does)
{
	char text[8192], cut[100];
	size_t n = twice_sizing_explain(text, sizeof(text), 10000000, 0.01, 2);

	ck_assert_uint_eq(n, strlen(text));
	ck_assert(strstr(text, "31.4 MB") || strstr(text, "31.5 MB"));
	ck_assert_ptr_nonnull(strstr(text, "one needless write"));
	ck_assert_uint_eq(twice_sizing_explain(cut, sizeof(cut), 10000000, 0.01, 2), n);
	ck_assert_uint_eq(strlen(cut), sizeof(cut) - 1);
	ck_assert_int_eq(strncmp(cut, text, sizeof(cut) - 1), 0);
	ck_assert_uint_eq(twice_sizing_explain(text, sizeof(text), 0, 0.01, 2), 0);
	ck_assert_uint_eq(twice_sizing_explain(text, sizeof(text), 1, 2, 2), 0);
	twice_sizing_explain_table(text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "0.0216"));
	ck_assert_ptr_nonnull(strstr(text, "0.0133"));
}
END_TEST

UNIT("sizing", LOOP(table_is_the_published_one, published),
     LOOP(fewest_hashes_that_reach_p, fewest), TEST(no_choice_reaches_zero),
     TEST(exact_approximate_and_bound_agree_and_are_in_order),
     TEST(best_hashes_and_bits_fit_together), TEST(a_cascade_is_said_in_words),
     TIMES(table_is_reproduced_by_counting,
	   TWICE_SIZING_TABLE_BITS_MAX - TWICE_SIZING_TABLE_BITS_MIN + 1),
     LOOP(line_model_is_reproduced_by_counting, lines), TEST(fill_and_keys_are_inverse),
     TEST(plans_keep_rate_and_memory), TEST(text_is_whole_or_cut_as_snprintf_does))
