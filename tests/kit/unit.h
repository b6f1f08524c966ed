/* unit.h - the words unit tests are written in, on top of check.
 *
 *	START_TEST(lifetime) { ... lifetimes[_i] ... } END_TEST
 *	UNIT("freshness", LOOP(lifetime, lifetimes), TEST(age_counts_both_ways))
 *
 * UNIT makes main(). CK_RUN_CASE, CK_FORK and friends work as check documents them.
 *
 * No test passes or fails by how long something takes: it waits until what it wants is true. The guard
 * of UNIT_GUARD_S reports what hangs.
 */
#ifndef KIT_UNIT_H
#define KIT_UNIT_H

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* The sanitizer that a program is built with: 0 or 1, for #if and for expressions. gcc and clang say it
 * in different ways. Under one each step costs up to ten times as much, so that statistics may be
 * taken of fewer: a release build takes them of all. */
#ifdef __has_feature
#define UNIT_HAS(feature) __has_feature(feature)
#else
#define UNIT_HAS(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || UNIT_HAS(thread_sanitizer)
#define THREAD_SANITIZED 1
#else
#define THREAD_SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || UNIT_HAS(address_sanitizer)
#define ADDRESS_SANITIZED 1
#else
#define ADDRESS_SANITIZED 0
#endif
#define SANITIZED (THREAD_SANITIZED || ADDRESS_SANITIZED)

enum { UNIT_GUARD_S = 300 }; /* for each test */

/* Until the condition, which is looked at every millisecond, is true. */
#define unit_wait_until(condition)                                               \
	do {                                                                     \
		while (!(condition))                                             \
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); \
	} while (0)

struct unit_row {
	const TTest *test;
	int n;
	const char *name;
	int signal;
};

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define TEST(f)             \
	{                   \
		f, 0, #f, 0 \
	}
/* Ends in an assertion that fails. */
#define ABORTS(f)                 \
	{                         \
		f, 0, #f, SIGABRT \
	}
#define LOOP(f, table)                 \
	{                              \
		f, COUNT(table), #f, 0 \
	}
#define TIMES(f, n)         \
	{                   \
		f, n, #f, 0 \
	}

static inline int
unit_run(const char *name, const struct unit_row *rows, int n)
{
	Suite *s = suite_create(name);
	for (int i = 0; i < n; i++) {
		TCase *c = tcase_create(rows[i].name);
		tcase_set_timeout(c, UNIT_GUARD_S);
		if (rows[i].n)
			tcase_add_loop_test(c, rows[i].test, 0, rows[i].n);
		else
			tcase_add_test_raise_signal(c, rows[i].test, rows[i].signal);
		suite_add_tcase(s, c);
	}
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define UNIT(name, ...)                                       \
	int main(void)                                        \
	{                                                     \
		const struct unit_row rows[] = {__VA_ARGS__}; \
		return unit_run(name, rows, COUNT(rows));     \
	}

#endif
