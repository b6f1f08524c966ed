/* store_view.c - what of a segment's file the page cache holds, and which fragments of it were checked
 * (store_direct.c). The file is mapped for the question and never looked into.
 *
 * Threads   any, while the file stays: it is of a slot, whatever life that is in.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

void
store_view_init(struct store *st)
{
	if (st->o.ops->map)
		st->slots.views = mem_zalloc(st->ledger.slots_n * sizeof *st->slots.views);
}

void
store_view_fini(struct store *st)
{
	for (uint32_t i = 0; st->slots.views && i < st->ledger.slots_n; i++)
		if (atomic_load(&st->slots.views[i]))
			st->o.ops->unmap(atomic_load(&st->slots.views[i]), st->o.segment_bytes);
	free(st->slots.views);
}

/* The file, where the kernel can be asked about its pages; NULL: it cannot. */
static void *
view_of(struct store *st, uint32_t slot)
{
	void *view = atomic_load_explicit(&st->slots.views[slot], memory_order_acquire),
	     *other = NULL;
	if (view)
		return view;
	view = st->o.ops->map(atomic_load(&st->slots.fds[slot]), st->o.segment_bytes);
	if (view && !atomic_compare_exchange_strong(&st->slots.views[slot], &other, view)) {
		st->o.ops->unmap(view, st->o.segment_bytes);
		view = other;
	}
	return view;
}

bool
store_is_cached(struct store *st, uint32_t slot, uint64_t offset, size_t n)
{
	const char *view = st->slots.views ? view_of(st, slot) : NULL;
	return view && st->o.ops->is_cached(atomic_load(&st->slots.fds[slot]), view, offset, n);
}

enum { WORD_BITS = 64 };

uint32_t
store_checked_words(const struct store *st)
{
	uint64_t units = (st->o.segment_bytes + STORE_CHECKED_UNIT - 1) / STORE_CHECKED_UNIT;
	return (uint32_t)((units + WORD_BITS - 1) / WORD_BITS);
}

_Atomic uint64_t *
store_checked_word(const struct store *st, const struct locator *at, uint64_t *bit)
{
	uint64_t unit = (uint64_t)at->offset * SEGMENT_ALIGN / STORE_CHECKED_UNIT;
	*bit = UINT64_C(1) << unit % WORD_BITS;
	return &st->slots.checked[at->segment * (size_t)store_checked_words(st) + unit / WORD_BITS];
}

void
store_unchecked(struct store *st, const struct locator *at)
{
	uint64_t bit;
	if (!st->slots.checked || at->bytes < STORE_CHECKED_UNIT)
		return;
	_Atomic uint64_t *word = store_checked_word(st, at, &bit);
	atomic_fetch_and(word, ~bit);
}
