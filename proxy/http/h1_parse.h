/* h1_parse.h - HTTP/1.x heads, strictly (RFC 9112): what a request smuggler needs is a fault.
 *
 * Two questions, two functions: is the head complete? then: is it well-formed?
 * No allocation, no copy: the result is views into the head.
 */
#ifndef HTTP_H1_PARSE_H
#define HTTP_H1_PARSE_H

#include "proxy/http/fault.h"
#include "proxy/http/message.h"

struct h1_limits {
	size_t head_bytes; /* request line and fields with their line ends */
	size_t url_bytes;
	unsigned field_count; /* at most FIELDS_MAX */
};

/* Bytes of the head including its empty line, 0 while it is not all there. *scanned (start with 0)
 * keeps how far was searched so that a slow head costs linear time. A head ended by bare LFs counts
 * as complete so that the parser can refuse it by name. Leading empty lines (RFC 9112 2.2) are the
 * caller's to skip with h1_skip_empty_lines. */
size_t h1_head_bytes(const char *p, size_t n, size_t *scanned);
size_t h1_skip_empty_lines(const char *p, size_t n);
/* Whether a complete first line ends in "HTTP/x.y". One that does not is a fault at its line end:
 * there is nothing to wait for. */
bool h1_line_has_version(struct str line);

/* Fills *out (out->fields.v and .cap set by the caller) from a complete head. NULL when well. */
const struct fault *
h1_parse_request(struct str head, const struct h1_limits *limits, struct request *out);

/* A response head: status line and field lines; the final empty line may be missing. False when it is not one (foreign bytes: control bytes, no status, too many
 * fields). */
bool h1_parse_response(struct str head, struct response *out);

#endif
