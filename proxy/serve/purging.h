/* purging.h - the method PURGE: a request that makes the cache forget its own URL. Only from addresses
 * that the settings name (cache.purge_from), and only where nobody forwarded it; elsewhere the
 * method means nothing here, and the request passes to the origin.
 */
#ifndef SERVE_PURGING_H
#define SERVE_PURGING_H

#include "proxy/serve/txn.h"

/* The key of t is made. True: it is such a request, and was refused, or the purge is on its way to
 * the disk (PURGE). */
bool purging_begin(struct txn *t);
/* True: it is there, or cannot be, and the answer is decided. */
bool purging_run(struct txn *t);

#endif
