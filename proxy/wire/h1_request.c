/* h1_request.c - from bytes to a request and its body. */
#include "proxy/http/h1_parse.h"
#include "proxy/wire/h1_stream.h"

/* ---- request bodies -------------------------------------------------------------------------- */

/* Framing at the front of the input is eaten; s->decoded says how much body follows. */
static void
decode(struct h1_stream *s, struct str in)
{
	struct str rest = in, data = {0};
	if (s->tunnel) {
		s->decoded = in.n;
		return;
	}
	if (s->r->rq.framing == FRAMING_LENGTH) {
		s->decoded = in.n < s->body_left ? in.n : (size_t)s->body_left;
		return;
	}
	switch (chunked_decode(&s->chunked, &rest, &data, &s->body_fault)) {
	case CHUNKED_DATA:
		s->decoded = data.n;
		break;
	case CHUNKED_DONE:
		s->body = BODY_OVER;
		break;
	case CHUNKED_FAULT:
		s->body = BODY_BROKEN;
		break;
	case CHUNKED_MORE:
		break;
	}
	conn_consume(s->conn, in.n - rest.n - data.n);
}

static enum stream_body
wait_for_body(struct h1_stream *s)
{
	struct conn *c = s->conn;
	if (c->input == INPUT_OVER && s->tunnel && !c->broken) {
		s->body = BODY_OVER;
		conn_wake(c); /* that may have been all */
		return STREAM_BODY_END;
	}
	if (c->input == INPUT_OVER) {
		s->body = BODY_BROKEN;
		return STREAM_BODY_FAULT;
	}
	s->wanted = true;
	if (s->continue_due && s->answering == ANSWER_AWAITED)
		h1_answer_add(s, STR("HTTP/1.1 100 Continue\r\n\r\n"), STR(""), STR(""));
	s->continue_due = false;
	conn_wake(c);
	return STREAM_BODY_WAIT;
}

/* More of the body than limits.body allows ends it, before serve sees the excess. */
static enum stream_body
give_body(struct h1_stream *s, struct str *bytes)
{
	uint64_t most = s->conn->wire->o.limits.body_bytes;
	if (most && !s->tunnel && s->body_came + s->decoded > most) {
		s->body = BODY_BROKEN;
		s->body_fault = &fault_BODY_TOO_LARGE;
		return STREAM_BODY_FAULT;
	}
	s->continue_due = false;
	*bytes = (struct str){conn_input(s->conn).p, s->decoded};
	return STREAM_BODY_SOME;
}

static enum stream_body
body(struct h1_stream *s, struct str *bytes)
{
	struct conn *c = s->conn;
	for (;;) {
		if (s->body == BODY_BROKEN)
			return STREAM_BODY_FAULT;
		if (s->body == BODY_OVER)
			return STREAM_BODY_END;
		if (s->decoded)
			return give_body(s, bytes);
		if (conn_input(c).n == 0 && !conn_read(c, SCRATCH_BYTES))
			return wait_for_body(s);
		decode(s, conn_input(c));
	}
}

static enum stream_body
take_body(struct stream *base, struct str *bytes, const struct fault **why)
{
	struct h1_stream *s = h1_stream_of(base);
	struct wire *w = s->conn->wire;
	w->within_stream++;
	*bytes = (struct str){0};
	s->wanted = false;
	enum stream_body r = body(s, bytes);
	*why = s->body_fault;
	w->within_stream--;
	return r;
}

static void
took(struct stream *base, size_t n)
{
	struct h1_stream *s = h1_stream_of(base);
	assert(n <= s->decoded);
	conn_consume(s->conn, n);
	s->decoded -= n;
	s->body_came += n;
	s->upward.bytes += n;
	if (s->r->rq.framing == FRAMING_LENGTH) {
		s->body_left -= n;
		if (s->body_left == 0)
			s->body = BODY_OVER;
	}
}

/* A connection has one request: nothing else of its client's waits for the room. */
static void
let_go(struct stream *base, size_t n)
{
	(void)base, (void)n;
}

/* ---- request heads --------------------------------------------------------------------------- */

static struct str
first_line(struct str head)
{
	const char *end = head.n ? memchr(head.p, '\r', head.n) : NULL;
	if (!end && head.n)
		end = memchr(head.p, '\n', head.n);
	return (struct str){head.p, end ? (size_t)(end - head.p) : head.n};
}

static const struct fault *
parse(struct conn *c, struct str head, struct stream_request *r)
{
	struct wire *w = c->wire;
	const struct wire_limits *l = conn_limits(c);
	/* The target is part of the head: a smaller limit of the head limits it too. */
	struct h1_limits limits = {
		.head_bytes = l->head_bytes,
		.url_bytes = l->url_bytes,
		.field_count = l->field_count,
	};
	r->rq.fields = (struct fields){.v = w->fields, .cap = FIELDS_MAX};
	const struct fault *fault = h1_parse_request(head, &limits, &r->rq);
	struct field *kept = arena_alloc(r->arena, (r->rq.fields.n + 1) * sizeof *kept);
	memcpy(kept, w->fields, r->rq.fields.n * sizeof *kept);
	r->rq.fields.v = kept;
	r->rq.fields.cap = r->rq.fields.n;
	if (fault)
		return fault;
	/* The scheme is the listener's, not an absolute-form target's: else a plain client
	 * could fill the keys of https. */
	r->rq.scheme = c->listener->scheme;
	r->body_bytes = r->rq.framing == FRAMING_LENGTH	   ? r->rq.content_length
			: r->rq.framing == FRAMING_CHUNKED ? LENGTH_UNKNOWN
							   : 0;
	if (r->rq.framing == FRAMING_LENGTH && l->body_bytes && r->body_bytes > l->body_bytes)
		return &fault_BODY_TOO_LARGE;
	return NULL;
}

static void
peer(const struct stream *base, char out[STREAM_PEER_BYTES])
{
	conn_peer(((const struct h1_stream *)base)->conn, out);
}

static void
address(const struct stream *base, unsigned char out[16])
{
	conn_address(((const struct h1_stream *)base)->conn, out);
}

static void
link_of(const struct stream *base, struct stream_link *out)
{
	const struct h1_stream *s = (const struct h1_stream *)base;
	conn_link(s->conn, out);
	out->reused = s->reused;
}

static const struct stream_calls calls = {
	.body = take_body,
	.took = took,
	.keep = took,
	.let_go = let_go,
	.head = h1_answer_head,
	.interim = h1_answer_interim,
	.ready = h1_answer_ready,
	.reset = h1_answer_reset,
	.peer = peer,
	.address = address,
	.link = link_of,
};

void
h1_request_begin(struct conn *c, struct str head, const struct fault *fault)
{
	struct wire *w = c->wire;
	struct arena *arena = arena_create(w->o.arenas);
	struct stream_request *r = ARENA_NEW(arena, struct stream_request);
	struct h1_stream *s = arena_alloc(arena, sizeof *s);
	memset(s, 0, offsetof(struct h1_stream, segments));
	size_t eaten = head.n;
	head = arena_copy(arena, head);
	conn_consume(c, eaten); /* serve may ask for the body at once */
	r->arena = arena;
	r->line = first_line(head);
	r->fault = fault ? fault : parse(c, head, r);
	r->sibling = c->listener->sibling;
	if (!r->fault && !conn_is_for(c, r->rq.authority))
		r->fault = &fault_MISDIRECTED;
	if (r->fault)
		r->body_bytes = 0;
	s->base.calls = &calls;
	s->conn = c;
	s->reused = c->asked;
	c->asked = true;
	s->r = r;
	s->arena = arena;
	s->body = r->body_bytes ? BODY_OPEN : BODY_OVER;
	s->body_left = r->rq.framing == FRAMING_LENGTH ? r->body_bytes : 0;
	s->keep_alive = !r->fault && r->rq.keep_alive;
	s->continue_due = !r->fault && r->rq.expect_continue;
	c->session = s;
	conn_enter_serve(w);
	s->ctx = w->o.up->on_request(w->o.node, &s->base, r);
	conn_leave_serve(w);
}

/* The bytes of a first line that cannot become a request, however long its head is waited for, as
 * it ends in no version; else 0. No line end lies before from. */
static size_t
hopeless_line(struct conn *c, struct str in, size_t from)
{
	const char *lf = c->line_seen ? NULL : memchr(in.p + from, '\n', in.n - from);
	if (!lf)
		return 0;
	c->line_seen = true;
	struct str line = {in.p, (size_t)(lf - in.p) + 1};
	return h1_line_has_version(line) ? 0 : line.n;
}

bool
h1_request_next(struct conn *c)
{
	const struct wire_limits *l = conn_limits(c);
	struct str in = conn_input(c);
	size_t skip = h1_skip_empty_lines(in.p, in.n);
	if (skip) {
		conn_consume(c, skip);
		in = conn_input(c);
	}
	if (in.n == 0)
		return false;
	size_t from = c->scanned, head = h1_head_bytes(in.p, in.n, &c->scanned);
	if (head == 0 && in.n <= l->head_bytes)
		head = hopeless_line(c, in, from);
	if (head == 0 && in.n <= l->head_bytes)
		return false;
	const struct fault *fault = NULL;
	if (head == 0 || head > l->head_bytes) {
		fault = memchr(in.p, '\n', in.n) ? &fault_HEAD_TOO_LARGE : &fault_URL_TOO_LONG;
		head = in.n;
	}
	h1_request_begin(c, (struct str){in.p, head}, fault);
	return true;
}
