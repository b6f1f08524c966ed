/* route.c - routes compiled from the configuration into views the request path can use as they are.
 */
#include "proxy/serve/route.h"

#include "config/config.h"
#include "config/groups.h"
#include "proxy/base/mem.h"
#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"
#include "proxy/serve/route_index.h"

#include <stdlib.h>

struct rule {
	struct str host; /* empty: any */
	struct buf path; /* as `plain` has it; empty: any */
	struct route route;
	struct route passing; /* the same, but it passes: for who could mean another route */
	struct header_rules *request, *response; /* owned */
	struct local_rules *local;		 /* owned */
	struct rate_rules *rates;		 /* owned */
	bool guards; /* it has rules of its own for who may ask or how often, or answers by itself */
};

struct routes {
	struct rule *rules; /* the last matches everything */
	unsigned count;
	struct route_index *index; /* of all but the last */
	struct route closed;	   /* for who could mean a route that ends requests, or another */
};

static const struct str *
strs_of(char *const *words, unsigned n)
{
	struct str *s = mem_alloc(n * sizeof *s);
	for (unsigned i = 0; i < n; i++)
		s[i] = str_of(words[i]);
	return s;
}

/* An answer with a cookie, or an error that a client's own fields can cause, was stored because a
 * setting allowed it. When the setting goes, while the proxy runs or over a restart, nobody finds it
 * any more. Other rules of keys need no mark: the origin is asked for what the key says (outgoing.h), so
 * what lies under a key is its answer by whatever rules the key came about. */
static struct str
mark_of(const struct config_cache *c)
{
	bool cookies = c->set_cookie == CONFIG_COOKIE_SHARE;
	if (cookies && c->client_errors)
		return STR("\n@cookies\n@errors");
	return cookies ? STR("\n@cookies") : c->client_errors ? STR("\n@errors") : STR("");
}

_Static_assert((int)CONFIG_CLIENT_OBEY == (int)CLIENT_OBEY &&
		       (int)CONFIG_COOKIE_SHARE == (int)SET_COOKIE_SHARE,
	       "policy_of casts between these");

static struct policy_settings
policy_of(const struct config_cache *c)
{
	return (struct policy_settings){
		.target = c->targeted_field ? str_of(c->targeted_field) : STR(""),
		.default_stale_if_error_s = (int64_t)c->stale_if_error_s,
		.default_stale_while_revalidate_s = (int64_t)c->stale_while_revalidate_s,
		.default_ttl_s = (int64_t)c->default_ttl_s,
		.heuristic_fraction = c->heuristic_fraction,
		.heuristic_max_s = (int64_t)c->heuristic_max_s,
		.client = (enum client_directives)c->client_directives, /* the same order */
		.set_cookie = (enum set_cookie)c->set_cookie,
		.client_errors = c->client_errors,
	};
}

/* The form in which the paths of rules and of requests are compared as they are written: a rule may say
 * "/caf\xc3\xa9/" or "/caf%C3%A9/". Rules have no other encodings (check_path of config/rules.c). */
static struct str
plain(struct str path, struct buf *b)
{
	b->n = 0;
	uri_add_plain(path, b);
	return buf_str(b);
}

static void
compile(struct rule *r, const struct config *all, const struct config_route *c)
{
	int group = config_group_find(all, c->origin);
	struct config_cache cache = config_route_cache(all, c);
	r->host = c->host ? str_of(c->host) : STR("");
	plain(c->path ? str_of(c->path) : STR(""), &r->path);
	r->route.group = group < 0 ? 0 : (unsigned)group; /* who only looks for rules has none */
	r->route.pass = c->pass;
	r->route.place = c->name ? (unsigned)(c - all->routes) + 1 : 0;
	r->route.admit = (enum admission_rule)c->admit; /* same order in both tables */
	r->route.sightings = c->admission.sightings;
	r->route.max_object_bytes = c->admission.max_object_bytes;
	r->route.policy = policy_of(&cache);
	r->route.stale_after_ms = (int64_t)cache.stale_after_ms;
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
		.mark = mark_of(&cache),
	};
	r->route.upgrades = strs_of(c->upgrades, c->upgrade_count);
	r->route.upgrade_count = c->upgrade_count;
	r->route.streams = c->streams;
	r->request = header_rules_create(&all->request_headers, &c->request_headers);
	r->response = header_rules_create(&all->response_headers, &c->response_headers);
	r->local = local_rules_create(c);
	if (c->answer.file) /* the last one, which is not in the list, has none */
		r->local->page = (unsigned)(c - all->routes) + 1;
	r->route.local = r->local;
	r->rates = rate_rules_create(&all->rate, c);
	r->route.rates = r->rates;
	r->guards = r->local || c->rate.requests;
	r->route.request = r->request;
	r->route.response = r->response;
	r->passing = r->route;
	r->passing.pass = true;
	r->passing.upgrade_count = 0; /* a tunnel is for who surely means this route */
}

_Static_assert((int)CONFIG_ADMIT_NEVER == (int)RULE_NEVER &&
		       (int)CONFIG_QUERY_SORT == (int)QUERY_SORT,
	       "compile() casts between these");

/* A route that passes, ends requests or limits them protects: it is matched in any case. */
static void
index_rules(struct routes *r)
{
	struct route_index_row *rows = mem_zalloc(r->count * sizeof *rows);
	for (unsigned i = 0; i + 1 < r->count; i++)
		rows[i] = (struct route_index_row){.host = r->rules[i].host,
						   .path = buf_str(&r->rules[i].path),
						   .any_case = r->rules[i].route.pass ||
							       r->rules[i].guards};
	r->index = route_index_create(rows, r->count - 1);
	free(rows);
}

struct routes *
routes_create(const struct config *c)
{
	static const struct config_route any = {0};
	struct routes *r = NEW(struct routes);
	r->count = c->route_count + 1;
	r->rules = mem_zalloc(r->count * sizeof *r->rules);
	for (unsigned i = 0; i < c->route_count; i++)
		compile(&r->rules[i], c, &c->routes[i]);
	compile(&r->rules[c->route_count], c, &any);
	index_rules(r);
	r->closed = r->rules[c->route_count].passing;
	r->closed.closed = true;
	return r;
}

void
routes_pass(struct routes *r)
{
	for (unsigned i = 0; i < r->count; i++)
		r->rules[i].route.pass = true;
}

void
routes_destroy(struct routes **rp)
{
	struct routes *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	for (unsigned i = 0; i < r->count; i++) {
		local_rules_destroy(&r->rules[i].local);
		rate_rules_destroy(&r->rules[i].rates);
		header_rules_destroy(&r->rules[i].request);
		header_rules_destroy(&r->rules[i].response);
		buf_fini(&r->rules[i].path);
		const struct key_rules *k = &r->rules[i].route.key;
		const struct str *lists[] = {k->keep_params,  k->drop_params,
					     k->headers,      k->cookies,
					     k->pass_cookies, r->rules[i].route.upgrades};
		for (size_t n = 0; n < sizeof lists / sizeof lists[0]; n++)
			free((void *)(uintptr_t)lists[n]);
	}
	route_index_destroy(&r->index);
	free(r->rules);
	free(r);
}

/* ---- matching ------------------------------------------------------------------------------ */

/* The name alone: without port, final dots, and percent-encoding that a server may decode. */
static void
add_host(struct str authority, struct buf *out)
{
	size_t n = authority.n;
	while (n && byte_is_digit(authority.p[n - 1]))
		n--;
	if (n && authority.p[n - 1] == ':')
		authority.n = n - 1;
	uri_add_decoded(authority, out);
	while (out->n && out->p[out->n - 1] == '.')
		out->n--;
}

static unsigned
rule_of(const struct routes *r, struct str host, struct str path)
{
	return route_index_find(r->index, host, path);
}

/* Whether origins could take the path for another one than is written. */
static bool
has_readings(struct str path)
{
	for (size_t i = 0; i < path.n; i++) {
		char c = path.p[i];
		if (c == '%' || c == ';' || c == '\\')
			return true;
		if (c == '/' && i + 1 < path.n && (path.p[i + 1] == '/' || path.p[i + 1] == '.'))
			return true;
	}
	return false;
}

/* How an origin may read a path: decoded so many times, a backslash for a slash, perhaps without
 * the parameters of segments (";jsessionid=1"), no segment empty, "." and ".." carried out. */
static struct str
reading(struct str path, unsigned decodings, bool parameters, struct buf *b)
{
	struct buf other = {0};
	b->n = 0;
	buf_add_str(b, path);
	for (unsigned i = 0; i < decodings; i++) {
		other.n = 0;
		uri_add_decoded(buf_str(b), &other);
		b->n = 0;
		buf_add_str(b, buf_str(&other));
	}
	buf_fini(&other);
	size_t n = 0;
	bool in_parameter = false;
	for (size_t i = 0; i < b->n; i++) {
		char c = b->p[i] == '\\' ? '/' : b->p[i];
		in_parameter = c != '/' && (in_parameter || (c == ';' && !parameters));
		if (!in_parameter && !(c == '/' && n && b->p[n - 1] == '/'))
			b->p[n++] = c;
	}
	b->n = n;
	if (n && b->p[0] == '/')
		uri_remove_dots(b, 0);
	return buf_str(b);
}

/* As a key of a route with normalise: on has it (cachekey_add_url). Without this reading, two requests
 * of one key could have different rules, and one group of origins could answer for another. */
static struct str
key_form(struct str path, struct buf *b)
{
	b->n = 0;
	uri_add_unescaped(path, b);
	if (b->n && b->p[0] == '/')
		uri_remove_dots(b, 0);
	return buf_str(b);
}

/* What a reading that matches another rule makes of what was found. */
static const struct route *
doubted(const struct routes *r, const struct route *found, unsigned first, unsigned other)
{
	if (other == first || found->closed)
		return found;
	bool guards = r->rules[first].guards || r->rules[other].guards;
	return guards ? &r->closed : &r->rules[other].passing;
}

/* The rule that all readings agree on; where they do not, nobody knows which rules the origin's
 * answer would be made by, and the request passes, or is denied. */
static const struct route *
agreed(const struct routes *r, struct str host, struct str path, unsigned first)
{
	static const struct {
		unsigned decodings;
		bool parameters;
	} readings[] = {{1, true}, {1, false}, {2, false}};
	struct buf b = {0}, key = {0};
	const struct route *found = &r->rules[first].route;

	for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
		struct str read = reading(path, readings[i].decodings, readings[i].parameters, &b);
		found = doubted(r, found, first, rule_of(r, host, read));
	}
	found = doubted(r, found, first, rule_of(r, host, plain(key_form(path, &key), &b)));
	buf_fini(&b);
	buf_fini(&key);
	return found;
}

/* The first rule for the path as it is written. */
static unsigned
written(const struct routes *r, struct str host, struct str path)
{
	struct buf b = {0};
	unsigned first = rule_of(r, host, plain(path, &b));
	buf_fini(&b);
	return first;
}

const struct route *
route_find(const struct routes *r, const struct request *rq)
{
	struct buf host = {0};
	if (r->count == 1)
		return &r->rules[0].route;
	add_host(rq->authority, &host);
	struct str path, query;
	str_cut(rq->path_query, '?', &path, &query);
	const struct route *found =
		has_readings(path)
			? agreed(r, buf_str(&host), path, written(r, buf_str(&host), path))
			: &r->rules[rule_of(r, buf_str(&host), path)].route;
	buf_fini(&host);
	return found;
}

const struct route *
route_default(const struct routes *r)
{
	return &r->rules[r->count - 1].route;
}

unsigned
route_number(const struct routes *r, const struct route *found)
{
	for (unsigned i = 0; i + 1 < r->count; i++)
		if (found == &r->rules[i].route || found == &r->rules[i].passing)
			return i + 1;
	return 0;
}

unsigned
route_as_written(const struct routes *r, const struct request *rq)
{
	struct buf host = {0};
	add_host(rq->authority, &host);
	struct str path, query;
	str_cut(rq->path_query, '?', &path, &query);
	unsigned i = written(r, buf_str(&host), path);
	buf_fini(&host);
	return i + 1 < r->count ? i + 1 : 0;
}

bool
route_is_for_host(const struct routes *r, unsigned number, const struct request *rq)
{
	struct buf host = {0};
	struct route_index_row row = {.host = r->rules[number - 1].host}; /* any path */
	struct route_index *alone = route_index_create(&row, 1);
	add_host(rq->authority, &host);
	bool is = route_index_find(alone, buf_str(&host), rq->path_query) == 0;
	route_index_destroy(&alone);
	buf_fini(&host);
	return is;
}
