/* unit.h - the words unit tests are written in, on top of check.
 *
 *	START_TEST(lifetime) { ... lifetimes[_i] ... } END_TEST
 *	UNIT("freshness", LOOP(lifetime, lifetimes), TEST(age_counts_both_ways))
 *
 * UNIT makes main(). CK_RUN_CASE, CK_FORK and friends work as check documents them.
 */
#ifndef KIT_UNIT_H
#define KIT_UNIT_H

#include <check.h>
#include <signal.h>
#include <stdlib.h>

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
		tcase_set_timeout(c, 300);
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
