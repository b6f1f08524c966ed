/* slices.c - arithmetic of slices, and what an answer to a question for some is worth. */
#include "proxy/serve/rules/slices.h"

#include "proxy/http/head.h"
#include "proxy/http/precond.h"
#include "proxy/serve/rules/validator.h"

/* Their numbers stay below 2^32, and sums of offsets far from overflow. */
static const uint64_t MOST_BYTES = (UINT64_C(1) << 32) * SLICE_BYTES;

bool
slices_may(const struct response *rs, uint64_t total, int64_t now_s)
{
	if (!total || total > MOST_BYTES || !validator_strong(&rs->fields, now_s).n)
		return false;
	if (rs->status == 206)
		return fields_count(&rs->fields, FIELD_CONTENT_RANGE) == 1;
	return rs->status == 200 && total > SLICE_BYTES &&
	       fields_list_has(&rs->fields, FIELD_ACCEPT_RANGES, STR("bytes"));
}

struct range
slices_bytes(uint64_t number, uint64_t total)
{
	if (number >= slices_end(total))
		return (struct range){total, 0};
	uint64_t at = number * SLICE_BYTES;
	return (struct range){at, total - at < SLICE_BYTES ? total - at : SLICE_BYTES};
}

static struct response
open_head(struct str head, struct field fields[FIELDS_MAX])
{
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	if (!head_read(head, &r))
		r.fields = (struct fields){0};
	return r;
}

struct str
slices_validator(struct str head)
{
	struct field fields[FIELDS_MAX];
	struct response r = open_head(head, fields);
	int64_t date;
	/* As of then: what was strong when it was stored does not lose that by getting older. */
	if (!date_parse(fields_get(&r.fields, FIELD_DATE), 0, &date))
		date = 0;
	return validator_strong(&r.fields, date);
}

struct str
slices_date(struct str head)
{
	struct field fields[FIELDS_MAX];
	struct response r = open_head(head, fields);
	return fields_get(&r.fields, FIELD_LAST_MODIFIED);
}

void
slices_version(struct str head, struct buf *out)
{
	struct field fields[FIELDS_MAX];
	struct response r = open_head(head, fields);
	buf_add_str(out, fields_get(&r.fields, FIELD_CONTENT_ENCODING));
	buf_add_lit(out, " ");
	buf_add_str(out, slices_validator(head));
}

/* The coding belongs to the version, whatever the tag says. A 206 may leave it out. */
static bool
is_coded_alike(struct str head, const struct response *rs)
{
	struct field fields[FIELDS_MAX];
	struct response r = open_head(head, fields);
	return !fields_has(&rs->fields, FIELD_CONTENT_ENCODING) ||
	       str_ieq(fields_get(&r.fields, FIELD_CONTENT_ENCODING),
		       fields_get(&rs->fields, FIELD_CONTENT_ENCODING));
}

/* Two servers have two tags for one file. */
static bool
is_renamed(const struct slices_question *q, const struct response *rs)
{
	struct field fields[FIELDS_MAX];
	struct response r = open_head(q->head, fields);
	return q->elsewhere && slices_validator(q->head).n && fields_has(&rs->fields, FIELD_ETAG) &&
	       fields_has(&r.fields, FIELD_ETAG) && validator_is_of_time(&r.fields, &rs->fields, 0);
}

/* A 206 with the bytes that were asked for, and no others. */
static bool
is_wanted_range(const struct slices_question *q, const struct response *rs, uint64_t body_bytes)
{
	struct range got;
	uint64_t of;
	return rs->status == 206 && fields_count(&rs->fields, FIELD_CONTENT_RANGE) == 1 &&
	       content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &got, &of) &&
	       of == q->total && got.at == q->want.at && got.n == q->want.n &&
	       (body_bytes == got.n || body_bytes == UINT64_MAX);
}

enum slices_answer
slices_answer(const struct slices_question *q, const struct response *rs, uint64_t body_bytes)
{
	bool same = validator_is_of(slices_validator(q->head), &rs->fields);
	bool version = (same || is_renamed(q, rs)) && is_coded_alike(q->head, rs);
	if (rs->status == 200 && version && body_bytes == q->total)
		return same ? SLICES_IGNORED : SLICES_RENAMED;
	if (rs->status == 429 || rs->status >= 500)
		return SLICES_FAILED;
	if (version && is_wanted_range(q, rs, body_bytes))
		return SLICES_IT;
	return same ? SLICES_ODD : SLICES_CHANGED;
}

bool
slices_is_refused(enum slices_answer a, int status)
{
	return a == SLICES_FAILED || a == SLICES_ODD || a == SLICES_IGNORED ||
	       (status != 200 && status != 206);
}
