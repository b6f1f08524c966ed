/* challenging.h - a request of an authority for a challenge (RFC 8555 8.3): answered from a file that a thread reads
 * (challenge.h).
 */
#ifndef SERVE_CHALLENGING_H
#define SERVE_CHALLENGING_H

#include "proxy/serve/txn.h"

/* It is answered, or the file is being read (CHALLENGE). */
void challenging_begin(struct txn *t, struct str token);
/* True: that is decided. */
bool challenging_run(struct txn *t);

#endif
