/* test_route_index.c - the index finds what a look at all rows finds first.
 * rooms: serve config coding http base
 */
#include "config/routes.h"
#include "proxy/base/glob.h"
#include "proxy/serve/routes/route_conditions.h"
#include "proxy/serve/routes/route_index.h"

#include "tests/kit/unit.h"

#include <stdio.h>
#include <strings.h>

enum { ROWS_MOST = 300, TEXT_BYTES = 24 };

/* The index must find this: row by row. */
static bool
matches(const struct route_index_row *r, struct str host, struct str path, const struct request *rq)
{
	bool tail = r->host.n && r->host.p[0] == '*';
	size_t n = r->host.n - tail;
	const char *want = r->host.p + tail;
	if (r->host.n && !tail && (host.n != n || strncasecmp(host.p, want, n) != 0))
		return false;
	if (tail && (host.n <= n || strncasecmp(host.p + host.n - n, want, n) != 0))
		return false;
	if (r->conditions && (!route_conditions_have_method(r->conditions, rq) ||
			      !route_conditions_have_fields(r->conditions, rq)))
		return false;
	if (r->path.n && memchr(r->path.p, '*', r->path.n))
		return glob_matches(&(struct glob){r->path, true, r->any_case}, path);
	if (path.n < r->path.n)
		return false;
	return r->any_case ? strncasecmp(path.p, r->path.p, r->path.n) == 0
			   : memcmp(path.p, r->path.p, r->path.n) == 0;
}

static unsigned
first_of(const struct route_index_row *rows, unsigned n, struct str host, struct str path,
	 const struct request *rq)
{
	unsigned i = 0;
	while (i < n && !matches(&rows[i], host, path, rq))
		i++;
	return i;
}

static uint64_t state;

static unsigned
draw(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state >> 33) % below);
}

/* Few words, so that much matches; in both cases of letters. */
static struct str
random_host(char *text)
{
	static const char *const labels[] = {"a", "B", "www", "cdn"};
	int n = 0, parts = 1 + (int)draw(3);
	for (int i = 0; i < parts; i++)
		n += sprintf(text + n, "%s%s", i ? "." : "", labels[draw(4)]);
	return (struct str){text, (size_t)n};
}

static struct str
random_path(char *text)
{
	size_t n = 0, most = draw(9);
	text[n++] = '/';
	while (n < most)
		text[n++] = "ab/AB"[draw(5)];
	return (struct str){text, n};
}

/* Of a row: with up to two "*". */
static struct str
random_pattern(char *text)
{
	struct str s = random_path(text);
	for (unsigned stars = draw(3); stars; stars--)
		text[draw((unsigned)s.n)] = '*';
	for (size_t i = 1; i < s.n; i++)
		if (text[i] == '*' && text[i - 1] == '*')
			text[i] = '/';
	return s;
}

static struct str
host_of_row(char *text)
{
	unsigned kind = draw(4);
	if (kind == 0)
		return (struct str){text, 0};
	if (kind > 1)
		return random_host(text);
	text[0] = '*', text[1] = '.';
	return (struct str){text, 2 + random_host(text + 2).n};
}

START_TEST(it_finds_what_a_look_at_all_rows_finds_first)
{
	static struct route_index_row rows[ROWS_MOST];
	static char hosts[ROWS_MOST][TEXT_BYTES], paths[ROWS_MOST][TEXT_BYTES];
	unsigned found = 0;
	state = (uint64_t)_i + 1;
	for (int table = 0; table < 100; table++) {
		unsigned n = draw(ROWS_MOST + 1);
		for (unsigned i = 0; i < n; i++)
			rows[i] = (struct route_index_row){.host = host_of_row(hosts[i]),
							   .path = random_path(paths[i]),
							   .any_case = draw(3) == 0};
		for (unsigned i = 0; i < n; i++)
			rows[i].path.n = draw(20) ? rows[i].path.n : 0;
		struct route_index *x = route_index_create(rows, n);
		for (int k = 0; k < 500; k++) {
			char h[TEXT_BYTES], p[TEXT_BYTES];
			struct str host = random_host(h), path = random_path(p);
			host.n = draw(50) ? host.n : 0;
			unsigned want = first_of(rows, n, host, path, NULL);
			ck_assert_uint_eq(route_index_find(x, host, path, NULL), want);
			found += want < n;
		}
		route_index_destroy(&x);
	}
	ck_assert_uint_gt(found, 10000);
	ck_assert_uint_lt(found, 49000);
}
END_TEST

static char get[] = "GET", post[] = "POST", field[] = "X: a*";
static char *methods[] = {get, post}, *fields[] = {field};
static const struct config_match asks[] = {
	{.methods = methods, .method_count = 1},
	{.methods = methods + 1, .method_count = 1},
	{.headers = fields, .header_count = 1},
	{.methods = methods, .method_count = 2, .headers = fields, .header_count = 1},
};

START_TEST(it_finds_the_same_among_patterns_and_conditions)
{
	static struct route_index_row rows[ROWS_MOST];
	static char hosts[ROWS_MOST][TEXT_BYTES], paths[ROWS_MOST][TEXT_BYTES];
	struct route_conditions *conditions[COUNT(asks)];
	struct field line = {STR("x"), STR("ab"), FIELD_OTHER};
	struct request rqs[] = {
		{.method = METHOD_GET},
		{.method = METHOD_HEAD, .fields = {.v = &line, .n = 1, .cap = 1}},
		{.method = METHOD_POST, .method_name = STR("POST")},
		{.method = METHOD_PUT,
		 .method_name = STR("PUT"),
		 .fields = {.v = &line, .n = 1, .cap = 1}},
	};
	unsigned found = 0;
	state = (uint64_t)_i + 1;
	for (int i = 0; i < COUNT(asks); i++)
		conditions[i] = route_conditions_create(&asks[i]);
	for (int table = 0; table < 100; table++) {
		unsigned n = draw(table % 2 ? ROWS_MOST + 1 : 12);
		for (unsigned i = 0; i < n; i++)
			rows[i] = (struct route_index_row){
				.host = host_of_row(hosts[i]),
				.path = random_pattern(paths[i]),
				.any_case = draw(3) == 0,
				.conditions = draw(3) ? NULL : conditions[draw(COUNT(asks))]};
		struct route_index *x = route_index_create(rows, n);
		for (int k = 0; k < 500; k++) {
			char h[TEXT_BYTES], p[TEXT_BYTES];
			struct str host = random_host(h), path = random_path(p);
			const struct request *rq = &rqs[draw(COUNT(rqs))];
			unsigned want = first_of(rows, n, host, path, rq);
			ck_assert_uint_eq(route_index_find(x, host, path, rq), want);
			found += want < n;
		}
		route_index_destroy(&x);
	}
	for (int i = 0; i < COUNT(asks); i++)
		route_conditions_destroy(&conditions[i]);
	ck_assert_uint_gt(found, 10000);
	ck_assert_uint_lt(found, 49000);
}
END_TEST

START_TEST(many_hosts_and_many_paths_of_one_host)
{
	enum { MANY = 5000 };
	static char texts[MANY][TEXT_BYTES];
	static struct route_index_row rows[2 * MANY];
	for (unsigned i = 0; i < MANY; i++) {
		struct str s = {texts[i], (size_t)sprintf(texts[i], "/site%u.example/", i)};
		rows[i] = (struct route_index_row){.host = {s.p + 1, s.n - 2}};
		rows[MANY + i] = (struct route_index_row){.path = s};
	}
	struct route_index *x = route_index_create(rows, 2 * MANY);
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_uint_eq(route_index_find(x, rows[i].host, STR("/"), NULL), i);
		ck_assert_uint_eq(route_index_find(x, STR("other"), rows[MANY + i].path, NULL),
				  MANY + i);
	}
	ck_assert_uint_eq(route_index_find(x, STR("other"), STR("/site"), NULL), 2 * MANY);
	route_index_destroy(&x);
	ck_assert_ptr_null(x);
}
END_TEST

UNIT("route_index", TIMES(it_finds_what_a_look_at_all_rows_finds_first, 2),
     TIMES(it_finds_the_same_among_patterns_and_conditions, 2),
     TEST(many_hosts_and_many_paths_of_one_host))
