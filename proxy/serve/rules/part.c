/* part.c - what a stored 206 is good for. Pure: facts of heads and lengths. */
#include "proxy/serve/rules/part.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/http/head.h"
#include "proxy/http/precond.h"
#include "proxy/serve/rules/validator.h"

bool
part_is_sound(const struct response *rs, uint64_t body_bytes)
{
	struct range s;
	uint64_t total;
	return rs->status == 206 && fields_count(&rs->fields, FIELD_CONTENT_RANGE) == 1 &&
	       content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &s, &total) &&
	       total != UINT64_MAX && s.n == body_bytes && s.n <= PART_MOST_BYTES && s.n < total &&
	       !fields_has(&rs->fields, FIELD_VARY);
}

static bool
parse(const struct object *o, struct field *fields, struct response *r)
{
	*r = (struct response){.fields = {.v = fields, .cap = FIELDS_MAX}};
	return head_read(o->head, r);
}

bool
part_held(const struct object *o, struct range *held, uint64_t *total)
{
	struct field fields[FIELDS_MAX];
	struct response r;
	return parse(o, fields, &r) &&
	       content_range_parse(fields_get(&r.fields, FIELD_CONTENT_RANGE), held, total);
}

static struct str
etag_of(const struct object *o)
{
	return (struct str){o->head.p + o->terms.etag_at, o->terms.etag_bytes};
}

static bool
is_within(struct range inner, struct range outer)
{
	return inner.at >= outer.at && inner.at + inner.n <= outer.at + outer.n;
}

bool
part_answers(const struct object *o, const struct request *r, int64_t now, struct range *want,
	     uint64_t *total)
{
	struct range held, ranges[RANGES_MAX];
	unsigned n;
	struct validators v = {.status = 200,
			       .etag = etag_of(o),
			       .last_modified = o->terms.last_modified,
			       .date = o->terms.date};
	if (!part_held(o, &held, total) || !if_range_holds(r, &v, now) ||
	    fields_has(&r->fields, FIELD_IF_NONE_MATCH) ||
	    fields_has(&r->fields, FIELD_IF_MODIFIED_SINCE))
		return false;
	struct str range = fields_get(&r->fields, FIELD_RANGE);
	if (range.n == 0 || range_parse(range, *total, ranges, &n) != RANGE_PART || n != 1)
		return false;
	*want = ranges[0];
	return is_within(*want, held);
}

/* If-Range may name this part by a strong tag (RFC 9110 13.1.5); only where there is none at all,
 * by a date that is strong (8.8.2.2). Empty: by nothing. */
static struct str
strong_validator(const struct object *o)
{
	struct field fields[FIELDS_MAX];
	struct response r;
	struct str etag = etag_of(o);
	if (!validator_is_time(o->terms.last_modified))
		return (struct str){0};
	if (etag.n)
		return etag_strong_match(etag, etag) ? etag : (struct str){0};
	bool strong = o->terms.last_modified >= 0 && o->terms.date > o->terms.last_modified;
	return strong && parse(o, fields, &r) ? fields_get(&r.fields, FIELD_LAST_MODIFIED)
					      : (struct str){0};
}

static bool
is_same_version(const struct object *o, const struct fields *f)
{
	struct str ours = strong_validator(o);
	if (o->terms.etag_bytes)
		return etag_strong_match(ours, fields_get(f, FIELD_ETAG));
	return ours.n && !fields_has(f, FIELD_ETAG) &&
	       str_eq(ours, fields_get(f, FIELD_LAST_MODIFIED));
}

bool
part_next_gap(const struct object *o, uint64_t from, struct range *gap, struct str *validator)
{
	struct range held;
	uint64_t total;
	*validator = strong_validator(o);
	if (!validator->n || !part_held(o, &held, &total))
		return false;
	uint64_t end = held.at + held.n;
	/* Two trips may meet two versions, and then an answer that has begun would be cut. */
	if (held.at > 0 && end < total)
		return false;
	*gap = from < held.at ? (struct range){0, held.at} : (struct range){end, total - end};
	return gap->n > 0 && from <= end;
}

bool
part_fills(const struct object *o, struct range gap, const struct response *rs, uint64_t body_bytes)
{
	struct range got, held;
	uint64_t total, got_total;
	return rs->status == 206 && part_held(o, &held, &total) &&
	       content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &got,
				   &got_total) &&
	       got.at == gap.at && got.n == gap.n && got_total == total && body_bytes == gap.n &&
	       is_same_version(o, &rs->fields);
}
