/* index.h - where is the object with this hash on disk? 12 bytes a slot, no pointers.
 *
 * Per shard an array ordered by tag: an entry is at or behind the slot its tag points to, and
 * tags only grow along the array, so that a look ends at the first larger tag and an array of any
 * size is filled by one pass over the old one. Only the upper half of the hash is looked at, and
 * of that 46 bits: two keys that share them replace each other, and a look for one may find the
 * other. Whoever reads the record compares the key.
 *
 * Threads   any; a lock per shard.
 * Memory    13.7 to 17.2 bytes per object: between 7/10 and 7/8 full (bench/store.c counts it).
 */
#ifndef CACHE_INDEX_H
#define CACHE_INDEX_H

#include "proxy/cache/store/segment.h"

#include <stdbool.h>
#include <stdint.h>

struct index;

enum { INDEX_GENERATION_MASK = 63, INDEX_MAX_HITS = 3, INDEX_MAX_SEGMENTS = 1 << 16 };
enum { INDEX_HASH_BITS = 46 }; /* of hash_hi, that it knows: the upper ones */

void index_create(struct index **out);
void index_destroy(struct index **ix);

/* A locator's generation is here a code below INDEX_GENERATION_MASK + 1 that tells apart the
 * generations of one segment. Locators come out with bytes rounded up to RECORD_UNIT. */
bool index_find(struct index *ix, uint64_t hash_hi, struct locator *out);
/* As index_find, and counts a hit; *hits is the count before (at most INDEX_MAX_HITS). */
bool index_hit(struct index *ix, uint64_t hash_hi, struct locator *out, unsigned *hits);
/* How often it was hit, without counting; 0 when it is not there. */
unsigned index_hits(struct index *ix, uint64_t hash_hi, struct locator *out);
/* Enters at, without hits, over what was there; true if something was. */
bool index_put(struct index *ix, uint64_t hash_hi, const struct locator *at);
bool index_remove(struct index *ix, uint64_t hash_hi);
/* Removes only what still lies at the place. */
bool index_remove_at(struct index *ix, uint64_t hash_hi, const struct locator *at);

/* Of an index that is being filled while it is used, with what was written in some other order than it
 * is read: enters at, without hits, unless gives_way says no of what is there (it runs under a
 * shard's lock and must not call the index) or the key was buried. */
void index_load(struct index *ix, uint64_t hash_hi, const struct locator *at,
		bool (*gives_way)(void *ctx, const struct locator *there), void *ctx);
/* Removes the key (at: only what still lies there; NULL: anything), and keeps it from being loaded.
 * True: it was there. */
bool index_bury(struct index *ix, uint64_t hash_hi, const struct locator *at);
/* All is loaded: what was buried is forgotten. */
void index_unbury(struct index *ix);

/* Halves all hits, so that what was hit once is as if it was not. */
void index_fade(struct index *ix);

/* Removes all entries of one generation of a segment, but those for which keep says yes (NULL:
 * none). keep runs under a shard's lock and must not call the index. Returns how many went. */
struct index_entry {
	uint64_t hash_hi; /* the bits that the index knows; enough for all calls here */
	struct locator at;
	unsigned hits;
};
uint64_t index_sweep(struct index *ix, uint32_t segment, uint32_t generation,
		     bool (*keep)(void *ctx, const struct index_entry *e), void *ctx);

/* The hashes of all entries, as many at once as a shard has: see runs without a lock. What is entered or removed meanwhile
 * may be there or not. */
void index_list(struct index *ix, void (*see)(void *ctx, const uint64_t *hash_hi, size_t n),
		void *ctx);

uint64_t index_count(const struct index *ix);
uint64_t index_memory(const struct index *ix);
/* All that must be true while nobody changes the index; aborts otherwise. For tests. */
void index_check(struct index *ix);

#endif
