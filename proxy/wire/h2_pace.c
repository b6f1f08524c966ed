/* h2_pace.c - how a client keeps up: as a whole when its socket is full or its connection's window is,
 * and stream by stream where it gives that one no window or owes its body.
 */
#include "proxy/wire/h2_stream.h"

#include "proxy/base/clock.h"

/* JUDGED_AFTER: the part of its time limit after which a client is judged where others need its
 * place. WINDOW_LEAST: bytes; most clients do not send for less. */
enum { JUDGED_AFTER = 8, WINDOW_LEAST = 1 << 10 };

/* The client was waited for dt longer. True: for its whole time, and too slow; else it is measured
 * anew when that is over. */
static bool
owes(const struct wire *w, struct pace *p, int64_t dt, int64_t limit_ms, bool takes)
{
	p->owed_ms += dt;
	return !pace_keeps(p, w->o.limits.least_rate, limit_ms, takes);
}

/* There is more of its answer to send, as far as windows go. */
static bool
has_more(const struct h2_stream *s)
{
	return !s->closed && (s->answering == H2_FLOWS ||
			      (s->answering == H2_WHOLE && s->segment_i < s->segment_n));
}

/* Its next bytes wait for its own window. */
static bool
is_stalled(const struct h2_stream *s)
{
	return has_more(s) && nghttp2_session_get_stream_remote_window_size(s->h2->ng, s->id) <= 0;
}

/* No stream may send. Those that wait go one after the other when they may: none of them is to be
 * judged by what it alone has moved. */
static bool
is_shut(const struct h2 *h2)
{
	return nghttp2_session_get_remote_window_size(h2->ng) <= 0;
}

static void
cut_slow(struct h2_stream *s)
{
	metrics_add(s->h2->conn->wire->o.metrics, METRIC_SLOW_CLIENTS, 1);
	h2_answer_cut(s, STREAM_SLOW, NGHTTP2_CANCEL);
}

/* Its client may send what serve waits for. It may not where bodies that serve does not take, those of
 * other requests, hold the connection's window. */
static bool
owes_body(const struct h2_stream *s)
{
	return s->wanted && !(s->pauses & STREAM_PAUSES_REQUEST) &&
	       nghttp2_session_get_local_window_size(s->h2->ng) >= WINDOW_LEAST;
}

/* The client may still speak, or not, or the answer pauses; so long has neither side said anything. */
static bool
is_silent(struct h2_stream *s, int64_t dt, int64_t limit_ms)
{
	uint64_t moved = s->body_came + s->body_sent;
	bool flows = s->answering == H2_FLOWS || s->answering == H2_LATER;
	uint8_t may =
		s->in_over ? STREAM_PAUSES_ANSWER : STREAM_PAUSES_ANSWER | STREAM_PAUSES_REQUEST;
	bool waits = flows && (s->pauses & may);
	s->silent_ms = waits && moved == s->moved ? s->silent_ms + dt : 0;
	s->moved = moved;
	return waits && s->silent_ms >= limit_ms;
}

static void
watch_stream(struct h2_stream *s, int64_t dt)
{
	struct wire *w = s->h2->conn->wire;
	const struct wire_limits *l = &w->o.limits;
	if (s->closed)
		return;
	if (is_silent(s, dt, l->tunnel_ms)) {
		cut_slow(s);
		return;
	}
	if (s->segment_i < s->segment_n)
		h2_send_give_back(s);
	if (owes_body(s) && owes(w, &s->upward, dt, l->body_ms, false)) {
		metrics_add(w->o.metrics, METRIC_SLOW_CLIENTS, 1);
		s->broken = true;
		s->body_fault = &fault_BODY_TIMEOUT;
		h2_note(s, H2_NOTE_BODY);
	}
	if (is_stalled(s) && owes(w, &s->downward, dt, l->send_ms, true))
		cut_slow(s);
}

/* The connection's window: all that wait for it end together. */
static void
watch_window(struct h2 *h2, int64_t dt)
{
	const struct wire *w = h2->conn->wire;
	bool waits = false;
	for (const struct h2_stream *s = h2->streams; s; s = s->next)
		waits = waits || has_more(s);
	if (!waits || !is_shut(h2) || !owes(w, &h2->granted, dt, w->o.limits.send_ms, true))
		return;
	for (struct h2_stream *s = h2->streams; s; s = s->next)
		if (has_more(s))
			cut_slow(s);
}

bool
h2_pace_watch(struct h2 *h2)
{
	const struct wire *w = h2->conn->wire;
	int64_t now = now_ms(), dt = now - h2->watched_ms;
	h2->watched_ms = now;
	for (struct h2_stream *s = h2->streams, *next; s; s = next) {
		next = s->next;
		watch_stream(s, dt);
	}
	watch_window(h2, dt);
	h2_held_relieve(h2, true);
	if (!h2->full)
		return true;
	if (!owes(w, &h2->downward, dt, w->o.limits.send_ms, true))
		return true;
	metrics_add(w->o.metrics, METRIC_SLOW_CLIENTS, 1);
	return false;
}

static bool
is_slow_by_now(const struct wire *w, const struct pace *p, int64_t limit_ms)
{
	return p->owed_ms > limit_ms / JUDGED_AFTER && pace_is_slow(p, w->o.limits.least_rate);
}

bool
h2_pace_is_slow(const struct conn *c)
{
	const struct h2 *h2 = c->session;
	const struct wire *w = c->wire;
	if (!h2)
		return false;
	if (h2->full)
		return is_slow_by_now(w, &h2->downward, w->o.limits.send_ms);
	bool shut = is_shut(h2) && is_slow_by_now(w, &h2->granted, w->o.limits.send_ms);
	for (const struct h2_stream *s = h2->streams; s; s = s->next)
		if (!(shut && has_more(s)) && s->silent_ms <= w->o.limits.idle_ms &&
		    !(is_stalled(s) && is_slow_by_now(w, &s->downward, w->o.limits.send_ms)) &&
		    !(owes_body(s) && is_slow_by_now(w, &s->upward, w->o.limits.body_ms)))
			return false;
	return h2->streams != NULL;
}
