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

/* Of the event that this thread handles; 0: not read in it, or there is none. */
static _Thread_local struct {
	bool inside;
	int64_t us, s;
} event_time;

void
clock_begin_event(void)
{
	event_time.inside = true;
}

void
clock_end_event(void)
{
	event_time.inside = false;
	event_time.us = event_time.s = 0;
}

/* Apart from those who ask, so that these need no stack where the time is known. */
__attribute__((noinline)) static int64_t
read_s(void)
{
	int64_t s = read_us(CLOCK_REALTIME_COARSE) / 1000000;
	if (event_time.inside)
		event_time.s = s;
	return s;
}

__attribute__((noinline)) static int64_t
read_exact_us(void)
{
	int64_t us = read_us(CLOCK_MONOTONIC);
	if (event_time.inside)
		event_time.us = us;
	return us;
}

int64_t
now_s(void)
{
	return event_time.s ? event_time.s : read_s();
}

int64_t
now_us(void)
{
	return event_time.us ? event_time.us : read_exact_us();
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

void
clock_condition_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

void
clock_condition_wait(pthread_cond_t *c, pthread_mutex_t *lock, unsigned ms)
{
	struct timespec until = now_and_ms(ms);
	pthread_cond_timedwait(c, lock, &until);
}
