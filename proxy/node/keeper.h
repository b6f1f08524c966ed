/* keeper.h - a thread for what happens now and then and may take long: the sightings' tick, snapshots.
 */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "proxy/serve/shelves.h"

struct keeper;

/* -1: there is no thread to be had. The shelves are borrowed until keeper_stop. */
int keeper_start(struct keeper **out, struct shelves *sh);
void keeper_stop(struct keeper **k); /* returns when it is gone */

/* While the cache is open: what was learnt beside it is saved. */
void keeper_save(struct shelves *sh);

#endif
