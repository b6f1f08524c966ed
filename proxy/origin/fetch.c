/* fetch.c - a fetch's life: it waits for a lane, is sent, hands its response on, ends once.
 *
 * Nothing here calls back into the caller from within the caller's own call: starts, resumes and
 * "there is more" are noted and carried out by the run event, in the same round of the event loop.
 * A cancel from inside a fetch's own callback is noted too, and carried out when it returns.
 */
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/origin/fetch_inside.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* Of a request's body kept for a second try on another connection. */
enum { REPLAY_BYTES = 16 << 10 };

static void
init_once(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
}

struct fetcher *
fetcher_create(struct event_base *base)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, init_once);
	struct fetcher *fr = NEW(struct fetcher);
	fr->base = base;
	fr->run = event_new(base, -1, 0, fetch_loop_run, fr);
	TAILQ_INIT(&fr->todo);
	TAILQ_INIT(&fr->spare);
	LIST_INIT(&fr->sites);
	return fr;
}

void
fetcher_destroy(struct fetcher **pf)
{
	struct fetcher *fr = *pf;
	struct site *s;
	struct lane *l, *next;
	struct fetch *f;
	if (!fr)
		return;
	LIST_FOREACH (s, &fr->sites, next)
		for (l = LIST_FIRST(&s->pool.lanes); l; l = next) {
			next = LIST_NEXT(l, all);
			if ((f = l->user))
				fetch_cancel(&f);
		}
	LIST_FOREACH (s, &fr->sites, next)
		while ((f = fetch_site_next(s, true)))
			fetch_cancel(&f);
	while ((f = TAILQ_FIRST(&fr->todo)))
		fetch_cancel(&f);
	while (!LIST_EMPTY(&fr->sites))
		fetch_site_destroy(LIST_FIRST(&fr->sites));
	fetch_spare_free(fr);
	event_free(fr->run);
	free(fr);
	*pf = NULL;
}

void
fetcher_sweep(struct fetcher *fr)
{
	struct site *s, *next;
	assert(!fr->current);
	for (s = LIST_FIRST(&fr->sites); s; s = next) {
		next = LIST_NEXT(s, next);
		if (s->retired && !s->users)
			fetch_site_destroy(s);
		else
			pool_sweep(&s->pool);
	}
}

void
fetcher_retire(struct fetcher *fr, bool (*is_used)(void *ctx, const struct origin *o), void *ctx)
{
	struct site *s;
	assert(!fr->current);
	LIST_FOREACH (s, &fr->sites, next)
		if (!is_used(ctx, s->pool.origin))
			fetch_site_retire(s);
	fetcher_sweep(fr);
}

unsigned
fetcher_active(const struct fetcher *f)
{
	return f->active;
}

struct fetch *
fetch_start(struct fetcher *fr, const struct fetch_request *r, const struct fetch_events *ev,
	    void *ctx)
{
	struct fetch *f = fetch_new(fr);
	f->site = fetch_site_of(fr, r->origin, &fetch_loop_owner, fetch_loop_patience);
	f->ev = *ev;
	f->ctx = ctx;
	f->to_head = str_eq(r->method, STR("HEAD"));
	f->framing = f->to_head ? FRAMING_NONE : r->framing;
	if (f->framing == FRAMING_CHUNKED && r->at_hand && atomic_load(&r->origin->old))
		f->framing = FRAMING_LENGTH;
	f->send_left = r->content_length;
	bool upload = f->framing == FRAMING_CHUNKED ||
		      (f->framing == FRAMING_LENGTH && r->content_length);
	f->queue = upload ? QUEUE_UPLOAD : QUEUE_PLAIN;
	f->repeatable = r->idempotent;
	f->upgrade = r->upgrade;
	f->claim.refused = r->refused;
	f->claim.share = r->share;
	f->claim.group = r->group;
	f->claim.place.route = r->route;
	f->replays =
		r->idempotent && r->framing == FRAMING_LENGTH && r->content_length <= REPLAY_BYTES;
	f->start_us = now_us();
	fetch_ask_head(f, r);
	fr->active++;
	f->site->users++;
	fetch_check(f);
	fetch_todo_add(f);
	return f;
}

void
fetch_resume(struct fetch *f)
{
	fetch_check(f);
	f->want_resume = true;
	fetch_todo_add(f);
}

void
fetch_send_more(struct fetch *f)
{
	fetch_check(f);
	f->want_send = true;
	fetch_todo_add(f);
}

void
fetch_yield(struct fetch *f, bool asked)
{
	fetch_check(f);
	f->site->yielding += !f->claim.yields;
	f->claim.yields = asked ? YIELDS_ALL : YIELDS_PLACE;
	fetch_todo_add(f);
}

void
fetch_let_pause(struct fetch *f)
{
	assert(f->site->fetcher->current == f && f->result.head_seen);
	if (f->way == SPEAKS)
		f->way = PAUSES;
}

void
fetch_cancel(struct fetch **pf)
{
	struct fetch *f = *pf;
	*pf = NULL;
	if (!f || f->hears == HEAR_OVER) /* on_done runs */
		return;
	fetch_check(f);
	fetch_state_move(&f->hears, HEAR_CANCELLED);
	if (f->site->fetcher->current != f)
		fetch_loop_leave(f);
}
