/* store_carry.c - hot bodies in several pieces leave a segment that is emptied.
 *
 * A piece says in the segment's table to which key it belongs, so that a body is found whichever of
 * its segments goes first. It is read whole and written again before the segment goes, so that at
 * no time its key is a miss.
 *
 * What this may write is a credit (ledger_carries_large): carrying never becomes the log's main
 * business. Where there is no room for the next piece, the caller makes some and goes on.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

static bool
read_pieces(struct store *st, struct store_carry *c)
{
	c->pieces = mem_zalloc(c->r.fragments_n * sizeof(struct block *));
	for (uint32_t i = 0; i < c->r.fragments_n; i++) {
		struct fragment f = fragment_get(c->r.fragments, i);
		struct block *b = NULL;
		if (store_read(st, &f.at, &b) != STORE_READ)
			return false;
		c->pieces[i] = b;
		if (b->n != f.at.bytes || segment_checksum(b->p, b->n) != f.checksum)
			return false;
	}
	return true;
}

static bool
has_piece_in(const struct record *r, uint32_t segment, uint32_t generation)
{
	for (uint32_t i = 0; i < r->fragments_n; i++) {
		struct locator at = fragment_get(r->fragments, i).at;
		if (at.segment == segment && at.generation == generation)
			return true;
	}
	return false;
}

/* The record at a place, if it, or a piece of its body, lies in the segment that goes. */
static bool
read_record(struct store *st, struct store_carry *c, uint32_t segment, uint32_t generation)
{
	return store_read(st, &c->at, &c->text) == STORE_READ &&
	       !record_parse(c->text->p, c->text->n, &c->r) && !c->r.is_inline &&
	       c->r.fragments_n > 0 && locator_equal(&c->r.at, &c->at) &&
	       (c->at.segment == segment || has_piece_in(&c->r, segment, generation));
}

/* Is a segment at hand for so many bytes more? Otherwise one would be taken as it is, with all that
 * is hot in it. */
static bool
has_room(struct store *st, const struct store_carry *c, uint64_t bytes)
{
	if (c->is_taken)
		return true;
	pthread_mutex_lock(&st->lock);
	bool yes = st->ledger.free > 0 || (st->ledger.open >= 0 && store_fits(st, bytes));
	pthread_mutex_unlock(&st->lock);
	return yes;
}

static bool
write_piece(struct store *st, struct store_carry *c)
{
	struct fragment f;
	const struct block *b = c->pieces[c->written];
	if (!store_put_fragment(st, c->r.hash, b->p, b->n, &f))
		return false;
	fragment_put(c->table, c->written++, &f);
	return true;
}

/* The record in place of the one it was read from. */
static bool
write_record(struct store *st, struct store_carry *c)
{
	c->r.fragments = c->table;
	if (!store_put(st, &c->r, &c->at))
		return false;
	if (st->o.moved)
		st->o.moved(st->o.ctx, &c->r, &c->at);
	atomic_fetch_add(&st->counts.carried_bytes, c->r.body_bytes + c->r.at.bytes);
	return true;
}

enum store_carry_step
store_carry_write(struct store *st, struct store_carry *c)
{
	while (c->written < c->r.fragments_n) {
		if (!has_room(st, c, c->pieces[c->written]->n))
			return CARRY_WANTS_ROOM;
		if (!write_piece(st, c))
			return CARRY_FAILED;
	}
	if (!has_room(st, c, c->r.at.bytes))
		return CARRY_WANTS_ROOM;
	return write_record(st, c) ? CARRY_DONE : CARRY_FAILED;
}

static bool
takes_credit(struct store *st, uint64_t bytes)
{
	pthread_mutex_lock(&st->lock);
	bool yes = ledger_carries_large(&st->ledger, bytes, 1);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* The n-th place where the record and its pieces lie. */
static struct locator
place_of(const struct store_carry *c, uint32_t n)
{
	return n ? fragment_get(c->old, n - 1).at : c->at;
}

static void
let_go(struct store *st, struct store_carry *c)
{
	while (c->held) {
		struct locator at = place_of(c, --c->held);
		if (at.segment != c->segment)
			store_unlease(st, &at);
	}
}

/* The other segments of the body stay while room is made for it. */
static bool
hold(struct store *st, struct store_carry *c)
{
	for (; c->held <= c->r.fragments_n; c->held++) {
		struct locator at = place_of(c, c->held);
		if (at.segment != c->segment && !store_lease(st, &at))
			return false;
	}
	return true;
}

static bool
is_forgotten(struct store *st, struct record *r)
{
	return st->o.is_forgotten && st->o.is_forgotten(st->o.ctx, r);
}

bool
store_carry_begin(struct store *st, struct store_carry *c, uint32_t generation)
{
	uint64_t going = (uint64_t)generation << 32 | c->segment;
	c->is_taken = atomic_load(&st->taken) == going;
	if (!read_record(st, c, c->segment, generation) || !takes_credit(st, c->r.body_bytes))
		return false;
	c->old = c->r.fragments;
	if (!hold(st, c) || !read_pieces(st, c) || is_forgotten(st, &c->r))
		return false;
	c->table = mem_alloc((size_t)c->r.fragments_n * FRAGMENT_ENTRY_BYTES);
	return true;
}

void
store_carry_end(struct store *st, struct store_carry *c)
{
	let_go(st, c);
	for (uint32_t i = 0; c->pieces && i < c->r.fragments_n; i++)
		block_unref(&c->pieces[i]);
	free(c->pieces);
	free(c->table);
	block_unref(&c->text);
}
