/* store_direct.c - fragments that may be sent from their file as they lie there.
 *
 * A bit for each CHECKED_UNIT of each segment says that the fragment which begins there was read
 * and found right in this life of the segment, and that nobody has written to the file since. What
 * the page cache has kept since then is sent without another look; what left it is read and checked
 * anew, for its bit is taken back when the kernel says that it is not there. (What came back in
 * between, by the kernel's own reading ahead, is not noticed.) So nothing is sent unread from the
 * segment that is being written.
 *
 * Asking the kernel about 240 KiB costs half of what sending them does. What was found in the page
 * cache is not asked about again for look_ms: a slow client takes longer for one piece anyway.
 *
 * Threads   any. Fragments are leased, so that their segment is not opened anew meanwhile.
 */
#include "proxy/cache/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <stdlib.h>

/* A fragment of at least so many bytes begins in a unit of its own. */
enum { CHECKED_UNIT = 16 << 10, WORD_BITS = 64 };
/* Looks are remembered as a place above a time in 16 ms: it comes round after three days, and then
 * one look is left out. */
enum { LOOKS_BITS = 12, LOOK_TIME_BITS = 24, LOOK_TIME_MS = 16, LOOK_UNIT_BITS = 16 };

static uint32_t
words_of(const struct store *st)
{
	uint64_t units = (st->o.segment_bytes + CHECKED_UNIT - 1) / CHECKED_UNIT;
	return (uint32_t)((units + WORD_BITS - 1) / WORD_BITS);
}

void
store_direct_init(struct store *st)
{
	size_t slots = st->ledger.slots_n;
	if (!st->views || st->o.verify_always)
		return;
	st->checked = mem_zalloc(slots * words_of(st) * sizeof *st->checked);
	st->stamps = mem_zalloc(slots * sizeof *st->stamps);
	if (st->o.look_ms)
		st->looks = mem_zalloc(sizeof *st->looks << LOOKS_BITS);
}

void
store_direct_fini(struct store *st)
{
	free(st->checked);
	free(st->stamps);
	free(st->looks);
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

/* In the page cache, unless that was asked a moment ago. */
static bool
is_still_cached(struct store *st, const struct locator *at, uint64_t offset)
{
	const uint64_t time_most = (UINT64_C(1) << LOOK_TIME_BITS) - 1;
	uint64_t place = (uint64_t)at->segment << LOOK_UNIT_BITS | offset / CHECKED_UNIT;
	uint64_t now = (uint64_t)now_ms() / LOOK_TIME_MS & time_most;
	_Atomic uint64_t *look = NULL;
	if (st->looks) {
		look = &st->looks[place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LOOKS_BITS)];
		uint64_t last = atomic_load_explicit(look, memory_order_relaxed);
		if (last >> LOOK_TIME_BITS == place + 1 &&
		    ((now - last) & time_most) < st->o.look_ms / LOOK_TIME_MS)
			return true;
	}
	if (!store_is_cached(st, at->segment, offset, at->bytes))
		return false;
	if (look)
		atomic_store_explicit(look, (place + 1) << LOOK_TIME_BITS | now,
				      memory_order_relaxed);
	return true;
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
	if (store_stamp(st, at) != atomic_load(&st->stamps[at->segment]) ||
	    !is_still_cached(st, at, offset)) {
		atomic_fetch_and(word, ~bit);
		return false;
	}
	*out = (struct file_piece){atomic_load(&st->fds[at->segment]), offset, at->bytes};
	return true;
}
