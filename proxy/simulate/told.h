/* told.h - what a cache's own log says that it did with a request, by its Cache-Status (RFC 9211).
 *
 * Pure. The value may be anything at all.
 */
#ifndef SIMULATE_TOLD_H
#define SIMULATE_TOLD_H

#include "proxy/base/str.h"

#include <stdbool.h>

struct told {
	bool is_known;	/* it is such a value; else all below is false */
	bool hit;	/* answered from the cache */
	bool asked;	/* an origin was asked, by this request or, joined, by another */
	bool joined;	/* ... which another request had begun */
	bool validated; /* ... and said 304 */
	bool stored_not; /* nothing could have been stored: an answer for this client alone, or made here */
};
struct told told_read(struct str cache_status);

#endif
