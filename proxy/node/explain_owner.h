/* explain_owner.h - which node of the fleet decides about a URL, for who asks why it is (not) on disk.
 *
 * Threads   any.
 */
#ifndef NODE_EXPLAIN_OWNER_H
#define NODE_EXPLAIN_OWNER_H

#include "proxy/base/buf.h"
#include "proxy/fleet/chart.h"

struct explain_owner {	     /* zeroed: there is no fleet, or nobody owns the URL */
	struct chart *chart; /* a reference */
	const struct sibling
		*elsewhere; /* who decides; NULL: this node does. As long as the chart */
};

/* fleet: NULL, or the rings of now; hash: of the primary key. */
void explain_owner_find(struct explain_owner *o, struct charts *fleet, uint64_t hash);
void explain_owner_fini(struct explain_owner *o);
/* Appends sentences; nothing, where there is no fleet. copy: this node has one, in RAM alone. */
void explain_owner_say(const struct explain_owner *o, bool copy, struct buf *out);

#endif
