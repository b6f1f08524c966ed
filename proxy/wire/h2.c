/* h2.c - a connection's turns: what came is read, serve is told, frames are sent; until there is
 * nothing but waiting.
 */
#include "proxy/wire/h2_stream.h"

#include "proxy/base/clock.h"

enum { TURN_MOST = 16 }; /* reads of one connection before others have their turn */

/* ---- what serve has to know ------------------------------------------------------------------ */

/* A stream that was reset before serve was told of it costs serve nothing. */
static bool
tell(struct h2 *h2)
{
	struct wire *w = h2->conn->wire;
	bool told = h2->noted != NULL;
	while (h2->noted) {
		struct h2_stream *s = h2->noted;
		int notes = s->notes;
		h2->noted = s->note_next;
		if (!h2->noted)
			h2->noted_last = &h2->noted;
		s->noted = false;
		s->notes = 0;
		if (notes & H2_NOTE_DONE) {
			if (s->malformed && !s->ctx)
				h2_request_malformed(s);
			h2_work_done(s, s->end);
			continue;
		}
		if (notes & H2_NOTE_REQUEST && h2_held_may_begin(s))
			h2_request_begin(s);
		if (notes & H2_NOTE_BODY && s->wanted) {
			s->wanted = false;
			conn_enter_serve(w);
			w->o.up->on_body(s->ctx);
			conn_leave_serve(w);
		}
	}
	return told;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* All requests under way end. */
static void
end_session(struct h2 *h2, bool slow)
{
	while (h2->streams) {
		struct h2_stream *s = h2->streams;
		h2_work_done(s, slow			     ? STREAM_SLOW
				: s->answering == H2_AWAITED ? STREAM_GONE
							     : STREAM_RESET);
	}
	h2->sent = NULL;
	h2_session_destroy(h2);
}

/* GOAWAY (RFC 9113 6.8), as far as the socket takes it at once: by hand, as libnghttp2 may have been
 * stopped in the middle of its input. */
static void
say_goodbye(struct h2 *h2, uint8_t code)
{
	uint32_t last = (uint32_t)nghttp2_session_get_last_proc_stream_id(h2->ng);
	const uint8_t frame[17] = {[2] = 8,
				   [3] = NGHTTP2_GOAWAY,
				   [9] = (uint8_t)(last >> 24),
				   [10] = (uint8_t)(last >> 16),
				   [11] = (uint8_t)(last >> 8),
				   [12] = (uint8_t)last,
				   [16] = code};
	struct iovec iov = {(void *)(uintptr_t)frame, sizeof frame};
	if (h2->out.n == 0 && !h2->conn->broken)
		conn_write(h2->conn, &iov, 1, false);
}

/* The last words are out, or cannot be: those behind an error are read before the reset that unread
 * input would cause. */
static void
finish(struct conn *c)
{
	struct h2 *h2 = c->session;
	bool unread = h2->abuse || h2->failed || h2->error;
	if (h2->abuse || h2->failed)
		say_goodbye(h2, h2->abuse ? NGHTTP2_ENHANCE_YOUR_CALM : h2->error);
	if (unread)
		h2_guard_tell(h2);
	bool said = !c->broken && h2->out.n == 0 && unread;
	end_session(h2, false);
	c->driving = false;
	if (said)
		conn_linger(c);
	else
		conn_free(c);
}

/* ---- turns --------------------------------------------------------------------------------- */

/* Bytes that were received go to libnghttp2. Nothing is read for a client that takes nothing: what it is
 * answered, be it a reset, would wait in memory. */
static bool
receive(struct h2 *h2)
{
	struct conn *c = h2->conn;
	if (h2->out.n || conn_flush(c) <= 0 ||
	    (conn_input(c).n == 0 && !conn_read(c, SCRATCH_BYTES)))
		return false;
	struct str in = conn_input(c);
	ssize_t n = nghttp2_session_mem_recv(h2->ng, (const uint8_t *)in.p, in.n);
	conn_consume(c, in.n);
	h2->unknown += (int64_t)in.n;
	h2_guard_unknown(h2);
	if (n < 0) {
		h2->failed = true;
		if (n == NGHTTP2_ERR_FLOODED && !h2->abuse) /* of answers that it does not take */
			h2->abuse = H2_FRAMES;
		h2->error = n == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NGHTTP2_PROTOCOL_ERROR
							      : NGHTTP2_ENHANCE_YOUR_CALM;
	}
	return true;
}

/* Says what the connection waits for now. */
static void
wait_on(struct h2 *h2)
{
	struct conn *c = h2->conn;
	bool busy = h2->count || h2->lasting.n || h2->full || h2->draining;
	enum waiting what = busy ? WAIT_STREAMS : h2->head_since_ms ? WAIT_HEAD : WAIT_IDLE;
	if (busy && c->waiting != WAIT_STREAMS)
		h2->watched_ms = now_ms();
	if (c->waiting != what || (what == WAIT_IDLE && h2->answered))
		conn_wait(c, what);
	h2->answered = false;
}

/* Once, however often it is due: in time, and by an answer to the PING that is later still. */
static void
say_drained(struct h2 *h2)
{
	h2->drained = false;
	if (h2->told_last)
		return;
	h2->told_last = true;
	nghttp2_submit_goaway(h2->ng, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(h2->ng), NGHTTP2_NO_ERROR,
			      NULL, 0);
}

/* All that was framed is with the kernel. */
static bool
is_out(const struct h2 *h2)
{
	const struct tls *t = h2->conn->tls;
	return h2->out.n == 0 && (!t || tls_unsent(t) == 0);
}

static bool
is_over(const struct h2 *h2)
{
	return h2->failed || (is_out(h2) && !nghttp2_session_want_read(h2->ng) &&
			      !nghttp2_session_want_write(h2->ng));
}

/* No request is refused that its client sent before it heard of this: the last GOAWAY waits for the
 * answer to a PING (RFC 9113 6.8). */
static void
begin_drain(struct h2 *h2)
{
	if (h2->draining)
		return;
	h2->draining = true;
	nghttp2_submit_shutdown_notice(h2->ng);
	nghttp2_submit_ping(h2->ng, NGHTTP2_FLAG_NONE, NULL);
}

/* One turn; false: there is nothing to do but wait. */
static bool
turn(struct h2 *h2, enum h2_send *sent)
{
	bool moved = receive(h2);
	moved = tell(h2) || moved;
	h2_held_relieve(h2, false);
	if (h2->answered && h2->conn->wire->lame_duck)
		begin_drain(h2);
	if (h2->drained)
		say_drained(h2);
	uint64_t written = h2->written;
	bool was_full = h2->full;
	*sent = h2_send(h2);
	h2->full = *sent == H2_SEND_FULL;
	return moved || h2->written != written || h2->noted || (was_full && !h2->full);
}

/* The session of a connection that begins to send; NULL: it sends nothing, and c may be freed. */
static struct h2 *
begin(struct conn *c)
{
	if (!conn_read(c, SCRATCH_BYTES)) {
		if (c->input == INPUT_OVER || c->wire->draining)
			conn_free(c);
		return NULL;
	}
	struct h2 *h2 = h2_session_create(c);
	if (c->wire->draining || c->wire->leaving)
		begin_drain(h2);
	return h2;
}

static bool
has_ended(const struct h2 *h2)
{
	const struct conn *c = h2->conn;
	return c->broken || h2->abuse || is_over(h2) ||
	       (c->input == INPUT_OVER && conn_input(c).n == 0);
}

/* As many turns as are due; true: there is more to do, when others have had theirs. */
static bool
take_turns(struct h2 *h2)
{
	for (int i = 0; i < TURN_MOST; i++) {
		enum h2_send sent = H2_SEND_EMPTY;
		if (!turn(h2, &sent))
			return sent == H2_SEND_TURN;
		if (sent >= H2_SEND_TURN || has_ended(h2))
			break;
	}
	return true;
}

static void
drive(struct conn *c)
{
	struct h2 *h2 = c->session;
	if (c->waiting == WAIT_LINGER) {
		conn_linger(c);
		return;
	}
	if (!h2 && !(h2 = begin(c)))
		return;
	c->driving = true;
	bool more = take_turns(h2);
	if (has_ended(h2)) {
		finish(c);
		return;
	}
	wait_on(h2);
	c->driving = false;
	if (more)
		conn_wake(c);
}

static void
close_conn(struct conn *c)
{
	struct h2 *h2 = c->session;
	if (h2) {
		if (!c->broken && h2->out.n == 0 && h2->count == 0)
			say_goodbye(h2, NGHTTP2_NO_ERROR);
		end_session(h2, false);
	}
	conn_free(c);
}

static void
give_way(struct conn *c)
{
	struct h2 *h2 = c->session;
	if (h2 && !c->broken)
		say_goodbye(h2, NGHTTP2_ENHANCE_YOUR_CALM);
	if (h2)
		end_session(h2, false);
	conn_free(c);
}

static void
on_timeout(struct conn *c)
{
	struct h2 *h2 = c->session;
	if (!h2 || c->waiting != WAIT_STREAMS) {
		close_conn(c);
		return;
	}
	const struct wire_limits *l = &c->wire->o.limits;
	bool dripped = h2->head_since_ms && now_ms() - h2->head_since_ms >= l->header_ms;
	if (!h2_pace_watch(h2) || dripped) {
		end_session(h2, !dripped);
		conn_free(c);
		return;
	}
	h2_work_sweep(h2);
	h2->drained = h2->draining; /* its answer to the PING is late */
	conn_wait(c, WAIT_STREAMS);
	drive(c);
}

static bool
again(struct conn *c)
{
	(void)c;
	return true; /* never in WAIT_SEND: h2_pace_watch gives back */
}

static void
rest(struct conn *c)
{
	struct h2 *h2 = c->session;
	if (h2 && !h2->count && is_out(h2) && !nghttp2_session_want_write(h2->ng))
		h2_memory_rest(&h2->held.session);
}

static void
drain(struct conn *c)
{
	struct h2 *h2 = c->session;
	c->readable = true; /* what came and was not looked at yet is still answered */
	if (h2)
		begin_drain(h2);
	drive(c);
}

static void
check(const struct conn *c)
{
	const struct h2 *h2 = c->session;
	assert(c->waiting == WAIT_IDLE || c->waiting == WAIT_HEAD || c->waiting == WAIT_STREAMS ||
	       c->waiting == WAIT_LINGER);
	if (!h2)
		return;
	assert(h2->conn == c && c->waiting != WAIT_LINGER);
	assert((h2->count == 0) == (h2->streams == NULL));
	assert(h2->count <= h2->most && h2->lasting.n <= h2->most);
	assert(h2->out_at <= h2->out.n);
	assert(!h2->head_since_ms || h2->head_id);
	assert(h2->count == 0 || c->waiting == WAIT_STREAMS);
}

const struct front h2_front = {
	.drive = drive,
	.timeout = on_timeout,
	.is_slow = h2_pace_is_slow,
	.again = again,
	.close = close_conn,
	.give_way = give_way,
	.drain = drain,
	.leave = drain,
	.rest = rest,
	.held = h2_held_bytes,
	.check = check,
};
