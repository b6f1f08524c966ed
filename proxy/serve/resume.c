/* resume.c - a body that broke off goes on: the rest is asked for by Range, where a strong
 * validator tells that it is the rest of the same (RFC 9110 14.2, RFC 9111 3.4). All who read the
 * fetch go on with it. Of a body of unknown length (chunked) the answer says how long it is.
 */
#include "proxy/serve/resume.h"

#include "proxy/serve/keep/keep.h"
#include "proxy/serve/rules/validator.h"

#include "proxy/http/head.h"
#include "proxy/http/range.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <stdio.h>

/* Of one body; each must have brought something. */
enum { RESUMES_MOST = 3 };

static struct str
validator_in(struct str stored_head)
{
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	return head_read(stored_head, &r) ? validator_strong(&r.fields, now_s()) : (struct str){0};
}

bool
resume_is_told(struct str stored_head)
{
	return validator_in(stored_head).n != 0;
}

/* Some origins have one tag for all codings. */
static struct str
coding_in(struct str stored_head)
{
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	bool read = head_read(stored_head, &r);
	return read ? fields_get(&r.fields, FIELD_CONTENT_ENCODING) : (struct str){NULL, 0};
}

bool
resume_is_same(struct str stored_head, struct str other_head)
{
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct str ours = validator_in(stored_head);
	return ours.n && head_read(other_head, &r) && validator_is_of(ours, &r.fields) &&
	       str_ieq(coding_in(stored_head), coding_in(other_head));
}

static struct str
head_of(const struct fill *f)
{
	return buf_str(&flight_head(f->flight)->head);
}

static struct str
validator_of(const struct fill *f)
{
	return validator_in(head_of(f));
}

bool
resume_may(const struct fill *f)
{
	return f->stage == FILL_ARRIVING && !f->as_it_came && f->kind != FILL_PASS &&
	       f->rq.method == METHOD_GET && flight_head(f->flight)->status == 200 &&
	       f->in.came < f->in.comes && /* of unknown length: always */
	       /* Of a coded body whose length is not known the rest may come uncoded. */
	       (f->in.comes != UINT64_MAX || !coding_in(head_of(f)).n) &&
	       f->resume.asked < RESUMES_MOST &&
	       (f->resume.asked == 0 || f->in.came > f->resume.asked_at) && validator_of(f).n;
}

void
resume_ask(struct fill *f, struct outgoing_asks *out, char range[RESUME_RANGE_BYTES])
{
	int n = snprintf(range, RESUME_RANGE_BYTES, "bytes=%llu-", (unsigned long long)f->in.came);
	out->range = (struct str){range, (size_t)n};
	out->if_range = validator_of(f);
	f->resume.asked++;
	f->resume.asked_at = f->in.came;
}

/* "bytes *" "/1234": what RFC 9110 15.5.17 says of a range behind the end. */
static bool
is_behind_end(const struct fill *f, const struct response *rs)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_RANGE);
	int64_t total;
	return rs->status == 416 && str_starts(v, STR("bytes */")) &&
	       digits_parse(str_from(v, 8), &total) && (uint64_t)total == f->in.came;
}

enum resumption
resume_with(struct fill *f, const struct response *rs)
{
	struct range got;
	uint64_t total, length = keep_length(rs);
	bool known = f->in.comes != UINT64_MAX;
	assert(f->stage == FILL_ARRIVING && f->in.came <= f->in.comes);
	/* One that says nothing may leave it out; of unknown length it could be of another one. */
	struct str coding = fields_get(&rs->fields, FIELD_CONTENT_ENCODING),
		   ours = coding_in(head_of(f));
	if (!validator_is_of(validator_of(f), &rs->fields) ||
	    (coding.n ? !str_ieq(coding, ours) : !known && ours.n))
		return RESUME_NOT;
	if (!known && is_behind_end(f, rs)) /* only the end was missing */
		return RESUME_OVER;
	if (rs->status != 206 ||
	    !content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &got, &total) ||
	    total == UINT64_MAX || got.at != f->in.came || got.at + got.n != total ||
	    (known && total != f->in.comes) || (length != got.n && length != UINT64_MAX))
		return RESUME_NOT;
	intake_begin(&f->in, total);
	f->resume.unsaid = length == UINT64_MAX;
	return RESUME_IT;
}
