/* sizing.c - the formulas, each where its source can be checked.
 *
 * Classic: B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors",
 * CACM 13(7), 1970; A. Broder and M. Mitzenmacher, "Network applications of Bloom
 * filters: a survey", Internet Mathematics 1(4), 2004; the upper bound: A. Goel and
 * P. Gupta, "Small subset queries and Bloom filters using ternary associative
 * memories", SIGMETRICS 2010; the bits-per-key table: L. Fan et al., "Summary cache",
 * IEEE/ACM ToN 8(3), 2000. Blocked: F. Putze, P. Sanders and J. Singler, "Cache-, hash-
 * and space-efficient Bloom filters", JEA 14, 2009.
 */
#include "filter/sizing.h"

#include <math.h>

#include "filter/pattern.h"

enum {
	CHOICE_BITS_MAX = 64,
	PER_WORD_MAX = 8,
	TERMS = 192,   /* of a Poisson sum */
	STEPS = 16,    /* of an integral */
	CROWDED = 200, /* keys in a line of at most 512 bits: nearly all ones */
};

double
twice_sizing_fpr_exact(double m, double n, double k)
{
	return pow(-expm1(k * n * log1p(-1 / m)), k);
}

double
twice_sizing_fpr(double m, double n, double k)
{
	return pow(-expm1(-k * n / m), k);
}

double
twice_sizing_fpr_bound(double m, double n, double k)
{
	return pow(-expm1(-k * (n + 0.5) / (m - 1)), k);
}

double
twice_sizing_best_hashes(double m, double n)
{
	return m / n * M_LN2;
}

double
twice_sizing_bits(double n, double p)
{
	return -n * log(p) / (M_LN2 * M_LN2);
}

double
twice_sizing_least_bits(double n, double p)
{
	return -n * log2(p);
}

double
twice_sizing_table_fpr(unsigned bits_per_key, unsigned hashes)
{
	return twice_sizing_fpr(bits_per_key, 1, hashes);
}

static double
three_digits(double p)
{
	double unit = pow(10, floor(log10(p)) - 2);
	return round(p / unit) * unit;
}

static bool
reaches(unsigned bits, unsigned hashes, double p)
{
	return three_digits(twice_sizing_table_fpr(bits, hashes)) <= p * (1 + 1e-9);
}

struct twice_sizing_choice
twice_sizing_fewest_hashes(double p)
{
	for (unsigned bits = 1; bits <= CHOICE_BITS_MAX; bits++) {
		unsigned best = (unsigned)fmax(1, round(twice_sizing_best_hashes(bits, 1)));

		for (unsigned k = 1; k <= best; k++)
			if (reaches(bits, k, p))
				return (struct twice_sizing_choice){bits, k};
	}
	return (struct twice_sizing_choice){0, 0};
}

/* ---- lines ---- */

static double
choose(double n, unsigned k)
{
	double c = 1;
	for (unsigned i = 0; i < k; i++)
		c *= (n - i) / (i + 1);
	return c;
}

/* By how much a key is likelier to set exactly the bits of another key in a word than if every
 * choice of bits were possible. */
static double
same_share(const struct twice_sizing_line *l)
{
	double all = choose(l->word_bits, l->per_word);

	return l->choices > 0 && l->choices < all ? 1.0 / l->choices - 1 / all : 0;
}

/* The chance that i bits of a word of these are missed by a key. */
static double
missed_by_key(const struct twice_sizing_line *l, unsigned i)
{
	return choose(l->word_bits - i, l->per_word) / choose(l->word_bits, l->per_word);
}

/* By how much i missed bits count in the inclusion and exclusion over a key's bits. */
static double
weight_of(const struct twice_sizing_line *l, unsigned i)
{
	return (i % 2 ? -1 : 1) * choose(l->per_word, i);
}

/* By inclusion and exclusion over the bits that all keys miss; and, where choices are few, the
 * chance that one of the keys chose the same. */
double
twice_sizing_word_fpr(const struct twice_sizing_line *l, unsigned keys)
{
	double random = 0;

	for (unsigned i = 0; i <= l->per_word; i++)
		random += weight_of(l, i) * pow(missed_by_key(l, i), keys);
	return 1 - pow(1 - same_share(l), keys) * (1 - random);
}

/* word[j], j < n, is the same for j keys: from each to the next, every power is one
 * multiplication. */
static void
word_fpr(double *word, unsigned n, const struct twice_sizing_line *l)
{
	double other = 1, others = 1 - same_share(l);

	for (unsigned j = 0; j < n; j++)
		word[j] = 0;
	for (unsigned i = 0; i <= l->per_word; i++) {
		double term = weight_of(l, i), missed = missed_by_key(l, i);

		for (unsigned j = 0; j < n; j++, term *= missed)
			word[j] += term;
	}
	for (unsigned j = 0; j < n; j++, other *= others)
		word[j] = 1 - other * (1 - word[j]);
}

/* Returns how many terms matter. */
static unsigned
poisson(double p[TERMS], double mean)
{
	unsigned j = 1;

	p[0] = exp(-mean);
	for (; j < TERMS && (j < mean || p[j - 1] > 1e-17); j++)
		p[j] = p[j - 1] * mean / j;
	return j;
}

/* A key picks one of `pairs` pairs of words. Of the others in the line, 1 in `pairs`
 * touches both of its words and words - 2 touch the first only, as many the second
 * only: three independent Poisson counts, of which the two words share one. */
double
twice_sizing_line_fpr(const struct twice_sizing_line *l, double keys_per_line)
{
	if (keys_per_line > CROWDED)
		return pow(twice_sizing_line_fill(l, keys_per_line), 2 * l->per_word);

	double pairs = choose(l->words, 2), sum = 0;
	double both[TERMS], only[TERMS], word[2 * TERMS];
	unsigned xs = poisson(both, keys_per_line / pairs);
	unsigned ys = poisson(only, keys_per_line * (l->words - 2) / pairs);

	word_fpr(word, xs + ys, l);
	for (unsigned x = 0; x < xs; x++) {
		double one_word = 0;

		for (unsigned y = 0; y < ys; y++)
			one_word += only[y] * word[x + y];
		sum += both[x] * one_word * one_word;
	}
	return sum;
}

/* A bit is touched by a key with probability 2/words * per_word/word_bits. */
static double
bit_share(const struct twice_sizing_line *l)
{
	return 2.0 * l->per_word / (l->words * l->word_bits);
}

double
twice_sizing_line_fill(const struct twice_sizing_line *l, double keys_per_line)
{
	return -expm1(-keys_per_line * bit_share(l));
}

double
twice_sizing_line_keys(const struct twice_sizing_line *l, double fill)
{
	return fill < 1 ? -log1p(-fill) / bit_share(l) : (double)INFINITY;
}

/* Simpson's rule; the rate is smooth and small. */
double
twice_sizing_line_counted(const struct twice_sizing_line *l, double keys_per_line)
{
	double step = keys_per_line / STEPS, sum = 0;

	for (unsigned i = 0; i <= STEPS; i++) {
		unsigned weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
		sum += weight * twice_sizing_line_fpr(l, i * step);
	}
	return keys_per_line - sum * step / 3;
}

double
twice_sizing_union_fpr(double p, unsigned generations)
{
	return -expm1(generations * log1p(-p));
}

static double
line_rate(const struct twice_sizing_line *l, unsigned generations, double keys_per_line)
{
	return twice_sizing_union_fpr(twice_sizing_line_fpr(l, keys_per_line), generations);
}

/* The most keys per line that keep the rate, by halving the interval. */
static double
most_keys(const struct twice_sizing_line *l, unsigned generations, double p)
{
	double low = 0, high = CROWDED;

	for (int i = 0; i < 20; i++) {
		double middle = (low + high) / 2;

		if (line_rate(l, generations, middle) <= p)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The standard error of the share of ones in so many lines, where half are ones. Two bits are
 * alike more often than chance has it when the same keys touch both: in one word, or in two. */
static double
half_error(const struct twice_sizing_line *l, double lines)
{
	double keys = twice_sizing_line_keys(l, 0.5), word = l->per_word / (double)l->word_bits;
	double in_one = 2.0 / l->words * word * (l->per_word - 1) / (l->word_bits - 1);
	double in_two = word * word / choose(l->words, 2);
	double alike = 1 + (l->word_bits - 1) * expm1(keys * in_one) +
		       (l->words - 1) * l->word_bits * expm1(keys * in_two);

	return sqrt(0.25 * alike / (lines * l->words * l->word_bits));
}

/* A generation that is half ones is closed before its time, and that is judged by a sample: a
 * full one must stay so far below that neither luck nor the sample closes it. */
static double
most_fill(const struct twice_sizing_line *l, unsigned generations, uint64_t capacity, double p)
{
	double most = fmin(most_keys(l, generations, p), twice_sizing_line_keys(l, 0.5));
	double lines = fmax(1, (double)capacity / most);

	return 0.5 - 4 * half_error(l, fmin(lines, TWICE_SIZING_SAMPLE_LINES));
}

bool
twice_sizing_plan_lines(struct twice_sizing_plan *out, unsigned words, unsigned word_bits,
			unsigned generations, uint64_t capacity, double p)
{
	if (!(p >= 1e-6 && p <= 0.5) || capacity < 1 || capacity > UINT64_C(1) << 30)
		return false;
	if (words < 2 || words > 8 || word_bits < 16 || word_bits > 64 || generations < 1)
		return false;

	struct twice_sizing_line best = {words, word_bits, 0, 0};
	double keys = 0;

	for (unsigned per_word = 1; per_word <= PER_WORD_MAX; per_word++) {
		struct twice_sizing_line l = {words, word_bits, per_word,
					      twice_pattern_choices(word_bits, per_word)};
		double fill = fmax(most_fill(&l, generations, capacity, p), 0.25);
		double most = fmin(most_keys(&l, generations, p), twice_sizing_line_keys(&l, fill));

		if (most <= keys) /* it rises to one summit and falls */
			break;
		best = l;
		keys = most;
	}
	double counted = twice_sizing_line_counted(&best, keys);

	out->line = best;
	out->lines = (uint64_t)ceil((double)capacity / counted);
	out->keys_per_line = keys * (double)capacity / (counted * (double)out->lines);
	out->fpr = line_rate(&best, generations, out->keys_per_line);
	return true;
}

uint64_t
twice_sizing_later_capacity(uint64_t capacity)
{
	/* Where the capacity binds, a quarter costs at most 0.4 points of hits beside a second pair as large as
	 * the first, half none, and an eighth up to 2 (README.md, The cascade). */
	enum { LATER_SHARE = 4 };

	return capacity / LATER_SHARE + (capacity % LATER_SHARE != 0);
}
