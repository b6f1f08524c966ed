/* h2_held.c - what the requests of a connection hold in memory, and who gives way.
 *
 * A head of 30 KiB costs its client seven bytes (HPACK), and a body that is not taken costs it a
 * window; both may wait here for as long as an origin takes. So a connection that holds as much as it
 * may begins no more requests, and a body goes on to its origin before it is whole where it would
 * hold up the others. Requests whose client gives their answers no window are begun some at a time. When all connections of all workers hold http2.memory, those of the address
 * that holds most end, and addresses that hold more than an even share begin no more requests. Only
 * then it is found out what each address holds.
 */
#include "proxy/wire/h2_stream.h"

#include "proxy/base/mem.h"
#include "proxy/wire/room.h"
#include "proxy/wire/shares.h"

#include <stdlib.h>

/* STREAM_SHARE: of a connection, for each request that it may have under way: no browser notices.
 * LARGE_HEAD: one that costs more. LEAST: of a connection that may have few. SHUT_*: the part of its
 * requests, and how many at least, whose answers may wait for windows that are shut. AIR: the part of all that a look
 * makes free. */
enum {
	STREAM_SHARE = 12 << 10,
	LARGE_HEAD = 5 << 10,
	LEAST = 256 << 10,
	SHUT_SHARE = 4,
	SHUT_LEAST = 8,
	SHUT_BELOW = 16 << 10,
	AIR = 16
};

void
h2_held_add(struct h2 *h2, size_t more, size_t less)
{
	struct wire *w = h2->conn->wire;
	h2->held.bytes += more;
	w->h2->held += more;
	assert(h2->held.bytes >= less && w->h2->held >= h2->held.bytes);
	h2->held.bytes -= less;
	w->h2->held -= less;
	room_hold(w->o.room, w->o.worker, w->h2->held);
}

/* A large head is in memory more than once: an origin that is asked is sent another, and a key may be
 * made of it. Those of most clients are small beside the rest. */
void
h2_held_count(struct h2_stream *s)
{
	size_t now = arena_held(s->arena) + s->in.came.cap + s->in.kept;
	if (s->head_bytes > LARGE_HEAD)
		now += 2 * s->head_bytes;
	h2_held_add(s->h2, now, s->held);
	s->held = now;
}

size_t
h2_held_bytes(const struct conn *c)
{
	const struct h2 *h2 = c->session;
	return h2 && !h2->abuse ? h2->held.bytes : 0;
}

size_t
h2_held_room(const struct h2 *h2)
{
	size_t most = (size_t)h2->most * STREAM_SHARE;
	most = most < LEAST ? LEAST : most;
	return h2->held.bytes < most ? most - h2->held.bytes : 0;
}

/* ---- all connections ------------------------------------------------------------------------- */

static size_t
held_by(const struct conn *c)
{
	return c->front->held ? c->front->held(c) : 0;
}

/* The address that holds most loses the connection that does; the bytes that this frees, or will. */
static size_t
give_way(struct shares *s)
{
	size_t found = SHARES_SLOTS, held = 0;
	for (size_t i = 0; i < SHARES_SLOTS; i++)
		if (s->of[i].most && s->of[i].has > held) {
			held = s->of[i].has;
			found = i;
		}
	if (found == SHARES_SLOTS)
		return 0;
	struct conn *c = s->of[found].most;
	struct h2 *h2 = c->session;
	s->of[found].most = NULL; /* the next one is found by the next look */
	s->of[found].has -= h2->held.bytes;
	h2->abuse = H2_MEMORY;
	conn_wake(c);
	return h2->held.bytes;
}

/* All workers hold so much more than they may together, and this one more than its share. */
static size_t
too_much(const struct wire *w)
{
	size_t most = w->o.limits.h2_memory, all;
	if (most == 0 || w->h2->held <= most / room_workers(w->o.room))
		return 0;
	all = room_held(w->o.room);
	return all > most ? all - most : 0;
}

/* Room is made, and it is to be known who holds how much. */
static void
look(struct wire *w, size_t over)
{
	size_t share = w->o.limits.h2_memory / room_workers(w->o.room);
	size_t most = w->h2->held - share + share / AIR, freed = 0, n;
	unsigned addresses = shares_look(w->h2->shares, w, held_by);
	over += w->o.limits.h2_memory / AIR;
	over = over < most ? over : most;
	while (freed < over && (n = give_way(w->h2->shares)))
		freed += n;
	w->h2->even = share / (addresses ? addresses : 1);
}

bool
h2_held_is_full(struct h2 *h2)
{
	struct wire *w = h2->conn->wire;
	if (h2_held_room(h2) == 0)
		return true;
	size_t over = too_much(w);
	if (over == 0)
		return false;
	struct h2_shared *k = w->h2;
	if (!k->shares)
		k->shares = shares_create(0);
	if (shares_are_due(k->shares))
		look(w, over);
	return h2->abuse || k->shares->of[shares_slot(k->shares, h2->conn)].has > k->even;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* One at a time, for most of the window is free again when it has gone; later: that one did not go. */
void
h2_held_relieve(struct h2 *h2, bool later)
{
	struct h2_stream *most = NULL;
	/* The client hears of what was taken when that is half of the window. */
	if (h2->held.bytes < H2_BODY_WINDOW / 2 - H2_FRAME ||
	    nghttp2_session_get_local_window_size(h2->ng) >= H2_FRAME)
		return;
	for (struct h2_stream *s = h2->streams; s; s = s->next) {
		if (s->in.enough && s->in.kept && !later)
			return;
		if (!s->in.enough && s->in.kept > (most ? most->in.kept : 0))
			most = s;
	}
	if (!most)
		return;
	most->in.enough = true;
	if (most->wanted)
		h2_note(most, H2_NOTE_BODY);
}

/* ---- answers that are not let in ------------------------------------------------------------- */

/* Its client has to give it more of a window before its answer can go on, if that has a body. */
static bool
is_shut(const struct h2_stream *s)
{
	return !s->closed && !(s->answering == H2_WHOLE && s->segment_i == s->segment_n) &&
	       nghttp2_session_get_stream_remote_window_size(s->h2->ng, s->id) < SHUT_BELOW;
}

bool
h2_held_may_begin(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	unsigned shut = 0,
		 most = h2->most / SHUT_SHARE < SHUT_LEAST ? SHUT_LEAST : h2->most / SHUT_SHARE;
	const nghttp2_settings_id first = NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE;
	if (nghttp2_session_get_remote_settings(h2->ng, first) >= SHUT_BELOW || !s->in_over ||
	    !is_shut(s)) /* a body that nobody takes would hold up others */
		return true;
	for (const struct h2_stream *o = h2->streams; o; o = o->next)
		shut += o->ctx && is_shut(o);
	if (shut < most)
		return true;
	s->notes |= H2_NOTE_REQUEST;
	h2->held.behind++;
	return false;
}

/* The list of streams begins with the youngest: the oldest is told of first. */
void
h2_held_begin_more(struct h2 *h2)
{
	if (!h2->held.behind)
		return;
	h2->held.behind = 0;
	for (struct h2_stream *s = h2->streams; s; s = s->next) {
		if (s->noted || !(s->notes & H2_NOTE_REQUEST))
			continue;
		s->noted = true;
		s->note_next = h2->noted;
		if (!h2->noted)
			h2->noted_last = &s->note_next;
		h2->noted = s;
	}
}
