/* keep_turn.h - what requests and trips of one key know of each other without a lock: whether
 * something was stored since one looked, and who writes a large body.
 *
 * Threads   any.
 */
#ifndef SERVE_KEEP_TURN_H
#define SERVE_KEEP_TURN_H

#include "filter/hash.h"
#include "proxy/serve/shelves.h"

/* Changes whenever a flight has stored something under this primary key. */
uint32_t keep_landed(const struct shelves *sh, struct twice_key_hash primary);

/* Whether a body too large for followers is being written under this key. */
bool keep_is_writing(struct shelves *sh, struct twice_key_hash hash);

#endif
