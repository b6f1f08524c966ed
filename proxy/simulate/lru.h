/* lru.h - the plain cache that other simulators know: objects by size, the least recently used
 * goes, nothing else takes room. For comparisons; the proxy's own eviction is cache/ghost/ghost.h.
 *
 * Memory    as many rows as objects fit; beyond most_rows a sample of keys, as the ghost does.
 */
#ifndef SIMULATE_LRU_H
#define SIMULATE_LRU_H

#include "proxy/cache/ghost/ghost.h"

struct lru;

struct lru *lru_create(uint64_t bytes, uint32_t most_rows);
void lru_destroy(struct lru **l);

/* Keeps a sample of at most one in 2^halvings. */
void lru_thin(struct lru *l, unsigned halvings);
/* As ghost_see and ghost_forget, of which it takes the same facts. */
struct ghost_did lru_see(struct lru *l, const struct ghost_event *e);
void lru_forget(struct lru *l, uint64_t key);
uint64_t lru_memory(const struct lru *l);
double lru_share(const struct lru *l); /* of the keys that are in the sample */

#endif
