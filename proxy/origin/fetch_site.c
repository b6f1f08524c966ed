/* fetch_site.c - an origin as a worker uses it: its connections, and who waits for one. */
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/origin/fetch_inside.h"
#include "proxy/origin/origin_inside.h"

#include <event2/event.h>
#include <stdlib.h>

/* -- who waits --------------------------------------------------------------------------------- */

struct fetch *
fetch_site_next(const struct site *s, bool uploads)
{
	struct fetch *plain = TAILQ_FIRST(&s->waiting[QUEUE_PLAIN]);
	struct fetch *upload = uploads ? TAILQ_FIRST(&s->waiting[QUEUE_UPLOAD]) : NULL;
	return !upload || (plain && plain->queued_us <= upload->queued_us) ? plain : upload;
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

void
fetch_site_patience(struct site *s)
{
	struct fetch *f = fetch_site_next(s, true);
	if (!f)
		return;
	int64_t us = f->queued_us + s->pool.origin->connect_timeout_ms * 1000 - now_us();
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
		TAILQ_INSERT_TAIL(&s->waiting[f->queue], f, link);
		fetch_state_move(&f->asks, ASK_QUEUED);
	}
	if (!evtimer_pending(&s->patience, NULL))
		fetch_site_patience(s);
}

void
fetch_queue_leave(struct fetch *f)
{
	if (f->asks == ASK_QUEUED)
		TAILQ_REMOVE(&f->site->waiting[f->queue], f, link);
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
	for (int i = 0; i < QUEUES; i++)
		TAILQ_INIT(&s->waiting[i]);
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
