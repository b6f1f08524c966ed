/* fetch.c - a fetch's life: it waits for a lane, is sent, hands its response on, ends once.
 *
 * Nothing here calls back into the caller from within the caller's own call: starts, resumes and
 * "there is more" are noted and carried out by the run event, in the same round of the event loop.
 * A cancel from inside one of libcurl's callbacks is noted too, and carried out when it returns.
 */
#include "proxy/origin/fetch.h"

#include "proxy/base/mem.h"
#include "proxy/origin/lane.h"
#include "proxy/origin/origin.h"
#include "proxy/origin/pool.h"
#include "proxy/origin/reply.h"

#include <assert.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ended fetches kept for the next ones, and the bytes each may keep. */
enum { SPARE_MAX = 64, SPARE_BYTES = 8 << 10 };

struct site { /* an origin as this worker uses it */
	struct pool pool;
	struct fetcher *fetcher;
	TAILQ_HEAD(, fetch) waiting; /* for a lane, the oldest first */
	struct event patience;	     /* when that one has waited too long */
	LIST_ENTRY(site) next;
};

struct fetcher {
	struct event_base *base;
	struct event *run;
	TAILQ_HEAD(todo, fetch) todo; /* what run has to look at */
	unsigned todo_count;
	unsigned active;
	LIST_HEAD(, site) sites;
	TAILQ_HEAD(, fetch) spare;
	unsigned spare_count;
};

struct fetch {
	/* kept when the fetch is over and another takes the struct */
	struct buf text; /* the request, in strings */
	struct reply reply;
	/* zeroed for each */
	TAILQ_ENTRY(fetch) link; /* in site->waiting or fetcher->spare */
	TAILQ_ENTRY(fetch) todo_link;
	struct site *site;
	struct lane *lane; /* while it has one */
	struct fetch_events ev;
	void *ctx;

	const char *method, *target; /* in text */
	struct curl_slist lines[2];  /* Host and fields, in text */
	enum framing framing;
	uint64_t send_left; /* of a body with a known length */
	bool idempotent;

	bool listed, waiting;	       /* in todo; in site->waiting */
	bool want_resume, want_send;   /* what todo is about, once it has a lane */
	bool recv_paused, send_paused; /* as libcurl knows it */
	bool cancelled, ending;
	bool head_done, body_taken, moved;
	unsigned sends; /* times the request has left, or begun to */
	int64_t start_us, first_us, moved_ms;

	bool forced; /* we, not libcurl, know why it ends: */
	enum fetch_end end;
	const char *why;
};

static const struct {
	int status;
	const char *word;
} ends[] = {
#define FETCH_END(id, status, word) {status, word},
#include "proxy/origin/fetch_ends.h"
#undef FETCH_END
};

static int64_t
now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
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
	if (!f)
		return NEW(struct fetch);
	TAILQ_REMOVE(&fr->spare, f, link);
	fr->spare_count--;
	struct buf text = f->text;
	struct reply reply = f->reply;
	text.n = 0;
	*f = (struct fetch){.text = text, .reply = reply};
	return f;
}

static void
fetch_free(struct fetch *f)
{
	buf_fini(&f->text);
	reply_fini(&f->reply);
	free(f);
}

static void
wait_no_more(struct fetch *f)
{
	if (f->waiting)
		TAILQ_REMOVE(&f->site->waiting, f, link);
	f->waiting = false;
}

/* The end of a fetch: its lane, if any, is no longer at work and goes to the next. */
static void
leave(struct fetch *f)
{
	struct site *s = f->site;
	struct fetcher *fr = s->fetcher;
	todo_remove(f);
	wait_no_more(f);
	if (f->lane) {
		pool_give(f->lane);
		struct fetch *first = TAILQ_FIRST(&s->waiting);
		if (first)
			todo_add(first);
	}
	fr->active--;
	if (fr->spare_count >= SPARE_MAX || f->text.cap > SPARE_BYTES ||
	    f->reply.head.cap > SPARE_BYTES) {
		fetch_free(f);
		return;
	}
	TAILQ_INSERT_HEAD(&fr->spare, f, link);
	fr->spare_count++;
}

static void
finish(struct fetch *f, enum fetch_end end, const char *detail)
{
	int64_t now = now_us();
	struct fetch_result r = {
		.end = end,
		.status = ends[end].status,
		.word = ends[end].word,
		.detail = detail,
		.head_seen = f->head_done,
		.reused = f->lane && f->sends && !f->lane->opened,
		.wait_us = (f->first_us ? f->first_us : now) - f->start_us,
		.total_us = now - f->start_us,
	};
	f->ending = true;
	f->ev.on_done(f->ctx, &r);
	leave(f);
}

/* -- how libcurl's word becomes ours ----------------------------------------------------------- */

static void
force(struct fetch *f, enum fetch_end end, const char *why)
{
	f->forced = true;
	f->end = end;
	f->why = why;
}

static enum fetch_end
end_of(const struct fetch *f, CURLcode code)
{
	switch (code) {
	case CURLE_OK: /* libcurl takes a head cut short for a whole one */
		return f->head_done ? FETCH_OK : FETCH_CLOSED;
	case CURLE_COULDNT_RESOLVE_HOST:
		return FETCH_DNS;
	case CURLE_COULDNT_CONNECT:
		return FETCH_CONNECT;
	case CURLE_OPERATION_TIMEDOUT:
		return FETCH_CONNECT_TIMEOUT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return FETCH_TLS;
	case CURLE_SEND_ERROR:
	case CURLE_UPLOAD_FAILED:
		return f->head_done ? FETCH_TRUNCATED : FETCH_SEND;
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_FAIL_REWIND: /* a dead kept connection, and the body is gone */
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
		return f->head_done ? FETCH_TRUNCATED : FETCH_CLOSED;
	default:
		return f->head_done ? FETCH_TRUNCATED : f->sends ? FETCH_PROTOCOL : FETCH_CONNECT;
	}
}

/* RFC 9112 9.8: a body that only the connection's end delimits is whole only with TLS's alert. */
static bool
is_cut_short(const struct fetch *f)
{
	const struct reply *r = &f->reply;
	bool has_body = strcmp(f->method, "HEAD") != 0 && r->status != 204 && r->status != 304;
	return f->site->pool.origin->tls && has_body && !r->has_length && !r->has_coding &&
	       !f->lane->farewell;
}

static void
finish_as_libcurl_says(struct fetch *f, CURLcode code)
{
	enum fetch_end end = end_of(f, code);
	if (f->forced)
		finish(f, f->end, f->why);
	else if (code == CURLE_OK && !f->head_done)
		finish(f, end, "the origin closed the connection within the head");
	else if (end == FETCH_OK && is_cut_short(f))
		finish(f, FETCH_TRUNCATED, "the TLS connection ended without a closure alert");
	else
		finish(f, end, f->lane->error[0] ? f->lane->error : curl_easy_strerror(code));
}

static void
give_up(struct fetch *f, enum fetch_end end, const char *why)
{
	lane_stop(f->lane);
	finish(f, end, why);
}

/* -- time -------------------------------------------------------------------------------------- */

/* In ms; 0: the origin owes us nothing. */
static int64_t
deadline(const struct fetch *f)
{
	const struct origin *o = f->site->pool.origin;
	if (!f->sends)
		return f->start_us / 1000 + o->connect_timeout_ms;
	if (f->recv_paused || f->send_paused)
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
	else if (!f->sends)
		give_up(f, FETCH_CONNECT_TIMEOUT, "no connection within connect_timeout");
	else
		give_up(f, FETCH_READ_TIMEOUT, "not a byte from the origin within read_timeout");
}

static void
wait_for_first(struct site *s)
{
	struct fetch *f = TAILQ_FIRST(&s->waiting);
	if (!f)
		return;
	int64_t us = f->start_us + s->pool.origin->connect_timeout_ms * 1000 - now_us();
	if (us < 0)
		us = 0;
	struct timeval tv = {us / 1000000, us % 1000000};
	evtimer_add(&s->patience, &tv);
}

static void
on_patience(evutil_socket_t fd, short what, void *arg)
{
	struct site *s = arg;
	struct fetch *f = TAILQ_FIRST(&s->waiting);
	(void)fd;
	(void)what;
	if (f && f->start_us + s->pool.origin->connect_timeout_ms * 1000 <= now_us())
		finish(f, FETCH_CONNECT_TIMEOUT,
		       "all connections to the origin were busy for connect_timeout");
	wait_for_first(s);
}

/* -- libcurl's callbacks ----------------------------------------------------------------------- */

/* The request is about to be sent. A second time means that libcurl found a kept connection dead
 * and opened another: RFC 9110 9.2.2 lets us repeat what is idempotent, and nothing else; and what
 * was taken of the body is gone. */
static int
on_curl_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct lane *l = arg;
	struct fetch *f = l->user;
	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	if (f->cancelled)
		return CURL_PREREQFUNC_ABORT;
	f->moved = true;
	if (f->sends++ == 0 || (f->sends == 2 && f->idempotent && !f->body_taken))
		return CURL_PREREQFUNC_OK;
	force(f, FETCH_CLOSED,
	      "the origin closed a kept connection; the request may not be repeated");
	return CURL_PREREQFUNC_ABORT;
}

static bool
take_line(struct fetch *f, struct str line)
{
	const char *why;
	switch (reply_line(&f->reply, line, &why)) {
	case REPLY_MORE:
		break;
	case REPLY_INTERIM:
		if (f->ev.on_interim)
			f->ev.on_interim(f->ctx, buf_str(&f->reply.head));
		reply_begin(&f->reply);
		break;
	case REPLY_FINAL:
		f->head_done = true;
		f->ev.on_head(f->ctx, buf_str(&f->reply.head));
		break;
	case REPLY_REFUSED:
		force(f, FETCH_PROTOCOL, why);
		return false;
	}
	return true;
}

static size_t
on_curl_header(char *p, size_t size, size_t n, void *arg)
{
	struct lane *l = arg;
	struct fetch *f = l->user;
	if (f->cancelled)
		return 0;
	f->moved = true;
	if (f->head_done) /* a trailer: RFC 9110 6.5.1 lets a gateway drop it */
		return size * n;
	if (!f->first_us)
		f->first_us = now_us();
	return take_line(f, (struct str){p, size * n}) && !f->cancelled ? size * n : 0;
}

static size_t
on_curl_body(char *p, size_t size, size_t n, void *arg)
{
	struct lane *l = arg;
	struct fetch *f = l->user;
	if (f->cancelled)
		return 0;
	f->moved = true;
	bool taken = f->ev.on_body(f->ctx, p, size * n);
	if (f->cancelled)
		return 0;
	if (taken)
		return size * n;
	f->recv_paused = true;
	return CURL_WRITEFUNC_PAUSE;
}

static size_t
on_curl_send(char *p, size_t size, size_t n, void *arg)
{
	struct lane *l = arg;
	struct fetch *f = l->user;
	size_t max = size * n;
	if (f->cancelled)
		return CURL_READFUNC_ABORT;
	if (f->framing == FRAMING_LENGTH && max > f->send_left)
		max = (size_t)f->send_left;
	if (max == 0)
		return 0;
	ptrdiff_t got = f->ev.on_send(f->ctx, p, max);
	if (f->cancelled)
		return CURL_READFUNC_ABORT;
	if (got == FETCH_SEND_LATER) {
		f->send_paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (got < 0 || (got == 0 && f->framing == FRAMING_LENGTH)) {
		force(f, FETCH_ABORTED, "the request's body ended early");
		return CURL_READFUNC_ABORT;
	}
	assert((size_t)got <= max);
	f->moved = f->body_taken = true;
	f->send_left -= f->framing == FRAMING_LENGTH ? (uint64_t)got : 0;
	return (size_t)got;
}

/* -- the request in libcurl's shape ------------------------------------------------------------ */

/* libcurl looks at every list node a dozen times and formats Host twice. So it is told that there
 * is no Host, nor the other fields it would add, and gets all our lines as one node, which it sends
 * as it is: Host first (RFC 9110 7.2), then the fields in their order. */
static char no_host[] = "Host:", no_accept[] = "Accept:", no_expect[] = "Expect:";
static struct curl_slist without_accept = {no_accept, NULL};
static struct curl_slist without_expect = {no_expect, &without_accept};

static char *
put(char *to, struct str s)
{
	if (s.n)
		memcpy(to, s.p, s.n);
	return to + s.n;
}

static void
write_request(struct fetch *f, const struct fetch_request *r)
{
	const struct origin *o = r->origin;
	struct str host = o->host ? str_of(o->host) : r->host.n ? r->host : str_of(o->authority);
	static const size_t fixed = sizeof "Host: \r\n" + 2;
	char *p = buf_room(&f->text, fixed + r->method.n + r->target.n + host.n + r->fields.n);
	f->method = p;
	p = put(put(p, r->method), STR("\0"));
	f->target = p;
	p = put(put(p, r->target), STR("\0"));
	f->lines[0] = (struct curl_slist){no_host, &f->lines[1]};
	f->lines[1] = (struct curl_slist){p, f->framing ? &without_expect : &without_accept};
	p = put(put(put(p, STR("Host: ")), host), STR("\r\n"));
	p = put(p, r->fields);
	p[-2] = 0; /* libcurl ends the last line */
}

/* HEAD is sent without a body: RFC 9110 9.3.2 gives one no meaning. */
static void
set_method(CURL *e, const struct fetch *f)
{
	bool head = strcmp(f->method, "HEAD") == 0, get = strcmp(f->method, "GET") == 0;
	curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, head || (get && !f->framing) ? NULL : f->method);
	if (head) {
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	} else if (f->framing) {
		curl_off_t n = f->framing == FRAMING_LENGTH ? (curl_off_t)f->send_left : -1;
		curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, n);
	}
}

static void
set_callbacks(struct lane *l)
{
	CURL *e = l->easy;
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_curl_ready);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, l);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_curl_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, l);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_curl_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, l);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, on_curl_send);
	curl_easy_setopt(e, CURLOPT_READDATA, l);
}

/* -- turns ------------------------------------------------------------------------------------- */

/* An origin may answer before the request's body is over. When the whole answer is here, waiting
 * for the rest of the body helps nobody; the connection is closed with it unsent. */
static bool
is_answered(const struct fetch *f)
{
	return f->head_done && !f->recv_paused && lane_has_read_all(f->lane);
}

static void
on_turn(struct lane *l, bool done, CURLcode code)
{
	struct fetch *f = l->user;
	if (f->moved) {
		f->moved = false;
		f->moved_ms = lane_now_ms();
	}
	if (f->cancelled) {
		lane_stop(l);
		leave(f);
	} else if (done) {
		finish_as_libcurl_says(f, code);
	} else if (is_answered(f)) {
		give_up(f, FETCH_OK, "");
	} else {
		lane_wake_at(l, deadline(f));
	}
}

static const struct lane_owner owner = {
	.on_new = set_callbacks, .on_turn = on_turn, .on_wake = on_wake, .on_lost = pool_lost};

static void
begin(struct fetch *f)
{
	struct site *s = f->site;
	struct lane *l = pool_take(&s->pool);
	if (!l) {
		if (!f->waiting)
			TAILQ_INSERT_TAIL(&s->waiting, f, link);
		f->waiting = true;
		if (!evtimer_pending(&s->patience, NULL))
			wait_for_first(s);
		return;
	}
	wait_no_more(f);
	f->lane = l;
	l->user = f;
	reply_begin(&f->reply);
	set_method(l->easy, f);
	curl_easy_setopt(l->easy, CURLOPT_REQUEST_TARGET, f->target);
	curl_easy_setopt(l->easy, CURLOPT_HTTPHEADER, f->lines);
	lane_wake_at(l, deadline(f));
	lane_start(l);
}

static void
carry_on(struct fetch *f)
{
	bool resume = f->want_resume && f->recv_paused, send = f->want_send && f->send_paused;
	f->want_resume = f->want_send = false;
	if (!resume && !send)
		return;
	f->recv_paused &= !resume;
	f->send_paused &= !send;
	f->moved = true; /* the origin's time starts anew */
	lane_pause(f->lane, (f->recv_paused ? CURLPAUSE_RECV : CURLPAUSE_RECV_CONT) |
				    (f->send_paused ? CURLPAUSE_SEND : CURLPAUSE_SEND_CONT));
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
	TAILQ_INIT(&s->waiting);
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
		while ((f = TAILQ_FIRST(&s->waiting)))
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
	f->framing = r->framing;
	f->send_left = r->content_length;
	f->idempotent = r->idempotent;
	f->start_us = now_us();
	write_request(f, r);
	fr->active++;
	todo_add(f);
	return f;
}

void
fetch_resume(struct fetch *f)
{
	f->want_resume = true;
	todo_add(f);
}

void
fetch_send_more(struct fetch *f)
{
	f->want_send = true;
	todo_add(f);
}

void
fetch_cancel(struct fetch **pf)
{
	struct fetch *f = *pf;
	*pf = NULL;
	if (!f || f->ending)
		return;
	if (f->lane && f->lane->inside) {
		f->cancelled = true;
		return;
	}
	if (f->lane)
		lane_stop(f->lane);
	leave(f);
}
