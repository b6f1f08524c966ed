/* send_body.c - the bytes of a body: from a stored object, from a flight, and from the one to the
 * other. Wire pulls them when it has room.
 */
#include "proxy/base/block.h"
#include "proxy/serve/beside.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/send_inside.h"
#include "proxy/serve/slices.h"
#include "proxy/serve/trailers.h"
#include "proxy/serve/walk.h"

#include <assert.h>

/* ---- from a stored object ------------------------------------------------------------------ */

/* What stands before a slice of several, or behind the last one. */
static struct str
part_text(struct txn *t, bool last)
{
	t->part_text.n = 0;
	if (last)
		multipart_end(str_of(t->boundary), &t->part_text);
	else
		multipart_part_head(str_of(t->boundary), t->part_type, t->slices[t->slice_i],
				    slices_length(t->object), t->slice_i == 0, &t->part_text);
	return buf_str(&t->part_text);
}

/* To the next slice, where there is one. */
static void
leave_slice(struct txn *t)
{
	assert(t->slice_i < t->slice_count);
	if (++t->slice_i == t->slice_count)
		return;
	t->at = t->slices[t->slice_i].at;
	t->until = t->at + t->slices[t->slice_i].n;
	t->parts = t->parts ? PARTS_HEAD : PARTS_NOT;
}

/* What comes next is not of a slice's own bytes: the text between them, or the end. */
static bool
pull_between(struct txn *t, size_t most, struct str *pieces, unsigned *n, enum stream_pull *r)
{
	if (!t->between.n && t->at == t->until)
		leave_slice(t);
	bool last = t->slice_i == t->slice_count;
	if (!last && t->parts != PARTS_HEAD)
		return false;
	if (!t->between.n && t->parts)
		t->between = part_text(t, last);
	struct str piece = {t->between.p, t->between.n < most ? t->between.n : most};
	t->between = str_from(t->between, piece.n);
	if (piece.n)
		pieces[(*n)++] = piece;
	*r = last && !t->between.n ? STREAM_PULL_END : STREAM_PULL_SOME;
	if (!last && !t->between.n)
		t->parts = PARTS_BYTES;
	return true;
}

/* There is a slice to send, or what stands behind the last one. */
static bool
is_under_way(const struct txn *t)
{
	return t->at <= t->until && (t->slice_i < t->slice_count || t->between.n);
}

enum stream_pull
send_pull_object(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct txn *t = ctx;
	enum stream_pull r;
	assert(t->object && is_under_way(t) && most);
	if (t->read_out)
		return STREAM_PULL_LATER;
	if ((t->at == t->until || t->parts == PARTS_HEAD) && pull_between(t, most, pieces, n, &r))
		return r;
	uint64_t left = t->until - t->at;
	switch (object_read(t->serve->shelves->cache, t->object, &t->read, t->at,
			    left < most ? left : most)) {
	case BODY_READY:
		pieces[(*n)++] = (struct str){t->read.p, t->read.n};
		t->at += t->read.n;
		return STREAM_PULL_SOME;
	case BODY_LATER:
		t->read_out = true;
		return STREAM_PULL_LATER;
	case BODY_BAD:
		break;
	}
	return STREAM_PULL_ERROR;
}

bool
send_file_object(void *ctx, size_t most, struct file_piece *piece)
{
	struct txn *t = ctx;
	uint64_t left = t->until - t->at;
	if (t->read_out || left == 0 || t->parts == PARTS_HEAD ||
	    !object_file(t->object, &t->read, t->at, left < most ? left : most, piece))
		return false;
	t->at += piece->n;
	return true;
}

/* A client that takes nothing holds no bytes of a body that lies on disk: they are read again. */
bool
send_give_back(void *ctx, uint64_t bytes)
{
	struct txn *t = ctx;
	if (t->parts || t->read_out || t->slice_i > 0 || bytes > t->at - t->slices[0].at)
		return false;
	t->at -= bytes;
	body_give_back(&t->read, t->object);
	return true;
}

/* ---- from slices --------------------------------------------------------------------------- */

enum stream_pull
send_pull_walk(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct txn *t = ctx;
	enum stream_pull r;
	assert(t->walk && is_under_way(t) && most);
	answer_release(t);
	if ((t->at == t->until || t->parts == PARTS_HEAD) && pull_between(t, most, pieces, n, &r))
		return r;
	uint64_t left = t->until - t->at;
	switch (walk_read(t->walk, t->at, t->until, left < most ? (size_t)left : most, &pieces[0],
			  &t->blocks[0])) {
	case WALK_READY:
		t->at += pieces[0].n;
		*n = 1;
		return STREAM_PULL_SOME;
	case WALK_LATER:
		return STREAM_PULL_LATER;
	case WALK_CHANGED: /* what was sent is of another version: it is cut, never mixed */
	case WALK_FAILED:
	case WALK_REFUSED:
		break;
	}
	return STREAM_PULL_ERROR;
}

bool
send_give_back_walk(void *ctx, uint64_t bytes)
{
	struct txn *t = ctx;
	if (t->parts || t->slice_i > 0 || bytes > t->at - t->slices[0].at ||
	    !walk_give_back(t->walk, t->at - bytes))
		return false;
	t->at -= bytes;
	return true;
}

bool
send_file_walk(void *ctx, size_t most, struct file_piece *piece)
{
	struct txn *t = ctx;
	uint64_t left = t->until - t->at;
	answer_release(t);
	if (left == 0 || t->parts == PARTS_HEAD ||
	    !walk_file(t->walk, t->at, left < most ? (size_t)left : most, piece))
		return false;
	t->at += piece->n;
	return true;
}

/* ---- from a flight ------------------------------------------------------------------------- */

void
answer_release(struct txn *t)
{
	for (unsigned i = 0; i < STREAM_PIECES; i++)
		block_unref(&t->blocks[i]);
}

/* The flight went on without this reader; what it has become in the cache has the rest. */
static void
go_on_from_object(struct txn *t)
{
	assert(t->source == SOURCE_FLIGHT && t->reader);
	object_unref(&t->object);
	t->object = object_ref(flight_stored(flight_of(t->reader)));
	flight_leave(&t->reader);
	t->source = SOURCE_OBJECT;
	t->flight_bytes = t->at - t->slices[0].at;
	t->read.home = t->serve->mailbox;
	if (t->until == UINT64_MAX)
		t->until = t->object->body_bytes;
}

/* Nothing comes from the flight now, or nothing more at all: is there another fetch of the same?
 * STREAM_PULL_SOME: t->reader has more. */
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
		return send_pull_object(t, most, pieces, n);
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

enum stream_pull
send_pull_flight(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct txn *t = ctx;
	answer_release(t);
	if (t->source == SOURCE_OBJECT)
		return send_pull_object(ctx, most, pieces, n);
	assert(t->reader && t->at <= t->until);
	flight_done_until(t->reader, t->at);
	while (*n < STREAM_PIECES && most && t->at < t->until) {
		struct str *to = &pieces[*n];
		enum flight_step step =
			flight_read(t->reader, t->at, &to->p, &to->n, &t->blocks[*n]);
		if (step != FLIGHT_READY && *n)
			return step == FLIGHT_OVER ? STREAM_PULL_END : STREAM_PULL_SOME;
		if (step != FLIGHT_READY) {
			enum stream_pull r = pull_none(t, step, most, pieces, n);
			if (r != STREAM_PULL_SOME || *n)
				return r;
			continue;
		}
		if (to->n > t->until - t->at)
			to->n = (size_t)(t->until - t->at);
		if (to->n > most)
			to->n = most;
		t->at += to->n;
		most -= to->n;
		(*n)++;
	}
	return t->at == t->until ? STREAM_PULL_END : STREAM_PULL_SOME;
}

/* The head that t->text had is sent. */
struct str
send_trailers(void *ctx)
{
	struct txn *t = ctx;
	const struct route *route = t->route ? t->route : route_default(t->settings->routes);
	t->text.n = 0;
	if (t->source == SOURCE_FLIGHT && t->reader)
		trailers_pass(flight_trailers(flight_of(t->reader)), route->response,
			      &t->settings->tags, &t->text);
	return buf_str(&t->text);
}
