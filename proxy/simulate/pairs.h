/* pairs.h - a line of names and values: which name means what, and which of several is the best.
 *
 * Memory    what pairs_find answers holds until the next call.
 */
#ifndef SIMULATE_PAIRS_H
#define SIMULATE_PAIRS_H

#include "proxy/simulate/parse.h"

/* One line of names and values, and how good the names were so far. */
struct pairs {
	struct parsing *p;
	struct entry *e;
	unsigned key_i;
	uint8_t best[ROLE_COUNT]; /* 1 + rank of what was set */
};
/* Finds the meaning of a name, as a.b.c. Where it has none, its last part may have one of these roles
 * (a bit each). */
const struct parse_key *
pairs_find(struct pairs *s, struct str name, struct str last, uint32_t roles);
/* False: it had to be there, and it is nonsense. A better name of the same role may have come. */
bool pairs_set(struct pairs *s, enum role role, unsigned rank, struct str value);
/* False: what is called an id is the request's, for the line tells of a client or of an answer. */
bool pairs_have_object(const struct pairs *s);

#endif
