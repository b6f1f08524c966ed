/* h1_target.c - what a request asks for: the forms of its target, and Host. */
#include "proxy/base/network.h"
#include "proxy/http/h1_inside.h"
#include "proxy/http/h1_scan.h"

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

/* "[" IPv6address "]": how many bytes; 0: it is none. */
static size_t
ip_literal(struct str s)
{
	unsigned char address[16];
	size_t n = 1;
	while (n < s.n && (byte_is(s.p[n], BYTE_HEX) || s.p[n] == ':' || s.p[n] == '.'))
		n++;
	bool closes = n < s.n && s.p[n] == ']';
	return closes && network_address((struct str){s.p, n + 1}, address) == 0 ? n + 1 : 0;
}

/* A name of the DNS, or an IPv4 address: labels with a dot between them, of which one may follow the
 * last (RFC 1034 3.1, RFC 1123 2.1). How many bytes; 0: it is none. A rule for "*.example.com" would
 * take an empty label for a name, and origins may decode a "%", which RFC 3986 has in a reg-name. */
static size_t
host_name(struct str s)
{
	enum { LABEL_MOST = 63, NAME_MOST = 253 };
	size_t n = 0, label = 0;
	for (; n < s.n && byte_is(s.p[n], BYTE_HOST); n++) {
		if (s.p[n] == '.' && label == 0)
			return 0;
		label = s.p[n] == '.' ? 0 : label + 1;
		if (label > LABEL_MOST)
			return 0;
	}
	return n - (label == 0) <= NAME_MOST ? n : 0;
}

/* uri-host [ ":" port ] (RFC 9110 7.2, RFC 3986 3.2.2), without userinfo. */
static bool
is_authority(struct str s)
{
	size_t n = s.n && s.p[0] == '[' ? ip_literal(s) : host_name(s);
	return n > 0 && is_port(str_from(s, n));
}

/* The path, of bytes of BYTE_TARGET, has none that BYTE_PATH leaves out, and every % begins two hex
 * digits (RFC 3986 2.1). In a query both are too common to refuse. */
static bool
is_path(struct str path_query)
{
	const char *p = path_query.p, *end = p + path_query.n;
	while ((p = h1_scan_path(p, end)) < end && *p == '%') {
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
const struct fault *
h1_target(struct request *r)
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
const struct fault *
h1_target_host(struct request *r)
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
