/* crowds.h - is an address one client, or do many ask from it? More than CROWD_KEYS different things within a
 * minute are not one client's ranges. A table of fixed size that forgets.
 *
 * Answers   yes only where so many were noted for 32 bits of the address in this minute, or in the one before; no
 *           also where another address took its place.
 * Units     seconds, handed in; minutes begin with those of that clock.
 * Memory    64 KiB.
 * Threads   any, without locks. Of two that note the same address at once one may be lost.
 */
#ifndef CACHE_CROWDS_H
#define CACHE_CROWDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CROWD_KEYS = 100, CROWDS_SLOTS = 1 << 13 };

struct crowds {
	_Atomic uint64_t slots[CROWDS_SLOTS]; /* 32 bits of who, 16 of the minute, 16 of the number; 0: empty */
};

/* who: the hash of its address (askers_hash). */
bool crowds_has(const struct crowds *c, uint64_t who, int64_t now_s);
/* It asked for something that it had not asked for within this minute. */
void crowds_note(struct crowds *c, uint64_t who, int64_t now_s);

#endif
