/* sights.c - the proxy's filters, or a set that forgets nothing. */
#include "proxy/simulate/sights.h"

#include "proxy/base/mem.h"
#include "proxy/cache/admission/crowds.h"
#include "proxy/cache/admission/recent.h"
#include "proxy/cache/admission/sighting.h"
#include "proxy/cache/slice_bytes.h"
#include "proxy/cache/turn.h"
#include "proxy/cache/turning.h"

#include <stdio.h>
#include <stdlib.h>

enum { AHEAD = 12, FIRST_KEYS = 1 << 12, MOST_TIMES = 255 };

struct exact_row {
	uint64_t key; /* 0: free */
	uint64_t times;
};

struct sights {
	struct sights_options o;
	struct twice_filter *filter; /* NULL: exact */
	struct exact_row *rows;	     /* owned */
	uint64_t size, used;
	struct recent ranges;
	struct crowds crowds;
	uint32_t ticked_s;
	struct turning turning; /* filter NULL: not by turns */
	struct sights_facts n;
};

/* A memory without generations has none to end. */
static bool
turns(const struct sights_options *o)
{
	return o->by_turns && !o->memory.rotate_after_s && o->memory.kind != TWICE_FILTER_STABLE;
}

struct sights *
sights_create(const struct sights_options *o, char *err, size_t err_bytes)
{
	const char *why = o->exact ? NULL : twice_filter_may(&o->memory);
	if (why) {
		snprintf(err, err_bytes, "%s", why);
		return NULL;
	}
	struct sights *s = NEW(struct sights);
	s->o = *o;
	if (o->exact) {
		s->size = FIRST_KEYS;
		s->rows = mem_zalloc(s->size * sizeof *s->rows);
		return s;
	}
	struct twice_filter_options *m = &s->o.memory;
	s->o.by_turns = turns(o);
	if (!s->o.by_turns && !m->rotate_after_s)
		m->rotate_after_s = TURN_DAY_S;
	s->filter = twice_filter_create(m, 0);
	if (s->filter && s->o.by_turns)
		s->turning.filter = s->filter;
	if (!s->filter) {
		snprintf(err, err_bytes,
			 "there is not enough memory for a filter of this capacity");
		sights_destroy(&s);
	}
	return s;
}

void
sights_destroy(struct sights **ps)
{
	struct sights *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	twice_filter_destroy(&s->filter);
	free(s->rows);
	free(s);
}

static uint64_t
life_s(const struct twice_filter_options *m)
{
	return m->rotate_after_s ? m->rotate_after_s : TURN_DAY_S;
}

bool
sights_are_like(const struct sights *s, const struct sights_options *o)
{
	const struct twice_filter_options *a = &s->o.memory, *b = &o->memory;
	if (s->o.exact || o->exact)
		return s->o.exact && o->exact;
	if (s->o.by_turns || turns(o))
		return false;
	/* Of the number of sightings that is asked for, only a cascade knows less or more. */
	if (twice_filter_kind_for(b) == TWICE_FILTER_CASCADE && a->sightings != b->sightings)
		return false;
	return twice_filter_kind_for(a) == twice_filter_kind_for(b) && a->capacity == b->capacity &&
	       life_s(a) == life_s(b) && !(a->false_positives < b->false_positives) &&
	       !(a->false_positives > b->false_positives);
}

static struct exact_row *
exact_find(const struct sights *s, uint64_t key)
{
	uint64_t i = key & (s->size - 1);
	while (s->rows[i].key && s->rows[i].key != key)
		i = (i + 1) & (s->size - 1);
	return &s->rows[i];
}

static void
exact_grow(struct sights *s)
{
	struct exact_row *old = s->rows;
	uint64_t n = s->size;
	s->size = 2 * n;
	s->rows = mem_zalloc(s->size * sizeof *s->rows);
	for (uint64_t i = 0; i < n; i++)
		if (old[i].key)
			*exact_find(s, old[i].key) = old[i];
	free(old);
}

static struct twice_filter_sight
exact_see(struct sights *s, uint64_t key, bool counts)
{
	key |= !key;
	struct exact_row *r = exact_find(s, key);
	unsigned times = (unsigned)r->times;
	if (counts && !r->key) {
		r->key = key;
		if (++s->used > s->size / 2)
			exact_grow(s);
		r = exact_find(s, key);
	}
	if (counts && r->times < MOST_TIMES)
		r->times++;
	return (struct twice_filter_sight){times ? TWICE_SIGHT_CURRENT : TWICE_SIGHT_FIRST, times};
}

static bool
is_counted(struct sights *s, const struct visit *v)
{
	if (v->kind != VISIT_PART)
		return true;
	uint64_t who = (uint64_t)v->client << 32 | v->client;
	uint64_t thing = sighting_slice_key(v->key, v->at / SLICE_BYTES).lo ^ who;
	if (!crowds_has(&s->crowds, who, v->now_s) && recent_has(&s->ranges, thing, v->now_s))
		return false;
	recent_note(&s->ranges, thing, v->now_s);
	crowds_note(&s->crowds, who, v->now_s);
	return true;
}

void
sights_charge(struct sights *s, uint64_t bytes, uint64_t turn_bytes)
{
	turning_charge(&s->turning, bytes, turn_bytes);
}

uint64_t
sights_number(const struct sights *s)
{
	return s->filter ? twice_filter_number(s->filter) : 0;
}

bool
sights_are_by_turns(const struct sights *s)
{
	return s->turning.filter != NULL;
}

void
sights_prefetch(const struct sights *s, struct twice_key_hash h)
{
	if (s->filter)
		twice_filter_prefetch(s->filter, h);
}

/* ---- a visit ------------------------------------------------------------------------------- */

static void
tick(struct sights *s, uint32_t now_s)
{
	if (now_s == s->ticked_s)
		return;
	s->ticked_s = now_s;
	if (s->filter)
		twice_filter_tick(s->filter, now_s);
	if (s->turning.filter)
		turning_tick(&s->turning, now_s);
}

static struct twice_filter_sight
see(struct sights *s, struct twice_key_hash h, bool counts)
{
	if (!s->filter)
		return exact_see(s, h.hi, counts);
	return counts ? twice_filter_record(s->filter, h) : twice_filter_test(s->filter, h);
}

bool
sights_is_behind(const struct visit *v)
{
	return v->kind == VISIT_PART && v->at > 0;
}

enum sighting_kind
sights_kind(const struct visit *v, bool counts)
{
	if (v->kind != VISIT_PART)
		return SIGHTING_PLAIN;
	if (!counts)
		return SIGHTING_RANGE_REPEATED;
	return sights_is_behind(v) ? SIGHTING_RANGE_BEHIND : SIGHTING_RANGE_FIRST;
}

static struct twice_filter_sight
see_as(struct sights *s, struct twice_key_hash h, bool counts)
{
	struct twice_filter_sight known = see(s, h, counts);
	s->n.keys += counts && known.sight != TWICE_SIGHT_CURRENT;
	return known;
}

/* A part of the first slice knows what is known of the URL too, and the other way round. */
static struct twice_filter_sight
see_part(struct sights *s, const struct visit *v, bool counts)
{
	struct twice_key_hash slice = sighting_slice_key(v->key, v->at / SLICE_BYTES);
	bool behind = sights_is_behind(v);
	struct twice_filter_sight known = see_as(s, behind ? slice : v->key, counts), other;
	if (v->at >= SLICE_BYTES)
		return known;
	other = see(s, behind ? v->key : slice, false);
	return other.times > known.times ? other : known;
}

static uint64_t
see_behind(struct sights *s, const struct visit *v, bool counts)
{
	enum { MOST = (1 << SIGHTS_BITS) - 1 };
	uint64_t first = v->at / SLICE_BYTES, behind = 0;
	if (!sights_is_behind(v) || !v->sent)
		return 0;
	uint64_t n = (v->at + v->sent - 1) / SLICE_BYTES - first;
	for (uint64_t i = 0; i < n; i++) {
		unsigned times = see_as(s, sighting_slice_key(v->key, first + i + 1), counts).times;
		if (i < SIGHTS_BEHIND)
			behind |= (uint64_t)(times < MOST ? times : MOST) << i * SIGHTS_BITS;
	}
	return behind;
}

unsigned
sights_times(const struct sights_known *k, uint64_t nth)
{
	uint64_t i = nth < SIGHTS_BEHIND ? nth - 1 : SIGHTS_BEHIND - 1;
	return (unsigned)(k->behind >> i * SIGHTS_BITS) & ((1 << SIGHTS_BITS) - 1);
}

void
sights_see(struct sights *s, const struct visit *v, size_t n, struct sights_known *known)
{
	for (size_t i = 0; i < n; i++) {
		bool part = v[i].kind == VISIT_PART, counts;
		if (s->filter && i + AHEAD < n)
			twice_filter_prefetch(s->filter, v[i + AHEAD].key);
		tick(s, v[i].now_s);
		known[i] = (struct sights_known){0};
		if (v[i].kind >= VISIT_HEAD)
			continue;
		counts = is_counted(s, &v[i]);
		known[i] = (struct sights_known){.first = part ? see_part(s, &v[i], counts)
							       : see_as(s, v[i].key, counts),
						 .behind = part ? see_behind(s, &v[i], counts) : 0,
						 .counts = counts};
		if (v[i].tracked && v[i].first) {
			s->n.first++;
			s->n.false_first += known[i].first.sight != TWICE_SIGHT_FIRST;
		}
	}
}

void
sights_facts(const struct sights *s, struct sights_facts *out)
{
	*out = s->n;
	out->memory_bytes = s->size * sizeof *s->rows;
	if (s->filter) {
		struct twice_filter_stats m;
		twice_filter_stats(s->filter, &m);
		out->memory_bytes = m.bytes;
		out->rotations = m.generation;
	}
}
