/* uri.c - RFC 3986: splitting, comparing, and the normalisations that keep the meaning. */
#include "proxy/http/uri.h"

#include "proxy/http/syntax.h"

/* scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ) ":" */
static size_t
scheme_bytes(struct str s)
{
	size_t n = 0;
	while (n < s.n &&
	       (byte_is_digit(s.p[n]) || s.p[n] == '+' || s.p[n] == '-' || s.p[n] == '.' ||
		(byte_lower(s.p[n]) >= 'a' && byte_lower(s.p[n]) <= 'z')))
		n++;
	return n > 0 && n < s.n && s.p[n] == ':' && !byte_is_digit(s.p[0]) ? n : 0;
}

bool
uri_split(struct str s, struct uri *out)
{
	struct str rest, fragment;

	*out = (struct uri){0};
	str_cut(s, '#', &rest, &fragment);
	if (rest.n && !str_is(rest, BYTE_TARGET))
		return false;
	size_t n = scheme_bytes(rest);
	if (n) {
		out->scheme = (struct str){rest.p, n};
		rest = str_from(rest, n + 1);
	}
	if (str_starts(rest, STR("//"))) {
		rest = str_from(rest, 2);
		for (n = 0; n < rest.n && rest.p[n] != '/' && rest.p[n] != '?'; n++)
			;
		out->authority = (struct str){rest.p, n};
		rest = str_from(rest, n);
	}
	if (!str_cut(rest, '?', &out->path, &out->query))
		out->query = (struct str){NULL, 0};
	return true;
}

struct host {
	struct str name, digits; /* of the port, when it is written */
	int64_t port;
};

static int64_t
default_port(struct str scheme)
{
	return str_ieq(scheme, STR("https")) ? 443 : 80;
}

static struct host
split_authority(struct str scheme, struct str authority)
{
	struct host h = {.name = authority, .port = default_port(scheme)};
	size_t n = authority.n;
	while (n && byte_is_digit(authority.p[n - 1]))
		n--;
	if (n && authority.p[n - 1] == ':') {
		h.name.n = n - 1;
		h.digits = str_from(authority, n);
		if (h.digits.n)
			digits_parse(h.digits, &h.port);
	}
	/* The dot of the root is no part of the name (RFC 9110 4.2.3, RFC 3986 3.2.2). */
	if (h.name.n > 1 && h.name.p[h.name.n - 1] == '.')
		h.name.n--;
	return h;
}

/* The digits of a port as they would be written: as nearly all are. */
static bool
is_plain_port(struct str digits)
{
	return digits.n > 0 && digits.n <= 5 && digits.p[0] != '0';
}

void
uri_add_authority(struct str scheme, struct str authority, struct buf *out)
{
	struct host h = split_authority(scheme, authority);
	char *p = buf_room(out, authority.n + 1);
	for (size_t i = 0; i < h.name.n; i++)
		p[i] = byte_lower(h.name.p[i]);
	buf_added(out, h.name.n);
	if (h.port == default_port(scheme))
		return;
	buf_add_lit(out, ":");
	if (is_plain_port(h.digits))
		buf_add_str(out, h.digits);
	else
		buf_add_u64(out, (uint64_t)h.port);
}

struct str
uri_host(struct str authority)
{
	size_t n = authority.n;
	while (n && authority.p[n - 1] >= '0' && authority.p[n - 1] <= '9')
		n--;
	bool has_port = n && authority.p[n - 1] == ':';
	return (struct str){authority.p, has_port ? n - 1 : authority.n};
}

bool
uri_same_authority(struct str scheme, struct str a, struct str b)
{
	struct host x = split_authority(scheme, a), y = split_authority(scheme, b);
	return x.port == y.port && str_ieq(x.name, y.name);
}

/* A query may hold percent signs that begin no encoding (h1_parse.c). Directly behind one of them, or
 * behind it and one hex digit, no hex digit is decoded: together they would become an encoding that
 * nobody wrote. What stands before the percent sign, or in another parameter, does not matter. */
void
uri_add_unescaped(struct str s, struct buf *out)
{
	char *p = buf_room(out, s.n);
	size_t n = 0, safe = 0; /* from safe on, hex digits may be decoded */
	for (size_t i = 0; i < s.n; i++) {
		int high, low;
		if (s.p[i] != '%' || i + 2 >= s.n || (high = byte_hex(s.p[i + 1])) < 0 ||
		    (low = byte_hex(s.p[i + 2])) < 0) {
			if (s.p[i] == '%')
				safe = n + 3;
			else if (!byte_is(s.p[i], BYTE_HEX))
				safe = 0;
			p[n++] = s.p[i];
			continue;
		}
		char c = (char)(high << 4 | low);
		if (byte_is(c, BYTE_UNRESERVED) && (n >= safe || !byte_is(c, BYTE_HEX))) {
			p[n++] = c;
			safe = byte_is(c, BYTE_HEX) ? safe : 0;
		} else {
			p[n++] = '%';
			p[n++] = "0123456789ABCDEF"[high];
			p[n++] = "0123456789ABCDEF"[low];
			safe = 0;
		}
		i += 2;
	}
	buf_added(out, n);
}

void
uri_add_ascii(struct str s, struct buf *out)
{
	char *p = buf_room(out, 3 * s.n);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < 0x80) {
			p[n++] = s.p[i];
			continue;
		}
		p[n++] = '%';
		p[n++] = "0123456789ABCDEF"[c >> 4];
		p[n++] = "0123456789ABCDEF"[c & 15];
	}
	buf_added(out, n);
}

static bool
is_any(unsigned char c)
{
	(void)c;
	return true;
}

/* Of controls nobody knows what an origin makes. */
static bool
is_never_literal(unsigned char c)
{
	return c >= 0x80 || c == ' ' || c == '"' || c == '<' || c == '>';
}

static void
add_decoded(struct str s, bool (*is_decoded)(unsigned char), struct buf *out)
{
	char *p = buf_room(out, s.n);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		int high = -1, low = -1;
		if (s.p[i] == '%' && i + 2 < s.n) {
			high = byte_hex(s.p[i + 1]);
			low = byte_hex(s.p[i + 2]);
		}
		unsigned char c = (unsigned char)((unsigned)high << 4 | (unsigned)low);
		if (high < 0 || low < 0 || !is_decoded(c)) {
			p[n++] = s.p[i];
			continue;
		}
		p[n++] = (char)c;
		i += 2;
	}
	buf_added(out, n);
}

void
uri_add_decoded(struct str s, struct buf *out)
{
	add_decoded(s, is_any, out);
}

void
uri_add_plain(struct str path, struct buf *out)
{
	add_decoded(path, is_never_literal, out);
}

/* "/." or "/.." */
static bool
is_dots(const char *segment, size_t n)
{
	return (n == 2 || (n == 3 && segment[2] == '.')) && segment[1] == '.';
}

/* 5.2.4 on a path that begins with a slash: segment by segment, ".." takes one back. Each byte moves to
 * where it stays unless its segment goes. */
void
uri_remove_dots(struct buf *out, size_t from)
{
	const char *in = out->p + from, *end = out->p + out->n;
	char *p = out->p + from;
	size_t n = 0;
	while (in < end) {
		size_t segment = n; /* with its leading slash */
		p[n++] = *in++;
		while (in < end && *in != '/')
			p[n++] = *in++;
		if (!is_dots(p + segment, n - segment))
			continue;
		bool back = n - segment == 3;
		n = segment;
		while (back && n && p[--n] != '/')
			;
		if (in == end)
			p[n++] = '/';
	}
	out->n = from + n;
}
