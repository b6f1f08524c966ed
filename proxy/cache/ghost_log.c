/* ghost_log.c - the ghost's log: the ledger with sizes for bytes, and who lies in which segment. */
#include "proxy/cache/ghost_inside.h"

enum { NONE = GHOST_NONE, FRAGMENT_BYTES = GHOST_FRAGMENT_BYTES };

/* ---- the log ------------------------------------------------------------------------------- */

static bool
open_segment(struct ghost *g)
{
	if (g->ledger.open >= 0)
		ledger_seal(&g->ledger);
	bool yes = ledger_open_next(&g->ledger);
	ghost_free_segments(g);
	return yes;
}

/* Over several segments if it must; the one where it starts is where the object lies, for it goes
 * with its oldest part. */
uint32_t
ghost_take(struct ghost *g, uint64_t log_bytes)
{
	uint32_t first = NONE;
	uint64_t left = log_bytes, most = g->ledger.segment_bytes * g->ledger.limit / 4;
	left = left < most ? left : most; /* a few large ones of great weight do not flush it */
	bool in_parts = left > FRAGMENT_BYTES;
	while (left) {
		uint64_t room = ledger_room(&g->ledger);
		if (room < (in_parts ? 1 : left) && !open_segment(g))
			return NONE;
		room = ledger_room(&g->ledger);
		uint64_t part = left < room ? left : room;
		if (first == NONE)
			first = (uint32_t)g->ledger.open;
		ledger_use(&g->ledger, part);
		left -= part;
	}
	return first;
}

uint32_t
ghost_write(struct ghost *g, uint64_t bytes)
{
	g->n.written_bytes += bytes * g->weight;
	return ghost_take(g, bytes * g->weight);
}

static void
empty_segment(struct ghost *g, uint32_t segment)
{
	uint32_t i = g->segments[segment];
	g->segments[segment] = NONE;
	uint64_t carried = 0;
	while (i != NONE) {
		struct shade *s = &g->shades[i];
		uint32_t next = s->next, to = NONE;
		uint64_t bytes = s->bytes * g->weight;
		if (s->bytes <= FRAGMENT_BYTES && bytes <= ledger_room(&g->ledger) &&
		    ledger_carries(&g->ledger, s->hits, bytes, carried)) {
			carried += bytes;
			to = ghost_write(g, s->bytes);
		}
		s->on_disk = to != NONE;
		s->hits = 0;
		if (s->on_disk)
			ghost_join_segment(g, i, to);
		else if (!s->in_ram)
			ghost_release(g, i);
		i = next;
	}
	ledger_free(&g->ledger, segment);
}

void
ghost_free_segments(struct ghost *g)
{
	while (ledger_wants_free(&g->ledger)) {
		int64_t absent = ledger_absent(&g->ledger);
		int64_t victim = absent < 0 ? ledger_victim(&g->ledger) : -1;
		if (absent >= 0)
			ledger_add(&g->ledger, (uint32_t)absent);
		else if (victim >= 0)
			empty_segment(g, (uint32_t)victim);
		else
			return;
	}
}
