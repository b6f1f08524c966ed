/* forget_hints.c - notes and replaces; asking is in the header. */
#include "proxy/cache/forget/forget_hints.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BITS_PER_ENTRY = 8, FEWEST_WORDS = 64 };

void
forget_hints_init(struct forget_hints *h, uint64_t entries)
{
	size_t words = FEWEST_WORDS;
	memset(h, 0, sizeof *h);
	while (words * 64 < entries * BITS_PER_ENTRY)
		words *= 2;
	h->words = words;
	h->shift = 64 - (unsigned)__builtin_ctzll(words);
	h->tags = mem_zalloc(words * sizeof *h->tags);
}

void
forget_hints_fini(struct forget_hints *h)
{
	free(h->tags);
	memset(h, 0, sizeof *h);
}

void
forget_hints_note(struct forget_hints *h, const struct purge_entry *e)
{
	if (e->kind == FORGET_TAG) {
		uint64_t lo = e->flags & FORGET_SOFT ? forget_softly(e->hash).lo : e->hash.lo;
		atomic_fetch_or_explicit(&h->tags[e->hash.hi >> h->shift], forget_hints_bits(lo),
					 memory_order_relaxed);
	}
	if (e->kind == FORGET_PREFIX)
		atomic_fetch_or_explicit(&h->lengths[e->prefix_bytes / 64],
					 UINT64_C(1) << (e->prefix_bytes % 64),
					 memory_order_relaxed);
	atomic_fetch_or_explicit(
		&h->sorts, forget_hints_sort((enum forget_kind)e->kind, e->flags & FORGET_SOFT),
		memory_order_release);
}

void
forget_hints_replace(struct forget_hints *h, const struct forget_hints *fresh)
{
	assert(h->words == fresh->words);
	atomic_store_explicit(&h->sorts, atomic_load(&fresh->sorts), memory_order_relaxed);
	for (size_t i = 0; i < FORGET_LENGTH_WORDS; i++)
		atomic_store_explicit(&h->lengths[i], atomic_load(&fresh->lengths[i]),
				      memory_order_relaxed);
	for (size_t i = 0; i < h->words; i++)
		atomic_store_explicit(&h->tags[i], atomic_load(&fresh->tags[i]),
				      memory_order_relaxed);
}
