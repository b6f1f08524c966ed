#include "filter/family/counters.h"

#include <math.h>
#include <string.h>

#include "filter/family/estimate.h"

enum { PARAM_KEYS, PARAM_PROBES, PARAM_SCHEME, PARAM_OWN };

_Static_assert(PARAM_OWN + TWICE_COUNTERS_OWN + 2 == TWICE_SNAPSHOT_PARAMS,
	       "packed.c has the last two");

int
twice_counters_init(struct twice_counters *g, const struct twice_probe *shape, unsigned width)
{
	*g = (struct twice_counters){.probe = *shape};
	return twice_probe_may(shape) ? twice_packed_init(&g->cells, shape->range, width) : -1;
}

void
twice_counters_fini(struct twice_counters *g)
{
	twice_packed_fini(&g->cells);
	*g = (struct twice_counters){0};
}

uint64_t
twice_counters_least(const struct twice_counters *g, struct twice_key_hash h)
{
	uint64_t place[TWICE_PROBE_MOST], least = twice_packed_top(&g->cells);
	twice_probe_places(&g->probe, h, place);
	for (unsigned i = 0; i < g->probe.n; i++)
		twice_packed_prefetch(&g->cells, place[i]);
	for (unsigned i = 0; i < g->probe.n && least; i++) {
		uint64_t x = twice_packed_get(&g->cells, place[i]);
		least = x < least ? x : least;
	}
	return least;
}

void
twice_counters_put(struct twice_counters *g, uint64_t at, uint64_t x)
{
	uint64_t old = twice_packed_get(&g->cells, at);
	g->used += (uint64_t)(x != 0) - (uint64_t)(old != 0);
	twice_packed_set(&g->cells, at, x);
}

double
twice_counters_fpr(const struct twice_counters *g)
{
	return twice_estimate_fpr(g->probe.range, g->probe.n, g->used);
}

void
twice_counters_recount(struct twice_counters *g)
{
	g->used = twice_packed_used(&g->cells);
	struct twice_estimate e = twice_estimate_keys(g->probe.range, g->probe.n, g->used);
	g->keys = isfinite(e.keys) ? (uint64_t)llround(e.keys) : UINT64_MAX;
}

bool
twice_counters_alike(const struct twice_counters *a, const struct twice_counters *b)
{
	return a->probe.range == b->probe.range && a->probe.n == b->probe.n &&
	       a->probe.scheme == b->probe.scheme && a->cells.width == b->cells.width;
}

size_t
twice_counters_memory(const struct twice_counters *g)
{
	return (size_t)twice_packed_bytes(g->cells.n, g->cells.width);
}

int
twice_counters_save(const struct twice_counters *g, const struct twice_snapshot_sink *to,
		    enum twice_snapshot_kind kind, const uint64_t own[TWICE_COUNTERS_OWN])
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS] = {[PARAM_KEYS] = g->keys,
						  [PARAM_PROBES] = g->probe.n,
						  [PARAM_SCHEME] = g->probe.scheme};
	memcpy(&params[PARAM_OWN], own, TWICE_COUNTERS_OWN * sizeof(*own));
	return twice_packed_save(&g->cells, to, kind, params);
}

/* The probe a head speaks of; a number too large for its field becomes one nobody accepts. */
static struct twice_probe
probe_in(const struct twice_snapshot_head *head)
{
	uint64_t n = head->params[PARAM_PROBES], scheme = head->params[PARAM_SCHEME];
	return (struct twice_probe){.range = head->params[TWICE_SNAPSHOT_PARAMS - 2],
				    .n = n <= TWICE_PROBE_MOST ? (unsigned)n : 0,
				    .scheme = scheme < TWICE_PROBE_SCHEME_COUNT
						      ? (enum twice_probe_scheme)scheme
						      : TWICE_PROBE_SCHEME_COUNT};
}

int
twice_counters_load(struct twice_counters *g, struct twice_snapshot_source *from,
		    enum twice_snapshot_kind kind, unsigned width, uint64_t own[TWICE_COUNTERS_OWN])
{
	struct twice_snapshot_head head;
	*g = (struct twice_counters){0};
	if (twice_snapshot_open(from, kind, &head))
		return -1;
	struct twice_probe probe = probe_in(&head);
	if (!twice_probe_may(&probe) || (width && head.params[TWICE_SNAPSHOT_PARAMS - 1] != width))
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	if (twice_packed_load(&g->cells, from, &head))
		return -1;
	g->probe = probe;
	g->used = twice_packed_used(&g->cells);
	g->keys = head.params[PARAM_KEYS];
	memcpy(own, &head.params[PARAM_OWN], TWICE_COUNTERS_OWN * sizeof(*own));
	return 0;
}
