/* clock_page.h - what the kit and its proxies share of the test's clock: one mapped file.
 *
 * The test writes eras, one for each of its words; a proxy reads the newest. Each thread of a proxy
 * that waited with a limit has a row of its own, in which the test sees what it waits for.
 */
#ifndef KIT_CLOCK_PAGE_H
#define KIT_CLOCK_PAGE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_ERAS = 256, CLOCK_WAITERS = 8192 };

struct clock_era { /* from the machine's time machine_ns on, when it was own_ns */
	int64_t machine_ns, own_ns;
	int64_t times; /* as fast as the machine's; 0: it stands still */
};

#define CLOCK_AT_WORK INT64_MIN
struct clock_waiter {
	int pid;
	_Atomic int tid;	  /* 0: the row is being written */
	_Atomic int64_t until_ns; /* CLOCK_AT_WORK: it does not wait with a limit */
};

struct clock_page {
	int64_t real_ahead_ns; /* CLOCK_REALTIME is so far ahead of the own time */
	int64_t boot_ahead_ns; /* CLOCK_BOOTTIME */
	_Atomic uint32_t eras;
	_Atomic uint32_t waiters;
	struct clock_era era[CLOCK_ERAS];
	struct clock_waiter waiter[CLOCK_WAITERS];
};

static inline int64_t
clock_machine_ns(clockid_t which)
{
	struct timespec t;
	syscall(SYS_clock_gettime, which, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline struct clock_era
clock_era(const struct clock_page *p)
{
	struct clock_era e;
	uint32_t n;
	do {
		n = atomic_load(&p->eras);
		e = p->era[n % CLOCK_ERAS];
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load(&p->eras) - n >= CLOCK_ERAS - 1); /* it may be written anew */
	return e;
}

static inline int64_t
clock_own_ns(const struct clock_era *e)
{
	if (!e->times)
		return e->own_ns;
	return e->own_ns + (clock_machine_ns(CLOCK_MONOTONIC) - e->machine_ns) * e->times;
}

#endif
