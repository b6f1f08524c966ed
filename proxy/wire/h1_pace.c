/* h1_pace.c - how a client keeps up with what it owes. */
#include "proxy/base/clock.h"
#include "proxy/wire/h1_stream.h"

/* A piece of a body on disk that was read and checked is 256 KiB. */
enum { HELD_MOST = 24 };

/* Adds the wait under way to what the client owes. */
static struct pace
measure(const struct h1_stream *s)
{
	const struct conn *c = s->conn;
	struct pace p = c->waiting == WAIT_BODY ? s->upward : s->downward;
	int64_t taken = c->waiting == WAIT_BODY ? 0 : (int64_t)s->written + conn_taken(c);
	p.owed_ms += now_ms() - c->wait_since_ms;
	p.bytes += taken > 0 ? (uint64_t)taken : 0;
	return p;
}

/* The time of a wait that ends is the client's. False: it was too slow over its whole time. */
static bool
settle(struct h1_stream *s)
{
	struct conn *c = s->conn;
	bool up = c->waiting == WAIT_BODY;
	if (!up && !waiting_is_send(c->waiting))
		return true;
	struct pace *p = up ? &s->upward : &s->downward;
	*p = measure(s);
	const struct wire_limits *l = conn_limits(c);
	return pace_keeps(p, l->least_rate, up ? l->body_ms : l->send_ms, !up);
}

bool
h1_pace_is_slow(const struct conn *c)
{
	const struct h1_stream *s = h1_stream(c);
	if (c->waiting == WAIT_TUNNEL)
		return true;
	assert(s && (c->waiting == WAIT_BODY || waiting_is_send(c->waiting)));
	struct pace p = measure(s);
	return pace_is_slow(&p, conn_limits(c)->least_rate);
}

/* A client is slow: what it sends is a fault that serve answers, what it takes ends here. */
static void
fail_pace(struct h1_stream *s, enum waiting was)
{
	if (was == WAIT_BODY && s->body != BODY_OPEN)
		return;
	metrics_add(s->conn->wire->o.metrics, METRIC_SLOW_CLIENTS, 1);
	if (waiting_is_send(was)) {
		s->answering = ANSWER_SLOW;
		return;
	}
	s->body = BODY_BROKEN;
	s->body_fault = &fault_BODY_TIMEOUT;
}

bool
h1_pace_crowded(const struct wire *w)
{
	return w->waits[WAIT_SEND].count >= HELD_MOST;
}

/* Clients that do not take what was pulled for them: only so many keep it. */
static void
let_go(struct wire *w)
{
	struct conn *c = w->waits[WAIT_SEND].first;
	if (w->waits[WAIT_SEND].count > HELD_MOST && !c->driving && !c->front->again(c))
		event_active(&c->ev, EV_WRITE, 0);
}

/* The limit is that of a tunnel in which nothing moves. */
static void
wait_for_both(struct h1_stream *s)
{
	uint64_t moved = s->body_came + s->body_sent;
	if (s->conn->waiting == WAIT_TUNNEL && s->moved == moved)
		return;
	s->moved = moved;
	conn_wait(s->conn, WAIT_TUNNEL);
}

void
h1_pace_wait(struct h1_stream *s, enum waiting what)
{
	struct conn *c = s->conn;
	const struct wire_limits *l = conn_limits(c);
	enum waiting was = (enum waiting)c->waiting;
	/* A tunnel, however it waits; else where serve and the client may be silent for long, both. */
	if (s->tunnel || what == WAIT_TUNNEL) {
		wait_for_both(s);
		return;
	}
	/* An answer that moved a little waits anew: the oldest in the list is the slowest. */
	if (was == what && !(what == WAIT_SEND && s->written))
		return;
	if (!settle(s)) {
		fail_pace(s, was);
		event_active(&c->ev, EV_WRITE, 0);
	}
	uint64_t written = s->written;
	/* Bytes that are written between waits for the client are counted together. */
	if (waiting_is_send(was) || what == WAIT_SEND)
		s->written = 0;
	conn_wait(c, what);
	if (what != WAIT_SEND)
		return;
	if (was == WAIT_NOTHING && written > (uint64_t)c->unsent) /* it took these at once */
		pace_credit(&s->downward, written - (uint64_t)c->unsent, l->least_rate, l->send_ms);
	let_go(c->wire);
}

bool
h1_pace_again(struct conn *c)
{
	struct h1_stream *s = h1_stream(c);
	enum waiting was = (enum waiting)c->waiting;
	bool well = settle(s);
	s->written = 0;
	if (!well) {
		conn_wait(c, WAIT_NOTHING);
		fail_pace(s, was);
		return false;
	}
	if (waiting_is_send(was))
		h1_send_give_back(s);
	conn_wait(c, waiting_is_send(was) ? WAIT_STUCK : was);
	return true;
}
