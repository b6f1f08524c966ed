/* alarm.c - a hierarchical timing wheel (Varghese and Lauck, 1987): an alarm lies in the list of
 * the coarsest slot that still tells it from now, and moves to finer ones as its time comes near.
 *
 *	level 0   64 slots of 16 ms     due within the second
 *	level 1   64 slots of 1 s       ... the minute (65 s)
 *	level 2   64 slots of 65 s      ... the hour (70 min)
 *	level 3   64 slots of 70 min    ... three days, and everything later
 */
#include "proxy/base/alarm.h"

#include <assert.h>
#include <string.h>

enum { SLOT_BITS = 6, SLOT_MASK = ALARM_SLOTS - 1 };
#define FARTHEST (((int64_t)1 << SLOT_BITS * ALARM_LEVELS) - 1)

static void
put(struct alarm **list, struct alarm *a)
{
	a->next = *list;
	a->prev = list;
	if (a->next)
		a->next->prev = &a->next;
	*list = a;
}

static void
take(struct alarm *a)
{
	*a->prev = a->next;
	if (a->next)
		a->next->prev = a->prev;
	a->prev = NULL;
}

static void
place(struct alarms *as, struct alarm *a)
{
	int64_t at = a->due - as->now > FARTHEST ? as->now + FARTHEST : a->due;
	unsigned level = 0;
	while (level + 1 < ALARM_LEVELS && at - as->now >= (int64_t)1 << SLOT_BITS * (level + 1))
		level++;
	put(&as->slots[level][at >> SLOT_BITS * level & SLOT_MASK], a);
}

void
alarm_init(struct alarms *as, int64_t now_ms)
{
	memset(as, 0, sizeof *as);
	as->now = now_ms / ALARM_GRAIN_MS;
}

void
alarm_set(struct alarms *as, struct alarm *a, int64_t at_ms, alarm_ring_fn *ring)
{
	alarm_cancel(as, a);
	int64_t due = (at_ms + ALARM_GRAIN_MS - 1) / ALARM_GRAIN_MS;
	a->due = due > as->now ? due : as->now + 1;
	a->ring = ring;
	as->count++;
	place(as, a);
}

void
alarm_cancel(struct alarms *as, struct alarm *a)
{
	if (!a->prev)
		return;
	assert(as->count > 0);
	as->count--;
	take(a);
}

/* The alarms of one slot of a level find their places anew. */
static void
spread(struct alarms *as, unsigned level)
{
	struct alarm **slot = &as->slots[level][as->now >> SLOT_BITS * level & SLOT_MASK];
	struct alarm *list = *slot;
	*slot = NULL;
	while (list) {
		struct alarm *a = list;
		list = a->next;
		place(as, a);
	}
}

/* One grain on: coarser levels first, so that their alarms for this grain are here. */
static unsigned
turn(struct alarms *as)
{
	unsigned rang = 0, level = 1;
	as->now++;
	while (level < ALARM_LEVELS && (as->now & (((int64_t)1 << SLOT_BITS * level) - 1)) == 0)
		level++;
	while (--level > 0)
		spread(as, level);
	struct alarm **slot = &as->slots[0][as->now & SLOT_MASK];
	as->ringing = *slot;
	*slot = NULL;
	if (as->ringing)
		as->ringing->prev = &as->ringing;
	while (as->ringing) {
		struct alarm *a = as->ringing;
		assert(a->due <= as->now);
		alarm_cancel(as, a);
		a->ring(a);
		rang++;
	}
	return rang;
}

unsigned
alarm_run(struct alarms *as, int64_t now_ms)
{
	int64_t until = now_ms / ALARM_GRAIN_MS;
	unsigned rang = 0;
	while (as->now < until) {
		if (as->count == 0) {
			as->now = until;
			break;
		}
		rang += turn(as);
	}
	return rang;
}
