/* rests.c - one word per slot: 32 bits of the key's hash, 2 bits that count failures, and 30 bits of the time
 * a rest ends, in sixteenths of a second, which come round every two years.
 */
#include "proxy/serve/rules/rests.h"

#include "proxy/base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 1 << 14, TICKS = 16, TIMES_MOST = 2, FORGOTTEN_TICKS = 60 * TICKS };
#define TIME_BITS 30
#define TIME_MASK ((UINT32_C(1) << TIME_BITS) - 1)

struct rests {
	_Atomic uint64_t slots[SLOTS]; /* 0: none */
};

struct rests *
rests_create(void)
{
	return NEW(struct rests);
}

void
rests_destroy(struct rests **r)
{
	free(*r);
	*r = NULL;
}

static uint32_t
ticks_of(int64_t ms)
{
	return (uint32_t)(ms * TICKS / 1000) & TIME_MASK;
}

/* From then on: negative when that is past. */
static int32_t
ticks_until(uint64_t word, int64_t now_ms)
{
	uint32_t left = ((uint32_t)word - ticks_of(now_ms)) << (32 - TIME_BITS);
	return (int32_t)left / (1 << (32 - TIME_BITS));
}

static uint64_t
tag_of(struct twice_key_hash k)
{
	return (k.hi | UINT64_C(1) << 32) & ~UINT64_C(0xffffffff);
}

static bool
is_of(uint64_t word, struct twice_key_hash k)
{
	return (word & ~UINT64_C(0xffffffff)) == tag_of(k);
}

static unsigned
times_of(uint64_t word)
{
	return (uint32_t)word >> TIME_BITS;
}

static uint64_t
word_of(struct twice_key_hash k, unsigned times, int64_t now_ms)
{
	uint32_t until = (ticks_of(now_ms) + ((uint32_t)TICKS << times)) & TIME_MASK;
	return tag_of(k) | (uint64_t)times << TIME_BITS | until;
}

void
rests_begin(struct rests *r, struct twice_key_hash k, int64_t now_ms)
{
	_Atomic uint64_t *slot = &r->slots[k.lo % SLOTS];
	uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
	bool again = is_of(old, k) && ticks_until(old, now_ms) > -FORGOTTEN_TICKS;
	unsigned times = again ? times_of(old) + 1 : 0;
	if (times > TIMES_MOST)
		times = TIMES_MOST;
	atomic_store_explicit(slot, word_of(k, times, now_ms), memory_order_relaxed);
}

void
rests_end(struct rests *r, struct twice_key_hash k)
{
	_Atomic uint64_t *slot = &r->slots[k.lo % SLOTS];
	uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
	if (is_of(old, k))
		atomic_compare_exchange_strong(slot, &old, 0);
}

bool
rests_has(struct rests *r, struct twice_key_hash k, int64_t now_ms)
{
	_Atomic uint64_t *slot = &r->slots[k.lo % SLOTS];
	uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
	if (!is_of(old, k))
		return false;
	int32_t left = ticks_until(old, now_ms);
	if (left > 0)
		return true;
	if (left <= -FORGOTTEN_TICKS)
		return false;
	/* The one who makes it rest again asks. */
	return !atomic_compare_exchange_strong(slot, &old, word_of(k, times_of(old), now_ms));
}
