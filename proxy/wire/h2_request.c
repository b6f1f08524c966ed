/* h2_request.c - from HEADERS and DATA to a request and its body. */
#include "proxy/wire/h2_stream.h"

/* LINE_BYTES: what a line counts for beside its text (RFC 9113 6.5.2). BOMB: heads so many times
 * over the limit end the connection. KEEP_MOST: memory for a body that is kept for its next bytes. */
enum { LINE_BYTES = 32, BOMB = 4, FIELDS_FIRST = 16, KEEP_MOST = 1 << 10 };

/* ---- bodies -------------------------------------------------------------------------------- */

/* The client's window bounds what is not taken, but not what was: while serve always leaves some,
 * as it does for an origin that is slower than the client, the taken bytes go here, and each byte
 * moves at most once. */
static void
drop_taken(struct h2_stream *s)
{
	assert(s->in.at <= s->in.came.n);
	if (s->in.at < s->in.came.n - s->in.at)
		return;
	buf_consume(&s->in.came, s->in.at);
	s->in.at = 0;
}

void
h2_request_data(struct h2_stream *s, struct str bytes)
{
	if (s->r->fault || s->broken || s->closed) {
		nghttp2_session_consume(s->h2->ng, s->id, bytes.n);
		return;
	}
	drop_taken(s);
	buf_add_str(&s->in.came, bytes);
	h2_held_count(s);
	s->upward.bytes += bytes.n;
	if (s->wanted)
		h2_note(s, H2_NOTE_BODY);
}

static enum stream_body
wait_for_body(struct h2_stream *s)
{
	static const struct field_block go_on = {.status = 100};
	s->wanted = true;
	if (s->continue_due && s->answering == H2_AWAITED)
		h2_answer_interim(&s->base, &go_on);
	s->continue_due = false;
	return STREAM_BODY_WAIT;
}

static enum stream_body
body(struct h2_stream *s, struct str *bytes)
{
	uint64_t most = s->h2->conn->wire->o.limits.body_bytes;
	size_t here = s->in.came.n - s->in.at;
	if (s->broken)
		return STREAM_BODY_FAULT;
	if (here && most && s->body_came + here > most) {
		s->broken = true;
		s->body_fault = &fault_BODY_TOO_LARGE;
		return STREAM_BODY_FAULT;
	}
	if (here) {
		s->continue_due = false;
		*bytes = (struct str){s->in.came.p + s->in.at, here};
		return STREAM_BODY_SOME;
	}
	if (s->in_over || s->r->body_bytes == 0)
		return STREAM_BODY_END;
	if (s->closed) {
		s->broken = true;
		return STREAM_BODY_FAULT;
	}
	if (s->in.enough && s->in.kept)
		return STREAM_BODY_ENOUGH;
	return wait_for_body(s);
}

static enum stream_body
give_body(struct stream *base, struct str *bytes, const struct fault **why)
{
	struct h2_stream *s = h2_stream_of(base);
	struct wire *w = s->h2->conn->wire;
	h2_work_check(s);
	w->within_stream++;
	*bytes = (struct str){0};
	s->wanted = false;
	enum stream_body r = body(s, bytes);
	*why = s->body_fault;
	w->within_stream--;
	return r;
}

static void
consume(struct h2_stream *s, size_t n)
{
	assert(n <= s->in.came.n - s->in.at);
	s->in.at += n;
	s->body_came += n;
	if (s->in.at == s->in.came.n) {
		buf_empty(&s->in.came, KEEP_MOST);
		s->in.at = 0;
	}
	if (s->closed)
		return;
	nghttp2_session_consume_stream(s->h2->ng, s->id, n);
	conn_wake(s->h2->conn);
}

static void
take_body(struct stream *base, size_t n)
{
	struct h2_stream *s = h2_stream_of(base);
	h2_work_check(s);
	consume(s, n);
	h2_held_count(s);
	if (!s->closed)
		nghttp2_session_consume_connection(s->h2->ng, n);
}

/* The connection's window stays taken; when the stream is closed it was given back. */
static void
keep_body(struct stream *base, size_t n)
{
	struct h2_stream *s = h2_stream_of(base);
	h2_work_check(s);
	consume(s, n);
	s->in.kept += n;
	h2_held_count(s);
}

static void
let_go(struct stream *base, size_t n)
{
	struct h2_stream *s = h2_stream_of(base);
	h2_work_check(s);
	assert(n <= s->in.kept);
	s->in.kept -= n;
	h2_held_count(s);
	if (s->closed)
		return;
	nghttp2_session_consume_connection(s->h2->ng, n);
	conn_wake(s->h2->conn);
}

void
h2_request_close(struct h2_stream *s)
{
	assert(!s->closed); /* libnghttp2 says it once */
	s->closed = true;
	nghttp2_session_consume_connection(s->h2->ng, s->in.came.n - s->in.at + s->in.kept);
}

/* ---- heads --------------------------------------------------------------------------------- */

static void
peer(const struct stream *base, char out[STREAM_PEER_BYTES])
{
	conn_peer(((const struct h2_stream *)base)->h2->conn, out);
}

static void
address(const struct stream *base, unsigned char out[16])
{
	conn_address(((const struct h2_stream *)base)->h2->conn, out);
}

static void
link_of(const struct stream *base, struct stream_link *out)
{
	const struct h2_stream *s = (const struct h2_stream *)base;
	conn_link(s->h2->conn, out);
	out->reused = s->reused;
}

static const struct stream_calls calls = {
	.body = give_body,
	.took = take_body,
	.keep = keep_body,
	.let_go = let_go,
	.head = h2_answer_head,
	.interim = h2_answer_interim,
	.ready = h2_answer_ready,
	.reset = h2_answer_reset,
	.peer = peer,
	.address = address,
	.link = link_of,
};

static bool
is_full(struct h2 *h2)
{
	if (h2_work_is_full(h2))
		return true;
	if (h2_held_room(h2) == 0)
		h2_work_sweep(h2);
	return h2_held_is_full(h2);
}

struct h2_stream *
h2_request_open(struct h2 *h2, int32_t id)
{
	if (is_full(h2))
		return NULL;
	struct arena *arena = arena_create(h2->conn->wire->o.arenas);
	struct h2_stream *s = ARENA_NEW(arena, struct h2_stream);
	s->base.calls = &calls;
	s->h2 = h2;
	s->id = id;
	s->arena = arena;
	s->r = ARENA_NEW(arena, struct stream_request);
	s->r->arena = arena;
	s->r->rq.fields.v = arena_alloc(arena, FIELDS_FIRST * sizeof(struct field));
	s->r->rq.fields.cap = FIELDS_FIRST;
	s->crumbs_last = &s->crumbs;
	s->reused = h2->conn->asked;
	h2->conn->asked = true;
	h2_work_add(s);
	return s;
}

static void
pseudo(struct h2_stream *s, struct str name, struct str value)
{
	value = arena_copy(s->arena, value);
	switch (name.p[1]) {
	case 'm':
		s->head.method = value;
		break;
	case 's':
		s->head.scheme = value;
		break;
	case 'a':
		s->head.authority = value;
		break;
	default:
		s->head.path = value;
		break;
	}
}

static void
crumb(struct h2_stream *s, struct str value)
{
	struct h2_crumb *c = ARENA_NEW(s->arena, struct h2_crumb);
	c->value = arena_copy(s->arena, value);
	s->crumb_bytes += value.n + 2;
	*s->crumbs_last = c;
	s->crumbs_last = &c->next;
}

/* With room for one more. */
static struct fields *
roomy(struct h2_stream *s)
{
	struct fields *f = &s->r->rq.fields;
	if (f->n < f->cap)
		return f;
	struct field *v = arena_alloc(s->arena, 2 * f->cap * sizeof *v);
	memcpy(v, f->v, f->n * sizeof *v);
	f->v = v;
	f->cap *= 2;
	return f;
}

void
h2_request_continues(struct h2_stream *s, size_t frame_bytes)
{
	if (s) /* else it was refused */
		s->head.came += frame_bytes;
}

/* A byte names an entry of HPACK's tables. Those of the static one count for 60 (RFC 7541 A), all that the
 * client put into the dynamic one for TABLE_BYTES (RFC 9113 6.5.2), and an honest head names each once: it has no
 * reason to say a line again. Whoever names a line of 4 KB seven times has 28 KB read for 7 bytes. */
static bool
says_more_than_it_has(const struct h2_stream *s)
{
	enum { TABLE_BYTES = 4096, OF_A_BYTE = 64 };
	return s->head_bytes > TABLE_BYTES + OF_A_BYTE * s->head.came;
}

bool
h2_request_line(struct h2_stream *s, struct str name, struct str value)
{
	const struct wire_limits *l = &s->h2->conn->wire->o.limits;
	struct stream_request *r = s->r;
	s->head_bytes += name.n + value.n + LINE_BYTES;
	if (s->head_bytes > l->head_bytes || says_more_than_it_has(s)) {
		r->fault = &fault_HEAD_TOO_LARGE;
		return s->head_bytes <= BOMB * l->head_bytes;
	}
	if (r->fault)
		return true;
	if (name.n && name.p[0] == ':') {
		pseudo(s, name, value);
		return true;
	}
	if (str_eq(name, STR("cookie"))) {
		crumb(s, value);
		return true;
	}
	if (r->rq.fields.n >= l->field_count) { /* a reload may have lowered it meanwhile */
		r->fault = &fault_TOO_MANY_FIELDS;
		return true;
	}
	struct str kept = {arena_alloc(s->arena, name.n + value.n), name.n};
	memcpy((char *)(uintptr_t)kept.p, name.p, name.n);
	memcpy((char *)(uintptr_t)kept.p + name.n, value.p, value.n);
	fields_add(roomy(s), kept, (struct str){kept.p + name.n, value.n});
	return true;
}

/* RFC 9113 8.2.3: before any rule sees them. */
static void
join_crumbs(struct h2_stream *s)
{
	if (!s->crumbs)
		return;
	if (!s->crumbs->next) {
		fields_add(roomy(s), STR("cookie"), s->crumbs->value);
		return;
	}
	char *text = arena_alloc(s->arena, s->crumb_bytes), *end = text;
	for (struct h2_crumb *c = s->crumbs; c; c = c->next) {
		if (end > text)
			end = (char *)memcpy(end, "; ", 2) + 2;
		if (c->value.n)
			end = (char *)memcpy(end, c->value.p, c->value.n) + c->value.n;
	}
	fields_add(roomy(s), STR("cookie"), (struct str){text, (size_t)(end - text)});
}

static const struct fault *
read_head(struct h2_stream *s)
{
	const struct wire_limits *l = &s->h2->conn->wire->o.limits;
	const struct h1_limits limits = {
		.head_bytes = l->head_bytes,
		.url_bytes = l->url_bytes,
		.field_count = l->field_count,
	};
	struct stream_request *r = s->r;
	join_crumbs(s);
	roomy(s);
	s->head.has_body = !s->in_over || s->in.came.n;
	const struct fault *fault =
		h2_head_read(&s->head, s->h2->conn->listener->scheme, &limits, &r->rq);
	if (fault)
		return fault;
	if (!conn_is_for(s->h2->conn, r->rq.authority))
		return &fault_MISDIRECTED;
	r->body_bytes = r->rq.framing == FRAMING_LENGTH	   ? r->rq.content_length
			: r->rq.framing == FRAMING_CHUNKED ? LENGTH_UNKNOWN
							   : 0;
	if (r->rq.framing == FRAMING_LENGTH && l->body_bytes && r->body_bytes > l->body_bytes)
		return &fault_BODY_TOO_LARGE;
	return NULL;
}

/* "GET /x HTTP/2.0" */
static struct str
line_of(struct h2_stream *s)
{
	const struct h2_head *h = &s->head;
	const struct str end = STR(" HTTP/2.0");
	char *text = arena_alloc(s->arena, h->method.n + h->path.n + end.n + 1), *at = text;
	if (h->method.n)
		at = (char *)memcpy(at, h->method.p, h->method.n) + h->method.n;
	*at++ = ' ';
	if (h->path.n)
		at = (char *)memcpy(at, h->path.p, h->path.n) + h->path.n;
	at = (char *)memcpy(at, end.p, end.n) + end.n;
	return (struct str){text, (size_t)(at - text)};
}

void
h2_request_begin(struct h2_stream *s)
{
	struct wire *w = s->h2->conn->wire;
	struct stream_request *r = s->r;
	r->line = line_of(s);
	if (!r->fault)
		r->fault = read_head(s);
	if (r->fault)
		r->body_bytes = 0;
	s->continue_due = !r->fault && r->rq.expect_continue;
	metrics_add(w->o.metrics, METRIC_H2_REQUESTS, 1);
	conn_enter_serve(w);
	s->ctx = w->o.up->on_request(w->o.node, &s->base, r);
	conn_leave_serve(w);
	if (s->answering == H2_AWAITED) /* else its head was counted */
		h2_held_count(s);
}

void
h2_request_malformed(struct h2_stream *s)
{
	if (!s->r->fault)
		s->r->fault = &fault_MALFORMED;
	h2_request_begin(s);
}
