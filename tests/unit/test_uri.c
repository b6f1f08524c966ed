/* rooms: http base
 *
 * test_uri.c - RFC 3986: dot segments and percent-encoding, without changing what is meant. */
#include "proxy/http/uri.h"
#include "tests/kit/unit.h"

static const struct {
	const char *says, *path, *want;
} dots[] = {
	/* clang-format off */
	{"nothing to remove",              "/a/b", "/a/b"},
	{"the example of 5.2.4",           "/a/b/c/./../../g", "/a/g"},
	{"one dot",                        "/a/./b", "/a/b"},
	{"one dot at the end",             "/a/.", "/a/"},
	{"two dots at the end",            "/a/b/..", "/a/"},
	{"more than there is to go back",  "/../../a", "/a"},
	{"only dots",                      "/..", "/"},
	{"three dots are a name",          "/a/.../b", "/a/.../b"},
	{"a name that begins with a dot",  "/.a/..b", "/.a/..b"},
	{"empty segments are segments",    "/a//../b", "/a/b"},
	{"and stay",                       "//a//b/", "//a//b/"},
	{"the root",                       "/", "/"},
	{"nothing",                        "", ""},
	/* clang-format on */
};

START_TEST(dot_segments)
{
	struct buf b = {0};
	buf_add_lit(&b, "x/../");
	buf_add_str(&b, str_of(dots[_i].path));
	uri_remove_dots(&b, 5);
	struct str got = str_from(buf_str(&b), 5);
	ck_assert_msg(str_eq(got, str_of(dots[_i].want)), "%s: %.*s", dots[_i].says, STR_ARG(got));
	ck_assert(str_starts(buf_str(&b), STR("x/../")));
	buf_fini(&b);
}
END_TEST

static const struct {
	const char *says, *text, *want;
} escapes[] = {
	/* clang-format off */
	{"an unreserved byte needs none",  "/%7Euser/%41%2d%5f", "/~user/A-_"},
	{"a reserved one is another",      "/a%2fb%3a%3F", "/a%2Fb%3A%3F"},
	{"a percent sign stays encoded",   "%2541", "%2541"},
	{"broken ones stay",               "%4%zz%", "%4%zz%"},
	{"and make no new one: %b7 is something else", "%b%37", "%b%37"},
	{"nor directly behind",            "%%37e", "%%37e"},
	{"another byte between ends that", "%&%37e", "%&7e"},
	{"an encoded one too",             "%%2f%37", "%%2F7"},
	{"further on they are decoded",    "%zz%37%67", "%zz7g"},
	{"control bytes stay encoded",     "%00%0a", "%00%0A"},
	/* clang-format on */
};

START_TEST(percent_encoding)
{
	struct buf once = {0}, twice = {0};
	uri_add_unescaped(str_of(escapes[_i].text), &once);
	ck_assert_msg(str_eq(buf_str(&once), str_of(escapes[_i].want)), "%s: %.*s",
		      escapes[_i].says, STR_ARG(buf_str(&once)));
	uri_add_unescaped(buf_str(&once), &twice);
	ck_assert(str_eq(buf_str(&once), buf_str(&twice)));
	buf_fini(&once);
	buf_fini(&twice);
}
END_TEST

static const struct {
	const char *says, *scheme, *authority, *want;
} authorities[] = {
	/* clang-format off */
	{"lower case",                     "http", "WWW.Example.COM", "www.example.com"},
	{"the default port",               "http", "a:80", "a"},
	{"the default port of https",      "https", "a:443", "a"},
	{"which is not that of http",      "http", "a:443", "a:443"},
	{"an empty port",                  "http", "a:", "a"},
	{"leading zeros",                  "http", "a:08080", "a:8080"},
	{"an IPv6 address",                "http", "[2001:DB8::1]:80", "[2001:db8::1]"},
	{"one without a port",             "http", "[::1]", "[::1]"},
	{"a name of digits",               "http", "127.0.0.1", "127.0.0.1"},
	{"nothing",                        "http", "", ""},
	/* clang-format on */
};

START_TEST(authority)
{
	struct buf b = {0};
	uri_add_authority(str_of(authorities[_i].scheme), str_of(authorities[_i].authority), &b);
	ck_assert_msg(str_eq(buf_str(&b), str_of(authorities[_i].want)), "%s: %.*s",
		      authorities[_i].says, STR_ARG(buf_str(&b)));
	buf_fini(&b);
}
END_TEST

START_TEST(splits)
{
	struct uri u;
	ck_assert(uri_split(STR("http://u@h:1/p;a?q?r#f"), &u));
	ck_assert(str_eq(u.scheme, STR("http")) && str_eq(u.authority, STR("u@h:1")));
	ck_assert(str_eq(u.path, STR("/p;a")) && str_eq(u.query, STR("q?r")));
	ck_assert(uri_split(STR("//h?q"), &u));
	ck_assert(!u.scheme.p && str_eq(u.authority, STR("h")) && u.path.n == 0);
	ck_assert(uri_split(STR("1a:b"), &u)); /* a path, not a scheme */
	ck_assert(!u.scheme.p && str_eq(u.path, STR("1a:b")));
	ck_assert(uri_split(STR(""), &u));
	ck_assert(!u.query.p && u.path.n == 0);
	ck_assert(uri_split(STR("?"), &u));
	ck_assert(u.query.p && u.query.n == 0);
	ck_assert(!uri_split(STR("/a b"), &u));
	ck_assert(!uri_split(STR("/\xc3\xbc"), &u));
}
END_TEST

/* clang-format off */
static const struct {
	const char *authority, *host;
} with_ports[] = {
	{"h", "h"}, {"h:80", "h"}, {"h:", "h"}, {"h80", "h80"}, {"[::1]", "[::1]"}, {"[::1]:8", "[::1]"}, {"", ""}, {":1", ""},
};
/* clang-format on */

START_TEST(host_without_port)
{
	struct str host = uri_host(str_of(with_ports[_i].authority));
	ck_assert_msg(str_eq(host, str_of(with_ports[_i].host)), "%s: %.*s",
		      with_ports[_i].authority, STR_ARG(host));
}
END_TEST

START_TEST(what_is_not_ascii_is_encoded)
{
	struct buf out = {0};
	uri_add_ascii(STR("/na\xc3\xafve%20\x7f?a=\xff"), &out);
	ck_assert_msg(str_eq(buf_str(&out), STR("/na%C3%AFve%20\x7f?a=%FF")), "%.*s",
		      STR_ARG(buf_str(&out)));
	out.n = 0;
	uri_add_ascii(STR(""), &out);
	ck_assert_uint_eq(out.n, 0);
	buf_fini(&out);
}
END_TEST

UNIT("uri", LOOP(host_without_port, with_ports), LOOP(dot_segments, dots),
     LOOP(percent_encoding, escapes), LOOP(authority, authorities), TEST(splits),
     TEST(what_is_not_ascii_is_encoded))
