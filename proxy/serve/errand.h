/* errand.h - work for a request that is under way on another thread, and comes home as a letter. It begins what its
 * file allocates, and outlives the request when the client leaves.
 */
#ifndef SERVE_ERRAND_H
#define SERVE_ERRAND_H

#include <stdbool.h>

struct txn;

struct errand {
	struct txn *t; /* NULL: it has left */
	bool done;
};

/* The letter is here: the request looks again. If it has left, e is freed. */
void errand_done(struct errand *e);
/* The request is over, perhaps before the letter is here. */
void errand_end(struct txn *t);

#endif
