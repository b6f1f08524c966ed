/* cache_digest.h - what is on the disks, as a filter that can be sent to another cache (filter/family/digest.h).
 *
 * Threads   any but workers: it takes some 50 ns for each object, and holds a part of an index for a moment.
 */
#ifndef CACHE_CACHE_DIGEST_H
#define CACHE_CACHE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct cache;
struct twice_digest;

/* Of the upper so many bits of each key's hash.hi; the others are 0. */
enum { CACHE_DIGEST_HASH_BITS = 46 };

/* So many bits for each object, or fewer where that were more than most_bytes in all. NULL: nothing can be answered from the
 * disks now, there is no memory, or there are too many objects. The caller's to destroy. */
struct twice_digest *cache_digest(struct cache *c, double bits_per_object, size_t most_bytes);

#endif
