/* walk_slice.c - the slice that a walk is at: its bytes, its key, where it lies. */
#include "proxy/serve/walk_inside.h"

#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/sight.h"

#include <assert.h>

void
walk_check(const struct walk *w)
{
	assert(w->t && w->head->kind == OBJECT_SLICED);
	assert((w->place == WALK_IN_OBJECT) == (w->slice != NULL));
	assert((w->place == WALK_IN_FLIGHT) == (w->reader != NULL));
	assert(!w->read_out || w->place == WALK_IN_OBJECT);
	assert(!w->try_at_ms || w->place == WALK_IN_FLIGHT);
	assert(w->taken <= w->taken_until || !w->taken_until);
}

struct range
walk_bytes(const struct walk *w)
{
	return slices_bytes(w->number, w->head->whole_bytes);
}

void
walk_make_key(struct walk *w, struct key *key, uint64_t number)
{
	key_to_slice(key, w->t->serve->shelves->seed, w->head->key.n, buf_str(&w->version),
		     w->head->whole_bytes, number);
}

bool
walk_is_it(const struct walk *w, const struct object *o)
{
	return o->kind == OBJECT_SLICE && o->body_bytes == walk_bytes(w).n &&
	       o->whole_bytes == w->head->whole_bytes;
}

void
walk_sight_begin(struct walk *w)
{
	struct sighting_facts f;
	sight_of(&w->t->rq, w->t->route, w->head->terms.status, &f);
	w->sight.each = f.kind == SIGHTING_RANGE_BEHIND && !txn_is_billed_elsewhere(w->t);
	w->sight.judged = f.slice;
	w->sight.is = w->t->sighting;
}

/* The first one is what the request was judged by; a Range that goes on counts for each slice behind that, too. */
void
walk_sight(struct walk *w)
{
	struct txn *t = w->t;
	struct sighting_facts f;
	if (!w->sight.each || w->number == w->sight.judged)
		return;
	sight_of_object(t, &f);
	f.slice = w->sight.judged = w->number;
	w->sight.is = seen_judge(t->serve->shelves->seen, t->key.sighting, &f);
	w->sight.untold = w->sight.is.recorded;
}

/* The sighting of the slice at hand is told once: by who has it, or by who brings it. */
bool
walk_tells(struct walk *w)
{
	bool tells = w->sight.untold;
	w->sight.untold = false;
	return tells;
}

bool
walk_may_write(const struct walk *w, uint64_t bytes)
{
	return w->sight.is.writes &&
	       seen_may_write(w->t->serve->shelves->seen, &w->sight.is, bytes);
}

/* A client that takes its time does not have for ever what somebody took back. */
bool
walk_may_outlive(const struct walk *w)
{
	enum { MOST_MS = 3600 * 1000 };
	return !w->outlives_ms || now_ms() - w->outlives_ms < MOST_MS;
}

/* The slice is here. One that was refused on first sight is written now, from RAM, where its URL
 * is wanted on disk. */
void
walk_take(struct walk *w, struct object *o)
{
	struct txn *t = w->t;
	struct shelves *sh = t->serve->shelves;
	w->slice = o;
	w->place = WALK_IN_OBJECT;
	if (cache_was_forgotten(sh->cache, o)) { /* no hit of what there is now */
		if (!w->outlives_ms)
			w->outlives_ms = now_ms();
		return;
	}
	struct billed_slice s = {.key = &w->key,
				 .number = w->number,
				 .bytes = o->body_bytes,
				 .whole_bytes = w->head->whole_bytes,
				 .sightings = walk_tells(w),
				 .joins = true};
	if (!txn_is_billed_elsewhere(t))
		bill_slice_hit(t, &s, o);
	uint64_t bytes = cache_record_bytes(o->key.n, 0, o->body_bytes);
	if (!o->on_disk && walk_may_write(w, bytes) && cache_admit(sh->cache, o))
		seen_charge(sh->seen, &w->sight.is, bytes);
}

/* The slice is paid for what the client took of it, so that it stays on disk. */
void
walk_pay(struct walk *w)
{
	if (w->slice && w->taken_until)
		cache_pay(w->t->serve->shelves->cache, w->slice, w->taken_until - w->taken);
	w->taken_until = 0;
}

/* No slice is at hand any more. */
void
walk_let_go(struct walk *w)
{
	assert(w->place != WALK_LOOKING && !w->read_out);
	alarm_cancel(&w->t->serve->alarms, &w->alarm);
	w->try_at_ms = 0;
	w->leads = w->asks_tags = false;
	walk_pay(w);
	body_done(&w->read);
	object_unref(&w->slice);
	flight_leave(&w->reader);
	w->place = WALK_NOWHERE;
}
