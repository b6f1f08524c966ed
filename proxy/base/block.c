/* block.c - one allocation per block, freed by the last reader. */
#include "proxy/base/block.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

struct block *
block_create(uint32_t cap)
{
	struct block *b = mem_alloc(sizeof *b + cap);
	atomic_init(&b->refs, 1);
	b->n = 0;
	b->cap = cap;
	return b;
}

struct block *
block_ref(struct block *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void
block_unref(struct block **b)
{
	struct block *old = *b;
	*b = NULL;
	if (old && atomic_fetch_sub_explicit(&old->refs, 1, memory_order_acq_rel) == 1)
		free(old);
}
