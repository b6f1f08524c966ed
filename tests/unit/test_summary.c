/* rooms: admin cache http base filter
 * test_summary.c - what the nodes of a fleet tell each other of their numbers, and the sum of it.
 */
#include "proxy/admin/summary.h"
#include "tests/kit/unit.h"

#include <stdlib.h>

static struct summary
node(uint64_t requests, uint64_t hits, uint64_t written, uint64_t baseline)
{
	struct report *r = calloc(1, sizeof *r);
	struct summary s;
	r->uptime_s = (double)requests;
	r->n[METRIC_REQUESTS] = requests;
	r->n[METRIC_HITS] = hits;
	r->cache.written_bytes = written;
	r->cache.purge_bytes = 10;
	r->baseline.ghost.written_bytes = baseline - 10;
	r->baseline.ghost.net_missed = -7;
	summary_of(r, &s);
	free(r);
	return s;
}

static double
number(const json_t *json, const char *group, const char *key)
{
	const json_t *v = json_object_get(json_object_get(json, group), key);
	ck_assert_msg(json_is_number(v), "%s.%s is missing", group, key);
	return json_number_value(v);
}

START_TEST(it_is_read_as_it_was_told)
{
	struct summary s = node(100, 60, 300, 1000), back;
	struct buf text = {0};
	summary_format(&s, &text);
	ck_assert_int_eq(summary_parse(buf_str(&text), &back), 0);
	ck_assert_mem_eq(back.n, s.n, sizeof s.n);
	ck_assert_double_eq(back.uptime_s, 100);
	buf_fini(&text);
}
END_TEST

START_TEST(the_largest_numbers_fit)
{
	struct summary s = {.uptime_s = 1e11}, back, sum = s;
	struct buf text = {0};
	for (int i = 0; i < SUMMARY_NUMBERS; i++)
		s.n[i] = -(INT64_C(1) << 61);
	summary_format(&s, &text);
	ck_assert_uint_le(text.n, SUMMARY_TEXT_MOST);
	ck_assert_int_eq(summary_parse(buf_str(&text), &back), 0);
	for (int i = 0; i < 5; i++)
		summary_add(&sum, &back);
	ck_assert_int_eq(sum.n[0], s.n[0]);
	buf_fini(&text);
}
END_TEST

START_TEST(ratios_of_the_sum_are_of_summed_parts)
{
	struct summary sum = {0}, a = node(100, 60, 300, 1000), b = node(300, 0, 100, 3000);
	summary_add(&sum, &a);
	summary_add(&sum, &b);
	json_t *json = summary_json(&sum);
	ck_assert_double_eq(number(json, "requests", "total"), 400);
	ck_assert_double_eq(number(json, "requests", "hit_ratio"), 60.0 / 400);
	ck_assert_double_eq(number(json, "requests", "baseline_hit_ratio"), 74.0 / 400);
	ck_assert_double_eq(number(json, "disk", "baseline_bytes"), 4000);
	ck_assert_double_eq(number(json, "disk", "saved_ratio"), 3600.0 / 4000);
	ck_assert_double_eq(json_number_value(json_object_get(json, "uptime_s")), 300);
	/* A number that nobody told is not said to be 0. */
	ck_assert_ptr_null(json_object_get(json_object_get(json, "disk"), "io_errors"));
	ck_assert_ptr_null(json_object_get(json, "tls"));
	json_decref(json);
}
END_TEST

static const struct {
	const char *says, *text;
	int result;
	int64_t requests;
} texts[] = {
	{"nothing but the uptime", "{\"uptime_s\":1.5}", 0, 0},
	{"a newer version says more", "{\"uptime_s\":1,\"x.y\":[],\"requests.total\":7}", 0, 7},
	{"no uptime", "{\"requests.total\":7}", -1, 0},
	{"an uptime before the start", "{\"uptime_s\":-1}", -1, 0},
	{"a number that is text", "{\"uptime_s\":1,\"requests.total\":\"7\"}", -1, 0},
	{"a number with a fraction", "{\"uptime_s\":1,\"requests.total\":7.5}", -1, 0},
	{"more than anybody counts", "{\"uptime_s\":1,\"requests.total\":4611686018427387904}", -1,
	 0},
	{"no object", "[1]", -1, 0},
	{"cut", "{\"uptime_s\":1,", -1, 0},
	{"nothing", "", -1, 0},
};

START_TEST(texts_are_read_or_refused)
{
	struct summary s = {.n = {-1}};
	ck_assert_msg(summary_parse(str_of(texts[_i].text), &s) == texts[_i].result, "%s",
		      texts[_i].says);
	ck_assert_int_eq(s.n[METRIC_REQUESTS], texts[_i].result ? -1 : texts[_i].requests);
}
END_TEST

UNIT("summary", TEST(it_is_read_as_it_was_told), TEST(the_largest_numbers_fit),
     TEST(ratios_of_the_sum_are_of_summed_parts), LOOP(texts_are_read_or_refused, texts))
