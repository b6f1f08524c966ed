/* error_page.h - the body of an answer that is made here because something went wrong: a small page,
 * a JSON object (RFC 9457) or a line of text, by what the client accepts (RFC 9110 12.5.1).
 *
 * It holds the status, the word by which the log, Cache-Status and the metrics call the reason, and
 * the request's id: nothing of the origin, of addresses or files, and nothing that a client sent.
 *
 * Threads   pure.
 */
#ifndef SERVE_ERROR_PAGE_H
#define SERVE_ERROR_PAGE_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

struct error_page {
	int status;
	const char *word; /* why: "no-connection"; plain, without quotes */
	const char *rule; /* the one that the request broke; NULL: none */
	struct str id;	  /* of plain characters (request_id.h) */
};

/* Appends the body in the form that is liked best; its Content-Type. accept: the value of Accept,
 * or empty. Plain text where none of the forms is accepted: an error is said all the same. */
struct str error_page_add(const struct error_page *page, struct str accept, struct buf *out);

#endif
