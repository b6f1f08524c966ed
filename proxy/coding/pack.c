/* pack.c - which bodies are worth it, and whether the result is the body. */
#include "proxy/coding/pack.h"

#include "proxy/coding/encoder.h"
#include "proxy/coding/expand.h"

#include <stdlib.h>

enum { SAMPLE_BYTES = 16 << 10, SAMPLES = 3, SAMPLED_FROM = 64 << 10, CHECK_BYTES = 64 << 10 };

struct pack {
	struct encoder *encoder;
	struct buf sample;	    /* packed, and forgotten */
	char expanded[CHECK_BYTES]; /* of what is checked */
};

const char *
pack_word(enum packing p)
{
	static const char *const words[PACKINGS] = {
#define PACKING(name, word, meaning) word,
#include "proxy/coding/packings.h"
#undef PACKING
	};
	return words[p];
}

struct pack *
pack_create(void)
{
	struct pack *p = calloc(1, sizeof *p);
	if (p && !(p->encoder = encoder_create()))
		pack_destroy(&p);
	return p;
}

void
pack_destroy(struct pack **pp)
{
	struct pack *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	encoder_destroy(&p->encoder);
	buf_fini(&p->sample);
	free(p);
}

/* ---- whole bodies ---------------------------------------------------------------------------- */

/* Bytes that a body of n may have, packed. */
static size_t
small_enough(size_t n)
{
	return n - (n + 15) / 16;
}

/* A body's bytes [at, at + n), as pieces to feed. Only the range's part of each piece. */
static struct str
part_of(struct str piece, size_t piece_at, size_t at, size_t n)
{
	size_t from = at > piece_at ? at - piece_at : 0;
	struct str s = str_from(piece, from);
	size_t end = at + n > piece_at + from ? at + n - piece_at - from : 0;
	return s.n > end ? (struct str){s.p, end} : s;
}

/* Bytes [at, at + n) of in, packed to most bytes. */
static enum encoded
encode(struct encoder *e, struct pack_as as, const struct pieces *in, size_t at, size_t n,
       struct buf *out, size_t most)
{
	enum encoded r = encoder_begin(e, as.coding, as.level, n) ? ENCODER_OK : ENCODER_FAILED;
	size_t piece_at = 0;
	for (size_t i = 0; i < in->n && r == ENCODER_OK; i++) {
		struct str s = part_of(in->at[i], piece_at, at, n);
		if (s.n)
			r = encoder_take(e, s, ENCODER_GO, out, most);
		piece_at += in->at[i].n;
	}
	if (r == ENCODER_OK)
		r = encoder_take(e, (struct str){NULL, 0}, ENCODER_END, out, most);
	encoder_end(e);
	return r;
}

/* Three samples: its beginning, which often is a head unlike the rest, its middle and its end. */
static enum packing
try_samples(struct pack *p, const struct pieces *in, size_t n)
{
	static const struct pack_as quickly = {CODING_ZSTD, 1};
	p->sample.n = 0;
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t at = i * (n - SAMPLE_BYTES) / (SAMPLES - 1);
		if (encode(p->encoder, quickly, in, at, SAMPLE_BYTES, &p->sample, SIZE_MAX) !=
		    ENCODER_OK)
			return PACK_NO_MEMORY;
	}
	return p->sample.n <= small_enough(SAMPLES * SAMPLE_BYTES) ? PACK_DONE : PACK_NOT_SMALLER;
}

static enum packing
pack_whole(struct pack *p, struct pack_as as, const struct pieces *in, struct buf *out)
{
	size_t n = pieces_bytes(in), from = out->n;
	if (n > PACK_BYTES_MOST)
		return PACK_TOO_LARGE;
	enum packing sampled = n == 0		  ? PACK_NOT_SMALLER
			       : n > SAMPLED_FROM ? try_samples(p, in, n)
						  : PACK_DONE;
	if (sampled != PACK_DONE)
		return sampled;
	enum encoded r = encode(p->encoder, as, in, 0, n, out, from + small_enough(n));
	if (r == ENCODER_OK)
		return PACK_DONE;
	out->n = from;
	return r == ENCODER_FULL ? PACK_NOT_SMALLER : PACK_NO_MEMORY;
}

/* ---- the check ------------------------------------------------------------------------------- */

/* The bytes of the body that have not been compared. */
struct rest {
	struct pieces in;
	size_t at; /* of the first piece */
};

static bool
goes_on_with(struct rest *r, const char *p, size_t n)
{
	while (n) {
		while (r->in.n && r->at == r->in.at->n) {
			r->in.at++;
			r->in.n--;
			r->at = 0;
		}
		if (!r->in.n)
			return false;
		size_t some = r->in.at->n - r->at;
		if (some > n)
			some = n;
		if (memcmp(r->in.at->p + r->at, p, some) != 0)
			return false;
		r->at += some;
		p += some;
		n -= some;
	}
	return true;
}

static enum packing
check(struct pack *p, enum coding c, struct str packed, const struct pieces *in)
{
	/* As large as the body; its ratio is not judged: it is ours. */
	const struct expand_limits l = {pieces_bytes(in), EXPAND_ANY_RATIO};
	struct expander *x = expand_create(c, &l);
	struct rest rest = {*in, 0};
	uint64_t made_all = 0;
	enum expansion e;
	size_t made;
	bool same = true;

	if (!x)
		return PACK_NO_MEMORY;
	do {
		e = expand_feed(x, &packed, p->expanded, CHECK_BYTES, &made);
		same = goes_on_with(&rest, p->expanded, made);
		made_all += made;
	} while (e == EXPAND_FULL && same);
	if (e == EXPAND_MORE)
		e = expand_end(x);
	expand_destroy(&x);
	if (e == EXPAND_NO_MEMORY)
		return PACK_NO_MEMORY;
	return same && e == EXPAND_DONE && made_all == l.most ? PACK_DONE : PACK_DIFFERS;
}

enum packing
pack_and_check(struct pack *p, struct pack_as as, const struct pieces *in, struct buf *out)
{
	size_t from = out->n;
	enum packing r = pack_whole(p, as, in, out);
	if (r == PACK_DONE)
		r = check(p, as.coding, str_from(buf_str(out), from), in);
	if (r != PACK_DONE)
		out->n = from;
	return r;
}

/* ---- streams --------------------------------------------------------------------------------- */

bool
pack_begin(struct pack *p, struct pack_as as)
{
	return encoder_begin(p->encoder, as.coding, as.level, 0);
}

bool
pack_add(struct pack *p, struct str in, struct buf *out)
{
	return encoder_take(p->encoder, in, ENCODER_GO, out, SIZE_MAX) == ENCODER_OK;
}

bool
pack_flush(struct pack *p, struct buf *out)
{
	return encoder_take(p->encoder, (struct str){NULL, 0}, ENCODER_FLUSH, out, SIZE_MAX) ==
	       ENCODER_OK;
}

bool
pack_end(struct pack *p, struct buf *out)
{
	bool ok = encoder_take(p->encoder, (struct str){NULL, 0}, ENCODER_END, out, SIZE_MAX) ==
		  ENCODER_OK;
	if (ok)
		encoder_end(p->encoder);
	return ok;
}

void
pack_abandon(struct pack *p)
{
	encoder_end(p->encoder);
}
