/* select.h - what becomes of a request, given what the cache has: one decision, on facts.
 *
 * Pure: no look-up, no clock, no deed. lookup.c gathers the facts and does what is said here.
 */
#ifndef SERVE_SELECT_H
#define SERVE_SELECT_H

#include "proxy/http/policy.h"

#include <stdbool.h>

enum selection {
	SELECT_ANSWER,	       /* the stored response answers */
	SELECT_ANSWER_REFRESH, /* it answers, and is refreshed behind the client's back */
	SELECT_REFUSE,	       /* only-if-cached, and nothing may be used: 504 */
	/* From here on the origin is asked. */
	SELECT_VALIDATE,       /* whether it is still good, for all who ask */
	SELECT_NEWS,	       /* by a HEAD, whose answer may update what is stored */
	SELECT_FETCH,	       /* for the whole, for all who ask */
	SELECT_FETCH_AS_ASKED, /* for what the client asked for, as it is: a first sighting */
	SELECT_FETCH_PIECE,    /* the same, and the whole is fetched behind the client's back */
	SELECT_FETCH_ALONE,    /* for this client; nothing is kept */
	SELECT_PASS	       /* what is stored is not for this request */
};

struct select_facts {
	enum method method;
	bool only_if_cached, no_store; /* of the request */
	bool asks_for_less;	       /* policy_asks_for_less */
	bool elsewhere;		       /* whoever is asked decides about it: about ranges, only-if-cached and what is
					* stored there */
	bool found;		       /* a response is stored under the key or variant */
	enum reuse reuse;	       /* of what was found */
	bool far_piece; /* a small piece far into it: what lies before takes long to come */
	bool unseen;	/* never asked for before, nobody fetches it now, and the route admits by
			 * sightings; looked at only where asks_for_less */
};

enum selection select_decide(const struct select_facts *f);
/* Whether the deed is done without a question to the origin that others could share. */
bool select_is_done_here(enum selection s);

#endif
