/* store_health.c - what must be true of the store, and what is said when the disk fails, cannot be
 * read or is full. Below all other files of the store.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

#include <assert.h>

enum { RETRY_MS = 3000, GROW_MS = 3000 };

void
store_check(const struct store *st)
{
	const struct ledger *l = &st->ledger;
	const struct batch *b = st->open;
	assert(st->pending_bytes % st->batch_bytes == 0);
	assert(st->pending_bytes <= st->o.max_pending_bytes + st->batch_bytes);
	assert((st->pending == NULL) == (st->pending_bytes == 0) && (!b || st->pending));
	assert(!b || (b->segment == l->open && b->used <= st->batch_bytes &&
		      b->offset == l->slots[l->open].used));
	assert(l->free <= l->exist && l->used <= (uint64_t)l->exist * l->segment_bytes);
}

void
store_fail(struct store *st, const char *what, int error)
{
	atomic_fetch_add(&st->counts.io_errors, 1);
	st->health.retry_ms = now_ms() + RETRY_MS;
	if (!atomic_exchange(&st->health.failing, true))
		log_warning("cache %s: cannot %s: %s. Serving goes on; nothing is stored on disk "
			    "until it works again",
			    st->o.dir, what, error ? strerror(error) : "short file");
}

void
store_works_again(struct store *st)
{
	if (atomic_load(&st->health.failing) && atomic_exchange(&st->health.failing, false))
		log_info("cache %s: the disk works again, storing goes on", st->o.dir);
}

bool
store_waits(const struct store *st)
{
	return atomic_load(&st->health.failing) && now_ms() < atomic_load(&st->health.retry_ms);
}

void
store_cannot_read(struct store *st, const struct locator *at, int error)
{
	atomic_fetch_add(&st->counts.io_errors, 1);
	if (!atomic_exchange(&st->health.unreadable, true))
		log_warning(
			"cache %s: cannot read segment.%05u at byte %llu: %s. Objects that cannot "
			"be read are fetched anew; if this is said again, check the disk (dmesg, "
			"smartctl) or name another cache.dir",
			st->o.dir, at->segment, (unsigned long long)at->offset * SEGMENT_ALIGN,
			error ? strerror(error) : "the file is too short");
}

/* The disk has no room for another file. With others there that is no failure: the log is smaller.
 */
void
store_is_cramped(struct store *st, int error)
{
	st->grow_ms = now_ms() + GROW_MS;
	if (st->ledger.exist == 0)
		store_fail(st, "make a segment file", error);
	else if (!st->is_cramped)
		log_warning("cache %s: no room for all of its %u segments (%s): goes on with %u",
			    st->o.dir, st->ledger.limit, strerror(error), st->ledger.exist);
	st->is_cramped = true;
}
