/* news.h - what an answer that is not kept says: of the copy that is stored, and of whether
 * requests for the same key can share an answer.
 *
 * Pure. The rule behind both: what one client's own fields may have caused changes nothing for the
 * others. An error, or an answer to a request with credentials, is between that client and the
 * origin.
 */
#ifndef SERVE_NEWS_H
#define SERVE_NEWS_H

#include "proxy/http/policy.h"

#include <stdbool.h>

struct news_facts {
	enum method method;
	bool credentials; /* the request carried Authorization or Cookie */
	bool by_key;  /* the origin was asked for exactly what the key stands for, and for all of it
		       */
	bool copy;    /* a stored copy was validated, or asked about by HEAD */
	bool differs; /* HEAD: length or validators are not the copy's (RFC 9111 4.3.5) */
	int status;
	enum storable storable; /* YES: kept, but not fresh for anybody else */
};

/* The copy is not what the origin would answer now: it is to be validated before its next use, and
 * is not removed. */
bool news_outdates_copy(const struct news_facts *f);

/* Answers under this key are one client's each, by their own words: the next requests need not wait
 * for each other. Among requests with credentials where this one had some (herd_pass_key). */
bool news_ends_sharing(const struct news_facts *f);

#endif
