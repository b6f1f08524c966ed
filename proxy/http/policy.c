/* policy.c - RFC 9111 section 3: may this answer be kept, and on which terms? Section 4.2's numbers
 * come from freshness.c; what the terms allow later is reuse.c.
 */
#include "proxy/http/policy.h"

#include "proxy/http/date.h"
#include "proxy/http/freshness.h"
#include "proxy/http/syntax.h"

static const bool storables[] = {
#define STORABLE(id, yes, word, section) [STORABLE_##id] = (yes),
#include "proxy/http/storables.h"
#undef STORABLE
};

bool
storable_is_yes(enum storable s)
{
	return storables[s];
}

struct status_facts {
	bool understood, guess, once, client;
};

static struct status_facts
status_facts(int status)
{
	switch (status) {
#define STATUS(status, guess, once, client) \
	case status:                        \
		return (struct status_facts){true, guess, once, client};
#include "proxy/http/statuses.h"
#undef STATUS
	default:
		return (struct status_facts){0};
	}
}

bool
policy_is_word_on_page(int status)
{
	return status >= 200 && status < 500 && status != 206 && !status_facts(status).once;
}

/* All that the questions below ask of one response. */
struct response_facts {
	const struct storing_facts *given;
	const struct fields *fields;
	struct response_cc cc;
	bool events;
	bool targeted; /* RFC 9213: cc is not from Cache-Control, and Expires does not count */
	struct status_facts status;
	struct freshness_facts fresh;
	struct lifetime lifetime;
	int64_t initial_age;
};

/* Two of what there may be one of are none. */
static struct secs
date_of(const struct fields *f, enum field_id id, int64_t now)
{
	int64_t t = 0;
	bool ok = fields_count(f, id) == 1 && date_parse(fields_get(f, id), now, &t);
	return (struct secs){ok, ok ? t : 0};
}

/* Of several Expires the earliest counts, nonsense is the past (5.3). */
static struct secs
expires(const struct fields *f, int64_t now)
{
	struct secs first = {0};
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_EXPIRES, &at)) != NULL) {
		int64_t t = 0;
		if (!date_parse(line->value, now, &t))
			t = INT64_MIN / 2;
		if (!first.known || t < first.n)
			first = (struct secs)SECS(t);
	}
	return first;
}

/* Nothing is guessed against an answer that HTTP/1.0 would have called uncacheable. */
static bool
pragma_no_cache(const struct fields *f)
{
	return !fields_has(f, FIELD_CACHE_CONTROL) &&
	       fields_list_has(f, FIELD_PRAGMA, STR("no-cache"));
}

/* Made for a request with a cookie, perhaps for its owner: shared only where the origin says in
 * words how long, or that it is public. */
static bool
is_for_cookie(const struct response_facts *a)
{
	return fields_has(&a->given->request->fields, FIELD_COOKIE) && !a->cc.public_ &&
	       !a->given->updated;
}

/* The same of other fields than Cookie. */
static bool
is_for_credential(const struct response_facts *a)
{
	return a->given->credential && !a->cc.public_ && !a->given->updated;
}

bool
policy_is_event_stream(const struct fields *answer)
{
	struct str type = str_before(fields_get(answer, FIELD_CONTENT_TYPE), ';');
	return str_ieq(str_trim(type), STR("text/event-stream"));
}

/* Two Content-Types are none: clients would differ on which of them counts. */
static struct secs
ttl_of_type(const struct policy_settings *s, const struct fields *answer)
{
	struct str type = str_trim(str_before(fields_get(answer, FIELD_CONTENT_TYPE), ';'));
	struct str kind = str_before(type, '/');
	struct secs found = {0};
	bool one = fields_count(answer, FIELD_CONTENT_TYPE) == 1;
	for (unsigned i = 0; one && i < s->ttl_type_count; i++) {
		const struct policy_type_ttl *by = &s->ttl_type[i];
		if (str_ieq(by->type, type))
			return (struct secs)SECS(by->s);
		bool is_kind = by->type.p[by->type.n - 1] == '*' && kind.n < type.n &&
			       str_ieq(str_before(by->type, '/'), kind);
		if (is_kind && !found.known)
			found = (struct secs)SECS(by->s);
	}
	return found;
}

struct secs
policy_ttl(const struct policy_settings *s, const struct response *answer)
{
	int status = answer->status;
	for (unsigned i = 0; i < s->ttl_status_count; i++)
		if (s->ttl_status[i].status == status)
			return (struct secs)SECS(s->ttl_status[i].s);
	if ((!s->ttl.known && !s->ttl_type_count) || status >= 400 || !status_facts(status).guess)
		return (struct secs){0};
	struct secs by_type = ttl_of_type(s, &answer->fields);
	return by_type.known ? by_type : s->ttl;
}

/* The directives that the settings ignore are as if they had not come. */
static void
ignore(struct response_facts *a, unsigned what)
{
	struct response_cc came = a->cc;
	if (what & IGNORE_CACHE_CONTROL)
		a->cc = (struct response_cc){.no_store = came.no_store,
					     .private_ = came.private_,
					     .private_fields = came.private_fields,
					     .must_understand = came.must_understand};
	if (what & IGNORE_PRIVATE) {
		a->cc.private_ = false;
		a->cc.private_fields = (struct str){NULL, 0};
	}
	if (what & IGNORE_NO_STORE)
		a->cc.no_store = false;
}

static void
read_answer(const struct storing_facts *given, struct response_facts *a)
{
	const struct policy_settings *set = given->settings;
	const struct fields *f = &given->response->fields;
	int64_t now = given->response_time;

	*a = (struct response_facts){.given = given, .fields = f};
	a->targeted = response_cc_select(f, set->target, &a->cc);
	a->status = status_facts(given->response->status);
	if (set->ignore)
		ignore(a, set->ignore);
	a->events = policy_is_event_stream(f);
	bool may_guess = (a->status.guess || a->cc.public_) && !pragma_no_cache(f) && !a->events &&
			 !is_for_cookie(a) && !is_for_credential(a); /* 4.2.2 */
	a->fresh = (struct freshness_facts){
		.s_maxage = a->cc.s_maxage,
		.max_age = a->cc.max_age,
		.expires = a->targeted || (set->ignore & IGNORE_EXPIRES) ? (struct secs){0}
									 : expires(f, now),
		.date = date_of(f, FIELD_DATE, now),
		.last_modified = date_of(f, FIELD_LAST_MODIFIED, now),
		.age = age_parse(f),
		.request_time = given->request_time,
		.response_time = given->response_time,
		.may_guess = may_guess && policy_guesses(set),
		.fraction = set->heuristic_fraction,
		.guess_max = set->heuristic_max_s,
		.otherwise = may_guess ? set->default_ttl_s : 0,
	};
	a->lifetime = freshness_lifetime(&a->fresh);
	struct secs ttl = policy_ttl(set, given->response);
	if (ttl.known && !a->events && !fields_has(&given->request->fields, FIELD_AUTHORIZATION))
		a->lifetime = (struct lifetime){ttl.n, BY_SETTING};
	a->initial_age = freshness_initial_age(&a->fresh);
}

static bool
is_explicit(const struct response_facts *a)
{
	return a->lifetime.rule <= BY_EXPIRES;
}

/* 5.2.2.2, 5.2.2.8, 5.2.2.10: what forbids stale answers. */
static bool
must_revalidate(const struct response_cc *cc)
{
	return cc->must_revalidate || cc->proxy_revalidate || cc->s_maxage.known;
}

static bool
has_validator(const struct response_facts *a)
{
	return fields_get(a->fields, FIELD_ETAG).n > 0 || a->fresh.last_modified.known;
}

static bool
vary_is_star(const struct fields *f)
{
	return fields_list_has(f, FIELD_VARY, STR("*"));
}

/* no-cache="set-cookie": the rest is for everybody (5.2.2.4, 5.2.2.7). */
static bool
withholds_cookie(const struct response_cc *cc)
{
	return list_has(cc->no_cache_fields, STR("set-cookie")) ||
	       list_has(cc->private_fields, STR("set-cookie"));
}

/* The conditions of section 3 in its order.
 * flat: each line is one way to say no. */
static enum storable
may_store(const struct response_facts *a, const struct request_cc *asked)
{
	const struct response_cc *cc = &a->cc;
	int status = a->given->response->status;

	/* RFC 9110 9.3.3 lets an answer to POST stand for GET of the same URI. Its body is in no
	 * key, and one client's must not become what others get. */
	if (a->given->request->method != METHOD_GET)
		return STORABLE_METHOD;
	if (status < 200 || a->status.once)
		return STORABLE_STATUS;
	if (a->status.client && !a->given->settings->client_errors)
		return STORABLE_CLIENT_ERROR;
	if (cc->must_understand && !a->status.understood) /* 5.2.2.3 */
		return STORABLE_STATUS;
	if (cc->no_store && !cc->must_understand) /* 5.2.2.5; 5.2.2.3 on both together */
		return STORABLE_NO_STORE;
	if (asked->no_store)
		return STORABLE_REQUEST_NO_STORE;
	if (cc->private_)
		return STORABLE_PRIVATE;
	if (fields_has(&a->given->request->fields, FIELD_AUTHORIZATION) && !cc->public_ &&
	    !cc->must_revalidate && !cc->s_maxage.known) /* 3.5 */
		return STORABLE_AUTHORIZATION;
	if (!is_explicit(a) && !cc->public_ &&
	    (!a->status.guess || (is_for_cookie(a) && !cc->no_cache)))
		return STORABLE_NO_FRESHNESS;
	if (!is_explicit(a) && a->events)
		return STORABLE_NO_FRESHNESS;
	if (!is_explicit(a) && is_for_credential(a) && !cc->no_cache)
		return STORABLE_CREDENTIAL;
	if (vary_is_star(a->fields) && !(a->given->settings->ignore & IGNORE_VARY))
		return STORABLE_VARY_STAR;
	bool lasts = is_explicit(a) || cc->public_;
	if (fields_has(a->fields, FIELD_SET_COOKIE) && !withholds_cookie(cc) &&
	    (!lasts || a->given->settings->set_cookie == SET_COOKIE_NEVER))
		return STORABLE_SET_COOKIE;
	return STORABLE_YES;
}

/* An exchange may take longer than its answer is fresh, by one client's doing too: that is not the
 * answer's own word. */
static int64_t
age_before_delay(const struct response_facts *a)
{
	int64_t delay = a->fresh.response_time - a->fresh.request_time;
	int64_t age = a->initial_age - (delay > 0 ? delay : 0);
	return age > 0 ? age : 0;
}

/* Whether anybody could ever get it: fresh, validated, or stale as the origin allows in so many
 * words. (The default stale-if-error is no reason to fill a disk with answers of max-age=0.) */
static bool
is_of_use(const struct response_facts *a)
{
	if (has_validator(a))
		return true;
	if (a->cc.no_cache)
		return false;
	if (a->lifetime.s > age_before_delay(a)) /* those at least who waited for it */
		return true;
	return !must_revalidate(&a->cc) &&
	       (a->cc.stale_while_revalidate.n > 0 || a->cc.stale_if_error.n > 0);
}

static int32_t
stale_seconds(const struct response_facts *a, struct secs said, int64_t otherwise)
{
	if (must_revalidate(&a->cc) || a->cc.no_cache) /* 4.2.4 */
		return 0;
	int64_t s = said.known ? said.n : otherwise;
	return (int32_t)(s < 0 ? 0 : s > INT32_MAX ? INT32_MAX : s);
}

static void
fill_terms(const struct response_facts *a, struct terms *t)
{
	const struct policy_settings *set = a->given->settings;
	const struct response_cc *cc = &a->cc;
	/* An error is no better than the error it would stand in for, unless the origin says so. */
	int64_t on_error = a->given->response->status < 500 ? set->default_stale_if_error_s : 0;

	*t = (struct terms){
		.response_time = a->given->response_time,
		.initial_age = a->initial_age,
		.lifetime = a->lifetime.s,
		.date = a->fresh.date.known ? a->fresh.date.n : a->given->response_time,
		.last_modified = a->fresh.last_modified.known ? a->fresh.last_modified.n : -1,
		.stale_while_revalidate = stale_seconds(a, cc->stale_while_revalidate,
							set->default_stale_while_revalidate_s),
		.stale_if_error = stale_seconds(a, cc->stale_if_error, on_error),
		.status = (uint16_t)a->given->response->status,
	};
	t->flags = (cc->no_cache ? TERMS_NO_CACHE : 0u) |
		   (must_revalidate(cc) ? TERMS_MUST_REVALIDATE : 0u) |
		   (a->lifetime.rule >= BY_GUESS ? TERMS_HEURISTIC : 0u) |
		   (cc->immutable ? TERMS_IMMUTABLE : 0u) |
		   (fields_has(a->fields, FIELD_VARY) && !(set->ignore & IGNORE_VARY) ? TERMS_VARY
										      : 0u) |
		   (set->set_cookie == SET_COOKIE_STRIP && fields_has(a->fields, FIELD_SET_COOKIE)
			    ? TERMS_STRIPPED
			    : 0u);
}

enum storable
policy_storable(const struct storing_facts *f, struct terms *terms)
{
	struct response_facts a;
	struct request_cc asked;

	read_answer(f, &a);
	request_cc_parse(&f->request->fields, &asked);
	enum storable verdict = may_store(&a, &asked);
	if (!storable_is_yes(verdict))
		return verdict;
	if (!is_of_use(&a))
		return STORABLE_NO_USE;
	if (f->response->status == 206) /* 3.3 allows to store a part, and asks nobody to */
		return STORABLE_RANGE;
	fill_terms(&a, terms);
	return verdict;
}
