/* ration.h - a share of one core, saved up and spent: which strength a body may be packed with. (The budget of
 * cache/admission/budget.h is of bytes written.)
 *
 * Time that passes earns time of a processor, the share of it; a body that is taken on pays in advance, by
 * what its bytes are known to cost, and is settled when it is done. Of what is saved up at most (the
 * share of a window), the upper half is for brotli, all of it for zstd, which costs a fifth: so a
 * load that brotli cannot keep up with is packed by both, one beyond that by zstd alone, and what is left of
 * it not at all. Within any window it is no more than twice its share, and the share in the long run.
 *
 * Pure arithmetic: the clock is an argument.
 *
 * Units     us of a monotonic clock, ns of a processor, ps a byte; ppm: 50,000 are 5% of a core.
 * Threads   the caller's lock.
 */
#ifndef CODING_RATION_H
#define CODING_RATION_H

#include <stddef.h>
#include <stdint.h>

enum strength {
	STRENGTH_BEST,	/* brotli 5 */
	STRENGTH_QUICK, /* zstd 3 */
	STRENGTH_NONE	/* there is no budget */
};
enum { STRENGTHS = STRENGTH_NONE, RATION_WINDOW_S = 10 };

struct ration {
	uint32_t share_ppm;
	int64_t most_ns; /* that may be saved up */
	int64_t left_ns; /* below 0: a debt */
	int64_t at_us;	 /* until then it has earned */
	int64_t cost_ps[STRENGTHS];
};

/* All of a window is saved up at first. share_ppm 0: nothing may be packed. */
void ration_init(struct ration *b, uint32_t share_ppm, int64_t now_us);

/* Another share from now on: of what was saved up stays what fits into its window; behind a share of 0 all of it is. */
void ration_change(struct ration *b, uint32_t share_ppm, int64_t now_us);

/* A body of so many bytes: the strength that it may have, and what was paid for it. NONE: nothing. A clock
 * that is behind the last one earns nothing. */
enum strength ration_take(struct ration *b, size_t bytes, int64_t now_us, int64_t *paid_ns);

/* It took used_ns instead of paid_ns; the next one pays by what is learned of that. */
void
ration_settle(struct ration *b, enum strength s, size_t bytes, int64_t paid_ns, int64_t used_ns);

#endif
