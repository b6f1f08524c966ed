/* outgoing_value.c - the value of a field as the origin sees it: joined and normal, or written
 * anew. */
#include "proxy/serve/outgoing/outgoing_inside.h"

#include "proxy/http/credential.h"
#include "proxy/http/negotiate.h"
#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"

static void
add_joined(const struct outgoing *o, const struct outgoing_lines *l, struct str separator,
	   struct buf *out)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (i)
			buf_add_str(out, separator);
		buf_add_str(out, o->rq->fields.v[l->at[i]].value);
	}
}

/* In normal form where there is one. */
void
outgoing_add_normal(enum field_id id, struct str name, struct str value, struct buf *out)
{
	bool done = false;
	switch (id) {
	case FIELD_ACCEPT_ENCODING:
		done = negotiate_codings(value, out);
		break;
	case FIELD_ACCEPT_LANGUAGE:
		done = negotiate_languages(value, out);
		break;
	case FIELD_ACCEPT:
		done = negotiate_types(value, out);
		break;
	case FIELD_AUTHORIZATION: /* every byte may mean something */
	case FIELD_COOKIE:
	case FIELD_USER_AGENT:
		break;
	case FIELD_OTHER:
		if (str_ieq(name, STR("accept-charset")))
			done = negotiate_types(value, out);
		else if (!str_ieq(name, STR("origin")))
			done = negotiate_tokens(value, out);
		break;
	default:
		done = negotiate_tokens(value, out);
		break;
	}
	if (!done)
		buf_add_str(out, value);
}

/* Lines of one name as one value (RFC 9110 5.3; cookies: RFC 9113 8.2.3). */
void
outgoing_add_value(const struct outgoing *o, const struct outgoing_lines *l, struct buf *out)
{
	const struct field *first = &o->rq->fields.v[l->at[0]];
	struct buf joined = {0};
	if (l->n == 1) {
		outgoing_add_normal(first->id, first->name, first->value, out);
		return;
	}
	add_joined(o, l, first->id == FIELD_COOKIE ? STR("; ") : STR(", "), &joined);
	outgoing_add_normal(first->id, first->name, buf_str(&joined), out);
	buf_fini(&joined);
}

/* ---- Accept-Encoding ------------------------------------------------------------------------- */

static void find_lines(const struct outgoing *o, enum field_id id, struct str name,
		       struct outgoing_lines *l);

bool
outgoing_has_classes(const struct outgoing *o)
{
	struct str name = STR("accept-encoding");
	return o->shared && o->codings && o->codings->n && !outgoing_is_ruled(o, name) &&
	       outgoing_goes_out(o, FIELD_ACCEPT_ENCODING, name, &outgoing_asks_nothing);
}

unsigned
outgoing_accepted(const struct outgoing *o)
{
	struct outgoing_lines l;
	struct buf joined = {0};
	find_lines(o, FIELD_ACCEPT_ENCODING, STR("accept-encoding"), &l);
	if (l.n == 1)
		return coding_accepted(o->rq->fields.v[l.at[0]].value);
	add_joined(o, &l, STR(", "), &joined);
	unsigned accepted = coding_accepted(buf_str(&joined));
	buf_fini(&joined);
	return accepted;
}

unsigned
outgoing_class(const struct outgoing *o)
{
	return outgoing_has_classes(o) && !credential_signs(o->rq)
		       ? coding_class(outgoing_accepted(o), o->codings)
		       : CODING_UNCLASSED;
}

static void
find_lines(const struct outgoing *o, enum field_id id, struct str name, struct outgoing_lines *l)
{
	const struct fields *f = &o->rq->fields;
	l->n = 0;
	if (id != FIELD_OTHER && !fields_has(f, id))
		return;
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].id == id && !fields_is_listed(&o->listed, i) &&
		    (id != FIELD_OTHER || str_ieq(f->v[i].name, name)))
			l->at[l->n++] = (uint8_t)i;
}

/* Adds what a trusted peer sent under a name, ready for one more member. */
static void
add_before(const struct outgoing *o, enum field_id id, bool keeps, struct buf *out)
{
	unsigned at = 0;
	const struct field *line;
	while (keeps && (line = fields_next(&o->rq->fields, id, &at)) != NULL) {
		buf_add_str(out, line->value);
		buf_add_lit(out, ", ");
	}
}

/* RFC 7239 4, 6: IPv6 and ports need quotes; an IPv6 address needs brackets. */
static void
add_node(struct str key, struct str value, bool brackets, struct buf *out)
{
	bool quotes = !str_is_token(value);
	buf_add_str(out, key);
	buf_add_str(out, quotes ? STR("=\"") : STR("="));
	buf_add_str(out, brackets ? STR("[") : STR(""));
	buf_add_str(out, value);
	buf_add_str(out, brackets ? STR("]") : STR(""));
	buf_add_str(out, quotes ? STR("\"") : STR(""));
}

/* RFC 7239 6: the only name for a client without an address that all understand. */
static struct str
node_of(struct str client_ip)
{
	return str_eq(client_ip, STR("unix")) ? STR("unknown") : client_ip;
}

static void
add_forwarded(const struct outgoing *o, struct str authority, struct buf *out)
{
	add_before(o, FIELD_FORWARDED, o->trusted, out);
	struct str client = node_of(o->client_ip);
	bool v6 = client.n && memchr(client.p, ':', client.n);
	add_node(STR("for"), client, v6, out);
	if (authority.n)
		add_node(STR(";host"), authority, false, out);
	add_node(STR(";proto"), o->scheme, false, out);
}

struct str
outgoing_forwarded_host(const struct outgoing *o, struct str authority)
{
	struct str said = fields_get(&o->rq->fields, FIELD_X_FORWARDED_HOST);
	return o->trusted && said.n ? said : authority;
}

/* The value of a field that is written anew; false: it is none, or not sent. */
bool
outgoing_add_written(const struct outgoing *o, enum field_id id, struct str authority,
		     struct buf *out)
{
	switch (id) {
	case FIELD_HOST:
		buf_add_str(out, authority);
		return true;
	case FIELD_X_FORWARDED_FOR:
		add_before(o, id, o->trusted, out);
		buf_add_str(out, node_of(o->client_ip));
		return true;
	case FIELD_X_FORWARDED_PROTO:
		buf_add_str(out, o->scheme);
		return true;
	case FIELD_X_FORWARDED_HOST:
		buf_add_str(out, outgoing_forwarded_host(o, authority));
		return outgoing_forwarded_host(o, authority).n > 0;
	case FIELD_FORWARDED:
		add_forwarded(o, authority, out);
		return true;
	case FIELD_VIA: /* RFC 9110 7.6.3: a trace that nobody removes */
		add_before(o, id, true, out);
		buf_add_str(out, o->rq->by_h2	? STR("2.0 ")
				 : o->rq->minor ? STR("1.1 ")
						: STR("1.0 "));
		buf_add_str(out, o->set->via);
		return true;
	default:
		return false;
	}
}

/* ---- what the route adds --------------------------------------------------------------------- */

bool
outgoing_is_ruled(const struct outgoing *o, struct str name)
{
	for (unsigned i = 0; o->headers && i < o->headers->n; i++)
		if (str_ieq(o->headers->lines[i].name, name))
			return true;
	return false;
}

void
outgoing_add_ruled(const struct outgoing *o, const struct header_rule *l, struct str authority,
		   struct buf *out)
{
	struct header_values v = {uri_host(authority), o->scheme, node_of(o->asker)};
	header_rules_add_value(l, &v, out);
}

bool
outgoing_add_sent(const struct outgoing *o, enum field_id id, struct str name, struct str authority,
		  struct buf *out)
{
	struct outgoing_lines l;
	unsigned class = id == FIELD_ACCEPT_ENCODING ? outgoing_class(o) : CODING_UNCLASSED;
	if (class != CODING_UNCLASSED) {
		coding_class_add(class, o->codings, out);
		return class != 0;
	}
	find_lines(o, id, name, &l);
	bool any = l.n && outgoing_goes_out(o, id, name, &outgoing_asks_nothing);
	if (any)
		outgoing_add_value(o, &l, out);
	for (unsigned i = 0; o->headers && i < o->headers->n; i++) {
		if (!str_ieq(o->headers->lines[i].name, name))
			continue;
		if (any)
			buf_add_lit(out, ", ");
		outgoing_add_ruled(o, &o->headers->lines[i], authority, out);
		any = true;
	}
	return any;
}
