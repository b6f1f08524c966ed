/* read_inside.h - what read.c (records) and object_read.c (bodies) share: bytes of the disk that were
 * checked.
 *
 * Memory    a reader holds references to the last record and fragment it waited for, until read_fini.
 * Threads   a reader is one thread's.
 */
#ifndef CACHE_READ_INSIDE_H
#define CACHE_READ_INSIDE_H

#include "proxy/cache/cache_inside.h"

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

#endif
