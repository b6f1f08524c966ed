/* cache_variants.h - how many variants of a URL stay (siblings.h).
 *
 * Threads   any worker.
 */
#ifndef CACHE_CACHE_VARIANTS_H
#define CACHE_CACHE_VARIANTS_H

#include "filter/hash.h"

struct cache;

/* The variant of the URL with this primary hash was stored; of more than `most` the least used go,
 * from RAM and from the disk's index. */
void cache_variant_stored(struct cache *c, struct twice_key_hash primary,
			  struct twice_key_hash variant, unsigned most);
/* It answered. After a restart that counts it among the URL's variants again. */
void cache_variant_used(struct cache *c, struct twice_key_hash primary,
			struct twice_key_hash variant, unsigned most);

#endif
