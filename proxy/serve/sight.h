/* sight.h - a request as facts for the rule of admission (cache/admission/sighting.h).
 *
 * Threads   any; pure but for the clock, which a Range asks.
 */
#ifndef SERVE_SIGHT_H
#define SERVE_SIGHT_H

#include "proxy/cache/admission/sighting.h"
#include "proxy/http/message.h"
#include "proxy/serve/routes/route.h"

struct txn;

/* The client that this is a request of: its peer, or the one that a trusted forwarder names. */
struct asker sight_asker(const struct txn *t);

/* This request would count for *f if its answer, of this status, may be stored. f->from is left to be
 * set, where it matters. */
void
sight_of(const struct request *rq, const struct route *route, int status, struct sighting_facts *f);

/* How long an answer can be used from its arrival on; 0 or less: not at all. */
int64_t sight_life_s(const struct terms *terms);
/* How long what it is about can be used from now on. */
void sight_life(struct sighting_facts *f, const struct terms *terms, int64_t now_s);

/* The same of a transaction and its client. */
void sight_of_txn(const struct txn *t, int status, struct sighting_facts *f);

/* The same of t->object, which answers. The client's address is asked for only where it matters. */
void sight_of_object(const struct txn *t, struct sighting_facts *f);

/* Sets the verdict on an answer from t->object that brings nothing new to store, but
 * slices that are missing. confirmed: its origin has just said 304. */
void sight_stored(struct txn *t, bool confirmed);

#endif
