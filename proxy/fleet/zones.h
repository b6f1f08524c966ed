/* zones.h - the zones of a fleet, and the ring of each.
 *
 * Nodes that name the same zone own all keys together, and those of another zone do so once more. A node that names none is
 * in the zone without a name. A ring has all members of a roster, by the roster's numbers; those of other zones
 * weigh nothing in it.
 *
 * Pure.
 * Memory    393 KiB for each zone.
 * Threads   constant once made.
 */
#ifndef FLEET_ZONES_H
#define FLEET_ZONES_H

#include "proxy/fleet/roster.h"

enum { ZONES_MOST = 16 };

struct zone {
	char name[MEMBER_NAME];
	struct ring *ring;
};

struct zones {
	struct zone of
		[ZONES_MOST]; /* the own one first; the others by their names, as far as there is room */
	unsigned n;
};

/* self: whose zone is the own one, by its name. */
void zones_make(struct zones *z, const struct roster *r, const char *self);
void zones_end(struct zones *z);

/* The ring of before, of the zone's members that still are some; NULL: it is the current one. */
struct ring *zones_settled(const struct roster *r, const char *self);

/* Slots that the member of that number owns in its own zone; 0: it drains, or its zone has no ring. */
unsigned zones_owned(const struct zones *z, const struct roster *r, unsigned number);

#endif
