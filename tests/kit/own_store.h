/* own_store.h - what a test may ask of a store's insides. */
#ifndef KIT_OWN_STORE_H
#define KIT_OWN_STORE_H

#include "proxy/cache/store/store_inside.h"
#include "tests/kit/unit.h"

static inline bool
store_rests_now(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool yes = store_is_idle(st) && !st->pending && atomic_load(&st->footers_bytes) == 0;
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* Behind a flush: until no job is under way and all footers are written, or could not be. If room is
 * wanted, it is made before. */
static inline void
await_rest(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	store_ask_for_room(st);
	pthread_mutex_unlock(&st->lock);
	unit_wait_until(store_rests_now(st));
}

static inline bool
store_has_room(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool yes = !st->preparing && (st->ledger.free > 0 || st->ledger.exist < st->ledger.limit);
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* Until a segment is at hand again, and nobody makes room for more, who may need it for what moves:
 * else one would be taken as it is, which loses some. */
static inline void
await_room(struct store *st)
{
	unit_wait_until(store_has_room(st));
}

static inline bool
store_was_checked(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool rests = store_is_idle(st);
	if (rests) {
		index_check(st->index);
		ledger_check(&st->ledger);
	}
	pthread_mutex_unlock(&st->lock);
	return rests;
}

/* All that must be true of index and ledger; aborts otherwise. Nobody else may use the store
 * meanwhile. A store that was just opened may make room by itself: its jobs, which begin under the
 * lock, have ended first. */
static inline void
check_store(struct store *st)
{
	unit_wait_until(store_was_checked(st));
}

#endif
