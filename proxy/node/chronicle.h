/* chronicle.h - the history (admin/history.h) beside a cache: restored at start, saved as the file
 * "history" in its directory.
 *
 * Threads   add and save from the keeper (and once at the end); the history itself from any.
 */
#ifndef NODE_CHRONICLE_H
#define NODE_CHRONICLE_H

#include "proxy/admin/history.h"
#include "proxy/cache/cache.h"

/* Restores what was saved, or begins empty with a warning that says why. */
struct history *chronicle_open(struct cache *c);
/* If there is a directory and something new; a warning when that fails. */
void chronicle_save(struct history *h, struct cache *c);

#endif
