/* expand.h - a coded body becomes its bytes again: gzip (RFC 1952, members one behind the other too),
 * br (RFC 7932), zstd (RFC 8878 with the window of RFC 9659: frames, and frames that are skipped).
 *
 * Whoever sends the body may be an enemy. All bytes must belong to the coding, so that our clients and
 * those that expand for themselves cannot see two bodies; checksums are compared; and the size and the
 * ratio are bounded.
 *
 * Memory    bounded, whatever comes. gzip: 48 KiB. zstd: 0.2 MiB and the window that its frame says, of
 *           8 MiB at most. br: at most 16 MiB, because the window, of 8 MiB at most, is copied when it
 *           grows; it is only as large as the bytes that a part of the stream says to make. The system gives
 *           pages of a window when bytes come into them: an expander has at most what it made, twice
 *           while a window grows, and 0.5 MiB.
 * Cost      linear in the bytes that come and those that are made: 0.5 to 2 GB/s are made of pages
 *           (bench/coding.c). Of a body that is made for it nothing comes but work: tables for no bytes take zlib and
 *           brotli 72 and 48 ns for each coded byte, empty frames libzstd 27 (14 to 37 MB/s). So on a thread
 *           that others wait for, coded bytes are to be bounded like those that are made: 64 KiB are 5 ms.
 * Threads   an expander belongs to one thread at a time.
 */
#ifndef CODING_EXPAND_H
#define CODING_EXPAND_H

#include "proxy/base/str.h"
#include "proxy/http/coding.h"

#include <stdint.h>

/* clang-format off */
enum expansion {
#define EXPANSION(name, word, meaning) EXPAND_##name,
#include "proxy/coding/expansions.h"
#undef EXPANSION
	EXPANSIONS
};
/* clang-format on */

enum {
	EXPAND_RATIO_MOST = 20,
	EXPAND_FREE_BYTES =
		64 << 10, /* from these on the ratio counts: a small file of zeros is no bomb */
	EXPAND_WINDOW_BYTES = 8 << 20
};

static inline bool
expand_is_fault(enum expansion e)
{
	return e >= EXPAND_BOMB;
}
const char *expand_word(enum expansion e);

struct expand_limits {
	uint64_t most; /* bytes that may be made */
	/* Coded bytes in all, by which the ratio is judged. 0: not known; it is judged by those that came so
	 * far then, so that a body of which the beginning alone is very dense is refused. ANY_RATIO: it is
	 * not judged, for the body was packed here. */
	uint64_t comes;
};
#define EXPAND_ANY_RATIO UINT64_MAX

struct expander;

/* For GZIP, BR or ZSTD. NULL: there is no memory. */
struct expander *expand_create(enum coding c, const struct expand_limits *limits);
void expand_destroy(struct expander **x);

/* Takes bytes from the front of *in, and puts at most room (> 0) bytes at to; *made says how many, also
 * with a fault. MORE: *in is empty. FULL: call again, with what is left in *in. Else a fault, and the
 * same one from now on. Bytes that were made before a fault are those of the origin only as far as anybody
 * can know: checksums come last. */
enum expansion expand_feed(struct expander *x, struct str *in, char *to, size_t room, size_t *made);

/* The body has ended: DONE, or a fault. Only after MORE. */
enum expansion expand_end(struct expander *x);

#endif
