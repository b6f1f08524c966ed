/* follow.c - the way to the origin: alone, or together with all who ask for the same; and what a
 * flight brings to a request that leads or follows it.
 */
#include "proxy/serve/follow.h"

#include "proxy/serve/part.h"
#include "proxy/serve/sight.h"

enum { RESTARTS_MAX = 4 };

/* ---- going to the origin ------------------------------------------------------------------- */

void
follow_alone(struct txn *t, enum fill_kind kind)
{
	flight_leave(&t->reader);
	t->reader = flight_enter_alone(t->serve->shelves->flights, t->serve->mailbox, t->wake, t);
	t->leader = true;
	txn_move(t, TXN_WAIT_FLIGHT);
	fill_start(t, kind);
}

void
follow_pass(struct txn *t)
{
	t->passing = true;
	follow_alone(t, FILL_PASS);
}

bool
follow_is_worth_the_whole(const struct txn *t)
{
	struct sighting_facts f = sight_of_txn(t, 200);
	return seen_look(t->serve->shelves->seen, t->key.sighting, &f).whole;
}

/* For this client alone. One who wants less is not made to pull the whole of what is not for the
 * store, or is on its way there. */
void
follow_own(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	t->as_it_came = !t->object && policy_asks_for_less(&t->rq) &&
			(!follow_is_worth_the_whole(t) || fill_is_writing(sh, t->key.hash));
	follow_alone(t, t->object ? FILL_VALIDATE : FILL_MISS);
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
void
follow_together(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	enum fill_kind kind = t->object ? FILL_VALIDATE : FILL_MISS;
	if (passes_has(sh->passes, t->key.hash, now_s())) {
		follow_own(t);
		return;
	}
	flight_leave(&t->reader);
	t->leader = flight_enter(sh->flights, t->key.hash, buf_str(&t->key.text), t->serve->mailbox,
				 t->wake, t, &t->reader);
	txn_move(t, TXN_WAIT_FLIGHT);
	if (t->leader && is_completed(t))
		t->cs.fwd = "partial";
	if (t->leader)
		fill_start(t, kind);
	else
		metrics_add(t->serve->metrics, METRIC_JOINED, 1);
}

/* ---- what it brings ------------------------------------------------------------------------- */

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
	t->leader = t->stale_ok = false;
	t->part_search = PART_NOT_ASKED;
	t->restarts++;
	txn_move(t, TXN_LOOKUP);
	t->looking = LOOKING_DUE;
}

static void
serve_stale(struct txn *t)
{
	flight_leave(&t->reader);
	t->answer = ANSWER_STALE;
	sight_stored(t);
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
			follow_own(t);
		return;
	}
	answer_flight(t);
}

bool
follow_run(struct txn *t)
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
