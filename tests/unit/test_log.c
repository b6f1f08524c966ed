/* test_log.c - lines on stderr, and who writes them.
 * rooms: base
 */
#include "proxy/base/log.h"

#include "tests/kit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 1000 };

/* Bytes that the calling thread has written; -1: the kernel does not count them. */
static long long
written(void)
{
	char line[128];
	long long n = -1;
	FILE *f = fopen("/proc/thread-self/io", "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "wchar: %lld", &n);
	if (f)
		fclose(f);
	return n;
}

static void *
say(void *arg)
{
	if (arg)
		log_never_wait();
	long long before = written();
	for (int i = 0; i < LINES; i++)
		log_say("line %d", i);
	long long after = written();
	if (before >= 0)
		ck_assert((after > before) == !arg);
	return NULL;
}

static void
say_to_file(bool in_haste)
{
	char name[] = "/tmp/twice-log.XXXXXX", line[64], want[64];
	pthread_t thread;
	int fd = mkstemp(name);
	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, say, in_haste ? name : NULL), 0);
	pthread_join(thread, NULL);
	log_finish(60000);
	FILE *f = fopen(name, "r");
	unlink(name);
	for (int i = 0; i < LINES; i++) {
		snprintf(want, sizeof want, "line %d\n", i);
		ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
		ck_assert_str_eq(line, want);
	}
	ck_assert_ptr_null(fgets(line, sizeof line, f));
	fclose(f);
	close(fd);
}

START_TEST(a_thread_writes_its_lines_itself)
{
	say_to_file(false);
}
END_TEST

START_TEST(one_that_must_not_wait_for_a_disk_does_not)
{
	say_to_file(true);
}
END_TEST

START_TEST(a_line_of_many_events_is_due_once_a_minute)
{
	_Atomic int64_t said = 0;
	ck_assert(log_is_due(&said, 1));
	ck_assert(!log_is_due(&said, 1));
	ck_assert(!log_is_due(&said, 60000));
	ck_assert(log_is_due(&said, 60001));
	ck_assert(!log_is_due(&said, 120000));
	ck_assert(log_is_due(&said, 1000000));
}
END_TEST

UNIT("log", TEST(a_thread_writes_its_lines_itself),
     TEST(one_that_must_not_wait_for_a_disk_does_not),
     TEST(a_line_of_many_events_is_due_once_a_minute))
