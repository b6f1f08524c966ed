/* keeper.h - a thread for what happens now and then and may take long: the sightings' tick, the
 * history, snapshots.
 */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "proxy/node/chronicle.h"
#include "proxy/serve/shelves.h"

#include <stdbool.h>
#include <stdint.h>

struct keeper;
struct membership;

/* -1: there is no thread to be had. All are borrowed until keeper_stop. */
int
keeper_start(struct keeper **out, struct shelves *sh, struct chronicle *ch, struct membership *m);
/* Returns when it is gone: that is, for as long as a disk hangs, when a disk hangs. */
void keeper_stop(struct keeper **k);

/* How long somebody waits for what the keeper does, and what makes him wait no longer. */
struct keeper_patience {
	int64_t limit_ms;
	bool (*is_over)(void *ctx); /* asked now and then; NULL: nothing does */
	void *ctx;
};
/* Every directory has taken a write, what takes longest is saved, and from here on it does nothing by itself. False:
 * not in time; it goes on as before, as soon as the disk lets it. */
bool keeper_rest(struct keeper *k, const struct keeper_patience *p);
/* While it rests: the last of what was learnt is saved; false: not in time. */
bool keeper_save_last(struct keeper *k, const struct keeper_patience *p);
void keeper_work(struct keeper *k); /* it rests no more */
/* Each second deed(ctx) is called on its thread, also while it rests, until that is true: it has seen what it looked
 * for. One at a time; ctx is freed then. */
typedef bool keeper_look_fn(void *ctx);
void keeper_look(struct keeper *k, keeper_look_fn *deed, void *ctx);
bool keeper_looks(struct keeper *k);

/* While the cache is open: what was learnt beside it is saved. */
void keeper_save(struct shelves *sh, struct chronicle *ch, struct membership *m);

#endif
