/* turn.h - when does a generation of the filter end, where no time is set? One rule for the proxy
 * (seen.h) and for `twice simulate`. Pure.
 */
#ifndef CACHE_TURN_H
#define CACHE_TURN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	TURN_DAY_S = 24 * 3600,
	/* Segments that earn nothing may go once older than the youngest quarter of the log
	 * (ledger.h): objects that do not come back within that time are written in vain, but for small ones. With a
	 * quarter of a turn, a seventh more is written, and no more of it is hit (bench/cells.sh). */
	TURN_SHARE = 10,
};

/* A generation that has admitted so many bytes within so many seconds. turn_bytes: of the log, once
 * it grows no more; 0: it grows, fails, or is none, and then a generation lasts a day. */
static inline bool
turn_is_over(uint64_t turn_bytes, int64_t admitted, int64_t age_s)
{
	if (!turn_bytes)
		return age_s >= TURN_DAY_S;
	return admitted > 0 && (uint64_t)admitted >= turn_bytes / TURN_SHARE;
}

#endif
