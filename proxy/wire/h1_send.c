/* h1_send.c - from an answer to bytes. */
#include "proxy/wire/h1_stream.h"

enum {
	PUMP_MOST = 1 << 20,   /* bytes sent to one connection before others have their turn */
	PULL_MOST = 256 << 10, /* bytes of a body pulled at once */
	FILE_MOST = 1 << 20,   /* the same where they come from a file */
};

static enum stream_pull
pull(struct h1_stream *s, struct str *to, unsigned *n, size_t *bytes)
{
	struct wire *w = s->conn->wire;
	size_t most = s->left < PULL_MOST ? (size_t)s->left : PULL_MOST;
	*n = 0;
	conn_enter_serve(w);
	enum stream_pull r = s->source.pull(s->source.ctx, most, to, n);
	conn_leave_serve(w);
	assert(*n <= STREAM_PIECES);
	*bytes = 0;
	for (unsigned i = 0; i < *n; i++)
		*bytes += to[i].n;
	assert(*bytes <= most && (*bytes > 0 || r != STREAM_PULL_SOME));
	return r;
}

/* The answer of pull changes what is still to come. */
static void
note_pull(struct h1_stream *s, enum stream_pull r, size_t bytes)
{
	bool counted = s->left != LENGTH_UNKNOWN;
	if (counted)
		s->left -= bytes;
	if (counted && s->left == 0)
		s->answering = ANSWER_WHOLE;
	else if (r == STREAM_PULL_LATER)
		s->answering = ANSWER_LATER;
	else if (r == STREAM_PULL_END) /* fewer than the head promised, if it did */
		s->answering = counted ? ANSWER_CUT : ANSWER_WHOLE;
	else if (r == STREAM_PULL_ERROR)
		s->answering = ANSWER_CUT;
}

/* Ends a body in chunks (RFC 9112 7.1.2); within: behind a chunk. */
static struct str
last_chunk(struct h1_stream *s, bool within)
{
	struct wire *w = s->conn->wire;
	struct str end = within ? STR("\r\n0\r\n\r\n") : STR("0\r\n\r\n"), lines = {0};
	if (!s->source.trailers)
		return end;
	conn_enter_serve(w);
	lines = s->source.trailers(s->source.ctx);
	conn_leave_serve(w);
	if (lines.n == 0)
		return end;
	char *text = arena_alloc(s->arena, end.n + lines.n);
	memcpy(text, end.p, end.n - 2);
	memcpy(text + end.n - 2, lines.p, lines.n);
	memcpy(text + end.n - 2 + lines.n, "\r\n", 2);
	return (struct str){text, end.n + lines.n};
}

/* The next pieces of the body behind what is loaded already, in their chunk. */
static void
load_body(struct h1_stream *s)
{
	struct str *at = &s->segments[s->segment_n];
	bool chunked = s->framing_out == OUT_CHUNKS;
	unsigned n;
	size_t bytes;
	enum stream_pull r = pull(s, at + chunked, &n, &bytes);
	note_pull(s, r, bytes);
	if (chunked && bytes) {
		at[0] = (struct str){s->size_line, chunked_size_line(s->size_line, bytes)};
		s->segment_n++;
	}
	s->body_from = s->segment_n;
	s->body_to = s->segment_n = (uint8_t)(s->segment_n + n);
	bool last = s->answering == ANSWER_WHOLE;
	if (chunked && (bytes || last))
		s->segments[s->segment_n++] = last ? last_chunk(s, bytes > 0) : STR("\r\n");
}

/* The same as a piece of a file, if there is one. */
static bool
load_file(struct h1_stream *s)
{
	struct wire *w = s->conn->wire;
	size_t most = s->left < FILE_MOST ? (size_t)s->left : FILE_MOST;
	if (!s->source.file || s->no_file || s->framing_out != OUT_LENGTH ||
	    !conn_sends_files(s->conn))
		return false;
	conn_enter_serve(w);
	bool yes = s->source.file(s->source.ctx, most, &s->file);
	conn_leave_serve(w);
	if (!yes) {
		s->file.n = 0;
		return false;
	}
	assert(s->file.n > 0 && s->file.n <= most);
	note_pull(s, STREAM_PULL_SOME, s->file.n);
	s->body_from = s->body_to = s->segment_n; /* none of the segments is body */
	return true;
}

static void
load(struct h1_stream *s)
{
	s->segment_n = s->segment_i = s->body_from = s->body_to = 0;
	if (s->out.n)
		s->segments[s->segment_n++] = s->out;
	s->out = (struct str){0};
	if (s->answering == ANSWER_FLOWS && !load_file(s))
		load_body(s);
}

static void
sent(struct h1_stream *s, size_t n)
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
write_segments(struct h1_stream *s)
{
	struct iovec iov[SEGMENTS];
	unsigned n = 0;
	for (unsigned i = s->segment_i; i < s->segment_n; i++)
		iov[n++] = (struct iovec){(void *)(uintptr_t)s->segments[i].p, s->segments[i].n};
	return conn_write(s->conn, iov, n, s->file.n > 0);
}

/* The file did not give its bytes: they are pulled, and whoever reads them finds out why. */
static void
pull_instead(struct h1_stream *s, bool never)
{
	uint64_t bytes = s->file.n;
	s->file.n = 0;
	s->no_file = never;
	conn_enter_serve(s->conn->wire);
	bool taken = s->source.give_back && s->source.give_back(s->source.ctx, bytes);
	conn_leave_serve(s->conn->wire);
	if (taken)
		s->left += bytes;
	s->answering = taken ? ANSWER_FLOWS : ANSWER_CUT;
}

/* As conn_write. */
static ssize_t
write_file(struct h1_stream *s)
{
	ssize_t n = conn_write_file(s->conn, &s->file);
	s->file.is_here = false;
	if (n > 0) {
		s->file.at += (uint64_t)n;
		s->file.n -= (uint64_t)n;
		s->body_sent += (uint64_t)n;
		s->written += (uint64_t)n;
	}
	return n;
}

/* All that was given to the connection is sent, or not yet. */
static enum h1_send
flushed(struct h1_stream *s)
{
	int done = conn_flush(s->conn);
	return done > 0 ? H1_SEND_EMPTY : done < 0 ? H1_SEND_BROKEN : H1_SEND_FULL;
}

enum h1_send
h1_send(struct h1_stream *s)
{
	s->file.is_here = false; /* it may have been, a while ago */
	for (size_t total = 0; total <= PUMP_MOST;) {
		if (s->answering == ANSWER_RESET)
			return H1_SEND_EMPTY;
		if (s->segment_i == s->segment_n && s->file.n == 0)
			load(s);
		bool text = s->segment_i < s->segment_n;
		if (!text && s->file.n == 0)
			return flushed(s);
		ssize_t n = text ? write_segments(s) : write_file(s);
		if (n == CONN_FILE_UNREAD || n == CONN_FILE_NOT_NOW) {
			pull_instead(s, n == CONN_FILE_UNREAD);
			continue;
		}
		if (n < 0)
			return H1_SEND_BROKEN;
		if (n == 0)
			return H1_SEND_FULL;
		if (text)
			sent(s, (size_t)n);
		total += (size_t)n;
	}
	return H1_SEND_TURN;
}

void
h1_send_let_go(struct h1_stream *s)
{
	if (!s->source.give_back || s->answering != ANSWER_FLOWS || s->segment_i < s->segment_n ||
	    s->file.n > 0)
		return;
	conn_enter_serve(s->conn->wire);
	s->source.give_back(s->source.ctx, 0);
	conn_leave_serve(s->conn->wire);
	s->segment_n = s->segment_i = s->body_from = s->body_to = 0;
}

void
h1_send_give_back(struct h1_stream *s)
{
	uint64_t bytes = 0;
	bool can = s->answering == ANSWER_FLOWS || s->answering == ANSWER_WHOLE;
	if (!s->source.give_back || !can || s->framing_out != OUT_LENGTH || s->out.n ||
	    s->segment_i < s->body_from)
		return;
	for (unsigned i = s->segment_i; i < s->segment_n; i++)
		bytes += s->segments[i].n;
	if (bytes == 0)
		return;
	conn_enter_serve(s->conn->wire);
	bool taken = s->source.give_back(s->source.ctx, bytes);
	conn_leave_serve(s->conn->wire);
	if (!taken)
		return;
	metrics_add(s->conn->wire->o.metrics, METRIC_GIVEN_BACK, 1);
	s->left += bytes;
	s->answering = ANSWER_FLOWS;
	s->segment_n = s->segment_i = s->body_from = s->body_to = 0;
}
