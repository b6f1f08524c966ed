/* own_store.h - what a test may ask of a store's insides. */
#ifndef KIT_OWN_STORE_H
#define KIT_OWN_STORE_H

#include "proxy/cache/store_inside.h"

#include <time.h>

/* All that must be true of index and ledger; aborts otherwise. Nobody else may use the store
 * meanwhile. A store that was just opened may make room by itself: its jobs, which begin under the
 * lock, have ended first. */
static inline void
check_store(struct store *st)
{
	for (bool rests = false; !rests;) {
		pthread_mutex_lock(&st->lock);
		rests = store_is_idle(st);
		if (rests) {
			index_check(st->index);
			ledger_check(&st->ledger);
		}
		pthread_mutex_unlock(&st->lock);
		if (!rests)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

#endif
