/* lookup.h - what the cache has for a request, and what becomes of it then: an answer from here, or
 * a way to the origin (follow.h). The decision itself is select.h's.
 */
#ifndef SERVE_LOOKUP_H
#define SERVE_LOOKUP_H

#include "proxy/serve/txn.h"

/* From BEGUN: the key is made, and looked up if the request may be answered from the cache. */
void lookup_begin(struct txn *t);
/* In LOOKUP. False: the disk has not answered yet. */
bool lookup_run(struct txn *t);

#endif
