/* explain.h - why is this URL (not) on disk, and what would a request for it do now?
 *
 * The request is made as a client would send it, read by the parser of real requests, and taken the
 * same way: route, key, what is stored, whether that may be used, what the rule of admission says.
 * Nothing is asked of an origin, and nothing is recorded, counted or moved.
 *
 * Threads   any but workers': it may wait for the disk.
 */
#ifndef NODE_EXPLAIN_H
#define NODE_EXPLAIN_H

#include "proxy/admin/admin.h"
#include "proxy/node/worker.h"

/* Appends JSON to out. NULL, or a sentence that says why the question makes no sense. */
const char *
explain_url(const struct shelves *sh, const struct settings *settings, const struct worker *workers,
	    unsigned worker_count, const struct explain_order *o, struct buf *out);

#endif
