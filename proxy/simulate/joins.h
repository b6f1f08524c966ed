/* joins.h - requests that wait for one fetch: a log tells of each when it ends, so the first line fetches, and the others
 * have joined it.
 *
 * Memory    16 KiB, once there is a line that says who fetched.
 */
#ifndef SIMULATE_JOINS_H
#define SIMULATE_JOINS_H

#include "proxy/simulate/visit.h"

struct joins {
	struct lately *rows; /* owned */
};
void joins_fini(struct joins *j);

/* Is it charged to a visit that fetched just before? */
bool joins_has(struct joins *j, const struct visit *v);
/* It has fetched. */
void joins_note(struct joins *j, const struct visit *v);

#endif
