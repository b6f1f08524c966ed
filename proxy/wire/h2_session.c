/* h2_session.c - what libnghttp2 reports of a connection's frames. */
#include "proxy/wire/h2_stream.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <stdlib.h>

/* DEFLATE_TABLE: of the fields that we send; the library would keep 4 KiB of them. ACKS, SETTINGS,
 * CONTINUATIONS: more in one go are an attack. HEAD_MOST: of an
 * answer. ANSWER_WORTH: bytes that its head counts for in h2_guard_useful. */
enum {
	DEFLATE_TABLE = 1024,
	ACKS = 100,
	SETTINGS = 32,
	CONTINUATIONS = 8,
	HEAD_MOST = 512 << 10,
	FRAME_HEAD = 9,
	ANSWER_WORTH = 4 << 10
};

static struct h2_stream *
stream_of(nghttp2_session *ng, int32_t id)
{
	return nghttp2_session_get_stream_user_data(ng, id);
}

static bool
begins_request(const nghttp2_frame *f)
{
	return f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST;
}

/* ---- frames that come ------------------------------------------------------------------------ */

static int
on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx)
{
	struct h2 *h2 = ctx;
	h2->unknown -= (int64_t)hd->length + FRAME_HEAD;
	if (hd->type == NGHTTP2_CONTINUATION)
		h2_request_continues(stream_of(ng, hd->stream_id), hd->length);
	if (hd->type != NGHTTP2_HEADERS && hd->type != NGHTTP2_DATA &&
	    hd->type != NGHTTP2_RST_STREAM)
		h2_guard_frame(h2);
	/* A request that is ignored: its client has not heard the last GOAWAY. */
	if (h2->told_last && hd->type == NGHTTP2_HEADERS && !(hd->flags & NGHTTP2_FLAG_END_STREAM))
		h2_guard_late(h2, NGHTTP2_INITIAL_WINDOW_SIZE);
	return h2->abuse ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int
on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
	struct h2 *h2 = ctx;
	h2->head_since_ms = now_ms();
	h2->head_id = f->hd.stream_id;
	if (!begins_request(f))
		return 0;
	struct h2_stream *s = h2_request_open(h2, f->hd.stream_id);
	h2_request_continues(s, f->hd.length);
	if (s)
		return nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, s);
	metrics_add(h2->conn->wire->o.metrics, METRIC_H2_REFUSED, 1);
	return nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id,
					 NGHTTP2_REFUSED_STREAM);
}

static int
on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t name_n,
	  const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	struct h2 *h2 = ctx;
	struct h2_stream *s = stream_of(ng, f->hd.stream_id);
	(void)flags;
	if (!s)
		return 0;
	struct str n = {(const char *)name, name_n}, v = {(const char *)value, value_n};
	if (begins_request(f)) {
		if (!h2_request_line(s, n, v) && !h2->abuse)
			h2->abuse = H2_HEADERS;
		return 0;
	}
	/* Trailers of requests are dropped, as those of HTTP/1. */
	s->head_bytes += n.n + v.n;
	return s->head_bytes <= 2 * h2->conn->wire->o.limits.head_bytes
		       ? 0
		       : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* libnghttp2 would leave out a line with control bytes, and go on without it. */
static int
on_invalid_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t name_n,
		  const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	(void)ng, (void)f, (void)name, (void)name_n, (void)value, (void)value_n, (void)flags,
		(void)ctx;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void
on_input_over(struct h2_stream *s)
{
	s->in_over = true;
	if (s->wanted)
		h2_note(s, H2_NOTE_BODY);
}

static int
on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
	struct h2 *h2 = ctx;
	struct h2_stream *s = stream_of(ng, f->hd.stream_id);
	bool ends = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
	switch (f->hd.type) {
	case NGHTTP2_HEADERS:
		h2->head_since_ms = 0;
		if (s && ends)
			on_input_over(s);
		if (s && begins_request(f)) {
			h2_held_count(s);
			h2_note(s, H2_NOTE_REQUEST);
		}
		break;
	case NGHTTP2_DATA:
		if (s && ends)
			on_input_over(s);
		else if (f->hd.length == f->data.padlen)
			h2_guard_frame(h2);
		break;
	case NGHTTP2_RST_STREAM:
		if (s && s->answering != H2_CUT) {
			metrics_add(h2->conn->wire->o.metrics, METRIC_H2_RESET, 1);
			h2_guard_reset(h2);
		} else {
			h2_guard_frame(h2);
		}
		break;
	case NGHTTP2_SETTINGS:
	case NGHTTP2_WINDOW_UPDATE:
		h2_held_begin_more(h2);
		break;
	case NGHTTP2_PING:
		if (h2->draining && f->hd.flags & NGHTTP2_FLAG_ACK)
			h2->drained = true;
		break;
	default:
		break;
	}
	return 0;
}

static int
on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *ctx)
{
	struct h2_stream *s = stream_of(ng, id);
	(void)flags;
	h2_guard_useful(ctx, n);
	if (s)
		h2_request_data(s, (struct str){(const char *)p, n});
	else
		nghttp2_session_consume(ng, id, n);
	return 0;
}

/* ---- frames that go -------------------------------------------------------------------------- */

static int
on_sent(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
	struct h2 *h2 = ctx;
	struct h2_stream *s = stream_of(ng, f->hd.stream_id);
	bool ends = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
	if (f->hd.type == NGHTTP2_RST_STREAM && !(s && s->ours)) {
		/* The client made us send it (CVE-2025-8671). */
		metrics_add(h2->conn->wire->o.metrics, METRIC_H2_MALFORMED, 1);
		h2_guard_reset(h2);
		if (s && !s->ctx && f->rst_stream.error_code == NGHTTP2_PROTOCOL_ERROR)
			s->malformed = true;
	}
	if (f->hd.type == NGHTTP2_RST_STREAM &&
	    nghttp2_session_get_stream_remote_close(ng, f->hd.stream_id) == 0)
		h2_guard_late(h2,
			      nghttp2_session_get_stream_local_window_size(ng, f->hd.stream_id));
	if (f->hd.type == NGHTTP2_HEADERS) /* a call in the manner of gRPC comes with some frames */
		h2_guard_useful(h2, ANSWER_WORTH);
	if (f->hd.type == NGHTTP2_GOAWAY)
		h2->error = (uint8_t)f->goaway.error_code;
	/* RFC 9113 8.1: the rest of its body is of no use. */
	if (s && ends && !s->in_over) {
		s->ours = true;
		return nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
	}
	return 0;
}

/* A head that cannot be sent: too large. A stream or session that is being ended anyway is left alone,
 * and an interim head is only advice: serve still owes the answer. */
static int
on_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int error, void *ctx)
{
	struct h2_stream *s = stream_of(ng, f->hd.stream_id);
	(void)ctx;
	bool ends = error == NGHTTP2_ERR_STREAM_CLOSING || error == NGHTTP2_ERR_SESSION_CLOSING;
	if (s && f->hd.type == NGHTTP2_HEADERS && !ends && s->answering != H2_AWAITED)
		h2_answer_cut(s, STREAM_RESET, NGHTTP2_INTERNAL_ERROR);
	return 0;
}

static int
on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
	struct h2 *h2 = ctx;
	struct h2_stream *s = stream_of(ng, id);
	if (id == h2->head_id) /* refused within its head: libnghttp2 does not report its end */
		h2->head_since_ms = 0;
	if (!s)
		return 0;
	h2_request_close(s);
	bool whole = code == NGHTTP2_NO_ERROR && s->answering == H2_WHOLE &&
		     s->segment_i == s->segment_n;
	if (whole) {
		s->sent_next = NULL;
		*h2->sent_last = s;
		h2->sent_last = &s->sent_next;
		return 0;
	}
	if (!s->ours)
		s->end = STREAM_GONE;
	h2_note(s, H2_NOTE_DONE);
	return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

static struct h2_shared *
shared_create(void)
{
	struct h2_shared *s = NEW(struct h2_shared);
	if (nghttp2_session_callbacks_new(&s->callbacks) || nghttp2_option_new(&s->option))
		abort();
	nghttp2_session_callbacks *cb = s->callbacks;
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(cb, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_not_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_session_callbacks_set_send_data_callback(cb, h2_send_data);
	nghttp2_option_set_no_auto_window_update(s->option, 1);
	nghttp2_option_set_no_closed_streams(s->option, 1);
	nghttp2_option_set_max_deflate_dynamic_table_size(s->option, DEFLATE_TABLE);
	nghttp2_option_set_max_send_header_block_length(s->option, HEAD_MOST);
	nghttp2_option_set_max_outbound_ack(s->option, ACKS);
	nghttp2_option_set_max_settings(s->option, SETTINGS);
	nghttp2_option_set_max_continuations(s->option, CONTINUATIONS);
	/* h2_guard counts these, and knows more of them. */
	nghttp2_option_set_stream_reset_rate_limit(s->option, 1 << 30, 1 << 30);
	nghttp2_option_set_builtin_recv_extension_type(s->option, NGHTTP2_PRIORITY_UPDATE);
	s->pages = h2_pages_create();
	s->record = mem_alloc(H2_RECORD);
	s->nva = mem_alloc(H2_LINES_MOST * sizeof *s->nva);
	return s;
}

void
h2_shared_destroy(struct h2_shared **sp)
{
	struct h2_shared *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	nghttp2_session_callbacks_del(s->callbacks);
	nghttp2_option_del(s->option);
	h2_pages_destroy(&s->pages);
	free(s->record);
	free(s->nva);
	free(s->shares);
	free(s);
}

struct h2 *
h2_session_create(struct conn *c)
{
	struct wire *w = c->wire;
	struct h2 *h2 = NEW(struct h2);
	if (!w->h2)
		w->h2 = shared_create();
	h2->conn = c;
	h2->most = w->o.limits.h2_streams;
	h2->noted_last = &h2->noted;
	h2->sent_last = &h2->sent;
	h2->watched_ms = now_ms();
	h2_guard_init(h2);
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, h2->most},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)w->o.limits.head_bytes},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};
	nghttp2_mem mem = h2_memory_begin(&h2->held.session, w->h2->pages);
	if (nghttp2_session_server_new3(&h2->ng, w->h2->callbacks, h2, w->h2->option, &mem) ||
	    nghttp2_submit_settings(h2->ng, NGHTTP2_FLAG_NONE, settings,
				    sizeof settings / sizeof settings[0]) ||
	    nghttp2_session_set_local_window_size(h2->ng, NGHTTP2_FLAG_NONE, 0, H2_BODY_WINDOW))
		abort();
	h2_memory_made(&h2->held.session);
	metrics_add(w->o.metrics, METRIC_H2_CONNECTIONS, 1);
	c->session = h2;
	return h2;
}

void
h2_session_destroy(struct h2 *h2)
{
	assert(!h2->streams && !h2->noted);
	for (unsigned i = 0; i < h2->lasting.n; i++)
		arena_unref(&h2->lasting.of[i]);
	free(h2->lasting.of);
	h2_held_add(h2, 0, h2->lasting.held + h2->out.cap);
	assert(h2->held.bytes == 0);
	buf_fini(&h2->out);
	nghttp2_session_del(h2->ng);
	h2_memory_end(&h2->held.session);
	h2->conn->session = NULL;
	free(h2);
}
