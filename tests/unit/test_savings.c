/* rooms: cli admin config cache http base filter
 * test_savings.c - the report that people read.
 */
#include "proxy/cli/savings.h"
#include "tests/kit/unit.h"

#include <stdlib.h>

static struct report
demo_run(void)
{
	struct report r = {.version = "test", .uptime_s = 65, .now_s = 1000};
	r.n[METRIC_REQUESTS] = 50000;
	r.n[METRIC_HITS] = 33000;
	r.n[METRIC_RAM_HITS] = 20000;
	r.n[METRIC_DISK_HITS] = 13000;
	r.n[METRIC_ORIGIN_REQUESTS] = 17000;
	r.baseline.ghost.extra_requests = 500;
	r.baseline.ghost.net_missed = -500;
	r.baseline.ghost.extra_bytes = 4000000;
	r.n[METRIC_BYTES_TO_CLIENTS] = 1620000000;
	r.cache.written_bytes = 140000000;
	r.baseline.ghost.written_bytes = 600000000;
	r.generation.born_s = 400;
	r.generation.keys = 17000;
	r.generation.capacity = 10000000;
	return r;
}

static char *
printed(const struct report *r)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	savings_print_report(f, r);
	fclose(f);
	return text;
}

/* clang-format off */
static const char *const told[] = {
	"50,000   in 65 s, 1.62 GB sent", "66.0%   RAM 40.0%, disk 26.0%", "17,000   none failed",
	"600 MB   it stores every object, in a log like that of twice", "140 MB   it stores objects that are requested again",
	"460 MB   76.7% of the disk writes", "500   1.0% of requests, 4.00 MB",
	"67.0%   by bytes", "17,000   of 10,000,000, generation 0, 10 min old",
};
/* clang-format on */

START_TEST(it_says)
{
	struct report r = demo_run();
	char *text = printed(&r);
	ck_assert_msg(strstr(text, told[_i]) != NULL, "no \"%s\" in\n%s", told[_i], text);
	free(text);
}
END_TEST

START_TEST(sightings_that_are_chosen_are_told)
{
	struct report r = demo_run();
	r.sightings.asked = 2;
	char *text = printed(&r);
	ck_assert_ptr_null(strstr(text, "auto"));
	free(text);
	r.sightings.chosen = true;
	choice_init(&r.sightings.choice);
	text = printed(&r);
	ck_assert_msg(strstr(text, "auto   2 for all bodies: it began so\n") != NULL, "%s", text);
	free(text);
}
END_TEST

START_TEST(an_idle_proxy_can_be_told_of)
{
	struct report r = {.version = "test"};
	r.cache.written_bytes = 4096;
	char *text = printed(&r);
	ck_assert_msg(strstr(text, "nothing   4.10 kB more were written, as its index") != NULL,
		      "%s", text);
	ck_assert_ptr_null(strstr(text, "nan"));
	free(text);
}
END_TEST

/* A warm restart: hits alone, which write nothing but snapshots. */
START_TEST(less_than_nothing_saved_is_no_share)
{
	struct report r = demo_run();
	r.cache.written_bytes = 20008189;
	r.baseline.ghost.written_bytes = 8189;
	char *text = printed(&r);
	ck_assert_msg(strstr(text, "nothing   20.0 MB more were written") != NULL, "%s", text);
	ck_assert_msg(!strstr(text, "-20.0 MB") && !strstr(text, "-24"), "%s", text);
	free(text);
}
END_TEST

/* Of a cache that is older than the process, on a drive whose endurance is set, under a budget. */
static struct report
long_run(void)
{
	struct report r = demo_run();
	r.endurance_bytes = 140e6 / 65 * 86400 * 365.25 * 3.2;
	r.lifetime_since_s = 1795324844;
	r.n[METRIC_OVER_BUDGET] = 12345;
	return r;
}

/* clang-format off */
static const char *const told_long[] = {
	"saved since 2026-11-22        3.00 GB   75.0% of them, over restarts",
	"the drive lasts             3.2 years   at the rate since the start; 0.7 in the ordinary cache",
	"refused by the budget          12,345   answers: write_budget bounds twice, not the other",
};
/* clang-format on */

static void
set_lifetime(struct report *r)
{
	static const char *const names[] = {
#define RATE(name, value) #name,
#define LEVEL(name, value)
#define QUANTILE(name, which, share)
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
	};
	for (int i = 0; i < COUNT(names); i++)
		r->lifetime[i] = strcmp(names[i], "written") == 0    ? 1e9
				 : strcmp(names[i], "baseline") == 0 ? 4e9
				 : strcmp(names[i], "requests") == 0 ? 1e6
								     : 0;
}

START_TEST(it_says_more_of_a_long_run)
{
	struct report r = long_run();
	set_lifetime(&r);
	setenv("TZ", "UTC", 1);
	char *text = printed(&r);
	ck_assert_msg(strstr(text, told_long[_i]) != NULL, "no \"%s\" in\n%s", told_long[_i], text);
	free(text);
}
END_TEST

START_TEST(lines_fit_a_terminal)
{
	struct report r = long_run();
	set_lifetime(&r);
	char *text = printed(&r);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		ck_assert_msg(strlen(line) <= 100, "%s", line);
	free(text);
}
END_TEST

static const char *const strange[] = {
	"", "<html>", "[]", "{}", "{\"uptime_s\": \"x\"}", "{\"requests\": 1}"};

START_TEST(what_is_no_report_is_refused)
{
	char err[256] = "";
	ck_assert_int_eq(savings_print(stdout, str_of(strange[_i]), err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, "admin address") != NULL, "%s", err);
}
END_TEST

UNIT("savings", LOOP(it_says, told), TEST(sightings_that_are_chosen_are_told),
     TEST(an_idle_proxy_can_be_told_of), TEST(less_than_nothing_saved_is_no_share),
     LOOP(it_says_more_of_a_long_run, told_long), TEST(lines_fit_a_terminal),
     LOOP(what_is_no_report_is_refused, strange))
