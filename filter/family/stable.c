#include "filter/family/stable.h"

#include <math.h>
#include <stdlib.h>

#include "filter/family/counters.h"
#include "filter/mix.h"

struct twice_stable {
	struct twice_counters counters;
	uint64_t decrements;
	uint64_t row; /* of random starts */
};

/* --- arithmetic --- */

static double
most(const struct twice_stable_shape *s)
{
	return ldexp(1, (int)s->width) - 1;
}

/* The sum a cell's life depends on: 1/K - 1/m. */
static double
odds(const struct twice_stable_shape *s)
{
	return 1.0 / s->probes - 1.0 / (double)s->cells;
}

double
twice_stable_point(const struct twice_stable_shape *s)
{
	return pow(1 / (1 + 1 / ((double)s->decrements * odds(s))), most(s));
}

double
twice_stable_fpr(const struct twice_stable_shape *s)
{
	return pow(1 - twice_stable_point(s), s->probes);
}

uint64_t
twice_stable_decrements(const struct twice_stable_shape *s, double fpr)
{
	double zeros = 1 - pow(fpr, 1.0 / s->probes);
	double p = ceil(1 / ((pow(zeros, -1 / most(s)) - 1) * odds(s)));
	return p >= 1 && p <= (double)s->cells ? (uint64_t)p : 0;
}

/* The chance of at least n events where x are expected: 1 - e^-x (1 + x + ... + x^(n-1)/(n-1)!). */
static double
at_least(double n, double x)
{
	double term = exp(-x), none = 0;
	for (double j = 0; j < n; j++) {
		none += term;
		term *= x / (j + 1);
	}
	return fmax(1 - none, 0);
}

/* Seen backwards from now, a key's cell is zero when Max decrements come before any other
 * key's set (P against K each add) and before the key's own: the race to infinity is the
 * stable point, and the time x within it a Poisson count. */
double
twice_stable_recall(const struct twice_stable_shape *s, double adds_ago)
{
	double x = adds_ago * (double)(s->decrements + s->probes) / (double)s->cells;
	return pow(1 - twice_stable_point(s) * at_least(most(s), x), s->probes);
}

/* A shape must fulfil this. */
struct wish {
	uint64_t window;
	double recall, fpr;
};

static bool
fulfils(struct twice_stable_shape *s, uint64_t cells, const struct wish *w)
{
	s->cells = cells;
	s->decrements = twice_stable_decrements(s, w->fpr);
	return s->decrements && twice_stable_recall(s, (double)w->window) >= w->recall;
}

/* The fewest cells that will do: more cells always remember longer. */
static struct twice_stable_shape
shape_of(unsigned width, unsigned probes, const struct wish *w)
{
	struct twice_stable_shape s = {.width = width, .probes = probes};
	uint64_t low = TWICE_PROBE_RANGE_LEAST, high = UINT64_C(1) << 40;
	while (low < high) {
		uint64_t cells = low + (high - low) / 2;
		if (fulfils(&s, cells, w))
			high = cells;
		else
			low = cells + 1;
	}
	return fulfils(&s, low, w) ? s : (struct twice_stable_shape){0};
}

struct twice_stable_shape
twice_stable_shape_for(uint64_t window, double recall, double fpr)
{
	const struct wish w = {window, recall, fpr};
	struct twice_stable_shape best = {0};
	if (window == 0 || !(recall > 0 && recall < 1) || !(fpr > 0 && fpr < 1))
		return best;
	for (unsigned width = 1; width <= 4; width++)
		for (unsigned probes = 1; probes <= 16; probes++) {
			struct twice_stable_shape s = shape_of(width, probes, &w);
			if (s.cells && (!best.cells || s.cells * width < best.cells * best.width))
				best = s;
		}
	return best;
}

/* --- the filter --- */

static bool
may(const struct twice_stable_shape *s)
{
	return s->width >= 1 && s->width <= TWICE_STABLE_WIDTH_MOST && s->decrements >= 1 &&
	       s->decrements <= s->cells;
}

struct twice_stable *
twice_stable_create(const struct twice_stable_shape *shape, uint64_t seed)
{
	struct twice_probe probe = {shape->cells, shape->probes, TWICE_PROBE_ENHANCED};
	struct twice_stable *s = may(shape) ? calloc(1, sizeof(*s)) : NULL;
	if (s && twice_counters_init(&s->counters, &probe, shape->width))
		twice_stable_destroy(&s);
	else if (s) {
		s->decrements = shape->decrements;
		s->row = seed;
	}
	return s;
}

void
twice_stable_destroy(struct twice_stable **s)
{
	if (*s)
		twice_counters_fini(&(*s)->counters);
	free(*s);
	*s = NULL;
}

static void
fade(struct twice_stable *s)
{
	struct twice_packed *cells = &s->counters.cells;
	uint64_t at = mix_range(mix_next(&s->row), cells->n);
	for (uint64_t i = 0; i < s->decrements; i++) {
		uint64_t x = twice_packed_get(cells, at);
		if (x)
			twice_counters_put(&s->counters, at, x - 1);
		at = at + 1 < cells->n ? at + 1 : 0;
	}
}

bool
twice_stable_add(struct twice_stable *s, struct twice_key_hash h)
{
	bool was = twice_stable_has(s, h);
	uint64_t place[TWICE_PROBE_MOST], top = twice_packed_top(&s->counters.cells);
	fade(s);
	twice_probe_places(&s->counters.probe, h, place);
	for (unsigned i = 0; i < s->counters.probe.n; i++)
		twice_counters_put(&s->counters, place[i], top);
	s->counters.keys += !was;
	return was;
}

bool
twice_stable_has(const struct twice_stable *s, struct twice_key_hash h)
{
	return twice_counters_least(&s->counters, h);
}

uint64_t
twice_stable_count(const struct twice_stable *s)
{
	return s->counters.keys;
}

double
twice_stable_zeros(const struct twice_stable *s)
{
	return 1 - (double)s->counters.used / (double)s->counters.cells.n;
}

struct twice_stable_shape
twice_stable_shape_of(const struct twice_stable *s)
{
	return (struct twice_stable_shape){s->counters.cells.n, s->counters.cells.width,
					   s->counters.probe.n, s->decrements};
}

size_t
twice_stable_memory(const struct twice_stable *s)
{
	return sizeof(*s) + twice_counters_memory(&s->counters);
}

int
twice_stable_save(const struct twice_stable *s, const struct twice_snapshot_sink *to)
{
	return twice_counters_save(&s->counters, to, TWICE_SNAPSHOT_STABLE,
				   (uint64_t[TWICE_COUNTERS_OWN]){s->decrements, s->row});
}

static int
load(struct twice_stable *s, struct twice_snapshot_source *from)
{
	uint64_t own[TWICE_COUNTERS_OWN];
	if (twice_counters_load(&s->counters, from, TWICE_SNAPSHOT_STABLE, 0, own))
		return -1;
	s->decrements = own[0];
	s->row = own[1];
	struct twice_stable_shape shape = twice_stable_shape_of(s);
	return may(&shape) ? 0 : twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
}

struct twice_stable *
twice_stable_load(struct twice_snapshot_source *from)
{
	struct twice_stable *s = twice_snapshot_room(from, sizeof(*s));
	if (s && load(s, from))
		twice_stable_destroy(&s);
	return s;
}
