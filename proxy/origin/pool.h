/* pool.h - the connections to one origin that one worker has: which is taken next, how many there
 * may be, when an idle one goes.
 *
 * Threads   one worker's.
 */
#ifndef ORIGIN_POOL_H
#define ORIGIN_POOL_H

#include "proxy/origin/lane.h"

TAILQ_HEAD(lane_queue, lane);
LIST_HEAD(lane_list, lane);

struct pool {
	const struct origin *origin;
	const struct lane_owner *owner;
	struct dials dials;
	struct lane_queue idle[2]; /* by fed; the last used one first */
	struct lane_list lanes;	   /* all */
	unsigned count;		   /* of all */
	unsigned edition;	   /* of the origin's addresses, when it was swept last */
	unsigned stalled; /* of them, waiting for a slow reader: others may be given their place */
	unsigned apart;	  /* of those, tunnels: others bound them */
};

void pool_init(struct pool *p, const struct origin *o, struct event_base *base,
	       const struct lane_owner *owner);
void pool_fini(struct pool *p); /* closes all lanes, busy ones too */

/* A kept connection, or one that is opened now; NULL when there may be no more.
 *
 * feed: the request has a body. Some origins leave a body that they did not expect in the
 * connection and read it as the next request, whose answer then comes for somebody else's. So what
 * carried a body carries only requests with bodies from then on, never one whose answer may be
 * shared.
 *
 * again: the request may be sent once more if the connection turns out dead, so that a kept one is
 * taken without a look: its last response was read to the end, and the event loop closes an idle one
 * that says something. (Bytes that an origin sends unasked between that end and our request are as
 * invisible as those that it sends while our request travels.) */
struct lane *pool_take(struct pool *p, bool feed, bool again);
struct lane *pool_open(struct pool *p); /* never a kept one */
/* Back from use: kept for the next, or closed, when its address is no longer the origin's. */
void pool_keep(struct lane *l);
void pool_close(struct lane *l);
/* Its reader takes nothing for now / takes again. */
void pool_stall(struct lane *l);
void pool_move_on(struct lane *l);
/* It carries another protocol from now on, and takes no place, for as long as it is open. */
void pool_set_apart(struct lane *l);
void pool_close_idle(struct pool *p);
/* Now and then: idle connections to addresses that the origin no longer has are closed. */
void pool_sweep(struct pool *p);
/* For lane_owner, while the lane is idle: its on_readable and on_wake. */
void pool_lost(struct lane *l);
void pool_wake(struct lane *l);

#endif
