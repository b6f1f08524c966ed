/* pace.h - whether a client keeps up: the bytes that it moved in the time that it was waited for.
 *
 * It is measured over periods of that time. Whoever takes an answer and took as much as a period asks for
 * begins a new one, and what it took counts for that, too: so one that pauses then is waited for two
 * periods, whenever that is, and one that takes its bytes in lumps, as kernels and windows of HTTP/2 do
 * however steadily their client reads, keeps up if these are large enough.
 */
#ifndef WIRE_PACE_H
#define WIRE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	int64_t owed_ms;
	uint64_t bytes;
	uint64_t before; /* more than was asked for, earlier */
};

static inline uint64_t
pace_least(uint64_t least_rate, int64_t ms)
{
	uint64_t least = least_rate * (uint64_t)ms / 1000;
	return least ? least : 1;
}

/* Whether it is slow by what it has moved in the time it has had so far. */
static inline bool
pace_is_slow(const struct pace *p, uint64_t least_rate)
{
	return p->bytes + p->before < pace_least(least_rate, p->owed_ms);
}

/* It has moved, or time has passed. False: a period is over, and it was too slow. takes: an answer. */
static inline bool
pace_keeps(struct pace *p, uint64_t least_rate, int64_t period_ms, bool takes)
{
	uint64_t least = pace_least(least_rate, period_ms), all = p->bytes + p->before;
	if (takes && p->bytes >= least) {
		*p = (struct pace){.before = least};
		return true;
	}
	if (p->owed_ms < period_ms)
		return true;
	*p = (struct pace){.before = takes && all > least ? all - least : 0};
	return all >= least;
}

/* It took so much while it was not waited for. */
static inline void
pace_credit(struct pace *p, uint64_t bytes, uint64_t least_rate, int64_t period_ms)
{
	uint64_t most = pace_least(least_rate, period_ms), all = p->before + bytes;
	p->before = all < most ? all : most;
}

#endif
