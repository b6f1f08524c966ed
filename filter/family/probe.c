#include "filter/family/probe.h"

#include "filter/mix.h"

bool
twice_probe_may(const struct twice_probe *p)
{
	return p->range >= TWICE_PROBE_RANGE_LEAST && p->range <= TWICE_PROBE_RANGE_MOST &&
	       p->n >= 1 && p->n <= TWICE_PROBE_MOST && p->scheme < TWICE_PROBE_SCHEME_COUNT;
}

/* How much the step itself grows after place i; the sums are the formulas of the table. */
static uint64_t
growth(enum twice_probe_scheme s, unsigned i)
{
	switch (s) {
	case TWICE_PROBE_ENHANCED:
		return i + 1;
	case TWICE_PROBE_QUADRATIC:
		return 2;
	default:
		return 0;
	}
}

static uint64_t
wrap(uint64_t x, uint64_t range)
{
	return x < range ? x : x - range;
}

static void
walk(const struct twice_probe *p, struct twice_key_hash h, uint64_t place[])
{
	uint64_t at = mix_range(h.lo, p->range);
	uint64_t step = 1 + mix_range(h.hi, p->range - 1);
	if (p->scheme == TWICE_PROBE_QUADRATIC)
		step = wrap(step + 1, p->range);
	for (unsigned i = 0; i < p->n; i++) {
		place[i] = at;
		at = wrap(at + step, p->range);
		step = wrap(step + growth(p->scheme, i), p->range);
	}
}

static void
draw(const struct twice_probe *p, struct twice_key_hash h, uint64_t place[])
{
	uint64_t row = h.lo ^ mix_bits(h.hi);
	for (unsigned i = 0; i < p->n; i++)
		place[i] = mix_range(mix_next(&row) ^ h.hi, p->range);
}

void
twice_probe_places(const struct twice_probe *p, struct twice_key_hash h,
		   uint64_t place[TWICE_PROBE_MOST])
{
	if (p->scheme == TWICE_PROBE_INDEPENDENT)
		draw(p, h, place);
	else
		walk(p, h, place);
}

static bool
among(const uint64_t place[], unsigned n, uint64_t x)
{
	while (n > 0 && place[n - 1] != x)
		n--;
	return n > 0;
}

unsigned
twice_probe_distinct(const struct twice_probe *p, struct twice_key_hash h,
		     uint64_t place[TWICE_PROBE_MOST])
{
	unsigned n = 0;
	twice_probe_places(p, h, place);
	for (unsigned i = 0; i < p->n; i++)
		if (!among(place, n, place[i]))
			place[n++] = place[i];
	return n;
}

static const struct {
	const char *word, *formula;
} schemes[] = {
#define X(name, word, formula) {word, formula},
	TWICE_PROBE_SCHEMES(X)
#undef X
};

const char *
twice_probe_word(enum twice_probe_scheme s)
{
	return s < TWICE_PROBE_SCHEME_COUNT ? schemes[s].word : "unknown";
}

const char *
twice_probe_formula(enum twice_probe_scheme s)
{
	return s < TWICE_PROBE_SCHEME_COUNT ? schemes[s].formula : "unknown";
}
