/* h2_answer.c - heads of answers, and what serve tells wire. */
#include "proxy/wire/h2_stream.h"

#include "proxy/http/syntax.h"

/* NEWS_WORTH: bytes that a message from the origin counts for in h2_guard_useful, however small: a
 * client of gRPC answers it with a PING and a WINDOW_UPDATE. */
enum { INTERIM_MOST = 16 << 10, DIGITS = 24, NEWS_WORTH = 2 << 10 };

struct lines { /* of a head that is made */
	nghttp2_nv *nv;
	unsigned n;
	char *at; /* where the next text goes */
};

static void
add_text(struct lines *l, struct str name, struct str value)
{
	if (l->n == H2_LINES_MOST)
		return;
	l->nv[l->n++] = (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name.p,
		.namelen = name.n,
		.value = (uint8_t *)(uintptr_t)(value.n ? value.p : ""),
		.valuelen = value.n,
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
}

static struct str
put_lower(struct lines *l, struct str s)
{
	char *at = l->at;
	for (size_t i = 0; i < s.n; i++)
		at[i] = byte_lower(s.p[i]);
	l->at += s.n;
	return (struct str){at, s.n};
}

static struct str
put(struct lines *l, struct str s)
{
	char *at = l->at;
	if (s.n)
		memcpy(at, s.p, s.n);
	l->at += s.n;
	return (struct str){at, s.n};
}

static void
add_number(struct lines *l, struct str name, uint64_t n)
{
	char *at = l->at;
	l->at += buf_put_u64(at, n);
	add_text(l, name, (struct str){at, (size_t)(l->at - at)});
}

/* RFC 9113 8.2.2: what is of one connection stays on it. */
static bool
may_leave(enum field_id id)
{
	return !(fields_hop_by_hop & field_bit(id));
}

static void
add_stored(struct lines *l, const struct field_block *b)
{
	struct field_cursor at = {0};
	struct field_line line;
	while (field_block_next(b, &at, &line))
		if (may_leave(line.id)) {
			struct str name = put_lower(l, line.name);
			add_text(l, name, put(l, line.value));
		}
}

static size_t
text_most(const struct stream_head *h)
{
	size_t n = 2 * DIGITS + (h->stored ? h->stored->lines.n : 0);
	for (unsigned i = 0; i < h->add_n; i++)
		n += h->add[i].name.n + h->add[i].value.n;
	return n;
}

/* Texts lie in the arena, which lives as long as libnghttp2 knows the stream. */
static struct lines
make_head(struct h2_stream *s, const struct stream_head *h)
{
	struct lines l = {.nv = s->h2->conn->wire->h2->nva,
			  .at = arena_alloc(s->arena, text_most(h))};
	add_number(&l, STR(":status"), (uint64_t)h->status);
	if (h->stored)
		add_stored(&l, h->stored);
	for (unsigned i = 0; i < h->add_n; i++)
		if (may_leave(field_id_of(h->add[i].name))) {
			struct str name = put_lower(&l, h->add[i].name);
			add_text(&l, name, put(&l, h->add[i].value));
		}
	if (h->bytes != LENGTH_UNKNOWN)
		add_number(&l, STR("content-length"), h->bytes);
	return l;
}

void
h2_answer_cut(struct h2_stream *s, enum stream_end how, uint32_t code)
{
	s->answering = H2_CUT;
	s->end = how;
	s->ours = true;
	if (!s->closed)
		nghttp2_submit_rst_stream(s->h2->ng, NGHTTP2_FLAG_NONE, s->id, code);
	conn_wake(s->h2->conn);
}

void
h2_answer_head(struct stream *base, const struct stream_head *h, const struct stream_source *src)
{
	struct h2_stream *s = h2_stream_of(base);
	h2_work_check(s);
	assert(s->answering == H2_AWAITED && h->status >= 200 && h->status <= 999);
	bool no_body = s->r->rq.method == METHOD_HEAD || h->status == 204 || h->status == 304 ||
		       h->bytes == 0 || !src;
	s->left = h->bytes;
	s->counted = h->bytes != LENGTH_UNKNOWN;
	s->pauses = h->pauses;
	s->answering = no_body ? H2_WHOLE : H2_FLOWS;
	if (!no_body)
		s->source = *src;
	if (s->closed)
		return;
	struct lines l = make_head(s, h);
	h2_held_count(s);
	nghttp2_data_provider body = {.source.ptr = s, .read_callback = h2_send_read};
	if (nghttp2_submit_response(s->h2->ng, s->id, l.nv, l.n, no_body ? NULL : &body))
		h2_answer_cut(s, STREAM_RESET, NGHTTP2_INTERNAL_ERROR);
	conn_wake(s->h2->conn);
}

void
h2_answer_interim(struct stream *base, const struct field_block *head)
{
	struct h2_stream *s = h2_stream_of(base);
	size_t bytes = head->lines.n;
	if (s->answering != H2_AWAITED || s->closed || s->interim_bytes + bytes > INTERIM_MOST)
		return;
	s->interim_bytes += bytes + 2 * DIGITS;
	struct lines l = {.nv = s->h2->conn->wire->h2->nva,
			  .at = arena_alloc(s->arena, bytes + DIGITS)};
	add_number(&l, STR(":status"), (uint64_t)head->status);
	add_stored(&l, head);
	h2_held_count(s);
	nghttp2_submit_headers(s->h2->ng, NGHTTP2_FLAG_NONE, s->id, NULL, l.nv, l.n, NULL);
	conn_wake(s->h2->conn);
}

void
h2_answer_ready(struct stream *base)
{
	struct h2_stream *s = h2_stream_of(base);
	if (s->answering == H2_LATER) {
		s->answering = H2_FLOWS;
		h2_guard_useful(s->h2, NEWS_WORTH);
		if (!s->closed)
			nghttp2_session_resume_data(s->h2->ng, s->id);
	}
	conn_wake(s->h2->conn);
}

void
h2_answer_reset(struct stream *base)
{
	h2_answer_cut(h2_stream_of(base), STREAM_RESET, NGHTTP2_INTERNAL_ERROR);
}
