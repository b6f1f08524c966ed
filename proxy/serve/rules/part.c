/* part.c - what a stored 206 is good for. Pure: facts of heads and lengths. */
#include "proxy/serve/rules/part.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/http/head.h"
#include "proxy/http/precond.h"

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
