/* test_aside.c - work that stands still is left behind.
 * rooms: base
 */
#include "proxy/base/aside.h"

#include "proxy/base/mem.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STILL_MS = 100 };

struct work {
	int ends[2];
	_Atomic int state; /* 1: done; 2: dropped */
};

static void
stand(void *ctx)
{
	struct work *w = ctx;
	char c;
	while (read(w->ends[0], &c, 1) < 0)
		continue;
	atomic_store(&w->state, 1);
}

static void
drop(void *ctx)
{
	struct work *w = ctx;
	atomic_store(&w->state, 2);
}

static void
use_processor(void *ctx)
{
	struct work *w = ctx;
	struct timespec t;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 4 * STILL_MS * 1000000);
	atomic_store(&w->state, 1);
}

static void
return_at_once(void *ctx)
{
	struct work *w = ctx;
	atomic_store(&w->state, 1);
}

START_TEST(what_stands_still_is_dropped_when_it_goes_on)
{
	struct work w = {0};
	ck_assert_int_eq(pipe(w.ends), 0);
	struct aside *a = aside_begin(stand, &w);
	ck_assert(!aside_wait(a, STILL_MS) && !aside_is_done(a));
	ck_assert(!aside_end(&a, drop));
	ck_assert_ptr_null(a);
	ck_assert_int_eq(write(w.ends[1], "x", 1), 1);
	while (atomic_load(&w.state) != 2)
		usleep(1000);
}
END_TEST

/* Where others keep the processors busy, work may have no turn for so long; rarely each time. */
enum { TRIES = 20 };

START_TEST(what_has_much_to_do_is_waited_for)
{
	bool done = false;
	for (unsigned i = 0; i < TRIES && !done; i++) {
		struct work *w = NEW(struct work); /* one that is left behind keeps it */
		struct aside *a = aside_begin(use_processor, w);
		done = aside_wait(a, STILL_MS) && aside_is_done(a);
		bool ended = aside_end(&a, free);
		ck_assert(ended ? w->state == 1 : !done);
		if (ended)
			free(w);
	}
	ck_assert(done);
}
END_TEST

static bool
run_aside(void (*run)(void *ctx))
{
	void *ctx = aside_new(sizeof(struct work));
	bool done = aside_run(run, &ctx, STILL_MS);
	ck_assert(done == (ctx != NULL));
	ck_assert(!done || ((struct work *)ctx)->state == 1);
	aside_free(&ctx);
	ck_assert_ptr_null(ctx);
	return done;
}

static bool
runs_aside(void (*run)(void *ctx))
{
	bool done = false;
	for (unsigned i = 0; i < TRIES && !done; i++)
		done = run_aside(run);
	return done;
}

static void
sleep_for_good(void *ctx)
{
	struct work *w = ctx;
	char c;
	ck_assert(!atomic_load(&w->state));
	if (read(STDIN_FILENO, &c, 1) < 0 &&
	    errno == EBADF) /* a process of its own, without descriptors */
		pause();
	for (;;)
		pause();
}

/* The first time this process has no other thread, the second time it has had one. */
START_TEST(a_process_or_a_thread_does_it_with_memory_of_its_own)
{
	for (int i = 0; i < 2; i++) {
		ck_assert(runs_aside(return_at_once));
		ck_assert(runs_aside(use_processor));
		ck_assert(!run_aside(sleep_for_good));
		struct work w = {0};
		struct aside *a = aside_begin(return_at_once, &w);
		while (!aside_wait(a, STILL_MS))
			continue;
		ck_assert(aside_end(&a, drop));
	}
}
END_TEST

UNIT("aside", TEST(what_stands_still_is_dropped_when_it_goes_on),
     TEST(what_has_much_to_do_is_waited_for),
     TEST(a_process_or_a_thread_does_it_with_memory_of_its_own))
