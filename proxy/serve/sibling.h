/* sibling.h - what the nodes of a fleet ask each other for their clients (proxy/fleet): a request whose key another
 * node owns goes there as its client sent it, once, and is answered as an origin would answer.
 *
 * Some things are done where the client is: rates, allow and deny, redirects, response_headers, Via and the log
 * line. All that leads to the origin's head is done where the key is owned: the key itself, request_headers,
 * X-Forwarded-*, by the address, scheme and version that Twice-Hop tells of the client.
 *
 * Threads   its request's worker.
 */
#ifndef SERVE_SIBLING_H
#define SERVE_SIBLING_H

#include "proxy/serve/txn.h"

/* Of a request that came by a sibling listener. True: a sibling has signed it, and it goes on as its client's; false: it
 * is answered, or (controlling.h) on its way. Before anything is decided by its head. */
bool sibling_takes(struct txn *t);

/* Whether another node, which is well, owns the key of a request whose answer may be shared (txn_from.elsewhere). */
void sibling_look(struct txn *t);

#endif
