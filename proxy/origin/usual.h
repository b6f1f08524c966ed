/* usual.h - how long a server usually takes to begin an answer, so that no stranger's slow URLs can
 * say it for all.
 *
 * Each client and each URL has a place by its hash, and each place an estimate of the time within
 * which four of five of its answers begin. The usual time is the middle one of the clients', or of
 * the URLs' where that is less: whoever makes few of them slow does not move it.
 *
 * Units     microseconds.
 * Memory    of fixed size; all zero is a server that nothing is known of.
 * Threads   any, lock-free.
 */
#ifndef ORIGIN_USUAL_H
#define ORIGIN_USUAL_H

#include "proxy/origin/outlier.h"

enum { USUAL_PLACES = OUTLIER_PLACES, USUAL_SEVERAL = 3 };

struct usual {
	_Atomic uint32_t clients[USUAL_PLACES], urls[USUAL_PLACES]; /* 0: nothing is known */
};

/* An answer from that source began after us. */
void usual_learn(struct usual *u, struct source s, int64_t us);
/* 0: nothing is known. several: it is of three clients and three URLs at least, so that it may be
 * believed when it is long. */
int64_t usual_us(const struct usual *u, bool *several);
void usual_copy(struct usual *to, const struct usual *from);

#endif
