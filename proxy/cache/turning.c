/* turning.c - counts what a generation admitted, and ends it when that is a tenth of a turn. */
#include "proxy/cache/turning.h"

#include "proxy/cache/turn.h"

/* One may have begun because the one before was full. */
static void
notice(struct turning *t)
{
	uint64_t number = twice_filter_number(t->filter);
	if (number == t->number && t->began)
		return;
	t->began = true;
	t->number = number;
	t->admitted = 0;
	t->born_s = t->now_s;
}

static void
turn(struct turning *t)
{
	notice(t);
	if (!turn_is_over(t->turn_bytes, t->admitted, t->now_s - t->born_s))
		return;
	if (t->turn_bytes)
		twice_filter_try_rotate(t->filter, t->number);
	else
		twice_filter_rotate(t->filter, t->now_s);
	notice(t);
}

void
turning_tick(struct turning *t, int64_t now_s)
{
	t->now_s = now_s;
	turn(t);
}

void
turning_charge(struct turning *t, uint64_t bytes, uint64_t turn_bytes)
{
	notice(t);
	t->admitted += (int64_t)bytes;
	t->turn_bytes = turn_bytes;
	turn(t);
}
