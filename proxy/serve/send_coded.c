/* send_coded.c - the head of an answer that is coded on its way to its client (coded.h), and of its sisters that are not.
 *
 * It is another representation of what its origin sent (RFC 9110 8.8.3.3): its tag is the origin's made weak, it has no
 * ranges, no digests and no length. GET and HEAD of the same request have the same fields, and so has their 304.
 */
#include "proxy/serve/send_inside.h"

#include "proxy/http/form.h"
#include "proxy/http/syntax.h"
#include "proxy/serve/coded.h"
#include "proxy/serve/forms.h"

/* A route that takes the label away would send bytes that nobody can read. */
static bool
hides_coding(const struct txn *t)
{
	const struct header_rules *rules = t->route->response;
	return rules && header_rules_hide(rules, STR("Content-Encoding"));
}

/* In which one this client is sent it; NONE: as it came. A part is of the origin's bytes, and so is what If-Match names. In
 * HTTP/1.0 a body that does not say its length ends its connection. HEAD of what is stored is no news of a fetch. */
static enum coding
coding_for(const struct txn *t)
{
	const struct fields *asks = &t->rq.fields;
	if (t->rq.minor == 0 || t->cc.no_transform || fields_has(asks, FIELD_RANGE) ||
	    fields_has(asks, FIELD_IF_MATCH) || (send_is_head(t) && t->object) || hides_coding(t))
		return CODING_NONE;
	const struct coding_list *best = &t->route->codings;
	unsigned accepted = outgoing_accepted(&t->outgoing);
	for (unsigned i = 0; i < best->n; i++)
		if (accepted & CODING_BIT(best->at[i]))
			return best->at[i];
	return CODING_NONE;
}

/* Vary may have several lines. */
static bool
says_vary(const struct field_block *b)
{
	struct field_cursor at = {0};
	struct field_line line;
	bool says = false;
	while (!says && field_block_next(b, &at, &line))
		says = line.id == FIELD_VARY && list_has(line.value, STR("accept-encoding"));
	return says;
}

/* The client holds it in a coded form: it asked by the weak tag of this one. */
static bool
has_coded(const struct txn *t, struct str tag)
{
	struct str asked = fields_get(&t->rq.fields, FIELD_IF_NONE_MATCH);
	const char *at = NULL;
	if (tag.n && asked.n && !str_starts(tag, STR("W/")))
		at = memmem(asked.p, asked.n, tag.p, tag.n);
	return at && at - asked.p >= 2 && memcmp(at - 2, "W/", 2) == 0;
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Into m->kept, unless it speaks of the origin's bytes. */
static void
keep_line(struct maker *m, struct str name, struct str value, struct str *tag)
{
	enum field_id id = field_id_of(name);
	if (id == FIELD_ETAG)
		*tag = value;
	else if (!form_is_of_bytes(id, name))
		m->kept[m->kept_n++] = (struct stream_line){name, value};
}

/* The origin's tag, which is not among the lines any more. */
static struct str
drop_lines(struct txn *t, struct maker *m)
{
	struct field_cursor at = {0};
	struct field_line line;
	struct str tag = {0};
	const struct stream_line *were = m->kept;
	unsigned n = m->kept_n;
	m->kept = arena_alloc(t->arena, (n + m->stored.count + LINES_MOST) * sizeof *m->kept);
	m->kept_n = 0;
	for (unsigned i = 0; i < n; i++)
		keep_line(m, were[i].name, were[i].value, &tag);
	while (field_block_next(&m->stored, &at, &line))
		keep_line(m, line.name, line.value, &tag);
	m->stored.count = 0; /* what goes of it is in kept */
	return tag;
}

static void
say_coded(struct txn *t, struct maker *m, enum coding c)
{
	struct str tag = drop_lines(t, m);
	if (tag.n)
		buf_add_str(send_line(t, m, STR("ETag")), forms_weak_etag(t, tag));
	if (t->status == 304)
		return;
	buf_add_str(send_line(t, m, STR("Content-Encoding")), str_of(coding_word(c)));
	m->head.bytes = LENGTH_UNKNOWN;
}

void
send_coded(struct txn *t, struct maker *m, const struct flight_head *h, bool passes)
{
	if (!h->may_be_coded)
		return;
	enum coding c = coding_for(t);
	struct str tag = field_block_get(&m->stored, FIELD_ETAG);
	if (passes && !says_vary(&m->stored)) /* else its terms say so, and it is there already */
		buf_add_lit(send_line(t, m, STR("Vary")), "Accept-Encoding");
	/* A 304 of the origin's does not say of which type it is. */
	bool is_form = h->status == 304 ? has_coded(t, tag) : t->status == 200 || t->status == 304;
	bool sends = !send_is_head(t) && t->status == 200;
	if (c == CODING_NONE || !is_form || (sends && !coded_begin(t, c)))
		return;
	say_coded(t, m, c);
}
