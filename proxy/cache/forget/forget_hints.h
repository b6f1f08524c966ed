/* forget_hints.h - what need not be asked: which sorts of things were forgotten at all, which
 * lengths prefixes have, and a small Bloom filter of tags.
 *
 * A hint may say yes where the answer is no, never the other way round. Anybody may ask while one
 * thread notes or replaces.
 *
 * Memory    the filter has 8 to 16 bits for each entry that the table may hold.
 */
#ifndef CACHE_FORGET_HINTS_H
#define CACHE_FORGET_HINTS_H

#include "proxy/cache/forget/purge_log.h"

#include <stdatomic.h>

enum { FORGET_LENGTH_WORDS = PURGE_PREFIX_MOST / 64 };

struct forget_hints {
	_Atomic uint32_t sorts; /* a bit for each kind; for soft ones, one further up */
	unsigned shift;		/* of a hash, to a word of the filter */
	size_t words;
	_Atomic uint64_t *tags;
	_Atomic uint64_t lengths[FORGET_LENGTH_WORDS]; /* bit n: there is a prefix of n bytes */
};

void forget_hints_init(struct forget_hints *h, uint64_t entries);
void forget_hints_fini(struct forget_hints *h);
void forget_hints_note(struct forget_hints *h, const struct purge_entry *e);
/* From now on h says what fresh, of the same size, says. At any time in between it says yes to
 * whatever both say yes to. */
void forget_hints_replace(struct forget_hints *h, const struct forget_hints *fresh);

static inline uint32_t
forget_hints_sort(enum forget_kind kind, bool soft)
{
	return UINT32_C(1) << ((unsigned)kind + (soft ? 16 : 0));
}

/* A soft purge has another hash in the table than a hard one of the same thing. Applied twice, this gives the
 * first hash back. */
static inline struct twice_key_hash
forget_softly(struct twice_key_hash hash)
{
	static const uint64_t soft = 0x736f66746c793f21;
	return (struct twice_key_hash){hash.lo ^ soft, hash.hi};
}

/* The tables hold this of a tag, of which 32 bits are known. */
static inline struct twice_key_hash
forget_tag_key(uint32_t tag)
{
	static const uint64_t spread = 0x9e3779b97f4a7c15, salt = 0x7461672d7461672d;
	return (struct twice_key_hash){((uint64_t)tag ^ salt) * spread, (uint64_t)tag * spread};
}

static inline uint64_t
forget_hints_bits(uint64_t lo)
{
	return UINT64_C(1) << (lo >> 58) | UINT64_C(1) << (lo >> 52 & 63) |
	       UINT64_C(1) << (lo >> 46 & 63);
}

static inline bool
forget_hints_has_tag(const struct forget_hints *h, struct twice_key_hash tag)
{
	uint64_t bits = forget_hints_bits(tag.lo);
	uint64_t word = atomic_load_explicit(&h->tags[tag.hi >> h->shift], memory_order_relaxed);
	return (word & bits) == bits;
}

#endif
