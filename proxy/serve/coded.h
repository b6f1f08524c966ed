/* coded.h - an answer on its way from its origin to a client that takes a coding: coded as it comes, in pieces, so that a
 * body of any size needs the memory of an encoder and of a piece.
 *
 * It lies over body_pull: the body itself stays what it is, plain, with its source, its ranges and its ends. When that
 * says LATER all that was taken is flushed before anybody waits, so that the client has what is here. A body that is
 * cut ends without the end of its coding: nobody takes it for whole.
 *
 * A worker codes so much of each body in a round of its loop, and goes on by a letter: others have their turn.
 *
 * Strength  br 3, gzip 5 and zstd 3. Pages and JSON of 128 KiB and 1 MiB become 23 to 26% by each, at 145 to 170, 50 to 73
 *           and 348 to 487 MB/s. br 4 makes 2 to 3% less of them (of 2 KiB up to 7), with twice the memory and 1.4 times
 *           the work; gzip 6 takes 1.4 to 2 times the time of 5 for 3 to 6%. A flush behind each 16 KiB costs 2% at most
 *           (bench/results/coding.txt).
 * Memory    pieces hold until the next coded_pull.
 * Threads   its transaction's worker. News comes as t->wake. One whose letter is under way when it is left frees itself
 *           when that comes.
 */
#ifndef SERVE_CODED_H
#define SERVE_CODED_H

#include "proxy/serve/txn.h"

/* Of the encoders of all bodies that are coded at a time (share.h): beyond that, answers go plain. Slow clients could hold
 * any number. */
enum { CODED_BYTES_MOST = 128 << 20 };

struct coded;

/* Begins t->body.coded. False: there is no room, and the body stays plain. */
bool coded_begin(struct txn *t, enum coding c);
void coded_end(struct coded **c);

/* As body_pull, of t->body; ctx is the body. The length of what comes is not known. */
stream_pull_fn coded_pull;

#endif
