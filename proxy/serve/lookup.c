/* lookup.c - what the cache has for a request, and what becomes of it then: an answer from here, or
 * a way to the origin.
 */
#include "proxy/serve/lookup.h"

#include "proxy/serve/follow.h"
#include "proxy/serve/part.h"

/* ---- looking up ---------------------------------------------------------------------------- */

static void
start_lookup(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	t->lookup.home = t->serve->mailbox;
	enum found found =
		cache_lookup(sh->cache, &t->lookup, t->hash, buf_str(&t->key), &t->found);
	t->lookup_back = found != FOUND_LATER;
	t->lookup_out = found == FOUND_LATER;
	if (found == FOUND_NOT)
		t->found = NULL;
}

static void
lookup_primary(struct txn *t)
{
	t->key.n = t->primary_bytes;
	t->hash = t->primary;
	t->variant_names.n = t->nonce.n = 0;
	object_unref(&t->object);
	start_lookup(t);
}

/* A marker's head is "names\nnonce": the variant's key is the primary one, the nonce (so that
 * variants of a forgotten marker are never found again), and the request's own values. */
static void
lookup_variant(struct txn *t, struct object *marker)
{
	const char *nl = memchr(marker->head.p, '\n', marker->head.n);
	size_t names = nl ? (size_t)(nl - marker->head.p) : marker->head.n;
	t->variant_names.n = t->nonce.n = 0;
	buf_add(&t->variant_names, marker->head.p, names);
	if (nl)
		buf_add_str(&t->nonce, str_from(marker->head, names + 1));
	object_unref(&t->found);
	buf_add_lit(&t->key, "\n#");
	buf_add_str(&t->key, buf_str(&t->nonce));
	vary_key(buf_str(&t->variant_names), &t->rq.fields, &t->key);
	t->hash = key_hash_of(t->serve->shelves->seed, t->key.p, t->key.n);
	start_lookup(t);
}

/* A first sighting that asks for a part, or whether its copy is still good, is not made to pull the
 * whole object: it passes as it came. On the second sighting the whole is fetched; when somebody
 * fetches it already, this is the second. */
static bool
is_unseen(const struct txn *t)
{
	const struct shelves *sh = t->serve->shelves;
	return t->route->admit == RULE_SIGHTINGS && seen_test(sh->seen, t->primary).times == 0 &&
	       !flight_is_there(sh->flights, t->hash, buf_str(&t->key));
}

/* Nothing whole is stored; perhaps a part is. True: the lookup goes on. */
static bool
look_for_part(struct txn *t)
{
	if (t->part_asked || t->rq.method != METHOD_GET || t->variant_names.n || t->cc.no_store ||
	    !atomic_load_explicit(&t->serve->shelves->has_parts, memory_order_relaxed))
		return false;
	t->part_asked = t->part_awaited = true;
	t->key.n = t->primary_bytes;
	part_key(&t->key);
	t->hash = key_hash_of(t->serve->shelves->seed, t->key.p, t->key.n);
	txn_move(t, TXN_LOOKUP);
	start_lookup(t);
	return true;
}

/* The lookup of the part is back: it may answer, or (t->part) wait to be completed. */
static bool
answered_by_part(struct txn *t)
{
	struct slice want;
	uint64_t total;
	int64_t now = now_s();
	t->part_awaited = false;
	t->part = t->found;
	t->found = NULL;
	t->key.n = t->primary_bytes;
	t->hash = t->primary;
	if (!t->part)
		return false;
	struct reuse_verdict v = policy_reuse(&t->part->terms, &t->rq, &t->cc, now);
	if (v.reuse != REUSE_FRESH) {
		object_unref(&t->part);
		return false;
	}
	if (!part_answers(t->part, &t->rq, now, &want, &total))
		return false;
	/* Asked for often enough: the whole is fetched behind the client's back (DESIGN 2.3). */
	unsigned sightings = seen_record(t->serve->shelves->seen, t->primary).times + 1;
	if (sightings >= t->settings->config->admission.sightings)
		fill_behind(t, FILL_MISS);
	t->cs.fwd = NULL;
	t->cs.hit = t->cs.has_ttl = true;
	t->cs.ttl = v.ttl;
	t->answer = ANSWER_RAM;
	t->detail = "ram";
	answer_part(t, want, total);
	return true;
}

static void
miss(struct txn *t)
{
	if (look_for_part(t))
		return;
	if (t->cc.only_if_cached) {
		answer_error(t, 504, "only-if-cached");
		return;
	}
	t->cs.fwd = t->variant_names.n ? "vary-miss" : "uri-miss";
	if (t->rq.method == METHOD_HEAD || t->cc.no_store) {
		follow_alone(t, FILL_PASS); /* counts as a miss, though nothing is kept */
		return;
	}
	if (policy_asks_for_less(&t->rq) && is_unseen(t)) {
		object_unref(&t->part);
		t->as_it_came = true;
		follow_alone(t, FILL_MISS);
		return;
	}
	follow_together(t);
}

static void
validate(struct txn *t)
{
	if (t->cc.only_if_cached) {
		answer_error(t, 504, "only-if-cached");
		return;
	}
	t->cs.fwd = t->reuse.fwd ? t->reuse.fwd : "stale";
	t->stale_ok = t->reuse.stale_on_error;
	follow_together(t);
}

/* ---- hits ---------------------------------------------------------------------------------- */

static void
count_hit(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	struct object *o = t->object;
	bool ram = o->place == OBJECT_IN_RAM;
	t->answer = ram ? ANSWER_RAM : ANSWER_DISK;
	t->detail = ram ? "ram" : "disk";
	if (t->rq.method != METHOD_GET)
		return;
	bool counts = admission_counts(o->terms.status);
	unsigned sightings = counts ? seen_record(sh->seen, t->primary).times + 1 : 0;
	/* Enough sightings of what the disk refused: written from RAM, no second fetch
	 * (DESIGN 2.7). */
	if (!o->on_disk && counts && t->route->admit != RULE_NEVER &&
	    sightings >= t->settings->config->admission.sightings) {
		cache_admit(sh->cache, o);
		metrics_add(t->serve->metrics, METRIC_SEEN_CURRENT, 1);
	}
	struct baseline_request b = {
		.hash = t->hash,
		.record_bytes = cache_record_bytes(o->key.n, o->head.n, o->body_bytes),
		.fresh_until = o->terms.response_time - o->terms.initial_age + o->terms.lifetime,
		.now = now_s(),
	};
	baseline_request(sh->baseline, &b);
}

static void
hit(struct txn *t)
{
	t->cs.fwd = NULL; /* also when it was on its way to the origin before (RFC 9211 2.1) */
	t->cs.hit = true;
	t->cs.has_ttl = true;
	t->cs.ttl = t->reuse.ttl;
	count_hit(t);
	if (t->reuse.reuse != REUSE_FRESH)
		t->answer = ANSWER_STALE;
	if (t->reuse.reuse == REUSE_STALE_REFRESH)
		fill_behind(t, FILL_VALIDATE);
	answer_object(t);
}

static void
on_found(struct txn *t)
{
	t->object = t->found;
	t->found = NULL;
	t->reuse = policy_reuse(&t->object->terms, &t->rq, &t->cc, now_s());
	switch (t->reuse.reuse) {
	case REUSE_FRESH:
	case REUSE_STALE:
	case REUSE_STALE_REFRESH:
		hit(t);
		return;
	case REUSE_VALIDATE:
		if (t->rq.method == METHOD_HEAD &&
		    !t->cc.only_if_cached) { /* its answer updates what is stored (RFC 9111 4.3.5)
					      */
			t->cs.fwd = t->reuse.fwd ? t->reuse.fwd : "stale";
			t->stale_ok = t->reuse.stale_on_error;
			follow_alone(t, FILL_PASS);
			return;
		}
		validate(t);
		return;
	case REUSE_NEVER:
		object_unref(&t->object);
		t->cs.fwd = t->reuse.fwd ? t->reuse.fwd : "request";
		follow_pass(t);
		return;
	}
}

/* ---- the states ---------------------------------------------------------------------------- */

static bool
answered_here(struct txn *t)
{
	struct str hops = fields_get(&t->rq.fields, FIELD_MAX_FORWARDS);
	bool last = str_eq(hops, STR("0"));
	if (t->rq.method == METHOD_OPTIONS && last) {
		answer_local(t, 200, STR("Allow: GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS\r\n"),
			     STR(""));
		return true;
	}
	/* RFC 9110 9.3.8 would echo the request; that hands credentials to scripts, so nobody does.
	 */
	if (t->rq.method == METHOD_TRACE) {
		answer_local(t, 405, STR("Allow: GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS\r\n"),
			     STR(""));
		return true;
	}
	return false;
}

void
lookup_begin(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	if (t->fault) {
		answer_fault(t, t->fault);
		return;
	}
	if (answered_here(t))
		return;
	t->route = route_find(t->settings->routes, &t->rq);
	bool keyed = cachekey_build(&t->rq, &t->route->key, &t->key);
	if (!keyed) { /* passes because of a cookie; an unsafe method still invalidates by this key
		       */
		struct key_rules rules = t->route->key;
		rules.pass_cookie_count = 0;
		t->key.n = 0;
		cachekey_build(&t->rq, &rules, &t->key);
	}
	t->primary_bytes = t->key.n;
	t->primary = t->hash = key_hash_of(sh->seed, t->key.p, t->key.n);
	seen_prefetch(sh->seen, t->primary); /* asked for below, after the cache */
	request_cc_parse(&t->rq.fields, &t->cc);
	if (!keyed || t->route->pass || !t->body_over || policy_lookup(&t->rq) == LOOKUP_NO) {
		t->cs.fwd = t->rq.method == METHOD_GET || t->rq.method == METHOD_HEAD ? "bypass"
										      : "method";
		follow_pass(t);
		return;
	}
	txn_move(t, TXN_LOOKUP);
	start_lookup(t);
}

bool
lookup_run(struct txn *t)
{
	if (t->again)
		lookup_primary(t);
	t->again = false;
	if (!t->lookup_back)
		return false;
	t->lookup_back = false;
	if (t->found && fill_is_forgotten(t->serve->shelves, t->route, buf_str(&t->key),
					  t->found->terms.response_time))
		object_unref(&t->found);
	if (t->part_awaited) {
		if (!answered_by_part(t))
			miss(t);
	} else if (!t->found)
		miss(t);
	else if (t->found->kind == OBJECT_MARKER)
		lookup_variant(t, t->found);
	else
		on_found(t);
	return true;
}
