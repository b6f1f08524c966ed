/* budget.c - a bucket of tokens that is charged by those who write and corrected by what the disk
 * says. */
#include "proxy/cache/admission/budget.h"

#include <assert.h>

enum { SAVED_S = 2, LONGEST_SAVED_S = 3600, LONGEST_PAUSE_MS = 10000 };
/* No disk is as fast, and none of the products below can overflow. */
static const uint64_t RATE_MOST = UINT64_C(1) << 50;

static uint64_t
bounded(uint64_t bytes_per_s)
{
	return bytes_per_s < RATE_MOST ? bytes_per_s : RATE_MOST;
}

static unsigned
saved_or_default(unsigned saved_s)
{
	assert(saved_s <= LONGEST_SAVED_S);
	return saved_s ? saved_s : SAVED_S;
}

void
budget_init(struct budget *b, uint64_t bytes_per_s, unsigned saved_s, int64_t now_ms)
{
	*b = (struct budget){.filled_ms = now_ms};
	atomic_init(&b->rate, bounded(bytes_per_s));
	atomic_init(&b->saved_s, saved_or_default(saved_s));
	atomic_init(&b->left, (int64_t)bounded(bytes_per_s));
}

static uint64_t
rate_of(const struct budget *b)
{
	return atomic_load_explicit(&b->rate, memory_order_relaxed);
}

void
budget_settle(struct budget *b, uint64_t bytes_per_s, unsigned saved_s)
{
	uint64_t was = rate_of(b), rate = bounded(bytes_per_s);
	if (rate && !was) {
		atomic_store(&b->left, (int64_t)rate);
		atomic_store(&b->begins, true);
	}
	atomic_store(&b->saved_s, saved_or_default(saved_s));
	atomic_store(&b->rate, rate);
}

bool
budget_is_over(const struct budget *b)
{
	return rate_of(b) && atomic_load_explicit(&b->left, memory_order_relaxed) <= 0;
}

void
budget_charge(struct budget *b, uint64_t bytes)
{
	if (!rate_of(b))
		return;
	atomic_fetch_sub_explicit(&b->left, (int64_t)bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&b->charged, (int64_t)bytes, memory_order_relaxed);
}

void
budget_fill(struct budget *b, int64_t now_ms, uint64_t written)
{
	uint64_t rate = rate_of(b);
	int64_t passed = now_ms - b->filled_ms;
	if (!rate || !passed)
		return;
	b->filled_ms = now_ms;
	if (passed < 0) /* the clock was set back: from here on it fills again */
		return;
	if (atomic_exchange(&b->begins, false)) {
		atomic_store(&b->charged, (int64_t)written);
		return;
	}
	int64_t uncharged = (int64_t)written - atomic_load(&b->charged);
	if (uncharged > 0)
		budget_charge(b, (uint64_t)uncharged);
	/* A clock that jumped, or a machine that slept, fills the bucket and no more. */
	passed = passed < LONGEST_PAUSE_MS ? passed : LONGEST_PAUSE_MS;
	int64_t most = (int64_t)(atomic_load(&b->saved_s) * rate), left = atomic_load(&b->left);
	int64_t more = (int64_t)(rate * (uint64_t)passed / 1000);
	more = more < most - left ? more : most - left;
	if (more > 0)
		atomic_fetch_add(&b->left, more);
}
