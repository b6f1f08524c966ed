/* h2_send.c - from answers to frames, of all streams that are ready, gathered into few writes. */
#include "proxy/wire/h2_stream.h"

enum {
	PUMP_MOST = 1 << 20,   /* bytes sent to one connection before others have their turn */
	PULL_MOST = 256 << 10, /* bytes of a body pulled at once */
	OUT_KEEP = 0
};

/* ---- bodies -------------------------------------------------------------------------------- */

/* No more than the client's windows let out soon, and a share of what its connection may hold: what
 * is pulled and cannot be sent is held for it. */
static size_t
pull_most(const struct h2_stream *s, size_t length)
{
	int32_t all = nghttp2_session_get_remote_window_size(s->h2->ng);
	int32_t one = nghttp2_session_get_stream_remote_window_size(s->h2->ng, s->id);
	size_t most = all < one ? (size_t)(all > 0 ? all : 0) : (size_t)(one > 0 ? one : 0);
	size_t share = h2_held_room(s->h2) / s->h2->count;
	most = most < share ? most : share;
	most = most < length ? length : most < PULL_MOST ? most : PULL_MOST;
	return s->left < most ? (size_t)s->left : most;
}

/* The answer of pull changes what is still to come. */
static void
note_pull(struct h2_stream *s, enum stream_pull r, size_t bytes)
{
	if (s->counted)
		s->left -= bytes;
	if (s->counted && s->left == 0)
		s->answering = H2_WHOLE;
	else if (r == STREAM_PULL_LATER)
		s->answering = H2_LATER;
	else if (r == STREAM_PULL_END) /* fewer than the head promised, if it did */
		s->answering = s->counted ? H2_CUT : H2_WHOLE;
	else if (r == STREAM_PULL_ERROR)
		s->answering = H2_CUT;
}

static void
pull(struct h2_stream *s, size_t length)
{
	struct wire *w = s->h2->conn->wire;
	size_t most = pull_most(s, length), bytes = 0;
	unsigned n = 0;
	conn_enter_serve(w);
	enum stream_pull r = s->source.pull(s->source.ctx, most, s->segments, &n);
	conn_leave_serve(w);
	assert(n <= STREAM_PIECES);
	for (unsigned i = 0; i < n; i++)
		bytes += s->segments[i].n;
	assert(bytes <= most && (bytes > 0 || r != STREAM_PULL_SOME));
	h2_held_add(s->h2, bytes, 0);
	s->segment_i = 0;
	s->segment_n = (uint8_t)n;
	note_pull(s, r, bytes);
}

/* Bytes that are pulled and not framed, as far as a frame takes them; *all: no more are there. */
static size_t
loaded(const struct h2_stream *s, size_t length, bool *all)
{
	size_t n = h2_send_pulled(s);
	*all = n <= length;
	return n < length ? n : length;
}

ssize_t
h2_send_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
	     nghttp2_data_source *source, void *ctx)
{
	struct h2_stream *s = source->ptr;
	bool all;
	(void)ng, (void)id, (void)buf, (void)ctx;
	size_t n = loaded(s, length, &all);
	if (n == 0 && s->answering == H2_FLOWS) {
		pull(s, length);
		n = loaded(s, length, &all);
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (all && s->answering == H2_WHOLE)
		*flags |= h2_trailers_submit(s)
				  ? NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM
				  : NGHTTP2_DATA_FLAG_EOF;
	if (n || s->answering == H2_WHOLE)
		return (ssize_t)n;
	if (s->answering == H2_LATER)
		return NGHTTP2_ERR_DEFERRED;
	s->ours = true; /* never END_STREAM: nobody may take it for whole */
	s->end = STREAM_RESET;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int
h2_send_data(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t length,
	     nghttp2_data_source *source, void *ctx)
{
	struct h2_stream *s = source->ptr;
	struct h2 *h2 = s->h2;
	char *to = h2->conn->wire->h2->record + h2->record_n;
	(void)ng, (void)frame, (void)ctx;
	h2_work_check(s);
	assert(!h2->paused && h2->record_n + 9 + length <= H2_RECORD);
	memcpy(to, head, 9);
	to += 9;
	h2->record_n += 9 + length;
	s->body_sent += length;
	s->downward.bytes += length;
	h2->granted.bytes += length;
	h2_guard_useful(h2, length);
	h2_held_add(h2, 0, length);
	while (length) {
		assert(s->segment_i < s->segment_n);
		struct str *at = &s->segments[s->segment_i];
		size_t n = at->n < length ? at->n : length;
		memcpy(to, at->p, n);
		to += n;
		length -= n;
		*at = str_from(*at, n);
		s->segment_i += at->n == 0;
	}
	h2->paused = h2->record_n + H2_FRAME > H2_RECORD;
	return h2->paused ? NGHTTP2_ERR_PAUSE : 0;
}

void
h2_send_give_back(struct h2_stream *s)
{
	struct wire *w = s->h2->conn->wire;
	size_t bytes = h2_send_pulled(s);
	if (!s->source.give_back || bytes == 0 || !s->counted ||
	    (s->answering != H2_FLOWS && s->answering != H2_WHOLE))
		return;
	conn_enter_serve(w);
	bool taken = s->source.give_back(s->source.ctx, bytes);
	conn_leave_serve(w);
	if (!taken)
		return;
	metrics_add(w->o.metrics, METRIC_GIVEN_BACK, 1);
	h2_held_add(s->h2, 0, bytes);
	s->left += bytes;
	s->answering = H2_FLOWS;
	s->segment_n = s->segment_i = 0;
}

/* ---- frames -------------------------------------------------------------------------------- */

/* Fills the record; false: libnghttp2 failed. */
static bool
gather(struct h2 *h2)
{
	char *record = h2->conn->wire->h2->record;
	h2->record_n = 0;
	do {
		const uint8_t *p;
		h2->paused = false;
		ssize_t n = nghttp2_session_mem_send(h2->ng, &p);
		if (n < 0)
			return false;
		if (n == 0)
			break;
		memcpy(record + h2->record_n, p, (size_t)n);
		h2->record_n += (size_t)n;
	} while (h2->record_n + H2_FRAME <= H2_RECORD);
	return true;
}

/* Bytes taken; fewer than n: the socket is full, or broken. */
static size_t
write_all(struct h2 *h2, const char *p, size_t n)
{
	size_t done = 0;
	while (done < n) {
		struct iovec iov = {(void *)(uintptr_t)(p + done), n - done};
		ssize_t sent = conn_write(h2->conn, &iov, 1, false);
		if (sent <= 0)
			break;
		done += (size_t)sent;
	}
	h2->written += done;
	h2->downward.bytes += done;
	return done;
}

/* Writes what the socket left before. */
static bool
write_rest(struct h2 *h2)
{
	h2->out_at += write_all(h2, h2->out.p + h2->out_at, h2->out.n - h2->out_at);
	if (h2->out_at < h2->out.n)
		return false;
	h2_held_add(h2, 0, h2->out.cap);
	buf_fini(&h2->out);
	h2->out_at = 0;
	return true;
}

/* The streams whose last byte is with the kernel: nothing is left here, nor with TLS. */
static void
settle(struct h2 *h2)
{
	while (h2->sent) {
		struct h2_stream *s = h2->sent;
		h2->sent = s->sent_next;
		if (!h2->sent)
			h2->sent_last = &h2->sent;
		h2_work_done(s, STREAM_SENT);
	}
}

enum h2_send
h2_send(struct h2 *h2)
{
	struct conn *c = h2->conn;
	for (size_t total = 0; total <= PUMP_MOST;) {
		if (conn_flush(c) <= 0 || (h2->out.n && !write_rest(h2)))
			return c->broken ? H2_SEND_BROKEN : H2_SEND_FULL;
		settle(h2);
		if (!gather(h2)) {
			h2->failed = true;
			return H2_SEND_EMPTY;
		}
		if (h2->record_n == 0)
			return H2_SEND_EMPTY;
		size_t n = write_all(h2, c->wire->h2->record, h2->record_n);
		if (n < h2->record_n) {
			buf_add(&h2->out, c->wire->h2->record + n, h2->record_n - n);
			h2_held_add(h2, h2->out.cap, 0);
		}
		total += h2->record_n;
		if (n < h2->record_n)
			return c->broken ? H2_SEND_BROKEN : H2_SEND_FULL;
	}
	if (conn_flush(c) > 0) /* nothing else may say it: this may have been the session's last */
		settle(h2);
	return H2_SEND_TURN;
}
