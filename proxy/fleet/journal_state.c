/* journal_state.c - a place, and a list by age. */
#include "proxy/fleet/journal_state.h"

#include "proxy/base/mem.h"
#include "proxy/fleet/purge_items.h"
#include "proxy/http/syntax.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

struct heard {
	uint64_t serial, node;
	int64_t at_s;
	struct buf items;
	uint64_t low, high; /* of their numbers; 0: they have none */
	bool placed;	    /* the journal has it, at: */
	struct journal_place at;
	TAILQ_ENTRY(heard) all, open;
};

struct journal_state {
	pthread_mutex_t lock; /* of the first four, which only the fleet's thread changes */
	char known[JOURNAL_ID + 1];
	struct journal_place place;
	bool holds;
	uint64_t changes;
	TAILQ_HEAD(, heard) lately, open; /* all; those that are not placed */
	size_t bytes;
	uint64_t serial;
	int64_t aged_s; /* when the old ones were looked for */
	bool reaches;	/* all behind base are there */
	struct journal_place base;
};

/* ---- the place ----------------------------------------------------------------------------- */

const char *
journal_state_known(const struct journal_state *j)
{
	return j->known;
}

struct journal_place
journal_state_place(const struct journal_state *j)
{
	return j->place;
}

bool
journal_state_holds(const struct journal_state *j)
{
	return j->holds;
}

static void unplace_all(struct journal_state *j);

void
journal_state_move(struct journal_state *j, const char *known, struct journal_place to)
{
	if (strcmp(known, j->known) != 0)
		unplace_all(j);
	pthread_mutex_lock(&j->lock);
	if (known != j->known)
		snprintf(j->known, sizeof j->known, "%s", known);
	j->place = to;
	j->changes++;
	pthread_mutex_unlock(&j->lock);
}

void
journal_state_hold(struct journal_state *j, bool holds)
{
	pthread_mutex_lock(&j->lock);
	j->changes += j->holds != holds;
	j->holds = holds;
	pthread_mutex_unlock(&j->lock);
	if (holds)
		journal_state_blur(j);
}

uint64_t
journal_state_changes(struct journal_state *j)
{
	pthread_mutex_lock(&j->lock);
	uint64_t n = j->changes;
	pthread_mutex_unlock(&j->lock);
	return n;
}

/* ---- lately -------------------------------------------------------------------------------- */

static void
place(struct journal_state *j, struct heard *h, struct journal_place at)
{
	if (!h->placed)
		TAILQ_REMOVE(&j->open, h, open);
	h->placed = true;
	h->at = at;
}

static void
unplace(struct journal_state *j, struct heard *h)
{
	if (h->placed)
		TAILQ_INSERT_TAIL(&j->open, h, open);
	h->placed = false;
}

static void
drop(struct journal_state *j, struct heard *h)
{
	TAILQ_REMOVE(&j->lately, h, all);
	if (!h->placed)
		TAILQ_REMOVE(&j->open, h, open);
	j->bytes -= h->items.n;
	buf_fini(&h->items);
	free(h);
}

/* It means everything from now on, what is dropped before it too. */
static void
make_all(struct journal_state *j, struct heard *h, const struct heard *dropped)
{
	if (!dropped->placed)
		unplace(j, h);
	else if (h->placed && journal_is_before(h->at, dropped->at))
		h->at = dropped->at;
	j->bytes -= h->items.n;
	h->items.n = 0;
	h->low = h->high = 0;
	purge_items_everything(&h->items);
	j->bytes += h->items.n;
}

/* The journal has what is dropped, or there is no more telling what it is not told. */
static void
drop_old(struct journal_state *j, int64_t now)
{
	struct heard *h, *next;
	for (h = TAILQ_FIRST(&j->lately); h && now - h->at_s > JOURNAL_LATELY_S; h = next) {
		next = TAILQ_NEXT(h, all);
		if (!h->placed && now - h->at_s <= JOURNAL_OPEN_S)
			continue;
		if (h->placed)
			journal_state_pass(j, h->at);
		else
			journal_state_blur(j);
		drop(j, h);
	}
	j->aged_s = now;
}

static void
bound(struct journal_state *j, int64_t now)
{
	struct heard *h, *next;
	if (now != j->aged_s)
		drop_old(j, now);
	while (j->bytes > JOURNAL_LATELY_MOST && (h = TAILQ_FIRST(&j->lately)) &&
	       (next = TAILQ_NEXT(h, all))) {
		make_all(j, next, h);
		drop(j, h);
	}
}

static void
range_of(struct str items, uint64_t *low, uint64_t *high)
{
	struct purge_items_reader r;
	struct purge_item i;
	*low = *high = 0;
	if (!purge_items_open(&r, items))
		return;
	while (purge_items_next(&r, &i)) {
		*high = i.number > *high ? i.number : *high;
		*low = i.number && (!*low || i.number < *low) ? i.number : *low;
	}
}

static struct heard *
add(struct journal_state *j, uint64_t node, struct str items, int64_t now)
{
	struct heard *h = NEW(struct heard);
	*h = (struct heard){.serial = ++j->serial, .node = node, .at_s = now};
	buf_add_str(&h->items, items);
	range_of(items, &h->low, &h->high);
	TAILQ_INSERT_TAIL(&j->lately, h, all);
	TAILQ_INSERT_TAIL(&j->open, h, open);
	j->bytes += h->items.n;
	return h;
}

void
journal_state_note(struct journal_state *j, uint64_t node, struct str items, int64_t now)
{
	add(j, node, items, now);
	bound(j, now);
}

void
journal_state_note_at(struct journal_state *j, uint64_t node, struct str items,
		      struct journal_place at, int64_t now)
{
	place(j, add(j, node, items, now), at);
	bound(j, now);
}

/* ---- what the journal has of them ----------------------------------------------------------- */

struct span { /* of a message, and whether its ends were found */
	uint64_t low, high;
	bool has_low, has_high;
};

static void
look(struct span *s, const struct heard *h)
{
	s->has_low = s->has_low || (h->low <= s->low && s->low <= h->high);
	s->has_high = s->has_high || (h->low <= s->high && s->high <= h->high);
}

/* A node journals its purges in the order of their numbers, but what it has sent together in several pieces: so of a
 * message all are journaled when the last one is. */
bool
journal_state_place_those(struct journal_state *j, uint64_t node, struct str items,
			  struct journal_place at)
{
	struct span s = {0};
	struct heard *h, *next;
	range_of(items, &s.low, &s.high);
	for (h = TAILQ_FIRST(&j->open); h; h = next) {
		next = TAILQ_NEXT(h, open);
		if (h->node != node)
			continue;
		look(&s, h);
		if (s.low <= h->high && h->high <= s.high)
			place(j, h, at);
	}
	return s.has_low && s.has_high;
}

bool
journal_state_covers(const struct journal_state *j, uint64_t node, struct str items)
{
	struct span s = {0};
	const struct heard *h;
	range_of(items, &s.low, &s.high);
	TAILQ_FOREACH (h, &j->lately, all)
		if (h->node == node)
			look(&s, h);
	return s.has_low && s.has_high;
}

bool
journal_state_has(const struct journal_state *j, uint64_t node, struct str items)
{
	const struct heard *h;
	TAILQ_FOREACH (h, &j->lately, all)
		if (h->node == node && str_eq(buf_str(&h->items), items))
			return true;
	return false;
}

static void
unplace_all(struct journal_state *j)
{
	struct heard *h;
	TAILQ_FOREACH (h, &j->lately, all)
		unplace(j, h);
	journal_state_blur(j);
}

bool
journal_state_reaches(const struct journal_state *j, struct journal_place from)
{
	return j->reaches && !journal_is_before(from, j->base);
}

bool
journal_state_reaches_any(const struct journal_state *j)
{
	return j->reaches;
}

void
journal_state_remember(struct journal_state *j, struct journal_place from)
{
	j->reaches = true;
	j->base = from;
}

void
journal_state_pass(struct journal_state *j, struct journal_place at)
{
	if (journal_is_before(j->base, at))
		j->base = at;
}

void
journal_state_blur(struct journal_state *j)
{
	j->reaches = false;
}

void
journal_state_each(const struct journal_state *j, uint64_t behind,
		   bool (*visit)(void *ctx, const struct journal_lately_visit *v), void *ctx)
{
	const struct heard *h;
	TAILQ_FOREACH (h, &j->lately, all) {
		struct journal_lately_visit v = {
			.of = {h->serial, h->node, h->at_s, buf_str(&h->items)},
			.has_place = h->placed,
			.at = h->at};
		if (h->serial > behind && !visit(ctx, &v))
			return;
	}
}

bool
journal_state_lately(const struct journal_state *j, uint64_t behind, int64_t since,
		     struct journal_lately *out)
{
	const struct heard *h;
	TAILQ_FOREACH (h, &j->lately, all) {
		if (h->serial <= behind || h->at_s < since)
			continue;
		*out = (struct journal_lately){h->serial, h->node, h->at_s, buf_str(&h->items)};
		return true;
	}
	return false;
}

/* ---- the file ------------------------------------------------------------------------------ */

/* "IDENTITY PLACE held|live\n" */
void
journal_state_write(struct journal_state *j, struct buf *out)
{
	char place[48];
	pthread_mutex_lock(&j->lock);
	buf_printf(out, "%s %s %s\n", *j->known ? j->known : "none",
		   journal_place_print(j->place, place), j->holds ? "held" : "live");
	pthread_mutex_unlock(&j->lock);
}

int
journal_state_read(struct journal_state *j, struct str file, bool goes_on)
{
	struct str known, place, word, rest;
	struct journal_place at;
	str_cut(str_before(file, '\n'), ' ', &known, &rest);
	str_cut(rest, ' ', &place, &word);
	if (str_eq(known, STR("none")))
		return 0;
	if (known.n != JOURNAL_ID || !journal_place_parse(place, &at))
		return -1;
	memcpy(j->known, known.p, JOURNAL_ID);
	j->known[JOURNAL_ID] = '\0';
	j->place = at;
	if (goes_on && str_eq(word, STR("live")))
		j->holds = false;
	return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct journal_state *
journal_state_create(void)
{
	struct journal_state *j = NEW(struct journal_state);
	pthread_mutex_init(&j->lock, NULL);
	TAILQ_INIT(&j->lately);
	TAILQ_INIT(&j->open);
	j->holds = true;
	return j;
}

void
journal_state_destroy(struct journal_state **pj)
{
	struct journal_state *j = *pj;
	struct heard *h;
	*pj = NULL;
	if (!j)
		return;
	while ((h = TAILQ_FIRST(&j->lately)))
		drop(j, h);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
