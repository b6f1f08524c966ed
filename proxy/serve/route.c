/* route.c - routes compiled from the configuration into views the request path can use as they are.
 */
#include "proxy/serve/route.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

struct rule {
	struct str host, path; /* empty: any */
	struct route route;
};

struct routes {
	struct rule *rules; /* the last matches everything */
	unsigned count;
};

static const struct str *
strs_of(char *const *words, unsigned n)
{
	struct str *s = mem_alloc(n * sizeof *s);
	for (unsigned i = 0; i < n; i++)
		s[i] = str_of(words[i]);
	return s;
}

static void
compile(struct rule *r, const struct config_route *c)
{
	r->host = c->host ? str_of(c->host) : STR("");
	r->path = c->path ? str_of(c->path) : STR("");
	r->route.pass = c->pass;
	r->route.admit = (enum admission_rule)c->admit; /* same order in both tables */
	r->route.key = (struct key_rules){
		.query = (enum query_rule)c->query,
		.normalise = c->normalise,
		.keep_params = strs_of(c->keep_params, c->keep_param_count),
		.keep_count = c->keep_param_count,
		.drop_params = strs_of(c->drop_params, c->drop_param_count),
		.drop_count = c->drop_param_count,
		.headers = strs_of(c->key_headers, c->key_header_count),
		.header_count = c->key_header_count,
		.cookies = strs_of(c->key_cookies, c->key_cookie_count),
		.cookie_count = c->key_cookie_count,
		.pass_cookies = strs_of(c->pass_cookies, c->pass_cookie_count),
		.pass_cookie_count = c->pass_cookie_count,
	};
}

_Static_assert((int)CONFIG_ADMIT_NEVER == (int)RULE_NEVER &&
		       (int)CONFIG_QUERY_SORT == (int)QUERY_SORT,
	       "compile() casts between these");

struct routes *
routes_create(const struct config *c)
{
	static const struct config_route any = {0};
	struct routes *r = NEW(struct routes);
	r->count = c->route_count + 1;
	r->rules = mem_zalloc(r->count * sizeof *r->rules);
	for (unsigned i = 0; i < c->route_count; i++)
		compile(&r->rules[i], &c->routes[i]);
	compile(&r->rules[c->route_count], &any);
	return r;
}

void
routes_destroy(struct routes **rp)
{
	struct routes *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	for (unsigned i = 0; i < r->count; i++) {
		const struct key_rules *k = &r->rules[i].route.key;
		const struct str *lists[] = {k->keep_params, k->drop_params, k->headers, k->cookies,
					     k->pass_cookies};
		for (size_t n = 0; n < sizeof lists / sizeof lists[0]; n++)
			free((void *)(uintptr_t)lists[n]);
	}
	free(r->rules);
	free(r);
}

/* "example.com" also matches "example.com:8080". */
static bool
host_matches(struct str want, struct str authority)
{
	if (want.n == 0)
		return true;
	if (authority.n > want.n && authority.p[want.n] == ':')
		authority.n = want.n;
	return str_ieq(want, authority);
}

const struct route *
route_find(const struct routes *r, const struct request *rq)
{
	for (unsigned i = 0; i + 1 < r->count; i++)
		if (host_matches(r->rules[i].host, rq->authority) &&
		    str_starts(rq->path_query, r->rules[i].path))
			return &r->rules[i].route;
	return &r->rules[r->count - 1].route;
}
