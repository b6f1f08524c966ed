/* reply.c - what a response head must look like before we believe where its body ends. */
#include "proxy/origin/reply.h"

/* A buffer that one large head has grown is not kept for the small ones after it. */
enum { HEAD_KEEP = 16 << 10 };

void
reply_begin(struct reply *r)
{
	struct buf b = r->head;
	if (b.cap > HEAD_KEEP)
		buf_fini(&b);
	b.n = 0;
	*r = (struct reply){.head = b};
}

void
reply_fini(struct reply *r)
{
	buf_fini(&r->head);
	*r = (struct reply){0};
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
	return NULL;
}

/* What is only wrong in company, RFC 9112 6.1 and 6.3. */
static const char *
whole_head(const struct reply *r)
{
	if (r->has_coding && r->has_length)
		return "Content-Length and Transfer-Encoding together";
	if (r->has_coding && r->http_1_0)
		return "Transfer-Encoding in HTTP/1.0";
	return NULL;
}

/* Without its line end; a bare LF ends a line as well (RFC 9112 2.2), as libcurl has it. */
static struct str
chomp(struct str s)
{
	if (s.n && s.p[s.n - 1] == '\n')
		s.n--;
	if (s.n && s.p[s.n - 1] == '\r')
		s.n--;
	return s;
}

enum reply_step
reply_line(struct reply *r, struct str line, const char **why)
{
	struct str s = chomp(line);
	if (s.n == 0) {
		if ((*why = r->status ? whole_head(r) : "no status line"))
			return REPLY_REFUSED;
		if (r->status >= 200)
			return REPLY_FINAL;
		if (r->status != 100)
			return REPLY_INTERIM;
		reply_begin(r);
		return REPLY_MORE;
	}
	if (r->head.n + s.n + 2 > REPLY_HEAD_MAX)
		*why = "the head is too large";
	else if (memchr(s.p, 0, s.n) || memchr(s.p, '\r', s.n))
		*why = "a control character in the head";
	else
		*why = r->status ? field_line(r, s) : status_line(r, s);
	if (*why)
		return REPLY_REFUSED;
	buf_add_str(&r->head, s);
	buf_add_lit(&r->head, "\r\n");
	return REPLY_MORE;
}
