/* test_pattern.c - what patterns match and capture, and what is no pattern.
 * rooms: base
 */
#include "proxy/base/buf.h"
#include "proxy/base/pattern.h"

#include "tests/kit/unit.h"

#include <stdio.h>

/* clang-format off */
static const struct {
	const char *says, *pattern, *text;
	const char *want; /* all that was captured, each in brackets; NULL: no match */
} matches[] = {
	{"a text",                            "blog",               "/blog/1",        "[blog]"},
	{"not at its beginning",              "^blog",              "/blog/1",        NULL},
	{"all of it",                         "^/blog$",            "/blog",          "[/blog]"},
	{"not more",                          "^/blog$",            "/blogs",         NULL},
	{"captures",                          "^/blog/([0-9]+)/(.*)$", "/blog/12/a/b", "[/blog/12/a/b][12][a/b]"},
	{"an empty capture",                  "^/a/(.*)$",          "/a/",            "[/a/][]"},
	{"one that took no part",             "^/(a)?b",            "/b",             "[/b]-"},
	{"one in another",                    "^/((a+)b)",          "/aab",           "[/aab][aab][aa]"},
	{"the last turn of a loop",           "^/(?:(\\w)/)*$",     "/a/b/",          "[/a/b/][b]"},
	{"a pair that captures nothing",      "^/(?:a|b)(c)",       "/bc",            "[/bc][c]"},
	{"the first alternative wins",        "^/(a|ab)(.*)$",      "/abc",           "[/abc][a][bc]"},
	{"the second where the first cannot", "^/(a|ab)$",          "/ab",            "[/ab][ab]"},
	{"three alternatives",                "^/(a|b|c)$",         "/c",             "[/c][c]"},
	{"an empty alternative",              "^/(a|)x",            "/x",             "[/x][]"},
	{"as much as there is",               "^/(.*)/",            "/a/b/",          "[/a/b/][a/b]"},
	{"as little as there is",             "^/(.*?)/",           "/a/b/",          "[/a/][a]"},
	{"little, at least one",              "^/(.+?)(b*)",        "/bb",            "[/bb][b][b]"},
	{"little or nothing",                 "^/(a?\?)(.*)",       "/a",             "[/a][][a]"},
	{"so many times",                     "^/(a{2})$",          "/aa",            "[/aa][aa]"},
	{"not so many times",                 "^/a{2}$",            "/aaa",           NULL},
	{"from so many times on",             "^/a{2,}$",           "/aaaa",          "[/aaaa]"},
	{"between two numbers",               "^/(a{1,3})(a*)$",    "/aaaa",          "[/aaaa][aaa][a]"},
	{"few of them",                       "^/(a{1,3}?)(a*)$",   "/aaaa",          "[/aaaa][a][aaa]"},
	{"no times",                          "^/a{0}b",            "/b",             "[/b]"},
	{"a loop of what may be empty",       "^/(a*)*b",           "/aab",           "[/aab][aa]"},
	{"a set",                             "^/[abc]+$",          "/cab",           "[/cab]"},
	{"a range",                           "^/[a-f0-9]+$",       "/c0ffee",        "[/c0ffee]"},
	{"all others",                        "^/([^/]+)/",         "/ab/c",          "[/ab/][ab]"},
	{"a bracket at its beginning",        "^/[]a]+$",           "/]a",            "[/]a]"},
	{"a dash at its end",                 "^/[a-]+$",           "/-a",            "[/-a]"},
	{"known sets",                        "^/(\\d+)(\\w*)$",    "/12a_B",         "[/12a_B][12][a_B]"},
	{"known sets in one",                 "^/[\\d.]+$",         "/1.2",           "[/1.2]"},
	{"a sign as itself",                  "^/a\\.b$",           "/a.b",           "[/a.b]"},
	{"and no other",                      "^/a\\.b$",           "/axb",           NULL},
	{"anchors of one alternative",        "^/a|b$",             "/xb",            "[b]"},
	{"the first place",                   "a+",                 "/aa/aaa",        "[aa]"},
	{"an empty pattern",                  "",                   "/a",             "[]"},
	{"bytes beyond ASCII are any",        "^/(.)",              "/\xfc",          "[/\xfc][\xfc]"},
	{"and others than these",             "^/([^a])",           "/\xfc",          "[/\xfc][\xfc]"},
	{"nine captures",                     "(.)(.)(.)(.)(.)(.)(.)(.)(.)", "123456789",
	 "[123456789][1][2][3][4][5][6][7][8][9]"},
};
static const struct {
	const char *pattern, *why;
} wrong[] = {
	{"(a",          "a ( has no )"},
	{"a)",          "a ) has no ("},
	{"[a",          "a [ has no ]"},
	{"[z-a]",       "goes from a lower byte"},
	{"[a-\\d]",     "goes from a lower byte"},
	{"[[:digit:]]", "write letters, such as a-z"},
	{"*a",          "nothing that * could repeat"},
	{"a|*",         "nothing that * could repeat"},
	{"a**",         "put it in (?: )"},
	{"a+*",         "put it in (?: )"},
	{"^*",          "cannot be repeated"},
	{"a{",          "{2,5}"},
	{"a{2,1}",      "{2,5}"},
	{"a{2,3",       "{2,5}"},
	{"a{9999}",     "{2,5}"},
	{"a{1000}",     "it is too long"},
	{"(a{100}){100}", "it is too long"},
	{"\\",          "ends in a backslash"},
	{"(a)\\1",      "\\1 is not known"},
	{"\\bx",        "\\b is not known"},
	{"(?=a)",       "(?= is not known"},
	{"(?i)a",       "(?i is not known"},
	{"(?<n>a)",     "(?< is not known"},
	{"(?",          "(? is not known"},
	{"\xc3\xbc",    "write it encoded, as %C3"},
	{"a b",         "write it encoded, as %20"},
	{"()()()()()()()()()()", "more than nine pairs"},
};
/* clang-format on */

static void
add_captures(const struct pattern *p, const struct str *captures, struct buf *out)
{
	for (unsigned i = 0; i <= pattern_captures(p); i++)
		if (captures[i].p)
			buf_printf(out, "[%.*s]", STR_ARG(captures[i]));
		else
			buf_add_lit(out, "-");
}

START_TEST(finds)
{
	char err[200] = "";
	struct str captures[PATTERN_CAPTURES];
	struct buf got = {0};
	struct pattern *p = pattern_create(matches[_i].pattern, err, sizeof err);
	ck_assert_msg(p != NULL, "%s: %s", matches[_i].says, err);
	bool found = pattern_match(p, str_of(matches[_i].text), captures);
	if (found)
		add_captures(p, captures, &got);
	ck_assert_msg(found == (matches[_i].want != NULL), "%s: %d", matches[_i].says, found);
	if (found)
		ck_assert_msg(str_eq(buf_str(&got), str_of(matches[_i].want)), "%s: %.*s",
			      matches[_i].says, STR_ARG(buf_str(&got)));
	buf_fini(&got);
	pattern_destroy(&p);
}
END_TEST

START_TEST(refuses)
{
	char err[200] = "";
	struct pattern *p = pattern_create(wrong[_i].pattern, err, sizeof err);
	ck_assert_msg(!p, "%s", wrong[_i].pattern);
	ck_assert_msg(strstr(err, wrong[_i].why) != NULL, "%s: %s", wrong[_i].pattern, err);
}
END_TEST

/* A way that goes back to try another one takes longer than anybody waits for these. */
START_TEST(is_never_slow)
{
	static const char *const patterns[] = {"^/(a|aa)+$", "^/((a+)+)+$", "^/(a*)*(a*)*$",
					       "^/(.*)(.*)(.*)(.*)(.*)(.*)x$"};
	char text[PATTERN_TEXT_MOST + 2], err[200];
	struct str captures[PATTERN_CAPTURES];
	memset(text, 'a', sizeof text);
	text[0] = '/';
	text[PATTERN_TEXT_MOST - 1] = '!';
	for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
		struct pattern *p = pattern_create(patterns[i], err, sizeof err);
		ck_assert_ptr_nonnull(p);
		ck_assert(!pattern_match(p, (struct str){text, PATTERN_TEXT_MOST}, captures));
		pattern_destroy(&p);
	}
	struct pattern *any = pattern_create("", err, sizeof err);
	ck_assert(pattern_match(any, (struct str){text, PATTERN_TEXT_MOST}, captures));
	ck_assert(!pattern_match(any, (struct str){text, PATTERN_TEXT_MOST + 1}, captures));
	pattern_destroy(&any);
}
END_TEST

UNIT("pattern", LOOP(finds, matches), LOOP(refuses, wrong), TEST(is_never_slow))
