/* pool.c - keeping connections to an origin. */
#include "proxy/origin/pool.h"

#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <event2/event.h>

/* Origins close idle connections after 60 to 75 s as a rule; ours go first. */
enum { IDLE_MS = 55 * 1000 };

/* These must hold between any two calls; O(1). */
static void
check(const struct pool *p)
{
	assert(p->apart <= p->stalled && p->stalled <= p->count);
	assert((p->count == 0) == LIST_EMPTY(&p->lanes));
	assert(p->count || (TAILQ_EMPTY(&p->idle[false]) && TAILQ_EMPTY(&p->idle[true])));
}

void
pool_init(struct pool *p, const struct origin *o, struct event_base *base,
	  const struct lane_owner *owner)
{
	*p = (struct pool){.origin = o, .owner = owner};
	TAILQ_INIT(&p->idle[false]);
	TAILQ_INIT(&p->idle[true]);
	LIST_INIT(&p->lanes);
	dials_init(&p->dials, base, o);
}

void
pool_fini(struct pool *p)
{
	TAILQ_INIT(&p->idle[false]); /* all go, whether idle or not */
	TAILQ_INIT(&p->idle[true]);
	while (!LIST_EMPTY(&p->lanes))
		pool_close(LIST_FIRST(&p->lanes));
	dials_fini(&p->dials);
	*p = (struct pool){0};
}

struct lane *
pool_open(struct pool *p)
{
	if (p->count - p->apart >= p->origin->max_connections)
		return NULL;
	struct lane *l = lane_open(&p->dials, p->owner);
	l->pool = p;
	LIST_INSERT_HEAD(&p->lanes, l, all);
	p->count++;
	check(p);
	return l;
}

static struct lane *
take_idle(struct pool *p, bool fed, bool again)
{
	struct lane *l;
	while ((l = TAILQ_FIRST(&p->idle[fed]))) { /* the last used one, which is warm */
		TAILQ_REMOVE(&p->idle[fed], l, idle);
		if (again || lane_is_clean(l))
			return l;
		pool_close(l);
	}
	return NULL;
}

struct lane *
pool_take(struct pool *p, bool feed, bool again)
{
	struct lane *l = feed ? take_idle(p, true, false) : NULL;
	if (!l)
		l = take_idle(p, false, again);
	if (!l)
		l = pool_open(p);
	if (!l && (l = TAILQ_LAST(&p->idle[true], lane_queue))) { /* in the way of another */
		pool_lost(l);
		l = pool_open(p);
	}
	if (l)
		l->fed = l->fed || feed;
	return l;
}

/* Its address is no longer the origin's. One comparison, as long as none has gone. */
static bool
is_gone(struct lane *l)
{
	struct addresses *a = l->pool->origin->addresses;
	unsigned edition = a ? addresses_edition(a) : l->edition;
	if (edition == l->edition)
		return false;
	l->edition = edition;
	return !addresses_has(a, &l->peer);
}

void
pool_keep(struct lane *l)
{
	assert(!l->stalled && l->fd >= 0);
	if (is_gone(l)) {
		pool_close(l);
		return;
	}
	l->user = NULL;
	l->used = true;
	l->idle_since_ms = now_exact_ms();
	lane_watch(l, true, false); /* also of a fetch that ended out of a pause */
	lane_wake_at(l, l->idle_since_ms + IDLE_MS);
	TAILQ_INSERT_HEAD(&l->pool->idle[l->fed], l, idle);
}

void
pool_close(struct lane *l)
{
	struct pool *p = l->pool;
	p->apart -= l->apart;
	l->apart = false;
	pool_move_on(l);
	LIST_REMOVE(l, all);
	p->count--;
	lane_close(&l);
	check(p);
}

void
pool_stall(struct lane *l)
{
	l->pool->stalled += !l->stalled;
	l->stalled = true;
	check(l->pool);
}

void
pool_move_on(struct lane *l)
{
	assert(!l->apart);
	l->pool->stalled -= l->stalled;
	l->stalled = false;
}

void
pool_set_apart(struct lane *l)
{
	pool_stall(l);
	l->pool->apart += !l->apart;
	l->apart = true;
	check(l->pool);
}

void
pool_lost(struct lane *l)
{
	TAILQ_REMOVE(&l->pool->idle[l->fed], l, idle);
	pool_close(l);
}

void
pool_close_idle(struct pool *p)
{
	struct lane *l;
	for (int fed = 0; fed < 2; fed++)
		while ((l = TAILQ_FIRST(&p->idle[fed])))
			pool_lost(l);
}

void
pool_sweep(struct pool *p)
{
	struct lane *l, *next;
	unsigned edition = p->origin->addresses ? addresses_edition(p->origin->addresses) : 0;
	if (edition == p->edition)
		return;
	p->edition = edition;
	for (l = LIST_FIRST(&p->lanes); l; l = next) {
		next = LIST_NEXT(l, all);
		if (!l->user && l->fd >= 0 && is_gone(l))
			pool_lost(l);
	}
}

void
pool_wake(struct lane *l)
{
	if (lane_now_ms() >= l->idle_since_ms + IDLE_MS)
		pool_lost(l);
	else
		lane_wake_at(l, l->idle_since_ms + IDLE_MS);
}
