/* cachekey.c - the canonical text of a request's identity. */
#include "proxy/http/cachekey.h"

#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"

/* A query of more is not sorted: a key of its own, never a wrong one. */
enum { PARAMS_MAX = 128 };
/* Of more, each of which is compared with each pattern, none is kept, and none is dropped. */
enum { COUNTED_MAX = 512 };

static bool
has_rules(const struct key_rules *k)
{
	return k->query == QUERY_SORT || k->keep_count || k->drop_count;
}

/* "utm_*" ends in a wildcard. */
static bool
matches(struct str pattern, struct str name)
{
	if (pattern.n && pattern.p[pattern.n - 1] == '*')
		return str_starts(name, (struct str){pattern.p, pattern.n - 1});
	return str_eq(pattern, name);
}

static bool
is_among(const struct str *patterns, unsigned n, struct str name)
{
	for (unsigned i = 0; i < n; i++)
		if (matches(patterns[i], name))
			return true;
	return false;
}

struct parameter {
	struct str text, name; /* "name=value", or a name alone */
};

static bool
counts(const struct key_rules *k, struct str name)
{
	if (k->keep_count && !is_among(k->keep_params, k->keep_count, name))
		return false;
	return !is_among(k->drop_params, k->drop_count, name);
}

static bool
comes_before(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = n ? memcmp(a.p, b.p, n) : 0;
	return d < 0 || (d == 0 && a.n < b.n);
}

/* By name; parameters of one name stay in their order, which may mean something. Nearly all queries are
 * in order already; of others each parameter finds its place by halves, however they are mixed. */
static void
sort(struct parameter *v, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		struct parameter x = v[i];
		if (!comes_before(x.name, v[i - 1].name))
			continue;
		unsigned low = 0, high = i - 1;
		while (low < high) {
			unsigned mid = (low + high) / 2;
			if (comes_before(x.name, v[mid].name))
				high = mid;
			else
				low = mid + 1;
		}
		memmove(v + low + 1, v + low, (i - low) * sizeof *v);
		v[low] = x;
	}
}

/* Drops the bytes from one place to another. */
static void
cut_out(struct buf *b, size_t from, size_t to)
{
	memmove(b->p + from, b->p + to, b->n - to);
	b->n -= to - from;
}

static void
add_text(const struct key_rules *k, struct str s, struct buf *out)
{
	if (k->normalise)
		uri_add_unescaped(s, out);
	else
		buf_add_str(out, s);
}

/* Takes the next parameter off the query, in one pass over its bytes. */
static void
next_parameter(struct str *query, struct parameter *out)
{
	const char *p = query->p, *end = p + query->n, *named = NULL;
	for (; p < end && *p != '&'; p++)
		if (*p == '=' && !named)
			named = p;
	out->text = (struct str){query->p, (size_t)(p - query->p)};
	out->name = named ? (struct str){query->p, (size_t)(named - query->p)} : out->text;
	*query = str_from(*query, out->text.n + 1);
}

static bool
next_counting(const struct key_rules *k, struct str *query, struct parameter *parameter)
{
	while (query->n) {
		next_parameter(query, parameter);
		if (parameter->text.n && counts(k, parameter->name))
			return true;
	}
	return false;
}

/* Appends "?" and the parameters of query that count; nothing when none does. */
static void
add_counting(const struct key_rules *k, struct str query, struct buf *out)
{
	struct parameter v[PARAMS_MAX], parameter;
	struct str rest = query;
	const char *separator = "?";
	bool sorts = k->query == QUERY_SORT;
	unsigned n = 0, i = 0;

	while (sorts && n < PARAMS_MAX && next_counting(k, &rest, &v[n]))
		n++;
	if (n == PARAMS_MAX && next_counting(k, &rest, &parameter))
		sorts = false;
	else
		sort(v, n);
	rest = query;
	while (sorts ? i < n : next_counting(k, &rest, &parameter)) {
		struct str next = sorts ? v[i++].text : parameter.text;
		buf_add(out, separator, 1);
		buf_add_str(out, next);
		separator = "&";
	}
}

/* Normalised first, so that names are chosen and sorted by what they are, not by how they are
 * written. The normal form is in out for that long, and what is chosen of it behind it: room
 * for both is made at once, because the views into it must hold. */
static void
add_parameters(const struct key_rules *k, struct str query, struct buf *out)
{
	size_t from = out->n;
	if (!k->normalise) {
		add_counting(k, query, out);
		return;
	}
	buf_room(out, 2 * query.n + 1);
	uri_add_unescaped(query, out);
	size_t at = out->n;
	add_counting(k, (struct str){out->p + from, at - from}, out);
	cut_out(out, from, at);
}

static bool
has_too_many(struct str query)
{
	unsigned n = 1;
	for (size_t i = 0; i < query.n; i++)
		n += query.p[i] == '&';
	return n > COUNTED_MAX;
}

static void
add_path_query(const struct key_rules *k, struct str path_query, struct buf *out)
{
	struct str path, query;
	bool has_query = str_cut(path_query, '?', &path, &query);
	size_t from = out->n;

	add_text(k, path, out);
	if (k->normalise && path.n && path.p[0] == '/')
		uri_remove_dots(out, from);
	if (!has_query || k->query == QUERY_IGNORE)
		return;
	bool too_many = has_rules(k) && has_too_many(query);
	if (has_rules(k) && !too_many) {
		add_parameters(k, query, out);
	} else if (!too_many || !k->keep_count) {
		buf_add_lit(out, "?");
		add_text(k, query, out);
	}
}

void
cachekey_add_url(struct str scheme, struct str authority, struct str path_query,
		 const struct key_rules *k, struct buf *out)
{
	/* scheme://host[:port]: an answer to http is none to https */
	buf_add_str(out, str_ieq(scheme, STR("https")) ? STR("https://") : STR("http://"));
	uri_add_authority(scheme, authority, out);
	add_path_query(k, path_query, out);
}

void
cachekey_add_prefix(struct str scheme, struct str authority, struct str path, bool normalise,
		    struct buf *out)
{
	const struct key_rules rules = {.normalise = normalise};
	const char *slash = memrchr(path.p, '/', path.n);
	size_t n = slash ? (size_t)(slash - path.p) + 1 : 0;
	cachekey_add_url(scheme, authority, (struct str){path.p, n}, &rules, out);
	add_text(&rules, str_from(path, n), out);
}

struct str
cachekey_url(struct str key)
{
	struct str url, lines;
	str_cut(key, '\n', &url, &lines);
	return url;
}

struct str
cachekey_target(struct str key)
{
	struct str url = cachekey_url(key);
	struct str rest = str_from(url, str_starts(url, STR("https://")) ? 8 : 7);
	struct str authority = str_before(rest, '/');
	return str_from(rest, str_before(authority, '?').n);
}

static bool
same_origin(const struct request *r, const struct uri *u)
{
	if (u->scheme.p && !str_ieq(u->scheme, r->scheme))
		return false;
	if (!u->authority.p)
		return !u->scheme.p; /* "http:path" is nothing to guess about */
	return u->authority.n && uri_same_authority(r->scheme, u->authority, r->authority);
}

static struct str
path_of(struct str path_query)
{
	struct str path, query;
	str_cut(path_query, '?', &path, &query);
	return path;
}

/* The path up to its last slash: what a relative reference is relative to (RFC 3986 5.2.3). */
static struct str
directory(struct str path)
{
	while (path.n && path.p[path.n - 1] != '/')
		path.n--;
	return path;
}

/* The path of a reference before dot segments are removed: base, then rest (RFC 3986 5.2.2). */
static void
resolve_path(const struct request *r, const struct uri *u, struct str *base, struct str *rest)
{
	struct str path = path_of(r->path_query);
	*base = (struct str){NULL, 0};
	*rest = u->path;
	if (u->authority.p && !u->path.n)
		*rest = STR("/");
	else if (!u->authority.p && !u->path.n)
		*rest = path;
	else if (!u->authority.p && u->path.p[0] != '/')
		*base = directory(path);
}

/* A reference to the document itself keeps its query (5.2.2). */
static struct str
resolve_query(const struct request *r, const struct uri *u)
{
	struct str path, query;
	if (u->query.p || u->path.n || u->authority.p)
		return u->query;
	return str_cut(r->path_query, '?', &path, &query) ? query : u->query;
}

bool
cachekey_resolve(const struct request *r, struct str reference, struct buf *out,
		 struct request *resolved)
{
	struct str base, rest;
	struct uri u;
	size_t at = out->n;

	if (!uri_split(reference, &u) || !same_origin(r, &u))
		return false;
	buf_add_str(out, r->scheme);
	buf_add_str(out, r->authority);
	size_t path_at = out->n;
	resolve_path(r, &u, &base, &rest);
	buf_add_str(out, base);
	buf_add_str(out, rest);
	uri_remove_dots(out, path_at);
	struct str query = resolve_query(r, &u);
	if (query.p) {
		buf_add_lit(out, "?");
		buf_add_str(out, query);
	}
	*resolved = *r;
	resolved->method = METHOD_GET;
	resolved->scheme = (struct str){out->p + at, r->scheme.n};
	resolved->authority = (struct str){out->p + at + r->scheme.n, r->authority.n};
	resolved->path_query = (struct str){out->p + path_at, out->n - path_at};
	resolved->target = resolved->path_query;
	return true;
}
