/* pieces.h - a body as the several runs of bytes in which it lies (blocks, a buf), in order.
 *
 * Memory    a view: neither the array nor the bytes are owned.
 */
#ifndef CODING_PIECES_H
#define CODING_PIECES_H

#include "proxy/base/str.h"

struct pieces {
	const struct str *at;
	size_t n;
};

/* A body that lies in one run; s is a variable. */
#define PIECES_OF(s) ((struct pieces){&(s), 1})

static inline size_t
pieces_bytes(const struct pieces *p)
{
	size_t bytes = 0;
	for (size_t i = 0; i < p->n; i++)
		bytes += p->at[i].n;
	return bytes;
}

#endif
