/* head.c - heads written: the stored one, the updated one, the one for the origin. */
#include "proxy/http/head.h"

#include "proxy/http/field_block.h"
#include "proxy/http/syntax.h"

#define BIT(id) (UINT64_C(1) << FIELD_##id)

static uint64_t
bit(enum field_id id)
{
	return UINT64_C(1) << id;
}

static void
add_field(struct str name, struct str value, struct buf *out)
{
	buf_add_str(out, name);
	buf_add_lit(out, ": ");
	buf_add_str(out, value);
	buf_add_lit(out, "\r\n");
}

static bool
list_names(struct str list, struct str name)
{
	struct str item;
	while (list_next(&list, &item))
		if (str_ieq(item, name))
			return true;
	return false;
}

/* -- what is kept of a response ---------------------------------------------------- */

static bool
is_withheld(const struct response_cc *cc, const struct field *field)
{
	return list_names(cc->no_cache_fields, field->name) ||
	       list_names(cc->private_fields, field->name);
}

bool
head_withholds(const struct response *r)
{
	struct response_cc cc;
	response_cc_parse(&r->fields, &cc);
	for (unsigned i = 0; i < r->fields.n; i++)
		if (is_withheld(&cc, &r->fields.v[i]))
			return true;
	return false;
}

/* RFC 9111 3.1, and what is written afresh for every answer. Age goes only from what is stored:
 * what is passed on keeps the one it came with. */
static bool
is_kept(const struct response *r, const struct response_cc *cc, const struct field *field,
	bool store)
{
	if (field_is_hop_by_hop(&r->fields, field) || field->id == FIELD_CONTENT_LENGTH)
		return false;
	if (!store)
		return true;
	return field->id != FIELD_AGE && !is_withheld(cc, field);
}

/* RFC 9110 6.6.1: a Date that is missing is added, one that is none is replaced. */
static bool
has_date(const struct fields *f, int64_t now)
{
	int64_t t;
	return fields_count(f, FIELD_DATE) == 1 && date_parse(fields_get(f, FIELD_DATE), now, &t);
}

void
head_store(const struct response *r, int64_t now, struct buf *out, struct terms *terms)
{
	struct field_block_writer w;
	bool dated = has_date(&r->fields, now);
	unsigned tags = 0;
	struct response_cc cc;
	char date[DATE_BYTES];

	response_cc_parse(&r->fields, &cc);
	if (terms)
		terms->etag_at = terms->etag_bytes = 0;
	field_block_begin(&w, out, r->status, r->reason);
	for (unsigned i = 0; i < r->fields.n; i++) {
		const struct field *f = &r->fields.v[i];
		if (!is_kept(r, &cc, f, terms != NULL) || (f->id == FIELD_DATE && !dated))
			continue;
		if (f->id == FIELD_ETAG && terms && tags++ == 0) {
			terms->etag_at = (uint32_t)field_block_value_at(&w, f->name);
			terms->etag_bytes = (uint32_t)f->value.n;
		}
		field_block_add(&w, f->id, f->name, f->value);
	}
	date_format(now, date);
	if (!dated)
		field_block_add(&w, FIELD_DATE, STR("Date"), (struct str){date, DATE_BYTES});
	field_block_end(&w);
}

bool
head_read(struct str stored, struct response *out)
{
	struct field_block b;
	if (!field_block_open(stored, &b))
		return false;
	out->status = b.status;
	out->reason = field_block_reason(&b);
	out->minor = 1;
	return field_block_fields(&b, &out->fields);
}

/* Fields that speak of the stored bytes, or that our storing depends on (RFC 9111 3.2): Vary names
 * the variant under which the response is filed. */
static const uint64_t bound_to_body =
	BIT(CONTENT_ENCODING) | BIT(CONTENT_RANGE) | BIT(ETAG) | BIT(VARY);

static bool
is_bound(const struct fields *stored, const struct field *f)
{
	if (bound_to_body & bit(f->id))
		return fields_has(stored, f->id);
	return str_ieq(f->name, STR("content-md5")) || str_ieq(f->name, STR("content-digest"));
}

static bool
is_replaced(const struct response *fresh, const struct field *stored, const struct fields *all)
{
	unsigned at = 0;
	return !is_bound(all, stored) && fields_next_named(&fresh->fields, stored->name, &at);
}

static bool
put(struct fields *to, const struct field *f)
{
	if (to->n == to->cap)
		return false;
	to->v[to->n++] = *f;
	to->present |= bit(f->id);
	return true;
}

bool
head_update(const struct response *stored, const struct response *fresh, int64_t now,
	    char date[DATE_BYTES], struct response *out)
{
	const struct fields *was = &stored->fields, *is = &fresh->fields;
	struct field dated = {STR("Date"), fields_get(is, FIELD_DATE), FIELD_DATE};
	struct response_cc cc;
	bool room = true;

	response_cc_parse(is, &cc);
	out->status = stored->status;
	out->reason = stored->reason;
	out->minor = 1;
	out->fields.n = 0;
	out->fields.present = 0;
	for (unsigned i = 0; i < was->n; i++)
		if (was->v[i].id != FIELD_DATE && !is_replaced(fresh, &was->v[i], was))
			room = room && put(&out->fields, &was->v[i]);
	for (unsigned i = 0; i < is->n; i++) {
		const struct field *f = &is->v[i];
		bool news =
			is_kept(fresh, &cc, f, true) || f->id == FIELD_AGE; /* 4.2.3 counts it */
		if (news && !is_bound(was, f) && f->id != FIELD_DATE)
			room = room && put(&out->fields, f);
	}
	if (!has_date(is, now)) {
		date_format(now, date);
		dated.value = (struct str){date, DATE_BYTES};
	}
	return room && put(&out->fields, &dated);
}

/* -- what the origin is sent ------------------------------------------------------- */

static const uint64_t never_forwarded = BIT(HOST) | BIT(CONTENT_LENGTH) | BIT(EXPECT);
static const uint64_t conditions = BIT(IF_MATCH) | BIT(IF_NONE_MATCH) | BIT(IF_MODIFIED_SINCE) |
				   BIT(IF_UNMODIFIED_SINCE) | BIT(IF_RANGE) | BIT(RANGE);
static const uint64_t forwarding =
	BIT(FORWARDED) | BIT(X_FORWARDED_FOR) | BIT(X_FORWARDED_HOST) | BIT(X_FORWARDED_PROTO);

/* Fields by which frameworks let a client speak for somebody else, or for another URL or method.
 * They are in no key, so behind an untrusted client they would change what everybody gets. */
static bool
speaks_for_others(struct str name)
{
	static const struct str names[] = {
		STR_INIT("x-original-url"),
		STR_INIT("x-rewrite-url"),
		STR_INIT("x-host"),
		STR_INIT("x-real-ip"),
		STR_INIT("x-original-host"),
		STR_INIT("x-http-method"),
		STR_INIT("x-http-method-override"),
		STR_INIT("x-method-override"),
	};
	if (name.n < 6 || (name.p[0] | 0x20) != 'x' || name.p[1] != '-')
		return false;
	if (name.n > 12 && strncasecmp(name.p, "x-forwarded-", 12) == 0)
		return true;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_ieq(name, names[i]))
			return true;
	return false;
}

static bool
is_forwarded(const struct request *r, const struct forward *f, const struct field *field)
{
	uint64_t is = bit(field->id);
	bool cacheable = r->method == METHOD_GET || r->method == METHOD_HEAD;
	if ((is & (never_forwarded | forwarding)) || field_is_hop_by_hop(&r->fields, field))
		return false;
	if (f->strip_conditions && (is & conditions))
		return false;
	if ((field->id == FIELD_RANGE && f->range.n) ||
	    (field->id == FIELD_IF_RANGE && f->if_range.n) ||
	    (field->id == FIELD_IF_NONE_MATCH && f->if_none_match.n) ||
	    (field->id == FIELD_IF_MODIFIED_SINCE && f->if_modified_since.n))
		return false;
	return f->trust_forwarded || !cacheable || !speaks_for_others(field->name);
}

static void
add_if_any(struct str name, struct str value, struct buf *out)
{
	if (value.n)
		add_field(name, value, out);
}

/* "Name: " and, when trusted, what came under that name, ready for one more member. */
static void
begin_list(const struct request *r, const struct forward *f, enum field_id id, struct str name,
	   struct buf *out)
{
	unsigned at = 0;
	const struct field *line;
	buf_add_str(out, name);
	buf_add_lit(out, ": ");
	while (f->trust_forwarded && (line = fields_next(&r->fields, id, &at)) != NULL) {
		buf_add_str(out, line->value);
		buf_add_lit(out, ", ");
	}
}

/* RFC 7239 4, 6: IPv6 and ports need quotes; an IPv6 address needs brackets. */
static void
add_node(struct str key, struct str value, bool brackets, struct buf *out)
{
	bool quotes = !str_is_token(value);
	buf_add_str(out, key);
	buf_add_str(out, quotes ? STR("=\"") : STR("="));
	buf_add_str(out, brackets ? STR("[") : STR(""));
	buf_add_str(out, value);
	buf_add_str(out, brackets ? STR("]") : STR(""));
	buf_add_str(out, quotes ? STR("\"") : STR(""));
}

static void
add_forwarded(const struct request *r, const struct forward *f, struct buf *out)
{
	begin_list(r, f, FIELD_FORWARDED, STR("Forwarded"), out);
	bool v6 = f->client_ip.n && memchr(f->client_ip.p, ':', f->client_ip.n);
	add_node(STR("for"), f->client_ip, v6, out);
	if (r->authority.n)
		add_node(STR(";host"), r->authority, false, out);
	add_node(STR(";proto"), f->scheme, false, out);
	buf_add_lit(out, "\r\n");
}

/* Kept from a trusted client, else what we see ourselves. */
static void
add_seen(const struct request *r, const struct forward *f, enum field_id id, struct str name,
	 struct str seen, struct buf *out)
{
	struct str said = fields_get(&r->fields, id);
	add_if_any(name, f->trust_forwarded && said.n ? said : seen, out);
}

/* RFC 9110 7.6.2: each hop takes one off; the one that brings 0 is not passed on (edge's to see).
 */
static bool
counts_down(const struct request *r, const struct field *field)
{
	return field->id == FIELD_MAX_FORWARDS &&
	       (r->method == METHOD_OPTIONS || r->method == METHOD_TRACE);
}

static void
add_one_less(const struct field *field, struct buf *out)
{
	int64_t n;
	bool number = digits_parse(field->value, &n);
	buf_add_str(out, field->name);
	buf_add_lit(out, ": ");
	buf_add_u64(out, number && n > 0 ? (uint64_t)(n - 1) : 0);
	buf_add_lit(out, "\r\n");
}

void
head_forward(const struct request *r, const struct forward *f, struct buf *out)
{
	for (unsigned i = 0; i < r->fields.n; i++) {
		const struct field *field = &r->fields.v[i];
		if (counts_down(r, field))
			add_one_less(field, out);
		else if (is_forwarded(r, f, field))
			add_field(field->name, field->value, out);
	}
	add_if_any(STR("If-None-Match"), f->if_none_match, out);
	add_if_any(STR("If-Modified-Since"), f->if_modified_since, out);
	add_if_any(STR("Range"), f->range, out);
	add_if_any(STR("If-Range"), f->if_range, out);

	begin_list(r, f, FIELD_X_FORWARDED_FOR, STR("X-Forwarded-For"), out);
	buf_add_str(out, f->client_ip);
	buf_add_lit(out, "\r\n");
	add_seen(r, f, FIELD_X_FORWARDED_PROTO, STR("X-Forwarded-Proto"), f->scheme, out);
	add_seen(r, f, FIELD_X_FORWARDED_HOST, STR("X-Forwarded-Host"), r->authority, out);
	add_forwarded(r, f, out);

	/* RFC 9110 7.6.3: a line of our own; those that came were passed above. */
	buf_add_str(out, r->minor ? STR("Via: 1.1 ") : STR("Via: 1.0 "));
	buf_add_str(out, f->via_name);
	buf_add_lit(out, "\r\n");
}

/* -- Cache-Status ------------------------------------------------------------------ */

/* sf-string (RFC 8941 3.3.3); what it cannot hold (a key's line ends) becomes a space. */
static void
add_sf_string(struct str s, struct buf *out)
{
	buf_add_lit(out, "\"");
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i] < 0x20 || s.p[i] > 0x7e ? ' ' : s.p[i];
		if (c == '"' || c == '\\')
			buf_add_lit(out, "\\");
		buf_add(out, &c, 1);
	}
	buf_add_lit(out, "\"");
}

/* A token where it may be one (3.3.4), else a string. */
static void
add_sf_word(const char *word, struct buf *out)
{
	struct str s = str_of(word);
	char first = s.n ? byte_lower(s.p[0]) : '\0';
	if (((first >= 'a' && first <= 'z') || first == '*') && str_is_token(s))
		buf_add_str(out, s);
	else
		add_sf_string(s, out);
}

void
cache_status_format(const struct cache_status *s, struct buf *out)
{
	add_sf_word(s->name, out);
	if (s->hit)
		buf_add_lit(out, "; hit");
	if (s->fwd) {
		buf_add_lit(out, "; fwd=");
		add_sf_word(s->fwd, out);
	}
	if (s->fwd_status) {
		buf_add_lit(out, "; fwd-status=");
		buf_add_u64(out, (uint64_t)s->fwd_status);
	}
	if (s->has_ttl) {
		buf_add_lit(out, "; ttl=");
		if (s->ttl < 0)
			buf_add_lit(out, "-");
		buf_add_u64(out, s->ttl < 0 ? (uint64_t)-s->ttl : (uint64_t)s->ttl);
	}
	if (s->stored)
		buf_add_lit(out, "; stored");
	if (s->collapsed)
		buf_add_lit(out, "; collapsed");
	if (s->key.n) {
		buf_add_lit(out, "; key=");
		add_sf_string(s->key, out);
	}
	if (s->detail) {
		buf_add_lit(out, "; detail=");
		add_sf_word(s->detail, out);
	}
}
