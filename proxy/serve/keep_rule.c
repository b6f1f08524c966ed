/* keep_rule.c - what is asked of an answer before anything is kept: its length, whether it may be
 * stored, what its request counts for, what the write budget is charged. All files of keep, and what
 * brings the bytes (run, complete, resume), call down to here.
 */
#include "proxy/serve/keep_inside.h"

#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/seen.h"
#include "proxy/serve/passes.h"
#include "proxy/serve/sight.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/syntax.h"

#include <assert.h>

enum { LARGE_S = 600 }; /* a body that did not say how large it is, and was too large */

struct str
keep_client(const struct fill *f)
{
	return forwarded_client(&f->rq.fields, f->settings->trusted, f->settings->trusted_count,
				str_of(f->client_ip));
}

bool
keep_is_forgotten(const struct fill *f)
{
	return !cache_is_clean(f->serve->shelves->cache, f->key.hash, buf_str(&f->key.text),
			       buf_str(&f->tags), f->begun);
}

uint64_t
keep_length(const struct response *rs)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_LENGTH);
	if (v.n == 0 || fields_has(&rs->fields, FIELD_TRANSFER_ENCODING))
		return UINT64_MAX;
	int64_t n = 0;
	return digits_parse(v, &n) ? (uint64_t)n : 0; /* reply.c refuses what is no number */
}

/* Kept beside the URLs whose origin ignores ranges: both are about how a body can be stored. */
static struct twice_key_hash
large_key(const struct fill *f)
{
	return (struct twice_key_hash){.lo = f->key.sighting.lo + 2, .hi = ~f->key.sighting.hi};
}

/* One that does not say how large it is, is as large as it was the last time: or each request would
 * begin to write it. */
static uint64_t
expected_bytes(const struct fill *f)
{
	const struct passes *p = f->serve->shelves->unsliced;
	bool large = f->expected == UINT64_MAX && f->route->max_object_bytes &&
		     passes_has(p, large_key(f), now_s());
	return large ? f->route->max_object_bytes + 1 : f->expected;
}

/* What this trip counts for, asked once: under the variant's key, now that it is known. */
void
keep_sight(struct fill *f, int status, struct str variant)
{
	struct shelves *sh = f->serve->shelves;
	struct twice_filter_sight inherited = f->sighting.known;
	f->facts = sight_of(&f->rq, f->route, status, keep_client(f), sh->seed);
	f->key.sighting = sighting_key(sh->seed, f->key.primary, variant);
	f->facts.body_bytes = expected_bytes(f);
	if (f->background)
		f->facts.kind = SIGHTING_BACKGROUND;
	else if (f->reload)
		f->facts.kind = SIGHTING_RELOAD;
	else if (f->kind == FILL_PASS)
		f->facts.kind = SIGHTING_OTHER;
	f->facts.known = inherited;
	assert(f->stage == FILL_ASKING); /* once, before anybody reads what came */
	f->sighting = seen_judge(sh->seen, f->key.sighting, &f->facts);
}

void
keep_charge(struct fill *f, uint64_t body_bytes)
{
	uint64_t bytes =
		body_bytes == UINT64_MAX
			? 0
			: cache_record_bytes(f->stored_key_bytes, f->stored_head_bytes, body_bytes);
	seen_charge(f->serve->shelves->seen, (int64_t)(bytes - f->charged));
	f->charged = bytes;
}

void
keep_no_write(struct fill *f)
{
	if (f->write)
		cache_write_abandon(&f->write);
	if (f->charged)
		seen_charge(f->serve->shelves->seen, -(int64_t)f->charged);
	f->charged = 0;
}

void
keep_no_large(struct fill *f)
{
	uint64_t most = f->route->max_object_bytes;
	if (!f->write || !f->sighting.writes || !most || f->received <= most)
		return;
	keep_no_write(f);
	passes_remember(f->serve->shelves->unsliced, large_key(f), now_s() + LARGE_S);
}

/* What passes is asked for as the client wrote it; that is news of what lies under the key only
 * where the key's rules drop and change nothing. */
static bool
asked_by_key(const struct fill *f)
{
	return f->kind != FILL_PASS ||
	       str_eq(f->rq.path_query, cachekey_target(key_primary(&f->key)));
}

static struct storing_facts
facts_of(const struct fill *f, const struct response *rs, int64_t now)
{
	return (struct storing_facts){
		.request = &f->rq,
		.response = rs,
		.request_time = f->request_time,
		.response_time = now,
		.settings = &f->route->policy,
	};
}

/* A guess of the lifetime also depends on the fields that the origin was sent. */
static enum storable
judge(const struct fill *f, struct storing_facts *facts, struct terms *terms)
{
	enum storable s = policy_storable(facts, terms);
	if (!storable_is_yes(s) || !(terms->flags & TERMS_HEURISTIC) ||
	    !outgoing_shows_credential(&f->outgoing, &facts->response->fields))
		return s;
	facts->credential = true;
	return policy_storable(facts, terms);
}

enum storable
keep_judge(struct fill *f, const struct response *rs, bool updated, int64_t now)
{
	struct storing_facts facts = facts_of(f, rs, now);
	facts.updated = updated;
	/* A run asks by the keys of its slices: that their head was replaced says nothing of them. */
	if (f->kind == FILL_PASS || (f->kind != FILL_SLICES && keep_is_forgotten(f)))
		return STORABLE_METHOD;
	enum storable s = judge(f, &facts, &f->terms);
	return s == STORABLE_YES && (f->terms.flags & TERMS_PARTIAL) ? STORABLE_RANGE : s;
}

enum storable
keep_judge_as_get(const struct fill *f, const struct response *rs, int64_t now)
{
	struct request get = f->rq;
	struct storing_facts facts = facts_of(f, rs, now);
	struct terms unused;
	get.method = METHOD_GET;
	facts.request = &get;
	return judge(f, &facts, &unused);
}

struct news_facts
keep_news(const struct fill *f, int status, enum storable storable)
{
	return (struct news_facts){
		.method = f->rq.method,
		.credentials = policy_has_credentials(&f->rq),
		.by_key = asked_by_key(f) && !(f->kind == FILL_MISS && f->as_it_came),
		.copy = f->object != NULL,
		.status = status,
		.storable = storable,
	};
}
