/* follow_late.c - a request that waits for the end of a flight: its beginning is gone, or its bytes are of no use
 * before they lie here whole.
 */
#include "proxy/serve/follow_inside.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/forms.h"
#include "proxy/serve/keep/keep_turn.h"
#include "proxy/serve/patience.h"

#include <assert.h>

/* Until the end of the flight in which r is a seat, if it is one: the store will answer. */
static bool
waits_for_end(struct txn *t, struct flight_reader *r)
{
	if (!r)
		return false;
	flight_leave(&t->reader);
	t->reader = r;
	t->leader = false;
	t->wait.late = LATE_WAITS;
	txn_move(t, TXN_WAIT_FLIGHT);
	follow_set_limits(t);
	flight_drips(flight_of(r), now_ms(), 0); /* it is looked at from now on */
	return true;
}

/* Somebody stores what was asked for, and its beginning is not to be had any more. */
bool
follow_waits_for_store(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	if (t->wait.late != LATE_NOT || !keep_is_writing(sh, t->key.hash))
		return false;
	return waits_for_end(t, flights_wait(sh->flights, t->key.hash, buf_str(&t->key.text),
					     t->serve->mailbox, t->wake, t, now_ms(),
					     patience_most_ms(t)));
}

/* An answer in a coding that the client does not take is expanded once it lies here whole. One that will not, or that
 * takes too long, is fetched in the client's own coding. True: the request has moved on, or waits. */
bool
follow_waits_for_form(struct txn *t, const struct flight_head *h)
{
	struct flight *f = flight_of(t->reader);
	if (h->object || !h->storable || forms_of(t, &h->terms) == FORM_AS_STORED)
		return false;
	if (t->leader)
		flight_want(f);
	t->leader = false;
	object_unref(&t->object);
	if (t->wait.late == LATE_NOT &&
	    waits_for_end(t, flight_wait(f, t->serve->mailbox, t->wake, t)))
		return true;
	if (h->kept && flight_state(f) == FLIGHT_WHOLE && t->wait.restarts < FOLLOW_RESTARTS_MAX)
		follow_again(t);
	else
		follow_fetch_own(t);
	return true;
}

/* It is time to look again. False: the fetch that stores it drips, or that has taken too long. */
static bool
waits_for_more(struct txn *t, int64_t now)
{
	int64_t patience = patience_ms(t), end = t->wait.since_ms + patience_most_ms(t);
	t->wait.try_at_ms = now + patience < end ? now + patience : end;
	return now < end && !flight_drips(flight_of(t->reader), now, patience);
}

/* Until the end of the fetch that stores it, or until that takes too long: then it is looked for
 * again, and fetched together with those who have waited as long. */
void
follow_wait_for_end(struct txn *t, enum flight_state s)
{
	int64_t now = now_ms();
	assert(!t->leader && t->wait.try_at_ms);
	if (s == FLIGHT_ARRIVING && t->wait.stale_at_ms && now >= t->wait.stale_at_ms) {
		t->wait.late = LATE_WAITED;
		follow_serve_stale(t, "stale-after");
	} else if (s != FLIGHT_ARRIVING || (now >= t->wait.try_at_ms && !waits_for_more(t, now))) {
		alarm_cancel(&t->serve->alarms, &t->alarm);
		t->wait.late = LATE_WAITED;
		follow_again(t);
	} else {
		follow_set_alarm(t);
	}
}
