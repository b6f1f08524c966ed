/* watchdog.h - a thread that sees whether every worker's loop still ticks, and tells /healthz and the
 * supervisor.
 *
 * A worker that hangs is not seen from outside as long as the others answer. Each counts its ticks;
 * only when all have counted on since the last look is WATCHDOG=1 sent, so the supervisor ends a
 * process of which a part stands still. A worker that has not counted on at the looks of three seconds in a row has
 * stalled: looks, and not time, so that a process that was stopped as a whole, as virtual machines are,
 * has no stalled workers when it goes on.
 */
#ifndef NODE_WATCHDOG_H
#define NODE_WATCHDOG_H

#include "proxy/node/worker.h"

struct watchdog;

struct watchdog *watchdog_create(void);
/* Workers and cache are borrowed until it is stopped. -1: there is no thread to be had. The thread waits for no disk,
 * so it is also the one that minds the cache's memory. */
int watchdog_start(struct watchdog *w, struct worker *workers, unsigned n, struct cache *cache);
void watchdog_stop(struct watchdog *w); /* returns when its thread is gone; fine if there is none */
void watchdog_destroy(struct watchdog **w);
/* How many workers have stalled; none before the start and after the end. Any thread. */
unsigned watchdog_stalled(const struct watchdog *w);

#endif
