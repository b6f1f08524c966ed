#include "filter/family/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/family/bloom.h"

struct chain {
	struct chain_plan plan;
	struct bloom **links; /* owned, each; the last is open */
	size_t n;
	double ones_most; /* with more the open link would pass its rate */
};

static bool
may(const struct chain_plan *p)
{
	return p->keys >= 1 && p->fpr > 0 && p->fpr < 1 && p->ratio > 0 && p->ratio <= 1 &&
	       p->growth >= 1 && p->growth <= CHAIN_GROWTH_MOST;
}

static double
keys_of(const struct chain_plan *p, size_t i)
{
	return (double)p->keys * pow((double)p->growth, (double)i);
}

static double
fpr_of(const struct chain_plan *p, size_t i)
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

/* One that bloom_create refuses when the plan leads too far. */
static struct probe
shape_of(const struct chain_plan *p, size_t i)
{
	double keys = with_luck(keys_of(p, i), fpr_of(p, i));
	return bloom_shape((uint64_t)fmin(keys, (double)PROBE_RANGE_MOST), fpr_of(p, i));
}

static struct bloom *
link_create(const struct chain_plan *p, size_t i)
{
	struct probe shape = shape_of(p, i);
	return bloom_create(&shape);
}

/* Takes the link over, even when it fails. */
static int
append(struct chain *c, struct bloom *b)
{
	struct bloom **links = b ? realloc(c->links, (c->n + 1) * sizeof(*links)) : NULL;
	if (!links) {
		bloom_destroy(&b);
		return -1;
	}
	struct probe shape = bloom_probe(b);
	c->ones_most = (double)shape.range * pow(fpr_of(&c->plan, c->n), 1.0 / shape.n) - shape.n;
	c->links = links;
	c->links[c->n++] = b;
	return 0;
}

struct chain *
chain_create(const struct chain_plan *plan)
{
	struct chain *c = may(plan) ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return NULL;
	c->plan = *plan;
	if (append(c, link_create(plan, 0)))
		chain_destroy(&c);
	return c;
}

void
chain_destroy(struct chain **c)
{
	for (size_t i = 0; *c && i < (*c)->n; i++)
		bloom_destroy(&(*c)->links[i]);
	if (*c)
		free((*c)->links);
	free(*c);
	*c = NULL;
}

bool
chain_has(const struct chain *c, struct key_hash h)
{
	/* The youngest link is the largest: most keys are found there first. */
	for (size_t i = c->n; i > 0; i--)
		if (bloom_has(c->links[i - 1], h))
			return true;
	return false;
}

/* By its keys, or by its ones: then the rate is a bound, not an average over luck. */
static bool
is_full(const struct chain *c)
{
	const struct bloom *last = c->links[c->n - 1];
	return (double)bloom_count(last) >= keys_of(&c->plan, c->n - 1) ||
	       (double)bloom_ones(last) > c->ones_most;
}

static struct bloom *
open_link(struct chain *c)
{
	if (is_full(c))
		(void)append(c, link_create(&c->plan, c->n)); /* or beyond its plan */
	return c->links[c->n - 1];
}

bool
chain_add(struct chain *c, struct key_hash h)
{
	return chain_has(c, h) || bloom_add(open_link(c), h);
}

uint64_t
chain_count(const struct chain *c)
{
	uint64_t keys = 0;
	for (size_t i = 0; i < c->n; i++)
		keys += bloom_count(c->links[i]);
	return keys;
}

size_t
chain_memory(const struct chain *c)
{
	size_t bytes = sizeof(*c) + c->n * sizeof(*c->links);
	for (size_t i = 0; i < c->n; i++)
		bytes += bloom_memory(c->links[i]);
	return bytes;
}

size_t
chain_links(const struct chain *c)
{
	return c->n;
}

static size_t
link_bytes(const struct chain_plan *p, size_t i)
{
	struct probe shape = shape_of(p, i);
	return sizeof(struct bloom *) + bloom_shape_memory(&shape);
}

size_t
chain_first_bytes(const struct chain_plan *plan)
{
	return sizeof(struct chain) + link_bytes(plan, 0);
}

size_t
chain_next_bytes(const struct chain *c)
{
	return is_full(c) ? link_bytes(&c->plan, c->n) : 0;
}

double
chain_fpr(const struct chain *c)
{
	double none = 1;
	for (size_t i = 0; i < c->n; i++)
		none *= 1 - bloom_fpr(c->links[i]);
	return 1 - none;
}

double
chain_fpr_full(const struct chain *c)
{
	double none = 1;
	for (size_t i = 0; i < c->n; i++)
		none *= 1 - fpr_of(&c->plan, i);
	return 1 - none;
}

double
chain_fill(const struct chain *c)
{
	double ones = 0, bits = 0;
	for (size_t i = 0; i < c->n; i++) {
		ones += (double)bloom_ones(c->links[i]);
		bits += (double)bloom_probe(c->links[i]).range;
	}
	return ones / bits;
}

static struct bloom *
copy_of(const struct bloom *b)
{
	struct probe shape = bloom_probe(b);
	struct bloom *copy = bloom_create(&shape);
	if (copy && bloom_union(copy, b))
		bloom_destroy(&copy);
	return copy;
}

static bool
plans_agree(const struct chain_plan *a, const struct chain_plan *b)
{
	return a->keys == b->keys && a->fpr == b->fpr && a->ratio == b->ratio &&
	       a->growth == b->growth;
}

/* A row of into with room for this one's keys. */
static struct bloom *
roomy(struct chain *into, const struct bloom *row)
{
	for (size_t i = 0; i < into->n; i++)
		if (bloom_count(into->links[i]) + bloom_count(row) <= into->plan.keys)
			return into->links[i];
	return NULL;
}

int
chain_merge(struct chain *into, const struct chain *other)
{
	if (!plans_agree(&into->plan, &other->plan) || into->plan.growth != 1 ||
	    into->plan.ratio < 1)
		return -1;
	for (size_t i = 0; i < other->n; i++) {
		struct bloom *row = roomy(into, other->links[i]);
		if (row ? bloom_union(row, other->links[i])
			: append(into, copy_of(other->links[i])))
			return -1;
	}
	return 0;
}

enum { PARAM_KEYS, PARAM_FPR, PARAM_RATIO, PARAM_GROWTH, PARAM_LINKS };

int
chain_save(const struct chain *c, const struct seal_sink *to)
{
	uint64_t params[SEAL_PARAMS] = {[PARAM_KEYS] = c->plan.keys,
					[PARAM_FPR] = seal_from_double(c->plan.fpr),
					[PARAM_RATIO] = seal_from_double(c->plan.ratio),
					[PARAM_GROWTH] = c->plan.growth,
					[PARAM_LINKS] = c->n};
	int r = seal_write(to, SEAL_CHAIN, params, NULL, 0);
	for (size_t i = 0; !r && i < c->n; i++)
		r = bloom_save(c->links[i], to);
	return r;
}

/* Links of another size would let a small file speak of a chain that grows by gigabytes. */
static bool
is_planned(const struct chain_plan *p, size_t i, const struct bloom *b)
{
	struct probe want = shape_of(p, i), is = bloom_probe(b);
	return is.range == want.range && is.n == want.n && is.scheme == want.scheme;
}

static int
load(struct chain *c, struct seal_source *from)
{
	uint64_t params[SEAL_PARAMS];
	if (seal_read(from, SEAL_CHAIN, params))
		return -1;
	c->plan = (struct chain_plan){.keys = params[PARAM_KEYS],
				      .fpr = seal_to_double(params[PARAM_FPR]),
				      .ratio = seal_to_double(params[PARAM_RATIO]),
				      .growth = params[PARAM_GROWTH]};
	if (!may(&c->plan) || params[PARAM_LINKS] < 1)
		return seal_refuse(from, SEAL_ABSURD);
	/* A false number of links ends where the source does. */
	while (c->n < params[PARAM_LINKS]) {
		struct bloom *b = bloom_load(from);
		if (!b)
			return -1;
		bool fits = is_planned(&c->plan, c->n, b);
		if (append(c, b))
			return seal_refuse(from, SEAL_NO_MEMORY);
		if (!fits)
			return seal_refuse(from, SEAL_ABSURD);
	}
	return 0;
}

struct chain *
chain_load(struct seal_source *from)
{
	struct chain *c = seal_room(from, sizeof(*c));
	if (c && load(c, from))
		chain_destroy(&c);
	return c;
}
