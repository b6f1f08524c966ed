/* h1.c - from bytes to a request, and from an answer to bytes. */
#include "proxy/wire/h1.h"

#include "proxy/base/clock.h"
#include "proxy/http/chunked.h"
#include "proxy/http/h1_parse.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/conn.h"

#include <assert.h>

enum {
	TURN_MOST = 64,		 /* requests of one connection answered before others have theirs */
	PUMP_MOST = 1 << 20,	 /* bytes sent to one connection before others have their turn */
	PULL_MOST = 256 << 10,	 /* bytes of a body pulled at once */
	INTERIM_MOST = 16 << 10, /* bytes of 1xx answers that one request may cause */
	SEGMENTS = STREAM_PIECES + 3, /* head, size of a chunk, pieces, end of the chunk */
};

enum body_in {
	BODY_OPEN,
	BODY_OVER,
	BODY_BROKEN /* fault says why; NULL: the client stopped */
};

/* How a client keeps up with what it owes: bytes moved in the time that it was waited for. */
struct pace {
	int64_t owed_ms;
	uint64_t bytes;
};

struct stream { /* lies in the arena of its request */
	struct conn *conn;
	void *ctx; /* serve's */
	const struct stream_request *r;
	struct arena *arena;

	/* the request's body */
	struct chunked chunked;
	uint64_t body_left; /* with FRAMING_LENGTH */
	uint64_t body_came; /* consumed by serve */
	size_t decoded;	    /* bytes at the front of the input that are body */
	const struct fault *body_fault;
	struct pace upward;
	enum body_in body;
	bool wanted;	   /* serve was told to wait for more */
	bool continue_due; /* the client waits for a 100 */

	/* the answer */
	struct str out; /* text to be sent before the next pieces: 1xx, the head */
	struct stream_source source;
	uint8_t segment_n, segment_i; /* loaded; sent up to there */
	uint8_t body_from, body_to;   /* which of them are body */
	uint64_t left;		      /* body bytes to come; LENGTH_UNKNOWN */
	uint64_t body_sent;
	uint64_t written; /* since the wait under way began */
	size_t interim_bytes;
	struct pace downward;
	bool has_head, keep_alive, chunked_out, later, ended, cut, reset, slow;
	/* not cleared */
	struct str segments[SEGMENTS];
	char size_line[20];
};

/* ---- calls of serve, and from serve ---------------------------------------------------------- */

/* Serve must never be called from within one of its own calls: every call up goes through these. */
static void
enter_serve(struct wire *w)
{
	assert(w->within_stream == 0);
	w->within_serve++;
}

static void
leave_serve(struct wire *w)
{
	assert(w->within_serve > 0);
	w->within_serve--;
}

/* The request is over: nothing of it is touched any more. */
static void
end_stream(struct conn *c, enum stream_end how)
{
	struct stream *s = c->stream;
	struct arena *arena = s->arena;
	enter_serve(c->wire);
	c->wire->o.up->on_done(s->ctx, how, s->body_sent);
	leave_serve(c->wire);
	c->stream = NULL;
	arena_unref(&arena);
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
parse(struct wire *w, struct str head, struct stream_request *r)
{
	const struct wire_limits *l = &w->o.limits;
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
	/* What the listener speaks, not what an absolute-form target claims: else a plain client
	 * could fill the keys of https. */
	r->rq.scheme = STR("http");
	r->body_bytes = r->rq.framing == FRAMING_LENGTH	   ? r->rq.content_length
			: r->rq.framing == FRAMING_CHUNKED ? LENGTH_UNKNOWN
							   : 0;
	if (r->rq.framing == FRAMING_LENGTH && l->body_bytes && r->body_bytes > l->body_bytes)
		return &fault_BODY_TOO_LARGE;
	return NULL;
}

/* A request whose head is these bytes at the front of the input, or none; a fault known beforehand
 * leaves them unparsed. */
static void
begin_stream(struct conn *c, struct str head, const struct fault *fault)
{
	struct wire *w = c->wire;
	struct arena *arena = arena_create(w->o.arenas);
	struct stream_request *r = ARENA_NEW(arena, struct stream_request);
	struct stream *s = arena_alloc(arena, sizeof *s);
	memset(s, 0, offsetof(struct stream, segments));
	size_t eaten = head.n;
	head = arena_copy(arena, head);
	conn_consume(c, eaten); /* serve may ask for the body at once */
	r->arena = arena;
	r->line = first_line(head);
	r->fault = fault ? fault : parse(w, head, r);
	if (r->fault)
		r->body_bytes = 0;
	s->conn = c;
	s->r = r;
	s->arena = arena;
	s->body = r->body_bytes ? BODY_OPEN : BODY_OVER;
	s->body_left = r->rq.framing == FRAMING_LENGTH ? r->body_bytes : 0;
	s->keep_alive = !r->fault && r->rq.keep_alive;
	s->continue_due = !r->fault && r->rq.expect_continue;
	c->stream = s;
	enter_serve(w);
	s->ctx = w->o.up->on_request(w->o.node, s, r);
	leave_serve(w);
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

/* A complete head at the front of the input becomes a request; false: there is none yet. */
static bool
begin_next(struct conn *c)
{
	const struct wire_limits *l = &c->wire->o.limits;
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
	begin_stream(c, (struct str){in.p, head}, fault);
	return true;
}

/* ---- request bodies -------------------------------------------------------------------------- */

/* Framing at the front of the input is eaten; s->decoded says how much body follows. */
static void
decode(struct stream *s, struct str in)
{
	struct str rest = in, data = {0};
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

/* Texts to be sent before what serve gives next; an interim answer's, or all of a head. */
static void
add_out(struct stream *s, struct str a, struct str b, struct str c)
{
	char *text = arena_alloc(s->arena, s->out.n + a.n + b.n + c.n), *end = text;
	struct str parts[] = {s->out, a, b, c};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (parts[i].n)
			end = (char *)memcpy(end, parts[i].p, parts[i].n) + parts[i].n;
	s->out = (struct str){text, (size_t)(end - text)};
}

static enum stream_body
wait_for_body(struct stream *s)
{
	struct conn *c = s->conn;
	if (c->eof) {
		s->body = BODY_BROKEN;
		return STREAM_BODY_FAULT;
	}
	s->wanted = true;
	if (s->continue_due && !s->has_head)
		add_out(s, STR("HTTP/1.1 100 Continue\r\n\r\n"), STR(""), STR(""));
	s->continue_due = false;
	conn_wake(c);
	return STREAM_BODY_WAIT;
}

/* More of the body than limits.body allows ends it, before serve sees the excess. */
static enum stream_body
give_body(struct stream *s, struct str *bytes)
{
	uint64_t most = s->conn->wire->o.limits.body_bytes;
	if (most && s->body_came + s->decoded > most) {
		s->body = BODY_BROKEN;
		s->body_fault = &fault_BODY_TOO_LARGE;
		return STREAM_BODY_FAULT;
	}
	s->continue_due = false;
	*bytes = (struct str){conn_input(s->conn).p, s->decoded};
	return STREAM_BODY_SOME;
}

static enum stream_body
body(struct stream *s, struct str *bytes)
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

enum stream_body
stream_body(struct stream *s, struct str *bytes, const struct fault **why)
{
	struct wire *w = s->conn->wire;
	w->within_stream++;
	*bytes = (struct str){0};
	s->wanted = false;
	enum stream_body r = body(s, bytes);
	*why = s->body_fault;
	w->within_stream--;
	return r;
}

void
stream_took(struct stream *s, size_t n)
{
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

/* ---- answer heads ---------------------------------------------------------------------------- */

static struct str
usual_reason(int status)
{
	static const struct {
		int status;
		struct str words;
	} reasons[] = {
		{200, STR_INIT("OK")},
		{206, STR_INIT("Partial Content")},
		{304, STR_INIT("Not Modified")},
		{400, STR_INIT("Bad Request")},
		{405, STR_INIT("Method Not Allowed")},
		{408, STR_INIT("Request Timeout")},
		{412, STR_INIT("Precondition Failed")},
		{413, STR_INIT("Content Too Large")},
		{414, STR_INIT("URI Too Long")},
		{416, STR_INIT("Range Not Satisfiable")},
		{417, STR_INIT("Expectation Failed")},
		{431, STR_INIT("Request Header Fields Too Large")},
		{501, STR_INIT("Not Implemented")},
		{502, STR_INIT("Bad Gateway")},
		{503, STR_INIT("Service Unavailable")},
		{504, STR_INIT("Gateway Timeout")},
		{505, STR_INIT("HTTP Version Not Supported")},
		{508, STR_INIT("Loop Detected")},
		{103, STR_INIT("Early Hints")},
		{508, STR_INIT("Loop Detected")},
	};
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return reasons[i].words;
	return STR("");
}

static char *
put(char *to, struct str s)
{
	if (s.n)
		memcpy(to, s.p, s.n);
	return to + s.n;
}

static char *
put_number(char *to, uint64_t n)
{
	char digits[20];
	size_t count = 0;
	do {
		digits[sizeof digits - ++count] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return put(to, (struct str){digits + sizeof digits - count, count});
}

static char *
put_status_line(char *to, int status, struct str reason)
{
	to = put(to, STR("HTTP/1.1 "));
	to = put_number(to, (uint64_t)status);
	*to++ = ' ';
	to = put(to, reason.n ? reason : usual_reason(status));
	return put(to, STR("\r\n"));
}

/* The connection's fate is decided here (RFC 9112 9.3): an answer that overtakes its request's body
 * ends it. */
static struct str
connection_line(const struct stream *s)
{
	if (!s->keep_alive)
		return STR("Connection: close\r\n\r\n");
	return s->r->rq.minor == 0 ? STR("Connection: keep-alive\r\n\r\n") : STR("\r\n");
}

enum { LINES_MOST = 200 }; /* what put_head writes besides reason, stored and added lines */

static size_t
head_most(const struct stream_head *h)
{
	size_t n = LINES_MOST + h->reason.n + (h->stored ? h->stored->lines.n : 0);
	for (unsigned i = 0; i < h->add_n; i++)
		n += h->add[i].name.n + h->add[i].value.n + 4;
	return n;
}

static char *
put_head(char *to, const struct stream *s, const struct stream_head *h)
{
	to = put_status_line(to, h->status, h->reason);
	if (h->stored)
		to = put(to, h->stored->lines);
	for (unsigned i = 0; i < h->add_n; i++) {
		to = put(to, h->add[i].name);
		to = put(to, STR(": "));
		to = put(to, h->add[i].value);
		to = put(to, STR("\r\n"));
	}
	if (h->bytes != LENGTH_UNKNOWN) {
		to = put(to, STR("Content-Length: "));
		to = put_number(to, h->bytes);
		to = put(to, STR("\r\n"));
	} else if (s->chunked_out) {
		to = put(to, STR("Transfer-Encoding: chunked\r\n"));
	}
	return put(to, connection_line(s));
}

void
stream_head(struct stream *s, const struct stream_head *h, const struct stream_source *src)
{
	struct conn *c = s->conn;
	assert(!s->has_head && h->status >= 200 && h->status <= 999);
	bool no_body = s->r->rq.method == METHOD_HEAD || h->status == 204 || h->status == 304 ||
		       h->bytes == 0 || !src;
	s->has_head = true;
	if (h->close || s->r->fault || s->body != BODY_OVER || c->wire->draining)
		s->keep_alive = false;
	s->left = h->bytes;
	s->ended = no_body;
	if (!no_body && h->bytes == LENGTH_UNKNOWN) {
		s->chunked_out = s->r->rq.minor >= 1;
		s->keep_alive = s->keep_alive && s->chunked_out;
	}
	if (!no_body)
		s->source = *src;
	char *text = arena_alloc(s->arena, s->out.n + head_most(h));
	char *end = put_head(put(text, s->out), s, h);
	s->out = (struct str){text, (size_t)(end - text)};
	conn_wake(c);
}

void
stream_interim(struct stream *s, int status, struct str lines)
{
	char line[LINES_MOST];
	if (s->has_head || s->r->rq.minor == 0 || s->interim_bytes + lines.n > INTERIM_MOST)
		return;
	s->interim_bytes += lines.n + sizeof line;
	size_t n = (size_t)(put_status_line(line, status, STR("")) - line);
	add_out(s, (struct str){line, n}, lines, STR("\r\n"));
	conn_wake(s->conn);
}

void
stream_ready(struct stream *s)
{
	s->later = false;
	conn_wake(s->conn);
}

void
stream_reset(struct stream *s)
{
	s->reset = s->ended = true;
	conn_wake(s->conn);
}

void
stream_peer(const struct stream *s, char out[STREAM_PEER_BYTES])
{
	conn_peer(s->conn, out);
}

/* ---- answer bodies --------------------------------------------------------------------------- */

static enum stream_pull
pull(struct stream *s, struct str *to, unsigned *n, size_t *bytes)
{
	struct wire *w = s->conn->wire;
	size_t most = s->left < PULL_MOST ? (size_t)s->left : PULL_MOST;
	*n = 0;
	enter_serve(w);
	enum stream_pull r = s->source.pull(s->source.ctx, most, to, n);
	leave_serve(w);
	assert(*n <= STREAM_PIECES);
	*bytes = 0;
	for (unsigned i = 0; i < *n; i++)
		*bytes += to[i].n;
	assert(*bytes <= most && (*bytes > 0 || r != STREAM_PULL_SOME));
	return r;
}

/* What pull answered changes what is still to come. */
static void
note_pull(struct stream *s, enum stream_pull r, size_t bytes)
{
	if (s->left != LENGTH_UNKNOWN) {
		s->left -= bytes;
		s->ended = s->left == 0;
	}
	if (r == STREAM_PULL_LATER)
		s->later = true;
	if (r == STREAM_PULL_END && !s->ended) {
		s->cut = s->left != LENGTH_UNKNOWN; /* fewer than the head promised */
		s->ended = true;
	}
	if (r == STREAM_PULL_ERROR && !s->ended)
		s->cut = s->ended = true;
}

/* The next pieces of the body behind what is loaded already, in their chunk. */
static void
load_body(struct stream *s)
{
	struct str *at = &s->segments[s->segment_n];
	unsigned n;
	size_t bytes;
	enum stream_pull r = pull(s, at + s->chunked_out, &n, &bytes);
	note_pull(s, r, bytes);
	if (s->chunked_out && bytes) {
		at[0] = (struct str){s->size_line, chunked_size_line(s->size_line, bytes)};
		s->segment_n++;
	}
	s->body_from = s->segment_n;
	s->body_to = s->segment_n = (uint8_t)(s->segment_n + n);
	bool last = s->ended && !s->cut;
	if (s->chunked_out && (bytes || last))
		s->segments[s->segment_n++] = !last   ? STR("\r\n")
					      : bytes ? STR("\r\n0\r\n\r\n")
						      : STR("0\r\n\r\n");
}

static void
load(struct stream *s)
{
	s->segment_n = s->segment_i = s->body_from = s->body_to = 0;
	if (s->out.n)
		s->segments[s->segment_n++] = s->out;
	s->out = (struct str){0};
	if (s->has_head && !s->ended && !s->later)
		load_body(s);
}

static void
sent(struct stream *s, size_t n)
{
	s->written += n;
	while (n) {
		struct str *at = &s->segments[s->segment_i];
		size_t here = n < at->n ? n : at->n;
		if (s->segment_i >= s->body_from && s->segment_i < s->body_to)
			s->body_sent += here;
		*at = str_from(*at, here);
		n -= here;
		if (at->n == 0)
			s->segment_i++;
	}
	while (s->segment_i < s->segment_n && s->segments[s->segment_i].n == 0)
		s->segment_i++;
}

static ssize_t
write_segments(struct stream *s)
{
	struct iovec iov[SEGMENTS];
	unsigned n = 0;
	for (unsigned i = s->segment_i; i < s->segment_n; i++)
		iov[n++] = (struct iovec){(void *)(uintptr_t)s->segments[i].p, s->segments[i].n};
	return conn_write(s->conn, iov, n);
}

enum pump { PUMP_EMPTY, PUMP_FULL, PUMP_TURN, PUMP_BROKEN };

/* Sends what can be sent now. */
static enum pump
pump(struct stream *s)
{
	for (size_t total = 0; total <= PUMP_MOST;) {
		if (s->reset)
			return PUMP_EMPTY;
		if (s->segment_i == s->segment_n)
			load(s);
		if (s->segment_i == s->segment_n)
			return PUMP_EMPTY;
		ssize_t n = write_segments(s);
		if (n < 0)
			return PUMP_BROKEN;
		if (n == 0)
			return PUMP_FULL;
		sent(s, (size_t)n);
		total += (size_t)n;
	}
	return PUMP_TURN;
}

/* ---- one request's turn ---------------------------------------------------------------------- */

/* Whether the body moved on as it must in the time that the client was waited for; begins to
 * measure anew. */
static bool
keeps_pace(const struct wire *w, struct pace *p)
{
	uint64_t least = w->o.limits.least_rate * (uint64_t)p->owed_ms / 1000;
	bool well = p->bytes >= (least ? least : 1);
	*p = (struct pace){0};
	return well;
}

/* The time of a wait that ends is the client's. False: it was too slow over its whole time. */
static bool
settle(struct stream *s)
{
	struct conn *c = s->conn;
	struct wire *w = c->wire;
	if (c->waiting != WAIT_BODY && c->waiting != WAIT_SEND)
		return true;
	struct pace *p = c->waiting == WAIT_BODY ? &s->upward : &s->downward;
	p->owed_ms += now_ms() - c->wait_since_ms;
	int64_t taken = c->waiting == WAIT_SEND ? (int64_t)s->written + conn_taken(c) : 0;
	p->bytes += taken > 0 ? (uint64_t)taken : 0;
	return p->owed_ms < w->waits[c->waiting].limit_ms || keeps_pace(w, p);
}

bool
h1_is_slow(const struct conn *c)
{
	const struct stream *s = c->stream;
	assert(s && (c->waiting == WAIT_BODY || c->waiting == WAIT_SEND));
	struct pace p = c->waiting == WAIT_BODY ? s->upward : s->downward;
	int64_t taken = c->waiting == WAIT_SEND ? (int64_t)s->written + conn_taken(c) : 0;
	p.owed_ms += now_ms() - c->wait_since_ms;
	p.bytes += taken > 0 ? (uint64_t)taken : 0;
	return p.bytes <= c->wire->o.limits.least_rate * (uint64_t)p.owed_ms / 1000;
}

/* A client is slow: what it sends is a fault that serve answers, what it takes ends here. */
static void
fail_pace(struct stream *s, enum waiting was)
{
	if (was == WAIT_BODY && s->body != BODY_OPEN)
		return;
	metrics_add(s->conn->wire->o.metrics, METRIC_SLOW_CLIENTS, 1);
	if (was == WAIT_SEND) {
		s->slow = true;
		return;
	}
	s->body = BODY_BROKEN;
	s->body_fault = &fault_BODY_TIMEOUT;
}

static void
wait_as(struct stream *s, enum waiting what)
{
	struct conn *c = s->conn;
	enum waiting was = (enum waiting)c->waiting;
	if (was == what)
		return;
	if (!settle(s)) {
		fail_pace(s, was);
		event_active(&c->ev, EV_WRITE, 0);
	}
	s->written = 0;
	conn_wait(c, what);
}

/* Serve is told what it waited for, as long as it takes it. */
static void
tell_of_body(struct stream *s)
{
	struct conn *c = s->conn;
	for (int i = 0; i < TURN_MOST && s->wanted; i++) {
		bool news = s->body != BODY_OPEN || conn_input(c).n || c->eof ||
			    conn_read(c, SCRATCH_BYTES) || c->eof;
		if (!news)
			return;
		s->wanted = false;
		enter_serve(c->wire);
		c->wire->o.up->on_body(s->ctx);
		leave_serve(c->wire);
	}
	if (s->wanted)
		event_active(&c->ev, EV_WRITE, 0);
}

enum turn { TURN_NEXT, TURN_WAITS, TURN_FREED };

/* The answer is out, or cut: the connection goes on, or ends so that nobody takes a part for the
 * whole. */
static enum turn
finish(struct conn *c)
{
	struct stream *s = c->stream;
	bool by_close = s->has_head && s->left == LENGTH_UNKNOWN && !s->chunked_out;
	bool cut = s->cut || s->reset, keep = s->keep_alive && !c->broken;
	bool linger = s->r->fault || s->body != BODY_OVER;
	end_stream(c, cut ? STREAM_RESET : STREAM_SENT);
	if (!cut && linger) {
		conn_linger(c);
		return TURN_FREED;
	}
	if (keep && !cut)
		return TURN_NEXT;
	if (cut && by_close)
		conn_free_reset(c);
	else
		conn_free(c);
	return TURN_FREED;
}

static enum turn
abandon(struct conn *c, enum stream_end how)
{
	end_stream(c, how);
	conn_free(c);
	return TURN_FREED;
}

/* A client that only waits may be gone: a reset is noticed at once, the end of what it sends begins
 * a short wait. */
static enum turn
wait_for_serve(struct conn *c)
{
	struct stream *s = c->stream;
	conn_look(c);
	if (c->broken)
		return abandon(c, STREAM_GONE);
	bool may_be_gone = c->ending && !s->has_head && s->body == BODY_OVER;
	wait_as(s, may_be_gone ? WAIT_GONE : WAIT_NOTHING);
	return TURN_WAITS;
}

static enum turn
go_on(struct conn *c)
{
	struct stream *s = c->stream;
	if (s->wanted)
		tell_of_body(s);
	if (s->slow)
		return abandon(c, STREAM_SLOW);
	switch (pump(s)) {
	case PUMP_BROKEN:
		return abandon(c, STREAM_GONE);
	case PUMP_FULL:
		wait_as(s, WAIT_SEND);
		return TURN_WAITS;
	case PUMP_TURN:
		wait_as(s, WAIT_NOTHING);
		event_active(&c->ev, EV_WRITE, 0);
		return TURN_WAITS;
	case PUMP_EMPTY:
		break;
	}
	if (s->ended || s->reset)
		return finish(c);
	if (s->wanted) {
		if (c->broken)
			return abandon(c, STREAM_GONE);
		wait_as(s, WAIT_BODY);
		return TURN_WAITS;
	}
	return wait_for_serve(c);
}

/* ---- the connection's turn ------------------------------------------------------------------- */

/* Nothing to do but wait for the client's next bytes; may free c. */
static void
wait_for_head(struct conn *c, bool answered)
{
	bool begun = conn_input(c).n > 0;
	if (c->eof || (c->wire->draining && !begun)) {
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

void
h1_drive(struct conn *c)
{
	size_t most = c->wire->o.limits.head_bytes + 1;
	if (c->lingering) {
		conn_linger(c);
		return;
	}
	c->driving = true;
	bool answered = false;
	for (int requests = 0;;) {
		bool begun = c->stream != NULL;
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
		if (begin_next(c))
			continue;
		if (!conn_read(c, most) && !(c->readable && !c->eof)) {
			wait_for_head(c, answered);
			return;
		}
	}
}

void
h1_timeout(struct conn *c)
{
	enum waiting was = (enum waiting)c->waiting;
	struct stream *s = c->stream;
	if (!s && was == WAIT_HEAD && conn_input(c).n > 0) {
		begin_stream(c, (struct str){0}, &fault_HEADER_TIMEOUT);
		h1_drive(c);
		return;
	}
	if (!s || was == WAIT_GONE) {
		h1_close(c);
		return;
	}
	bool well = settle(s);
	s->written = 0;
	conn_wait(c, well ? was : WAIT_NOTHING);
	if (!well) {
		fail_pace(s, was);
		h1_drive(c);
	}
}

void
h1_close(struct conn *c)
{
	bool mid_close_body = false;
	if (c->stream) {
		struct stream *s = c->stream;
		mid_close_body = s->has_head && s->left == LENGTH_UNKNOWN && !s->chunked_out;
		end_stream(c, s->has_head ? STREAM_RESET : STREAM_GONE);
	}
	if (mid_close_body)
		conn_free_reset(c);
	else
		conn_free(c);
}

void
h1_drain(struct conn *c)
{
	if (c->stream)
		return;
	c->readable = true; /* what came and was not looked at yet is still answered */
	h1_drive(c);
}
