/* passes.h - a bounded memory of keys whose answers could not be shared, so that the next requests
 * for them do not queue behind one another but fetch in parallel.
 *
 * A table of fixed size: a newer key may push out an older one, which costs at most one queue.
 * Threads   any, lock-free.
 */
#ifndef SERVE_PASSES_H
#define SERVE_PASSES_H

#include "filter/hash.h"

#include <stdbool.h>

struct passes;

struct passes *passes_create(void);
void passes_destroy(struct passes **p);
void passes_remember(struct passes *p, struct twice_key_hash key, int64_t until_s);
void passes_forget(struct passes *p, struct twice_key_hash key);
bool passes_has(const struct passes *p, struct twice_key_hash key, int64_t now_s);

#endif
