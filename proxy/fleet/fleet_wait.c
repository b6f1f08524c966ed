/* fleet_wait.c - other threads wait for what becomes of a purge. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/await.h"

bool
fleet_has_journal(const struct fleet *f)
{
	return f->texts.engine_n > 0;
}

/* Somebody waits for what becomes of a purge. */
struct fleet_waiter {
	struct await await; /* first */
	struct fleet *fleet;
	uint64_t number;
	int64_t until_ms;
	struct fleet_waiter *next;
	struct fleet_purged *out; /* of the one that waits */
	bool last, well;
};

static bool
is_journaled(const struct fleet *f, uint64_t number)
{
	const struct parcel *first = outbox_first(f->purges.outbox);
	return !first || first->low > number;
}

static bool
look(const struct fleet *f, uint64_t number, struct fleet_purged *out)
{
	bool well;
	out->has_journal = fleet_has_journal(f);
	out->journaled = out->has_journal && is_journaled(f, number);
	out->n = spread_look(f->purges.spread, number, out->of, RING_NODES);
	well = (out->journaled && !*f->purges.journal.members) || !out->has_journal;
	for (unsigned i = 0; i < out->n; i++)
		well = well && out->of[i].word != SPREAD_SILENT;
	return well;
}

static bool
is_over(struct await *a, void *ctx)
{
	struct fleet_waiter *w = (struct fleet_waiter *)a;
	(void)ctx;
	if (!a->alone)
		w->well = look(w->fleet, w->number, w->out);
	return w->well || w->last || a->alone;
}

void
fleet_wait_turn(struct fleet *f, int64_t now, bool last)
{
	for (struct fleet_waiter **at = &f->purges.waiters; *at;) {
		struct fleet_waiter *w = *at, *next = w->next;
		w->last = last || now >= w->until_ms;
		if (await_look(&w->await, is_over, NULL))
			*at = next;
		else
			at = &w->next;
	}
}

static void
on_waiter(struct letter *l)
{
	struct fleet_waiter *w = (struct fleet_waiter *)l;
	struct fleet_purges *p = &w->fleet->purges;
	w->next = p->waiters;
	p->waiters = w;
	fleet_wait_turn(w->fleet, now_ms(), w->fleet->leaves);
}

static void
take(struct await *a, void *ctx)
{
	const struct fleet_waiter *w = (const struct fleet_waiter *)a;
	*(bool *)ctx = a->done && w->well;
}

bool
fleet_purge_wait(struct fleet *f, uint64_t number, int64_t limit_ms, struct fleet_purged *out)
{
	enum { LATE_MS = 1000 }; /* the thread looks by its ticks */
	struct fleet_waiter *w = NEW(struct fleet_waiter);
	bool well;
	w->fleet = f;
	w->number = number;
	w->until_ms = now_ms() + limit_ms;
	w->out = out;
	*out = (struct fleet_purged){0};
	await_post(&w->await, on_waiter, &f->mailbox);
	await_for(&w->await, (unsigned)limit_ms + LATE_MS, take, &well);
	return well;
}
