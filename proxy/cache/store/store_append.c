/* store_append.c - what comes in is gathered in memory and written by one thread.
 *
 *	append --> open batch --full or old--> writer thread --> segment file
 *	               |  readers copy from it until the file holds it  |
 *	               +------------------------------------------------+
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { POOLED_BATCHES = 4 };

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

void
store_batch_free(struct batch *b)
{
	buf_fini(&b->table);
	free(b->p);
	free(b);
}

static void
batch_put_away(struct store *st, struct batch *b)
{
	if (st->pool_n == POOLED_BATCHES) {
		store_batch_free(b);
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
	pthread_cond_broadcast(&st->drained);
	batch_put_away(st, b);
}

static bool
is_pending(const struct store *st, uint32_t generation, uint64_t offset)
{
	const struct batch *b = st->pending;
	while (b && (b->generation != generation || b->offset != offset))
		b = b->next;
	return b;
}

void
store_await_written(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	if (st->open)
		store_close_batch(st);
	const struct batch *last = st->pending;
	while (last && last->next)
		last = last->next;
	uint32_t generation = last ? last->generation : 0;
	uint64_t offset = last ? last->offset : 0;
	while (last && is_pending(st, generation, offset))
		pthread_cond_wait(&st->drained, &st->lock);
	pthread_mutex_unlock(&st->lock);
}

/* The batch's records are nowhere, and those they replaced must not be back. */
static void
forget_entries(struct store *st, const struct batch *b)
{
	for (uint32_t i = 0; i < b->entries; i++) {
		struct entry e = entry_get(b->table.p, i);
		struct locator at = {b->segment, b->generation, e.offset, e.bytes};
		if (entry_is_record(&e) && store_index_place(st, &at, &at))
			index_remove_at(st->index, e.hash_hi, &at);
	}
	store_forget_replaced(st, b->table.p, b->entries);
}

/* The batch could not be written. Nobody would find what is written behind the hole by walking: the
 * segment is sealed, so that its footer lists it. What comes next goes elsewhere. */
static void
lose(struct store *st, const struct batch *b)
{
	forget_entries(st, b);
	st->losses.holes[b->segment] = b->generation;
	st->losses.batches[st->losses.n++ % LOST_MOST] = (struct locator){
		b->segment, b->generation, (uint32_t)(b->offset / SEGMENT_ALIGN), b->bytes};
	if (st->ledger.open != b->segment ||
	    st->ledger.slots[b->segment].generation != b->generation)
		return;
	if (st->open)
		store_close_batch(st);
	store_seal(st);
}

/* A body with a piece in a batch that could not be written is not there. */
static bool
is_lost(const struct store *st, const struct record *r)
{
	unsigned lost_n = st->losses.n < LOST_MOST ? st->losses.n : LOST_MOST;
	for (uint32_t i = 0; lost_n && i < r->fragments_n; i++) {
		struct locator at = fragment_get(r->fragments, i).at;
		for (unsigned k = 0; k < lost_n; k++) {
			const struct locator *l = &st->losses.batches[k];
			if (at.segment == l->segment && at.generation == l->generation &&
			    at.offset >= l->offset &&
			    at.offset < l->offset + l->bytes / SEGMENT_ALIGN)
				return true;
		}
	}
	return false;
}

static void
write_batch(struct diskio_job *j)
{
	struct batch *b = (struct batch *)j;
	struct store *st = b->store;
	int fd = atomic_load(&st->slots.fds[b->segment]);
	int r = diskio_write_all(st->o.ops, fd, b->p, b->bytes, b->offset);
	int error = errno;
	pthread_mutex_lock(&st->lock);
	if (r == 0) {
		atomic_fetch_add(&st->counts.written_bytes, b->bytes);
		st->holds[b->segment] = b->generation;
		store_works_again(st);
	} else {
		store_fail(st, "write", error);
		lose(st, b);
	}
	if (store_generation(st, b->segment) == b->generation)
		atomic_store_explicit(&st->slots.written[b->segment], b->offset + b->bytes,
				      memory_order_release);
	unlink_pending(st, b);
	store_check(st);
	pthread_mutex_unlock(&st->lock);
}

/* Puts header, table and padding around what was gathered and hands it to the writer. */
void
store_close_batch(struct store *st)
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

/* ---- appending ----------------------------------------------------------------------------- */

static bool
refuse(struct store *st)
{
	atomic_fetch_add_explicit(&st->counts.refused, 1, memory_order_relaxed);
	return false;
}

bool
store_fits(const struct store *st, uint64_t bytes)
{
	struct packing p = {
		.batch_bytes = st->batch_bytes,
		.used = st->open ? st->open->used : 0,
		.entries = st->open ? st->open->entries : 0,
		.sealed = st->table.n / SEGMENT_ENTRY_BYTES,
	};
	return packing_fits(&p, ledger_room(&st->ledger), bytes);
}

/* Makes the open batch one that fits: closes, seals and opens as needed. */
static bool
make_fit(struct store *st, uint64_t bytes)
{
	const struct packing none = {.batch_bytes = st->batch_bytes};
	if (!store_may_write(st) || store_waits(st))
		return false;
	if (!packing_fits(&none, st->o.segment_bytes, bytes)) /* nobody makes room in vain */
		return false;
	if (st->open && store_fits(st, bytes))
		return true;
	if (st->open)
		store_close_batch(st);
	if (st->ledger.open >= 0 && !store_fits(st, bytes))
		store_seal(st);
	if (st->ledger.open < 0 && !store_open_segment(st))
		return false;
	return store_fits(st, bytes) && open_batch(st);
}

static struct locator
take(struct store *st, uint64_t bytes)
{
	struct batch *b = st->open;
	struct locator at = {b->segment, b->generation,
			     (uint32_t)((b->offset + b->used) / SEGMENT_ALIGN), (uint32_t)bytes};
	uint32_t end = b->used + (uint32_t)bytes;
	b->used = (uint32_t)round_up(end, SEGMENT_ALIGN);
	atomic_fetch_add_explicit(&st->counts.appended_bytes, bytes, memory_order_relaxed);
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
store_put_fragment(struct store *st, struct twice_key_hash hash, const char *p, uint32_t n,
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
	store_check(st);
	pthread_mutex_unlock(&st->lock);
	return yes || refuse(st);
}

bool
store_hold(struct store *st, const struct locator *at)
{
	pthread_mutex_lock(&st->lock);
	bool yes = store_is_current(st, at) && ledger_hold(&st->ledger, at->segment);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

void
store_unhold(struct store *st, const struct locator *at)
{
	pthread_mutex_lock(&st->lock);
	ledger_unhold(&st->ledger, at->segment);
	pthread_mutex_unlock(&st->lock);
}

static void
is_clean_as_of(struct store *st, uint64_t at)
{
	uint64_t *segment = &st->clean_as_of[st->open->segment];
	st->open->clean_as_of = at < st->open->clean_as_of ? at : st->open->clean_as_of;
	*segment = at < *segment ? at : *segment;
}

/* Under the lock: what the log says last and what the index says are the same. */
bool
store_append(struct store *st, struct record *r, enum append how)
{
	uint64_t all = record_bytes(record_text_bytes(r), r->fragments_n,
				    r->is_inline ? r->body_bytes : 0);
	if (all > RECORD_MAX_BYTES || is_lost(st, r) || !make_fit(st, all))
		return false;
	r->at = take(st, all);
	record_format(r, bytes_at(st, &r->at));
	struct locator at;
	store_index_place(st, &r->at, &at);
	bool was_there = index_put(st->index, r->hash.hi, &at);
	bool replaces = how == APPEND_NEW ? was_there || store_may_be_left(st, r->hash.hi)
					  : how == APPEND_REPLACES;
	if (replaces)
		ledger_replaces(&st->ledger);
	note(st, r->hash.hi, &r->at,
	     ENTRY_RECORD | (r->fragments_n ? ENTRY_APART : 0) | (replaces ? ENTRY_REPLACES : 0));
	is_clean_as_of(st, r->clean_as_of);
	return true;
}

static bool
lies_over(struct store *st, struct twice_key_hash hash, const struct locator *over)
{
	struct locator now;
	if (over->generation)
		return store_lies_at(st, hash, over);
	return !store_look(st, hash, &now);
}

bool
store_put(struct store *st, struct record *r, const struct locator *over)
{
	pthread_mutex_lock(&st->lock);
	bool yes = (!over || lies_over(st, r->hash, over)) && store_append(st, r, APPEND_NEW);
	store_check(st);
	pthread_mutex_unlock(&st->lock);
	return yes || refuse(st);
}

bool
store_put_head(struct store *st, struct record *r, const struct locator *over)
{
	struct locator at;
	pthread_mutex_lock(&st->lock);
	unsigned hits = index_hits(st->index, r->hash.hi, &at), n;
	bool yes = lies_over(st, r->hash, over) && store_append(st, r, APPEND_NEW);
	for (unsigned i = 0; yes && i < hits; i++)
		index_hit(st->index, r->hash.hi, &at, &n);
	pthread_mutex_unlock(&st->lock);
	return yes || refuse(st);
}

bool
store_remove(struct store *st, struct twice_key_hash hash)
{
	return store_unindex(st, hash.hi, NULL);
}

void
store_drop(struct store *st, struct twice_key_hash hash)
{
	if (store_unindex(st, hash.hi, NULL))
		store_leaves_behind(st, hash.hi);
}
