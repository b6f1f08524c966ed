/* ghost_sample.c - who is in the sample, and how it gets smaller.
 *
 * When there are too many entries the sample is halved and the weight doubles; what the dropped half took in the log
 * stays taken until its segment goes. The first time, if the largest quarter has most of the bytes, it is set apart:
 * these are all there and stand for themselves. If they get too many, the bound between the two rises.
 */
#include "proxy/cache/ghost/ghost_inside.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

enum { LARGE_SHARE = 4 }; /* of the entries, when there are too many */

bool
ghost_samples(const struct ghost *g, uint64_t key, uint64_t sampled_as)
{
	return g->samples &&
	       (key <= atomic_load_explicit(&g->threshold, memory_order_relaxed) ||
		sampled_as >= atomic_load_explicit(&g->large_bytes, memory_order_relaxed));
}

/* It stays, if it is still in the sample, and stands for as many as the others of its size. */
static void
sample_again(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	if (!s->used)
		return;
	if (!ghost_samples(g, s->key, s->large ? s->sampled_as : 0)) {
		ghost_drop(g, i);
		return;
	}
	bool large = s->large && ghost_is_large(g, s->sampled_as);
	g->large_n -= s->large - large;
	s->large = large;
	if (s->in_ram)
		ram_policy_set_twins(&g->ram, &s->node, ghost_weight(g, s) - 1);
}

static void
sample_all_again(struct ghost *g)
{
	g->journal.is_lost = true;
	for (uint32_t i = 0; i < g->shades_n; i++)
		sample_again(g, i);
	ghost_shrink_ram(g, 0);
}

void
ghost_halve(struct ghost *g)
{
	atomic_store(&g->threshold, atomic_load(&g->threshold) / 2);
	g->weight *= 2;
	sample_all_again(g);
}

void
ghost_raise_large(struct ghost *g, uint64_t bytes)
{
	bool is_first = atomic_load(&g->large_bytes) == UINT64_MAX;
	assert(!is_first || g->weight == 1);
	for (uint32_t i = 0; is_first && i < g->shades_n; i++)
		if (g->shades[i].used && g->shades[i].sampled_as >= bytes) {
			g->shades[i].large = true;
			g->large_n++;
		}
	atomic_store(&g->large_bytes, bytes);
	sample_all_again(g);
}

struct weighed {
	uint64_t size, bytes;
};

static int
by_size(const void *pa, const void *pb)
{
	const struct weighed *a = pa, *b = pb;
	return (a->size < b->size) - (a->size > b->size);
}

/* So that a quarter of the entries are large, or fewer: when many have the same size. UINT64_MAX:
 * these do not have most of the bytes, and samples serve better. */
uint64_t
ghost_large_from(const struct ghost *g)
{
	struct weighed *all_of = mem_alloc(g->used * sizeof *all_of);
	uint64_t all = 0, large = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->shades_n; i++) {
		const struct shade *s = &g->shades[i];
		if (!s->used)
			continue;
		all_of[n++] = (struct weighed){s->sampled_as, s->bytes};
		all += s->bytes * ghost_weight(g, s);
	}
	qsort(all_of, n, sizeof *all_of, by_size);
	for (uint32_t i = 0; i < n / LARGE_SHARE; i++)
		large += all_of[i].bytes;
	uint64_t from = large > all / 2 ? all_of[n / LARGE_SHARE].size + 1 : UINT64_MAX;
	free(all_of);
	return from;
}

/* Those that are to be large are all there: nothing was left out, or a lower bound held. */
static bool
may_raise(const struct ghost *g)
{
	bool is_first = atomic_load(&g->large_bytes) == UINT64_MAX;
	return is_first ? g->weight == 1 : g->large_n > g->used / 2;
}

void
ghost_thin_out(struct ghost *g)
{
	uint32_t used = g->used;
	if (may_raise(g))
		ghost_raise_large(g, ghost_large_from(g));
	if (g->used == used)
		ghost_halve(g);
}

void
ghost_thin(struct ghost *g, unsigned halvings, uint64_t large_bytes)
{
	uint64_t is = atomic_load_explicit(&g->large_bytes, memory_order_relaxed);
	bool is_first = is == UINT64_MAX;
	if (large_bytes != UINT64_MAX && (is_first ? g->weight == 1 : large_bytes > is))
		ghost_raise_large(g, large_bytes);
	while (halvings <= GHOST_MOST_HALVINGS && g->weight < 1u << halvings)
		ghost_halve(g);
}
