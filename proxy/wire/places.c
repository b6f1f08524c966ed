/* places.c - which address holds most places, and which of its connections gives way. */
#include "proxy/wire/places.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/conn.h"
#include "proxy/wire/room.h"
#include "proxy/wire/shares.h"

#include <stdlib.h>

/* LEAST: an address that holds fewer gives nothing up, nor does one that does not hold TIMES as many as
 * the newcomer's would. HOPS_MOST: how often a newcomer goes on, besides twice round the workers.
 * OLD_MS: when a look of another worker is too old. TOLD_MS: between two lines of the log. */
enum { LEAST = 8, TIMES = 4, HOPS_MOST = 8, OLD_MS = 2 * SHARES_LOOK_MS, TOLD_MS = 10000 };

static struct places *
places_of(struct wire *w)
{
	if (!w->places) {
		w->places = NEW(struct places);
		w->places->shares = shares_create(room_seed(w->o.room));
	}
	return w->places;
}

void
places_destroy(struct places **pp)
{
	struct places *p = *pp;
	*pp = NULL;
	if (p)
		free(p->shares);
	free(p);
}

static size_t
slot_of(const struct places *p, const struct conn *c)
{
	struct sockaddr_storage peer;
	conn_peer_address(c, &peer);
	return shares_slot_of(p->shares, c->wire, (struct sockaddr *)&peer);
}

/* One place, but for those who have no share. */
static size_t
weigh(const struct conn *c)
{
	return slot_of(c->wire->places, c) < SHARES_SLOTS;
}

/* The counts of the last look are taken back, and those of now are added. */
static void
look(struct places *p, struct wire *w)
{
	struct room *r = w->o.room;
	for (size_t i = 0; i < SHARES_SLOTS; i++)
		if (p->shares->of[i].has)
			room_add_places(r, i, -(int)p->shares->of[i].has);
	shares_look(p->shares, w, weigh);
	for (size_t i = 0; i < SHARES_SLOTS; i++)
		if (p->shares->of[i].has)
			room_add_places(r, i, (int)p->shares->of[i].has);
	room_looked(r, w->o.worker, p->shares->ms);
	p->n = 0;
	p->gathered = false;
}

/* The oldest ones of the slot: first those for which serve owes an answer, then the others. The list of
 * connections begins with the youngest. */
static void
gather(struct places *p, struct wire *w, size_t slot)
{
	unsigned seen = 0;
	p->slot = slot;
	p->gathered = true;
	for (int waits = 1; waits >= 0 && seen == 0; waits--)
		for (struct conn *c = w->conns; c; c = c->next)
			if ((c->waiting == WAIT_NOTHING) == waits && slot_of(p, c) == slot)
				p->found[seen++ % PLACES_MOST] = c;
	p->n = seen < PLACES_MOST ? seen : PLACES_MOST;
	p->oldest = seen ? (seen - 1) % PLACES_MOST : 0;
}

static struct conn *
oldest_found(const struct places *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct conn *c = p->found[(p->oldest + PLACES_MOST - i) % PLACES_MOST];
		if (c && !c->driving)
			return c;
	}
	return NULL;
}

/* The slot that holds most, where that is clearly more than the newcomer's. Many addresses share a slot
 * when very many are connected: an even share of all is nobody's fault. */
static size_t
find_most(const struct room *r, size_t newcomer, unsigned connections)
{
	unsigned least = LEAST + 4 * connections / SHARES_SLOTS, theirs = room_places(r, newcomer);
	size_t found = SHARES_SLOTS;
	unsigned most = TIMES * (theirs + 1) - 1;
	most = most < least - 1 ? least - 1 : most;
	for (size_t i = 0; i < SHARES_SLOTS; i++)
		if (room_places(r, i) > most) {
			most = room_places(r, i);
			found = i;
		}
	return found;
}

int
places_find(struct wire *w, const struct arrival *a)
{
	struct room *r = w->o.room;
	struct places *p = places_of(w);
	unsigned workers = room_workers(r);
	bool may_go_on = a->hops < HOPS_MOST + 2 * workers;
	if (shares_are_due(p->shares))
		look(p, w);
	int other = room_unlooked(r, now_ms() - OLD_MS);
	if (other >= 0 && (unsigned)other != w->o.worker && may_go_on)
		return other;
	size_t newcomer = shares_slot_of(p->shares, w, (const struct sockaddr *)&a->peer);
	size_t most = find_most(r, newcomer, clients_count(w->o.clients));
	if (most == SHARES_SLOTS)
		return -1;
	if (!p->gathered && p->shares->of[most].has)
		gather(p, w, most);
	if (p->slot == most && oldest_found(p))
		return (int)w->o.worker;
	return workers > 1 && may_go_on ? (int)((w->o.worker + 1) % workers) : -1;
}

static void
tell(struct places *p, const struct conn *c)
{
	char peer[STREAM_PEER_BYTES];
	int64_t now = now_ms();
	if (p->told_ms && now - p->told_ms < TOLD_MS)
		return;
	p->told_ms = now;
	conn_peer(c, peer);
	log_warning(
		"limits.connections is used up, and %s holds most of them, %u: connections of it "
		"give way to other clients",
		peer, room_places(c->wire->o.room, p->slot));
}

/* A place of one slot becomes one of the other, so that the next newcomer is judged by that. */
static void
move_place(struct places *p, struct room *r, size_t from, size_t to)
{
	if (p->shares->of[from].has > 0) { /* else it came after the look */
		p->shares->of[from].has--;
		room_add_places(r, from, -1);
	}
	if (to == SHARES_SLOTS)
		return;
	p->shares->of[to].has++;
	room_add_places(r, to, 1);
}

struct conn *
places_take(struct wire *w, const struct arrival *a)
{
	struct places *p = w->places;
	struct conn *c = oldest_found(p);
	conn_check(c);
	tell(p, c);
	places_forget(p, c);
	move_place(p, w->o.room, p->slot,
		   shares_slot_of(p->shares, w, (const struct sockaddr *)&a->peer));
	return c;
}
