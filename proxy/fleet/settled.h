/* settled.h - when the ring of before a series of changes is given up.
 *
 * A change of the ring begins a series, in which the ring of before it stays the settled one: its owners are asked for
 * what the new ones lack. A series ends when nothing has changed for hand_over, and SETTLED_LONGEST_MS after its
 * beginning in any case, or a node that comes and goes would hold it for ever. Then the current ring is the
 * settled one.
 *
 * With an engine its script keeps the same rule for all nodes (script.h).
 *
 * Pure; the clock is an argument. Units: milliseconds.
 */
#ifndef FLEET_SETTLED_H
#define FLEET_SETTLED_H

#include <stdbool.h>
#include <stdint.h>

enum { SETTLED_HAND_OVER_MS = 10 * 60 * 1000, SETTLED_LONGEST_MS = 60 * 60 * 1000 };

struct settled { /* zeroed: no series is under way */
	bool open;
	int64_t begun_ms, changed_ms;
};

enum settled_step {
	SETTLED_STAYS,
	SETTLED_BEGINS, /* the ring of before this change is kept as the settled one */
	SETTLED_ENDS,	/* the current ring, this change included, is the settled one now */
};

/* Now and then, and at each change. */
enum settled_step settled_turn(struct settled *s, bool changed, int64_t now_ms);

#endif
