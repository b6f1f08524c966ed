/* gate.h - what is answered before anything is looked up: challenges of a certificate authority,
 * and the way to https.
 */
#ifndef SERVE_GATE_H
#define SERVE_GATE_H

#include <stdbool.h>

struct txn;

/* A request whose scheme is known. True: answered. */
bool gate_answers(struct txn *t);

#endif
