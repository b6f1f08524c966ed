/* keeper.h - a thread for what happens now and then and may take long: the sightings' tick, the
 * history, snapshots.
 */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "proxy/node/chronicle.h"
#include "proxy/serve/shelves.h"

struct keeper;

/* -1: there is no thread to be had. Shelves and chronicle are borrowed until keeper_stop. */
int keeper_start(struct keeper **out, struct shelves *sh, struct chronicle *ch);
void keeper_stop(struct keeper **k); /* returns when it is gone */

/* While the cache is open: what was learnt beside it is saved. */
void keeper_save(struct shelves *sh, struct chronicle *ch);

#endif
