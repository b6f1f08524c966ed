/* roster.h - who is a member, as the engine, the file of before or the configuration says.
 *
 * Only records and orders that somebody with the secret signed count. The settled ring is not signed: of it only ids
 * that were or are members matter, and whoever forges it makes nodes ask the wrong sibling, no more.
 *
 * Pure.
 * Memory    roster_fini frees it; {0} is an empty one.
 */
#ifndef FLEET_ROSTER_H
#define FLEET_ROSTER_H

#include "proxy/fleet/beat.h"
#include "proxy/fleet/member.h"
#include "proxy/fleet/ring.h"

struct roster {
	struct member *of; /* by id */
	unsigned n;
	struct ring_node *settled; /* the ring of before the present changes, by id */
	unsigned settled_n;
	bool hands_over; /* it is another one than the current ring */
	char known
		[BEAT_KNOWN]; /* the engine's word for this state, or for that of the file; "": there is none */
	unsigned refused; /* records and orders that nobody signed, or beyond RING_NODES */
};

void roster_fini(struct roster *r);
/* Of an answer that is BEAT_MEMBERS. -1: it is not of the form that it should have. */
int roster_take(struct roster *out, const struct redisReply *r, const struct secret *s);
/* Of a file that roster_write made; -1: it is none. */
int roster_read(struct roster *out, struct str file, const struct secret *s);
void roster_write(const struct roster *r, const struct secret *s, struct buf *out);
/* In the place of the member of that id, or beside the others; not beyond RING_NODES. */
void roster_put(struct roster *r, const struct member *m);
/* The member of that id; NULL: there is none. */
struct member *roster_member(const struct roster *r, uint64_t id);
/* A member by its id or its name. NULL: there is none; or there are two of that name, and *twice says so. */
const struct member *roster_find(const struct roster *r, struct str name, bool *twice);
/* Whether both have the same nodes with the same weights in the same zones, as rings count them. */
bool roster_has_ring_of(const struct roster *a, const struct roster *b);
/* All nodes of all zones: one that drains weighs nothing. out: room for r->n. */
void roster_weigh(const struct roster *r, struct ring_node *out);
/* For a roster that no engine made: its nodes are the settled ones. */
void roster_settle(struct roster *r);

#endif
