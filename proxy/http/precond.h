/* precond.h - conditional requests answered from a stored response (RFC 9110 13). */
#ifndef HTTP_PRECOND_H
#define HTTP_PRECOND_H

#include "proxy/http/message.h"

struct validators {	       /* of a stored response */
	struct str etag;       /* as in the field, W/ and quotes included; empty: none */
	int64_t last_modified; /* -1: none */
	int64_t date;
	int status; /* 0 or 2xx: conditions apply; others are answered as they are (13.2.1) */
};

enum precond {
	PRECOND_GO,	      /* answer in full (or with the range) */
	PRECOND_NOT_MODIFIED, /* 304 */
	PRECOND_FAILED,	      /* 412: If-Match / If-Unmodified-Since is false */
};

/* In the precedence of 13.2.2, for GET and HEAD. */
enum precond precond_decide(const struct request *r, const struct validators *v, int64_t now);

bool etag_weak_match(struct str a, struct str b);
bool etag_strong_match(struct str a, struct str b);

/* Whether the Range field may be applied: no If-Range, or one that matches strongly (13.1.5). */
bool if_range_holds(const struct request *r, const struct validators *v, int64_t now);

#endif
