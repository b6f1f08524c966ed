/* select.h - what becomes of a request, given what the cache has: one decision, on facts.
 *
 * Pure: no look-up, no clock, no deed. lookup.c gathers the facts and does what is said here.
 */
#ifndef SERVE_SELECT_H
#define SERVE_SELECT_H

#include "proxy/http/policy.h"

#include <stdbool.h>

/*       name               what becomes of the request */
#define SELECTIONS(SELECTION)                                                                      \
	SELECTION(ANSWER, "the stored response answers")                                           \
	SELECTION(ANSWER_REFRESH, "it answers, and is refreshed behind the client's back")         \
	SELECTION(ANSWER_PART, "the stored part answers")                                          \
	SELECTION(LOOK_FOR_PART, "nothing whole is stored: a part is looked up")                   \
	SELECTION(REFUSE, "only-if-cached, and nothing may be used: 504")                          \
	SELECTION(VALIDATE, "the origin is asked whether it is still good, for all who ask")       \
	SELECTION(NEWS, "a HEAD asks the origin, and its answer may update what is stored")        \
	SELECTION(FETCH, "the whole is fetched, for all who ask")                                  \
	SELECTION(FETCH_AS_ASKED, "what the client asked for is fetched as it is: first sighting") \
	SELECTION(FETCH_ALONE, "fetched for this client, and not kept")                            \
	SELECTION(PASS, "what is stored is not for this request: it passes")

enum selection {
#define SELECTION(name, says) SELECT_##name,
	SELECTIONS(SELECTION)
#undef SELECTION
		SELECTION_COUNT
};

struct select_facts {
	enum method method;
	bool only_if_cached, no_store; /* of the request */
	bool asks_for_less;	       /* policy_asks_for_less */
	bool found;		       /* a response is stored under the key or variant */
	enum reuse reuse;	       /* of what was found */
	bool part_answers;	       /* a fresh part holds what is asked for */
	bool part_may_be;	       /* a part may be there and was not looked up yet */
	bool unseen; /* never asked for before, nobody fetches it now, and the route admits by
		      * sightings; looked at only where asks_for_less */
};

enum selection select_decide(const struct select_facts *f);
const char *select_sentence(enum selection s);

#endif
