/* object.c - objects are put together here and taken apart by their last reader. */
#include "proxy/cache/store/object.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>

enum {
	MALLOC_OVERHEAD = 16,
	BUCKET_BYTES = 16,
	LONG_BODY = 12 << 10 /* within a record: may be let go without key and head */
};

struct object *
object_ref(struct object *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

void
object_unref(struct object **o)
{
	struct stored *s = stored_of(*o);
	*o = NULL;
	stored_unref(&s);
}

/* ---- place --------------------------------------------------------------------------------- */

void
placement_of_record(struct placement *p, const struct record *r)
{
	*p = (struct placement){.at = r->at, .fragments_n = r->fragments_n};
	if (r->is_inline) {
		uint64_t front = r->at.bytes - r->body_bytes; /* the body is the record's end */
		p->one = (struct fragment){.at = r->at, .checksum = r->body_checksum};
		p->one.at.offset += (uint32_t)(front / SEGMENT_ALIGN);
		p->one.at.bytes = (uint32_t)r->body_bytes;
		p->fragments_n = r->body_bytes > 0;
	} else if (r->fragments_n == 1) {
		p->one = fragment_get(r->fragments, 0);
	} else if (r->fragments_n) {
		p->fragments = mem_alloc(r->fragments_n * sizeof *p->fragments);
		for (uint32_t i = 0; i < r->fragments_n; i++)
			p->fragments[i] = fragment_get(r->fragments, i);
	}
}

void
placement_fini(struct placement *p)
{
	free(p->fragments);
	*p = (struct placement){0};
}

static void
copy_placement(struct placement *to, const struct placement *from)
{
	*to = *from;
	if (!from->fragments)
		return;
	to->fragments = mem_alloc(from->fragments_n * sizeof *to->fragments);
	memcpy(to->fragments, from->fragments, from->fragments_n * sizeof *to->fragments);
}

/* For a few instructions; nothing is waited for meanwhile. */
static void
lock_place(struct stored *o)
{
	while (atomic_exchange_explicit(&o->placing, 1, memory_order_acquire))
		sched_yield();
}

static void
unlock_place(struct stored *o)
{
	atomic_store_explicit(&o->placing, 0, memory_order_release);
}

static uint64_t
life_of(const struct locator *at)
{
	return (uint64_t)at->generation << 32 | at->segment;
}

/* Takes over what next holds; gives back what was there. */
static struct placement
replace(struct stored *o, const struct placement *next)
{
	struct placement old = o->placement;
	assert(!o->leased); /* what stays for it is where it lies now */
	o->placement = *next;
	const struct locator *body =
		next->fragments_n ? &placement_fragment(next, 0)->at : &next->at;
	atomic_store_explicit(&o->body_in, life_of(body), memory_order_relaxed);
	atomic_store_explicit(&o->lies_in, life_of(&next->at), memory_order_release);
	atomic_store(&o->pub.on_disk, 1);
	return old;
}

void
stored_place(struct stored *o, const struct placement *p)
{
	struct placement next;
	copy_placement(&next, p);
	lock_place(o);
	struct placement old = replace(o, &next);
	unlock_place(o);
	placement_fini(&old);
}

bool
stored_follow(struct stored *o, const struct record *r, const struct locator *from)
{
	struct placement next;
	placement_of_record(&next, r);
	lock_place(o);
	const struct locator *at = &o->placement.at;
	bool yes = locator_equal(at, from) && at->bytes;
	struct placement other = yes ? replace(o, &next) : next;
	unlock_place(o);
	placement_fini(&other);
	return yes;
}

static bool
is_alive(const struct store *st, uint64_t life)
{
	struct locator at = {.segment = (uint32_t)life, .generation = (uint32_t)(life >> 32)};
	return life && store_is_current(st, &at);
}

bool
stored_lies_there(struct stored *o)
{
	uint64_t life = atomic_load_explicit(&o->lies_in, memory_order_acquire);
	uint64_t body = atomic_load_explicit(&o->body_in, memory_order_relaxed);
	if (is_alive(o->store, life) && (life == body || is_alive(o->store, body)))
		return true;
	if (life)
		atomic_store_explicit(&o->pub.on_disk, 0, memory_order_relaxed);
	return false;
}

bool
stored_placement(struct stored *o, struct placement *out)
{
	lock_place(o);
	copy_placement(out, &o->placement);
	unlock_place(o);
	return out->at.bytes && stored_lies_there(o);
}

/* ---- life ---------------------------------------------------------------------------------- */

static struct stored *
create(struct store *st, size_t text_bytes)
{
	struct stored *o = mem_alloc(sizeof *o + text_bytes);
	memset(o, 0, sizeof *o);
	atomic_init(&o->pub.refs, 1);
	o->store = st;
	o->pub.place = OBJECT_IN_RAM;
	return o;
}

struct stored *
stored_create(struct store *st, struct twice_key_hash hash, struct str key, struct str head,
	      struct str tags, const struct terms *terms, enum object_kind kind)
{
	struct stored *o = create(st, key.n + head.n + tags.n);
	o->pub.kind = (uint8_t)kind;
	o->pub.hash = hash;
	if (key.n)
		memcpy(o->bytes, key.p, key.n);
	if (head.n)
		memcpy(o->bytes + key.n, head.p, head.n);
	if (tags.n)
		memcpy(o->bytes + key.n + head.n, tags.p, tags.n);
	o->pub.key = (struct str){o->bytes, key.n};
	o->pub.head = (struct str){o->bytes + key.n, head.n};
	o->pub.tags = (struct str){o->bytes + key.n + head.n, tags.n};
	o->pub.terms = *terms;
	return o;
}

static struct str
moved(struct str view, const struct block *from, const struct block *to)
{
	return (struct str){to->p + (view.p - from->p), view.n};
}

/* A long body lies in a block of its own, which can be let go while it is not sent. */
static void
part_from_body(struct stored *o, struct block *record, const struct record *r)
{
	size_t n = (size_t)(r->body - record->p);
	struct block *front = block_create((uint32_t)n);
	memcpy(front->p, record->p, n);
	front->n = (uint32_t)n;
	o->pub.key = moved(r->key, record, front);
	o->pub.head = moved(r->head, record, front);
	o->pub.tags = moved(r->tags, record, front);
	o->text = front;
	o->whole_in = block_ref(record);
}

struct stored *
stored_of_record(struct store *st, struct block *text, const struct record *r)
{
	struct stored *o = create(st, 0);
	o->pub.kind = r->kind;
	o->pub.place = OBJECT_ON_DISK;
	o->pub.hash = r->hash;
	o->pub.key = r->key;
	o->pub.head = r->head;
	o->pub.tags = r->tags;
	o->pub.terms = r->terms;
	o->pub.body_bytes = r->body_bytes;
	o->pub.whole_bytes = r->whole_bytes;
	atomic_init(&o->pub.plain_bytes, r->plain_bytes);
	atomic_init(&o->pub.clean_as_of, r->clean_as_of);
	o->pub.clean_from = r->clean_as_of;
	o->whole = r->is_inline ? r->body : NULL;
	if (o->whole && r->body_bytes >= LONG_BODY)
		part_from_body(o, text, r);
	else
		o->text = block_ref(text);
	struct placement p;
	placement_of_record(&p, r);
	replace(o, &p); /* nobody else knows it */
	return o;
}

struct stored *
stored_clone(const struct stored *from)
{
	assert(from->text);
	struct stored *o = create(from->store, 0);
	o->pub.kind = from->pub.kind;
	o->pub.hash = from->pub.hash;
	o->pub.key = from->pub.key;
	o->pub.head = from->pub.head;
	o->pub.tags = from->pub.tags;
	o->pub.terms = from->pub.terms;
	o->pub.body_bytes = from->pub.body_bytes;
	o->pub.whole_bytes = from->pub.whole_bytes;
	atomic_init(&o->pub.plain_bytes, atomic_load(&from->pub.plain_bytes));
	atomic_init(&o->pub.clean_as_of, atomic_load(&from->pub.clean_as_of));
	o->pub.clean_from = from->pub.clean_from;
	o->text = block_ref(from->text);
	stored_share_body(o, from);
	if (from->placement.at.bytes)
		stored_place(o, &from->placement);
	return o;
}

/* Calls f for the segment of each run of fragments; stops at the first no, *done says how many. */
static bool
each_segment(const struct stored *o, const struct placement *p, uint32_t upto,
	     bool (*f)(struct store *, const struct locator *), uint32_t *done)
{
	uint32_t i;
	for (i = 0; i < upto; i++) {
		const struct locator *at = &placement_fragment(p, i)->at;
		const struct locator *last = i ? &placement_fragment(p, i - 1)->at : NULL;
		bool same =
			last && last->segment == at->segment && last->generation == at->generation;
		if (!same && !f(o->store, at))
			break;
	}
	*done = i;
	return i == upto;
}

static bool
unlease(struct store *st, const struct locator *at)
{
	store_unlease(st, at);
	return true;
}

bool
stored_lease(struct stored *o)
{
	const struct placement *p = &o->placement;
	uint32_t done, back;
	assert(!o->leased && p->at.bytes && !stored_has_body(o));
	o->leased = each_segment(o, p, p->fragments_n, store_lease, &done);
	if (!o->leased)
		each_segment(o, p, done, unlease, &back);
	return o->leased;
}

void
stored_drop_blocks(struct stored *o)
{
	for (uint32_t i = 0; i < o->blocks_n; i++)
		block_unref(&o->blocks[i]);
	if (o->blocks != &o->one)
		free(o->blocks);
	o->blocks = NULL;
	o->blocks_n = 0;
}

void
stored_unref(struct stored **po)
{
	struct stored *o = *po;
	*po = NULL;
	if (!o || atomic_fetch_sub_explicit(&o->pub.refs, 1, memory_order_acq_rel) != 1)
		return;
	uint32_t done;
	if (o->leased)
		each_segment(o, &o->placement, o->placement.fragments_n, unlease, &done);
	placement_fini(&o->placement);
	stored_drop_blocks(o);
	struct block *ahead = atomic_exchange_explicit(&o->ahead, NULL, memory_order_relaxed);
	block_unref(&ahead);
	block_unref(&o->whole_in);
	block_unref(&o->text);
	free(o);
}

/* ---- body ---------------------------------------------------------------------------------- */

void
stored_add_block(struct stored *o, struct block *b)
{
	if (!o->blocks)
		o->blocks = &o->one;
	else if (o->blocks == &o->one) {
		o->blocks = mem_alloc(4 * sizeof(struct block *));
		o->blocks[0] = o->one;
	} else if (o->blocks_n >= 4 && (o->blocks_n & (o->blocks_n - 1)) == 0) {
		o->blocks = mem_realloc(o->blocks, 2 * o->blocks_n * sizeof(struct block *));
	}
	o->blocks[o->blocks_n++] = b;
}

void
stored_share_body(struct stored *to, const struct stored *from)
{
	to->pub.body_bytes = from->pub.body_bytes;
	to->block_bytes = from->block_bytes;
	for (uint32_t i = 0; i < from->blocks_n; i++)
		stored_add_block(to, block_ref(from->blocks[i]));
	if (!from->whole)
		return;
	struct block *in = from->whole_in ? from->whole_in : from->text;
	to->whole = from->whole;
	if (to->text != in)
		to->whole_in = block_ref(in);
}

static bool
is_only(struct block *const *b)
{
	return *b && atomic_load_explicit(&(*b)->refs, memory_order_acquire) == 1;
}

void
stored_let_body_go(struct stored *o)
{
	const char *whole = o->whole;
	/* One reference is this reader's: nobody else looks at it, or can begin to. */
	if (atomic_load_explicit(&o->pub.refs, memory_order_acquire) != 1 ||
	    !o->placement.at.bytes || o->placement.fragments_n != 1 || o->leased)
		return;
	if (!is_only(&o->whole_in) && !(o->blocks_n == 1 && is_only(&o->blocks[0])))
		return;
	uint32_t n = o->blocks_n;
	o->whole = NULL;
	o->blocks_n = 0;
	if (stored_lease(o)) {
		o->blocks_n = n;
		stored_drop_blocks(o);
		block_unref(&o->whole_in);
		return;
	}
	o->whole = whole; /* it would not be found again */
	o->blocks_n = n;
}

bool
stored_has_body(const struct stored *o)
{
	return o->pub.body_bytes == 0 || o->whole || o->blocks_n;
}

struct str
stored_piece(const struct stored *o, uint64_t at)
{
	assert(at <= o->pub.body_bytes);
	if (o->whole)
		return (struct str){o->whole + at, o->pub.body_bytes - at};
	if (!o->blocks_n)
		return (struct str){"", 0};
	uint64_t i = o->blocks_n > 1 ? at / o->block_bytes : 0;
	assert(i < o->blocks_n);
	const struct block *b = o->blocks[i];
	uint64_t from = at - i * o->block_bytes;
	assert(from < b->n);
	uint64_t left = o->pub.body_bytes - at, n = b->n - from;
	return (struct str){b->p + from, n < left ? n : left};
}

/* ---- size ---------------------------------------------------------------------------------- */

uint64_t
stored_memory(const struct stored *o)
{
	uint64_t n = sizeof *o + MALLOC_OVERHEAD + BUCKET_BYTES;
	if (o->text)
		n += sizeof *o->text + o->text->cap + MALLOC_OVERHEAD;
	if (o->whole_in)
		n += sizeof *o->whole_in + o->whole_in->cap + MALLOC_OVERHEAD;
	if (o->pub.key.p == o->bytes)
		n += o->pub.key.n + o->pub.head.n + o->pub.tags.n;
	for (uint32_t i = 0; i < o->blocks_n; i++)
		n += sizeof **o->blocks + o->blocks[i]->cap + MALLOC_OVERHEAD + sizeof o->one +
		     sizeof(struct fragment);
	return n;
}

uint64_t
stored_copy_memory(uint64_t record_bytes)
{
	return sizeof(struct stored) + MALLOC_OVERHEAD + BUCKET_BYTES + sizeof(struct block) +
	       round_up(record_bytes, RECORD_UNIT) + MALLOC_OVERHEAD;
}
