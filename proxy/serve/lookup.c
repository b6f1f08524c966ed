/* lookup.c - what the cache has for a request, and what becomes of it then: an answer from here, or
 * a way to the origin.
 */
#include "proxy/serve/lookup.h"

#include "config/config.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_variants.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/http/field_block.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/follow.h"
#include "proxy/serve/forms.h"
#include "proxy/serve/gate.h"
#include "proxy/serve/rules/herd.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/keep/keep_turn.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/purging.h"
#include "proxy/serve/rules/rests.h"
#include "proxy/serve/rules/select.h"
#include "proxy/serve/sibling.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/tunnel.h"
#include "proxy/serve/rules/validator.h"

#include <assert.h>

/* ---- looking up ---------------------------------------------------------------------------- */

enum { FAR_BYTES = 1 << 20 };

/* The byte of a body that would be sent first. A guess will do: it is read early, nothing else. */
static void
say_first(const struct txn *t, struct cache_lookup *l)
{
	struct str range = fields_get(&t->rq.fields, FIELD_RANGE), rest = str_from(range, 6);
	l->first = t->rq.method == METHOD_HEAD ? LOOKUP_HEAD : LOOKUP_FROM;
	l->first_at = 0;
	if (l->first == LOOKUP_HEAD || !str_starts(range, STR("bytes=")))
		return;
	if (str_starts(rest, STR("-"))) {
		l->first = LOOKUP_LAST;
		rest = str_from(rest, 1);
	}
	for (size_t i = 0; i < rest.n && i < 18 && rest.p[i] >= '0' && rest.p[i] <= '9'; i++)
		l->first_at = l->first_at * 10 + (uint64_t)(rest.p[i] - '0');
}

static void
start_lookup(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	assert(t->state == TXN_LOOKUP && t->look.state != LOOKING_OUT && !t->look.found);
	say_first(t, &t->look.lookup);
	t->look.lookup.home = t->serve->mailbox;
	enum found found = cache_lookup(sh->cache, &t->look.lookup, t->key.hash,
					buf_str(&t->key.text), &t->look.found);
	t->look.state = found == FOUND_LATER ? LOOKING_OUT : LOOKING_BACK;
	if (found == FOUND_NOT)
		t->look.found = NULL;
}

/* The first look for a key: what lands behind it is news. */
static void
look_first(struct txn *t)
{
	t->look.landed = keep_landed(t->serve->shelves, t->key.primary);
	start_lookup(t);
}

static void
lookup_primary(struct txn *t)
{
	key_back_to_primary(&t->key);
	variants_clear(&t->variants);
	object_unref(&t->object);
	look_first(t);
}

/* A marker was found: the variant that this request would get is looked up next. */
static void
lookup_variant(struct txn *t, struct object *marker)
{
	struct buf values = {0};
	variants_read(&t->variants, marker->head);
	object_unref(&t->look.found);
	follow_variant(t, buf_str(&t->variants.names), &values);
	key_to_variant(&t->key, t->serve->shelves->seed, buf_str(&values));
	buf_fini(&values);
	start_lookup(t);
}

/* ---- facts --------------------------------------------------------------------------------- */

static bool
is_unseen(const struct txn *t)
{
	const struct shelves *sh = t->serve->shelves;
	return !follow_is_worth_the_whole(t) &&
	       !flights_has(sh->flights, t->key.hash, buf_str(&t->key.text));
}

/* The one range that a request asks for, of a body of unknown length. */
static bool
one_range(const struct request *rq, struct range *out)
{
	static const uint64_t endless = UINT64_C(1) << 62;
	struct range ranges[RANGES_MAX];
	unsigned n = 0;
	struct str range = fields_get(&rq->fields, FIELD_RANGE);
	if (!range.n || range_parse(range, endless, ranges, &n) != RANGE_PART || n != 1)
		return false;
	*out = ranges[0];
	return true;
}

/* It begins far behind the first byte, or is counted from the end. */
static bool
is_far(const struct request *rq)
{
	struct range s;
	return one_range(rq, &s) && s.at >= FAR_BYTES;
}

/* "bytes=0-": a player that begins. It wants the whole, as long as it stays. */
static bool
is_all(const struct request *rq)
{
	static const uint64_t far = UINT64_C(1) << 61;
	struct range s;
	return !fields_has(&rq->fields, FIELD_IF_RANGE) &&
	       !fields_has(&rq->fields, FIELD_IF_NONE_MATCH) &&
	       !fields_has(&rq->fields, FIELD_IF_MODIFIED_SINCE) && one_range(rq, &s) &&
	       s.at == 0 && s.n > far;
}

static enum selection
decide(const struct txn *t)
{
	struct select_facts f = {
		.method = t->rq.method,
		.only_if_cached = t->cc.only_if_cached,
		.no_store = t->cc.no_store,
		.asks_for_less = policy_asks_for_less(&t->rq) && (t->object || !is_all(&t->rq)),
		.found = t->object != NULL,
		.reuse = t->look.reuse.reuse,
	};
	f.far_piece = !f.found && f.asks_for_less && is_far(&t->rq);
	f.unseen = !f.found && f.asks_for_less && is_unseen(t);
	return select_decide(&f);
}

/* ---- deeds --------------------------------------------------------------------------------- */

static void
count_hit(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	struct object *o = t->object;
	bool ram = o->place == OBJECT_IN_RAM;
	assert(o->kind == OBJECT_RESPONSE || o->kind == OBJECT_SLICED);
	t->answer = ram ? ANSWER_RAM : ANSWER_DISK;
	t->detail = ram ? "ram" : "disk";
	struct sighting_facts f;
	sight_of_object(t, &f);
	t->sighting = seen_judge(sh->seen, t->key.sighting, &f);
	if (t->variants.names.n)
		cache_variant_used(sh->cache, t->key.primary, o->hash,
				   t->settings->config->cache.variants);
	if (t->rq.method != METHOD_GET)
		return;
	keep_admit(t);
	if (t->look.reuse.reuse == REUSE_FRESH &&
	    !txn_is_billed_elsewhere(t)) /* else the refresh behind it tells */
		bill_hit(t, o, object_own_bytes(o));
}

static void
say_hit(struct txn *t)
{
	t->cs.fwd = NULL; /* also when it was on its way to the origin before (RFC 9211 2.1) */
	t->cs.hit = true;
	t->cs.has_ttl = true;
	t->cs.ttl = t->look.reuse.ttl;
}

static void
answer_stored(struct txn *t, bool refresh)
{
	say_hit(t);
	count_hit(t);
	if (t->look.reuse.reuse != REUSE_FRESH)
		t->answer = ANSWER_STALE;
	if (refresh)
		fill_behind(t, FILL_VALIDATE);
	answer_object(t);
}

/* Why the request goes to the origin, for Cache-Status. */
static void
say_forward(struct txn *t)
{
	if (!t->object)
		t->cs.fwd = t->variants.names.n ? "vary-miss" : "uri-miss";
	else
		t->cs.fwd = t->look.reuse.fwd ? t->look.reuse.fwd : "stale";
	t->wait.stale_ok = t->object && t->look.reuse.stale_on_error;
}

/* The whole is wanted, but this client does not wait for it. */
static bool
wants_whole_behind(const struct txn *t)
{
	const struct passes *p = t->serve->shelves->passes;
	return follow_is_worth_the_whole(t) &&
	       !passes_has(p, herd_pass_kind(&t->rq), t->key.hash, now_s());
}

static void
ask_origin(struct txn *t, enum selection s)
{
	if (!gate_admits(t))
		return;
	say_forward(t);
	if (t->from.elsewhere && (s == SELECT_FETCH_PIECE || s == SELECT_FETCH_AS_ASKED))
		s = SELECT_FETCH_ALONE; /* its owner decides about less than the whole */
	switch (s) {
	case SELECT_FETCH_PIECE:
		t->wait.whole_behind = wants_whole_behind(t);
		/* fall through */
	case SELECT_FETCH_AS_ASKED:
		t->way = WAY_AS_IT_CAME;
		follow_alone(t, FILL_MISS);
		return;
	case SELECT_FETCH_ALONE: /* counts as a miss, though nothing is kept */
	case SELECT_NEWS:	 /* updates what is stored (RFC 9111 4.3.5) */
		follow_alone(t, FILL_PASS);
		return;
	default:
		follow_together(t);
		return;
	}
}

static bool
goes_as_it_came(const struct txn *t)
{
	return outgoing_goes_as_it_came(&t->outgoing, key_primary(&t->key));
}

static void
pass(struct txn *t)
{
	if (!gate_admits(t))
		return;
	object_unref(&t->object);
	t->cs.fwd = t->look.reuse.fwd ? t->look.reuse.fwd : "request";
	follow_pass(t);
}

/* A client's reload counts once a second and key, whoever asks. */
static bool
may_reload(const struct txn *t)
{
	struct passes *p = t->serve->shelves->passes;
	int64_t now = now_s();
	if (!t->cc.reload || passes_has(p, PASSES_RELOADED, t->key.hash, now))
		return false;
	passes_remember(p, PASSES_RELOADED, t->key.hash, now + 1);
	return true;
}

/* Its refresh has failed lately, and it may stand in: it answers, and the origin is left in peace. */
static bool
rests(const struct txn *t)
{
	enum reuse r = t->look.reuse.reuse;
	bool stands_in =
		r == REUSE_STALE_REFRESH || (r == REUSE_VALIDATE && t->look.reuse.stale_on_error);
	return stands_in && t->rq.method == METHOD_GET && !t->cc.only_if_cached &&
	       rests_has(t->serve->shelves->rests, t->key.hash, now_ms());
}

/* The lookup is over: it brought something, or nothing. */
static void
go_on(struct txn *t)
{
	if (t->look.found) {
		assert(!t->object);
		t->object = t->look.found;
		t->look.found = NULL;
		t->cc.reload = may_reload(t) ||
			       policy_is_guess_refused(&t->object->terms, &t->cc, now_s());
		t->look.reuse = policy_reuse(&t->object->terms, &t->rq, &t->cc, now_s());
		t->cc.reload = false; /* it is on its way: nobody has to go twice */
		if (rests(t))
			t->look.reuse.reuse = t->look.reuse.ttl > 0 ? REUSE_FRESH : REUSE_STALE;
	}
	enum selection s = decide(t);
	if (s == SELECT_REFUSE && t->from.elsewhere)
		s = SELECT_FETCH_ALONE; /* what is not here may be there */
	if (t->look.for_itself && !select_is_done_here(s) && s != SELECT_PASS)
		s = SELECT_FETCH_ALONE;
	if (!select_is_done_here(s) && goes_as_it_came(t)) {
		if (!t->from.elsewhere)
			t->look.reuse.fwd = "bypass";
		/* Its owner may have it, and needs every line to see what kind it is. */
		s = t->from.elsewhere ? SELECT_FETCH_ALONE : SELECT_PASS;
	}
	switch (s) {
	case SELECT_ANSWER:
	case SELECT_ANSWER_REFRESH:
		answer_stored(t, s == SELECT_ANSWER_REFRESH);
		return;
	case SELECT_REFUSE:
		answer_error(t, 504, "only-if-cached");
		t->answer = ANSWER_ONLY_IF_CACHED;
		return;
	case SELECT_PASS:
		pass(t);
		return;
	default:
		ask_origin(t, s);
		return;
	}
}

/* ---- the states ---------------------------------------------------------------------------- */

/* False: it is at fault, and answered. */
static bool
takes_route(struct txn *t)
{
	const struct outgoing_settings *set = &t->settings->outgoing;
	t->route = route_find(t->settings->routes, &t->rq);
	bool shared = !t->route->pass && t->upload.state == UPLOAD_NONE &&
		      policy_lookup(&t->rq) == LOOKUP_YES;
	shared = shared && outgoing_drop_foreign_range(&t->rq);
	if (shared && set->ignored_count) {
		struct str cookies = fields_get(&t->rq.fields, FIELD_COOKIE);
		outgoing_ignore_cookies(set, &t->rq, arena_alloc(t->arena, cookies.n));
	}
	t->fault = outgoing_init(&t->outgoing, &t->rq, set, &t->route->key, gate_trusts(t), shared);
	if (t->fault) {
		answer_fault(t, t->fault);
		return false;
	}
	t->outgoing.headers = t->route->request;
	t->outgoing.codings = &t->route->codings;
	t->rq.scheme = t->outgoing.scheme;
	return true;
}

void
lookup_begin(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	assert(t->state == TXN_BEGUN && !t->route && !t->key.primary_bytes);
	if (t->fault) {
		answer_fault(t, t->fault);
		return;
	}
	if (t->from.sibling && !sibling_takes(t))
		return;
	if (gate_answers_method(t) || !takes_route(t))
		return;
	if ((t->route->gated && gate_answers(t)) || !tunnel_begin(t))
		return;
	/* A request that must pass has a key too: an unsafe method invalidates by it. */
	bool shared = t->outgoing.shared && !t->tunnel.protocol.n;
	shared = outgoing_key(&t->outgoing, &t->key.text) && shared;
	t->outgoing.shared = shared;
	if (!shared && !gate_admits(t))
		return;
	key_is_primary(&t->key, sh->seed);
	seen_prefetch(sh->seen, t->key.primary); /* asked for below, after the cache */
	if (purging_begin(t))
		return;
	request_cc_parse(&t->rq.fields, &t->cc);
	policy_advise(t->route->policy.client, &t->cc);
	if (!shared) {
		t->cs.fwd = t->rq.method == METHOD_GET || t->rq.method == METHOD_HEAD ? "bypass"
										      : "method";
		follow_pass(t);
		return;
	}
	t->cc.only_if_cached |= t->from.asks;
	sibling_look(t);
	txn_move(t, TXN_LOOKUP);
	look_first(t);
}

/* A head in another form than ours (another program wrote it) is as if it were not there. */
static bool
is_readable(const struct object *o)
{
	struct field_block b;
	return o->kind == OBJECT_MARKER ||
	       (o->kind != OBJECT_SLICE && field_block_open(o->head, &b));
}

/* Slices that are missing would be fetched to be kept, which this request forbids (RFC 9111
 * 5.2.1.5), or by a question that is not its own: it is fetched for its client alone. A head whose
 * slices nothing tells apart, any more, is fetched anew. */
static bool
fetches_no_slices(const struct txn *t)
{
	return t->look.found->kind == OBJECT_SLICED &&
	       (t->cc.no_store || goes_as_it_came(t) ||
		!validator_is_time(t->look.found->terms.last_modified));
}

bool
lookup_run(struct txn *t)
{
	if (t->look.state == LOOKING_DUE)
		lookup_primary(t);
	if (t->look.state != LOOKING_BACK)
		return false;
	t->look.state = LOOKING_NOT;
	if (t->look.found && (!is_readable(t->look.found) || fetches_no_slices(t)))
		object_unref(&t->look.found);
	if (t->look.found && t->look.found->kind != OBJECT_MARKER && forms_refuse(t, t->look.found))
		forms_set_aside(t);
	if (t->look.found && t->look.found->kind == OBJECT_MARKER)
		lookup_variant(t, t->look.found);
	else
		go_on(t);
	return true;
}
