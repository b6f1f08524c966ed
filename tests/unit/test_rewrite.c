/* test_rewrite.c - which path an origin is asked for, and which one clients ask for it.
 * rooms: serve config coding http base
 */
#include "config/routes.h"
#include "proxy/serve/outgoing/rewrite.h"

#include "tests/kit/unit.h"

static const char from_blog[] = "^/blog/([0-9]+)/(.*)$", to_posts[] = "/posts?id=$1&rest=$2";

/* clang-format off */
static const struct {
	const char *says, *strip, *add, *from, *to, *path;
	const char *want; /* "": as it came; NULL: the request is refused */
} ways[] = {
	{"a prefix is left out",              "/api",  NULL,  NULL, NULL, "/api/x?y",         "/x"},
	{"a slash at its end does not count", "/api/", NULL,  NULL, NULL, "/api/x",           "/x"},
	{"it alone leaves a slash",           "/api",  NULL,  NULL, NULL, "/api",             "/"},
	{"so does it with a slash",           "/api",  NULL,  NULL, NULL, "/api/",            "/"},
	{"only whole segments",               "/api",  NULL,  NULL, NULL, "/apis/x",          ""},
	{"another path",                      "/api",  NULL,  NULL, NULL, "/x/api/x",         ""},
	{"two segments",                      "/a/b",  NULL,  NULL, NULL, "/a/b/c",           "/c"},
	{"other case is another path",        "/api",  NULL,  NULL, NULL, "/API/x",           ""},
	{"an encoded letter is that letter",  "/api",  NULL,  NULL, NULL, "/%61p%69/x",       "/x"},
	{"a letter beyond ASCII is encoded",  "/\xc3\xbc", NULL, NULL, NULL, "/%c3%BC/x",      "/x"},
	{"two slashes at the beginning",      "/api",  NULL,  NULL, NULL, "//api/x",          "/x"},
	{"no host comes of slashes",          "/api",  NULL,  NULL, NULL, "/api//evil.example/x", "/evil.example/x"},
	{"other slashes stay",                "/api",  NULL,  NULL, NULL, "/api/a//b",        "/a//b"},
	{"dots are carried out before",       "/api",  NULL,  NULL, NULL, "/x/../api/./a/../b", "/b"},
	{"dots that lead out of it",          "/api",  NULL,  NULL, NULL, "/api/../x",        ""},
	{"encodings stay",                    "/api",  NULL,  NULL, NULL, "/api/a%2fb%20c",   "/a%2Fb%20c"},
	{"encoded dots",                      "/api",  NULL,  NULL, NULL, "/api/%2e%2e/x",    ""},
	{"dots between encoded slashes",      "/api",  NULL,  NULL, NULL, "/api/a%2f..%2fb",  NULL},
	{"dots encoded twice",                "/api",  NULL,  NULL, NULL, "/api/%252e%252e/b", NULL},
	{"dots with a parameter",             "/api",  NULL,  NULL, NULL, "/api/..;a/b",      NULL},
	{"dots between backslashes",          "/api",  NULL,  NULL, NULL, "/api/%5c..%5cb",   NULL},
	{"an encoded backslash for a host",   "/api",  NULL,  NULL, NULL, "/api/%5c%5ch",     "/%5C%5Ch"},
	{"three dots are a name",             "/api",  NULL,  NULL, NULL, "/api/.../a..b/..c", "/.../a..b/..c"},
	{"all of the server",                 "/api",  "/v2", NULL, NULL, "*",                ""},
	{"a prefix is added",                 NULL,    "/v2", NULL, NULL, "/a/b?c",           "/v2/a/b"},
	{"and nothing doubled",               NULL,    "/v2/", NULL, NULL, "/a",              "/v2/a"},
	{"the root below it",                 NULL,    "/v2", NULL, NULL, "/",                "/v2/"},
	{"dots do not lead out of it",        NULL,    "/v2", NULL, NULL, "/../../etc",       "/v2/etc"},
	{"nor encoded ones",                  NULL,    "/v2", NULL, NULL, "/..%2f..%2fetc",   NULL},
	{"one prefix for another",            "/api",  "/v2", NULL, NULL, "/api/x",           "/v2/x"},
	{"and alone",                         "/api",  "/v2", NULL, NULL, "/api",             "/v2"},
	{"what is not left out, below it",    "/api",  "/v2", NULL, NULL, "/x",               "/v2/x"},
	{"a pattern",              NULL, NULL, from_blog, to_posts,       "/blog/12/a/b?x",   "/posts?id=12&rest=a/b"},
	{"another path",           NULL, NULL, from_blog, to_posts,       "/blog/x/a",        ""},
	{"captures in a query are no more", NULL, NULL, from_blog, to_posts, "/blog/1/a&id=2;b+c%26d", "/posts?id=1&rest=a%26id%3D2%3Bb%2Bc%26d"},
	{"and in a path themselves", NULL, NULL, "^/a/(.*)$", "/b/$1",    "/a/x&y=z%3Fq",     "/b/x&y=z%3Fq"},
	{"no question mark in captures", NULL, NULL, "^/a/(.*)$", "/b/$1", "/a/x%3fadmin=1",  "/b/x%3Fadmin=1"},
	{"all of the path becomes it", NULL, NULL, "/a/",     "/b",       "/x/a/y",           "/b"},
	{"a capture that took no part", NULL, NULL, "^/(x)?a$", "/b/$1",  "/a",               "/b/"},
	{"a dollar",               NULL, NULL, "^/a$",    "/b/$$1",       "/a",               "/b/$1"},
	{"a capture with a slash at its beginning", NULL, NULL, "^/a(.*)$", "/$1", "/a/x",    "/x"},
	{"it makes no host",       NULL, NULL, "^/a(.*)$", "/$1",         "/a//h",            "/h"},
	{"it makes no dots",       NULL, NULL, "^/([.x]*)/([.]*)$", "/$1$2", "/x./.",         "/x."},
	{"nor of two captures",    NULL, NULL, "^/x(.)y(.)$", "/a/$1$2",  "/x.y.",            NULL},
	{"it breaks no encoding",  NULL, NULL, "^/(.*)(..)$", "/$1",      "/a%2F",            NULL},
	{"nor makes one",          NULL, NULL, "^/(..)(.*)$", "/%2$2",    "/abe.",            NULL},
	{"behind a prefix left out, before one added", "/api", "/v2", "^/a/(.)$", "/b/$1", "/api/a/x", "/v2/b/x"},
	{"of nothing left",        "/api", NULL, "^/$",   "/index",       "/api",             "/index"},
	{"with a query of its own, below", NULL, "/v2", "^/a$", "/b?c",   "/a?d",             "/v2/b?c"},
};
static const struct {
	const char *says, *strip, *add, *path, *want; /* NULL: it stays */
} backs[] = {
	{"of a prefix left out",           "/api", NULL,  "/login",     "/api/login"},
	{"with a slash at its end",        "/api", NULL,  "/a/",        "/api/a/"},
	{"the root",                       "/api", NULL,  "/",          "/api/"},
	{"of one added",                   NULL,   "/v2", "/v2/a",      "/a"},
	{"the root of it",                 NULL,   "/v2", "/v2/",       "/"},
	{"it alone has no client's path",  NULL,   "/v2", "/v2",        NULL},
	{"of one for another",             "/api", "/v2", "/v2/a",      "/api/a"},
	{"both alone",                     "/api", "/v2", "/v2",        "/api"},
	{"not below what is added",        "/api", "/v2", "/a",         NULL},
	{"only whole segments",            "/api", "/v2", "/v2x",       NULL},
	{"encodings stay",                 "/api", NULL,  "/a%2Fb",     "/api/a%2Fb"},
	{"in another spelling",            "/api", NULL,  "/a%2fb",     NULL},
	{"dots lead elsewhere",            "/api", NULL,  "/../a",      NULL},
	{"a host is no path",              "/api", NULL,  "//evil",     NULL},
};
/* clang-format on */

static struct rewrite *
rules(const char *strip, const char *add, const char *from, const char *to)
{
	static char texts[4][64];
	const char *const given[] = {strip, add, from, to};
	for (size_t i = 0; i < 4; i++)
		strcpy(texts[i], given[i] ? given[i] : "");
	struct config_route c = {.target = {.strip_prefix = strip ? texts[0] : NULL,
					    .add_prefix = add ? texts[1] : NULL,
					    .rewrite = {.from = from ? texts[2] : NULL,
							.to = to ? texts[3] : NULL}}};
	return rewrite_create(&c);
}

START_TEST(asks_for)
{
	struct rewrite *r = rules(ways[_i].strip, ways[_i].add, ways[_i].from, ways[_i].to);
	struct buf out = {0};
	const struct fault *fault = rewrite_path(r, str_of(ways[_i].path), &out);
	ck_assert_msg((fault != NULL) == !ways[_i].want, "%s: %s %.*s", ways[_i].says,
		      fault ? fault->word : "", STR_ARG(buf_str(&out)));
	ck_assert_msg(fault ? out.n == 0 : str_eq(buf_str(&out), str_of(ways[_i].want)), "%s: %.*s",
		      ways[_i].says, STR_ARG(buf_str(&out)));
	buf_fini(&out);
	rewrite_destroy(&r);
}
END_TEST

START_TEST(is_asked_for_by)
{
	struct rewrite *r = rules(backs[_i].strip, backs[_i].add, NULL, NULL);
	struct buf out = {0};
	bool is = rewrite_back(r, str_of(backs[_i].path), &out);
	ck_assert_msg(is == (backs[_i].want != NULL), "%s: %.*s", backs[_i].says,
		      STR_ARG(buf_str(&out)));
	ck_assert_msg(!is || str_eq(buf_str(&out), str_of(backs[_i].want)), "%s: %.*s",
		      backs[_i].says, STR_ARG(buf_str(&out)));
	ck_assert(is || out.n == 0);
	buf_fini(&out);
	rewrite_destroy(&r);
}
END_TEST

START_TEST(has_no_way_back_from_a_pattern)
{
	struct rewrite *r = rules("/api", NULL, "^/a$", "/b");
	struct buf out = {0};
	ck_assert(!rewrite_back(r, STR("/x"), &out) && out.n == 0);
	rewrite_destroy(&r);
}
END_TEST

START_TEST(a_path_that_is_too_long_for_a_pattern_is_refused)
{
	char path[2100];
	struct buf out = {0};
	struct rewrite *r = rules(NULL, NULL, "^/(a*)$", "/b/$1");
	memset(path, 'a', sizeof path);
	path[0] = '/';
	ck_assert(!rewrite_path(r, (struct str){path, 2048}, &out) && out.n == 2050);
	ck_assert(rewrite_path(r, (struct str){path, 2049}, &out) == &fault_REWRITE_LENGTH);
	path[2048] = '?';
	ck_assert(!rewrite_path(r, (struct str){path, 2100}, &out));
	rewrite_destroy(&r);
	r = rules("/a", NULL, NULL, NULL);
	path[2] = path[2048] = '/';
	out.n = 0;
	ck_assert(!rewrite_path(r, (struct str){path, 2100}, &out) && out.n == 2098);
	buf_fini(&out);
	rewrite_destroy(&r);
}
END_TEST

START_TEST(a_route_without_these_words_has_none)
{
	ck_assert_ptr_null(rules(NULL, NULL, NULL, NULL));
}
END_TEST

UNIT("rewrite", LOOP(asks_for, ways), LOOP(is_asked_for_by, backs),
     TEST(has_no_way_back_from_a_pattern), TEST(a_path_that_is_too_long_for_a_pattern_is_refused),
     TEST(a_route_without_these_words_has_none))
