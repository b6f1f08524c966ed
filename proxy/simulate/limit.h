/* limit.h - how much could any cache of this size hit? A bound that no cache exceeds, the
 * clairvoyant one included.
 *
 * From one request for an object to the next one, a cache that answers the second one holds its
 * bytes; it has so many bytes for so many requests, and no more. Those that cost least are taken
 * until that is used up (PFOO-U of Berger, Beckmann, Harchol-Balter: Practical Bounds on Optimal
 * Caching with Variable Object Sizes, 2018). Hits and bytes are two bounds: no one cache may reach
 * both. A histogram stands for the order, a step of it for 2% of the cost, and is taken at its lower
 * end.
 *
 * Memory    constant.
 */
#ifndef SIMULATE_LIMIT_H
#define SIMULATE_LIMIT_H

#include "proxy/simulate/visit.h"

struct limit;

struct limit *limit_create(void);
void limit_destroy(struct limit **l);
/* weight: how many visits it stands for. */
void limit_see(struct limit *l, const struct visit *v, double weight);
/* Of so many visits in all: how many, and with how many of the bytes sent, can be hits at most? */
void
limit_find(const struct limit *l, double cache_bytes, double visits, double *hits, double *bytes);

#endif
