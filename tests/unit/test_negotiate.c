/* rooms: http base
 *
 * test_negotiate.c - what means the same is written the same, and nothing else is. */
#include "proxy/http/negotiate.h"
#include "tests/kit/unit.h"

#define AS_IT_CAME "(as it came)"
static const struct {
	const char *says;
	bool (*form)(struct str value, struct buf *out);
	const char *value, *want;
} forms[] = {
	/* clang-format off */
	{"one order and no weights",             negotiate_codings, "br;q=0.5, GZIP;q=0.123", "gzip, br"},
	{"x-gzip is gzip",                       negotiate_codings, "x-gzip", "gzip"},
	{"what browsers send is left alone",     negotiate_codings, "gzip, deflate, br, zstd", "gzip, deflate, br, zstd"},
	{"codings that nobody has go",           negotiate_codings, "sdch, foo1, gzip", "gzip"},
	{"nothing wanted is identity",           negotiate_codings, "", "identity"},
	{"nor is what is refused",               negotiate_codings, "gzip;q=0, br;q=0.000", "identity"},
	{"identity is said already",             negotiate_codings, "identity, gzip", "gzip"},
	{"identity refused",                     negotiate_codings, "gzip, identity;q=0", "gzip, identity;q=0"},
	{"refused by a star",                    negotiate_codings, "gzip, *;q=0", "gzip, identity;q=0"},
	{"but not where it is wanted",           negotiate_codings, "identity;q=0.5, *;q=0", "identity"},
	{"a star alone wants nothing special",   negotiate_codings, "*", "identity"},
	{"a star where identity is refused",     negotiate_codings, "identity;q=0, *, br;q=0", "gzip, deflate, zstd, identity;q=0"},
	{"nothing at all may be sent",           negotiate_codings, "*;q=0", "identity;q=0"},
	{"both wanted and refused",              negotiate_codings, "gzip, gzip;q=0, br", "br"},
	{"a weight that is none",                negotiate_codings, "gzip;q=2, br", "br"},
	{"a coding with a parameter",            negotiate_codings, "gzip;level=9, br", "br"},

	{"languages: blanks and case",           negotiate_languages, " DE-at , ZH-hANT-tw;Q=0.50 ", "de-AT,zh-Hant-TW;q=0.5"},
	{"languages: the order stays",           negotiate_languages, "zh, en", "zh,en"},
	{"languages: a weight of 1 is none",     negotiate_languages, "en;q=1.000,*;q=0.05", "en,*;q=0.05"},
	{"languages: behind a singleton",        negotiate_languages, "en-X-ab-CDEF", "en-x-ab-cdef"},
	{"languages: digits",                    negotiate_languages, "ES-419", "es-419"},
	{"languages: two weights",               negotiate_languages, "de;q=0.5;q=1", AS_IT_CAME},
	{"languages: no weight",                 negotiate_languages, "de;q=2", AS_IT_CAME},
	{"languages: odd dashes",                negotiate_languages, "-DE--de-", "-DE--DE-"},
	{"languages: none",                      negotiate_languages, ",, ", ""},

	{"types: case and blanks",               negotiate_types, "Text/HTML ; level=1 ;q=0.70, */*", "text/html;level=1;q=0.7,*/*"},
	{"types: parameters as they are",        negotiate_types, "a/b;x=Y, a/b;x=y", "a/b;x=Y,a/b;x=y"},
	{"types: the order stays",               negotiate_types, "b/b, a/a", "b/b,a/a"},
	{"types: quotes",                        negotiate_types, "B/b;x=\"1\", a/a", AS_IT_CAME},

	{"tokens",                               negotiate_tokens, "1 ,2,,3", "1, 2, 3"},
	{"one is no list",                       negotiate_tokens, "a", AS_IT_CAME},
	{"an empty member goes",                 negotiate_tokens, "a,", "a"},
	{"a date is no list",                    negotiate_tokens, "Sun,06 Nov 1994", AS_IT_CAME},
	{"nor is what has quotes",               negotiate_tokens, "\"a,b\",c", AS_IT_CAME},
	{"nor commas alone",                     negotiate_tokens, ", ,", AS_IT_CAME},
	/* clang-format on */
};

START_TEST(form)
{
	struct buf b = {0};
	buf_add_lit(&b, "before ");
	bool ok = forms[_i].form(str_of(forms[_i].value), &b);
	struct str got = ok ? str_from(buf_str(&b), 7) : STR(AS_IT_CAME);
	ck_assert_msg(str_eq(got, str_of(forms[_i].want)), "%s: %.*s", forms[_i].says,
		      STR_ARG(got));
	ck_assert(ok || b.n == 7);
	buf_fini(&b);
}
END_TEST

/* A normal form, written again, stays as it is. */
START_TEST(the_normal_form_is_its_own)
{
	struct buf once = {0}, again = {0};
	if (forms[_i].form(str_of(forms[_i].value), &once)) {
		bool ok = forms[_i].form(buf_str(&once), &again);
		ck_assert_msg(!ok || str_eq(buf_str(&once), buf_str(&again)), "%s: %.*s, %.*s",
			      forms[_i].says, STR_ARG(buf_str(&once)), STR_ARG(buf_str(&again)));
	}
	buf_fini(&once);
	buf_fini(&again);
}
END_TEST

START_TEST(no_more_values_of_accept_encoding_than_promised)
{
	static const char *const names[] = {"gzip", "deflate", "br", "zstd", "identity", "*", "x"};
	static const char *const weights[] = {"", ";q=0.3", ";q=0"};
	char seen[64][64];
	int n = 0;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		char value[256] = "";
		for (int i = rand() % 6; i >= 0; i--) {
			strcat(value, names[rand() % 7]);
			strcat(value, weights[rand() % 3]);
			strcat(value, i ? "," : "");
		}
		struct buf b = {0};
		negotiate_codings(str_of(value), &b);
		buf_add(&b, "", 1);
		int i = 0;
		while (i < n && strcmp(seen[i], b.p))
			i++;
		ck_assert_int_lt(i, 32);
		if (i == n)
			strcpy(seen[n++], b.p);
		buf_fini(&b);
	}
}
END_TEST

/* A list of so many members: "gzip" and then others. */
static const struct {
	const char *says;
	bool (*form)(struct str, struct buf *);
	const char *first, *more;
	unsigned members;
	bool is_read;
} lengths[] = {
	/* clang-format off */
	{"a list of 128 languages is read",       negotiate_languages, "EN", ",de",   128, true},
	{"one of more has no normal form",        negotiate_languages, "EN", ",de",   130, false},
	{"nor has one of as many parameters",     negotiate_types,     "A/B", ";x=1", 130, false},
	{"nor one of more than 1 KiB",            negotiate_types,     "A/B", ",text/html", 110, false},
	{"of 1 KiB it has",                       negotiate_types,     "A/B", ",text/html", 102, true},
	{"tokens alike",                          negotiate_tokens,    "a",  ",b",    130, false},
	{"too long a list of codings wants none", negotiate_codings,   "gzip", ",a",  130, false},
	{"one of 128 is read",                    negotiate_codings,   "gzip", ",a",  128, true},
	/* clang-format on */
};

START_TEST(length)
{
	struct buf value = {0}, out = {0};
	buf_add_str(&value, str_of(lengths[_i].first));
	for (unsigned i = 1; i < lengths[_i].members; i++)
		buf_add_str(&value, str_of(lengths[_i].more));
	bool read = lengths[_i].form(buf_str(&value), &out);
	if (lengths[_i].form == negotiate_codings)
		read = !str_eq(buf_str(&out), STR("identity"));
	else
		ck_assert_msg(read || out.n == 0, "%s", lengths[_i].says);
	ck_assert_msg(read == lengths[_i].is_read, "%s", lengths[_i].says);
	buf_fini(&value);
	buf_fini(&out);
}
END_TEST

static const struct str types[] = {STR_INIT("text/plain"), STR_INIT("text/html"),
				   STR_INIT("application/json")};
static const struct {
	const char *says, *accept;
	int want;
} choices[] = {
	/* clang-format off */
	{"no wish",                               "", 0},
	{"anything",                              "*/*", 0},
	{"the only one",                          "application/json", 2},
	{"in any case",                           "Text/HTML", 1},
	{"a group: the first of it",              "text/*", 0},
	{"by weight",                             "text/plain;q=0.5, text/html;q=0.6", 1},
	{"what is exact before what is not",      "*/*, text/html", 1},
	{"what is named first",                   "application/json, text/html, */*", 2},
	{"the most exact item counts",            "text/*, text/plain;q=0.1", 1},
	{"what is refused",                       "text/plain;q=0, */*", 1},
	{"all refused",                           "*/*;q=0", -1},
	{"others alone",                          "image/png, text/css", -1},
	{"a parameter that is not ours",          "text/html;level=1, application/json;q=0.1", 2},
	{"a prefix is no group",                  "tex/*, text/, te*", -1},
	/* clang-format on */
};

START_TEST(choice)
{
	ck_assert_msg(negotiate_choose(str_of(choices[_i].accept), types, 3) == choices[_i].want,
		      "%s", choices[_i].says);
}
END_TEST

START_TEST(too_long_an_accept_is_no_wish)
{
	struct buf value = {0};
	buf_add_lit(&value, "text/html");
	for (int i = 0; i < 130; i++)
		buf_add_lit(&value, ",a/b");
	ck_assert_int_eq(negotiate_choose(buf_str(&value), types, 3), 0);
	buf_fini(&value);
}
END_TEST

UNIT("negotiate", LOOP(choice, choices), LOOP(length, lengths), TEST(too_long_an_accept_is_no_wish),
     LOOP(form, forms), LOOP(the_normal_form_is_its_own, forms),
     TEST(no_more_values_of_accept_encoding_than_promised))
