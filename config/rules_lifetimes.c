/* rules_lifetimes.c - lifetimes of a route instead of the origin's. */
#include "config/rules_inside.h"

#include <strings.h>

static const struct {
	const char *word;
	unsigned bit;
} ignorable[] = {
	{"cache-control", CONFIG_IGNORE_CACHE_CONTROL},
	{"expires", CONFIG_IGNORE_EXPIRES},
	{"set-cookie", CONFIG_IGNORE_SET_COOKIE},
	{"vary", CONFIG_IGNORE_VARY},
	{"private", CONFIG_IGNORE_PRIVATE},
	{"no-store", CONFIG_IGNORE_NO_STORE},
};

unsigned
config_ignored(const struct config_route_cache *c, const char **unknown)
{
	unsigned bits = 0;
	*unknown = NULL;
	for (unsigned i = 0; i < c->ignore_count; i++) {
		unsigned k = 0;
		while (k < 6 && strcasecmp(ignorable[k].word, c->ignore[i]) != 0)
			k++;
		if (k == 6)
			*unknown = c->ignore[i];
		else
			bits |= ignorable[k].bit;
	}
	return *unknown ? 0 : bits;
}

const char *
rules_of_lifetimes(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	const char *unknown;
	config_ignored(&r->cache, &unknown);
	if (unknown)
		return rules_wrong(rules_indexed("routes", i, "cache.ignore"), err, err_bytes,
				   "\"%.60s\" is not known; write some of cache-control, expires, "
				   "set-cookie, vary, private, no-store",
				   unknown);
	bool says = r->cache.ttl_s || r->cache.ttl_status_count || r->cache.ttl_type_count ||
		    r->cache.ignore_count;
	if (r->pass && says)
		return rules_wrong(
			rules_indexed("routes", i, "pass"), err, err_bytes,
			"with pass: on nothing is stored, so no lifetime can apply; leave "
			"pass or the others out");
	return NULL;
}
