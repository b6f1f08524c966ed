/* follow_go.c - the steps of a request that waits for an origin: alone, once more, or with what is stale.
 */
#include "proxy/serve/follow_inside.h"

#include "proxy/cache/admission/seen.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/keep/keep_turn.h"
#include "proxy/serve/patience.h"
#include "proxy/serve/sibling_word.h"
#include "proxy/serve/sight.h"

#include <assert.h>

/* We wait for the origin from now on, on our own or another's fetch. */
void
follow_set_limits(struct txn *t)
{
	int64_t now = now_ms(), begun = flight_begun_ms(flight_of(t->reader));
	assert(t->state == TXN_WAIT_FLIGHT && !t->body.walk);
	t->wait.stale_at_ms = t->object && t->wait.stale_ok ? begun + t->route->stale_after_ms : 0;
	t->wait.try_at_ms = t->leader ? 0 : now + patience_ms(t);
	if (!t->leader && !t->wait.since_ms)
		t->wait.since_ms = now;
	if (t->doubted)
		flight_doubt(t->reader);
	sibling_waits(t);
}

void
follow_alone(struct txn *t, enum fill_kind kind)
{
	assert((kind != FILL_VALIDATE || t->object) && kind != FILL_SLICES);
	assert(t->way != WAY_PASSING || kind == FILL_PASS);
	flight_leave(&t->reader);
	t->reader = flights_enter_alone(t->serve->shelves->flights, 0, t->serve->mailbox, t->wake,
					t, now_ms());
	t->leader = true;
	t->wait.body_by_ms = 0;
	txn_move(t, TXN_WAIT_FLIGHT);
	follow_set_limits(t);
	fill_start(t, kind);
}

void
follow_pass(struct txn *t)
{
	t->way = WAY_PASSING;
	assert(!t->object); /* what passes is answered by nothing that is stored */
	if (t->upload.state != UPLOAD_NONE)
		txn_move(t, TXN_GATHER);
	else
		follow_alone(t, FILL_PASS);
}

bool
follow_is_worth_the_whole(const struct txn *t)
{
	struct sighting_facts f;
	sight_of_txn(t, 200, &f);
	return seen_look(t->serve->shelves->seen, t->key.sighting, &f).whole;
}

/* For this client alone. One who wants less is not made to pull the whole of what is not for the
 * store, or is on its way there. */
void
follow_fetch_own(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	bool less = !t->object && policy_asks_for_less(&t->rq) &&
		    (!follow_is_worth_the_whole(t) || keep_is_writing(sh, t->key.hash));
	t->way = less ? WAY_AS_IT_CAME : WAY_SHARED;
	follow_alone(t, t->object ? FILL_VALIDATE : FILL_MISS);
}

void
follow_again(struct txn *t)
{
	assert(t->way != WAY_PASSING && t->wait.late != LATE_WAITS && !t->body.second);
	flight_leave(&t->reader);
	t->cs.hit = t->cs.has_ttl = false;
	t->leader = t->wait.stale_ok = t->from.had = false;
	t->way = WAY_SHARED;
	t->wait.restarts++;
	t->wait.body_by_ms = 0;
	txn_move(t, TXN_LOOKUP);
	t->look.state = LOOKING_DUE;
}

void
follow_serve_stale(struct txn *t, const char *why)
{
	assert(t->object && t->wait.stale_ok);
	flight_leave(&t->reader);
	t->leader = false; /* of what is asked for from here on */
	t->answer = ANSWER_STALE;
	sight_stored(t, false);
	t->detail = why;
	t->cs.hit = false;
	t->cs.has_ttl = true;
	t->cs.ttl = t->object->terms.lifetime - terms_age(&t->object->terms, now_s());
	answer_object(t);
}

void
follow_set_alarm(struct txn *t)
{
	int64_t next = t->wait.stale_at_ms;
	if (t->wait.try_at_ms && (!next || t->wait.try_at_ms < next))
		next = t->wait.try_at_ms;
	if (next)
		alarm_set(&t->serve->alarms, &t->alarm, next, txn_on_alarm);
}
