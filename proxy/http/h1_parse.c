/* h1_parse.c - HTTP/1.x heads. One pass over the bytes finds the lines, a second look at the few
 * fields that frame the message decides whether it is safe to forward.
 */
#include "proxy/http/h1_parse.h"

#include "proxy/http/syntax.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Any method passes, but not of any length: it is logged, and sent on. The longest that is
 * registered has 17 letters. */
enum { METHOD_BYTES_MOST = 64 };

/* What is left to read. A cursor never passes its end; the head ends in a line feed, which stops
 * every scan below. */
struct cursor {
	const char *p, *end;
};

size_t
h1_skip_empty_lines(const char *p, size_t n)
{
	size_t i = 0;
	while (i + 1 < n && p[i] == '\r' && p[i + 1] == '\n')
		i += 2;
	return i;
}

size_t
h1_head_bytes(const char *p, size_t n, size_t *scanned)
{
	size_t at = *scanned;
	const char *lf;
	while (at < n && (lf = memchr(p + at, '\n', n - at)) != NULL) {
		size_t next = (size_t)(lf - p) + 1;
		if (next < n && p[next] == '\n')
			return next + 1;
		if (next + 1 < n && p[next] == '\r' && p[next + 1] == '\n')
			return next + 2;
		if (next + 1 >= n && (next == n || p[next] == '\r')) {
			*scanned = next - 1; /* the line after this one has not shown itself yet */
			return 0;
		}
		at = next;
	}
	*scanned = n;
	return 0;
}

bool
h1_line_has_version(struct str line)
{
	while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
		line.n--;
	if (line.n < 8)
		return false;
	const char *v = line.p + line.n - 8;
	return memcmp(v, "HTTP/", 5) == 0 && byte_is_digit(v[5]) && v[6] == '.' &&
	       byte_is_digit(v[7]);
}

static const char *
skip_class(const char *p, const char *end, int class)
{
	while (p < end && byte_is(*p, class))
		p++;
	return p;
}

/* The scans that meet most bytes of a head go sixteen at a time: `bad` is an expression over the
 * bytes x whose result is 0xff where one ends the scan; the rest is left to the table. */
#ifdef __SSE2__
#define SKIP_16(p, end, bad)                                        \
	for (; (end) - (p) >= 16; (p) += 16) {                      \
		__m128i x = _mm_loadu_si128((const void *)(p));     \
		int mask = _mm_movemask_epi8(bad);                  \
		if (mask)                                           \
			return (p) + __builtin_ctz((unsigned)mask); \
	}
#define IS(c)	   _mm_cmpeq_epi8(x, _mm_set1_epi8(c))
#define OR(a, b)   _mm_or_si128(a, b)
#define AND(a, b)  _mm_and_si128(a, b)
#define NOT(a)	   _mm_xor_si128(a, _mm_set1_epi8(-1))
#define OVER(v, c) _mm_cmpgt_epi8(v, _mm_set1_epi8(c)) /* signed: 0x80.. is under everything */
#define LOWER	   _mm_or_si128(x, _mm_set1_epi8(0x20))
#define CONTROL	   _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x)
#else
#define SKIP_16(p, end, bad)
#endif

/* First byte of [p, end) that may not be in a field value: a control byte other than tab, or
 * DEL (RFC 9110 5.5). */
static const char *
skip_value(const char *p, const char *end)
{
	SKIP_16(p, end, OR(AND(CONTROL, NOT(IS('\t'))), IS(0x7f)))
	return skip_class(p, end, BYTE_VALUE);
}

static const char *
skip_target(const char *p, const char *end)
{
	SKIP_16(p, end,
		OR(OR(NOT(OVER(x, ' ')), IS(0x7f)), OR(OR(IS('"'), IS('#')), OR(IS('<'), IS('>')))))
	return skip_class(p, end, BYTE_TARGET);
}

/* Eats CR LF at the cursor. Otherwise the fault that the byte there is: a lone CR or LF has a name
 * of its own, anything else is what the caller expected not to see. */
static const struct fault *
line_end(struct cursor *c, const struct fault *otherwise)
{
	if (c->end - c->p >= 2 && c->p[0] == '\r' && c->p[1] == '\n') {
		c->p += 2;
		return NULL;
	}
	if (c->p < c->end && *c->p == '\n')
		return &fault_BARE_LF;
	if (c->p < c->end && *c->p == '\r')
		return &fault_BARE_CR;
	return otherwise;
}

/* First byte of [p, end) that is no letter and no dash, then first that is no tchar at all: names
 * are nearly always the former. */
static const char *
skip_letters(const char *p, const char *end)
{
	SKIP_16(p, end, NOT(OR(IS('-'), AND(OVER(LOWER, 'a' - 1), NOT(OVER(LOWER, 'z'))))))
	return p;
}

static const char *
skip_name(const char *p, const char *end)
{
	return skip_class(skip_letters(p, end), end, BYTE_TOKEN);
}

/* "name: value CRLF" (RFC 9112 5). */
static const struct fault *
field_line(struct cursor *c, struct field *out)
{
	if (*c->p == ' ' || *c->p == '\t')
		return &fault_OBS_FOLD; /* 5.2; before the first field: 2.2 */
	const char *name = c->p;
	c->p = skip_name(c->p, c->end);
	if (c->p == c->end || *c->p != ':') {
		const char *colon = skip_class(c->p, c->end, BYTE_VALUE);
		if (c->p > name && (*c->p == ' ' || *c->p == '\t') &&
		    memchr(c->p, ':', (size_t)(colon - c->p)))
			return &fault_SPACE_BEFORE_COLON; /* 5.1 */
		const struct fault *fault = line_end(c, &fault_FIELD_NAME);
		return fault ? fault : &fault_FIELD_NAME;
	}
	if (c->p == name)
		return &fault_FIELD_NAME;
	out->name = (struct str){name, (size_t)(c->p - name)};
	const char *value = ++c->p;
	c->p = skip_value(c->p, c->end);
	out->value = str_trim((struct str){value, (size_t)(c->p - value)});
	return line_end(c, &fault_FIELD_VALUE);
}

static const struct fault *
field_lines(struct cursor *c, unsigned limit, struct fields *fields)
{
	const struct fault *fault;
	struct field field = {0};

	fields->n = 0;
	fields->present = 0;
	while (c->p < c->end && *c->p != '\r' && *c->p != '\n') {
		if ((fault = field_line(c, &field)) != NULL)
			return fault;
		if (fields->n >= limit || !fields_add(fields, field.name, field.value))
			return &fault_TOO_MANY_FIELDS;
	}
	return line_end(c, &fault_FIELD_NAME);
}

/* "HTTP/1.x" with nothing behind it (RFC 9112 2.3). */
static const struct fault *
version(struct str v, int *minor)
{
	if (v.n != 8 || memcmp(v.p, "HTTP/", 5) != 0 || !byte_is_digit(v.p[5]) || v.p[6] != '.' ||
	    !byte_is_digit(v.p[7]))
		return &fault_REQUEST_LINE;
	if (v.p[5] != '1')
		return &fault_VERSION;
	/* RFC 9110 2.5: a higher minor version is treated as the highest that is known. */
	*minor = v.p[7] == '0' ? 0 : 1;
	return NULL;
}

/* method SP request-target SP HTTP-version CRLF, with exactly these spaces (RFC 9112 3). */
static const struct fault *
request_line(struct cursor *c, size_t url_bytes, struct request *out)
{
	const char *method = c->p;
	c->p = skip_class(c->p, c->end, BYTE_TOKEN);
	if (c->p == method || c->p == c->end || *c->p != ' ') {
		const struct fault *fault = line_end(c, &fault_METHOD);
		return fault ? fault : &fault_REQUEST_LINE;
	}
	out->method_name = (struct str){method, (size_t)(c->p - method)};
	if (out->method_name.n > METHOD_BYTES_MOST)
		return &fault_METHOD_TOO_LONG;
	out->method = method_of(out->method_name);

	const char *target = ++c->p;
	c->p = skip_target(c->p, c->end);
	out->target = (struct str){target, (size_t)(c->p - target)};
	if (out->target.n > url_bytes)
		return &fault_URL_TOO_LONG;
	if (c->p == target || c->p == c->end || *c->p != ' ') {
		const struct fault *fault = line_end(c, &fault_TARGET);
		return fault ? fault : &fault_REQUEST_LINE; /* "GET /": HTTP/0.9 */
	}

	const char *v = ++c->p;
	bool usual = c->end - v > 8 && memcmp(v, "HTTP/1.1\r", 9) == 0;
	c->p = usual ? v + 8 : skip_class(v, c->end, BYTE_TOKEN | BYTE_TARGET);
	const struct fault *fault = version((struct str){v, (size_t)(c->p - v)}, &out->minor);
	return fault ? fault : line_end(c, &fault_REQUEST_LINE);
}

/* [ ":" port ] with a port that exists; an empty one is allowed (RFC 3986 3.2.3). */
static bool
is_port(struct str s)
{
	int64_t port = 0;
	if (s.n == 0)
		return true;
	if (s.p[0] != ':' || s.n > 6)
		return false;
	return s.n == 1 || (digits_parse(str_from(s, 1), &port) && port <= 65535);
}

/* "[" IPv6address "]": only the bytes; an address that is none resolves to nothing. */
static size_t
ip_literal(struct str s)
{
	size_t n = 1, colons = 0;
	while (n < s.n && (byte_is(s.p[n], BYTE_HEX) || s.p[n] == ':' || s.p[n] == '.'))
		colons += s.p[n++] == ':';
	return n < s.n && s.p[n] == ']' && colons >= 2 ? n + 1 : 0;
}

/* uri-host [ ":" port ] (RFC 9110 7.2, RFC 3986 3.2.2), without userinfo. */
static bool
is_authority(struct str s)
{
	size_t n = 0;
	if (s.n && s.p[0] == '[') {
		n = ip_literal(s);
	} else {
		while (n < s.n) {
			if (byte_is(s.p[n], BYTE_HOST))
				n++;
			else if (s.p[n] == '%' && n + 2 < s.n && byte_is(s.p[n + 1], BYTE_HEX) &&
				 byte_is(s.p[n + 2], BYTE_HEX))
				n += 3;
			else
				break;
		}
	}
	return n > 0 && is_port(str_from(s, n));
}

/* First of the bytes that BYTE_TARGET has and BYTE_PATH has not, or a %. */
static const char *
skip_path(const char *p, const char *end)
{
	SKIP_16(p, end, OR(IS('%'), OR(IS('?'), IS('\\'))))
	while (p < end && *p != '%' && byte_is(*p, BYTE_PATH))
		p++;
	return p;
}

/* The path, of bytes of BYTE_TARGET, has none that BYTE_PATH leaves out, and every % begins two hex
 * digits (RFC 3986 2.1). In a query both are too common to refuse. */
static bool
is_path(struct str path_query)
{
	const char *p = path_query.p, *end = p + path_query.n;
	while ((p = skip_path(p, end)) < end && *p == '%') {
		if (end - p < 3 || !byte_is(p[1], BYTE_HEX) || !byte_is(p[2], BYTE_HEX))
			return false;
		p += 3;
	}
	return p == end || *p == '?';
}

/* "http://host[:port][/path][?query]": what a client sends to a proxy (RFC 9112 3.2.2). */
static const struct fault *
absolute_form(struct request *r)
{
	struct str rest = r->target;
	size_t n = rest.n > 8 && strncasecmp(rest.p, "https://", 8) == 0  ? 8
		   : rest.n > 7 && strncasecmp(rest.p, "http://", 7) == 0 ? 7
									  : 0;
	if (n == 0)
		return &fault_TARGET;
	r->scheme = n == 8 ? STR("https") : STR("http");
	rest = str_from(rest, n);
	for (n = 0; n < rest.n && rest.p[n] != '/' && rest.p[n] != '?'; n++)
		;
	r->authority = (struct str){rest.p, n};
	r->path_query = str_from(rest, n);
	if (!is_authority(r->authority))
		return &fault_TARGET;
	if (r->path_query.n == 0) /* RFC 9112 3.2.4, 3.2.1 */
		r->path_query = r->method == METHOD_OPTIONS ? STR("*") : STR("/");
	/* "http://host?query" has no path to point at; nobody but a tester sends it. */
	return r->path_query.p[0] == '?' || !is_path(r->path_query) ? &fault_TARGET : NULL;
}

/* The four forms of RFC 9112 3.2. */
static const struct fault *
target_form(struct request *r)
{
	r->scheme = r->authority = (struct str){NULL, 0};
	if (r->method == METHOD_CONNECT)
		return &fault_CONNECT;
	if (r->target.p[0] == '/') {
		r->path_query = r->target;
		return is_path(r->path_query) ? NULL : &fault_TARGET;
	}
	if (str_eq(r->target, STR("*"))) { /* 3.2.4: only for OPTIONS */
		r->path_query = r->target;
		return r->method == METHOD_OPTIONS ? NULL : &fault_TARGET;
	}
	return absolute_form(r);
}

/* RFC 9112 3.2: one valid Host in HTTP/1.1, whatever the form of the target. */
static const struct fault *
host(struct request *r)
{
	unsigned lines = fields_count(&r->fields, FIELD_HOST);
	struct str value = fields_get(&r->fields, FIELD_HOST);
	if (lines > 1 || (lines == 0 && r->minor > 0))
		return &fault_HOST;
	if (lines == 1 && !is_authority(value) && (r->minor > 0 || value.n > 0))
		return &fault_HOST;
	if (!r->authority.n)
		r->authority = value;
	return NULL;
}

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
static const struct fault *
framing(struct request *r)
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
static const struct fault *
expect(struct request *r)
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
static const struct fault *
connection(const struct fields *f)
{
	struct fields_listed listed;
	if (fields_has(f, FIELD_CONNECTION) && !fields_read_listed(f, &listed))
		return &fault_CONNECTION_OPTIONS;
	return NULL;
}

/* RFC 9112 9.3. */
static bool
wants_keep_alive(const struct request *r)
{
	if (!fields_has(&r->fields, FIELD_CONNECTION))
		return r->minor > 0;
	if (fields_list_has(&r->fields, FIELD_CONNECTION, STR("close")))
		return false;
	return r->minor > 0 || fields_list_has(&r->fields, FIELD_CONNECTION, STR("keep-alive"));
}

const struct fault *
h1_parse_request(struct str head, const struct h1_limits *limits, struct request *out)
{
	struct cursor c = {head.p, head.p + head.n};
	const struct fault *fault;

	if (head.n > limits->head_bytes)
		return &fault_HEAD_TOO_LARGE;
	if ((fault = request_line(&c, limits->url_bytes, out)) != NULL ||
	    (fault = field_lines(&c, limits->field_count, &out->fields)) != NULL ||
	    (fault = target_form(out)) != NULL || (fault = host(out)) != NULL ||
	    (fault = framing(out)) != NULL || (fault = expect(out)) != NULL ||
	    (fault = connection(&out->fields)) != NULL)
		return fault;
	out->keep_alive = wants_keep_alive(out);
	return NULL;
}

/* Eats the end of a response's line: CR LF, or a bare LF (RFC 9112 2.2 allows a recipient that
 * much; a stored or forwarded head gets CR LF again), or the end of the head. */
static bool
response_line_end(struct cursor *c)
{
	if (c->p < c->end && *c->p == '\r')
		c->p++;
	else if (c->p == c->end)
		return true;
	if (c->p == c->end || *c->p != '\n')
		return false;
	c->p++;
	return true;
}

/* "HTTP/1.1 200 OK"; the reason may be missing. Every version but 1.0 is read as 1.1: what an origin
 * may not say, origin/reply.c refuses. */
static bool
status_line(struct cursor *c, struct response *out)
{
	struct str line = {c->p, (size_t)(skip_value(c->p, c->end) - c->p)};
	struct str protocol, rest, status;
	int64_t code = 0;
	c->p += line.n;
	if (!str_cut(line, ' ', &protocol, &rest) || !str_starts(protocol, STR("HTTP/")))
		return false;
	str_cut(rest, ' ', &status, &out->reason);
	if (status.n != 3 || !digits_parse(status, &code) || code < 100)
		return false;
	out->status = (int)code;
	out->minor = str_eq(protocol, STR("HTTP/1.0")) ? 0 : 1;
	return response_line_end(c);
}

/* "name: value" and its end. RFC 9112 5.1: space before the colon is removed from a response; a
 * folded line begins with it and is no token, which leaves a 502 (5.2). */
static bool
response_field(struct cursor *c, struct fields *f)
{
	struct str name = {c->p, (size_t)(skip_name(c->p, c->end) - c->p)};
	c->p += name.n;
	while (name.n && c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
	if (name.n == 0 || c->p == c->end || *c->p != ':')
		return false;
	const char *value = ++c->p;
	c->p = skip_value(c->p, c->end);
	return fields_add(f, name, str_trim((struct str){value, (size_t)(c->p - value)})) &&
	       response_line_end(c);
}

bool
h1_parse_response(struct str head, struct response *out)
{
	struct cursor c = {head.p, head.p + head.n};

	out->fields.n = 0;
	out->fields.present = 0;
	if (!status_line(&c, out))
		return false;
	while (c.p < c.end && *c.p != '\r' && *c.p != '\n')
		if (!response_field(&c, &out->fields))
			return false;
	/* nothing behind the empty line */
	return response_line_end(&c) && c.p == c.end && !connection(&out->fields);
}
