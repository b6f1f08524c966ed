/* screen.c - an entry to a key, by the proxy's rules. */
#include "proxy/simulate/screen.h"

#include "proxy/base/mem.h"
#include "proxy/http/cachekey.h"
#include "proxy/serve/routes/route.h"
#include "proxy/simulate/purges.h"
#include "proxy/simulate/told.h"
#include "proxy/simulate/value.h"

#include <stdlib.h>

/* A larger size is no size. */
static const uint64_t LARGEST = UINT64_C(1) << 40;

struct screen {
	struct screen_options o;
	struct routes *routes;
	struct purges *purges;
	struct buf key, target;
	struct screen_facts n;
};

static const struct {
	const char *word, *why;
} rows[SCREENING_COUNT] = {
#define X(id, word, why) [SCREENING_##id] = {word, why},
	SCREENINGS(X)
#undef X
};

const char *
screen_word(enum screening s)
{
	return rows[s].word;
}

const char *
screen_why(enum screening s)
{
	return rows[s].why;
}

struct screen *
screen_create(const struct screen_options *o)
{
	struct screen *s = NEW(struct screen);
	s->o = *o;
	s->routes = routes_create(o->config);
	s->purges = purges_create();
	return s;
}

void
screen_destroy(struct screen **ps)
{
	struct screen *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	routes_destroy(&s->routes);
	purges_destroy(&s->purges);
	buf_fini(&s->key);
	buf_fini(&s->target);
	free(s);
}

/* "*" is anything. Only the last star is gone back to: the time is at most the product of both. */
static bool
matches(const char *pattern, struct str s)
{
	const char *star = NULL;
	size_t i = 0, back = 0;
	while (i < s.n) {
		if (*pattern == '*') {
			star = ++pattern;
			back = i;
		} else if (*pattern && *pattern == s.p[i]) { /* a log may hold a NUL */
			pattern++;
			i++;
		} else if (star) {
			pattern = star;
			i = ++back;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == 0;
}

static bool
any_matches(const char *const *patterns, unsigned n, struct str s)
{
	for (unsigned i = 0; i < n; i++)
		if (matches(patterns[i], s))
			return true;
	return false;
}

/* Scheme, site and path of what was asked for; a view of the entry or of s->target. False: it is no
 * URL of ours. */
static bool
read_url(struct screen *s, const struct entry *e, struct request *rq)
{
	struct str t = e->target, scheme = e->scheme, host = e->host;
	const char *colon = t.n && t.p[0] != '/' ? memchr(t.p, ':', t.n) : NULL;
	if (colon && t.n - (size_t)(colon - t.p) > 3 && memcmp(colon, "://", 3) == 0) {
		scheme = (struct str){t.p, (size_t)(colon - t.p)};
		t = str_from(t, scheme.n + 3);
		size_t n = 0;
		while (n < t.n && t.p[n] != '/' && t.p[n] != '?')
			n++;
		host = (struct str){t.p, n};
		t = str_from(t, n);
	}
	bool web = !scheme.n || str_ieq(scheme, STR("http")) || str_ieq(scheme, STR("https"));
	s->target.n = 0;
	if (t.n == 0 || t.p[0] != '/')
		buf_add_lit(&s->target, "/");
	buf_add_str(&s->target, t);
	if (e->query.n && !memchr(t.p ? t.p : "", '?', t.n)) {
		if (e->query.p[0] != '?')
			buf_add_lit(&s->target, "?");
		buf_add_str(&s->target, e->query);
	}
	rq->scheme = str_ieq(scheme, STR("https")) ? STR("https") : STR("http");
	rq->authority = host.n ? host : STR("log.invalid");
	rq->path_query = rq->target = buf_str(&s->target);
	rq->method = METHOD_GET;
	return web && !(t.n == 1 && t.p[0] == '*');
}

static bool
ends_with(struct str s, const char *ending)
{
	size_t n = strlen(ending);
	return s.n >= n && strncasecmp(s.p + s.n - n, ending, n) == 0;
}

static uint32_t
lifetime_of(const struct screen *s, const struct entry *e, struct str target)
{
	struct str path = str_before(target, '?');
	if (e->has_lifetime)
		return e->lifetime_s < UINT32_MAX ? (uint32_t)e->lifetime_s : UINT32_MAX;
	uint32_t otherwise = UINT32_MAX;
	for (unsigned i = 0; i < s->o.lifetimes_n; i++) {
		const struct screen_lifetime *l = &s->o.lifetimes[i];
		if (!*l->ending)
			otherwise = l->fresh_s;
		else if (ends_with(path, l->ending))
			return l->fresh_s;
	}
	return otherwise;
}

static void
take_packed(struct screen *s, const struct entry *e, const struct route *route, struct str path,
	    struct catalogue_news *n)
{
	struct packed_told t = packed_tell(&s->o.packed, route, e, path);
	s->n.typed += t.from == PACKED_TYPED;
	s->n.ended += t.from == PACKED_ENDED;
	s->n.says_coding += t.says_coding;
	n->has_packed = t.from != PACKED_UNKNOWN;
	n->packed = t.thousandths;
}

/* n: NULL, for a URL that is purged. */
static enum screening
find_key(struct screen *s, const struct entry *e, struct visit *v, struct catalogue_news *n)
{
	struct request rq = {.method = METHOD_GET};
	if (e->has_id && !e->target.n) {
		v->key = twice_key_hash_of(&s->o.seed, &e->id, sizeof e->id);
		v->key_bytes = sizeof "https://trace.invalid/00000000";
		v->fresh_s = lifetime_of(s, e, STR(""));
		return SCREENING_TAKEN;
	}
	if (!read_url(s, e, &rq))
		return SCREENING_URL;
	if (any_matches(s->o.skip, s->o.skip_n, rq.path_query) ||
	    (s->o.only_n && !any_matches(s->o.only, s->o.only_n, rq.path_query)))
		return SCREENING_PATTERN;
	const struct route *route = route_find(s->routes, &rq);
	if (route->pass || route->admit == RULE_NEVER)
		return SCREENING_ROUTE;
	s->key.n = 0;
	cachekey_add_url(rq.scheme, rq.authority, rq.path_query, &route->key, &s->key);
	v->key = twice_key_hash_of(&s->o.seed, s->key.p, s->key.n);
	if (n)
		n->purged = purges_find(s->purges, v->key.hi, buf_str(&s->key));
	if (e->variant.n) {
		buf_add_lit(&s->key, "\n");
		buf_add_str(&s->key, e->variant);
		v->key = twice_key_hash_of(&s->o.seed, s->key.p, s->key.n);
	}
	if (n)
		take_packed(s, e, route, str_before(rq.path_query, '?'), n);
	v->key_bytes = s->key.n < UINT16_MAX ? (uint16_t)s->key.n : UINT16_MAX;
	v->fresh_s = lifetime_of(s, e, rq.path_query);
	s->n.with_query += memchr(rq.path_query.p, '?', rq.path_query.n) != NULL;
	s->n.with_host += rq.authority.p[0] != 'l' || !str_eq(rq.authority, STR("log.invalid"));
	return SCREENING_TAKEN;
}

/* Traces have words of their own for it. */
static bool
is_get(struct str m)
{
	return m.n == 0 || str_ieq(m, STR("GET")) || str_ieq(m, STR("gets")) ||
	       str_ieq(m, STR("read"));
}

static bool
is_kept_status(int status)
{
	return status == ENTRY_NO_STATUS || status == 200 || status == 203 || status == 206 ||
	       status == 304;
}

/* Times before 1970 and beyond 2106 are the nearest that 32 bits hold; the last one is never. */
static uint32_t
second_of(int64_t us)
{
	int64_t s = us / 1000000;
	return s < 0 ? 0 : s < UINT32_MAX ? (uint32_t)s : UINT32_MAX - 1;
}

/* ---- purges -------------------------------------------------------------------------------- */

/* All URLs that begin like this one. */
static void
purge_prefix(struct screen *s, const struct entry *e, bool soft)
{
	struct request rq = {.method = METHOD_GET};
	if (!read_url(s, e, &rq))
		return;
	if (rq.path_query.n && rq.path_query.p[rq.path_query.n - 1] == '*')
		rq.path_query.n--;
	s->key.n = 0;
	cachekey_add_prefix(rq.scheme, rq.authority, rq.path_query, true, &s->key);
	purges_add_prefix(s->purges, buf_str(&s->key), soft);
}

static void
take_purge(struct screen *s, const struct entry *e)
{
	static const struct str softly = STR_INIT("soft-");
	bool soft = str_starts(e->purge, softly);
	struct str kind = str_from(e->purge, soft ? softly.n : 0);
	struct visit v = {0};
	if (str_eq(kind, STR("url")) && find_key(s, e, &v, NULL) == SCREENING_TAKEN)
		purges_add_url(s->purges, v.key.hi, soft);
	else if (str_eq(kind, STR("prefix")))
		purge_prefix(s, e, soft);
	else if (str_eq(kind, STR("host")))
		purges_add_host(s->purges, e->target, soft);
	else if (str_eq(kind, STR("all")))
		purges_add_prefix(s->purges, STR(""), soft);
	else
		s->n.tag_purges += str_eq(kind, STR("tag"));
}

/* ---- what the log of a cache says of itself -------------------------------------------------- */

/* RFC 9111 4.4: a method that changes things invalidates the URL, unless it failed. */
static bool
invalidates(const struct entry *e)
{
	bool safe = is_get(e->method) || str_ieq(e->method, STR("HEAD")) ||
		    str_ieq(e->method, STR("OPTIONS")) || str_ieq(e->method, STR("TRACE"));
	return !safe && e->status >= 200 && e->status < 400;
}

static enum visit_kind
kind_of_status(int status)
{
	return status == 206 ? VISIT_PART : status == 304 ? VISIT_CHECKED : VISIT_WHOLE;
}

static enum screening
judge_told(struct screen *s, const struct entry *e, const struct told *t, struct visit *v,
	   struct catalogue_news *n)
{
	enum screening r = find_key(s, e, v, n);
	if (r != SCREENING_TAKEN)
		return r;
	bool head = str_ieq(e->method, STR("HEAD"));
	bool passed = t->stored_not || (!head && !is_get(e->method)) ||
		      (!t->hit && !e->has_lifetime && !is_kept_status(e->status));
	if (invalidates(e))
		purges_add_url(s->purges, v->key.hi, false);
	v->kind = passed ? VISIT_PASSED : head ? VISIT_HEAD : kind_of_status(e->status);
	v->joined = t->joined;
	v->fetched = t->asked && !t->joined;
	n->validated = t->validated;
	n->is_copy = t->hit;
	n->has_life = e->has_lifetime;
	s->n.told++;
	return r;
}

static enum screening
judge(struct screen *s, const struct entry *e, struct visit *v, struct catalogue_news *n)
{
	struct told t = told_read(e->cache);
	if (e->purge.n && e->status >= 200 && e->status < 300) {
		take_purge(s, e);
		return SCREENING_PURGE;
	}
	if (t.is_known)
		return judge_told(s, e, &t, v, n);
	v->kind = kind_of_status(e->status);

	if (!is_get(e->method))
		return SCREENING_METHOD;
	if (!is_kept_status(e->status))
		return SCREENING_STATUS;
	return find_key(s, e, v, n);
}

/* A part's place, and the whole's size, or how much of it there is at least. */
static void
take_range(struct screen *s, const struct entry *e, struct visit *v, struct catalogue_news *n)
{
	uint64_t total;
	if (v->kind != VISIT_PART || !value_range(e->range, &v->at, &total) || v->at > LARGEST ||
	    total > LARGEST)
		return;
	n->has_at = true;
	n->whole_size = n->whole_size || total > 0;
	n->bytes = total ? total : v->at + n->bytes;
	n->has_bytes = n->has_bytes || total > 0;
	s->n.placed++;
}

enum screening
screen_entry(struct screen *s, const struct entry *e, struct visit *v, struct catalogue_news *n)
{
	*v = (struct visit){.now_s = second_of(e->time_us)};
	*n = (struct catalogue_news){0};
	enum screening r = judge(s, e, v, n);
	s->n.counts[r]++;
	if (r != SCREENING_TAKEN)
		return r;
	bool has_bytes = e->has_bytes && e->bytes <= LARGEST;
	v->sent = has_bytes && v->kind != VISIT_CHECKED ? e->bytes : 0;
	if (v->kind >= VISIT_HEAD)
		return r;
	bool whole_size = e->whole_size && v->kind != VISIT_PART; /* a 206 tells its part's */
	n->bytes = has_bytes ? e->bytes : 0;
	n->has_bytes = has_bytes;
	n->whole_size = whole_size;
	take_range(s, e, v, n);
	if (v->kind == VISIT_PART)
		v->client = (uint32_t)twice_key_hash_of(&s->o.seed, e->client.p ? e->client.p : "",
							e->client.n)
				    .lo;
	s->n.sent_sizes += has_bytes && !whole_size;
	s->n.no_sizes += !has_bytes;
	s->n.parts += v->kind == VISIT_PART;
	s->n.checked += v->kind == VISIT_CHECKED;
	s->n.fractions += e->time_us % 1000000 != 0;
	s->n.with_lifetime += e->has_lifetime;
	s->n.no_status += e->status == ENTRY_NO_STATUS;
	return r;
}

void
screen_facts(const struct screen *s, struct screen_facts *out)
{
	*out = s->n;
}
