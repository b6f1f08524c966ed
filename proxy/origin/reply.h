/* reply.h - an origin's bytes on a connection, read as the response to one request (RFC 9112).
 *
 * Bytes that we and somebody else could understand differently (response splitting depends on
 * that) are refused, by name, before a byte of the body moves. Reads no further than
 * the response's last byte.
 *
 * Memory    a reply keeps its buffers from response to response; views hold until the next call.
 * Bounds    all heads of a response together: REPLY_HEAD_MAX. Trailers: 8 KiB. A body is never kept.
 */
#ifndef ORIGIN_REPLY_H
#define ORIGIN_REPLY_H

#include "proxy/base/buf.h"
#include "proxy/http/chunked.h"
#include "proxy/http/message.h"

#define REPLY_HEAD_MAX ((size_t)256 << 10)

enum reply_phase { REPLY_IN_HEAD, REPLY_IN_LENGTH, REPLY_IN_CHUNKS, REPLY_IN_REST, REPLY_OVER };

struct reply {
	struct buf head;   /* as received, with the empty line */
	size_t scanned;	   /* of it, for its end */
	size_t head_bytes; /* read, of all heads */
	enum reply_phase phase;
	bool to_head;	    /* the request was HEAD */
	struct str upgrade; /* the protocol that it asked to switch to; empty: none */
	bool switched;	    /* and that was agreed on: all that follows is not HTTP */
	bool interim;	    /* that head is whole and another follows */
	bool has_length, has_coding;
	bool keep; /* what the head says of the connection (RFC 9112 9.3) */
	uint64_t content_length, left;
	struct response response; /* the head as fields, when it is whole: views into head */
	struct chunked chunked;
	struct buf
		trailers; /* lines of the trailer section, each with CR LF, and an empty one; or none */
};

enum reply_step {
	REPLY_MORE, /* all input is read; the response goes on */
	REPLY_INTERIM, /* head is that of a 1xx other than 100, response has what is to go on; another follows */
	REPLY_HEAD,   /* head is the one that answers the request */
	REPLY_BODY,   /* *data is the next piece of the body, a view of the input */
	REPLY_END,    /* that was its last byte */
	REPLY_REFUSED /* *why is a sentence */
};

/* fields are the caller's, used by reply_read and by r->response until the next read; upgrade, until
 * the end of the response. */
void
reply_begin(struct reply *r, bool to_head, struct str upgrade, struct field fields[FIELDS_MAX]);
void reply_fini(struct reply *r);

/* Reads from the front of *in, which moves on. */
enum reply_step reply_read(struct reply *r, struct str *in, struct str *data, const char **why);

/* May the connection carry another request, once the response is over? */
bool reply_keeps(const struct reply *r);

#endif
