/* budget.c - a bucket of tokens that is charged by those who write and corrected by what the disk
 * says. */
#include "proxy/cache/budget.h"

enum { SAVED_S = 2, LONGEST_PAUSE_MS = 10000 };

void
budget_init(struct budget *b, uint64_t bytes_per_s, unsigned saved_s, int64_t now_ms)
{
	*b = (struct budget){
		.rate = bytes_per_s, .saved_s = saved_s ? saved_s : SAVED_S, .filled_ms = now_ms};
	atomic_init(&b->left, (int64_t)bytes_per_s);
}

bool
budget_is_over(const struct budget *b)
{
	return b->rate && atomic_load_explicit(&b->left, memory_order_relaxed) <= 0;
}

void
budget_charge(struct budget *b, int64_t bytes)
{
	if (!b->rate)
		return;
	atomic_fetch_sub_explicit(&b->left, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&b->charged, bytes, memory_order_relaxed);
}

void
budget_fill(struct budget *b, int64_t now_ms, uint64_t written)
{
	int64_t passed = now_ms - b->filled_ms;
	if (!b->rate || passed <= 0)
		return;
	b->filled_ms = now_ms;
	int64_t uncharged = (int64_t)written - atomic_load(&b->charged);
	if (uncharged > 0)
		budget_charge(b, uncharged);
	/* A clock that jumped, or a machine that slept, fills the bucket and no more. */
	passed = passed < LONGEST_PAUSE_MS ? passed : LONGEST_PAUSE_MS;
	int64_t most = (int64_t)(b->saved_s * b->rate), left = atomic_load(&b->left);
	int64_t more = (int64_t)(b->rate * (uint64_t)passed / 1000);
	more = more < most - left ? more : most - left;
	if (more > 0)
		atomic_fetch_add(&b->left, more);
}
