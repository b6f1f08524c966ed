/* store_room.c - segments: opened, sealed by a footer, emptied for what comes next.
 *
 * A segment that is full is sealed and the next free one is opened; a reading thread sees to it
 * that free ones are at hand (prepare).
 */
#include "proxy/cache/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* While the log grows, so many free segments are at hand: making a file takes a while. */
enum { GROW_MS = 3000, GROW_AHEAD = 8 };

/* ---- segments ------------------------------------------------------------------------------ */

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
	    slot->generation != generation || slot->leases)
		return false;
	store_set_life(st, segment, 0);
	ledger_free(&st->ledger, segment);
	return true;
}

static void
write_footer(struct diskio_job *j)
{
	struct footer_job *f = (struct footer_job *)j;
	struct store *st = f->store;
	int fd = atomic_load(&st->fds[f->segment]);
	pthread_mutex_lock(&st->lock);
	bool empty = give_back_empty(st, f->segment, f->generation);
	pthread_mutex_unlock(&st->lock);
	if (empty) {
		;
	} else if (diskio_write_all(st->o.ops, fd, f->bytes.p, f->bytes.n, f->offset) == 0) {
		atomic_fetch_add(&st->written_bytes, f->bytes.n);
	} else {
		int error = errno;
		pthread_mutex_lock(&st->lock);
		store_fail(st, "write", error);
		pthread_mutex_unlock(&st->lock);
	}
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
	diskio_post(st->io, DISKIO_WRITES, &f->job);
}

/* A slot whose file is to be made, or -1. */
static int64_t
missing_file(const struct store *st)
{
	return now_ms() < st->grow_ms ? -1 : ledger_absent(&st->ledger);
}

static bool
wants_segment(const struct store *st)
{
	bool grows = st->ledger.free < GROW_AHEAD && missing_file(st) >= 0;
	return !st->closing && (grows || ledger_wants_free(&st->ledger));
}

void
store_ask_for_room(struct store *st)
{
	if (st->preparing || !wants_segment(st))
		return;
	st->preparing = true;
	diskio_post(st->io, DISKIO_READS, &st->prepare);
}

void
store_seal(struct store *st)
{
	post_footer(st);
	ledger_seal(&st->ledger);
	st->table.n = 0;
	st->link = 0;
}

struct taken_job {
	struct diskio_job job; /* first */
	struct store *store;
	uint32_t segment, code;
};

/* On the writer's thread: behind the last batch of the old generation, before the first of the new.
 */
static void
clean_taken(struct diskio_job *j)
{
	struct taken_job *t = (struct taken_job *)j;
	struct store *st = t->store;
	int fd = atomic_load(&st->fds[t->segment]);
	if (st->o.ops->renew(fd, (off_t)st->o.segment_bytes) != 0) {
		int error = errno;
		pthread_mutex_lock(&st->lock);
		store_fail(st, "make room for a segment", error);
		pthread_mutex_unlock(&st->lock);
	}
	uint64_t gone = index_sweep(st->index, t->segment, t->code, NULL, NULL);
	atomic_fetch_add(&st->evicted, gone);
	free(t);
}

/* Writes come faster than segments are emptied: the oldest goes as it is, nothing carried over. Its
 * entries in the index are dead from now on, and are swept out later. */
static bool
take_oldest(struct store *st)
{
	int64_t victim = ledger_victim(&st->ledger);
	if (victim < 0)
		return false;
	struct taken_job *t = NEW(struct taken_job);
	*t = (struct taken_job){{NULL, clean_taken}, st, (uint32_t)victim, st->codes[victim]};
	store_set_life(st, (uint32_t)victim, 0);
	ledger_free(&st->ledger, (uint32_t)victim);
	diskio_post(st->io, DISKIO_WRITES, &t->job);
	return ledger_open_next(&st->ledger);
}

bool
store_open_segment(struct store *st)
{
	/* A disk that fails is no reason to give up what is on it. */
	bool yes = ledger_open_next(&st->ledger) || (!atomic_load(&st->failing) && take_oldest(st));
	if (yes) {
		uint32_t slot = (uint32_t)st->ledger.open;
		atomic_store(&st->written[slot], 0);
		st->codes[slot] = (st->codes[slot] + 1) & INDEX_GENERATION_MASK;
		st->clean_as_of[slot] = UINT64_MAX;
		st->opened_s = (uint64_t)time(NULL);
		store_set_life(st, slot, st->ledger.slots[slot].generation);
	}
	store_ask_for_room(st);
	return yes;
}

/* ---- making room --------------------------------------------------------------------------- */

struct moving {
	struct store *st;
	uint32_t segment, generation, code;
	uint64_t carried;
	struct index_entry *list;
	size_t n;
};

static bool
is_worth_moving(void *ctx, const struct index_entry *e)
{
	struct moving *m = ctx;
	if (!ledger_carries(&m->st->ledger, e->hits, e->at.bytes, 1, m->carried))
		return false;
	m->carried += e->at.bytes;
	if ((m->n & (m->n + 1)) == 0) /* grows at 0, 1, 3, 7, ... */
		m->list = mem_realloc(m->list, (2 * m->n + 1) * sizeof *m->list);
	m->list[m->n++] = *e;
	return true;
}

/* Copies the record to the open segment, body and all, unless it changed meanwhile. */
static bool
move_record(struct moving *m, const struct index_entry *e)
{
	struct store *st = m->st;
	struct locator at = e->at;
	at.generation = m->generation;
	if (store_carry(st, &at, m->segment, m->generation))
		return true;
	struct block *b = NULL;
	struct record r;
	bool moved = false;
	if (store_read(st, &at, &b) != STORE_READ || record_parse(b->p, b->n, &r) ||
	    !record_body_is_right(&r) || !r.is_inline || r.at.generation != m->generation ||
	    r.at.segment != m->segment || r.at.offset != at.offset ||
	    (st->o.is_forgotten && st->o.is_forgotten(st->o.ctx, &r)))
		goto out;
	struct locator now;
	pthread_mutex_lock(&st->lock);
	bool room = st->ledger.free > 0 || store_fits(st, r.at.bytes);
	if (room && index_find(st->index, e->hash_hi, &now) && now.segment == at.segment &&
	    now.generation == m->code && now.offset == at.offset && (moved = store_append(st, &r)))
		atomic_fetch_add(&st->carried_bytes, r.at.bytes);
	pthread_mutex_unlock(&st->lock);
	if (moved && st->o.moved)
		st->o.moved(st->o.ctx, &r, &at);
out:
	block_unref(&b);
	return moved;
}

/* The disk has no room for another file. With others there that is no failure: the log is smaller.
 */
static void
cramped(struct store *st, int error)
{
	st->grow_ms = now_ms() + GROW_MS;
	if (st->ledger.exist == 0)
		store_fail(st, "make a segment file", error);
	else if (!st->is_cramped)
		log_warning("cache %s: no room for all of its %u segments (%s): goes on with %u",
			    st->o.dir, st->ledger.limit, strerror(error), st->ledger.exist);
	st->is_cramped = true;
}

/* Hot bodies that lie in the segment, or a piece of them, while their records are elsewhere: those
 * in several pieces, and those of refreshed objects, whose bodies stayed with the old records. */
static void
move_pieces(struct moving *m)
{
	struct store *st = m->st;
	uint32_t entries = 0;
	char *table = store_read_table(st, m->segment, m->generation, &entries);
	uint64_t last = 0;
	for (uint32_t i = 0; table && i < entries; i++) {
		struct entry e = entry_get(table, i);
		struct locator at;
		if (e.what == 0 || e.hash_hi == last)
			continue;
		last = e.hash_hi;
		if (!index_hits(st->index, e.hash_hi, &at))
			continue;
		if (store_complete(st, &at) && at.segment != m->segment)
			store_carry(st, &at, m->segment, m->generation);
	}
	free(table);
}

/* Readers may still begin while the segment is being emptied. False: one did, and it stays. */
static bool
end_life(struct store *st, uint32_t segment)
{
	pthread_mutex_lock(&st->lock);
	bool yes = st->ledger.slots[segment].leases == 0;
	if (yes)
		store_set_life(st, segment, 0);
	else
		ledger_return(&st->ledger, segment);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* Frees the victim: what is cold goes at once, what is hot is moved, the rest goes after it. */
static bool
empty_segment(struct store *st, uint32_t segment, uint32_t generation)
{
	struct moving m = {.st = st, .segment = segment, .generation = generation};
	m.code = st->codes[segment]; /* nobody opens it before it is free */
	uint64_t gone = index_sweep(st->index, segment, m.code, is_worth_moving, &m);
	for (size_t i = 0; i < m.n; i++)
		if (!move_record(&m, &m.list[i]))
			gone += index_remove_at(st->index, m.list[i].hash_hi, &m.list[i].at);
	free(m.list);
	move_pieces(&m);
	atomic_fetch_add(&st->evicted, gone);
	if (!end_life(st, segment))
		return true; /* another one, then */
	int fd = atomic_load(&st->fds[segment]);
	int r = st->o.ops->renew(fd, (off_t)st->o.segment_bytes), error = errno;
	pthread_mutex_lock(&st->lock);
	ledger_free(&st->ledger, segment);
	ledger_earn(&st->ledger);
	if (r != 0) { /* somebody else took the room */
		ledger_drop(&st->ledger, segment);
		cramped(st, error);
	}
	pthread_mutex_unlock(&st->lock);
	return r == 0;
}

/* The file system is not ours alone: a new file leaves others their part of it. */
static bool
leaves_reserve(const struct store *st)
{
	uint64_t free_bytes, all_bytes;
	if (st->o.ops->room(st->o.dir_fd, &free_bytes, &all_bytes) != 0)
		return true; /* a file system that does not say */
	uint64_t reserve = store_reserve(st->o.keep_free, all_bytes);
	errno = ENOSPC;
	return free_bytes >= reserve && free_bytes - reserve >= st->o.segment_bytes;
}

bool
store_add_segment(struct store *st, uint32_t slot)
{
	int fd = atomic_load(&st->fds[slot]);
	if (fd < 0)
		fd = store_open_segment_file(st, slot, true);
	bool yes = fd >= 0 && leaves_reserve(st) &&
		   st->o.ops->renew(fd, (off_t)st->o.segment_bytes) == 0;
	int error = errno;
	if (fd >= 0)
		atomic_store(&st->fds[slot], fd);
	pthread_mutex_lock(&st->lock);
	if (yes)
		ledger_add(&st->ledger, slot);
	else
		cramped(st, error);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* One segment more is free; false when that cannot be had. What the disk has no room for now leaves
 * the segments there are. */
bool
store_free_one(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	int64_t absent = st->ledger.free < GROW_AHEAD ? missing_file(st) : -1;
	pthread_mutex_unlock(&st->lock);
	if (absent >= 0 && store_add_segment(st, (uint32_t)absent))
		return true;
	pthread_mutex_lock(&st->lock);
	int64_t victim = ledger_wants_free(&st->ledger) ? ledger_victim(&st->ledger) : -1;
	uint32_t generation = victim < 0 ? 0 : st->ledger.slots[victim].generation;
	if (victim >= 0)
		ledger_retire(&st->ledger, (uint32_t)victim);
	pthread_mutex_unlock(&st->lock);
	return victim >= 0 && empty_segment(st, (uint32_t)victim, generation);
}

static bool
wants_free(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool yes = wants_segment(st);
	st->preparing = yes;
	pthread_mutex_unlock(&st->lock);
	return yes;
}

void
store_prepare(struct diskio_job *j)
{
	struct store *st = (struct store *)((char *)j - offsetof(struct store, prepare));
	while (wants_free(st)) {
		if (store_free_one(st))
			continue;
		pthread_mutex_lock(&st->lock);
		st->preparing = false; /* tick asks again */
		pthread_mutex_unlock(&st->lock);
		return;
	}
}
