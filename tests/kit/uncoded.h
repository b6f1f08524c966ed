/* uncoded.h - pages, and what a client makes of coded bodies, whole or cut, by the libraries' own decoders. */
#ifndef KIT_UNCODED_H
#define KIT_UNCODED_H

#include "tests/kit/kit.h"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

enum { UNCODED_MOST = 16 << 20 };

/* n bytes that look like a page. */
static inline char *
uncoded_page(size_t n)
{
	char *p = malloc(n + 200);
	unsigned seed = 7;
	for (size_t at = 0; at < n;) {
		seed = seed * 1103515245 + 12345;
		at += (size_t)sprintf(p + at,
				      "<li class=\"entry\"><a href=\"/item/%u\">%x</a></li>\n",
				      seed >> 8, seed);
	}
	p[n] = '\0';
	return p;
}

static inline void
uncoded_expect_bytes(struct answer a, const char *p, size_t n)
{
	expect_status(a, 200);
	expect_that(a.body_bytes == n && memcmp(a.body, p, n) == 0,
		    "%zu bytes came instead of these %zu", a.body_bytes, n);
}

struct uncoded {
	char *p;
	size_t n;
	bool whole; /* its coding has come to its end */
};

static inline struct uncoded
uncoded_gzip(const char *p, size_t n)
{
	struct uncoded out = {.p = malloc(UNCODED_MOST)};
	z_stream z = {.next_in = (Bytef *)(uintptr_t)p,
		      .avail_in = (uInt)n,
		      .next_out = (Bytef *)out.p,
		      .avail_out = UNCODED_MOST};
	expect(inflateInit2(&z, 15 + 16) == Z_OK);
	int r = inflate(&z, Z_SYNC_FLUSH);
	expect(r == Z_OK || r == Z_BUF_ERROR || r == Z_STREAM_END);
	out.n = z.total_out;
	out.whole = r == Z_STREAM_END && !z.avail_in;
	inflateEnd(&z);
	return out;
}

static inline struct uncoded
uncoded_br(const char *p, size_t n)
{
	struct uncoded out = {.p = malloc(UNCODED_MOST)};
	const uint8_t *in = (const uint8_t *)p;
	uint8_t *to = (uint8_t *)out.p;
	size_t room = UNCODED_MOST;
	BrotliDecoderState *s = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	BrotliDecoderResult r = BrotliDecoderDecompressStream(s, &n, &in, &room, &to, &out.n);
	expect(r == BROTLI_DECODER_RESULT_SUCCESS || r == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT);
	out.whole = r == BROTLI_DECODER_RESULT_SUCCESS && !n;
	BrotliDecoderDestroyInstance(s);
	return out;
}

static inline struct uncoded
uncoded_zstd(const char *p, size_t n)
{
	struct uncoded out = {.p = malloc(UNCODED_MOST)};
	ZSTD_inBuffer in = {p, n, 0};
	ZSTD_outBuffer to = {out.p, UNCODED_MOST, 0};
	ZSTD_DStream *z = ZSTD_createDStream();
	size_t r = ZSTD_decompressStream(z, &to, &in);
	expect(!ZSTD_isError(r));
	out.n = to.pos;
	out.whole = r == 0 && in.pos == n;
	ZSTD_freeDStream(z);
	return out;
}

static inline struct uncoded
uncoded(const char *coding, const char *p, size_t n)
{
	return strcmp(coding, "br") == 0     ? uncoded_br(p, n)
	       : strcmp(coding, "gzip") == 0 ? uncoded_gzip(p, n)
					     : uncoded_zstd(p, n);
}

static inline void
uncoded_expect_plain(struct answer a, const char *p, size_t n)
{
	expect_status(a, 200);
	expect_no_field(a, "Content-Encoding");
	expect_that(!a.cut && a.body_bytes == n && memcmp(a.body, p, n) == 0,
		    "%zu bytes came instead of these %zu", a.body_bytes, n);
}

static inline void
uncoded_expect(struct answer a, const char *coding, const char *p, size_t n)
{
	expect_status(a, 200);
	expect_field(a, "Content-Encoding", coding);
	struct uncoded out = uncoded(coding, a.body, a.body_bytes);
	expect(!a.cut && out.whole);
	expect_that(out.n == n && memcmp(out.p, p, n) == 0, "%zu bytes instead of these %zu", out.n,
		    n);
	free(out.p);
}

/* The same with the fields that it must have then. */
static inline void
uncoded_expect_streamed(struct answer a, const char *coding, const char *p, size_t n)
{
	uncoded_expect(a, coding, p, n);
	expect(a.body_bytes < n / 2);
	expect_field(a, "Vary", "Accept-Encoding");
	expect_no_field(a, "Content-Length");
	expect_no_field(a, "Accept-Ranges");
	expect_no_field(a, "Content-MD5");
	expect_no_field(a, "Repr-Digest");
}

#endif
