/* store_direct.c - fragments that may be sent from their file as they lie there.
 *
 * A bit for each STORE_CHECKED_UNIT of each segment says that the fragment which begins there was read
 * and found right in this life of the segment, and that nobody has written to the file since. What
 * the page cache has kept since then is sent without another look; what left it is read and checked
 * anew, for its bit is taken back when the kernel says that it is not there. (What came back in
 * between, by the kernel's own reading ahead, is not noticed.) So nothing is sent unread from the
 * segment that is being written.
 *
 * Between that look and the end of sendfile the pages may go, and the worker would wait for the disk. So they are
 * sent so only while the disk has answered a moment ago (diskio_answers): of one that hangs nothing is sent but
 * what was read, without waiting, into memory.
 *
 * Bytes that are under way from the device are no bytes yet: files are not read ahead (POSIX_FADV_RANDOM),
 * and whoever is about to read a fragment from the device takes its bit back first (store_unchecked).
 *
 * Threads   any. Fragments are leased, so that their segment is not opened anew meanwhile.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

void
store_direct_init(struct store *st)
{
	size_t slots = st->ledger.slots_n;
	if (!st->slots.views || st->o.verify_always)
		return;
	st->slots.checked = mem_zalloc(slots * store_checked_words(st) * sizeof *st->slots.checked);
	st->slots.stamps = mem_zalloc(slots * sizeof *st->slots.stamps);
}

void
store_direct_fini(struct store *st)
{
	free(st->slots.checked);
	free(st->slots.stamps);
}

void
store_direct_begin(struct store *st, uint32_t slot)
{
	uint32_t words = store_checked_words(st);
	for (uint32_t i = 0; st->slots.checked && i < words; i++)
		atomic_store_explicit(&st->slots.checked[slot * (size_t)words + i], 0,
				      memory_order_relaxed);
}

uint64_t
store_stamp(struct store *st, const struct locator *at)
{
	return st->slots.checked ? st->o.ops->stamp(atomic_load(&st->slots.fds[at->segment])) : 0;
}

/* Somebody has written to the file, most likely we: what was checked may be something else now.
 * False: it was written to once more. */
static bool
begin_stamp(struct store *st, uint32_t slot, uint64_t stamp)
{
	uint64_t was = atomic_load(&st->slots.stamps[slot]);
	while (was < stamp)
		if (atomic_compare_exchange_weak(&st->slots.stamps[slot], &was, stamp)) {
			store_direct_begin(st, slot);
			return true;
		}
	return was == stamp;
}

void
store_checked(struct store *st, const struct locator *at, uint64_t stamp)
{
	uint64_t bit;
	if (!stamp || at->bytes < STORE_CHECKED_UNIT || !begin_stamp(st, at->segment, stamp))
		return;
	_Atomic uint64_t *word = store_checked_word(st, at, &bit);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		atomic_fetch_or(word, bit);
	if (atomic_load(&st->slots.stamps[at->segment]) != stamp)
		atomic_fetch_and(word, ~bit);
}

bool
store_direct(struct store *st, const struct locator *at, struct file_piece *out)
{
	uint64_t bit, offset = (uint64_t)at->offset * SEGMENT_ALIGN;
	if (!st->slots.checked || at->bytes < STORE_CHECKED_UNIT || !store_is_current(st, at) ||
	    offset + at->bytes >
		    atomic_load_explicit(&st->slots.written[at->segment], memory_order_acquire))
		return false;
	_Atomic uint64_t *word = store_checked_word(st, at, &bit);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		return false;
	if (store_stamp(st, at) != atomic_load(&st->slots.stamps[at->segment]) ||
	    !store_is_cached(st, at->segment, offset, at->bytes)) {
		atomic_fetch_and(word, ~bit);
		return false;
	}
	*out = (struct file_piece){.fd = atomic_load(&st->slots.fds[at->segment]),
				   .view = atomic_load(&st->slots.views[at->segment]),
				   .at = offset,
				   .n = at->bytes,
				   .is_here = true};
	return diskio_answers(st->io, st->o.ops, out->fd, offset, &out->until_ms);
}
