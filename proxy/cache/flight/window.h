/* window.h - the bytes of one body between the one who brings them and those who read them: what is
 * held, where each reader is, and what may be let go.
 *
 *	        base                                        total
 *	          |  piece  |  piece  |  piece  |  open piece |
 *	readers:       2         0         1           5          ahead: at the end of a full piece
 *
 * Each piece counts the readers that are in it, so nothing here looks at all readers: a move is two
 * additions, and the slowest is in the first piece, once those before it are let go.
 *
 * Memory    blocks are counted references; *held, if given, is kept at the bytes allocated.
 * Threads   none of its own: the caller holds a lock.
 */
#ifndef CACHE_WINDOW_H
#define CACHE_WINDOW_H

#include "proxy/base/block.h"

#include <stdbool.h>

struct piece {
	uint64_t at; /* of its first byte, in the body */
	struct block *block;
	unsigned readers;
};

struct window {
	struct piece *pieces; /* a deque in an array: count of them from pieces[first] */
	unsigned first, count, cap;
	uint64_t number; /* of pieces[first]; the body's first piece is number 1 */
	unsigned ahead;	 /* readers that wait for the piece that will come next */
	uint64_t base;	 /* offset of the first byte held */
	uint64_t total;	 /* offset behind the last byte that came */
	_Atomic uint64_t *held;
	struct block *spare; /* owned: to be the next piece of at most its size; or NULL */
};

struct mark {		/* where a reader is */
	uint64_t piece; /* its number; 0: at none */
};

/* The body begins at this offset (0, but for the rest of a body). held may be NULL. */
void window_init(struct window *w, uint64_t at, _Atomic uint64_t *held);
void window_fini(struct window *w); /* no reader may be left but those that were left behind */

/* The array for the pieces may outlive the window: lent to an empty one,
 * taken back before its end. */
void window_lend(struct window *w, struct piece **pieces, unsigned *cap);
void window_take_back(struct window *w, struct piece **pieces, unsigned *cap);

/* A block may outlive it as well: lent for the next piece that it is large enough for (the
 * reference is taken), and the first piece's given back before the end of a window, if nobody else
 * has it: else NULL. */
void window_lend_block(struct window *w, struct block **b);
struct block *window_take_block(struct window *w);

/* A reader comes, at base; is at `at` from now on; goes. */
void window_enter(struct window *w, struct mark *m);
void window_move(struct window *w, struct mark *m, uint64_t at);
void window_leave(struct window *w, struct mark *m);
/* It was left behind: what it would read next is gone. */
bool window_lost(const struct window *w, const struct mark *m);

/* Copies up to n bytes behind total, into the open piece or a new one of cap bytes. The block is
 * borrowed, *at is where in it the *got bytes are. */
struct block *
window_add(struct window *w, const char *p, size_t n, uint32_t cap, uint32_t *at, uint32_t *got);

/* Lets go of the pieces in front in which no reader is; never of the last one, which holds what
 * window_add returned: whoever brings the bytes still looks at it. */
void window_trim(struct window *w);
/* After window_trim: bytes from the start of the slowest reader's piece to total; 0: there is
 * nobody, or all are in the open piece or behind it. */
uint64_t window_behind(const struct window *w);
/* Lets go of the first piece though readers are in it; returns how many are left behind. */
unsigned window_shed(struct window *w);

/* The piece that holds the byte at base <= at < total. */
const struct piece *window_find(const struct window *w, uint64_t at);

#endif
