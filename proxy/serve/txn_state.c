/* txn_state.c - the moves between the states of a request, from the rows of txn_states.h. */
#include "proxy/base/log.h"
#include "proxy/serve/txn.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#define STATES_ROWS "proxy/serve/txn_states.h"
#include "proxy/base/states.h"

void
txn_check(const struct txn *t)
{
	assert(t->settings && t->stream);
	assert(!t->upload.fill || t->upload.state != UPLOAD_NONE || t->tunnel.protocol.n);
	assert(t->wait.late != LATE_WAITS || !t->leader);
	assert(t->state != TXN_WAIT_FLIGHT || t->reader);
	assert(t->state != TXN_WAIT_FLIGHT || t->way != WAY_PASSING || !t->object);
	assert(t->state != TXN_LOOKUP || (!t->reader && t->way != WAY_PASSING));
	assert(t->look.state == LOOKING_NOT || t->state == TXN_LOOKUP || t->state == TXN_DONE);
	assert(!t->body.walk || t->state >= TXN_WALK);
	assert(!t->body.plain || t->state >= TXN_EXPAND);
	assert(t->state != TXN_EXPAND || (t->body.plain && !t->reader));
	assert(t->state != TXN_WALK || (t->body.walk && !t->reader));
	assert(t->state != TXN_GATHER || (t->way == WAY_PASSING && t->upload.state != UPLOAD_NONE));
}

void
txn_move(struct txn *t, enum txn_state to)
{
	if (!states_moves[t->state][to]) {
		log_error("a request cannot go from %s to %s: this is a defect of twice",
			  states_words[t->state], states_words[to]);
		abort();
	}
	t->state = to;
	txn_check(t);
}

void
txn_on_alarm(struct alarm *a)
{
	struct txn *t = (struct txn *)((char *)a - offsetof(struct txn, alarm));
	t->wake(t);
}

struct str
txn_request_id(struct txn *t)
{
	if (!t->request_id.n && (t->outgoing.trusted || t->from.sibling))
		t->request_id = request_id_said(&t->rq.fields);
	if (!t->request_id.n) {
		request_id_make(&t->serve->ids, t->id_text);
		t->request_id = (struct str){t->id_text, sizeof t->id_text};
	}
	return t->request_id;
}
