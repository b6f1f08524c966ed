/* fill.c - a trip to the origin: how it begins, and what comes back, passed on.
 *
 *	on_head   keep.c judges and publishes to the flight's readers
 *	on_body   to the flight's blocks, and from there to the cache write
 *	whole     keep.c commits: the object is visible before the last reader has its last byte
 *	on_done   end, or fail: cut short, it was never there
 */
#include "proxy/serve/fill_inside.h"

#include "proxy/base/log.h"
#include "proxy/cache/cache_write.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/complete.h"
#include "proxy/serve/herd.h"
#include "proxy/serve/keep.h"
#include "proxy/serve/keep_turn.h"
#include "proxy/serve/learn.h"
#include "proxy/serve/part.h"
#include "proxy/serve/resume.h"
#include "proxy/serve/run.h"

#include <assert.h>

enum { FINISH_BYTES = 1 << 20, FINISH_SHARE = 8 };

static const struct fetch_events events; /* at the end: what comes back */

/* What tells this request from others, when it may have failed by its own fault. */
static uint64_t
blame_of(const struct fill *f)
{
	return herd_blame(f->serve->shelves->seed, &f->rq, str_of(f->client_ip));
}

/* Ends everything early; readers see a failure with this status (0: ask again yourselves). */
static void
abandon(struct fill *f, int status, const char *word)
{
	if (f->fetch)
		fetch_cancel(&f->fetch);
	/* The baseline writes what it begins, so it would have gone on. */
	if (f->write && f->keeps == KEEPS_ANSWER && f->stage != FILL_WHOLE &&
	    f->expected != UINT64_MAX)
		bill_fetch(f, GHOST_FETCHED, f->expected, f->received);
	if (f->stage != FILL_WHOLE)
		flight_fail(f->flight, status, word, blame_of(f));
	fill_free(f);
}

/* Whoever asked for a part was never to take the whole; it is fetched because the disk wants it. */
static bool
is_for_disk(const struct fill *f)
{
	return f->write && f->sighting.writes && !f->as_it_came && policy_asks_for_less(&f->rq);
}

/* Little is missing of what will be stored. */
static bool
is_nearly_done(const struct fill *f)
{
	if (!f->write || f->expected == UINT64_MAX)
		return false;
	uint64_t missing = f->expected - f->received;
	return missing <= FINISH_BYTES || missing <= f->expected / FINISH_SHARE;
}

/* Nobody reads it, and nobody will: who came between a look and the end of the flight would be
 * cut. */
static bool
is_left(struct fill *f)
{
	if (flight_readers(f->flight))
		return false;
	flights_close(f->flight);
	return flight_readers(f->flight) == 0;
}

/* Room in the window again, or nobody reads any more: is it worth going on? Not for what a client
 * cut at once, or it could make us fetch and write a whole object for a few bytes. */
static void
on_wake(void *ctx)
{
	struct fill *f = ctx;
	fill_check(f);
	if (run_leads(f)) { /* the slice under way is finished, and then it looks who reads */
		if (f->stage == FILL_ASKING && flight_readers(f->flight) == 0)
			abandon(f, 0, "abandoned");
		else if (f->fetch)
			fetch_resume(f->fetch);
		return;
	}
	bool worth = f->background || flight_is_wanted(f->flight) || f->stage == FILL_WHOLE ||
		     is_for_disk(f) || is_nearly_done(f);
	if (!worth && is_left(f)) {
		abandon(f, 0, "abandoned");
		return;
	}
	if (f->fetch)
		fetch_resume(f->fetch);
}

/* What comes of an object is no cleaner than the object. */
static void
begun_with(struct fill *f, struct object *o)
{
	uint64_t clean = atomic_load_explicit(&o->clean_as_of, memory_order_relaxed);
	f->begun = clean < f->begun ? clean : f->begun;
}

/* What is stored already and may be validated or completed. */
static void
keep_stored(struct fill *f, const struct txn *t)
{
	if (t->object)
		begun_with(f, f->object = object_ref(t->object));
	if (f->kind == FILL_MISS && !f->as_it_came && t->part && complete_may(t->part))
		begun_with(f, f->part = object_ref(t->part));
}

/* A trip for t that leads flight. */
static struct fill *
begin(struct txn *t, enum fill_kind kind, struct flight *flight)
{
	struct fill *f = fill_new(t, kind, flight);
	f->wake = on_wake;
	flight_set_leader(f->flight, f->serve->mailbox, f->wake, f);
	return f;
}

void
fill_start(struct txn *t, enum fill_kind kind)
{
	struct fill *f = begin(t, kind, flight_of(t->reader));
	keep_stored(f, t);
	f->upgrade = t->upgrade;
	if (t->body_in != BODY_NONE || t->upgrade.n) {
		f->feeder = t;
		t->fill = f;
	}
	fill_set_out(f, &events);
}

void
fill_beside(struct txn *t, struct flight *flight)
{
	metrics_add(t->serve->metrics, METRIC_BESIDE, 1);
	fill_set_out(begin(t, FILL_MISS, flight), &events);
}

void
fill_behind(struct txn *t, enum fill_kind kind)
{
	struct shelves *sh = t->serve->shelves;
	struct flight *flight =
		flights_lead(sh->flights, t->key.hash, buf_str(&t->key.text), now_ms());
	if (!flight)
		return;
	if (t->landed != keep_landed(sh, t->key.primary)) { /* what it would bring is here */
		flights_close(flight);
		flight_fail(flight, 0, "landed", 0);
		flight_unref(&flight);
		return;
	}
	struct fill *f = begin(t, kind, flight);
	f->background = true;
	f->as_it_came = false;
	metrics_add(f->serve->metrics, METRIC_BACKGROUND, 1);
	f->rq.method = METHOD_GET; /* for the store, whatever the client wanted to see of it */
	f->rq.method_name = STR("GET");
	keep_stored(f, t);
	flight_unref(&flight);
	fill_set_out(f, &events);
}

void
fill_slices(struct txn *t, struct flight *flight, struct object *o, uint64_t number, uint64_t end)
{
	struct fill *f = begin(t, FILL_SLICES, flight);
	f->as_it_came = false;
	f->rq.method = METHOD_GET;
	buf_add_str(&f->tags, o->tags);
	run_of_slices(f, o, number, end);
	fill_set_out(f, &events);
}

bool
fill_rest(struct txn *t)
{
	const struct flight_head *h = flight_head(flight_of(t->reader));
	struct flight_head same = {.status = h->status, .body_bytes = h->body_bytes};
	if (t->way != WAY_SHARED || h->status != 200 || h->object || t->rq.method != METHOD_GET ||
	    !resume_is_told(buf_str(&h->head)))
		return false;
	buf_add_str(&same.head, buf_str(&h->head));
	flight_leave(&t->reader);
	t->reader = flights_enter_alone(t->serve->shelves->flights, t->at, t->serve->mailbox,
					t->wake, t, now_ms());
	struct fill *f = begin(t, FILL_MISS, flight_of(t->reader));
	f->received = t->at;
	f->expected = same.body_bytes;
	fill_publish(f, &same);
	fill_set_out(f, &events);
	return true;
}

bool
fill_is_read(const struct serve *s)
{
	for (struct fill *f = s->fills; f; f = f->next)
		if (flight_readers(f->flight))
			return true;
	return false;
}

void
fill_cancel_all(struct serve *s)
{
	while (s->fills)
		abandon(s->fills, 0, "shutting-down"); /* who still waits asks itself */
}

/* ---- the request's body -------------------------------------------------------------------- */

void
fill_body_ready(struct fill *f)
{
	if (f->fetch && f->feeder && f->feeder->body_in == BODY_AWAITED) {
		f->feeder->body_in = BODY_COMES;
		fetch_send_more(f->fetch);
	}
}

void
fill_body_gone(struct fill *f)
{
	struct txn *t = f->feeder;
	fill_drop_feeder(f);
	bool goes_on = f->stage != FILL_WHOLE || f->tunnel;
	if (t && (t->body_in != BODY_OVER || t->gathered.n) && goes_on)
		abandon(f, 502, "request-body-failed");
}

/* ---- what has come ------------------------------------------------------------------------- */

static void
whole(struct fill *f)
{
	if (f->stage == FILL_WHOLE)
		return;
	fill_move(f, FILL_WHOLE);
	if (f->rq.method == METHOD_GET && !f->tunnel)
		histogram_add(&f->serve->measures->of[MEASURE_OBJECT_BYTES], f->received);
	flight_end(f->flight, f->write ? keep_commit(f) : NULL);
	flights_close(f->flight);
}

/* Some of the body is here: the part may be next, and that may be all. f may be gone then. */
static void
came(struct fill *f)
{
	if (complete_add_part(f))
		abandon(f, 502, "part-lost");
	else if (f->received == f->expected && !f->unsaid)
		whole(f);
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

/* A fetch behind a client's back whose answer turns out not to be kept: its body is not pulled. */
static bool
is_for_nobody(const struct fill *f)
{
	bool kept = f->write && f->sighting.verdict != ADMISSION_TOO_LARGE;
	return f->background && !kept && f->expected > FINISH_BYTES &&
	       flight_readers(f->flight) == 0;
}

/* The head of the rest of a body that broke off. f may be gone then. */
static void
go_on_with(struct fill *f, const struct response *rs)
{
	switch (resume_with(f, rs)) {
	case RESUME_IT:
		return;
	case RESUME_OVER:
		fetch_cancel(&f->fetch);
		whole(f);
		fill_free(f);
		return;
	case RESUME_NOT:
		abandon(f, 502, "changed-between-parts");
		return;
	}
}

/* What a run of slices has come to. False: the fetch pauses. f may be gone then. */
static bool
go_by(struct fill *f, struct run_step step)
{
	if (step.next == RUN_ENDS)
		abandon(f, step.status, step.word);
	return step.next != RUN_WAITS;
}

/* f may be gone then. */
static void
use_head(struct fill *f, const struct response *rs)
{
	struct field more[FIELDS_MAX];
	char date[DATE_BYTES];
	struct flight_head h;
	struct response merged = {.fields = {.v = more, .cap = FIELDS_MAX}};
	if (f->object && rs->status == 304 && f->kind == FILL_VALIDATE && f->stage == FILL_ASKING) {
		learn_from_304(f, rs, &h);
		fill_publish(f, &h);
		fill_move(f, FILL_WHOLE);
		flight_end(f->flight, NULL);
		flights_close(f->flight);
		return;
	}
	if (f->kind == FILL_SLICES) {
		go_by(f, run_head(f, rs));
		return;
	}
	enum completion c = f->part ? complete_with(f, rs, date, &merged) : COMPLETE_NOT;
	if (c == COMPLETE_ASK_ANEW) {
		fetch_cancel(&f->fetch);
		fill_ask(f, &events);
		return;
	}
	const struct response *answer = c == COMPLETE_IT ? &merged : rs;
	keep_invalidated(f, answer);
	keep_answer(f, answer, c == COMPLETE_IT ? complete_bytes(f) : keep_length(answer), &h);
	if (f->rq.method == METHOD_HEAD)
		learn_from_head(f, answer);
	if (run_leads(f)) {
		go_by(f, run_publish(f, &h));
		return;
	}
	fill_publish(f, &h);
	if (is_for_nobody(f))
		abandon(f, 0, "not-kept");
	else
		came(f);
}

/* By which words it may be purged. A 304 that says nothing of them leaves those of the object; what
 * comes of a part, or of slices, has theirs as well. */
static bool
read_tags(struct fill *f, const struct response *rs)
{
	const struct object *from = f->part;
	if (f->kind != FILL_SLICES)
		f->tags.n = 0;
	bool any = tags_read(&f->settings->tags, f->serve->shelves->cache, &rs->fields, &f->tags);
	if (f->object && rs->status == 304 && !any)
		from = f->object;
	if (from)
		buf_add_str(&f->tags, from->tags);
	return any;
}

/* A function of its own, for its list of fields is large. */
__attribute__((noinline)) static void
use_stripped(struct fill *f, const struct response *rs)
{
	struct field fields[FIELDS_MAX];
	struct response rest = *rs;
	rest.fields.v = fields;
	rest.fields.cap = FIELDS_MAX;
	tags_strip(&f->settings->tags, &rs->fields, &rest.fields);
	use_head(f, &rest);
}

static void
on_head(void *ctx, const struct response *rs)
{
	struct fill *f = ctx;
	fill_check(f);
	assert(f->fetch && f->stage != FILL_WHOLE);
	int64_t wait_us = now_us() - f->asked_us;
	upstream_answered(f->upstream, &f->origin, rs->status, wait_us, now_ms());
	histogram_add(&fill_measures(f)->wait_us, (uint64_t)wait_us);
	histogram_raise(&fill_measures(f)->answers[measures_class(rs->status)], 1);
	if (rs->status == 101) {
		f->tunnel = true;
		upstream_apart(f->upstream, &f->origin);
	}
	if (f->stage == FILL_ARRIVING)
		go_on_with(f, rs);
	else if (read_tags(f, rs) && f->settings->tags.strip)
		use_stripped(f, rs);
	else
		use_head(f, rs);
}

static bool
on_body(void *ctx, const char *p, size_t n)
{
	struct fill *f = ctx;
	assert(f->stage != FILL_ASKING && f->taken <= n);
	if (run_leads(f))
		return go_by(f, run_body(f, p, n));
	if (f->unsaid && n - f->taken > f->expected - f->received) {
		abandon(f, 502, "longer-than-its-range");
		return true;
	}
	while (f->taken < n) {
		struct block *block;
		uint32_t at, got;
		if (!flight_append(f->flight, p + f->taken, n - f->taken, now_ms(), &block, &at,
				   &got)) {
			if (flight_readers(f->flight) > 1) /* one may be too slow for the others */
				fill_ask_again(f, now_ms() + FLIGHT_ASK_MS);
			return false;
		}
		if (f->run)
			run_tap(f, block, at, got);
		else if (f->write)
			cache_write_body(f->write, block, at, got);
		f->taken += got;
		f->received += got;
	}
	f->taken = 0;
	metrics_add(f->serve->metrics, METRIC_BYTES_FROM_ORIGIN, n);
	keep_no_large(f);
	came(f);
	return true;
}

/* The origin of a tunnel says no more; what the client says still goes there. */
static void
on_silence(void *ctx)
{
	struct fill *f = ctx;
	fill_check(f);
	assert(f->tunnel);
	whole(f);
}

/* This server did not hear the question, or it may be put twice: another one is asked. */
static bool
ask_another(struct fill *f, const struct fetch_result *r)
{
	upstream_failed(f->upstream, &f->origin, r, now_ms());
	if (f->stage != FILL_ASKING || !upstream_may_ask_another(r, method_is_safe(f->rq.method)) ||
	    !upstream_retry(f->upstream, &f->origin, now_ms()))
		return false;
	metrics_add(f->serve->metrics, METRIC_ORIGIN_RETRIES, 1);
	fill_ask(f, &events);
	return true;
}

/* The origin did not hear the request. */
static bool
no_request_causes(enum fetch_end end)
{
	return end == FETCH_DNS || end == FETCH_CONNECT || end == FETCH_CONNECT_TIMEOUT ||
	       end == FETCH_NO_SOCKET || end == FETCH_TLS || end == FETCH_QUEUE_TIMEOUT ||
	       end == FETCH_QUEUE_FULL;
}

/* Whose body could not be sent on failed by itself. */
static void
count_failure(struct fill *f, enum fetch_end end)
{
	if (end == FETCH_QUEUE_FULL) {
		metrics_add(f->serve->metrics, METRIC_ORIGIN_REFUSED, 1);
	} else if (end != FETCH_ABORTED) {
		metrics_add(f->serve->metrics, METRIC_ORIGIN_ERRORS, 1);
		histogram_raise(&fill_measures(f)->errors, 1);
	}
}

/* The client has all of it, or gets it from the flight. But the origin of a tunnel, which had no more to say,
 * does not listen now either. */
static void
fails_whole(struct fill *f)
{
	if (f->tunnel && f->feeder)
		stream_reset(f->feeder->stream);
	fill_free(f);
}

static void
on_done(void *ctx, const struct fetch_result *r)
{
	struct fill *f = ctx;
	fill_check(f);
	/* What was being taken when it paused is lost with a fetch that ends otherwise. */
	assert(f->fetch && (f->taken == 0 || r->end != FETCH_OK));
	f->taken = 0;
	f->fetch = NULL;
	bool short_of_range = f->unsaid ? f->received < f->expected : run_leads(f);
	if (r->end == FETCH_OK && f->stage != FILL_WHOLE && short_of_range) {
		abandon(f, 502, "truncated"); /* chunked, it ended before its range did */
		return;
	}
	if (r->end == FETCH_OK) {
		assert(f->stage != FILL_ASKING);
		if (f->kind == FILL_PASS && f->stage != FILL_WHOLE && r->trailers.n)
			flight_set_trailers(f->flight, r->trailers);
		whole(f);
		fill_free(f);
		return;
	}
	if (f->stage == FILL_WHOLE) {
		fails_whole(f);
		return;
	}
	count_failure(f, r->end);
	if (!f->tunnel && ask_another(f, r))
		return;
	if ((r->end == FETCH_TRUNCATED || r->end == FETCH_READ_TIMEOUT) && resume_may(f)) {
		fill_ask(f, &events);
		return;
	}
	if (r->end != FETCH_ABORTED)
		log_debug("origin %s: %s (%s) for %.*s, request %.*s", origin_url(fill_origin(f)),
			  r->word, r->detail ? r->detail : "", STR_ARG(f->rq.target),
			  STR_ARG(f->outgoing.request_id));
	flight_fail(f->flight, r->status, r->word, no_request_causes(r->end) ? 0 : blame_of(f));
	fill_free(f);
}

static const struct fetch_events events = {
	.on_interim = on_interim,
	.on_head = on_head,
	.on_body = on_body,
	.on_silence = on_silence,
	.on_send = upload_take,
	.on_done = on_done,
};
