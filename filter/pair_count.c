/* pair_count.c - new keys are counted, which ends a generation when it is full; and what a pair says.
 *
 * The sum of the stripes is looked at rarely while a generation is far from full, and at every
 * key at its end.
 */
#include "filter/pair_inner.h"

#include <math.h>

enum {
	SWEEP_KEYS = 256,     /* a stripe's new keys between two pieces of sweeping */
	LINES_TO_LOOK = 256,  /* whose ones are counted to see whether about half are set, */
	LINES_TO_TELL = 2048, /* and to be reported */
	LOOKS = 64,	      /* look again after 1/64 of what is left to capacity */
};

struct fill {
	double now, then;
};

/* Ones among the bits of the current and the previous generation, 0 to 1, from so many lines at
 * even distances: keys lie at random, so any lines do. 2048 lines are good for 0.3% of
 * the answer. */
static struct fill
fill_of(const struct twice_pair *p, const struct view *v, uint64_t lines)
{
	uint64_t n = lines < p->line_count ? lines : p->line_count, now = 0, then = 0;
	double bits = (double)(n * LINE_COLUMNS * WORD_BITS);

	for (uint64_t i = 0; i < n; i++) {
		struct line *l = &p->lines[i * p->line_count / n];

		for (unsigned c = 0; c < LINE_COLUMNS; c++) {
			struct halves h;

			column_untouched(&l->column[c], v, &h);
			now += (unsigned)__builtin_popcountll(h.now);
			then += (unsigned)__builtin_popcountll(h.then);
		}
	}
	return (struct fill){(double)now / bits, (double)then / bits};
}

/* Ones are worth a look only where so many keys could come near half: at 1% a full
 * generation has 39%. A few lines say whether it may be half, many whether it is: the plan
 * (sizing.c) keeps a full generation four standard errors away from that. */
static bool
is_half_full(const struct twice_pair *p, uint64_t g, uint64_t keys)
{
	struct view v = view_of(g);
	double share = (double)keys / (double)p->options.capacity;

	return twice_sizing_line_fill(&p->plan.line, share * p->plan.keys_per_line) > 0.4 &&
	       fill_of(p, &v, LINES_TO_LOOK).now >= 0.48 &&
	       fill_of(p, &v, TWICE_SIZING_SAMPLE_LINES).now >= 0.5;
}

/* Far from the end few sums, and none too late: one thread alone closes a generation on
 * the very key that fills it. */
static void
look_at_sum(struct twice_pair *p, struct stripe *s, uint64_t g, uint64_t mine)
{
	uint64_t keys = twice_pair_counted(p, parity(g)).keys;

	if (keys >= p->options.capacity || is_half_full(p, g, keys)) {
		if (now_at(p) == g)
			twice_pair_rotate_from(p, g, false);
		return;
	}
	uint64_t left = (p->options.capacity - keys) / LOOKS;
	atomic_store(&s->look_at[parity(g)], mine + (left ? left : 1));
}

static uint64_t
lines_per_sweep(const struct twice_pair *p)
{
	return 1 + 2 * SWEEP_KEYS * p->line_count / p->options.capacity;
}

void
twice_pair_count(struct twice_pair *p, struct stripe *s, uint64_t g, uint64_t keys,
		 uint64_t recurring)
{
	unsigned half = parity(g);
	uint64_t before = atomic_fetch_add(&s->keys[half], keys), mine = before + keys;

	if (recurring)
		atomic_fetch_add(&s->recurring[half], recurring);
	if (mine / SWEEP_KEYS != before / SWEEP_KEYS)
		twice_pair_sweep(p, lines_per_sweep(p));
	if (mine >= atomic_load_explicit(&s->look_at[half], memory_order_relaxed))
		look_at_sum(p, s, g, mine);
}

/* ---- numbers ---- */

uint64_t
twice_pair_number(const struct twice_pair *p)
{
	return now_at(p) + atomic_load(&p->idle);
}

/* Keys that r keys counted as recurring stand for, when n keys each had a chance of p
 * to be found in the previous generation by mistake. */
static double
true_share(double r, double n, double p)
{
	if (n == 0 || p >= 1)
		return 0;
	return fmax(0, (r / n - p) / (1 - p));
}

void
twice_pair_stats(const struct twice_pair *p, struct twice_pair_stats *out)
{
	const struct twice_sizing_line *l = &p->plan.line;
	uint64_t g = now_at(p);
	struct twice_pair_count now = twice_pair_counted(p, parity(g)),
				then = twice_pair_counted(p, parity(g) ^ 1);
	struct view v = view_of(g);
	double lines = (double)p->line_count;
	struct fill fill = fill_of(p, &v, LINES_TO_TELL);
	double keys = twice_sizing_line_keys(l, fill.now),
	       old_keys = twice_sizing_line_keys(l, fill.then);
	double fpr = twice_sizing_line_fpr(l, keys), old_fpr = twice_sizing_line_fpr(l, old_keys);

	*out = (struct twice_pair_stats){
		.number = twice_pair_number(p),
		.keys = now.keys,
		.capacity = p->options.capacity,
		.previous_keys = then.keys,
		.recurring_keys = now.recurring,
		.rotations = twice_pair_number(p) - p->first_number,
		.fill_ratio = fill.now,
		.previous_fill_ratio = fill.then,
		.estimated_fpr = 1 - (1 - fpr) * (1 - old_fpr),
		.forecast_fpr = p->plan.fpr,
		.distinct_estimate = keys * lines,
		.previous_distinct_estimate = old_keys * lines,
		.recurring_share = true_share((double)now.recurring, (double)now.keys, old_fpr),
		.born_s = atomic_load(&p->born_s),
		.memory_bytes = sizeof(*p) + p->line_count * sizeof(struct line),
		.hashes = 2 * l->per_word,
		.bits_per_key = 8.0 * (double)(p->line_count * sizeof(struct line)) /
				(double)p->options.capacity,
	};
}
