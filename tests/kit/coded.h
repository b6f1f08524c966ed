/* coded.h - bodies for tests and benches of codings: random ones of many kinds, and the libraries' own
 * encoders, which know nothing of the proxy's.
 */
#ifndef KIT_CODED_H
#define KIT_CODED_H

#include "proxy/base/buf.h"
#include "proxy/http/coding.h"

#include <brotli/encode.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static const enum coding coded_all[] = {CODING_GZIP, CODING_BR, CODING_ZSTD};

/* ---- numbers that a seed repeats (splitmix64) ------------------------------------------------ */

static inline uint64_t
coded_next(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline size_t
coded_below(uint64_t *seed, size_t n)
{
	return (size_t)(coded_next(seed) % n);
}

/* ---- bodies ------------------------------------------------------------------------------------ */

static inline void
coded_words(struct buf *b, uint64_t *seed, unsigned n)
{
	static const char parts[][5] = {"ka",  "ro", "shi", "te", "mun", "la",
					"ver", "o",  "ti",  "en", "sa",	 "qui"};
	for (unsigned i = 0; i < n; i++) {
		/* few words are most of a text */
		uint64_t word = coded_below(seed, 1 + coded_below(seed, 1500));
		for (unsigned k = 0; k < 2 + word % 3; k++)
			buf_add_str(b, str_of(parts[(word * 7919 >> (3 * k)) % 12]));
		buf_add_lit(b, " ");
	}
}

/* At least n bytes that look like a page: tags with classes and numbers around words. */
static inline void
coded_html(struct buf *b, uint64_t *seed, size_t n)
{
	buf_add_lit(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
	while (b->n < n) {
		unsigned id = (unsigned)coded_below(seed, 100000),
			 kind = (unsigned)coded_below(seed, 40);
		buf_printf(
			b,
			"<div class=\"item item--%u col-%u\" data-id=\"%u\"><a href=\"/articles/%u/%u.html\" "
			"class=\"link\">",
			kind, id % 12, id, id / 7, id % 977);
		coded_words(b, seed, 4);
		buf_add_lit(b, "</a>\n  <p>");
		coded_words(b, seed, 10 + kind);
		buf_printf(
			b,
			"</p><img src=\"/img/%08llx.jpg\" width=\"%u\" height=\"%u\" alt=\"\"></div>\n",
			(unsigned long long)(coded_next(seed) & 0xffffffff), 100 + kind * 10,
			80 + kind * 5);
	}
	buf_add_lit(b, "</body></html>\n");
}

/* At least n bytes that look like an answer of an API. */
static inline void
coded_json(struct buf *b, uint64_t *seed, size_t n)
{
	buf_add_lit(b, "{\"items\":[");
	while (b->n < n) {
		unsigned id = (unsigned)coded_below(seed, 10000000);
		buf_printf(
			b,
			"{\"id\":%u,\"uuid\":\"%016llx\",\"price\":%u.%02u,\"in_stock\":%s,\"tags\":[\"t%u\",\"t%u\"],"
			"\"name\":\"",
			id, (unsigned long long)coded_next(seed), id % 500, id % 100,
			id % 3 ? "true" : "false", id % 40, id % 13);
		coded_words(b, seed, 3);
		buf_printf(b, "\",\"updated_at\":\"2026-%02u-%02uT%02u:%02u:00Z\"},\n", 1 + id % 12,
			   1 + id % 28, id % 24, id % 60);
	}
	buf_add_lit(b, "null]}\n");
}

static inline void
coded_random(struct buf *b, uint64_t *seed, size_t n)
{
	for (; n; n--) {
		char c = (char)coded_next(seed);
		buf_add(b, &c, 1);
	}
}

/* A body of up to most bytes: a page, JSON, random bytes, runs of one byte, or some of each. */
static inline void
coded_body(struct buf *b, uint64_t *seed, size_t most)
{
	size_t n = coded_below(seed, 1 + coded_below(seed, 1 + most));
	while (b->n < n) {
		size_t to = b->n + coded_below(seed, 1 + n - b->n) + 1;
		switch (coded_below(seed, 4)) {
		case 0:
			coded_html(b, seed, to);
			break;
		case 1:
			coded_json(b, seed, to);
			break;
		case 2:
			coded_random(b, seed, to - b->n);
			break;
		default:
			memset(buf_room(b, to - b->n), (int)coded_below(seed, 256), to - b->n);
			b->n = to;
		}
	}
	b->n = n;
}

/* ---- the libraries' encoders ------------------------------------------------------------------ */

static inline void
coded_gzip(struct str s, int level, gz_header *head, struct buf *out)
{
	z_stream z = {0};
	if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
	    (head && deflateSetHeader(&z, head) != Z_OK))
		abort();
	char none = 0;
	Bytef *from = NULL;
	memcpy(&from, s.n ? &s.p : &(const char *){&none}, sizeof from);
	size_t most =
		deflateBound(&z, s.n) + (head && head->name ? strlen((char *)head->name) : 0) + 64;
	z.next_in = from;
	z.avail_in = (uInt)s.n;
	z.next_out = (Bytef *)buf_room(out, most);
	z.avail_out = (uInt)most;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	buf_added(out, most - z.avail_out);
	deflateEnd(&z);
}

static inline void
coded_br(struct str s, int quality, int window_log, struct buf *out)
{
	size_t n = s.n + (s.n >> 3) + 1024;
	if (!BrotliEncoderCompress(quality, window_log, BROTLI_MODE_GENERIC, s.n,
				   (const uint8_t *)s.p, &n, (uint8_t *)buf_room(out, n)))
		abort();
	buf_added(out, n);
}

/* window_log 0: the library's choice. */
static inline void
coded_zstd(struct str s, int level, int window_log, bool checksum, struct buf *out)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t most = ZSTD_compressBound(s.n);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum);
	size_t n = ZSTD_compress2(c, buf_room(out, most), most, s.p, s.n);
	if (ZSTD_isError(n))
		abort();
	buf_added(out, n);
	ZSTD_freeCCtx(c);
}

/* Appends s in that coding, quickly. */
static inline void
coded_as(enum coding c, struct str s, struct buf *out)
{
	switch (c) {
	case CODING_GZIP:
		coded_gzip(s, 1, NULL, out);
		break;
	case CODING_BR:
		coded_br(s, 2, 20, out);
		break;
	default:
		coded_zstd(s, 1, 0, s.n % 2, out);
	}
}

static inline void
coded_base64(struct buf *b, uint64_t *seed, size_t n)
{
	for (; n; n--)
		buf_add(b,
			&"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
				[coded_below(seed, 64)],
			1);
}

#endif
