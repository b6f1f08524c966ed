/* outgoing_key.c - the primary key, and what tells a request from others among the variants. */
#include "proxy/serve/outgoing/outgoing_inside.h"

#include "proxy/http/cookie.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/syntax.h"

#include <string.h>
#include <strings.h>

/* A line of the key; one that is not there is another line than an empty one. */
static void
add_header(const struct outgoing *o, struct str authority, struct str name, struct buf *key)
{
	enum field_id id = field_id_of(name);
	buf_add_lit(key, "\n");
	buf_add_str(key, name);
	size_t named = key->n;
	buf_add_lit(key, "=");
	if (outgoing_writes_anew(id)) {
		if (!outgoing_add_written(o, id, authority, key))
			key->n = named;
		return;
	}
	if (!outgoing_add_sent(o, id, name, authority, key))
		key->n = named;
}

enum { STAR_MOST = 32 }; /* fields whose names begin with one text; a request with more passes */

static bool
comes_before(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = strncasecmp(a.p, b.p, n);
	return d < 0 || (d == 0 && a.n < b.n);
}

/* The fields whose names begin so, each once, by name. How many, or STAR_MOST + 1. */
static unsigned
find_begun(const struct outgoing *o, struct str beginning, const struct field *v[STAR_MOST])
{
	unsigned n = 0;
	for (unsigned i = 0; i < o->rq->fields.n; i++) {
		const struct field *f = &o->rq->fields.v[i];
		unsigned at = n;
		if (f->name.n < beginning.n || strncasecmp(f->name.p, beginning.p, beginning.n) ||
		    fields_is_listed(&o->listed, i) || outgoing_writes_anew(f->id))
			continue;
		while (at && comes_before(f->name, v[at - 1]->name))
			at--;
		if (at && str_ieq(v[at - 1]->name, f->name))
			continue;
		if (n == STAR_MOST)
			return STAR_MOST + 1;
		memmove(v + at + 1, v + at, (n - at) * sizeof *v);
		v[at] = f;
		n++;
	}
	return n;
}

/* One line for all of them. Values have any bytes, so that their lengths say where each ends. */
static bool
add_header_star(const struct outgoing *o, struct str authority, struct str beginning,
		struct buf *key)
{
	const struct field *v[STAR_MOST];
	unsigned n = find_begun(o, beginning, v);
	struct buf value = {0};
	buf_add_lit(key, "\n");
	buf_add_str(key, beginning);
	buf_add_lit(key, "*=");
	for (unsigned i = 0; n <= STAR_MOST && i < n; i++) {
		value.n = 0;
		if (!outgoing_add_sent(o, v[i]->id, v[i]->name, authority, &value))
			continue;
		for (size_t k = 0; k < v[i]->name.n; k++)
			buf_add(key, &(char){byte_lower(v[i]->name.p[k])}, 1);
		buf_add_lit(key, ":");
		buf_add_u64(key, value.n);
		buf_add_lit(key, ":");
		buf_add_str(key, buf_str(&value));
	}
	buf_fini(&value);
	return n <= STAR_MOST;
}

static void
add_line(struct str name, struct str value, struct buf *key)
{
	buf_add_lit(key, "\n");
	buf_add_str(key, name);
	buf_add_lit(key, "=");
	buf_add_str(key, value);
}

struct claims {
	const struct outgoing *o;
	struct str authority;
	struct buf *key;
};

static void
add_claim(void *ctx, struct str name, struct str value)
{
	const struct claims *c = ctx;
	if (name.n && str_ieq(value, str_eq(name, STR("host")) ? c->authority : c->o->scheme))
		return;
	buf_add_lit(c->key, "\nforwarded;");
	buf_add_str(c->key, name);
	buf_add_lit(c->key, "=");
	buf_add_str(c->key, value);
}

/* Adds what a trusted forwarder overrides. Members of Forwarded that it passed on, too: an origin
 * may believe the first, which a client can write. */
static void
add_overrides(const struct outgoing *o, struct str authority, struct buf *key)
{
	const struct fields *f = &o->rq->fields;
	struct str host = outgoing_forwarded_host(o, authority);
	if (!str_eq(host, authority))
		add_line(STR("x-forwarded-host"), host, key);
	forwarded_claims(f, add_claim, &(struct claims){o, authority, key});
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].id == FIELD_OTHER && !fields_is_listed(&o->listed, i) &&
		    outgoing_is_override(o, f->v[i].name) &&
		    !outgoing_says_who_asks(f->v[i].name) &&
		    outgoing_goes_out(o, FIELD_OTHER, f->v[i].name, &outgoing_asks_nothing))
			add_line(f->v[i].name, f->v[i].value, key);
}

/* A copy of the authority: what it is a view of may grow. */
static struct str
keep_authority(struct str primary, struct buf *copy)
{
	buf_add_str(copy, outgoing_authority(primary));
	return buf_str(copy);
}

static struct str
cookie_name(const struct key_rules *k, unsigned i)
{
	return i < k->cookie_count ? k->cookies[i] : k->pass_cookies[i - k->cookie_count];
}

/* Adds a line for each keyed cookie. False: the request passes, by what it has of these names, or that
 * cannot be told. */
static bool
add_found(const struct key_rules *k, unsigned first, unsigned n, const struct cookie_found *found,
	  struct buf *key)
{
	bool shared = true;
	for (unsigned i = 0; i < n; i++) {
		if (first + i >= k->cookie_count) {
			shared = shared && found[i].is == COOKIE_NONE;
			continue;
		}
		buf_add_lit(key, "\n");
		buf_add_str(key, k->cookies[first + i]);
		if (found[i].is == COOKIE_ONE) {
			buf_add_lit(key, "=");
			buf_add_str(key, found[i].value);
		}
		shared = shared && found[i].is != COOKIE_DOUBTFUL;
	}
	return shared;
}

/* A line for each text that names of cookies begin with; false: they are not read alike by everybody. */
static bool
add_cookie_stars(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	bool shared = true;
	for (unsigned i = 0; i < k->cookie_star_count; i++) {
		buf_add_lit(key, "\n");
		buf_add_str(key, k->cookie_stars[i]);
		buf_add_lit(key, "*=");
		shared = cookie_add_all(&o->rq->fields, k->cookie_stars[i], key) && shared;
	}
	return shared;
}

/* All that are looked for, in one pass over the request's cookies where they are COOKIES_MOST or
 * fewer. */
static bool
add_cookies(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	unsigned all = k->cookie_count + k->pass_cookie_count;
	bool shared = !k->pass_star_count ||
		      !cookie_begins(&o->rq->fields, k->pass_stars, k->pass_star_count);
	for (unsigned first = 0; first < all; first += COOKIES_MOST) {
		struct str names[COOKIES_MOST];
		struct cookie_found found[COOKIES_MOST] = {{.is = COOKIE_NONE}};
		unsigned n = all - first < COOKIES_MOST ? all - first : COOKIES_MOST;
		for (unsigned i = 0; i < n; i++)
			names[i] = cookie_name(k, first + i);
		if (fields_has(&o->rq->fields, FIELD_COOKIE))
			cookie_find(&o->rq->fields, names, n, found);
		shared = add_found(k, first, n, found, key) && shared;
	}
	return !k->cookie_star_count ? shared : add_cookie_stars(o, key) && shared;
}

/* Whether the origin may take the request for somebody's, and the key does not say whose. */
static bool
has_owner(const struct outgoing *o)
{
	static const struct fields nothing;
	const struct fields *f = &o->rq->fields;
	const struct key_rules *k = o->rules;
	if (fields_has(f, FIELD_AUTHORIZATION) &&
	    outgoing_goes_out(o, FIELD_AUTHORIZATION, STR("authorization"), &outgoing_asks_nothing))
		return true;
	if (fields_has(f, FIELD_COOKIE) && !outgoing_is_in_key(o, STR("cookie")) &&
	    outgoing_goes_out(o, FIELD_COOKIE, STR("cookie"), &outgoing_asks_nothing) &&
	    cookie_any_besides(f, k->keyed_cookies, k->keyed_cookie_count))
		return true;
	return outgoing_shows_credential(o, &nothing);
}

bool
outgoing_key(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	struct buf copy = {0};
	struct str authority = {0};
	size_t from = key->n;
	bool shared = true;

	cachekey_add_url(o->scheme, o->rq->authority, o->rq->path_query, k, key);
	if (k->header_count || k->header_star_count || o->trusted) {
		authority = keep_authority(str_from(buf_str(key), from), &copy);
		for (unsigned i = 0; i < k->header_count; i++)
			add_header(o, authority, k->headers[i], key);
		for (unsigned i = 0; i < k->header_star_count; i++)
			shared = add_header_star(o, authority, k->header_stars[i], key) && shared;
	}
	if (k->cookie_count + k->pass_cookie_count + k->cookie_star_count + k->pass_star_count > 0)
		shared = add_cookies(o, key) && shared;
	if (k->owners_pass && has_owner(o))
		shared = false;
	if (k->mark.n)
		buf_add_str(key, k->mark);
	if (o->trusted)
		add_overrides(o, authority, key);
	buf_fini(&copy);
	return shared;
}

struct str
outgoing_authority(struct str primary)
{
	struct str rest = str_from(primary, str_starts(primary, STR("https://")) ? 8 : 7);
	return str_before(str_before(str_before(str_before(rest, '/'), '?'), '*'), '\n');
}

struct str
outgoing_host(const struct outgoing *o, struct str primary)
{
	return o->shared ? outgoing_authority(primary) : o->rq->authority;
}

struct str
outgoing_target(const struct outgoing *o, struct str primary, struct buf *out)
{
	struct str target = o->shared ? cachekey_target(primary) : o->rq->path_query;
	size_t at = out->n;
	if (!o->path.n)
		return target;
	buf_add_str(out, o->path);
	if (!memchr(o->path.p, '?', o->path.n))
		buf_add_str(out, str_from(target, str_before(target, '?').n));
	return str_from(buf_str(out), at);
}

const struct fault *
outgoing_rewrite(struct outgoing *o, const struct rewrite *rules, struct buf *out)
{
	size_t at = out->n;
	const struct fault *fault = rules ? rewrite_path(rules, o->rq->path_query, out) : NULL;
	o->path = str_from(buf_str(out), at);
	return fault;
}

bool
outgoing_names_client(const struct outgoing *o, struct str names)
{
	struct str name;
	while (list_next(&names, &name))
		if (str_eq(name, STR("forwarded")) || str_eq(name, STR("x-forwarded-for")) ||
		    (o->headers && o->headers->per_client && outgoing_is_ruled(o, name)))
			return true;
	return false;
}

void
outgoing_variant(const struct outgoing *o, struct str primary, struct str names, struct buf *out)
{
	struct str name;
	struct buf copy = {0};
	while (list_next(&names, &name)) {
		enum field_id id = field_id_of(name);
		size_t before = out->n;
		buf_add_lit(out, "\n");
		buf_add_str(out, name);
		buf_add_lit(out, ":");
		if (!copy.n)
			keep_authority(primary, &copy);
		bool sent = outgoing_writes_anew(id)
				    ? outgoing_add_written(o, id, buf_str(&copy), out)
				    : outgoing_add_sent(o, id, name, buf_str(&copy), out);
		if (!sent)
			out->n = before;
	}
	buf_fini(&copy);
}
