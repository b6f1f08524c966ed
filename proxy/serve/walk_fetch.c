/* walk_fetch.c - a slice that is not kept: its flight is joined, or led to the origin. */
#include "proxy/serve/walk_inside.h"

#include "proxy/serve/fill.h"
#include "proxy/serve/rules/herd.h"
#include "proxy/serve/patience.h"
#include "proxy/serve/run.h"
#include "proxy/serve/rules/slices.h"

#include <assert.h>

/* Behind the last slice that one exchange brings: all that are wanted and missing in a row, but few
 * at first. Who seeks about leaves soon, and what the origin has sent by then was in vain. An origin
 * that limits rates is asked for more at once. */
static uint64_t
end_of_run(struct walk *w, uint64_t until)
{
	struct shelves *sh = w->t->serve->shelves;
	unsigned many = w->asks < 2 ? 1 : 1u << (w->asks < 6 ? w->asks - 1 : 5);
	if (again_is_limited(sh, &w->key))
		many = SLICES_AT_ONCE;
	uint64_t end = w->number + 1;
	uint64_t most = w->number + (many < SLICES_AT_ONCE ? many : SLICES_AT_ONCE);
	struct key key = {0};
	bool missing = true;
	if (most > slices_end(until))
		most = slices_end(until);
	key_copy(&key, &w->key);
	while (missing && end < most) {
		struct object *o;
		walk_make_key(w, &key, end);
		missing = cache_peek(sh->cache, key.hash, buf_str(&key.text), &o) == FOUND_NOT &&
			  !flights_has(sh->flights, key.hash, buf_str(&key.text));
		object_unref(&o);
		end += missing;
	}
	key_fini(&key);
	return end;
}

/* We lead, but the slice may have landed after we looked, in RAM or on the disk alone: then it is
 * looked for once more. */
static bool
landed(struct walk *w)
{
	struct object *o;
	if (w->tries > 1 || cache_peek(w->t->serve->shelves->cache, w->key.hash,
				       buf_str(&w->key.text), &o) == FOUND_NOT)
		return false;
	object_unref(&o);
	struct flight *f = flight_ref(flight_of(w->reader));
	flights_close(f);
	flight_fail(f, 0, "landed", 0);
	flight_unref(&f);
	flight_leave(&w->reader);
	w->lost = false;
	return true;
}

/* We lead the flight of the slice at hand. */
static void
ask(struct walk *w, uint64_t until, bool is_beside)
{
	assert(w->place == WALK_IN_FLIGHT && w->reader && !w->slice);
	w->help = WALK_ASKED;
	w->leads = true;
	w->asks_tags = false;
	fill_slices(w->t, flight_of(w->reader), w->head, w->number, end_of_run(w, until),
		    &w->sight.is, w->sight.each, is_beside);
	w->asks++;
}

static void
ask_beside(struct walk *w, uint64_t until)
{
	metrics_add(w->t->serve->metrics, METRIC_BESIDE, 1);
	ask(w, until, true);
}

static void
on_alarm(struct alarm *a)
{
	struct walk *w = (struct walk *)((char *)a - offsetof(struct walk, alarm));
	w->t->wake(w->t);
}

/* A walk that met a fetch that hangs waits less for the next one: there may be one for each
 * slice, by the same hand. */
static void
wait_a_while(struct walk *w)
{
	enum { SHRINKS = 3, SHRINKS_MOST = 12 };
	unsigned by = w->tired * SHRINKS < SHRINKS_MOST ? w->tired * SHRINKS : SHRINKS_MOST;
	w->try_at_ms = now_ms() + (patience_ms(w->t) >> by);
	alarm_set(&w->t->serve->alarms, &w->alarm, w->try_at_ms, on_alarm);
}

/* There is no head yet of a fetch that somebody else leads, or that comes to this slice after
 * another one: not for too long. True: another one has it by now. */
bool
walk_is_tired(struct walk *w, uint64_t until)
{
	struct txn *t = w->t;
	int64_t now = now_ms();
	if (!w->try_at_ms)
		return false;
	if (flight_is_overtaken(flight_of(w->reader)))
		return true;
	if (now < w->try_at_ms)
		return false;
	bool leads = flights_overtake(t->serve->shelves->flights, &w->reader, now, patience_ms(t));
	w->try_at_ms = 0;
	w->tired++;
	if (leads)
		ask_beside(w, until);
	else
		wait_a_while(w);
	return false;
}

/* All that has come of the slice was sent, and somebody else leads its fetch. True: that drips, and
 * the slice is looked for again, or fetched anew from its beginning. */
bool
walk_leaves_drip(struct walk *w, uint64_t until)
{
	struct txn *t = w->t;
	struct flight *f = flight_of(w->reader);
	int64_t now = now_ms(), patience = patience_ms(t);
	bool ours = w->leads || (t->leader && !w->asks); /* the whole was asked for by us */
	if (ours || flight_state(f) != FLIGHT_ARRIVING)
		return false;
	if (flight_is_overtaken(f)) {
		walk_let_go(w);
		w->lost = false;
		return true;
	}
	if (flight_drips(f, now, patience) &&
	    flights_overtake(t->serve->shelves->flights, &w->reader, now, patience)) {
		w->try_at_ms = 0;
		alarm_cancel(&t->serve->alarms, &w->alarm);
		ask_beside(w, until);
		return true;
	}
	if (!alarm_is_set(&w->alarm))
		alarm_set(&t->serve->alarms, &w->alarm, now + patience, on_alarm);
	return false;
}

/* A purge by tag between the question for the slice and our joining covers it, which only its head
 * tells. Then it is tried again. */
bool
walk_is_purged(struct walk *w)
{
	bool asks = w->asks_tags;
	w->asks_tags = false;
	if (!asks || flights_is_clean(flight_of(w->reader)))
		return false;
	walk_let_go(w);
	w->tries--;
	return true;
}

void
walk_note_source(struct walk *w)
{
	bool had = flight_head(flight_of(w->reader))->had && w->source != WALK_FROM_ORIGIN;
	w->source = had ? WALK_FROM_SIBLING : WALK_FROM_ORIGIN;
}

void
walk_doubt(struct walk *w)
{
	if (w->t->doubted && w->reader)
		flight_doubt(w->reader);
}

void
walk_join(struct walk *w, uint64_t until)
{
	struct txn *t = w->t;
	struct flights *fs = t->serve->shelves->flights;
	assert(w->place == WALK_NOWHERE && w->lost && !w->reader);
	w->tries++;
	bool leads = true;
	if (w->alone)
		w->reader = flights_enter_alone(fs, 0, t->serve->mailbox, t->wake, t, now_ms());
	else
		leads = flights_enter(fs, w->key.hash, buf_str(&w->key.text), t->serve->mailbox,
				      t->wake, t, now_ms(), &w->reader);
	w->alone = false;
	if (leads && landed(w))
		return;
	w->place = WALK_IN_FLIGHT;
	if (walk_tells(w))
		flight_count(w->reader);
	walk_doubt(w);
	if (leads) {
		ask(w, until, false);
		return;
	}
	w->asks_tags = true;
	wait_a_while(w);
	if (!w->follows_since_ms)
		w->follows_since_ms = now_ms();
	if (w->help == WALK_ALL_KEPT)
		w->help = WALK_JOINED;
	metrics_add(t->serve->metrics, METRIC_JOINED, 1);
	if (walk_may_write(w, walk_bytes(w).n))
		flight_want(flight_of(w->reader));
}

/* Another one's fetch may have failed by its own fields' fault: is it ours too? */
static enum herd_step
follow_on(struct walk *w, bool is_changed, uint64_t blame)
{
	enum { REFUSED = 404 }; /* as good a word as any: that client got other than the slice */
	struct herd_facts f = {
		.failed = !is_changed,
		.status = is_changed ? REFUSED : w->status,
		.blameless = blame == 0,
		.same = patience_is_own_fault(w->t, blame),
		.met = w->met++,
		.waited_ms = now_ms() - w->follows_since_ms,
		.most_ms = patience_most_ms(w->t),
	};
	return herd_decide(&f);
}

/* The flight came to nothing. WALK_LATER: it is tried again. */
enum walk_step
walk_fail(struct walk *w)
{
	uint64_t blame;
	bool begun = flight_head(flight_of(w->reader))->status != 0, ours = w->leads;
	assert(flight_state(flight_of(w->reader)) == FLIGHT_FAILED);
	flight_failure(flight_of(w->reader), &w->status, &w->word, &blame);
	bool is_changed = run_is_changed(w->word);
	walk_let_go(w);
	if (!ours) {
		enum herd_step step = follow_on(w, is_changed, blame);
		w->alone = step == HERD_ALONE;
		if (step != HERD_INHERIT)
			return WALK_LATER;
	}
	if (is_changed)
		return WALK_CHANGED;
	/* Its leader left, or the origin broke off. */
	return (w->status == 0 || begun) && w->tries < WALK_TRIES_MOST ? WALK_LATER : WALK_FAILED;
}
