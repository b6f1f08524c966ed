/* walk.c - from slice to slice. */
#include "proxy/serve/walk.h"

#include "proxy/base/mem.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/follow.h"
#include "proxy/serve/herd.h"
#include "proxy/serve/run.h"
#include "proxy/serve/slices.h"

#include <assert.h>
#include <stdlib.h>

/* Fetches of one slice for one answer: one may be cut, or be another's that left. */
enum { TRIES_MOST = 3 };

enum walk_place {
	WALK_NOWHERE,
	WALK_LOOKING, /* the disk is asked */
	WALK_IN_OBJECT,
	WALK_IN_FLIGHT
};

struct walk {
	struct cache_lookup lookup; /* first: see on_lookup */
	struct txn *t;		    /* NULL: it has left */
	struct object *head;	    /* a reference */
	struct buf version;	    /* of its body (slices_version) */
	struct key key;		    /* of the slice at hand */
	uint64_t number;
	enum walk_place place;
	struct object *slice;
	uint64_t taken, taken_until; /* of the body, from the slice at hand; until 0: nothing yet */
	struct flight_reader *reader;
	struct body_read read;
	bool read_out;
	bool lost;	    /* what the cache has of this slice cannot be read */
	struct alarm alarm; /* the one who leads takes its time: */
	int64_t try_at_ms;  /* then one more fetch is tried beside it; 0: never */
	unsigned tries;
	unsigned tired;		  /* how often somebody's fetch took too long for it */
	bool leads;		  /* the flight at hand is brought by our own fetch */
	bool alone;		  /* the next try waits for nobody */
	unsigned met;		  /* failures of others' fetches of this slice, */
	int64_t follows_since_ms; /* and since when it waits for those; 0: it does not */
	unsigned asks;		  /* exchanges with the origin so far */
	enum walk_help help;
	int status;
	const char *word;
};

/* ---- life ---------------------------------------------------------------------------------- */

static void
free_walk(struct walk *w)
{
	object_unref(&w->slice);
	body_done(&w->read);
	object_unref(&w->head);
	key_fini(&w->key);
	buf_fini(&w->version);
	free(w);
}

static void on_read(struct body_read *r);
static void on_lookup(struct cache_lookup *l, struct object *o);

void
walk_begin(struct txn *t)
{
	struct walk *w = NEW(struct walk);
	assert(!t->walk && t->object->kind == OBJECT_SLICED);
	w->t = t;
	w->head = object_ref(t->object);
	slices_version(w->head->head, &w->version);
	key_copy(&w->key, &t->key);
	key_back_to_primary(&w->key);
	buf_add_str(&w->key.text, str_from(w->head->key, w->key.primary_bytes));
	w->lookup.home = w->read.home = t->serve->mailbox;
	w->lookup.done = on_lookup;
	w->read.done = on_read;
	t->walk = w;
}

/* What is asked for stays on disk: the slice is paid for what the client took of it. */
static void
pay(struct walk *w)
{
	if (w->slice && w->taken_until)
		cache_pay(w->t->serve->shelves->cache, w->slice, w->taken_until - w->taken);
	w->taken_until = 0;
}

static void
note_taken(struct walk *w, uint64_t at, uint64_t until)
{
	if (!w->taken_until)
		w->taken = at;
	if (until > w->taken_until)
		w->taken_until = until;
}

void
walk_end(struct walk **pw)
{
	struct walk *w = *pw;
	*pw = NULL;
	if (!w)
		return;
	pay(w);
	alarm_cancel(&w->t->serve->alarms, &w->alarm);
	flight_leave(&w->reader);
	w->t = NULL;
	if (w->place != WALK_LOOKING && !w->read_out)
		free_walk(w);
}

/* No slice is at hand any more. */
static void
let_go(struct walk *w)
{
	assert(w->place != WALK_LOOKING && !w->read_out);
	alarm_cancel(&w->t->serve->alarms, &w->alarm);
	w->try_at_ms = 0;
	w->leads = false;
	pay(w);
	body_done(&w->read);
	object_unref(&w->slice);
	flight_leave(&w->reader);
	w->place = WALK_NOWHERE;
}

/* ---- in the cache -------------------------------------------------------------------------- */

static struct slice
bytes_of(const struct walk *w)
{
	return slices_bytes(w->number, w->head->whole_bytes);
}

/* The slice is here. One that was refused on first sight is written now, from RAM, where its URL
 * is wanted on disk. */
static void
take(struct walk *w, struct object *o)
{
	struct txn *t = w->t;
	struct shelves *sh = t->serve->shelves;
	w->slice = o;
	w->place = WALK_IN_OBJECT;
	bill_slice_hit(t, &w->key, o->body_bytes);
	if (t->sighting.writes && !o->on_disk && cache_admit(sh->cache, o))
		seen_charge(sh->seen, (int64_t)cache_record_bytes(o->key.n, 0, o->body_bytes));
}

static bool
is_it(const struct walk *w, const struct object *o)
{
	return o->kind == OBJECT_SLICE && o->body_bytes == bytes_of(w).n &&
	       o->whole_bytes == w->head->whole_bytes;
}

/* What a look into the cache brought. */
static void
found(struct walk *w, struct object *o)
{
	w->place = WALK_NOWHERE;
	w->lost = !o || !is_it(w, o);
	if (!w->lost)
		take(w, o);
	else
		object_unref(&o);
}

static void
on_lookup(struct cache_lookup *l, struct object *o)
{
	struct walk *w = (struct walk *)l;
	if (!w->t) {
		object_unref(&o);
		w->place = WALK_NOWHERE;
		free_walk(w);
		return;
	}
	found(w, o);
	w->t->wake(w->t);
}

static void
on_read(struct body_read *r)
{
	struct walk *w = (struct walk *)((char *)r - offsetof(struct walk, read));
	w->read_out = false;
	if (w->t)
		w->t->wake(w->t);
	else
		free_walk(w);
}

static void
make_key(struct walk *w, struct key *key, uint64_t number)
{
	key_to_slice(key, w->t->serve->shelves->seed, w->head->key.n, buf_str(&w->version),
		     w->head->whole_bytes, number);
}

static void
look(struct walk *w, uint64_t at)
{
	struct object *o = NULL;
	w->lookup.first = LOOKUP_FROM;
	w->lookup.first_at = at - bytes_of(w).at;
	w->place = WALK_LOOKING;
	enum found f = cache_lookup(w->t->serve->shelves->cache, &w->lookup, w->key.hash,
				    buf_str(&w->key.text), &o);
	if (f != FOUND_LATER)
		found(w, f == FOUND_OBJECT ? o : NULL);
}

/* ---- from the origin ----------------------------------------------------------------------- */

/* Behind the last slice that one exchange brings: all that are wanted and missing in a row, but few
 * at first. Who seeks about leaves soon, and what the origin has sent by then was in vain. */
static uint64_t
end_of_run(struct walk *w, uint64_t until)
{
	struct shelves *sh = w->t->serve->shelves;
	unsigned many = w->asks < 2 ? 1 : 1u << (w->asks < 6 ? w->asks - 1 : 5);
	uint64_t end = w->number + 1;
	uint64_t most = w->number + (many < SLICES_AT_ONCE ? many : SLICES_AT_ONCE);
	struct key key = {0};
	bool missing = true;
	if (most > slices_end(until))
		most = slices_end(until);
	key_copy(&key, &w->key);
	while (missing && end < most) {
		struct object *o;
		make_key(w, &key, end);
		missing = cache_peek(sh->cache, key.hash, buf_str(&key.text), &o) == FOUND_NOT &&
			  !flights_has(sh->flights, key.hash, buf_str(&key.text));
		object_unref(&o);
		end += missing;
	}
	key_fini(&key);
	return end;
}

bool
walk_has(struct walk *w, const struct slice *ranges, unsigned n)
{
	enum { LOOKS_MOST = 4096 };
	struct shelves *sh = w->t->serve->shelves;
	struct key key = {0};
	unsigned looks = 0;
	bool all = true;
	key_copy(&key, &w->key);
	for (unsigned i = 0; i < n; i++) {
		uint64_t end = slices_end(ranges[i].at + ranges[i].n);
		for (uint64_t s = slices_number(ranges[i].at); all && s < end; s++) {
			struct object *o;
			make_key(w, &key, s);
			all = looks++ < LOOKS_MOST &&
			      cache_peek(sh->cache, key.hash, buf_str(&key.text), &o) != FOUND_NOT;
			object_unref(&o);
		}
	}
	key_fini(&key);
	return all;
}

/* We lead, but the slice may have landed after we looked. */
static bool
landed(struct walk *w)
{
	struct shelves *sh = w->t->serve->shelves;
	struct object *o;
	if (w->tries > 1 ||
	    cache_peek(sh->cache, w->key.hash, buf_str(&w->key.text), &o) != FOUND_OBJECT)
		return false;
	if (!is_it(w, o)) {
		object_unref(&o);
		return false;
	}
	struct flight *f = flight_ref(flight_of(w->reader));
	flights_close(f);
	flight_fail(f, 0, "landed", 0);
	flight_unref(&f);
	flight_leave(&w->reader);
	take(w, o);
	return true;
}

/* We lead the flight of the slice at hand. */
static void
ask(struct walk *w, uint64_t until)
{
	w->help = WALK_ASKED;
	w->leads = true;
	fill_slices(w->t, flight_of(w->reader), w->head, w->number, end_of_run(w, until));
	w->asks++;
}

static void
on_alarm(struct alarm *a)
{
	struct walk *w = (struct walk *)((char *)a - offsetof(struct walk, alarm));
	w->t->wake(w->t);
}

/* Who met a fetch that hangs will not wait as long for the next one: there may be one for each
 * slice, by the same hand. */
static void
wait_a_while(struct walk *w)
{
	enum { SHRINKS = 3, SHRINKS_MOST = 12 };
	unsigned by = w->tired * SHRINKS < SHRINKS_MOST ? w->tired * SHRINKS : SHRINKS_MOST;
	w->try_at_ms = now_ms() + (follow_patience_ms(w->t) >> by);
	alarm_set(&w->t->serve->alarms, &w->alarm, w->try_at_ms, on_alarm);
}

/* There is no head yet of a fetch that somebody else leads, or that comes to this slice after
 * another one: not for too long. True: another one has it by now. */
static bool
is_tired(struct walk *w, uint64_t until)
{
	struct txn *t = w->t;
	int64_t now = now_ms();
	if (!w->try_at_ms)
		return false;
	if (flight_is_overtaken(flight_of(w->reader)))
		return true;
	if (now < w->try_at_ms)
		return false;
	bool leads = flights_overtake(t->serve->shelves->flights, &w->reader, now,
				      follow_patience_ms(t));
	w->try_at_ms = 0;
	w->tired++;
	if (leads)
		ask(w, until);
	else
		wait_a_while(w);
	return false;
}

static void
join(struct walk *w, uint64_t until)
{
	struct txn *t = w->t;
	struct flights *fs = t->serve->shelves->flights;
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
	if (leads) {
		ask(w, until);
		return;
	}
	wait_a_while(w);
	if (!w->follows_since_ms)
		w->follows_since_ms = now_ms();
	if (w->help == WALK_ALL_KEPT)
		w->help = WALK_JOINED;
	metrics_add(t->serve->metrics, METRIC_JOINED, 1);
	if (t->sighting.writes)
		flight_want(flight_of(w->reader));
}

/* What somebody else's fetch came to may be its own fields' fault: is it ours too? */
static enum herd_step
follow_on(struct walk *w, bool is_changed, uint64_t blame)
{
	enum { REFUSED = 404 }; /* as good a word as any: that client got other than the slice */
	struct herd_facts f = {
		.failed = !is_changed,
		.status = is_changed ? REFUSED : w->status,
		.blameless = blame == 0,
		.same = follow_is_ours(w->t, blame),
		.met = w->met++,
		.waited_ms = now_ms() - w->follows_since_ms,
		.most_ms = follow_most_ms(w->t),
	};
	return herd_decide(&f);
}

/* The flight came to nothing. WALK_LATER: it is tried again. */
static enum walk_step
fail(struct walk *w)
{
	uint64_t blame;
	bool begun = flight_head(flight_of(w->reader))->status != 0, ours = w->leads;
	flight_failure(flight_of(w->reader), &w->status, &w->word, &blame);
	bool is_changed = run_is_changed(w->word);
	let_go(w);
	if (!ours) {
		enum herd_step step = follow_on(w, is_changed, blame);
		w->alone = step == HERD_ALONE;
		if (step != HERD_INHERIT)
			return WALK_LATER;
	}
	if (is_changed)
		return WALK_CHANGED;
	/* Its leader left, or the origin broke off. */
	return (w->status == 0 || begun) && w->tries < TRIES_MOST ? WALK_LATER : WALK_FAILED;
}

void
walk_failure(const struct walk *w, int *status, const char **word)
{
	*status = w->status ? w->status : 502;
	*word = w->word ? w->word : "aborted";
}

/* ---- steps --------------------------------------------------------------------------------- */

static void
go_to(struct walk *w, uint64_t at)
{
	if (w->place != WALK_NOWHERE)
		let_go(w);
	w->number = slices_number(at);
	w->tries = w->met = 0;
	w->follows_since_ms = 0;
	w->alone = false;
	make_key(w, &w->key, w->number);
	look(w, at);
}

static bool
is_at(const struct walk *w, uint64_t at)
{
	return w->key.text.n > w->head->key.n && w->number == slices_number(at);
}

enum walk_step
walk_find(struct walk *w, uint64_t at, uint64_t until)
{
	if (w->place == WALK_LOOKING || w->read_out)
		return WALK_LATER;
	if (!is_at(w, at))
		go_to(w, at);
	for (;;) {
		switch (w->place) {
		case WALK_LOOKING:
			return WALK_LATER;
		case WALK_IN_OBJECT:
			return WALK_READY;
		case WALK_NOWHERE:
			if (!w->lost) { /* a try that failed: somebody else's may have landed */
				look(w, at);
				break;
			}
			if (w->t->cc.only_if_cached)
				return WALK_REFUSED;
			join(w, until);
			break;
		case WALK_IN_FLIGHT: {
			enum flight_state s = flight_state(flight_of(w->reader));
			if (s == FLIGHT_WAITING && !is_tired(w, until))
				return WALK_LATER;
			if (s == FLIGHT_WAITING) {
				let_go(w);
				w->lost = false;
				break;
			}
			if (s != FLIGHT_FAILED)
				return WALK_READY;
			enum walk_step step = fail(w);
			if (step != WALK_LATER)
				return step;
			w->lost = false;
			break;
		}
		}
	}
}

/* WALK_LATER with *again: what the slice was read from is gone, and it is looked for anew. */
static enum walk_step
read_object(struct walk *w, uint64_t at, size_t most, struct str *piece, bool *again)
{
	uint64_t from = at - bytes_of(w).at, left = bytes_of(w).n - from;
	switch (object_read(w->t->serve->shelves->cache, w->slice, &w->read, from,
			    left < most ? left : most)) {
	case BODY_READY:
		*piece = (struct str){w->read.p, w->read.n};
		note_taken(w, at, at + w->read.n);
		return WALK_READY;
	case BODY_LATER:
		w->read_out = true;
		return WALK_LATER;
	case BODY_BAD:
		break;
	}
	let_go(w);
	w->lost = true; /* one slice is fetched again, no more */
	*again = w->tries < TRIES_MOST;
	w->status = 0;
	return *again ? WALK_LATER : WALK_FAILED;
}

static enum walk_step
read_flight(struct walk *w, uint64_t at, size_t most, struct str *piece, struct block **block,
	    bool *again)
{
	struct slice s = bytes_of(w);
	uint64_t from = at - s.at, left = s.n - from;
	struct object *o;
	enum walk_step step;
	switch (flight_read(w->reader, from, &piece->p, &piece->n, block)) {
	case FLIGHT_READY:
		if (piece->n > left)
			piece->n = (size_t)left;
		if (piece->n > most)
			piece->n = most;
		flight_done_until(w->reader, from);
		return WALK_READY;
	case FLIGHT_LATER:
		return WALK_LATER;
	case FLIGHT_STORED:
		o = object_ref(flight_stored(flight_of(w->reader)));
		let_go(w);
		w->slice = o;
		w->place = WALK_IN_OBJECT;
		*again = true;
		return WALK_LATER;
	case FLIGHT_LOST:
	case FLIGHT_OVER:
		let_go(w);
		*again = w->tries < TRIES_MOST;
		return *again ? WALK_LATER : WALK_FAILED;
	case FLIGHT_CUT:
		break;
	}
	step = fail(w);
	*again = step == WALK_LATER;
	w->lost = false;
	return step;
}

enum walk_step
walk_read(struct walk *w, uint64_t at, uint64_t until, size_t most, struct str *piece,
	  struct block **block)
{
	for (;;) {
		bool again = false;
		enum walk_step step = walk_find(w, at, until);
		if (step != WALK_READY)
			return step;
		step = w->place == WALK_IN_OBJECT ? read_object(w, at, most, piece, &again)
						  : read_flight(w, at, most, piece, block, &again);
		if (!again)
			return step;
	}
}

bool
walk_give_back(struct walk *w, uint64_t at)
{
	if (w->place != WALK_IN_OBJECT || w->read_out || !is_at(w, at))
		return false;
	body_done(&w->read);
	return true;
}

enum walk_help
walk_help(const struct walk *w)
{
	return w->help;
}
