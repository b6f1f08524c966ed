/* route.c - routes compiled from the configuration into views the request path can use as they are. */
#include "proxy/serve/routes/route_inside.h"

#include "config/config.h"
#include "config/groups.h"
#include "config/units.h"
#include "proxy/base/mem.h"
#include "proxy/coding/compress_types.h"
#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"

#include <stdlib.h>

static const struct str *
strs_of(char *const *words, unsigned n)
{
	struct str *s = mem_alloc(n * sizeof *s);
	for (unsigned i = 0; i < n; i++)
		s[i] = str_of(words[i]);
	return s;
}

/* Of names as the settings have them those with a "*", without it, or those that have none. */
static const struct str *
some_of(char *const *words, unsigned n, bool stars, unsigned *count)
{
	struct str *s = mem_alloc((n + 1) * sizeof *s);
	*count = 0;
	for (unsigned i = 0; i < n; i++) {
		struct str word = str_of(words[i]);
		bool has_star = word.n && word.p[word.n - 1] == '*';
		if (has_star == stars)
			s[(*count)++] = (struct str){word.p, word.n - has_star};
	}
	return s;
}

static void
name_what_is_keyed(struct key_rules *k, const struct config_route *c)
{
	k->headers = some_of(c->key_headers, c->key_header_count, false, &k->header_count);
	k->header_stars = some_of(c->key_headers, c->key_header_count, true, &k->header_star_count);
	k->cookies = some_of(c->key_cookies, c->key_cookie_count, false, &k->cookie_count);
	k->cookie_stars = some_of(c->key_cookies, c->key_cookie_count, true, &k->cookie_star_count);
	k->pass_cookies =
		some_of(c->pass_cookies, c->pass_cookie_count, false, &k->pass_cookie_count);
	k->keyed_cookies = strs_of(c->key_cookies, c->key_cookie_count);
	k->keyed_cookie_count = c->key_cookie_count;
	k->pass_stars = some_of(c->pass_cookies, c->pass_cookie_count, true, &k->pass_star_count);
}

/* An answer with a cookie, or an error that a client's own fields can cause, was stored because a
 * setting allowed it. When the setting goes, while the proxy runs or over a restart, nobody finds it
 * any more. Other rules of keys need no mark: the origin is asked for what the key says (outgoing.h), so
 * what lies under a key is its answer by whatever rules the key came about. */
static struct str
mark_of(const struct config_cache *c, unsigned ignored)
{
	static const struct str marks[] = {
		STR_INIT(""),
		STR_INIT("\n@cookies"),
		STR_INIT("\n@errors"),
		STR_INIT("\n@cookies\n@errors"),
		STR_INIT("\n@ignored"),
		STR_INIT("\n@cookies\n@ignored"),
		STR_INIT("\n@errors\n@ignored"),
		STR_INIT("\n@cookies\n@errors\n@ignored"),
	};
	return marks[(c->set_cookie == CONFIG_COOKIE_SHARE ? 1 : 0) | (c->client_errors ? 2 : 0) |
		     (ignored ? 4 : 0)];
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

_Static_assert((int)CONFIG_IGNORE_NO_STORE == (int)IGNORE_NO_STORE &&
		       (int)CONFIG_IGNORE_PRIVATE == (int)IGNORE_PRIVATE &&
		       (int)CONFIG_IGNORE_VARY == (int)IGNORE_VARY &&
		       (int)CONFIG_IGNORE_SET_COOKIE == (int)IGNORE_SET_COOKIE,
	       "override_lifetimes takes one for the other");

static void
override_by_type(struct policy_settings *p, const struct config_route_cache *c)
{
	struct policy_type_ttl *by = mem_alloc((c->ttl_type_count + 1) * sizeof *by);
	for (unsigned i = 0; i < c->ttl_type_count; i++) {
		size_t n = 0;
		uint64_t s = 0;
		units_parse_type_ttl(c->ttl_type[i], &n, &s);
		by[i] = (struct policy_type_ttl){{c->ttl_type[i], n}, (int64_t)s};
	}
	p->ttl_type = by;
	p->ttl_type_count = c->ttl_type_count;
}

/* No cookie is given to all because it is ignored: the answer is kept without it. */
static void
override_lifetimes(struct policy_settings *p, const struct config_route_cache *c, unsigned ignored)
{
	struct policy_ttl *by = mem_alloc((c->ttl_status_count + 1) * sizeof *by);
	for (unsigned i = 0; i < c->ttl_status_count; i++) {
		unsigned status = 0;
		uint64_t s = 0;
		units_parse_ttl(c->ttl_status[i], &status, &s);
		by[i] = (struct policy_ttl){(int)status, (int64_t)s};
	}
	p->ttl_status = by;
	p->ttl_status_count = c->ttl_status_count;
	p->ttl = (struct secs){c->ttl_s > 0, (int64_t)c->ttl_s - 1};
	override_by_type(p, c);
	p->ignore = ignored;
	if ((ignored & IGNORE_SET_COOKIE) && p->set_cookie == SET_COOKIE_NEVER)
		p->set_cookie = SET_COOKIE_STRIP;
}

/* A rule may say "/caf\xc3\xa9/" or "/caf%C3%A9/". Rules have no other encodings (config/rules_match.c). */
struct str
route_plain(struct str path, struct buf *b)
{
	b->n = 0;
	uri_add_plain(path, b);
	return buf_str(b);
}

/* Keys of the route say which fields it asks for; see route_conditions.h. */
static void
take_conditions(struct rule *r, const struct config_route *c)
{
	r->conditions = route_conditions_create(&c->match);
	if (!r->conditions || !r->conditions->mark.n)
		return;
	buf_add_str(&r->mark, buf_str(&r->conditions->mark));
	buf_add_str(&r->mark, r->route.key.mark);
	r->route.key.mark = buf_str(&r->mark);
}

static struct coding_list
codings_of(const struct config *all, const struct config_route *c)
{
	const char *names[CONFIG_CODINGS_MOST];
	struct coding_list list = {.n = config_encoding_names(all, c, names)};
	_Static_assert(CONFIG_CODINGS_MOST == sizeof list.at / sizeof list.at[0], "all have room");
	for (unsigned i = 0; i < list.n; i++)
		list.at[i] = coding_of(str_of(names[i]));
	return list;
}

/* The lists are the configuration's words, but for the default. */
static struct route_packing
packing_of(struct routes *all, const struct config *c, const struct config_route *r)
{
	const struct config_compress *list = &c->admission.compress;
	bool one = list->type_count == 1;
	if (r->admission.compress == CONFIG_COMPRESS_OFF ||
	    (one && str_eq(str_of(list->types[0]), STR("none"))))
		return (struct route_packing){0};
	struct route_packing p = {.any = r->admission.compress == CONFIG_COMPRESS_ANY,
				  .streams = list->stream};
	if (one && str_eq(str_of(list->types[0]), STR("default"))) {
		p.types = compress_types_default;
		p.type_count = (unsigned)compress_types_default_n;
		return p;
	}
	if (!all->packed_types)
		all->packed_types = strs_of(list->types, list->type_count);
	p.types = all->packed_types;
	p.type_count = list->type_count;
	return p;
}

static void
compile(struct routes *rs, struct rule *r, const struct config *all, const struct config_route *c)
{
	int group = config_group_find(all, c->target.origin);
	struct config_cache cache = config_route_cache(all, c);
	const char *unknown;
	unsigned ignored = config_ignored(&c->cache, &unknown);
	r->host = c->host ? str_of(c->host) : STR("");
	route_plain(c->path ? str_of(c->path) : STR(""), &r->path);
	r->route.group = group < 0 ? 0 : (unsigned)group; /* who only looks for rules has none */
	r->route.pass = c->pass;
	r->route.row = (unsigned)(r - rs->rules);
	r->route.place = c->name ? (unsigned)(c - all->routes) + 1 : 0;
	r->route.admit = (enum admission_rule)c->admit; /* same order in both tables */
	r->route.sightings = c->admission.sightings;
	r->route.max_object_bytes = c->admission.max_object_bytes;
	r->route.policy = policy_of(&cache);
	override_lifetimes(&r->route.policy, &c->cache, ignored);
	/* It speaks of guesses here, and of the default not at all. */
	r->route.policy.guess_first = c->cache.heuristic_max_s && !c->cache.default_ttl_s;
	r->route.stale_after_ms = (int64_t)cache.stale_after_ms;
	r->route.key = (struct key_rules){
		.query = (enum query_rule)c->query,
		.normalise = c->normalise,
		.keep_params = strs_of(c->keep_params, c->keep_param_count),
		.keep_count = c->keep_param_count,
		.drop_params = strs_of(c->drop_params, c->drop_param_count),
		.drop_count = c->drop_param_count,
		.mark = mark_of(&cache, ignored),
	};
	name_what_is_keyed(&r->route.key, c);
	take_conditions(r, c);
	r->route.key.owners_pass =
		c->cache.ttl_s || c->cache.ttl_status_count || c->cache.ttl_type_count || ignored;
	r->route.codings = codings_of(all, c);
	r->route.packing = packing_of(rs, all, c);
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
	r->rewrite = rewrite_create(c);
	r->route.rewrite = r->rewrite;
	r->guards = r->local || c->rate.requests;
	r->route.gated = r->local || r->rates || r->rewrite || all->tls.acme_challenges ||
			 all->tls.redirect == CONFIG_REDIRECT_HTTPS;
	r->route.request = r->request;
	r->route.response = r->response;
	r->passing = r->route;
	r->passing.pass = true;
	r->passing.upgrade_count = 0; /* a tunnel is for who surely means this route */
}

_Static_assert((int)CONFIG_ADMIT_NEVER == (int)RULE_NEVER &&
		       (int)CONFIG_QUERY_SORT == (int)QUERY_SORT,
	       "compile() casts between these");

/* A route that passes, ends requests or limits them protects: it is matched in any case. A "*" at the end alone
 * says what the beginning of a path says without it. */
struct route_index_row
route_row(const struct rule *r)
{
	struct str path = buf_str(&r->path);
	if (path.n && str_before(path, '*').n + 1 == path.n)
		path.n--;
	return (struct route_index_row){.host = r->host,
					.path = path,
					.any_case = r->route.pass || r->guards,
					.conditions = r->conditions};
}

static void
index_rules(struct routes *r)
{
	struct route_index_row *rows = mem_zalloc(r->count * sizeof *rows);
	for (unsigned i = 0; i + 1 < r->count; i++) {
		rows[i] = route_row(&r->rules[i]);
		r->by_more = r->by_more || rows[i].conditions;
		r->by_end = r->by_end || str_before(rows[i].path, '*').n < rows[i].path.n;
	}
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
		compile(r, &r->rules[i], c, &c->routes[i]);
	compile(r, &r->rules[c->route_count], c, &any);
	index_rules(r);
	r->closed = r->rules[c->route_count].passing;
	r->closed.closed = r->closed.gated = true;
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
		rewrite_destroy(&r->rules[i].rewrite);
		header_rules_destroy(&r->rules[i].request);
		header_rules_destroy(&r->rules[i].response);
		route_conditions_destroy(&r->rules[i].conditions);
		buf_fini(&r->rules[i].path);
		buf_fini(&r->rules[i].mark);
		const struct key_rules *k = &r->rules[i].route.key;
		const struct str *lists[] = {
			k->keep_params,	 k->drop_params,  k->headers,
			k->cookies,	 k->pass_cookies, k->header_stars,
			k->cookie_stars, k->pass_stars,	  r->rules[i].route.upgrades};
		free((void *)(uintptr_t)r->rules[i].route.policy.ttl_status);
		free((void *)(uintptr_t)r->rules[i].route.policy.ttl_type);
		free((void *)(uintptr_t)k->keyed_cookies);
		for (size_t n = 0; n < sizeof lists / sizeof lists[0]; n++)
			free((void *)(uintptr_t)lists[n]);
	}
	route_index_destroy(&r->index);
	free((void *)(uintptr_t)r->packed_types);
	free(r->rules);
	free(r);
}

/* ---- matching ------------------------------------------------------------------------------ */

void
route_add_host(struct str authority, struct buf *out)
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

struct asked {
	const struct routes *routes;
	const struct request *rq;
	struct str host;
};

static unsigned
rule_of(const struct asked *a, struct str path)
{
	return route_index_find(a->routes->index, a->host, path, a->rq);
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

static bool
has(struct str s, char c)
{
	return s.n && memchr(s.p, c, s.n);
}

/* How an origin may read a path that it has decoded, once or twice: a backslash for a slash, perhaps
 * without the parameters of segments (";jsessionid=1"), no segment empty, "." and ".." carried out. */
static struct str
reading(struct str decoded, bool parameters, struct buf *b)
{
	b->n = 0;
	char *p = buf_room(b, decoded.n);
	size_t n = 0;
	bool in_parameter = false;
	for (size_t i = 0; i < decoded.n; i++) {
		char c = decoded.p[i] == '\\' ? '/' : decoded.p[i];
		in_parameter = c != '/' && (in_parameter || (c == ';' && !parameters));
		if (!in_parameter && !(c == '/' && n && p[n - 1] == '/'))
			p[n++] = c;
	}
	buf_added(b, n);
	if (n && b->p[0] == '/')
		uri_remove_dots(b, 0);
	return buf_str(b);
}

/* See cachekey_add_url. Without this reading, two requests of one key could have different rules, and one
 * group of origins could answer for another. */
struct str
route_key_form(struct str path, struct buf *b)
{
	b->n = 0;
	uri_add_unescaped(path, b);
	if (b->n && b->p[0] == '/')
		uri_remove_dots(b, 0);
	return buf_str(b);
}

/* A reading that matches another rule denies or passes the request. */
static const struct route *
doubted(const struct routes *r, const struct route *found, unsigned first, unsigned other)
{
	if (other == first || found->closed)
		return found;
	bool guards = r->rules[first].guards || r->rules[other].guards;
	return guards ? &r->closed : &r->rules[other].passing;
}

static struct str
decode(struct str path, struct buf *b)
{
	b->n = 0;
	uri_add_decoded(path, b);
	return buf_str(b);
}

/* Servers that decode first end a path here, NUL among them. What is behind could be the end that a pattern asks
 * for, and what is before a page of somebody's. */
static const struct route *
doubted_tail(const struct asked *a, const struct route *found, unsigned first, struct str decoded,
	     struct buf *b)
{
	static const char ends[] = "?#\n";
	size_t n = 0;
	while (n < decoded.n && !memchr(ends, decoded.p[n], sizeof ends))
		n++;
	if (n == decoded.n || !a->routes->by_end)
		return found;
	struct str before = reading((struct str){decoded.p, n}, false, b);
	return doubted(a->routes, found, first, rule_of(a, before));
}

/* The rule that all readings agree on; where they do not, nobody knows which rules the origin's
 * answer would be made by, and the request passes, or is denied. A reading that cannot differ from one
 * before is left out: each goes over the whole path, which may be as long as limits.url. */
static const struct route *
agreed(const struct asked *a, struct str path, unsigned first)
{
	const struct routes *r = a->routes;
	struct buf once = {0}, twice = {0}, b = {0}, key = {0};
	const struct route *found = &r->rules[first].route;
	struct str decoded = has(path, '%') ? decode(path, &once) : path;

	found = doubted(r, found, first, rule_of(a, reading(decoded, true, &b)));
	if (has(decoded, ';'))
		found = doubted(r, found, first, rule_of(a, reading(decoded, false, &b)));
	found = doubted_tail(a, found, first, decoded, &b);
	if (has(decoded, '%')) {
		decoded = decode(decoded, &twice);
		found = doubted(r, found, first, rule_of(a, reading(decoded, false, &b)));
		found = doubted_tail(a, found, first, decoded, &b);
	}
	found = doubted(r, found, first, rule_of(a, route_plain(route_key_form(path, &key), &b)));
	buf_fini(&once);
	buf_fini(&twice);
	buf_fini(&b);
	buf_fini(&key);
	return found;
}

/* The first rule for the path as it is written. */
static unsigned
written(const struct asked *a, struct str path)
{
	struct buf b = {0};
	unsigned first = rule_of(a, route_plain(path, &b));
	buf_fini(&b);
	return first;
}

const struct route *
route_find(const struct routes *r, const struct request *rq)
{
	struct buf host = {0};
	if (r->count == 1)
		return &r->rules[0].route;
	route_add_host(rq->authority, &host);
	struct asked a = {r, rq, buf_str(&host)};
	struct str path, query;
	str_cut(rq->path_query, '?', &path, &query);
	const struct route *found = has_readings(path) ? agreed(&a, path, written(&a, path))
						       : &r->rules[rule_of(&a, path)].route;
	buf_fini(&host);
	return found;
}
