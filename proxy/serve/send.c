/* send.c - from a verdict to bytes: the head of the answer, then its body from wherever it lies,
 * with back-pressure: the next piece is taken only when the last one is with the client.
 */
#include "proxy/serve/fill.h"
#include "proxy/serve/part.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/txn.h"

#include "proxy/http/date.h"
#include "proxy/http/field_block.h"
#include "proxy/http/precond.h"

#include <stdio.h>
#include <stdlib.h>

enum { PUMP_MOST = 1 << 20, PIECE_MOST = 256 << 10 };

/* ---- heads --------------------------------------------------------------------------------- */

static const char *
reason(int status)
{
	static const struct {
		int status;
		const char *words;
	} reasons[] = {
		{200, "OK"},
		{206, "Partial Content"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{416, "Range Not Satisfiable"},
		{417, "Expectation Failed"},
		{431, "Request Header Fields Too Large"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
		{508, "Loop Detected"},
	};
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return reasons[i].words;
	return "Error";
}

static void
add_status_line(struct txn *t, int status)
{
	buf_add_lit(&t->out, "HTTP/1.1 ");
	buf_add_u64(&t->out, (uint64_t)status);
	buf_add_lit(&t->out, " ");
	buf_add_str(&t->out, str_of(reason(status)));
	buf_add_lit(&t->out, "\r\n");
}

static void
add_number(struct txn *t, struct str name_colon, uint64_t n)
{
	buf_add_str(&t->out, name_colon);
	buf_add_u64(&t->out, n);
	buf_add_lit(&t->out, "\r\n");
}

static void
add_date(struct txn *t)
{
	char date[DATE_BYTES];
	date_format(now_s(), date);
	buf_add_lit(&t->out, "Date: ");
	buf_add(&t->out, date, DATE_BYTES);
	buf_add_lit(&t->out, "\r\n");
}

/* What every answer ends its head with; the connection's fate is decided here. */
static void
end_head(struct txn *t)
{
	const struct config *c = t->settings->config;
	/* An answer that overtakes its request's body ends the connection (RFC 9112 9.3). */
	if (!t->body_over || t->serve->draining)
		t->keep_alive = false;
	buf_add_lit(&t->out, "Via: 1.1 ");
	buf_add_str(&t->out, t->settings->outgoing.via);
	buf_add_lit(&t->out, "\r\nCache-Status: ");
	t->cs.name = "twice";
	t->cs.detail = t->detail;
	if (c->cache.status_key)
		t->cs.key = key_primary(&t->key);
	cache_status_format(&t->cs, &t->out);
	if (!t->keep_alive)
		buf_add_lit(&t->out, "\r\nConnection: close\r\n\r\n");
	else if (t->rq.minor == 0)
		buf_add_lit(&t->out, "\r\nConnection: keep-alive\r\n\r\n");
	else
		buf_add_lit(&t->out, "\r\n\r\n");
	t->head_us = now_us();
	txn_move(t, TXN_SEND);
}

static bool
is_head(const struct txn *t)
{
	return t->rq.method == METHOD_HEAD;
}

/* A complete answer made here. */
static void
add_text(struct txn *t, int status, struct str fields, struct str body)
{
	t->status = status;
	add_status_line(t, status);
	add_date(t);
	buf_add_str(&t->out, fields);
	if (body.n)
		buf_add_lit(&t->out, "Content-Type: text/plain\r\n");
	add_number(t, STR("Content-Length: "), body.n);
	end_head(t);
	if (!is_head(t))
		buf_add_str(&t->out, body);
	t->ended = true;
}

void
answer_local(struct txn *t, int status, struct str fields, struct str body)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_LOCAL;
	add_text(t, status, fields, body);
}

void
answer_fault(struct txn *t, const struct fault *f)
{
	char body[256];
	t->fault = f;
	t->answer = ANSWER_REJECTED;
	t->keep_alive = false;
	t->detail = f->word;
	int n = snprintf(body, sizeof body, "%d %s: %s\n", f->status, reason(f->status), f->rule);
	add_text(t, f->status,
		 f == &fault_CONNECT ? STR("Allow: GET, HEAD, POST, PUT, DELETE\r\n") : STR(""),
		 (struct str){body, (size_t)n});
}

void
answer_error(struct txn *t, int status, const char *word)
{
	char body[128];
	t->answer = ANSWER_ERROR;
	t->detail = word;
	int n = snprintf(body, sizeof body, "%d %s: %s\n", status, reason(status), word);
	add_text(t, status, STR(""), (struct str){body, (size_t)n});
}

/* ---- from a stored object ------------------------------------------------------------------ */

static struct field_block
block_of(struct str head)
{
	struct field_block b = {0};
	field_block_open(head, &b); /* else nothing: no lines */
	return b;
}

/* Status line and lines as they are kept. */
static void
add_stored(struct txn *t, struct str head)
{
	struct field_block b = block_of(head);
	buf_add_str(&t->out, b.start);
	buf_add_str(&t->out, b.lines);
}

/* Field lines of a stored head that pass keep(). */
static void
add_lines(struct txn *t, struct str head, bool (*keep)(const struct field_line *line))
{
	struct field_block b = block_of(head);
	struct field_cursor at = {0};
	struct field_line line;
	while (field_block_next(&b, &at, &line))
		if (keep(&line))
			buf_add_str(&t->out, line.text);
}

/* RFC 9110 15.4.5: a 304 carries what would update a copy, not what describes a body. */
static bool
goes_with_304(const struct field_line *l)
{
	return l->name.n < 8 || strncasecmp(l->name.p, "content-", 8) != 0 ||
	       l->id == FIELD_CONTENT_LOCATION;
}

static bool
goes_with_multipart(const struct field_line *l)
{
	return l->id != FIELD_CONTENT_TYPE;
}

static bool
goes_with_416(const struct field_line *l)
{
	return l->id != FIELD_CONTENT_TYPE && l->id != FIELD_CONTENT_ENCODING;
}

static struct validators
validators_of(struct str head, const struct terms *terms)
{
	return (struct validators){
		.etag = {head.p + terms->etag_at, terms->etag_bytes},
		.last_modified = terms->last_modified,
		.date = terms->date,
	};
}

/* The length of the multipart body with all boundaries and part heads. */
static uint64_t
multipart_bytes(struct txn *t, uint64_t total)
{
	struct buf b = {0};
	uint64_t bytes = 0;
	for (unsigned i = 0; i < t->slice_count; i++) {
		multipart_part_head(str_of(t->boundary), t->part_type, t->slices[i], total, i == 0,
				    &b);
		bytes += t->slices[i].n;
	}
	multipart_end(str_of(t->boundary), &b);
	bytes += b.n;
	buf_fini(&b);
	return bytes;
}

/* 200, 206, 304, 412 or 416 for a representation with this stored head and length. */
static void
select_part(struct txn *t, struct str head, const struct terms *terms, uint64_t length)
{
	t->slices[0] = (struct slice){0, length};
	t->slice_count = 1;
	t->status = terms->status;
	if (terms->status !=
	    200) /* RFC 9110 13.2.1: conditions count for what would be a success */
		return;
	struct validators v = validators_of(head, terms);
	int64_t now = now_s();
	switch (precond_decide(&t->rq, &v, now)) {
	case PRECOND_NOT_MODIFIED:
		t->status = 304;
		return;
	case PRECOND_FAILED:
		t->status = 412;
		return;
	case PRECOND_GO:
		break;
	}
	struct str range = fields_get(&t->rq.fields, FIELD_RANGE);
	if (range.n == 0 || t->rq.method != METHOD_GET || length == UINT64_MAX ||
	    !if_range_holds(&t->rq, &v, now))
		return;
	switch (range_parse(range, length, t->slices, &t->slice_count)) {
	case RANGE_PART:
		t->status = 206;
		return;
	case RANGE_UNSATISFIABLE:
		t->status = 416;
		return;
	case RANGE_WHOLE:
		t->slices[0] = (struct slice){0, length};
		t->slice_count = 1;
		return;
	}
}

/* The head for what select_part chose. Sets body_none, at, until. */
static void
add_selected_head(struct txn *t, struct str head, uint64_t length)
{
	struct field_block block = block_of(head);
	t->body_none = is_head(t) || t->status == 304 || t->status == 204;
	switch (t->status) {
	case 206:
		add_status_line(t, 206);
		t->multipart = t->slice_count > 1;
		if (!t->multipart) {
			buf_add_str(&t->out, block.lines);
			buf_add_lit(&t->out, "Content-Range: ");
			content_range_format(t->slices[0], length, &t->out);
			buf_add_lit(&t->out, "\r\n");
			add_number(t, STR("Content-Length: "), t->slices[0].n);
			break;
		}
		snprintf(t->boundary, sizeof t->boundary, "%016llx",
			 (unsigned long long)(t->key.hash.hi ^ (uint64_t)t->begun_us));
		t->part_type = field_block_get(&block, FIELD_CONTENT_TYPE);
		add_lines(t, head, goes_with_multipart);
		buf_printf(&t->out, "Content-Type: multipart/byteranges; boundary=%s\r\n",
			   t->boundary);
		add_number(t, STR("Content-Length: "), multipart_bytes(t, length));
		break;
	case 304:
		add_status_line(t, 304);
		add_lines(t, head, goes_with_304);
		break;
	case 412:
	case 416:
		add_status_line(t, t->status);
		add_lines(t, head, goes_with_416);
		if (t->status == 416)
			buf_printf(&t->out, "Content-Range: bytes */%llu\r\n",
				   (unsigned long long)length);
		buf_add_lit(&t->out, "Content-Length: 0\r\n");
		t->body_none = true;
		break;
	default:
		add_stored(t, head);
		if (length != UINT64_MAX && t->status != 204)
			add_number(t, STR("Content-Length: "), length);
		break;
	}
	t->slice_i = 0;
	t->at = t->slices[0].at;
	t->until = t->slices[0].at + t->slices[0].n;
	if (length == UINT64_MAX)
		t->until = UINT64_MAX;
}

void
answer_object(struct txn *t)
{
	struct object *o = t->object;
	select_part(t, o->head, &o->terms, o->body_bytes);
	add_selected_head(t, o->head, o->body_bytes);
	int64_t age = terms_age(&o->terms, now_s());
	add_number(t, STR("Age: "), age > 0 ? (uint64_t)age : 0);
	t->from_object = true;
	t->read.home = t->serve->mailbox;
	if (t->body_none || t->until == t->at)
		t->ended = true;
	end_head(t);
}

static bool
goes_with_part(const struct field_line *l)
{
	return l->id != FIELD_CONTENT_RANGE;
}

void
answer_part(struct txn *t, struct slice want, uint64_t total)
{
	struct slice held;
	object_unref(&t->object);
	t->object = t->part;
	t->part = NULL;
	struct object *o = t->object;
	part_held(o, &held, &total);
	t->status = 206;
	add_status_line(t, 206);
	add_lines(t, o->head, goes_with_part);
	buf_add_lit(&t->out, "Content-Range: ");
	content_range_format(want, total, &t->out);
	buf_add_lit(&t->out, "\r\n");
	add_number(t, STR("Content-Length: "), want.n);
	add_number(t, STR("Age: "), (uint64_t)terms_age(&o->terms, now_s()));
	t->from_object = true;
	t->read.home = t->serve->mailbox;
	t->slices[0] = (struct slice){want.at - held.at, want.n};
	t->slice_count = 1;
	t->at = t->slices[0].at;
	t->until = t->at + want.n;
	end_head(t);
}

/* ---- from a flight ------------------------------------------------------------------------- */

/* The origin said 304 to our question: the stored object answers. */
static void
answer_validated(struct txn *t, const struct flight_head *h)
{
	object_unref(&t->object);
	t->object = object_ref(h->object);
	t->cs.fwd_status = h->status;
	t->cs.stored = h->stored;
	t->cs.collapsed = !t->leader;
	t->answer = t->leader ? ANSWER_REVALIDATED : ANSWER_COALESCED;
	sight_stored(t);
	t->detail = t->object->place == OBJECT_IN_RAM ? "ram" : "disk";
	flight_leave(&t->reader);
	answer_object(t);
}

/* Who joined a flight counts for itself, under the key of what came. */
static void
judge_follower(struct txn *t, const struct flight_head *h)
{
	const struct shelves *sh = t->serve->shelves;
	struct sighting_facts f = sight_of_txn(t, h->status);
	if (f.kind == SIGHTING_PLAIN)
		f.kind = SIGHTING_FOLLOWER;
	f.storable = h->storable;
	f.on_disk = h->stored;
	f.body_bytes = h->body_bytes;
	t->sighting = seen_judge(sh->seen,
				 sighting_key(sh->seed, t->key.primary, buf_str(&h->variant)), &f);
}

void
answer_flight(struct txn *t)
{
	const struct flight_head *h = flight_head(flight_of(t->reader));
	if (h->object) {
		answer_validated(t, h);
		return;
	}
	t->cs.fwd_status = h->status;
	t->cs.stored = h->stored;
	t->cs.collapsed = !t->leader;
	t->detail = t->passing ? NULL : admission_word(h->verdict);
	t->answer = t->passing ? ANSWER_PASS : t->leader ? ANSWER_MISS : ANSWER_COALESCED;
	if (t->leader)
		t->sighting.verdict = t->passing ? ADMISSION_NOT_STORABLE : h->verdict;
	else
		judge_follower(t, h);
	struct str head = buf_str(&h->head);
	bool whole = t->leader && h->asker.n; /* with what the store must not hold */
	if (h->storable && !t->passing) {
		select_part(t, head, &h->terms, h->body_bytes);
		if (t->slice_count >
		    1) { /* many parts of what is still arriving: the whole (14.2) */
			t->status = 200;
			t->slice_count = 1;
			t->slices[0] = (struct slice){0, h->body_bytes};
		}
	} else {
		t->status = h->status;
		t->slices[0] = (struct slice){0, h->body_bytes};
	}
	if (t->passing || !h->storable) { /* as it came, whatever its status */
		t->body_none = is_head(t) || h->status == 204 || h->status == 304;
		add_stored(t, head);
		if (h->body_bytes != UINT64_MAX && h->status != 204)
			add_number(t, STR("Content-Length: "), h->body_bytes);
		t->at = 0;
		t->until = h->body_bytes;
	} else {
		add_selected_head(t, whole ? buf_str(&h->asker) : head, h->body_bytes);
	}
	if (h->storable && !t->passing && !whole && (h->has_age || !t->leader))
		add_number(t, STR("Age: "), (uint64_t)terms_age(&h->terms, now_s()));
	t->from_flight = true;
	if (t->body_none || t->at == t->until)
		t->ended = true;
	else if (t->until == UINT64_MAX && t->rq.minor >= 1) {
		t->chunk_out = true;
		buf_add_lit(&t->out, "Transfer-Encoding: chunked\r\n");
	} else if (t->until == UINT64_MAX) {
		t->keep_alive =
			false; /* HTTP/1.0: the end of the connection is the end of the body */
	}
	end_head(t);
	if (t->ended) /* nobody waits for a client that does not even take a head */
		flight_leave(&t->reader);
	else
		flight_done_until(t->reader, t->at);
}

/* ---- pieces -------------------------------------------------------------------------------- */

enum piece { PIECE_READY, PIECE_LATER, PIECE_OVER };

static void
on_read(struct body_read *r)
{
	struct txn *t = (struct txn *)((char *)r - offsetof(struct txn, read));
	t->read_out = false;
	if (t->conn) {
		conn_drive(t->conn);
		return;
	}
	body_done(r);
	txn_came_home(t);
}

static enum piece
next_slice(struct txn *t)
{
	t->slice_i++;
	t->part_begun = false;
	if (t->slice_i < t->slice_count) {
		t->at = t->slices[t->slice_i].at;
		t->until = t->at + t->slices[t->slice_i].n;
		return PIECE_READY;
	}
	if (t->multipart)
		multipart_end(str_of(t->boundary), &t->out);
	if (t->chunk_out)
		buf_add_lit(&t->out, "0\r\n\r\n");
	t->ended = true;
	return PIECE_OVER;
}

/* The piece is a chunk of its own, where the length is not known. */
static void
frame_piece(struct txn *t)
{
	char line[24];
	if (!t->chunk_out)
		return;
	buf_add(&t->out, line, chunked_size_line(line, t->piece_bytes));
	t->tail = STR("\r\n");
}

static enum piece
piece_of_object(struct txn *t)
{
	struct object *o = t->object;
	if (t->at == t->until)
		return next_slice(t);
	if (t->multipart && !t->part_begun) {
		multipart_part_head(str_of(t->boundary), t->part_type, t->slices[t->slice_i],
				    o->body_bytes, t->slice_i == 0, &t->out);
		t->part_begun = true;
	}
	uint64_t left = t->until - t->at;
	t->read.done = on_read;
	switch (object_read(t->serve->shelves->cache, o, &t->read, t->at,
			    left < PIECE_MOST ? left : PIECE_MOST)) {
	case BODY_READY:
		t->piece = t->read.p;
		t->piece_bytes = t->read.n;
		t->at += t->read.n;
		frame_piece(t);
		return PIECE_READY;
	case BODY_LATER:
		t->read_out = true;
		return PIECE_LATER;
	case BODY_BAD:
		break;
	}
	t->cut = true;
	return PIECE_OVER;
}

/* The flight went on without this reader; what it has become in the cache has the rest. */
static void
go_on_from_object(struct txn *t)
{
	object_unref(&t->object);
	t->object = object_ref(flight_stored(flight_of(t->reader)));
	flight_leave(&t->reader);
	t->from_flight = false;
	t->from_object = true;
	t->read.home = t->serve->mailbox;
	if (t->until == UINT64_MAX)
		t->until = t->object->body_bytes;
}

static enum piece
piece_of_flight(struct txn *t)
{
	block_unref(&t->piece_block);
	flight_done_until(t->reader, t->at);
	if (t->at == t->until) {
		t->ended = true;
		return PIECE_OVER;
	}
	switch (flight_read(t->reader, t->at, &t->piece, &t->piece_bytes, &t->piece_block)) {
	case FLIGHT_READY:
		break;
	case FLIGHT_LATER:
		return PIECE_LATER;
	case FLIGHT_OVER:
		if (t->chunk_out)
			buf_add_lit(&t->out, "0\r\n\r\n");
		else if (t->until != UINT64_MAX)
			t->cut = true; /* cannot be: a flight that is whole has its length */
		t->ended = true;
		return PIECE_OVER;
	case FLIGHT_STORED:
		go_on_from_object(t);
		return PIECE_READY;
	case FLIGHT_LOST:
		metrics_add(t->serve->metrics, METRIC_LEFT_BEHIND, 1);
		t->cut = true;
		return PIECE_OVER;
	case FLIGHT_CUT:
		t->cut = true;
		return PIECE_OVER;
	}
	if (t->piece_bytes > t->until - t->at)
		t->piece_bytes = (size_t)(t->until - t->at);
	t->at += t->piece_bytes;
	frame_piece(t);
	return PIECE_READY;
}

/* ---- sending ------------------------------------------------------------------------------- */

static size_t
eat(size_t *have, size_t *sent)
{
	size_t n = *have < *sent ? *have : *sent;
	*have -= n;
	*sent -= n;
	return n;
}

static void
sent(struct txn *t, size_t n)
{
	size_t out = t->out.n - t->out_at;
	t->out_at += eat(&out, &n);
	if (out == 0)
		t->out.n = t->out_at = 0;
	size_t piece = eat(&t->piece_bytes, &n);
	t->piece += piece;
	t->body_sent += piece;
	t->tail.p += eat(&t->tail.n, &n);
}

static size_t
pending(const struct txn *t)
{
	return t->out.n - t->out_at + t->piece_bytes + t->tail.n;
}

static enum txn_next
done(struct txn *t)
{
	if (t->cut)
		return t->until == UINT64_MAX && !t->chunk_out ? TXN_RESET : TXN_CLOSE;
	if (t->fault || !t->body_over)
		return TXN_LINGER;
	return t->keep_alive ? TXN_KEEP : TXN_CLOSE;
}

enum txn_next
answer_pump(struct txn *t)
{
	struct conn *c = t->conn;
	size_t total = 0;
	for (;;) {
		enum piece step = PIECE_READY;
		while (t->piece_bytes == 0 && t->tail.n == 0 && !t->ended && !t->cut &&
		       !t->read_out && t->state == TXN_SEND && step == PIECE_READY)
			step = t->from_object ? piece_of_object(t) : piece_of_flight(t);
		if (pending(t) == 0) {
			if (t->ended || t->cut)
				return done(t);
			conn_wait(c,
				  WAIT_NOTHING); /* for the disk or the origin: they have limits */
			return c->broken ? TXN_CLOSE : TXN_WAITS;
		}
		struct iovec iov[] = {
			{t->out.p + t->out_at, t->out.n - t->out_at},
			{(void *)(uintptr_t)t->piece, t->piece_bytes},
			{(void *)(uintptr_t)t->tail.p, t->tail.n},
		};
		ssize_t n = conn_write(c, iov, 3);
		if (n < 0)
			return TXN_CLOSE;
		if (n == 0) {
			if (c->waiting != WAIT_SEND || total)
				conn_wait(c, WAIT_SEND);
			return TXN_WAITS;
		}
		sent(t, (size_t)n);
		total += (size_t)n;
		if (total > PUMP_MOST) { /* others want their turn */
			conn_wait(c, WAIT_NOTHING);
			event_active(&c->ev, EV_WRITE, 0);
			return TXN_WAITS;
		}
	}
}
