/* upload.c - the request's body, from the stream to the fetch that sends it on: its beginning is
 * gathered before an origin is asked, the rest goes no faster than the origin takes it.
 *
 * A client that sends its body byte by byte would otherwise hold one of the origin's few
 * connections all the while. Where its front has no room for so much, less is gathered.
 */
#include "proxy/serve/fill_inside.h"

#include <assert.h>

enum { GATHER_BYTES = 64 << 10 };

static size_t
at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* One step of the body: bytes to take, 0 when there are none now; *over or t->fault are set at its
 * end. */
static enum stream_body
next_piece(struct txn *t, struct str *piece)
{
	const struct fault *why;
	enum stream_body step = stream_body(t->stream, piece, &why);
	if (step == STREAM_BODY_END)
		t->upload.state = UPLOAD_OVER;
	if (step == STREAM_BODY_FAULT)
		t->fault = why ? why : &fault_BODY_CUT;
	return step;
}

bool
upload_gather(struct txn *t)
{
	struct str piece;
	for (;;) {
		enum stream_body step = next_piece(t, &piece);
		if (step != STREAM_BODY_SOME || t->upload.gathered.n == GATHER_BYTES)
			return step != STREAM_BODY_WAIT || t->upload.gathered.n == GATHER_BYTES;
		size_t n = at_most(piece.n, GATHER_BYTES - t->upload.gathered.n);
		buf_add(&t->upload.gathered, piece.p, n);
		stream_keep(t->stream, n);
	}
}

/* The gathered bytes go first. */
static size_t
take_gathered(struct txn *t, char *p, size_t max)
{
	assert(t->upload.at <= t->upload.gathered.n);
	size_t n = at_most(t->upload.gathered.n - t->upload.at, max);
	if (n == 0)
		return 0;
	memcpy(p, t->upload.gathered.p + t->upload.at, n);
	t->upload.at += n;
	if (t->upload.at == t->upload.gathered.n) {
		stream_let_go(t->stream, t->upload.gathered.n);
		buf_fini(&t->upload.gathered);
		t->upload.at = 0;
	}
	return n;
}

ptrdiff_t
upload_take(void *ctx, char *p, size_t max)
{
	struct fill *f = ctx;
	struct txn *t = f->feeder;
	struct str piece;
	if (!t || !t->stream || t->fault)
		return FETCH_SEND_ABORT;
	assert(t->upload.fill == f && t->upload.at <= t->upload.gathered.n);
	size_t got = take_gathered(t, p, max);
	while (t->upload.state != UPLOAD_OVER && t->upload.gathered.n == 0) {
		enum stream_body step = next_piece(t, &piece);
		if (step == STREAM_BODY_FAULT)
			return FETCH_SEND_ABORT;
		if (step == STREAM_BODY_WAIT && got == 0) {
			t->upload.state = UPLOAD_AWAITED;
			return FETCH_SEND_LATER;
		}
		if (step != STREAM_BODY_SOME || got == max)
			break;
		size_t n = at_most(piece.n, max - got);
		memcpy(p + got, piece.p, n);
		stream_took(t->stream, n);
		got += n;
	}
	if (t->tunnel.is_open)
		t->tunnel.received += got;
	return (ptrdiff_t)got;
}
