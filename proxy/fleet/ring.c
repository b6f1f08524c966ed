/* ring.c - the three highest scores of each slot. */
#include "proxy/fleet/ring.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct ring {
	struct ring_place slots[RING_SLOTS];
	unsigned owned[RING_NODES];
	unsigned count;
};

/* The finalizer of splitmix64: each bit of the input changes half of the output's. */
static uint64_t
mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* In (0, 1), never an end of it, so that its logarithm is neither 0 nor infinite. */
static double
draw(unsigned slot, uint64_t id)
{
	uint64_t h = mix(mix(id) + 0x9e3779b97f4a7c15u * (slot + 1));
	return ((double)(h >> 12) + 0.5) / (double)(1ull << 52);
}

/* Of equal scores the lower id goes first, so that the order of the nodes does not matter. */
static bool
goes_before(double score, uint64_t id, double other, uint64_t other_id)
{
	return score > other || (score == other && id < other_id);
}

static void
fill(struct ring_place *p, unsigned slot, const struct ring_node *nodes, unsigned n)
{
	double best[RING_DEEP] = {0};
	for (unsigned k = 0; k < RING_DEEP; k++)
		p->node[k] = RING_NOBODY;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = RING_DEEP;
		if (!nodes[i].weight)
			continue;
		double score = -(double)nodes[i].weight / log(draw(slot, nodes[i].id));
		while (at > 0 &&
		       (p->node[at - 1] == RING_NOBODY ||
			goes_before(score, nodes[i].id, best[at - 1], nodes[p->node[at - 1]].id)))
			at--;
		if (at == RING_DEEP)
			continue;
		for (unsigned k = RING_DEEP - 1; k > at; k--) {
			p->node[k] = p->node[k - 1];
			best[k] = best[k - 1];
		}
		p->node[at] = (uint16_t)i;
		best[at] = score;
	}
}

struct ring *
ring_build(const struct ring_node *nodes, unsigned n)
{
	struct ring *r = NEW(struct ring);
	assert(n <= RING_NODES);
	r->count = n;
	for (unsigned s = 0; s < RING_SLOTS; s++) {
		fill(&r->slots[s], s, nodes, n);
		if (r->slots[s].node[0] != RING_NOBODY)
			r->owned[r->slots[s].node[0]]++;
	}
	return r;
}

void
ring_destroy(struct ring **r)
{
	free(*r);
	*r = NULL;
}

/* Mixed, or the keys that one node owns would share bits by which its index spreads them. */
unsigned
ring_slot(uint64_t hash)
{
	return (unsigned)(mix(hash) >> (64 - RING_BITS));
}

const struct ring_place *
ring_find(const struct ring *r, uint64_t hash)
{
	return &r->slots[ring_slot(hash)];
}

unsigned
ring_owned(const struct ring *r, unsigned node)
{
	assert(node < r->count);
	return r->owned[node];
}
