/* outbox.h - purges of this node on their way to the others: put there before they are applied here, taken by the
 * fleet's thread.
 *
 * It lives as long as the process, whichever fleet runs. What is to last (lasting) keeps the order in which numbers are
 * given. What need not (passing: a client's unsafe request) is gathered for OUTBOX_GATHER_MS, and so much of it at most
 * is kept as fits one parcel: beyond that it is counted and dropped, and a copy elsewhere may live on until it is stale.
 *
 * With an engine, lasting parcels stay listed here until they are journaled, for a file; without one, until all siblings have them. Of more than OUTBOX_KEPT_MOST
 * bytes all become one purge of everything.
 *
 * Threads   outbox_put: any. All else: the fleet's thread, or who has none; outbox_write any.
 */
#ifndef FLEET_OUTBOX_H
#define FLEET_OUTBOX_H

#include "proxy/fleet/purge_names.h"
#include "proxy/fleet/parcel.h"

struct outbox;

enum { OUTBOX_GATHER_MS = 20, OUTBOX_KEPT_MOST = 4 << 20 };

struct outbox *outbox_create(struct purge_names *names);
void outbox_destroy(struct outbox **o);
/* From now on purges are put, in the name of self; wake is called on the thread that puts when something is to be
 * taken. ctx is its name too: outbox_leave has no effect for one who has been followed. Between the two what is put
 * waits. */
void outbox_join(struct outbox *o, void (*wake)(void *ctx), void *ctx, uint64_t self);
/* There will be a fleet: purges are put, and wait for it. No effect where there is one. */
void outbox_expect(struct outbox *o, uint64_t self);
void outbox_leave(struct outbox *o, const void *ctx);
/* There is no fleet: what is put is dropped, and what waits. */
void outbox_shut(struct outbox *o);
/* The purge with the number that it gets, which it returns; 0: it is passing, or there is no fleet. */
uint64_t outbox_put(struct outbox *o, const struct purge_item *i, int64_t now_ms);

/* The next lasting parcel, of which the caller has a reference; NULL: there is none. keeps: it is listed until
 * outbox_drop. */
struct parcel *outbox_take(struct outbox *o, bool keeps);
/* The passing ones, if they have waited long enough, else when that is (0: there are none). */
struct parcel *outbox_take_passing(struct outbox *o, int64_t now_ms, int64_t *due_ms);

/* Those that are listed: the first one that is not journaled; NULL: all are. */
struct parcel *outbox_first(struct outbox *o);
void outbox_drop(struct outbox *o, struct parcel *p);
/* Since when the oldest of them waits, in unix seconds; 0: there is none. Bytes of all. Numbers up to which all are
 * journaled: those of *through. */
struct outbox_facts {
	uint64_t parcels, bytes, dropped, collapsed;
	uint64_t changes; /* of the list */
};
struct outbox_facts outbox_facts(struct outbox *o);
/* The list, for a file, and what a file says: -1: it is damaged. */
void outbox_write(struct outbox *o, struct buf *out);
int outbox_read(struct outbox *o, struct str file);

#endif
