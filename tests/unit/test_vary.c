/* rooms: http base
 *
 * test_vary.c - which fields select a variant, and which of their values are the same. */
#include "proxy/http/cachekey.h"
#include "tests/kit/heads.h"

#define STAR "(star)"
static const struct {
	const char *says, *lines, *want;
} names[] = {
	/* clang-format off */
	{"no Vary",                        "A: b", ""},
	{"an empty one",                   "Vary:", ""},
	{"one name",                       "Vary: Accept-Encoding", "accept-encoding"},
	{"sorted, lower case, once",       "Vary: b, A, B,c", "a,b,c"},
	{"several lines",                  "Vary: b\nVary: a, b", "a,b"},
	{"*",                              "Vary: *", STAR},
	{"* after a name",                 "Vary: Foo, *", STAR},
	{"* before a name",                "Vary: *, Foo", STAR},
	{"* after nothing",                "Vary: , *", STAR},
	{"* in another line",              "Vary: \nVary: *", STAR},
	{"what is no name never matches",  "Vary: a b", STAR},
	/* clang-format on */
};

START_TEST(name_list)
{
	struct buf b = {0};
	bool ok = vary_names(fields_of(names[_i].lines), &b);
	struct str got = ok ? buf_str(&b) : STR(STAR);
	ck_assert_msg(str_eq(got, str_of(names[_i].want)), "%s: %.*s", names[_i].says,
		      STR_ARG(got));
	ck_assert(ok || b.n == 0);
	buf_fini(&b);
}
END_TEST

static const struct {
	const char *says, *names, *lines, *want;
} keys[] = {
	/* clang-format off */
	{"a value",                                 "foo", "Foo: 1", "\nfoo:1"},
	{"case matters in what we do not know",     "foo", "Foo: AbC", "\nfoo:AbC"},
	{"absent",                                  "foo", "Bar: 1", "\nfoo"},
	{"empty is not absent",                     "foo", "Foo:", "\nfoo:"},
	{"several names",                           "bar,baz,foo", "Foo: 1\nBaz: 2", "\nbar\nbaz:2\nfoo:1"},
	{"lines combine",                           "foo", "Foo: 1\nFoo: 2", "\nfoo:1,2"},
	{"whitespace goes",                         "foo", "Foo:  1 ,\t2 ", "\nfoo:1,2"},
	{"but not in quotes",                       "foo", "Foo: \"1, 2\"", "\nfoo:\"1, 2\""},
	{"nor inside a member",                     "foo", "Foo: 1  2", "\nfoo:1  2"},
	{"order stays in what we do not know",      "foo", "Foo: 2, 1", "\nfoo:2,1"},
	{"languages: order does not matter",        "accept-language", "Accept-Language: en, de", "\naccept-language:de,en"},
	{"languages: case does not matter",         "accept-language", "Accept-Language: eN, De", "\naccept-language:de,en"},
	{"languages: space does not matter",        "accept-language", "Accept-Language:  en ,de", "\naccept-language:de,en"},
	{"languages: weights do",                   "accept-language", "Accept-Language: de;q=0.5, en", "\naccept-language:de;q=0.5,en"},
	{"a weight of 1 is none",                   "accept-language", "Accept-Language: de;q=1.000, en ; Q=1", "\naccept-language:de,en"},
	{"0.50 is 0.5, space goes",                 "accept-language", "Accept-Language: de ; q=0.50", "\naccept-language:de;q=0.5"},
	{"0.123, 0.05 and 0",                       "accept-language", "Accept-Language: a;q=0.123,b;q=0.050,c;q=0.0", "\naccept-language:a;q=0.123,b;q=0.05,c;q=0"},
	{"twice the same is once",                  "accept-language", "Accept-Language: de, de\nAccept-Language: DE", "\naccept-language:de"},
	{"a weight that is none: left alone",       "accept-language", "Accept-Language: En;q=2, De", "\naccept-language:En;q=2,De"},
	{"two weights: left alone",                 "accept-language", "Accept-Language: De;q=0.5;q=1", "\naccept-language:De;q=0.5;q=1"},
	{"codings: order and case",                 "accept-encoding", "Accept-Encoding: GZIP, br, deflate", "\naccept-encoding:br,deflate,gzip"},
	{"x-gzip is gzip",                          "accept-encoding", "Accept-Encoding: x-gzip, gzip", "\naccept-encoding:gzip"},
	{"identity;q=0 is a wish of its own",       "accept-encoding", "Accept-Encoding: identity;q=0, *", "\naccept-encoding:*,identity;q=0"},
	{"types with parameters",                   "accept", "Accept: Text/HTML ; level=1 ;q=0.7, */*", "\naccept:*/*,text/html;level=1;q=0.7"},
	{"the case of a parameter may matter",      "accept", "Accept: a/b;x=Y, a/b;x=y", "\naccept:a/b;x=Y,a/b;x=y"},
	{"parameters are compared as they are written", "accept", "Accept: a/b ; x;;y, a/b;x;y", "\naccept:a/b;x;y"},
	{"quotes: left alone",                      "accept", "Accept: B/b;x=\"1\", a/a", "\naccept:B/b;x=\"1\",a/a"},
	{"charsets",                                "accept-charset", "Accept-Charset: UTF-8, a", "\naccept-charset:a,utf-8"},
	{"cookies byte by byte",                    "cookie", "Cookie: a=1, 2;  b", "\ncookie:a=1, 2;  b"},
	{"nothing to vary on",                      "", "Foo: 1", ""},
	/* clang-format on */
};

START_TEST(key)
{
	struct buf b = {0};
	vary_key(str_of(keys[_i].names), fields_of(keys[_i].lines), &b);
	ck_assert_msg(str_eq(buf_str(&b), str_of(keys[_i].want)), "%s: %.*s", keys[_i].says,
		      STR_ARG(buf_str(&b)));
	buf_fini(&b);
}
END_TEST

START_TEST(more_choices_than_are_sorted_are_kept_as_they_are)
{
	char lines[1024];
	int n = snprintf(lines, sizeof lines, "Accept-Language: ");
	for (int i = 0; i < 40; i++)
		n += snprintf(lines + n, sizeof lines - (size_t)n, "%sL%d", i ? "," : "", 40 - i);
	struct buf b = {0};
	vary_key(STR("accept-language"), fields_of(lines), &b);
	ck_assert(str_eq(str_from(buf_str(&b), strlen("\naccept-language:")),
			 str_of(lines + strlen("Accept-Language: "))));
	buf_fini(&b);
}
END_TEST

UNIT("vary", LOOP(name_list, names), LOOP(key, keys),
     TEST(more_choices_than_are_sorted_are_kept_as_they_are))
