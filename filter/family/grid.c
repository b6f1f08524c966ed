#include "filter/family/grid.h"

#include <math.h>
#include <string.h>

#include "filter/family/estimate.h"

enum { PARAM_KEYS, PARAM_PROBES, PARAM_SCHEME, PARAM_OWN };

_Static_assert(PARAM_OWN + GRID_OWN + 2 == SEAL_PARAMS, "packed.c has the last two");

int
grid_init(struct grid *g, const struct probe *shape, unsigned width)
{
	*g = (struct grid){.probe = *shape};
	return probe_may(shape) ? packed_init(&g->cells, shape->range, width) : -1;
}

void
grid_fini(struct grid *g)
{
	packed_fini(&g->cells);
	*g = (struct grid){0};
}

uint64_t
grid_least(const struct grid *g, struct key_hash h)
{
	uint64_t place[PROBE_MOST], least = packed_top(&g->cells);
	probe_places(&g->probe, h, place);
	for (unsigned i = 0; i < g->probe.n && least; i++) {
		uint64_t x = packed_get(&g->cells, place[i]);
		least = x < least ? x : least;
	}
	return least;
}

void
grid_put(struct grid *g, uint64_t at, uint64_t x)
{
	uint64_t old = packed_get(&g->cells, at);
	g->used += (uint64_t)(x != 0) - (uint64_t)(old != 0);
	packed_set(&g->cells, at, x);
}

double
grid_fpr(const struct grid *g)
{
	return estimate_fpr(g->probe.range, g->probe.n, g->used);
}

void
grid_recount(struct grid *g)
{
	g->used = packed_used(&g->cells);
	struct estimate e = estimate_keys(g->probe.range, g->probe.n, g->used);
	g->keys = isfinite(e.keys) ? (uint64_t)llround(e.keys) : UINT64_MAX;
}

bool
grid_alike(const struct grid *a, const struct grid *b)
{
	return a->probe.range == b->probe.range && a->probe.n == b->probe.n &&
	       a->probe.scheme == b->probe.scheme && a->cells.width == b->cells.width;
}

size_t
grid_memory(const struct grid *g)
{
	return (size_t)packed_bytes(g->cells.n, g->cells.width);
}

int
grid_save(const struct grid *g, const struct seal_sink *to, enum seal_kind kind,
	  const uint64_t own[GRID_OWN])
{
	uint64_t params[SEAL_PARAMS] = {[PARAM_KEYS] = g->keys,
					[PARAM_PROBES] = g->probe.n,
					[PARAM_SCHEME] = g->probe.scheme};
	memcpy(&params[PARAM_OWN], own, GRID_OWN * sizeof(*own));
	return packed_save(&g->cells, to, kind, params);
}

/* The probe a head speaks of; a number too large for its field becomes one nobody accepts. */
static struct probe
probe_in(const struct seal_head *head)
{
	uint64_t n = head->params[PARAM_PROBES], scheme = head->params[PARAM_SCHEME];
	return (struct probe){.range = head->params[SEAL_PARAMS - 2],
			      .n = n <= PROBE_MOST ? (unsigned)n : 0,
			      .scheme = scheme < PROBE_SCHEME_COUNT ? (enum probe_scheme)scheme
								    : PROBE_SCHEME_COUNT};
}

int
grid_load(struct grid *g, struct seal_source *from, enum seal_kind kind, unsigned width,
	  uint64_t own[GRID_OWN])
{
	struct seal_head head;
	*g = (struct grid){0};
	if (seal_open(from, kind, &head))
		return -1;
	struct probe probe = probe_in(&head);
	if (!probe_may(&probe) || (width && head.params[SEAL_PARAMS - 1] != width))
		return seal_refuse(from, SEAL_ABSURD);
	if (packed_load(&g->cells, from, &head))
		return -1;
	g->probe = probe;
	g->used = packed_used(&g->cells);
	g->keys = head.params[PARAM_KEYS];
	memcpy(own, &head.params[PARAM_OWN], GRID_OWN * sizeof(*own));
	return 0;
}
