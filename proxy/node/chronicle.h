/* chronicle.h - the history (admin/history.h) of this node: told once a second what the proxy
 * reports, restored at start, saved as the file "history" beside the cache.
 *
 * Threads   tick and save from the keeper, and before it begins and after it ended; the rest from
 *           any.
 */
#ifndef NODE_CHRONICLE_H
#define NODE_CHRONICLE_H

#include "proxy/admin/history.h"
#include "proxy/admin/judge.h"

struct cache;
struct chronicle;

/* Restores what was saved, or begins empty with a warning that says why. */
struct chronicle *chronicle_create(struct cache *c);
void chronicle_destroy(struct chronicle **ch);
struct history *chronicle_history(struct chronicle *ch);
struct judge *chronicle_judge(struct chronicle *ch); /* of the same seconds */

/* From here on report says what has been counted; what comes later is news. */
void
chronicle_begin(struct chronicle *ch, void (*report)(void *ctx, struct report *out), void *ctx);
void chronicle_tick(struct chronicle *ch);
/* If it began, there is a directory and something new; a warning when that fails. */
void chronicle_save(struct chronicle *ch);

#endif
