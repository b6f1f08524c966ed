/* precond.c - RFC 9110 13: If-None-Match before If-Modified-Since, tags before dates. */
#include "proxy/http/precond.h"

#include "proxy/http/date.h"
#include "proxy/http/syntax.h"

static bool
is_weak(struct str tag)
{
	return str_starts(tag, STR("W/"));
}

static struct str
opaque(struct str tag)
{
	return is_weak(tag) ? str_from(tag, 2) : tag;
}

/* RFC 9110 8.8.3.2 */
bool
etag_weak_match(struct str a, struct str b)
{
	return a.n > 0 && b.n > 0 && str_eq(opaque(a), opaque(b));
}

bool
etag_strong_match(struct str a, struct str b)
{
	return a.n > 0 && !is_weak(a) && str_eq(a, b);
}

/* Next entity-tag of a list. Not list_next: in a tag a backslash escapes nothing (8.8.3). */
static bool
next_tag(struct str *rest, struct str *tag)
{
	while (rest->n) {
		bool quoted = false;
		size_t n = 0;
		for (; n < rest->n && (quoted || rest->p[n] != ','); n++)
			if (rest->p[n] == '"')
				quoted = !quoted;
		*tag = str_trim((struct str){rest->p, n});
		*rest = str_from(*rest, n + 1);
		if (tag->n)
			return true;
	}
	return false;
}

/* No more of the lists is read: what lies behind matches nothing. The longest tags have a hundred bytes,
 * and clients send one, or a few. */
enum { TAGS_BYTES_MOST = 1 << 10 };

/* "*" matches whatever there is (13.1.1, 13.1.2): we have something. */
static bool
any_tag_matches(const struct fields *f, enum field_id id, struct str etag,
		bool (*match)(struct str, struct str))
{
	unsigned at = 0;
	size_t left = TAGS_BYTES_MOST;
	const struct field *line;
	while (left && (line = fields_next(f, id, &at)) != NULL) {
		struct str rest = line->value, tag;
		rest.n = rest.n < left ? rest.n : left;
		left -= rest.n;
		while (next_tag(&rest, &tag))
			if (str_eq(tag, STR("*")) || match(tag, etag))
				return true;
	}
	return false;
}

/* A date that is none, or one too many, makes the field as if absent (13.1.3, 13.1.4). */
static bool
one_date(const struct fields *f, enum field_id id, int64_t now, int64_t *t)
{
	return fields_count(f, id) == 1 && date_parse(fields_get(f, id), now, t);
}

/* RFC 9111 4.3.2: without Last-Modified, Date stands for it. */
static int64_t
modified(const struct validators *v)
{
	return v->last_modified >= 0 ? v->last_modified : v->date;
}

/* 13.2.2, steps 1 and 2. */
static bool
has_failed(const struct fields *f, const struct validators *v, int64_t now)
{
	int64_t t = 0;
	if (fields_has(f, FIELD_IF_MATCH))
		return !any_tag_matches(f, FIELD_IF_MATCH, v->etag, etag_strong_match);
	return one_date(f, FIELD_IF_UNMODIFIED_SINCE, now, &t) && modified(v) > t;
}

/* 13.2.2, steps 3 and 4. */
static bool
is_not_modified(const struct fields *f, const struct validators *v, int64_t now)
{
	int64_t t = 0;
	if (fields_has(f, FIELD_IF_NONE_MATCH))
		return any_tag_matches(f, FIELD_IF_NONE_MATCH, v->etag, etag_weak_match);
	return one_date(f, FIELD_IF_MODIFIED_SINCE, now, &t) && modified(v) <= t;
}

enum precond
precond_decide(const struct request *r, const struct validators *v, int64_t now)
{
	/* 13.2.1: preconditions are for answers that would be 2xx. */
	if (v->status && (v->status < 200 || v->status > 299))
		return PRECOND_GO;
	if (has_failed(&r->fields, v, now))
		return PRECOND_FAILED;
	return is_not_modified(&r->fields, v, now) ? PRECOND_NOT_MODIFIED : PRECOND_GO;
}

bool
if_range_holds(const struct request *r, const struct validators *v, int64_t now)
{
	const struct fields *f = &r->fields;
	struct str value = fields_get(f, FIELD_IF_RANGE);
	int64_t t = 0;
	if (!fields_has(f, FIELD_IF_RANGE))
		return true;
	if (fields_count(f, FIELD_IF_RANGE) != 1)
		return false;
	if (date_parse(value, now, &t)) /* 13.1.5: exactly, and strong by 8.8.2.2 */
		return t == v->last_modified && v->date >= v->last_modified + 1;
	return etag_strong_match(value, v->etag);
}
