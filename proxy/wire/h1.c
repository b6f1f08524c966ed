/* h1.c - one request after the other on a connection. */
#include "proxy/wire/h1.h"

#include "proxy/http/h1_parse.h"
#include "proxy/wire/h1_stream.h"

enum { TURN_MOST = 64 }; /* requests of one connection answered before others have theirs */

/* These must hold between two calls of serve. O(1). */
static void
check_stream(const struct h1_stream *s)
{
	const struct conn *c = s->conn;
	assert(c->session == s && s->r && s->ctx);
	assert(s->segment_i <= s->segment_n && s->segment_n <= SEGMENTS);
	assert(s->body_from <= s->body_to && s->body_to <= s->segment_n);
	assert(s->decoded == 0 || s->body != BODY_OVER);
	assert(s->body != BODY_OPEN || s->r->body_bytes > 0 || s->tunnel);
	assert(!s->body_fault || s->body == BODY_BROKEN);
	switch (s->answering) {
	case ANSWER_AWAITED:
		assert(s->left == 0 && s->body_sent == 0 && s->framing_out == OUT_LENGTH);
		break;
	case ANSWER_FLOWS:
	case ANSWER_LATER:
		assert(s->source.pull && s->left > 0);
		assert((s->left == LENGTH_UNKNOWN) == (s->framing_out != OUT_LENGTH));
		break;
	default:
		break;
	}
}

/* The request is over: nothing of it is touched any more. */
static void
end_stream(struct conn *c, enum stream_end how)
{
	struct h1_stream *s = h1_stream(c);
	struct arena *arena = s->arena;
	conn_enter_serve(c->wire);
	c->wire->o.up->on_done(s->ctx, how, s->body_sent);
	conn_leave_serve(c->wire);
	c->session = NULL;
	arena_unref(&arena);
}

/* ---- one request's turn ---------------------------------------------------------------------- */

/* Serve is told what it waited for, as long as it takes it. */
static void
tell_of_body(struct h1_stream *s)
{
	struct conn *c = s->conn;
	for (int i = 0; i < TURN_MOST && s->wanted; i++) {
		bool news = s->body != BODY_OPEN || conn_input(c).n || c->input == INPUT_OVER ||
			    conn_read(c, SCRATCH_BYTES) || c->input == INPUT_OVER;
		if (!news)
			return;
		s->wanted = false;
		conn_enter_serve(c->wire);
		c->wire->o.up->on_body(s->ctx);
		conn_leave_serve(c->wire);
	}
	if (s->wanted)
		event_active(&c->ev, EV_WRITE, 0);
}

enum turn { TURN_NEXT, TURN_WAITS, TURN_FREED /* or lingers */ };

/* The answer is out, or cut: the connection goes on, or ends so that nobody takes a part for the
 * whole. */
static enum turn
finish(struct conn *c)
{
	struct h1_stream *s = h1_stream(c);
	bool by_close = s->framing_out == OUT_CLOSE, whole = s->answering == ANSWER_WHOLE;
	bool keep = s->keep_alive && !c->broken;
	/* Bytes of a next request that lie in the socket would turn the close into a reset, too. */
	bool linger = s->r->fault || s->body != BODY_OVER || (!keep && c->readable);
	end_stream(c, whole ? STREAM_SENT : STREAM_RESET);
	if (whole && linger) {
		c->driving = false;
		conn_linger(c);
		return TURN_FREED;
	}
	if (whole && keep) {
		/* Its wait is over: the next request has one of its own. */
		if (c->waiting > WAIT_IDLE)
			conn_wait(c, WAIT_NOTHING);
		return TURN_NEXT;
	}
	if (!whole)
		conn_spoil(c);
	if (!whole && by_close)
		conn_free_reset(c);
	else
		conn_free(c);
	return TURN_FREED;
}

static enum turn
abandon(struct conn *c, enum stream_end how)
{
	end_stream(c, how);
	conn_spoil(c);
	conn_free(c);
	return TURN_FREED;
}

/* It has the head of its answer, and may pause within its own body. */
static bool
may_be_silent(const struct h1_stream *s)
{
	return (s->pauses & STREAM_PAUSES_REQUEST) && s->answering != ANSWER_AWAITED;
}

/* Its client has stopped sending: what it still reads is worth less than what others wait for. */
static void
doubt(struct h1_stream *s)
{
	struct wire *w = s->conn->wire;
	if (!w->o.up->on_doubt)
		return;
	conn_enter_serve(w);
	w->o.up->on_doubt(s->ctx);
	conn_leave_serve(w);
}

/* A client that only waits may be gone: a reset is noticed at once, the end of what it sends begins
 * a short wait, where nothing else may tell for long. */
static enum turn
wait_for_serve(struct conn *c)
{
	struct h1_stream *s = h1_stream(c);
	conn_look(c);
	if (c->broken)
		return abandon(c, STREAM_GONE);
	bool ended = c->input != INPUT_OPEN, pauses = s->pauses & STREAM_PAUSES_ANSWER;
	bool doubted = ended && s->answering == ANSWER_AWAITED;
	bool may_be_gone = (doubted || (ended && pauses)) && s->body == BODY_OVER;
	if (doubted)
		doubt(s);
	bool may_pause = pauses || (s->wanted && may_be_silent(s));
	h1_pace_wait(s, may_be_gone ? WAIT_GONE : may_pause ? WAIT_TUNNEL : WAIT_NOTHING);
	return TURN_WAITS;
}

/* Our side of a tunnel is over: the client is told, and heard until it ends its own. */
static bool
is_half_open(struct h1_stream *s)
{
	if (!s->tunnel || s->answering != ANSWER_WHOLE || s->body != BODY_OPEN || s->conn->broken)
		return false;
	if (!s->output_ended)
		conn_end_output(s->conn);
	s->output_ended = true;
	return true;
}

static enum turn
go_on(struct conn *c)
{
	struct h1_stream *s = h1_stream(c);
	if (s->wanted)
		tell_of_body(s);
	if (s->answering == ANSWER_SLOW)
		return abandon(c, STREAM_SLOW);
	if (c->waiting == WAIT_STUCK && !c->writable) /* what it sends us moves nothing */
		return TURN_WAITS;
	switch (h1_send(s)) {
	case H1_SEND_BROKEN:
		return abandon(c, STREAM_GONE);
	case H1_SEND_FULL:
		h1_pace_wait(s, WAIT_SEND);
		return TURN_WAITS;
	case H1_SEND_TURN:
		h1_send_let_go(s);
		if (h1_pace_crowded(c->wire))
			h1_send_give_back(s);
		h1_pace_wait(s, WAIT_NOTHING);
		event_active(&c->ev, EV_WRITE, 0);
		return TURN_WAITS;
	case H1_SEND_EMPTY:
		break;
	}
	if (s->answering >= ANSWER_WHOLE && !is_half_open(s))
		return finish(c);
	if (s->wanted && !may_be_silent(s)) {
		if (c->broken)
			return abandon(c, STREAM_GONE);
		h1_pace_wait(s, WAIT_BODY);
		return TURN_WAITS;
	}
	return wait_for_serve(c);
}

/* ---- the connection's turn ------------------------------------------------------------------- */

/* Nothing to do but wait for the client's next bytes; may free c. */
static void
wait_for_head(struct conn *c, bool answered)
{
	struct str in = conn_input(c);
	/* A lone CR may be half of an empty line, which begins nothing: else CR and LF in turn, a
	 * byte each time the limit is near, would hold a connection for ever. */
	bool begun = in.n > 1 || (in.n == 1 && in.p[0] != '\r');
	if (c->input == INPUT_OVER || (c->wire->draining && !begun)) {
		conn_free(c);
		return;
	}
	c->driving = false;
	/* The head's limit runs from its first byte: a drip does not extend it, and an event that
	 * brought nothing does not extend the idle time. */
	enum waiting what = begun ? WAIT_HEAD : WAIT_IDLE;
	if (answered || c->waiting != what)
		conn_wait(c, what);
}

static void
drive(struct conn *c)
{
	size_t most = conn_limits(c)->head_bytes + 1;
	if (c->waiting == WAIT_LINGER) {
		conn_linger(c);
		return;
	}
	c->driving = true;
	bool answered = false;
	for (int requests = 0;;) {
		bool begun = c->session != NULL;
		if (begun)
			check_stream(h1_stream(c));
		enum turn turn = begun ? go_on(c) : TURN_NEXT;
		if (turn == TURN_FREED)
			return;
		answered = answered || begun;
		if (turn == TURN_WAITS || requests++ == TURN_MOST) {
			c->driving = false;
			if (turn == TURN_NEXT)
				conn_wake(c);
			return;
		}
		if (h1_request_next(c))
			continue;
		if (!conn_read(c, most) && !(c->readable && c->input != INPUT_OVER)) {
			wait_for_head(c, answered);
			return;
		}
	}
}

static void
close_conn(struct conn *c)
{
	bool mid_close_body = false;
	if (c->session) {
		struct h1_stream *s = h1_stream(c);
		mid_close_body = s->framing_out == OUT_CLOSE;
		conn_spoil(c);
		end_stream(c, s->answering == ANSWER_AWAITED ? STREAM_GONE : STREAM_RESET);
	}
	if (mid_close_body)
		conn_free_reset(c);
	else
		conn_free(c);
}

static void
give_way(struct conn *c)
{
	const struct h1_stream *s = h1_stream(c);
	bool unsaid = s && s->answering == ANSWER_AWAITED && s->segment_i == s->segment_n &&
		      s->out.n == 0 && !c->broken;
	if (!unsaid) {
		close_conn(c);
		return;
	}
	end_stream(c, STREAM_RESET);
	conn_refuse_late(c);
	conn_free(c);
}

/* A tunnel ends, without an end of what is said in it. */
static void
close_tunnel(struct conn *c)
{
	end_stream(c, STREAM_RESET);
	conn_spoil(c);
	conn_free(c);
}

static void
on_timeout(struct conn *c)
{
	enum waiting was = (enum waiting)c->waiting;
	struct h1_stream *s = h1_stream(c);
	if (!s && was == WAIT_HEAD && conn_input(c).n > 0) {
		h1_request_begin(c, (struct str){0}, &fault_HEADER_TIMEOUT);
		drive(c);
		return;
	}
	if (!s || was == WAIT_GONE) {
		close_conn(c);
		return;
	}
	if (s->tunnel) {
		metrics_add(c->wire->o.metrics, METRIC_TUNNELS_IDLE, 1);
		close_tunnel(c);
		return;
	}
	if (was == WAIT_TUNNEL) {
		metrics_add(c->wire->o.metrics, METRIC_SLOW_CLIENTS, 1);
		close_conn(c);
		return;
	}
	if (!h1_pace_again(c))
		drive(c);
}

static void
drain(struct conn *c)
{
	struct h1_stream *s = h1_stream(c);
	if (s && s->tunnel)
		close_tunnel(c); /* it has no end of its own to wait for */
	if (s)
		return;
	c->readable = true; /* what came and was not looked at yet is still answered */
	drive(c);
}

static void
check(const struct conn *c)
{
	switch ((enum waiting)c->waiting) {
	case WAIT_HEAD:
	case WAIT_IDLE:
	case WAIT_LINGER:
		assert(!c->session);
		break;
	case WAIT_BODY:
	case WAIT_SEND:
	case WAIT_STUCK:
	case WAIT_GONE:
	case WAIT_TUNNEL:
		assert(c->session);
		break;
	default:
		break;
	}
}

const struct front h1_front = {
	.drive = drive,
	.timeout = on_timeout,
	.is_slow = h1_pace_is_slow,
	.again = h1_pace_again,
	.close = close_conn,
	.give_way = give_way,
	.drain = drain,
	.check = check,
};
