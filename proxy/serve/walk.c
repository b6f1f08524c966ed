/* walk.c - from slice to slice. */
#include "proxy/serve/walk_inside.h"

#include "proxy/base/mem.h"
#include "proxy/serve/rules/slices.h"

#include <assert.h>
#include <stdlib.h>

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
	assert(!t->body.walk && t->object->kind == OBJECT_SLICED);
	w->t = t;
	w->head = object_ref(t->object);
	slices_version(w->head->head, &w->version);
	key_copy(&w->key, &t->key);
	key_back_to_primary(&w->key);
	buf_add_str(&w->key.text, str_from(w->head->key, w->key.primary_bytes));
	w->lookup.home = w->read.home = t->serve->mailbox;
	w->lookup.done = on_lookup;
	if (!cache_was_forgotten(t->serve->shelves->cache, w->head))
		w->lookup.head = w->head;
	w->read.done = on_read;
	walk_sight_begin(w);
	t->body.walk = w;
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
	walk_pay(w);
	alarm_cancel(&w->t->serve->alarms, &w->alarm);
	flight_leave(&w->reader);
	w->t = NULL;
	if (w->place != WALK_LOOKING && !w->read_out)
		free_walk(w);
}

/* ---- in the cache -------------------------------------------------------------------------- */

/* A look into the cache brought o, or nothing. */
static void
found(struct walk *w, struct object *o)
{
	w->place = WALK_NOWHERE;
	w->lost = !o || !walk_is_it(w, o);
	if (!w->lost)
		walk_take(w, o);
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
look(struct walk *w, uint64_t at)
{
	struct object *o = NULL;
	w->lookup.first = LOOKUP_FROM;
	w->lookup.first_at = at - walk_bytes(w).at;
	w->place = WALK_LOOKING;
	if (!walk_may_outlive(w))
		w->lookup.head = NULL;
	enum found f = cache_lookup(w->t->serve->shelves->cache, &w->lookup, w->key.hash,
				    buf_str(&w->key.text), &o);
	if (f != FOUND_LATER)
		found(w, f == FOUND_OBJECT ? o : NULL);
}

void
walk_failure(const struct walk *w, int *status, const char **word)
{
	*status = w->status ? w->status : 502;
	*word = w->word ? w->word : "aborted";
}

bool
walk_has(struct walk *w, const struct range *ranges, unsigned n)
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
			struct object *o = NULL;
			walk_make_key(w, &key, s);
			all = looks++ < LOOKS_MOST &&
			      cache_peek(sh->cache, key.hash, buf_str(&key.text), &o) != FOUND_NOT;
			object_unref(&o);
		}
	}
	key_fini(&key);
	return all;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void
go_to(struct walk *w, uint64_t at)
{
	if (w->place != WALK_NOWHERE)
		walk_let_go(w);
	w->number = slices_number(at);
	w->tries = w->met = 0;
	w->follows_since_ms = 0;
	w->alone = false;
	walk_make_key(w, &w->key, w->number);
	walk_sight(w);
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
	walk_check(w);
	assert(at < w->head->whole_bytes && at <= until);
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
			walk_join(w, until);
			break;
		case WALK_IN_FLIGHT: {
			enum flight_state s = flight_state(flight_of(w->reader));
			if (s == FLIGHT_WAITING && !walk_is_tired(w, until))
				return WALK_LATER;
			if (s == FLIGHT_WAITING) {
				walk_let_go(w);
				w->lost = false;
				break;
			}
			if (s != FLIGHT_FAILED) {
				if (!walk_is_purged(w)) {
					walk_note_source(w);
					return WALK_READY;
				}
				w->lost = false;
				break;
			}
			enum walk_step step = walk_fail(w);
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
	uint64_t from = at - walk_bytes(w).at, left = walk_bytes(w).n - from;
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
	walk_let_go(w);
	w->lost = true; /* one slice is fetched again, no more */
	*again = w->tries < WALK_TRIES_MOST;
	w->status = 0;
	return *again ? WALK_LATER : WALK_FAILED;
}

static enum walk_step
read_flight(struct walk *w, uint64_t at, uint64_t until, size_t most, struct str *piece,
	    struct block **block, bool *again)
{
	struct range s = walk_bytes(w);
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
		flight_done_until(w->reader, from);
		*again = walk_leaves_drip(w, until);
		return WALK_LATER;
	case FLIGHT_STORED:
		o = object_ref(flight_stored(flight_of(w->reader)));
		walk_let_go(w);
		w->slice = o;
		w->place = WALK_IN_OBJECT;
		*again = true;
		return WALK_LATER;
	case FLIGHT_LOST:
	case FLIGHT_OVER:
		walk_let_go(w);
		*again = w->tries < WALK_TRIES_MOST;
		return *again ? WALK_LATER : WALK_FAILED;
	case FLIGHT_CUT:
		break;
	}
	step = walk_fail(w);
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
		step = w->place == WALK_IN_OBJECT
			       ? read_object(w, at, most, piece, &again)
			       : read_flight(w, at, until, most, piece, block, &again);
		if (!again)
			return step;
	}
}

bool
walk_file(struct walk *w, uint64_t at, size_t most, struct file_piece *piece)
{
	walk_check(w);
	if (w->place != WALK_IN_OBJECT || w->read_out)
		return false;
	if (!is_at(w, at))
		go_to(w, at);
	if (w->place != WALK_IN_OBJECT)
		return false;
	uint64_t from = at - walk_bytes(w).at, left = walk_bytes(w).n - from;
	if (!object_file(w->slice, &w->read, from, left < most ? left : most, piece))
		return false;
	note_taken(w, at, at + piece->n);
	return true;
}

bool
walk_give_back(struct walk *w, uint64_t at)
{
	walk_check(w);
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

bool
walk_was_had(const struct walk *w)
{
	return w->source == WALK_FROM_SIBLING;
}
