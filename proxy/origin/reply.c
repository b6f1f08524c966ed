/* reply.c - what a response must look like before we believe where its body ends. */
#include "proxy/origin/reply.h"

/* A buffer that one large head has grown is not kept for the small ones after it. */
enum { BUFFER_KEEP = 16 << 10 };

static struct buf
emptied(struct buf b)
{
	if (b.cap > BUFFER_KEEP)
		buf_fini(&b);
	b.n = 0;
	return b;
}

void
reply_begin(struct reply *r, bool to_head)
{
	*r = (struct reply){.head = emptied(r->head), .line = emptied(r->line), .to_head = to_head};
}

void
reply_fini(struct reply *r)
{
	buf_fini(&r->head);
	buf_fini(&r->line);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* RFC 9110 5.6.2 */
static bool
is_tchar(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* RFC 9112 4: HTTP/1.0 or HTTP/1.1, a space, three digits; then a space and a reason, or nothing
 * (the space before an absent reason is often forgotten). */
static const char *
status_line(struct reply *r, struct str s)
{
	const char *p = s.p;
	if (s.n < 12 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '0' && p[7] != '1') || p[8] != ' ')
		return "the status line is not HTTP/1";
	if (!is_digit(p[9]) || !is_digit(p[10]) || !is_digit(p[11]) || p[9] == '0' ||
	    (s.n > 12 && p[12] != ' '))
		return "the status code is not three digits";
	r->http_1_0 = p[7] == '0';
	r->keep = !r->http_1_0;
	r->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
	if (r->status == 101)
		return "the origin switches protocols, which nobody asked for";
	return NULL;
}

static const char *
content_length(struct reply *r, struct str v)
{
	uint64_t n = 0;
	if (v.n == 0 || v.n > 18)
		return "Content-Length is not a number";
	for (size_t i = 0; i < v.n; i++) {
		if (!is_digit(v.p[i]))
			return "Content-Length is not a number";
		n = n * 10 + (uint64_t)(v.p[i] - '0');
	}
	if (r->has_length && n != r->content_length)
		return "two different Content-Lengths";
	r->has_length = true;
	r->content_length = n;
	return NULL;
}

/* We send no TE, so nothing but chunked may come (RFC 9112 7.4), and it may come once (6.1). */
static const char *
transfer_coding(struct reply *r, struct str v)
{
	if (!str_ieq(v, STR("chunked")) || r->has_coding)
		return "a Transfer-Encoding other than chunked";
	r->has_coding = true;
	return NULL;
}

/* RFC 9112 9.3; close wins over keep-alive. */
static void
connection(struct reply *r, struct str v)
{
	while (v.n) {
		const char *comma = memchr(v.p, ',', v.n);
		struct str item = {v.p, comma ? (size_t)(comma - v.p) : v.n};
		v = str_from(v, item.n + 1);
		item = str_trim(item);
		if (str_ieq(item, STR("close")))
			r->closes = true;
		else if (str_ieq(item, STR("keep-alive")))
			r->keep = true;
	}
}

static const char *
field_line(struct reply *r, struct str s)
{
	size_t colon = 0;
	while (colon < s.n && is_tchar(s.p[colon]))
		colon++;
	if (colon == 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		return "a folded field line";
	if (colon == 0 || colon == s.n || s.p[colon] != ':')
		return "a field name with foreign characters";
	struct str name = {s.p, colon}, value = str_trim(str_from(s, colon + 1));
	if (str_ieq(name, STR("Content-Length")))
		return content_length(r, value);
	if (str_ieq(name, STR("Transfer-Encoding")))
		return transfer_coding(r, value);
	if (str_ieq(name, STR("Connection")))
		connection(r, value);
	return NULL;
}

/* What is only wrong in company, RFC 9112 6.1 and 6.3. */
static const char *
whole_head(const struct reply *r)
{
	if (!r->status)
		return "no status line";
	if (r->has_coding && r->has_length)
		return "Content-Length and Transfer-Encoding together";
	if (r->has_coding && r->http_1_0)
		return "Transfer-Encoding in HTTP/1.0";
	return NULL;
}

/* RFC 9112 6.3, in its order. */
static enum reply_phase
body_of(const struct reply *r)
{
	if (r->to_head || r->status == 204 || r->status == 304)
		return REPLY_OVER;
	if (r->has_coding)
		return REPLY_IN_CHUNKS;
	if (r->has_length)
		return r->content_length ? REPLY_IN_LENGTH : REPLY_OVER;
	return REPLY_IN_REST;
}

/* Without its line end; a bare LF ends a line as well (RFC 9112 2.2). */
static struct str
chomp(struct str s)
{
	s.n--;
	if (s.n && s.p[s.n - 1] == '\r')
		s.n--;
	return s;
}

static const char *
add_line(struct reply *r, struct str s)
{
	if (memchr(s.p, 0, s.n) || memchr(s.p, '\r', s.n))
		return "a control character in the head";
	const char *why = r->status ? field_line(r, s) : status_line(r, s);
	buf_add_str(&r->head, s);
	buf_add_lit(&r->head, "\r\n");
	return why;
}

/* Another head follows a 1xx; what is known so far was about that one. */
static void
begin_next_head(struct reply *r)
{
	size_t head_bytes = r->head_bytes;
	reply_begin(r, r->to_head);
	r->head_bytes = head_bytes;
}

static enum reply_step
end_head(struct reply *r, const char **why)
{
	if ((*why = whole_head(r)))
		return REPLY_REFUSED;
	if (r->status >= 200) {
		r->phase = body_of(r);
		r->left = r->content_length;
		return REPLY_HEAD;
	}
	r->interim = true;
	return r->status == 100 ? REPLY_MORE : REPLY_INTERIM;
}

/* The next whole line with its LF; empty when it has not come whole, and what came is kept. */
static struct str
next_line(struct reply *r, struct str *in)
{
	const char *lf = memchr(in->p, '\n', in->n);
	struct str part = {in->p, lf ? (size_t)(lf - in->p) + 1 : in->n};
	*in = str_from(*in, part.n);
	r->head_bytes += part.n;
	if (!lf || r->line.n) {
		buf_add_str(&r->line, part);
		part = lf ? buf_str(&r->line) : (struct str){0};
		r->line.n = lf ? 0 : r->line.n;
	}
	return part;
}

static enum reply_step
read_line(struct reply *r, struct str line, const char **why)
{
	if (line.n == 0)
		return end_head(r, why);
	return (*why = add_line(r, line)) ? REPLY_REFUSED : REPLY_MORE;
}

static enum reply_step
read_head(struct reply *r, struct str *in, const char **why)
{
	enum reply_step step = REPLY_MORE;
	while (in->n && step == REPLY_MORE) {
		if (r->interim)
			begin_next_head(r);
		struct str line = next_line(r, in);
		if (r->head_bytes > REPLY_HEAD_MAX) {
			*why = "the head is too large";
			return REPLY_REFUSED;
		}
		if (line.n)
			step = read_line(r, chomp(line), why);
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

static enum reply_step
read_chunks(struct reply *r, struct str *in, struct str *data, const char **why)
{
	const struct fault *fault;
	switch (chunked_decode(&r->chunked, in, data, &fault)) {
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
	return r->phase == REPLY_OVER && r->keep && !r->closes;
}
