/* rooms: cli base
 * The demo's claims rest on the mix: its shares, its sizes, and bodies that give a
 * swapped, shifted or damaged byte away. */
#include "proxy/cli/demo/mix.h"

#include "tests/kit/unit.h"

#define REQUESTS 200000

static void
count_requests(const struct mix *m, uint32_t *times)
{
	for (uint32_t i = 0; i < m->request_count; i++) {
		ck_assert_uint_lt(m->order[i], m->object_count);
		times[m->order[i]]++;
	}
}

static double
share_asked_at_most(const uint32_t *times, uint32_t n, uint32_t most)
{
	uint32_t found = 0;
	for (uint32_t k = 0; k < n; k++)
		found += times[k] <= most;
	return (double)found / n;
}

static const uint32_t lengths[] = {1, 2, 10, 1000, 50000, REQUESTS};

START_TEST(has_exactly_the_requests_asked_for)
{
	struct mix m;
	mix_init_cdn(&m, lengths[_i], 7);
	ck_assert_uint_eq(m.request_count, lengths[_i]);
	ck_assert_uint_ge(m.object_count, 1);
	mix_fini(&m);
}
END_TEST

START_TEST(most_urls_are_asked_for_once)
{
	struct mix m;
	mix_init_cdn(&m, lengths[_i], 7);
	uint32_t *times = calloc(m.object_count, sizeof(*times));
	count_requests(&m, times);
	if (lengths[_i] >= 50000) {
		double once = share_asked_at_most(times, m.object_count, 1);
		double under_4 = share_asked_at_most(times, m.object_count, 3);
		double per_url = (double)m.request_count / m.object_count;
		ck_assert_double_eq_tol(once, 0.743, 0.005);
		ck_assert_double_eq_tol(under_4, 0.89, 0.01);
		ck_assert_double_eq_tol(per_url, 3.45, 0.15);
		ck_assert_double_eq_tol(once, (double)m.asked_once / m.object_count, 1e-9);
	}
	ck_assert_double_eq(share_asked_at_most(times, m.object_count, 0), 0);
	free(times);
	mix_fini(&m);
}
END_TEST

static int
by_size(const void *a, const void *b)
{
	const struct mix_object *x = a, *y = b;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

START_TEST(sizes_have_a_small_median_and_a_long_tail)
{
	struct mix m;
	mix_init_cdn(&m, REQUESTS, 7);
	qsort(m.objects, m.object_count, sizeof(*m.objects), by_size);
	uint64_t median = m.objects[m.object_count / 2].bytes;
	uint64_t largest = m.objects[m.object_count - 1].bytes;
	ck_assert_uint_ge(median, 7500);
	ck_assert_uint_le(median, 9000);
	ck_assert_uint_ge(largest, 2000000);
	ck_assert_uint_le(largest, 5000000);
	ck_assert_double_eq_tol((double)m.distinct_bytes, 2.0e9, 0.15e9);
	mix_fini(&m);
}
END_TEST

START_TEST(one_seed_is_one_mix)
{
	struct mix a, b, c;
	mix_init_cdn(&a, 10000, 1);
	mix_init_cdn(&b, 10000, 1);
	mix_init_cdn(&c, 10000, 2);
	ck_assert_mem_eq(a.objects, b.objects, a.object_count * sizeof(*a.objects));
	ck_assert_mem_eq(a.order, b.order, a.request_count * sizeof(*a.order));
	ck_assert_mem_ne(a.order, c.order, a.request_count * sizeof(*a.order));
	ck_assert_uint_ne(a.objects[0].name, c.objects[0].name);
	mix_fini(&a);
	mix_fini(&b);
	mix_fini(&c);
}
END_TEST

START_TEST(unique_and_same_do_what_they_say)
{
	struct mix m;
	mix_init_unique(&m, 1000, 1024, 1);
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(m.order[i], i);
	ck_assert_uint_eq(m.distinct_bytes, 1024000);
	mix_fini(&m);
	mix_init_same(&m, 1000, 10, 1024, 1);
	ck_assert_uint_eq(m.object_count, 10);
	ck_assert_ptr_eq(mix_request(&m, 3), mix_request(&m, 13));
	mix_fini(&m);
}
END_TEST

START_TEST(a_path_names_its_object)
{
	struct mix_object o = {0x0123456789abcdefu, 8412}, back;
	char path[MIX_PATH_BYTES];
	ck_assert_uint_eq(mix_path(&o, path), strlen(path));
	ck_assert(mix_path_parse(str_of(path), &back));
	ck_assert_uint_eq(back.name, o.name);
	ck_assert_uint_eq(back.bytes, o.bytes);
	strcat(path, "?a=1");
	ck_assert(mix_path_parse(str_of(path), &back));
	ck_assert_uint_eq(back.bytes, o.bytes);
}
END_TEST

static const char *const no_paths[] = {
	"",
	"/",
	"/cdn/",
	"/cdn/0123456789abcdef/",
	"/cdn/0123456789abcdef",
	"/cdn/0123456789abcdef/x",
	"/cdn/0123456789abcdeF/1",
	"/cdn/0123456789abcde/12",
	"/cdn/0123456789abcdef/12345678901234567",
};

START_TEST(other_paths_name_nothing)
{
	struct mix_object o;
	ck_assert(!mix_path_parse(str_of(no_paths[_i]), &o));
}
END_TEST

START_TEST(a_body_is_the_same_in_any_pieces)
{
	struct mix_object o = {42, 1000};
	char whole[1000], pieces[1000];
	mix_body_fill(&o, 0, whole, sizeof(whole));
	for (size_t at = 0, n = 1; at < sizeof(pieces); at += n, n = n % 37 + 1) {
		if (n > sizeof(pieces) - at)
			n = sizeof(pieces) - at;
		mix_body_fill(&o, at, pieces + at, n);
		ck_assert(mix_body_matches(&o, at, pieces + at, n));
	}
	ck_assert_mem_eq(whole, pieces, sizeof(whole));
}
END_TEST

START_TEST(a_wrong_byte_is_found_wherever_it_is)
{
	struct mix_object o = {42, 100};
	char body[100];
	mix_body_fill(&o, 0, body, sizeof(body));
	for (size_t i = 0; i < sizeof(body); i++) {
		body[i] ^= 1;
		ck_assert(!mix_body_matches(&o, 0, body, sizeof(body)));
		ck_assert(!mix_body_matches(&o, i, body + i, 1));
		body[i] ^= 1;
	}
	ck_assert(mix_body_matches(&o, 0, body, sizeof(body)));
}
END_TEST

START_TEST(another_body_or_a_shifted_one_is_wrong)
{
	struct mix_object o = {42, 100}, other = {43, 100}, longer = {42, 101};
	char body[64];
	mix_body_fill(&o, 8, body, sizeof(body));
	ck_assert(!mix_body_matches(&other, 8, body, sizeof(body)));
	ck_assert(!mix_body_matches(&longer, 8, body, sizeof(body)));
	ck_assert(!mix_body_matches(&o, 0, body, sizeof(body)));
	ck_assert(!mix_body_matches(&o, 16, body, sizeof(body)));
}
END_TEST

UNIT("mix", LOOP(has_exactly_the_requests_asked_for, lengths),
     LOOP(most_urls_are_asked_for_once, lengths), TEST(sizes_have_a_small_median_and_a_long_tail),
     TEST(one_seed_is_one_mix), TEST(unique_and_same_do_what_they_say),
     TEST(a_path_names_its_object), LOOP(other_paths_name_nothing, no_paths),
     TEST(a_body_is_the_same_in_any_pieces), TEST(a_wrong_byte_is_found_wherever_it_is),
     TEST(another_body_or_a_shifted_one_is_wrong))
