/* budget.h - how many bytes may still be written to disk now: one bucket of tokens, one token a
 * byte.
 *
 * It fills at its rate, up to what saved_s seconds bring, and is charged when bytes are written. A
 * write is let go while anything is left and may overdraw it, so that objects larger than the
 * bucket are written too; the debt is paid off before the next. Over any time the bytes written are
 * at most rate * time + saved_s seconds' worth + one object for each writer at once. A budget by the
 * second saves up two of them; one by the day an hour, for a day's requests do not come evenly.
 *
 * Threads   any, without locks; fill from one.
 */
#ifndef CACHE_BUDGET_H
#define CACHE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct budget {
	_Atomic uint64_t rate; /* bytes a second; 0: no bound */
	_Atomic unsigned saved_s;
	_Atomic bool begins; /* there was no bound before: what was written until now is free */
	_Atomic int64_t left;
	_Atomic int64_t charged; /* all in all */
	int64_t filled_ms;
};

/* saved_s 0: two. */
void budget_init(struct budget *b, uint64_t bytes_per_s, unsigned saved_s, int64_t now_ms);
/* Another bound from now on. One thread at a time. */
void budget_settle(struct budget *b, uint64_t bytes_per_s, unsigned saved_s);
bool budget_is_over(const struct budget *b);
void budget_charge(struct budget *b, uint64_t bytes);
/* Some ten times a second or so. written: all bytes that went to the disk since budget_init; what
 * nobody was charged for (records carried over, heads, tables, snapshots) is charged here. */
void budget_fill(struct budget *b, int64_t now_ms, uint64_t written);

#endif
