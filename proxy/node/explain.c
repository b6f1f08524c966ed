/* explain.c - the facts of one imagined request, one after the other, and what follows from them. */
#include "proxy/node/explain.h"

#include "config/config.h"
#include "config/print.h"
#include "proxy/base/aside.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/http/head.h"
#include "proxy/node/doorway.h"
#include "proxy/node/explain_headers.h"
#include "proxy/node/explain_owner.h"
#include "proxy/node/explain_why.h"
#include "proxy/node/imagined.h"
#include "proxy/node/membership.h"
#include "proxy/serve/rules/select.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/txn.h"

#include <jansson.h>
#include <stdlib.h>

struct question {
	const struct shelves *sh;
	struct imagined im;
	struct request_cc cc;
	struct buf names; /* on which the URL varies */
	struct object *object;
	struct terms terms; /* its, as they are now */
	struct reuse_verdict reuse;
	struct sighting_facts facts;
	struct sighting sighting;
	enum selection selection;
	struct explain_owner owner;
	int64_t now_s;
	json_t *why; /* sentences */
};

static void
say(struct question *q, const char *sentence)
{
	json_array_append_new(q->why, json_string(sentence));
}

static void
say_text(struct question *q, struct buf *text)
{
	if (text->n)
		json_array_append_new(q->why, explain_text(buf_str(text)));
	text->n = 0;
}

/* ---- as lookup.c does ------------------------------------------------------------------------ */

static void
make_key(struct question *q)
{
	key_is_primary(&q->im.key, q->sh->seed);
	request_cc_parse(&q->im.rq.fields, &q->cc);
	policy_advise(q->im.route->policy.client, &q->cc);
}

/* A look into the cache, on a thread: the admin server must not wait for a disk that hangs. */
struct search {
	struct cache *cache;
	struct twice_key_hash hash;
	struct buf key;
	struct terms terms;
	struct object *object;
};

static void
run_search(void *ctx)
{
	struct search *s = ctx;
	s->object = cache_look(s->cache, s->hash, buf_str(&s->key), &s->terms);
}

static void
drop_search(void *ctx)
{
	struct search *s = ctx;
	object_unref(&s->object);
	buf_fini(&s->key);
	free(s);
}

static void
search(struct question *q)
{
	enum { STILL_MS = 3000 };
	struct search *s = NEW(struct search);
	*s = (struct search){.cache = q->sh->cache, .hash = q->im.key.hash};
	buf_add_str(&s->key, buf_str(&q->im.key.text));
	struct aside *a = aside_begin(run_search, s);
	if (!a)
		run_search(s);
	else if (!aside_wait(a, STILL_MS) && !aside_end(&a, drop_search)) {
		say(q, "A disk does not answer; what it has of this URL is not known.");
		return;
	}
	if (a)
		aside_end(&a, drop_search);
	q->terms = s->terms;
	q->object = s->object;
	s->object = NULL;
	drop_search(s);
}

static void
look(struct question *q)
{
	search(q);
	if (!q->object || q->object->kind != OBJECT_MARKER)
		return;
	const struct settings *set = q->im.settings;
	struct variants v = {0};
	struct buf values = {0};
	variants_read(&v, q->object->head);
	buf_add_str(&q->names, buf_str(&v.names));
	object_unref(&q->object);
	if (!q->im.peer.n && outgoing_names_client(&q->im.outgoing, buf_str(&q->names)))
		say(q, "The answer varies on the client's address: say --from ADDRESS, or another "
		       "variant may be meant.");
	outgoing_is_from(&q->im.outgoing, q->im.peer, set->trusted, set->trusted_count);
	outgoing_variant(&q->im.outgoing, key_primary(&q->im.key), buf_str(&q->names), &values);
	key_to_variant(&q->im.key, q->sh->seed, buf_str(&values));
	search(q);
	buf_fini(&values);
	variants_fini(&v);
}

static void
decide(struct question *q)
{
	const struct object *o = q->object;
	if (o)
		q->reuse = policy_reuse(&q->terms, &q->im.rq, &q->cc, q->now_s);
	sight_of(&q->im.rq, q->im.route, o ? q->terms.status : 200, &q->facts);
	q->facts.on_disk = o && o->on_disk && o->kind != OBJECT_SLICED;
	q->facts.admitted = o && o->on_disk && o->kind == OBJECT_SLICED;
	if (o)
		q->facts.body_bytes = slices_length(o);
	if (q->owner.elsewhere)
		q->facts.kind = SIGHTING_ELSEWHERE;
	q->sighting = seen_look(q->sh->seen, q->im.key.sighting, &q->facts);
	struct select_facts f = {
		.method = q->im.rq.method,
		.only_if_cached = q->cc.only_if_cached,
		.no_store = q->cc.no_store,
		.asks_for_less = policy_asks_for_less(&q->im.rq),
		.found = o != NULL,
		.elsewhere = q->owner.elsewhere != NULL,
		.reuse = q->reuse.reuse,
		.unseen = !o && !q->sighting.known.times,
	};
	q->selection = q->im.shared ? select_decide(&f) : SELECT_PASS;
	if (q->im.as_it_came && !q->owner.elsewhere && !select_is_done_here(q->selection))
		q->selection = SELECT_PASS;
	q->im.outgoing.shared = q->selection != SELECT_PASS;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static const char *
deed(const struct question *q, enum selection s)
{
	static const char *const deeds[] = {
		[SELECT_ANSWER] = "answer",
		[SELECT_ANSWER_REFRESH] = "answer and refresh behind it",
		[SELECT_REFUSE] = "refuse with 504",
		[SELECT_VALIDATE] = "ask the origin whether it is still good",
		[SELECT_NEWS] = "ask the origin",
		[SELECT_FETCH] = "fetch",
		[SELECT_FETCH_AS_ASKED] = "fetch",
		[SELECT_FETCH_PIECE] = "fetch",
		[SELECT_FETCH_ALONE] = "fetch for this client alone",
		[SELECT_PASS] = "pass to the origin",
	};
	bool here = select_is_done_here(s) || s == SELECT_ANSWER_REFRESH;
	return q->owner.elsewhere && !here ? "ask the node that decides about it" : deeds[s];
}

/* Says why an answer comes before the cache is asked. */
static void
say_why_here(struct question *q)
{
	struct buf why = {0};
	if (imagined_lacks_peer(&q->im))
		say(q, "The route asks which address the client has (allow, deny): say --from "
		       "ADDRESS.");
	imagined_doubt(&q->im, &why);
	say_text(q, &why);
	imagined_why(&q->im, &why);
	say_text(q, &why);
	buf_fini(&why);
}

static void
say_why_stored(struct question *q)
{
	const struct terms *t = &q->terms;
	enum explain_life by = explain_life(t, &q->im.route->policy);
	if (t->flags & TERMS_NO_CACHE)
		say(q, "no-cache: it is used only after the origin said that it is still good.");
	else if (t->flags & TERMS_CONTRADICTED)
		say(q,
		    "The origin has answered otherwise since (no page, a redirect, or one that may not be "
		    "kept): it is used only after the origin said that it is still good.");
	else if (by == EXPLAIN_GUESSED)
		say(q, "The origin named no lifetime; it was guessed from Last-Modified "
		       "(cache.heuristic_fraction).");
	else if (by == EXPLAIN_BY_DEFAULT)
		say(q, "The origin named no lifetime; cache.default_ttl gives it one.");
	else if (by == EXPLAIN_NO_LIFETIME)
		say(q,
		    "The origin named no lifetime, and nothing gives it one (cache.default_ttl).");
	if (q->reuse.reuse == REUSE_FRESH)
		say(q, "It is fresh, so no origin is asked.");
	else if (q->reuse.reuse == REUSE_NEVER)
		say(q, "The request itself forbids the stored answer.");
	else if (q->reuse.ttl >= 0)
		say(q, "It is fresh, but the request's own Cache-Control asks for more.");
	else if (q->reuse.reuse == REUSE_VALIDATE)
		say(q, "Its time is over, and the origin is asked before it is used again.");
	else
		say(q, "Its time is over, but it may be used stale.");
}

static void
say_why_owner(struct question *q)
{
	struct buf text = {0};
	explain_owner_say(&q->owner, q->object && !q->object->on_disk, &text);
	say_text(q, &text);
	buf_fini(&text);
}

static void
say_why_sighting(struct question *q)
{
	const char *why = explain_verdict(q->sighting.verdict);
	struct buf text = {0};
	struct choice c;
	char chosen[CHOICE_TEXT];
	if (why)
		say(q, why);
	if (q->owner.elsewhere || q->im.route->sightings || !seen_choice(q->sh->seen, &c))
		return;
	buf_printf(&text, "admission.sightings is auto: now %s.", choice_say(&c, chosen));
	say_text(q, &text);
	buf_fini(&text);
}

static void
say_all(struct question *q, const struct settings *s)
{
	if (str_eq(q->im.rq.scheme, STR("https")) && !doorway_may_be_https(s->config))
		say(q, "No listener speaks TLS, and no forwarder is trusted to say https "
		       "(forwarded.trust): requests come as http:// URLs here.");
	say_why_here(q);
	if (imagined_deed(&q->im))
		return;
	if (!q->im.shared) {
		say(q, imagined_why_passed(&q->im));
		return;
	}
	if (q->object)
		say_why_stored(q);
	else
		say(q, "Nothing is stored for it.");
	if (q->im.as_it_came)
		say(q, imagined_why_as_it_came);
	say_why_owner(q);
	say_why_sighting(q);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void
add_setting(void *ctx, const char *setting, const char *value)
{
	if (strcmp(setting, "host") != 0 && strcmp(setting, "path") != 0)
		json_object_set_new(ctx, setting, explain_text(str_of(value)));
}

static json_t *
route_of(const struct question *q)
{
	const struct config *c = q->im.settings->config;
	unsigned n = q->im.number;
	json_t *r = json_pack("{s:b, s:s}", "pass", q->im.route->pass, "admit",
			      q->im.route->admit == RULE_ALWAYS	 ? "always"
			      : q->im.route->admit == RULE_NEVER ? "never"
								 : "by sightings");
	json_object_set_new(r, "number", n ? json_integer(n) : json_null());
	json_t *own = json_object();
	if (n)
		config_route_each(&c->routes[n - 1], add_setting, own);
	json_object_set_new(r, "settings", own);
	if (n && c->routes[n - 1].host)
		json_object_set_new(r, "host", explain_text(str_of(c->routes[n - 1].host)));
	if (n && c->routes[n - 1].path)
		json_object_set_new(r, "path", explain_text(str_of(c->routes[n - 1].path)));
	return r;
}

static json_t *
headers_of(const struct question *q)
{
	const struct object *o = q->object;
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	if (o->kind == OBJECT_SLICE || !head_read(o->head, &r))
		return json_array();
	return explain_stored_headers(&r, &q->im.route->policy, &q->terms);
}

static json_t *
stored_of(const struct question *q)
{
	const struct object *o = q->object;
	if (!o)
		return json_null();
	bool ram = o->place == OBJECT_IN_RAM;
	enum explain_life by = explain_life(&o->terms, &q->im.route->policy);
	json_t *s = json_pack(
		"{s:s, s:i, s:I, s:I, s:I, s:I, s:b, s:o}", "where",
		ram && o->on_disk ? "RAM and disk"
		: ram		  ? "RAM"
				  : "disk",
		"status", (int)o->terms.status, "body_bytes",
		(json_int_t)(o->kind == OBJECT_SLICED ? o->whole_bytes : o->body_bytes), "age_s",
		(json_int_t)q->reuse.age, "fresh_for_s", (json_int_t)q->reuse.ttl, "fresh_until",
		(json_int_t)(q->now_s + q->reuse.ttl), "guessed", by == EXPLAIN_GUESSED, "headers",
		headers_of(q));
	json_object_set_new(s, "lifetime_by", json_string(explain_life_word(by)));
	json_object_set_new(s, "in_slices", json_boolean(o->kind == OBJECT_SLICED));
	return s;
}

static json_t *
seen_of(const struct question *q)
{
	static const char *const words[] = {
		[TWICE_SIGHT_FIRST] = "neither",
		[TWICE_SIGHT_CURRENT] = "current",
		[TWICE_SIGHT_PREVIOUS] = "previous",
	};
	struct twice_pair_stats g;
	seen_report(q->sh->seen, &g);
	struct sighting_settings now = seen_settings(q->sh->seen);
	return json_pack("{s:s, s:I, s:I, s:I}", "generation", words[q->sighting.known.sight],
			 "sightings", (json_int_t)q->sighting.known.times, "asked_for",
			 (json_int_t)sighting_asked(&now, &q->facts), "current_number",
			 (json_int_t)g.number);
}

static const struct {
	const char *word, *rule;
} judgements[] = {
#define STORABLE(id, yes, word, section) [STORABLE_##id] = {word, section},
#include "proxy/http/storables.h"
#undef STORABLE
};

/* The label of the outcome in /metrics. */
static const char *const answer_words[] = {
	[ANSWER_NONE] = "abandoned",
	[ANSWER_RAM] = "ram-hit",
	[ANSWER_DISK] = "disk-hit",
	[ANSWER_MISS] = "miss",
	[ANSWER_SIBLING] = "sibling",
	[ANSWER_COALESCED] = "coalesced",
	[ANSWER_REVALIDATED] = "revalidated",
	[ANSWER_STALE] = "stale",
	[ANSWER_PASS] = "passed",
	[ANSWER_ONLY_IF_CACHED] = "only-if-cached",
	[ANSWER_ERROR] = "error",
	[ANSWER_REJECTED] = "rejected",
	[ANSWER_DENIED] = "denied",
	[ANSWER_LIMITED] = "limited",
	[ANSWER_ROUTED] = "routed",
	[ANSWER_LOCAL] = "local",
};

static json_t *
last_of(const struct question *q, const struct worker *workers, unsigned n)
{
	struct lately_found best = {.at_s = -1}, f;
	for (unsigned i = 0; i < n; i++)
		if (lately_find(&workers[i].lately, q->im.key.primary, &f) && f.at_s > best.at_s)
			best = f;
	if (best.at_s < 0 || best.verdict >= ADMISSION_COUNT ||
	    best.answer >= sizeof answer_words / sizeof answer_words[0])
		return json_null();
	json_t *last = json_pack(
		"{s:I, s:I, s:i, s:s, s:s}", "at", (json_int_t)best.at_s, "seconds_ago",
		(json_int_t)(q->now_s - best.at_s), "status", best.status, "verdict",
		admission_word((enum admission)best.verdict), "answer", answer_words[best.answer]);
	if (best.judged && best.judged < STORABLE_COUNT) {
		json_object_set_new(last, "not_stored", json_string(judgements[best.judged].word));
		json_object_set_new(last, "rule", json_string(judgements[best.judged].rule));
		json_object_set_new(last, "because",
				    json_string(explain_not_kept((enum storable)best.judged)));
	}
	return last;
}

static json_t *
now_of(const struct question *q)
{
	const char *here = imagined_deed(&q->im);
	json_t *now = json_pack("{s:s}", "does", here ? here : deed(q, q->selection));
	if (q->im.shared && !here)
		json_object_set_new(now, "verdict",
				    json_string(admission_word(q->sighting.verdict)));
	return now;
}

static json_t *
json_of(struct question *q, const struct worker *workers, unsigned n)
{
	json_t *top = json_object();
	if (q->im.fault) {
		json_object_set_new(top, "refused",
				    json_pack("{s:i, s:s, s:s}", "status", q->im.fault->status,
					      "word", q->im.fault->word, "rule",
					      q->im.fault->rule));
		return top;
	}
	json_object_set_new(top, "key", explain_text(key_primary(&q->im.key)));
	json_object_set_new(top, "route", route_of(q));
	json_object_set_new(top, "varies_on",
			    q->names.n ? explain_text(buf_str(&q->names)) : json_null());
	json_object_set_new(top, "headers",
			    explain_request_headers(&q->im.outgoing, key_primary(&q->im.key),
						    buf_str(&q->names),
						    q->im.route->policy.client));
	if (!imagined_deed(&q->im))
		json_object_set_new(top, "origin",
				    explain_origin(q->im.settings->config, q->im.route->group,
						   &q->im.outgoing, key_primary(&q->im.key)));
	if (q->owner.chart)
		json_object_set_new(top, "fleet",
				    membership_owners(q->owner.chart, key_primary(&q->im.key),
						      q->im.key.primary));
	json_object_set_new(top, "stored", stored_of(q));
	json_object_set_new(top, "seen", seen_of(q));
	json_object_set_new(top, "last", last_of(q, workers, n));
	json_object_set_new(top, "now", now_of(q));
	json_object_set(top, "why", q->why);
	return top;
}

static void
add_json(json_t *json, struct buf *out)
{
	char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(json);
}

const char *
explain_url(const struct shelves *sh, const struct settings *settings, const struct worker *workers,
	    unsigned worker_count, const struct explain_order *o, struct buf *out)
{
	struct question q = {.sh = sh, .now_s = now_s(), .why = json_array()};
	struct imagined_order order = {.url = o->url, .fields = o->fields, .peer = o->from};
	const char *no = imagined_init(&q.im, settings, &order);
	if (!no && !q.im.fault) {
		make_key(&q);
		if (q.im.shared) {
			explain_owner_find(&q.owner, sh->fleet, q.im.key.primary.hi);
			look(&q);
		}
		decide(&q);
		say_all(&q, settings);
	}
	if (!no)
		add_json(json_of(&q, workers, worker_count), out);
	json_decref(q.why);
	object_unref(&q.object);
	explain_owner_fini(&q.owner);
	imagined_fini(&q.im);
	buf_fini(&q.names);
	return no;
}
