/* replay.h - a client that plays a mix against a proxy and checks every byte that comes back.
 *
 * Closed loop: each keep-alive connection takes the next request of the mix as soon as its last
 * answer is whole. A connection that the server closed between two requests is opened again, as
 * any client would; everything else that goes wrong is counted.
 *
 * Threads   its own; replay_counts and replay_is_done from any.
 */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "proxy/cli/demo/mix.h"

struct replay;

struct replay_options {
	const struct mix *mix; /* borrowed until replay_stop */
	unsigned port;	       /* of 127.0.0.1 */
	unsigned connections;  /* 0: 32 */
	unsigned threads;      /* 0: 1 */
	unsigned timeout_s;    /* without a byte; 0: 30 */
};

struct replay_counts {
	uint64_t answered;     /* whole answers, right or wrong */
	uint64_t hits;	       /* of those, hits by their Cache-Status */
	uint64_t body_bytes;   /* received */
	uint64_t hit_bytes;    /* of those, in answers that were hits */
	uint64_t wrong_bodies; /* 200 with a wrong length or a wrong byte */
	uint64_t failures;     /* no answer, a cut answer, another status */
};

/* 0, or -1 and a sentence. */
int replay_start(struct replay **out, const struct replay_options *o, char *err, size_t err_bytes);
void replay_counts(const struct replay *r, struct replay_counts *out);
bool replay_is_done(const struct replay *r);
/* Ends the threads, in the middle of the mix if need be. */
void replay_stop(struct replay **r);

/* The first failure, as a sentence; "" when there was none. After replay_is_done. */
const char *replay_complaint(const struct replay *r);

#endif
