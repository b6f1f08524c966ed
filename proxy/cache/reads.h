/* reads.h - one read from the disk for all who want the same bytes while it is under way.
 *
 * Who finds a read of the same place under way waits for it, and is finished by the thread that
 * reads. A crowd that asks for one cold object costs one read.
 *
 * Threads   any; a lock per shard, held for some instructions.
 * Memory    jobs are embedded in the caller's; at most READS_MOST wait for one read.
 */
#ifndef CACHE_READS_H
#define CACHE_READS_H

#include "proxy/cache/store/diskio.h"
#include "proxy/cache/store/segment.h"

#include <stdbool.h>

enum { READS_MOST = 1000 };

struct reads;

struct read_job {
	struct diskio_job job; /* first */
	struct locator at;
	unsigned disk; /* where that is */
	uint64_t part; /* of an object, from 1 on: its record and that part of it; 0: a fragment */
	/* Tells the asker, by letter, that it takes too long. From then on everything that is the
	 * asker's is taboo. */
	void (*give_up)(struct read_job *j);
	/* Set when that was called; constant once the read is done. */
	bool given_up;
	/* private: */
	int64_t since_ms;
	struct read_job *next; /* in the table, or of the same waiting list */
	struct read_job *waiting;
	unsigned waiting_n;
};

struct reads *reads_create(void);
void reads_destroy(struct reads **r);

/* True: j waits for a read that is under way. Else it is under way itself,
 * and the caller posts it. */
bool reads_join(struct reads *r, struct read_job *j);
/* The read is done, and nobody joins any more. Those who did, in a list by next, are the caller's
 * to finish. */
struct read_job *reads_end(struct reads *r, struct read_job *j);

/* Gives up all that wait since before this time. A bit for each disk that has any, now or from an
 * earlier call: it hangs. */
uint32_t reads_give_up(struct reads *r, int64_t before_ms);

#endif
