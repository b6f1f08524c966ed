/* patience.h - how long a request waits for a fetch that somebody else leads. */
#ifndef SERVE_PATIENCE_H
#define SERVE_PATIENCE_H

#include "proxy/serve/txn.h"

/* Milliseconds to its head, before one more fetch is tried beside it. */
int64_t patience_ms(const struct txn *t);

#endif
