/* fill.c - a trip to the origin, from the request that leaves to the object that stays.
 *
 *	on_head   judge: storable? on which terms? seen before? -> publish to the flight's readers
 *	on_body   to the flight's blocks, and from there to the cache write
 *	whole     commit: the object is visible before the last reader has its last byte
 *	on_done   end, or fail: cut short, it was never there
 */
#include "proxy/edge/fill.h"
#include "proxy/edge/part.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/precond.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { PASSES_REMEMBER_S = 60, FINISH_BYTES = 1 << 20 };

struct fill {
	struct worker *worker;
	struct fill *next, **prev;
	enum fill_kind kind;
	bool as_it_came;   /* the client's conditions and ranges were sent along */
	bool background;   /* nobody waits */
	struct flight *flight;
	struct fetch *fetch;
	struct txn *feeder; /* sends the request's body */
	struct buf head;    /* of the request: rq's views point here */
	struct request rq;
	const struct route *route;
	struct buf key; /* of what was looked up; the primary key is its first primary_bytes */
	size_t primary_bytes;
	struct key_hash primary, hash;
	struct buf marker_names, marker_nonce;
	struct buf merged; /* a head made of a part's and its completion's */
	struct object *object; /* being validated; a reference */
	struct object *part;   /* a stored 206 being completed; a reference */
	char client_ip[INET6_ADDRSTRLEN];
	unsigned origin; /* index of the one being asked */
	int64_t request_time;

	unsigned times;    /* sightings known before this one */
	bool published, whole, storable;
	bool keeps_part;   /* the write is of a 206, under a key of its own */
	bool part_added;
	struct object_write *write;
	enum admission verdict;
	struct terms terms;
	struct key_hash stored_hash;
	size_t stored_key_bytes, stored_head_bytes;
	uint64_t expected, received;
	size_t taken; /* of the bytes on_body will bring again */
};

/* ---- memory -------------------------------------------------------------------------------- */

static struct str
moved(struct str s, const char *from, size_t n, const char *to)
{
	if (s.p >= from && s.p <= from + n)
		s.p = to + (s.p - from);
	return s;
}

/* A request whose views point into its own copy of the head. */
static void
copy_request(struct fill *f, const struct txn *t)
{
	const char *from = t->head.p;
	size_t n = t->head.n;
	buf_add(&f->head, from, n);
	const char *to = f->head.p;
	f->rq = t->rq;
	struct str *views[] = {&f->rq.method_name, &f->rq.target, &f->rq.scheme, &f->rq.authority,
		               &f->rq.path_query};
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
		*views[i] = moved(*views[i], from, n, to);
	f->rq.fields.v = mem_alloc((t->rq.fields.n + 1) * sizeof(struct field));
	f->rq.fields.cap = t->rq.fields.n;
	for (unsigned i = 0; i < t->rq.fields.n; i++) {
		struct field field = t->rq.fields.v[i];
		field.name = moved(field.name, from, n, to);
		field.value = moved(field.value, from, n, to);
		f->rq.fields.v[i] = field;
	}
}

static struct fill *
fill_new(struct txn *t, enum fill_kind kind, struct flight *flight)
{
	struct worker *w = t->worker;
	struct fill *f = NEW(struct fill);
	f->worker = w;
	f->kind = kind;
	f->flight = flight_ref(flight);
	f->as_it_came = t->as_it_came || kind == FILL_PASS;
	f->route = t->route;
	copy_request(f, t);
	buf_add_str(&f->key, buf_str(&t->key));
	f->primary_bytes = t->primary_bytes;
	f->primary = t->primary;
	f->hash = t->hash;
	buf_add_str(&f->marker_names, buf_str(&t->variant_names));
	buf_add_str(&f->marker_nonce, buf_str(&t->nonce));
	conn_peer(t->conn, f->client_ip);
	f->next = w->fills;
	f->prev = &w->fills;
	if (f->next)
		f->next->prev = &f->next;
	w->fills = f;
	return f;
}

static void
drop_feeder(struct fill *f)
{
	if (f->feeder)
		f->feeder->fill = NULL;
	f->feeder = NULL;
}

static void
fill_free(struct fill *f)
{
	*f->prev = f->next;
	if (f->next)
		f->next->prev = f->prev;
	drop_feeder(f);
	if (f->write)
		cache_write_abandon(&f->write);
	flight_close(f->flight);
	flight_drop_leader(f->flight);
	flight_unref(&f->flight);
	object_unref(&f->object);
	object_unref(&f->part);
	free(f->rq.fields.v);
	buf_fini(&f->head);
	buf_fini(&f->key);
	buf_fini(&f->marker_names);
	buf_fini(&f->marker_nonce);
	buf_fini(&f->merged);
	free(f);
}

/* ---- to the origin ------------------------------------------------------------------------- */

static const struct fetch_events events;
static void whole(struct fill *f);

static struct str
line_of(const struct object *o, struct field *fields, struct response *r, enum field_id id)
{
	*r = (struct response){.fields = {.v = fields, .cap = FIELDS_MAX}};
	return h1_parse_response(o->head, r) ? fields_get(&r->fields, id) : (struct str){0};
}

static void
go(struct fill *f)
{
	struct shared *sh = f->worker->shared;
	struct forward forward = {
		.client_ip = str_of(f->client_ip),
		.scheme = f->rq.scheme,
		.via_name = str_of(sh->config->forwarded.via),
		.trust_forwarded = sh->config->forwarded.trust,
		.strip_conditions = !f->as_it_came,
	};
	struct field fields[FIELDS_MAX];
	struct response stored;
	char range[64];
	struct slice gap;
	if (f->part && part_gap(f->part, &gap, &forward.if_range)) {
		int n = gap.at ? snprintf(range, sizeof range, "bytes=%llu-", (unsigned long long)gap.at)
		               : snprintf(range, sizeof range, "bytes=0-%llu",
		                          (unsigned long long)gap.n - 1);
		forward.range = (struct str){range, (size_t)n};
	}
	if (f->object && f->kind == FILL_VALIDATE) {
		forward.if_none_match = (struct str){f->object->head.p + f->object->terms.etag_at,
			                             f->object->terms.etag_bytes};
		forward.if_modified_since = line_of(f->object, fields, &stored, FIELD_LAST_MODIFIED);
	}
	struct str primary = {f->key.p, f->primary_bytes};
	struct buf lines = {0};
	head_forward(&f->rq, &forward, &lines);
	struct fetch_request r = {
		.origin = sh->origins[f->origin],
		.method = f->rq.method_name,
		.target = f->as_it_came ? f->rq.path_query : cachekey_target(primary),
		.host = f->rq.authority,
		.fields = buf_str(&lines),
		.framing = f->kind == FILL_PASS ? f->rq.framing : FRAMING_NONE,
		.content_length = f->rq.content_length,
		.idempotent = method_is_idempotent(f->rq.method),
	};
	f->request_time = now_s();
	metrics_add(&f->worker->metrics, METRIC_ORIGIN_REQUESTS, 1);
	f->fetch = fetch_start(f->worker->fetcher, &r, &events, f);
	buf_fini(&lines);
}

/* Ends everything early; readers see a failure with this status (0: ask again yourselves). */
static void
abandon(struct fill *f, int status, const char *word)
{
	if (f->fetch)
		fetch_cancel(&f->fetch);
	if (!f->whole)
		flight_fail(f->flight, status, word);
	fill_free(f);
}

/* Room in the window again, or nobody reads any more: is it worth going on? */
static void
on_leader_wake(void *ctx)
{
	struct fill *f = ctx;
	bool nearly_done = f->write && f->expected != UINT64_MAX &&
	                   f->expected - f->received <= FINISH_BYTES;
	bool worth = f->background || f->whole || nearly_done ||
	             (f->write && admission_writes(f->verdict));
	if (flight_readers(f->flight) == 0 && !worth) {
		abandon(f, 0, "abandoned");
		return;
	}
	if (f->fetch)
		fetch_resume(f->fetch);
}

/* What is stored already and may be validated or completed. */
static void
keep_stored(struct fill *f, const struct txn *t)
{
	struct slice gap;
	struct str etag;
	if (t->object)
		f->object = object_ref(t->object);
	if (f->kind == FILL_MISS && !f->as_it_came && t->part && part_gap(t->part, &gap, &etag))
		f->part = object_ref(t->part);
}

void
fill_start(struct txn *t, enum fill_kind kind)
{
	struct fill *f = fill_new(t, kind, flight_of(t->reader));
	keep_stored(f, t);
	if (!t->body_over) {
		f->feeder = t;
		t->fill = f;
	}
	flight_set_leader(f->flight, &f->worker->mailbox, on_leader_wake, f);
	go(f);
}

void
fill_behind(struct txn *t, enum fill_kind kind)
{
	struct shared *sh = t->worker->shared;
	struct flight *flight = flight_lead(sh->flights, t->hash, buf_str(&t->key));
	if (!flight)
		return;
	struct fill *f = fill_new(t, kind, flight);
	f->background = true;
	keep_stored(f, t);
	flight_set_leader(f->flight, &f->worker->mailbox, on_leader_wake, f);
	flight_unref(&flight);
	go(f);
}

void
fill_cancel_all(struct worker *w)
{
	while (w->fills)
		abandon(w->fills, 503, "shutting-down");
}

/* ---- the request's body -------------------------------------------------------------------- */

void
fill_body_ready(struct fill *f)
{
	if (f->fetch && f->feeder && f->feeder->body_wanted) {
		f->feeder->body_wanted = false;
		fetch_send_more(f->fetch);
	}
}

void
fill_body_gone(struct fill *f)
{
	struct txn *t = f->feeder;
	drop_feeder(f);
	if (t && !t->body_over && !f->whole)
		abandon(f, 502, "request-body-failed");
}

static void
say_continue(struct txn *t)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec iov = {(void *)(uintptr_t)line, sizeof line - 1};
	if (t->rq.expect_continue && !t->continue_sent && t->rq.minor >= 1)
		conn_write(t->conn, &iov, 1); /* the first bytes of a connection's turn: they fit */
	t->continue_sent = true;
}

static ptrdiff_t
take_chunked(struct txn *t, struct str in, char *p, size_t max)
{
	struct str rest = {in.p, in.n < max ? in.n : max}, data;
	const struct fault *fault = NULL;
	size_t got = 0;
	for (;;) {
		switch (chunked_decode(&t->chunked, &rest, &data, &fault)) {
		case CHUNKED_DATA:
			memcpy(p + got, data.p, data.n);
			got += data.n;
			continue;
		case CHUNKED_DONE:
			t->body_over = true;
			break;
		case CHUNKED_FAULT:
			t->fault = fault;
			t->body_failed = true;
			break;
		case CHUNKED_MORE:
			break;
		}
		break;
	}
	conn_consume(t->conn, (size_t)(rest.p - in.p));
	return t->body_failed ? FETCH_SEND_ABORT : (ptrdiff_t)got;
}

static ptrdiff_t
take_counted(struct txn *t, struct str in, char *p, size_t max)
{
	size_t n = in.n < max ? in.n : max;
	if (n > t->body_left)
		n = (size_t)t->body_left;
	memcpy(p, in.p, n);
	t->body_left -= n;
	t->body_over = t->body_left == 0;
	conn_consume(t->conn, n);
	return (ptrdiff_t)n;
}

static ptrdiff_t
on_send(void *ctx, char *p, size_t max)
{
	struct fill *f = ctx;
	struct txn *t = f->feeder;
	if (!t)
		return FETCH_SEND_ABORT;
	uint64_t most = f->worker->shared->config->limits.body_bytes;
	while (!t->body_over) {
		struct str in = conn_input(t->conn);
		if (in.n == 0) {
			if (t->conn->eof) {
				t->body_failed = true;
				return FETCH_SEND_ABORT;
			}
			say_continue(t);
			t->body_wanted = true;
			conn_wait(t->conn, WAIT_BODY);
			return FETCH_SEND_LATER;
		}
		t->continue_sent = true;
		ptrdiff_t n = t->rq.framing == FRAMING_CHUNKED ? take_chunked(t, in, p, max)
		                                               : take_counted(t, in, p, max);
		conn_keep_view(t->conn);
		if (n > 0 && most && (t->body_taken += (uint64_t)n) > most) {
			t->fault = &fault_BODY_TOO_LARGE;
			t->body_failed = true;
			return FETCH_SEND_ABORT;
		}
		if (n != 0) {
			if (t->body_over)
				conn_wait(t->conn, WAIT_NOTHING);
			return n;
		}
	}
	conn_wait(t->conn, WAIT_NOTHING);
	return 0;
}

/* ---- judging ------------------------------------------------------------------------------- */

bool
fill_forget(struct shared *sh, struct key_hash hash, struct str key)
{
	bool had = cache_remove(sh->cache, hash, key);
	flight_invalidate(sh->flights, hash, key);
	baseline_remove(sh->baseline, hash);
	return had;
}

/* RFC 9111 4.4: what an unsafe method changed is forgotten, also where it points on this origin. */
static void
invalidate(struct fill *f, const struct response *rs)
{
	struct shared *sh = f->worker->shared;
	static const enum field_id pointers[] = {FIELD_LOCATION, FIELD_CONTENT_LOCATION};
	if (!policy_invalidates(f->rq.method, rs->status))
		return;
	fill_forget(sh, f->primary, (struct str){f->key.p, f->primary_bytes});
	for (size_t i = 0; i < 2; i++) {
		struct str value = fields_get(&rs->fields, pointers[i]);
		struct buf text = {0}, key = {0};
		struct request other;
		if (value.n && cachekey_resolve(&f->rq, value, &text, &other) &&
		    cachekey_build(&other, &f->route->key, &key))
			fill_forget(sh, key_hash_of(sh->seed, key.p, key.n), buf_str(&key));
		buf_fini(&text);
		buf_fini(&key);
	}
}

static uint64_t
body_length(const struct response *rs)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_LENGTH);
	if (v.n == 0 || fields_has(&rs->fields, FIELD_TRANSFER_ENCODING))
		return UINT64_MAX;
	uint64_t n = 0;
	for (size_t i = 0; i < v.n && v.p[i] >= '0' && v.p[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(v.p[i] - '0'); /* libcurl refuses what overflows */
	return n;
}

/* A sighting is recorded when it can matter (DESIGN 2.3). */
static struct memory_sight
sight(struct fill *f, int status)
{
	struct seen *s = f->worker->shared->seen;
	bool counts = f->kind == FILL_MISS && (status == 200 || status == 203 || status == 206);
	return counts ? seen_record(s, f->primary) : seen_test(s, f->primary);
}

static void
admit(struct fill *f, int status)
{
	struct shared *sh = f->worker->shared;
	static const int16_t metric_of[ADMISSION_COUNT] = {
		[ADMISSION_FIRST_SIGHT] = METRIC_FIRST_SIGHT + 1,
		[ADMISSION_SEEN_CURRENT] = METRIC_SEEN_CURRENT + 1,
		[ADMISSION_SEEN_PREVIOUS] = METRIC_SEEN_PREVIOUS + 1,
	};
	struct memory_sight s = sight(f, status);
	struct admission_facts facts = {
		.storable = true,
		.rule = f->route->admit,
		.sightings = sh->config->admission.sightings,
		.seen = s.times,
		.sight = s.sight,
		.body_bytes = f->expected,
		.max_object_bytes = sh->max_object_bytes,
		.disk_used_share = atomic_load_explicit(&sh->disk_used_share, memory_order_relaxed),
		.fill_until = sh->config->admission.fill_until,
		.over_budget = sh->config->admission.write_budget_bytes_s &&
		               atomic_load_explicit(&sh->budget, memory_order_relaxed) <= 0,
	};
	f->times = s.times;
	f->verdict = admission_decide(&facts);
	if (metric_of[f->verdict])
		metrics_add(&f->worker->metrics, (enum metric)(metric_of[f->verdict] - 1), 1);
}

/* The marker at the primary key that says on what its variants vary; the one the request met, if it
 * still says the same, else a new one with a new nonce, which forgets the old variants. */
static void
keep_marker(struct fill *f, struct str names, struct buf *nonce)
{
	static _Atomic uint64_t counter;
	struct shared *sh = f->worker->shared;
	if (str_eq(buf_str(&f->marker_names), names)) {
		buf_add_str(nonce, buf_str(&f->marker_nonce));
		return;
	}
	uint64_t salt[2] = {atomic_fetch_add(&counter, 1), (uint64_t)now_us()};
	struct key_hash h = key_hash_of(sh->seed, salt, sizeof salt);
	buf_printf(nonce, "%016llx", (unsigned long long)h.lo);
	struct buf head = {0};
	buf_add_str(&head, names);
	buf_add_lit(&head, "\n");
	buf_add_str(&head, buf_str(nonce));
	struct write_options o = {
		.hash = f->primary,
		.key = {f->key.p, f->primary_bytes},
		.head = buf_str(&head),
		.terms = f->terms,
		.kind = OBJECT_MARKER,
		.body_bytes = 0,
		.disk = admission_writes(f->verdict),
	};
	struct object_write *w = cache_write_begin(sh->cache, &o);
	struct object *marker = cache_write_commit(&w, false);
	object_unref(&marker);
	buf_fini(&head);
}

/* The key this answer is stored under. */
static void
stored_key(struct fill *f, const struct flight_head *h, struct buf *key)
{
	buf_add(key, f->key.p, f->primary_bytes);
	f->stored_hash = f->primary;
	if (h->vary.n == 0)
		return;
	struct buf nonce = {0};
	keep_marker(f, buf_str(&h->vary), &nonce);
	buf_add_lit(key, "\n#");
	buf_add_str(key, buf_str(&nonce));
	buf_add_str(key, buf_str(&h->variant));
	f->stored_hash = key_hash_of(f->worker->shared->seed, key->p, key->n);
	buf_fini(&nonce);
}

static void
begin_write(struct fill *f, const struct flight_head *h)
{
	struct buf key = {0};
	stored_key(f, h, &key);
	f->stored_key_bytes = key.n;
	f->stored_head_bytes = h->head.n;
	struct write_options o = {
		.hash = f->stored_hash,
		.key = buf_str(&key),
		.head = buf_str(&h->head),
		.terms = f->terms,
		.kind = OBJECT_RESPONSE,
		.body_bytes = f->expected,
		.disk = admission_writes(f->verdict),
	};
	f->write = cache_write_begin(f->worker->shared->cache, &o);
	buf_fini(&key);
}

/* A stored copy that this answer replaces, or that may not be used any more. */
static void
forget_old(struct fill *f)
{
	if (f->object && f->kind == FILL_VALIDATE)
		cache_remove(f->worker->shared->cache, f->object->hash, f->object->key);
}

/* Would another request be answered with this as it is? Else followers fetch in parallel, and that
 * is remembered for a while. So do those of a body too large to be kept while it arrives: the
 * slowest of them would set the pace of all. */
static void
remember_sharing(struct fill *f)
{
	struct shared *sh = f->worker->shared;
	static const struct request plain;
	static const struct request_cc nothing;
	int64_t now = now_s();
	bool large = f->expected != UINT64_MAX && f->expected > flights_retain_bytes(sh->flights);
	if (f->storable && !large &&
	    policy_reuse(&f->terms, &plain, &nothing, now).reuse == REUSE_FRESH) {
		passes_forget(sh->passes, f->hash);
		return;
	}
	flight_close(f->flight);
	if (!f->as_it_came)
		passes_remember(sh->passes, f->hash, now + PASSES_REMEMBER_S);
}

static bool
judge_storable(struct fill *f, const struct response *rs, int64_t now)
{
	struct shared *sh = f->worker->shared;
	struct storing_facts facts = {
		.request = &f->rq,
		.response = rs,
		.request_time = f->request_time,
		.response_time = now,
		.settings = &sh->policy,
	};
	/* An answer to POST may say what a GET of the same URL would bring (RFC 9110 9.3.3). */
	bool may = f->kind != FILL_PASS || (f->rq.method == METHOD_POST && !f->route->pass);
	return may && !flight_is_invalidated(f->flight) &&
	       storable_is_yes(policy_storable(&facts, &f->terms)) &&
	       !(f->terms.flags & TERMS_PARTIAL);
}

/* A part that passed on first sight counts for its whole object (DESIGN 2.3), and is kept in RAM. */
static void
keep_part(struct fill *f, const struct response *rs, const struct flight_head *h, int64_t now)
{
	struct shared *sh = f->worker->shared;
	if (f->kind != FILL_MISS || rs->status != 206)
		return;
	struct response whole = *rs;
	whole.status = 200;
	if (!judge_storable(f, &whole, now))
		return;
	seen_record(sh->seen, f->primary);
	if (!part_is_sound(rs, f->expected))
		return;
	struct buf key = {0}, head = {0};
	buf_add(&key, f->key.p, f->primary_bytes);
	part_key(&key);
	head_store(rs, now, &head, &f->terms);
	struct write_options o = {
		.hash = key_hash_of(sh->seed, key.p, key.n),
		.key = buf_str(&key),
		.head = buf_str(&head),
		.terms = f->terms,
		.kind = OBJECT_RESPONSE,
		.body_bytes = h->body_bytes,
	};
	f->write = cache_write_begin(sh->cache, &o);
	f->keeps_part = true;
	atomic_store_explicit(&sh->has_parts, true, memory_order_relaxed);
	buf_fini(&key);
	buf_fini(&head);
}

/* RFC 9111 4.3.5: what a HEAD brought is news of the stored GET. */
static void
learn_from_head(struct fill *f, const struct response *rs, int64_t now)
{
	struct field fields[FIELDS_MAX];
	struct response stored = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct buf merged = {0}, head = {0};
	struct terms terms;
	if (!f->object || rs->status != 200 || !h1_parse_response(f->object->head, &stored))
		return;
	if (policy_head(&stored.fields, f->object->body_bytes, &rs->fields) == HEAD_SAYS_CHANGED) {
		fill_forget(f->worker->shared, f->object->hash, f->object->key);
		return;
	}
	head_update(f->object->head, rs, now, &merged);
	struct request get = f->rq;
	get.method = METHOD_GET;
	struct storing_facts facts = {&get, &stored, f->request_time, now,
		                      &f->worker->shared->policy};
	stored = (struct response){.fields = {.v = fields, .cap = FIELDS_MAX}};
	if (h1_parse_response(buf_str(&merged), &stored) &&
	    storable_is_yes(policy_storable(&facts, &terms))) {
		head_store(&stored, now, &head, &terms);
		struct object *o = cache_refresh(f->worker->shared->cache, f->object, buf_str(&head),
		                                 &terms);
		object_unref(&o);
	}
	buf_fini(&merged);
	buf_fini(&head);
}

static void
publish(struct fill *f, const struct response *rs, uint64_t length)
{
	int64_t now = now_s();
	struct flight_head h = {.status = rs->status};
	f->expected = h.body_bytes = length;
	f->storable = judge_storable(f, rs, now) && vary_names(&rs->fields, &h.vary);
	head_store(rs, now, &h.head, f->storable ? &f->terms : NULL);
	h.has_age = fields_has(&rs->fields, FIELD_AGE);
	if (f->storable) {
		if (head_withholds(rs))
			head_store(rs, now, &h.asker, NULL);
		vary_key(buf_str(&h.vary), &f->rq.fields, &h.variant);
		h.age = f->terms.initial_age;
		admit(f, rs->status);
		begin_write(f, &h);
	} else {
		f->verdict = ADMISSION_NOT_STORABLE;
		keep_part(f, rs, &h, now);
		forget_old(f);
		if (f->rq.method == METHOD_HEAD)
			learn_from_head(f, rs, now);
	}
	h.too_large = f->expected != UINT64_MAX &&
	              f->expected > flights_retain_bytes(f->worker->shared->flights);
	h.terms = f->terms;
	h.storable = f->storable;
	h.verdict = f->verdict;
	h.stored = f->storable && admission_writes(f->verdict);
	if (f->kind != FILL_PASS)
		remember_sharing(f);
	f->published = true;
	flight_publish(f->flight, &h);
}

/* ---- 304 ----------------------------------------------------------------------------------- */

static void
count_baseline(struct fill *f, bool validated, uint64_t body_bytes)
{
	struct shared *sh = f->worker->shared;
	struct baseline_request b = {
		.hash = f->stored_hash,
		.record_bytes = cache_record_bytes(f->stored_key_bytes, f->stored_head_bytes, body_bytes),
		.fresh_until = f->terms.response_time - f->terms.initial_age + f->terms.lifetime,
		.validated = validated,
		.now = now_s(),
	};
	if (baseline_request(sh->baseline, &b) != BASELINE_HIT || validated)
		return;
	uint64_t weight = (uint64_t)(baseline_weight(sh->baseline) + 0.5);
	metrics_add(&f->worker->metrics, METRIC_EXTRA_REQUESTS, weight);
	metrics_add(&f->worker->metrics, METRIC_EXTRA_BYTES, weight * body_bytes);
}

/* The stored object is still good: it gets the 304's fields (RFC 9111 4.3.4), its body stays. */
static void
publish_validated(struct fill *f, const struct response *rs)
{
	struct shared *sh = f->worker->shared;
	struct flight_head h = {.status = 304};
	struct buf merged = {0}, head = {0};
	struct field fields[FIELDS_MAX];
	struct response updated = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	int64_t now = now_s();
	/* A 304 with another validator than ours must not update what is stored; that our own validator
	 * still held it said all the same. */
	struct response stored = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	bool ours = h1_parse_response(f->object->head, &stored) &&
	            policy_304_is_of(&stored.fields, &rs->fields, now);
	head_update(f->object->head, rs, now, &merged);
	bool ok = ours && h1_parse_response(buf_str(&merged), &updated);
	if (ok) {
		f->storable = judge_storable(f, &updated, now);
		head_store(&updated, now, &head, &f->terms);
	}
	if (ok && f->storable) {
		h.object = cache_refresh(sh->cache, f->object, buf_str(&head), &f->terms);
		f->stored_hash = f->object->hash;
		f->stored_key_bytes = f->object->key.n;
		f->stored_head_bytes = head.n;
		count_baseline(f, true, f->object->body_bytes);
	} else if (ours) {
		forget_old(f);
	}
	if (!h.object)
		h.object = object_ref(f->object);
	h.storable = f->storable;
	h.terms = h.object->terms;
	buf_fini(&merged);
	buf_fini(&head);
	remember_sharing(f);
	f->published = f->whole = true;
	flight_publish(f->flight, &h);
	flight_close(f->flight);
	flight_end(f->flight);
}

/* ---- completing a part --------------------------------------------------------------------- */

static uint64_t
part_total(const struct object *part)
{
	struct slice held;
	uint64_t total = 0;
	part_held(part, &held, &total);
	return total;
}

/* The origin was asked for the rest of f->part: false when it must be asked again, for the whole.
 * On success *rs has become the 200 of the whole: the part's head with the new fields. */
static bool
take_part(struct fill *f, struct response *rs)
{
	bool completes = part_completes(f->part, rs, body_length(rs));
	bool useless = rs->status == 206 || rs->status == 412 || rs->status == 416;
	if (completes) {
		buf_fini(&f->merged);
		head_update(f->part->head, rs, now_s(), &f->merged);
		struct field *fields = rs->fields.v;
		*rs = (struct response){.fields = {.v = fields, .cap = FIELDS_MAX}};
		completes = h1_parse_response(buf_str(&f->merged), rs);
	}
	if (completes) {
		struct fields *fs = &rs->fields;
		unsigned n = 0;
		for (unsigned i = 0; i < fs->n; i++)
			if (fs->v[i].id != FIELD_CONTENT_RANGE)
				fs->v[n++] = fs->v[i];
		fs->n = n;
		fs->present &= ~((uint64_t)1 << FIELD_CONTENT_RANGE);
		rs->status = 200;
		rs->reason = STR("OK");
		return true;
	}
	object_unref(&f->part);
	if (!useless)
		return true; /* the whole, or an error: as if never asked for less */
	fetch_cancel(&f->fetch);
	go(f);
	return false;
}

/* The part's bytes take their place when everything before them is here. False: f is gone. */
static bool
add_part_at(struct fill *f, uint64_t here)
{
	struct slice held;
	uint64_t total, at = 0;
	struct body_read r = {.home = &f->worker->mailbox};
	if (f->part_added || !part_held(f->part, &held, &total) || held.at != here)
		return true;
	f->part_added = true;
	while (at < held.n) {
		/* Parts live in RAM only, so their bytes are at hand. */
		if (object_read(f->worker->shared->cache, f->part, &r, at, held.n - at) != BODY_READY) {
			abandon(f, 502, "part-lost");
			return false;
		}
		for (size_t done = 0; done < r.n;) {
			struct block *block;
			uint32_t from, got;
			flight_append_now(f->flight, r.p + done, r.n - done, &block, &from, &got);
			if (f->write)
				cache_write_body(f->write, block, from, got);
			done += got;
		}
		at += r.n;
	}
	body_done(&r);
	f->received += held.n;
	if (f->received == f->expected)
		whole(f);
	return true;
}

/* ---- events -------------------------------------------------------------------------------- */

static void
on_interim(void *ctx, struct str head)
{
	struct fill *f = ctx;
	struct buf whole = {0};
	buf_add_str(&whole, head);
	if (head.n < 4 || memcmp(head.p + head.n - 4, "\r\n\r\n", 4) != 0)
		buf_add_lit(&whole, "\r\n");
	flight_interim(f->flight, buf_str(&whole));
	buf_fini(&whole);
}

static void
on_head(void *ctx, struct str head)
{
	struct fill *f = ctx;
	struct field fields[FIELDS_MAX];
	struct response rs = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	if (!h1_parse_response(head, &rs)) {
		log_warning("origin %s: an answer that cannot be read for %.*s",
		            origin_url(f->worker->shared->origins[f->origin]), STR_ARG(f->rq.target));
		metrics_add(&f->worker->metrics, METRIC_ORIGIN_ERRORS, 1);
		abandon(f, 502, "bad-response");
		return;
	}
	if (f->object && rs.status == 304 && f->kind == FILL_VALIDATE) {
		publish_validated(f, &rs);
		return;
	}
	if (f->part && !take_part(f, &rs))
		return;
	invalidate(f, &rs);
	publish(f, &rs, f->part ? part_total(f->part) : body_length(&rs));
	if (f->part && !add_part_at(f, 0))
		return;
}

/* The write is complete: the object is there from now on. */
static void
commit(struct fill *f)
{
	struct shared *sh = f->worker->shared;
	const struct config *c = sh->config;
	if (flight_is_invalidated(f->flight)) {
		cache_write_abandon(&f->write);
		return;
	}
	bool seen_again = f->route->admit == RULE_SIGHTINGS && !f->keeps_part &&
	                  f->times + 1 + flight_followers(f->flight) >= c->admission.sightings;
	struct object *o = cache_write_commit(&f->write, seen_again);
	if (!o)
		forget_old(f);
	object_unref(&o);
	if (f->keeps_part)
		return;
	if (f->rq.method == METHOD_GET)
		count_baseline(f, false, f->received);
	if (f->verdict == ADMISSION_FIRST_SIGHT && seen_again)
		metrics_add(&f->worker->metrics, METRIC_SEEN_CURRENT, 1);
	else if (f->verdict == ADMISSION_FIRST_SIGHT)
		metrics_add(&f->worker->metrics, METRIC_REFUSED_BYTES, f->received);
	else if (c->admission.write_budget_bytes_s)
		atomic_fetch_sub(&sh->budget, (int64_t)f->received);
}

static void
whole(struct fill *f)
{
	if (f->whole)
		return;
	f->whole = true;
	if (f->write)
		commit(f);
	flight_end(f->flight);
	flight_close(f->flight);
}

static bool
on_body(void *ctx, const char *p, size_t n)
{
	struct fill *f = ctx;
	while (f->taken < n) {
		struct block *block;
		uint32_t at, got;
		if (!flight_append(f->flight, p + f->taken, n - f->taken, &block, &at, &got))
			return false;
		if (f->write)
			cache_write_body(f->write, block, at, got);
		f->taken += got;
		f->received += got;
	}
	f->taken = 0;
	metrics_add(&f->worker->metrics, METRIC_BYTES_FROM_ORIGIN, n);
	if (f->part && !add_part_at(f, f->received))
		return true;
	if (f->received == f->expected)
		whole(f);
	return true;
}

/* Nothing was answered yet and this origin cannot be reached: the next one is asked. */
static bool
ask_next_origin(struct fill *f, const struct fetch_result *r)
{
	bool unreachable = r->end == FETCH_DNS || r->end == FETCH_CONNECT ||
	                   r->end == FETCH_CONNECT_TIMEOUT || r->end == FETCH_TLS;
	if (!unreachable || f->feeder || f->origin + 1 >= f->worker->shared->origin_count)
		return false;
	f->origin++;
	go(f);
	return true;
}

static void
on_done(void *ctx, const struct fetch_result *r)
{
	struct fill *f = ctx;
	f->fetch = NULL;
	if (r->end == FETCH_OK) {
		assert(f->published);
		whole(f);
		fill_free(f);
		return;
	}
	if (f->whole) {
		fill_free(f);
		return;
	}
	metrics_add(&f->worker->metrics, METRIC_ORIGIN_ERRORS, 1);
	if (!f->published && ask_next_origin(f, r))
		return;
	if (r->end != FETCH_ABORTED)
		log_debug("origin %s: %s (%s) for %.*s",
		          origin_url(f->worker->shared->origins[f->origin]), r->word,
		          r->detail ? r->detail : "", STR_ARG(f->rq.target));
	flight_fail(f->flight, r->status, r->word);
	fill_free(f);
}

static const struct fetch_events events = {
	.on_interim = on_interim,
	.on_head = on_head,
	.on_body = on_body,
	.on_send = on_send,
	.on_done = on_done,
};
