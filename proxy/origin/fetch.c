/* fetch.c - a fetch's life: it waits for a lane, is sent, hands its response on, ends once.
 *
 * Nothing here calls back into the caller from within the caller's own call: starts, resumes and
 * "there is more" are noted and carried out by the run event, in the same round of the event loop.
 * A cancel from inside a fetch's own callback is noted too, and carried out when it returns.
 */
#include "proxy/origin/fetch.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/http/chunked.h"
#include "proxy/origin/fetch_state.h"
#include "proxy/origin/lane.h"
#include "proxy/origin/origin.h"
#include "proxy/origin/pool.h"
#include "proxy/origin/reply.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Ended fetches kept for the next ones, and the bytes each may keep. */
enum { SPARE_MAX = 64, SPARE_BYTES = 40 << 10 };

/* READ_BYTES is what a fetch may hold of a body while paused, see fetch.h. ROUNDS of them, then
 * other connections have their turn. */
enum { READ_BYTES = 32 << 10, SEND_BYTES = 16 << 10, ROUNDS = 8 };

/* Requests with a body queue apart: slow bodies hold at most half of the connections. */
enum queue { QUEUE_PLAIN, QUEUE_UPLOAD, QUEUES };

TAILQ_HEAD(todo, fetch);

struct site { /* an origin as this worker uses it */
	struct pool pool;
	struct fetcher *fetcher;
	struct todo waiting[QUEUES]; /* for a lane, the oldest first */
	unsigned uploading;	     /* fetches that have a lane and a body still to send */
	struct event patience;	     /* when that one has waited too long */
	LIST_ENTRY(site) next;
};

struct fetcher {
	struct event_base *base;
	struct event *run;
	struct todo todo; /* what run has to look at */
	unsigned todo_count;
	unsigned active;
	const struct fetch *turn; /* whose callbacks may run now, other than on_done */
	LIST_HEAD(, site) sites;
	TAILQ_HEAD(, fetch) spare;
	unsigned spare_count;
	char in[READ_BYTES]; /* what was just read, for whichever fetch it is */
};

struct fetch {
	/* kept when the fetch is over and another takes the struct */
	struct buf out;	 /* the request's head, then pieces of its body, on their way */
	struct buf held; /* read, but not taken by on_body; first held_data bytes of body */
	struct reply reply;
	/* zeroed for each */
	TAILQ_ENTRY(fetch) link; /* in site->waiting or fetcher->spare */
	TAILQ_ENTRY(fetch) todo_link;
	struct site *site;
	struct lane *lane; /* while it has one */
	struct fetch_events ev;
	void *ctx;

	enum fetch_state asks, hears; /* moved by fetch_state_move alone */
	enum queue queue;
	size_t out_sent, held_data;
	enum framing framing;
	uint64_t send_left; /* of a body with a known length */
	bool to_head;
	bool repeatable; /* may be sent once more, from its first byte: nothing of it is gone */
	bool replays;	 /* a small body stays behind the head in out, to be sent again */

	bool listed;		     /* in todo */
	bool uploading;		     /* is counted in site->uploading */
	bool want_resume, want_send; /* what todo is about, once it has a lane */
	bool moved;		     /* bytes went or came in this turn */
	int64_t start_us, queued_us, first_us, moved_ms, dialed_ms;
	struct fetch_result result; /* what is known of it */
};

static const struct {
	int status;
	const char *word;
} ends[] = {
#define FETCH_END(id, status, word) {status, word},
#include "proxy/origin/fetch_ends.h"
#undef FETCH_END
};

/* -- states ------------------------------------------------------------------------------------ */

static bool
is_open(const struct fetch *f)
{
	return f->asks >= ASK_WRITING && f->asks <= ASK_AGAIN;
}

/* Somebody wants to hear more of it. */
static bool
goes_on(const struct fetch *f)
{
	return f->hears < HEAR_OVER;
}

/* What must hold whenever nothing of f is at work, and at the doors. */
static void
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

/* -- the list of things to do ------------------------------------------------------------------ */

static void
todo_add(struct fetch *f)
{
	struct fetcher *fr = f->site->fetcher;
	if (f->listed)
		return;
	f->listed = true;
	TAILQ_INSERT_TAIL(&fr->todo, f, todo_link);
	if (fr->todo_count++ == 0)
		event_active(fr->run, 0, 0);
}

static void
todo_remove(struct fetch *f)
{
	if (!f->listed)
		return;
	f->listed = false;
	TAILQ_REMOVE(&f->site->fetcher->todo, f, todo_link);
	f->site->fetcher->todo_count--;
}

/* -- structs that come and go ------------------------------------------------------------------ */

static struct fetch *
fetch_new(struct fetcher *fr)
{
	struct fetch *f = TAILQ_FIRST(&fr->spare);
	if (f) {
		TAILQ_REMOVE(&fr->spare, f, link);
		fr->spare_count--;
	} else {
		f = NEW(struct fetch);
	}
	struct buf out = f->out, held = f->held;
	struct reply reply = f->reply;
	out.n = held.n = 0;
	*f = (struct fetch){.out = out,
			    .held = held,
			    .reply = reply,
			    .asks = ASK_STARTED,
			    .hears = HEAR_SILENT};
	return f;
}

static void
fetch_free(struct fetch *f)
{
	buf_fini(&f->out);
	buf_fini(&f->held);
	reply_fini(&f->reply);
	free(f);
}

static void
wait_no_more(struct fetch *f)
{
	if (f->asks == ASK_QUEUED)
		TAILQ_REMOVE(&f->site->waiting[f->queue], f, link);
}

/* Whole, and nothing of this request or its response is still to come on the connection. */
static bool
leaves_it_clean(const struct fetch *f)
{
	return f->hears == HEAR_OVER && f->result.end == FETCH_OK && f->asks == ASK_SENT &&
	       f->held.n == 0 && reply_keeps(&f->reply);
}

/* Half of the connections, and one at least. */
static bool
may_upload(const struct site *s)
{
	unsigned half = s->pool.origin->max_connections / 2;
	return s->uploading < (half ? half : 1);
}

/* Of those who wait, and may go when a lane is free, the oldest. */
static struct fetch *
next_waiting(const struct site *s, bool uploads)
{
	struct fetch *plain = TAILQ_FIRST(&s->waiting[QUEUE_PLAIN]);
	struct fetch *upload = uploads ? TAILQ_FIRST(&s->waiting[QUEUE_UPLOAD]) : NULL;
	return !upload || (plain && plain->queued_us <= upload->queued_us) ? plain : upload;
}

static void
call_next(struct site *s)
{
	struct fetch *first = next_waiting(s, may_upload(s));
	if (first)
		todo_add(first);
}

/* Its body is out, or it ends: another upload may begin. */
static void
upload_no_more(struct fetch *f)
{
	if (!f->uploading)
		return;
	f->uploading = false;
	f->site->uploading--;
	call_next(f->site);
}

static void
give_lane_back(struct fetch *f)
{
	struct lane *l = f->lane;
	f->lane = NULL;
	if (leaves_it_clean(f))
		pool_keep(l);
	else
		pool_close(l);
	call_next(f->site);
}

static void
leave(struct fetch *f)
{
	struct fetcher *fr = f->site->fetcher;
	bool called =
		f->asks == ASK_QUEUED && f->listed; /* to a lane, which is now the next one's */
	todo_remove(f);
	wait_no_more(f);
	upload_no_more(f);
	if (f->lane)
		give_lane_back(f);
	else if (called)
		call_next(f->site);
	fetch_state_move(&f->asks, ASK_LEFT);
	fetch_state_move(&f->hears, HEAR_LEFT);
	fr->active--;
	if (fr->spare_count >= SPARE_MAX || f->out.cap + f->held.cap > SPARE_BYTES) {
		fetch_free(f);
		return;
	}
	TAILQ_INSERT_HEAD(&fr->spare, f, link);
	fr->spare_count++;
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
	r->wait_us = (f->first_us ? f->first_us : now) - f->start_us;
	r->total_us = now - f->start_us;
	f->ev.on_done(f->ctx, r);
	leave(f);
}

/* The first reason counts. Carried out when nothing of f is at work: settle, give_up. */
static void
end(struct fetch *f, enum fetch_end how, const char *why)
{
	if (!goes_on(f))
		return;
	fetch_state_move(&f->hears, HEAR_OVER);
	f->result.end = how;
	f->result.detail = why;
}

static void
give_up(struct fetch *f, enum fetch_end how, const char *why)
{
	end(f, how, why);
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
	default:
		return FETCH_CONNECT;
	}
}

/* -- time -------------------------------------------------------------------------------------- */

/* In ms; 0: the origin owes us nothing. */
static int64_t
deadline(const struct fetch *f)
{
	const struct origin *o = f->site->pool.origin;
	if (f->asks == ASK_DIALING)
		return f->dialed_ms + o->connect_timeout_ms;
	if (f->hears == HEAR_PAUSED || f->asks == ASK_LATER)
		return 0;
	return f->moved_ms + o->read_timeout_ms;
}

static void
on_wake(struct lane *l)
{
	struct fetch *f = l->user;
	if (!f) {
		pool_wake(l);
		return;
	}
	int64_t at = deadline(f);
	if (!at || at > lane_now_ms())
		lane_wake_at(l, at);
	else if (f->asks == ASK_DIALING)
		give_up(f, FETCH_CONNECT_TIMEOUT, "no connection within connect_timeout");
	else
		give_up(f, FETCH_READ_TIMEOUT, "not a byte from the origin within read_timeout");
}

static void
wait_for_first(struct site *s)
{
	struct fetch *f = next_waiting(s, true);
	if (!f)
		return;
	int64_t us = f->queued_us + s->pool.origin->connect_timeout_ms * 1000 - now_us();
	if (us < 0)
		us = 0;
	struct timeval tv = {us / 1000000, us % 1000000};
	evtimer_add(&s->patience, &tv);
}

static void
on_patience(evutil_socket_t fd, short what, void *arg)
{
	struct site *s = arg;
	struct fetch *f = next_waiting(s, true);
	(void)fd;
	(void)what;
	if (f && f->queued_us + s->pool.origin->connect_timeout_ms * 1000 <= now_us())
		give_up(f, FETCH_QUEUE_TIMEOUT,
			"all connections to the origin were busy for connect_timeout");
	wait_for_first(s);
}

/* -- the request goes out ---------------------------------------------------------------------- */

static void
write_head(struct fetch *f, const struct fetch_request *r)
{
	const struct origin *o = r->origin;
	struct str host = o->host ? str_of(o->host) : r->host.n ? r->host : str_of(o->authority);
	struct buf *b = &f->out;
	buf_add_str(b, r->method);
	buf_add_lit(b, " ");
	buf_add_str(b, r->target);
	buf_add_lit(b, " HTTP/1.1\r\nHost: ");
	buf_add_str(b, host);
	buf_add_lit(b, "\r\n");
	buf_add_str(b, r->fields);
	if (f->framing == FRAMING_LENGTH) {
		buf_add_lit(b, "Content-Length: ");
		buf_add_u64(b, f->send_left);
		buf_add_lit(b, "\r\n");
	} else if (f->framing == FRAMING_CHUNKED) {
		buf_add_lit(b, "Transfer-Encoding: chunked\r\n");
	}
	buf_add_lit(b, "\r\n");
}

/* Of a request's body kept for a second try on another connection. */
enum { REPLAY_BYTES = 16 << 10 };

/* A chunk's size goes in front of its data when that is known: "1a2b\r\n" is at most so long. */
enum { CHUNK_SIZE_LINE = 20 };

static void
frame_chunk(struct fetch *f, size_t n)
{
	char line[CHUNK_SIZE_LINE];
	size_t line_n = chunked_size_line(line, n);
	f->out_sent = CHUNK_SIZE_LINE - line_n;
	memcpy(f->out.p + f->out_sent, line, line_n);
	f->out.n = CHUNK_SIZE_LINE + n;
	buf_add_lit(&f->out, "\r\n"); /* the chunk's, or that of an empty trailer section */
}

/* The next piece of the body into out, or the end of it. */
static void
refill(struct fetch *f)
{
	size_t front = f->framing == FRAMING_CHUNKED ? CHUNK_SIZE_LINE : 0, max = SEND_BYTES;
	if (f->framing == FRAMING_NONE || (f->framing == FRAMING_LENGTH && f->send_left == 0)) {
		fetch_state_move(&f->asks, ASK_SENT);
		return;
	}
	if (!f->replays) {
		f->repeatable = false; /* the body takes the head's place in out */
		f->out.n = f->out_sent = 0;
	}
	if (f->framing == FRAMING_LENGTH && max > f->send_left)
		max = (size_t)f->send_left;
	char *to = buf_room(&f->out, front + max + 2) + front;
	ptrdiff_t got = f->ev.on_send(f->ctx, to, max);
	if (f->hears == HEAR_CANCELLED)
		return;
	if (got == FETCH_SEND_LATER) {
		fetch_state_move(&f->asks, ASK_LATER);
		return;
	}
	if (got < 0 || (got == 0 && f->framing == FRAMING_LENGTH)) {
		end(f, FETCH_ABORTED, "the request's body ended early");
		return;
	}
	assert((size_t)got <= max);
	f->moved = f->result.body_taken = true;
	if (f->framing == FRAMING_CHUNKED) {
		frame_chunk(f, (size_t)got);
		f->framing = got ? FRAMING_CHUNKED : FRAMING_NONE;
	} else {
		f->out.n += (size_t)got;
		f->send_left -= (uint64_t)got;
	}
}

/* Sends until the request is out, the origin takes no more now, or the caller has no more now. */
static void
push(struct fetch *f)
{
	bool full = false;
	for (int i = 0; i < ROUNDS && f->asks == ASK_WRITING && goes_on(f) && !full; i++) {
		if (f->out_sent == f->out.n) {
			refill(f);
			continue;
		}
		ssize_t n = lane_send(f->lane, f->out.p + f->out_sent, f->out.n - f->out_sent);
		if (n > 0) {
			f->out_sent += (size_t)n;
			f->moved = true;
		} else if (errno == EAGAIN) {
			full = true;
		} else {
			fetch_state_move(&f->asks, ASK_DEAF);
		}
	}
}

/* -- the response comes in --------------------------------------------------------------------- */

/* False: not taken. */
static bool
offer(struct fetch *f, struct str data)
{
	if (f->ev.on_body(f->ctx, data.p, data.n) || f->hears == HEAR_CANCELLED)
		return true;
	fetch_state_move(&f->hears, HEAR_PAUSED);
	pool_stall(f->lane);
	call_next(f->site); /* slow readers must not keep others from the origin */
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
				f->ev.on_interim(f->ctx, buf_str(&f->reply.head));
			break;
		case REPLY_HEAD:
			f->result.head_seen = true;
			fetch_state_move(&f->hears, HEAR_BODY);
			f->ev.on_head(f->ctx, buf_str(&f->reply.head));
			break;
		case REPLY_BODY:
			if (!offer(f, data)) {
				hold(f, data, in);
				return;
			}
			break;
		case REPLY_END:
			f->held.n = in.n; /* bytes of nobody's response */
			end(f, FETCH_OK, "");
			return;
		case REPLY_REFUSED:
			end(f, f->result.head_seen ? FETCH_TRUNCATED : FETCH_PROTOCOL, why);
			return;
		}
		if (!goes_on(f))
			return;
	}
}

static void
take_held(struct fetch *f)
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

static void
connection_ended(struct fetch *f, const char *how)
{
	if (f->reply.phase == REPLY_IN_REST && !how && lane_ended_well(f->lane))
		end(f, FETCH_OK, "");
	else if (may_try_again(f))
		fetch_state_move(&f->asks, ASK_AGAIN);
	else if (f->result.head_seen)
		end(f, FETCH_TRUNCATED,
		    how ? how : "the origin closed the connection within the body");
	else if (f->hears == HEAR_HEAD)
		end(f, FETCH_CLOSED, "the origin closed the connection within the head");
	else if (f->asks == ASK_DEAF)
		end(f, FETCH_SEND, "the origin closed the connection before the request was out");
	else
		end(f, FETCH_CLOSED, "the origin closed the connection without an answer");
}

static void
pull(struct fetch *f)
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
		if (f->hears == HEAR_SILENT) {
			fetch_state_move(&f->hears, HEAR_HEAD);
			f->first_us = now_us();
		}
		take(f, (struct str){in, (size_t)n});
		if (!goes_on(f) || f->hears == HEAR_PAUSED ||
		    !lane_may_have_more(f->lane, (size_t)n, READ_BYTES))
			return;
	}
	lane_read_now(f->lane);
}

/* -- turns ------------------------------------------------------------------------------------- */

static void
turn_of(struct fetch *f)
{
	assert(!f->site->fetcher->turn);
	fetch_check(f);
	f->site->fetcher->turn = f;
}

/* Its connection is being opened, or is a kept one. */
static void
take_lane(struct fetch *f, struct lane *l)
{
	wait_no_more(f);
	fetch_state_move(&f->asks, ASK_DIALING);
	f->lane = l;
	l->user = f;
	f->dialed_ms = lane_now_ms();
	if (l->fd < 0)
		lane_wake_at(l, deadline(f));
}

static void
wait_for_lane(struct fetch *f)
{
	struct site *s = f->site;
	if (f->asks != ASK_QUEUED) {
		f->queued_us = now_us();
		TAILQ_INSERT_TAIL(&s->waiting[f->queue], f, link);
		fetch_state_move(&f->asks, ASK_QUEUED);
	}
	if (!evtimer_pending(&s->patience, NULL))
		wait_for_first(s);
}

/* On a new connection, never a kept one. Where readers that paused have come back, there may be
 * more connections than are allowed, and it waits like anybody. */
static void
try_again(struct fetch *f)
{
	struct lane *dead = f->lane;
	f->lane = NULL;
	f->out_sent = 0;
	pool_close(dead);
	struct lane *l = pool_open(&f->site->pool);
	if (l) {
		take_lane(f, l);
		return;
	}
	upload_no_more(f);
	wait_for_lane(f);
}

/* After every turn: what has come of it? f may be gone afterwards. */
static void
settle(struct fetch *f)
{
	struct lane *l = f->lane;
	assert(f->site->fetcher->turn == f);
	f->site->fetcher->turn = NULL;
	fetch_check(f);
	if (f->hears == HEAR_CANCELLED) {
		leave(f);
		return;
	}
	if (f->hears == HEAR_OVER) {
		finish(f);
		return;
	}
	if (f->asks == ASK_AGAIN) {
		try_again(f);
		return;
	}
	if (f->asks == ASK_SENT)
		upload_no_more(f);
	if (f->moved) {
		f->moved = false;
		f->moved_ms = lane_now_ms();
	}
	lane_watch(l, f->hears != HEAR_PAUSED, f->asks == ASK_WRITING);
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
	turn_of(f);
	fetch_state_move(&f->asks, ASK_WRITING);
	f->moved = true;
	push(f);
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
	if (f->hears == HEAR_PAUSED)
		return;
	turn_of(f);
	pull(f);
	settle(f);
}

static void
on_writable(struct lane *l)
{
	struct fetch *f = l->user;
	turn_of(f);
	push(f);
	settle(f);
}

static const struct lane_owner owner = {.on_open = on_open,
					.on_readable = on_readable,
					.on_writable = on_writable,
					.on_wake = on_wake};

static void
begin(struct fetch *f)
{
	struct site *s = f->site;
	bool upload = f->queue == QUEUE_UPLOAD;
	struct lane *l = upload && !may_upload(s) ? NULL : pool_take(&s->pool, f->repeatable);
	if (!l) {
		wait_for_lane(f);
		return;
	}
	f->uploading = upload;
	s->uploading += upload;
	reply_begin(&f->reply, f->to_head);
	take_lane(f, l);
	if (l->fd >= 0)
		on_open(l, CURLE_OK, "");
}

static void
carry_on(struct fetch *f)
{
	bool resume = f->want_resume && f->hears == HEAR_PAUSED;
	bool send = f->want_send && f->asks == ASK_LATER;
	f->want_resume = f->want_send = false;
	if (!resume && !send)
		return;
	turn_of(f);
	f->moved = true; /* the origin's time starts anew */
	if (send) {
		fetch_state_move(&f->asks, ASK_WRITING);
		push(f);
	}
	if (resume && goes_on(f)) {
		fetch_state_move(&f->hears, HEAR_BODY);
		pool_move_on(f->lane);
		take_held(f);
		if (f->hears == HEAR_BODY)
			lane_read_now(f->lane);
	}
	settle(f);
}

static void
on_run(evutil_socket_t fd, short what, void *arg)
{
	struct fetcher *fr = arg;
	struct fetch *f;
	(void)fd;
	(void)what;
	/* Those added meanwhile wait for the next round: sockets must have their turn. */
	for (unsigned n = fr->todo_count; n && (f = TAILQ_FIRST(&fr->todo)); n--) {
		todo_remove(f);
		if (f->lane)
			carry_on(f);
		else
			begin(f);
	}
	if (fr->todo_count)
		event_active(fr->run, 0, 0);
}

/* -- the contract ------------------------------------------------------------------------------ */

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
	fr->run = event_new(base, -1, 0, on_run, fr);
	TAILQ_INIT(&fr->todo);
	TAILQ_INIT(&fr->spare);
	LIST_INIT(&fr->sites);
	return fr;
}

static void
site_destroy(struct site *s)
{
	LIST_REMOVE(s, next);
	pool_fini(&s->pool);
	evtimer_del(&s->patience);
	free(s);
}

static struct site *
site_of(struct fetcher *fr, const struct origin *o)
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
	pool_init(&s->pool, o, fr->base, &owner);
	LIST_INSERT_HEAD(&fr->sites, s, next);
	return s;
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
		while ((f = next_waiting(s, true)))
			fetch_cancel(&f);
	while ((f = TAILQ_FIRST(&fr->todo)))
		fetch_cancel(&f);
	while (!LIST_EMPTY(&fr->sites))
		site_destroy(LIST_FIRST(&fr->sites));
	while ((f = TAILQ_FIRST(&fr->spare))) {
		TAILQ_REMOVE(&fr->spare, f, link);
		fetch_free(f);
	}
	event_free(fr->run);
	free(fr);
	*pf = NULL;
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
	f->site = site_of(fr, r->origin);
	f->ev = *ev;
	f->ctx = ctx;
	f->to_head = str_eq(r->method, STR("HEAD"));
	f->framing = f->to_head ? FRAMING_NONE : r->framing;
	f->send_left = r->content_length;
	bool upload = f->framing == FRAMING_CHUNKED ||
		      (f->framing == FRAMING_LENGTH && r->content_length);
	f->queue = upload ? QUEUE_UPLOAD : QUEUE_PLAIN;
	f->repeatable = r->idempotent;
	f->replays =
		r->idempotent && r->framing == FRAMING_LENGTH && r->content_length <= REPLAY_BYTES;
	f->start_us = now_us();
	write_head(f, r);
	fr->active++;
	fetch_check(f);
	todo_add(f);
	return f;
}

void
fetch_resume(struct fetch *f)
{
	fetch_check(f);
	f->want_resume = true;
	todo_add(f);
}

void
fetch_send_more(struct fetch *f)
{
	fetch_check(f);
	f->want_send = true;
	todo_add(f);
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
	if (f->site->fetcher->turn != f)
		leave(f);
}
