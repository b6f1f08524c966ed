/* suggest.c - Damerau-Levenshtein distance (optimal string alignment) of two short words; and words of
 * other programs. */
#include "config/suggest.h"

#include <limits.h>
#include <string.h>

enum { LONGEST = 63 };

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
suggest_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	if (na > LONGEST || nb > LONGEST)
		return UINT_MAX;
	unsigned d[LONGEST + 1][LONGEST + 1]; /* d[i][j]: first i letters of a to first j of b */
	for (unsigned i = 0; i <= na; i++)
		d[i][0] = i;
	for (unsigned j = 0; j <= nb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			d[i][j] = least(change, least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[na][nb];
}

int
suggest_is_near(const char *a, const char *b)
{
	size_t longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
	return suggest_distance(a, b) <= (longer + 2) / 3;
}

/* clang-format off */
static const struct hint {
	const char *group; /* NULL: any */
	const char *setting, *rest;
} hints[] = {
	{NULL,           "ttl",       "write cache: { default_ttl: ... } for answers that state no lifetime, or cache: { ttl: ... } in a route for all"},
	{"",             "redirect",  "write redirect: in a route, or tls: { redirect: https }"},
	{"",             "server",    "write origins: for the servers behind, listen: for the addresses here"},
	{"",             "servers",   "write origins: for the servers behind, listen: for the addresses here"},
	{"",             "upstream",  "write origins: [ http://host:port ]"},
	{"",             "upstreams", "write origins: [ http://host:port ]"},
	{"",             "backend",   "write origins: [ http://host:port ]"},
	{"",             "backends",  "write origins: [ http://host:port ]"},
	{"",             "proxy_pass", "write origins: [ http://host:port ]"},
	{"",             "port",      "write listen: \"0.0.0.0:8080\""},
	{"",             "bind",      "write listen: \"0.0.0.0:8080\""},
	{"",             "locations", "write routes: [ { path: /img/, ... } ]"},
	{"",             "rules",     "write routes: [ { path: /img/, ... } ]"},
	{"",             "hosts",     "write routes: [ { host: www.example.com, ... } ]"},
	{"",             "ssl",       "write tls: { certificates: [ FILE ] }, and https:// in listen"},
	{"",             "log",       "write access_log: FILE, or log_level:"},
	{"",             "logging",   "write access_log: FILE, or log_level:"},
	{"",             "headers",   "write request_headers: for origins, or response_headers: for clients"},
	{"routes",       "strip",     "write strip_prefix: /api"},
	{"routes.rewrite", "regex",   "write from: '^/blog/(.*)$'"},
	{"routes.rewrite", "pattern", "write from: '^/blog/(.*)$'"},
	{"routes.rewrite", "replacement", "write to: /posts/$1"},
	{"routes",       "prefix",    "write path: /img/"},
	{"routes",       "url",       "write path: /img/, or redirect: URL"},
	{"routes",       "domain",    "write host: www.example.com"},
	{"routes",       "backend",   "write origin: with the name of a group of origins"},
	{"routes",       "upstream",  "write origin: with the name of a group of origins"},
	{"tls",          "cert",      "write certificates: [ { cert: FILE, key: FILE } ]"},
	{"tls",          "cert_file", "write certificates: [ { cert: FILE, key: FILE } ]"},
	{"tls",          "certificate", "write certificates: [ { cert: FILE, key: FILE } ]"},
	{"tls",          "key",       "write certificates: [ { cert: FILE, key: FILE } ]"},
	{"tls",          "key_file",  "write certificates: [ { cert: FILE, key: FILE } ]"},
	{"cache",        "size",      "write disk: for the disk, memory: for RAM"},
	{"cache",        "max_size",  "write disk: for the disk, memory: for RAM"},
	{"cache",        "enabled",   "write pass: on in a route that is not to be cached"},
};
/* clang-format on */

const char *
suggest_hint(const char *group, const char *setting)
{
	for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
		if ((!hints[i].group || strcmp(hints[i].group, group) == 0) &&
		    strcmp(hints[i].setting, setting) == 0)
			return hints[i].rest;
	return NULL;
}
