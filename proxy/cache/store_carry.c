/* store_carry.c - hot bodies in several pieces leave a segment that is emptied.
 *
 * A piece says in the segment's table to which key it belongs, so that a body is found whichever of
 * its segments goes first. It is read whole and written again before the segment goes, so that at
 * no time its key is a miss.
 *
 * What this may write is a credit (ledger_carries_large): carrying never becomes the log's main
 * business.
 */
#include "proxy/cache/store_inside.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

/* Of this thread: room that is made for a large body is not made by moving others. */
static _Thread_local bool is_carrying;

struct store_carry {
	struct block *text; /* of the record; r's views point here */
	struct record r;
	struct locator at; /* of the record */
	struct block **pieces;
	bool is_taken; /* the segment that goes: on the writer's thread, which takes what it needs
			*/
};

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

/* A segment at hand for so many bytes more: else the next victim is emptied as well, but for large
 * bodies. Otherwise one would be taken as it is, with all that is hot in it. */
static bool
give_room(struct store *st, const struct store_carry *c, uint64_t bytes)
{
	if (c->is_taken)
		return true;
	for (;;) {
		pthread_mutex_lock(&st->lock);
		bool yes = st->ledger.free > 0 || (st->ledger.open >= 0 && store_fits(st, bytes));
		pthread_mutex_unlock(&st->lock);
		if (yes)
			return true;
		if (!store_free_one(st))
			return false;
	}
}

/* Writes the body again, and the record in place of the one it was read from. */
static bool
write_again(struct store *st, struct store_carry *c)
{
	if (st->o.is_forgotten && st->o.is_forgotten(st->o.ctx, &c->r))
		return false;
	char *table = mem_alloc((size_t)c->r.fragments_n * FRAGMENT_ENTRY_BYTES);
	bool yes = true;
	for (uint32_t i = 0; yes && i < c->r.fragments_n; i++) {
		struct fragment f;
		yes = give_room(st, c, c->pieces[i]->n) &&
		      store_put_fragment(st, c->r.hash, c->pieces[i]->p, c->pieces[i]->n, &f);
		if (yes)
			fragment_put(table, i, &f);
	}
	c->r.fragments = table;
	yes = yes && give_room(st, c, c->r.at.bytes) && store_put(st, &c->r, &c->at);
	if (yes && st->o.moved)
		st->o.moved(st->o.ctx, &c->r, &c->at);
	free(table);
	return yes;
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
	return n ? fragment_get(c->r.fragments, n - 1).at : c->at;
}

/* Gives back the first n leases. */
static void
let_go(struct store *st, const struct store_carry *c, uint32_t segment, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct locator at = place_of(c, i);
		if (at.segment != segment)
			store_unlease(st, &at);
	}
}

/* The other segments of the body stay while room is made for it. */
static bool
hold(struct store *st, const struct store_carry *c, uint32_t segment)
{
	for (uint32_t i = 0; i <= c->r.fragments_n; i++) {
		struct locator at = place_of(c, i);
		if (at.segment == segment || store_lease(st, &at))
			continue;
		let_go(st, c, segment, i);
		return false;
	}
	return true;
}

static bool
carry(struct store *st, struct store_carry *c, uint32_t segment)
{
	if (!takes_credit(st, c->r.body_bytes))
		return false;
	struct store_carry whole = *c; /* c->r.fragments will be the new ones */
	if (!hold(st, c, segment))
		return false;
	bool yes = read_pieces(st, c) && write_again(st, c);
	let_go(st, &whole, segment, whole.r.fragments_n + 1);
	return yes;
}

bool
store_carry(struct store *st, const struct locator *at, uint32_t segment, uint32_t generation)
{
	struct store_carry c = {.at = *at};
	c.is_taken = atomic_load(&st->taken) == ((uint64_t)generation << 32 | segment);
	if (is_carrying)
		return false;
	is_carrying = true;
	bool yes = read_record(st, &c, segment, generation) && carry(st, &c, segment);
	is_carrying = false;
	if (yes)
		atomic_fetch_add(&st->carried_bytes, c.r.body_bytes + c.r.at.bytes);
	for (uint32_t i = 0; c.pieces && i < c.r.fragments_n; i++)
		block_unref(&c.pieces[i]);
	free(c.pieces);
	block_unref(&c.text);
	return yes;
}
