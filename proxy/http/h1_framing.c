/* h1_framing.c - where a request ends, what its client waits for, and what becomes of its connection:
 * decided by few fields, of which a smuggler needs one to be read in two ways.
 */
#include "proxy/http/h1_inside.h"

#include "proxy/http/syntax.h"

/* RFC 9112 6.1: exactly "chunked", once. What else is said decides how to refuse it: a coding we
 * do not have is a 501, a body whose end cannot be known is a 400 (6.3). */
static const struct fault *
coding(const struct fields *f)
{
	struct str list = fields_get(f, FIELD_TRANSFER_ENCODING), item, last = {NULL, 0};
	unsigned chunked = 0;
	if (fields_count(f, FIELD_TRANSFER_ENCODING) == 1 && str_ieq(list, STR("chunked")))
		return NULL;
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_TRANSFER_ENCODING, &at)) != NULL)
		for (list = line->value; list_next(&list, &item); last = item)
			chunked += str_ieq(item, STR("chunked"));
	return chunked == 1 && str_ieq(last, STR("chunked")) ? &fault_CODING
							     : &fault_CODING_NOT_FINAL;
}

/* RFC 9112 6.3, without any of the repairs it allows. */
const struct fault *
h1_framing(struct request *r)
{
	const struct fields *f = &r->fields;
	bool has_length = fields_has(f, FIELD_CONTENT_LENGTH);
	const struct fault *fault;
	int64_t length = 0;

	r->framing = FRAMING_NONE;
	r->content_length = 0;
	if (fields_has(f, FIELD_TRANSFER_ENCODING)) {
		if (has_length)
			return &fault_LENGTH_AND_CODING;
		if (r->minor == 0)
			return &fault_CODING_IN_1_0;
		if ((fault = coding(f)) != NULL)
			return fault;
		r->framing = FRAMING_CHUNKED;
	} else if (has_length) {
		if (fields_count(f, FIELD_CONTENT_LENGTH) != 1 ||
		    !digits_parse(fields_get(f, FIELD_CONTENT_LENGTH), &length) ||
		    length == INT64_MAX)
			return &fault_LENGTH;
		r->framing = FRAMING_LENGTH;
		r->content_length = (uint64_t)length;
	}
	return NULL;
}

/* RFC 9110 10.1.1. HTTP/1.0 has no interim answers, a request without a body waits for none. */
const struct fault *
h1_framing_expect(struct request *r)
{
	r->expect_continue = false;
	if (!fields_has(&r->fields, FIELD_EXPECT) || r->minor == 0)
		return NULL;
	if (fields_count(&r->fields, FIELD_EXPECT) != 1 ||
	    !str_ieq(fields_get(&r->fields, FIELD_EXPECT), STR("100-continue")))
		return &fault_EXPECT;
	r->expect_continue = r->framing == FRAMING_CHUNKED ||
			     (r->framing == FRAMING_LENGTH && r->content_length);
	return NULL;
}

/* Every list is read once and has an end: who sends a thousand options wants us to compare them
 * with every field. */
const struct fault *
h1_framing_connection(const struct fields *f)
{
	struct fields_listed listed;
	if (fields_has(f, FIELD_CONNECTION) && !fields_read_listed(f, &listed))
		return &fault_CONNECTION_OPTIONS;
	return NULL;
}

/* RFC 9112 9.3. */
bool
h1_framing_keeps_alive(const struct request *r)
{
	if (!fields_has(&r->fields, FIELD_CONNECTION))
		return r->minor > 0;
	if (fields_list_has(&r->fields, FIELD_CONNECTION, STR("close")))
		return false;
	return r->minor > 0 || fields_list_has(&r->fields, FIELD_CONNECTION, STR("keep-alive"));
}
