/* txn.c - what happens to a request: parse, route, look up, decide, wait for a flight.
 *
 * Each state has one small function that moves the transaction on or says it waits; callbacks from
 * the cache and from flights only note the news and drive the connection.
 */
#include "proxy/serve/txn.h"

#include "proxy/base/mem.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/part.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/tally.h"
#include "proxy/http/h1_parse.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

enum { SPARES_MAX = 256, RESTARTS_MAX = 4, BODY_BUFFER = 64 << 10 };

/* ---- states -------------------------------------------------------------------------------- */

const char *
txn_state_word(enum txn_state s)
{
	static const char *const words[] = {
#define STATE(name, waits_for, truth) #name,
#define EDGE(from, to, why)
#include "proxy/serve/txn_states.h"
#undef STATE
#undef EDGE
	};
	return words[s];
}

bool
txn_may_move(enum txn_state from, enum txn_state to)
{
	static const uint8_t moves[] = {
#define STATE(name, waits_for, truth)
#define EDGE(from, to, why) TXN_##from << 4 | TXN_##to,
#include "proxy/serve/txn_states.h"
#undef STATE
#undef EDGE
	};
	for (size_t i = 0; i < sizeof moves; i++)
		if (moves[i] == (from << 4 | to))
			return true;
	return false;
}

void
txn_move(struct txn *t, enum txn_state to)
{
	assert(txn_may_move(t->state, to));
	t->state = to;
}

/* ---- memory -------------------------------------------------------------------------------- */

static void
clear(struct txn *t)
{
	struct buf head = t->head, key = t->key, names = t->variant_names, nonce = t->nonce,
		   out = t->out;
	head.n = key.n = names.n = nonce.n = out.n = 0;
	memset(t, 0, offsetof(struct txn, fields));
	t->head = head;
	t->key = key;
	t->variant_names = names;
	t->nonce = nonce;
	t->out = out;
}

static void
free_txn(struct txn *t)
{
	buf_fini(&t->head);
	buf_fini(&t->key);
	buf_fini(&t->variant_names);
	buf_fini(&t->nonce);
	buf_fini(&t->out);
	free(t);
}

static struct txn *
take_txn(struct conn *c)
{
	struct serve *w = &c->worker->serve;
	struct txn *t = w->spare_txns;
	if (t) {
		w->spare_txns = t->spare_next;
		w->spare_count--;
		clear(t);
	} else {
		t = NEW(struct txn);
	}
	t->conn = c;
	t->serve = w;
	t->settings = settings_ref(w->settings);
	t->begun_us = now_us();
	return t;
}

static void
give_back(struct txn *t)
{
	struct serve *w = t->serve;
	if (w->spare_count >= SPARES_MAX || t->out.cap > 64 << 10) {
		free_txn(t);
		return;
	}
	t->spare_next = w->spare_txns;
	w->spare_txns = t;
	w->spare_count++;
}

void
txn_free_spares(struct serve *w)
{
	while (w->spare_txns) {
		struct txn *t = w->spare_txns;
		w->spare_txns = t->spare_next;
		free_txn(t);
	}
	w->spare_count = 0;
}

/* Lets go of everything but the memory; an answer from the disk may still be outstanding. */
static void
let_go(struct txn *t)
{
	if (t->fill)
		fill_body_gone(t->fill); /* clears t->fill */
	flight_leave(&t->reader);
	object_unref(&t->found);
	object_unref(&t->object);
	object_unref(&t->part);
	block_unref(&t->piece_block);
	settings_unref(&t->settings);
	if (!t->read_out)
		body_done(&t->read);
}

void
txn_came_home(struct txn *t)
{
	if (!t->lookup_out && !t->read_out)
		give_back(t);
}

/* ---- beginning ----------------------------------------------------------------------------- */

static const struct fault *
parse(struct txn *t, struct str head, bool over)
{
	const struct config *c = t->settings->config;
	/* The target is part of the head: a smaller limits.head limits it too. */
	struct h1_limits limits = {
		.head_bytes = c->limits.head_bytes,
		.url_bytes = c->limits.url_bytes,
		.field_count = c->limits.fields,
	};
	if (over)
		return memchr(head.p, '\n', head.n) ? &fault_HEAD_TOO_LARGE : &fault_URL_TOO_LONG;
	t->rq.fields.v = t->fields;
	t->rq.fields.cap = FIELDS_MAX;
	return h1_parse_request(buf_str(&t->head), &limits, &t->rq);
}

struct txn *
txn_begin(struct conn *c, struct str head, bool over)
{
	struct txn *t = take_txn(c);
	buf_add_str(&t->head, head);
	metrics_add(t->serve->metrics, METRIC_REQUESTS, 1);
	t->fault = parse(t, head, over);
	if (!t->fault && t->rq.method == METHOD_CONNECT)
		t->fault = &fault_CONNECT;
	if (!t->fault) {
		/* What the listener speaks, not what an absolute-form target claims: else a plain
		 * client could fill the keys of https. */
		t->rq.scheme = STR("http");
		uint64_t most = t->settings->config->limits.body_bytes;
		if (t->rq.framing == FRAMING_LENGTH && most && t->rq.content_length > most)
			t->fault = &fault_BODY_TOO_LARGE;
		t->body_left = t->rq.framing == FRAMING_LENGTH ? t->rq.content_length : 0;
	}
	t->body_over = t->fault || t->rq.framing == FRAMING_NONE ||
		       (t->rq.framing == FRAMING_LENGTH && t->rq.content_length == 0);
	t->keep_alive = !t->fault && t->rq.keep_alive;
	return t;
}

struct txn *
txn_begin_fault(struct conn *c, const struct fault *fault)
{
	struct txn *t = take_txn(c);
	metrics_add(t->serve->metrics, METRIC_REQUESTS, 1);
	t->fault = fault;
	t->body_over = true;
	return t;
}

/* ---- looking up ---------------------------------------------------------------------------- */

static void start_lookup(struct txn *t);

static void
on_lookup(struct cache_lookup *l, struct object *o)
{
	struct txn *t = (struct txn *)((char *)l - offsetof(struct txn, lookup));
	t->lookup_out = false;
	t->lookup_back = true;
	t->found = o;
	if (t->conn) {
		conn_drive(t->conn);
		return;
	}
	object_unref(&t->found);
	txn_came_home(t);
}

static void
start_lookup(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	t->lookup.home = t->serve->mailbox;
	t->lookup.done = on_lookup;
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
	t->hash = t->sighting_key = t->primary;
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
	size_t variant = t->key.n;
	const struct filter_seed *seed = t->serve->shelves->seed;
	vary_key(buf_str(&t->variant_names), &t->rq.fields, &t->key);
	t->hash = key_hash_of(seed, t->key.p, t->key.n);
	t->sighting_key = sighting_key(seed, t->primary, str_from(buf_str(&t->key), variant));
	start_lookup(t);
}

/* ---- going to the origin ------------------------------------------------------------------- */

static void
on_wake(void *ctx)
{
	struct txn *t = ctx;
	conn_drive(t->conn);
}

static void
go_alone(struct txn *t, enum fill_kind kind)
{
	flight_leave(&t->reader);
	t->reader = flight_enter_alone(t->serve->shelves->flights, t->serve->mailbox, on_wake, t);
	t->leader = true;
	txn_move(t, TXN_WAIT_FLIGHT);
	fill_start(t, kind);
}

static void
pass(struct txn *t)
{
	t->passing = true;
	go_alone(t, FILL_PASS);
}

static bool
asks_for_less(const struct txn *t)
{
	const struct fields *f = &t->rq.fields;
	return fields_has(f, FIELD_RANGE) || fields_has(f, FIELD_IF_NONE_MATCH) ||
	       fields_has(f, FIELD_IF_MODIFIED_SINCE);
}

static struct sighting_facts
facts_of(const struct txn *t, int status)
{
	char client[INET6_ADDRSTRLEN] = "";
	if (fields_has(&t->rq.fields, FIELD_RANGE))
		conn_peer(t->conn, client);
	return sight_of(&t->rq, t->route, status, client, t->serve->shelves->seed);
}

/* Is this request reason enough to fetch the whole of what it asks for? */
static bool
is_worth_the_whole(const struct txn *t)
{
	struct sighting_facts f = facts_of(t, 200);
	return seen_look(t->serve->shelves->seen, t->sighting_key, &f).whole;
}

void
txn_judge_stored(struct txn *t)
{
	struct sighting_facts f = facts_of(t, t->object->terms.status);
	f.kind = SIGHTING_VALIDATION;
	f.on_disk = t->object->on_disk;
	t->sighting = seen_look(t->serve->shelves->seen, t->sighting_key, &f);
}

/* For this client alone. One who wants less is not made to pull the whole of what is not for the
 * store, or is on its way there. */
static void
fetch_own(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	t->as_it_came = !t->object && asks_for_less(t) &&
			(!is_worth_the_whole(t) || fill_is_writing(sh, t->hash));
	go_alone(t, t->object ? FILL_VALIDATE : FILL_MISS);
}

/* A part to be completed: by who leads. */
static bool
is_completed(const struct txn *t)
{
	struct slice gap;
	struct str validator;
	return t->part && part_next_gap(t->part, 0, &gap, &validator);
}

/* To the origin for t->object's freshness or for the whole; together with whoever asks for the
 * same. */
static void
go_together(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	enum fill_kind kind = t->object ? FILL_VALIDATE : FILL_MISS;
	if (passes_has(sh->passes, t->hash, now_s())) {
		fetch_own(t);
		return;
	}
	flight_leave(&t->reader);
	t->leader = flight_enter(sh->flights, t->hash, buf_str(&t->key), t->serve->mailbox, on_wake,
				 t, &t->reader);
	txn_move(t, TXN_WAIT_FLIGHT);
	if (t->leader && is_completed(t))
		t->cs.fwd = "partial";
	if (t->leader)
		fill_start(t, kind);
	else
		metrics_add(t->serve->metrics, METRIC_JOINED, 1);
}

/* A first sighting that asks for a part, or whether its copy is still good, is not made to pull the
 * whole object: it passes as it came. On the second sighting the whole is fetched; when somebody
 * fetches it already, this is the second. */
static bool
is_unseen(const struct txn *t)
{
	const struct shelves *sh = t->serve->shelves;
	return !is_worth_the_whole(t) && !flight_is_there(sh->flights, t->hash, buf_str(&t->key));
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
	struct sighting_facts f = facts_of(t, 200);
	t->sighting = seen_judge(t->serve->shelves->seen, t->sighting_key, &f);
	if (t->sighting.writes)
		fill_behind(t, FILL_MISS);
	bill_hit(t, t->part, total);
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
		t->answer = ANSWER_ONLY_IF_CACHED;
		return;
	}
	t->cs.fwd = t->variant_names.n ? "vary-miss" : "uri-miss";
	if (t->rq.method == METHOD_HEAD || t->cc.no_store) {
		go_alone(t, FILL_PASS); /* counts as a miss, though nothing is kept */
		return;
	}
	if (asks_for_less(t) && is_unseen(t)) {
		object_unref(&t->part);
		t->as_it_came = true;
		go_alone(t, FILL_MISS);
		return;
	}
	go_together(t);
}

static void
validate(struct txn *t)
{
	if (t->cc.only_if_cached) {
		answer_error(t, 504, "only-if-cached");
		t->answer = ANSWER_ONLY_IF_CACHED;
		return;
	}
	t->cs.fwd = t->reuse.fwd ? t->reuse.fwd : "stale";
	t->stale_ok = t->reuse.stale_on_error;
	go_together(t);
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
	struct sighting_facts f = facts_of(t, o->terms.status);
	f.on_disk = o->on_disk;
	f.body_bytes = o->body_bytes;
	t->sighting = seen_judge(sh->seen, t->sighting_key, &f);
	if (t->rq.method != METHOD_GET)
		return;
	/* Enough sightings of what the disk refused: written from RAM, no second fetch
	 * (DESIGN 2.7). */
	if (t->sighting.writes && cache_admit(sh->cache, o))
		seen_charge(sh->seen,
			    (int64_t)cache_record_bytes(o->key.n, o->head.n, o->body_bytes));
	if (t->reuse.reuse == REUSE_FRESH) /* else the refresh behind it tells */
		bill_hit(t, o, o->body_bytes);
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
			go_alone(t, FILL_PASS);
			return;
		}
		validate(t);
		return;
	case REUSE_NEVER:
		object_unref(&t->object);
		t->cs.fwd = t->reuse.fwd ? t->reuse.fwd : "request";
		pass(t);
		return;
	}
}

/* ---- states, one function each ------------------------------------------------------------- */

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

static void
run_begun(struct txn *t)
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
	t->primary = t->hash = t->sighting_key = key_hash_of(sh->seed, t->key.p, t->key.n);
	seen_prefetch(sh->seen, t->primary); /* asked for below, after the cache */
	request_cc_parse(&t->rq.fields, &t->cc);
	if (!keyed || t->route->pass || !t->body_over || policy_lookup(&t->rq) == LOOKUP_NO) {
		t->cs.fwd = t->rq.method == METHOD_GET || t->rq.method == METHOD_HEAD ? "bypass"
										      : "method";
		pass(t);
		return;
	}
	txn_move(t, TXN_LOOKUP);
	start_lookup(t);
}

static void
run_lookup(struct txn *t)
{
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
}

/* Whether what a flight that somebody else leads brings is right for this request too. */
static bool
is_for_us(struct txn *t, const struct flight_head *h, bool *other_variant)
{
	*other_variant = false;
	const struct terms *terms = h->object ? &h->object->terms : &h->terms;
	if (!h->object && (!h->storable || h->too_large))
		return false;
	if (!h->object && h->vary.n) { /* on more, perhaps, than the marker we met says */
		struct buf mine = {0};
		vary_key(buf_str(&h->vary), &t->rq.fields, &mine);
		*other_variant = !str_eq(buf_str(&mine), buf_str(&h->variant));
		buf_fini(&mine);
		if (*other_variant)
			return false;
	}
	struct reuse_verdict v = policy_reuse(terms, &t->rq, &t->cc, now_s());
	return v.reuse == REUSE_FRESH || v.reuse == REUSE_STALE || v.reuse == REUSE_STALE_REFRESH;
}

static void
begin_again(struct txn *t)
{
	flight_leave(&t->reader);
	object_unref(&t->part);
	t->leader = t->part_asked = t->stale_ok = false;
	t->restarts++;
	txn_move(t, TXN_LOOKUP);
	lookup_primary(t);
}

static void
serve_stale(struct txn *t)
{
	flight_leave(&t->reader);
	t->answer = ANSWER_STALE;
	txn_judge_stored(t);
	t->detail = "stale-if-error";
	t->cs.hit = false;
	t->cs.has_ttl = true;
	t->cs.ttl = t->object->terms.lifetime - terms_age(&t->object->terms, now_s());
	answer_object(t);
}

static void
on_failed_flight(struct txn *t)
{
	int status;
	const char *word;
	flight_failure(flight_of(t->reader), &status, &word);
	if (t->fault) { /* the request's own body was at fault */
		answer_fault(t, t->fault);
		return;
	}
	bool handed_over = status == 0; /* the leader left without asking to the end */
	if (handed_over && t->restarts < RESTARTS_MAX) {
		begin_again(t);
		return;
	}
	if (t->object && t->stale_ok) {
		serve_stale(t);
		return;
	}
	answer_error(t, status ? status : 502, word ? word : "aborted");
}

static void
on_flight_head(struct txn *t)
{
	struct flight *f = flight_of(t->reader);
	const struct flight_head *h = flight_head(f);
	if (t->object && t->stale_ok && policy_is_trouble(h->status)) {
		t->cs.fwd_status = h->status;
		serve_stale(t);
		return;
	}
	bool other_variant = false;
	if (!t->leader && !is_for_us(t, h, &other_variant)) {
		if (other_variant && t->restarts < RESTARTS_MAX)
			begin_again(t);
		else
			fetch_own(t);
		return;
	}
	answer_flight(t);
}

static bool
run_wait_flight(struct txn *t)
{
	struct flight *f = flight_of(t->reader);
	enum flight_state s = flight_state(f);
	if (t->leader && t->rq.minor >= 1)
		flight_read_interim(t->reader, &t->out);
	if (s == FLIGHT_WAITING) {
		if (t->out.n > t->out_at)
			answer_pump(t);
		if (t->conn->waiting != WAIT_BODY || t->body_over)
			if (t->conn->waiting != WAIT_FLIGHT)
				conn_wait(t->conn, t->leader ? WAIT_NOTHING : WAIT_FLIGHT);
		return false;
	}
	conn_wait(t->conn, WAIT_NOTHING);
	/* A flight that failed behind its head is answered, then cut off. */
	if (s == FLIGHT_FAILED && flight_head(f)->status == 0)
		on_failed_flight(t);
	else
		on_flight_head(t);
	return true;
}

enum txn_next
txn_run(struct txn *t)
{
	if (t->fill && !t->body_over)
		fill_body_ready(t->fill);
	for (;;) {
		switch (t->state) {
		case TXN_BEGUN:
			run_begun(t);
			break;
		case TXN_LOOKUP:
			if (!t->lookup_back)
				return TXN_WAITS;
			run_lookup(t);
			break;
		case TXN_WAIT_FLIGHT:
			if (!run_wait_flight(t))
				return t->conn->broken ? TXN_CLOSE : TXN_WAITS;
			break;
		case TXN_SEND:
			return answer_pump(t);
		case TXN_DONE:
			return TXN_CLOSE;
		}
	}
}

void
txn_timeout(struct txn *t, enum waiting what)
{
	if (what == WAIT_FLIGHT && t->state == TXN_WAIT_FLIGHT && !t->leader) {
		fetch_own(t); /* waited long enough for another's fetch */
		return;
	}
	if (what == WAIT_BODY) {
		t->body_failed = true;
		t->keep_alive = false;
		if (t->fill)
			fill_body_gone(t->fill);
		if (t->state == TXN_WAIT_FLIGHT) {
			flight_leave(&t->reader);
			answer_fault(t, &fault_BODY_TIMEOUT);
		}
	}
}

/* ---- end ----------------------------------------------------------------------------------- */

void
txn_finish(struct txn *t)
{
	if (t->state != TXN_DONE)
		txn_move(t, TXN_DONE);
	tally_answer(t);
	access_log(t);
	let_go(t);
	t->conn->txn = NULL;
	t->conn = NULL;
	txn_came_home(t);
}

void
txn_abandon(struct txn *t)
{
	t->cut = true;
	txn_finish(t);
}
