/* read_inside.h - what read.c (records) does for cache_lookup.c, and shares with object_read.c
 * (bodies): bytes of the disk that were checked.
 *
 * Memory    a reader holds references to the last record and fragment it waited for, until read_fini.
 * Threads   a reader is one thread's.
 */
#ifndef CACHE_READ_INSIDE_H
#define CACHE_READ_INSIDE_H

#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_lookup.h"

enum outcome {
	OUTCOME_DONE,
	OUTCOME_LATER,
	OUTCOME_MISS,
	OUTCOME_FORGOTTEN,
	OUTCOME_LOST,
	OUTCOME_DAMAGED
};

/* Reads, and remembers what it read for others who want the same: a record and a fragment. */
struct reader {
	struct store *st;
	bool waits; /* else only what needs no waiting */
	struct locator record_at, fragment_at;
	struct block *record, *fragment; /* references */
};

void read_fini(struct reader *r);
/* A fragment of a body in several pieces, whose segments stay: checked, and it need not be soon again.
 * *out is set when the outcome is DONE. */
enum outcome read_leased(struct reader *rd, const struct fragment *f, struct block **out);

/* The part of cache_lookup that is on disk. */
enum found read_object(struct cache *c, struct cache_lookup *l, struct twice_key_hash hash,
		       struct str key, struct object **out);
/* The same for who only wants to know: waits for the disk, and leaves everything as it is. */
struct object *read_look(struct cache *c, struct twice_key_hash hash, struct str key);

#endif
