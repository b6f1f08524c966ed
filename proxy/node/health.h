/* health.h - a thread that checks the servers of those groups that want it (upstream_checks).
 *
 * The servers are checked one after the other, spread over the time from one check to the next. A
 * check is a GET on a connection of this thread's own; it is in no counter of requests.
 *
 * Threads   one at a time calls; results go to the groups, lock-free.
 * Memory    groups are held by references until the next health_settle has been taken up.
 */
#ifndef NODE_HEALTH_H
#define NODE_HEALTH_H

struct health;
struct origins;

struct health *health_create(void);
/* From now on the groups of these are checked, and no others. The thread begins with the first
 * group that wants checks; without a thread to be had, nothing is checked and the log says so. */
void health_settle(struct health *h, const struct origins *o);
/* Cancels what is under way; returns when the thread is gone. NULL: nothing happens. */
void health_destroy(struct health **h);

#endif
