/* recent.h - has this happened within the last minute? A table of fixed size that forgets.
 *
 * Answers   yes only for what was noted less than RECENT_S ago (a wrong yes: one in 2^40 per slot).
 *           A wrong no comes when two things share a slot: the later one is remembered.
 * Units     seconds, handed in.
 * Threads   any, without locks. Of two that note the same thing at once both may be told it is new.
 */
#ifndef CACHE_RECENT_H
#define CACHE_RECENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RECENT_S = 60, RECENT_SLOTS = 1 << 15 };

struct recent {
	_Atomic uint64_t slots[RECENT_SLOTS]; /* 40 bits of the thing, 24 of the second; 0: empty */
};

/* thing: a hash of whatever it is. */
bool recent_has(const struct recent *r, uint64_t thing, int64_t now_s);
void recent_note(struct recent *r, uint64_t thing, int64_t now_s);

#endif
