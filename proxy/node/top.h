/* top.h - GET /top: the hottest URLs and hosts now, and whose bytes are refused and written.
 *
 * Threads   any.
 */
#ifndef NODE_TOP_H
#define NODE_TOP_H

#include "proxy/node/worker.h"

/* Appends JSON: of each table at most 20 names. */
void top_json(struct worker *workers, unsigned worker_count, struct buf *out);

#endif
