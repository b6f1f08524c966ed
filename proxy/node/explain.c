/* explain.c - the facts of one imagined request, one after the other, and what follows from them. */
#include "proxy/node/explain.h"

#include "proxy/http/h1_parse.h"
#include "proxy/http/head.h"
#include "proxy/node/explain_headers.h"
#include "proxy/serve/select.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/txn.h"

#include <jansson.h>
#include <stdlib.h>

enum { URL_BYTES_MOST = 8192, FIELDS_BYTES_MOST = 8192 };

struct imagined {
	const struct shelves *sh;
	const struct settings *settings;
	struct buf head; /* the request's bytes */
	struct field fields[FIELDS_MAX];
	struct request rq;
	struct request_cc cc;
	const struct fault *fault;
	const struct route *route;
	struct outgoing outgoing;
	bool shared;
	struct key key;
	struct buf names; /* on which the URL varies */
	struct object *object;
	struct terms terms; /* its, as they are now */
	struct reuse_verdict reuse;
	struct sighting_facts facts;
	struct sighting sighting;
	enum selection selection;
	int64_t now_s;
	json_t *why; /* sentences */
};

static void
say(struct imagined *im, const char *sentence)
{
	json_array_append_new(im->why, json_string(sentence));
}

/* ---- the request ----------------------------------------------------------------------------- */

static bool
is_clean(struct str s, bool lines)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t' &&
		    !(lines && (s.p[i] == '\r' || s.p[i] == '\n')))
			return false;
	return true;
}

/* Scheme, host and the rest of an absolute URL; without its fragment, which no client sends. */
static bool
split_url(struct str url, struct str *scheme, struct str *host, struct str *target)
{
	struct str schemes[] = {STR("http"), STR("https")};
	url = str_before(url, '#');
	for (size_t i = 0; i < 2; i++) {
		struct str rest = str_from(url, schemes[i].n);
		if (!str_starts(url, schemes[i]) || !str_starts(rest, STR("://")))
			continue;
		rest = str_from(rest, 3);
		size_t n = 0;
		while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
			n++;
		*scheme = schemes[i];
		*host = (struct str){rest.p, n};
		*target = str_from(rest, n);
		return n > 0;
	}
	return false;
}

static const char *
make_request(struct imagined *im, const struct explain_order *o)
{
	struct str scheme, host, target;
	const struct config *c = im->settings->config;
	const struct h1_limits limits = {.head_bytes = c->limits.head_bytes,
					 .url_bytes = c->limits.url_bytes,
					 .field_count = c->limits.fields};
	if (o->url.n > URL_BYTES_MOST || o->fields.n > FIELDS_BYTES_MOST)
		return "the URL or the headers are too long to be explained";
	if (!is_clean(o->url, false) || !is_clean(o->fields, true))
		return "a URL or a header holds a control character";
	if (!split_url(o->url, &scheme, &host, &target))
		return "a URL begins with http:// or https:// and a host";
	buf_printf(&im->head, "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\n",
		   target.n && target.p[0] == '/' ? "" : "/", STR_ARG(target), STR_ARG(host));
	buf_add_str(&im->head, o->fields);
	buf_add_lit(&im->head, "\r\n");
	im->rq.fields = (struct fields){.v = im->fields, .cap = FIELDS_MAX};
	im->fault = h1_parse_request(buf_str(&im->head), &limits, &im->rq);
	im->rq.scheme = scheme;
	return NULL;
}

/* ---- as lookup.c does ------------------------------------------------------------------------ */

static void
make_key(struct imagined *im)
{
	const struct settings *s = im->settings;
	im->route = route_find(s->routes, &im->rq);
	bool shared = !im->route->pass && im->rq.framing == FRAMING_NONE &&
		      policy_lookup(&im->rq) == LOOKUP_YES;
	im->fault =
		outgoing_init(&im->outgoing, &im->rq, &s->outgoing, &im->route->key, false, shared);
	if (im->fault)
		return;
	im->outgoing.headers = im->route->request;
	im->rq.scheme = im->outgoing.scheme;
	im->shared = outgoing_key(&im->outgoing, &im->key.text) && shared;
	im->outgoing.shared = im->shared;
	key_is_primary(&im->key, im->sh->seed);
	request_cc_parse(&im->rq.fields, &im->cc);
	policy_advise(s->policy.client, &im->cc);
}

static void
look(struct imagined *im)
{
	im->object = cache_look(im->sh->cache, im->key.hash, buf_str(&im->key.text), &im->terms);
	if (!im->object || im->object->kind != OBJECT_MARKER)
		return;
	struct variants v = {0};
	struct buf values = {0};
	variants_read(&v, im->object->head);
	buf_add_str(&im->names, buf_str(&v.names));
	object_unref(&im->object);
	if (outgoing_names_client(&im->outgoing, buf_str(&im->names)))
		say(im, "The answer varies on the client's address, which a question here does not "
			"have: another variant may be meant.");
	outgoing_is_from(&im->outgoing, STR(""), NULL, 0);
	outgoing_variant(&im->outgoing, key_primary(&im->key), buf_str(&im->names), &values);
	key_to_variant(&im->key, im->sh->seed, buf_str(&values));
	im->object = cache_look(im->sh->cache, im->key.hash, buf_str(&im->key.text), &im->terms);
	buf_fini(&values);
	variants_fini(&v);
}

static void
decide(struct imagined *im)
{
	const struct object *o = im->object;
	if (o)
		im->reuse = policy_reuse(&im->terms, &im->rq, &im->cc, im->now_s);
	im->facts = sight_of(&im->rq, im->route, o ? im->terms.status : 200, "", im->sh->seed);
	im->facts.on_disk = o && o->on_disk && o->kind != OBJECT_SLICED;
	im->facts.admitted = o && o->on_disk && o->kind == OBJECT_SLICED;
	im->sighting = seen_look(im->sh->seen, im->key.sighting, &im->facts);
	struct select_facts f = {
		.method = im->rq.method,
		.only_if_cached = im->cc.only_if_cached,
		.no_store = im->cc.no_store,
		.asks_for_less = policy_asks_for_less(&im->rq),
		.found = o != NULL,
		.reuse = im->reuse.reuse,
		.unseen = !o && !im->sighting.known.times,
	};
	im->selection = im->shared ? select_decide(&f) : SELECT_PASS;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static const char *
deed(enum selection s)
{
	static const char *const deeds[] = {
		[SELECT_ANSWER] = "answer",
		[SELECT_ANSWER_REFRESH] = "answer and refresh behind it",
		[SELECT_ANSWER_PART] = "answer",
		[SELECT_LOOK_FOR_PART] = "fetch",
		[SELECT_REFUSE] = "refuse with 504",
		[SELECT_VALIDATE] = "ask the origin whether it is still good",
		[SELECT_NEWS] = "ask the origin",
		[SELECT_FETCH] = "fetch",
		[SELECT_FETCH_AS_ASKED] = "fetch",
		[SELECT_FETCH_PIECE] = "fetch",
		[SELECT_FETCH_ALONE] = "fetch for this client alone",
		[SELECT_PASS] = "pass to the origin",
	};
	return deeds[s];
}

static void
say_why_passed(struct imagined *im)
{
	if (im->route->pass)
		say(im, "The route says that requests pass: nothing is looked up and nothing is "
			"kept.");
	else if (policy_lookup(&im->rq) != LOOKUP_YES || im->rq.framing != FRAMING_NONE)
		say(im, "A request like this one is not answered from a cache.");
	else
		say(im, "A cookie of the request makes it pass, or stands in the key and is not "
			"read alike by everybody.");
}

static void
say_why_stored(struct imagined *im)
{
	const struct terms *t = &im->terms;
	if (t->flags & TERMS_NO_CACHE)
		say(im, "no-cache: it is used only after the origin said that it is still good.");
	else if (t->flags & TERMS_HEURISTIC)
		say(im, "The origin named no lifetime; it was guessed from Last-Modified.");
	if (im->reuse.reuse == REUSE_FRESH)
		say(im, "It is fresh, so no origin is asked.");
	else if (im->reuse.reuse == REUSE_NEVER)
		say(im, "The request itself forbids the stored answer.");
	else if (im->reuse.ttl >= 0)
		say(im, "It is fresh, but the request's own Cache-Control asks for more.");
	else if (im->reuse.reuse == REUSE_VALIDATE)
		say(im, "Its time is over, and the origin is asked before it is used again.");
	else
		say(im, "Its time is over, but it may be used stale.");
}

static void
say_why_sighting(struct imagined *im)
{
	switch (im->sighting.verdict) {
	case ADMISSION_FIRST_SIGHT:
		say(im, "Neither generation of the filter knows it often enough: a storable answer "
			"would stay off the disk and be kept in RAM for a while.");
		break;
	case ADMISSION_SEEN_CURRENT:
	case ADMISSION_SEEN_PREVIOUS:
		say(im, "It was asked for before, as the filter knows: a storable answer would be "
			"written to disk.");
		break;
	case ADMISSION_ON_DISK:
		say(im, "It is on disk already.");
		break;
	case ADMISSION_ALWAYS:
	case ADMISSION_NEVER:
		say(im, "A rule of the route says whether it is written to disk.");
		break;
	case ADMISSION_FILLING:
		say(im,
		    "The disk is not yet filled to admission.fill_until: everything storable is "
		    "written.");
		break;
	case ADMISSION_OVER_BUDGET:
		say(im, "It was asked for before, but the write budget is used up.");
		break;
	default:
		break;
	}
}

static void
say_all(struct imagined *im, const struct settings *s)
{
	if (str_eq(im->rq.scheme, STR("https")) && !s->trusted_count)
		say(im, "Listeners are plain HTTP, and no forwarder is trusted to say https "
			"(forwarded.trust): requests come as http:// URLs here.");
	if (!im->shared) {
		say_why_passed(im);
		return;
	}
	if (im->object)
		say_why_stored(im);
	else
		say(im, "Nothing is stored for it.");
	say_why_sighting(im);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *
route_of(const struct imagined *im)
{
	const struct config *c = im->settings->config;
	unsigned n = route_number(im->settings->routes, im->route);
	json_t *r = json_pack("{s:b, s:s}", "pass", im->route->pass, "admit",
			      im->route->admit == RULE_ALWAYS  ? "always"
			      : im->route->admit == RULE_NEVER ? "never"
							       : "by sightings");
	json_object_set_new(r, "number", n ? json_integer(n) : json_null());
	if (n && c->routes[n - 1].host)
		json_object_set_new(r, "host", explain_text(str_of(c->routes[n - 1].host)));
	if (n && c->routes[n - 1].path)
		json_object_set_new(r, "path", explain_text(str_of(c->routes[n - 1].path)));
	return r;
}

static json_t *
headers_of(const struct imagined *im)
{
	const struct object *o = im->object;
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	if (o->kind == OBJECT_SLICE || !head_read(o->head, &r))
		return json_array();
	return explain_stored_headers(&r, &im->settings->policy, &im->terms);
}

static json_t *
stored_of(const struct imagined *im)
{
	const struct object *o = im->object;
	if (!o)
		return json_null();
	bool ram = o->place == OBJECT_IN_RAM;
	json_t *s = json_pack(
		"{s:s, s:i, s:I, s:I, s:I, s:I, s:b, s:o}", "where",
		ram && o->on_disk ? "RAM and disk"
		: ram		  ? "RAM"
				  : "disk",
		"status", (int)o->terms.status, "body_bytes",
		(json_int_t)(o->kind == OBJECT_SLICED ? o->whole_bytes : o->body_bytes), "age_s",
		(json_int_t)im->reuse.age, "fresh_for_s", (json_int_t)im->reuse.ttl, "fresh_until",
		(json_int_t)(im->now_s + im->reuse.ttl), "guessed",
		(o->terms.flags & TERMS_HEURISTIC) != 0, "headers", headers_of(im));
	json_object_set_new(s, "in_slices", json_boolean(o->kind == OBJECT_SLICED));
	return s;
}

static json_t *
seen_of(const struct imagined *im)
{
	static const char *const words[] = {
		[TWICE_SIGHT_FIRST] = "neither",
		[TWICE_SIGHT_CURRENT] = "current",
		[TWICE_SIGHT_PREVIOUS] = "previous",
	};
	struct pair_stats g;
	seen_report(im->sh->seen, &g);
	return json_pack("{s:s, s:I, s:I}", "generation", words[im->sighting.known.sight],
			 "sightings", (json_int_t)im->sighting.known.times, "current_number",
			 (json_int_t)g.number);
}

static const struct {
	const char *word, *rule;
} judgements[] = {
#define STORABLE(id, yes, word, section) [STORABLE_##id] = {word, section},
#include "proxy/http/storables.h"
#undef STORABLE
};

static json_t *
last_of(const struct imagined *im, const struct worker *workers, unsigned n)
{
	static const char *const answers[] = {
#define ANSWER(id, metric, what) what,
#include "proxy/serve/answers.h"
#undef ANSWER
	};
	struct lately_found best = {.at_s = -1}, f;
	for (unsigned i = 0; i < n; i++)
		if (lately_find(&workers[i].lately, im->key.primary, &f) && f.at_s > best.at_s)
			best = f;
	if (best.at_s < 0 || best.verdict >= ADMISSION_COUNT ||
	    best.answer >= sizeof answers / sizeof answers[0])
		return json_null();
	json_t *last = json_pack(
		"{s:I, s:I, s:i, s:s, s:s}", "at", (json_int_t)best.at_s, "seconds_ago",
		(json_int_t)(im->now_s - best.at_s), "status", best.status, "verdict",
		admission_word((enum admission)best.verdict), "answer", answers[best.answer]);
	if (best.judged && best.judged < STORABLE_COUNT) {
		json_object_set_new(last, "not_stored", json_string(judgements[best.judged].word));
		json_object_set_new(last, "rule", json_string(judgements[best.judged].rule));
	}
	return last;
}

static json_t *
now_of(const struct imagined *im)
{
	json_t *now = json_pack("{s:s}", "does", deed(im->selection));
	if (im->shared)
		json_object_set_new(now, "verdict",
				    json_string(admission_word(im->sighting.verdict)));
	return now;
}

static json_t *
json_of(struct imagined *im, const struct worker *workers, unsigned n)
{
	json_t *top = json_object();
	if (im->fault) {
		json_object_set_new(top, "refused",
				    json_pack("{s:i, s:s, s:s}", "status", im->fault->status,
					      "word", im->fault->word, "rule", im->fault->rule));
		return top;
	}
	json_object_set_new(top, "key", explain_text(key_primary(&im->key)));
	json_object_set_new(top, "route", route_of(im));
	json_object_set_new(top, "varies_on",
			    im->names.n ? explain_text(buf_str(&im->names)) : json_null());
	json_object_set_new(top, "headers",
			    explain_request_headers(&im->outgoing, key_primary(&im->key),
						    buf_str(&im->names),
						    im->settings->policy.client));
	json_object_set_new(top, "stored", stored_of(im));
	json_object_set_new(top, "seen", seen_of(im));
	json_object_set_new(top, "last", last_of(im, workers, n));
	json_object_set_new(top, "now", now_of(im));
	json_object_set(top, "why", im->why);
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
	struct imagined im = {
		.sh = sh, .settings = settings, .now_s = now_s(), .why = json_array()};
	const char *no = make_request(&im, o);
	if (!no && !im.fault)
		make_key(&im);
	if (!no && !im.fault) {
		if (im.shared)
			look(&im);
		decide(&im);
		say_all(&im, settings);
	}
	if (!no)
		add_json(json_of(&im, workers, worker_count), out);
	json_decref(im.why);
	object_unref(&im.object);
	key_fini(&im.key);
	buf_fini(&im.names);
	buf_fini(&im.head);
	return no;
}
