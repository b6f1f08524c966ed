/* askers.c - one word for a key: its tag, and whoever asked for it. */
#include "proxy/cache/admission/askers.h"

#include <xxhash.h>

static const uint64_t SEVERAL = UINT32_MAX;

void
askers_hash(struct asker *a, const struct twice_seed *seed)
{
	a->hash = XXH3_64bits_withSecret(a->address, sizeof a->address, seed->secret,
					 sizeof seed->secret);
}

/* Never 0, which is nobody. */
static uint64_t
word_of(struct twice_key_hash key, uint64_t who)
{
	return (key.hi & ~SEVERAL) | (who % (SEVERAL - 1) + 1);
}

static bool
is_of(uint64_t word, struct twice_key_hash key)
{
	return (word & SEVERAL) && (word & ~SEVERAL) == (key.hi & ~SEVERAL);
}

bool
askers_is_alone(const struct askers *a, struct twice_key_hash key, uint64_t who)
{
	uint64_t is = atomic_load_explicit(&a->slots[key.lo % ASKERS_SLOTS], memory_order_relaxed);
	return !is_of(is, key) || is == word_of(key, who);
}

bool
askers_note(struct askers *a, struct twice_key_hash key, uint64_t who)
{
	_Atomic uint64_t *slot = &a->slots[key.lo % ASKERS_SLOTS];
	bool alone = askers_is_alone(a, key, who);
	uint64_t now = alone ? word_of(key, who) : word_of(key, who) | SEVERAL;
	if (atomic_load_explicit(slot, memory_order_relaxed) != now)
		atomic_store_explicit(slot, now, memory_order_relaxed);
	return alone;
}
