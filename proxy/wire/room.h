/* room.h - where room can be made at limits.connections: which worker has the connection that is
 * missed least, over all workers.
 *
 * Each worker says what it has, whenever that changes: one store into a cache line of its own,
 * which nobody reads below the limit. At the limit a new client goes to the worker whose connection
 * is missed least; that one is closed and the new client has its place.
 *
 * Threads   room_say, room_join and room_leave: each worker for itself. room_find and
 * room_hand_over: any worker. What is found may be gone already when the client arrives; then it is
 * looked for again.
 */
#ifndef WIRE_ROOM_H
#define WIRE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arrival;
struct mailbox;
struct room;
struct wire;

struct room *room_create(unsigned workers);
void room_destroy(struct room **r); /* all have left */

/* Clients handed over arrive by arrive(w, ...), on the thread that runs the mailbox, which is run
 * until wire has left. */
typedef void room_arrive_fn(struct wire *w, const struct arrival *a);
void room_join(struct room *r, unsigned worker, struct wire *w, room_arrive_fn *arrive,
	       struct mailbox *mailbox);
void room_leave(struct room *r, unsigned worker);

/* Why a connection can be missed, least missed first. */
enum room_rank {
	ROOM_GONE, /* answered and on its way out, or the client stopped sending */
	ROOM_IDLE, /* between requests, or its head is not complete */
	ROOM_SLOW, /* a client that is waited for within a request: perhaps too slow */
	ROOM_NONE
};
/* The best of its rank and the time from which on it may be closed, on the clock of now_ms. */
void room_say(struct room *r, unsigned worker, enum room_rank rank, int64_t from_ms);
/* The worker that has the connection missed least at this time, of one rank the one that could be
 * closed the longest; -1: none has any. */
int room_find(const struct room *r, int64_t now_ms);

/* Bytes of memory that requests by HTTP/2 hold, on this worker; of all workers; how many there are. */
void room_hold(struct room *r, unsigned worker, size_t bytes);
size_t room_held(const struct room *r);
unsigned room_workers(const struct room *r);

/* Places that addresses hold, by slots of one seed for all workers (shares.h). room_looked: a worker says
 * when it counted its own. room_unlooked: one that has not since that time; -1: none. */
uint64_t room_seed(const struct room *r);
void room_add_places(struct room *r, size_t slot, int places);
unsigned room_places(const struct room *r, size_t slot);
void room_looked(struct room *r, unsigned worker, int64_t ms);
int room_unlooked(const struct room *r, int64_t since_ms);

/* The accepted connection goes to the worker, whose arrive is called with one hop more; closed when
 * it is too late. False: so many are on their way to it already that it stays the caller's. */
bool room_hand_over(struct room *r, unsigned worker, const struct arrival *a);

#endif
