/* send.c - from a verdict to a head and a source for the body: what the client is told, and where
 * the bytes lie. No byte of HTTP/1 is written here.
 */
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/send_inside.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/forms.h"
#include "proxy/serve/plain.h"
#include "proxy/serve/tunnel.h"
#include "proxy/serve/walk.h"

#include "proxy/http/field_block.h"
#include "proxy/http/head.h"
#include "proxy/http/precond.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <stdio.h>

/* ---- stored heads -------------------------------------------------------------------------- */

static struct field_block
block_of(struct str head)
{
	struct field_block b = {0};
	field_block_open(head, &b); /* else nothing: no lines */
	return b;
}

/* An answer as it is sent: a stored head, and so many bytes of one of its forms. */
struct chosen {
	struct str head;
	const struct terms *terms;
	uint64_t length; /* UINT64_MAX: not known */
	enum form form;
};

/* Lines of a stored head that pass keep(), and hold for the form. */
static void
keep_lines(struct txn *t, struct maker *m, const struct chosen *c,
	   bool (*keep)(const struct field_line *line))
{
	struct field_cursor at = {0};
	struct field_line line;
	const struct field_block *b = &m->stored;
	m->kept = arena_alloc(t->arena, (b->count + LINES_MOST) * sizeof *m->kept);
	while (field_block_next(b, &at, &line))
		if (keep(&line) && !form_drops(c->terms, c->form, &line))
			m->kept[m->kept_n++] = (struct stream_line){line.name, line.value};
}

static bool
goes_with_all(const struct field_line *l)
{
	(void)l;
	return true;
}

/* RFC 9110 15.4.5: a 304 carries what would update a copy, not what describes a body. */
static bool
goes_with_304(const struct field_line *l)
{
	return l->name.n < 8 || strncasecmp(l->name.p, "content-", 8) != 0 ||
	       l->id == FIELD_CONTENT_LOCATION;
}

static bool
goes_with_part(const struct field_line *l)
{
	return l->id != FIELD_CONTENT_RANGE && !head_is_of_bytes(l->name);
}

static bool
goes_with_multipart(const struct field_line *l)
{
	return l->id != FIELD_CONTENT_TYPE && goes_with_part(l);
}

static bool
goes_with_416(const struct field_line *l)
{
	return l->id != FIELD_CONTENT_ENCODING && goes_with_multipart(l);
}

/* Nearly always: then the lines are sent as they are stored. */
static bool
all_go_with_part(const struct field_block *b)
{
	struct field_cursor at = {0};
	struct field_line line;
	while (field_block_next(b, &at, &line))
		if (!goes_with_part(&line))
			return false;
	return true;
}

static struct validators
validators_of(struct txn *t, const struct chosen *c)
{
	return (struct validators){
		.etag = forms_etag(t, c->head, c->terms, c->form),
		.last_modified = c->terms->last_modified,
		.date = c->terms->date,
	};
}

/* ---- which part ---------------------------------------------------------------------------- */

/* 200, 206, 304, 412 or 416 for it. */
static void
select_part(struct txn *t, const struct chosen *c)
{
	uint64_t length = c->length;
	body_is_whole(&t->body, length);
	t->status = c->terms->status;
	if (t->status != 200) /* RFC 9110 13.2.1: conditions count for what would be a success */
		return;
	struct validators v = validators_of(t, c);
	int64_t now = now_s();
	switch (precond_decide(&t->rq, &v, now)) {
	case PRECOND_NOT_MODIFIED:
		t->status = 304;
		return;
	case PRECOND_FAILED:
		t->status = 412;
		return;
	case PRECOND_GO:
		break;
	}
	struct str range = fields_get(&t->rq.fields, FIELD_RANGE);
	if (range.n == 0 || t->rq.method != METHOD_GET || length == UINT64_MAX ||
	    !form_is_own(c->terms, c->form) || !if_range_holds(&t->rq, &v, now))
		return;
	switch (range_parse(range, length, t->body.ranges, &t->body.range_count)) {
	case RANGE_PART:
		t->status = 206;
		return;
	case RANGE_UNSATISFIABLE:
		t->status = 416;
		return;
	case RANGE_WHOLE:
		body_is_whole(&t->body, length);
		return;
	}
}

/* Instead of many parts (RFC 9110 14.2). */
static void
select_whole(struct txn *t, uint64_t length)
{
	t->status = 200;
	body_is_whole(&t->body, length);
}

static void
select_multipart(struct txn *t, struct maker *m, const struct chosen *c)
{
	char drawn[REQUEST_ID_BYTES];
	/* Neither the key nor a clock may show in it: with bits of the hash of a key a client would know which
	 * URLs meet in the filter and the index. */
	request_id_make(&t->serve->ids, drawn);
	keep_lines(t, m, c, goes_with_multipart);
	m->head.bytes =
		body_begin_parts(&t->body, (struct str){drawn, 16},
				 field_block_get(&m->stored, FIELD_CONTENT_TYPE), c->length);
	buf_printf(send_line(t, m, STR("Content-Type")), "multipart/byteranges; boundary=%s",
		   t->body.parts.boundary);
}

/* A form that is not the origin's own says so of itself, once the stored lines were kept. */
static void
say_form(struct txn *t, struct maker *m, const struct chosen *c)
{
	bool own = form_is_own(c->terms, c->form);
	struct str tag = forms_etag(t, c->head, c->terms, c->form);
	if (c->terms->flags & TERMS_SAYS_VARY)
		buf_add_lit(send_line(t, m, STR("Vary")), "Accept-Encoding");
	if (!own && tag.n)
		buf_add_str(send_line(t, m, STR("ETag")), tag);
	if (!own && c->form == FORM_AS_STORED && t->status != 304 && t->status != 412 &&
	    t->status != 416)
		buf_add_str(send_line(t, m, STR("Content-Encoding")),
			    str_of(coding_word(terms_coding(c->terms))));
}

/* The head for what select_part chose; the body is at its beginning. */
static void
begin_selected_head(struct maker *m, struct txn *t, const struct chosen *c)
{
	struct field_block *b = &m->stored;
	uint64_t length = c->length;
	send_begin(m, t, t->status, length);
	field_block_open(c->head, b); /* in place; else nothing: no lines */
	switch (t->status) {
	case 206:
		if (t->body.range_count > 1) {
			select_multipart(t, m, c);
			b->count = 0; /* what goes of it is in kept */
			break;
		}
		if (!all_go_with_part(b)) {
			keep_lines(t, m, c, goes_with_part);
			b->count = 0;
		}
		m->head.bytes = t->body.ranges[0].n;
		content_range_format(t->body.ranges[0], length,
				     send_line(t, m, STR("Content-Range")));
		break;
	case 304:
		m->head.bytes = LENGTH_UNKNOWN;
		keep_lines(t, m, c, goes_with_304);
		b->count = 0;
		break;
	case 412:
	case 416:
		m->head.bytes = 0;
		keep_lines(t, m, c, goes_with_416);
		b->count = 0;
		if (t->status == 416)
			content_range_format((struct range){0, 0}, length,
					     send_line(t, m, STR("Content-Range")));
		break;
	default:
		m->head.reason = field_block_reason(b);
		if (t->status == 204)
			m->head.bytes = LENGTH_UNKNOWN;
		if (!form_is_own(c->terms, c->form)) {
			keep_lines(t, m, c, goes_with_all);
			b->count = 0;
		}
		break;
	}
	if (c->terms->flags & (TERMS_ONE_FORM | TERMS_SAYS_VARY))
		say_form(t, m, c);
	assert(t->body.range_count <= RANGES_MAX && (t->body.range_count || t->status == 416));
	assert(t->body.range_count <= 1 || t->status == 206);
	body_begin(&t->body, length);
}

static bool
has_no_body(const struct txn *t, const struct maker *m)
{
	return send_is_head(t) || m->head.status == 204 || m->head.status == 304 ||
	       m->head.bytes == 0;
}

/* ---- from a stored object ------------------------------------------------------------------ */

/* Each part of an answer may cost a slice from the origin. */
enum { PARTS_OF_SLICES = 4 };

/* Not only a head. */
static bool
sends_body(const struct txn *t)
{
	return !send_is_head(t) && (t->status == 200 || t->status == 206);
}

/* The body's source is known; or it has none. */
static void
answer_selected(struct txn *t, const struct chosen *c)
{
	struct maker m;
	assert(!t->reader);
	t->from.tags = t->object->tags;
	begin_selected_head(&m, t, c);
	send_age(t, &m, c->terms);
	send_end(t, &m);
}

static struct chosen
choose(const struct txn *t)
{
	const struct object *o = t->object;
	struct chosen c = {o->head, &o->terms, slices_length(o), forms_of(t, &o->terms)};
	if (c.form == FORM_EXPANDED) {
		uint64_t plain = atomic_load(&o->plain_bytes);
		c.length = plain == OBJECT_NOT_EXPANDED ? UINT64_MAX : plain;
	} else if (o->kind != OBJECT_SLICED) {
		c.length = o->body_bytes;
	}
	return c;
}

static void
send_object(struct txn *t)
{
	body_of_object(&t->body, t->serve->shelves->cache, t->serve->mailbox, t->object);
}

void
answer_object(struct txn *t)
{
	struct object *o = t->object;
	struct chosen c = choose(t);
	select_part(t, &c);
	if (c.form == FORM_EXPANDED && sends_body(t)) {
		plain_begin(t);
		txn_move(t, TXN_EXPAND);
		return;
	}
	if (o->kind != OBJECT_SLICED) {
		send_object(t);
		answer_selected(t, &c);
		return;
	}
	if (!sends_body(t)) {
		answer_selected(t, &c);
		return;
	}
	if (t->body.range_count > PARTS_OF_SLICES)
		select_whole(t, slices_length(o));
	walk_begin(t);
	txn_move(t, TXN_WALK);
}

/* It is known now from where its first byte comes: that decides how the answer is called. */
static void
say_walk(struct txn *t)
{
	enum walk_help help = walk_help(t->body.walk);
	if (!t->cs.hit || help == WALK_ALL_KEPT)
		return;
	t->cs.hit = false;
	t->cs.fwd = "partial";
	t->cs.fwd_status = 206;
	t->cs.collapsed = help == WALK_JOINED;
	t->cs.stored = t->sighting.writes;
	t->detail = admission_word(t->sighting.verdict);
	t->answer = send_walk_answer(t);
}

void
answer_walk(struct txn *t)
{
	struct chosen c = choose(t);
	say_walk(t);
	body_of_slices(&t->body);
	answer_selected(t, &c);
}

/* Its length may be known by now; several parts would be expanded from the beginning each. */
void
answer_plain(struct txn *t)
{
	struct chosen c = choose(t);
	select_part(t, &c);
	if (t->body.range_count > 1)
		select_whole(t, c.length);
	body_of_plain(&t->body);
	answer_selected(t, &c);
}

/* ---- from a flight ------------------------------------------------------------------------- */

/* The time that the log tells: without asking again, it is good for so long. */
static void
learn_life(struct txn *t, const struct terms *terms)
{
	int64_t left = terms->lifetime - terms->initial_age;
	t->learnt.may_be_stored = true;
	t->learnt.life_s = left > 0 && !(terms->flags & TERMS_NO_CACHE) ? left : 0;
}

/* The origin said 304 to our question: the stored object answers. */
static void
answer_validated(struct txn *t, const struct flight_head *h)
{
	object_unref(&t->object);
	t->object = object_ref(h->object);
	learn_life(t, &t->object->terms);
	t->cs.fwd_status = h->status;
	t->cs.stored = h->stored;
	t->cs.collapsed = !t->leader;
	t->answer = t->leader ? ANSWER_REVALIDATED : ANSWER_COALESCED;
	sight_stored(t, true);
	keep_admit(t);
	t->detail = t->object->place == OBJECT_IN_RAM ? "ram" : "disk";
	flight_leave(&t->reader);
	t->leader = false; /* of what is asked for from here on */
	answer_object(t);
}

/* A request that joined a flight counts for itself, under the key of what came. */
static void
judge_follower(struct txn *t, const struct flight_head *h)
{
	const struct shelves *sh = t->serve->shelves;
	struct sighting_facts f;
	sight_of_txn(t, h->status, &f);
	if (f.kind == SIGHTING_PLAIN)
		f.kind = SIGHTING_FOLLOWER;
	f.storable = h->storable;
	f.on_disk = h->stored && !h->sliced; /* each slice is looked at on its own */
	f.body_bytes = h->body_bytes;
	t->sighting = seen_judge(sh->seen,
				 sighting_key(sh->seed, t->key.primary, buf_str(&h->variant)), &f);
}

/* The head of what is for this client as it came, whatever its status. */
static struct maker
begin_passed_head(struct txn *t, const struct flight_head *h)
{
	struct str head = buf_str(&h->head);
	struct maker m;
	send_begin(&m, t, h->status, h->status == 204 ? LENGTH_UNKNOWN : h->body_bytes);
	m.stored = block_of(head);
	m.head.reason = field_block_reason(&m.stored);
	if (h->status == 101)
		m.head.upgrade = t->tunnel.protocol;
	body_is_whole(&t->body, h->body_bytes);
	body_begin(&t->body, h->body_bytes);
	return m;
}

/* The head of what others may get too; with what the store must not hold, for who asked. */
static struct maker
begin_shared_head(struct txn *t, const struct flight_head *h)
{
	struct str head = buf_str(&h->head);
	bool whole = t->leader && h->asker.n;
	struct chosen c = {head, &h->terms, h->body_bytes, FORM_AS_STORED};
	select_part(t, &c);
	if (t->body.range_count > 1) /* of what is still arriving */
		select_whole(t, h->body_bytes);
	struct maker m;
	c.head = whole ? buf_str(&h->asker) : head;
	begin_selected_head(&m, t, &c);
	if (!whole && (h->has_age || !t->leader))
		send_age(t, &m, &h->terms);
	return m;
}

static enum answer
answer_of_flight(const struct txn *t)
{
	if (t->way == WAY_PASSING)
		return ANSWER_PASS;
	if (!t->leader)
		return ANSWER_COALESCED;
	return t->from.elsewhere ? ANSWER_SIBLING : ANSWER_MISS;
}

void
answer_flight(struct txn *t)
{
	const struct flight_head *h = flight_head(flight_of(t->reader));
	assert(t->state == TXN_WAIT_FLIGHT && h->status);
	t->from.tags = buf_str(&h->tags);
	t->from.had = h->had;
	if (h->object && !h->sliced) {
		answer_validated(t, h);
		return;
	}
	t->cs.fwd_status = h->status;
	t->cs.stored = h->stored;
	t->cs.collapsed = !t->leader;
	t->learnt.judged = h->judged;
	t->detail = t->way == WAY_PASSING ? NULL : admission_word(h->verdict);
	t->answer = answer_of_flight(t);
	if (h->storable)
		learn_life(t, &h->terms);
	if (h->storable && h->vary.n)
		t->learnt.variant =
			sighting_key(t->serve->shelves->seed, t->key.primary, buf_str(&h->variant));
	if (t->leader)
		t->sighting.verdict = t->way == WAY_PASSING ? ADMISSION_NOT_STORABLE : h->verdict;
	else
		judge_follower(t, h);
	if (h->object) {
		t->sighting.writes = admission_writes(t->sighting.verdict);
		object_unref(&t->object);
		t->object = object_ref(h->object);
		variants_read(&t->variants,
			      buf_str(&h->vary)); /* slices are asked for under these */
		flight_leave(&t->reader);
		answer_object(t);
		return;
	}
	bool passes = t->way == WAY_PASSING || !h->storable;
	struct maker m = passes ? begin_passed_head(t, h) : begin_shared_head(t, h);
	send_coded(t, &m, h, passes);
	bool none = has_no_body(t, &m) || t->body.at == t->body.until;
	m.head.pauses = h->narrow && !m.head.upgrade.n ? STREAM_PAUSES_ANSWER : 0;
	if (!none)
		body_of_flight(&t->body, &t->reader);
	send_end(t, &m);
	if (m.head.upgrade.n)
		tunnel_open(t);
	if (none) /* nobody waits for a client that does not even take a head */
		flight_leave(&t->reader);
	else
		flight_done_until(t->body.reader, t->body.at);
}
