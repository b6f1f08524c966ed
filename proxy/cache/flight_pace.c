/* flight_pace.c - whether a body comes fast enough for those who wait for it. A request can make
 * its origin drip on purpose: whoever follows it has a try of its own then. */
#include "proxy/cache/flight_inside.h"

enum { LEAST_BYTES_S = 8 << 10, PROOF_BYTES = 64 << 10 };

/* Since the pace is counted. */
static bool
is_well(const struct flight *f, int64_t ms)
{
	return f->window.total - f->pace_at >= (uint64_t)ms * LEAST_BYTES_S / 1000;
}

bool
flight_is_dripping(struct flight *f, int64_t now_ms, int64_t for_ms)
{
	if (flight_state(f) != FLIGHT_ARRIVING || f->leader_waits) {
		f->pace_ms = 0;
		return false;
	}
	if (!f->pace_ms) /* what came before speaks for it */
		f->pace_ms = now_ms;
	int64_t ms = now_ms - f->pace_ms;
	if (!is_well(f, ms))
		return ms >= for_ms;
	if (ms >= FLIGHT_DRIP_MS) {
		f->pace_ms = now_ms;
		f->pace_at = f->window.total;
	}
	return false;
}

bool
flight_drips(struct flight *f, int64_t now_ms, int64_t for_ms)
{
	pthread_mutex_lock(&f->lock);
	bool drips = flight_is_dripping(f, now_ms, for_ms);
	flight_unlock(f);
	return drips;
}

bool
flight_is_proven(struct flight *f, int64_t now_ms)
{
	if (f->window.total >= PROOF_BYTES)
		return true;
	if (!f->pace_ms)
		f->pace_ms = now_ms;
	int64_t ms = now_ms - f->pace_ms;
	return ms >= FLIGHT_DRIP_MS && is_well(f, ms);
}
