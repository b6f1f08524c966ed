/* rests.h - keys whose refresh has failed: for a while nobody asks the origin for them again, and who comes is
 * answered with the stale copy.
 *
 * A rest is a second after the first failure, and twice as long after each further one, up to four. When it
 * is over one request may ask, and the others rest on until that has failed or not.
 *
 * A table of fixed size: a newer key may push out an older one, which costs one question.
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Threads   any, lock-free.
 */
#ifndef SERVE_RESTS_H
#define SERVE_RESTS_H

#include "filter/hash.h"

#include <stdbool.h>

struct rests;

struct rests *rests_create(void);
void rests_destroy(struct rests **r);
/* The refresh has failed. */
void rests_begin(struct rests *r, struct twice_key_hash key, int64_t now_ms);
/* It has not. */
void rests_end(struct rests *r, struct twice_key_hash key);
/* Whether the key rests; if not, whoever asks this is the one to ask the origin. */
bool rests_has(struct rests *r, struct twice_key_hash key, int64_t now_ms);

#endif
