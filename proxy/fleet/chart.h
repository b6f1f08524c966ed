/* chart.h - the rings as those who look keys up see them: slots, and the siblings that the numbers in them mean. Owners
 * are of this node's zone; siblings are of all.
 *
 * A chart never changes. When members change another one is made off the workers and put in its place (struct
 * charts); what is well at the moment is told by each sibling's standing.
 *
 * Memory    charts and siblings are counted; a chart holds its siblings. The last user frees.
 * Threads   any.
 */
#ifndef FLEET_CHART_H
#define FLEET_CHART_H

#include "proxy/fleet/control.h"
#include "proxy/fleet/member.h"
#include "proxy/fleet/replica.h"
#include "proxy/fleet/ring.h"
#include "proxy/fleet/roster.h"
#include "proxy/fleet/secret.h"
#include "proxy/fleet/standing.h"
#include "proxy/fleet/zones.h"

#include <pthread.h>

struct origin;
struct purge_names;

struct sibling {
	struct member m;
	struct standing standing; /* what changes, for others; and as they know it, */
	struct replica replica;	  /* what is on its disk, where it is of another zone */
	struct origin *
		origin; /* where it is asked; NULL: it is this node, or its address cannot be used */
	bool is_self;
	bool silent; /* and that was said; the fleet's thread's */
	_Atomic unsigned users;
};

/* This node, and what it signs with. */
struct chart_self {
	uint64_t id;
	char name[MEMBER_NAME], zone[MEMBER_NAME];
	struct secret secret;
};

struct chart {
	struct chart_self self;
	struct zones zones;   /* all of them */
	struct ring *current; /* of the own one; there */
	struct ring *settled; /* the same; NULL: it is the current one */
	unsigned n;
	struct sibling **of;	     /* by the current ring's numbers */
	struct sibling **settled_of; /* by the other's; NULL: it is no member any more */
	unsigned settled_n;
	_Atomic unsigned users;
};

/* siblings: those of the roster's members, in the same order, of which the chart takes references. */
struct chart *
chart_make(const struct roster *r, struct sibling *const *siblings, const struct chart_self *self);
struct chart *chart_ref(struct chart *c);
void chart_unref(struct chart **c); /* NULL: nothing happens */
/* The origin goes with the last user. */
struct sibling *chart_ref_sibling(struct sibling *s);
void chart_unref_sibling(struct sibling **s);

/* The siblings that own a hash, in the order in which they are asked, this node among them; how many. */
unsigned chart_owners(const struct chart *c, uint64_t hash, struct sibling *out[RING_DEEP]);
/* Those of them that are asked before this node: they are well, and their address can be used; how many. */
unsigned
chart_to_ask(const struct chart *c, uint64_t hash, int64_t now_ms, struct sibling *out[RING_DEEP]);
/* Its owner of before the present changes; NULL: nobody else. */
struct sibling *chart_settled_owner(const struct chart *c, uint64_t hash);

/* A sibling of another zone, which is well and whose digest has the hash that it is stored by: there the owner, and while
 * members change whoever comes behind it. NULL: there is none. */
struct sibling *chart_across(const struct chart *c, uint64_t hash, uint64_t stored, int64_t now_ms);
/* Whether it is of another zone than this node. */
bool chart_is_across(const struct chart *c, const struct sibling *s);

/* Whether all siblings would be asked. */
bool chart_is_well(const struct chart *c, int64_t now_ms);

/* The chart of now, for those who follow it; and whom siblings' questions go to. */
struct charts {
	pthread_mutex_t lock;
	struct control *control;	 /* under lock; NULL: there is no fleet */
	const struct purge_names *names; /* purges that were heard of; constant */
	_Atomic unsigned version;	 /* of now; it has changed when that has */
	struct chart *now;
};

/* names: borrowed; NULL: nobody tells any. */
void charts_init(struct charts *c, const struct purge_names *names);
void charts_fini(struct charts *c);
/* next: taken; NULL: there is no fleet. */
void charts_put(struct charts *c, struct chart *next);
/* From now on; NULL: nobody any more, and whoever was here is not called again. */
void charts_open(struct charts *c, struct control *control);
/* control_ask; false: there is no fleet, and done is not called. */
bool
charts_ask(struct charts *c, const struct control_request *rq, control_done_fn *done, void *ctx);
/* A reference; or NULL. */
struct chart *charts_now(struct charts *c);

/* One who follows; zeroed at first. */
struct charts_follower {
	struct chart *chart; /* a reference; NULL: there is no fleet */
	unsigned version;
};
/* One load while nothing has changed. */
void charts_follow(struct charts *c, struct charts_follower *f);
/* Whether a sibling of it is asked there. */
bool chart_has_origin(const struct chart *c, const struct origin *o);

#endif
