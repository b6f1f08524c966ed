/* fetch_loop.c - what happened to a fetch, and what follows: the event loop's calls.
 *
 * While a fetch has its round its callbacks may run; their wishes are noted in its states and
 * carried out when the round is over (settle).
 */
#include "proxy/base/clock.h"
#include "proxy/origin/fetch_inside.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <event2/event.h>

/* So many connections are closed at once where clients take nothing and others wait, or origins say
 * nothing; for so many clients, in the order of their turns, it is asked then. */
enum { ROOM_AT_ONCE = 16, CLIENTS_AT_ONCE = 64 };

static const struct {
	int status;
	const char *word;
} ends[] = {
#define FETCH_END(id, status, word) {status, word},
#include "proxy/origin/fetch_ends.h"
#undef FETCH_END
};

void
fetch_check(const struct fetch *f)
{
	assert(f->site && f->asks < ASK_LEFT && f->hears < HEAR_LEFT);
	assert((f->lane != NULL) == (f->asks == ASK_DIALING || is_open(f)));
	assert(!f->lane || f->lane->user == f);
	assert(f->hears == HEAR_SILENT || f->hears >= HEAR_OVER || is_open(f));
	assert(!f->result.head_seen || f->hears >= HEAR_BODY);
	assert(!f->uploading || (f->lane && f->queue == QUEUE_UPLOAD));
	assert(f->out_sent <= f->out.n);
	assert(f->hears != HEAR_PAUSED || f->held_data <= f->held.n);
}

/* -- the end ----------------------------------------------------------------------------------- */

void
fetch_loop_leave(struct fetch *f)
{
	struct fetcher *fr = f->site->fetcher;
	bool called =
		f->asks == ASK_QUEUED && f->listed; /* to a lane, which is now the next one's */
	fetch_todo_remove(f);
	fetch_queue_leave(f, false);
	fetch_upload_over(f);
	if (f->lane)
		fetch_lane_return(f);
	else if (called)
		fetch_site_call_next(f->site);
	fetch_state_move(&f->asks, ASK_LEFT);
	fetch_state_move(&f->hears, HEAR_LEFT);
	fr->active--;
	f->site->users--;
	f->site->yielding -= f->claim.yields != YIELDS_NOT;
	fetch_spare(f);
}

static void
finish(struct fetch *f)
{
	int64_t now = now_us();
	struct fetch_result *r = &f->result;
	fetch_check(f);
	assert(f->hears == HEAR_OVER);
	r->status = ends[r->end].status;
	r->word = ends[r->end].word;
	r->reused = f->lane && f->lane->used;
	r->begun = f->first_us != 0;
	r->trailers = buf_str(&f->reply.trailers);
	r->wait_us = (f->first_us ? f->first_us : now) - f->start_us;
	r->total_us = now - f->start_us;
	f->ev.on_done(f->ctx, r);
	fetch_loop_leave(f);
}

static void
give_up(struct fetch *f, enum fetch_end how, const char *why)
{
	fetch_hear_over(f, how, why);
	finish(f);
}

static enum fetch_end
end_of_dial(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return FETCH_DNS;
	case CURLE_OPERATION_TIMEDOUT:
		return FETCH_CONNECT_TIMEOUT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
		return FETCH_TLS;
	case CURLE_INTERFACE_FAILED:
		return FETCH_NO_SOCKET;
	default:
		return FETCH_CONNECT;
	}
}

/* -- time -------------------------------------------------------------------------------------- */

/* The origin owes us nothing. A tunnel's time limit is its client's, who may be gone by now where the origin
 * has ended its side: what is said last it must take in time. */
static bool
waits_for_caller(const struct fetch *f)
{
	bool last_words = f->hears == HEAR_ENDED && f->asks == ASK_WRITING;
	return f->hears == HEAR_PAUSED || f->asks == ASK_LATER || (f->way == TUNNEL && !last_words);
}

/* After each round: how long the caller was waited for is no time of the origin's. */
static void
count_waiting(struct fetch *f)
{
	bool waits = waits_for_caller(f);
	if (waits == (f->waits_since_ms != 0))
		return;
	int64_t now = lane_now_ms();
	if (!waits)
		f->waited_ms += now - f->waits_since_ms;
	f->waits_since_ms = waits ? now : 0;
}

/* All of it must be over then, in ms; 0: whenever it is. */
static int64_t
total_deadline(const struct fetch *f)
{
	int64_t ms = f->site->pool.origin->total_timeout_ms;
	return ms ? f->start_us / 1000 + f->waited_ms + ms : 0;
}

/* Of what it is waited for now. */
static int64_t
next_deadline(const struct fetch *f)
{
	const struct origin *o = f->site->pool.origin;
	if (f->asks == ASK_DIALING)
		return f->dialed_ms + o->connect_timeout_ms;
	return f->moved_ms +
	       (f->hears == HEAR_SILENT ? o->first_byte_timeout_ms : o->read_timeout_ms);
}

/* In ms; 0: the origin owes us nothing. */
static int64_t
deadline(const struct fetch *f)
{
	if (waits_for_caller(f))
		return 0;
	int64_t next = next_deadline(f), total = total_deadline(f);
	if (f->way == PAUSES && f->asks == ASK_SENT)
		return total;
	return total && total < next ? total : next;
}

static void
on_wake(struct lane *l)
{
	struct fetch *f = l->user;
	if (!f) {
		pool_wake(l);
		return;
	}
	int64_t at = deadline(f), total = total_deadline(f);
	if (!at || at > lane_now_ms())
		lane_wake_at(l, at);
	else if (total && total <= lane_now_ms())
		give_up(f, FETCH_TOTAL_TIMEOUT, "the answer took longer than total_timeout");
	else if (f->asks == ASK_DIALING)
		give_up(f, FETCH_CONNECT_TIMEOUT, "no connection within connect_timeout");
	else
		give_up(f, FETCH_READ_TIMEOUT,
			f->hears == HEAR_SILENT
				? "not a byte from the origin within first_byte_timeout"
				: "not a byte from the origin within read_timeout");
}

/* The connection of one that may be in vain is closed for those who wait. */
static void
make_room(struct site *s)
{
	struct fetch *f = fetch_site_yields(s);
	if (f)
		give_up(f, FETCH_YIELDED, "its client has stopped sending, and others wait");
}

static void
take_from_stalled(struct site *s)
{
	struct fetch *f;
	for (unsigned n = s->waiting_count < ROOM_AT_ONCE ? s->waiting_count : ROOM_AT_ONCE;
	     n && (f = fetch_site_stalled(s)); n--)
		give_up(f, FETCH_STALLED, "its client takes nothing, and others wait");
}

/* One at most for each client who waits, as far as that one has fewer connections. */
static void
take_from_hung(struct site *s)
{
	struct crowds crowds;
	struct fetch *f;
	unsigned room = ROOM_AT_ONCE;
	if (s->waiting_count)
		fetch_site_count(s, &crowds);
	for (int line = 0; line < QUEUES; line++)
		for (unsigned n = 0; room && n < CLIENTS_AT_ONCE; n++) {
			if (!fetch_site_hung(s, (enum queue)line, n, &crowds, &f))
				break;
			if (f)
				give_up(f, FETCH_HUNG,
					"nothing came for long, and clients with fewer requests wait");
			room -= f != NULL;
		}
}

static void
take_from_silent(struct site *s)
{
	struct fetch *f;
	for (unsigned n = s->waiting_count < ROOM_AT_ONCE ? s->waiting_count : ROOM_AT_ONCE;
	     n && (f = fetch_site_silent(s)); n--)
		give_up(f, FETCH_HUNG,
			"it was silent for longer than read_timeout, and others wait");
}

void
fetch_loop_patience(evutil_socket_t fd, short what, void *arg)
{
	struct site *s = arg;
	struct fetch *f = TAILQ_FIRST(&s->waiting);
	(void)fd;
	(void)what;
	if (f && f->queued_us + s->pool.origin->connect_timeout_ms * 1000 <= now_us())
		give_up(f, FETCH_QUEUE_TIMEOUT,
			"all connections to the origin were busy for connect_timeout");
	take_from_stalled(s);
	take_from_hung(s);
	take_from_silent(s);
	fetch_site_patience(s);
}

/* -- rounds ------------------------------------------------------------------------------------ */

static void
round_of(struct fetch *f)
{
	assert(!f->site->fetcher->current);
	fetch_check(f);
	f->site->fetcher->current = f;
}

/* Its connection is being opened, or is a kept one. */
static void
take_lane(struct fetch *f, struct lane *l)
{
	fetch_queue_leave(f, true);
	fetch_state_move(&f->asks, ASK_DIALING);
	f->lane = l;
	l->user = f;
	f->dialed_ms = lane_now_ms();
	if (l->fd < 0)
		lane_wake_at(l, deadline(f));
}

/* On a new connection, never a kept one: there is one, as the dead one takes no place any more. */
static void
try_again(struct fetch *f)
{
	struct lane *dead = f->lane;
	f->lane = NULL;
	f->out_sent = 0;
	pool_close(dead);
	struct lane *l = pool_open(&f->site->pool);
	assert(l);
	l->fed = f->queue == QUEUE_UPLOAD; /* as pool_take does */
	take_lane(f, l);
}

/* After every round: what has come of it? f may be gone afterwards. */
static void
settle(struct fetch *f)
{
	struct lane *l = f->lane;
	assert(f->site->fetcher->current == f);
	f->site->fetcher->current = NULL;
	fetch_check(f);
	if (f->hears == HEAR_CANCELLED) {
		fetch_loop_leave(f);
		return;
	}
	if (f->hears == HEAR_OVER) {
		finish(f);
		return;
	}
	count_waiting(f);
	if (f->asks == ASK_AGAIN) {
		try_again(f);
		return;
	}
	if (f->asks == ASK_SENT)
		fetch_upload_over(f);
	if (f->moved) {
		f->moved = false;
		f->moved_ms = lane_now_ms();
	}
	lane_watch(l, f->hears != HEAR_PAUSED && f->hears != HEAR_ENDED, f->asks == ASK_WRITING);
	lane_wake_at(l, deadline(f));
}

static void
on_open(struct lane *l, CURLcode code, const char *sentence)
{
	struct fetch *f = l->user;
	if (code != CURLE_OK) {
		give_up(f, end_of_dial(code), sentence);
		return;
	}
	round_of(f);
	fetch_state_move(&f->asks, ASK_WRITING);
	f->moved = true;
	fetch_ask_push(f);
	settle(f);
}

static void
on_readable(struct lane *l)
{
	struct fetch *f = l->user;
	if (!f) {
		pool_lost(l);
		return;
	}
	if (f->hears == HEAR_PAUSED || f->hears == HEAR_ENDED)
		return;
	round_of(f);
	fetch_hear_pull(f);
	settle(f);
}

static void
on_writable(struct lane *l)
{
	struct fetch *f = l->user;
	round_of(f);
	fetch_ask_push(f);
	settle(f);
}

const struct lane_owner fetch_loop_owner = {.on_open = on_open,
					    .on_readable = on_readable,
					    .on_writable = on_writable,
					    .on_wake = on_wake};

/* It would have to wait, and as many as may are under way or waiting already. f may be gone then. */
static bool
is_refused(struct fetch *f)
{
	struct site *s = f->site;
	if (!f->claim.refused)
		return false;
	f->claim.refused = false;
	if (s->waiting_count < f->claim.share)
		return false;
	struct fetch *longest = fetch_site_longest(s, f);
	give_up(longest ? longest : f, FETCH_QUEUE_FULL,
		longest ? "its client has the most requests in a queue that is full"
			: "as many requests as may are under way or waiting already");
	return !longest;
}

/* f may be gone then. */
static bool
yields_place(struct fetch *f)
{
	if (!f->claim.yields)
		return false;
	give_up(f, FETCH_YIELDED, "its client has stopped sending, and all connections are busy");
	return true;
}

static void
begin(struct fetch *f)
{
	struct site *s = f->site;
	bool upload = f->queue == QUEUE_UPLOAD, waited = f->asks == ASK_QUEUED;
	if (!waited && f->framing == FRAMING_CHUNKED && atomic_load(&s->pool.origin->old)) {
		give_up(f, FETCH_NO_LENGTH, "it speaks HTTP/1.0, and the length is not known");
		return;
	}
	bool may_upload = fetch_site_may_upload(s), blocked = upload && !may_upload;
	/* A connection that came free is theirs who wait, not of who comes just then. */
	bool behind = !waited && fetch_site_next(s, may_upload);
	struct lane *l = blocked || behind ? NULL : pool_take(&s->pool, upload, f->repeatable);
	if (!l) {
		if (yields_place(f) || is_refused(f))
			return;
		fetch_queue_enter(f);
		if (behind || (waited && blocked)) /* the one without a body */
			fetch_site_call_next(s);
		make_room(s);
		return;
	}
	f->uploading = upload;
	s->uploading += upload;
	reply_begin(&f->reply, f->to_head, f->upgrade, s->fetcher->fields);
	take_lane(f, l);
	/* It was called once, however many lanes came free before its turn. */
	if (waited)
		fetch_site_call_next(s);
	if (l->fd >= 0)
		on_open(l, CURLE_OK, "");
}

static void
carry_on(struct fetch *f)
{
	bool resume = f->want_resume && f->hears == HEAR_PAUSED;
	bool send = f->want_send && f->asks == ASK_LATER;
	f->want_resume = f->want_send = false;
	if (!resume && !send) {
		if (f->claim.yields)
			make_room(f->site);
		return;
	}
	round_of(f);
	f->moved = true; /* the origin's time starts anew */
	if (send) {
		fetch_state_move(&f->asks, ASK_WRITING);
		fetch_ask_push(f);
	}
	if (resume && goes_on(f)) {
		fetch_state_move(&f->hears, HEAR_BODY);
		if (f->way != TUNNEL)
			pool_move_on(f->lane);
		fetch_hear_held(f);
		if (f->hears == HEAR_BODY)
			lane_read_now(f->lane);
	}
	settle(f);
}

void
fetch_loop_run(evutil_socket_t fd, short what, void *arg)
{
	struct fetcher *fr = arg;
	struct fetch *f;
	(void)fd;
	(void)what;
	/* Those added meanwhile wait for the next round: sockets must have their turn. */
	for (unsigned n = fr->todo_count; n && (f = TAILQ_FIRST(&fr->todo)); n--) {
		fetch_todo_remove(f);
		if (f->lane)
			carry_on(f);
		else
			begin(f);
	}
	if (fr->todo_count)
		event_active(fr->run, 0, 0);
}
