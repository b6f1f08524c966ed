/* sibling_word.h - the field Twice-Hop in what nodes of a fleet ask each other for their clients (sibling.h).
 *
 * Threads   its request's worker.
 */
#ifndef SERVE_SIBLING_WORD_H
#define SERVE_SIBLING_WORD_H

#include "proxy/serve/txn.h"

struct fill;

/* Appends the lines of the question that a trip puts to the sibling which is asked now, in the place of outgoing_fields. */
void
sibling_add_question(const struct fill *f, const struct outgoing_asks *asks, struct buf *lines);

/* A request that waits for an answer from now on: the sibling who asks, if it is one, hears that this node is alive (102), or
 * he would soon ask another one. */
void sibling_waits(struct txn *t);

/* Appends the value of Twice-Hop in the answer to a sibling. */
void sibling_add_answer(const struct txn *t, struct buf *out);

/* The one field of that name; empty: there is none, or more than one. */
struct str sibling_field(const struct fields *fields);
/* Takes what the sibling says beside its answer: where it had it; and its tags, which are added to those of the trip. */
void sibling_read_answer(struct fill *f, const struct response *rs);

#endif
