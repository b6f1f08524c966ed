/* reply.c - what a response must look like before we believe where its body ends. */
#include "proxy/origin/reply.h"

#include "proxy/http/h1_parse.h"
#include "proxy/http/syntax.h"
#include "proxy/http/upgrade.h"

/* A buffer that one large head has grown is not kept for the small ones after it. */
enum { BUFFER_KEEP = 16 << 10 };

void
reply_begin(struct reply *r, bool to_head, struct str upgrade, struct field fields[FIELDS_MAX])
{
	buf_empty(&r->head, BUFFER_KEEP);
	buf_fini(&r->trailers);
	*r = (struct reply){.head = r->head, .to_head = to_head, .upgrade = upgrade};
	r->response.fields = (struct fields){.v = fields, .cap = FIELDS_MAX};
}

void
reply_fini(struct reply *r)
{
	buf_fini(&r->head);
	buf_fini(&r->trailers);
}

/* RFC 9112 4: HTTP/1 with any minor version (RFC 9110 2.5), a space, three digits; then a space and
 * a reason, or nothing (the space before an absent reason is often forgotten). */
static const char *
status_line(struct str s)
{
	const char *p = s.p;
	if (s.n < 12 || memcmp(p, "HTTP/1.", 7) != 0 || !byte_is_digit(p[7]) || p[8] != ' ')
		return "the status line is not HTTP/1";
	if (!byte_is_digit(p[9]) || !byte_is_digit(p[10]) || !byte_is_digit(p[11]) || p[9] == '0' ||
	    (s.n > 12 && p[12] != ' ' && p[12] != '\r' && p[12] != '\n'))
		return "the status code is not three digits";
	return NULL;
}

/* An HTTP/1 response begins so; what does not will not get better by waiting for its end. */
static bool
may_be_http(struct str s)
{
	static const char begin[] = "HTTP/1.";
	size_t n = s.n < sizeof begin - 1 ? s.n : sizeof begin - 1;
	return memcmp(s.p, begin, n) == 0;
}

static const char *
content_length(struct reply *r)
{
	const struct fields *f = &r->response.fields;
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_CONTENT_LENGTH, &at)) != NULL) {
		int64_t n = 0;
		if (line->value.n > 18 || !digits_parse(line->value, &n))
			return "Content-Length is not a number";
		if (r->has_length && (uint64_t)n != r->content_length)
			return "two different Content-Lengths";
		r->has_length = true;
		r->content_length = (uint64_t)n;
	}
	return NULL;
}

/* We send no TE, so nothing but chunked may come (RFC 9112 7.4), and it may come once (6.1). */
static const char *
transfer_coding(struct reply *r)
{
	const struct fields *f = &r->response.fields;
	if (!fields_has(f, FIELD_TRANSFER_ENCODING))
		return NULL;
	if (fields_count(f, FIELD_TRANSFER_ENCODING) != 1 ||
	    !str_ieq(fields_get(f, FIELD_TRANSFER_ENCODING), STR("chunked")))
		return "a Transfer-Encoding other than chunked";
	if (r->has_length)
		return "Content-Length and Transfer-Encoding together";
	if (r->response.minor == 0)
		return "Transfer-Encoding in HTTP/1.0";
	r->has_coding = true;
	return NULL;
}

/* RFC 9112 9.3; close wins over keep-alive. */
static bool
keeps_connection(const struct response *rs)
{
	if (!fields_has(&rs->fields, FIELD_CONNECTION))
		return rs->minor > 0;
	return !fields_list_has(&rs->fields, FIELD_CONNECTION, STR("close")) &&
	       (rs->minor > 0 || fields_list_has(&rs->fields, FIELD_CONNECTION, STR("keep-alive")));
}

/* RFC 9112 6.3, in its order. */
static enum reply_phase
body_of(const struct reply *r)
{
	if (r->to_head || r->response.status == 204 || r->response.status == 304)
		return REPLY_OVER;
	if (r->has_coding)
		return REPLY_IN_CHUNKS;
	if (r->has_length)
		return r->content_length ? REPLY_IN_LENGTH : REPLY_OVER;
	return REPLY_IN_REST;
}

/* Another head follows a 1xx; what is known so far was about that one. */
static void
begin_next_head(struct reply *r)
{
	size_t head_bytes = r->head_bytes;
	reply_begin(r, r->to_head, r->upgrade, r->response.fields.v);
	r->head_bytes = head_bytes;
}

/* A 1xx has no body that its fields could speak of (RFC 9110 7.6.1, 8.6), and goes on without what is for the
 * next hop alone. */
static void
drop_fields(struct fields *f)
{
	const struct fields all = *f;
	struct fields_listed listed;
	fields_read_listed(&all, &listed);
	f->n = 0;
	f->present = 0;
	for (unsigned i = 0; i < all.n; i++)
		if (!((fields_hop_by_hop | FIELD_BIT(CONTENT_LENGTH)) & field_bit(all.v[i].id)) &&
		    !fields_is_listed(&listed, i))
			fields_add(f, all.v[i].name, all.v[i].value);
}

/* RFC 9112 5.1 lets a proxy remove spaces between a name and its colon. Who reads such a name
 * differently reads another message: it is refused. */
static bool
has_spaced_name(const struct fields *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].name.p[f->v[i].name.n] != ':')
			return true;
	return false;
}

/* RFC 9110 7.8: only to what was asked for. All that follows belongs to that protocol, so a 101 that
 * was not meant hides whatever the origin says next: it is refused. */
static enum reply_step
switch_protocols(struct reply *r, const char **why)
{
	if (r->upgrade.n == 0) {
		*why = "the origin switches protocols, which nobody asked for";
		return REPLY_REFUSED;
	}
	if (!upgrade_agreed(&r->response, r->upgrade)) {
		*why = "the origin switches to another protocol than was asked for";
		return REPLY_REFUSED;
	}
	r->switched = true;
	r->phase = REPLY_IN_REST;
	return REPLY_HEAD;
}

/* The head is whole: what does it say of what follows? */
static enum reply_step
end_head(struct reply *r, const char **why)
{
	if ((*why = status_line(buf_str(&r->head))))
		return REPLY_REFUSED;
	if (!h1_parse_response(buf_str(&r->head), &r->response) ||
	    has_spaced_name(&r->response.fields)) {
		*why = "a line of the head that is no field, or too many of them";
		return REPLY_REFUSED;
	}
	if (r->response.status == 101)
		return switch_protocols(r, why);
	if ((*why = content_length(r)) || (*why = transfer_coding(r)))
		return REPLY_REFUSED;
	if (r->response.status >= 200) {
		r->keep = keeps_connection(&r->response);
		r->phase = body_of(r);
		r->left = r->content_length;
		return REPLY_HEAD;
	}
	r->interim = true;
	if (r->response.status == 100)
		return REPLY_MORE;
	drop_fields(&r->response.fields);
	return REPLY_INTERIM;
}

/* Takes of *in what belongs to the head; true when its last byte is here. Most heads come in one
 * piece, and are copied once. */
static bool
gather(struct reply *r, struct str *in)
{
	size_t had = r->head.n, most = REPLY_HEAD_MAX + 1 - r->head_bytes;
	size_t n = in->n < most ? in->n : most, end = 0;
	if (had == 0)
		end = h1_head_bytes(in->p, n, &r->scanned);
	if (end) {
		n = end;
		buf_add(&r->head, in->p, n);
	} else {
		buf_add(&r->head, in->p, n);
		end = had ? h1_head_bytes(r->head.p, r->head.n, &r->scanned) : 0;
		if (end) {
			n = end - had;
			r->head.n = end;
		}
	}
	*in = str_from(*in, n);
	r->head_bytes += n;
	return end > 0;
}

static enum reply_step
read_head(struct reply *r, struct str *in, const char **why)
{
	enum reply_step step = REPLY_MORE;
	while (in->n && step == REPLY_MORE) {
		if (r->interim)
			begin_next_head(r);
		bool whole = gather(r, in);
		*why = r->head_bytes > REPLY_HEAD_MAX	 ? "the head is too large"
		       : !may_be_http(buf_str(&r->head)) ? "the status line is not HTTP/1"
							 : NULL;
		if (*why)
			return REPLY_REFUSED;
		if (whole)
			step = end_head(r, why);
	}
	return step;
}

static enum reply_step
read_length(struct reply *r, struct str *in, struct str *data)
{
	data->p = in->p;
	data->n = in->n < r->left ? in->n : (size_t)r->left;
	*in = str_from(*in, data->n);
	r->left -= data->n;
	if (r->left == 0)
		r->phase = REPLY_OVER;
	return REPLY_BODY;
}

/* The last n bytes that were read belong to the trailer section, which mostly is an empty line. */
static void
keep_trailers(struct reply *r, const char *end, size_t n)
{
	const char *p = end - n;
	if (n && (r->trailers.n || (*p != '\r' && *p != '\n')))
		buf_add(&r->trailers, p, n);
}

static enum reply_step
read_chunks(struct reply *r, struct str *in, struct str *data, const char **why)
{
	const struct fault *fault;
	unsigned before = r->chunked.trailer_bytes;
	enum chunked_step step = chunked_decode(&r->chunked, in, data, &fault);
	keep_trailers(r, in->p, r->chunked.trailer_bytes - before);
	switch (step) {
	case CHUNKED_DATA:
		return REPLY_BODY;
	case CHUNKED_DONE:
		r->phase = REPLY_OVER;
		return REPLY_END;
	case CHUNKED_FAULT:
		*why = "broken chunks";
		return REPLY_REFUSED;
	default:
		return REPLY_MORE;
	}
}

enum reply_step
reply_read(struct reply *r, struct str *in, struct str *data, const char **why)
{
	if (r->phase == REPLY_OVER)
		return REPLY_END;
	if (in->n == 0)
		return REPLY_MORE;
	switch (r->phase) {
	case REPLY_IN_HEAD:
		return read_head(r, in, why);
	case REPLY_IN_LENGTH:
		return read_length(r, in, data);
	case REPLY_IN_CHUNKS:
		return read_chunks(r, in, data, why);
	default:
		*data = *in;
		*in = str_from(*in, in->n);
		return REPLY_BODY;
	}
}

bool
reply_keeps(const struct reply *r)
{
	return r->phase == REPLY_OVER && r->keep;
}
