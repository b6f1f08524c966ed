/* expand.c - one machine around three decoders: where a member begins and ends, and how much may come of it. */
#define ZLIB_CONST /* what zlib reads it does not change */
#include "proxy/coding/expand.h"

#include <assert.h>
#include <brotli/decode.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { MAGIC_BYTES = 4, HEAD_BYTES = 18, PURSE_BYTES = 16 << 20, WINDOW_LOG = 23 };
_Static_assert(1 << WINDOW_LOG == EXPAND_WINDOW_BYTES, "the window that zstd and br may have");

/* brotli's memory: a stream says how large its window is, and its tables are. */
struct purse {
	size_t held;
	bool refused; /* it would have been more than PURSE_BYTES */
};

/* One member of gzip, one frame of zstd, the stream of br. */
enum place {
	BEFORE, /* its first bytes are not all here */
	WITHIN,
	BEHIND /* nothing may follow */
};

struct expander {
	enum coding coding;
	enum place place;
	enum expansion fault; /* MORE: none */
	struct expand_limits limits;
	uint64_t taken, made;
	bool began;	 /* the first member did */
	bool hungry;	 /* all that came is expanded */
	unsigned head_n; /* of this member's first bytes; of br, of the stream's */
	unsigned char head[HEAD_BYTES];
	struct purse purse;
	z_stream gzip;
	BrotliDecoderState *br;
	ZSTD_DCtx *zstd;
};

const char *
expand_word(enum expansion e)
{
	static const char *const words[EXPANSIONS] = {
#define EXPANSION(name, word, meaning) word,
#include "proxy/coding/expansions.h"
#undef EXPANSION
	};
	return words[e];
}

/* ---- the decoders ---------------------------------------------------------------------------- */

/* Each takes from *in and puts into *room, and says with DONE that a member has ended, with MORE that it
 * goes on, or the fault. */
struct room {
	char *p;
	size_t n;
};

static void
advance(struct str *in, size_t in_left, struct room *room, size_t room_left)
{
	*in = str_from(*in, in->n - in_left);
	room->p += room->n - room_left;
	room->n = room_left;
}

/* zlib's lengths are of 32 bits. */
static uInt
at_once(size_t n)
{
	return n < 1 << 30 ? (uInt)n : 1 << 30;
}

static enum expansion
step_gzip(struct expander *x, struct str *in, struct room *room)
{
	z_stream *z = &x->gzip;
	uInt in_n = at_once(in->n), room_n = at_once(room->n);
	z->next_in = (const Bytef *)in->p;
	z->avail_in = in_n;
	z->next_out = (Bytef *)room->p;
	z->avail_out = room_n;
	int r = inflate(z, Z_NO_FLUSH);
	advance(in, in->n - in_n + z->avail_in, room, room->n - room_n + z->avail_out);
	if (r == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? EXPAND_DONE : EXPAND_CORRUPT;
	if (r == Z_OK || r == Z_BUF_ERROR)
		return EXPAND_MORE;
	return r == Z_MEM_ERROR ? EXPAND_NO_MEMORY : EXPAND_CORRUPT;
}

static bool
is_out_of_memory(BrotliDecoderErrorCode e)
{
	return e <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
	       e >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
}

static enum expansion
step_br(struct expander *x, struct str *in, struct room *room)
{
	size_t in_left = in->n, room_left = room->n;
	const uint8_t *from = (const uint8_t *)in->p;
	uint8_t *to = (uint8_t *)room->p;
	BrotliDecoderResult r =
		BrotliDecoderDecompressStream(x->br, &in_left, &from, &room_left, &to, NULL);
	advance(in, in_left, room, room_left);
	if (r == BROTLI_DECODER_RESULT_SUCCESS)
		return EXPAND_DONE;
	if (r != BROTLI_DECODER_RESULT_ERROR)
		return EXPAND_MORE;
	if (!is_out_of_memory(BrotliDecoderGetErrorCode(x->br)))
		return EXPAND_CORRUPT;
	return x->purse.refused ? EXPAND_TOO_LARGE : EXPAND_NO_MEMORY;
}

static enum expansion
step_zstd(struct expander *x, struct str *in, struct room *room)
{
	ZSTD_inBuffer from = {in->p, in->n, 0};
	ZSTD_outBuffer to = {room->p, room->n, 0};
	size_t r = ZSTD_decompressStream(x->zstd, &to, &from);
	advance(in, in->n - from.pos, room, room->n - to.pos);
	if (!ZSTD_isError(r))
		return r == 0 ? EXPAND_DONE : EXPAND_MORE;
	switch (ZSTD_getErrorCode(r)) {
	case ZSTD_error_frameParameter_windowTooLarge:
		return EXPAND_TOO_LARGE;
	case ZSTD_error_memory_allocation:
		return EXPAND_NO_MEMORY;
	default:
		return EXPAND_CORRUPT;
	}
}

static enum expansion
step(struct expander *x, struct str *in, struct room *room)
{
	switch (x->coding) {
	case CODING_GZIP:
		return step_gzip(x, in, room);
	case CODING_BR:
		return step_br(x, in, room);
	default:
		return step_zstd(x, in, room);
	}
}

/* ---- their memory ---------------------------------------------------------------------------- */

union header { /* in front of what brotli gets: its size */
	size_t bytes;
	_Alignas(max_align_t) char aligned;
};

static void *
purse_alloc(void *opaque, size_t n)
{
	struct purse *p = opaque;
	if (n > PURSE_BYTES - p->held) {
		p->refused = true;
		return NULL;
	}
	union header *h = malloc(sizeof *h + n);
	if (!h)
		return NULL;
	h->bytes = n;
	p->held += n;
	return h + 1;
}

static void
purse_free(void *opaque, void *at)
{
	struct purse *p = opaque;
	if (!at)
		return;
	union header *h = (union header *)at - 1;
	p->held -= h->bytes;
	free(h);
}

static bool
begin(struct expander *x)
{
	switch (x->coding) {
	case CODING_GZIP:
		return inflateInit2(&x->gzip, 15 + 16) == Z_OK; /* + 16: gzip alone, not zlib */
	case CODING_BR:
		return (x->br = BrotliDecoderCreateInstance(purse_alloc, purse_free, &x->purse));
	default:
		return (x->zstd = ZSTD_createDCtx()) &&
		       !ZSTD_isError(
			       ZSTD_DCtx_setParameter(x->zstd, ZSTD_d_windowLogMax, WINDOW_LOG));
	}
}

struct expander *
expand_create(enum coding c, const struct expand_limits *limits)
{
	assert(c == CODING_GZIP || c == CODING_BR || c == CODING_ZSTD);
	struct expander *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->coding = c;
	x->limits = *limits;
	x->place = c == CODING_BR ? WITHIN : BEFORE;
	x->hungry = true;
	if (!begin(x))
		expand_destroy(&x);
	return x;
}

void
expand_destroy(struct expander **px)
{
	struct expander *x = *px;
	*px = NULL;
	if (!x)
		return;
	if (x->coding == CODING_GZIP)
		inflateEnd(&x->gzip);
	if (x->br)
		BrotliDecoderDestroyInstance(x->br);
	ZSTD_freeDCtx(x->zstd);
	free(x);
}

/* ---- where members begin --------------------------------------------------------------------- */

static bool
begins_as_gzip(const unsigned char *p, unsigned n)
{
	return p[0] == 0x1f && (n < 2 || p[1] == 0x8b);
}

/* A frame (RFC 8878 3.1.1), or one that is skipped (3.1.2). Debian's libzstd also reads what its first
 * versions wrote, which is no content coding: their frames begin otherwise. */
static bool
begins_as_zstd(const unsigned char *p, unsigned n)
{
	static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd},
				   skip[] = {0x50, 0x2a, 0x4d, 0x18};
	return memcmp(p, frame, n) == 0 ||
	       ((p[0] & 0xf0) == skip[0] && memcmp(p + 1, skip + 1, n - 1) == 0);
}

/* Bytes that must be here before a decoder gets any. Of zstd it is the whole header of the frame
 * (RFC 8878 3.1.1.1, 3.1.2), and nothing else in the same call: where a call begins within a header,
 * libzstd 1.5 takes the rest of it for a frame, if it looks like one; and where a call has the whole
 * frame, it does not look at the window. */
static unsigned
head_wanted(const struct expander *x)
{
	static const unsigned char id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
	if (x->coding == CODING_GZIP)
		return 2;
	if (x->head_n <= MAGIC_BYTES)
		return MAGIC_BYTES + 1;
	if (x->head[0] != 0x28)
		return MAGIC_BYTES + 4;
	unsigned char is = x->head[MAGIC_BYTES];
	bool single = is & 0x20;
	unsigned size = size_bytes[is >> 6];
	return MAGIC_BYTES + 1 + !single + id_bytes[is & 3] + (single && size == 0 ? 1 : size);
}

static bool
begins_right(const struct expander *x)
{
	unsigned n = x->head_n < MAGIC_BYTES ? x->head_n : MAGIC_BYTES;
	return x->coding == CODING_GZIP ? begins_as_gzip(x->head, n) : begins_as_zstd(x->head, n);
}

/* Takes the first bytes of a member, and begins it when they are all here. MORE: they are not. FULL: it
 * has begun. DONE: it is a frame of nothing. */
static enum expansion
read_head(struct expander *x, struct str *in)
{
	while (x->head_n < head_wanted(x)) {
		if (!in->n)
			return EXPAND_MORE;
		x->head[x->head_n++] = (unsigned char)in->p[0];
		*in = str_from(*in, 1);
		x->taken++;
		if (!begins_right(x))
			return x->began ? EXPAND_TRAILING : EXPAND_WRONG_CODING;
	}
	char none;
	struct str head = {(const char *)x->head, x->head_n};
	struct room room = {&none, 1};
	enum expansion e = step(x, &head, &room);
	assert(expand_is_fault(e) || (head.n == 0 && room.n == 1));
	x->place = WITHIN;
	x->began = true;
	x->head_n = 0;
	return e == EXPAND_MORE ? EXPAND_FULL : e;
}

/* br has no such bytes: its first ones are kept, to tell a wrong label from a stream that is broken. */
static void
keep_first(struct expander *x, struct str in)
{
	while (x->head_n < MAGIC_BYTES && in.n) {
		x->head[x->head_n++] = (unsigned char)in.p[0];
		in = str_from(in, 1);
	}
}

static enum expansion
fault_of_br(const struct expander *x, enum expansion fault)
{
	bool other = x->head_n == MAGIC_BYTES &&
		     (begins_as_gzip(x->head, MAGIC_BYTES) || begins_as_zstd(x->head, MAGIC_BYTES));
	return other && (fault == EXPAND_CORRUPT || fault == EXPAND_CUT) ? EXPAND_WRONG_CODING
									 : fault;
}

/* ---- how much --------------------------------------------------------------------------------- */

/* Bytes that may still be made, of a body of which so many came. */
static uint64_t
allowance(const struct expander *x, uint64_t came)
{
	uint64_t judged = x->limits.comes ? x->limits.comes : came;
	uint64_t most =
		judged > UINT64_MAX / EXPAND_RATIO_MOST ? UINT64_MAX : judged * EXPAND_RATIO_MOST;
	if (most < EXPAND_FREE_BYTES)
		most = EXPAND_FREE_BYTES;
	if (most > x->limits.most)
		most = x->limits.most;
	return most - (x->made < most ? x->made : most);
}

static enum expansion
fault_of_size(const struct expander *x)
{
	return x->made >= x->limits.most ? EXPAND_TOO_LARGE : EXPAND_BOMB;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* A member goes on: fills the room, or what may still be made; where nothing may, one byte is too many.
 * MORE: all came, FULL: of room or allowance, DONE: the member ended; or a fault. */
static enum expansion
go_on(struct expander *x, struct str *in, struct room *room, uint64_t allowed)
{
	char beyond;
	struct room some = {room->p, room->n < allowed ? room->n : (size_t)allowed};
	if (allowed == 0)
		some = (struct room){&beyond, 1};
	size_t before_in = in->n, before = some.n;
	enum expansion e = step(x, in, &some);
	size_t made = before - some.n;

	x->taken += before_in - in->n;
	if (allowed == 0 && made)
		return fault_of_size(x);
	if (allowed > 0) {
		x->made += made;
		room->p += made;
		room->n -= made;
	}
	if (e != EXPAND_MORE)
		return e;
	if (some.n == 0)
		return EXPAND_FULL;
	if (in->n && in->n == before_in && !made)
		return EXPAND_CORRUPT; /* a decoder that stands still */
	return EXPAND_MORE;
}

/* One step of any place. MORE: *in is empty, and all is made; FULL: go on, if there is room. */
static enum expansion
turn(struct expander *x, struct str *in, struct room *room, uint64_t came)
{
	enum expansion e;
	if (x->place == BEHIND)
		return in->n ? EXPAND_TRAILING : EXPAND_MORE;
	if (x->place == BEFORE)
		e = read_head(x, in);
	else
		e = go_on(x, in, room, allowance(x, came));
	if (e == EXPAND_DONE) {
		x->place = x->coding == CODING_BR ? BEHIND : BEFORE;
		return EXPAND_FULL;
	}
	return e == EXPAND_MORE && in->n ? EXPAND_FULL : e;
}

enum expansion
expand_feed(struct expander *x, struct str *in, char *to, size_t room, size_t *made)
{
	assert(room > 0);
	struct room left = {to, room};
	uint64_t came = x->taken + in->n;
	enum expansion e = x->fault;

	if (x->coding == CODING_BR && x->taken < MAGIC_BYTES)
		keep_first(x, str_from(*in, x->head_n - (size_t)x->taken));
	if (e == EXPAND_MORE && (in->n || !x->hungry))
		do
			e = turn(x, in, &left, came);
		while (e == EXPAND_FULL && left.n);
	x->hungry = e == EXPAND_MORE;
	if (expand_is_fault(e))
		x->fault = e = x->coding == CODING_BR ? fault_of_br(x, e) : e;
	*made = room - left.n;
	return e;
}

enum expansion
expand_end(struct expander *x)
{
	if (x->fault != EXPAND_MORE)
		return x->fault;
	if (x->place == BEHIND || (x->place == BEFORE && x->began && x->head_n == 0))
		return EXPAND_DONE;
	if (x->place == BEFORE && x->began)
		x->fault = EXPAND_TRAILING; /* bytes that could have begun a member */
	else
		x->fault = x->coding == CODING_BR ? fault_of_br(x, EXPAND_CUT) : EXPAND_CUT;
	return x->fault;
}
