/* policy.c - the rule, the cache of numbers, and the counts. */
#include "proxy/simulate/policy.h"

#include "proxy/base/mem.h"
#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/admission/budget.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/admission/sighting.h"
#include "proxy/cache/slice_bytes.h"
#include "proxy/simulate/choosing.h"
#include "proxy/simulate/joins.h"
#include "proxy/simulate/limit.h"
#include "proxy/simulate/lru.h"
#include "proxy/simulate/packed.h"
#include "proxy/simulate/ram_turn.h"

#include <math.h>
#include <stdlib.h>

enum {
	HEAD_BYTES = 200,     /* of a stored head, whose fields no log tells */
	SLICE_KEY_BYTES = 64, /* more than the URL's: the version and the number */
};
enum { PART_SHIFT = 3, AHEAD_FAR = 20, AHEAD_NEAR = 8, AHEAD_SIGHTS = 12 };

struct policy {
	struct policy_spec o;
	struct sights *sights;
	struct ghost *ghost; /* one of the three */
	struct lru *lru;
	struct limit *limit;
	struct sighting_settings rule;
	struct choosing *choosing; /* NULL: the rule stays as it is */
	struct budget budget;
	uint32_t now_s;
	struct joins joins;
	struct ram_turn ram;
	bool is_joined;	      /* the visit of now */
	uint64_t large_bytes; /* from which on all objects are in the sample */
	struct policy_facts n;
	/* So much needed the origin, and was written, by parts of the sample. */
	double missed[POLICY_PARTS], written[POLICY_PARTS];
};

static struct ghost_options
ghost_options(const struct policy_spec *o, uint32_t most_rows)
{
	return (struct ghost_options){
		.disk_bytes = o->disk_bytes,
		.reserve_bytes = baseline_reserve_bytes(o->disk_bytes, o->sights.memory.capacity),
		.memory_bytes = o->memory_bytes,
		.max_entries = most_rows,
		.plain_urls = true,
		.packs = !o->packs_not,
		.asked_before = o->sightings > 1};
}

struct policy *
policy_create(const struct policy_spec *o, struct sights *sights, uint32_t most_rows)
{
	struct policy *p = NEW(struct policy);
	struct ghost_options g = ghost_options(o, most_rows);
	p->o = *o;
	p->sights = sights;
	p->ram.memory_bytes = o->memory_bytes;
	p->rule = (struct sighting_settings){.sightings = o->sightings,
					     .large_sightings = o->large_sightings,
					     .max_object_bytes = o->max_object_bytes};
	if (o->bound)
		p->limit = limit_create();
	else if (o->lru)
		p->lru = lru_create(o->disk_bytes, most_rows);
	else
		p->ghost = ghost_create(&g);
	g.plain_urls = false; /* of slices it is told which body's they are */
	if (o->chooses)
		p->choosing = choosing_create(o, &g);
	return p;
}

void
policy_destroy(struct policy **pp)
{
	struct policy *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	choosing_destroy(&p->choosing);
	ghost_destroy(&p->ghost);
	lru_destroy(&p->lru);
	limit_destroy(&p->limit);
	joins_fini(&p->joins);
	free(p);
}

const struct sights *
policy_sights(const struct policy *p)
{
	return p->sights;
}

/* ---- one visit ----------------------------------------------------------------------------- */

static bool
is_refused(const struct policy *p, const struct visit *v, const struct sighting *s)
{
	return !s->writes ||
	       (p->o.exp_bytes &&
		visit_draw(v, p->n.requests) >= exp(-(double)v->bytes / (double)p->o.exp_bytes));
}

static void
tick(struct policy *p, uint32_t now_s)
{
	if (now_s == p->now_s || !p->o.budget_bytes_s)
		return;
	if (!p->now_s)
		budget_init(&p->budget, p->o.budget_bytes_s, p->o.budget_saved_s,
			    (int64_t)now_s * 1000);
	p->now_s = now_s;
	budget_fill(&p->budget, (int64_t)now_s * 1000, (uint64_t)p->n.written_bytes);
}

/* A visit has one outcome, whether its object is one piece or many. */
struct outcome {
	enum ghost_answer answer;
	bool wrote;
	bool anew; /* in slices: its head was missed, so all that was asked for comes at once */
	double weight;
	double origin_requests, origin_bytes;
	double missed_sent; /* bytes that the client got and the origin had to send */
	double written_bytes;
};

static void
count(struct policy *p, const struct visit *v, const struct outcome *is)
{
	struct policy_facts *n = &p->n;
	struct outcome joined = {.answer = GHOST_PASSED, /* another one is charged for the fetch */
				 .wrote = is->wrote,
				 .weight = is->weight,
				 .missed_sent = (double)v->sent,
				 .written_bytes = is->written_bytes};
	const struct outcome *o = p->is_joined ? &joined : is;
	if (o->answer == GHOST_MISSED)
		p->ram.got += (double)v->bytes * o->weight;
	if (o->answer == GHOST_MISSED || o->answer == GHOST_VALIDATED)
		joins_note(&p->joins, v);
	double w = o->weight;
	double *const kinds[] = {[GHOST_FROM_RAM] = &n->ram_hits,
				 [GHOST_FROM_DISK] = &n->disk_hits,
				 [GHOST_VALIDATED] = &n->validated,
				 [GHOST_MISSED] = &n->fetched,
				 [GHOST_PASSED] = &n->passed};
	unsigned part = v->key.lo >> PART_SHIFT & (POLICY_PARTS - 1);
	bool missed = o->answer >= GHOST_VALIDATED;
	*kinds[o->answer] += w;
	n->missed += missed ? w : 0;
	n->origin_requests += o->origin_requests * w;
	n->origin_bytes += o->origin_bytes * w;
	n->missed_sent_bytes += o->missed_sent * w;
	n->written_bytes += o->written_bytes;
	n->written_objects += o->wrote ? w : 0;
	n->once_written_objects += o->wrote && !v->again ? w : 0;
	if (w > 1) { /* what stands for itself alone is not in doubt */
		p->missed[part] += missed ? w : 0;
		p->written[part] += o->written_bytes;
	}
}

/* The cache is asked, and what it writes is charged. */
static struct ghost_did
see(struct policy *p, const struct ghost_event *e)
{
	struct ghost_did did = p->ghost ? ghost_see(p->ghost, e) : lru_see(p->lru, e);
	if (did.wrote && p->o.budget_bytes_s)
		budget_charge(&p->budget, did.written_bytes);
	uint64_t bytes = p->ghost ? ghost_disk_bytes(p->ghost, e) : e->record_bytes;
	if (did.wrote && sights_are_by_turns(p->sights))
		sights_charge(p->sights, bytes * did.weight,
			      p->ghost ? ghost_turn_bytes(p->ghost) : 0);
	p->n.packing_saved_bytes += did.wrote ? (double)(e->record_bytes - bytes) * did.weight : 0;
	if (p->choosing) {
		choosing_see(p->choosing, e, &did);
		choosing_turn(p->choosing, sights_number(p->sights), e->now_s, &p->rule);
	}
	return did;
}

static void
visit_whole(struct policy *p, const struct visit *v, struct ghost_event *e)
{
	e->record_bytes = cache_record_bytes(v->key_bytes, HEAD_BYTES, v->bytes);
	e->packed_bytes =
		cache_record_bytes(v->key_bytes, HEAD_BYTES, packed_bytes(v->bytes, v->packed));
	e->body_bytes = e->origin_bytes = v->bytes;
	struct ghost_did did = see(p, e);
	struct outcome o = {.answer = did.answer,
			    .wrote = did.wrote,
			    .weight = did.weight,
			    .written_bytes = (double)did.written_bytes};
	o.origin_requests = did.answer >= GHOST_VALIDATED;
	if (did.answer == GHOST_MISSED || did.answer == GHOST_PASSED)
		o.missed_sent = (double)v->sent;
	o.origin_bytes = did.answer == GHOST_MISSED ? (double)v->bytes : o.missed_sent;
	if (did.answer != GHOST_IGNORED)
		count(p, v, &o);
}

/* ---- a body in slices, as in serve/rules/slices.h and serve/walk.c --------------------------------- */

/* One slice of a visit whose head was answered: what it adds to the outcome. fetched: how many
 * neighbours before it came with the same request. */
static void
visit_slice(struct policy *p, const struct visit *v, struct ghost_event *e, struct outcome *o,
	    unsigned *fetched)
{
	uint64_t from, until, at = e->url;
	visit_range(v, &from, &until);
	uint64_t end = at + e->body_bytes;
	uint64_t sent = (until < end ? until : end) - (from > at ? from : at);
	e->record_bytes = cache_record_bytes(v->key_bytes + SLICE_KEY_BYTES, 0, e->body_bytes);
	e->origin_bytes = e->body_bytes;
	struct ghost_did did = see(p, e);
	o->written_bytes += (double)did.written_bytes;
	if (did.answer == GHOST_FROM_DISK && o->answer == GHOST_FROM_RAM)
		o->answer = GHOST_FROM_DISK;
	bool missed = did.answer == GHOST_MISSED;
	bool alone = missed && (*fetched == 0 || *fetched == SLICES_AT_ONCE);
	*fetched = !missed ? 0 : alone ? 1 : *fetched + 1;
	if (!missed || o->anew)
		return;
	o->origin_requests += alone;
	o->origin_bytes += (double)e->body_bytes;
	o->missed_sent += (double)sent;
	o->answer = GHOST_MISSED;
}

/* A visit was judged by these. */
struct judged {
	struct sighting_facts *facts;
	const struct sights_known *known;
	bool refused; /* by its URL, or its first slice */
};

/* A range behind the first byte counts for each slice by itself. */
static bool
is_slice_refused(const struct policy *p, const struct visit *v, const struct judged *j,
		 uint64_t nth)
{
	if (j->facts->kind != SIGHTING_RANGE_BEHIND || !nth)
		return j->refused;
	unsigned times = sights_times(j->known, nth);
	struct sighting_facts f = *j->facts;
	f.known =
		(struct twice_filter_sight){times ? TWICE_SIGHT_CURRENT : TWICE_SIGHT_FIRST, times};
	struct sighting s = sighting_decide(&p->rule, &f);
	return is_refused(p, v, &s);
}

/* The head is an object of its own; the slices come and go one by one. Where nothing is known of
 * the whole, what was asked for is passed on, and of it the slices that it fills are kept. */
static void
visit_slices(struct policy *p, const struct visit *v, const struct judged *j, struct ghost_event *e)
{
	uint64_t from, until;
	unsigned fetched = 0;
	visit_range(v, &from, &until);
	e->record_bytes = cache_record_bytes(v->key_bytes, HEAD_BYTES, 0);
	e->whole = true;
	e->deed = GHOST_FETCHED;
	e->validator = v->version + 1; /* else it would not be in slices */
	struct ghost_did did = see(p, e);
	struct outcome o = {.answer = did.answer,
			    .wrote = did.wrote,
			    .weight = did.weight,
			    .written_bytes = (double)did.written_bytes};
	if (did.answer == GHOST_IGNORED)
		return;
	o.anew = did.answer == GHOST_MISSED;
	o.origin_requests = did.answer >= GHOST_VALIDATED;
	o.origin_bytes = o.missed_sent = o.anew ? (double)(until - from) : 0;
	bool wanted = ghost_is_on_disk(p->ghost, e->key);
	e->validator = 0;
	e->fresh_s = UINT32_MAX; /* its key tells the version */
	e->joins = e->slice = true;
	e->head = v->key.hi;
	bool each = e->behind && e->sightings;
	for (uint64_t i = from / SLICE_BYTES; i * SLICE_BYTES < until; i++) {
		uint64_t at = i * SLICE_BYTES, left = v->bytes - at;
		e->body_bytes = left < SLICE_BYTES ? left : SLICE_BYTES;
		if (o.anew && (at < from || at + e->body_bytes > until))
			continue;
		e->refused = !wanted && is_slice_refused(p, v, j, i - from / SLICE_BYTES);
		e->sightings = each && i > from / SLICE_BYTES;
		e->behind = e->sightings ? i + 1 : 0;
		e->key = visit_slice_key(v, i);
		e->url = at;
		visit_slice(p, v, e, &o, &fetched);
	}
	if (!v->sent)
		o.missed_sent = 0; /* the client has got nothing of it */
	count(p, v, &o);
}

/* ---- a visit --------------------------------------------------------------------------------- */

/* A size at which the ghost's sample is as the catalogue's. */
static uint64_t
sampled_as(const struct policy *p, const struct visit *v)
{
	uint64_t from = p->large_bytes;
	if (v->large)
		return v->bytes > from ? v->bytes : from;
	return v->bytes < from ? v->bytes | !v->bytes : from - 1;
}

static void
visit(struct policy *p, const struct visit *v, const struct sights_known *known)
{
	struct sighting_facts f = {.kind = sights_kind(v, known->counts),
				   .storable = true,
				   .status = 200,
				   .body_bytes = v->bytes,
				   .slice = sights_is_behind(v) ? v->at / SLICE_BYTES : 0,
				   .has_life = v->fresh_s != UINT32_MAX,
				   .fresh_s = v->fresh_s,
				   .confirmed = v->validator != 0,
				   .known = known->first};
	tick(p, v->now_s);
	if (f.has_life)
		f.ram_turn_s = ram_turn_find(&p->ram, v->now_s);
	p->is_joined = joins_has(&p->joins, v);
	f.over_budget = p->o.budget_bytes_s && budget_is_over(&p->budget);
	struct sighting s = sighting_decide(&p->rule, &f);
	struct ghost_event e = {
		.key = v->key.hi,
		.url = v->key.hi,
		.sampled_as = sampled_as(p, v),
		.now_s = v->now_s,
		.fresh_s = v->fresh_s,
		.validator = v->validator,
		.purge_now = 1,
		.stale_at = v->softened ? 2 : 0,
		/* Those that joined another's fetch fetch nothing, also where that was not kept. */
		.deed = p->is_joined		? GHOST_ASKED
			: v->kind == VISIT_PART ? GHOST_PART
						: GHOST_FETCHED,
		/* The second part finds the head, and fetches the one slice that a small body is. */
		.whole = v->kind != VISIT_PART || s.whole || known->first.times > 0,
		.sightings = known->counts,
		.behind = f.kind == SIGHTING_RANGE_BEHIND ? f.slice + 1 : 0,
		.first = f.kind == SIGHTING_RANGE_FIRST,
	};
	e.refused = is_refused(p, v, &s);
	if (v->changed && p->ghost)
		ghost_forget(p->ghost, e.url);
	else if (v->changed)
		lru_forget(p->lru, e.key);
	if (v->changed && p->choosing)
		choosing_forget(p->choosing, e.url);
	if (p->ghost && v->bytes > SLICE_BYTES && !p->o.in_one_piece)
		visit_slices(p, v, &(struct judged){&f, known, e.refused}, &e);
	else
		visit_whole(p, v, &e);
}

/* Answered if the object is there; else the origin answers it, and nothing is stored. */
static void
visit_head(struct policy *p, const struct visit *v)
{
	struct ghost_event e = {.key = v->key.hi,
				.url = v->key.hi,
				.sampled_as = sampled_as(p, v),
				.record_bytes = cache_record_bytes(v->key_bytes, HEAD_BYTES, 0),
				.now_s = v->now_s,
				.purge_now = 1,
				.deed = GHOST_ASKED,
				.refused = true};
	const struct ghost_did passed = {.answer = GHOST_PASSED, .weight = 1};
	p->is_joined = false;
	struct ghost_did did = p->ghost ? see(p, &e) : passed;
	struct outcome o = {.answer = did.answer,
			    .weight = did.weight,
			    .origin_requests = did.answer >= GHOST_VALIDATED};
	if (did.answer != GHOST_IGNORED)
		count(p, v, &o);
}

static void
count_passed(struct policy *p, const struct visit *v)
{
	p->n.passed++, p->n.missed++, p->n.origin_requests++;
	p->n.origin_bytes += (double)v->sent;
	p->n.missed_sent_bytes += (double)v->sent;
}

static void
run_limit(struct policy *p, const struct visit *v, size_t n, unsigned halvings)
{
	for (size_t i = 0; i < n; i++) {
		p->n.requests++;
		p->n.sent_bytes += v[i].sent;
		if (v[i].tracked)
			limit_see(p->limit, &v[i], v[i].large ? 1 : ldexp(1, (int)halvings));
	}
}

void
policy_run(struct policy *p, const struct visit *v, size_t n, struct catalogue_sample sample,
	   const struct sights_known *known)
{
	p->large_bytes = sample.large_bytes;
	if (p->limit) {
		run_limit(p, v, n, sample.halvings);
		return;
	}
	if (p->ghost)
		ghost_thin(p->ghost, sample.halvings, sample.large_bytes);
	else
		lru_thin(p->lru, sample.halvings);
	if (p->choosing)
		choosing_thin(p->choosing, sample.halvings, sample.large_bytes);
	bool asks = sights_are_by_turns(p->sights);
	for (size_t i = 0; i < n; i++) {
		struct sights_known now_known = {0};
		p->n.requests++;
		p->n.sent_bytes += v[i].sent;
		if (p->ghost && i + AHEAD_FAR < n)
			ghost_prefetch(p->ghost, v[i + AHEAD_FAR].key.hi);
		if (p->ghost && i + AHEAD_NEAR < n)
			ghost_prefetch_shade(p->ghost, v[i + AHEAD_NEAR].key.hi);
		if (asks && i + AHEAD_SIGHTS < n)
			sights_prefetch(p->sights, v[i + AHEAD_SIGHTS].key);
		if (asks)
			sights_see(p->sights, &v[i], 1, &now_known);
		if (v[i].kind == VISIT_PASSED)
			count_passed(p, &v[i]);
		else if (v[i].tracked && v[i].kind == VISIT_HEAD)
			visit_head(p, &v[i]);
		else if (v[i].tracked)
			visit(p, &v[i], asks ? &now_known : &known[i]);
	}
}

/* ---- what came of it ----------------------------------------------------------------------- */

/* The standard error of a sum of which the sampled parts are known. */
static double
error_of_sum(const double parts[POLICY_PARTS])
{
	double sum = 0, squares = 0, n = POLICY_PARTS;
	for (int i = 0; i < POLICY_PARTS; i++)
		sum += parts[i];
	for (int i = 0; i < POLICY_PARTS; i++)
		squares += (parts[i] - sum / n) * (parts[i] - sum / n);
	return sqrt(squares * n / (n - 1));
}

/* No cache of this disk and memory exceeds these; nothing is known of writes. */
static void
limit_facts(const struct policy *p, struct policy_facts *out)
{
	double hits, bytes, all = (double)p->n.requests, sent = (double)p->n.sent_bytes;
	double room = (double)p->o.disk_bytes + (p->o.lru ? 0 : (double)p->o.memory_bytes);
	limit_find(p->limit, room, all, &hits, &bytes);
	out->sample_share = 1;
	out->hit_ratio = all > 0 ? fmin(hits / all, 1) : 0;
	out->byte_hit_ratio = sent > 0 ? fmin(bytes / sent, 1) : 0;
}

/* A sample knows the misses of the whole well, and its hits badly: those of a few hot keys are in
 * it or not. So hits are what is left of all requests (SHARDS-adj of Waldspurger et al.). */
void
policy_facts(const struct policy *p, struct policy_facts *out)
{
	*out = p->n;
	if (p->limit)
		limit_facts(p, out);
	if (p->limit)
		return;
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
	out->hit_ratio = all > 0 ? fmax(1 - p->n.missed / all, 0) : 0;
	out->byte_hit_ratio = sent > 0 ? fmax(1 - p->n.missed_sent_bytes / sent, 0) : 0;
	out->chooses = p->choosing != NULL;
	if (p->choosing)
		out->choice = *choosing_choice(p->choosing);
	out->hit_ratio_error = all > 0 ? error_of_sum(p->missed) / all : 0;
	out->written_error = error_of_sum(p->written);
}
