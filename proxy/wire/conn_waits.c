/* conn_waits.c - a list for each kind of wait, oldest first, and what it tells other workers. */
#include "proxy/wire/conn.h"
#include "proxy/wire/front.h"

#include "proxy/base/clock.h"
#include "proxy/wire/room.h"

/* Says which connection would be closed first to make room. */
static void
say_room(const struct wire *w)
{
	static const enum room_rank rank_of[WAIT_KINDS] = {
		[WAIT_NOTHING] = ROOM_NONE, [WAIT_HANDSHAKE] = ROOM_IDLE, [WAIT_HEAD] = ROOM_IDLE,
		[WAIT_IDLE] = ROOM_IDLE,    [WAIT_BODY] = ROOM_SLOW,	  [WAIT_SEND] = ROOM_SLOW,
		[WAIT_STUCK] = ROOM_SLOW,   [WAIT_GONE] = ROOM_GONE,	  [WAIT_LINGER] = ROOM_GONE,
		[WAIT_STREAMS] = ROOM_SLOW, [WAIT_TUNNEL] = ROOM_SLOW,
	};
	enum room_rank best = ROOM_NONE;
	int64_t from = INT64_MAX;
	for (int kind = WAIT_NOTHING + 1; kind < WAIT_KINDS; kind++) {
		const struct conn *c = w->waits[kind].first;
		if (!c || rank_of[kind] > best)
			continue;
		int64_t at = c->wait_since_ms + w->waits[kind].judged_ms;
		if (rank_of[kind] < best || at < from)
			from = at;
		best = rank_of[kind];
	}
	room_say(w->o.room, w->o.worker, best, best == ROOM_NONE ? 0 : from);
}

void
conn_waits_leave(struct conn *c)
{
	struct wait_list *l = &c->wire->waits[c->waiting];
	if (!c->wait_prev)
		return;
	bool first = l->first == c;
	if (c->wire->to_rest == c)
		c->wire->to_rest = c->wait_next;
	assert(l->count > 0);
	l->count--;
	*c->wait_prev = c->wait_next;
	if (c->wait_next)
		c->wait_next->wait_prev = c->wait_prev;
	else
		l->last = c->wait_prev;
	c->wait_prev = NULL;
	if (first)
		say_room(c->wire);
}

void
conn_waits_enter(struct conn *c, enum waiting what)
{
	c->waiting = (uint8_t)what;
	if (what == WAIT_NOTHING)
		return;
	struct wait_list *l = &c->wire->waits[what];
	c->wait_since_ms = now_ms();
	c->wait_next = NULL;
	c->wait_prev = l->last;
	*l->last = c;
	l->last = &c->wait_next;
	l->count++;
	if (what == WAIT_IDLE && !c->wire->to_rest)
		c->wire->to_rest = c;
	if (l->first == c)
		say_room(c->wire);
}

void
conn_waits_rest(struct wire *w, int64_t now)
{
	for (struct conn *c; (c = w->to_rest) && now - c->wait_since_ms >= CONN_RESTS_MS;) {
		w->to_rest = c->wait_next;
		if (c->front->rest)
			c->front->rest(c);
	}
}
