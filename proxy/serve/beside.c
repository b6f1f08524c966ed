/* beside.c - is there a better fetch of the same? */
#include "proxy/serve/beside.h"

#include "proxy/base/block.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/patience.h"
#include "proxy/serve/resume.h"

#include <assert.h>

/* Of one reader. Its own fields may be what makes the origin drip or fail, so it rests between them:
 * others have their turn first. In patiences; each time it is twice as long. */
enum { TRIES_MOST = 3, REST = 8 };

static void
look_again_later(struct txn *t)
{
	if (!alarm_is_set(&t->alarm))
		alarm_set(&t->serve->alarms, &t->alarm, now_ms() + patience_ms(t), txn_on_alarm);
}

/* Bytes that this head promises may come from another answer. */
static bool
may_go_on(const struct txn *t, const struct flight_head *h)
{
	return t->way == WAY_SHARED && t->rq.method == METHOD_GET && h->status == 200 &&
	       h->storable && !h->object &&
	       t->body.at < flights_retain_bytes(t->serve->shelves->flights) &&
	       resume_is_told(buf_str(&h->head));
}

/* For all who ask, also where another answer landed in the store first. */
static bool
is_same(const struct txn *t)
{
	const struct flight_head *sent = flight_head(flight_of(t->body.reader));
	const struct flight_head *h = flight_head(flight_of(t->body.second));
	return h->status == 200 && (h->storable || h->judged == STORABLE_OVERTAKEN) && !h->object &&
	       h->body_bytes == sent->body_bytes &&
	       resume_is_same(buf_str(&sent->head), buf_str(&h->head));
}

static enum beside
give_up(struct txn *t)
{
	flight_leave(&t->body.second);
	return BESIDE_NONE;
}

/* Whether t->body.second has what is due. */
static enum beside
look_at_second(struct txn *t)
{
	struct flight *f = flight_of(t->body.second);
	struct block *block = NULL;
	assert(!t->leader && t->body.reader && f != flight_of(t->body.reader));
	const char *p;
	size_t n;
	enum flight_state s = flight_state(f);
	look_again_later(t);
	if (s == FLIGHT_WAITING)
		return BESIDE_LATER;
	if (s == FLIGHT_FAILED || !is_same(t))
		return give_up(t);
	flight_done_until(t->body.second, t->body.at);
	switch (flight_read(t->body.second, t->body.at, &p, &n, &block)) {
	case FLIGHT_LATER: /* or it drips too */
		return flight_drips(f, now_ms(), patience_ms(t)) ? give_up(t) : BESIDE_LATER;
	case FLIGHT_READY:
	case FLIGHT_OVER:
		break;
	case FLIGHT_STORED:
	case FLIGHT_LOST:
	case FLIGHT_CUT:
		return give_up(t);
	}
	block_unref(&block);
	flight_leave(&t->body.reader);
	t->body.reader = t->body.second;
	t->body.second = NULL;
	alarm_cancel(&t->serve->alarms, &t->alarm);
	return BESIDE_READY;
}

/* Is it time for another fetch? */
static void
look_for_one(struct txn *t)
{
	struct flight *f = flight_of(t->body.reader);
	int64_t now = now_ms(), patience = patience_ms(t);
	look_again_later(t);
	if (flight_is_overtaken(f) && may_go_on(t, flight_head(f)))
		t->body.second = flight_join_after(t->body.reader, now, patience);
	bool may = t->body.second_tries < TRIES_MOST && now >= t->body.second_at_ms;
	if (t->body.second || !flight_drips(f, now, patience) || !may ||
	    !may_go_on(t, flight_head(f)))
		return;
	t->body.second =
		flights_try_beside(t->serve->shelves->flights, t->body.reader, now, patience);
	if (!t->body.second)
		return;
	assert(t->body.second_tries < TRIES_MOST);
	t->body.second_at_ms = now + patience * (REST << t->body.second_tries++);
	fill_beside(t, flight_of(t->body.second));
}

enum beside
beside_look(struct txn *t)
{
	if (t->leader || flight_state(flight_of(t->body.reader)) == FLIGHT_WAITING)
		return BESIDE_NONE;
	if (!t->body.second)
		look_for_one(t);
	return t->body.second ? look_at_second(t) : BESIDE_NONE;
}
