/* txn.c - the life of a request: its memory, and the turn of each state.
 *
 * Each state has one small function that moves the transaction on or says it waits; callbacks from
 * the stream, the cache and flights only note the news and call advance.
 */
#include "proxy/serve/txn.h"

#include "proxy/base/mem.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/challenging.h"
#include "proxy/serve/controlling.h"
#include "proxy/serve/errand.h"
#include "proxy/serve/follow.h"
#include "proxy/serve/gate.h"
#include "proxy/serve/lookup.h"
#include "proxy/serve/plain.h"
#include "proxy/serve/purging.h"
#include "proxy/serve/tally.h"
#include "proxy/serve/tunnel.h"
#include "proxy/serve/walk.h"

#include <assert.h>
#include <stdlib.h>

enum { SPARES_MAX = 256 };

/* ---- memory -------------------------------------------------------------------------------- */

static void
clear(struct txn *t)
{
	struct buf text = t->text;
	struct key key = {.text = t->key.text};
	struct variants variants = t->variants;
	key.text.n = text.n = 0;
	variants_clear(&variants);
	memset(t, 0, offsetof(struct txn, body.ranges) + sizeof t->body.ranges[0]);
	t->key = key;
	t->variants = variants;
	t->text = text;
}

static void
free_txn(struct txn *t)
{
	key_fini(&t->key);
	variants_fini(&t->variants);
	buf_fini(&t->text);
	free(t);
}

static void on_lookup(struct cache_lookup *l, struct object *o);
static flight_wake_fn on_wake;
static void on_read(struct body_read *r);

static struct txn *
take_txn(struct serve *w)
{
	struct txn *t = w->spare_txns;
	if (t) {
		w->spare_txns = t->spare_next;
		w->spare_count--;
		clear(t);
	} else {
		t = NEW(struct txn);
	}
	t->serve = w;
	t->settings = settings_ref(w->settings);
	t->cs.name = t->settings->name;
	t->look.lookup.done = on_lookup;
	t->wake = on_wake;
	t->body.read.done = on_read;
	t->begun_us = now_us();
	return t;
}

static void
give_back(struct txn *t)
{
	struct serve *w = t->serve;
	assert(!t->stream && !t->body.walk && !t->reader && !t->upload.fill && !t->settings);
	if (w->spare_count >= SPARES_MAX || t->text.cap > 64 << 10) {
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
	tunnel_end(t);
	if (t->upload.fill)
		fill_body_gone(t->upload.fill); /* clears t->upload.fill */
	alarm_cancel(&t->serve->alarms, &t->alarm);
	body_end(&t->body);
	if (t->reader)
		flight_leave(&t->reader);
	errand_end(t);
	object_unref(&t->look.found);
	object_unref(&t->look.spare);
	object_unref(&t->object);
	settings_unref(&t->settings);
	buf_fini(&t->upload.gathered);
	arena_unref(&t->arena);
}

/* The last outstanding answer from the disk is here, after the client left. */
static void
came_home(struct txn *t)
{
	if (t->look.state != LOOKING_OUT && !t->body.read_out)
		give_back(t);
}

/* ---- turns --------------------------------------------------------------------------------- */

static bool
run_gather(struct txn *t)
{
	if ((!t->route || !t->route->streams) && !upload_gather(t))
		return false;
	if (t->fault)
		answer_fault(t, t->fault);
	else if (!t->route)
		controlling_ask(t);
	else
		follow_alone(t, FILL_PASS);
	return true;
}

/* The origin has another version than the head says; nothing was sent yet. The head is to be validated
 * now; if that does not help, the client's own question goes to the origin. */
static void
start_anew(struct txn *t)
{
	walk_end(&t->body.walk);
	t->body.parts.next = BODY_PART_NONE;
	if (t->wait.walks++ == 0) {
		follow_again(t);
		return;
	}
	object_unref(&t->object);
	t->cs.hit = t->cs.has_ttl = false;
	t->cs.fwd = "miss";
	t->way = WAY_AS_IT_CAME;
	follow_alone(t, FILL_MISS);
}

static bool
run_walk(struct txn *t)
{
	int status;
	const char *word;
	if (t->cc.only_if_cached && !walk_has(t->body.walk, t->body.ranges, t->body.range_count)) {
		answer_error(t, 504, "only-if-cached");
		t->answer = ANSWER_ONLY_IF_CACHED;
		return true;
	}
	if (t->rate_due && !walk_has(t->body.walk, t->body.ranges, t->body.range_count) &&
	    !gate_admits(t))
		return true;
	switch (walk_find(t->body.walk, t->body.ranges[0].at,
			  t->body.ranges[0].at + t->body.ranges[0].n)) {
	case WALK_LATER:
		return false;
	case WALK_READY:
		answer_walk(t);
		break;
	case WALK_CHANGED:
		start_anew(t);
		break;
	case WALK_REFUSED:
		answer_error(t, 504, "only-if-cached");
		t->answer = ANSWER_ONLY_IF_CACHED;
		break;
	case WALK_FAILED:
		walk_failure(t->body.walk, &status, &word);
		if (t->cs.hit)
			t->cs.fwd = "partial";
		answer_error(t, status, word);
		break;
	}
	return true;
}

/* A body that cannot be expanded is as if it were not there, for this client. */
static bool
run_expand(struct txn *t)
{
	switch (plain_find(t->body.plain)) {
	case PLAIN_LATER:
		return false;
	case PLAIN_READY:
		answer_plain(t);
		break;
	case PLAIN_FAILED:
		plain_end(&t->body.plain);
		t->look.by_coding = true;
		follow_again(t);
		break;
	}
	return true;
}

/* An answer that began as a hit is none when a slice of it had to be fetched. */
static void
settle_walk(struct txn *t)
{
	if (!t->body.walk || walk_help(t->body.walk) == WALK_ALL_KEPT)
		return;
	t->from.had = walk_was_had(t->body.walk);
	if (t->cs.hit)
		t->answer = send_walk_answer(t);
	t->cs.hit = false;
}

/* The client left before it was sent a head: whatever that would have been, it had none. */
static void
had_no_answer(struct txn *t)
{
	t->cs.hit = t->cs.has_ttl = t->from.had = false;
	t->sighting.verdict = ADMISSION_NOT_STORABLE;
	t->answer = ANSWER_NONE;
	t->detail = NULL;
	t->status = 0;
}

/* Does what can be done now; every event ends here. */
static void
advance(struct txn *t)
{
	txn_check(t);
	for (bool on = true; on;) {
		switch (t->state) {
		case TXN_BEGUN:
			lookup_begin(t);
			break;
		case TXN_GATHER:
			on = run_gather(t);
			break;
		case TXN_PURGE:
			on = purging_run(t);
			break;
		case TXN_CHALLENGE:
			on = challenging_run(t);
			break;
		case TXN_CONTROL:
			on = controlling_run(t);
			break;
		case TXN_LOOKUP:
			on = lookup_run(t);
			break;
		case TXN_WAIT_FLIGHT:
			on = follow_run(t);
			break;
		case TXN_WALK:
			on = run_walk(t);
			break;
		case TXN_EXPAND:
			on = run_expand(t);
			break;
		case TXN_SEND:
			stream_ready(t->stream);
			return;
		case TXN_DONE:
			return;
		}
	}
}

/* ---- events -------------------------------------------------------------------------------- */

static void
on_lookup(struct cache_lookup *l, struct object *o)
{
	struct txn *t = (struct txn *)((char *)l - offsetof(struct txn, look.lookup));
	assert(t->look.state == LOOKING_OUT);
	t->look.state = LOOKING_BACK;
	t->look.found = o;
	if (t->stream) {
		advance(t);
		return;
	}
	object_unref(&t->look.found);
	came_home(t);
}

static void
on_read(struct body_read *r)
{
	struct txn *t = (struct txn *)((char *)r - offsetof(struct txn, body.read));
	assert(t->body.read_out);
	t->body.read_out = false;
	if (t->stream) {
		stream_ready(t->stream);
		return;
	}
	body_done(r);
	came_home(t);
}

static void
on_wake(void *ctx)
{
	struct txn *t = ctx;
	advance(t);
}

/* ---- what wire says ------------------------------------------------------------------------ */

static void *
on_request(void *node, struct stream *stream, const struct stream_request *r)
{
	struct txn *t = take_txn(node);
	t->stream = stream;
	t->arena = arena_ref(r->arena);
	t->line = r->line;
	t->rq = r->rq;
	t->fault = r->fault;
	if (!t->fault && t->rq.method == METHOD_CONNECT)
		t->fault = &fault_CONNECT;
	t->upload.state = r->body_bytes != 0 ? UPLOAD_COMES : UPLOAD_NONE;
	t->from.sibling = r->sibling;
	if (!r->sibling) /* else sibling_takes counts what is for a client */
		metrics_add(t->serve->metrics, METRIC_REQUESTS, 1);
	advance(t);
	return t;
}

static void
on_body(void *ctx)
{
	struct txn *t = ctx;
	if (t->state == TXN_GATHER)
		advance(t);
	else if (t->upload.fill)
		fill_body_ready(t->upload.fill);
}

static void
on_done(void *ctx, enum stream_end how, uint64_t body_bytes)
{
	struct txn *t = ctx;
	assert(t->state != TXN_DONE);
	t->cut = how != STREAM_SENT;
	t->body_sent = body_bytes;
	if (t->state == TXN_SEND)
		settle_walk(t);
	else
		had_no_answer(t);
	txn_move(t, TXN_DONE);
	tally_answer(t);
	if (!t->from.sibling) /* its line is where its client is */
		access_log(t);
	let_go(t);
	t->stream = NULL;
	came_home(t);
}

static void
on_doubt(void *ctx)
{
	struct txn *t = ctx;
	assert(t->state != TXN_DONE);
	if (t->doubted)
		return;
	t->doubted = true;
	if (t->state == TXN_WAIT_FLIGHT)
		flight_doubt(t->reader);
	else if (t->state == TXN_WALK)
		walk_doubt(t->body.walk);
}

const struct stream_up txn_stream_up = {on_request, on_body, on_done, on_doubt};
