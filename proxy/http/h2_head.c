/* h2_head.c - RFC 9113 8.3.1, by the rules of HTTP/1 where both have the same. */
#include "proxy/http/h2_head.h"

#include "proxy/http/h1_inside.h"
#include "proxy/http/h1_scan.h"

enum { METHOD_BYTES_MOST = 64 }; /* as in h1_parse.c */

/* :authority beats Host, and Host must say the same (8.3.1): two hosts in one request are how a
 * cache is poisoned. What follows reads Host. */
static const struct fault *
authority(const struct h2_head *h, struct request *r)
{
	if (!h->authority.n)
		return NULL;
	if (!fields_has(&r->fields, FIELD_HOST))
		return fields_add(&r->fields, STR("host"), h->authority) ? NULL
									 : &fault_TOO_MANY_FIELDS;
	return str_ieq(fields_get(&r->fields, FIELD_HOST), h->authority) ? NULL : &fault_HOST;
}

/* Origin form or "*"; no other form has a :path. */
static const struct fault *
target(const struct h2_head *h, size_t url_bytes, struct request *r)
{
	r->target = h->path;
	if (r->method == METHOD_CONNECT)
		return &fault_CONNECT;
	if (r->target.n > url_bytes)
		return &fault_URL_TOO_LONG;
	if (r->target.n == 0 || (r->target.p[0] != '/' && !str_eq(r->target, STR("*"))))
		return &fault_TARGET;
	const char *end = r->target.p + r->target.n;
	if (h1_scan_target(r->target.p, end) != end)
		return &fault_TARGET;
	return h1_target(r);
}

/* DATA needs no framing of its own: a body without a length is what HTTP/1 sends in chunks. */
static const struct fault *
framing(const struct h2_head *h, struct request *r)
{
	const struct fault *fault = h1_framing(r);
	if (fault)
		return fault;
	if (!h->has_body)
		return r->content_length ? &fault_LENGTH : NULL;
	if (r->framing == FRAMING_NONE)
		r->framing = FRAMING_CHUNKED;
	return NULL;
}

const struct fault *
h2_head_read(const struct h2_head *h, struct str scheme, const struct h1_limits *limits,
	     struct request *out)
{
	const struct fault *fault;

	out->by_h2 = true;
	out->minor = 1;
	out->keep_alive = true;
	if (!str_is_token(h->method))
		return &fault_METHOD;
	out->method_name = h->method;
	if (h->method.n > METHOD_BYTES_MOST)
		return &fault_METHOD_TOO_LONG;
	out->method = method_of(h->method);
	if (out->fields.n > limits->field_count)
		return &fault_TOO_MANY_FIELDS;
	if ((fault = authority(h, out)) != NULL)
		return fault;
	if (out->fields.n > limits->field_count) /* with Host, as in HTTP/1 */
		return &fault_TOO_MANY_FIELDS;
	if ((fault = target(h, limits->url_bytes, out)) != NULL ||
	    (fault = h1_target_host(out)) != NULL || (fault = framing(h, out)) != NULL ||
	    (fault = h1_framing_expect(out)) != NULL ||
	    (fault = h1_framing_connection(&out->fields)) != NULL)
		return fault;
	if (!str_ieq(h->scheme, scheme))
		return &fault_SCHEME;
	out->scheme = scheme;
	return NULL;
}
