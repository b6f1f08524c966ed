/* store_find.c - where is it, and what are its bytes? From the index, and from the file or, as long
 * as that does not hold it, from the batch in memory.
 */
#include "proxy/cache/store/store_inside.h"

#include <errno.h>

/* The index keeps some bits of the generation; the rest follows from the segment's own. */
bool
store_complete(const struct store *st, uint32_t known_from, struct locator *at)
{
	if (at->segment >= st->ledger.slots_n)
		return false;
	uint64_t life = atomic_load_explicit(&st->slots.lives[at->segment], memory_order_acquire);
	if (life == 0 || life >> 32 != at->generation || (uint32_t)life < known_from)
		return false;
	at->generation = (uint32_t)life;
	return true;
}

bool
store_find(struct store *st, struct twice_key_hash hash, struct locator *out, unsigned *hits)
{
	uint32_t known_from = store_known_from(st);
	return index_hit(st->index, hash.hi, out, hits) && store_complete(st, known_from, out);
}

bool
store_look(struct store *st, struct twice_key_hash hash, struct locator *out)
{
	uint32_t known_from = store_known_from(st);
	return index_find(st->index, hash.hi, out) && store_complete(st, known_from, out);
}

void
store_list(struct store *st, void (*see)(void *ctx, const uint64_t *hash_hi, size_t n), void *ctx)
{
	index_list(st->index, see, ctx);
}

bool
store_has(struct store *st, struct twice_key_hash hash)
{
	struct locator at;
	return index_find(st->index, hash.hi, &at);
}

bool
store_touch(struct store *st, struct twice_key_hash hash)
{
	struct locator at;
	unsigned hits;
	return index_hit(st->index, hash.hi, &at, &hits) && hits < STORE_PAYING_HITS;
}

_Static_assert((int)STORE_PAYING_HITS == (int)INDEX_MAX_HITS, "what pays is what is counted");

void
store_pay(struct store *st, const struct locator *at, uint64_t bytes)
{
	if (store_is_current(st, at))
		ledger_pay(&st->ledger, at->segment, bytes, 1);
}

uint32_t
store_fades(const struct store *st)
{
	return ledger_fades(&st->ledger);
}

void
store_clear(struct store *st, struct twice_key_hash hash, const struct locator *at)
{
	struct locator place;
	if (store_index_place(st, at, &place))
		store_unindex(st, hash.hi, &place);
}

void
store_forget(struct store *st, struct twice_key_hash hash, const struct locator *at)
{
	struct locator place;
	if (store_index_place(st, at, &place) && store_unindex(st, hash.hi, &place))
		store_leaves_behind(st, hash.hi);
}

bool
store_lies_at(struct store *st, struct twice_key_hash hash, const struct locator *at)
{
	struct locator now;
	return store_look(st, hash, &now) && locator_equal(&now, at);
}

bool
store_is_current(const struct store *st, const struct locator *at)
{
	return at->segment < st->ledger.slots_n && at->generation != 0 &&
	       store_generation(st, at->segment) == at->generation;
}

/* Current, or being vacated on this thread. */
static bool
is_readable(const struct store *st, const struct locator *at)
{
	return store_is_current(st, at) ||
	       (at->generation != 0 && atomic_load_explicit(&st->taken, memory_order_relaxed) ==
					       ((uint64_t)at->generation << 32 | at->segment));
}

static const struct batch *
find_pending(const struct store *st, const struct locator *at, uint64_t offset)
{
	const struct batch *b = st->pending;
	while (b && !(b->segment == at->segment && b->generation == at->generation &&
		      offset >= b->offset && offset < b->offset + b->used))
		b = b->next;
	return b;
}

/* Bytes not in the file yet are in a pending batch. *out NULL: there is no memory for it. */
static bool
read_pending(struct store *st, const struct locator *at, uint64_t offset, struct block **out)
{
	pthread_mutex_lock(&st->lock);
	const struct batch *b = find_pending(st, at, offset);
	if (b) {
		uint64_t from = offset - b->offset, n = b->used - from;
		n = n < at->bytes ? n : at->bytes;
		*out = block_try((uint32_t)n);
		if (*out) {
			memcpy((*out)->p, b->p + from, n);
			(*out)->n = (uint32_t)n;
		}
	}
	pthread_mutex_unlock(&st->lock);
	return b;
}

/* Only what needs no waiting. A tmpfs, and some others, cannot read so: there the kernel is asked
 * what its page cache holds, and that is read. */
static bool
read_now(struct store *st, uint32_t slot, char *p, uint64_t n, uint64_t offset)
{
	int fd = atomic_load(&st->slots.fds[slot]);
	if (!atomic_load_explicit(&st->slots.never_now, memory_order_relaxed)) {
		ssize_t got = st->o.ops->read_now(fd, p, n, (off_t)offset);
		if (got >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
			return got == (ssize_t)n;
		atomic_store(&st->slots.never_now, true);
	}
	return store_is_cached(st, slot, offset, n) &&
	       st->o.ops->read(fd, p, n, (off_t)offset) == (ssize_t)n;
}

static enum store_read
read_at(struct store *st, const struct locator *at, struct block **out, bool wait)
{
	if (!is_readable(st, at))
		return STORE_GONE;
	uint64_t offset = (uint64_t)at->offset * SEGMENT_ALIGN;
	if (offset >= st->o.segment_bytes)
		return STORE_GONE;
	if (offset >= atomic_load_explicit(&st->slots.written[at->segment], memory_order_acquire) &&
	    read_pending(st, at, offset, out))
		return *out ? STORE_READ : STORE_GONE;
	uint64_t n = st->o.segment_bytes - offset;
	if (n > at->bytes)
		n = at->bytes;
	struct block *b = block_try_passing((uint32_t)n);
	if (!b) /* without memory it is as if it were not there: the origin is asked */
		return wait ? STORE_GONE : STORE_LATER;
	int fd = atomic_load(&st->slots.fds[at->segment]);
	enum store_read r = STORE_READ;
	int error = 0;
	if (wait) {
		store_unchecked(st, at);
		if (diskio_read_all(st->o.ops, fd, b->p, n, offset) != 0) {
			r = STORE_FAILED;
			error = errno;
		}
	} else if (!read_now(st, at->segment, b->p, n, offset)) {
		r = STORE_LATER;
	}
	b->n = (uint32_t)n;
	if (r != STORE_LATER && !is_readable(st, at))
		r = STORE_GONE;
	if (r == STORE_FAILED)
		store_cannot_read(st, at, error);
	else if (wait && atomic_load_explicit(&st->health.unreadable, memory_order_relaxed))
		atomic_store(&st->health.unreadable, false); /* the next one is news */
	if (r == STORE_READ)
		*out = b;
	else
		block_unref(&b);
	return r;
}

enum store_read
store_read_now(struct store *st, const struct locator *at, struct block **out)
{
	return read_at(st, at, out, false);
}

enum store_read
store_read(struct store *st, const struct locator *at, struct block **out)
{
	return read_at(st, at, out, true);
}

void
store_post(struct store *st, struct diskio_job *j)
{
	diskio_post(st->io, DISKIO_READS, j);
}

bool
store_lease(struct store *st, const struct locator *at)
{
	pthread_mutex_lock(&st->lock);
	bool yes = store_is_current(st, at) && ledger_lease(&st->ledger, at->segment);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

void
store_unlease(struct store *st, const struct locator *at)
{
	pthread_mutex_lock(&st->lock);
	ledger_unlease(&st->ledger, at->segment);
	pthread_mutex_unlock(&st->lock);
}
