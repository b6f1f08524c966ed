/* fetch_site.c - an origin as a worker uses it: its connections, and who waits for one. */
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/origin/fetch_inside.h"
#include "proxy/origin/origin_inside.h"

#include <event2/event.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* SOON_MS: a client that has taken nothing for so long gives way where it has more than its part; LOOK_US:
 * so often it is looked for one. UPLOAD_BYTES_S: a body that comes more slowly holds up others. */
enum { SOON_MS = 1500, LOOK_US = 250000, UPLOAD_BYTES_S = 8 << 10 };

/* -- who waits --------------------------------------------------------------------------------- */

static uint64_t
client_of(struct fetch *f)
{
	struct claim *c = &f->claim;
	if (!c->known)
		c->place.client = f->ev.client ? f->ev.client(f->ctx) : 0;
	c->known = true;
	return c->place.client;
}

static struct fetch *
fetch_at(struct line_place *p)
{
	return p ? (struct fetch *)((char *)p - offsetof(struct fetch, claim.place)) : NULL;
}

struct fetch *
fetch_site_next(const struct site *s, bool uploads)
{
	struct fetch *plain = fetch_at(line_first(&s->lines[QUEUE_PLAIN]));
	struct fetch *upload = uploads ? fetch_at(line_first(&s->lines[QUEUE_UPLOAD])) : NULL;
	return plain && upload ? (s->uploads_turn ? upload : plain) : plain ? plain : upload;
}

/* Those of another group that share the origin have a queue of their own. */
struct fetch *
fetch_site_longest(const struct site *s, struct fetch *f)
{
	unsigned least = 1;
	struct fetch *longest = NULL;
	for (int i = 0; i < QUEUES; i++)
		least += line_places(&s->lines[i], client_of(f));
	for (int i = 0; i < QUEUES; i++) {
		struct fetch *one = fetch_at(line_longest(&s->lines[i], least));
		if (!one || one->claim.group != f->claim.group)
			continue;
		longest = one;
		least = line_places(&s->lines[i], client_of(one));
	}
	return longest;
}

/* Half of the connections, and one at least. */
bool
fetch_site_may_upload(const struct site *s)
{
	unsigned half = s->pool.origin->max_connections / 2;
	return s->uploading < (half ? half : 1);
}

void
fetch_site_call_next(struct site *s)
{
	struct fetch *first = fetch_site_next(s, fetch_site_may_upload(s));
	if (first)
		fetch_todo_add(first);
}

/* Its caller may be gone, and nothing of an answer is lost. */
static bool
yields(const struct fetch *f)
{
	return f->claim.yields == YIELDS_ALL && f->hears == HEAR_SILENT;
}

struct fetch *
fetch_site_yields(const struct site *s)
{
	struct lane *l;
	if (!s->yielding || TAILQ_EMPTY(&s->waiting))
		return NULL;
	LIST_FOREACH (l, &s->pool.lanes, all)
		if (l->user && yields(l->user))
			return l->user;
	return NULL;
}

static unsigned *
crowd_of(struct crowds *c, struct fetch *f)
{
	return &c->of[client_of(f) % (sizeof c->of / sizeof c->of[0])];
}

void
fetch_site_count(const struct site *s, struct crowds *c)
{
	const struct lane *l;
	*c = (struct crowds){0};
	LIST_FOREACH (l, &s->pool.lanes, all) {
		struct fetch *f = l->user;
		if (f && !l->apart)
			++*crowd_of(c, f);
	}
}

/* The fewest that a client has who waits. */
static unsigned
least_crowd(const struct site *s, struct crowds *c)
{
	unsigned least = UINT_MAX;
	struct fetch *f;
	TAILQ_FOREACH (f, &s->waiting, link) {
		unsigned crowd = *crowd_of(c, f);
		least = crowd < least ? crowd : least;
	}
	return least;
}

/* A client that takes nothing for half of the time for which others have patience gives way to anybody, and
 * sooner where it has two connections more than one who waits. The client with most connections goes
 * first, with the fetch that has paused the longest. */
struct fetch *
fetch_site_stalled(const struct site *s)
{
	struct crowds crowds;
	unsigned most = 0;
	struct lane *l;
	struct fetch *best = NULL;
	if (TAILQ_EMPTY(&s->waiting) || s->pool.stalled <= s->pool.apart)
		return NULL;
	fetch_site_count(s, &crowds);
	unsigned least = least_crowd(s, &crowds);
	int64_t now = lane_now_ms(), long_ms = s->pool.origin->connect_timeout_ms / 2;
	LIST_FOREACH (l, &s->pool.lanes, all) {
		struct fetch *f = l->user;
		if (!f || f->hears != HEAR_PAUSED || l->apart)
			continue;
		unsigned crowd = *crowd_of(&crowds, f);
		int64_t ms = crowd > least + 1 && long_ms > SOON_MS ? SOON_MS : long_ms;
		bool first = !best || crowd > most ||
			     (crowd == most && f->waits_since_ms < best->waits_since_ms);
		if (now - f->waits_since_ms < ms || !first)
			continue;
		best = f;
		most = crowd;
	}
	return best;
}

/* Its caller was waited for, and gave few bytes in that time. */
static bool
drips(const struct fetch *f, int64_t now)
{
	int64_t ms = f->waited_ms + (f->waits_since_ms ? now - f->waits_since_ms : 0);
	return f->uploading && f->hears == HEAR_SILENT && ms >= SOON_MS &&
	       f->claim.uploaded < (uint64_t)ms * UPLOAD_BYTES_S / 1000;
}

/* The origin has all of the request, and has said nothing for so long that it may never. */
static bool
is_hung(struct fetch *f, int64_t now)
{
	if (f->hears != HEAR_SILENT || f->asks != ASK_SENT || f->queue != QUEUE_PLAIN ||
	    f->upgrade.n || !f->ev.patience)
		return false;
	int64_t ms = f->ev.patience(f->ctx, f->site->pool.origin->connect_timeout_ms);
	return ms && now - f->moved_ms >= ms;
}

bool
fetch_site_hung(const struct site *s, enum queue line, unsigned nth, struct crowds *c,
		struct fetch **out)
{
	struct fetch *waits = fetch_at(line_nth(&s->lines[line], nth)), *best = NULL;
	const struct lane *l;
	*out = NULL;
	if (!waits)
		return false;
	bool upload = line == QUEUE_UPLOAD && !fetch_site_may_upload(s);
	unsigned most = *crowd_of(c, waits) + 1;
	int64_t now = lane_now_ms();
	LIST_FOREACH (l, &s->pool.lanes, all) {
		struct fetch *f = l->user;
		unsigned crowd = f && !l->apart ? *crowd_of(c, f) : 0;
		bool first =
			crowd > most || (best && crowd == most && f->moved_ms <= best->moved_ms);
		if (!first || (upload && !f->uploading) || (!is_hung(f, now) && !drips(f, now)))
			continue;
		best = f;
		most = crowd;
	}
	*out = best;
	if (!best)
		return true;
	--*crowd_of(c, best);
	++*crowd_of(c, waits);
	return true;
}

struct fetch *
fetch_site_silent(const struct site *s)
{
	struct fetch *best = NULL;
	const struct lane *l;
	if (TAILQ_EMPTY(&s->waiting))
		return NULL;
	int64_t since = lane_now_ms() - s->pool.origin->read_timeout_ms;
	LIST_FOREACH (l, &s->pool.lanes, all) {
		struct fetch *f = l->user;
		if (f && f->way == PAUSES && f->hears == HEAR_BODY && f->moved_ms <= since &&
		    (!best || f->moved_ms < best->moved_ms))
			best = f;
	}
	return best;
}

void
fetch_site_patience(struct site *s)
{
	struct fetch *f = TAILQ_FIRST(&s->waiting);
	if (!f)
		return;
	int64_t us = f->queued_us + s->pool.origin->connect_timeout_ms * 1000 - now_us();
	if (us > LOOK_US)
		us = LOOK_US;
	if (us < 0)
		us = 0;
	struct timeval tv = {us / 1000000, us % 1000000};
	evtimer_add(&s->patience, &tv);
}

void
fetch_queue_enter(struct fetch *f)
{
	struct site *s = f->site;
	if (f->asks != ASK_QUEUED) {
		f->queued_us = now_us();
		TAILQ_INSERT_TAIL(&s->waiting, f, link);
		client_of(f);
		line_enter(&s->lines[f->queue], &f->claim.place);
		s->waiting_count++;
		fetch_state_move(&f->asks, ASK_QUEUED);
	}
	if (!evtimer_pending(&s->patience, NULL))
		fetch_site_patience(s);
}

void
fetch_queue_leave(struct fetch *f, bool goes)
{
	struct site *s = f->site;
	if (f->asks != ASK_QUEUED)
		return;
	TAILQ_REMOVE(&s->waiting, f, link);
	s->waiting_count--;
	if (goes) {
		line_take(&s->lines[f->queue], &f->claim.place);
		s->uploads_turn = f->queue == QUEUE_PLAIN;
	} else {
		line_leave(&s->lines[f->queue], &f->claim.place);
	}
}

/* -- who goes ---------------------------------------------------------------------------------- */

/* Its body is out, or it ends: another upload may begin. */
void
fetch_upload_over(struct fetch *f)
{
	if (!f->uploading)
		return;
	f->uploading = false;
	f->site->uploading--;
	fetch_site_call_next(f->site);
}

/* A request to switch protocols has its connection for itself, for an origin may go on in another
 * protocol than its answer says. Whole, and nothing of this request or its response is still to come on the connection: what came
 * behind the response is in held, or, when the last read was full or long ago, may be in the socket. */
static bool
leaves_it_clean(const struct fetch *f)
{
	return !f->upgrade.n && f->hears == HEAR_OVER && f->result.end == FETCH_OK &&
	       f->asks == ASK_SENT && f->held.n == 0 && reply_keeps(&f->reply) &&
	       ((f->lane->reads && !f->full_read) || lane_is_clean(f->lane));
}

void
fetch_lane_return(struct fetch *f)
{
	struct lane *l = f->lane;
	bool clean = leaves_it_clean(f);
	f->lane = NULL;
	if (clean && !f->site->retired)
		pool_keep(l);
	else
		pool_close(l);
	fetch_site_call_next(f->site);
}

/* -- life -------------------------------------------------------------------------------------- */

struct site *
fetch_site_of(struct fetcher *fr, const struct origin *o, const struct lane_owner *owner,
	      event_callback_fn on_patience)
{
	struct site *s;
	LIST_FOREACH (s, &fr->sites, next)
		if (s->pool.origin == o)
			return s;
	s = NEW(struct site);
	s->fetcher = fr;
	TAILQ_INIT(&s->waiting);
	for (int i = 0; i < QUEUES; i++)
		line_init(&s->lines[i]);
	evtimer_assign(&s->patience, fr->base, on_patience, s);
	pool_init(&s->pool, origin_ref(o), fr->base, owner);
	LIST_INSERT_HEAD(&fr->sites, s, next);
	return s;
}

void
fetch_site_destroy(struct site *s)
{
	struct origin *o = (struct origin *)(uintptr_t)s->pool.origin;
	LIST_REMOVE(s, next);
	pool_fini(&s->pool);
	origin_destroy(&o);
	evtimer_del(&s->patience);
	free(s);
}

void
fetch_site_retire(struct site *s)
{
	s->retired = true;
	pool_close_idle(&s->pool);
}
