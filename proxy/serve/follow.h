/* follow.h - the way to the origin: alone, or together with all who ask for the same; and what a
 * flight brings to a request that leads or follows it.
 */
#ifndef SERVE_FOLLOW_H
#define SERVE_FOLLOW_H

#include "proxy/serve/fill.h"

/* Each moves the request to WAIT_FLIGHT; the first to GATHER when it has a body. */
void follow_pass(struct txn *t); /* for this client only: nothing is kept */
void follow_alone(struct txn *t, enum fill_kind kind);
/* For t->object's freshness or for the whole, together with whoever asks for the same. */
void follow_together(struct txn *t);

/* The lookup begins anew: nothing was sent yet. */
void follow_again(struct txn *t);

/* Is this request reason enough to fetch the whole of what it asks for? */
bool follow_is_worth_the_whole(const struct txn *t);

/* In WAIT_FLIGHT. False: no head and no failure yet. Else the request has moved on: an answer is
 * decided, another way taken, or t->look.state says that the lookup begins anew. */
bool follow_run(struct txn *t);

/* Appends the values by which this request is told from others where answers vary on names. */
void follow_variant(struct txn *t, struct str names, struct buf *values);

#endif
