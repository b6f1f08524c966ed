/* read.c - records from the disk: at once when the page cache has them, else on an I/O thread, with
 * a letter home.
 *
 * Nothing is handed out that was not compared (key) and checked (checksums). What was overwritten
 * meanwhile is a plain miss; what is damaged is a counted one.
 */
#include "proxy/cache/read_inside.h"

#include "filter/hash_equal.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

void
read_fini(struct reader *r)
{
	block_unref(&r->record);
	block_unref(&r->fragment);
}

static bool
is_at(const struct locator *a, const struct locator *b)
{
	return locator_equal(a, b) && a->bytes == b->bytes;
}

static enum store_read
read_bytes(struct reader *r, const struct locator *at, struct locator *known_at,
	   struct block **known, struct block **out)
{
	enum store_read got = STORE_READ;
	if (*known && is_at(known_at, at)) {
		*out = block_ref(*known);
		return store_is_current(r->st, at) ? STORE_READ : (block_unref(out), STORE_GONE);
	}
	got = r->waits ? store_read(r->st, at, out) : store_read_now(r->st, at, out);
	if (got != STORE_READ || !r->waits)
		return got;
	block_unref(known);
	*known = block_ref(*out);
	*known_at = *at;
	return got;
}

static enum outcome
outcome_of(enum store_read r)
{
	switch (r) {
	case STORE_READ:
		return OUTCOME_DONE;
	case STORE_LATER:
		return OUTCOME_LATER;
	case STORE_GONE:
		return OUTCOME_MISS;
	case STORE_FAILED:
		break;
	}
	return OUTCOME_DAMAGED;
}

/* A fragment, read and checked. */
static enum outcome
read_fragment(struct reader *rd, const struct fragment *f, struct block **out)
{
	struct block *b = NULL;
	enum outcome r = outcome_of(read_bytes(rd, &f->at, &rd->fragment_at, &rd->fragment, &b));
	if (r != OUTCOME_DONE)
		return r;
	if (b->n == f->at.bytes && segment_checksum(b->p, b->n) == f->checksum) {
		*out = b;
		return OUTCOME_DONE;
	}
	block_unref(&b);
	return store_is_current(rd->st, &f->at) ? OUTCOME_DAMAGED : OUTCOME_MISS;
}

enum outcome
read_leased(struct reader *rd, const struct fragment *f, struct block **out)
{
	uint64_t stamp = store_stamp(rd->st, &f->at);
	enum outcome r = read_fragment(rd, f, out);
	if (r == OUTCOME_DONE)
		store_checked(rd->st, &f->at, stamp);
	return r;
}

/* ---- objects ------------------------------------------------------------------------------- */

static const uint64_t NO_HEAD = UINT64_MAX;

struct wanted {
	struct store *st;
	bool is_on_several; /* disks, of which st is one */
	struct twice_key_hash hash;
	struct str key;
	struct locator at;
	unsigned hits;
	enum lookup_first first;
	uint64_t first_at;
	uint64_t head_from; /* of the asker's head (cache_was_of), or NO_HEAD */
	struct str head_tags;
};

/* This fragment holds the first byte that is wanted; fragments_n: none is. */
static uint32_t
first_fragment(const struct wanted *w, const struct placement *p, uint64_t body_bytes)
{
	uint64_t at = w->first_at;
	if (w->first == LOOKUP_HEAD)
		return p->fragments_n;
	if (w->first == LOOKUP_LAST)
		at = at < body_bytes ? body_bytes - at : 0;
	uint64_t i = at / placement_fragment(p, 0)->at.bytes;
	return i < p->fragments_n ? (uint32_t)i : p->fragments_n;
}

/* The segments of a body in several pieces must stay; its first piece is read and checked now,
 * while a miss is still a way out. */
static enum outcome
begin_body(struct reader *rd, const struct wanted *w, struct stored *o)
{
	const struct placement *p = &o->placement;
	if (!stored_lease(o)) {
		for (uint32_t i = 0; i < p->fragments_n; i++)
			if (!store_is_current(rd->st, &placement_fragment(p, i)->at))
				return OUTCOME_LOST; /* nobody will ever read it whole */
		return OUTCOME_MISS;
	}
	o->ahead_i = first_fragment(w, p, o->pub.body_bytes);
	assert(o->leased && !atomic_load(&o->ahead) && o->ahead_i <= p->fragments_n);
	if (o->ahead_i == p->fragments_n)
		return OUTCOME_DONE;
	const struct fragment *f = placement_fragment(p, o->ahead_i);
	struct file_piece there;
	struct block *ahead = NULL;
	if (store_direct(rd->st, &f->at, &there))
		return OUTCOME_DONE;
	enum outcome got = read_leased(rd, f, &ahead);
	atomic_store(&o->ahead, ahead);
	return got;
}

/* A body that a refreshed head points to is fetched too when it is one piece. */
static enum outcome
attach_body(struct reader *rd, const struct wanted *w, struct stored *o)
{
	const struct placement *p = &o->placement;
	if (o->whole || p->fragments_n == 0)
		return OUTCOME_DONE;
	if (p->fragments_n > 1)
		return begin_body(rd, w, o);
	struct block *b;
	enum outcome r = read_fragment(rd, placement_fragment(p, 0), &b);
	if (r == OUTCOME_MISS)
		return OUTCOME_LOST; /* the old record went, and with it the body */
	if (r == OUTCOME_DONE) {
		o->block_bytes = b->n;
		stored_add_block(o, b);
	}
	return r;
}

static enum outcome
build(struct cache *c, struct reader *rd, const struct wanted *w, struct block *text,
      struct stored **out)
{
	struct record r;
	const char *wrong = record_parse(text->p, text->n, &r);
	if (wrong || !locator_equal(&r.at, &w->at) || !record_body_is_right(&r))
		return store_is_current(w->st, &w->at) ? OUTCOME_DAMAGED : OUTCOME_MISS;
	if (!key_hash_equal(r.hash, w->hash) || !str_eq(r.key, w->key))
		return OUTCOME_MISS; /* another key that shares the bits the index knows */
	struct stored *o = stored_of_record(w->st, text, &r);
	struct judged j = cache_judge(c, o);
	cache_window(c);
	if (j.word == FORGET_GONE && !cache_was_of(&o->pub, w->head_from, w->head_tags)) {
		stored_unref(&o);
		return OUTCOME_FORGOTTEN;
	}
	if (j.word == FORGET_STALE) { /* nobody else knows it yet */
		terms_outdate(&o->pub.terms, j.stale_s);
		atomic_store(&o->pub.clean_as_of, j.now);
	}
	enum outcome body = attach_body(rd, w, o);
	if (body == OUTCOME_DONE)
		*out = o;
	else
		stored_unref(&o);
	return body;
}

static enum outcome
read_record(struct cache *c, struct reader *rd, const struct wanted *w, struct stored **out)
{
	struct block *text = NULL;
	enum outcome r = outcome_of(read_bytes(rd, &w->at, &rd->record_at, &rd->record, &text));
	if (r != OUTCOME_DONE)
		return r;
	r = build(c, rd, w, text, out);
	block_unref(&text);
	return r;
}

static void settle(struct cache *c, const struct wanted *w, enum outcome r, struct stored *o);

/* Several disks have the key, and all but one record of it should be forgotten. */
static enum outcome
read_one_of_several(struct cache *c, struct wanted *w, struct stored **out)
{
	struct wanted here = *w;
	unsigned n = 0;
	here.head_from = NO_HEAD; /* what is forgotten does not count */
	for (unsigned i = 0; (i = cache_disk_of(c, w->hash, i)) < c->disks_n; i++) {
		struct stored *o = NULL;
		here.st = c->disks[i].store;
		struct reader rd = {.st = here.st, .waits = true};
		if (!store_look(here.st, w->hash, &here.at))
			continue;
		enum outcome r = read_record(c, &rd, &here, &o);
		read_fini(&rd);
		if (r != OUTCOME_DONE) {
			settle(c, &here, r, NULL);
			continue;
		}
		if (n++)
			stored_unref(out);
		*w = here;
		*out = o;
	}
	if (n > 1) {
		stored_unref(out);
		cache_remove_lasting(c, w->hash, w->key);
	}
	return n == 1 ? OUTCOME_DONE : OUTCOME_MISS;
}

/* Hot on disk: a second object over the same bytes moves into RAM, unless a newer one or a removal
 * came in between. */
static void
promote(struct cache *c, struct stored *o, const struct wanted *w)
{
	if (w->hits == 0 || !stored_has_body(o) || cache_is_forgotten(c, o) ||
	    !ram_takes(c->ram, w->hash, stored_memory(o), true, w->hits))
		return;
	struct stored *copy = stored_clone(o);
	cache_window(c);
	if (ram_put(c->ram, copy, w->hits) && !store_lies_at(w->st, w->hash, &w->at))
		ram_remove_object(c->ram, copy);
	stored_unref(&copy);
}

static void
settle(struct cache *c, const struct wanted *w, enum outcome r, struct stored *o)
{
	assert((r == OUTCOME_DONE) == (o != NULL));
	if (r == OUTCOME_DAMAGED) {
		atomic_fetch_add(&c->damaged, 1);
		store_forget(w->st, w->hash, &w->at);
	} else if (r == OUTCOME_LOST) {
		store_forget(w->st, w->hash, &w->at);
	} else if (r == OUTCOME_FORGOTTEN) {
		store_clear(w->st, w->hash, &w->at);
	} else if (r == OUTCOME_DONE) {
		atomic_store_explicit(&o->pays, w->hits < STORE_PAYING_HITS, memory_order_relaxed);
		promote(c, o, w);
	}
}

struct lookup_job {
	struct read_job read; /* first */
	struct cache *cache;
	struct cache_lookup *l; /* the asker's, unless the read was given up */
	struct wanted wanted;
	struct stored *found;
	char text[]; /* wanted.key, .head_tags: the asker may be gone before the read is done */
};

static void
on_record_home(struct letter *letter)
{
	struct cache_lookup *l = (struct cache_lookup *)letter;
	struct lookup_job *j = l->job;
	struct stored *o = j->found;
	l->job = NULL;
	free(j);
	l->done(l, o ? &o->pub : NULL);
}

static void
on_record_given_up(struct letter *letter)
{
	struct cache_lookup *l = (struct cache_lookup *)letter;
	l->job = NULL;
	l->done(l, NULL);
}

static void
give_up_record(struct read_job *read)
{
	struct cache_lookup *l = ((struct lookup_job *)read)->l;
	l->letter.open = on_record_given_up;
	mailbox_post(l->home, &l->letter);
}

static void
goes_home(struct cache *c, struct lookup_job *j, enum outcome r)
{
	settle(c, &j->wanted, r, j->found);
	if (j->read.given_up) {
		stored_unref(&j->found);
		free(j);
		return;
	}
	j->l->letter.open = on_record_home;
	mailbox_post(j->l->home, &j->l->letter);
}

/* For itself, and then for all who came for the same meanwhile, from the same bytes. */
static void
read_on_thread(struct diskio_job *job)
{
	struct lookup_job *j = (struct lookup_job *)job;
	struct cache *c = j->cache;
	struct reader rd = {.st = j->wanted.st, .waits = true};
	enum outcome r = j->wanted.is_on_several ? read_one_of_several(c, &j->wanted, &j->found)
						 : read_record(c, &rd, &j->wanted, &j->found);
	struct read_job *others = reads_end(c->reads, &j->read);
	goes_home(c, j, r);
	for (struct read_job *next; others; others = next) {
		next = others->next;
		j = (struct lookup_job *)others;
		goes_home(c, j, read_record(c, &rd, &j->wanted, &j->found));
	}
	read_fini(&rd);
}

/* A lookup reads this part of its object early: those that read the same one may share it. */
static uint64_t
part_of(const struct cache *c, const struct wanted *w)
{
	return 1 + ((uint64_t)w->first << 60) + w->first_at / c->block_bytes;
}

/* Of one disk the index is asked once, by whoever looks there. */
static bool
choose_disk(const struct cache *c, struct wanted *w)
{
	unsigned i = c->disks_n == 1 && cache_disk_is_open(c) ? 0 : cache_disk_of(c, w->hash, 0);
	if (i == c->disks_n)
		return false;
	w->st = c->disks[i].store;
	w->is_on_several = c->disks_n > 1 && cache_disk_of(c, w->hash, i + 1) < c->disks_n;
	return true;
}

enum found
read_object(struct cache *c, struct cache_lookup *l, struct twice_key_hash hash, struct str key,
	    struct object **out)
{
	struct wanted w = {.hash = hash,
			   .key = key,
			   .first = l->first,
			   .first_at = l->first_at,
			   .head_from = NO_HEAD};
	if (l->head) {
		w.head_from = l->head->clean_from;
		w.head_tags = l->head->tags;
	}
	if (!choose_disk(c, &w) || !store_find(w.st, hash, &w.at, &w.hits))
		return FOUND_NOT;
	struct stored *o = NULL;
	struct reader rd = {.st = w.st};
	enum outcome r = w.is_on_several ? OUTCOME_LATER : read_record(c, &rd, &w, &o);
	if (r != OUTCOME_LATER) {
		settle(c, &w, r, o);
		*out = o ? &o->pub : NULL;
		return o ? FOUND_OBJECT : FOUND_NOT;
	}
	struct lookup_job *j = mem_alloc(sizeof *j + key.n + w.head_tags.n);
	*j = (struct lookup_job){.read = {.job.run = read_on_thread,
					  .at = w.at,
					  .disk = store_number(w.st),
					  .part = part_of(c, &w),
					  .give_up = give_up_record},
				 .cache = c,
				 .l = l,
				 .wanted = w};
	memcpy(j->text, key.p, key.n);
	j->wanted.key.p = j->text;
	if (w.head_tags.n)
		memcpy(j->text + key.n, w.head_tags.p, w.head_tags.n);
	j->wanted.head_tags.p = j->text + key.n;
	assert(!l->job); /* one look at a time */
	l->cache = c;
	l->job = j;
	if (!reads_join(c->reads, &j->read))
		store_post(w.st, &j->read.job);
	return FOUND_LATER;
}

struct object *
read_look(struct cache *c, struct twice_key_hash hash, struct str key)
{
	struct wanted w = {.hash = hash, .key = key, .first = LOOKUP_HEAD, .head_from = NO_HEAD};
	struct stored *o = NULL;
	for (unsigned i = 0; !o && (i = cache_disk_of(c, hash, i)) < c->disks_n; i++) {
		w.st = c->disks[i].store;
		struct reader rd = {.st = w.st, .waits = true};
		if (store_look(w.st, hash, &w.at) && read_record(c, &rd, &w, &o) != OUTCOME_DONE)
			o = NULL;
		read_fini(&rd);
	}
	return o ? &o->pub : NULL;
}
