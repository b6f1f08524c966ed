/* controlling.h - requests of siblings that are about the node itself, not for a client (fleet/control.h): they come by the
 * workers' listeners, and the fleet's thread answers.
 *
 * Threads   its request's worker.
 */
#ifndef SERVE_CONTROLLING_H
#define SERVE_CONTROLLING_H

#include "proxy/serve/txn.h"

/* Of a request that came by a sibling listener. True: it is one of these, and is answered, or on its way. */
bool controlling_begin(struct txn *t);
/* Its body is gathered (GATHER): it goes on its way. */
void controlling_ask(struct txn *t);
/* To any of them, while there is nobody to ask. */
void controlling_answer_not_now(struct txn *t);
/* True: the answer is here (CONTROL), and decided. */
bool controlling_run(struct txn *t);

#endif
