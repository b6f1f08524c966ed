/* aside.c - a thread, what it has to do, and whether somebody still waits for it; or a process. */
#include "proxy/base/aside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <sys/single_threaded.h>
#endif

enum { SLICE_MS = 50 };

struct aside {
	void (*run)(void *ctx);
	void *ctx;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t over;
	/* Under lock. */
	bool done, left;
	void (*drop)(void *ctx); /* of one that was left */
};

static void
dispose(struct aside *a)
{
	pthread_cond_destroy(&a->over);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static void *
work(void *arg)
{
	struct aside *a = arg;
	a->run(a->ctx);
	pthread_mutex_lock(&a->lock);
	bool left = a->left;
	a->done = true;
	pthread_cond_signal(&a->over);
	pthread_mutex_unlock(&a->lock);
	if (left) {
		a->drop(a->ctx);
		dispose(a);
	}
	return NULL;
}

struct aside *
aside_begin(void (*run)(void *ctx), void *ctx)
{
	struct aside *a = NEW(struct aside);
	a->run = run;
	a->ctx = ctx;
	pthread_mutex_init(&a->lock, NULL);
	clock_condition_init(&a->over);
	if (pthread_create(&a->thread, NULL, work, a) == 0)
		return a;
	dispose(a);
	return NULL;
}

bool
aside_is_done(struct aside *a)
{
	pthread_mutex_lock(&a->lock);
	bool yes = a->done;
	pthread_mutex_unlock(&a->lock);
	return yes;
}

/* Time of a processor that it has used. */
static int64_t
used_ns(const struct aside *a)
{
	clockid_t own;
	struct timespec t;
	if (pthread_getcpuclockid(a->thread, &own) != 0 || clock_gettime(own, &t) != 0)
		return -1;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Looks are counted, not time: a process that was stopped, or a machine that slept, finds the disk as it was. */
bool
aside_wait(struct aside *a, int64_t still_ms)
{
	int64_t before = -1, stood_ms = 0;
	pthread_mutex_lock(&a->lock);
	while (!a->done && stood_ms < still_ms) {
		clock_condition_wait(&a->over, &a->lock, SLICE_MS);
		int64_t used = a->done ? -1 : used_ns(a);
		stood_ms = used == before ? stood_ms + SLICE_MS : 0;
		before = used;
	}
	bool done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}

bool
aside_end(struct aside **pa, void (*drop)(void *ctx))
{
	struct aside *a = *pa;
	*pa = NULL;
	pthread_mutex_lock(&a->lock);
	assert(!a->left);
	bool done = a->done;
	a->left = !done;
	a->drop = drop;
	if (!done) /* under the lock: it may go as soon as that is free */
		pthread_detach(a->thread);
	pthread_mutex_unlock(&a->lock);
	if (!done)
		return false;
	pthread_join(a->thread, NULL);
	dispose(a);
	return true;
}

/* ---- with memory of its own ------------------------------------------------------------------ */

/* Before the memory that others see, and as much aligned. */
union block {
	size_t bytes;
	max_align_t apart;
};

void *
aside_new(size_t bytes)
{
	bytes += sizeof(union block);
	union block *b =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b == MAP_FAILED)
		abort();
	b->bytes = bytes;
	return b + 1;
}

static void
unmap(void *ctx)
{
	union block *b = (union block *)ctx - 1;
	munmap(b, b->bytes);
}

void
aside_free(void **ctx)
{
	if (*ctx)
		unmap(*ctx);
	*ctx = NULL;
}

static bool
is_alone(void)
{
#ifdef __GLIBC__
	return __libc_single_threaded;
#else
	return false;
#endif
}

static int64_t
used_by(pid_t child)
{
	clockid_t own;
	struct timespec t = {0};
	if (clock_getcpuclockid(child, &own) == 0)
		clock_gettime(own, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One that hangs is left to whoever reaps what this process leaves. */
static bool
run_in_child(void (*run)(void *ctx), void *ctx, int64_t still_ms)
{
	enum { LOOK_MS = 2 };
	int64_t before = -1, stood_ms = 0;
	pid_t child = fork();
	if (child == 0) {
		syscall(SYS_close_range, 0u, ~0u,
			0u); /* nobody waits for the end of a pipe that it holds */
		run(ctx);
		_exit(0);
	}
	if (child < 0) {
		run(ctx);
		return true;
	}
	while (stood_ms < still_ms) {
		if (waitpid(child, NULL, WNOHANG) != 0)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
		int64_t used = used_by(child);
		stood_ms = used == before ? stood_ms + LOOK_MS : 0;
		before = used;
	}
	return false;
}

bool
aside_run(void (*run)(void *ctx), void **ctx, int64_t still_ms)
{
	bool done;
	if (is_alone()) {
		done = run_in_child(run, *ctx, still_ms);
		if (!done) /* the child has a mapping of its own */
			unmap(*ctx);
	} else {
		struct aside *a = aside_begin(run, *ctx);
		if (!a) {
			run(*ctx);
			return true;
		}
		aside_wait(a, still_ms);
		done = aside_end(&a, unmap);
	}
	if (!done)
		*ctx = NULL;
	return done;
}
