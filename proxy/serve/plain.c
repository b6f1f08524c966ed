/* plain.c - coded bytes in, plain ones out. */
#include "proxy/serve/plain.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/coding/expand.h"
#include "proxy/http/cachekey.h"
#include "proxy/http/form.h"

#include <assert.h>
#include <stdlib.h>

enum { TAKEN_MOST = 64 << 10 }; /* coded bytes in a round: 5 ms of those that make nothing */

struct plain {
	struct body_read read; /* first: see on_read */
	struct txn *t;	       /* NULL: it has left */
	struct object *object; /* a reference */
	struct shelves *shelves;
	struct expander *expander; /* NULL: all is made, or it has failed */
	unsigned holder;	   /* of the bytes that are counted (share.h) */
	uint64_t holds;		   /* so many */
	struct str in;		   /* coded bytes that were read and not taken yet */
	uint64_t came;		   /* coded bytes that were read */
	struct buf out;		   /* expanded bytes, the first of which is number out_at of all */
	uint64_t out_at;
	bool full; /* the expander has more of what it took */
	bool read_out, whole, failed;
	/* Nobody has expanded it yet: all of it is, once, before any of it is sent; a piece in a round. */
	bool checks;
	bool on_its_way; /* the letter by which the next round comes */
	struct letter again;
};

/* The window is no larger than what is made (expand.h). */
uint64_t
plain_memory(const struct object *o)
{
	uint64_t plain = atomic_load(&o->plain_bytes);
	if (plain == OBJECT_NOT_EXPANDED || plain > FORM_EXPANDED_BYTES)
		plain = o->body_bytes * EXPAND_RATIO_MOST;
	if (plain > FORM_EXPANDED_BYTES)
		plain = FORM_EXPANDED_BYTES;
	return 2 * plain + (512 << 10);
}

static void
drop_expander(struct plain *p)
{
	if (!p->expander)
		return;
	share_give(&p->shelves->expanding, p->holder, p->holds);
	expand_destroy(&p->expander);
}

static void
free_plain(struct plain *p)
{
	body_done(&p->read);
	object_unref(&p->object);
	drop_expander(p);
	buf_fini(&p->out);
	free(p);
}

static void
go_on(struct plain *p)
{
	if (p->t)
		p->t->wake(p->t);
	else
		free_plain(p);
}

static void
on_read(struct body_read *r)
{
	struct plain *p = (struct plain *)r;
	p->read_out = false;
	go_on(p);
}

static void
on_again(struct letter *l)
{
	struct plain *p = (struct plain *)((char *)l - offsetof(struct plain, again));
	p->on_its_way = false;
	go_on(p);
}

static void
begin(struct plain *p)
{
	const struct object *o = p->object;
	struct expand_limits limits = {.most = FORM_EXPANDED_BYTES, .comes = o->body_bytes};
	if (o->terms.flags & TERMS_PACKED) /* by us, as dense as it may be */
		limits = (struct expand_limits){object_own_bytes(o), EXPAND_ANY_RATIO};
	drop_expander(p);
	p->holds = plain_memory(o);
	if (share_take(&p->shelves->expanding, p->holder, p->holds, PLAIN_BYTES_MOST)) {
		p->expander = expand_create(terms_coding(&o->terms), &limits);
		if (!p->expander)
			share_give(&p->shelves->expanding, p->holder, p->holds);
	}
	p->failed = !p->expander;
	p->in = (struct str){0};
	p->came = p->out_at = 0;
	p->out.n = 0;
	p->whole = p->full = false;
}

void
plain_begin(struct txn *t)
{
	struct object *o = t->object;
	struct plain *p = NEW(struct plain);
	assert(!t->body.plain && o->terms.flags & TERMS_ONE_FORM);
	p->t = t;
	p->shelves = t->serve->shelves;
	p->object = object_ref(o);
	p->holder = share_holder(t);
	p->read.home = t->serve->mailbox;
	p->read.done = on_read;
	p->again.open = on_again;
	/* From a disk it would be read twice. */
	p->checks =
		o->place == OBJECT_IN_RAM && atomic_load(&o->plain_bytes) == OBJECT_NOT_EXPANDED;
	begin(p);
	t->body.plain = p;
}

void
plain_end(struct plain **pp)
{
	struct plain *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	p->t = NULL;
	if (!p->read_out && !p->on_its_way)
		free_plain(p);
}

static enum plain_step
fail(struct plain *p)
{
	p->failed = true;
	drop_expander(p);
	return PLAIN_FAILED;
}

/* An origin that labels its bodies wrong would not hear of it: clients that take the coding are sent them. */
static void
say_expands_not(const struct plain *p, enum expansion e)
{
	struct str url = cachekey_url(key_primary(&p->t->key));
	const char *coding = coding_word(terms_coding(&p->object->terms));
	if (!log_is_due(&p->shelves->said_expands_not_ms, now_ms()))
		return;
	if (p->object->terms.flags & TERMS_PACKED)
		log_warning(
			"the body of %.*s, which was packed here, cannot be expanded as %s (%s): "
			"it is fetched anew for clients that take it plain",
			(int)url.n, url.p, coding, expand_word(e));
	else
		log_warning(
			"the body of %.*s came as %s and cannot be expanded (%s): clients that "
			"take %s are sent it as it came; others are sent what the origin "
			"answers each of them. Look at what the origin says as Content-Encoding",
			(int)url.n, url.p, coding, expand_word(e), coding);
}

/* The bytes are at fault: nobody needs to try again. */
static enum plain_step
expands_not(struct plain *p, enum expansion e)
{
	atomic_store(&p->object->plain_bytes, OBJECT_EXPANDS_NOT);
	say_expands_not(p, e);
	return fail(p);
}

static enum plain_step
end(struct plain *p)
{
	enum expansion e = expand_end(p->expander);
	if (expand_is_fault(e))
		return expands_not(p, e);
	p->whole = true;
	drop_expander(p); /* a client may take its time */
	atomic_store(&p->object->plain_bytes, p->out_at + p->out.n);
	return PLAIN_READY;
}

/* The next coded bytes are in p->in. */
static enum plain_step
read_more(struct plain *p)
{
	struct cache *c = p->t->serve->shelves->cache;
	uint64_t left = p->object->body_bytes - p->came;
	switch (object_read(c, p->object, &p->read, p->came, left)) {
	case BODY_READY:
		p->in = (struct str){p->read.p, p->read.n};
		p->came += p->read.n;
		return PLAIN_READY;
	case BODY_LATER:
		p->read_out = true;
		return PLAIN_LATER;
	case BODY_BAD:
		break;
	}
	return fail(p);
}

static enum plain_step
stop_here(struct plain *p)
{
	p->on_its_way = true;
	mailbox_post(p->t->serve->mailbox, &p->again);
	return PLAIN_LATER;
}

/* Takes so many of the coded bytes that are here, at most. */
static enum expansion
feed(struct plain *p, size_t most)
{
	size_t room = PLAIN_HELD_BYTES - p->out.n, made = 0;
	struct str part = {p->in.p, p->in.n < most ? p->in.n : most};
	size_t n = part.n;
	enum expansion e = expand_feed(p->expander, &part, buf_room(&p->out, room), room, &made);
	p->in = str_from(p->in, n - part.n);
	p->out.n += made;
	p->full = e == EXPAND_FULL;
	return e;
}

/* Until as many bytes as are held are there, or all. A body can take coded bytes for long and make nothing of
 * them: then it goes on in the next round. */
static enum plain_step
expand(struct plain *p)
{
	size_t taken = 0;
	if (p->failed)
		return PLAIN_FAILED;
	while (!p->read_out && !p->on_its_way && !p->whole && p->out.n < PLAIN_HELD_BYTES) {
		if (!p->in.n && !p->full) {
			enum plain_step step =
				p->came == p->object->body_bytes ? end(p) : read_more(p);
			if (step != PLAIN_READY)
				return step;
			continue;
		}
		if (taken == TAKEN_MOST)
			return p->out.n ? PLAIN_READY : stop_here(p);
		size_t before = p->in.n;
		enum expansion e = feed(p, TAKEN_MOST - taken);
		taken += before - p->in.n;
		if (e == EXPAND_NO_MEMORY)
			return fail(p);
		if (expand_is_fault(e))
			return expands_not(p, e);
	}
	return p->read_out || p->on_its_way ? PLAIN_LATER : PLAIN_READY;
}

/* The next piece of a body that is looked at as a whole. READY: it is sound, and its beginning is here. */
static enum plain_step
check(struct plain *p)
{
	enum plain_step step = p->on_its_way ? PLAIN_LATER : expand(p);
	if (step != PLAIN_READY)
		return step;
	if (!p->whole) {
		p->out_at += p->out.n;
		p->out.n = 0;
		return stop_here(p);
	}
	p->checks = false;
	if (p->out_at == 0)
		return PLAIN_READY;
	begin(p);
	return expand(p);
}

enum plain_step
plain_find(struct plain *p)
{
	return p->checks ? check(p) : expand(p);
}

enum plain_step
plain_read(struct plain *p, uint64_t at, size_t most, struct str *piece)
{
	assert(at >= p->out_at);
	for (;;) {
		uint64_t gone = at - p->out_at;
		if (gone < p->out.n || p->whole) {
			size_t from = gone < p->out.n ? (size_t)gone : p->out.n;
			*piece = str_from(buf_str(&p->out), from);
			piece->n = piece->n < most ? piece->n : most;
			return PLAIN_READY;
		}
		p->out_at += p->out.n;
		p->out.n = 0;
		enum plain_step step = expand(p);
		if (step != PLAIN_READY)
			return step;
	}
}
