/* alarm.h - many timers on one thread: a wheel of lists, with the time as an argument.
 *
 * Setting and cancelling cost the same however many are set, and neither allocates: an alarm is
 * embedded in the struct that waits. The owner of the wheel calls alarm_run now and then (a
 * worker does so on its tick); between two calls nothing rings.
 *
 * Units     milliseconds of a monotonic clock (now_ms).
 * Exactness never early; late by at most ALARM_GRAIN_MS and the time between two calls of alarm_run.
 * Memory    an alarm belongs to the wheel while it is set: cancel it before its memory goes. A zeroed
 *           alarm is one that is not set.
 * Threads   a wheel and its alarms live on one thread.
 */
#ifndef BASE_ALARM_H
#define BASE_ALARM_H

#include <stdbool.h>
#include <stdint.h>

enum { ALARM_GRAIN_MS = 16, ALARM_LEVELS = 4, ALARM_SLOTS = 64 };

struct alarm;
typedef void alarm_ring_fn(struct alarm *a); /* may set and cancel any alarm, and free its own */

struct alarm {
	struct alarm *next, **prev; /* prev NULL: not set */
	int64_t due;		    /* in grains */
	alarm_ring_fn *ring;
};

struct alarms {
	int64_t now; /* in grains: everything due until here has rung */
	unsigned count;
	/* A slot of level n is 64^n grains long; level 3 reaches three days, what is due later
	 * waits there and is looked at again. */
	struct alarm *slots[ALARM_LEVELS][ALARM_SLOTS];
	struct alarm *ringing; /* taken off the wheel by the call of alarm_run under way */
};

void alarm_init(struct alarms *as, int64_t now_ms);
/* Rings once, at at_ms or soon after; what was set before is forgotten. A time that has passed
 * rings in the next alarm_run, also when set from within a ring. */
void alarm_set(struct alarms *as, struct alarm *a, int64_t at_ms, alarm_ring_fn *ring);
void alarm_cancel(struct alarms *as, struct alarm *a); /* harmless when it is not set */
static inline bool
alarm_is_set(const struct alarm *a)
{
	return a->prev != 0;
}
/* Rings the alarms that are due, earlier grains first; returns how many rang. */
unsigned alarm_run(struct alarms *as, int64_t now_ms);

#endif
