/* range.h - byte ranges (RFC 9110 14) as ranges of a body of known length,
 * bounded against abuse. */
#ifndef HTTP_RANGE_H
#define HTTP_RANGE_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

struct range {
	uint64_t at, n;
};

#define RANGES_MAX 16 /* asked for more, or for overlaps that would amplify: the whole is sent */

enum range_answer {
	RANGE_WHOLE,	    /* no, foreign, malformed or abusive Range: answer 200 */
	RANGE_PART,	    /* 206 with n ranges, overlapping and adjacent ones joined */
	RANGE_UNSATISFIABLE /* 416 */
};

/* value: of the Range field. ranges has room for RANGES_MAX. */
enum range_answer range_parse(struct str value, uint64_t length, struct range *ranges, unsigned *n);

/* "bytes 0-99/1000" of a response; false when malformed. total is UINT64_MAX for "*". */
bool content_range_parse(struct str value, struct range *out, uint64_t *total);
/* An empty range is written as "*": what a 416 says. */
void content_range_format(struct range s, uint64_t total, struct buf *out);

/* multipart/byteranges (14.6): the bytes before range i (boundary, Content-Type, Content-Range),
 * and the closing boundary; lengths add up to what Content-Length must say. */
void multipart_part_head(struct str boundary, struct str content_type, struct range s,
			 uint64_t total, bool first, struct buf *out);
void multipart_end(struct str boundary, struct buf *out);

#endif
