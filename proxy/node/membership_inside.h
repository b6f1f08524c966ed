/* membership_inside.h - what membership.c, which opens and ends the fleet, shares with membership_answer.c, which tells
 * of it, membership_digest.c, which tells nodes of other zones what is on the disk, and membership_stats.c, which tells what
 * its nodes have counted. */
#ifndef NODE_MEMBERSHIP_INSIDE_H
#define NODE_MEMBERSHIP_INSIDE_H

#include "proxy/fleet/fleet.h"
#include "proxy/node/membership.h"
#include "proxy/node/fleet_purger.h"
#include "proxy/node/sibling_door.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

/* The last digest of this node's disk that others were told. */
enum { MEMBERSHIP_DIGEST_LEAST_MS = 5000, MEMBERSHIP_DIGEST_MOST_MS = 2 * 60 * 1000 };
struct membership_digest {
	const struct fleet *of; /* whom; only compared */
	uint64_t number;
	int64_t made_ms;
	uint64_t bytes, objects, evicted;
};

struct membership {
	struct cache *cache;
	struct fleet_purger *purger;
	struct resolver *resolver;
	const char *version;
	void (*count)(void *ctx, struct report *out);
	void *count_ctx;
	_Atomic uint64_t id;		  /* 0: there is none yet */
	_Atomic bool new_id, new_members; /* they are to be written */
	bool fails;			  /* the last write did, and that was said */
	uint64_t instance;		  /* of this process */
	_Atomic bool read;		  /* the files were */
	bool goes_on;			  /* in the place of a process that runs */
	pthread_mutex_t lock;
	struct buf members;   /* as they were kept last; under lock */
	struct charts charts; /* of the fleet that runs */
	struct sibling_door *door;
	pthread_rwlock_t using;
	struct fleet *fleet; /* that runs; NULL: none. Others hold `using` while they use it */
	struct buf described;
	struct fleet *next; /* opened; NULL: there will be none */
	struct buf next_described;
	struct report_fleet before;	 /* counts of fleets that ran here before; under using */
	struct membership_digest digest; /* the keeper's */
	bool changes;			 /* next is to take the place of fleet */
};

/* membership_stats.c. Tells siblings what this node has counted (fleet_options.count). */
void membership_stats_tell(void *ctx, struct buf *out);
/* The numbers of all nodes, each with a row that row makes; a second at most. NULL: the fleet's thread does not answer.
 * m->using is held. */
json_t *
membership_stats_json(const struct membership *m, json_t *(*row)(const struct fleet_row *r));

#endif
