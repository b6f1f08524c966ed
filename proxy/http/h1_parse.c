/* h1_parse.c - HTTP/1.x heads. One pass over the bytes finds the lines, a second look at the few
 * fields that frame the message decides whether it is safe to forward.
 */
#include "proxy/http/h1_parse.h"

#include "proxy/http/h1_inside.h"
#include "proxy/http/h1_scan.h"

/* Any method passes, but not of any length: it is logged, and sent on. The longest that is
 * registered has 17 letters. */
enum { METHOD_BYTES_MOST = 64 };

/* A cursor has what is left to read, and never passes its end; the head ends in a line feed, which
 * stops every scan below. */
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

/* "name: value CRLF" (RFC 9112 5). */
static const struct fault *
field_line(struct cursor *c, struct field *out)
{
	if (*c->p == ' ' || *c->p == '\t')
		return &fault_OBS_FOLD; /* 5.2; before the first field: 2.2 */
	const char *name = c->p;
	c->p = h1_scan_name(c->p, c->end);
	if (c->p == c->end || *c->p != ':') {
		const char *colon = h1_scan_class(c->p, c->end, BYTE_VALUE);
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
	c->p = h1_scan_value(c->p, c->end);
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
	c->p = h1_scan_class(c->p, c->end, BYTE_TOKEN);
	if (c->p == method || c->p == c->end || *c->p != ' ') {
		const struct fault *fault = line_end(c, &fault_METHOD);
		return fault ? fault : &fault_REQUEST_LINE;
	}
	out->method_name = (struct str){method, (size_t)(c->p - method)};
	if (out->method_name.n > METHOD_BYTES_MOST)
		return &fault_METHOD_TOO_LONG;
	out->method = method_of(out->method_name);

	const char *target = ++c->p;
	c->p = h1_scan_target(c->p, c->end);
	out->target = (struct str){target, (size_t)(c->p - target)};
	if (out->target.n > url_bytes)
		return &fault_URL_TOO_LONG;
	if (c->p == target || c->p == c->end || *c->p != ' ') {
		const struct fault *fault = line_end(c, &fault_TARGET);
		return fault ? fault : &fault_REQUEST_LINE; /* "GET /": HTTP/0.9 */
	}

	const char *v = ++c->p;
	bool usual = c->end - v > 8 && memcmp(v, "HTTP/1.1\r", 9) == 0;
	c->p = usual ? v + 8 : h1_scan_class(v, c->end, BYTE_TOKEN | BYTE_TARGET);
	const struct fault *fault = version((struct str){v, (size_t)(c->p - v)}, &out->minor);
	return fault ? fault : line_end(c, &fault_REQUEST_LINE);
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
	    (fault = h1_target(out)) != NULL || (fault = h1_target_host(out)) != NULL ||
	    (fault = h1_framing(out)) != NULL || (fault = h1_framing_expect(out)) != NULL ||
	    (fault = h1_framing_connection(&out->fields)) != NULL)
		return fault;
	out->keep_alive = h1_framing_keeps_alive(out);
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
	struct str line = {c->p, (size_t)(h1_scan_value(c->p, c->end) - c->p)};
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
	struct str name = {c->p, (size_t)(h1_scan_name(c->p, c->end) - c->p)};
	c->p += name.n;
	while (name.n && c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
	if (name.n == 0 || c->p == c->end || *c->p != ':')
		return false;
	const char *value = ++c->p;
	c->p = h1_scan_value(c->p, c->end);
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
	return response_line_end(&c) && c.p == c.end && !h1_framing_connection(&out->fields);
}
