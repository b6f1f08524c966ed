/* policy.c - the rule, the cache of numbers, and the counts. */
#include "proxy/simulate/policy.h"

#include "proxy/base/mem.h"
#include "proxy/cache/baseline.h"
#include "proxy/cache/budget.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/sighting.h"
#include "proxy/simulate/lru.h"

#include <math.h>
#include <stdlib.h>

enum {
	HEAD_BYTES = 200, /* of a stored head, whose fields no log tells */
	PART_SHIFT = 3,
	AHEAD_FAR = 20,
	AHEAD_NEAR = 8,
	AHEAD_SIGHTS = 12,
};

struct policy {
	struct policy_spec o;
	struct sights *sights;
	struct ghost *ghost; /* one of the two */
	struct lru *lru;
	struct sighting_settings rule;
	struct budget budget;
	uint32_t now_s;
	struct policy_facts n;
	/* What needed the origin, and what was written, by parts of the sample. */
	double missed[POLICY_PARTS], written[POLICY_PARTS];
};

static struct ghost *
make_ghost(const struct policy_spec *o, uint32_t most_rows)
{
	return ghost_create(&(struct ghost_options){
		.disk_bytes = o->disk_bytes,
		.reserve_bytes = baseline_reserve_bytes(o->disk_bytes, o->sights.memory.capacity),
		.memory_bytes = o->memory_bytes,
		.max_entries = most_rows,
		.plain_urls = true});
}

struct policy *
policy_create(const struct policy_spec *o, struct sights *sights, uint32_t most_rows)
{
	struct policy *p = NEW(struct policy);
	p->o = *o;
	p->sights = sights;
	p->rule = (struct sighting_settings){.sightings = o->sightings,
					     .max_object_bytes = o->max_object_bytes};
	if (o->lru)
		p->lru = lru_create(o->disk_bytes, most_rows);
	else
		p->ghost = make_ghost(o, most_rows);
	return p;
}

void
policy_destroy(struct policy **pp)
{
	struct policy *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	ghost_destroy(&p->ghost);
	lru_destroy(&p->lru);
	free(p);
}

const struct sights *
policy_sights(const struct policy *p)
{
	return p->sights;
}

/* ---- one visit ----------------------------------------------------------------------------- */

static enum sighting_kind
kind_of(const struct visit *v, bool counts)
{
	if (v->kind != VISIT_PART)
		return SIGHTING_PLAIN;
	return counts ? SIGHTING_RANGE_FIRST : SIGHTING_RANGE_REPEATED;
}

/* The same for the same visit, whatever else is simulated beside it. */
static double
draw(const struct visit *v, uint64_t nth)
{
	uint64_t x = v->key.lo ^ nth * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static bool
is_refused(struct policy *p, const struct visit *v, const struct sighting *s)
{
	if (p->o.bound)
		return !v->again;
	if (!s->writes)
		return true;
	return p->o.exp_bytes &&
	       draw(v, p->n.requests) >= exp(-(double)v->bytes / (double)p->o.exp_bytes);
}

static void
tick(struct policy *p, uint32_t now_s)
{
	if (now_s == p->now_s || !p->o.budget_bytes_s)
		return;
	if (!p->now_s)
		budget_init(&p->budget, p->o.budget_bytes_s, (int64_t)now_s * 1000);
	p->now_s = now_s;
	budget_fill(&p->budget, (int64_t)now_s * 1000, (uint64_t)p->n.written_bytes);
}

static void
count(struct policy *p, const struct visit *v, const struct ghost_did *d)
{
	struct policy_facts *n = &p->n;
	double w = d->weight, origin = 0;
	unsigned part = v->key.lo >> PART_SHIFT & (POLICY_PARTS - 1);
	switch (d->answer) {
	case GHOST_IGNORED:
		return;
	case GHOST_FROM_RAM:
		n->ram_hits += w;
		break;
	case GHOST_FROM_DISK:
		n->disk_hits += w;
		break;
	case GHOST_VALIDATED:
		n->validated += w;
		break;
	case GHOST_MISSED:
		n->fetched += w;
		origin = (double)v->bytes * w;
		break;
	case GHOST_PASSED:
		n->passed += w;
		origin = (double)v->sent * w;
		break;
	}
	if (d->answer >= GHOST_VALIDATED) {
		n->origin_requests += w;
		p->missed[part] += w;
		n->missed_sent_bytes += d->answer == GHOST_VALIDATED ? 0 : (double)v->sent * w;
	}
	n->origin_bytes += origin;
	n->written_bytes += (double)d->written_bytes;
	p->written[part] += (double)d->written_bytes;
	n->written_objects += d->wrote ? w : 0;
	n->once_written_objects += d->wrote && !v->again ? w : 0;
}

static void
visit(struct policy *p, const struct visit *v, struct memory_sight known, bool counts)
{
	struct sighting_facts f = {.kind = kind_of(v, counts),
				   .storable = true,
				   .status = 200,
				   .body_bytes = v->bytes,
				   .known = known};
	tick(p, v->now_s);
	f.over_budget = p->o.budget_bytes_s && budget_is_over(&p->budget);
	struct sighting s = sighting_decide(&p->rule, &f);
	struct ghost_event e = {
		.key = v->key.hi,
		.url = v->key.hi,
		.record_bytes = cache_record_bytes(v->key_bytes, HEAD_BYTES, v->bytes),
		.body_bytes = v->bytes,
		.origin_bytes = v->bytes,
		.now_s = v->now_s,
		.fresh_s = v->fresh_s,
		.validator = v->validator,
		.deed = v->kind == VISIT_PART ? GHOST_PART : GHOST_FETCHED,
		.whole = v->kind != VISIT_PART || s.whole,
	};
	e.refused = is_refused(p, v, &s);
	if (v->changed && p->ghost)
		ghost_forget(p->ghost, e.url);
	else if (v->changed)
		lru_forget(p->lru, e.key);
	struct ghost_did did = p->ghost ? ghost_see(p->ghost, &e) : lru_see(p->lru, &e);
	if (did.wrote && p->o.budget_bytes_s)
		budget_charge(&p->budget, (int64_t)did.written_bytes);
	if (did.wrote && sights_are_by_turns(p->sights))
		sights_charge(p->sights, e.record_bytes * did.weight,
			      p->ghost ? ghost_turn_bytes(p->ghost) : 0);
	count(p, v, &did);
}

void
policy_run(struct policy *p, const struct visit *v, size_t n, unsigned halvings,
	   const struct memory_sight *known, const bool *counts)
{
	if (p->ghost)
		ghost_thin(p->ghost, halvings);
	else
		lru_thin(p->lru, halvings);
	bool asks = sights_are_by_turns(p->sights);
	for (size_t i = 0; i < n; i++) {
		struct memory_sight now_known = {0};
		bool now_counts = false;
		p->n.requests++;
		p->n.sent_bytes += v[i].sent;
		if (p->ghost && i + AHEAD_FAR < n)
			ghost_prefetch(p->ghost, v[i + AHEAD_FAR].key.hi);
		if (p->ghost && i + AHEAD_NEAR < n)
			ghost_prefetch_shade(p->ghost, v[i + AHEAD_NEAR].key.hi);
		if (asks && i + AHEAD_SIGHTS < n)
			sights_prefetch(p->sights, v[i + AHEAD_SIGHTS].key);
		if (asks)
			sights_see(p->sights, &v[i], 1, &now_known, &now_counts);
		if (v[i].tracked)
			visit(p, &v[i], asks ? now_known : known[i], asks ? now_counts : counts[i]);
	}
}

/* ---- what came of it ----------------------------------------------------------------------- */

/* The standard error of a sum of which the parts are known. A sample of all is the whole. */
static double
error_of_sum(const double parts[POLICY_PARTS], double sample_share)
{
	double sum = 0, squares = 0;
	for (int i = 0; i < POLICY_PARTS; i++)
		sum += parts[i];
	for (int i = 0; i < POLICY_PARTS; i++) {
		double off = parts[i] - sum / POLICY_PARTS;
		squares += off * off;
	}
	return sqrt(squares * POLICY_PARTS / (POLICY_PARTS - 1) * (1 - sample_share));
}

static double
at_least_0(double v)
{
	return v > 0 ? v : 0;
}

/* A sample knows the misses of the whole well, and its hits badly: those of a few hot keys are in
 * it or not. So hits are what is left of all requests (SHARDS-adj of Waldspurger et al.). */
void
policy_facts(const struct policy *p, struct policy_facts *out)
{
	*out = p->n;
	struct ghost_stats g = {.sample_share = 1};
	if (p->ghost)
		ghost_stats(p->ghost, &g);
	out->sample_share = g.sample_share;
	out->entries = g.entries;
	out->memory_bytes = g.memory_bytes;
	if (p->lru) { /* instead of a ghost */
		out->memory_bytes = lru_memory(p->lru);
		out->sample_share = lru_share(p->lru);
	}
	double all = (double)p->n.requests, sent = (double)p->n.sent_bytes;
	out->hit_ratio = all > 0 ? at_least_0(1 - p->n.origin_requests / all) : 0;
	out->byte_hit_ratio = sent > 0 ? at_least_0(1 - p->n.missed_sent_bytes / sent) : 0;
	out->hit_ratio_error = all > 0 ? error_of_sum(p->missed, out->sample_share) / all : 0;
	out->written_error = error_of_sum(p->written, out->sample_share);
}
