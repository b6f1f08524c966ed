/* rooms: http base
 *
 * test_cookie.c - a cookie that everybody reads alike, or none to build on. */
#include "proxy/base/buf.h"
#include "proxy/http/cookie.h"
#include "proxy/http/syntax.h"
#include "tests/kit/heads.h"

static const struct {
	const char *says, *lines;
	enum cookie want;
	const char *value;
} requests[] = {
	/* clang-format off */
	{"no Cookie",                      "A: b", COOKIE_NONE, NULL},
	{"another",                        "Cookie: a=b; xlang=de; lan=x", COOKIE_NONE, NULL},
	{"alone",                          "Cookie: lang=de", COOKIE_ONE, "de"},
	{"among others",                   "Cookie: a=b; lang=de; c=d", COOKIE_ONE, "de"},
	{"without a blank",                "Cookie: a=b;lang=de;c=d", COOKIE_ONE, "de"},
	{"empty",                          "Cookie: lang=", COOKIE_ONE, ""},
	{"with an equals sign",            "Cookie: lang=a=b", COOKIE_ONE, "a=b"},
	{"its name as a value",            "Cookie: a=lang", COOKIE_NONE, NULL},
	{"twice",                          "Cookie: lang=de; lang=en", COOKIE_DOUBTFUL, NULL},
	{"twice in two lines",             "Cookie: lang=de\nCookie: lang=en", COOKIE_DOUBTFUL, NULL},
	{"in one of two lines",            "Cookie: a=b\nCookie: lang=de", COOKIE_DOUBTFUL, NULL},
	{"in none of two lines",           "Cookie: a=b\nCookie: c=d", COOKIE_NONE, NULL},
	{"a blank before the equals sign", "Cookie: lang =de", COOKIE_DOUBTFUL, NULL},
	{"a blank behind it",              "Cookie: lang= de", COOKIE_DOUBTFUL, NULL},
	{"no equals sign",                 "Cookie: lang", COOKIE_DOUBTFUL, NULL},
	{"quoted",                         "Cookie: lang=\"de\"", COOKIE_DOUBTFUL, NULL},
	{"within another's quotes",        "Cookie: a=\"x; lang=de\"", COOKIE_DOUBTFUL, NULL},
	{"quotes elsewhere",               "Cookie: a=\"x\"; lang=de", COOKIE_DOUBTFUL, NULL},
	{"behind a comma",                 "Cookie: a=b, lang=de", COOKIE_DOUBTFUL, NULL},
	{"once more behind a comma",       "Cookie: lang=de; a=b,lang=en", COOKIE_DOUBTFUL, NULL},
	{"another case",                   "Cookie: LANG=de", COOKIE_DOUBTFUL, NULL},
	{"encoded",                        "Cookie: l%61ng=de", COOKIE_DOUBTFUL, NULL},
	{"indexed",                        "Cookie: lang[0]=de", COOKIE_DOUBTFUL, NULL},
	{"exact, and encoded besides",     "Cookie: lang=de; l%61ng=en", COOKIE_DOUBTFUL, NULL},
	{"a cut encoding",                 "Cookie: lang%6=de", COOKIE_NONE, NULL},
	/* clang-format on */
};

static struct cookie_found
find_one(const struct fields *f, struct str name)
{
	struct cookie_found found;
	cookie_find(f, &name, 1, &found);
	return found;
}

START_TEST(find)
{
	struct cookie_found got = find_one(fields_of(requests[_i].lines), STR("lang"));
	ck_assert_msg(got.is == requests[_i].want, "%s: %d", requests[_i].says, got.is);
	if (got.is == COOKIE_ONE)
		ck_assert_msg(str_eq(got.value, str_of(requests[_i].value)), "%s",
			      requests[_i].says);
}
END_TEST

static const struct {
	const char *says, *lines;
	bool begins;	  /* anybody could find one that begins with "wp_" */
	const char *want; /* all of them; NULL: doubtful */
} beginnings[] = {
	/* clang-format off */
	{"no Cookie",                "A: b", false, ""},
	{"others",                   "Cookie: a=b; wp=1; xwp_a=2", false, ""},
	{"one",                      "Cookie: a=b; wp_a=1", true, "wp_a=1"},
	{"two, by name",             "Cookie: wp_b=1; a=b;wp_a=x=y", true, "wp_a=x=y;wp_b=1"},
	{"the beginning alone",      "Cookie: wp_=1", true, "wp_=1"},
	{"one twice",                "Cookie: wp_a=1; wp_a=1", true, NULL},
	{"one in two spellings",     "Cookie: wp_a.b=1; wp_a_b=1", true, NULL},
	{"another case",             "Cookie: WP_a=1", true, NULL},
	{"another sign",             "Cookie: wp.a=1", true, NULL},
	{"encoded",                  "Cookie: w%70_a=1", true, NULL},
	{"encoded behind it",        "Cookie: wp_%61=1", true, NULL},
	{"indexed",                  "Cookie: wp_a[1]=1", true, NULL},
	{"behind a comma",           "Cookie: a=b, wp_a=1", true, NULL},
	{"once more behind a comma", "Cookie: wp_b=2; a=b, wp_a=1", true, NULL},
	{"without a value",          "Cookie: wp_a", true, NULL},
	{"in quotes",                "Cookie: a=\"x; wp_a=1\"", true, NULL},
	{"in two lines",             "Cookie: a=b\nCookie: wp_a=1", true, NULL},
	{"a blank in the name",      "Cookie: wp_ a=1", true, NULL},
	{"a blank before the value", "Cookie: wp_a= 1", true, NULL},
	/* clang-format on */
};

START_TEST(names_that_begin_so)
{
	struct str wp = STR("wp_");
	struct buf all = {0};
	const struct fields *f = fields_of(beginnings[_i].lines);
	ck_assert_msg(cookie_begins(f, &wp, 1) == beginnings[_i].begins, "%s", beginnings[_i].says);
	bool sure = cookie_add_all(f, wp, &all);
	ck_assert_msg(sure == (beginnings[_i].want != NULL), "%s", beginnings[_i].says);
	if (sure)
		ck_assert_msg(str_eq(buf_str(&all), str_of(beginnings[_i].want)), "%s: %.*s",
			      beginnings[_i].says, STR_ARG(buf_str(&all)));
	buf_fini(&all);
}
END_TEST

static const struct {
	const char *says, *value, *left;
} ignored[] = {
	/* clang-format off */
	{"nothing of them",     "a=b; c=d", "a=b; c=d"},
	{"one among others",    "a=b; _ga=1.2; c=d", "a=b; c=d"},
	{"all of it",           "_ga=1; _ga_X=2;  _gid", ""},
	{"by a whole name",     "_gab=1; x_ga=2; _GA=3", "_gab=1; x_ga=2; _GA=3"},
	{"without a value",     "_ga; a", "a"},
	{"with what is odd",    "a=\"x; _ga=1\"; b", "a=\"x; b"},
	{"empty pieces",        "; ;a=b;", "a=b"},
	/* clang-format on */
};

START_TEST(what_is_left)
{
	static const struct str names[] = {STR_INIT("_ga"), STR_INIT("_ga_*"), STR_INIT("_gid")};
	char out[64];
	struct str value = str_of(ignored[_i].value);
	size_t n = cookie_without(value, names, COUNT(names), out);
	ck_assert(n <= value.n);
	ck_assert_msg(str_eq((struct str){out, n}, str_of(ignored[_i].left)), "%s: %.*s",
		      ignored[_i].says, (int)n, out);
}
END_TEST

START_TEST(what_php_makes_of_names)
{
	ck_assert_int_eq(find_one(fields_of("Cookie: my.lang=x"), STR("my_lang")).is,
			 COOKIE_DOUBTFUL);
	ck_assert_int_eq(find_one(fields_of("Cookie: my_lang=x"), STR("my_lang")).is, COOKIE_ONE);
	ck_assert_int_eq(find_one(fields_of("Cookie: my%2elang=x"), STR("my+lang")).is,
			 COOKIE_DOUBTFUL);
}
END_TEST

/* ---- many at once, beside a model that looks for one after the other ------------------------ */

static char
model_plain(char c)
{
	return c == '.' || c == ' ' || c == '+' ? '_' : byte_lower(c);
}

static bool
model_could_be(struct str said, struct str name)
{
	size_t n = 0;
	for (size_t i = 0; i < said.n && n <= name.n; i++) {
		char c = said.p[i];
		if (c == '[' || c == '\0')
			break;
		if (c == '%' && i + 2 < said.n && byte_hex(said.p[i + 1]) >= 0 &&
		    byte_hex(said.p[i + 2]) >= 0) {
			c = (char)(byte_hex(said.p[i + 1]) << 4 | byte_hex(said.p[i + 2]));
			i += 2;
		}
		if (n == name.n || model_plain(c) != model_plain(name.p[n]))
			return false;
		n++;
	}
	return n == name.n;
}

/* In the line of a single field. */
static struct cookie_found
model_find(struct str line, struct str name)
{
	struct str rest = line, pair, said, value, found = {NULL, 0};
	unsigned n = 0;
	bool exact = false;
	while (rest.n) {
		size_t end = 0;
		while (end < rest.n && !memchr(";, \t\"", rest.p[end], 5))
			end++;
		str_cut((struct str){rest.p, end}, '=', &said, &value);
		n += said.n && model_could_be(said, name);
		rest = str_from(rest, end + 1);
	}
	for (rest = line; rest.n && !exact;) {
		str_cut(rest, ';', &pair, &rest);
		exact = str_cut(str_trim(pair), '=', &said, &found) && str_eq(said, name);
	}
	if (!n)
		return (struct cookie_found){COOKIE_NONE, {NULL, 0}};
	bool blank = found.n && (found.p[0] == ' ' || found.p[0] == '\t');
	bool odd = memchr(line.p, '"', line.n) || memchr(line.p, '\\', line.n);
	bool one = n == 1 && exact && !blank && !odd;
	return (struct cookie_found){one ? COOKIE_ONE : COOKIE_DOUBTFUL, found};
}

START_TEST(many_are_found_as_one_is)
{
	static const struct str names[] = {
		STR_INIT("a"),
		STR_INIT("ab"),
		STR_INIT("a_b"),
		STR_INIT("a.b"),
		STR_INIT("A"),
		STR_INIT("session"),
		STR_INIT("sessioN2"),
		STR_INIT("a"),
		STR_INIT("session_long_enough_for_three_words"),
		STR_INIT("a%61"),
		STR_INIT("s"),
	};
	static const char *const pieces[] = {
		"a",
		"A",
		"b",
		"_",
		".",
		"+",
		"=",
		"=",
		";",
		"; ",
		";",
		" ",
		",",
		"\t",
		"\"",
		"\\",
		"[",
		"[0]",
		"%61",
		"%41",
		"%2E",
		"%6",
		"%",
		"%25",
		"61",
		"session",
		"sESSION",
		"2",
		"_long_enough_for_three_words",
		"x",
		"1",
		"s",
	};
	srand(3);
	for (int round = 0; round < (SANITIZED ? 3000 : 30000); round++) {
		char text[400] = "Cookie: x";
		for (int i = rand() % 10; i >= 0; i--)
			strcat(text, pieces[rand() % COUNT(pieces)]);
		struct cookie_found got[COUNT(names)];
		const struct fields *f = fields_of(text);
		struct str line = fields_get(f, FIELD_COOKIE);
		cookie_find(f, names, COUNT(names), got);
		for (int i = 0; i < COUNT(names); i++) {
			struct cookie_found want = model_find(line, names[i]);
			ck_assert_msg(got[i].is == want.is, "%s: %s: %d, not %d", text, names[i].p,
				      got[i].is, want.is);
			if (want.is == COOKIE_ONE)
				ck_assert_msg(str_eq(got[i].value, want.value), "%s", text);
		}
	}
}
END_TEST

START_TEST(too_many_odd_names_are_doubtful)
{
	struct buf line = {0};
	buf_add_lit(&line, "Cookie: lang=de");
	for (int i = 0; i < 512; i++)
		buf_add_lit(&line, ";a.b");
	buf_add(&line, "", 1);
	ck_assert_int_eq(find_one(fields_of(line.p), STR("lang")).is, COOKIE_ONE);
	ck_assert_int_eq(find_one(fields_of(line.p), STR("other")).is, COOKIE_NONE);
	line.n--;
	buf_add_lit(&line, ";a.b");
	buf_add(&line, "", 1);
	ck_assert_int_eq(find_one(fields_of(line.p), STR("lang")).is, COOKIE_DOUBTFUL);
	ck_assert_int_eq(find_one(fields_of(line.p), STR("other")).is, COOKIE_DOUBTFUL);
	buf_fini(&line);
}
END_TEST

UNIT("cookie", LOOP(find, requests), LOOP(names_that_begin_so, beginnings),
     LOOP(what_is_left, ignored), TEST(what_php_makes_of_names), TEST(many_are_found_as_one_is),
     TEST(too_many_odd_names_are_doubtful))
