/* turning.h - ends the generations of a filter with the turns of a log (turn.h), for one that asks it
 * alone: a policy of `twice simulate`, a row of what-if. The proxy's own filter, which all workers
 * ask, is turned in seen.c.
 *
 * Units     seconds, handed in. Threads: none.
 */
#ifndef CACHE_TURNING_H
#define CACHE_TURNING_H

#include "filter/family/filter.h"

struct turning {
	struct twice_filter *filter; /* borrowed; NULL: it is not turned */
	/* Of its generation. */
	uint64_t number, turn_bytes;
	int64_t admitted, born_s, now_s;
	bool began; /* born_s is known */
};

/* Time goes on. */
void turning_tick(struct turning *t, int64_t now_s);
/* So many bytes were admitted to a log of turn_bytes; 0: it grows. */
void turning_charge(struct turning *t, uint64_t bytes, uint64_t turn_bytes);

#endif
