/* rooms: filter
 *
 * What the arithmetic forecasts for a pair, held against pairs that are full. Rates down to one in
 * a million cannot be sampled in a test; they are counted: in each line, the share of all choices
 * of bits that are ones already. Only where the keys fell is left to chance, and the lines
 * themselves say how much that is. Seeds are fixed and printed with a failure.
 */
#include "tests/kit/unit.h"

#include <math.h>

#include "filter/mix.h"
#include "filter/pair_inner.h"

enum { SEEDS = SANITIZED ? 1 : 3, TRIES = SANITIZED ? 15 : 150 };

static struct twice_key_hash
key(uint64_t i)
{
	return (struct twice_key_hash){mix_bits(2 * i), mix_bits(2 * i + 1)};
}

/* Choices of bits that are ones in the word, in another, and in both: of all there are. Every
 * pattern has bit 0, so a turned one needs the bit it was turned by. */
struct shares {
	double now, then, both;
};

static struct shares
shares_of(const uint64_t pattern[PATTERNS], unsigned bits, uint64_t now, uint64_t then)
{
	uint64_t all = ~UINT64_C(0) >> (64 - bits);
	unsigned a = 0, b = 0, ab = 0;

	for (unsigned by = 0; by < bits; by++) {
		if (!((now | then) >> by & 1))
			continue;
		/* the word turned back instead of each pattern turned */
		uint64_t no = ~(now >> by | now << 1 << (bits - 1 - by)) & all;
		uint64_t no_then = ~(then >> by | then << 1 << (bits - 1 - by)) & all;
		for (unsigned i = 0; i < PATTERNS; i++) {
			unsigned x = !(pattern[i] & no), y = !(pattern[i] & no_then);
			a += x;
			b += y;
			ab += x & y;
		}
	}
	double n = (double)bits * PATTERNS;
	return (struct shares){a / n, b / n, ab / n};
}

/* ---- one word ---- */

static const double planned[] = {0.5, 0.15, 0.01, 0.001, 1e-4, 1e-5, 1e-6}; /* 1 to 7 bits */

/* The spread of a few tries knows nothing of rare ones: 5% are allowed beside it. */
/* Twelve keys in a word of the pair, one after the other: after each, the share of choices that
 * are there already. */
START_TEST(a_word_is_forecast_whatever_the_number_of_bits)
{
	enum { KEYS = 12 };
	struct twice_sizing_plan plan;
	struct twice_sizing_line l;
	uint64_t pattern[PATTERNS], row = 5;
	double sum[KEYS + 1] = {0}, squares[KEYS + 1] = {0};

	ck_assert(twice_sizing_plan_lines(&plan, LINE_COLUMNS, WORD_BITS, 2, 100000, planned[_i]));
	l = plan.line;
	twice_pattern_fill(pattern, WORD_BITS, l.per_word);
	for (int t = 0; t < TRIES; t++) {
		uint64_t word = 0;
		for (int j = 1; j <= KEYS; j++) {
			word |= pattern_bits(pattern, WORD_BITS, mix_next(&row) >> 7);
			double share = shares_of(pattern, WORD_BITS, word, 0).now;
			sum[j] += share;
			squares[j] += share * share;
		}
	}
	for (unsigned j = 1; j <= KEYS; j++) {
		double mean = sum[j] / TRIES, want = twice_sizing_word_fpr(&l, j);
		double error = sqrt(fmax(squares[j] / TRIES - mean * mean, 0) / TRIES);
		ck_assert_msg(fabs(mean - want) <= 5 * error + 0.05 * want,
			      "seed 5, %u bits, %u keys: %.3g, forecast %.3g, error %.2g",
			      l.per_word, j, mean, want, error);
	}
}
END_TEST

/* ---- a whole pair ---- */

static const struct {
	uint64_t capacity;
	double fpr;
} full[] = {
	{1000, 0.5},   {50000, 0.5},   {50000, 0.15},	{50000, 0.04},	 {1000, 0.01},
	{50000, 0.01}, {50000, 0.001}, {50000, 0.0003}, {40000, 0.0001}, {20000, 1e-5},
};

/* Both generations hold capacity keys. Neither closes early. */
static struct twice_pair *
filled(uint64_t capacity, double fpr, uint64_t seed)
{
	struct twice_pair *p = NULL;
	struct twice_pair_options o = {.capacity = capacity, .false_positives = fpr};
	uint64_t i = seed << 40, left;

	ck_assert_int_eq(twice_pair_create(&p, &o, 0), 0);
	for (int generation = 0; generation < 2; generation++) {
		for (left = capacity - (generation == 1); left > 0;) {
			left -= twice_pair_record(p, key(i++)) != TWICE_SIGHT_CURRENT;
			ck_assert_msg(twice_pair_number(p) == (unsigned)generation || left == 0,
				      "%lu keys at %g, seed %lu: closed %lu keys early",
				      (unsigned long)capacity, fpr, (unsigned long)seed,
				      (unsigned long)left);
		}
		ck_assert_uint_eq(twice_pair_number(p), 1);
	}
	return p;
}

static double
line_rate(const struct twice_pair *p, struct line *l, const struct view *v)
{
	struct shares s[LINE_COLUMNS];
	double rate = 0;

	for (unsigned c = 0; c < LINE_COLUMNS; c++) {
		struct halves h;
		column_untouched(&l->column[c], v, &h);
		s[c] = shares_of(p->pattern, WORD_BITS, h.now, h.then);
	}
	for (unsigned a = 0; a < LINE_COLUMNS; a++)
		for (unsigned b = a + 1; b < LINE_COLUMNS; b++)
			rate += s[a].now * s[b].now + s[a].then * s[b].then - s[a].both * s[b].both;
	return rate / (LINE_COLUMNS * (LINE_COLUMNS - 1) / 2.0);
}

START_TEST(a_full_pair_is_as_wrong_as_forecast_and_no_more_than_promised)
{
	double sum = 0, squares = 0, n = 0, forecast = 0, promise = full[_i].fpr;
	/* A small pair has few lines: what it says by itself is little. */
	int seeds = full[_i].capacity > 1000 && !getenv("TWICE_LONG") ? 1 : SEEDS;

	for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
		struct twice_pair *p = filled(full[_i].capacity, promise, seed);
		struct view v = view_of(now_at(p));
		struct twice_pair_stats stats;

		for (uint64_t i = 0; i < p->line_count; i++, n++) {
			double rate = line_rate(p, &p->lines[i], &v);
			sum += rate;
			squares += rate * rate;
		}
		twice_pair_stats(p, &stats);
		forecast = stats.forecast_fpr;
		twice_pair_destroy(&p);
	}
	double mean = sum / n, error = sqrt((squares / n - mean * mean) / n);
	ck_assert_msg(mean - forecast <= 4 * error && mean <= promise + 4 * error,
		      "seeds 1 to %d, %lu keys: %.4g, forecast %.4g, promised %.4g, error %.2g",
		      seeds, (unsigned long)full[_i].capacity, mean, forecast, promise, error);
	/* A handful of lines holds fewer keys than the model's endless row of them. */
	ck_assert(full[_i].capacity <= 1000 || forecast - mean <= 4 * error);
}
END_TEST

UNIT("forecast", LOOP(a_word_is_forecast_whatever_the_number_of_bits, planned),
     LOOP(a_full_pair_is_as_wrong_as_forecast_and_no_more_than_promised, full))
