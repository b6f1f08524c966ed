/* fill.h - one trip to the origin: it leads a flight, and what comes back is published to the
 * flight's readers, judged, and written to the cache.
 *
 * A fill belongs to its worker, not to the request that began it: that client may leave while
 * others read on, or while it is still worth storing.
 */
#ifndef SERVE_FILL_H
#define SERVE_FILL_H

#include "proxy/serve/txn.h"

enum fill_kind {
	FILL_MISS,     /* the whole object, for the cache and everybody who waits */
	FILL_VALIDATE, /* is the stored object still good? */
	FILL_PASS,     /* for this client only: as it came, nothing stored */
	FILL_SLICES    /* some slices of a body whose head is stored */
};

/* Begins a trip for t, leading t->reader's flight. FILL_VALIDATE: of t->object. */
void fill_start(struct txn *t, enum fill_kind kind);
/* The same, of what t shares with others, leading flight beside the one that t reads. */
void fill_beside(struct txn *t, struct flight *flight);
/* As fill_start, with no client waiting: FILL_VALIDATE refreshes t->object (RFC 5861 3), FILL_MISS
 * fetches the whole of what t asked a range of. Nothing, if somebody is at it already. */
void fill_behind(struct txn *t, enum fill_kind kind);

/* A trip for slices number .. end - 1 of what o is the head of; flight, led by it, is the first
 * one's. For t, and whoever else reads. By the server that sent the head, or (is_beside, for that one
 * takes its time) by whoever has the fewest requests. by: what the first slice counts for, and unless
 * each counts for itself, all of them. */
void fill_slices(struct txn *t, struct flight *flight, struct object *o, uint64_t number,
		 uint64_t end, const struct sighting *by, bool each, bool is_beside);

/* The flight that t reads went on without it: what is still to be sent is fetched for t alone, by
 * Range; t->body.reader reads that. False when it cannot be. */
bool fill_rest(struct txn *t);

/* The request's body goes on / the client that sends it is gone. */
void fill_body_ready(struct fill *f);
void fill_body_gone(struct fill *f);

/* Whether somebody, on whichever worker, still reads what a fill of this one brings. */
bool fill_is_read(const struct serve *s);
/* Now and then: what a sibling that is not well any more was asked, and has not begun to answer, is asked of another one. */
void fill_leave_siblings(struct serve *s, int64_t now_ms);
/* Memory of ended fills that was kept for the next ones. */
void fill_free_spares(struct serve *s);
/* All of the worker's fills end without storing: the worker is closing. */
void fill_cancel_all(struct serve *s);

#endif
