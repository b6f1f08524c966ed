/* gate.h - what is answered before anything is looked up: challenges of a certificate authority,
 * who is denied, the way to https, and what a route answers by itself.
 */
#ifndef SERVE_GATE_H
#define SERVE_GATE_H

#include <stdbool.h>

struct txn;

/* A request whose scheme is known. True: answered. */
bool gate_answers(struct txn *t);

#endif
