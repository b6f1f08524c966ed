/* unasked.h - an answer that fits no question: a part (206) of what was asked for as a whole, another part
 * than was asked for, a 416 without a range. Who asked would take a part for the whole, or put bytes in the
 * wrong place (RFC 9110 15.3.7, 15.5.17).
 *
 * A range shorter than was asked for is one, and so is any for who asked for the last bytes, or for several
 * ranges: such a client reads Content-Range. Units other than bytes are between the client and the origin.
 * HEAD may be answered as GET with its Range would be, as many do.
 *
 * Pure.
 */
#ifndef SERVE_UNASKED_H
#define SERVE_UNASKED_H

#include "proxy/http/message.h"

enum unasked {
	UNASKED_NOT,   /* it fits */
	UNASKED_WHOLE, /* it says that it is all of it: as good as a 200 */
	UNASKED_ODD
};

/* range: what the origin was sent; empty: nothing. body_bytes: UINT64_MAX: not known. */
enum unasked unasked_decide(enum method method, struct str range, const struct response *rs,
			    uint64_t body_bytes);

#endif
