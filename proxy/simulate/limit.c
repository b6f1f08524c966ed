/* limit.c - two histograms, by what a hit costs and by what a byte costs. */
#include "proxy/simulate/limit.h"

#include "proxy/base/mem.h"
#include "proxy/cache/slice_bytes.h"

#include <math.h>
#include <stdlib.h>

enum { OCTAVE = 32, MOST_LOG2 = 80, STEPS = OCTAVE * MOST_LOG2 };

/* A gain, at a cost of about so much for each. */
struct step {
	double gain, cost;
};

struct limit {
	struct step hits[STEPS], bytes[STEPS];
	double free_hits, free_bytes;
};

struct limit *
limit_create(void)
{
	return NEW(struct limit);
}

void
limit_destroy(struct limit **l)
{
	free(*l);
	*l = NULL;
}

static void
add(struct step *steps, double price, double gain)
{
	int i = (int)(log2(price) * OCTAVE);
	i = i < 0 ? 0 : i < STEPS ? i : STEPS - 1;
	steps[i].gain += gain;
	steps[i].cost += gain * exp2((double)i / OCTAVE); /* not above its price */
}

/* At least so much must be held for it; a client may want less than the object. */
static double
bytes_held(const struct visit *v)
{
	if (v->kind == VISIT_CHECKED)
		return v->bytes > SLICE_BYTES ? 0 : (double)v->bytes;
	return v->sent && v->sent < v->bytes ? (double)v->sent : (double)v->bytes;
}

void
limit_see(struct limit *l, const struct visit *v, double weight)
{
	if (!v->since)
		return;
	double held = bytes_held(v), since = (double)v->since;
	if (held < 1)
		l->free_hits += weight;
	else
		add(l->hits, held * since, weight);
	if (held < 1)
		l->free_bytes += weight * (double)v->sent;
	else
		add(l->bytes, since * held / fmax((double)v->sent, 1), weight * (double)v->sent);
}

static double
take(const struct step *steps, double room)
{
	double gain = 0;
	for (int i = 0; i < STEPS; i++) {
		if (steps[i].cost > room)
			return gain + steps[i].gain * room / steps[i].cost;
		gain += steps[i].gain;
		room -= steps[i].cost;
	}
	return gain;
}

void
limit_find(const struct limit *l, double cache_bytes, double visits, double *hits, double *bytes)
{
	double room = cache_bytes * visits;
	*hits = l->free_hits + take(l->hits, room);
	*bytes = l->free_bytes + take(l->bytes, room);
}
