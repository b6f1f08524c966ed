/* spread.c - a courier for each sibling. */
#include "proxy/fleet/spread.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/control.h"
#include "proxy/fleet/outbox.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

_Static_assert((int)PARCEL_BYTES_MOST < (int)CONTROL_BODY_MOST, "a parcel is a question");

/* A parcel that a sibling owes an answer for. */
struct debt {
	struct parcel *parcel; /* a reference */
	struct errand *on;     /* NULL: it waits */
	int64_t refused_ms;    /* when nobody listened there; 0: that is not known */
	TAILQ_ENTRY(debt) all;
};

struct errand {
	struct courier *of;
	struct peer_question asked;
	unsigned debts;
};

struct courier {
	struct spread *of;
	struct peer *peer;
	struct errand errands[SPREAD_AT_ONCE];
	TAILQ_HEAD(, debt) debts; /* in the order of their numbers, but for what has none */
	size_t bytes;
	int64_t due_ms, pause_ms, tried_ms;
	int64_t gone_ms;	/* since when it is no member; 0: it is one */
	int64_t guest_until_ms; /* its address is as it said itself */
	TAILQ_ENTRY(courier) all;
};

struct spread {
	struct peers *peers;
	bool has_journal;
	void (*changed)(void *ctx);
	void *ctx;
	TAILQ_HEAD(, courier) couriers;
	uint64_t above;		   /* all numbers that were put */
	TAILQ_HEAD(, debt) lately; /* lasting parcels, by age */
	struct spread_facts facts;
};

/* ---- debts --------------------------------------------------------------------------------- */

static struct debt *
debt_of(struct parcel *p)
{
	struct debt *d = NEW(struct debt);
	d->parcel = parcel_ref(p);
	return d;
}

static void
settle(struct courier *c, struct debt *d)
{
	TAILQ_REMOVE(&c->debts, d, all);
	c->bytes -= d->parcel->items.n;
	parcel_unref(&d->parcel);
	free(d);
}

static void
owe(struct courier *c, struct parcel *p)
{
	struct debt *d = debt_of(p);
	TAILQ_INSERT_TAIL(&c->debts, d, all);
	c->bytes += p->items.n;
}

/* All that waits becomes one purge of everything. */
static void
collapse(struct courier *c)
{
	struct parcel *all = parcel_create(now_s());
	struct debt *d, *next;
	for (d = TAILQ_FIRST(&c->debts); d; d = next) {
		next = TAILQ_NEXT(d, all);
		if (!d->on)
			settle(c, d);
	}
	parcel_add(all, &(struct purge_item){.kind = PURGE_ITEM_EVERYTHING, .name = STR("")});
	owe(c, all);
	parcel_unref(&all);
	c->of->facts.collapsed++;
}

static void
bound(struct courier *c)
{
	const struct debt *first = TAILQ_FIRST(&c->debts);
	bool old = first && first->parcel->low && now_s() - first->parcel->made_s > SPREAD_OWED_S;
	if (c->bytes > SPREAD_OWED_MOST || old)
		collapse(c);
}

/* ---- asking -------------------------------------------------------------------------------- */

static void
on_answer(void *ctx, const struct str *content, const char *why)
{
	struct errand *e = ctx;
	struct courier *c = e->of;
	struct debt *d, *next;
	(void)why;
	for (d = TAILQ_FIRST(&c->debts); d; d = next) {
		next = TAILQ_NEXT(d, all);
		if (d->on != e)
			continue;
		d->on = NULL;
		d->refused_ms = peer_refuses(c->peer) ? now_ms() : 0;
		/* A purge that need not last is not sent again: what it was about is stale by then. */
		if (content || !d->parcel->lasts)
			settle(c, d);
	}
	e->debts = 0;
	c->of->facts.failed += !content;
	c->pause_ms = content ? 0 : c->pause_ms ? 2 * c->pause_ms : SPREAD_FIRST_PAUSE_MS;
	if (c->pause_ms > SPREAD_PAUSE_MS)
		c->pause_ms = SPREAD_PAUSE_MS;
	c->due_ms = content ? 0 : now_ms() + c->pause_ms;
	c->of->changed(c->of->ctx);
}

/* The first number that the sibling owes: it need not wait for any below. */
static uint64_t
base_of(const struct courier *c)
{
	const struct debt *d;
	uint64_t base = c->of->above + 1;
	TAILQ_FOREACH (d, &c->debts, all)
		if (d->parcel->low && d->parcel->low < base)
			base = d->parcel->low;
	return c->of->above ? base : 0;
}

/* As many as fit. */
static void
send(struct courier *c, struct errand *e)
{
	struct buf body = {0};
	struct debt *d;
	purge_items_begin(&body, base_of(c));
	TAILQ_FOREACH (d, &c->debts, all) {
		struct str items = buf_str(&d->parcel->items);
		if (d->on)
			continue;
		if (body.n + items.n > CONTROL_BODY_MOST ||
		    purge_items_count(buf_str(&body)) + purge_items_count(items) > PURGE_ITEMS_MOST)
			break;
		purge_items_append(&body, items);
		d->on = e;
		e->debts++;
	}
	if (e->debts) {
		peer_ask(c->peer, &e->asked, CONTROL_PURGES, buf_str(&body), SPREAD_LIMIT_MS);
		c->of->facts.sent++;
	}
	buf_fini(&body);
}

static bool
waits(const struct courier *c)
{
	const struct debt *d;
	TAILQ_FOREACH (d, &c->debts, all)
		if (!d->on)
			return true;
	return false;
}

/* A node that starts there from now on has it before it answers anybody. */
static bool
is_refused(const struct courier *c, const struct debt *d)
{
	if (!c->of->has_journal)
		return d->refused_ms != 0;
	return d->parcel->journaled_ms && d->refused_ms >= d->parcel->journaled_ms;
}

/* One who was not there may be by now: that is found out for each parcel. */
static bool
is_doubted(const struct courier *c, int64_t now)
{
	const struct debt *d;
	if (!peer_refuses(c->peer) || now - c->tried_ms < SPREAD_DOUBT_MS)
		return false;
	TAILQ_FOREACH (d, &c->debts, all)
		if (!d->on && d->parcel->lasts && !is_refused(c, d))
			return true;
	return false;
}

/* One that does not answer is asked one thing at a time. */
static void
turn(struct courier *c, int64_t now)
{
	bool busy = false, doubted = is_doubted(c, now);
	for (unsigned i = 0; i < SPREAD_AT_ONCE; i++) {
		peer_turn(&c->errands[i].asked, now);
		busy = busy || c->errands[i].asked.fetch;
	}
	for (unsigned i = 0; i < SPREAD_AT_ONCE; i++) {
		struct errand *e = &c->errands[i];
		if (e->asked.fetch || (now < c->due_ms && !doubted) || (c->pause_ms && busy) ||
		    !peer_is_usable(c->peer) || !waits(c))
			continue;
		send(c, e);
		c->tried_ms = now;
		busy = true;
	}
}

static void
forget_lately(struct spread *s, int64_t since_s)
{
	struct debt *d;
	while ((d = TAILQ_FIRST(&s->lately)) && d->parcel->made_s < since_s) {
		TAILQ_REMOVE(&s->lately, d, all);
		parcel_unref(&d->parcel);
		free(d);
	}
}

void
spread_put(struct spread *s, struct parcel *p, int64_t now)
{
	struct courier *c;
	forget_lately(s, now_s() - SPREAD_LATELY_S);
	if (p->lasts) {
		struct debt *d = debt_of(p);
		TAILQ_INSERT_TAIL(&s->lately, d, all);
	}
	s->above = p->high > s->above ? p->high : s->above;
	TAILQ_FOREACH (c, &s->couriers, all) {
		owe(c, p);
		bound(c);
		turn(c, now);
	}
}

/* ---- couriers ------------------------------------------------------------------------------ */

static void
open_peer(struct courier *c, struct sibling *s)
{
	c->peer = peer_open(c->of->peers, s, SPREAD_LIMIT_MS, SPREAD_AT_ONCE);
	for (unsigned i = 0; i < SPREAD_AT_ONCE; i++)
		c->errands[i] = (struct errand){
			.of = c, .asked = {.on_answer = on_answer, .ctx = &c->errands[i]}};
}

/* Debts under way wait again. */
static void
close_peer(struct courier *c)
{
	struct debt *d;
	for (unsigned i = 0; i < SPREAD_AT_ONCE; i++)
		peer_question_fini(&c->errands[i].asked);
	TAILQ_FOREACH (d, &c->debts, all)
		d->on = NULL;
	peer_close(&c->peer);
}

static void
end(struct courier *c)
{
	struct debt *d;
	close_peer(c);
	while ((d = TAILQ_FIRST(&c->debts)))
		settle(c, d);
	TAILQ_REMOVE(&c->of->couriers, c, all);
	free(c);
}

static struct courier *
courier_of(const struct spread *s, uint64_t node)
{
	struct courier *c;
	TAILQ_FOREACH (c, &s->couriers, all)
		if (peer_sibling(c->peer)->m.id == node)
			return c;
	return NULL;
}

static struct courier *
keep(struct spread *s, struct sibling *of, int64_t now)
{
	struct courier *c = courier_of(s, of->m.id);
	if (!c) {
		c = NEW(struct courier);
		c->of = s;
		TAILQ_INIT(&c->debts);
		TAILQ_INSERT_TAIL(&s->couriers, c, all);
		open_peer(c, of);
		struct debt *d;
		TAILQ_FOREACH (d, &s->lately, all)
			if (d->parcel->made_s >= now_s() - SPREAD_LATELY_S)
				owe(c, d->parcel);
	} else if (peer_sibling(c->peer) != of && now >= c->guest_until_ms) {
		close_peer(c);
		open_peer(c, of);
		c->due_ms = c->pause_ms = 0;
	}
	c->gone_ms = 0;
	return c;
}

static bool
is_one_of(uint64_t node, struct sibling *const *of, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!of[i]->is_self && of[i]->m.id == node)
			return true;
	return false;
}

static void
drop_oldest_gone(struct spread *s)
{
	struct courier *c, *oldest = NULL;
	unsigned n = 0;
	TAILQ_FOREACH (c, &s->couriers, all) {
		if (!c->gone_ms)
			continue;
		n++;
		if (!oldest || c->gone_ms < oldest->gone_ms)
			oldest = c;
	}
	if (n > SPREAD_GONE_MOST)
		end(oldest);
}

void
spread_welcome(struct spread *s, const struct member *m, int64_t now)
{
	struct courier *c = courier_of(s, m->id);
	const struct member *is = c ? &peer_sibling(c->peer)->m : NULL;
	int64_t gone_ms = c && !c->gone_ms ? 0 : now;
	if (!is || is->instance != m->instance || strcmp(is->address, m->address) != 0) {
		struct sibling *guest = chart_ref_sibling(NEW(struct sibling));
		guest->m = *m;
		replica_init(&guest->replica);
		if (c)
			c->guest_until_ms = 0;
		c = keep(s, guest, now);
		chart_unref_sibling(&guest);
	}
	c->gone_ms = gone_ms;
	c->guest_until_ms = now + SPREAD_GUEST_MS;
	drop_oldest_gone(s);
}

void
spread_settle(struct spread *s, struct sibling *const *of, unsigned n, int64_t now)
{
	struct courier *c;
	for (unsigned i = 0; i < n; i++)
		if (!of[i]->is_self)
			keep(s, of[i], now);
	TAILQ_FOREACH (c, &s->couriers, all)
		if (!c->gone_ms && !is_one_of(peer_sibling(c->peer)->m.id, of, n))
			c->gone_ms = now ? now : 1;
	drop_oldest_gone(s);
}

void
spread_turn(struct spread *s, int64_t now)
{
	struct courier *c, *next;
	for (c = TAILQ_FIRST(&s->couriers); c; c = next) {
		next = TAILQ_NEXT(c, all);
		bound(c);
		turn(c, now);
		if (c->gone_ms &&
		    (peer_refuses(c->peer) || now - c->gone_ms > SPREAD_OWED_S * INT64_C(1000)))
			end(c);
	}
}

/* ---- what becomes of it -------------------------------------------------------------------- */

static bool
has(const struct courier *c, uint64_t number)
{
	const struct debt *d;
	TAILQ_FOREACH (d, &c->debts, all) {
		if (d->parcel->lasts && d->parcel->low <= number)
			return false;
	}
	return true;
}

bool
spread_all_have(const struct spread *s, uint64_t number)
{
	const struct courier *c;
	TAILQ_FOREACH (c, &s->couriers, all)
		if (!has(c, number))
			return false;
	return true;
}

/* All of them up to the number. */
static bool
refuses(const struct courier *c, uint64_t number)
{
	const struct debt *d;
	TAILQ_FOREACH (d, &c->debts, all)
		if (d->parcel->lasts && d->parcel->low <= number && !is_refused(c, d))
			return false;
	return true;
}

unsigned
spread_look(const struct spread *s, uint64_t number, struct spread_row *out, unsigned most)
{
	const struct courier *c;
	unsigned n = 0;
	TAILQ_FOREACH (c, &s->couriers, all) {
		if (out && n < most) {
			out[n].word = has(c, number)	   ? SPREAD_HAS
				      : refuses(c, number) ? SPREAD_REFUSES
							   : SPREAD_SILENT;
			snprintf(out[n].name, sizeof out[n].name, "%s",
				 peer_sibling(c->peer)->m.name);
		}
		n++;
	}
	return n < most || !out ? n : most;
}

unsigned
spread_owes(const struct spread *s, uint64_t node)
{
	const struct courier *c = courier_of(s, node);
	const struct debt *d;
	unsigned n = 0;
	if (c)
		TAILQ_FOREACH (d, &c->debts, all)
			n += purge_items_count(buf_str(&d->parcel->items));
	return n;
}

struct spread_facts
spread_facts(const struct spread *s)
{
	return s->facts;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct spread *
spread_create(struct peers *peers, bool has_journal, void (*changed)(void *ctx), void *ctx)
{
	struct spread *s = NEW(struct spread);
	s->has_journal = has_journal;
	s->peers = peers;
	s->changed = changed;
	s->ctx = ctx;
	TAILQ_INIT(&s->couriers);
	TAILQ_INIT(&s->lately);
	return s;
}

void
spread_destroy(struct spread **ps)
{
	struct spread *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	while (!TAILQ_EMPTY(&s->couriers))
		end(TAILQ_FIRST(&s->couriers));
	forget_lately(s, INT64_MAX);
	free(s);
}
