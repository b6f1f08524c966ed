/* lately.h - what became of the last requests: of some thousand keys, for who asks why.
 *
 * A key takes the place of another one whose hash falls together with its own. A slot is two words,
 * the first made of the key and the second, so that a reader who comes between their writing finds
 * nothing.
 *
 * Threads   note: the worker that owns it; find: any.
 */
#ifndef SERVE_LATELY_H
#define SERVE_LATELY_H

#include "filter/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LATELY_SLOTS = 2048 };

struct lately { /* zeroed: nothing is known */
	struct {
		_Atomic uint64_t check, word;
	} slots[LATELY_SLOTS];
};

struct lately_found {
	int64_t at_s; /* unix time */
	int status;
	unsigned verdict, answer; /* enum admission, enum answer */
	unsigned judged;	  /* enum storable: of the origin's answer */
};

static inline void
lately_note(struct lately *l, struct twice_key_hash key, struct lately_found f)
{
	uint64_t word = (uint64_t)f.at_s << 32 | (uint64_t)(f.judged & 0x3f) << 26 |
			(uint64_t)(f.status & 0x3ff) << 16 | (f.verdict & 0xff) << 8 |
			(f.answer & 0xff);
	unsigned i = key.lo % LATELY_SLOTS;
	atomic_store_explicit(&l->slots[i].word, word, memory_order_relaxed);
	atomic_store_explicit(&l->slots[i].check, key.hi ^ word, memory_order_relaxed);
}

/* The last request for the primary key. False: it is not known any more, or there was none. */
bool lately_find(const struct lately *l, struct twice_key_hash key, struct lately_found *out);

#endif
