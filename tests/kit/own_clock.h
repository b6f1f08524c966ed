/* own_clock.h - a test's own clock: it runs as ever, and is ahead by what the test says. For unit
 * tests, in one file of a program.
 */
#ifndef KIT_OWN_CLOCK_H
#define KIT_OWN_CLOCK_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t own_clock_ahead_s;

/* In place of the C library's, for all that the program links. */
int
clock_gettime(clockid_t which, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, which, t);
	t->tv_sec += own_clock_ahead_s;
	return r;
}

#endif
