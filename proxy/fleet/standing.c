/* standing.c - pauses that double. */
#include "proxy/fleet/standing.h"

void
standing_tell(struct standing *s, bool answered, int64_t now_ms)
{
	int64_t pause_ms = STANDING_FIRST_MS;
	if (answered) {
		/* Most answers change nothing, and then nothing is written that others read. */
		if (atomic_load_explicit(&s->failures, memory_order_relaxed)) {
			atomic_store_explicit(&s->failures, 0, memory_order_relaxed);
			atomic_store_explicit(&s->alone_until_ms, 0, memory_order_relaxed);
		}
		return;
	}
	if (!standing_is_well(s, now_ms))
		return;
	unsigned before = atomic_fetch_add_explicit(&s->failures, 1, memory_order_relaxed);
	for (unsigned i = 0; i < before && pause_ms < STANDING_MOST_MS; i++)
		pause_ms *= 2;
	if (pause_ms > STANDING_MOST_MS)
		pause_ms = STANDING_MOST_MS;
	atomic_store_explicit(&s->alone_until_ms, now_ms + pause_ms, memory_order_relaxed);
}
