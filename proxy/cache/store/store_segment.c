/* store_segment.c - segments: opened, sealed by a footer; their files.
 *
 * A segment that is full is sealed and the next free one is opened; a reading thread sees to it
 * that free ones are at hand (store_room.c).
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { RESERVE_SHARE = 20 };

static const uint64_t RESERVE_MOST = 1 << 30;

/* ---- footers ------------------------------------------------------------------------------- */

struct footer_job {
	struct diskio_job job; /* first */
	struct store *store;
	uint32_t segment, generation;
	uint64_t offset;
	struct buf bytes;
};

/* Nothing at all could be written to the segment: it is free as it was. Under the lock. */
static bool
give_back_empty(struct store *st, uint32_t segment, uint32_t generation)
{
	const struct ledger_slot *slot = &st->ledger.slots[segment];
	if (st->holds[segment] == generation || slot->state != SEGMENT_SEALED ||
	    slot->generation != generation || slot->leases || slot->holds)
		return false;
	store_set_life(st, segment, 0);
	ledger_free(&st->ledger, segment);
	if (atomic_load(&st->slots.fds[segment]) < 0)
		ledger_drop(&st->ledger, segment); /* it has no file */
	return true;
}

/* Its batches are found by walking, but for those behind a hole: and then the records that these
 * replaced would be back. */
static void
forget_unlisted(const struct footer_job *f, bool has_hole)
{
	struct batch_header h;
	const char *trailer = f->bytes.p + f->bytes.n - SEGMENT_HEADER_BYTES;
	if (has_hole && batch_header_parse(trailer, SEGMENT_HEADER_BYTES, &h))
		store_forget_replaced(f->store, f->bytes.p + h.table_at, h.entries);
}

static void
write_footer(struct diskio_job *j)
{
	struct footer_job *f = (struct footer_job *)j;
	struct store *st = f->store;
	int fd = atomic_load(&st->slots.fds[f->segment]);
	pthread_mutex_lock(&st->lock);
	bool empty = give_back_empty(st, f->segment, f->generation);
	pthread_mutex_unlock(&st->lock);
	if (empty) {
		;
	} else if (diskio_write_all(st->o.ops, fd, f->bytes.p, f->bytes.n, f->offset) == 0) {
		atomic_fetch_add(&st->counts.written_bytes, f->bytes.n);
	} else {
		int error = errno;
		pthread_mutex_lock(&st->lock);
		store_fail(st, "write", error);
		bool has_hole = st->losses.holes[f->segment] == f->generation;
		struct ledger_slot *slot = &st->ledger.slots[f->segment];
		if (slot->generation == f->generation && slot->replaced)
			slot->replaced = UINT32_MAX; /* nobody can list them */
		pthread_mutex_unlock(&st->lock);
		forget_unlisted(f, has_hole);
	}
	atomic_fetch_sub(&st->footers_bytes, f->bytes.n);
	buf_fini(&f->bytes);
	free(f);
}

static void
post_footer(struct store *st)
{
	uint32_t segment = (uint32_t)st->ledger.open;
	struct ledger_slot *slot = &st->ledger.slots[segment];
	uint64_t entries = st->table.n / SEGMENT_ENTRY_BYTES;
	uint64_t all = footer_bytes(entries);
	struct batch_header h = {
		.is_footer = true,
		.opening = st->opening,
		.segment = segment,
		.generation = slot->generation,
		.page = (uint32_t)(slot->used / SEGMENT_PAGE),
		.bytes = (uint32_t)all,
		.table_at = (uint32_t)(all - SEGMENT_HEADER_BYTES - st->table.n),
		.entries = (uint32_t)entries,
		.table_checksum = segment_checksum(st->table.p ? st->table.p : "", st->table.n),
		.clean_as_of = st->clean_as_of[segment],
		.opened_s = st->opened_s,
	};
	struct footer_job *f = NEW(struct footer_job);
	*f = (struct footer_job){{NULL, write_footer},	    st, segment, slot->generation,
				 st->o.segment_bytes - all, {0}};
	memset(buf_room(&f->bytes, all), 0, all);
	buf_added(&f->bytes, all);
	if (st->table.n)
		memcpy(f->bytes.p + h.table_at, st->table.p, st->table.n);
	batch_header_format(&h, f->bytes.p + all - SEGMENT_HEADER_BYTES);
	atomic_fetch_add(&st->footers_bytes, all);
	diskio_post(st->io, DISKIO_WRITES, &f->job);
}

void
store_seal(struct store *st)
{
	post_footer(st);
	ledger_seal(&st->ledger);
	st->table.n = 0;
	st->link = 0;
}

/* ---- files --------------------------------------------------------------------------------- */

uint64_t
store_reserve(uint64_t keep_free, uint64_t all_bytes)
{
	uint64_t share = all_bytes / RESERVE_SHARE;
	uint64_t millionths = keep_free & ~STORE_KEEP_SHARE, million = 1000000;
	if (keep_free & STORE_KEEP_SHARE)
		return all_bytes / million * millionths +
		       all_bytes % million * millionths / million;
	if (keep_free)
		return keep_free;
	return share < RESERVE_MOST ? share : RESERVE_MOST;
}

/* The file system is not ours alone: a new file leaves others their part of it. True: the room is
 * promised, until the file has taken it (has_taken_room); files are made on two threads, and behind
 * what is to be written. */
static bool
promise_room(struct store *st)
{
	uint64_t free_bytes, all_bytes, promised = atomic_fetch_add(&st->promised, 1) + 1;
	if (st->o.ops->room(st->o.dir_fd, &free_bytes, &all_bytes) != 0)
		return true; /* a file system that does not say */
	uint64_t reserve = store_reserve(st->o.keep_free, all_bytes) + st->o.beside_bytes;
	if (free_bytes >= reserve && free_bytes - reserve >= promised * st->o.segment_bytes)
		return true;
	atomic_fetch_sub(&st->promised, 1);
	errno = ENOSPC;
	return false;
}

static void
has_taken_room(struct store *st)
{
	atomic_fetch_sub(&st->promised, 1);
}

struct make_job {
	struct diskio_job job; /* first */
	struct store *store;
	uint32_t slot;
};

/* On the writer's thread, before the first batch comes. */
static void
make_file(struct diskio_job *j)
{
	struct make_job *m = (struct make_job *)j;
	struct store *st = m->store;
	int fd = store_open_segment_file(st, m->slot, true);
	if (fd >= 0 && st->o.ops->renew(fd, (off_t)st->o.segment_bytes) != 0) {
		int error = errno;
		close(fd);
		fd = -1;
		pthread_mutex_lock(&st->lock);
		store_is_cramped(st, error);
		pthread_mutex_unlock(&st->lock);
	}
	atomic_store(&st->slots.fds[m->slot], fd);
	has_taken_room(st);
	free(m);
}

/* Writes come faster than files are made: as long as the log may grow, nothing goes for that. */
static bool
grow_now(struct store *st)
{
	int64_t slot = now_ms() < st->grow_ms ? -1 : ledger_absent_but(&st->ledger, st->making);
	if (slot < 0 || atomic_load(&st->slots.fds[slot]) >= 0 || !promise_room(st))
		return false;
	struct make_job *m = NEW(struct make_job);
	*m = (struct make_job){{NULL, make_file}, st, (uint32_t)slot};
	ledger_add(&st->ledger, (uint32_t)slot);
	diskio_post(st->io, DISKIO_WRITES, &m->job);
	return ledger_open_next(&st->ledger);
}

bool
store_add_segment(struct store *st, uint32_t slot)
{
	int fd = atomic_load(&st->slots.fds[slot]);
	if (fd < 0)
		fd = store_open_segment_file(st, slot, true);
	bool promised = fd >= 0 && promise_room(st);
	bool yes = promised && st->o.ops->renew(fd, (off_t)st->o.segment_bytes) == 0;
	int error = errno;
	if (promised)
		has_taken_room(st);
	if (fd >= 0)
		atomic_store(&st->slots.fds[slot], fd);
	pthread_mutex_lock(&st->lock);
	st->making = -1;
	if (!yes)
		store_is_cramped(st, error);
	else if (st->ledger.exist < st->ledger.limit) /* others may have grown it meanwhile */
		ledger_add(&st->ledger, slot);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* A slot whose file is to be made, or -1. */
int64_t
store_missing_file(const struct store *st)
{
	return now_ms() < st->grow_ms ? -1 : ledger_absent(&st->ledger);
}

bool
store_may_empty(const struct store *st)
{
	return st->duty == STORE_WORKS && !store_waits(st) &&
	       (!st->o.may_forget || st->o.may_forget(st->o.ctx));
}

bool
store_wants_segment(const struct store *st)
{
	bool grows = st->ledger.free < STORE_GROW_AHEAD && store_missing_file(st) >= 0;
	if (st->closing || !store_may_write(st))
		return false;
	return grows || (store_may_empty(st) && ledger_wants_free(&st->ledger));
}

void
store_ask_for_room(struct store *st)
{
	bool faded = st->faded != ledger_fades(&st->ledger);
	if (st->preparing || st->closing || !store_may_write(st) ||
	    !(faded || store_wants_segment(st)))
		return;
	st->preparing = true;
	diskio_post(st->io, DISKIO_READS, &st->prepare);
}

/* Writes come faster than segments are emptied: the victim's slot is given away at once. Its
 * records cannot be found until they have moved on. */
static bool
take_segment(struct store *st)
{
	int64_t victim = store_may_empty(st) ? ledger_victim_at_once(&st->ledger) : -1;
	if (victim < 0)
		return false;
	struct store_taken *t = NEW(struct store_taken);
	*t = (struct store_taken){{NULL, st->clean}, st,
				  (uint32_t)victim,  st->ledger.slots[victim].generation,
				  st->codes[victim], st->ledger.slots[victim].replaced};
	uint64_t clean = st->clean_as_of[victim];
	if (st->taken_n++ == 0 || clean < st->taken_clean_as_of)
		st->taken_clean_as_of = clean;
	store_set_life(st, (uint32_t)victim, 0);
	ledger_free(&st->ledger, (uint32_t)victim);
	diskio_post(st->io, DISKIO_WRITES, &t->job);
	return ledger_open_next(&st->ledger);
}

bool
store_open_segment(struct store *st)
{
	/* A disk that fails is no reason to give up what is on it. */
	bool yes = ledger_open_next(&st->ledger) ||
		   (!atomic_load(&st->health.failing) && (grow_now(st) || take_segment(st)));
	if (yes) {
		uint32_t slot = (uint32_t)st->ledger.open;
		atomic_store(&st->slots.written[slot], 0);
		store_direct_begin(st, slot);
		st->codes[slot] = (st->codes[slot] + 1) & INDEX_GENERATION_MASK;
		st->clean_as_of[slot] = UINT64_MAX;
		st->opened_s = (uint64_t)now_s();
		store_set_life(st, slot, st->ledger.slots[slot].generation);
	}
	store_ask_for_room(st);
	return yes;
}
