/* recent.c - a tag and a second in one word, so that both are read at once. */
#include "proxy/cache/admission/recent.h"

#include "proxy/base/clock.h"

enum { SECOND_BITS = 24 };
static const uint64_t SECONDS = (1 << SECOND_BITS) - 1;

/* The low bits choose the slot, the high ones are the tag; it is never 0, which means empty. */
static uint64_t
tag_of(uint64_t thing)
{
	uint64_t tag = thing & ~SECONDS;
	return tag ? tag : SECONDS + 1;
}

bool
recent_has(const struct recent *r, uint64_t thing, int64_t now_s)
{
	uint64_t is = atomic_load_explicit(&r->slots[thing % RECENT_SLOTS], memory_order_relaxed);
	/* A clock set back makes this large: then it is not recent. */
	uint64_t since = ((uint64_t)now_s + CLOCK_APART_S - is) & SECONDS;
	return is && (is & ~SECONDS) == tag_of(thing) && since < RECENT_S + CLOCK_APART_S;
}

void
recent_note(struct recent *r, uint64_t thing, int64_t now_s)
{
	atomic_store_explicit(&r->slots[thing % RECENT_SLOTS],
			      tag_of(thing) | ((uint64_t)now_s & SECONDS), memory_order_relaxed);
}
