/* rules_rewrite.c - what a route may say of the path that the origin is asked for. */
#include "config/rules_inside.h"
#include "proxy/base/pattern.h"
#include "proxy/base/template.h"

#include <ctype.h>
#include <string.h>

/* Without a slash at its end. */
static size_t
prefix_length(const char *prefix)
{
	size_t n = strlen(prefix);
	while (n && prefix[n - 1] == '/')
		n--;
	return n;
}

/* Whether the last segment is "." or "..", which rules_many_readings looks for before others. */
static bool
ends_in_dots(const char *path)
{
	const char *last = strrchr(path, '/');
	return last && (strcmp(last, "/.") == 0 || strcmp(last, "/..") == 0);
}

/* name: strip_prefix or add_prefix. */
static const char *
check_prefix(const char *prefix, unsigned i, const char *name, char *err, size_t err_bytes)
{
	if (!prefix)
		return NULL;
	if (prefix[0] != '/' || prefix_length(prefix) == 0 || strpbrk(prefix, "?#* \"<>"))
		return rules_wrong(rules_indexed("routes", i, name), err, err_bytes,
				   "%.60s is not the beginning of a path; write one such as /api, "
				   "with other signs encoded, or leave it out",
				   prefix);
	const char *at = rules_many_readings(prefix);
	if (at || ends_in_dots(prefix))
		return rules_wrong(rules_indexed("routes", i, name), err, err_bytes,
				   "servers read \"%.4s\" in %.60s in different ways; write the "
				   "path that is meant",
				   at ? at : strrchr(prefix, '/'), prefix);
	return NULL;
}

/* Letters of one path may be written encoded in the other. */
static bool
is_plain(const char *path, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path[i] == '%' || (unsigned char)path[i] >= 0x80)
			return false;
	return true;
}

/* Whether a path that the route is for could be strip_prefix or below it. */
static bool
may_be_below(const char *path, const char *prefix)
{
	size_t n = prefix_length(prefix), whole = strlen(path), known = strcspn(path, "*");
	size_t common = n < known ? n : known;
	if (!is_plain(path, known) || !is_plain(prefix, n))
		return true;
	if (strncmp(path, prefix, common) != 0)
		return false;
	return known <= n || path[n] == '/' || known < whole;
}

static const char *
check_strip(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	const char *strip = r->target.strip_prefix;
	if (!strip || !r->path || may_be_below(r->path, strip))
		return NULL;
	return rules_wrong(
		rules_indexed("routes", i, "strip_prefix"), err, err_bytes,
		"no path of this route is %.60s or below it (path: %.60s), so nothing is ever "
		"left out; write whole segments of that path",
		strip, r->path);
}

/* ---- rewrite -------------------------------------------------------------------------------- */

/* Whether a "?" of the query is meant: paths have none. */
static bool
looks_for_query(const char *from)
{
	for (const char *p = from; *p; p++)
		if (*p == '\\') {
			if (p[1] == '?')
				return true;
			p += p[1] != '\0';
		}
	return false;
}

static const char *
check_from(const char *from, unsigned i, unsigned *captures, char *err, size_t err_bytes)
{
	char why[200];
	struct pattern *p = pattern_create(from, why, sizeof why);
	if (!p)
		return rules_wrong(rules_indexed("routes", i, "rewrite.from"), err, err_bytes,
				   "%.100s is not a regular expression that is known here: %s",
				   from, why);
	*captures = pattern_captures(p);
	pattern_destroy(&p);
	if (from[0] == '^' && (isalnum((unsigned char)from[1])))
		return rules_wrong(
			rules_indexed("routes", i, "rewrite.from"), err, err_bytes,
			"%.100s matches nothing, for a path begins with a slash; write ^/%s", from,
			from + 1);
	if (looks_for_query(from))
		return rules_wrong(
			rules_indexed("routes", i, "rewrite.from"), err, err_bytes,
			"%.100s looks for a question mark, and only the path is matched; leave it "
			"out: the query is kept unless to: has one",
			from);
	return NULL;
}

static bool
is_target(char c)
{
	return c > ' ' && c < 0x7f && !strchr("\"#<>\\", c);
}

/* The first sign of a template that is no part of a path with a query; NULL: there is none. */
static const char *
strange_sign(const char *to)
{
	for (const char *p = to; *p; p++)
		if (!is_target(*p) || (*p == '%' && !(isxdigit((unsigned char)p[1]) &&
						      isxdigit((unsigned char)p[2]))))
			return p;
	return NULL;
}

/* The highest number; 0: none. */
static unsigned
highest_capture(const char *to)
{
	unsigned most = 0;
	struct str rest = str_of(to), text;
	enum template_piece p;
	while ((p = template_next(&rest, &text)) != TEMPLATE_END)
		if (p == TEMPLATE_CAPTURE && (unsigned)(text.p[1] - '0') > most)
			most = (unsigned)(text.p[1] - '0');
	return most;
}

static const char *
check_to(const char *to, unsigned i, unsigned captures, char *err, size_t err_bytes)
{
	enum { BYTES_MOST = 1000 };
	const unsigned known = TEMPLATE_BIT(TEXT) | TEMPLATE_BIT(CAPTURE) | TEMPLATE_BIT(END);
	const char *setting = rules_indexed("routes", i, "rewrite.to"), *at = strange_sign(to);
	unsigned most = highest_capture(to);
	if (to[0] != '/' || to[1] == '/' || strlen(to) > BYTES_MOST)
		return rules_wrong(
			setting, err, err_bytes,
			"%.60s is not a path of the origin; write one that begins with one "
			"slash, such as /posts/$1 (the server is named in origins)",
			to);
	if (template_pieces(str_of(to)) & ~known)
		return rules_wrong(
			setting, err, err_bytes,
			"%.60s has a variable that is not known here; write $1 to $9, or $$ "
			"for a dollar; the query is kept unless there is one",
			to);
	if (at && *at == '\\' && isdigit((unsigned char)at[1]))
		return rules_wrong(setting, err, err_bytes,
				   "%.60s has \\%c for what parentheses hold; write $%c", to, at[1],
				   at[1]);
	if (at)
		return rules_wrong(
			setting, err, err_bytes,
			"a path has no \"%.1s\" (%02x) as in %.60s; write it encoded, as "
			"%%%02X",
			isprint((unsigned char)*at) ? at : "?", (unsigned char)*at, to,
			(unsigned char)*at);
	if (most > captures)
		return rules_wrong(
			setting, err, err_bytes,
			"$%u is nothing, for from: has %u %s of parentheses; write another "
			"number, or ( ) around what it stands for",
			most, captures, captures == 1 ? "pair" : "pairs");
	return NULL;
}

/* Dots and such in what is written: what captures make of it shows with each path. */
static const char *
check_to_path(const char *to, unsigned i, char *err, size_t err_bytes)
{
	const char *at = strstr(to, "/../");
	size_t n = strcspn(to, "?");
	if (!at && n >= 3 && strncmp(to + n - 3, "/..", 3) == 0)
		at = to + n - 3;
	return at && at < to + n
		       ? rules_wrong(
				 rules_indexed("routes", i, "rewrite.to"), err, err_bytes,
				 "no origin is asked for \"%.4s\" as in %.60s; write the path that "
				 "is meant",
				 at, to)
		       : NULL;
}

static const char *
check_rewrite(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	const char *from = r->target.rewrite.from, *to = r->target.rewrite.to;
	unsigned captures = 0;
	if (!from && !to)
		return NULL;
	if (!from || !to)
		return rules_wrong(rules_indexed("routes", i, from ? "rewrite.to" : "rewrite.from"),
				   err, err_bytes,
				   "rewrite has both, from: and to:; write it, too");
	const char *bad = check_from(from, i, &captures, err, err_bytes);
	if (!bad)
		bad = check_to(to, i, captures, err, err_bytes);
	return bad ? bad : check_to_path(to, i, err, err_bytes);
}

const char *
rules_of_rewrite(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	const struct config_target *t = &r->target;
	const char *any = t->strip_prefix   ? "strip_prefix"
			  : t->add_prefix   ? "add_prefix"
			  : t->rewrite.from ? "rewrite"
					    : NULL;
	if (any && (r->redirect.to || r->answer.status))
		return rules_wrong(rules_indexed("routes", i, any), err, err_bytes,
				   "%s answers here, and no origin is asked; leave one of both out",
				   r->redirect.to ? "redirect" : "answer");
	const char *bad = check_prefix(t->strip_prefix, i, "strip_prefix", err, err_bytes);
	if (!bad)
		bad = check_prefix(t->add_prefix, i, "add_prefix", err, err_bytes);
	if (!bad)
		bad = check_strip(r, i, err, err_bytes);
	return bad ? bad : check_rewrite(r, i, err, err_bytes);
}
