/* form.c - as stored, or expanded. */
#include "proxy/http/form.h"

#include "proxy/http/field_block.h"
#include "proxy/http/head.h"
#include "proxy/http/syntax.h"

static enum coding
coding_of_answer(const struct fields *f)
{
	return fields_count(f, FIELD_CONTENT_ENCODING) > 1
		       ? CODING_OTHER
		       : coding_of(fields_get(f, FIELD_CONTENT_ENCODING));
}

bool
form_may_be_one(const struct response *rs, uint64_t body_bytes)
{
	enum coding c = coding_of_answer(&rs->fields);
	bool large = body_bytes != UINT64_MAX && body_bytes > FORM_CODED_BYTES;
	if (c == CODING_NONE)
		return true;
	return c != CODING_OTHER && rs->status == 200 && !large &&
	       !fields_has(&rs->fields, FIELD_CONTENT_RANGE) &&
	       !fields_list_has(&rs->fields, FIELD_CACHE_CONTROL, STR("no-transform"));
}

void
form_is_one(struct terms *t, const struct response *rs, unsigned asked, bool may_come_coded)
{
	enum coding c = coding_of_answer(&rs->fields);
	t->flags &= ~(uint32_t)TERMS_FORM;
	t->flags |= TERMS_ONE_FORM | (uint32_t)c << TERMS_CODING_AT;
	t->flags |= asked == CODING_UNCLASSED ? (uint32_t)TERMS_ASKED_FREELY
					      : (uint32_t)asked >> 1 << TERMS_ASKED_AT;
	if (c == CODING_NONE && asked == 0 && may_come_coded)
		t->flags |= TERMS_LEFT_PLAIN;
}

enum form
form_choose(const struct terms *t, const struct form_facts *f)
{
	enum coding c = terms_coding(t);
	bool takes = f->accepted & CODING_BIT(c), packed = t->flags & TERMS_PACKED;
	if (!(t->flags & TERMS_ONE_FORM))
		return FORM_AS_STORED;
	if (t->flags & TERMS_LEFT_PLAIN)
		return f->class == 0 || (f->class == CODING_UNCLASSED &&
					 f->accepted & CODING_BIT(CODING_NONE))
			       ? FORM_AS_STORED
			       : FORM_BETTER;
	if (c == CODING_NONE)
		return FORM_AS_STORED;
	if (takes && !(packed && (f->range || f->no_transform)))
		return FORM_AS_STORED;
	if (packed)
		return FORM_EXPANDED; /* the origin's own bytes: nothing was transformed */
	return f->no_transform || !(f->accepted & CODING_BIT(CODING_NONE)) ? FORM_NONE
									   : FORM_EXPANDED;
}

static bool
is_digest(struct str name)
{
	return head_is_of_bytes(name) || str_ieq(name, STR("digest")) ||
	       str_ieq(name, STR("repr-digest"));
}

bool
form_is_of_bytes(enum field_id id, struct str name)
{
	return id == FIELD_CONTENT_ENCODING || id == FIELD_ETAG || id == FIELD_ACCEPT_RANGES ||
	       is_digest(name);
}

bool
form_drops(const struct terms *t, enum form form, const struct field_line *line)
{
	return !form_is_own(t, form) && form_is_of_bytes(line->id, line->name);
}
