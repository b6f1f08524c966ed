#include "filter/family/stable.h"

#include <math.h>
#include <stdlib.h>

#include "filter/family/grid.h"
#include "filter/mix.h"

struct stable {
	struct grid grid;
	uint64_t decrements;
	uint64_t row; /* of random starts */
};

/* --- arithmetic --- */

static double
most(const struct stable_shape *s)
{
	return ldexp(1, (int)s->width) - 1;
}

/* The sum a cell's life depends on: 1/K - 1/m. */
static double
odds(const struct stable_shape *s)
{
	return 1.0 / s->probes - 1.0 / (double)s->cells;
}

double
stable_point(const struct stable_shape *s)
{
	return pow(1 / (1 + 1 / ((double)s->decrements * odds(s))), most(s));
}

double
stable_fpr(const struct stable_shape *s)
{
	return pow(1 - stable_point(s), s->probes);
}

uint64_t
stable_decrements(const struct stable_shape *s, double fpr)
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
stable_recall(const struct stable_shape *s, double adds_ago)
{
	double x = adds_ago * (double)(s->decrements + s->probes) / (double)s->cells;
	return pow(1 - stable_point(s) * at_least(most(s), x), s->probes);
}

/* What is asked of a shape. */
struct wish {
	uint64_t window;
	double recall, fpr;
};

static bool
fulfils(struct stable_shape *s, uint64_t cells, const struct wish *w)
{
	s->cells = cells;
	s->decrements = stable_decrements(s, w->fpr);
	return s->decrements && stable_recall(s, (double)w->window) >= w->recall;
}

/* The fewest cells that will do: more cells always remember longer. */
static struct stable_shape
shape_of(unsigned width, unsigned probes, const struct wish *w)
{
	struct stable_shape s = {.width = width, .probes = probes};
	uint64_t low = PROBE_RANGE_LEAST, high = UINT64_C(1) << 40;
	while (low < high) {
		uint64_t cells = low + (high - low) / 2;
		if (fulfils(&s, cells, w))
			high = cells;
		else
			low = cells + 1;
	}
	return fulfils(&s, low, w) ? s : (struct stable_shape){0};
}

struct stable_shape
stable_shape_for(uint64_t window, double recall, double fpr)
{
	const struct wish w = {window, recall, fpr};
	struct stable_shape best = {0};
	for (unsigned width = 1; width <= 4; width++)
		for (unsigned probes = 1; probes <= 16; probes++) {
			struct stable_shape s = shape_of(width, probes, &w);
			if (s.cells && (!best.cells || s.cells * width < best.cells * best.width))
				best = s;
		}
	return best;
}

/* --- the filter --- */

static bool
may(const struct stable_shape *s)
{
	return s->width >= 1 && s->width <= STABLE_WIDTH_MOST && s->decrements >= 1 &&
	       s->decrements <= s->cells;
}

struct stable *
stable_create(const struct stable_shape *shape, uint64_t seed)
{
	struct probe probe = {shape->cells, shape->probes, PROBE_ENHANCED};
	struct stable *s = may(shape) ? calloc(1, sizeof(*s)) : NULL;
	if (s && grid_init(&s->grid, &probe, shape->width))
		stable_destroy(&s);
	else if (s) {
		s->decrements = shape->decrements;
		s->row = seed;
	}
	return s;
}

void
stable_destroy(struct stable **s)
{
	if (*s)
		grid_fini(&(*s)->grid);
	free(*s);
	*s = NULL;
}

static void
fade(struct stable *s)
{
	struct packed *cells = &s->grid.cells;
	uint64_t at = mix_range(mix_next(&s->row), cells->n);
	for (uint64_t i = 0; i < s->decrements; i++) {
		uint64_t x = packed_get(cells, at);
		if (x)
			grid_put(&s->grid, at, x - 1);
		at = at + 1 < cells->n ? at + 1 : 0;
	}
}

bool
stable_add(struct stable *s, struct key_hash h)
{
	bool was = stable_has(s, h);
	uint64_t place[PROBE_MOST], top = packed_top(&s->grid.cells);
	fade(s);
	probe_places(&s->grid.probe, h, place);
	for (unsigned i = 0; i < s->grid.probe.n; i++)
		grid_put(&s->grid, place[i], top);
	s->grid.keys += !was;
	return was;
}

bool
stable_has(const struct stable *s, struct key_hash h)
{
	return grid_least(&s->grid, h);
}

uint64_t
stable_count(const struct stable *s)
{
	return s->grid.keys;
}

double
stable_zeros(const struct stable *s)
{
	return 1 - (double)s->grid.used / (double)s->grid.cells.n;
}

struct stable_shape
stable_shape_of(const struct stable *s)
{
	return (struct stable_shape){s->grid.cells.n, s->grid.cells.width, s->grid.probe.n,
				     s->decrements};
}

size_t
stable_memory(const struct stable *s)
{
	return sizeof(*s) + grid_memory(&s->grid);
}

int
stable_save(const struct stable *s, const struct seal_sink *to)
{
	return grid_save(&s->grid, to, SEAL_STABLE, (uint64_t[GRID_OWN]){s->decrements, s->row});
}

static int
load(struct stable *s, struct seal_source *from)
{
	uint64_t own[GRID_OWN];
	if (grid_load(&s->grid, from, SEAL_STABLE, 0, own))
		return -1;
	s->decrements = own[0];
	s->row = own[1];
	struct stable_shape shape = stable_shape_of(s);
	return may(&shape) ? 0 : seal_refuse(from, SEAL_ABSURD);
}

struct stable *
stable_load(struct seal_source *from)
{
	struct stable *s = seal_room(from, sizeof(*s));
	if (s && load(s, from))
		stable_destroy(&s);
	return s;
}
