/* pack.h - a body becomes a coded one: br, zstd or gzip; whole bodies, and streams.
 *
 * A packed body is to be smaller by at least a sixteenth. Whoever cannot take it costs an expansion, it
 * has a weak tag and no ranges for many, and the disk's records and reads count in units of kilobytes: a
 * few per cent pay for none of it. Bodies of the usual types are far from that line on both sides: text
 * shrinks to 20 to 40%, base64 to 75%, and bytes that are coded already, or random, not at all
 * (bench/results/coding.txt).
 *
 * Giving up is early. Brotli takes all of a body before it gives anything, at 400 MB/s where nothing can
 * be found, and zlib works at 57; libzstd finds that out at over 2 GB/s (the libraries alone, with 1 MiB of
 * random bytes). Of a body over 64 KiB it tries three samples first. A smaller one is packed until it comes to
 * 15/16 of its size.
 *
 * Memory    a struct pack keeps libzstd's encoder and zlib's for the next body (2.6 and 0.3 MiB, as soon as they
 *           were needed). Of brotli a body of 1 MiB at quality 5 takes 10 MiB while it is packed, one of 128 KiB
 *           2.7, one of 16 KiB 0.8. A stream takes 1.8 MiB of brotli, 1.7 of libzstd, 0.3 of zlib. The check takes
 *           what expand.h says of a window no larger than the body.
 * Cost      of pages and JSON of 16 KiB and more br 5 packs and checks 43 to 84 MB/s, zstd 3 223 to 292, gzip 6 22 to 111
 *           (bench/results/coding.txt).
 * Threads   a struct pack belongs to one thread at a time, and has one body at a time.
 */
#ifndef CODING_PACK_H
#define CODING_PACK_H

#include "proxy/base/buf.h"
#include "proxy/coding/pieces.h"
#include "proxy/http/coding.h"

enum { PACK_BR_LEVEL = 5, PACK_ZSTD_LEVEL = 3, PACK_GZIP_LEVEL = 6, PACK_BYTES_MOST = 1 << 20 };

/* clang-format off */
enum packing {
#define PACKING(name, word, meaning) PACK_##name,
#include "proxy/coding/packings.h"
#undef PACKING
	PACKINGS
};
/* clang-format on */
const char *pack_word(enum packing p);

struct pack_as {
	enum coding coding; /* GZIP, BR or ZSTD */
	int level;	    /* as the library counts */
};

struct pack;
struct pack *pack_create(void); /* NULL: there is no memory */
void pack_destroy(struct pack **p);

/* Appends in, packed, to out. DONE: and expanded again that is in byte for byte; else out is as it was. */
enum packing
pack_and_check(struct pack *p, struct pack_as as, const struct pieces *in, struct buf *out);

/* A stream, of any length: begin, add and flush as often as wanted, and either end or abandon. Each appends to
 * out what there is; after flush and end that is all of it. False: there is no memory, and it is to be abandoned.
 * A flush costs a few bytes, of a body that is small then much of what was won. */
bool pack_begin(struct pack *p, struct pack_as as);
bool pack_add(struct pack *p, struct str in, struct buf *out);
bool pack_flush(struct pack *p, struct buf *out);
bool pack_end(struct pack *p, struct buf *out);
void pack_abandon(struct pack *p);

#endif
