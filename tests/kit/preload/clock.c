/* clock.c - a library loaded before the C library: the clocks and the waits of a proxy go by the
 * test's clock (../clock.h), which is in the mapped file that KIT_CLOCK names.
 *
 * A wait is one of the machine's in slices: after each the test's clock is looked at. So nothing need
 * wake it when the test advances the clock, and what it waits for besides wakes it at once.
 *
 * It is compiled without sanitizers, and those of the program call it as they would the C library. A
 * wait for a condition remains one, of the caller's condition and mutex.
 */
#include "tests/kit/clock_page.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { SLICE_NS = 10000000, TURN_NS = 100000000, SIGNALS_BYTES = 8 };

static struct clock_page *page; /* NULL: the program has not begun */
static __thread struct clock_waiter *self __attribute__((tls_model("initial-exec")));

static struct {
	int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
	int (*cond_signal)(pthread_cond_t *);
	int (*cond_broadcast)(pthread_cond_t *);
	int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
	int (*clockjoin)(pthread_t, void **, clockid_t, const struct timespec *);
} next;

static void
find(void *slot, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);
	if (!f) {
		fprintf(stderr, "clock.so: the C library has no %s\n", name);
		abort();
	}
	*(void **)slot = f;
}

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("KIT_CLOCK");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror("clock.so: KIT_CLOCK");
		abort();
	}
	close(fd);
	find(&next.cond_clockwait, "pthread_cond_clockwait");
	find(&next.cond_signal, "pthread_cond_signal");
	find(&next.cond_broadcast, "pthread_cond_broadcast");
	find(&next.sem_clockwait, "sem_clockwait");
	find(&next.clockjoin, "pthread_clockjoin_np");
	page = p;
}

/* ---- clocks -------------------------------------------------------------------------------- */

static int64_t
ns_of(const struct timespec *t)
{
	return t->tv_sec * 1000000000LL + t->tv_nsec;
}

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static int64_t
own_ns(void)
{
	struct clock_era e = clock_era(page);
	return clock_own_ns(&e);
}

/* False: it is no clock of the test's. */
static bool
find_ahead(clockid_t which, int64_t *ns)
{
	if (!page)
		return false;
	switch (which) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = page->real_ahead_ns;
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
		*ns = 0;
		return true;
	case CLOCK_BOOTTIME:
		*ns = page->boot_ahead_ns;
		return true;
	default:
		return false;
	}
}

int
clock_gettime(clockid_t which, struct timespec *t)
{
	int64_t ahead;
	if (!find_ahead(which, &ahead))
		return (int)syscall(SYS_clock_gettime, which, t);
	*t = timespec_of(own_ns() + ahead);
	return 0;
}

int
gettimeofday(struct timeval *t, void *zone)
{
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}

time_t
time(time_t *t)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

/* ---- a wait -------------------------------------------------------------------------------- */

static struct clock_waiter *
own_row(void)
{
	static struct clock_waiter of_the_rest; /* the test does not wait for these */
	if (self)
		return self;
	uint32_t i = atomic_fetch_add(&page->waiters, 1);
	if (i >= CLOCK_WAITERS)
		return &of_the_rest;
	self = &page->waiter[i];
	self->pid = getpid();
	atomic_store(&self->until_ns, CLOCK_AT_WORK);
	atomic_store(&self->tid, (int)syscall(SYS_gettid));
	return self;
}

static void
begin_wait(int64_t until_ns)
{
	atomic_store(&own_row()->until_ns, until_ns);
}

static void
end_wait(void)
{
	atomic_store(&own_row()->until_ns, CLOCK_AT_WORK);
}

/* How long the machine may sleep before the clock is looked at again; 0: it has come to until. */
static int64_t
find_slice(int64_t until_ns)
{
	struct clock_era e = clock_era(page);
	int64_t left = until_ns - clock_own_ns(&e);
	if (left <= 0)
		return 0;
	left = e.times ? left / e.times + 1 : SLICE_NS;
	return left < SLICE_NS ? left : SLICE_NS;
}

static struct timespec
machine_and(int64_t slice_ns)
{
	return timespec_of(clock_machine_ns(CLOCK_MONOTONIC) + slice_ns);
}

/* ---- waits for descriptors ----------------------------------------------------------------- */

static int
epoll_for(int ep, struct epoll_event *events, int n, int64_t ns, const sigset_t *mask)
{
	int r;
	if (ns <= 0)
		return (int)syscall(SYS_epoll_pwait, ep, events, n, ns < 0 ? -1 : 0, mask,
				    SIGNALS_BYTES);
	int64_t until = own_ns() + ns, slice;
	begin_wait(until);
	do {
		slice = find_slice(until);
		r = (int)syscall(SYS_epoll_pwait, ep, events, n, (slice + 999999) / 1000000, mask,
				 SIGNALS_BYTES);
	} while (r == 0 && slice);
	end_wait();
	return r;
}

int
epoll_pwait(int ep, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
	return epoll_for(ep, events, n, ms * 1000000LL, mask);
}

int
epoll_wait(int ep, struct epoll_event *events, int n, int ms)
{
	return epoll_for(ep, events, n, ms * 1000000LL, NULL);
}

int
epoll_pwait2(int ep, struct epoll_event *events, int n, const struct timespec *limit,
	     const sigset_t *mask)
{
	return epoll_for(ep, events, n, limit ? ns_of(limit) : -1, mask);
}

static int
poll_for(struct pollfd *p, nfds_t n, int64_t ns, const sigset_t *mask)
{
	struct timespec whole = timespec_of(ns), part;
	int r;
	if (ns <= TURN_NS)
		return (int)syscall(SYS_ppoll, p, n, ns < 0 ? NULL : &whole, mask, SIGNALS_BYTES);
	int64_t until = own_ns() + ns, slice;
	begin_wait(until);
	do {
		slice = find_slice(until);
		part = timespec_of(slice);
		r = (int)syscall(SYS_ppoll, p, n, &part, mask, SIGNALS_BYTES);
	} while (r == 0 && slice);
	end_wait();
	return r;
}

int
ppoll(struct pollfd *p, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	return poll_for(p, n, limit ? ns_of(limit) : -1, mask);
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	return poll_for(p, n, ms * 1000000LL, NULL);
}

/* Fortified programs call these. */
int __poll_chk(struct pollfd *p, nfds_t n, int ms, size_t bytes);
int
__poll_chk(struct pollfd *p, nfds_t n, int ms, size_t bytes)
{
	if (bytes / sizeof *p < n)
		abort();
	return poll(p, n, ms);
}

int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *limit, const sigset_t *mask,
		size_t bytes);
int
__ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *limit, const sigset_t *mask,
	    size_t bytes)
{
	if (bytes / sizeof *p < n)
		abort();
	return ppoll(p, n, limit, mask);
}

/* ---- sleep --------------------------------------------------------------------------------- */

/* 0, or the number of an error. */
static int
sleep_until(int64_t until, struct timespec *rest)
{
	int r;
	int64_t slice;
	begin_wait(until);
	do {
		slice = find_slice(until);
		struct timespec part = timespec_of(slice);
		r = syscall(SYS_nanosleep, &part, NULL) ? errno : 0;
	} while (!r && slice);
	end_wait();
	if (r && rest) {
		int64_t left = until - own_ns();
		*rest = timespec_of(left > 0 ? left : 0);
	}
	return r;
}

int
clock_nanosleep(clockid_t which, int flags, const struct timespec *t, struct timespec *rest)
{
	int64_t ahead;
	if (!find_ahead(which, &ahead) || (!(flags & TIMER_ABSTIME) && ns_of(t) <= TURN_NS))
		return syscall(SYS_clock_nanosleep, which, flags, t, rest) ? errno : 0;
	return flags & TIMER_ABSTIME ? sleep_until(ns_of(t) - ahead, NULL)
				     : sleep_until(own_ns() + ns_of(t), rest);
}

int
nanosleep(const struct timespec *t, struct timespec *rest)
{
	int r = clock_nanosleep(CLOCK_MONOTONIC, 0, t, rest);
	errno = r ? r : errno;
	return r ? -1 : 0;
}

int
usleep(useconds_t us)
{
	struct timespec t = timespec_of(us * 1000LL);
	return nanosleep(&t, NULL);
}

unsigned
sleep(unsigned s)
{
	struct timespec t = {.tv_sec = s}, rest = {0};
	return nanosleep(&t, &rest) ? (unsigned)rest.tv_sec + (rest.tv_nsec > 0) : 0;
}

int
sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
	struct timespec part;
	int r;
	if (!limit || ns_of(limit) == 0)
		return (int)syscall(SYS_rt_sigtimedwait, set, info, limit, SIGNALS_BYTES);
	int64_t until = own_ns() + ns_of(limit), slice;
	begin_wait(until);
	do {
		slice = find_slice(until);
		part = timespec_of(slice);
		r = (int)syscall(SYS_rt_sigtimedwait, set, info, &part, SIGNALS_BYTES);
	} while (r < 0 && errno == EAGAIN && slice);
	end_wait();
	return r;
}

/* ---- threads ------------------------------------------------------------------------------- */

static int64_t
own_time_of(clockid_t which, const struct timespec *at)
{
	int64_t ahead = 0;
	find_ahead(which, &ahead);
	return ns_of(at) - ahead;
}

/* How often somebody signalled one of the conditions that share the number. */
static _Atomic unsigned *
signals_of(const pthread_cond_t *c)
{
	static _Atomic unsigned signals[4096];
	uint64_t h = (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15;
	return &signals[h >> 52];
}

/* A slice may end just as somebody signals, who then finds nobody waiting: so signals are counted. */
int
pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t which,
		       const struct timespec *at)
{
	int64_t until = own_time_of(which, at), slice;
	unsigned before = atomic_load(signals_of(c));
	int r;
	begin_wait(until);
	do {
		slice = find_slice(until);
		struct timespec part = machine_and(slice);
		r = next.cond_clockwait(c, m, CLOCK_MONOTONIC, &part);
	} while (r == ETIMEDOUT && slice && atomic_load(signals_of(c)) == before);
	end_wait();
	return r == ETIMEDOUT && slice ? 0 : r;
}

/* Exported by their versions below. */
int versioned_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *at);
int versioned_cond_signal(pthread_cond_t *c);
int versioned_cond_broadcast(pthread_cond_t *c);

int
versioned_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *at)
{
	/* The condition knows its clock and does not tell. No machine runs for 30 years. */
	return pthread_cond_clockwait(
		c, m, at->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC, at);
}

int
versioned_cond_signal(pthread_cond_t *c)
{
	atomic_fetch_add(signals_of(c), 1);
	return next.cond_signal(c);
}

int
versioned_cond_broadcast(pthread_cond_t *c)
{
	atomic_fetch_add(signals_of(c), 1);
	return next.cond_broadcast(c);
}

#ifdef __x86_64__
#define COND_VERSION "GLIBC_2.3.2"
#else
#define COND_VERSION "GLIBC_2.17"
#endif
__asm__(".symver versioned_cond_timedwait, pthread_cond_timedwait@@" COND_VERSION);
__asm__(".symver versioned_cond_signal, pthread_cond_signal@@" COND_VERSION);
__asm__(".symver versioned_cond_broadcast, pthread_cond_broadcast@@" COND_VERSION);

int
sem_clockwait(sem_t *s, clockid_t which, const struct timespec *at)
{
	int64_t until = own_time_of(which, at), slice;
	int r;
	begin_wait(until);
	do {
		slice = find_slice(until);
		struct timespec part = machine_and(slice);
		r = next.sem_clockwait(s, CLOCK_MONOTONIC, &part);
	} while (r < 0 && errno == ETIMEDOUT && slice);
	end_wait();
	return r;
}

int
sem_timedwait(sem_t *s, const struct timespec *at)
{
	return sem_clockwait(s, CLOCK_REALTIME, at);
}

int
pthread_timedjoin_np(pthread_t t, void **result, const struct timespec *at)
{
	int64_t until = own_time_of(CLOCK_REALTIME, at), slice;
	int r;
	begin_wait(until);
	do {
		slice = find_slice(until);
		struct timespec part = machine_and(slice);
		r = next.clockjoin(t, result, CLOCK_MONOTONIC, &part);
	} while (r == ETIMEDOUT && slice);
	end_wait();
	return r;
}
