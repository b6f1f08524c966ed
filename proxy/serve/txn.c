/* txn.c - what happens to a request: parse, route, look up, decide, wait for a flight.
 *
 * Each state has one small function that moves the transaction on or says it waits; callbacks from
 * the cache and from flights only note the news and drive the connection.
 */
#include "proxy/serve/txn.h"

#include "proxy/base/mem.h"
#include "proxy/serve/follow.h"
#include "proxy/serve/lookup.h"
#include "proxy/serve/tally.h"
#include "proxy/http/h1_parse.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

enum { SPARES_MAX = 256 };

/* ---- memory -------------------------------------------------------------------------------- */

static void
clear(struct txn *t)
{
	struct buf head = t->head, out = t->out;
	struct key key = {.text = t->key.text};
	struct variants variants = t->variants;
	head.n = key.text.n = out.n = 0;
	variants_clear(&variants);
	memset(t, 0, offsetof(struct txn, fields));
	t->head = head;
	t->key = key;
	t->variants = variants;
	t->out = out;
}

static void
free_txn(struct txn *t)
{
	buf_fini(&t->head);
	key_fini(&t->key);
	variants_fini(&t->variants);
	buf_fini(&t->out);
	free(t);
}

static void on_lookup(struct cache_lookup *l, struct object *o);
static flight_wake_fn on_wake;

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
	t->lookup.done = on_lookup;
	t->wake = on_wake;
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
	alarm_cancel(&t->serve->alarms, &t->alarm);
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
	if (t->looking != LOOKING_OUT && !t->read_out)
		give_back(t);
}

/* ---- events -------------------------------------------------------------------------------- */

static void
on_lookup(struct cache_lookup *l, struct object *o)
{
	struct txn *t = (struct txn *)((char *)l - offsetof(struct txn, lookup));
	assert(t->looking == LOOKING_OUT);
	t->looking = LOOKING_BACK;
	t->found = o;
	if (t->conn) {
		conn_drive(t->conn);
		return;
	}
	object_unref(&t->found);
	txn_came_home(t);
}

static void
on_wake(void *ctx)
{
	struct txn *t = ctx;
	conn_drive(t->conn);
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

enum txn_next
txn_run(struct txn *t)
{
	if (t->fill && !t->body_over)
		fill_body_ready(t->fill);
	for (;;) {
		switch (t->state) {
		case TXN_BEGUN:
			lookup_begin(t);
			break;
		case TXN_LOOKUP:
			if (!lookup_run(t))
				return TXN_WAITS;
			break;
		case TXN_WAIT_FLIGHT:
			if (!follow_run(t))
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
