/* purge_method.h - what a request with the method PURGE wants to be forgotten, as people and plugins of
 * applications write it: its URL, what begins like it, or what came with tags.
 *
 *	PURGE /a?b           the URL
 *	PURGE /blog/ and "*" what begins with /blog/; with X-Purge-Method: exact the URL of that spelling
 *	PURGE /. and "*"     all of the host, also with X-Purge-Method: regex
 *	Surrogate-Key: a b   what came with one of these tags, whatever the URL is; so do the fields that
 *	                     cache.tag_headers names, and plugins' names for them in a PURGE
 *	Soft-Purge: 1        what is covered is not gone but stale
 *
 * All else is refused: an answer of 200 would say that it was done.
 *
 * Pure. Views into the request.
 */
#ifndef SERVE_PURGE_METHOD_H
#define SERVE_PURGE_METHOD_H

#include "proxy/cache/forget/forget_kind.h"
#include "proxy/http/message.h"
#include "proxy/serve/rules/tags.h"

struct purge_request {
	enum forget_kind kind; /* a URL, a prefix, or tags */
	bool soft;
	struct str prefix;  /* of the path */
	unsigned field, at; /* private: how far the tags were read */
};

/* NULL, or a line that says why it cannot be meant. */
const char *purge_method_read(const struct request *rq, const struct tag_settings *tags,
			      struct purge_request *out);
/* The next tag; false: that were all. */
bool purge_method_next_tag(const struct request *rq, const struct tag_settings *tags,
			   struct purge_request *r, struct str *tag);

#endif
