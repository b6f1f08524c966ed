/* encoder.c - what zlib, brotli and libzstd call the same three steps. */
#define ZLIB_CONST /* what zlib reads it does not change */
#include "proxy/coding/encoder.h"

#include <assert.h>
#include <brotli/encode.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum {
	ROOM = 32 << 10, /* out grows by */
	/* Of a stream, which may be one of many. With twice the window br takes 3.5 MiB instead of 1.8. */
	STREAM_WINDOW_BR = 16,
	STREAM_WINDOW_ZSTD = 17,
	LEAST_WINDOW = 16
};

struct encoder {
	enum coding coding; /* of the body; NONE: there is none */
	z_stream gzip;
	int gzip_level;
	bool gzip_kept;	 /* the state is there, for that level */
	ZSTD_CCtx *zstd; /* NULL until it is needed */
	BrotliEncoderState *br;
};

struct encoder *
encoder_create(void)
{
	return calloc(1, sizeof(struct encoder));
}

void
encoder_destroy(struct encoder **pe)
{
	struct encoder *e = *pe;
	*pe = NULL;
	if (!e)
		return;
	encoder_end(e);
	if (e->gzip_kept)
		deflateEnd(&e->gzip);
	ZSTD_freeCCtx(e->zstd);
	free(e);
}

void
encoder_end(struct encoder *e)
{
	if (e->br)
		BrotliEncoderDestroyInstance(e->br);
	e->br = NULL;
	e->coding = CODING_NONE;
}

/* ---- a body begins --------------------------------------------------------------------------- */

static bool
begin_gzip(struct encoder *e, int level)
{
	if (e->gzip_kept && e->gzip_level == level)
		return deflateReset(&e->gzip) == Z_OK;
	if (e->gzip_kept)
		deflateEnd(&e->gzip);
	e->gzip = (z_stream){0};
	e->gzip_level = level;
	/* 15 + 16: the largest window, and gzip's head and end; 8: zlib's own choice of memory */
	e->gzip_kept =
		deflateInit2(&e->gzip, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	return e->gzip_kept;
}

/* As large as the body, so that who expands it needs no more memory than that. A window of br is 16 bytes
 * smaller than its power of two (RFC 7932 9.1). */
static uint32_t
window_log(size_t bytes)
{
	uint32_t log = LEAST_WINDOW;
	if (!bytes)
		return STREAM_WINDOW_BR;
	while (log < 22 && ((size_t)1 << log) - 16 < bytes)
		log++;
	return log;
}

static bool
begin_br(struct encoder *e, int level, size_t bytes)
{
	e->br = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	return e->br && BrotliEncoderSetParameter(e->br, BROTLI_PARAM_QUALITY, (uint32_t)level) &&
	       BrotliEncoderSetParameter(e->br, BROTLI_PARAM_LGWIN, window_log(bytes)) &&
	       BrotliEncoderSetParameter(e->br, BROTLI_PARAM_SIZE_HINT, (uint32_t)bytes);
}

static bool
set(ZSTD_CCtx *z, ZSTD_cParameter what, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(z, what, value));
}

static bool
begin_zstd(struct encoder *e, int level, size_t bytes)
{
	if (!e->zstd && !(e->zstd = ZSTD_createCCtx()))
		return false;
	if (ZSTD_isError(ZSTD_CCtx_reset(e->zstd, ZSTD_reset_session_and_parameters)) ||
	    !set(e->zstd, ZSTD_c_compressionLevel, level))
		return false;
	if (!bytes)
		return set(e->zstd, ZSTD_c_windowLog, STREAM_WINDOW_ZSTD);
	return !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(e->zstd, bytes));
}

bool
encoder_begin(struct encoder *e, enum coding c, int level, size_t bytes)
{
	assert(e->coding == CODING_NONE && bytes <= UINT32_MAX);
	e->coding = c;
	switch (c) {
	case CODING_GZIP:
		return begin_gzip(e, level);
	case CODING_BR:
		return begin_br(e, level, bytes);
	default:
		assert(c == CODING_ZSTD);
		return begin_zstd(e, level, bytes);
	}
}

/* ---- and goes on ------------------------------------------------------------------------------ */

/* Each step eats from *in and from *room what it can; OK: and all that the order asks for is done. FULL: not yet. */
struct room {
	char *p;
	size_t n;
};

static enum encoded
step_gzip(struct encoder *e, struct str *in, enum encoder_order order, struct room *room)
{
	static const int words[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
	z_stream *z = &e->gzip;
	uInt in_n = in->n < 1 << 30 ? (uInt)in->n : 1 << 30;
	z->next_in = (const Bytef *)in->p;
	z->avail_in = in_n;
	z->next_out = (Bytef *)room->p;
	z->avail_out = (uInt)room->n;
	int r = deflate(z, in_n == in->n ? words[order] : Z_NO_FLUSH);
	*in = str_from(*in, in_n - z->avail_in);
	room->n = z->avail_out;
	if (r == Z_STREAM_ERROR)
		return ENCODER_FAILED;
	bool over = order == ENCODER_END ? r == Z_STREAM_END : room->n > 0;
	return over && !in->n ? ENCODER_OK : ENCODER_FULL;
}

static enum encoded
step_br(struct encoder *e, struct str *in, enum encoder_order order, struct room *room)
{
	static const BrotliEncoderOperation words[] = {
		BROTLI_OPERATION_PROCESS, BROTLI_OPERATION_FLUSH, BROTLI_OPERATION_FINISH};
	const uint8_t *from = (const uint8_t *)in->p;
	uint8_t *to = (uint8_t *)room->p;
	size_t in_left = in->n;
	if (!BrotliEncoderCompressStream(e->br, words[order], &in_left, &from, &room->n, &to, NULL))
		return ENCODER_FAILED;
	*in = str_from(*in, in->n - in_left);
	bool over = !BrotliEncoderHasMoreOutput(e->br) &&
		    (order != ENCODER_END || BrotliEncoderIsFinished(e->br));
	return over && !in->n ? ENCODER_OK : ENCODER_FULL;
}

static enum encoded
step_zstd(struct encoder *e, struct str *in, enum encoder_order order, struct room *room)
{
	static const ZSTD_EndDirective words[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
	ZSTD_inBuffer from = {in->p, in->n, 0};
	ZSTD_outBuffer to = {room->p, room->n, 0};
	size_t left = ZSTD_compressStream2(e->zstd, &to, &from, words[order]);
	if (ZSTD_isError(left))
		return ENCODER_FAILED;
	*in = str_from(*in, from.pos);
	room->n -= to.pos;
	bool over = order == ENCODER_GO || left == 0;
	return over && !in->n ? ENCODER_OK : ENCODER_FULL;
}

static enum encoded
step(struct encoder *e, struct str *in, enum encoder_order order, struct room *room)
{
	switch (e->coding) {
	case CODING_GZIP:
		return step_gzip(e, in, order, room);
	case CODING_BR:
		return step_br(e, in, order, room);
	default:
		return step_zstd(e, in, order, room);
	}
}

enum encoded
encoder_take(struct encoder *e, struct str in, enum encoder_order order, struct buf *out,
	     size_t most)
{
	enum encoded r = ENCODER_FULL;
	assert(e->coding != CODING_NONE);
	while (r == ENCODER_FULL && out->n < most) {
		size_t n = most - out->n < ROOM ? most - out->n : ROOM;
		struct room room = {buf_room(out, n), n};
		r = step(e, &in, order, &room);
		buf_added(out, n - room.n);
	}
	return r;
}
