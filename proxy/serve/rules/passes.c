/* passes.c - one word per slot: 40 bits of the hash of key and kind, and 24 bits of the time it holds until.
 */
#include "proxy/serve/rules/passes.h"

#include "proxy/base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 1 << 14 };
#define TIME_MASK ((1u << 24) - 1)

enum table { SHARING, RELOADS, SLICING, HOPS, TABLES };

static const enum table table_of[] = {
#define ROW(id, table, what) [PASSES_##id] = table,
	PASSES_KINDS(ROW)
#undef ROW
};

struct passes {
	_Atomic uint64_t slots[TABLES][SLOTS];
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

struct twice_key_hash
passes_key(struct twice_key_hash key, uint64_t number)
{
	uint64_t bits = number * 0x9e3779b97f4a7c15u;
	return (struct twice_key_hash){.lo = key.lo + bits, .hi = key.hi ^ bits};
}

struct place {
	enum table table;
	size_t slot;
	uint64_t tag;
};

static struct place
place_of(enum passes_kind kind, struct twice_key_hash key)
{
	struct twice_key_hash k = passes_key(key, (uint64_t)kind);
	return (struct place){table_of[kind], k.lo % SLOTS, k.hi & ~(uint64_t)TIME_MASK};
}

void
passes_remember(struct passes *p, enum passes_kind kind, struct twice_key_hash key, int64_t until_s)
{
	struct place at = place_of(kind, key);
	atomic_store_explicit(&p->slots[at.table][at.slot],
			      at.tag | ((uint64_t)until_s & TIME_MASK), memory_order_relaxed);
}

void
passes_forget(struct passes *p, enum passes_kind kind, struct twice_key_hash key)
{
	struct place at = place_of(kind, key);
	_Atomic uint64_t *slot = &p->slots[at.table][at.slot];
	uint64_t v = atomic_load_explicit(slot, memory_order_relaxed);
	if (v && (v & ~(uint64_t)TIME_MASK) == at.tag)
		atomic_compare_exchange_strong(slot, &v, 0);
}

bool
passes_has(const struct passes *p, enum passes_kind kind, struct twice_key_hash key, int64_t now)
{
	struct place at = place_of(kind, key);
	uint64_t v = atomic_load_explicit(&p->slots[at.table][at.slot], memory_order_relaxed);
	if (v == 0 || (v & ~(uint64_t)TIME_MASK) != at.tag)
		return false;
	/* Serial-number arithmetic: the clock's low 24 bits come round every 194 days. */
	uint32_t left = ((uint32_t)v - (uint32_t)now) & TIME_MASK;
	return left > 0 && left < 1u << 20;
}
