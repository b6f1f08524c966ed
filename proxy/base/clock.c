/* clock.c - the coarse clocks cost a few nanoseconds, the exact one some tens. */
#include "proxy/base/clock.h"

#include <stdbool.h>

static int64_t
read_us(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t
now_ms(void)
{
	return read_us(CLOCK_MONOTONIC_COARSE) / 1000;
}

/* Of the event that this thread handles; 0: not read yet. */
static _Thread_local struct {
	bool inside;
	int64_t us, s;
} event_time;

void
clock_begin_event(void)
{
	event_time.inside = true;
	event_time.us = event_time.s = 0;
}

void
clock_end_event(void)
{
	event_time.inside = false;
}

int64_t
now_s(void)
{
	if (!event_time.inside)
		return read_us(CLOCK_REALTIME_COARSE) / 1000000;
	if (event_time.s == 0)
		event_time.s = read_us(CLOCK_REALTIME_COARSE) / 1000000;
	return event_time.s;
}

int64_t
now_us(void)
{
	if (!event_time.inside)
		return read_us(CLOCK_MONOTONIC);
	if (event_time.us == 0)
		event_time.us = read_us(CLOCK_MONOTONIC);
	return event_time.us;
}

int64_t
now_exact_ms(void)
{
	return now_us() / 1000;
}

struct timespec
now_and_ms(unsigned ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}
