/* groups.c - `origins` as groups of servers. */
#include "config/groups.h"

#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char unnamed[] = "default";

/* ---- what there is --------------------------------------------------------------------------- */

/* Element i is its group's first. */
static bool
begins_group(const struct config *c, unsigned i)
{
	for (unsigned k = 0; !c->origins[i].name && k < i; k++)
		if (!c->origins[k].name)
			return false;
	return true;
}

unsigned
config_group_count(const struct config *c)
{
	unsigned n = 0;
	for (unsigned i = 0; i < c->origin_count; i++)
		n += begins_group(c, i);
	return n;
}

const struct config_origin *
config_group(const struct config *c, unsigned group)
{
	unsigned i = 0;
	while (!begins_group(c, i) || group-- > 0)
		i++;
	return &c->origins[i];
}

const char *
config_group_name(const struct config *c, unsigned group)
{
	const char *name = config_group(c, group)->name;
	return name ? name : unnamed;
}

int
config_group_find(const struct config *c, const char *name)
{
	unsigned n = config_group_count(c);
	if (!name)
		return n ? 0 : -1;
	for (unsigned g = 0; g < n; g++)
		if (strcmp(config_group_name(c, g), name) == 0)
			return (int)g;
	return -1;
}

static unsigned
servers_of(const struct config_origin *o)
{
	return o->url ? 1 : o->server_count;
}

unsigned
config_member_count(const struct config *c)
{
	unsigned n = 0;
	for (unsigned i = 0; i < c->origin_count; i++)
		n += servers_of(&c->origins[i]);
	return n;
}

static void
fill_in(const struct config *c, unsigned element, unsigned k, struct config_member *out)
{
	const struct config_origin *o = &c->origins[element];
	*out = (struct config_member){.origin = o, .url = o->url, .weight = 1};
	if (o->url) {
		snprintf(out->setting, sizeof(out->setting), "origins.%u.url", element);
		return;
	}
	out->url = o->servers[k].url;
	out->weight = o->servers[k].weight;
	out->backup = o->servers[k].backup;
	snprintf(out->setting, sizeof(out->setting), "origins.%u.servers.%u.url", element, k);
}

/* Group by group: the servers of "default" may be far apart in the list. */
void
config_member(const struct config *c, unsigned i, struct config_member *out)
{
	unsigned group = 0;
	for (unsigned e = 0; e < c->origin_count; e++) {
		if (!begins_group(c, e))
			continue;
		unsigned last = c->origins[e].name ? e : c->origin_count - 1;
		for (unsigned k = e; k <= last; k++) {
			bool is_of_it = k == e || !c->origins[k].name;
			unsigned n = is_of_it ? servers_of(&c->origins[k]) : 0;
			if (i < n) {
				fill_in(c, k, i, out);
				out->group = group;
				return;
			}
			i -= n;
		}
		group++;
	}
	memset(out, 0, sizeof(*out));
}

/* ---- what must be true ----------------------------------------------------------------------- */

__attribute__((format(printf, 5, 6))) static const char *
wrong(unsigned element, const char *key, char *err, size_t err_bytes, const char *fmt, ...)
{
	static _Thread_local char setting[CONFIG_NAME_BYTES];
	size_t at = (size_t)snprintf(err, err_bytes, "origins%s%s: ", *key ? "." : "", key);
	va_list args;
	va_start(args, fmt);
	vsnprintf(err + at, err_bytes - at, fmt, args);
	va_end(args);
	snprintf(setting, sizeof(setting), "origins.%u%s%s", element, *key ? "." : "", key);
	return setting;
}

static bool
is_https(const struct config_origin *o)
{
	bool all = o->url || o->server_count;
	if (o->url)
		return strncasecmp(o->url, "https:", 6) == 0;
	for (unsigned i = 0; i < o->server_count; i++)
		all = all && strncasecmp(o->servers[i].url, "https:", 6) == 0;
	return all;
}

bool
config_expected(const char *text, unsigned *least, unsigned *most)
{
	int end = 0;
	if (sscanf(text, "%3u%n", least, &end) != 1 || end != 3)
		return false;
	*most = *least;
	if (text[3] && (sscanf(text, "%*3u-%3u%n", most, &end) != 1 || end != 7))
		return false;
	return !text[end] && *least >= 200 && *least <= *most && *most <= 599;
}

/* It becomes a part of a request's head. */
static bool
is_visible(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s > '~' || *s == '#')
			return false;
	return true;
}

static const char *
check_health(const struct config_origin *o, unsigned i, char *err, size_t err_bytes)
{
	const struct config_health *h = &o->health;
	unsigned least, most;
	if (!h->path && (h->every_ms != 5000 || h->timeout_ms != 2000 || h->fall != 3 ||
			 h->rise != 2 || h->host || strcmp(h->expect, "200-399") != 0))
		return wrong(i, "health", err, err_bytes,
			     "there are no checks without a path; write path: /healthz too");
	if (!h->path)
		return NULL;
	if (!o->name || o->server_count < 2)
		return wrong(i, "health.path", err, err_bytes,
			     "checks are off for a group of one server, which is always asked, and "
			     "for servers without a group; leave health out, or write servers: "
			     "under a name");
	if (*h->path != '/' || !is_visible(h->path))
		return wrong(i, "health.path", err, err_bytes,
			     "\"%s\" is not a path; write one such as /healthz", h->path);
	if (h->host && (!*h->host || !is_visible(h->host)))
		return wrong(i, "health.host", err, err_bytes, "it is not the name of a host");
	if (h->host && o->host)
		return wrong(i, "health.host", err, err_bytes,
			     "host: %s is sent with all requests; leave one of both out", o->host);
	if (!config_expected(h->expect, &least, &most))
		return wrong(i, "health.expect", err, err_bytes,
			     "\"%s\" is neither a status from 200 to 599 nor a range; write "
			     "200-399",
			     h->expect);
	if (h->timeout_ms > h->every_ms)
		return wrong(i, "health.timeout", err, err_bytes,
			     "it is longer than every; make it as long at most");
	return NULL;
}

/* Checks what TLS shows to origins and asks of them. */
static const char *
check_own(const struct config_origin *o, unsigned i, char *err, size_t err_bytes)
{
	const char *url = o->url ? o->url : o->servers[0].url;
	if (o->cert_file && !is_https(o))
		return wrong(i, "cert_file", err, err_bytes,
			     "%s is asked without TLS, which shows no certificate; write https:// "
			     "or leave cert_file out",
			     url);
	if (o->key_file && !o->cert_file)
		return wrong(i, "key_file", err, err_bytes,
			     "there is no certificate that it belongs to; write cert_file");
	if (o->server_name && !is_https(o))
		return wrong(i, "server_name", err, err_bytes,
			     "%s is asked without TLS, which has no such name; write https:// or "
			     "leave server_name out",
			     url);
	if (o->server_name && (!*o->server_name || strpbrk(o->server_name, ":/?#[]@*\\ ") ||
			       !is_visible(o->server_name)))
		return wrong(i, "server_name", err, err_bytes,
			     "\"%s\" is not the name of a host; write it as in a URL, without port",
			     o->server_name);
	return NULL;
}

static const char *
check_element(const struct config_origin *o, unsigned i, char *err, size_t err_bytes)
{
	if (!o->url && !o->server_count)
		return wrong(i, "url", err, err_bytes,
			     "missing; write http[s]://host[:port], or servers: with one each");
	if (o->url && o->server_count)
		return wrong(i, "servers", err, err_bytes,
			     "there is a url beside them; put it among the servers");
	if (o->server_count && !o->name)
		return wrong(
			i, "servers", err, err_bytes,
			"their group has no name, by which routes could choose it; write name:");
	if (o->ca_file && !is_https(o))
		return wrong(i, "ca_file", err, err_bytes,
			     "%s has no certificate to check; write https:// or leave ca_file out",
			     o->url ? o->url : o->servers[0].url);
	if (o->ca_file && !o->verify)
		return wrong(i, "ca_file", err, err_bytes,
			     "nothing is checked with verify: off; leave one of both out");
	const char *bad = check_own(o, i, err, err_bytes);
	return bad ? bad : check_health(o, i, err, err_bytes);
}

static bool
has_usual_rules(const struct config_origin *o)
{
	return o->balance == CONFIG_BALANCE_AUTO && o->retries == 1 && o->queue == 0;
}

static bool
has_same_rules(const struct config_origin *a, const struct config_origin *b)
{
	return a->balance == b->balance && a->retries == b->retries && a->queue == b->queue;
}

/* Rules of the whole group are given with its first server. */
static const char *
check_default_group(const struct config *c, char *err, size_t err_bytes)
{
	const struct config_origin *first = NULL;
	for (unsigned i = 0; i < c->origin_count; i++) {
		const struct config_origin *o = &c->origins[i];
		if (o->name)
			continue;
		if (!first)
			first = o;
		if (!has_usual_rules(o) && !has_same_rules(o, first))
			return wrong(i, "url", err, err_bytes,
				     "%s is of the same group as %s, which has other rules for "
				     "balance, retries or queue; write them there, or give one a "
				     "name",
				     o->url, first->url);
	}
	return NULL;
}

static const char *
check_names(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->origin_count; i++)
		for (unsigned k = 0; k < i; k++) {
			const char *a = c->origins[i].name, *b = c->origins[k].name;
			if ((a || b) && strcmp(a ? a : unnamed, b ? b : unnamed) == 0)
				return wrong(i, "name", err, err_bytes,
					     "\"%s\" is given twice; give each group a name of its "
					     "own",
					     a ? a : unnamed);
		}
	return NULL;
}

/* Twice in one group; groups may share a server. */
static const char *
check_urls(const struct config *c, char *err, size_t err_bytes)
{
	static _Thread_local char setting[CONFIG_NAME_BYTES];
	struct config_member a, b;
	unsigned n = config_member_count(c);
	for (unsigned i = 0; i < n; i++) {
		config_member(c, i, &a);
		for (unsigned k = i; k-- > 0;) {
			config_member(c, k, &b);
			if (b.group != a.group)
				break;
			if (strcasecmp(a.url, b.url) == 0) {
				snprintf(err, err_bytes, "origins: %s is given twice; keep one",
					 a.url);
				snprintf(setting, sizeof(setting), "%s", a.setting);
				return setting;
			}
		}
	}
	return NULL;
}

const char *
groups_check_one(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	return check_element(&c->origins[i], i, err, err_bytes);
}

const char *
groups_check(const struct config *c, char *err, size_t err_bytes)
{
	const char *bad = check_names(c, err, err_bytes);
	if (!bad)
		bad = check_default_group(c, err, err_bytes);
	return bad ? bad : check_urls(c, err, err_bytes);
}
