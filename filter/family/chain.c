#include "filter/family/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/family/bloom.h"

struct twice_chain {
	struct twice_chain_plan plan;
	struct twice_bloom **links; /* owned, each; the last is open */
	size_t n;
	double ones_most; /* with more the open link would pass its rate */
};

static bool
may(const struct twice_chain_plan *p)
{
	return p->keys >= 1 && p->fpr > 0 && p->fpr < 1 && p->ratio > 0 && p->ratio <= 1 &&
	       p->growth >= 1 && p->growth <= TWICE_CHAIN_GROWTH_MOST;
}

static double
keys_of(const struct twice_chain_plan *p, size_t i)
{
	return (double)p->keys * pow((double)p->growth, (double)i);
}

static double
fpr_of(const struct twice_chain_plan *p, size_t i)
{
	return p->fpr * pow(p->ratio, (double)i);
}

/* A link also closes by its ones, and how many ones so many keys make is luck: one standard error
 * is worth 2/3 sqrt(keys / places) keys. With four and a half to spare a link takes the keys it
 * was made for, instead of opening the next, larger one just before its last. */
static double
with_luck(double keys, double fpr)
{
	return keys + 3 * sqrt(keys / fmax(1, -log2(fpr)));
}

/* One that twice_bloom_create refuses when the plan leads too far. */
static struct twice_probe
shape_of(const struct twice_chain_plan *p, size_t i)
{
	double keys = with_luck(keys_of(p, i), fpr_of(p, i));
	return twice_bloom_shape((uint64_t)fmin(keys, (double)TWICE_PROBE_RANGE_MOST),
				 fpr_of(p, i));
}

static struct twice_bloom *
link_create(const struct twice_chain_plan *p, size_t i)
{
	struct twice_probe shape = shape_of(p, i);
	return twice_bloom_create(&shape);
}

/* Takes the link over, even when it fails. */
static int
append(struct twice_chain *c, struct twice_bloom *b)
{
	struct twice_bloom **links = b ? realloc(c->links, (c->n + 1) * sizeof(*links)) : NULL;
	if (!links) {
		twice_bloom_destroy(&b);
		return -1;
	}
	struct twice_probe shape = twice_bloom_probe(b);
	c->ones_most = (double)shape.range * pow(fpr_of(&c->plan, c->n), 1.0 / shape.n) - shape.n;
	c->links = links;
	c->links[c->n++] = b;
	return 0;
}

struct twice_chain *
twice_chain_create(const struct twice_chain_plan *plan)
{
	struct twice_chain *c = may(plan) ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return NULL;
	c->plan = *plan;
	if (append(c, link_create(plan, 0)))
		twice_chain_destroy(&c);
	return c;
}

void
twice_chain_destroy(struct twice_chain **c)
{
	for (size_t i = 0; *c && i < (*c)->n; i++)
		twice_bloom_destroy(&(*c)->links[i]);
	if (*c)
		free((*c)->links);
	free(*c);
	*c = NULL;
}

bool
twice_chain_has(const struct twice_chain *c, struct twice_key_hash h)
{
	/* The youngest link is the largest: most keys are found there first. */
	for (size_t i = c->n; i > 0; i--)
		if (twice_bloom_has(c->links[i - 1], h))
			return true;
	return false;
}

/* By its keys, or by its ones: then the rate is a bound, not an average over luck. */
static bool
is_full(const struct twice_chain *c)
{
	const struct twice_bloom *last = c->links[c->n - 1];
	return (double)twice_bloom_count(last) >= keys_of(&c->plan, c->n - 1) ||
	       (double)twice_bloom_ones(last) > c->ones_most;
}

static struct twice_bloom *
open_link(struct twice_chain *c)
{
	if (is_full(c))
		(void)append(c, link_create(&c->plan, c->n)); /* or beyond its plan */
	return c->links[c->n - 1];
}

bool
twice_chain_add(struct twice_chain *c, struct twice_key_hash h)
{
	return twice_chain_has(c, h) || twice_bloom_add(open_link(c), h);
}

uint64_t
twice_chain_count(const struct twice_chain *c)
{
	uint64_t keys = 0;
	for (size_t i = 0; i < c->n; i++)
		keys += twice_bloom_count(c->links[i]);
	return keys;
}

size_t
twice_chain_memory(const struct twice_chain *c)
{
	size_t bytes = sizeof(*c) + c->n * sizeof(*c->links);
	for (size_t i = 0; i < c->n; i++)
		bytes += twice_bloom_memory(c->links[i]);
	return bytes;
}

size_t
twice_chain_links(const struct twice_chain *c)
{
	return c->n;
}

static size_t
link_bytes(const struct twice_chain_plan *p, size_t i)
{
	struct twice_probe shape = shape_of(p, i);
	return sizeof(struct twice_bloom *) + twice_bloom_shape_memory(&shape);
}

size_t
twice_chain_first_bytes(const struct twice_chain_plan *plan)
{
	return sizeof(struct twice_chain) + link_bytes(plan, 0);
}

size_t
twice_chain_next_bytes(const struct twice_chain *c)
{
	return is_full(c) ? link_bytes(&c->plan, c->n) : 0;
}

double
twice_chain_fpr(const struct twice_chain *c)
{
	double none = 1;
	for (size_t i = 0; i < c->n; i++)
		none *= 1 - twice_bloom_fpr(c->links[i]);
	return 1 - none;
}

double
twice_chain_fpr_full(const struct twice_chain *c)
{
	double none = 1;
	for (size_t i = 0; i < c->n; i++)
		none *= 1 - fpr_of(&c->plan, i);
	return 1 - none;
}

double
twice_chain_fill(const struct twice_chain *c)
{
	double ones = 0, bits = 0;
	for (size_t i = 0; i < c->n; i++) {
		ones += (double)twice_bloom_ones(c->links[i]);
		bits += (double)twice_bloom_probe(c->links[i]).range;
	}
	return ones / bits;
}

static struct twice_bloom *
copy_of(const struct twice_bloom *b)
{
	struct twice_probe shape = twice_bloom_probe(b);
	struct twice_bloom *copy = twice_bloom_create(&shape);
	if (copy && twice_bloom_union(copy, b))
		twice_bloom_destroy(&copy);
	return copy;
}

static bool
plans_agree(const struct twice_chain_plan *a, const struct twice_chain_plan *b)
{
	return a->keys == b->keys && a->fpr == b->fpr && a->ratio == b->ratio &&
	       a->growth == b->growth;
}

/* A row of into with room for this one's keys. */
static struct twice_bloom *
roomy(struct twice_chain *into, const struct twice_bloom *row)
{
	for (size_t i = 0; i < into->n; i++)
		if (twice_bloom_count(into->links[i]) + twice_bloom_count(row) <= into->plan.keys)
			return into->links[i];
	return NULL;
}

int
twice_chain_merge(struct twice_chain *into, const struct twice_chain *other)
{
	if (!plans_agree(&into->plan, &other->plan) || into->plan.growth != 1 ||
	    into->plan.ratio < 1)
		return -1;
	for (size_t i = 0; i < other->n; i++) {
		struct twice_bloom *row = roomy(into, other->links[i]);
		if (row ? twice_bloom_union(row, other->links[i])
			: append(into, copy_of(other->links[i])))
			return -1;
	}
	return 0;
}

enum { PARAM_KEYS, PARAM_FPR, PARAM_RATIO, PARAM_GROWTH, PARAM_LINKS };

int
twice_chain_save(const struct twice_chain *c, const struct twice_snapshot_sink *to)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS] = {
		[PARAM_KEYS] = c->plan.keys,
		[PARAM_FPR] = twice_snapshot_from_double(c->plan.fpr),
		[PARAM_RATIO] = twice_snapshot_from_double(c->plan.ratio),
		[PARAM_GROWTH] = c->plan.growth,
		[PARAM_LINKS] = c->n};
	int r = twice_snapshot_write(to, TWICE_SNAPSHOT_CHAIN, params, NULL, 0);
	for (size_t i = 0; !r && i < c->n; i++)
		r = twice_bloom_save(c->links[i], to);
	return r;
}

/* Links of another size would let a small file speak of a chain that grows by gigabytes. */
static bool
is_planned(const struct twice_chain_plan *p, size_t i, const struct twice_bloom *b)
{
	struct twice_probe want = shape_of(p, i), is = twice_bloom_probe(b);
	return is.range == want.range && is.n == want.n && is.scheme == want.scheme;
}

static int
load(struct twice_chain *c, struct twice_snapshot_source *from)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS];
	if (twice_snapshot_read(from, TWICE_SNAPSHOT_CHAIN, params))
		return -1;
	c->plan = (struct twice_chain_plan){.keys = params[PARAM_KEYS],
					    .fpr = twice_snapshot_to_double(params[PARAM_FPR]),
					    .ratio = twice_snapshot_to_double(params[PARAM_RATIO]),
					    .growth = params[PARAM_GROWTH]};
	if (!may(&c->plan) || params[PARAM_LINKS] < 1)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	/* A false number of links ends where the source does. */
	while (c->n < params[PARAM_LINKS]) {
		struct twice_bloom *b = twice_bloom_load(from);
		if (!b)
			return -1;
		bool fits = is_planned(&c->plan, c->n, b);
		if (append(c, b))
			return twice_snapshot_refuse(from, TWICE_SNAPSHOT_NO_MEMORY);
		if (!fits)
			return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	}
	return 0;
}

struct twice_chain *
twice_chain_load(struct twice_snapshot_source *from)
{
	struct twice_chain *c = twice_snapshot_room(from, sizeof(*c));
	if (c && load(c, from))
		twice_chain_destroy(&c);
	return c;
}
