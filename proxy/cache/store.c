/* store.c - ledger + index + files while running: append, write, read, make room.
 *
 *	append --> open batch --full, old or urgent--> writer thread --> segment file
 *	               |  readers copy from it until the file holds it       |
 *	               +-----------------------------------------------------+
 *
 * A segment that is full is sealed by a footer and the next free one is opened; a reading thread
 * sees to it that free ones are at hand (prepare).
 */
#include "proxy/cache/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	MAX_BATCH = 1 << 20,
	MAX_FRAGMENT = 256 << 10,
	POOLED_BATCHES = 4,
	TICK_MS = 100,
	BATCH_AGE_MS = 1000, /* a batch that does not fill is written after this */
	RETRY_MS = 3000,
	GROW_MS = 3000,
	FIRST_FILES = 64, /* made before serving: some milliseconds */
};

/* ---- a disk that fails --------------------------------------------------------------------- */

static void
fail(struct store *st, const char *what, int error)
{
	atomic_fetch_add(&st->io_errors, 1);
	st->retry_ms = now_ms() + RETRY_MS;
	if (!atomic_exchange(&st->failing, true))
		log_warning("cache %s: cannot %s: %s. Serving goes on; nothing is stored on disk "
			    "until it works again",
			    st->o.dir, what, error ? strerror(error) : "short file");
}

static void
works_again(struct store *st)
{
	if (atomic_load(&st->failing) && atomic_exchange(&st->failing, false))
		log_info("cache %s: the disk works again, storing goes on", st->o.dir);
}

static bool
refuse(struct store *st)
{
	atomic_fetch_add_explicit(&st->refused, 1, memory_order_relaxed);
	return false;
}

/* The index keeps some bits of the generation; the rest follows from the segment's own. */
static bool
complete(const struct store *st, struct locator *at)
{
	if (at->segment >= st->ledger.slots_n)
		return false;
	uint64_t life = atomic_load_explicit(&st->lives[at->segment], memory_order_acquire);
	if (life == 0 || life >> 32 != at->generation)
		return false;
	at->generation = (uint32_t)life;
	return true;
}

/* ---- batches ------------------------------------------------------------------------------- */

static struct batch *
batch_new(struct store *st)
{
	struct batch *b = st->pool;
	if (b) {
		st->pool = b->next;
		st->pool_n--;
	} else {
		b = NEW(struct batch);
		b->p = aligned_alloc(SEGMENT_PAGE, st->batch_bytes);
		if (!b->p) {
			free(b);
			return NULL;
		}
	}
	struct buf table = b->table;
	table.n = 0;
	*b = (struct batch){.store = st, .p = b->p, .table = table, .clean_as_of = UINT64_MAX};
	return b;
}

static void
batch_free(struct batch *b)
{
	buf_fini(&b->table);
	free(b->p);
	free(b);
}

static void
batch_put_away(struct store *st, struct batch *b)
{
	if (st->pool_n == POOLED_BATCHES) {
		batch_free(b);
		return;
	}
	b->next = st->pool;
	st->pool = b;
	st->pool_n++;
}

static void
unlink_pending(struct store *st, struct batch *b)
{
	struct batch **p = &st->pending;
	while (*p != b)
		p = &(*p)->next;
	*p = b->next;
	if (!*p)
		st->last = p;
	st->pending_bytes -= st->batch_bytes;
	if (st->pending == st->open)
		pthread_cond_broadcast(&st->drained);
	batch_put_away(st, b);
}

/* What the batch was to hold is nowhere. */
static void
forget_entries(struct store *st, const struct batch *b)
{
	for (uint32_t i = 0; i < b->entries; i++) {
		struct entry e = entry_get(b->table.p, i);
		struct locator at = {b->segment, b->generation, e.offset, e.bytes};
		if ((e.what & ~ENTRY_REPLACES) == ENTRY_RECORD && store_index_place(st, &at, &at))
			index_remove_at(st->index, e.hash_hi, &at);
	}
}

static void
write_batch(struct diskio_job *j)
{
	struct batch *b = (struct batch *)j;
	struct store *st = b->store;
	int fd = atomic_load(&st->fds[b->segment]);
	int r = diskio_write_all(st->o.ops, fd, b->p, b->bytes, b->offset);
	int error = errno;
	pthread_mutex_lock(&st->lock);
	if (r == 0) {
		atomic_fetch_add(&st->written_bytes, b->bytes);
		works_again(st);
	} else {
		fail(st, "write", error);
		forget_entries(st, b);
	}
	if (store_generation(st, b->segment) == b->generation)
		atomic_store_explicit(&st->written[b->segment], b->offset + b->bytes,
				      memory_order_release);
	unlink_pending(st, b);
	pthread_mutex_unlock(&st->lock);
}

/* Puts header, table and padding around what was gathered and hands it to the writer. */
static void
close_batch(struct store *st)
{
	struct batch *b = st->open;
	st->open = NULL;
	uint64_t all = round_up(b->used + b->table.n, SEGMENT_PAGE);
	assert(all <= st->batch_bytes && all <= ledger_room(&st->ledger));
	if (b->table.n)
		memcpy(b->p + b->used, b->table.p, b->table.n);
	memset(b->p + b->used + b->table.n, 0, all - b->used - b->table.n);
	b->bytes = (uint32_t)all;
	struct batch_header h = {
		.segment = b->segment,
		.generation = b->generation,
		.page = (uint32_t)(b->offset / SEGMENT_PAGE),
		.bytes = b->bytes,
		.table_at = b->used,
		.entries = b->entries,
		.table_checksum = segment_checksum(b->table.p ? b->table.p : "", b->table.n),
		.link = st->link,
		.opening = st->opening,
		.clean_as_of = b->clean_as_of,
	};
	batch_header_format(&h, b->p);
	st->link = h.seal;
	ledger_use(&st->ledger, all);
	buf_add(&st->table, b->table.p, b->table.n);
	b->job.run = write_batch;
	diskio_post(st->io, DISKIO_WRITES, &b->job);
}

static bool
open_batch(struct store *st)
{
	if (st->pending_bytes + st->batch_bytes > st->o.max_pending_bytes)
		return false;
	struct batch *b = batch_new(st);
	if (!b)
		return false;
	b->segment = (uint32_t)st->ledger.open;
	b->generation = st->ledger.slots[b->segment].generation;
	b->offset = st->ledger.slots[b->segment].used;
	b->used = SEGMENT_HEADER_BYTES;
	b->born_ms = now_ms();
	*st->last = b;
	st->last = &b->next;
	st->pending_bytes += st->batch_bytes;
	st->open = b;
	return true;
}

/* ---- segments ------------------------------------------------------------------------------ */

struct footer_job {
	struct diskio_job job; /* first */
	struct store *store;
	uint32_t segment;
	uint64_t offset;
	struct buf bytes;
};

static void
write_footer(struct diskio_job *j)
{
	struct footer_job *f = (struct footer_job *)j;
	struct store *st = f->store;
	int fd = atomic_load(&st->fds[f->segment]);
	if (diskio_write_all(st->o.ops, fd, f->bytes.p, f->bytes.n, f->offset) == 0) {
		atomic_fetch_add(&st->written_bytes, f->bytes.n);
	} else {
		int error = errno;
		pthread_mutex_lock(&st->lock);
		fail(st, "write", error);
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
	*f = (struct footer_job){{NULL, write_footer}, st, segment, st->o.segment_bytes - all, {0}};
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
	return !st->closing && (ledger_wants_free(&st->ledger) || missing_file(st) >= 0);
}

static void
ask_for_room(struct store *st)
{
	if (st->preparing || !wants_segment(st))
		return;
	st->preparing = true;
	diskio_post(st->io, DISKIO_READS, &st->prepare);
}

static void
seal(struct store *st)
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
		fail(st, "make room for a segment", error);
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

static bool
open_segment(struct store *st)
{
	bool yes = ledger_open_next(&st->ledger) || take_oldest(st);
	if (yes) {
		uint32_t slot = (uint32_t)st->ledger.open;
		atomic_store(&st->written[slot], 0);
		st->codes[slot] = (st->codes[slot] + 1) & INDEX_GENERATION_MASK;
		st->clean_as_of[slot] = UINT64_MAX;
		st->opened_s = (uint64_t)time(NULL);
		store_set_life(st, slot, st->ledger.slots[slot].generation);
	}
	ask_for_room(st);
	return yes;
}

/* ---- appending ----------------------------------------------------------------------------- */

/* Would the open batch (or a new one), with so many bytes and an entry more, still leave room for
 * the table of the batch and the footer of the segment? */
static bool
fits(const struct store *st, uint64_t bytes)
{
	uint64_t used = st->open ? st->open->used : SEGMENT_HEADER_BYTES;
	uint64_t table = st->open ? st->open->table.n : 0;
	uint64_t all = round_up(used + round_up(bytes, SEGMENT_ALIGN) + table + SEGMENT_ENTRY_BYTES,
				SEGMENT_PAGE);
	uint64_t entries = (st->table.n + table) / SEGMENT_ENTRY_BYTES + 1;
	return all <= st->batch_bytes && all + footer_bytes(entries) <= ledger_room(&st->ledger);
}

/* Makes the open batch one that fits: closes, seals and opens as needed. */
static bool
make_fit(struct store *st, uint64_t bytes)
{
	if (atomic_load(&st->failing) && now_ms() < st->retry_ms)
		return false;
	if (st->open && fits(st, bytes))
		return true;
	if (st->open)
		close_batch(st);
	if (st->ledger.open >= 0 && !fits(st, bytes))
		seal(st);
	if (st->ledger.open < 0 && !open_segment(st))
		return false;
	return fits(st, bytes) && open_batch(st);
}

static struct locator
take(struct store *st, uint64_t bytes)
{
	struct batch *b = st->open;
	struct locator at = {b->segment, b->generation,
			     (uint32_t)((b->offset + b->used) / SEGMENT_ALIGN), (uint32_t)bytes};
	uint32_t end = b->used + (uint32_t)bytes;
	b->used = (uint32_t)round_up(end, SEGMENT_ALIGN);
	memset(b->p + end, 0, b->used - end);
	return at;
}

static char *
bytes_at(const struct store *st, const struct locator *at)
{
	return st->open->p + ((uint64_t)at->offset * SEGMENT_ALIGN - st->open->offset);
}

static void
note(struct store *st, uint64_t hash_hi, const struct locator *at, uint8_t what)
{
	struct batch *b = st->open;
	struct entry e = {hash_hi, at->offset, at->bytes, what};
	entry_put(buf_room(&b->table, SEGMENT_ENTRY_BYTES), 0, &e);
	buf_added(&b->table, SEGMENT_ENTRY_BYTES);
	b->entries++;
}

bool
store_put_fragment(struct store *st, struct key_hash hash, const char *p, uint32_t n,
		   struct fragment *out)
{
	uint64_t checksum = segment_checksum(p, n);
	pthread_mutex_lock(&st->lock);
	bool yes = make_fit(st, n);
	if (yes) {
		*out = (struct fragment){take(st, n), checksum};
		memcpy(bytes_at(st, &out->at), p, n);
		note(st, hash.hi, &out->at, ENTRY_FRAGMENT);
	}
	pthread_mutex_unlock(&st->lock);
	return yes || refuse(st);
}

static void
is_clean_as_of(struct store *st, uint64_t at)
{
	uint64_t *segment = &st->clean_as_of[st->open->segment];
	st->open->clean_as_of = at < st->open->clean_as_of ? at : st->open->clean_as_of;
	*segment = at < *segment ? at : *segment;
}

/* Under the lock: what the log says last and what the index says are the same. */
static bool
put(struct store *st, struct record *r)
{
	uint64_t all =
		record_bytes(r->key.n, r->head.n, r->fragments_n, r->is_inline ? r->body_bytes : 0);
	if (all > RECORD_MAX_BYTES || !make_fit(st, all))
		return false;
	r->at = take(st, all);
	record_format(r, bytes_at(st, &r->at));
	struct locator at;
	store_index_place(st, &r->at, &at);
	bool replaces = index_put(st->index, r->hash.hi, &at);
	note(st, r->hash.hi, &r->at, ENTRY_RECORD | (replaces ? ENTRY_REPLACES : 0));
	is_clean_as_of(st, r->clean_as_of);
	return true;
}

static bool
lies_over(struct store *st, struct key_hash hash, const struct locator *over)
{
	struct locator now;
	if (over->generation)
		return store_lies_at(st, hash, over);
	return !index_find(st->index, hash.hi, &now) || !complete(st, &now);
}

bool
store_put(struct store *st, struct record *r, const struct locator *over)
{
	pthread_mutex_lock(&st->lock);
	bool yes = (!over || lies_over(st, r->hash, over)) && put(st, r);
	pthread_mutex_unlock(&st->lock);
	return yes || refuse(st);
}

bool
store_remove(struct store *st, struct key_hash hash)
{
	return index_remove(st->index, hash.hi);
}

uint64_t
store_oldest(struct store *st)
{
	uint64_t oldest = UINT64_MAX;
	pthread_mutex_lock(&st->lock);
	for (uint32_t i = 0; i < st->ledger.slots_n; i++)
		if (st->ledger.slots[i].state >= SEGMENT_OPEN && st->clean_as_of[i] < oldest)
			oldest = st->clean_as_of[i];
	pthread_mutex_unlock(&st->lock);
	return oldest;
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
	if (!ledger_carries(&m->st->ledger, e->hits, e->at.bytes, m->carried))
		return false;
	m->carried += e->at.bytes;
	if ((m->n & (m->n + 1)) == 0) /* grows at 0, 1, 3, 7, ... */
		m->list = mem_realloc(m->list, (2 * m->n + 1) * sizeof *m->list);
	m->list[m->n++] = *e;
	return true;
}

/* Copies the record to the open segment, body and all, unless it changed meanwhile. Bodies in many
 * fragments stay behind. */
static bool
move_record(struct moving *m, const struct index_entry *e)
{
	struct store *st = m->st;
	struct locator at = e->at;
	at.generation = m->generation;
	struct block *b = NULL;
	struct record r;
	bool moved = false;
	if (store_read(st, &at, &b) != STORE_READ || record_parse(b->p, b->n, &r) ||
	    !record_body_is_right(&r) || !r.is_inline || r.at.generation != m->generation ||
	    r.at.segment != m->segment || r.at.offset != at.offset ||
	    (st->o.is_forgotten && st->o.is_forgotten(st->o.forget_ctx, &r)))
		goto out;
	struct locator now;
	pthread_mutex_lock(&st->lock);
	bool room = st->ledger.free > 0 || fits(st, r.at.bytes);
	if (room && index_find(st->index, e->hash_hi, &now) && now.segment == at.segment &&
	    now.generation == m->code && now.offset == at.offset && (moved = put(st, &r)))
		atomic_fetch_add(&st->carried_bytes, r.at.bytes);
	pthread_mutex_unlock(&st->lock);
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
		fail(st, "make a segment file", error);
	else if (!st->is_cramped)
		log_warning("cache %s: no room for all of its %u segments (%s): goes on with %u",
			    st->o.dir, st->ledger.limit, strerror(error), st->ledger.exist);
	st->is_cramped = true;
}

/* Frees the victim: what is cold goes at once, what is hot is moved, the rest goes after it. */
static bool
empty_segment(struct store *st, uint32_t segment, uint32_t generation)
{
	struct moving m = {.st = st, .segment = segment, .generation = generation};
	m.code = st->codes[segment]; /* nobody opens it before it is free */
	uint64_t gone = index_sweep(st->index, segment, m.code, is_worth_moving, &m);
	for (size_t i = 0; i < m.n; i++)
		if (!move_record(&m, &m.list[i]) &&
		    index_remove_at(st->index, m.list[i].hash_hi, &m.list[i].at))
			gone++;
	free(m.list);
	atomic_fetch_add(&st->evicted, gone);
	store_set_life(st, segment, 0);
	int fd = atomic_load(&st->fds[segment]);
	int r = st->o.ops->renew(fd, (off_t)st->o.segment_bytes), error = errno;
	pthread_mutex_lock(&st->lock);
	ledger_free(&st->ledger, segment);
	if (r != 0) { /* somebody else took the room */
		ledger_drop(&st->ledger, segment);
		cramped(st, error);
	}
	pthread_mutex_unlock(&st->lock);
	return r == 0;
}

static bool
add_segment(struct store *st, uint32_t slot)
{
	int fd = atomic_load(&st->fds[slot]);
	if (fd < 0)
		fd = store_open_segment_file(st, slot, true);
	bool yes = fd >= 0 && st->o.ops->renew(fd, (off_t)st->o.segment_bytes) == 0;
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
static bool
free_one(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	int64_t absent = missing_file(st);
	pthread_mutex_unlock(&st->lock);
	if (absent >= 0 && add_segment(st, (uint32_t)absent))
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

static void
prepare(struct diskio_job *j)
{
	struct store *st = (struct store *)((char *)j - offsetof(struct store, prepare));
	while (wants_free(st)) {
		if (free_one(st))
			continue;
		pthread_mutex_lock(&st->lock);
		st->preparing = false; /* tick asks again */
		pthread_mutex_unlock(&st->lock);
		return;
	}
}

static void
tick(void *ctx)
{
	struct store *st = ctx;
	int64_t now = now_ms();
	pthread_mutex_lock(&st->lock);
	if (st->open && now - st->open->born_ms >= BATCH_AGE_MS)
		close_batch(st);
	if (!atomic_load(&st->failing) || now >= st->retry_ms)
		ask_for_room(st);
	pthread_mutex_unlock(&st->lock);
}

/* ---- finding and reading ------------------------------------------------------------------- */

bool
store_find(struct store *st, struct key_hash hash, struct locator *out, unsigned *hits)
{
	return index_hit(st->index, hash.hi, out, hits) && complete(st, out);
}

bool
store_has(struct store *st, struct key_hash hash)
{
	struct locator at;
	return index_find(st->index, hash.hi, &at);
}

void
store_touch(struct store *st, struct key_hash hash)
{
	struct locator at;
	unsigned hits;
	index_hit(st->index, hash.hi, &at, &hits);
}

void
store_forget(struct store *st, struct key_hash hash, const struct locator *at)
{
	struct locator place;
	if (store_index_place(st, at, &place))
		index_remove_at(st->index, hash.hi, &place);
}

bool
store_lies_at(struct store *st, struct key_hash hash, const struct locator *at)
{
	struct locator now;
	return index_find(st->index, hash.hi, &now) && complete(st, &now) &&
	       now.segment == at->segment && now.generation == at->generation &&
	       now.offset == at->offset;
}

bool
store_is_current(const struct store *st, const struct locator *at)
{
	return at->segment < st->ledger.slots_n && at->generation != 0 &&
	       store_generation(st, at->segment) == at->generation;
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

/* What is not in the file yet is in a pending batch. */
static bool
read_pending(struct store *st, const struct locator *at, uint64_t offset, struct block **out)
{
	pthread_mutex_lock(&st->lock);
	const struct batch *b = find_pending(st, at, offset);
	if (b) {
		uint64_t from = offset - b->offset, n = b->used - from;
		n = n < at->bytes ? n : at->bytes;
		*out = block_create((uint32_t)n);
		memcpy((*out)->p, b->p + from, n);
		(*out)->n = (uint32_t)n;
	}
	pthread_mutex_unlock(&st->lock);
	return b;
}

static enum store_read
read_at(struct store *st, const struct locator *at, struct block **out, bool wait)
{
	if (!store_is_current(st, at))
		return STORE_GONE;
	uint64_t offset = (uint64_t)at->offset * SEGMENT_ALIGN;
	if (offset >= st->o.segment_bytes)
		return STORE_GONE;
	if (offset >= atomic_load_explicit(&st->written[at->segment], memory_order_acquire) &&
	    read_pending(st, at, offset, out))
		return STORE_READ;
	uint64_t n = st->o.segment_bytes - offset;
	if (n > at->bytes)
		n = at->bytes;
	struct block *b = block_create((uint32_t)n);
	int fd = atomic_load(&st->fds[at->segment]);
	enum store_read r = STORE_READ;
	if (wait) {
		if (diskio_read_all(st->o.ops, fd, b->p, n, offset) != 0)
			r = STORE_FAILED;
	} else if (st->o.ops->read_now(fd, b->p, n, (off_t)offset) != (ssize_t)n) {
		r = STORE_LATER;
	}
	b->n = (uint32_t)n;
	if (r != STORE_LATER && !store_is_current(st, at))
		r = STORE_GONE;
	if (r == STORE_FAILED)
		atomic_fetch_add(&st->io_errors, 1);
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
	bool yes = store_is_current(st, at);
	if (yes)
		st->ledger.slots[at->segment].leases++;
	pthread_mutex_unlock(&st->lock);
	return yes;
}

void
store_unlease(struct store *st, const struct locator *at)
{
	pthread_mutex_lock(&st->lock);
	if (store_is_current(st, at))
		st->ledger.slots[at->segment].leases--;
	pthread_mutex_unlock(&st->lock);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void
fill_random(void *p, size_t n)
{
	while (getrandom(p, n, 0) != (ssize_t)n)
		continue;
}

static void
size_parts(struct store *st)
{
	uint64_t batch = st->o.segment_bytes / 2;
	st->batch_bytes = batch < MAX_BATCH ? (uint32_t)batch : MAX_BATCH;
	st->batch_bytes -= st->batch_bytes % SEGMENT_PAGE;
	uint64_t fragment = st->o.segment_bytes / 16;
	st->fragment_bytes = fragment < MAX_FRAGMENT ? (uint32_t)fragment : MAX_FRAGMENT;
}

/* Some files are made before the first append, the others by and by (tick asks for them). A disk
 * too full for them is no reason not to serve: it is tried again later. */
static void
make_first_files(struct store *st)
{
	for (int i = 0; i < FIRST_FILES && ledger_absent(&st->ledger) >= 0; i++)
		if (!add_segment(st, (uint32_t)ledger_absent(&st->ledger)))
			break;
	while (ledger_wants_free(&st->ledger) && free_one(st))
		continue;
}

static void
dispose(struct store *st)
{
	for (uint32_t i = 0; i < st->ledger.slots_n; i++)
		if (atomic_load(&st->fds[i]) >= 0)
			close(atomic_load(&st->fds[i]));
	for (struct batch *b; (b = st->pool);) {
		st->pool = b->next;
		batch_free(b);
	}
	free(st->lives);
	free(st->codes);
	free(st->clean_as_of);
	free(st->written);
	free(st->fds);
	buf_fini(&st->table);
	ledger_fini(&st->ledger);
	index_destroy(&st->index);
	pthread_cond_destroy(&st->drained);
	pthread_mutex_destroy(&st->lock);
	free(st);
}

int
store_open(struct store **out, const struct store_options *o, char *err, size_t err_bytes)
{
	struct store *st = NEW(struct store);
	st->o = *o;
	if (!st->o.ops)
		st->o.ops = &diskio_system;
	if (!st->o.max_pending_bytes)
		st->o.max_pending_bytes = 64 << 20;
	fill_random(&st->opening, sizeof st->opening);
	st->last = &st->pending;
	st->prepare.run = prepare;
	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->drained, NULL);
	index_create(&st->index);
	if (store_restore(st, err, err_bytes) != 0) {
		dispose(st);
		return -1;
	}
	size_parts(st);
	make_first_files(st);
	diskio_start(&st->io, &(struct diskio_options){
				      .readers = o->io_threads ? o->io_threads : 2,
				      .tick = tick,
				      .ctx = st,
				      .tick_ms = TICK_MS,
			      });
	*out = st;
	return 0;
}

void
store_close(struct store **pst)
{
	struct store *st = *pst;
	*pst = NULL;
	if (!st)
		return;
	pthread_mutex_lock(&st->lock);
	st->closing = true;
	if (st->open)
		close_batch(st);
	pthread_mutex_unlock(&st->lock);
	diskio_stop(&st->io);
	dispose(st);
}

void
store_flush(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	if (st->open)
		close_batch(st);
	while (st->pending != st->open) /* what is carried over may open a new one */
		pthread_cond_wait(&st->drained, &st->lock);
	pthread_mutex_unlock(&st->lock);
}

uint32_t
store_fragment_bytes(const struct store *st)
{
	return st->fragment_bytes;
}

/* An eighth of the log, and no more fragments than the table of a record can name. */
uint64_t
store_max_body(const struct store *st)
{
	uint64_t room = st->batch_bytes < RECORD_MAX_BYTES ? st->batch_bytes : RECORD_MAX_BYTES;
	uint64_t named = room * 3 / 4 / FRAGMENT_ENTRY_BYTES * st->fragment_bytes;
	uint64_t share = st->o.log_bytes / 8;
	return share < named ? share : named;
}

void
store_stats(struct store *st, struct store_stats *out)
{
	pthread_mutex_lock(&st->lock);
	*out = (struct store_stats){
		.used_bytes = st->ledger.used,
		.limit_bytes = st->o.log_bytes,
	};
	pthread_mutex_unlock(&st->lock);
	out->written_bytes = atomic_load(&st->written_bytes);
	out->objects = index_count(st->index);
	out->evicted_objects = atomic_load(&st->evicted);
	out->carried_bytes = atomic_load(&st->carried_bytes);
	out->io_errors = atomic_load(&st->io_errors);
	out->refused_writes = atomic_load(&st->refused);
	out->index_bytes = index_memory(st->index);
	out->failing = atomic_load(&st->failing);
}
