/* parcel.h - purges of this node that go to the others together.
 *
 * Threads   the fleet's, but while the outbox holds it, which has a lock.
 */
#ifndef FLEET_PARCEL_H
#define FLEET_PARCEL_H

#include "proxy/fleet/purge_items.h"

enum { PARCEL_BYTES_MOST = 48 << 10 };

struct parcel {
	struct buf items;     /* purge_items.h, with base 0 */
	uint64_t low, high;   /* of the numbers in it; 0: they have none */
	int64_t made_s;	      /* unix time */
	int64_t journaled_ms; /* monotonic; 0: it is not */
	bool lasts;	      /* one of them does */
	unsigned users;
	struct parcel *next; /* the owner's of a list */
};

/* Of one reference. */
struct parcel *parcel_create(int64_t now_s);
/* Whether it has room for the item; if so it is in it. */
bool parcel_add(struct parcel *p, const struct purge_item *i);
struct parcel *parcel_ref(struct parcel *p);
void parcel_unref(struct parcel **p);

#endif
