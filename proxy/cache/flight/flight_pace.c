/* flight_pace.c - whether a body comes fast enough for those who wait for it. A request can make
 * its origin drip on purpose: whoever follows it has a try of its own then. */
#include "proxy/cache/flight/flight_inside.h"

/* Below LEAST_BYTES_S a body drips: less than most live audio (64 kbit/s). STEADY_MS: so long behind what
 * came first, within AT_ONCE_MS, one of unknown length is looked at. */
enum { LEAST_BYTES_S = 6 << 10, PROOF_BYTES = 64 << 10, AT_ONCE_MS = 100, STEADY_MS = 100 };

/* Since the pace is counted. */
static bool
is_well(const struct flight *f, int64_t ms)
{
	return f->window.total - f->pace.at >= (uint64_t)ms * LEAST_BYTES_S / 1000;
}

bool
flight_is_dripping(struct flight *f, int64_t now_ms, int64_t for_ms)
{
	if (flight_state(f) != FLIGHT_ARRIVING || f->leader_waits) {
		f->pace.ms = 0;
		return false;
	}
	if (!f->pace.ms) /* what came before speaks for it */
		f->pace.ms = now_ms;
	int64_t ms = now_ms - f->pace.ms;
	if (!is_well(f, ms))
		return ms >= for_ms;
	if (ms >= FLIGHT_DRIP_MS) {
		f->pace.ms = now_ms;
		f->pace.at = f->window.total;
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
	if (!f->pace.ms)
		f->pace.ms = now_ms;
	int64_t ms = now_ms - f->pace.ms;
	return ms >= FLIGHT_DRIP_MS && is_well(f, ms);
}

void
flight_note_pace(struct flight *f, int64_t now_ms)
{
	if (!f->pace.first_ms)
		f->pace.first_ms = now_ms;
	if (now_ms - f->pace.first_ms < AT_ONCE_MS)
		f->pace.first = f->window.total;
}

bool
flight_is_steady(struct flight *f, int64_t now_ms)
{
	pthread_mutex_lock(&f->lock);
	int64_t ms = now_ms - f->pace.first_ms - AT_ONCE_MS;
	bool steady = f->pace.first_ms && ms >= STEADY_MS &&
		      f->window.total - f->pace.first >= (uint64_t)ms * LEAST_BYTES_S / 1000;
	flight_unlock(f);
	return steady;
}
