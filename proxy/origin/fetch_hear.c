/* fetch_hear.c - the response comes in, and how a fetch ends. */
#include "proxy/base/clock.h"
#include "proxy/origin/fetch_inside.h"
#include "proxy/origin/origin_inside.h"

#include <errno.h>
#include <string.h>

/* The first reason counts. Carried out when nothing of f is at work: settle, give_up. */
void
fetch_hear_over(struct fetch *f, enum fetch_end how, const char *why)
{
	if (!goes_on(f))
		return;
	fetch_state_move(&f->hears, HEAR_OVER);
	f->result.end = how;
	f->result.detail = why;
}

/* False: not taken. */
static bool
offer(struct fetch *f, struct str data)
{
	if (f->ev.on_body(f->ctx, data.p, data.n) || f->hears == HEAR_CANCELLED)
		return true;
	fetch_state_move(&f->hears, HEAR_PAUSED);
	pool_stall(f->lane);
	fetch_site_patience(
		f->site); /* slow readers must not keep others from the origin for long */
	return false;
}

static void
hold(struct fetch *f, struct str data, struct str rest)
{
	f->held_data = data.n;
	if (f->held.p && data.p >= f->held.p && data.p < f->held.p + f->held.cap) {
		buf_consume(&f->held, (size_t)(data.p - f->held.p)); /* refused once more */
		return;
	}
	f->held.n = 0;
	buf_add(&f->held, data.p, (size_t)(rest.p + rest.n - data.p));
}

/* Protocols were switched: the connection is the caller's, as long as it likes. It takes no place of
 * those that requests wait for. */
static void
begin_tunnel(struct fetch *f)
{
	f->way = TUNNEL;
	f->repeatable = false;
	if (f->asks == ASK_SENT)
		fetch_state_move(&f->asks, ASK_LATER);
	pool_set_apart(f->lane);
	fetch_site_call_next(f->site);
}

/* Seldom written, for all workers read what lies beside it. What stands before an origin may refuse
 * requests by words of its own. */
static void
note_version(const struct fetch *f)
{
	struct origin *o = (struct origin *)(uintptr_t)f->site->pool.origin;
	const struct response *rs = &f->reply.response;
	bool old = rs->minor == 0;
	if (old != atomic_load_explicit(&o->old, memory_order_relaxed) &&
	    (!old || rs->status < 400))
		atomic_store_explicit(&o->old, old, memory_order_relaxed);
}

/* Reads in until it is used up or the fetch pauses, is cancelled or over. */
static void
take(struct fetch *f, struct str in)
{
	const char *why = NULL;
	struct str data;
	for (;;) {
		switch (reply_read(&f->reply, &in, &data, &why)) {
		case REPLY_MORE:
			f->held.n = 0;
			return;
		case REPLY_INTERIM:
			if (f->ev.on_interim)
				f->ev.on_interim(f->ctx, &f->reply.response);
			break;
		case REPLY_HEAD:
			f->result.head_seen = true;
			fetch_state_move(&f->hears, HEAR_BODY);
			note_version(f);
			if (f->reply.switched)
				begin_tunnel(f);
			f->ev.on_head(f->ctx, &f->reply.response);
			break;
		case REPLY_BODY:
			if (!offer(f, data)) {
				hold(f, data, in);
				return;
			}
			break;
		case REPLY_END:
			f->held.n = in.n; /* bytes of nobody's response */
			fetch_hear_over(f, FETCH_OK, "");
			return;
		case REPLY_REFUSED:
			fetch_hear_over(f, f->result.head_seen ? FETCH_TRUNCATED : FETCH_PROTOCOL,
					why);
			return;
		}
		if (!goes_on(f))
			return;
	}
}

void
fetch_hear_held(struct fetch *f)
{
	struct str data = {f->held.p, f->held_data};
	struct str rest = str_from(buf_str(&f->held), f->held_data);
	if (offer(f, data) && goes_on(f))
		take(f, rest);
}

/* RFC 9110 9.2.2: what is idempotent may be sent again, when a kept connection turns out to have
 * been closed before it got there; and what was taken of a body is gone. Once, for the connection
 * of the second try is no kept one. */
static bool
may_try_again(const struct fetch *f)
{
	return f->lane->used && f->hears == HEAR_SILENT && f->repeatable;
}

static bool
ends_one_way(const struct fetch *f)
{
	return f->way == TUNNEL && (f->asks == ASK_WRITING || f->asks == ASK_LATER);
}

static void
connection_ended(struct fetch *f, const char *how)
{
	const char *alert = lane_alert(f->lane);
	bool well = f->reply.phase == REPLY_IN_REST && !how && lane_ended_well(f->lane);
	if (well && ends_one_way(f)) {
		fetch_state_move(&f->hears, HEAR_ENDED);
		if (f->ev.on_silence)
			f->ev.on_silence(f->ctx);
		return;
	}
	if (well)
		fetch_hear_over(f, FETCH_OK, "");
	else if (may_try_again(f))
		fetch_state_move(&f->asks, ASK_AGAIN);
	else if (f->result.head_seen)
		fetch_hear_over(f, FETCH_TRUNCATED,
				how ? how : "the origin closed the connection within the body");
	else if (f->hears == HEAR_HEAD)
		fetch_hear_over(f, FETCH_CLOSED,
				"the origin closed the connection within the head");
	else if (f->asks == ASK_DEAF)
		fetch_hear_over(
			f, FETCH_SEND,
			alert ? alert
			      : "the origin closed the connection before the request was out");
	else
		fetch_hear_over(f, FETCH_CLOSED,
				alert ? alert
				      : "the origin closed the connection without an answer");
}

void
fetch_hear_pull(struct fetch *f)
{
	char *in = f->site->fetcher->in;
	for (int i = 0; i < ROUNDS; i++) {
		ssize_t n = lane_recv(f->lane, in, READ_BYTES);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			connection_ended(f, n < 0 ? strerror(errno) : NULL);
			return;
		}
		f->moved = true;
		f->full_read = lane_may_have_more(f->lane, (size_t)n, READ_BYTES);
		if (f->hears == HEAR_SILENT) {
			fetch_state_move(&f->hears, HEAR_HEAD);
			f->first_us = now_us();
		}
		take(f, (struct str){in, (size_t)n});
		if (!goes_on(f) || f->hears == HEAR_PAUSED || !f->full_read)
			return;
	}
	lane_read_now(f->lane);
}
