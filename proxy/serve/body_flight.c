/* body_flight.c - a body as it comes from the origin, and from the flight to the cache where the
 * flight went on without its reader.
 */
#include "proxy/base/block.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/beside.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/rules/trailers.h"
#include "proxy/serve/txn.h"

#include <assert.h>

static struct txn *
txn_of(struct body *b)
{
	return (struct txn *)((char *)b - offsetof(struct txn, body));
}

/* The object that the flight has become has the rest. */
static void
go_on_from_object(struct txn *t)
{
	struct body *b = &t->body;
	struct serve *s = t->serve;
	assert(b->reader);
	object_unref(&t->object);
	t->object = object_ref(flight_stored(flight_of(b->reader)));
	flight_leave(&b->reader);
	b->flight_bytes = body_taken(b);
	body_of_object(b, s->shelves->cache, s->mailbox, t->object);
	if (b->until == UINT64_MAX)
		b->until = t->object->body_bytes;
}

/* Nothing comes from the flight now, or nothing more at all: is there another fetch of the same?
 * STREAM_PULL_SOME: the reader has more. */
static enum stream_pull
pull_beside(struct txn *t, enum stream_pull now)
{
	switch (beside_look(t)) {
	case BESIDE_READY:
		return STREAM_PULL_SOME;
	case BESIDE_LATER:
		return STREAM_PULL_LATER;
	case BESIDE_NONE:
		break;
	}
	return now;
}

/* The flight had no bytes, but this. STREAM_PULL_SOME: it has by now. */
static enum stream_pull
pull_none(struct txn *t, enum flight_step step, size_t most, struct str *pieces, unsigned *n)
{
	switch (step) {
	case FLIGHT_READY:
	case FLIGHT_LATER:
		return pull_beside(t, STREAM_PULL_LATER);
	case FLIGHT_OVER:
		return STREAM_PULL_END;
	case FLIGHT_STORED:
		go_on_from_object(t);
		return body_pull(&t->body, most, pieces, n);
	case FLIGHT_LOST:
		if (fill_rest(t))
			return STREAM_PULL_LATER;
		metrics_add(t->serve->metrics, METRIC_LEFT_BEHIND, 1);
		return STREAM_PULL_ERROR;
	case FLIGHT_CUT:
		return pull_beside(t, STREAM_PULL_ERROR);
	}
	return STREAM_PULL_ERROR;
}

static enum stream_pull
read_flight(struct body *b, size_t most, struct str *pieces, unsigned *n)
{
	assert(b->reader);
	body_release(b);
	flight_done_until(b->reader, b->at);
	while (*n < STREAM_PIECES && most && b->at < b->until) {
		struct str *to = &pieces[*n];
		enum flight_step step =
			flight_read(b->reader, b->at, &to->p, &to->n, &b->blocks[*n]);
		if (step != FLIGHT_READY && *n)
			return step == FLIGHT_OVER ? STREAM_PULL_END : STREAM_PULL_SOME;
		if (step != FLIGHT_READY) {
			enum stream_pull r = pull_none(txn_of(b), step, most, pieces, n);
			if (r != STREAM_PULL_SOME || *n)
				return r;
			continue;
		}
		if (to->n > b->until - b->at)
			to->n = (size_t)(b->until - b->at);
		if (to->n > most)
			to->n = most;
		b->at += to->n;
		most -= to->n;
		(*n)++;
	}
	return b->at == b->until ? STREAM_PULL_END : STREAM_PULL_SOME;
}

/* The head that t->text had is sent. */
static struct str
trailers(void *ctx)
{
	struct body *b = ctx;
	struct txn *t = txn_of(b);
	const struct route *route = t->route ? t->route : route_default(t->settings->routes);
	t->text.n = 0;
	if (b->reader)
		trailers_pass(flight_trailers(flight_of(b->reader)), route->response,
			      &t->settings->tags, b->coded != NULL, &t->text);
	return buf_str(&t->text);
}

static const struct body_source of_flight = {
	.counts = BODY_FROM_ORIGIN,
	.read = read_flight,
	.trailers = trailers,
};

void
body_of_flight(struct body *b, struct flight_reader **reader)
{
	b->reader = *reader;
	*reader = NULL;
	b->source = &of_flight;
}
