/* headers.c - what rules for header fields may say. Refused is what would break the message, or make
 * clients and origins believe of it what is not so. */
#include "config/headers.h"

#include "config/routes.h"
#include "proxy/base/template.h"

#include <stdarg.h>
#include <stdio.h>

static const char token_signs[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* RFC 9110 5.6.2. */
static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr(token_signs, s.p[i]))
			return false;
	return s.n > 0;
}

static bool
is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	return s.n > 0;
}

bool
headers_line(const char *line, struct str *name, struct str *value)
{
	struct str all = str_of(line);
	*name = str_before(all, ':');
	if (name->n == all.n)
		return false;
	*value = str_trim(str_from(all, name->n + 1));
	return is_token(*name) && is_value(*value);
}

/* clang-format off */
static const struct refusal {
	const char *name; /* one that ends in '*' is a prefix */
	bool request, response;
	const char *why;
} refusals[] = {
	{"connection",          true,  true,  "it belongs to one connection, whose ends write it (RFC 9110 7.6.1)"},
	{"keep-alive",          true,  true,  "it belongs to one connection, whose ends write it (RFC 9110 7.6.1)"},
	{"proxy-*",             true,  true,  "it belongs to one connection, whose ends write it (RFC 9110 7.6.1)"},
	{"te",                  true,  true,  "it belongs to one connection, whose ends write it (RFC 9110 7.6.1)"},
	{"trailer",             true,  true,  "it belongs to one connection, whose ends write it (RFC 9110 7.6.1)"},
	{"transfer-encoding",   true,  true,  "it says where the message ends, which is not for a rule to say"},
	{"content-length",      true,  true,  "it says where the message ends, which is not for a rule to say"},
	{"upgrade",             true,  true,  "it belongs to one connection, whose ends write it (RFC 9110 7.6.1)"},
	{"host",                true,  true,  "origins get the Host of the key; write host: in origins to send another"},
	{"expect",              true,  false, "it is answered here"},
	{"via",                 true,  false, "loops are found by it"},
	{"forwarded",           true,  false, "it is written for every request; see forwarded.trust"},
	{"x-forwarded-for",     true,  false, "it is written for every request; see forwarded.trust"},
	{"x-forwarded-host",    true,  false, "it is written for every request; see forwarded.trust"},
	{"x-forwarded-proto",   true,  false, "it is written for every request; see forwarded.trust"},
	{"if-match",            true,  false, "the cache asks origins by it"},
	{"if-none-match",       true,  false, "the cache asks origins by it"},
	{"if-modified-since",   true,  false, "the cache asks origins by it"},
	{"if-unmodified-since", true,  false, "the cache asks origins by it"},
	{"if-range",            true,  false, "the cache asks origins by it"},
	{"range",               true,  false, "the cache asks origins by it"},
	{"cache-control",       true,  false, "clients' wishes are cache.client_directives"},
	{"pragma",              true,  false, "clients' wishes are cache.client_directives"},
	{"max-forwards",        true,  false, "each hop counts it down"},
	{"age",                 false, true,  "caches behind this one count lifetimes from it"},
	{"date",                false, true,  "caches behind this one count lifetimes from it"},
	{"content-range",       false, true,  "it says which bytes of the body these are"},
	{"content-encoding",    false, true,  "it says how the body is to be decoded"},
	{"etag",                false, true,  "clients come back with it, and it must be the one that is stored"},
	{"last-modified",       false, true,  "clients come back with it, and it must be the one that is stored"},
	{"location",            false, true,  "it belongs to the status; write redirect: in a route"},
	{"allow",               false, true,  "it belongs to the status"},
	{"retry-after",         false, true,  "it belongs to the status"},
};
/* clang-format on */

static bool
is_named(const char *pattern, struct str name)
{
	size_t n = strlen(pattern);
	if (pattern[n - 1] == '*')
		return name.n >= n - 1 && strncasecmp(name.p, pattern, n - 1) == 0;
	return str_ieq(name, str_of(pattern));
}

/* Whether a name that ends in "*" is one for it, too. */
static bool
is_meant(const char *pattern, struct str name)
{
	size_t n = strcspn(pattern, "*");
	if (!name.n || name.p[name.n - 1] != '*')
		return is_named(pattern, name);
	name.n--;
	return strncasecmp(pattern, name.p, n < name.n ? n : name.n) == 0 &&
	       (name.n <= n || pattern[n] == '*');
}

static const struct refusal *
refusal_of(struct str name, bool request)
{
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		if ((request ? refusals[i].request : refusals[i].response) &&
		    is_meant(refusals[i].name, name))
			return &refusals[i];
	return NULL;
}

struct place {
	char *setting; /* grows by the list's name when that is wrong */
	bool request;
	char *err;
	size_t err_bytes;
};

__attribute__((format(printf, 3, 4))) static bool
wrong(const struct place *p, const char *list, const char *fmt, ...)
{
	size_t n = strlen(p->setting);
	snprintf(p->setting + n, CONFIG_NAME_BYTES - n, ".%s", list);
	va_list args;
	va_start(args, fmt);
	vsnprintf(p->err, p->err_bytes, fmt, args);
	va_end(args);
	return false;
}

static bool
may_name(const struct place *p, const char *list, struct str name)
{
	const struct refusal *r = refusal_of(name, p->request);
	bool star = name.n && name.p[name.n - 1] == '*';
	if (r && star)
		return wrong(p, list,
			     "%.*s is %s, too, which cannot be changed: %s; write more of it",
			     STR_ARG(name), r->name, r->why);
	if (r)
		return wrong(p, list, "%.*s cannot be changed: %s; leave it out", STR_ARG(name),
			     r->why);
	return true;
}

static bool
may_say(const struct place *p, const char *list, const char *line)
{
	struct str name, value;
	const unsigned strange = TEMPLATE_BIT(UNKNOWN) | TEMPLATE_BIT(PATH) | TEMPLATE_BIT(QUERY) |
				 TEMPLATE_BIT(CAPTURE);
	if (!headers_line(line, &name, &value))
		return wrong(p, list, "\"%.60s\" is no header field; write \"Name: value\"", line);
	if (name.p[name.n - 1] == '*')
		return wrong(p, list, "\"%.60s\" has a name for many; write each name in full",
			     line);
	if (template_pieces(value) & strange)
		return wrong(p, list,
			     "\"%.60s\" has a variable that is not known here; write $host, "
			     "$scheme, $client_address, or $$ for a dollar",
			     line);
	return may_name(p, list, name);
}

/* So many of two levels fit into a head beside all that was stored (FIELDS_MAX). */
enum { RULES_MOST = 32 };

static bool
may_be_so_many(const struct place *p, const char *list, unsigned n)
{
	return n <= RULES_MOST || wrong(p, list, "%u rules; write at most %d", n, RULES_MOST);
}

/* Of two of one name the second would be all there is. */
static bool
may_set_all(const struct place *p, char *const *lines, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			if (str_ieq(str_before(str_of(lines[i]), ':'),
				    str_before(str_of(lines[k]), ':')))
				return wrong(p, "set",
					     "%.*s is set twice; keep one, or write both to add",
					     STR_ARG(str_before(str_of(lines[i]), ':')));
	return true;
}

static bool
may_say_all(const struct place *p, const char *list, char *const *lines, unsigned n)
{
	bool ok = may_be_so_many(p, list, n);
	for (unsigned i = 0; i < n && ok; i++)
		ok = may_say(p, list, lines[i]);
	return ok;
}

static bool
may_remove_all(const struct place *p, const struct config_headers *h)
{
	bool ok = may_be_so_many(p, "remove", h->remove_count);
	for (unsigned i = 0; i < h->remove_count && ok; i++) {
		struct str name = str_of(h->remove[i]);
		ok = is_token(name) ? may_name(p, "remove", name)
				    : wrong(p, "remove",
					    "\"%.60s\" is no name of a header field; write one "
					    "such as X-Powered-By",
					    h->remove[i]);
	}
	return ok;
}

const char *
headers_check(const struct config_headers *h, bool request, char setting[CONFIG_NAME_BYTES],
	      char *err, size_t err_bytes)
{
	struct place p = {setting, request, err, err_bytes};
	bool ok = may_remove_all(&p, h) && may_say_all(&p, "set", h->set, h->set_count) &&
		  may_set_all(&p, h->set, h->set_count) &&
		  may_say_all(&p, "add", h->add, h->add_count);
	return ok ? NULL : setting;
}
