/* sizing_text.c - the arithmetic of sizing.h said in words, for `twice size`. */
#include "filter/sizing.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "filter/pair_line.h"

enum { SIGHTINGS_MOST = 15 };

/* Text that grows as long as there is room, and counts on when there is none. */
struct text {
	char *out;
	size_t room, n;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *t, const char *format, ...)
{
	va_list args;
	size_t left = t->n < t->room ? t->room - t->n : 0;

	va_start(args, format);
	int n = vsnprintf(left ? t->out + t->n : NULL, left, format, args);
	va_end(args);
	t->n += n > 0 ? (size_t)n : 0;
}

/* 12345678 as "12,345,678" */
static const char *
grouped(char out[32], double count)
{
	char digits[32];
	int n = snprintf(digits, sizeof(digits), "%.0f", count), at = 0;

	for (int i = 0; i < n && at < 30; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

static const char *
bytes_word(char out[32], double bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	unsigned i = 0;

	for (; bytes >= 1000 && i < 4; i++)
		bytes /= 1000;
	snprintf(out, 32, bytes < 10 && i > 0 ? "%.2f %s" : "%.1f %s", bytes, units[i]);
	return out;
}

static const char *
percent(char out[32], double p)
{
	snprintf(out, 32, "%.3g%%", 100 * p);
	return out;
}

/* The rate over the life of a generation: the previous one is full, the current one
 * fills from nothing. Simpson's rule. */
static double
average_rate(const struct twice_sizing_plan *plan)
{
	enum { STEPS = 16 };
	double then = twice_sizing_line_fpr(&plan->line, plan->keys_per_line), sum = 0;

	for (unsigned i = 0; i <= STEPS; i++) {
		double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
		double keys = plan->keys_per_line * i / STEPS;

		sum += weight * (1 - (1 - then) * (1 - twice_sizing_line_fpr(&plan->line, keys)));
	}
	return sum / (3 * STEPS);
}

/* A pair, or several of them, as the text tells of. */
struct cascade {
	uint64_t urls;
	unsigned pairs;
	struct twice_sizing_plan first, later;
};

static bool
plan_pair(struct twice_sizing_plan *out, uint64_t capacity, double fpr)
{
	return twice_sizing_plan_lines(out, LINE_COLUMNS, WORD_BITS, 2, capacity, fpr);
}

static void
say_cost(struct text *t, const struct cascade *c)
{
	const struct twice_sizing_plan *plan = &c->first;
	double lines = (double)plan->lines + (double)(c->pairs - 1) * (double)c->later.lines;
	double bytes = lines * LINE_BYTES, urls = (double)c->urls;
	char a[32], b[32];

	say(t, "  memory             %s for both generations together: %.2f bits per URL\n",
	    bytes_word(a, bytes), 8 * bytes / urls);
	if (c->pairs > 1)
		say(t,
		    "                     (the first pair %s; %u for URLs that come back, each for\n"
		    "                     a quarter of the capacity)\n",
		    bytes_word(b, (double)plan->lines * LINE_BYTES), c->pairs - 1);
	say(t, "                     (a cache that keeps 128 bytes per URL would need %s)\n",
	    bytes_word(b, 128 * urls));
	say(t,
	    "  hashes             %u bits set per URL and generation: %u in each of two words of\n"
	    "                     one 64-byte line, so a question costs one access to memory\n",
	    2 * plan->line.per_word, plan->line.per_word);
}

static void
say_errors(struct text *t, const struct cascade *c)
{
	const struct twice_sizing_plan *plan = &c->first;
	double average = average_rate(plan);
	char a[32], b[32];

	say(t,
	    "  false positives    %s with both generations full; %s on average, since one of\n"
	    "                     them is always filling\n",
	    percent(a, plan->fpr), percent(b, average));
	if (c->pairs == 1)
		say(t,
		    "  what one costs     a URL asked for the first time is taken for known and written to\n"
		    "                     disk once: one needless write, never a wrong answer and never a\n"
		    "                     lost object\n");
	else
		say(t,
		    "  what one costs     a URL is taken for one that was asked for once more than it was,\n"
		    "                     and written to disk one request early\n");
	say(t, "  needless writes    about %s for every million URLs that are asked for once\n",
	    grouped(a, 1e6 * pow(average, c->pairs)));
	say(t, "                     (admitting at first sight: 1,000,000)\n");
}

static void
say_theory(struct text *t, double n, double p)
{
	double m = ceil(twice_sizing_bits(n, p)),
	       k = fmax(1, round(twice_sizing_best_hashes(m, n)));
	struct twice_sizing_choice choice = twice_sizing_fewest_hashes(p);
	char a[32], b[32];

	say(t, "For comparison, one classic Bloom filter of %s keys at %s:\n\n", grouped(a, n),
	    percent(b, p));
	say(t, "  bits               %s: %.2f per key (-n ln p / (ln 2)^2), %s\n", grouped(a, m),
	    m / n, bytes_word(b, m / 8));
	say(t, "  hashes             %.0f (best: %.2f = m/n ln 2)\n", k,
	    twice_sizing_best_hashes(m, n));
	say(t, "  rate               %.5f%% exactly, %.5f%% by the usual formula, at most %.5f%%\n",
	    100 * twice_sizing_fpr_exact(m, n, k), 100 * twice_sizing_fpr(m, n, k),
	    100 * twice_sizing_fpr_bound(m, n, k));
	say(t,
	    "  least possible     %.2f bits per key (log2(1/p)) for any structure; a Bloom filter\n"
	    "                     needs %.2f times as many\n",
	    twice_sizing_least_bits(1, p), TWICE_SIZING_BLOOM_COST);
	if (choice.hashes)
		say(t, "  fewest hashes      %u, with %u whole bits per key\n", choice.hashes,
		    choice.bits_per_key);
}

size_t
twice_sizing_explain(char *out, size_t room, uint64_t urls, double fpr, unsigned sightings)
{
	struct text t = {out, room, 0};
	struct cascade c = {.urls = urls, .pairs = sightings > 2 ? sightings - 1 : 1};
	char a[32], b[32];

	if (sightings > SIGHTINGS_MOST || !plan_pair(&c.first, urls, fpr) ||
	    !plan_pair(&c.later, twice_sizing_later_capacity(urls), fpr))
		return 0;
	if (c.pairs == 1)
		say(&t, "A pair of filters");
	else
		say(&t, "For %u sightings, a cascade of %u pairs of filters", sightings, c.pairs);
	say(&t, " for %s URLs per generation at %s false positives:\n\n", grouped(a, (double)urls),
	    percent(b, fpr));
	say_cost(&t, &c);
	say_errors(&t, &c);
	say(&t, "  remembers          at least the last %s different URLs, at most twice as many\n",
	    grouped(a, (double)urls));
	if (c.pairs > 1)
		say(&t, "                     (less if more than %s of them come back)\n",
		    grouped(a, (double)twice_sizing_later_capacity(urls)));
	say(&t, "\n");
	say_theory(&t, (double)urls, fpr);
	return t.n;
}

size_t
twice_sizing_explain_table(char *out, size_t room)
{
	struct text t = {out, room, 0};

	say(&t, "False positives of a classic filter, (1 - e^(-kn/m))^k:\n\n  m/n");
	for (unsigned k = 1; k <= TWICE_SIZING_TABLE_HASHES_MAX; k++)
		say(&t, "     k=%u", k);
	say(&t, "\n");
	for (unsigned bits = TWICE_SIZING_TABLE_BITS_MIN; bits <= TWICE_SIZING_TABLE_BITS_MAX;
	     bits++) {
		say(&t, "  %3u", bits);
		for (unsigned k = 1; k <= TWICE_SIZING_TABLE_HASHES_MAX; k++)
			say(&t, "  %.4f", twice_sizing_table_fpr(bits, k));
		say(&t, "\n");
	}
	return t.n;
}
