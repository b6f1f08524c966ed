/* patience.h - what a request puts up with from a fetch that somebody else leads: for how long it
 * waits, and which failures are its own too.
 */
#ifndef SERVE_PATIENCE_H
#define SERVE_PATIENCE_H

#include "proxy/serve/txn.h"

/* Milliseconds to its head, before one more fetch is tried beside it; and in all. */
int64_t patience_ms(const struct txn *t);
int64_t patience_most_ms(const struct txn *t);
/* It accepts events alone, and the flight that it would follow has no head yet: many origins send that with
 * the first event, and what comes before is lost to who waits to see whether the answer is for all. */
bool patience_is_none(const struct txn *t);
/* Whether the fetch that failed was asked for by a request that is t's in every field. blame: of
 * the failure (flight_failure). */
bool patience_is_own_fault(const struct txn *t, uint64_t blame);

#endif
