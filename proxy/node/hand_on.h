/* hand_on.h - what a server is told to forget when another one has its cache (forget_bequeath).
 *
 * Threads   the one of the purge log.
 */
#ifndef NODE_HAND_ON_H
#define NODE_HAND_ON_H

#include "proxy/cache/forget/forget.h"

/* ctx: the server, whose heir_end is the stream to the other one. */
forget_heir hand_on_forgets;
/* The same, to one whose hashes are of another seed: it forgets everything. */
forget_heir hand_on_any;
extern const struct purge_entry hand_on_everything;

#endif
