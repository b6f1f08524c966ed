/* keep_rule.c - what is asked of an answer before anything is kept: its length, whether it may be
 * stored, what its request counts for, what the write budget is charged. All files of keep, and what
 * brings the bytes (run, resume), call down to here.
 */
#include "proxy/serve/keep/keep_inside.h"

#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/rules/herd.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/rules/rests.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/rules/witness.h"
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

/* One that does not say how large it is, is as large as it was the last time: or each request would
 * begin to write it. */
static uint64_t
expected_bytes(const struct fill *f, uint64_t bytes)
{
	const struct passes *p = f->serve->shelves->passes;
	bool large = bytes == UINT64_MAX && f->route->max_object_bytes &&
		     passes_has(p, PASSES_LARGE, f->key.sighting, now_s());
	return large ? f->route->max_object_bytes + 1 : bytes;
}

void
keep_sight(struct fill *f, int status, uint64_t bytes, struct str variant)
{
	struct shelves *sh = f->serve->shelves;
	struct twice_filter_sight inherited = f->sighting.known;
	sight_of(&f->rq, f->route, status, &f->facts);
	f->facts.from = f->asker;
	f->key.sighting = sighting_key(sh->seed, f->key.primary, variant);
	f->facts.body_bytes = expected_bytes(f, bytes);
	if (backend_is_elsewhere(&f->backend))
		f->facts.kind = SIGHTING_ELSEWHERE;
	else if (backend_is_sibling(&f->backend) && f->asked.on_disk &&
		 f->facts.kind == SIGHTING_PLAIN)
		f->facts.kind = SIGHTING_TAKEN_OVER;
	else if (f->background)
		f->facts.kind = SIGHTING_BACKGROUND;
	else if (f->reload)
		f->facts.kind = SIGHTING_RELOAD;
	else if (f->kind == FILL_PASS)
		f->facts.kind = SIGHTING_OTHER;
	f->facts.known = inherited;
	sight_life(&f->facts, &f->terms, f->terms.response_time);
	assert(f->stage == FILL_ASKING); /* once, before anybody reads what came */
	f->sighting = seen_judge(sh->seen, f->key.sighting, &f->facts);
}

void
keep_sight_slice(struct fill *f, uint64_t number)
{
	f->facts.kind = SIGHTING_RANGE_BEHIND;
	f->facts.slice = number;
	f->sighting = seen_judge(f->serve->shelves->seen, f->key.sighting, &f->facts);
}

static void
charge(struct fill *f)
{
	struct fill_claims *c = &f->claims;
	struct seen *seen = f->serve->shelves->seen;
	if (c->written == c->charged)
		return;
	uint64_t more = c->written - c->charged, freed = more < c->aside ? more : c->aside;
	seen_charge(seen, &f->sighting, more);
	seen_give_back(seen, &f->sighting, freed);
	c->charged = c->written;
	c->aside -= freed;
}

void
keep_set_aside(struct fill *f, uint64_t bytes)
{
	assert(f->in.write && !f->claims.aside);
	f->claims.aside = seen_set_aside(f->serve->shelves->seen, &f->sighting,
					 bytes == UINT64_MAX ? 0 : bytes);
}

void
keep_settle(struct fill *f)
{
	charge(f);
	seen_give_back(f->serve->shelves->seen, &f->sighting, f->claims.aside);
	f->claims.aside = 0;
}

void
keep_no_write(struct fill *f)
{
	if (f->in.write)
		cache_write_abandon(&f->in.write);
	keep_settle(f);
}

static bool
is_too_large(const struct fill *f)
{
	uint64_t most = f->route->max_object_bytes;
	return f->sighting.writes && most && f->in.stored > most;
}

/* Room for a body that does not say how large it is, is set aside as it comes. False: there is none. */
static bool
has_room_aside(struct fill *f)
{
	struct seen *seen = f->serve->shelves->seen;
	struct fill_claims *c = &f->claims;
	uint64_t held = c->written + c->aside;
	if (f->in.stores != UINT64_MAX || !f->sighting.writes || f->in.stored <= held)
		return true;
	if (!seen_may_write(seen, &f->sighting, f->in.stored - held))
		return false;
	c->aside += seen_set_aside(seen, &f->sighting, f->in.stored - held);
	return true;
}

void
keep_progress(struct fill *f)
{
	charge(f);
	if (!f->in.write)
		return;
	if (!has_room_aside(f)) {
		keep_no_write(f);
		return;
	}
	if (!is_too_large(f))
		return;
	keep_no_write(f);
	keep_nowhere(f);
	passes_remember(f->serve->shelves->passes, PASSES_LARGE, f->key.sighting,
			now_s() + LARGE_S);
}

/* A request that passes asks as the client wrote it; that is news of what lies under the key only
 * where the key's rules drop and change nothing. */
static bool
asked_by_key(const struct fill *f)
{
	return f->kind != FILL_PASS ||
	       str_eq(f->rq.path_query, cachekey_target(key_primary(&f->key)));
}

/* Whether a client of another address was told the same, of late. */
static bool
has_witness(struct fill *f, int status)
{
	bool own = herd_pass_kind(&f->rq) == PASSES_ALONE_OWN;
	struct twice_key_hash what = passes_key(f->key.hash, (uint64_t)status << 1 | own);
	const struct shelves *sh = f->serve->shelves;
	return witness_is_known(sh->passes, what, witness_of(sh->seed, keep_client(f)), now_s());
}

/* A stranger's own fields may be why; that counts when a client of another address was told so, too. */
void
keep_hear(struct fill *f, struct news_facts *news)
{
	if (news->own && news_needs_witness(news))
		news->heard = has_witness(f, news->status);
}

/* A failure that a stranger's own fields may have caused is no reason to leave the origin in peace. */
static bool
is_failure_of_key(struct fill *f, int status, bool blameless)
{
	return blameless || !outgoing_shows_own(&f->outgoing, buf_str(&f->variants.names)) ||
	       has_witness(f, status);
}

void
keep_rest(struct fill *f, int status, bool blameless)
{
	struct rests *r = f->serve->shelves->rests;
	bool failed = status != 304 && !policy_is_word_on_page(status);
	if (f->kind != FILL_VALIDATE)
		return;
	if (failed && is_failure_of_key(f, status, blameless))
		rests_begin(r, f->key.hash, now_ms());
	else
		rests_end(r, f->key.hash);
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

enum { HOT_S = 10 };

/* A copy of what another node owns is kept for a few seconds, in which many may ask for it, and then shown to that node
 * again; in the meantime it is as good as it was. */
static void
copy_for_a_while(struct terms *t)
{
	int64_t left = t->lifetime - t->initial_age, more = left - HOT_S;
	if (more <= 0)
		return;
	t->lifetime = t->initial_age + HOT_S;
	if (t->stale_while_revalidate < more)
		t->stale_while_revalidate = (int32_t)(more < HOT_S ? more : HOT_S);
}

/* RAM is for what many ask for here, which is known from the second time on; not for what its owner may have answered before
 * it heard of a change. */
static void
note_hop(struct fill *f, int64_t now)
{
	struct passes *p = f->serve->shelves->passes;
	f->asked.cold |= !f->object && (!passes_has(p, PASSES_HOPPED, f->key.hash, now) ||
					passes_has(p, PASSES_CHANGED, f->key.primary, now));
	passes_remember(p, PASSES_HOPPED, f->key.hash, now + HOT_S);
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
	if (backend_is_elsewhere(&f->backend)) {
		note_hop(f, now);
		copy_for_a_while(&f->terms);
	}
	f->terms.server = backend_mark(&f->backend);
	if (updated && f->object)
		f->terms.flags |= f->object->terms.flags & TERMS_FORM;
	if (updated || (f->object && f->object->terms.flags & TERMS_CONFIRMED))
		f->terms.flags |= TERMS_CONFIRMED;
	return s;
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
	bool asks_whose = f->object || status >= 400; /* else nobody asks whose doing it is */
	return (struct news_facts){
		.method = f->rq.method,
		.credentials = policy_has_credentials(&f->rq),
		.by_key = asked_by_key(f) && !(f->kind == FILL_MISS && f->as_it_came),
		.copy = f->object != NULL,
		.contradicted = f->object && (f->object->terms.flags & TERMS_CONTRADICTED),
		.own = asks_whose && outgoing_shows_own(&f->outgoing, buf_str(&f->variants.names)),
		.status = status,
		.storable = storable,
	};
}
