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
#include "proxy/serve/rules/herd.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/keep/keep_turn.h"
#include "proxy/serve/learn.h"
#include "proxy/serve/resume.h"
#include "proxy/serve/run.h"

#include <assert.h>

enum { REST_MS = 1000, SILENT_MS = 1000 };

static const struct fetch_events events; /* at the end: what comes back */

/* By this a request is told from others, when it may have failed by its own fault. */
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
	/* The baseline would have given it up as well, unless it had the object. */
	if (f->in.write && f->keeps == KEEPS_ANSWER && f->stage != FILL_WHOLE)
		bill_fetch(f, GHOST_ASKED, 0, f->in.came);
	if (f->stage != FILL_WHOLE)
		flight_fail(f->flight, status, word, blame_of(f));
	fill_free(f);
}

/* Room in the window again, or nobody reads any more: is it worth going on? Not for what a client
 * cut at once, or it could make us fetch and write a whole object for a few bytes. */
static void
on_wake(void *ctx)
{
	struct fill *f = ctx;
	fill_check(f);
	fill_yield(f);
	if (run_leads(f)) { /* the slice under way is finished, and then it looks who reads */
		if (f->stage == FILL_ASKING && flight_readers(f->flight) == 0)
			abandon(f, 0, "abandoned");
		else if (f->fetch)
			fetch_resume(f->fetch);
		else if (f->stage == FILL_ASKING && !alarm_is_set(&f->ask_again))
			fill_ask(f, &events); /* it was refused before */
		return;
	}
	if (f->stage != FILL_WHOLE && !fill_is_worth_the_rest(f) && fill_is_left(f)) {
		abandon(f, 0, "abandoned");
		return;
	}
	if (f->fetch)
		fetch_resume(f->fetch);
	else if (f->stage == FILL_ARRIVING) /* its connection was given to others */
		fill_ask(f, &events);
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
	fill_hold_stored(f, t);
	f->upgrade = t->tunnel.protocol;
	if (t->upload.state != UPLOAD_NONE || t->tunnel.protocol.n) {
		f->feeder = t;
		t->upload.fill = f;
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
	if (t->look.landed != keep_landed(sh, t->key.primary)) { /* what it would bring is here */
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
	fill_hold_stored(f, t);
	flight_unref(&flight);
	fill_set_out(f, &events);
}

void
fill_slices(struct txn *t, struct flight *flight, struct object *o, uint64_t number, uint64_t end,
	    const struct sighting *by, bool each, bool is_beside)
{
	struct fill *f = begin(t, FILL_SLICES, flight);
	f->as_it_came = false;
	f->rq.method = METHOD_GET;
	buf_add_str(&f->tags, o->tags);
	bool has_begun = t->state == TXN_SEND; /* its client has bytes of this version */
	f->sighting = *by;
	run_of_slices(f, o, number, end, each, has_begun);
	backend_prefer(&f->backend, is_beside ? 0 : o->terms.server, has_begun);
	fill_set_out(f, &events);
}

bool
fill_rest(struct txn *t)
{
	const struct flight_head *h = flight_head(flight_of(t->body.reader));
	struct flight_head same = {.status = h->status, .body_bytes = h->body_bytes};
	uint16_t server = h->terms.server;
	if (t->way != WAY_SHARED || h->status != 200 || h->object || t->rq.method != METHOD_GET ||
	    !resume_is_told(buf_str(&h->head)))
		return false;
	buf_add_str(&same.head, buf_str(&h->head));
	flight_leave(&t->body.reader);
	t->body.reader = flights_enter_alone(t->serve->shelves->flights, t->body.at,
					     t->serve->mailbox, t->wake, t, now_ms());
	struct fill *f = begin(t, FILL_MISS, flight_of(t->body.reader));
	intake_begin(&f->in, same.body_bytes);
	f->in.came = f->in.stored = t->body.at;
	backend_prefer(&f->backend, server, true);
	fill_publish(f, &same);
	fill_set_out(f, &events);
	return true;
}

/* Another one is asked instead. f may be gone then. */
static void
turn_away(struct fill *f)
{
	fetch_cancel(&f->fetch);
	if (backend_another(&f->backend, now_ms()))
		fill_ask(f, &events);
	else
		abandon(f, 502, "no-answer");
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
	if (f->fetch && f->feeder && f->feeder->upload.state == UPLOAD_AWAITED) {
		f->feeder->upload.state = UPLOAD_COMES;
		fetch_send_more(f->fetch);
	}
}

void
fill_body_gone(struct fill *f)
{
	struct txn *t = f->feeder;
	fill_drop_feeder(f);
	bool goes_on = f->stage != FILL_WHOLE || f->tunnel;
	if (t && (t->upload.state != UPLOAD_OVER || t->upload.gathered.n) && goes_on)
		abandon(f, 502, "request-body-failed");
}

/* ---- what has come ------------------------------------------------------------------------- */

static void
whole(struct fill *f)
{
	if (f->stage == FILL_WHOLE)
		return;
	fill_move(f, FILL_WHOLE);
	intake_end(&f->in, f->flight);
	if (f->rq.method == METHOD_GET && !f->tunnel)
		histogram_add(&f->serve->measures->of[MEASURE_OBJECT_BYTES], f->in.stored);
	flight_end(f->flight, f->in.write ? keep_commit(f) : NULL);
	flights_close(f->flight);
}

/* Some of the body is here, and that may be all. */
static void
came(struct fill *f)
{
	if (intake_is_whole(&f->in) && !f->resume.unsaid)
		whole(f);
}

/* ---- events -------------------------------------------------------------------------------- */

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

static void
ask_again(struct fill *f, int64_t at_ms)
{
	fetch_cancel(&f->fetch);
	if (at_ms)
		fill_ask_again(f, at_ms);
	else
		fill_ask(f, &events);
}

/* A run of slices has come to this. False: the fetch pauses. f may be gone then. */
static bool
go_by(struct fill *f, struct run_step step)
{
	if (step.next == RUN_ENDS)
		abandon(f, step.status, step.word);
	else if (step.next == RUN_ASKS_AGAIN)
		ask_again(f, step.at_ms);
	return step.next != RUN_WAITS;
}

/* f may be gone then. */
static void
use_head(struct fill *f, const struct response *rs)
{
	struct flight_head h;
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
	keep_invalidated(f, rs);
	keep_answer(f, rs, keep_length(rs), &h);
	if (h.narrow)
		fetch_let_pause(f->fetch);
	if (f->rq.method == METHOD_HEAD)
		learn_from_head(f, rs);
	if (run_leads(f)) {
		go_by(f, run_publish(f, &h));
		return;
	}
	fill_publish(f, &h);
	if (fill_is_for_nobody(f))
		abandon(f, 0, "not-kept");
	else
		came(f);
}

static void
on_head(void *ctx, const struct response *rs)
{
	struct fill *f = ctx;
	fill_check(f);
	assert(f->fetch && f->stage != FILL_WHOLE);
	bool answers = backend_answers(&f->backend, rs, now_ms());
	if (backend_is_across(&f->backend))
		metrics_add(f->serve->metrics, answers ? METRIC_ZONE_ANSWERED : METRIC_ZONE_IN_VAIN,
			    1);
	if (!answers) {
		turn_away(f);
		return;
	}
	if (backend_is_refused(&f->backend))
		fill_count_request(f);
	fill_note_answer(f, rs);
	if (rs->status == 101) {
		f->tunnel = true;
		backend_apart(&f->backend);
	}
	if (f->stage == FILL_ARRIVING)
		go_on_with(f, rs);
	else if (!fill_read_answer(f, rs, use_head))
		abandon(f, 502, "unasked-range");
}

static bool
on_body(void *ctx, const char *p, size_t n)
{
	struct fill *f = ctx;
	assert(f->stage != FILL_ASKING && f->taken <= n);
	if (run_leads(f))
		return go_by(f, run_body(f, p, n));
	if (f->resume.unsaid && n - f->taken > f->in.comes - f->in.came) {
		abandon(f, 502, "longer-than-its-range");
		return true;
	}
	f->taken += intake_add(&f->in, f->flight, p + f->taken, n - f->taken, now_ms());
	if (f->taken < n) {
		keep_watch(f);
		if (flight_readers(f->flight) > 1) /* one may be too slow for the others */
			fill_ask_again(f, now_ms() + FLIGHT_ASK_MS);
		return false;
	}
	f->taken = 0;
	if (backend_is_sibling(&f->backend))
		f->asked_us = now_us();
	metrics_add(f->serve->metrics,
		    backend_is_sibling(&f->backend) ? METRIC_BYTES_FROM_SIBLINGS
						    : METRIC_BYTES_FROM_ORIGIN,
		    n);
	keep_progress(f);
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
	backend_failed(&f->backend, r, now_ms());
	if (f->stage != FILL_ASKING || !upstream_may_ask_another(r, method_is_safe(f->rq.method)) ||
	    !backend_another(&f->backend, now_ms()))
		return false;
	metrics_add(f->serve->metrics, METRIC_ORIGIN_RETRIES, 1);
	fill_ask(f, &events);
	return true;
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

/* The rest of what broke off is asked for. Where the readers took nothing it is when they do (on_wake);
 * slices are asked for by who reads them. */
static bool
resumes(struct fill *f, const struct fetch_result *r)
{
	bool broke = r->end == FETCH_TRUNCATED || r->end == FETCH_READ_TIMEOUT;
	if (!(broke || (r->end == FETCH_STALLED && !f->run)) || !resume_may(f))
		return false;
	if (broke) {
		if (backend_is_sibling(&f->backend)) /* that may be gone for good */
			backend_another(&f->backend, now_ms());
		fill_ask(f, &events);
	} else if (flight_readers(f->flight) > 1) /* one of them may be too slow for the others */
		fill_ask_again(f, now_ms() + REST_MS);
	return true;
}

/* Another server is asked, or the same one once more, or for the rest. */
static bool
goes_on(struct fill *f, const struct fetch_result *r)
{
	if (!f->tunnel && ask_another(f, r))
		return true;
	struct run_step step = {.next = RUN_ENDS};
	if (run_leads(f))
		step = run_unanswered(f, r);
	if (step.next == RUN_ASKS_AGAIN) {
		ask_again(f, step.at_ms);
		return true;
	}
	return resumes(f, r);
}

/* A trip that has no fetch any more goes on, or ends. */
static void
fails(struct fill *f, const struct fetch_result *r)
{
	fill_count_failure(f, r);
	if (goes_on(f, r))
		return;
	bool blameless = fill_is_blameless(r->end);
	if (f->stage == FILL_ASKING && r->status && r->end != FETCH_YIELDED)
		keep_rest(f, r->status, blameless);
	flight_fail(f->flight, fill_failure(f, r), r->word, blameless ? 0 : blame_of(f));
	fill_free(f);
}

static void
on_done(void *ctx, const struct fetch_result *r)
{
	struct fill *f = ctx;
	fill_check(f);
	/* Bytes that it paused in are lost with a fetch that ends otherwise. */
	assert(f->fetch && (f->taken == 0 || r->end != FETCH_OK));
	f->taken = 0;
	f->fetch = NULL;
	fill_count_end(f, r->end);
	bool short_of_range = f->resume.unsaid ? !intake_is_whole(&f->in) : run_leads(f);
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
	if (f->stage == FILL_WHOLE)
		fails_whole(f);
	else
		fails(f, r);
}

/* It lets others go on with what they began: only who has heard nothing for longer than it fails is taken away; of a body
 * the rest comes from elsewhere, or it is waited for. */
void
fill_leave_siblings(struct serve *s, int64_t now)
{
	const struct fetch_result silent = {
		.end = FETCH_READ_TIMEOUT, .status = 504, .word = "read-timeout"};
	struct fill *next;
	for (struct fill *f = s->fills; f; f = next) {
		next = f->next;
		if (!f->fetch || !backend_is_sibling(&f->backend) || f->taken > 0 ||
		    backend_is_well(&f->backend, now) || now_us() - f->asked_us <= SILENT_MS * 1000)
			continue;
		if (f->stage == FILL_ASKING) {
			turn_away(f);
		} else if (run_leads(f) || resume_may(f)) {
			fetch_cancel(&f->fetch);
			fails(f, &silent);
		}
	}
}

static const struct fetch_events events = {
	.on_interim = fill_on_interim,
	.on_head = on_head,
	.on_body = on_body,
	.on_silence = on_silence,
	.on_send = upload_take,
	.client = fill_client,
	.patience = fill_patience,
	.on_done = on_done,
};
