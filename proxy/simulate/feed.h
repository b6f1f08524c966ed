/* feed.h - logs as batches of visits, made by a thread of its own while the one before is worked
 * on.
 *
 * Threads   one reader. The catalogue and the screen are the feed's until it has ended or is
 * closed.
 */
#ifndef SIMULATE_FEED_H
#define SIMULATE_FEED_H

#include "proxy/simulate/merge.h"
#include "proxy/simulate/screen.h"

enum { FEED_BATCH = 4096 };

struct feed_batch {
	struct visit visits[FEED_BATCH];
	size_t n;
	struct catalogue_sample sample; /* of the catalogue when it made them */
};

struct feed;

/* All borrowed; at most so many entries. NULL: no thread can be started. */
struct feed *feed_open(struct merge *m, struct screen *s, struct catalogue *c, uint64_t most);
/* How many entries it took, also those of batches that nobody asked for. */
uint64_t feed_close(struct feed **f);

/* The next batch, until the next call; NULL at the end, or when the log cannot be read on. */
const struct feed_batch *feed_next(struct feed *f);
bool feed_failed(const struct feed *f);
uint64_t feed_entries(const struct feed *f); /* so far; any thread */

#endif
