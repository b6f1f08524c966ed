/* rooms: http base
 *
 * test_cachekey.c - different things never share a key, the same thing seldom has two. */
#include "proxy/http/cachekey.h"
#include "proxy/http/syntax.h"
#include "tests/kit/heads.h"

static const struct str tracking[] = {STR_INIT("utm_*"), STR_INIT("fbclid")};
static const struct str wanted[] = {STR_INIT("id"), STR_INIT("page")};

static const struct key_rules as_is = {0};
static const struct key_rules normal = {.normalise = true};
static const struct key_rules sorted = {.query = QUERY_SORT};
static const struct key_rules both = {
	.normalise = true, .query = QUERY_SORT, .drop_params = tracking, .drop_count = 2};
static const struct key_rules ignored = {.query = QUERY_IGNORE};
static const struct key_rules dropping = {.drop_params = tracking, .drop_count = 2};
static const struct key_rules keeping = {
	.keep_params = wanted, .keep_count = 2, .query = QUERY_SORT};

static const struct {
	const char *says;
	const struct key_rules *rules;
	const char *request, *want;
} keys[] = {
	/* clang-format off */
	{"scheme, host, path, query",             &as_is, "GET /a?b HTTP/1.1\nHost: h", "http://h/a?b"},
	{"the scheme is part of it",              &as_is, "GET https://h/a HTTP/1.1\nHost: h", "https://h/a"},
	{"the case of the host is not",           &as_is, "GET /A HTTP/1.1\nHost: Ex.COM", "http://ex.com/A"},
	{"nor the default port",                  &as_is, "GET / HTTP/1.1\nHost: h:80", "http://h/"},
	{"nor its zeros",                         &as_is, "GET / HTTP/1.1\nHost: h:080", "http://h/"},
	{"nor a colon alone",                     &as_is, "GET / HTTP/1.1\nHost: h:", "http://h/"},
	{"nor the dot of the root",               &as_is, "GET / HTTP/1.1\nHost: h.", "http://h/"},
	{"nor that with a port",                  &as_is, "GET / HTTP/1.1\nHost: h.:81", "http://h:81/"},
	{"another port is",                       &as_is, "GET / HTTP/1.1\nHost: h:8080", "http://h:8080/"},
	{"no host at all",                        &as_is, "GET /a HTTP/1.0", "http:///a"},
	{"an empty query is another than none",   &as_is, "GET /a? HTTP/1.1\nHost: h", "http://h/a?"},
	{"left as it is unless asked",            &as_is, "GET /%7Ea/../b?%41 HTTP/1.1\nHost: h", "http://h/%7Ea/../b?%41"},
	{"normalised: dots and escapes",          &normal, "GET /%7Ea/%2e%2E/b%2fc?%41%3d HTTP/1.1\nHost: h", "http://h/b%2Fc?A%3D"},
	{"dots in a query are no segments",       &normal, "GET /a?/../b HTTP/1.1\nHost: h", "http://h/a?/../b"},
	{"sorted by name",                        &sorted, "GET /?b=1&a=2&c HTTP/1.1\nHost: h", "http://h/?a=2&b=1&c"},
	{"the order of one name's values stays",  &sorted, "GET /?a=2&b&a=1 HTTP/1.1\nHost: h", "http://h/?a=2&a=1&b"},
	{"a name before one that it begins",      &sorted, "GET /?ab=1&a=2 HTTP/1.1\nHost: h", "http://h/?a=2&ab=1"},
	{"empty parameters go",                   &sorted, "GET /?&b&&a& HTTP/1.1\nHost: h", "http://h/?a&b"},
	{"nothing left is no query",              &sorted, "GET /? HTTP/1.1\nHost: h", "http://h/"},
	{"by what they are, not how they are written", &both, "GET /?1&%7Eb&%61 HTTP/1.1\nHost: h", "http://h/?1&a&~b"},
	{"dropped however they are written",      &both, "GET /?utm%5Fa=1&%66bclid&b HTTP/1.1\nHost: h", "http://h/?b"},
	{"ignored",                               &ignored, "GET /a?b=c HTTP/1.1\nHost: h", "http://h/a"},
	{"tracking dropped, order kept",          &dropping, "GET /?z=1&utm_source=x&fbclid=y&a=2 HTTP/1.1\nHost: h", "http://h/?z=1&a=2"},
	{"what only begins like it stays",        &dropping, "GET /?fbclid2=y&utm=1 HTTP/1.1\nHost: h", "http://h/?fbclid2=y&utm=1"},
	{"nothing but tracking",                  &dropping, "GET /a?utm_a=1 HTTP/1.1\nHost: h", "http://h/a"},
	{"only what is chosen",                   &keeping, "GET /?x=1&page=2&id=3 HTTP/1.1\nHost: h", "http://h/?id=3&page=2"},
	/* clang-format on */
};

static void
add_url(const struct request *r, const struct key_rules *rules, struct buf *out)
{
	cachekey_add_url(r->scheme, r->authority, r->path_query, rules, out);
}

START_TEST(key)
{
	struct buf b = {0};
	add_url(request_of(keys[_i].request), keys[_i].rules, &b);
	ck_assert_msg(str_eq(buf_str(&b), str_of(keys[_i].want)), "%s: %.*s", keys[_i].says,
		      STR_ARG(buf_str(&b)));
	buf_fini(&b);
}
END_TEST

static const char *const targets[][2] = {
	{"http://h/a?b", "/a?b"},
	{"https://h:8443/\nx=/y", "/"},
	{"http://[::1]/a/b\nx", "/a/b"},
	{"http:///a", "/a"},
};

START_TEST(a_key_says_what_to_ask_the_origin_for)
{
	struct str got = cachekey_target(str_of(targets[_i][0]));
	ck_assert_msg(str_eq(got, str_of(targets[_i][1])), "%.*s", STR_ARG(got));
}
END_TEST

/* A query of more parameters than are sorted still has all of them. */
START_TEST(a_long_query_keeps_everything)
{
	char text[4096];
	int n = snprintf(text, sizeof text, "GET /?");
	for (int i = 300; i > 0; i--)
		n += snprintf(text + n, sizeof text - (size_t)n, "p%d&", i);
	snprintf(text + n, sizeof text - (size_t)n, " HTTP/1.1\nHost: h");
	struct buf b = {0};
	add_url(request_of(text), &sorted, &b);
	size_t ampersands = 0;
	for (size_t i = 0; i < b.n; i++)
		ampersands += b.p[i] == '&';
	ck_assert_uint_eq(ampersands, 299);
	buf_fini(&b);
}
END_TEST

/* -- references, against a request for http://h/d/f?q
 * ---------------------------------------------- */

#define NONE "(none)"
static const struct {
	const char *says, *reference, *path_query;
} references[] = {
	/* clang-format off */
	{"a path",                          "/x/y?z", "/x/y?z"},
	{"relative",                        "g", "/d/g"},
	{"relative with dots",              "../g/./h", "/g/h"},
	{"only a query",                    "?z", "/d/f?z"},
	{"absolute",                        "http://h/x", "/x"},
	{"absolute, written otherwise",     "HTTP://H:80/x", "/x"},
	{"absolute without a path",         "http://h", "/"},
	{"another scheme's default",        "//h/x", "/x"},
	{"a fragment goes",                 "/x#y", "/x"},
	{"itself",                          "/d/f?q", "/d/f?q"},
	{"itself, relative",                "f?q", "/d/f?q"},
	{"itself, empty",                   "", "/d/f?q"},
	{"itself, absolute",                "http://h/d/f?q", "/d/f?q"},
	{"itself but for the query",        "/d/f", "/d/f"},
	{"another host",                    "http://x/a", NONE},
	{"another port",                    "http://h:81/a", NONE},
	{"another scheme",                  "https://h/a", NONE},
	{"no host",                         "http:///a", NONE},
	{"a scheme and no authority",       "http:a", NONE},
	{"userinfo",                        "http://u@h/a", NONE},
	{"something else entirely",         "mailto:a@h", NONE},
	{"no URI",                          "/a b", NONE},
	/* clang-format on */
};

START_TEST(reference)
{
	const char *says = references[_i].says;
	struct request *r = request_of("POST /d/f?q HTTP/1.1\nHost: h"), resolved;
	struct str text = str_of(references[_i].reference);
	struct buf b = {0};
	bool ok = cachekey_resolve(r, text, &b, &resolved);
	struct str got = ok ? resolved.path_query : STR(NONE);
	ck_assert_msg(str_eq(got, str_of(references[_i].path_query)), "%s: %.*s", says,
		      STR_ARG(got));
	if (ok)
		ck_assert(str_eq(resolved.scheme, r->scheme) &&
			  str_eq(resolved.authority, r->authority));
	buf_fini(&b);
}
END_TEST

/* Names of one to three letters, values that say the order in which they came. */
START_TEST(any_query_is_sorted_and_those_of_one_name_keep_their_order)
{
	srand(5);
	for (int round = 0; round < 2000; round++) {
		char query[4096] = "/?", last_name[8] = "";
		int n = 1 + rand() % 128, last = -1;
		size_t used = 2;
		for (int i = 0; i < n; i++)
			used += (size_t)snprintf(query + used, sizeof query - used, "%s%.*s=%d",
						 i ? "&" : "", 1 + rand() % 3,
						 &"aaabbbcba"[rand() % 6], i);
		struct buf b = {0};
		cachekey_add_url(STR("http"), STR("h"), str_of(query), &sorted, &b);
		struct str rest = cachekey_target(buf_str(&b)), parameter;
		ck_assert_uint_eq(rest.n, used);
		for (rest = str_from(rest, 2); rest.n; n--) {
			char text[64], name[8];
			int value;
			str_cut(rest, '&', &parameter, &rest);
			snprintf(text, sizeof text, "%.*s", STR_ARG(parameter));
			ck_assert_int_eq(sscanf(text, "%7[a-c]=%d", name, &value), 2);
			int d = strcmp(last_name, name);
			ck_assert_msg(d < 0 || (d == 0 && last < value), "%s", query);
			memcpy(last_name, name, sizeof name);
			last = value;
		}
		ck_assert_int_eq(n, 0);
		buf_fini(&b);
	}
}
END_TEST

static const struct str only_b[] = {STR_INIT("b")};
static const struct key_rules without_b = {.drop_params = only_b, .drop_count = 1},
			      with_b = {.keep_params = only_b, .keep_count = 1};
static const struct {
	const char *says;
	const struct key_rules *rules;
	int a; /* so many times "a", behind "b" */
	const char *want;
	bool as_it_came;
} long_queries[] = {
	/* clang-format off */
	{"127 others are sorted",      &sorted,    127, "?a&a",  false},
	{"of 128 nothing is sorted",   &sorted,    128, "?b&a",  true},
	{"511 others are kept",        &without_b, 511, "?a&a",  false},
	{"of more nothing is dropped", &without_b, 512, "?b&a",  true},
	{"one of 512 counts",          &with_b,    511, "?b",    false},
	{"of more none does",          &with_b,    512, "",      false},
	/* clang-format on */
};

START_TEST(a_long_query)
{
	struct buf query = {0}, url = {0};
	buf_add_lit(&query, "/?b");
	for (int i = 0; i < long_queries[_i].a; i++)
		buf_add_lit(&query, "&a");
	cachekey_add_url(STR("http"), STR("h"), buf_str(&query), long_queries[_i].rules, &url);
	struct str target = cachekey_target(buf_str(&url)), want = str_of(long_queries[_i].want);
	bool same = str_eq(target, buf_str(&query));
	ck_assert_msg(str_starts(str_from(target, 1), want) &&
			      (want.n > 2 || target.n == 1 + want.n),
		      "%s", long_queries[_i].says);
	ck_assert_msg(same == long_queries[_i].as_it_came, "%s", long_queries[_i].says);
	buf_fini(&query);
	buf_fini(&url);
}
END_TEST

UNIT("cachekey", LOOP(a_long_query, long_queries),
     TEST(any_query_is_sorted_and_those_of_one_name_keep_their_order), LOOP(key, keys),
     LOOP(a_key_says_what_to_ask_the_origin_for, targets), TEST(a_long_query_keeps_everything),
     LOOP(reference, references))
