/* await.h - a thread waits for what the fleet's thread does for it, but not for ever.
 *
 * A struct await is the first member of one on the heap, which both threads look at under its lock. Whoever of them leaves second
 * frees it, so that the one who waits may go before there is an answer.
 *
 * Threads   await_for: the one that waits; await_look: the fleet's.
 */
#ifndef FLEET_AWAIT_H
#define FLEET_AWAIT_H

#include "proxy/base/mailbox.h"

#include <pthread.h>
#include <stdbool.h>

struct await {
	struct letter letter; /* first: what brings it to the fleet's thread */
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned users;
	bool done;  /* under the lock, as the next one */
	bool alone; /* nobody waits any more */
};

/* Of one that is zeroed but for what the caller has put behind it: open is called on the fleet's thread. */
void await_post(struct await *a, void (*open)(struct letter *l), struct mailbox *to);
/* Waits until it is done, limit_ms at most; then take is called, under the lock, and a is gone. */
void
await_for(struct await *a, unsigned limit_ms, void (*take)(struct await *a, void *ctx), void *ctx);
/* Calls look under the lock. True: that has said it is done, and a may be gone. */
bool await_look(struct await *a, bool (*look)(struct await *a, void *ctx), void *ctx);

#endif
