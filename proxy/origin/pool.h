/* pool.h - the lanes to one origin that one worker has: which is taken next, how many there may be,
 * when an idle one goes.
 *
 * Threads   one worker's.
 */
#ifndef ORIGIN_POOL_H
#define ORIGIN_POOL_H

#include "proxy/origin/lane.h"

struct event_base;
struct origin;

TAILQ_HEAD(lane_queue, lane);
LIST_HEAD(lane_list, lane);

struct pool {
	const struct origin *origin;
	struct event_base *base;
	const struct lane_owner *owner;
	CURLSH *share;		/* names resolved and TLS sessions, for all lanes */
	struct lane_queue idle; /* connected ones first, the last used of them at the front */
	struct lane_list lanes; /* all */
	unsigned count;		/* of all */
};

void pool_init(struct pool *p, const struct origin *o, struct event_base *base,
	       const struct lane_owner *owner);
void pool_fini(struct pool *p); /* destroys all lanes, busy ones too */

/* A lane for one transfer, with all the origin's settings made; NULL when all are busy. */
struct lane *pool_take(struct pool *p);
void pool_give(struct lane *l);
/* For lane_owner: its on_lost, and its on_wake while the lane is idle. */
void pool_lost(struct lane *l);
void pool_wake(struct lane *l);

#endif
