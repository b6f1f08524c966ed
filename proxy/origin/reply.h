/* reply.h - a response head as libcurl hands it out, line by line, until it is whole or refused.
 *
 * libcurl reads leniently; what it and our own parser could understand differently (that is what
 * response splitting lives on) is refused here, by name, before a byte of the body moves.
 *
 * Memory    a reply keeps its buffer from head to head; heads are views until the next reply_line.
 */
#ifndef ORIGIN_REPLY_H
#define ORIGIN_REPLY_H

#include "proxy/base/buf.h"

#define REPLY_HEAD_MAX ((size_t)256 << 10)

struct reply {
	struct buf head; /* status line and field lines, each with CR LF, no empty line */
	int status;	 /* of the head being read; 0: no status line yet */
	bool http_1_0, has_length, has_coding;
	uint64_t content_length;
};

enum reply_step {
	REPLY_MORE,    /* the head goes on */
	REPLY_INTERIM, /* a whole 1xx head other than 100; another head follows */
	REPLY_FINAL,   /* the whole head that answers the request */
	REPLY_REFUSED  /* *why is a sentence */
};

void reply_begin(struct reply *r);
void reply_fini(struct reply *r);
/* One line with its line end; an empty one ends the head. */
enum reply_step reply_line(struct reply *r, struct str line, const char **why);

#endif
