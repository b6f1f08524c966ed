/* packing.c - from RAM to the packer's thread, and home again. */
#include "proxy/serve/packing.h"

#include "proxy/base/block.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/object_read.h"
#include "proxy/coding/packer.h"
#include "proxy/http/cachekey.h"
#include "proxy/serve/keep/keep.h"

#include <assert.h>
#include <stdlib.h>

struct packing_job {
	struct letter letter; /* first: see come_home */
	struct packer_job job;
	struct serve *serve; /* whose worker's letters it is */
	struct object *object;
	struct sighting who;
	struct key marker; /* no text: none */
	struct packing_runs body;
	enum coding coding; /* of made, where that is not empty */
	struct buf made;
};

bool
packing_is_on(const struct serve *s)
{
	return packer_is_on(s->shelves->packer);
}

bool
packing_is_meant(const struct serve *s, const struct terms *t, uint64_t body_bytes)
{
	return packing_is_on(s) && t->flags & TERMS_MAY_PACK && body_bytes >= PACKING_LEAST_BYTES &&
	       body_bytes <= PACKING_MOST_BYTES;
}

/* ---- on the packer's thread ---------------------------------------------------------------- */

static void
say_differs(const struct packing_job *p)
{
	struct str url = cachekey_url(p->object->key);
	if (log_is_due(&p->serve->shelves->said_differs_ms, now_ms()))
		log_error(
			"the body of %.*s was packed as %s and is another one when it is expanded "
			"(%s): it is written plain. Memory of this machine or a library is broken; "
			"compress: { cpu: 0%% } packs nothing",
			(int)url.n, url.p, coding_word(p->coding), pack_word(PACK_DIFFERS));
}

static size_t
run(void *ctx, struct pack *pack, struct pack_as as)
{
	struct packing_job *p = ctx;
	struct pieces in = {p->body.at, p->body.n};
	p->coding = as.coding;
	enum packing r = pack_and_check(pack, as, &in, &p->made);
	if (r == PACK_DIFFERS)
		say_differs(p);
	return r == PACK_DONE ? p->made.n : 0;
}

static void
done(void *ctx, bool ran)
{
	struct packing_job *p = ctx;
	(void)ran; /* else nothing was made */
	mailbox_post(p->serve->mailbox, &p->letter);
}

/* ---- at home ------------------------------------------------------------------------------- */

static struct object *
write_form(struct cache *c, const struct packing_job *p, const struct terms *terms, bool disk)
{
	struct object *o = p->object;
	struct write_options w = {
		.hash = o->hash,
		.key = o->key,
		.head = o->head,
		.tags = o->tags,
		.terms = *terms,
		.kind = OBJECT_RESPONSE,
		.plain_bytes = o->body_bytes,
		.begun = atomic_load(&o->clean_as_of),
		.body_bytes = p->made.n,
		.disk = disk,
	};
	struct object_write *write = cache_write_begin(c, &w);
	struct block *b = block_create((uint32_t)p->made.n);
	memcpy(b->p, p->made.p, p->made.n);
	b->n = (uint32_t)p->made.n;
	cache_write_body(write, b, 0, b->n);
	block_unref(&b);
	return cache_write_commit_over(&write, o);
}

/* In RAM as well, if that has room. Bytes that went to disk. */
static uint64_t
write_packed(struct cache *c, const struct packing_job *p)
{
	struct terms t = p->object->terms;
	t.flags &= ~(uint32_t)(TERMS_MAY_PACK | 7 << TERMS_CODING_AT);
	t.flags |= TERMS_PACKED | (uint32_t)p->coding << TERMS_CODING_AT;
	struct object *o = write_form(c, p, &t, false);
	if (!o)
		o = write_form(c, p, &t, true);
	uint64_t bytes =
		o && o->on_disk ? cache_record_bytes(o->key.n, o->head.n, o->body_bytes) : 0;
	object_unref(&o);
	return bytes;
}

static uint64_t
write_plain(struct cache *c, struct object *o)
{
	return cache_admit(c, o) ? cache_record_bytes(o->key.n, o->head.n, o->body_bytes) : 0;
}

static void
come_home(struct letter *l)
{
	struct packing_job *p = (struct packing_job *)l;
	struct shelves *sh = p->serve->shelves;
	uint64_t bytes = p->made.n ? write_packed(sh->cache, p) : write_plain(sh->cache, p->object);
	if (bytes)
		seen_charge(sh->seen, &p->who, bytes);
	else /* if it is there still, the next one who asks may try again */
		atomic_store(&p->object->is_packed, 0);
	if (bytes && p->marker.text.n)
		keep_admit_marker(sh, &p->marker);
	object_unref(&p->object);
	key_fini(&p->marker);
	buf_fini(&p->made);
	free(p);
}

/* ---- away ---------------------------------------------------------------------------------- */

bool
packing_find_runs(struct cache *c, struct object *o, struct packing_runs *out)
{
	struct body_read r = {0};
	for (uint64_t at = 0; at < o->body_bytes; at += r.n) {
		if (out->n == PACKING_RUNS_MOST ||
		    object_read(c, o, &r, at, o->body_bytes - at) != BODY_READY)
			return false;
		out->at[out->n++] = (struct str){r.p, r.n};
	}
	body_done(&r);
	return true;
}

bool
packing_takes(struct serve *s, struct object *o, const struct sighting *who,
	      const struct key *marker)
{
	uint8_t no = 0;
	if (o->place != OBJECT_IN_RAM || !packing_is_meant(s, &o->terms, o->body_bytes) ||
	    atomic_load(&o->on_disk))
		return false;
	if (!atomic_compare_exchange_strong(&o->is_packed, &no, 1))
		return true; /* it is on its way */
	struct packing_job *p = NEW(struct packing_job);
	p->letter.open = come_home;
	p->job = (struct packer_job){
		.bytes = (size_t)o->body_bytes, .run = run, .done = done, .ctx = p};
	p->serve = s;
	p->object = object_ref(o);
	p->who = *who;
	/* All that its thread could need: nothing is allocated there that is freed here. */
	buf_room(&p->made, (size_t)o->body_bytes);
	if (marker)
		key_copy(&p->marker, marker);
	if (packing_find_runs(s->shelves->cache, o, &p->body) &&
	    packer_give(s->shelves->packer, &p->job, now_us()) == PACKER_TAKEN)
		return true;
	atomic_store(&o->is_packed, 0);
	object_unref(&p->object);
	key_fini(&p->marker);
	buf_fini(&p->made);
	free(p);
	return false;
}
