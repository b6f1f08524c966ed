/* outgoing_key.c - the primary key, and what tells a request from others among the variants. */
#include "proxy/serve/outgoing_inside.h"

#include "proxy/http/cookie.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/syntax.h"

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

/* What a trusted forwarder may override, and says. Members of Forwarded that it passed on, too: an origin
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

static bool
passes_by_cookie(const struct outgoing *o)
{
	const struct key_rules *k = o->rules;
	struct str value;
	if (!fields_has(&o->rq->fields, FIELD_COOKIE))
		return false;
	for (unsigned i = 0; i < k->pass_cookie_count; i++)
		if (str_eq(k->pass_cookies[i], STR("*")) ||
		    cookie_find(&o->rq->fields, k->pass_cookies[i], &value) != COOKIE_NONE)
			return true;
	return false;
}

/* A copy of the authority: what it is a view of may grow. */
static struct str
keep_authority(struct str primary, struct buf *copy)
{
	buf_add_str(copy, outgoing_authority(primary));
	return buf_str(copy);
}

static bool
add_cookies(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	bool sure = true;
	for (unsigned i = 0; i < k->cookie_count; i++) {
		struct str value = {NULL, 0};
		enum cookie c = cookie_find(&o->rq->fields, k->cookies[i], &value);
		buf_add_lit(key, "\n");
		buf_add_str(key, k->cookies[i]);
		if (c == COOKIE_ONE) {
			buf_add_lit(key, "=");
			buf_add_str(key, value);
		}
		sure = sure && c != COOKIE_DOUBTFUL;
	}
	return sure;
}

bool
outgoing_key(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	struct buf copy = {0};
	struct str authority = {0};
	size_t from = key->n;

	cachekey_add_url(o->scheme, o->rq->authority, o->rq->path_query, k, key);
	if (k->header_count || o->trusted) {
		authority = keep_authority(str_from(buf_str(key), from), &copy);
		for (unsigned i = 0; i < k->header_count; i++)
			add_header(o, authority, k->headers[i], key);
	}
	bool sure = add_cookies(o, key);
	if (k->mark.n)
		buf_add_str(key, k->mark);
	if (o->trusted)
		add_overrides(o, authority, key);
	buf_fini(&copy);
	return sure && !passes_by_cookie(o);
}

struct str
outgoing_authority(struct str primary)
{
	struct str rest = str_from(primary, str_starts(primary, STR("https://")) ? 8 : 7);
	return str_before(str_before(str_before(str_before(rest, '/'), '?'), '*'), '\n');
}

struct str
outgoing_target(const struct outgoing *o, struct str primary)
{
	return o->shared ? cachekey_target(primary) : o->rq->path_query;
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
