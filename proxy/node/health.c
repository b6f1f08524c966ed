/* health.c - one small event loop. A tick starts the checks that are due, and ends those that took
 * too long. */
#include "proxy/node/health.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/node/origins.h"

#include <assert.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HEALTH_TICK_MS = 50 };

struct check {
	struct health *health;
	struct upstream *group; /* a reference */
	unsigned server;	/* of the group */
	int status;		/* of the answer that is under way; 0: none yet */
	int64_t due_ms, until_ms;
	struct fetch *fetch; /* NULL: none is under way */
};

struct checks {
	struct check **of; /* owned, each; a fetch knows its own */
	unsigned count;
};

struct health {
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;
	bool stopping; /* under lock, as the next two */
	bool is_next;  /* there is another list to be taken up */
	struct checks next;
	/* The thread's own. */
	struct checks checks;
	struct event_base *base;
	struct event *tick;
	struct fetcher *fetcher;
};

/* ---- one check ----------------------------------------------------------------------------- */

static void
on_head(void *ctx, const struct response *rs)
{
	struct check *c = ctx;
	c->status = rs->status;
}

static bool
on_body(void *ctx, const char *p, size_t n)
{
	(void)ctx;
	(void)p;
	(void)n;
	return true;
}

static void
on_done(void *ctx, const struct fetch_result *r)
{
	struct check *c = ctx;
	c->fetch = NULL;
	upstream_checked(c->group, c->server, r->end == FETCH_OK ? c->status : 0, r->end, now_ms());
}

static struct str
text(const char *s)
{
	return (struct str){s, s ? strlen(s) : 0};
}

static void
begin(struct check *c, int64_t now)
{
	static const struct fetch_events events = {
		.on_head = on_head, .on_body = on_body, .on_done = on_done};
	const struct upstream_checks *rule = upstream_checks(c->group);
	struct fetch_request rq = {
		.origin = upstream_server_origin(c->group, c->server),
		.method = text("GET"),
		.target = text(rule->path),
		.host = text(rule->host),
		.fields = text("User-Agent: twice (health check)\r\nAccept: */*\r\n"),
		.idempotent = true,
	};
	assert(!c->fetch && c->server < upstream_count(c->group));
	c->status = 0;
	c->until_ms = now + rule->timeout_ms;
	c->due_ms += rule->every_ms;
	if (c->due_ms <= now) /* the machine stood still: nothing is made up for */
		c->due_ms = now + rule->every_ms;
	c->fetch = fetch_start(c->health->fetcher, &rq, &events, c);
}

static void
turn(struct check *c, int64_t now)
{
	if (c->fetch && now >= c->until_ms) {
		fetch_cancel(&c->fetch);
		upstream_checked(c->group, c->server, 0, FETCH_TOTAL_TIMEOUT, now);
	}
	if (!c->fetch && now >= c->due_ms)
		begin(c, now);
}

/* ---- all of them --------------------------------------------------------------------------- */

static void
cancel(struct checks *all)
{
	for (unsigned i = 0; i < all->count; i++)
		if (all->of[i]->fetch)
			fetch_cancel(&all->of[i]->fetch);
}

/* They are cancelled, or were never begun. */
static void
end_checks(struct checks *all)
{
	for (unsigned i = 0; i < all->count; i++) {
		assert(!all->of[i]->fetch);
		upstream_destroy(&all->of[i]->group);
		free(all->of[i]);
	}
	free(all->of);
	*all = (struct checks){0};
}

static bool
is_same_server(const struct check *a, const struct check *b)
{
	return strcmp(upstream_name(a->group), upstream_name(b->group)) == 0 &&
	       upstream_state(a->group, a->server, 0).number ==
		       upstream_state(b->group, b->server, 0).number;
}

/* The check of that server in a list; NULL: there is none. */
static struct check **
find(const struct checks *all, const struct check *c)
{
	for (unsigned i = 0; i < all->count; i++)
		if (is_same_server(all->of[i], c))
			return &all->of[i];
	return NULL;
}

/* One of another list takes its place among all, at its time: reloads do not put checks off. In a group
 * that is the same it goes on as it is. */
static void
go_on(struct check **at, const struct checks *before, int64_t now)
{
	struct check *c = *at, **was = find(before, c);
	if (!was)
		return;
	int64_t latest = now + upstream_checks(c->group)->every_ms;
	c->due_ms = (*was)->fetch ? now : (*was)->due_ms < latest ? (*was)->due_ms : latest;
	if ((*was)->group == c->group) {
		*at = *was;
		*was = c;
	}
}

static bool
is_checked(void *ctx, const struct origin *o)
{
	const struct checks *all = ctx;
	bool is = false;
	for (unsigned i = 0; i < all->count && !is; i++)
		is = upstream_server_origin(all->of[i]->group, all->of[i]->server) == o;
	return is;
}

static void
take_up(struct health *h, struct checks next, int64_t now)
{
	assert(next.count <= REPORT_ORIGINS_MOST);
	for (unsigned i = 0; i < next.count; i++) {
		struct check *c = next.of[i];
		c->due_ms = now + upstream_checks(c->group)->every_ms * i / next.count;
		go_on(&next.of[i], &h->checks, now);
	}
	cancel(&h->checks);
	end_checks(&h->checks);
	h->checks = next;
	fetcher_retire(h->fetcher, is_checked, &h->checks);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct health *h = arg;
	int64_t now = now_ms();
	pthread_mutex_lock(&h->lock);
	bool stopping = h->stopping, is_next = h->is_next;
	struct checks next = h->next;
	if (is_next)
		h->next = (struct checks){0};
	h->is_next = false;
	pthread_mutex_unlock(&h->lock);
	if (is_next)
		take_up(h, next, now);
	if (stopping) {
		event_base_loopbreak(h->base);
		return;
	}
	for (unsigned i = 0; i < h->checks.count; i++)
		turn(h->checks.of[i], now);
	fetcher_sweep(h->fetcher);
}

static void *
run(void *arg)
{
	struct health *h = arg;
	pthread_setname_np(pthread_self(), "health");
	event_base_dispatch(h->base);
	cancel(&h->checks);
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static int
begin_thread(struct health *h)
{
	struct timeval every = {0, HEALTH_TICK_MS * 1000};
	if (!h->base && (h->base = event_base_new())) {
		h->fetcher = fetcher_create(h->base);
		h->tick = event_new(h->base, -1, EV_PERSIST, on_tick, h);
	}
	if (!h->base || !h->tick || event_add(h->tick, &every))
		return -1;
	return pthread_create(&h->thread, NULL, run, h) ? -1 : 0;
}

struct health *
health_create(void)
{
	struct health *h = NEW(struct health);
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

static struct checks
list(struct health *h, const struct origins *o)
{
	struct checks all = {mem_zalloc((REPORT_ORIGINS_MOST + 1) * sizeof *all.of), 0};
	for (unsigned g = 0; g < o->group_count; g++) {
		struct upstream *u = o->groups[g];
		for (unsigned i = 0; upstream_checks(u) && i < upstream_count(u); i++) {
			struct check *c = NEW(struct check);
			*c = (struct check){.health = h, .group = upstream_ref(u), .server = i};
			all.of[all.count++] = c;
		}
	}
	return all;
}

void
health_settle(struct health *h, const struct origins *o)
{
	struct checks all = list(h, o);
	bool wanted = all.count > 0;
	pthread_mutex_lock(&h->lock);
	assert(!h->stopping && (h->is_next || !h->next.of));
	struct checks old = h->next;
	h->next = all;
	h->is_next = true;
	pthread_mutex_unlock(&h->lock);
	end_checks(&old);
	if (h->runs || !wanted)
		return;
	h->runs = begin_thread(h) == 0;
	if (!h->runs)
		log_error("origins are not checked: there is no thread or memory for it");
}

void
health_destroy(struct health **ph)
{
	struct health *h = *ph;
	*ph = NULL;
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	pthread_mutex_unlock(&h->lock);
	if (h->runs)
		pthread_join(h->thread, NULL);
	if (h->fetcher)
		fetcher_destroy(&h->fetcher);
	end_checks(&h->checks);
	end_checks(&h->next);
	if (h->tick)
		event_free(h->tick);
	if (h->base)
		event_base_free(h->base);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
