/* h1_pace.c - how a client keeps up with what it owes. */
#include "proxy/base/clock.h"
#include "proxy/wire/h1.h"
#include "proxy/wire/h1_stream.h"

/* Whether the body moved on as it must in the time that the client was waited for; begins to
 * measure anew. */
static bool
keeps_pace(const struct wire *w, struct pace *p)
{
	uint64_t least = w->o.limits.least_rate * (uint64_t)p->owed_ms / 1000;
	bool well = p->bytes >= (least ? least : 1);
	*p = (struct pace){0};
	return well;
}

/* The time of a wait that ends is the client's. False: it was too slow over its whole time. */
static bool
settle(struct stream *s)
{
	struct conn *c = s->conn;
	struct wire *w = c->wire;
	if (c->waiting != WAIT_BODY && c->waiting != WAIT_SEND)
		return true;
	struct pace *p = c->waiting == WAIT_BODY ? &s->upward : &s->downward;
	p->owed_ms += now_ms() - c->wait_since_ms;
	int64_t taken = c->waiting == WAIT_SEND ? (int64_t)s->written + conn_taken(c) : 0;
	p->bytes += taken > 0 ? (uint64_t)taken : 0;
	return p->owed_ms < w->waits[c->waiting].limit_ms || keeps_pace(w, p);
}

bool
h1_pace_is_slow(const struct conn *c)
{
	const struct stream *s = c->stream;
	assert(s && (c->waiting == WAIT_BODY || c->waiting == WAIT_SEND));
	struct pace p = c->waiting == WAIT_BODY ? s->upward : s->downward;
	int64_t taken = c->waiting == WAIT_SEND ? (int64_t)s->written + conn_taken(c) : 0;
	p.owed_ms += now_ms() - c->wait_since_ms;
	p.bytes += taken > 0 ? (uint64_t)taken : 0;
	return p.bytes <= c->wire->o.limits.least_rate * (uint64_t)p.owed_ms / 1000;
}

/* A client is slow: what it sends is a fault that serve answers, what it takes ends here. */
static void
fail_pace(struct stream *s, enum waiting was)
{
	if (was == WAIT_BODY && s->body != BODY_OPEN)
		return;
	metrics_add(s->conn->wire->o.metrics, METRIC_SLOW_CLIENTS, 1);
	if (was == WAIT_SEND) {
		s->answering = ANSWER_SLOW;
		return;
	}
	s->body = BODY_BROKEN;
	s->body_fault = &fault_BODY_TIMEOUT;
}

void
h1_pace_wait(struct stream *s, enum waiting what)
{
	struct conn *c = s->conn;
	enum waiting was = (enum waiting)c->waiting;
	if (was == what)
		return;
	if (!settle(s)) {
		fail_pace(s, was);
		event_active(&c->ev, EV_WRITE, 0);
	}
	s->written = 0;
	conn_wait(c, what);
}

bool
h1_pace_again(struct stream *s)
{
	struct conn *c = s->conn;
	enum waiting was = (enum waiting)c->waiting;
	bool well = settle(s);
	s->written = 0;
	conn_wait(c, well ? was : WAIT_NOTHING);
	if (!well)
		fail_pace(s, was);
	return well;
}
