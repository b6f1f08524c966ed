/* crowds.c - an address, a minute and a number in one word, so that they are read at once. */
#include "proxy/cache/admission/crowds.h"

enum { MINUTE_S = 60, MOST = UINT16_MAX };

struct crowd {
	uint32_t who;
	uint16_t minute, n;
};

static struct crowd
open_slot(uint64_t v)
{
	return (struct crowd){
		.who = (uint32_t)(v >> 32), .minute = (uint16_t)(v >> 16), .n = (uint16_t)v};
}

static uint16_t
minute_of(int64_t now_s)
{
	return (uint16_t)(now_s / MINUTE_S);
}

/* How many it asked for in this minute; a crowd of the last one still is one. Another thread's minute may
 * have begun before (clock.h). */
static unsigned
count(struct crowd c, uint64_t who, uint16_t minute)
{
	if (c.who != (uint32_t)(who >> 32))
		return 0;
	if (c.minute == minute || c.minute == (uint16_t)(minute + 1))
		return c.n;
	return (uint16_t)(c.minute + 1) == minute && c.n > CROWD_KEYS ? CROWD_KEYS + 1 : 0;
}

bool
crowds_has(const struct crowds *c, uint64_t who, int64_t now_s)
{
	uint64_t v = atomic_load_explicit(&c->slots[who % CROWDS_SLOTS], memory_order_relaxed);
	return count(open_slot(v), who, minute_of(now_s)) > CROWD_KEYS;
}

void
crowds_note(struct crowds *c, uint64_t who, int64_t now_s)
{
	_Atomic uint64_t *slot = &c->slots[who % CROWDS_SLOTS];
	uint64_t v = atomic_load_explicit(slot, memory_order_relaxed);
	unsigned n = count(open_slot(v), who, minute_of(now_s));
	n += n < MOST;
	atomic_store_explicit(slot,
			      (who >> 32 << 32) | (uint64_t)minute_of(now_s) << 16 | n,
			      memory_order_relaxed);
}
