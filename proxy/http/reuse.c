/* reuse.c - RFC 9111 section 4: what a stored response may do for a request, now. */
#include "proxy/http/date.h"
#include "proxy/http/policy.h"
#include "proxy/http/precond.h"
#include "proxy/http/syntax.h"

enum lookup
policy_lookup(const struct request *r)
{
	bool has_body = r->framing == FRAMING_CHUNKED ||
			(r->framing == FRAMING_LENGTH && r->content_length > 0);
	if (r->method != METHOD_GET && r->method != METHOD_HEAD)
		return LOOKUP_NO;
	/* The body of a GET is in no key: what an origin makes of it must not be everybody's. */
	if (has_body)
		return LOOKUP_NO;
	/* 4.3.2: not applicable to a cache; the origin decides. */
	if (fields_has(&r->fields, FIELD_IF_MATCH) ||
	    fields_has(&r->fields, FIELD_IF_UNMODIFIED_SINCE))
		return LOOKUP_NO;
	return LOOKUP_YES;
}

bool
policy_range_is_foreign(const struct request *r)
{
	struct str range = fields_get(&r->fields, FIELD_RANGE), unit = STR("bytes=");
	return fields_has(&r->fields, FIELD_RANGE) &&
	       (range.n < unit.n || !str_ieq((struct str){range.p, unit.n}, unit));
}

bool
policy_sets_session(const struct fields *answer, const struct policy_settings *s)
{
	return fields_has(answer, FIELD_SET_COOKIE) && s->set_cookie == SET_COOKIE_NEVER;
}

bool
policy_has_credentials(const struct request *r)
{
	return fields_has(&r->fields, FIELD_AUTHORIZATION) || fields_has(&r->fields, FIELD_COOKIE);
}

bool
policy_asks_for_less(const struct request *r)
{
	return fields_has(&r->fields, FIELD_RANGE) || fields_has(&r->fields, FIELD_IF_NONE_MATCH) ||
	       fields_has(&r->fields, FIELD_IF_MODIFIED_SINCE);
}

static int64_t
age_at(const struct terms *t, int64_t now)
{
	int64_t resident_time = now > t->response_time ? now - t->response_time : 0; /* 4.2.3 */
	return t->initial_age + resident_time;
}

/* An answer of an hour and more from now came while the clock was wrong. Nobody knows its age, and it
 * would be fresh until that hour comes again: it is as old as it may be. */
int64_t
terms_age(const struct terms *t, int64_t now)
{
	enum { STEP_S = 3600 };
	int64_t age = age_at(t, now);
	bool known = now >= t->response_time - STEP_S;
	return known || age > t->lifetime ? age : t->lifetime;
}

struct terms
terms_for_waiting(const struct terms *t, int64_t delay_s)
{
	struct terms own = *t;
	own.initial_age = t->initial_age > delay_s ? t->initial_age - delay_s : 0;
	return own;
}

void
terms_outdate(struct terms *t, int64_t when)
{
	int64_t age = age_at(t, when);
	if (t->lifetime > age)
		t->lifetime = age;
	t->initial_age = age; /* it never is younger again, wherever the clock goes */
	t->response_time = when;
}

void
terms_contradict(struct terms *t, int64_t when)
{
	terms_outdate(t, when);
	t->stale_while_revalidate = t->stale_if_error = 0;
	t->flags |= TERMS_CONTRADICTED;
}

static bool
may_be_stale(const struct terms *t)
{
	return !(t->flags &
		 (TERMS_NO_CACHE | TERMS_MUST_REVALIDATE | TERMS_CONTRADICTED)); /* 4.2.4 */
}

/* 5.2.1.1, 5.2.1.3: what the client demands of a response that would do otherwise. Zero means "not
 * without asking", also within the second of its arrival. An immutable response is not asked about
 * because of a reload (RFC 8246 2). */
static bool
client_wants_fresher(const struct terms *t, const struct request_cc *cc, int64_t age, int64_t ttl)
{
	bool immutable = (t->flags & TERMS_IMMUTABLE) && ttl > 0;
	if (cc->max_age.known && !immutable && (age > cc->max_age.n || cc->max_age.n == 0))
		return true;
	return cc->min_fresh.known && ttl < cc->min_fresh.n;
}

static bool
max_stale_allows(const struct request_cc *cc, int64_t stale_for)
{
	return cc->max_stale_any || (cc->max_stale.known && stale_for <= cc->max_stale.n);
}

void
policy_advise(enum client_directives d, struct request_cc *cc)
{
	if (d == CLIENT_OBEY)
		return;
	cc->may_hit = true; /* 5.2.1.5 forbids to keep the answer, not to use what is kept */
	cc->reload =
		d == CLIENT_VALIDATE && (cc->no_cache || cc->max_age.known || cc->min_fresh.known);
	cc->no_guess = cc->no_cache || (cc->max_age.known && cc->max_age.n == 0);
	cc->no_cache = false;
	cc->max_age = cc->min_fresh = (struct secs){0};
}

static enum reuse
decide(const struct terms *t, const struct request_cc *cc, const struct reuse_verdict *v,
       const char **fwd)
{
	*fwd = "request"; /* RFC 9211 2.2 */
	bool is_fresh = v->ttl > 0 && !(t->flags & TERMS_NO_CACHE);
	if (cc->no_store && !(cc->may_hit && is_fresh)) /* 5.2.1.5 */
		return REUSE_NEVER;
	if (cc->no_cache || cc->reload) /* 5.2.1.4 */
		return REUSE_VALIDATE;
	if (!(t->flags & TERMS_NO_CACHE) && (v->ttl > 0 || may_be_stale(t)) &&
	    client_wants_fresher(t, cc, v->age, v->ttl))
		return REUSE_VALIDATE;
	*fwd = "stale";
	if (t->flags & (TERMS_NO_CACHE | TERMS_CONTRADICTED)) /* 5.2.2.4 */
		return REUSE_VALIDATE;
	if (v->ttl > 0)
		return REUSE_FRESH;
	if (may_be_stale(t) && max_stale_allows(cc, -v->ttl)) /* 5.2.1.2 */
		return REUSE_STALE;
	if (may_be_stale(t) && t->stale_while_revalidate && /* RFC 5861 3 */
	    -v->ttl <= t->stale_while_revalidate)
		return REUSE_STALE_REFRESH;
	return REUSE_VALIDATE;
}

/* RFC 5861 4. A client that said no-cache wants no answer from here at all. */
static bool
stale_on_error(const struct terms *t, const struct request_cc *cc, int64_t ttl)
{
	if ((t->flags & (TERMS_NO_CACHE | TERMS_CONTRADICTED)) || cc->no_cache || cc->no_store)
		return false;
	if (ttl > 0)
		return true;
	int64_t window = t->stale_if_error;
	if (cc->stale_if_error.known && cc->stale_if_error.n > window)
		window = cc->stale_if_error.n;
	return may_be_stale(t) && window > 0 && -ttl <= window;
}

struct reuse_verdict
policy_reuse(const struct terms *t, const struct request *r, const struct request_cc *cc,
	     int64_t now)
{
	struct reuse_verdict v = {.age = terms_age(t, now)};
	(void)r; /* everything it says on this is in cc */
	v.ttl = t->lifetime - v.age;
	v.reuse = decide(t, cc, &v, &v.fwd);
	if (v.reuse <= REUSE_STALE_REFRESH)
		v.fwd = NULL;
	v.stale_on_error = stale_on_error(t, cc, v.ttl);
	return v;
}

bool
policy_is_trouble(int status)
{
	return status == 500 || status == 502 || status == 503 || status == 504;
}

bool
policy_invalidates(enum method m, int status)
{
	return !method_is_safe(m) && status >= 200 && status < 400;
}

bool
policy_is_guess_refused(const struct terms *t, const struct request_cc *cc, int64_t now)
{
	bool said = !(t->flags & TERMS_HEURISTIC) || (t->flags & TERMS_IMMUTABLE);
	return cc->no_guess && !said && now != t->response_time;
}

static bool
same_last_modified(const struct fields *a, const struct fields *b, int64_t now)
{
	int64_t ta = 0, tb = 0;
	return date_parse(fields_get(a, FIELD_LAST_MODIFIED), now, &ta) &&
	       date_parse(fields_get(b, FIELD_LAST_MODIFIED), now, &tb) && ta == tb;
}

/* 4.3.4, for the one stored response whose validators we sent. Weak comparison will do for tags:
 * what compresses on the way weakens them, and the origin has just said that it is the same. */
bool
policy_304_is_of(const struct fields *stored, const struct fields *not_modified, int64_t now)
{
	struct str ours = fields_get(stored, FIELD_ETAG),
		   theirs = fields_get(not_modified, FIELD_ETAG);
	if (ours.n && theirs.n)
		return etag_weak_match(ours, theirs);
	if (fields_has(stored, FIELD_LAST_MODIFIED) &&
	    fields_has(not_modified, FIELD_LAST_MODIFIED))
		return same_last_modified(stored, not_modified, now);
	return !theirs.n; /* a 304 need not repeat Last-Modified (RFC 9110 15.4.5) */
}

static bool
same_if_present(const struct fields *a, const struct fields *b, enum field_id id)
{
	return !fields_has(b, id) || str_eq(fields_get(a, id), fields_get(b, id));
}

/* 4.3.5 */
enum head_says
policy_head(const struct fields *stored, uint64_t stored_body_bytes, const struct fields *head)
{
	struct str length = fields_get(head, FIELD_CONTENT_LENGTH);
	int64_t n = 0;
	if (length.p && (!digits_parse(length, &n) || (uint64_t)n != stored_body_bytes))
		return HEAD_SAYS_CHANGED;
	return same_if_present(stored, head, FIELD_ETAG) &&
			       same_if_present(stored, head, FIELD_LAST_MODIFIED)
		       ? HEAD_SAYS_SAME
		       : HEAD_SAYS_CHANGED;
}
