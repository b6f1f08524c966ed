/* standing.h - whether a sibling is asked now: one that failed is left alone for 1 s, then 2, 4, ... 30 s, and asked
 * again as soon as it answers anybody.
 *
 * Nobody has to be asked: whoever has no sibling left serves by himself.
 *
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Threads   any, without a lock: two that tell at once count as one.
 */
#ifndef FLEET_STANDING_H
#define FLEET_STANDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STANDING_FIRST_MS = 1000, STANDING_MOST_MS = 30000 };

struct standing { /* zeroed: nothing is known against it */
	_Atomic int64_t alone_until_ms;
	_Atomic unsigned failures; /* in a row */
};

/* One load. */
static inline bool
standing_is_well(const struct standing *s, int64_t now_ms)
{
	return atomic_load_explicit(&s->alone_until_ms, memory_order_relaxed) <= now_ms;
}

/* It was asked, and answered or failed. Failures while it is left alone, such as those that began before, count no more. */
void standing_tell(struct standing *s, bool answered, int64_t now_ms);

#endif
