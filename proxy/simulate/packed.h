/* packed.h - which bodies of a log the proxy would pack (proxy/coding), and what that leaves of them.
 *
 * The type is that of the log's own column, else it is told by the end of the path. What Brotli leaves of a body of that
 * type is taken for granted: shares of files as they are found (bench/packed.c), or of --packing.
 *
 * Threads   none.
 */
#ifndef SIMULATE_PACKED_H
#define SIMULATE_PACKED_H

#include "proxy/simulate/entry.h"

#include <stdbool.h>

struct route;

/* So much is left of a body whose path ends so; "": of any other text. */
struct packed_share {
	const char *ending;
	uint16_t thousandths;
};

enum { PACKED_SHARES_MOST = 32, PACKED_LEAST_BYTES = 1 << 10, PACKED_MOST_BYTES = 1 << 20 };

struct packed_options {
	bool off;
	struct packed_share shares
		[PACKED_SHARES_MOST]; /* the first that fits, before what is taken for granted */
	unsigned shares_n;
};

/* Says what a request is for. */
enum packed_source {
	PACKED_UNKNOWN, /* not at all */
	PACKED_TYPED,	/* a column of types */
	PACKED_ENDED	/* the end of the path */
};

struct packed_told {
	enum packed_source from;
	bool says_coding;     /* the log says whether it came in a coding */
	uint16_t thousandths; /* that are left of it; 0: it is not packed */
};
/* path: without the query. */
struct packed_told packed_tell(const struct packed_options *o, const struct route *route,
			       const struct entry *e, struct str path);

/* Of a whole body; bytes, where it is not packed. */
uint64_t packed_bytes(uint64_t bytes, uint16_t thousandths);

/* The shares that are taken for granted, in a sentence. */
enum { PACKED_TEXT = 256 };
const char *packed_say(char to[PACKED_TEXT]);

#endif
