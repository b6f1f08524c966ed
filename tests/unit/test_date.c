/* rooms: http base
 *
 * test_date.c - three formats in, one out, and everything else is no date. */
#include "proxy/http/date.h"
#include "tests/kit/unit.h"

#include <strings.h>
#include <time.h>

#define NOW 1700000000 /* November 2023 */

static const struct {
	const char *says, *text;
	bool ok;
	int64_t t;
} dates[] = {
	/* clang-format off */
	{"the preferred format",                  "Sun, 06 Nov 1994 08:49:37 GMT", true, 784111777},
	{"RFC 850, long ago",                     "Sunday, 06-Nov-94 08:49:37 GMT", true, 784111777},
	{"asctime pads the day with a space",     "Sun Nov  6 08:49:37 1994", true, 784111777},
	{"asctime with two digits",               "Wed Nov 16 08:49:37 1994", true, 784975777},
	{"the epoch",                             "Thu, 01 Jan 1970 00:00:00 GMT", true, 0},
	{"before the epoch",                      "Wed, 31 Dec 1969 23:59:59 GMT", true, -1},
	{"behind 32 bits",                        "Sun, 21 Nov 2286 04:46:39 GMT", true, 10000039599},
	{"the last there is",                     "Fri, 31 Dec 9999 23:59:59 GMT", true, 253402300799},
	{"a leap day",                            "Tue, 29 Feb 2000 00:00:00 GMT", true, 951782400},
	{"a leap second",                         "Fri, 30 Jun 1972 23:59:60 GMT", true, 78796800},
	{"a wrong weekday is not worth a quarrel", "Mon, 06 Nov 1994 08:49:37 GMT", true, 784111777},
	{"a two-digit year within 50 years is ahead", "Thursday, 18-Aug-50 02:01:18 GMT", true, 2544400878},
	{"50 years ahead to the second is ahead", "Tuesday, 14-Nov-73 22:13:20 GMT", true, 3277923200},
	{"more than 50 years ahead is behind us", "Tuesday, 14-Nov-73 22:13:21 GMT", true, 122163201},
	{"so is a leap day 57 years ahead",       "Friday, 29-Feb-80 00:00:00 GMT", true, 320630400},
	{"no such day",                           "Wed, 29 Feb 1900 00:00:00 GMT", false, 0},
	{"day 0",                                 "Sun, 00 Nov 1994 08:49:37 GMT", false, 0},
	{"day 31 of a month with 30",             "Sun, 31 Nov 1994 08:49:37 GMT", false, 0},
	{"hour 24",                               "Sun, 06 Nov 1994 24:00:00 GMT", false, 0},
	{"minute 60",                             "Sun, 06 Nov 1994 08:60:37 GMT", false, 0},
	{"year 0",                                "Sun, 06 Nov 0000 08:49:37 GMT", false, 0},
	{"any case of weekday (RFC 9111 4.2)",    "SUN, 06 Nov 1994 08:49:37 GMT", true, 784111777},
	{"any case of month",                     "Sun, 06 nOV 1994 08:49:37 GMT", true, 784111777},
	{"any case of the zone",                  "Sun, 06 Nov 1994 08:49:37 gMT", true, 784111777},
	{"any case of a long weekday",            "SUNDAY, 06-NOV-94 08:49:37 gmt", true, 784111777},
	{"UTC is not the word",                   "Sun, 06 Nov 1994 08:49:37 UTC", false, 0},
	{"no other zone",                         "Sun, 06 Nov 1994 08:49:37 AEST", false, 0},
	{"no offset",                             "Sun, 06 Nov 1994 08:49:37 +0000", false, 0},
	{"two-digit year in the preferred format", "Sun, 06 Nov 94 08:49:37 GMT", false, 0},
	{"no comma",                              "Sun 06 Nov 1994 08:49:37 GMT", false, 0},
	{"two spaces",                            "Sun, 06  Nov  1994 08:49:37 GMT", false, 0},
	{"dashes with a short weekday",           "Sun, 06-Nov-1994 08:49:37 GMT", false, 0},
	{"periods in the time",                   "Sun, 06 Nov 1994 08.49.37 GMT", false, 0},
	{"one digit of hour",                     "Sun, 06 Nov 1994 8:49:37 GMT", false, 0},
	{"one digit of day",                      "Sun, 6 Nov 1994 08:49:37 GMT", false, 0},
	{"a sign in the year",                    "Sun, 06 Nov -994 08:49:37 GMT", false, 0},
	{"0, which servers mean as in the past",  "0", false, 0},
	{"-1, likewise",                          "-1", false, 0},
	{"nothing",                               "", false, 0},
	{"an unknown long weekday",               "Someday, 06-Nov-94 08:49:37 GMT", false, 0},
	{"something behind it",                   "Sun, 06 Nov 1994 08:49:37 GMT;", false, 0},
	/* clang-format on */
};

START_TEST(reads)
{
	int64_t t = 0;
	bool ok = date_parse(str_of(dates[_i].text), NOW, &t);
	ck_assert_msg(ok == dates[_i].ok, "%s", dates[_i].says);
	ck_assert_msg(t == dates[_i].t, "%s: %lld", dates[_i].says, (long long)t);
}
END_TEST

/* Against the C library, a step that hits every month, weekday and leap rule. */
START_TEST(writes_what_it_reads_and_what_gmtime_says)
{
	for (int64_t t = -2208988800; t < 16725225600; t += 86400 * 13 + 4657) {
		char ours[DATE_BYTES], theirs[DATE_BYTES + 1];
		time_t tt = (time_t)t;
		struct tm tm;
		int64_t back = 0;
		date_format(t, ours);
		strftime(theirs, sizeof theirs, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&tt, &tm));
		ck_assert_msg(memcmp(ours, theirs, DATE_BYTES) == 0, "%.29s for %s", ours, theirs);
		ck_assert(date_parse((struct str){ours, DATE_BYTES}, NOW, &back));
		ck_assert_int_eq(back, t);
	}
}
END_TEST

/* With any byte in any place it is no date, or the one that it says. */
START_TEST(each_byte_counts)
{
	static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
	unsigned found = 0;
	for (int i = 0; i < 256 * DATE_BYTES; i++) {
		char text[DATE_BYTES], back[DATE_BYTES];
		int64_t t;
		memcpy(text, date, DATE_BYTES);
		text[i / 256] = (char)(i % 256);
		if (!date_parse((struct str){text, DATE_BYTES}, NOW, &t))
			continue;
		found++;
		date_format(t, back);
		memcpy(back, date, 3); /* which day of the week it was is not asked */
		ck_assert_msg(strncasecmp(text, back, DATE_BYTES) == 0, "%.29s", text);
	}
	/* letters, days, years, hours, minutes, seconds, and eight signs between them */
	ck_assert_uint_eq(found, 9 * 2 + 3 + 9 + 4 * 10 + 2 + 10 + 6 + 10 + 6 + 10 + 8);
}
END_TEST

START_TEST(a_time_out_of_range_is_the_nearest_that_can_be_written)
{
	char out[DATE_BYTES];
	date_format(INT64_MAX, out);
	ck_assert_int_eq(memcmp(out, "Fri, 31 Dec 9999 23:59:59 GMT", DATE_BYTES), 0);
	date_format(INT64_MIN, out);
	ck_assert_int_eq(memcmp(out, "Mon, 01 Jan 0001 00:00:00 GMT", DATE_BYTES), 0);
}
END_TEST

UNIT("date", LOOP(reads, dates), TEST(writes_what_it_reads_and_what_gmtime_says),
     TEST(each_byte_counts), TEST(a_time_out_of_range_is_the_nearest_that_can_be_written))
