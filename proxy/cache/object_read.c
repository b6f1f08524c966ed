/* object_read.c - the body of an object, piece by piece: from memory, from the page cache at once, or
 * from an I/O thread, with a letter home.
 */
#include "proxy/cache/read_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/object_read.h"

#include <assert.h>
#include <stdlib.h>

struct body_job {
	struct read_job read; /* first */
	struct cache *cache;
	struct body_read *r;
	struct stored *o; /* ref */
	const struct fragment *fragment;
	struct block *block;
	enum outcome outcome;
};

static enum body_step
hand_out(struct body_read *r, const char *p, uint64_t n, uint64_t max)
{
	r->p = p;
	r->n = n < max ? n : max;
	return BODY_READY;
}

/* The body cannot be read any more: nobody else is to find that out. */
static enum body_step
bad(struct cache *c, struct body_read *r, struct stored *o, enum outcome why)
{
	const struct placement *p = &o->placement;
	if (why == OUTCOME_DAMAGED)
		atomic_fetch_add(&c->damaged, 1);
	store_forget(o->store, o->pub.hash, &p->at);
	ram_remove_object(c->ram, o);
	r->bad = true;
	return BODY_BAD;
}

static void
on_body_home(struct letter *letter)
{
	struct body_read *r = (struct body_read *)letter;
	struct body_job *j = r->job;
	assert(!r->block); /* let go when the read was asked for */
	r->job = NULL;
	if (j->outcome == OUTCOME_DONE)
		r->block = j->block;
	else
		bad(j->cache, r, j->o, j->outcome);
	stored_unref(&j->o);
	free(j);
	r->done(r);
}

static void
on_body_given_up(struct letter *letter)
{
	struct body_read *r = (struct body_read *)letter;
	r->job = NULL;
	r->bad = true;
	r->done(r);
}

static void
give_up_body(struct read_job *read)
{
	struct body_read *r = ((struct body_job *)read)->r;
	r->letter.open = on_body_given_up;
	mailbox_post(r->home, &r->letter);
}

static void
body_goes_home(struct body_job *j, enum outcome r, struct block *b)
{
	if (j->read.given_up) {
		stored_unref(&j->o);
		free(j);
		return;
	}
	j->outcome = r;
	j->block = b ? block_ref(b) : NULL;
	j->r->letter.open = on_body_home;
	mailbox_post(j->r->home, &j->r->letter);
}

static void
read_body_on_thread(struct diskio_job *job)
{
	struct body_job *j = (struct body_job *)job;
	struct reads *reads = j->cache->reads;
	struct reader rd = {.st = j->o->store, .waits = true};
	struct block *b = NULL;
	enum outcome r = read_leased(&rd, j->fragment, &b);
	struct read_job *others = reads_end(reads, &j->read);
	body_goes_home(j, r, b);
	for (struct read_job *next; others; others = next) {
		next = others->next;
		body_goes_home((struct body_job *)others, r, b);
	}
	block_unref(&b);
	read_fini(&rd);
}

static void
post_body_read(struct cache *c, struct stored *o, struct body_read *r, const struct fragment *f)
{
	struct body_job *j = NEW(struct body_job);
	object_ref(&o->pub);
	*j = (struct body_job){.read = {.job.run = read_body_on_thread,
					.at = f->at,
					.disk = store_number(o->store),
					.give_up = give_up_body},
			       .cache = c,
			       .r = r,
			       .o = o,
			       .fragment = f};
	r->job = j;
	if (!reads_join(c->reads, &j->read))
		store_post(o->store, &j->read.job);
}

enum body_step
object_read(struct cache *c, struct object *object, struct body_read *r, uint64_t at, uint64_t max)
{
	struct stored *o = stored_of(object);
	assert(!r->job && at < o->pub.body_bytes); /* one read at a time */
	if (r->bad)
		return BODY_BAD;
	if (stored_has_body(o)) {
		struct str piece = stored_piece(o, at);
		return hand_out(r, piece.p, piece.n, max);
	}
	const struct placement *p = &o->placement;
	uint64_t each = placement_fragment(p, 0)->at.bytes, i = at / each;
	if (r->block && r->at == i * each)
		return hand_out(r, r->block->p + (at - r->at), r->block->n - (at - r->at), max);
	block_unref(&r->block);
	r->at = i * each;
	/* Read by the lookup, for whoever is first: a 304 may hand its object to others too. */
	if (o->ahead_i == i && atomic_load_explicit(&o->ahead, memory_order_relaxed) &&
	    (r->block = atomic_exchange(&o->ahead, NULL)))
		return hand_out(r, r->block->p + (at - r->at), r->block->n - (at - r->at), max);
	assert(i < p->fragments_n);
	const struct fragment *f = placement_fragment(p, (uint32_t)i);
	struct reader now = {.st = o->store};
	enum outcome got = read_leased(&now, f, &r->block);
	if (got == OUTCOME_DONE)
		return hand_out(r, r->block->p + (at - r->at), r->block->n - (at - r->at), max);
	if (got != OUTCOME_LATER)
		return bad(c, r, o, got);
	post_body_read(c, o, r, f);
	return BODY_LATER;
}

void
body_done(struct body_read *r)
{
	assert(!r->job);
	block_unref(&r->block);
	r->bad = false; /* that one was */
}

void
body_give_back(struct body_read *r, struct object *o)
{
	block_unref(&r->block);
	stored_let_body_go(stored_of(o));
}

/* ---- what an answer pays ------------------------------------------------------------------- */

/* A body in pieces pays all its segments, each for the bytes that lie in it. */
static void
pay_pieces(struct store *st, const struct placement *p, uint64_t bytes)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < p->fragments_n && bytes; i++) {
		const struct locator *at = &placement_fragment(p, i)->at;
		const struct locator *next =
			i + 1 < p->fragments_n ? &placement_fragment(p, i + 1)->at : NULL;
		uint64_t part = at->bytes < bytes ? at->bytes : bytes;
		sum += part;
		bytes -= part;
		if (next && bytes && next->segment == at->segment)
			continue;
		store_pay(st, at, sum);
		sum = 0;
	}
}

void
cache_pay(struct cache *c, struct object *object, uint64_t bytes)
{
	struct stored *o = stored_of(object);
	struct placement p;
	if (!c->disks_n || !bytes || !atomic_load_explicit(&o->pays, memory_order_relaxed) ||
	    !atomic_exchange_explicit(&o->pays, false, memory_order_relaxed))
		return;
	stored_placement(o, &p);
	pay_pieces(o->store, &p, bytes);
	placement_fini(&p);
}
