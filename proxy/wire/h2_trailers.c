/* h2_trailers.c - fields behind the body of an answer (RFC 9113 8.1). */
#include "proxy/wire/h2_stream.h"

#include "proxy/http/syntax.h"

/* RFC 9113 8.2: names are in lower case. */
static void
lower(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = byte_lower(p[i]);
}

/* Lines of serve's become fields, in the arena. How many there are. */
static size_t
make_fields(struct h2_stream *s, struct str lines, nghttp2_nv *nv)
{
	struct str rest = arena_copy(s->arena, lines), name, value;
	size_t n = 0;
	while (n < H2_LINES_MOST && rest.n) {
		struct str line = str_before(rest, '\r');
		rest = str_from(rest, line.n + 2);
		if (!str_cut(line, ':', &name, &value))
			break;
		lower((char *)(uintptr_t)name.p, name.n);
		value = str_trim(value);
		nv[n++] = (nghttp2_nv){
			.name = (uint8_t *)(uintptr_t)name.p,
			.namelen = name.n,
			.value = (uint8_t *)(uintptr_t)(value.n ? value.p : ""),
			.valuelen = value.n,
			.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
		};
	}
	return n;
}

bool
h2_trailers_submit(struct h2_stream *s)
{
	struct wire *w = s->h2->conn->wire;
	stream_trailers_fn *ask = s->source.trailers;
	s->source.trailers = NULL;
	if (!ask || s->counted)
		return false;
	conn_enter_serve(w);
	struct str lines = ask(s->source.ctx);
	conn_leave_serve(w);
	size_t n = lines.n ? make_fields(s, lines, w->h2->nva) : 0;
	return n && nghttp2_submit_trailer(s->h2->ng, s->id, w->h2->nva, n) == 0;
}
