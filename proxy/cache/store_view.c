/* store_view.c - what of a segment's file the page cache holds. The file is mapped for the question
 * and never looked into.
 *
 * Threads   any, while the file stays: it is of a slot, whatever life that is in.
 */
#include "proxy/cache/store_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

void
store_view_init(struct store *st)
{
	if (st->o.ops->map)
		st->views = mem_zalloc(st->ledger.slots_n * sizeof *st->views);
}

void
store_view_fini(struct store *st)
{
	for (uint32_t i = 0; st->views && i < st->ledger.slots_n; i++)
		if (atomic_load(&st->views[i]))
			st->o.ops->unmap(atomic_load(&st->views[i]), st->o.segment_bytes);
	free(st->views);
}

/* The file, where the kernel can be asked about its pages; NULL: it cannot. */
static void *
view_of(struct store *st, uint32_t slot)
{
	void *view = atomic_load_explicit(&st->views[slot], memory_order_acquire), *other = NULL;
	if (view)
		return view;
	view = st->o.ops->map(atomic_load(&st->fds[slot]), st->o.segment_bytes);
	if (view && !atomic_compare_exchange_strong(&st->views[slot], &other, view)) {
		st->o.ops->unmap(view, st->o.segment_bytes);
		view = other;
	}
	return view;
}

bool
store_is_cached(struct store *st, uint32_t slot, uint64_t offset, size_t n)
{
	const char *view = st->views ? view_of(st, slot) : NULL;
	return view && st->o.ops->is_cached(view, offset, n);
}
