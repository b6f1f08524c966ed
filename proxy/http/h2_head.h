/* h2_head.h - the head of an HTTP/2 request as a request, as strictly as h1_parse.h reads HTTP/1.
 *
 * What frames and HPACK can break, and what RFC 9113 8.2 and 8.3 call malformed, was refused before:
 * names are tokens in lower case, values hold no control bytes, pseudo-fields are known, stand first
 * and occur once, nothing is connection-specific. Here is decided what HTTP/1 decides from the same
 * words: what is asked for, of whom, and whether there is a body.
 *
 * Memory    views into what was handed in.
 * Threads   pure.
 */
#ifndef HTTP_H2_HEAD_H
#define HTTP_H2_HEAD_H

#include "proxy/http/h1_parse.h"

struct h2_head { /* the pseudo-fields; absent: {NULL, 0} */
	struct str method, scheme, authority, path;
	bool has_body; /* the head did not end the stream */
	size_t came;   /* bytes of its frames, before HPACK's tables made a head of them */
};

/* Fills *out, whose fields are filled in, with room for one more. scheme: the listener's. NULL when
 * well. */
const struct fault *h2_head_read(const struct h2_head *h, struct str scheme,
				 const struct h1_limits *limits, struct request *out);

#endif
