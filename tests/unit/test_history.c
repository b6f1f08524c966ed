/* rooms: admin cache http base filter
 * test_history.c - steps, gaps, clocks, snapshots.
 */
#include "proxy/admin/history.h"
#include "tests/kit/unit.h"

#include <jansson.h>
#include <stdbool.h>

static struct history *h;
static struct report r;
static int64_t us;
enum { BEGIN = 1000000200 }; /* begins a step of each length */

static void
start(void)
{
	memset(&r, 0, sizeof r);
	us = 0;
	h = history_create(BEGIN);
	history_add(h, &r, BEGIN, us);
}

/* n requests come in the second that ends at BEGIN + at. */
static void
second(int64_t at, unsigned n)
{
	r.n[METRIC_REQUESTS] += n;
	us += 1000000;
	history_add(h, &r, BEGIN + at, us);
}

static json_t *
ask(int64_t step, int64_t since)
{
	struct buf text = {0};
	json_error_t why;
	ck_assert(history_json(h, step, since, &text));
	json_t *all = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &why);
	ck_assert_msg(all != NULL, "%s: %.*s", why.text, (int)text.n, text.p);
	buf_fini(&text);
	return all;
}

/* The value of a column in the step that begins at BEGIN + at; -1: null; -2: not told. */
static double
value(int64_t step, const char *column, int64_t at)
{
	json_t *all = ask(step, -1);
	int64_t first = json_integer_value(json_object_get(all, "first_s"));
	json_t *values = json_object_get(json_object_get(all, "columns"), column);
	ck_assert_msg(json_is_array(values), "%s", column);
	ck_assert_int_eq((json_int_t)json_array_size(values),
			 json_integer_value(json_object_get(all, "count")));
	json_t *v = BEGIN + at < first
			    ? NULL
			    : json_array_get(values, (size_t)((BEGIN + at - first) / step));
	double is = !v ? -2 : json_is_null(v) ? -1 : json_number_value(v);
	json_decref(all);
	return is;
}

START_TEST(a_step_is_written_when_it_is_over)
{
	start();
	second(1, 5);
	second(2, 7);
	ck_assert_double_eq(value(1, "requests", 0), 5);
	ck_assert_double_eq(value(1, "requests", 1), 7);
	ck_assert_double_eq(value(1, "requests", 2), -2);
	ck_assert_double_eq(value(1, "requests", -1), -1);
	ck_assert_double_eq(value(10, "requests", 0), -2);
	history_destroy(&h);
}
END_TEST

START_TEST(longer_steps_are_averages)
{
	start();
	for (int64_t i = 1; i <= 300; i++)
		second(i, i <= 10 ? 20 : 2);
	ck_assert_double_eq(value(10, "requests", 0), 20);
	ck_assert_double_eq(value(10, "requests", 10), 2);
	ck_assert_double_eq_tol(value(300, "requests", 0), (200 + 580) / 300.0, 1e-4);
	history_destroy(&h);
}
END_TEST

START_TEST(a_second_that_nobody_looked_at_has_the_average)
{
	start();
	second(1, 4);
	us += 2000000; /* the thread was busy for three seconds */
	second(4, 30);
	for (int i = 1; i <= 3; i++)
		ck_assert_double_eq(value(1, "requests", i), 10);
	history_destroy(&h);
}
END_TEST

START_TEST(a_clock_that_is_set_leaves_a_gap_and_breaks_nothing)
{
	start();
	second(1, 4);
	second(5000, 4); /* set forward: only the step before it is told */
	ck_assert_double_eq(value(1, "requests", 4999), 4);
	ck_assert_double_eq(value(1, "requests", 4990), -1);
	second(2, 4); /* and back */
	second(3, 6);
	ck_assert_double_eq(value(1, "requests", 2), 6);
	history_destroy(&h);
}
END_TEST

START_TEST(the_ring_keeps_so_many)
{
	start();
	for (int64_t i = 1; i <= 1300; i++)
		second(i, (unsigned)i);
	ck_assert_double_eq(value(1, "requests", 1299), 1300);
	ck_assert_double_eq(value(1, "requests", 700), 701);
	ck_assert_double_eq(value(1, "requests", 699), -2);
	json_t *all = ask(1, BEGIN + 1297);
	ck_assert_int_eq(json_integer_value(json_object_get(all, "count")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(all, "first_s")), BEGIN + 1298);
	json_decref(all);
	struct buf text = {0};
	ck_assert(!history_json(h, 7, -1, &text));
	history_destroy(&h);
}
END_TEST

START_TEST(quantiles_are_of_what_came_in_the_step)
{
	struct histogram slow = {0}, fast = {0};
	start();
	for (int i = 0; i < 100; i++)
		histogram_add(&slow, 1000000);
	histogram_sum_add(&r.measures[MEASURE_FIRST_BYTE_OTHER], &slow);
	second(1, 1);
	second(2, 1);
	for (int i = 0; i < 100; i++)
		histogram_add(&fast, 1000);
	histogram_sum_add(&r.measures[MEASURE_FIRST_BYTE_OTHER], &fast);
	second(3, 1);
	ck_assert_double_eq_tol(value(1, "fetched_p50", 0), 1, 0.13);
	ck_assert_double_eq(value(1, "fetched_p50", 1), -1);
	ck_assert_double_eq_tol(value(1, "fetched_p99", 2), 0.001, 0.00013);
	ck_assert_double_eq(value(1, "hit_p50", 2), -1);
	history_destroy(&h);
}
END_TEST

/* A reload may take an origin away with all that was counted of it, or begin its numbers anew. */
START_TEST(an_origin_that_goes_leaves_no_wrong_quantiles)
{
	struct histogram fast = {0}, slow = {0};
	for (int i = 0; i < 100; i++) {
		histogram_add(&slow, 1000000);
		histogram_add(&fast, 1000);
	}
	start();
	r.origin_count = 2;
	histogram_sum_add(&r.origins[0].wait_us, &fast);
	histogram_sum_add(&r.origins[1].wait_us, &slow);
	second(1, 1);
	ck_assert_double_gt(value(1, "origin_p99", 0), 0.8);
	r.origin_count = 1;
	second(2, 1);
	ck_assert_double_eq(value(1, "origin_p50", 1), -1);
	histogram_sum_add(&r.origins[0].wait_us, &fast);
	second(3, 1);
	ck_assert_double_eq_tol(value(1, "origin_p99", 2), 0.001, 0.00013);
	histogram_sum_add(&r.origins[0].wait_us, &fast);
	second(300, 1);
	ck_assert_double_eq_tol(value(300, "origin_p99", 0), 0.001, 0.00013);
	history_destroy(&h);
}
END_TEST

static struct buf
saved(void)
{
	struct buf bytes = {0};
	ck_assert(history_save(h, 42, &bytes));
	ck_assert_uint_le(bytes.n, HISTORY_SNAPSHOT_MOST);
	return bytes;
}

START_TEST(lines_and_totals_come_back)
{
	start();
	second(1, 5);
	struct buf bytes = saved(), again = {0};
	ck_assert(!history_save(h, 42, &again)); /* nothing was asked since */
	history_destroy(&h);
	h = history_create(BEGIN + 100);
	ck_assert_ptr_null(history_load(h, 42, buf_str(&bytes)));
	memset(&r, 0, sizeof r);
	history_add(h, &r, BEGIN + 100, us);
	second(101, 3);
	ck_assert_double_eq(value(1, "requests", 0), 5);
	ck_assert_double_eq(value(1, "requests", 50), -1);
	ck_assert_double_eq(value(1, "requests", 100), 3);
	history_lifetime(h, &r);
	ck_assert_double_eq(r.lifetime[REPORT_requests], 8);
	ck_assert_int_eq(r.lifetime_since_s, BEGIN);
	history_destroy(&h);
	buf_fini(&bytes);
}
END_TEST

START_TEST(what_is_not_ours_is_ignored)
{
	start();
	second(1, 5);
	struct buf bytes = saved();
	history_destroy(&h);
	h = history_create(BEGIN);
	ck_assert_ptr_nonnull(history_load(h, 43, buf_str(&bytes)));
	for (size_t cut = 0; cut < bytes.n; cut += 1 + cut / 8)
		ck_assert_ptr_nonnull(history_load(h, 42, (struct str){bytes.p, cut}));
	for (size_t i = 0; i < bytes.n; i += 1 + i / 8) {
		bytes.p[i] ^= 1;
		ck_assert_ptr_nonnull(history_load(h, 42, buf_str(&bytes)));
		bytes.p[i] ^= 1;
	}
	history_lifetime(h, &r);
	ck_assert_double_eq(r.lifetime[REPORT_requests], 5); /* what r says, and no more */
	ck_assert_ptr_null(history_load(h, 42, buf_str(&bytes)));
	history_destroy(&h);
	buf_fini(&bytes);
}
END_TEST

UNIT("history", TEST(a_step_is_written_when_it_is_over), TEST(longer_steps_are_averages),
     TEST(a_second_that_nobody_looked_at_has_the_average),
     TEST(a_clock_that_is_set_leaves_a_gap_and_breaks_nothing), TEST(the_ring_keeps_so_many),
     TEST(quantiles_are_of_what_came_in_the_step),
     TEST(an_origin_that_goes_leaves_no_wrong_quantiles), TEST(lines_and_totals_come_back),
     TEST(what_is_not_ours_is_ignored))
