/* rooms: http base
 *
 * test_cookie.c - a cookie that everybody reads alike, or none to build on. */
#include "proxy/http/cookie.h"
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

START_TEST(find)
{
	struct str value = {NULL, 0};
	enum cookie got = cookie_find(fields_of(requests[_i].lines), STR("lang"), &value);
	ck_assert_msg(got == requests[_i].want, "%s: %d", requests[_i].says, got);
	if (got == COOKIE_ONE)
		ck_assert_msg(str_eq(value, str_of(requests[_i].value)), "%s", requests[_i].says);
}
END_TEST

START_TEST(what_php_makes_of_names)
{
	struct str value;
	ck_assert_int_eq(cookie_find(fields_of("Cookie: my.lang=x"), STR("my_lang"), &value),
			 COOKIE_DOUBTFUL);
	ck_assert_int_eq(cookie_find(fields_of("Cookie: my_lang=x"), STR("my_lang"), &value),
			 COOKIE_ONE);
}
END_TEST

UNIT("cookie", LOOP(find, requests), TEST(what_php_makes_of_names))
