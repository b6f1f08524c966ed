/* seen.c - chooses the memory, and asks the rule.
 *
 * A pair is asked directly: it is the hot path's one memory access per request.
 */
#include "proxy/cache/admission/seen_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_stats.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void
seen_prefetch(const struct seen *s, struct twice_key_hash h)
{
	if (s->pair)
		twice_pair_prefetch(s->pair, h);
	else
		twice_filter_prefetch(s->memory, h);
}

/* ---- the rule ------------------------------------------------------------------------------ */

/* An elder is asked where the one that learns does not know enough. */
static struct twice_filter_sight
with_elder(const struct seen *s, struct twice_key_hash h, struct twice_filter_sight is)
{
	struct seen_elder *e = (struct seen_elder *)(uintptr_t)&s->elder;
	bool enough = s->pair ? is.sight != TWICE_SIGHT_FIRST
			      : is.times + 1 >= s->memory_options.sightings;
	if (enough || !atomic_load_explicit(&e->now, memory_order_relaxed))
		return is;
	return seen_elder_test(e, h, is);
}

static struct twice_filter_sight
test(const struct seen *s, struct twice_key_hash h)
{
	if (!s->pair)
		return with_elder(s, h, twice_filter_test(s->memory, h));
	enum twice_sight was = twice_pair_test(s->pair, h);
	return with_elder(s, h, (struct twice_filter_sight){was, was != TWICE_SIGHT_FIRST});
}

/* Of a count that can still rise, each sighting is news. */
static struct twice_filter_sight
record_in_memory(struct seen *s, struct twice_key_hash h)
{
	struct twice_filter_sight was = twice_filter_record(s->memory, h);
	if (s->log &&
	    (was.sight != TWICE_SIGHT_CURRENT || was.times + 1 < s->memory_options.sightings))
		seen_log_note(s->log, h);
	return with_elder(s, h, was);
}

static struct twice_filter_sight
record(struct seen *s, struct twice_key_hash h)
{
	if (!s->pair)
		return record_in_memory(s, h);
	enum twice_sight was = twice_pair_record(s->pair, h);
	if (was != TWICE_SIGHT_CURRENT && s->log)
		seen_log_note(s->log, h);
	return with_elder(s, h, (struct twice_filter_sight){was, was != TWICE_SIGHT_FIRST});
}

struct sighting_settings
seen_settings(const struct seen *s)
{
	return (struct sighting_settings){
		.sightings = atomic_load_explicit(&s->choice.asked, memory_order_relaxed),
		.max_object_bytes = s->max_object_bytes,
		.fill_until = atomic_load_explicit(&s->fill_until, memory_order_relaxed),
		.large_sightings =
			atomic_load_explicit(&s->choice.asked_large, memory_order_relaxed),
	};
}

/* The slice that a Range touches first, by this address. */
static uint64_t
touched(struct twice_key_hash url, const struct sighting_facts *f)
{
	return sighting_slice_key(url, f->slice).lo ^ f->from.hash;
}

static struct twice_key_hash
counted_as(struct twice_key_hash url, const struct sighting_facts *f)
{
	return f->kind == SIGHTING_RANGE_BEHIND ? sighting_slice_key(url, f->slice) : url;
}

/* A Range for the first slice knows what is known of the URL too, and the other way round. */
static struct twice_filter_sight
with_first_slice(const struct seen *s, struct twice_key_hash url, const struct sighting_facts *f)
{
	bool first = f->kind == SIGHTING_RANGE_FIRST;
	if (f->slice || (!first && f->kind != SIGHTING_RANGE_BEHIND))
		return f->known;
	struct twice_filter_sight other = test(s, first ? sighting_slice_key(url, 0) : url);
	return other.times > f->known.times ? other : f->known;
}

static void
complete(const struct seen *s, struct twice_key_hash key, struct sighting_facts *f)
{
	f->disk_used_share = atomic_load_explicit(&s->disk_used_share, memory_order_relaxed);
	f->over_budget = budget_is_over(&s->budget);
	f->ram_turn_s = atomic_load_explicit(&s->ram.turn_s, memory_order_relaxed);
	if (!sighting_is_range(f->kind))
		return;
	f->crowd = crowds_has(&s->crowds, f->from.hash, f->now_s);
	if (!f->crowd && recent_has(&s->ranges, touched(key, f), f->now_s))
		f->kind = SIGHTING_RANGE_REPEATED;
}

/* A key that is refused, or would be written, remembers who asked for it, and whether that was one address
 * alone; of what is on disk, or where there is none, nobody has to know. */
static bool
matters_who(const struct seen *s, const struct sighting_facts *f, const struct sighting *r)
{
	return (s->on_disk || sighting_is_range(f->kind)) &&
	       (r->writes || r->verdict == ADMISSION_FIRST_SIGHT);
}

bool
seen_is_too_short(const struct seen *s, int64_t fresh_s)
{
	return sighting_is_too_short(fresh_s,
				     atomic_load_explicit(&s->ram.turn_s, memory_order_relaxed));
}

bool
seen_asks_who(const struct seen *s)
{
	return s->on_disk;
}

static uint64_t
address_bytes(const struct seen *s)
{
	return atomic_load_explicit(&s->address_bytes, memory_order_relaxed);
}

bool
seen_may_write(const struct seen *s, const struct sighting *by, uint64_t bytes)
{
	uint64_t most = address_bytes(s);
	return !most || !by->alone ||
	       accounts_may(s->accounts, by->from, bytes, most, seen_second(s));
}

uint64_t
seen_set_aside(struct seen *s, const struct sighting *by, uint64_t bytes)
{
	if (!address_bytes(s) || !by->alone || !bytes)
		return 0;
	accounts_set_aside(s->accounts, by->from, bytes, seen_second(s));
	return bytes;
}

void
seen_give_back(struct seen *s, const struct sighting *by, uint64_t bytes)
{
	if (bytes)
		accounts_charge(s->accounts, by->from, 0, bytes, seen_second(s));
}

/* The verdict r again, now that it is known whether one address alone asked. */
static void
decide_for(const struct seen *s, const struct sighting_settings *settings, struct sighting_facts *f,
	   struct sighting *r)
{
	uint64_t bytes = f->body_bytes == UINT64_MAX ? 0 : f->body_bytes;
	r->alone = f->alone;
	f->over_share = r->writes && !seen_may_write(s, r, bytes);
	if (f->over_share || (f->alone && sighting_is_range(f->kind)))
		*r = sighting_decide(settings, f);
}

struct sighting
seen_look(const struct seen *s, struct twice_key_hash key, struct sighting_facts *f)
{
	complete(s, key, f);
	struct twice_key_hash counted = counted_as(key, f);
	if (f->kind != SIGHTING_BACKGROUND)
		f->known = test(s, counted);
	f->known = with_first_slice(s, key, f);
	struct sighting_settings settings = seen_settings(s);
	struct sighting r = sighting_decide(&settings, f);
	if (matters_who(s, f, &r)) {
		f->alone = askers_is_alone(&s->askers, counted, f->from.hash);
		if (f->kind == SIGHTING_RANGE_BEHIND)
			f->crowd |= !askers_is_alone(&s->askers, key, f->from.hash);
		decide_for(s, &settings, f, &r);
	}
	return r;
}

struct sighting
seen_judge(struct seen *s, struct twice_key_hash key, struct sighting_facts *f)
{
	complete(s, key, f);
	struct twice_key_hash counted = counted_as(key, f);
	bool counts = sighting_counts(f);
	if (f->kind != SIGHTING_BACKGROUND)
		f->known = counts ? record(s, counted) : test(s, counted);
	if (sighting_is_range(f->kind) && counts) {
		f->known = with_first_slice(s, key, f);
		recent_note(&s->ranges, touched(key, f), f->now_s);
		crowds_note(&s->crowds, f->from.hash, f->now_s);
	}
	struct sighting_settings settings = seen_settings(s);
	struct sighting r = sighting_decide(&settings, f);
	if (matters_who(s, f, &r)) {
		f->alone = askers_note(&s->askers, counted, f->from.hash);
		if (f->kind == SIGHTING_RANGE_BEHIND)
			f->crowd |= !askers_note(&s->askers, key, f->from.hash);
		decide_for(s, &settings, f, &r);
	}
	return r;
}

struct sighting
seen_at_end(const struct seen *s, struct twice_key_hash key, struct sighting_facts *f,
	    unsigned followers, uint64_t body_bytes)
{
	f->over_budget = budget_is_over(&s->budget);
	f->over_share = false;
	struct sighting_settings settings = seen_settings(s);
	struct sighting r = sighting_at_end(&settings, f, followers, body_bytes);
	if (!r.writes)
		return r;
	r.alone = f->alone = askers_is_alone(&s->askers, counted_as(key, f), f->from.hash);
	f->over_share = !seen_may_write(s, &r, body_bytes);
	return f->over_share ? sighting_at_end(&settings, f, followers, body_bytes) : r;
}

bool
seen_most_written(const struct seen *s, struct asker *who, uint64_t *bytes)
{
	return accounts_most(s->accounts, seen_second(s), who, bytes);
}

uint64_t
seen_unlogged(const struct seen *s)
{
	return s->log ? seen_log_missed(s->log) : 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool
begin_empty(struct seen *s, int64_t now)
{
	if (twice_filter_kind_for(&s->memory_options) == TWICE_FILTER_PAIR)
		return twice_pair_create(&s->pair, &s->pair_options, now) == 0;
	s->memory = twice_filter_create(&s->memory_options, now);
	return s->memory != NULL;
}

int
seen_open(struct seen **out, const struct seen_options *o, char *err, size_t err_bytes)
{
	struct seen *s = NEW(struct seen);
	int64_t now = now_s();
	s->cache = o->cache;
	s->on_disk = o->saved;
	s->born_s = now;
	s->memory_options = o->memory;
	s->memory_options.seed = (uint64_t)now;
	s->max_object_bytes = o->max_object_bytes;
	atomic_init(&s->choice.asked, o->rule.sightings);
	atomic_init(&s->fill_until, o->rule.fill_until);
	budget_init(&s->budget, o->rule.write_budget_bytes_s, o->rule.write_budget_saved_s,
		    o->now_ms);
	atomic_init(&s->address_bytes, o->rule.address_bytes);
	atomic_init(&s->ticked_s, o->now_ms / 1000);
	s->accounts = accounts_create();
	pthread_mutex_init(&s->choice.lock, NULL);
	s->pair_options = (struct twice_pair_options){
		.capacity = o->memory.capacity,
		.false_positives = o->memory.false_positives,
		.rotate_after_s = o->memory.rotate_after_s,
	};
	const char *why = twice_filter_may(&s->memory_options);
	bool restored = false;
	if (!why) {
		seen_restore(s, now);
		restored = s->pair || s->memory;
		if (!restored && !begin_empty(s, now))
			why = "there is not enough memory: lower admission.capacity";
	}
	if (why) {
		snprintf(err, err_bytes, "admission: %s", why);
		seen_close(&s);
		return -1;
	}
	if (s->on_disk)
		seen_restore_log(s, now, restored);
	seen_choice_open(s);
	s->by_turns = o->memory.rotate_after_s == 0 &&
		      (s->pair || twice_filter_has_generations(s->memory));
	s->ticked_number = seen_generation(s->pair, s->memory);
	atomic_store(&s->turning, s->ticked_number);
	cache_expect(s->cache, o->memory.sightings > 1);
	*out = s;
	return 0;
}

void
seen_settle(struct seen *s, const struct seen_rule *rule)
{
	seen_check(s);
	seen_choice_settle(s, rule->sightings);
	cache_expect(s->cache, rule->sightings != 1);
	atomic_store_explicit(&s->fill_until, rule->fill_until, memory_order_relaxed);
	atomic_store_explicit(&s->address_bytes, rule->address_bytes, memory_order_relaxed);
	budget_settle(&s->budget, rule->write_budget_bytes_s, rule->write_budget_saved_s);
}

void
seen_close(struct seen **sp)
{
	struct seen *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	pthread_mutex_destroy(&s->choice.lock);
	seen_log_destroy(&s->log);
	seen_elder_fini(&s->elder);
	twice_pair_destroy(&s->pair);
	twice_filter_destroy(&s->memory);
	accounts_destroy(&s->accounts);
	free(s);
}
