/* watchdog.h - a thread that tells the supervisor that every worker's loop still turns.
 *
 * A worker that hangs is not seen from outside as long as the others answer. Each counts its ticks;
 * only when all have counted on since the last look is WATCHDOG=1 sent, so the supervisor ends a
 * process of which a part stands still.
 */
#ifndef NODE_WATCHDOG_H
#define NODE_WATCHDOG_H

#include "proxy/node/worker.h"

struct watchdog;

/* Does nothing, and leaves *out NULL, when no supervisor asks for it. Workers are borrowed until the
 * end. -1: there is no thread to be had. */
int watchdog_start(struct watchdog **out, struct worker *workers, unsigned n);
void watchdog_stop(struct watchdog **w); /* returns when it is gone; NULL is fine */

#endif
