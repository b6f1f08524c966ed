/* test_catalogue.c - sizes, versions and what is asked for again.
 * rooms: simulate cache coding http base filter
 */
#include "proxy/simulate/catalogue.h"
#include "tests/kit/unit.h"

static struct visit
seen(struct catalogue *c, uint64_t key, uint64_t bytes, enum visit_kind kind, bool whole)
{
	struct visit v = {.key = {key, key}, .kind = (uint8_t)kind, .now_s = 100};
	catalogue_see(c, &v,
		      &(struct catalogue_news){.bytes = bytes,
					       .has_bytes = kind != VISIT_CHECKED,
					       .whole_size = whole});
	return v;
}

/* clang-format off */
static const struct {
	const char *says;
	bool whole;
	unsigned n;
	uint64_t told[6], bytes[6];
	bool changed[6];
} sizes[] = {
	{ "an object's size that changes is a new version", true, 4,
	  {100, 100, 90, 100}, {100, 100, 90, 100}, {false, false, true, true} },
	{ "a request that was cut is none", false, 4,
	  {100, 100, 40, 100}, {100, 100, 100, 100}, {false} },
	{ "the first one was cut", false, 3,
	  {40, 100, 100}, {40, 100, 100}, {false} },
	{ "larger, told three times in a row, is a new version", false, 6,
	  {100, 100, 120, 120, 120, 120}, {100, 100, 100, 100, 120, 120},
	  {false, false, false, false, true, false} },
	{ "smaller, told three times in a row, is a new version", false, 6,
	  {100, 100, 40, 40, 40, 40}, {100, 100, 100, 100, 40, 40},
	  {false, false, false, false, true, false} },
	{ "another coding in between is none", false, 6,
	  {100, 100, 40, 100, 40, 40}, {100, 100, 100, 100, 100, 100}, {false} },
};
/* clang-format on */

START_TEST(size)
{
	struct catalogue *c = catalogue_create(0, 0);
	for (unsigned i = 0; i < sizes[_i].n; i++) {
		struct visit v = seen(c, 7, sizes[_i].told[i], VISIT_WHOLE, sizes[_i].whole);
		ck_assert_msg(v.bytes == sizes[_i].bytes[i] && v.changed == sizes[_i].changed[i],
			      "%s: request %u: %llu bytes, changed %d", sizes[_i].says, i,
			      (unsigned long long)v.bytes, v.changed);
	}
	catalogue_destroy(&c);
	ck_assert_ptr_null(c);
}
END_TEST

/* A cache sends its copy packed to most and plain to some: only a fetch tells another version, and copies confirm it. */
START_TEST(a_copy_in_another_coding_is_no_version)
{
	static const struct {
		uint64_t told, bytes;
		bool is_copy, changed;
	} rows[] = {{100, 100, false, false}, {37, 100, true, false}, {37, 100, true, false},
		    {37, 100, true, false},   {37, 100, true, false}, {100, 100, true, false},
		    {90, 100, false, false},  {37, 100, true, false}, {90, 100, true, false},
		    {90, 90, true, true},     {33, 90, true, false}};
	struct catalogue *c = catalogue_create(0, 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct visit v = {.key = {7, 7}, .now_s = 100};
		catalogue_see(c, &v,
			      &(struct catalogue_news){.bytes = rows[i].told,
						       .has_bytes = true,
						       .is_copy = rows[i].is_copy});
		ck_assert_msg(v.bytes == rows[i].bytes && v.changed == rows[i].changed,
			      "row %zu: %llu, %d", i, (unsigned long long)v.bytes, v.changed);
	}
	catalogue_destroy(&c);
}
END_TEST

START_TEST(the_second_pass_knows_what_comes)
{
	struct catalogue *c = catalogue_create(0, 0);
	struct visit v = seen(c, 7, 0, VISIT_CHECKED, false);
	ck_assert(v.first && v.tracked && v.bytes == 0 && v.validator);
	v = seen(c, 7, 40, VISIT_PART, false);
	ck_assert(!v.first && v.bytes == 40 && v.validator);
	seen(c, 7, 100, VISIT_WHOLE, false);
	v = seen(c, 8, 50, VISIT_WHOLE, false);
	ck_assert(v.first && !v.validator);
	catalogue_rewind(c);
	v = seen(c, 7, 0, VISIT_CHECKED, false);
	ck_assert(v.first && v.again && v.bytes == 100);
	v = seen(c, 7, 40, VISIT_PART, false);
	ck_assert(!v.first && v.again && v.bytes == 100);
	v = seen(c, 7, 100, VISIT_WHOLE, false);
	ck_assert(!v.again && v.bytes == 100 && !v.changed);
	v = seen(c, 8, 50, VISIT_WHOLE, false);
	ck_assert(v.first && !v.again);
	v = seen(c, 9, 50, VISIT_WHOLE, false); /* the log has grown */
	ck_assert(!v.tracked);
	v = seen(c, 8, 50, VISIT_WHOLE, false);
	ck_assert(!v.again);
	catalogue_destroy(&c);
}
END_TEST

/* Of a URL that has one version, the largest that was ever sent is its size from the beginning. */
START_TEST(the_largest_is_the_size_in_the_second_pass)
{
	static const uint64_t sent[] = {40, 40, 100, 40, 70};
	struct catalogue *c = catalogue_create(0, 0);
	for (int i = 0; i < COUNT(sent); i++)
		seen(c, 7, sent[i], VISIT_WHOLE, false);
	catalogue_rewind(c);
	for (int i = 0; i < COUNT(sent); i++) {
		struct visit v = seen(c, 7, sent[i], VISIT_WHOLE, false);
		ck_assert(v.bytes == 100 && !v.changed);
	}
	catalogue_destroy(&c);
}
END_TEST

START_TEST(facts_add_up)
{
	struct catalogue *c = catalogue_create(0, 0);
	struct catalogue_facts f;
	for (uint64_t round = 0; round < 4; round++)
		for (uint64_t k = 1; k <= 1000; k++)
			if (round == 0 || k <= 200)
				seen(c, k * 0x9e3779b97f4a7c15u, 10, VISIT_WHOLE, true);
	catalogue_facts(c, &f);
	ck_assert_double_eq(f.urls, 1000);
	ck_assert_double_eq(f.once_urls, 800);
	ck_assert_double_eq(f.bytes, 10000);
	ck_assert_double_eq(f.once_bytes, 8000);
	ck_assert_double_eq(f.by_count[0], 800);
	ck_assert_double_eq(f.by_count[2], 200); /* three and four times */
	ck_assert_double_eq(f.by_count_visits[2], 800);
	ck_assert_uint_eq(f.visits, 1600);
	double gaps = 0, steps = 0;
	for (int i = 0; i < CATALOGUE_LOG2; i++)
		gaps += f.gap_s[i];
	ck_assert_double_eq(gaps, 600);
	for (unsigned i = 0; i < f.steps; i++) {
		ck_assert_double_ge(f.step[i].urls, steps);
		steps = f.step[i].urls;
	}
	ck_assert_uint_gt(f.steps, CATALOGUE_STEPS / 4);
	catalogue_destroy(&c);
}
END_TEST

START_TEST(a_sample_estimates_the_whole)
{
	enum { URLS = 100000 };
	struct catalogue *c = catalogue_create(8192, _i ? 6 : 0);
	struct catalogue_facts f;
	for (uint64_t k = 1; k <= URLS; k++)
		for (uint64_t n = 0; n <= k % 4; n++)
			seen(c, k * 0x9e3779b97f4a7c15u, 10 + k % 5, VISIT_WHOLE, true);
	catalogue_facts(c, &f);
	ck_assert_uint_le(f.rows, 8192);
	ck_assert_double_lt(f.sample_share, 0.13);
	ck_assert(!_i || f.sample_share <= 1 / 64.0);
	ck_assert_double_eq_tol(f.urls, URLS, 0.05 * URLS);
	ck_assert_double_eq_tol(f.once_urls / f.urls, 0.25, 0.03);
	ck_assert_double_eq_tol(f.bytes, 12.0 * URLS, 0.05 * 12 * URLS);
	catalogue_destroy(&c);
}
END_TEST

/* One in fifty is a thousand times as large: all of these are there, and sums are not in doubt. */
START_TEST(what_is_large_is_in_every_sample)
{
	enum { URLS = 100000, EACH = 50, LARGE = 1000000 };
	struct catalogue *c = catalogue_create(1 << 17, 5);
	struct catalogue_facts f;
	double bytes = 0;
	unsigned tracked = 0;
	for (int round = 0; round < 2; round++) {
		for (uint64_t k = 1; k <= URLS; k++) {
			uint64_t bytes_of = k % EACH ? 1000 : LARGE + k;
			struct visit v =
				seen(c, k * 0x9e3779b97f4a7c15u, bytes_of, VISIT_WHOLE, true);
			bytes += round ? 0 : (double)bytes_of;
			tracked += round && v.tracked && v.large;
		}
		if (round == 0)
			catalogue_rewind(c);
	}
	catalogue_facts(c, &f);
	ck_assert_uint_eq(catalogue_sample(c).halvings, 5);
	ck_assert_double_eq(f.large_urls, URLS / EACH);
	ck_assert_uint_eq(tracked, URLS / EACH);
	ck_assert_uint_lt(f.rows, URLS / EACH + URLS / 20);
	ck_assert_double_eq_tol(f.bytes, bytes, 0.005 * bytes);
	ck_assert_double_eq_tol(f.urls, URLS, 0.05 * URLS);
	catalogue_destroy(&c);
}
END_TEST

UNIT("catalogue", TEST(what_is_large_is_in_every_sample), LOOP(size, sizes),
     TEST(a_copy_in_another_coding_is_no_version), TEST(the_second_pass_knows_what_comes),
     TEST(facts_add_up), TEST(the_largest_is_the_size_in_the_second_pass),
     TIMES(a_sample_estimates_the_whole, 2))
