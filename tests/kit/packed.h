/* packed.h - bodies as origins send them in a coding, by the libraries' own encoders. */
#ifndef KIT_PACKED_H
#define KIT_PACKED_H

#include "tests/kit/kit.h"

#include <brotli/encode.h>
#include <zlib.h>

struct packed {
	char *p;
	size_t n;
};

static inline struct packed
packed_gzip(const char *p, size_t n)
{
	struct packed out = {malloc(n + 4096), 0};
	z_stream z = {.next_in = (Bytef *)(uintptr_t)p,
		      .avail_in = (uInt)n,
		      .next_out = (Bytef *)out.p,
		      .avail_out = (uInt)(n + 4096)};
	expect(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	expect(deflate(&z, Z_FINISH) == Z_STREAM_END);
	out.n = z.total_out;
	deflateEnd(&z);
	return out;
}

static inline struct packed
packed_br(const char *p, size_t n)
{
	struct packed out = {malloc(n + 4096), n + 4096};
	expect(BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, n, (const uint8_t *)p, &out.n,
				     (uint8_t *)out.p));
	return out;
}

#endif
