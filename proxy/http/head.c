/* head.c - heads written: the stored one, the updated one, the one for the origin. */
#include "proxy/http/head.h"

#include "proxy/http/field_block.h"
#include "proxy/http/syntax.h"

/* -- what is kept of a response ---------------------------------------------------- */

/* Most answers withhold nothing: NULL then, and no field is asked about. */
static const struct response_cc *
withholding(const struct response_cc *cc, const struct terms *terms)
{
	bool any = cc->no_cache_fields.n || cc->private_fields.n || (terms->flags & TERMS_STRIPPED);
	return any ? cc : NULL;
}

static bool
is_withheld(const struct response_cc *cc, const struct field *field, const struct terms *terms)
{
	if (field->id == FIELD_SET_COOKIE && terms && (terms->flags & TERMS_STRIPPED))
		return true;
	return (cc->no_cache_fields.n && list_has(cc->no_cache_fields, field->name)) ||
	       (cc->private_fields.n && list_has(cc->private_fields, field->name));
}

/* RFC 9111 3.1, and what is written afresh for every answer. Age goes only from what is stored:
 * what is passed on keeps the one it came with. */
static uint64_t
never_kept(bool store)
{
	return fields_hop_by_hop | FIELD_BIT(CONTENT_LENGTH) | FIELD_BIT(X_REQUEST_ID) |
	       (store ? FIELD_BIT(AGE) : 0);
}

/* cc: NULL where nothing is withheld. */
static bool
is_kept(const struct fields *f, const struct fields_listed *listed, const struct response_cc *cc,
	unsigned i, uint64_t never, const struct terms *terms)
{
	const struct field *field = &f->v[i];
	return !(never & field_bit(field->id)) && !fields_is_listed(listed, i) &&
	       !(cc && is_withheld(cc, field, terms));
}

/* RFC 9110 6.6.1: a missing Date is added, an invalid one is replaced. */
static bool
has_date(const struct fields *f, int64_t now)
{
	int64_t t;
	return fields_count(f, FIELD_DATE) == 1 && date_parse(fields_get(f, FIELD_DATE), now, &t);
}

/* A Date that Connection or no-cache="date" takes away is missing, too. */
static bool
keeps_date(const struct fields *f, const struct fields_listed *listed, const struct response_cc *cc,
	   uint64_t never, const struct terms *terms, int64_t now)
{
	if (!has_date(f, now))
		return false;
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].id == FIELD_DATE)
			return is_kept(f, listed, cc, i, never, terms);
	return false;
}

bool
head_store(const struct response *r, int64_t now, struct buf *out, struct terms *terms)
{
	struct field_block_writer w;
	unsigned tags = 0;
	bool withholds = false;
	struct fields_listed listed;
	struct response_cc cc;
	char date[DATE_BYTES];

	fields_read_listed(&r->fields, &listed);
	response_cc_parse_names(&r->fields, &cc);
	const struct response_cc *held = terms ? withholding(&cc, terms) : NULL;
	uint64_t never = never_kept(terms != NULL);
	bool dated = keeps_date(&r->fields, &listed, held, never, terms, now);
	if (terms)
		terms->etag_at = terms->etag_bytes = 0;
	field_block_begin(&w, out, r->status, r->reason);
	for (unsigned i = 0; i < r->fields.n; i++) {
		const struct field *f = &r->fields.v[i];
		withholds = withholds || (held && is_withheld(held, f, terms));
		if (!is_kept(&r->fields, &listed, held, i, never, terms) ||
		    (f->id == FIELD_DATE && !dated))
			continue;
		if (f->id == FIELD_ETAG && terms && tags++ == 0) {
			terms->etag_at = (uint32_t)field_block_value_at(&w, f->name);
			terms->etag_bytes = (uint32_t)f->value.n;
		}
		field_block_add(&w, f->id, f->name, f->value);
	}
	if (!dated) {
		date_format(now, date);
		field_block_add(&w, FIELD_DATE, STR("Date"), (struct str){date, DATE_BYTES});
	}
	field_block_end(&w);
	return withholds;
}

bool
head_is_of_bytes(struct str name)
{
	return str_ieq(name, STR("content-md5")) || str_ieq(name, STR("content-digest"));
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
 * the variant under which the response is filed. Where there is no tag or Vary yet, the news may bring
 * one; bytes that are not coded never are later. */
static const uint64_t of_bytes = FIELD_BIT(CONTENT_ENCODING) | FIELD_BIT(CONTENT_RANGE),
		      bound_to_body = FIELD_BIT(ETAG) | FIELD_BIT(VARY);

static bool
is_bound(const struct fields *stored, const struct field *f)
{
	if (bound_to_body & field_bit(f->id))
		return fields_has(stored, f->id);
	return (of_bytes & field_bit(f->id)) || head_is_of_bytes(f->name);
}

static bool
is_replaced(const struct fields *fresh, const struct fields_order *order,
	    const struct field *stored, const struct fields *all)
{
	/* A Set-Cookie of a 304 is for who asked: everybody would get that session. */
	return !is_bound(all, stored) && stored->id != FIELD_SET_COOKIE &&
	       (stored->id == FIELD_OTHER ? fields_has_named(fresh, order, stored->name)
					  : fields_has(fresh, stored->id));
}

static bool
put(struct fields *to, const struct field *f)
{
	if (to->n == to->cap)
		return false;
	to->v[to->n++] = *f;
	to->present |= field_bit(f->id);
	return true;
}

bool
head_update(const struct response *stored, const struct response *fresh, int64_t now,
	    char date[DATE_BYTES], struct response *out)
{
	const struct fields *was = &stored->fields, *is = &fresh->fields;
	struct field dated = {STR("Date"), fields_get(is, FIELD_DATE), FIELD_DATE};
	struct fields_listed listed;
	struct fields_order order;
	struct response_cc cc;
	uint64_t never = never_kept(true);
	bool room = true;

	fields_read_listed(is, &listed);
	fields_sort(is, &order);
	response_cc_parse_names(is, &cc);
	out->status = stored->status;
	out->reason = stored->reason;
	out->minor = 1;
	out->fields.n = 0;
	out->fields.present = 0;
	for (unsigned i = 0; i < was->n; i++)
		if (was->v[i].id != FIELD_DATE && !is_replaced(is, &order, &was->v[i], was))
			room = room && put(&out->fields, &was->v[i]);
	for (unsigned i = 0; i < is->n; i++) {
		const struct field *f = &is->v[i];
		bool news = is_kept(is, &listed, &cc, i, never, NULL) ||
			    f->id == FIELD_AGE; /* 4.2.3 counts it */
		if (news && !is_bound(was, f) && f->id != FIELD_DATE && f->id != FIELD_SET_COOKIE)
			room = room && put(&out->fields, f);
	}
	if (!has_date(is, now)) {
		date_format(now, date);
		dated.value = (struct str){date, DATE_BYTES};
	}
	return room && put(&out->fields, &dated);
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
	char first = byte_lower(word[0]);
	size_t n = 0;
	while (byte_is(word[n], BYTE_TOKEN))
		n++;
	if (!word[n] && ((first >= 'a' && first <= 'z') || first == '*'))
		buf_add(out, word, n);
	else
		add_sf_string(str_of(word), out);
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
