/* store_direct.c - fragments that may be sent from their file as they lie there.
 *
 * A bit for each CHECKED_UNIT of each segment says that the fragment which begins there was read
 * and found right in this life of the segment, and that nobody has written to the file since. What
 * the page cache has kept since then is sent without another look; what left it is read and checked
 * anew, for its bit is taken back when the kernel says that it is not there. (What came back in
 * between, by the kernel's own reading ahead, is not noticed.) So nothing is sent unread from the
 * segment that is being written.
 *
 * Threads   any. Fragments are leased, so that their segment is not opened anew meanwhile.
 */
#include "proxy/cache/store_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

/* A fragment of at least so many bytes begins in a unit of its own. */
enum { CHECKED_UNIT = 16 << 10, WORD_BITS = 64 };

static uint32_t
words_of(const struct store *st)
{
	uint64_t units = (st->o.segment_bytes + CHECKED_UNIT - 1) / CHECKED_UNIT;
	return (uint32_t)((units + WORD_BITS - 1) / WORD_BITS);
}

void
store_direct_init(struct store *st)
{
	if (st->o.verify_always || !st->o.ops->map)
		return;
	size_t slots = st->ledger.slots_n;
	st->checked = mem_zalloc(slots * words_of(st) * sizeof *st->checked);
	st->stamps = mem_zalloc(slots * sizeof *st->stamps);
	st->views = mem_zalloc(slots * sizeof *st->views);
}

void
store_direct_fini(struct store *st)
{
	for (uint32_t i = 0; st->views && i < st->ledger.slots_n; i++)
		if (atomic_load(&st->views[i]))
			st->o.ops->unmap(atomic_load(&st->views[i]), st->o.segment_bytes);
	free(st->checked);
	free(st->stamps);
	free(st->views);
}

void
store_direct_begin(struct store *st, uint32_t slot)
{
	uint32_t words = words_of(st);
	for (uint32_t i = 0; st->checked && i < words; i++)
		atomic_store_explicit(&st->checked[slot * (size_t)words + i], 0,
				      memory_order_relaxed);
}

static _Atomic uint64_t *
word_of(const struct store *st, const struct locator *at, uint64_t *bit)
{
	uint64_t unit = (uint64_t)at->offset * SEGMENT_ALIGN / CHECKED_UNIT;
	*bit = UINT64_C(1) << unit % WORD_BITS;
	return &st->checked[at->segment * (size_t)words_of(st) + unit / WORD_BITS];
}

uint64_t
store_stamp(struct store *st, const struct locator *at)
{
	return st->checked ? st->o.ops->stamp(atomic_load(&st->fds[at->segment])) : 0;
}

/* Somebody has written to the file, most likely we: what was checked may be something else now.
 * False: it was written to once more. */
static bool
begin_stamp(struct store *st, uint32_t slot, uint64_t stamp)
{
	uint64_t was = atomic_load(&st->stamps[slot]);
	while (was < stamp)
		if (atomic_compare_exchange_weak(&st->stamps[slot], &was, stamp)) {
			store_direct_begin(st, slot);
			return true;
		}
	return was == stamp;
}

void
store_checked(struct store *st, const struct locator *at, uint64_t stamp)
{
	uint64_t bit;
	if (!stamp || at->bytes < CHECKED_UNIT || !begin_stamp(st, at->segment, stamp))
		return;
	_Atomic uint64_t *word = word_of(st, at, &bit);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		atomic_fetch_or(word, bit);
	if (atomic_load(&st->stamps[at->segment]) != stamp)
		atomic_fetch_and(word, ~bit);
}

void
store_unchecked(struct store *st, const struct locator *at)
{
	uint64_t bit;
	if (!st->checked || at->bytes < CHECKED_UNIT)
		return;
	_Atomic uint64_t *word = word_of(st, at, &bit);
	atomic_fetch_and(word, ~bit);
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
store_direct(struct store *st, const struct locator *at, struct file_piece *out)
{
	uint64_t bit, offset = (uint64_t)at->offset * SEGMENT_ALIGN;
	if (!st->checked || at->bytes < CHECKED_UNIT || !store_is_current(st, at) ||
	    offset + at->bytes >
		    atomic_load_explicit(&st->written[at->segment], memory_order_acquire))
		return false;
	_Atomic uint64_t *word = word_of(st, at, &bit);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		return false;
	const char *view = view_of(st, at->segment);
	if (!view || store_stamp(st, at) != atomic_load(&st->stamps[at->segment]) ||
	    !st->o.ops->is_cached(view, offset, at->bytes)) {
		atomic_fetch_and(word, ~bit);
		return false;
	}
	*out = (struct file_piece){atomic_load(&st->fds[at->segment]), offset, at->bytes};
	return true;
}
