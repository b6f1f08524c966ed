/* chart.c - numbers of rings, and whom they mean. */
#include "proxy/fleet/chart.h"

#include "proxy/base/mem.h"
#include "proxy/origin/origin.h"

#include <assert.h>
#include <stdlib.h>

void
chart_unref_sibling(struct sibling **ps)
{
	struct sibling *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	unsigned before = atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel);
	assert(before > 0);
	if (before > 1)
		return;
	if (s->origin)
		origin_destroy(&s->origin);
	replica_fini(&s->replica);
	free(s);
}

struct sibling *
chart_ref_sibling(struct sibling *s)
{
	atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);
	return s;
}

static struct sibling *
find(const struct chart *c, uint64_t id)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->of[i]->m.id == id)
			return c->of[i];
	return NULL;
}

static void
add_settled(struct chart *c, const struct roster *r)
{
	c->settled = zones_settled(r, c->self.zone);
	c->settled_n = r->settled_n;
	c->settled_of = mem_zalloc((r->settled_n + 1) * sizeof(struct sibling *));
	for (unsigned i = 0; i < r->settled_n; i++) {
		c->settled_of[i] = find(c, r->settled[i].id);
		if (c->settled_of[i])
			chart_ref_sibling(c->settled_of[i]);
	}
}

struct chart *
chart_make(const struct roster *r, struct sibling *const *siblings, const struct chart_self *self)
{
	struct chart *c = NEW(struct chart);
	c->self = *self;
	atomic_init(&c->users, 1);
	zones_make(&c->zones, r, self->zone);
	c->current = c->zones.of[0].ring;
	c->n = r->n;
	c->of = mem_zalloc((r->n + 1) * sizeof(struct sibling *));
	for (unsigned i = 0; i < r->n; i++) {
		c->of[i] = chart_ref_sibling(siblings[i]);
	}
	if (r->hands_over)
		add_settled(c, r);
	return c;
}

struct chart *
chart_ref(struct chart *c)
{
	atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
	return c;
}

void
chart_unref(struct chart **pc)
{
	struct chart *c = *pc;
	*pc = NULL;
	if (!c || atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) > 1)
		return;
	for (unsigned i = 0; i < c->n; i++)
		chart_unref_sibling(&c->of[i]);
	for (unsigned i = 0; i < c->settled_n; i++)
		chart_unref_sibling(&c->settled_of[i]);
	zones_end(&c->zones);
	if (c->settled)
		ring_destroy(&c->settled);
	free(c->of);
	free(c->settled_of);
	secret_forget(&c->self.secret);
	free(c);
}

unsigned
chart_owners(const struct chart *c, uint64_t hash, struct sibling *out[RING_DEEP])
{
	const struct ring_place *p = ring_find(c->current, hash);
	unsigned n = 0;
	for (unsigned k = 0; k < RING_DEEP && p->node[k] != RING_NOBODY; k++)
		out[n++] = c->of[p->node[k]];
	return n;
}

unsigned
chart_to_ask(const struct chart *c, uint64_t hash, int64_t now_ms, struct sibling *out[RING_DEEP])
{
	struct sibling *owners[RING_DEEP];
	unsigned owned = chart_owners(c, hash, owners), n = 0;
	for (unsigned i = 0; i < owned && !owners[i]->is_self; i++)
		if (owners[i]->origin && standing_is_well(&owners[i]->standing, now_ms))
			out[n++] = owners[i];
	return n;
}

struct sibling *
chart_settled_owner(const struct chart *c, uint64_t hash)
{
	struct sibling *now[RING_DEEP];
	if (!c->settled)
		return NULL;
	unsigned number = ring_find(c->settled, hash)->node[0];
	struct sibling *s = number == RING_NOBODY ? NULL : c->settled_of[number];
	return s && (chart_owners(c, hash, now) == 0 || now[0] != s) ? s : NULL;
}

static bool
has(struct sibling *s, uint64_t stored, int64_t now_ms)
{
	return s->origin && standing_is_well(&s->standing, now_ms) &&
	       replica_has(&s->replica, stored, now_ms);
}

/* Zones take turns by slots, or the first one would be asked for everything. */
struct sibling *
chart_across(const struct chart *c, uint64_t hash, uint64_t stored, int64_t now_ms)
{
	unsigned others = c->zones.n - 1, deep = c->settled ? RING_DEEP : 1;
	for (unsigned i = 0; i < others; i++) {
		unsigned zone = 1 + (ring_slot(hash) + i) % others;
		const struct ring_place *p = ring_find(c->zones.of[zone].ring, hash);
		for (unsigned k = 0; k < deep && p->node[k] != RING_NOBODY; k++)
			if (has(c->of[p->node[k]], stored, now_ms))
				return c->of[p->node[k]];
	}
	return NULL;
}

bool
chart_is_across(const struct chart *c, const struct sibling *s)
{
	return strcmp(c->self.zone, s->m.zone) != 0;
}

bool
chart_has_origin(const struct chart *c, const struct origin *o)
{
	for (unsigned i = 0; c && i < c->n; i++)
		if (c->of[i]->origin == o)
			return true;
	return false;
}

bool
chart_is_well(const struct chart *c, int64_t now_ms)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!standing_is_well(&c->of[i]->standing, now_ms))
			return false;
	return true;
}

/* ---- the chart of now ---------------------------------------------------------------------- */

void
charts_init(struct charts *c, const struct purge_names *names)
{
	*c = (struct charts){.names = names};
	pthread_mutex_init(&c->lock, NULL);
}

void
charts_fini(struct charts *c)
{
	chart_unref(&c->now);
	pthread_mutex_destroy(&c->lock);
}

void
charts_put(struct charts *c, struct chart *next)
{
	pthread_mutex_lock(&c->lock);
	struct chart *before = c->now;
	c->now = next;
	atomic_fetch_add_explicit(&c->version, 1, memory_order_release);
	pthread_mutex_unlock(&c->lock);
	chart_unref(&before);
}

void
charts_open(struct charts *c, struct control *control)
{
	pthread_mutex_lock(&c->lock);
	c->control = control;
	pthread_mutex_unlock(&c->lock);
}

bool
charts_ask(struct charts *c, const struct control_request *rq, control_done_fn *done, void *ctx)
{
	pthread_mutex_lock(&c->lock);
	bool asked = c->control != NULL;
	if (asked)
		control_ask(c->control, rq, done, ctx);
	pthread_mutex_unlock(&c->lock);
	return asked;
}

struct chart *
charts_now(struct charts *c)
{
	pthread_mutex_lock(&c->lock);
	struct chart *now = c->now ? chart_ref(c->now) : NULL;
	pthread_mutex_unlock(&c->lock);
	return now;
}

void
charts_follow(struct charts *c, struct charts_follower *f)
{
	unsigned version = atomic_load_explicit(&c->version, memory_order_acquire);
	if (version == f->version)
		return;
	f->version =
		version; /* of what is taken, or of one before: then it is looked at once more */
	chart_unref(&f->chart);
	f->chart = charts_now(c);
}
