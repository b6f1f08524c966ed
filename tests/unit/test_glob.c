/* test_glob.c - patterns with "*": what they match, and which of two covers the other.
 * rooms: base
 */
#include "proxy/base/glob.h"

#include "tests/kit/unit.h"

enum { TEXT_MOST = 8 };

/* clang-format off */
static const struct {
	const char *says, *pattern;
	bool is_path, any_case;
	const char *yes[4], *no[6];
} globs[] = {
	{"at the beginning: all that end so", "*.css", true, false,
	 {"/a.css", "/a/b/c.css", "/.css", ".css"}, {"/a.css/", "/a.csss", "/acss", "/a.CSS", ""}},
	{"at the end: all that begin so", "/img/*", true, false,
	 {"/img/", "/img/a", "/img/a/b"}, {"/img", "/IMG/a", "/a/img/"}},
	{"in between: one folder", "/img/*/a.png", true, false,
	 {"/img/x/a.png", "/img//a.png"}, {"/img/a.png", "/img/x/y/a.png", "/img/x/a.png/", "/img/x/b.png"}},
	{"and a part of one name", "/img/a*.png", true, false,
	 {"/img/a.png", "/img/ab.png"}, {"/img/b.png", "/img/a/.png"}},
	{"two of them", "/a/*/b/*.png", true, false,
	 {"/a/x/b/y.png", "/a//b/.png"}, {"/a/b/y.png", "/a/x/b/y/z.png", "/a/x/y/b/z.png"}},
	{"in between and at the end", "/u/*/pics/*", true, false,
	 {"/u/me/pics/", "/u/me/pics/a/b"}, {"/u/pics/a", "/u/me/a/pics/b"}},
	{"at the beginning and in between", "*/thumb/*.png", true, false,
	 {"/thumb/a.png", "/x/thumb/thumb/a.png", "/thumb/x/thumb/a.png"}, {"/thumb/x/a.png", "/thumb", "thumb/a.png"}},
	{"at both ends", "*/wp-*", true, false,
	 {"/wp-a", "/x/wp-/y"}, {"/wp", "/xwp-"}},
	{"everywhere", "*a*b*", true, false,
	 {"/a/ab/", "/xayb"}, {"/a/b", "/ba", "a/b/a"}},
	{"alone", "*", true, false, {"", "/", "/a/b"}, {NULL}},
	{"in any case", "*.CSS", true, true, {"/a.css", "/a.Css"}, {"/a.cs"}},
	{"a slash in a value is like others", "a*b", false, false,
	 {"ab", "a/b", "axbyb"}, {"xab", "abx", "a"}},
	{"a value that holds it", "*de*", false, false,
	 {"de", "en, de;q=0.5", "xde"}, {"d", "d,e"}},
	{"a value that is it", "1", false, false, {"1"}, {"", "11", "*"}},
};
/* clang-format on */

START_TEST(match)
{
	struct glob g = {str_of(globs[_i].pattern), globs[_i].is_path, globs[_i].any_case};
	for (int i = 0; i < 4 && globs[_i].yes[i]; i++)
		ck_assert_msg(glob_matches(&g, str_of(globs[_i].yes[i])), "%s: %s is %s",
			      globs[_i].says, globs[_i].yes[i], globs[_i].pattern);
	for (int i = 0; i < 6 && globs[_i].no[i]; i++)
		ck_assert_msg(!glob_matches(&g, str_of(globs[_i].no[i])), "%s: %s is not %s",
			      globs[_i].says, globs[_i].no[i], globs[_i].pattern);
}
END_TEST

/* clang-format off */
static const struct {
	const char *a, *b;
	bool is_path, covers;
} pairs[] = {
	{"*",        "/a*",           true,  true},
	{"/a*",      "/a*",           true,  true},
	{"/a*",      "/ab*",          true,  true},
	{"/ab*",     "/a*",           true,  false},
	{"*.css",    "/a/*.css",      true,  true},
	{"*.css",    "*.min.css",     true,  true},
	{"*.min.css", "*.css",        true,  false},
	{"*.css",    "/a*",           true,  false},
	{"/a*",      "*.css",         true,  false},
	{"/a/*.css", "/a/b/*.css",    true,  false},
	{"/a/*.css", "/a/b*.css",     true,  true},
	{"/a/*/c*",  "/a/b/c/*",      true,  true},
	{"/a/*/c*",  "/a/*/c/*",      true,  true},
	{"/a/*.css", "/a*.css",       true,  false},
	{"/*.css",   "*.css",         true,  false},
	{"*/b/*",    "/a/b*",         true,  false},
	{"*/b*",     "/a/b/*",        true,  true},
	{"*a*",      "*a",            false, true},
	{"*a",       "*a*",           false, false},
	{"a*",       "abc",           false, true},
	{"a*c",      "a*",            false, false},
};
/* clang-format on */

START_TEST(cover)
{
	struct glob g = {str_of(pairs[_i].a), pairs[_i].is_path, false};
	ck_assert_msg(glob_covers(&g, str_of(pairs[_i].b)) == pairs[_i].covers, "%s and %s",
		      pairs[_i].a, pairs[_i].b);
}
END_TEST

/* ---- against every way there is -------------------------------------------------------------- */

/* first: of the pattern's bytes. */
static bool
model(const struct glob *g, size_t first, struct str text)
{
	struct str rest = str_from(g->pattern, first);
	if (!rest.n || rest.p[0] != '*')
		return rest.n ? text.n && text.p[0] == rest.p[0] &&
					model(g, first + 1, str_from(text, 1))
			      : !text.n;
	bool any = !g->is_path || first == 0 || first + 1 == g->pattern.n;
	for (size_t n = 0; n <= text.n; n++) {
		if (n && text.p[n - 1] == '/' && !any)
			return false;
		if (model(g, first + 1, str_from(text, n)))
			return true;
	}
	return false;
}

static uint64_t state;

static struct str
draw(char to[TEXT_MOST], const char *letters, unsigned count)
{
	size_t n = 0;
	state = state * 6364136223846793005u + 1442695040888963407u;
	for (uint64_t left = state >> 16, most = (state >> 8) % TEXT_MOST; n < most; n++) {
		to[n] = letters[left % count];
		left /= count;
		if (to[n] == '*' && n && to[n - 1] == '*')
			to[n] = '/';
	}
	return (struct str){to, n};
}

START_TEST(it_matches_what_some_way_matches_and_covers_no_more)
{
	char a[TEXT_MOST], b[TEXT_MOST], t[TEXT_MOST];
	unsigned met = 0, covered = 0, both = 0;
	state = (uint64_t)_i + 1;
	for (int i = 0; i < 200000; i++) {
		struct glob g = {draw(a, "*a/b", 4), i & 1, false};
		struct glob h = {draw(b, "*a/b", 4), i & 1, false};
		struct str text = draw(t, "a/b", 3);
		bool is = glob_matches(&g, text), covers = glob_covers(&g, h.pattern);
		ck_assert_msg(is == model(&g, 0, text), "%.*s and %.*s", STR_ARG(g.pattern),
			      STR_ARG(text));
		met += is;
		covered += covers;
		if (!covers || !glob_matches(&h, text))
			continue;
		ck_assert_msg(is, "%.*s covers %.*s, but not %.*s", STR_ARG(g.pattern),
			      STR_ARG(h.pattern), STR_ARG(text));
		both++;
	}
	ck_assert_uint_gt(met, 2000);
	ck_assert_uint_gt(covered, 2000);
	ck_assert_uint_gt(both, 200);
}
END_TEST

UNIT("glob", LOOP(match, globs), LOOP(cover, pairs),
     TIMES(it_matches_what_some_way_matches_and_covers_no_more, 2))
