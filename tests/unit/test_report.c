/* rooms: admin cache http base filter
 * test_report.c - the numbers as JSON and Prometheus text, and their sums.
 */
#include "proxy/admin/report.h"
#include "tests/kit/unit.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>

static struct report r;
static struct buf text;

static void
start(void)
{
	memset(&r, 0, sizeof(r));
	text.n = 0;
	r.version = "test";
}

static json_t *
as_json(void)
{
	json_error_t why;
	text.n = 0;
	report_json(&r, &text);
	json_t *top = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &why);
	ck_assert_msg(top != NULL, "%s in %.*s", why.text, (int)text.n, text.p);
	return top;
}

static json_t *
at(json_t *top, const char *path)
{
	char copy[128], *rest;
	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strtok_r(copy, ".", &rest); name; name = strtok_r(NULL, ".", &rest))
		top = json_object_get(top, name);
	return top;
}

static double
ratio(const char *path)
{
	json_t *top = as_json(), *v = at(top, path);
	ck_assert_msg(json_is_real(v), "%s", path);
	double d = json_real_value(v);
	json_decref(top);
	return d;
}

static const char *
as_text(void)
{
	text.n = 0;
	report_prometheus(&r, &text);
	buf_add(&text, "", 1);
	return text.p;
}

/* Names that tools rely on. */
static const char *const promised[] = {
	"uptime_s",
	"requests.total",
	"requests.ram_hits",
	"requests.disk_hits",
	"requests.misses",
	"requests.coalesced",
	"requests.passed",
	"requests.revalidated",
	"requests.stale_served",
	"bytes.to_clients",
	"bytes.from_origin",
	"disk.written_bytes",
	"disk.baseline_bytes",
	"disk.saved_bytes",
	"disk.saved_ratio",
	"disk.used_bytes",
	"disk.limit_bytes",
	"disk.objects",
	"disk.evicted_objects",
	"admission.first_sight",
	"admission.seen_current",
	"admission.seen_previous",
	"admission.refused_bytes",
	"admission.generation.number",
	"admission.generation.keys",
	"admission.generation.capacity",
	"admission.generation.fill_ratio",
	"admission.generation.estimated_fpr",
	"admission.generation.age_s",
	"origin.requests",
	"origin.errors",
	"origin.extra_requests",
	"origin.extra_bytes",
};

START_TEST(json_has_what_was_promised)
{
	start();
	json_t *top = as_json();
	ck_assert_msg(json_is_number(at(top, promised[_i])), "%s", promised[_i]);
	ck_assert_str_eq(json_string_value(at(top, "version")), "test");
	json_decref(top);
}
END_TEST

START_TEST(one_hit_urls_are_what_is_saved)
{
	start(); /* N1 = 740, N2 = 260 of equal size: saved N1 / (N1 + N2) */
	r.baseline.ghost.written_bytes = 1000 * 8192;
	r.cache.written_bytes = 260 * 8192;
	json_t *top = as_json();
	ck_assert_int_eq(json_integer_value(at(top, "disk.saved_bytes")), 740 * 8192);
	ck_assert_double_eq_tol(json_real_value(at(top, "disk.saved_ratio")), 0.74, 1e-9);
	json_decref(top);
}
END_TEST

START_TEST(saving_nothing_is_zero_and_writing_more_is_below)
{
	start();
	ck_assert_double_eq(ratio("disk.saved_ratio"), 0);
	r.cache.written_bytes = 4096;
	ck_assert_double_eq(ratio("disk.saved_ratio"), 0);
	json_t *top = as_json();
	ck_assert_int_eq(json_integer_value(at(top, "disk.saved_bytes")), -4096);
	json_decref(top);
	ck_assert(strstr(as_text(), "\ntwice_disk_saved_bytes -4096\n") != NULL);
}
END_TEST

START_TEST(hit_ratio_and_what_it_would_have_been)
{
	start();
	ck_assert_double_eq(ratio("requests.hit_ratio"), 0);
	r.n[METRIC_REQUESTS] = 1000;
	r.n[METRIC_HITS] = 500;
	r.n[METRIC_COALESCED] = 50; /* counted apart */
	r.n[METRIC_MISSES] = 450;
	r.baseline.ghost.extra_requests = 50; /* to origins; some clients' requests took several */
	r.baseline.ghost.net_missed = -10;
	r.n[METRIC_BYTES_FROM_CACHE] = 600;
	r.n[METRIC_BYTES_FROM_ORIGIN] = 400;
	r.baseline.ghost.extra_bytes = 100;
	ck_assert_double_eq_tol(ratio("requests.hit_ratio"), 0.5, 1e-9);
	ck_assert_double_eq_tol(ratio("requests.baseline_hit_ratio"), 0.51, 1e-9);
	ck_assert_double_eq_tol(ratio("bytes.hit_ratio"), 0.6, 1e-9);
	ck_assert_double_eq_tol(ratio("bytes.baseline_hit_ratio"), 0.7, 1e-9);
}
END_TEST

START_TEST(numbers_that_are_none_do_not_break_it)
{
	start();
	r.generation.estimated_fpr = NAN;
	r.generation.fill_ratio = INFINITY;
	json_t *top = as_json();
	ck_assert_double_eq(json_real_value(at(top, "admission.generation.estimated_fpr")), 0);
	json_decref(top);
	ck_assert(strstr(as_text(), "twice_generation_fill_ratio{generation=\"current\"} 0\n") !=
		  NULL);
}
END_TEST

START_TEST(prometheus_counters_end_in_total)
{
	start();
	r.n[METRIC_REQUESTS] = 7;
	r.n[METRIC_RAM_HITS] = UINT64_C(1) << 53;
	r.cache.ram_used_bytes = 5;
	const char *p = as_text();
	ck_assert(strstr(p, "# TYPE twice_requests_begun_total counter\n"
			    "twice_requests_begun_total 7\n") != NULL);
	ck_assert(strstr(p, "\ntwice_requests_total{outcome=\"ram-hit\"} 9007199254740992\n") !=
		  NULL);
	ck_assert(strstr(p, "# TYPE twice_cache_used_bytes gauge\n") != NULL);
	ck_assert(strstr(p, "\ntwice_cache_used_bytes{tier=\"ram\"} 5\n") != NULL);
	ck_assert(strstr(p, "twice_build_info{version=\"test\"} 1\n") != NULL);
	ck_assert_ptr_null(strstr(p, "total_total"));
}
END_TEST

/* Each outcome and verdict of the tables is a label of one family. */
static const char *const labels[] = {
#define ADMISSION(id, written, word, why) "twice_verdicts_total{verdict=\"" word "\"} ",
#include "proxy/cache/admission/admissions.h"
#undef ADMISSION
};

START_TEST(every_verdict_is_a_label)
{
	start();
	ck_assert_msg(strstr(as_text(), labels[_i]) != NULL, "%s", labels[_i]);
}
END_TEST

static const enum metric outcomes[] = {
#define ANSWER(id, metric, what) METRIC_##metric,
#include "proxy/serve/answers.h"
#undef ANSWER
};

START_TEST(every_outcome_is_a_label)
{
	start();
	r.n[outcomes[_i]] = 4711;
	const char *p = strstr(as_text(), "\ntwice_requests_total{outcome=");
	const char *end = p ? strstr(p, "\n#") : NULL;
	const char *value = p ? strstr(p, "} 4711\n") : NULL;
	ck_assert_msg(value && value < end, "%s", metric_rows[outcomes[_i]].key);
}
END_TEST

START_TEST(histograms_are_cumulative_and_end_in_inf)
{
	start();
	struct histogram h = {0};
	histogram_add(&h, 16);	    /* us: within le 0.000016 */
	histogram_add(&h, 17);	    /* above it */
	histogram_add(&h, 1000000); /* 1 s */
	histogram_sum_add(&r.measures[MEASURE_TOTAL_HIT], &h);
	const char *p = as_text();
#define BUCKET "\ntwice_request_duration_seconds_bucket{answer=\"cached\",le="
	ck_assert(strstr(p, BUCKET "\"1.6e-05\"} 1\n") != NULL);
	ck_assert(strstr(p, BUCKET "\"3.2e-05\"} 2\n") != NULL);
	ck_assert(strstr(p, BUCKET "\"1.048576\"} 3\n") != NULL);
	ck_assert(strstr(p, BUCKET "\"+Inf\"} 3\n") != NULL);
	ck_assert(strstr(p, "\ntwice_request_duration_seconds_sum{answer=\"cached\"} 1.000033\n") !=
		  NULL);
	ck_assert(strstr(p, "\ntwice_request_duration_seconds_count{answer=\"cached\"} 3\n") !=
		  NULL);
}
END_TEST

START_TEST(an_origin_is_a_label_whatever_its_url_holds)
{
	start();
	r.origin_count = 1;
	r.origins[0] = (struct report_origin){.url = "http://a\"\\b", .requests = 3};
	r.origins[0].answers[5] = 2;
	const char *p = as_text();
	ck_assert(strstr(p, "\ntwice_origin_requests_total{origin=\"http://a\\\"\\\\b\"} 3\n") !=
		  NULL);
	ck_assert(strstr(p, "b\",code=\"5xx\"} 2\n") != NULL);
	ck_assert(strstr(p, "b\"} 1\n") != NULL); /* up */
}
END_TEST

/* A family has one head, all its samples behind it, and no sample twice. */
START_TEST(a_server_of_two_groups_is_told_once)
{
	struct histogram waits = {0};
	start();
	histogram_add(&waits, 1000);
	r.origin_count = 3;
	for (unsigned i = 0; i < 3; i++) {
		r.origins[i] = (struct report_origin){
			.url = i == 1 ? "http://b" : "http://a", .requests = i + 1, .errors = 1};
		r.origins[i].answers[2] = i + 1;
		histogram_sum_add(&r.origins[i].wait_us, &waits);
	}
	r.origins[2].condition = REPORT_ORIGIN_OUT;
	static const char *const once[] = {
		"\ntwice_origin_requests_total{origin=\"http://a\"} 4\n",
		"\ntwice_origin_requests_total{origin=\"http://a\"}",
		"\ntwice_origin_requests_total{origin=\"http://b\"} 2\n",
		"\ntwice_origin_errors_total{origin=\"http://a\"} 2\n",
		"\ntwice_origin_up{origin=\"http://a\"} 0\n",
		"\ntwice_origin_up{origin=\"http://a\"}",
		"\ntwice_origin_up{origin=\"http://b\"} 1\n",
		"\ntwice_origin_responses_total{origin=\"http://a\",code=\"2xx\"} 4\n",
		"\ntwice_origin_responses_total{origin=\"http://a\",code=\"2xx\"}",
		"\ntwice_origin_first_byte_seconds_count{origin=\"http://a\"} 2\n",
		"\ntwice_origin_first_byte_seconds_count{origin=\"http://a\"}",
	};
	const char *all = as_text();
	for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
		int n = 0;
		for (const char *p = all; (p = strstr(p, once[i])); p++)
			n++;
		ck_assert_msg(n == 1, "%d times: %s", n, once[i]);
	}
}
END_TEST

START_TEST(prometheus_text_is_well_formed)
{
	start();
	r.origin_count = 1;
	r.origins[0].url = "http://origin";
	r.route_count = 2;
	r.routes[0].name = "a";
	r.routes[1].name = "b";
	static char seen[1 << 18], sample[256], again[300];
	char *copy = strdup(as_text()), *rest, family[128] = "", name[128];
	int lines = 0;
	size_t seen_bytes = 0;
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "# HELP %127s ", family) == 1) {
			line = strtok_r(NULL, "\n", &rest);
			ck_assert_msg(sscanf(line, "# TYPE %127s ", name) == 1, "%s", line);
			ck_assert_str_eq(family, name);
			snprintf(again, sizeof(again), "\n# %s\n", family);
			ck_assert_msg(strstr(seen, again) == NULL, "%s twice", family);
			seen_bytes += (size_t)sprintf(seen + seen_bytes, "%s", again);
			ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
					  strlen(name));
			continue;
		}
		ck_assert_msg(strncmp(line, family, strlen(family)) == 0, "%s", line);
		ck_assert_int_eq(sscanf(line, "%255s ", sample), 1);
		snprintf(again, sizeof(again), "\n%s\n", sample);
		ck_assert_msg(strstr(seen, again) == NULL, "%s twice", sample);
		seen_bytes += (size_t)sprintf(seen + seen_bytes, "%s", again);
		lines++;
	}
	ck_assert_int_gt(lines, METRIC_COUNT);
	free(copy);
}
END_TEST

/* clang-format off */
static const struct { const char *says; double interval, alarm; int fast; } turns[] = {
	{ "none has ended yet", 0, 300, 0 },
	{ "sooner than the setting", 299, 300, 1 },
	{ "not sooner", 300, 300, 0 },
	{ "no setting", 1, 0, 0 },
};
/* clang-format on */

START_TEST(generations_that_turn_fast_raise_a_gauge)
{
	start();
	r.sightings.interval_s = turns[_i].interval;
	r.sightings.turn_alarm_s = turns[_i].alarm;
	r.generation.born_s = 100;
	r.now_s = 110;
	r.generation.distinct_estimate = 50;
	json_t *top = as_json();
	ck_assert_int_eq(json_integer_value(at(top, "admission.generation.turns_fast")),
			 turns[_i].fast);
	ck_assert_double_eq(json_real_value(at(top, "admission.generation.distinct_per_s")), 5);
	json_decref(top);
	ck_assert_ptr_nonnull(strstr(as_text(), turns[_i].fast
							? "twice_generation_turns_fast 1\n"
							: "twice_generation_turns_fast 0\n"));
}
END_TEST

/* Of 1000 requests 600 are hits. Another setting asks for 100 more, and writes a fifth less. */
START_TEST(what_if_is_told_as_a_change_of_what_is)
{
	start();
	r.uptime_s = 30;
	r.n[METRIC_REQUESTS] = 1000;
	r.n[METRIC_HITS] = 600;
	r.cache.written_bytes = 10000;
	struct whatif_stats *w = &r.baseline.what_if;
	w->sample_share = 1;
	w->rows[WHATIF_NOW] =
		(struct whatif_told){.told = true, .sightings = 2, .written_bytes = 9000};
	w->rows[WHATIF_SIGHTINGS_3] = (struct whatif_told){.told = true,
							   .sightings = 3,
							   .more_requests = 100,
							   .more_requests_error = 10,
							   .more_written = -1800};
	json_t *top = as_json(), *rows = at(top, "what_if.rows"), *row = json_array_get(rows, 1);
	ck_assert_uint_eq(json_array_size(rows), 2);
	ck_assert_str_eq(json_string_value(at(row, "says")),
			 "with sightings: 3: -20.0% writes, -10.0 points of hits");
	ck_assert_double_eq_tol(json_real_value(at(row, "hit_ratio")), 0.5, 1e-9);
	ck_assert_double_eq_tol(json_real_value(at(row, "hit_ratio_error")), 0.01, 1e-9);
	ck_assert_double_eq_tol(json_real_value(at(row, "written_bytes")), 8200, 1e-9);
	ck_assert_double_eq_tol(json_real_value(at(top, "what_if.off_written")), -0.1, 1e-9);
	json_decref(top);
	ck_assert_ptr_nonnull(
		strstr(as_text(), "twice_what_if_hit_ratio_change{with=\"sightings: 3\"} -0.1\n"));
}
END_TEST

static const struct {
	const char *says;
	double uptime_s, off_requests, now_written;
	unsigned requests;
	bool known;
	const char *words; /* of sightings: 1, which writes 5,000 bytes and hits 20 more */
} what_ifs[] = {
	{"a share of what is written now", 30, 0, 10000, 1000, true,
	 "+50.0% writes, +2.0 points of hits"},
	{"bytes, where now none are", 30, 0, 0, 1000, true,
	 "5000 bytes written where now none are, +2.0 points of hits"},
	{"the first half minute", 29, 0, 10000, 1000, false, "not known yet"},
	{"few requests", 300, 0, 10000, 999, false, "not known yet"},
	{"a model that is off", 300, -31, 10000, 1000, false, "not known yet"},
	{"a model that is off the other way", 300, 31, 10000, 1000, false, "not known yet"},
};

START_TEST(what_if_says_what_it_knows)
{
	start();
	r.uptime_s = what_ifs[_i].uptime_s;
	r.n[METRIC_REQUESTS] = what_ifs[_i].requests;
	struct whatif_stats *w = &r.baseline.what_if;
	w->off_requests = what_ifs[_i].off_requests;
	w->rows[WHATIF_NOW] =
		(struct whatif_told){.told = true, .written_bytes = what_ifs[_i].now_written};
	w->rows[WHATIF_SIGHTINGS_1] =
		(struct whatif_told){.told = true, .more_requests = -20, .more_written = 5000};
	json_t *top = as_json(), *row = json_array_get(at(top, "what_if.rows"), 1);
	char want[128];
	snprintf(want, sizeof want, "with sightings: 1: %s", what_ifs[_i].words);
	ck_assert_str_eq(json_string_value(at(row, "says")), want);
	ck_assert_int_eq(json_is_true(at(top, "what_if.known")), what_ifs[_i].known);
	ck_assert_int_eq(json_is_null(at(row, "written_change")), what_ifs[_i].now_written == 0);
	ck_assert_double_eq(json_real_value(at(row, "more_written_bytes")), 5000);
	json_decref(top);
	bool hits = strstr(as_text(), "twice_what_if_hit_ratio_change{") != NULL;
	bool written = strstr(as_text(), "twice_what_if_written_change_ratio{") != NULL;
	ck_assert_int_eq(hits, what_ifs[_i].known);
	ck_assert_int_eq(written, what_ifs[_i].known && what_ifs[_i].now_written > 0);
}
END_TEST

UNIT("report", LOOP(generations_that_turn_fast_raise_a_gauge, turns),
     TEST(what_if_is_told_as_a_change_of_what_is), LOOP(what_if_says_what_it_knows, what_ifs),
     LOOP(json_has_what_was_promised, promised), TEST(one_hit_urls_are_what_is_saved),
     TEST(saving_nothing_is_zero_and_writing_more_is_below),
     TEST(hit_ratio_and_what_it_would_have_been), TEST(numbers_that_are_none_do_not_break_it),
     TEST(prometheus_counters_end_in_total), LOOP(every_verdict_is_a_label, labels),
     LOOP(every_outcome_is_a_label, outcomes), TEST(histograms_are_cumulative_and_end_in_inf),
     TEST(an_origin_is_a_label_whatever_its_url_holds), TEST(a_server_of_two_groups_is_told_once),
     TEST(prometheus_text_is_well_formed))
