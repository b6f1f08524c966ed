/* chunked.h - the chunked transfer coding of RFC 9112 7.1, decoded strictly and in place. */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include "proxy/http/fault.h"
#include "proxy/base/str.h"

struct chunked {       /* zeroed: at the start of a body */
	uint64_t left; /* of the current chunk's data */
	unsigned state;
	unsigned line_bytes;	/* of the current size line, bounded */
	unsigned trailer_bytes; /* of the trailer section, bounded */
};

enum chunked_step {
	CHUNKED_MORE, /* all input eaten; the body goes on */
	CHUNKED_DATA, /* *data is the next piece of body (a view into the input) */
	CHUNKED_DONE, /* the last chunk and the trailer section are over */
	CHUNKED_FAULT /* *fault says why; the connection must close */
};

/* Eats from the front of *in (which moves on). Chunk extensions are checked and dropped, trailer
 * fields checked and dropped (RFC 9110 6.5.1 allows a gateway to discard them). */
enum chunked_step
chunked_decode(struct chunked *c, struct str *in, struct str *data, const struct fault **fault);

/* Writes "<hex>\r\n" for a chunk of n bytes into out (at least 20 bytes); returns its length. */
size_t chunked_size_line(char *out, uint64_t n);

#endif
