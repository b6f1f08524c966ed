/* rooms: base
 * test_hot.c - the most frequent names are found, however many there are.
 */
#include "proxy/base/hot.h"
#include "proxy/base/mem.h"
#include "tests/kit/unit.h"

#include <stdio.h>
#include <stdlib.h>

static struct hot h;
static struct hot_sum l;

static void
ask(const char *name, int64_t now_s)
{
	if (hot_is_drawn(&h, now_s))
		hot_add(&h, HOT_URLS, str_of(name), 1);
}

static void
read_at(int64_t now_s)
{
	hot_sum_fini(&l);
	hot_read(&h, HOT_URLS, now_s, &l);
	hot_sort(&l);
}

START_TEST(each_of_a_few_requests_is_counted)
{
	hot_init(&h);
	for (int i = 0; i < 30; i++)
		ask(i % 3 ? "/often" : "/seldom", 600 + i);
	read_at(630);
	ck_assert_uint_eq(l.names[0].bytes, 6);
	ck_assert_int_eq(memcmp(l.names[0].text, "/often", 6), 0);
	ck_assert_double_eq(l.names[0].weight, 20);
	ck_assert_double_eq(l.names[1].weight, 10);
	ck_assert_double_eq(l.names[0].error, 0);
	ck_assert_double_eq(l.total, 30);
	hot_fini(&h);
}
END_TEST

START_TEST(the_frequent_are_found_among_thousands_of_names_and_a_sample)
{
	char name[32];
	hot_init(&h);
	for (int i = 0; i < 400000; i++) { /* 20,000 a second: one of 40 is drawn */
		snprintf(name, sizeof name,
			 i % 10 == 0   ? "/hot"
			 : i % 10 == 5 ? "/warm"
				       : "/%d",
			 i);
		ask(name, 600 + i / 20000);
	}
	read_at(620);
	ck_assert_int_eq(memcmp(l.names[0].text, "/hot", 4) * memcmp(l.names[0].text, "/warm", 5),
			 0);
	ck_assert_int_eq(memcmp(l.names[1].text, "/hot", 4) * memcmp(l.names[1].text, "/warm", 5),
			 0);
	for (int i = 0; i < 2; i++)
		ck_assert_double_eq_tol(l.names[i].weight / l.total, 0.1, 0.025);
	ck_assert_double_eq_tol(l.total, 400000, 60000);
	ck_assert_uint_gt(h.period, 10);
	hot_fini(&h);
}
END_TEST

START_TEST(what_was_hot_a_while_ago_fades)
{
	hot_init(&h);
	for (int i = 0; i < 64; i++)
		ask("/was", 600);
	for (int i = 0; i < 8; i++)
		ask("/is", 600 + 5 * HOT_MINUTE_S);
	read_at(600 + 5 * HOT_MINUTE_S);
	ck_assert_int_eq(memcmp(l.names[0].text, "/is", 3), 0);
	ck_assert_double_eq(l.names[1].weight, 2);
	read_at(10); /* a clock that was set back */
	ck_assert_double_eq(l.names[0].weight, 8);
	hot_fini(&h);
}
END_TEST

START_TEST(a_long_name_is_cut_and_several_sketches_are_one)
{
	char name[1000];
	memset(name, 'a', sizeof name);
	hot_init(&h);
	hot_is_drawn(&h, 600);
	hot_add(&h, HOT_URLS, (struct str){name, sizeof name}, 3);
	hot_add(&h, HOT_URLS, STR(""), 3);
	read_at(600);
	hot_read(&h, HOT_URLS, 600, &l); /* as if another worker had seen the same */
	hot_sort(&l);
	ck_assert_uint_eq(l.names[0].bytes, HOT_NAME_BYTES);
	ck_assert_double_eq(l.names[0].weight, 6);
	ck_assert_uint_eq(l.n, 1);
	hot_fini(&h);
}
END_TEST

START_TEST(the_heaviest_of_all_sketches_are_read_whichever_comes_first)
{
	char name[32];
	struct hot *second = NEW(struct hot);
	hot_init(&h);
	hot_init(second);
	for (int i = 0; i < HOT_NAMES; i++) {
		snprintf(name, sizeof name, "/%d", i);
		hot_add(&h, HOT_URLS, str_of(name), 1);
	}
	hot_add(second, HOT_URLS, STR("/heavy"), 50);
	hot_add(second, HOT_URLS, STR("/light"), 0.5);
	hot_sum_fini(&l);
	hot_read(&h, HOT_URLS, 600, &l);
	hot_read(second, HOT_URLS, 600, &l);
	hot_sort(&l);
	ck_assert_uint_eq(l.names[0].bytes, 6);
	ck_assert_int_eq(memcmp(l.names[0].text, "/heavy", 6), 0);
	ck_assert_double_eq(l.names[0].weight, 50);
	ck_assert_double_eq(l.names[0].error, 0);
	ck_assert_uint_eq(l.n, HOT_NAMES + 2);
	ck_assert_double_eq(l.names[HOT_NAMES + 1].weight, 0.5);
	ck_assert_double_eq(l.total, HOT_NAMES + 50.5);
	hot_fini(second);
	hot_fini(&h);
	free(second);
}
END_TEST

UNIT("hot", TEST(each_of_a_few_requests_is_counted),
     TEST(the_frequent_are_found_among_thousands_of_names_and_a_sample),
     TEST(what_was_hot_a_while_ago_fades), TEST(a_long_name_is_cut_and_several_sketches_are_one),
     TEST(the_heaviest_of_all_sketches_are_read_whichever_comes_first))
