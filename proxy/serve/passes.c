/* passes.c - one word per slot: 40 bits of the key's hash and 24 bits of the time it holds until.
 */
#include "proxy/serve/passes.h"

#include "proxy/base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 1 << 14 };
#define TIME_MASK ((1u << 24) - 1)

struct passes {
	_Atomic uint64_t slots[SLOTS];
};

struct passes *
passes_create(void)
{
	return NEW(struct passes);
}

void
passes_destroy(struct passes **p)
{
	free(*p);
	*p = NULL;
}

static uint64_t
tag_of(struct twice_key_hash k)
{
	return k.hi & ~(uint64_t)TIME_MASK;
}

void
passes_remember(struct passes *p, struct twice_key_hash k, int64_t until_s)
{
	atomic_store_explicit(&p->slots[k.lo % SLOTS], tag_of(k) | ((uint64_t)until_s & TIME_MASK),
			      memory_order_relaxed);
}

void
passes_forget(struct passes *p, struct twice_key_hash k)
{
	uint64_t v = atomic_load_explicit(&p->slots[k.lo % SLOTS], memory_order_relaxed);
	if (v && (v & ~(uint64_t)TIME_MASK) == tag_of(k))
		atomic_compare_exchange_strong(&p->slots[k.lo % SLOTS], &v, 0);
}

bool
passes_has(const struct passes *p, struct twice_key_hash k, int64_t now)
{
	uint64_t v = atomic_load_explicit(&p->slots[k.lo % SLOTS], memory_order_relaxed);
	if (v == 0 || (v & ~(uint64_t)TIME_MASK) != tag_of(k))
		return false;
	/* Serial-number arithmetic: the clock's low 24 bits come round every 194 days. */
	uint32_t left = ((uint32_t)v - (uint32_t)now) & TIME_MASK;
	return left > 0 && left < 1u << 20;
}
