/* called.h - does the Host that an origin is asked for suit it?
 *
 * Two mistakes show in answers. An origin of many names refuses one that it does not know: its first answers are
 * all 404, 403 or 421. One that is asked for another name sends clients to its own, past the proxy or round and
 * round. Either is one line in the log for each origin, with the setting that helps.
 *
 * Threads   any, lock-free.
 */
#ifndef ORIGIN_CALLED_H
#define ORIGIN_CALLED_H

#include "proxy/origin/origin.h"

enum { CALLED_REFUSALS = 2 }; /* so many first answers; one that says 421 is enough */

struct called_answer {
	int status;
	struct str location; /* as it came; empty: none */
	struct str client;   /* the Host that the client sent */
};

/* Whether called_look can learn anything of an answer with that status: once an origin has answered well, of
 * redirects alone. */
bool called_may_tell(const struct origin *o, int status);
void called_look(const struct origin *o, const struct called_answer *a);

#endif
