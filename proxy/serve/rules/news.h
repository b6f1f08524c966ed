/* news.h - what an answer that is not kept says: of the copy that is stored, and of whether
 * requests for the same key can share an answer.
 *
 * Pure. The rule behind both: what one client's own fields may have caused changes nothing for the
 * others. An answer to a request with credentials is between that client and the origin; so is an
 * error, unless the question had nothing of its client's own, or a client of another address was
 * answered the same.
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
	bool contradicted; /* that copy was contradicted before */
	bool own;	   /* a field of this client's own went along, which no key holds */
	bool heard;	   /* a client of another address was answered the same lately */
	int status;
	enum storable storable; /* YES: kept, but not fresh for anybody else */
};

/* The copy, which is never removed, becomes one of these. */
enum news_of_copy {
	NEWS_NONE,
	NEWS_OUTDATES, /* it is to be validated before its next use */
	NEWS_CONTRADICTS /* the same, and till then it stands in for nothing: where the origin fails, it is
			  * as if there were no copy */
};
enum news_of_copy news_of_copy(const struct news_facts *f);
/* Whether it matters that another client was answered the same. */
bool news_needs_witness(const struct news_facts *f);

/* Answers under this key are one client's each, by their own words, or errors that are not to be kept:
 * the next requests need not wait for each other. Among requests with credentials where this one had some (herd_pass_kind). */
bool news_ends_sharing(const struct news_facts *f);

#endif
