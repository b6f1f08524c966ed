/* store_replaced.c - records that replaced older ones, and records that the index knows no more:
 * what is older than they are is not found again.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

void
store_forget_replaced(struct store *st, const char *table, uint32_t entries)
{
	uint64_t *list = mem_alloc((entries + (size_t)1) * sizeof *list);
	size_t n = 0;
	for (uint32_t i = 0; i < entries; i++) {
		struct entry e = entry_get(table, i);
		if (entry_is_record(&e) && e.what & ENTRY_REPLACES)
			list[n++] = e.hash_hi;
	}
	if (n && st->o.forget)
		st->o.forget(st->o.ctx, list, n, false);
	free(list);
}

static _Atomic uint64_t *
left_word(struct store *st, uint64_t hash_hi)
{
	return &st->left[hash_hi >> 6 & (STORE_LEFT_WORDS - 1)];
}

void
store_leaves_behind(struct store *st, uint64_t hash_hi)
{
	atomic_fetch_or_explicit(left_word(st, hash_hi), UINT64_C(1) << (hash_hi & 63),
				 memory_order_relaxed);
}

void
store_leaves_all_behind(struct store *st)
{
	for (size_t i = 0; i < STORE_LEFT_WORDS; i++)
		atomic_store_explicit(&st->left[i], UINT64_MAX, memory_order_relaxed);
}

void
store_may_return(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	st->unread.may_return = true;
	pthread_mutex_unlock(&st->lock);
	store_leaves_all_behind(st);
}

bool
store_may_be_left(struct store *st, uint64_t hash_hi)
{
	uint64_t word = atomic_load_explicit(left_word(st, hash_hi), memory_order_relaxed);
	return word >> (hash_hi & 63) & 1;
}
