/* rooms: base
 * test_logfile.c - lines arrive whole and in order; who adds them never waits.
 */
#include "proxy/base/log.h"
#include "proxy/base/logfile.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PATIENT_MS = 2 * UNIT_GUARD_S * 1000 }; /* nobody is slow but the machine */

static char dir[200], path[256], other[256];

static void
paths(void)
{
	log_set_level(LOG_ERROR + 1);
	tmpdir_make(dir, sizeof dir);
	snprintf(path, sizeof path, "%s/log", dir);
	snprintf(other, sizeof other, "%s/log.1", dir);
}

static char *
contents(const char *of)
{
	static char text[1 << 20];
	FILE *f = fopen(of, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

START_TEST(lines_arrive)
{
	struct logfile *l;
	paths();
	ck_assert_int_eq(logfile_start(&l, path, 2, 4096), 0);
	ck_assert(logfile_add(l, 0, "one\n", 4));
	ck_assert(logfile_add(l, 0, "two\n", 4));
	logfile_stop(&l, PATIENT_MS);
	ck_assert_ptr_null(l);
	logfile_stop(&l, PATIENT_MS);
	ck_assert_str_eq(contents(path), "one\ntwo\n");
	tmpdir_remove(dir);
}
END_TEST

/* More than the ring holds, so every place of a line at its end occurs. */
enum { THREADS = 4, EACH = 5000, RING = 4096 };
static struct logfile *shared;

static void *
add_many(void *arg)
{
	unsigned lane = (unsigned)(size_t)arg;
	for (int i = 0; i < EACH; i++) {
		char line[128];
		int n = snprintf(line, sizeof line, "%u %d %.*s\n", lane, i, i % 50,
				 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		while (!logfile_add(shared, lane, line, (size_t)n))
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return NULL;
}

START_TEST(lines_of_threads_stay_whole_and_in_order)
{
	pthread_t threads[THREADS];
	int next[THREADS] = {0};
	paths();
	ck_assert_int_eq(logfile_start(&shared, path, THREADS, RING), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, add_many, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	logfile_stop(&shared, PATIENT_MS);
	FILE *f = fopen(path, "r");
	char line[256], xs[128];
	unsigned lane;
	int i, lines = 0;
	while (fgets(line, sizeof line, f)) {
		xs[0] = '\0';
		ck_assert_msg(sscanf(line, "%u %d %127s", &lane, &i, xs) >= 2, "%s", line);
		ck_assert_uint_lt(lane, THREADS);
		ck_assert_int_eq(i, next[lane]++);
		ck_assert_uint_eq(strlen(xs), (size_t)i % 50);
		lines++;
	}
	fclose(f);
	ck_assert_int_eq(lines, THREADS * EACH);
	tmpdir_remove(dir);
}
END_TEST

START_TEST(a_reader_that_sleeps_stops_nobody)
{
	struct logfile *l;
	uint64_t refused = 0;
	paths();
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_eq(logfile_start(&l, path, 1, 8192), 0);
	char line[100];
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\n';
	for (int i = 0; i < 5000; i++)
		refused += !logfile_add(l, 0, line, sizeof line);
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_ge(logfile_dropped(l), refused);
	logfile_reopen(l);
	logfile_stop(&l, 300); /* it comes back, though nobody reads */
	close(reader);
	tmpdir_remove(dir);
}
END_TEST

START_TEST(a_rotated_file_keeps_what_came_before)
{
	struct logfile *l;
	paths();
	ck_assert_int_eq(logfile_start(&l, path, 1, 4096), 0);
	ck_assert(logfile_add(l, 0, "before\n", 7));
	unit_wait_until(access(path, F_OK) == 0); /* its thread opens it */
	ck_assert_int_eq(rename(path, other), 0);
	logfile_reopen(l);
	unit_wait_until(access(path, F_OK) == 0);
	ck_assert(logfile_add(l, 0, "after\n", 6));
	logfile_stop(&l, PATIENT_MS);
	ck_assert_str_eq(contents(other), "before\n");
	ck_assert_str_eq(contents(path), "after\n");
	tmpdir_remove(dir);
}
END_TEST

START_TEST(a_missing_folder_is_tried_again)
{
	struct logfile *l;
	char inner[300];
	paths();
	snprintf(inner, sizeof inner, "%s/sub/log", dir);
	ck_assert_int_eq(logfile_start(&l, inner, 1, 4096), 0);
	logfile_add(l, 0, "lost\n", 5);
	unit_wait_until(logfile_dropped(l) > 0);
	snprintf(other, sizeof other, "%s/sub", dir);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	logfile_reopen(l);
	unit_wait_until(access(inner, F_OK) == 0);
	logfile_add(l, 0, "kept\n", 5);
	logfile_stop(&l, PATIENT_MS);
	ck_assert_str_eq(contents(inner), "kept\n");
	tmpdir_remove(dir);
}
END_TEST

/* A file that may not grow stands for a full disk. */
START_TEST(a_full_disk_leaves_no_half_line)
{
	struct logfile *l;
	struct rlimit all, little = {1000, RLIM_INFINITY};
	char line[301];
	signal(SIGXFSZ, SIG_IGN);
	paths();
	memset(line, 'x', sizeof line);
	line[300] = '\n';
	getrlimit(RLIMIT_FSIZE, &all);
	little.rlim_max = all.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	ck_assert_int_eq(logfile_start(&l, path, 1, 4096), 0);
	for (int i = 0; i < 5; i++)
		ck_assert(logfile_add(l, 0, line, sizeof line));
	unit_wait_until(logfile_dropped(l) >= 2);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
	ck_assert(logfile_add(l, 0, "again\n", 6));
	logfile_stop(&l, PATIENT_MS);
	const char *text = contents(path);
	const char *again = strstr(text, "again\n");
	ck_assert_ptr_nonnull(again);
	ck_assert_msg(again[-1] == '\n', "the line was added to a half one");
	ck_assert_str_eq(again, "again\n");
	tmpdir_remove(dir);
}
END_TEST

UNIT("logfile", TEST(lines_arrive), TEST(lines_of_threads_stay_whole_and_in_order),
     TEST(a_reader_that_sleeps_stops_nobody), TEST(a_rotated_file_keeps_what_came_before),
     TEST(a_missing_folder_is_tried_again), TEST(a_full_disk_leaves_no_half_line))
