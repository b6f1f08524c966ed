/* whatif.c - rows of ghosts, what they differ by, and what they may cost.
 *
 * An event costs 0.4 to 0.9 microseconds in all rows together (bench/whatif.c). So that this stays below a
 * hundredth of what the requests cost, each of these earns a part of an event: a hit a 16th, one that
 * asks an origin a quarter. What the first events cost is lent. When the account is empty the sample is halved, or,
 * when it is large objects that cost most, fewer count as large.
 */
#include "proxy/cache/ghost/whatif.h"

#include "proxy/base/mem.h"
#include "proxy/cache/admission/sighting.h"
#include "proxy/cache/turning.h"
#include "proxy/cache/ghost/whatif_inside.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
	EVENT = 16, /* what one costs, in units of what a hit earns */
	FETCH_EARNS = 4,
	LENT = 4 << 10, /* events */
	RESPITE = 1 << 10,
	CAPACITY_MOST = 32 << 10,
	CAPACITY_LEAST = 1 << 10,
	MOST_HALVINGS = 30,
	ALIGN_EVERY = 64,
};

/* Packing leaves so much of text, until that is learnt. */
static const double PLAIN_FIRST = 64 << 10, LEFT_FIRST = 0.3;

static const struct {
	const char *name;
	unsigned sightings, disk, memory;
} kinds[WHATIF_ROWS] = {
#define WHATIF(id, name, sightings, disk, memory) [WHATIF_##id] = {name, sightings, disk, memory},
#include "proxy/cache/ghost/whatif_rows.h"
#undef WHATIF
};

const char *
whatif_name(enum whatif_row row)
{
	return kinds[row].name;
}

/* This must hold between any two events: O(1), on in production. */
static void
check(const struct whatif *w)
{
	assert(w->rows[WHATIF_NOW].ghost);
	assert(w->halvings <= MOST_HALVINGS && w->large_events <= w->events);
	assert(w->account >= 0 && w->account <= (int64_t)w->o.lent * EVENT);
}

/* ---- the sample ---------------------------------------------------------------------------- */

bool
whatif_samples(const struct whatif *w, uint64_t key, uint64_t sampled_as)
{
	return ghost_samples(w->rows[WHATIF_NOW].ghost, key, sampled_as);
}

void
whatif_align(struct whatif *w)
{
	unsigned halvings = 0;
	uint64_t large = 0;
	struct ghost_stats s;
	for (int i = 0; i < WHATIF_ROWS; i++) {
		if (!w->rows[i].ghost)
			continue;
		ghost_stats(w->rows[i].ghost, &s);
		unsigned n = (unsigned)lrint(-log2(s.sample_share));
		halvings = n > halvings ? n : halvings;
		if (s.large_bytes != UINT64_MAX && s.large_bytes > large)
			large = s.large_bytes;
	}
	if (halvings == w->halvings && (large ? large : UINT64_MAX) == w->large_bytes)
		return;
	w->halvings = halvings;
	w->large_bytes = large ? large : UINT64_MAX;
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (w->rows[i].ghost)
			ghost_thin(w->rows[i].ghost, w->halvings, w->large_bytes);
}

void
whatif_thin(struct whatif *w, unsigned halvings, uint64_t large_bytes)
{
	ghost_thin(w->rows[WHATIF_NOW].ghost, halvings, large_bytes);
	whatif_align(w);
}

static void
thin(struct whatif *w)
{
	uint64_t large = w->large_bytes;
	unsigned halvings = w->halvings + 1;
	if (w->halvings == 0 && large == UINT64_MAX)
		large = ghost_large_from(w->rows[WHATIF_NOW].ghost);
	else if (2 * w->large_events > w->events && large < UINT64_MAX / 2) {
		large *= 2;
		halvings--;
	}
	if (halvings > MOST_HALVINGS)
		return;
	w->events = w->large_events = 0;
	whatif_thin(w, halvings, large);
}

void
whatif_earn(struct whatif *w, uint64_t requests, uint64_t fetched)
{
	uint64_t units = requests - fetched + fetched * FETCH_EARNS;
	int64_t most = (int64_t)w->o.lent * EVENT;
	w->requests += (double)requests;
	w->account = units < (uint64_t)(most - w->account) ? w->account + (int64_t)units : most;
}

static void
pay(struct whatif *w, const struct ghost_event *e)
{
	uint64_t size = e->sampled_as ? e->sampled_as : e->record_bytes;
	w->events++;
	w->large_events += size >= w->large_bytes;
	w->account -= EVENT;
	if (w->account >= 0)
		return;
	w->account = (int64_t)RESPITE * EVENT;
	thin(w);
}

/* ---- an event ------------------------------------------------------------------------------ */

static struct twice_key_hash
hash_of(uint64_t key)
{
	uint64_t x = (key ^ key >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (struct twice_key_hash){x ^ x >> 29, key};
}

/* Only what is in the sample comes here, so a generation is full with so much less. */
static void
end_full(const struct whatif *w, struct whatif_cell *c, int64_t now_s)
{
	uint64_t number = twice_filter_number(c->turning.filter);
	if (number != c->number)
		c->keys = 0;
	else if ((c->keys << w->halvings) >= w->o.memory.capacity)
		twice_filter_rotate(c->turning.filter, now_s);
	c->number = number;
}

static void
fill_budget(const struct whatif *w, struct whatif_cell *c, int64_t now_ms, bool is_first)
{
	struct ghost_stats s;
	ghost_stats(c->ghost, &s);
	if (is_first) {
		budget_init(&c->budget, w->o.budget_bytes_s, w->o.budget_saved_s, now_ms);
		c->written_before = s.written_bytes;
	}
	budget_fill(&c->budget, now_ms, s.written_bytes - c->written_before);
}

static void
tick(struct whatif *w, uint32_t now_s)
{
	if (now_s == w->now_s)
		return;
	bool is_first = !w->now_s;
	w->now_s = now_s;
	for (int i = 0; i < WHATIF_ROWS; i++) {
		struct whatif_cell *c = &w->rows[i];
		if (c->ghost && w->o.budget_bytes_s)
			fill_budget(w, c, (int64_t)now_s * 1000, is_first);
		if (!c->memory)
			continue;
		twice_filter_tick(c->memory, now_s);
		if (!c->turning.filter)
			continue;
		if (c->by_turns)
			turning_tick(&c->turning, now_s);
		end_full(w, c, now_s);
	}
}

static enum sighting_kind
kind_of(const struct ghost_event *e)
{
	if (!e->sightings)
		return SIGHTING_RANGE_REPEATED;
	return e->behind ? SIGHTING_RANGE_BEHIND : e->first ? SIGHTING_RANGE_FIRST : SIGHTING_PLAIN;
}

static struct twice_key_hash
hash_of_slice(uint64_t url, uint64_t slice)
{
	return hash_of(sighting_slice_key((struct twice_key_hash){.hi = url}, slice).hi);
}

/* An event, as all rows judge it. */
struct judged {
	struct twice_key_hash h, other; /* which it counts for; of what more is known besides */
	bool has_other, is_told;	/* is_told: by another event already */
	struct sighting_facts facts;
};

/* As in seen.c, a Range for the first slice knows what is known of the URL too, and the other way round. */
static struct judged
facts_of(const struct ghost_event *e)
{
	uint64_t url = e->slice ? e->head : e->key;
	struct judged j = {
		.h = e->behind ? hash_of_slice(url, e->behind - 1) : hash_of(url),
		.has_other = e->sightings && (e->behind == 1 || e->first),
		.is_told = e->slice && !e->sightings,
		.facts = {.kind = kind_of(e),
			  .route = e->always ? RULE_ALWAYS : RULE_SIGHTINGS,
			  .storable = true,
			  .slice = e->behind ? e->behind - 1 : 0,
			  .status = 200,
			  .body_bytes = e->slice || !e->body_bytes ? e->sampled_as : e->body_bytes},
	};
	if (j.has_other)
		j.other = e->first ? hash_of_slice(url, 0) : hash_of(url);
	return j;
}

/* The row's memory has the event's sightings from now on; answers with what it knew before. */
static struct twice_filter_sight
record(struct whatif_cell *c, const struct ghost_event *e, const struct judged *j)
{
	if (j->is_told)
		return (struct twice_filter_sight){TWICE_SIGHT_FIRST, 0};
	if (!e->sightings)
		return twice_filter_test(c->memory, j->h);
	struct twice_filter_sight known = twice_filter_record(c->memory, j->h), other;
	c->keys += known.sight != TWICE_SIGHT_CURRENT;
	for (unsigned i = 1; i < e->sightings; i++)
		twice_filter_record(c->memory, j->h);
	if (!j->has_other)
		return known;
	other = twice_filter_test(c->memory, j->other);
	return other.times > known.times ? other : known;
}

/* The row's rule judges it: is the disk refused, would a part bring the whole? All slices of a body are wanted on
 * disk whose head is there, and others by their own sightings. True: the budget alone refuses it. */
static bool
judge(struct whatif_cell *c, struct ghost_event *e, struct judged *j)
{
	struct sighting_settings rule = {.sightings = c->sightings, .large_sightings = c->large};
	struct sighting_facts *f = &j->facts;
	unsigned others = e->sightings > 1 ? e->sightings - 1u : 0;
	f->over_budget = c->budget.rate && budget_is_over(&c->budget);
	if (!c->memory) { /* it admits all */
		e->refused = e->refused || f->over_budget;
		return f->over_budget;
	}
	f->admitted = e->slice && ghost_is_on_disk(c->ghost, e->head);
	f->known = record(c, e, j);
	struct sighting s = others ? sighting_at_end(&rule, f, others, f->body_bytes)
				   : sighting_decide(&rule, f);
	e->refused = !s.writes;
	if (e->deed == GHOST_PART)
		e->whole = s.whole;
	return s.verdict == ADMISSION_OVER_BUDGET;
}

/* A part of all keys that are in the sample; those of a body's slices are in one. */
static unsigned
part_of(uint64_t key)
{
	return (unsigned)((key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 59);
}

static uint32_t
see(struct whatif_cell *c, struct ghost_event e, struct judged *j)
{
	bool over = judge(c, &e, j) && !ghost_is_on_disk(c->ghost, e.key);
	struct ghost_did did = ghost_see(c->ghost, &e);
	uint64_t bytes = ghost_disk_bytes(c->ghost, &e);
	c->refused += over ? (double)bytes * did.weight : 0;
	c->sent += (double)did.net_bytes;
	double took = did.wrote ? (double)bytes * did.weight : 0;
	c->admitted += took;
	if (did.wrote && c->budget.rate)
		budget_charge(&c->budget, did.written_bytes);
	if (did.wrote && c->by_turns)
		turning_charge(&c->turning, bytes * did.weight, ghost_turn_bytes(c->ghost));
	if (did.weight < 2)
		return did.weight; /* it stands for itself: there is no doubt about it */
	unsigned part = part_of(e.key);
	c->asked[part] += (double)did.net_requests;
	c->written[part] += (double)did.written_bytes;
	c->came[part] += (double)did.net_bytes;
	c->took[part] += took;
	return did.weight;
}

/* Records that were packed tell how much that leaves; those that will be are taken as so much. */
static void
tell_packed(struct whatif *w, struct ghost_event *e)
{
	if (e->packed_bytes) {
		w->plain_bytes += (double)e->record_bytes;
		w->packed_bytes += (double)e->packed_bytes;
	} else if (e->packable) {
		e->packed_bytes = (uint64_t)((double)e->record_bytes * w->packed_bytes / w->plain_bytes);
	}
}

void
whatif_see(struct whatif *w, const struct ghost_event *of)
{
	struct ghost_event told = *of;
	const struct ghost_event *e = &told;
	if (!whatif_samples(w, e->key, e->sampled_as ? e->sampled_as : e->record_bytes))
		return;
	tell_packed(w, &told);
	tick(w, e->now_s);
	struct judged j = facts_of(e);
	uint32_t weight = see(&w->rows[WHATIF_NOW], *e, &j);
	for (int i = WHATIF_NOW + 1; i < WHATIF_ROWS; i++)
		if (w->rows[i].ghost)
			see(&w->rows[i], *e, &j);
	w->bytes += e->deed == GHOST_ASKED ? 0 : (double)e->body_bytes * weight;
	pay(w, e);
	if (++w->seen % ALIGN_EVERY == 0)
		whatif_align(w);
	check(w);
}

/* ---- forgetting ---------------------------------------------------------------------------- */

void
whatif_forget(struct whatif *w, uint64_t url)
{
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (w->rows[i].ghost)
			ghost_forget(w->rows[i].ghost, url);
}

void
whatif_forget_host(struct whatif *w, uint32_t host)
{
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (w->rows[i].ghost)
			ghost_forget_host(w->rows[i].ghost, host);
}

void
whatif_forget_all(struct whatif *w)
{
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (w->rows[i].ghost)
			ghost_forget_all(w->rows[i].ghost);
}

/* ---- life ---------------------------------------------------------------------------------- */

/* It would be the same as another row, or nobody needs it. */
static bool
is_left_out(const struct whatif *w, enum whatif_row row)
{
	unsigned now = w->o.memory.sightings;
	if (row == WHATIF_HALF_RAM || row == WHATIF_DOUBLE_RAM)
		return !w->o.ghost.memory_bytes;
	if (w->o.chooses)
		return false;
	return row == WHATIF_LARGE_3 ? now != CHOICE_FEW : kinds[row].sightings == now;
}

/* Sets what is asked for; answers with the most that its memory has to tell. */
static unsigned
set_rule(const struct whatif *w, enum whatif_row row, struct whatif_cell *c)
{
	bool follows = !kinds[row].sightings && w->o.chooses;
	unsigned now = w->o.chooses ? w->o.sightings : w->o.memory.sightings;
	c->sightings = kinds[row].sightings ? kinds[row].sightings : now;
	c->large = row == WHATIF_LARGE_3 ? CHOICE_MANY : follows ? w->o.large_sightings : 0;
	return follows || c->large ? CHOICE_MANY : c->sightings;
}

void
whatif_settle(struct whatif *w, unsigned sightings, unsigned large_sightings)
{
	if (!w->o.chooses)
		return;
	assert(sightings > 0 && sightings <= CHOICE_MANY && large_sightings <= CHOICE_MANY);
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (!kinds[i].sightings) {
			w->rows[i].sightings = sightings;
			w->rows[i].large = large_sightings;
		}
}

static int
begin_row(struct whatif *w, enum whatif_row row)
{
	struct whatif_cell *c = &w->rows[row];
	struct ghost_options g = w->o.ghost;
	unsigned most = set_rule(w, row, c);
	if (is_left_out(w, row))
		return 0;
	g.disk_bytes = g.disk_bytes / 2 * kinds[row].disk;
	g.memory_bytes = g.memory_bytes / 2 * kinds[row].memory;
	g.max_entries = WHATIF_ENTRIES;
	g.asked_before = c->sightings > 1;
	c->disk_bytes = g.disk_bytes;
	c->memory_bytes = g.memory_bytes;
	c->ghost = ghost_create(&g);
	if (most < 2)
		return 0;
	c->options = w->o.memory;
	c->options.sightings = most;
	uint64_t capacity = c->options.capacity;
	c->options.capacity = capacity < CAPACITY_LEAST	 ? CAPACITY_LEAST
			      : capacity > CAPACITY_MOST ? CAPACITY_MOST
							 : capacity;
	c->memory = twice_filter_create(&c->options, 0);
	if (!c->memory)
		return -1;
	struct twice_filter_stats m;
	twice_filter_stats(c->memory, &m);
	c->filter_bytes = m.bytes;
	if (twice_filter_has_generations(c->memory))
		c->turning.filter = c->memory;
	c->by_turns = c->turning.filter && !c->options.rotate_after_s;
	return 0;
}

struct whatif *
whatif_create(const struct whatif_options *o)
{
	struct whatif *w = NEW(struct whatif);
	w->o = *o;
	w->large_bytes = UINT64_MAX;
	w->plain_bytes = PLAIN_FIRST;
	w->packed_bytes = PLAIN_FIRST * LEFT_FIRST;
	w->o.lent = !o->lent ? LENT : o->lent < RESPITE ? RESPITE : o->lent;
	w->account = (int64_t)w->o.lent * EVENT;
	for (int i = 0; w && i < WHATIF_ROWS; i++)
		if (begin_row(w, (enum whatif_row)i) != 0)
			whatif_destroy(&w);
	return w;
}

void
whatif_destroy(struct whatif **pw)
{
	struct whatif *w = *pw;
	*pw = NULL;
	if (!w)
		return;
	for (int i = 0; i < WHATIF_ROWS; i++) {
		ghost_destroy(&w->rows[i].ghost);
		twice_filter_destroy(&w->rows[i].memory);
	}
	free(w);
}
