/* store_empty.c - a segment is emptied: what is hot or small in it moves on, the rest goes.
 *
 * Which records lie in it says its own table, so that this takes as long as the segment is large,
 * whatever the index holds.
 *
 * The victim is not the oldest segment (ledger.h). A record in it may have replaced an older one
 * that lies in a segment that stays; once it is gone, a restart would take the older one for the
 * newest. So before the segment's bytes go, the key is forgotten, durably. Who needs that:
 *
 *	the table says ENTRY_REPLACES	and the record does not move on (then its copy says so too)
 *	the index has the key nowhere else	else a later record of it is there, which says so
 *						itself; what is on its way to disk is waited for
 *	something older is left on disk
 *
 * Where records leave the index and stay on disk all the same, the next one of the key says
 * ENTRY_REPLACES though the index had none (store_leaves_behind).
 */
#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum { ALL_IS_KNOWN = 0 }; /* before, no room is made (store_may_write) */

struct moving {
	struct store *st;
	uint32_t segment, generation, code;
	bool is_taken;	/* its slot has been given to others: on the writer's thread, before they
			  come */
	bool whole;	/* its table says all that it replaced */
	bool for_large; /* room is made for a large body: not by moving others */
	struct buf table;
	uint32_t entries;
	uint64_t carried, heads, gone; /* bytes of records; of those whose bodies stay; records */
	bool waits;		       /* for what is to be on disk before the segment's bytes go */
	uint64_t *forget;	       /* upper halves of hashes */
	size_t forget_n;
	uint64_t *absent; /* the same of keys that the index did not know any more */
	size_t absent_n;
};

/* ---- records ------------------------------------------------------------------------------- */

/* Is it the record that lies there, with all that it holds, and not forgotten? */
static bool
parse_here(const struct moving *m, const struct block *b, uint32_t offset, struct record *r)
{
	const struct store_options *o = &m->st->o;
	return !record_parse(b->p, b->n, r) && record_body_is_right(r) &&
	       r->at.generation == m->generation && r->at.segment == m->segment &&
	       r->at.offset == offset && !(o->is_forgotten && o->is_forgotten(o->ctx, r));
}

/* Under the lock: unless the index says something else by now. */
static bool
append_again(struct moving *m, uint64_t hash_hi, struct record *r, bool replaced)
{
	struct store *st = m->st;
	struct locator now;
	bool room = m->is_taken || st->ledger.free > 0 || store_fits(st, r->at.bytes);
	return room && index_find(st->index, hash_hi, &now) && now.segment == m->segment &&
	       now.generation == m->code && now.offset == r->at.offset &&
	       store_append(st, r, replaced ? APPEND_REPLACES : APPEND_CARRIED);
}

static bool free_one(struct store *st, bool for_large);

/* The record there, and a piece of it here, or the other way round: all of it moves, if it is a
 * body in several pieces. */
static bool
carry(struct moving *m, const struct locator *at)
{
	struct store *st = m->st;
	struct store_carry c = {.at = *at, .segment = m->segment};
	enum store_carry_step step = CARRY_FAILED;
	if (m->for_large)
		return false;
	if (store_carry_begin(st, &c, m->generation))
		while ((step = store_carry_write(st, &c)) == CARRY_WANTS_ROOM && free_one(st, true))
			continue;
	store_carry_end(st, &c);
	return step == CARRY_DONE;
}

/* To the open segment, unless it changed meanwhile. */
static bool
append_moved(struct moving *m, const struct entry *e, struct record *r, const struct locator *from)
{
	struct store *st = m->st;
	pthread_mutex_lock(&st->lock);
	bool moved = append_again(m, e->hash_hi, r, e->what & ENTRY_REPLACES);
	pthread_mutex_unlock(&st->lock);
	if (moved)
		atomic_fetch_add(&st->counts.carried_bytes, r->at.bytes);
	if (moved && st->o.moved)
		st->o.moved(st->o.ctx, r, from);
	return moved;
}

/* One that nobody asked for since goes when it could answer nothing without its origin. So does the head of a body in
 * slices: as long as it is there, its slices are written at first sight. A marker stays for its variants. */
static bool
is_worth_moving(const struct record *r, unsigned hits)
{
	const struct terms *t = &r->terms;
	bool fresh = terms_age(t, now_s()) < t->lifetime + t->stale_while_revalidate;
	return r->is_inline && (hits || r->kind == OBJECT_MARKER ||
				(r->kind != OBJECT_SLICED && fresh));
}

/* The record, body and all. */
static bool
move_record(struct moving *m, const struct entry *e, struct locator at, unsigned hits)
{
	struct block *b = NULL;
	struct record r;
	at.generation = m->generation;
	bool moved = store_read(m->st, &at, &b) == STORE_READ && parse_here(m, b, at.offset, &r) &&
		     is_worth_moving(&r, hits) && append_moved(m, e, &r, &at);
	block_unref(&b);
	return moved;
}

/* Its body lies in segments that stay. */
static bool
body_stays(const struct moving *m, const struct record *r)
{
	for (uint32_t i = 0; i < r->fragments_n; i++) {
		struct locator at = fragment_get(r->fragments, i).at;
		if (at.segment == m->segment || !store_is_current(m->st, &at))
			return false;
	}
	return r->fragments_n > 0;
}

/* A record whose body stays where it is: that of an object that got a new head since. The body's
 * segment says how long the object is worth its room. */
static bool
move_head(struct moving *m, const struct entry *e, struct locator at)
{
	struct store *st = m->st;
	struct block *b = NULL;
	struct record r;
	if (!(e->what & ENTRY_APART) || !ledger_carries_head(&st->ledger, at.bytes, m->heads))
		return false;
	at.generation = m->generation;
	bool moved = store_read(st, &at, &b) == STORE_READ && parse_here(m, b, at.offset, &r) &&
		     body_stays(m, &r) && append_moved(m, e, &r, &at);
	if (moved)
		m->heads += at.bytes;
	block_unref(&b);
	return moved;
}

/* Where it is the record of a body in several pieces that was hit, all of it moves. */
static bool
move_large(struct moving *m, struct locator at, unsigned hits)
{
	at.generation = m->generation;
	return hits && carry(m, &at);
}

/* Does it lie where the entry says? The writer's thread cannot wait until a copy is on disk, so
 * there what replaced an older record goes. */
static bool
may_move(const struct moving *m, const struct entry *e, const struct locator *at)
{
	bool here = at->bytes && at->segment == m->segment && at->generation == m->code &&
		    at->offset == e->offset;
	return here && !(m->is_taken && (e->what & ENTRY_REPLACES));
}

static bool
move_small(struct moving *m, const struct entry *e, const struct locator *at, unsigned hits)
{
	const _Atomic bool *before = m->st->o.asked_before;
	bool asked = hits || !before || atomic_load_explicit(before, memory_order_relaxed);
	if (!asked || !ledger_carries(&m->st->ledger, hits, at->bytes, 1, m->carried) ||
	    !move_record(m, e, *at, hits))
		return false;
	m->carried += at->bytes;
	return true;
}

/* Is what the index says on disk by now? */
static bool
is_written(const struct store *st, struct locator at)
{
	return store_complete(st, ALL_IS_KNOWN, &at) &&
	       (uint64_t)at.offset * SEGMENT_ALIGN <
		       atomic_load_explicit(&st->slots.written[at.segment], memory_order_acquire);
}

/* The record replaced an older one and is about to go: what speaks for the key from now on? */
static void
keep_order(struct moving *m, uint64_t hash_hi)
{
	struct locator at;
	bool known = index_find(m->st->index, hash_hi, &at);
	if (known && is_written(m->st, at))
		return;
	if (known && !m->is_taken)
		m->waits = true;
	else
		m->forget[m->forget_n++] = hash_hi;
}

/* A record of the table moves on or leaves the index. */
static void
settle(struct moving *m, const struct entry *e)
{
	struct store *st = m->st;
	struct locator at = {0}, here = {m->segment, m->code, e->offset, e->bytes};
	bool replaced = e->what & ENTRY_REPLACES;
	unsigned hits = index_hits(st->index, e->hash_hi, &at);
	if (!may_move(m, e, &at) || !(move_head(m, e, at) || move_large(m, at, hits) || move_small(m, e, &at, hits))) {
		m->gone += index_remove_at(st->index, e->hash_hi, &here);
		if (!index_find(st->index, e->hash_hi, &at))
			m->absent[m->absent_n++] = e->hash_hi;
	}
	if (replaced)
		keep_order(m, e->hash_hi);
}

static void
settle_records(struct moving *m)
{
	m->forget = mem_alloc((m->entries + (size_t)1) * sizeof *m->forget);
	m->absent = mem_alloc((m->entries + (size_t)1) * sizeof *m->absent);
	for (uint32_t i = 0; i < m->entries; i++) {
		struct entry e = entry_get(m->table.p, i);
		if (entry_is_record(&e))
			settle(m, &e);
	}
}

/* Hot bodies that lie in the segment, or a piece of them, while their records are elsewhere: those
 * in several pieces, and those of refreshed objects, whose bodies stayed with the old records. */
static void
move_pieces(struct moving *m)
{
	struct store *st = m->st;
	uint64_t last = 0;
	for (uint32_t i = 0; i < m->entries; i++) {
		struct entry e = entry_get(m->table.p, i);
		struct locator at;
		if (e.what == 0 || e.hash_hi == last)
			continue;
		last = e.hash_hi;
		if (!index_hits(st->index, e.hash_hi, &at))
			continue;
		if (store_complete(st, ALL_IS_KNOWN, &at) && at.segment != m->segment)
			carry(m, &at);
	}
}

/* ---- the segment --------------------------------------------------------------------------- */

/* Is nothing older on disk? What was taken and is not cleaned yet is there too, and what nobody could
 * look at may be. Under the lock. */
static bool
is_oldest(const struct moving *m)
{
	return m->st->taken_n == (m->is_taken ? 1u : 0u) && !m->st->unread.may_return &&
	       ledger_is_oldest(&m->st->ledger, m->generation);
}

/* Records that replaced older ones are gone from the index, and soon from the disk. False: that
 * could not be made durable. */
static bool
forget(struct moving *m)
{
	struct store *st = m->st;
	pthread_mutex_lock(&st->lock);
	bool oldest = is_oldest(m);
	if (!oldest)
		ledger_forgot(&st->ledger, m->forget_n);
	pthread_mutex_unlock(&st->lock);
	return oldest || m->forget_n == 0 || !st->o.forget ||
	       st->o.forget(st->o.ctx, m->forget, m->forget_n, true);
}

/* All of it moves on or goes; ended by vacate_end. False: not all that it replaced could be forgotten. */
static bool
vacate(struct moving *m)
{
	m->whole = store_list_records(m->st, m->segment, m->generation, m->code, &m->table);
	m->entries = (uint32_t)(m->table.n / SEGMENT_ENTRY_BYTES);
	settle_records(m);
	move_pieces(m);
	atomic_fetch_add(&m->st->counts.evicted, m->gone);
	if (m->waits)
		store_await_written(m->st);
	return forget(m) && m->whole;
}

static void
vacate_end(struct moving *m)
{
	free(m->forget);
	free(m->absent);
	buf_fini(&m->table);
}

/* Readers may still begin while the segment is being emptied. False: one did, or it must stay; what
 * left the index is on disk all the same. */
static bool
end_life(struct moving *m, bool vacated)
{
	struct store *st = m->st;
	pthread_mutex_lock(&st->lock);
	if (st->closing && st->open) /* what was carried: nobody else will */
		store_close_batch(st);
	struct ledger_slot *slot = &st->ledger.slots[m->segment];
	bool may = vacated || slot->replaced == 0 || is_oldest(m);
	bool yes = may && slot->leases == 0;
	if (yes)
		store_set_life(st, m->segment, 0);
	else
		ledger_return(&st->ledger, m->segment);
	if (!may)
		slot->replaced = UINT32_MAX; /* not before it is the oldest */
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* The segment stays, without its records. What comes for their keys from now on says that it replaces
 * something. What has come since the index let go of them does not, so that it is forgotten, and the older
 * one with it. */
static void
leave_behind(struct moving *m)
{
	struct store *st = m->st;
	struct locator at;
	size_t n = 0;
	for (uint32_t i = 0; m->whole && i < m->entries; i++)
		store_leaves_behind(st, entry_get(m->table.p, i).hash_hi);
	if (!m->whole)
		store_leaves_all_behind(st);
	for (size_t i = 0; i < m->absent_n; i++)
		if (index_find(st->index, m->absent[i], &at))
			m->absent[n++] = m->absent[i];
	if (n && st->o.forget)
		st->o.forget(st->o.ctx, m->absent, n, false);
}

/* Its bytes are there as before: so is the segment, which goes another time. */
static void
come_back(struct moving *m, int error)
{
	struct store *st = m->st;
	pthread_mutex_lock(&st->lock);
	store_set_life(st, m->segment, m->generation);
	ledger_return(&st->ledger, m->segment);
	store_fail(st, "make room for a segment", error);
	pthread_mutex_unlock(&st->lock);
	leave_behind(m);
}

/* Its table does not name all that it replaced, and something that nobody could look at may be older. */
static bool
forget_all_older(struct moving *m)
{
	struct store *st = m->st;
	pthread_mutex_lock(&st->lock);
	bool must = st->unread.may_return && st->ledger.slots[m->segment].replaced &&
		    ledger_is_oldest(&st->ledger, m->generation);
	pthread_mutex_unlock(&st->lock);
	return must && (!st->o.forget || st->o.forget(st->o.ctx, NULL, 0, true));
}

/* Another one is free, or there is none. */
static bool
renew(struct moving *m)
{
	struct store *st = m->st;
	int fd = atomic_load(&st->slots.fds[m->segment]);
	int r = st->o.ops->renew(fd, (off_t)st->o.segment_bytes), error = errno;
	if (r == DISKIO_KEPT) {
		come_back(m, error);
		return false;
	}
	pthread_mutex_lock(&st->lock);
	ledger_free(&st->ledger, m->segment);
	ledger_emptied(&st->ledger, m->carried);
	if (r != 0) { /* somebody else took the room */
		ledger_drop(&st->ledger, m->segment);
		store_is_cramped(st, error);
	}
	pthread_mutex_unlock(&st->lock);
	return r == 0;
}

static bool
empty_segment(struct store *st, uint32_t segment, uint32_t generation, bool for_large)
{
	struct moving m = {
		.st = st, .segment = segment, .generation = generation, .for_large = for_large};
	m.code = st->codes[segment]; /* nobody opens it before it is free */
	bool vacated = vacate(&m) || forget_all_older(&m), yes = true;
	if (end_life(&m, vacated))
		yes = renew(&m);
	else
		leave_behind(&m); /* another one, then */
	vacate_end(&m);
	return yes;
}

/* One segment more is free; false when that cannot be had. What the disk has no room for now leaves
 * the segments there are. */
static bool
free_one(struct store *st, bool for_large)
{
	pthread_mutex_lock(&st->lock);
	int64_t absent = st->ledger.free < STORE_GROW_AHEAD ? store_missing_file(st) : -1;
	st->making = absent;
	pthread_mutex_unlock(&st->lock);
	if (absent >= 0 && store_add_segment(st, (uint32_t)absent))
		return true;
	pthread_mutex_lock(&st->lock);
	bool empties = store_may_empty(st) && ledger_wants_free(&st->ledger);
	int64_t victim = empties ? ledger_victim(&st->ledger) : -1;
	uint32_t generation = victim < 0 ? 0 : st->ledger.slots[victim].generation;
	if (victim >= 0)
		ledger_retire(&st->ledger, (uint32_t)victim);
	pthread_mutex_unlock(&st->lock);
	return victim >= 0 && empty_segment(st, (uint32_t)victim, generation, for_large);
}

bool
store_free_one(struct store *st)
{
	return free_one(st, false);
}

/* ---- a segment that is needed at once ------------------------------------------------------ */

/* On the writer's thread: behind the last batch of the old generation, before the first of the new.
 * Until then the old bytes are there, and what is hot moves on. */
void
store_clean_taken(struct diskio_job *j)
{
	struct store_taken *t = (struct store_taken *)j;
	struct store *st = t->store;
	struct moving m = {.st = st,
			   .segment = t->segment,
			   .generation = t->generation,
			   .code = t->code,
			   .is_taken = true};
	atomic_store(&st->taken, (uint64_t)t->generation << 32 | t->segment);
	vacate(&m);
	atomic_store(&st->taken, 0);
	pthread_mutex_lock(&st->lock);
	/* Where its table names all, that is forgotten, or will be when the log takes it: all of the cache
	 * would be no sooner. */
	bool right = m.whole || t->replaced == 0 || is_oldest(&m);
	if (st->closing && st->open) /* nobody else will */
		store_close_batch(st);
	pthread_mutex_unlock(&st->lock);
	if (!right && st->o.forget) /* what it replaced has no name: nothing older is trusted */
		st->o.forget(st->o.ctx, NULL, 0, true);
	int fd = atomic_load(&st->slots.fds[t->segment]);
	int r = st->o.ops->renew(fd, (off_t)st->o.segment_bytes), error = errno;
	if (r != 0) {
		pthread_mutex_lock(&st->lock);
		store_fail(st, "make room for a segment", error);
		/* The slot is another segment's by now, of which nothing may be written before a crash. */
		st->unread.may_return |= r == DISKIO_KEPT;
		pthread_mutex_unlock(&st->lock);
	}
	if (r == DISKIO_KEPT)
		leave_behind(&m);
	vacate_end(&m);
	pthread_mutex_lock(&st->lock);
	ledger_emptied(&st->ledger, m.carried);
	st->taken_n--;
	pthread_mutex_unlock(&st->lock);
	free(t);
}
