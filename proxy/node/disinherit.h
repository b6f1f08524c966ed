/* disinherit.h - an upgrade is taken back: the process that was to take over is killed, and when it is gone the cache is
 * this one's again.
 *
 * A process that a disk holds in the kernel is gone only when the disk answers; until then it may still write. So the
 * cache rests meanwhile: it is read, what is stored stays in RAM, and purges hold without being durable.
 *
 * Threads   disinherit: under `changing` of the server. The rest is the keeper's.
 */
#ifndef NODE_DISINHERIT_H
#define NODE_DISINHERIT_H

#include <stdbool.h>

struct server;

/* rested: the cache does. pid 0: a server of this process, which has none of its directories, was to take over. */
void disinherit(struct server *s, int pid, bool rested);
/* Is one waited for? Then nobody else can take over. Under `changing`. */
bool disinherit_waits(struct server *s);

#endif
