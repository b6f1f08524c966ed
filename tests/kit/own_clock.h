/* own_clock.h - a test's own clock: it runs as ever and is ahead by what the test says, or it stands
 * and only the test lets time pass. For unit tests, in one file of a program.
 *
 * It is what clock_gettime says, and what pthread_cond_timedwait waits by (all condition variables of
 * the program go by CLOCK_MONOTONIC). libevent's timers look at it as well, but an event loop sleeps
 * by the kernel's.
 */
#ifndef KIT_OWN_CLOCK_H
#define KIT_OWN_CLOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t own_clock_ahead_ms; /* only ever more */
static _Atomic int64_t own_clock_look_ms;  /* so much more with each look at the clock */
static _Atomic bool own_clock_stands;
/* The wall's time and the monotonic one, since it stands. */
static struct timespec own_clock_stood[2];

/* In place of the C library's, for all that the program links. libcurl 8 looks at the raw clock. */
int
clock_gettime(clockid_t which, struct timespec *t)
{
	if (which == CLOCK_MONOTONIC_RAW)
		which = CLOCK_MONOTONIC;
	bool wall = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
	int r = (int)syscall(SYS_clock_gettime, which, t);
	if (!wall && which != CLOCK_MONOTONIC && which != CLOCK_MONOTONIC_COARSE)
		return r;
	if (atomic_load(&own_clock_stands))
		*t = own_clock_stood[!wall];
	int64_t ms = atomic_fetch_add(&own_clock_ahead_ms, atomic_load(&own_clock_look_ms));
	int64_t ns = t->tv_nsec + ms % 1000 * 1000000;
	t->tv_sec += ms / 1000 + ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return r;
}

/* It stands from now on. */
static inline void
own_clock_hold(void)
{
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &own_clock_stood[0]);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &own_clock_stood[1]);
	atomic_store(&own_clock_stands, true);
}

static inline void
own_clock_pass_ms(int64_t ms)
{
	atomic_fetch_add(&own_clock_ahead_ms, ms);
}

static inline int64_t
own_clock_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static inline int64_t
own_clock_left_ns(const struct timespec *until)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return own_clock_ns(until) - own_clock_ns(&now);
}

/* A few milliseconds at a time, for the clock may have been moved on meanwhile: it comes back without
 * a reason then, as it always may. */
int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	enum { LOOK_NS = 5000000 };
	struct timespec soon;
	int64_t left = own_clock_left_ns(until), ns;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &soon);
	ns = own_clock_ns(&soon) + (left < 0 ? 0 : left < LOOK_NS ? left : LOOK_NS);
	soon = (struct timespec){ns / 1000000000, ns % 1000000000};
	int r = pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &soon);
	return r == ETIMEDOUT && own_clock_left_ns(until) > 0 ? 0 : r;
}

#endif
