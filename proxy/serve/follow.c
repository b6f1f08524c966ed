/* follow.c - the way to the origin: alone, or together with all who ask for the same; and what a
 * flight brings to a request that leads or follows it.
 */
#include "proxy/serve/follow_inside.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/forms.h"
#include "proxy/serve/rules/herd.h"
#include "proxy/serve/keep/keep_turn.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/patience.h"
#include "proxy/serve/resume.h"
#include "proxy/serve/sight.h"

#include <assert.h>

/* ---- going to the origin ------------------------------------------------------------------- */

/* To the origin for t->object's freshness or for the whole; together with whoever asks for the
 * same. */
void
follow_together(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	assert(t->way == WAY_SHARED && t->upload.state == UPLOAD_NONE && !t->body.walk);
	if (passes_has(sh->passes, herd_pass_kind(&t->rq), t->key.hash, now_s())) {
		follow_fetch_own(t);
		return;
	}
	if (follow_waits_for_store(t))
		return;
	flight_leave(&t->reader);
	t->leader = flights_enter(sh->flights, t->key.hash, buf_str(&t->key.text),
				  t->serve->mailbox, t->wake, t, now_ms(), &t->reader);
	txn_move(t, TXN_WAIT_FLIGHT);
	if (t->leader && t->look.landed != keep_landed(sh, t->key.primary) &&
	    t->wait.restarts < FOLLOW_RESTARTS_MAX) {
		/* The answer landed after we looked. Others may have joined us already. */
		struct flight *flight = flight_ref(flight_of(t->reader));
		flights_close(flight);
		flight_fail(flight, 0, "landed", 0);
		flight_unref(&flight);
		follow_again(t);
		return;
	}
	if (!t->leader && patience_is_none(t)) {
		follow_fetch_own(t);
		return;
	}
	follow_set_limits(t);
	if (t->leader) {
		fill_start(t, t->object ? FILL_VALIDATE : FILL_MISS);
		return;
	}
	metrics_add(t->serve->metrics, METRIC_JOINED, 1);
	struct sighting_facts f;
	sight_of(&t->rq, t->route, 200, &f);
	if (sighting_counts(&f))
		flight_count(t->reader);
}

/* ---- what it brings ------------------------------------------------------------------------- */

void
follow_variant(struct txn *t, struct str names, struct buf *values)
{
	if (outgoing_names_client(&t->outgoing, names)) {
		txn_peer(t, t->from.ip);
		outgoing_is_from(&t->outgoing, str_of(t->from.ip), t->settings->trusted,
				 t->settings->trusted_count);
	}
	outgoing_variant(&t->outgoing, key_primary(&t->key), names, values);
}

/* By the terms on which it comes, and in some form of it. */
static bool
may_have(const struct txn *t, const struct flight_head *h, const struct terms *terms)
{
	enum form form = forms_of(t, terms);
	struct terms ours = terms_for_waiting(terms, h->delay_s);
	struct reuse_verdict v = policy_reuse(&ours, &t->rq, &t->cc, now_s());
	return form != FORM_BETTER && form != FORM_NONE &&
	       (v.reuse == REUSE_FRESH || v.reuse == REUSE_STALE || v.reuse == REUSE_STALE_REFRESH);
}

/* Whether what a flight that somebody else leads brings is right for this request too. look_again:
 * it is not, for a reason that says nothing against one fetch for all who are left: it is another
 * variant's, or its key was forgotten on the way, by a purge or because another answer landed. */
static bool
is_for_us(struct txn *t, const struct flight_head *h, bool *look_again)
{
	const struct terms *terms = h->object ? &h->object->terms : &h->terms;
	assert(!t->leader && t->way != WAY_PASSING);
	bool clean = flights_is_clean(flight_of(t->reader));
	*look_again = h->judged == STORABLE_OVERTAKEN || (!clean && h->status < 400);
	if (!clean || (!h->object && !h->storable) ||
	    (h->object && h->judged == STORABLE_OVERTAKEN))
		return false;
	if ((!h->object || h->sliced) &&
	    h->vary.n) { /* on more, perhaps, than the marker we met says */
		struct buf mine = {0};
		follow_variant(t, buf_str(&h->vary), &mine);
		*look_again = !str_eq(buf_str(&mine), buf_str(&h->variant));
		buf_fini(&mine);
		if (*look_again)
			return false;
	}
	return may_have(t, h, terms);
}

/* We followed; the leader's fetch came to this. HERD_SHARE, HERD_INHERIT: answer with it. */
static enum herd_step
follow_on(struct txn *t, struct herd_facts *f)
{
	assert(!t->leader && t->wait.since_ms);
	f->met = t->wait.failures_met;
	f->waited_ms = now_ms() - t->wait.since_ms;
	f->most_ms = patience_most_ms(t);
	enum herd_step step = herd_decide(f);
	t->wait.failures_met += f->failed || f->status >= 400;
	if (step == HERD_QUEUE)
		follow_again(t);
	else if (step == HERD_ALONE)
		follow_fetch_own(t);
	return step;
}

/* Something stored may answer instead of an origin that fails. */
static bool
has_stand_in(struct txn *t)
{
	if (!t->object && t->look.spare) {
		t->object = t->look.spare;
		t->look.spare = NULL;
		t->wait.stale_ok = true;
	}
	return t->object && t->wait.stale_ok;
}

/* A failure that is ours too. */
static void
answer_failure(struct txn *t, int status, const char *word)
{
	if (has_stand_in(t))
		follow_serve_stale(t, "stale-if-error");
	else
		answer_error(t, status ? status : 502, word ? word : "aborted");
}

static void
on_failed_flight(struct txn *t)
{
	int status;
	const char *word;
	uint64_t blame;
	flight_failure(flight_of(t->reader), &status, &word, &blame);
	if (t->fault) { /* the request's own body was at fault */
		answer_fault(t, t->fault);
		return;
	}
	/* The leader left without asking to the end; or found that the cache has it by now. */
	bool landed = word && str_eq(str_of(word), STR("landed"));
	bool handed_over = status == 0 && (t->leader ? !t->doubted : landed);
	if (handed_over && t->way != WAY_PASSING && t->wait.restarts < FOLLOW_RESTARTS_MAX) {
		follow_again(t);
		return;
	}
	struct herd_facts f = {.failed = true,
			       .status = status,
			       .blameless = blame == 0,
			       .same = patience_is_own_fault(t, blame)};
	if (t->leader || follow_on(t, &f) == HERD_INHERIT)
		answer_failure(t, status || !t->doubted ? status : 503, word);
}

/* The head of a fetch that somebody else leads: true when it answers us. */
static bool
shares_head(struct txn *t, const struct flight_head *h)
{
	bool look_again = false;
	struct herd_facts f = {.shareable = is_for_us(t, h, &look_again), .status = h->status};
	/* The credentials of one client say nothing of those who have none. */
	look_again |= !f.shareable && !h->storable && h->of_owner && h->status < 400 &&
		      !policy_has_credentials(&t->rq);
	if (look_again && t->wait.restarts < FOLLOW_RESTARTS_MAX) {
		follow_again(t);
		return false;
	}
	if (!f.shareable && h->status >= 400)
		f.same = patience_is_own_fault(t, h->blame);
	enum herd_step step = follow_on(t, &f);
	if (step == HERD_INHERIT) {
		t->cs.fwd_status = h->status;
		answer_failure(t, h->status, "origin-error");
	}
	return step == HERD_SHARE;
}

/* Somebody else's fetch takes its time: we lead another one from now on. */
static void
fetch_beside(struct txn *t)
{
	metrics_add(t->serve->metrics, METRIC_BESIDE, 1);
	fill_start(t, t->object ? FILL_VALIDATE : FILL_MISS);
}

static bool
has_body_to_come(const struct flight_head *h)
{
	return !h->object && !h->sliced;
}

/* How much of a body must be here before a follower is sent any of it. It comes with its head, or
 * soon, unless the request that leads made the origin drip, hang or break off; then a try of our
 * own is still possible. So: all of a small one, and so much of one that cannot be gone on with
 * from another answer (beside.h). */
static uint64_t
bytes_to_begin_with(const struct flight_head *h)
{
	enum { SMALL_BYTES = 64 << 10 };
	if (!has_body_to_come(h))
		return 0;
	if (h->body_bytes <= SMALL_BYTES)
		return UINT64_MAX;
	return resume_is_told(buf_str(&h->head)) ? 0 : SMALL_BYTES;
}

/* A flight that failed behind its head is answered, then cut off, but for a follower that was sent
 * nothing yet. */
static bool
is_lost(const struct txn *t)
{
	struct flight *f = flight_of(t->reader);
	return !t->leader && flight_state(f) == FLIGHT_FAILED && has_body_to_come(flight_head(f));
}

/* A patience is over, and not enough of the body is here. False: it is sent as it comes, for it
 * comes well: in the second patience too, when what came at first does not count any more. */
static bool
waits_on(struct txn *t, int64_t now, uint64_t most)
{
	int64_t patience = patience_ms(t);
	t->wait.body_by_ms = now + patience;
	if (!flight_drips(flight_of(t->reader), now, patience))
		return ++t->wait.body_waits < 2 || most == UINT64_MAX;
	if (flights_overtake(t->serve->shelves->flights, &t->reader, now, patience)) {
		t->leader = true;
		t->wait.body_by_ms = 0;
		follow_set_limits(t);
		fetch_beside(t);
	}
	return true;
}

/* True: more of the body is waited for, or that took too long and the request has moved on. */
static bool
waits_for_body(struct txn *t)
{
	int64_t now = now_ms();
	struct flight *f = flight_of(t->reader);
	uint64_t most = bytes_to_begin_with(flight_head(f));
	if (!most || flight_awaits(t->reader, most))
		return false;
	if (flight_is_overtaken(f)) {
		follow_again(t);
		return true;
	}
	if (flight_is_steady(f, now)) /* live, perhaps: no second fetch would bring the same */
		return false;
	if (!t->wait.body_by_ms) {
		t->wait.body_by_ms = now + patience_ms(t);
		t->wait.body_waits = 0;
		flight_drips(f, now, 0); /* it is looked at from now on */
	}
	if (now >= t->wait.body_by_ms && !waits_on(t, now, most))
		return false;
	if (t->wait.body_by_ms)
		alarm_set(&t->serve->alarms, &t->alarm, t->wait.body_by_ms, txn_on_alarm);
	return true;
}

static void
on_flight_head(struct txn *t)
{
	struct flight *f = flight_of(t->reader);
	const struct flight_head *h = flight_head(f);
	if (t->leader && policy_is_trouble(h->status) && has_stand_in(t)) {
		t->cs.fwd_status = h->status;
		follow_serve_stale(t, "stale-if-error");
		return;
	}
	bool sliced = h->sliced;
	if (!t->leader && !shares_head(t, h))
		return;
	if (follow_waits_for_form(t, h) || (!t->leader && waits_for_body(t)))
		return;
	if (is_lost(t)) { /* on its leader's thread, just now */
		on_failed_flight(t);
		return;
	}
	if (t->wait.whole_behind && !sliced)
		fill_behind(t, FILL_MISS);
	answer_flight(t);
}

/* No head yet: is it time for something else? True when the transaction has moved on. */
static bool
waits_no_more(struct txn *t)
{
	struct flight *f = flight_of(t->reader);
	assert(!t->leader || !t->wait.try_at_ms); /* who leads tries nothing beside itself */
	if (!t->wait.stale_at_ms && !t->wait.try_at_ms)
		return false;
	int64_t now = now_ms();
	if (t->wait.stale_at_ms && now >= t->wait.stale_at_ms) {
		flight_want(f); /* it goes on, and refreshes the copy */
		follow_serve_stale(t, "stale-after");
		return true;
	}
	if (!t->leader && flight_is_overtaken(f)) {
		follow_again(t);
		return true;
	}
	if (!t->leader && now >= t->wait.try_at_ms) {
		int64_t patience = patience_ms(t);
		t->leader = flights_overtake(t->serve->shelves->flights, &t->reader, now, patience);
		t->wait.try_at_ms = t->leader ? 0 : now + patience;
		if (t->leader)
			fetch_beside(t);
	}
	follow_set_alarm(t);
	return false;
}

bool
follow_run(struct txn *t)
{
	assert(t->state == TXN_WAIT_FLIGHT && t->reader);
	struct flight *f = flight_of(t->reader);
	enum flight_state s = flight_state(f);
	if (t->wait.late == LATE_WAITS) {
		follow_wait_for_end(t, s);
		return t->state != TXN_WAIT_FLIGHT;
	}
	if (t->leader)
		answer_interim(t);
	if (s == FLIGHT_WAITING)
		return waits_no_more(t);
	alarm_cancel(&t->serve->alarms, &t->alarm);
	const struct flight_head *h = flight_head(f);
	if (s == FLIGHT_FAILED && (h->status == 0 || is_lost(t)))
		on_failed_flight(t);
	else
		on_flight_head(t);
	return t->state != TXN_WAIT_FLIGHT || !t->wait.body_by_ms;
}
