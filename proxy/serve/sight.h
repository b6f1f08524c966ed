/* sight.h - a request as facts for the rule of admission (cache/sighting.h).
 *
 * Threads   any; pure but for the clock, which a Range asks.
 */
#ifndef SERVE_SIGHT_H
#define SERVE_SIGHT_H

#include "proxy/cache/sighting.h"
#include "proxy/http/message.h"
#include "proxy/serve/route.h"

struct txn;

/* What this request would count for if its answer, of this status, may be stored. client: the text
 * of its address. */
struct sighting_facts sight_of(const struct request *rq, const struct route *route, int status,
			       struct str client, const struct twice_seed *seed);

/* The same of a transaction, whose client's address is asked for only where it matters. */
struct sighting_facts sight_of_txn(const struct txn *t, int status);

/* The same of t->object, which answers. */
struct sighting_facts sight_of_object(const struct txn *t);

/* Sets the verdict on an answer from t->object that brings nothing new to store, but
 * slices that are missing. */
void sight_stored(struct txn *t);

#endif
