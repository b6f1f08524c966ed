/* rules_match.c - the requests that a route is for: none would be, or one before it leaves it none. */
#include "config/headers.h"
#include "config/rules_inside.h"
#include "proxy/base/buf.h"
#include "proxy/base/glob.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A name, or an address as it stands in Host, of which the port and a final dot are not looked at. */
static bool
is_host(const char *host)
{
	size_t n = strlen(host);
	bool bracketed = n > 2 && host[0] == '[' && host[n - 1] == ']';
	return n && host[n - 1] != '.' && !strpbrk(host, "/@%?# \t") && !strstr(host, "..") &&
	       (bracketed || !strchr(host, ':'));
}

/* "*" is for glob.h; other signs are those of regular expressions and shells. */
static const char *
check_path(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	if (!r->path)
		return NULL;
	size_t n = strcspn(r->path, "^|{}[],$");
	if (!strchr("/*", r->path[0]) || strpbrk(r->path, "?#"))
		return rules_wrong(
			rules_indexed("routes", i, "path"), err, err_bytes,
			"%s is not the beginning of a path; write one such as /img/, or *.png for "
			"an end, without a query",
			r->path);
	if (strpbrk(r->path, "^|{}[]") || strstr(r->path, ", ") || strstr(r->path, ",/") ||
	    r->path[strlen(r->path) - 1] == '$')
		return rules_wrong(
			rules_indexed("routes", i, "path"), err, err_bytes,
			"%s would be read letter by letter, for a path is no list, and no pattern "
			"but for *; write its beginning, such as %.*s, and a route for each",
			r->path, n > 1 ? (int)n : 5, n > 1 ? r->path : "/img/");
	if (strstr(r->path, "**"))
		return rules_wrong(rules_indexed("routes", i, "path"), err, err_bytes,
				   "%s has two * side by side; write one: at the beginning and at "
				   "the end it is any text, in between any but /",
				   r->path);
	const char *at = rules_many_readings(r->path);
	if (at)
		return rules_wrong(
			rules_indexed("routes", i, "path"), err, err_bytes,
			"servers read \"%.4s\" in %s in different ways; end the path before "
			"it, or write letters as themselves",
			at, r->path);
	return NULL;
}

static bool
is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(*words, word) == 0)
			return true;
	return false;
}

static bool
has_method(const struct config_match *m, const char *name)
{
	for (unsigned i = 0; i < m->method_count; i++)
		if (strcmp(m->methods[i], name) == 0)
			return true;
	return false;
}

/* Names of methods are letter by letter (RFC 9110 9.1): "post" would be another one, which nobody sends. */
static const char *
check_methods(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	static const char *const known[] = {"GET",    "HEAD",  "POST",	  "PUT",
					    "DELETE", "PATCH", "OPTIONS", NULL};
	static const char *const never[] = {"TRACE", "CONNECT", NULL};
	for (unsigned k = 0; k < r->match.method_count; k++) {
		const char *name = r->match.methods[k];
		if (is_one_of(name, never))
			return rules_wrong(rules_indexed("routes", i, "methods"), err, err_bytes,
					   "no route sees a %s, which is refused; leave it out",
					   name);
		if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_0123456789")] &&
		    is_one_of(name, known))
			return rules_wrong(rules_indexed("routes", i, "methods"), err, err_bytes,
					   "no client sends %s; write it in capitals", name);
	}
	if (has_method(&r->match, "HEAD") && !has_method(&r->match, "GET"))
		return rules_wrong(
			rules_indexed("routes", i, "methods"), err, err_bytes,
			"a HEAD takes the route of its GET; write GET, or leave HEAD out");
	return NULL;
}

/* A field of one connection says nothing of the request, and goes no further. */
static const char *
check_fields(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	static const char *const hop[] = {"connection", "keep-alive", "proxy-connection",
					  "te",		"trailer",    "transfer-encoding",
					  "upgrade",	NULL};
	for (unsigned k = 0; k < r->match.header_count; k++) {
		const char *line = r->match.headers[k];
		struct str name, value;
		char word[CONFIG_NAME_BYTES];
		if (!headers_line(line, &name, &value) || strstr(line, "**"))
			return rules_wrong(rules_indexed("routes", i, "headers"), err, err_bytes,
					   "\"%.60s\" is no field with its value; write such as "
					   "{ Accept-Language: \"de*\" }, where * is any text",
					   line);
		snprintf(word, sizeof word, "%.*s", STR_ARG(name));
		if (strcasecmp(word, "host") == 0)
			return rules_wrong(rules_indexed("routes", i, "headers"), err, err_bytes,
					   "requests are told apart by their host with host:");
		if (is_one_of(word, hop))
			return rules_wrong(rules_indexed("routes", i, "headers"), err, err_bytes,
					   "%s belongs to one connection, and is no reason for a "
					   "route; for WebSocket write upgrade:",
					   word);
	}
	return NULL;
}

/* Checks what a route is matched by. */
const char *
rules_of_match(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	const char *bad = check_path(r, i, err, err_bytes);
	if (!bad)
		bad = check_methods(r, i, err, err_bytes);
	if (!bad)
		bad = check_fields(r, i, err, err_bytes);
	if (bad)
		return bad;
	if (r->host && r->host[0] == '.')
		return rules_wrong(
			rules_indexed("routes", i, "host"), err, err_bytes,
			"no request is for \"%s\"; write *%s for the names below it, and "
			"a route for %s itself",
			r->host, r->host, r->host + 1);
	if (r->host && !is_host(r->host))
		return rules_wrong(rules_indexed("routes", i, "host"), err, err_bytes,
				   "no request is for \"%s\"; write the name alone, such as "
				   "www.example.com or [2001:db8::1]: a route is for all ports and "
				   "schemes",
				   r->host);
	if (r->host && strchr(r->host + (r->host[0] == '*'), '*'))
		return rules_wrong(rules_indexed("routes", i, "host"), err, err_bytes,
				   "one wildcard may be at the beginning; write *.example.com or "
				   "www.example.com");
	if (r->host && r->host[0] == '*' && (r->host[1] != '.' || !r->host[2]))
		return rules_wrong(
			rules_indexed("routes", i, "host"), err, err_bytes,
			"a wildcard is for whole labels; write *.example.com, or leave host "
			"out for all hosts");
	return NULL;
}

/* Every name of b is one of a, either of which may begin with a wildcard. */
static bool
covers_host(const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b);
	if (a[0] != '*')
		return strcasecmp(a, b) == 0;
	return y >= x && strcasecmp(b + (y - x) + 1, a + 1) == 0;
}

/* As a pattern: the beginning of a path is followed by anything. */
static struct str
pattern_of(const char *path, struct buf *b)
{
	b->n = 0;
	buf_printf(b, "%s%s", path, strchr(path, '*') ? "" : "*");
	return buf_str(b);
}

static bool
covers_path(const char *a, const char *b)
{
	struct buf x = {0}, y = {0};
	if (!strchr(a, '*') && !strchr(b, '*'))
		return strncmp(a, b, strlen(a)) == 0;
	struct glob glob = {.pattern = pattern_of(a, &x), .is_path = true};
	bool covers = glob_covers(&glob, pattern_of(b, &y));
	buf_fini(&x);
	buf_fini(&y);
	return covers;
}

static bool
covers_methods(const struct config_match *a, const struct config_match *b)
{
	bool all = b->method_count > 0;
	for (unsigned i = 0; i < b->method_count; i++)
		all = all && has_method(a, strcmp(b->methods[i], "HEAD") ? b->methods[i] : "GET");
	return !a->method_count || all;
}

static bool
covers_field(const char *a, const char *b)
{
	struct str name, value, other, pattern;
	if (!headers_line(a, &name, &value) || !headers_line(b, &other, &pattern))
		return false;
	struct glob glob = {.pattern = value};
	return str_ieq(name, other) && glob_covers(&glob, pattern);
}

/* A request that has the fields of b has those of a. */
static bool
covers_fields(const struct config_match *a, const struct config_match *b)
{
	for (unsigned i = 0; i < a->header_count; i++) {
		unsigned k = 0;
		while (k < b->header_count && !covers_field(a->headers[i], b->headers[k]))
			k++;
		if (k == b->header_count)
			return false;
	}
	return true;
}

/* Every request of b is one of a: then b is never reached behind a. */
static bool
covers(const struct config_route *a, const struct config_route *b)
{
	bool host = !a->host || (b->host && covers_host(a->host, b->host));
	return host && (!a->path || covers_path(a->path, b->path ? b->path : "")) &&
	       covers_methods(&a->match, &b->match) && covers_fields(&a->match, &b->match);
}

/* A route that another one before it leaves nothing to. */
const char *
rules_of_cover(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	for (unsigned j = 0; j < i; j++)
		if (covers(&c->routes[j], &c->routes[i]))
			return rules_wrong(
				rules_indexed("routes", i, c->routes[i].path ? "path" : "host"),
				err, err_bytes,
				"route %u matches all of it and comes first; put this one before it",
				j + 1);
	return NULL;
}
