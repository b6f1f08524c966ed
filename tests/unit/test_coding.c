/* rooms: http base
 *
 * test_coding.c - what a body is coded in, what a client takes, and which class that makes. */
#include "proxy/http/coding.h"
#include "proxy/http/negotiate.h"
#include "tests/kit/unit.h"

static const struct {
	const char *says, *value;
	enum coding want;
} bodies[] = {
	/* clang-format off */
	{"no field",                             "", CODING_NONE},
	{"identity says nothing",                "identity", CODING_NONE},
	{"commas alone",                         " , ,", CODING_NONE},
	{"gzip",                                 "gzip", CODING_GZIP},
	{"its old name",                         "x-gzip", CODING_GZIP},
	{"any case",                             "GZip", CODING_GZIP},
	{"blanks and empty members",             " ,\t br ,", CODING_BR},
	{"zstd",                                 "zstd", CODING_ZSTD},
	{"deflate has two meanings in practice", "deflate", CODING_OTHER},
	{"compress",                             "compress", CODING_OTHER},
	{"a dictionary's coding is another",     "dcb", CODING_OTHER},
	{"aws-chunked",                          "aws-chunked", CODING_OTHER},
	{"twice gzip",                           "gzip, gzip", CODING_OTHER},
	{"two codings",                          "br, gzip", CODING_OTHER},
	{"identity is none, but this is two",    "identity, gzip", CODING_OTHER},
	{"a parameter",                          "gzip;q=1", CODING_OTHER},
	{"no star here",                         "*", CODING_OTHER},
	{"a name that only begins so",           "gzipped", CODING_OTHER},
	{"a part of a name",                     "gz", CODING_OTHER},
	{"our own word is no name",              "none", CODING_OTHER},
	{"quotes",                               "\"gzip\"", CODING_OTHER},
	{"a line end within",                    "gzip\r", CODING_OTHER},
	/* clang-format on */
};

START_TEST(body)
{
	enum coding c = coding_of(str_of(bodies[_i].value));
	ck_assert_msg(c == bodies[_i].want, "%s: %s", bodies[_i].says, coding_word(c));
}
END_TEST

#define G CODING_BIT(CODING_GZIP)
#define B CODING_BIT(CODING_BR)
#define Z CODING_BIT(CODING_ZSTD)
#define P CODING_BIT(CODING_NONE)

/* clang-format off */
static const struct coding_list br_gzip = {2, {CODING_BR, CODING_GZIP}},
				zstd_first = {3, {CODING_ZSTD, CODING_BR, CODING_GZIP}},
				gzip_only = {1, {CODING_GZIP}},
				empty = {0};
/* clang-format on */

#define TEN(x) x x x x x x x x x x
static const struct {
	const char *says, *value;
	unsigned want;
	const char *class; /* of br_gzip; NULL: none */
} clients[] = {
	/* clang-format off */
	{"Chrome 123 and later, Firefox 126",     "gzip, deflate, br, zstd",             P | G | B | Z, "br, gzip"},
	{"Chrome before, Safari by HTTPS, Edge",  "gzip, deflate, br",                   P | G | B, "br, gzip"},
	{"browsers by plain HTTP",                "gzip, deflate",                       P | G, "gzip"},
	{"Firefox asks for a font",               "identity",                            P, ""},
	{"Chrome asks for a video",               "identity;q=1, *;q=0",                 P, ""},
	{"Safari asks for a range",               "identity",                            P, ""},
	{"curl --compressed, Debian 12",          "deflate, gzip, br, zstd",             P | G | B | Z, "br, gzip"},
	{"curl --compressed, without brotli",     "deflate, gzip",                       P | G, "gzip"},
	{"curl, wget of old",                     "",                                    P, ""},
	{"wget",                                  "identity",                            P, ""},
	{"wget2",                                 "gzip, deflate, br, zstd",             P | G | B | Z, "br, gzip"},
	{"wget --compression=auto, Go",           "gzip",                                P | G, "gzip"},
	{"Googlebot",                             "gzip, deflate, br",                   P | G | B, "br, gzip"},
	{"Bingbot",                               "gzip, deflate, br",                   P | G | B, "br, gzip"},
	{"Yandex, many bots",                     "gzip,deflate",                        P | G, "gzip"},
	{"requests, httpx",                       "gzip, deflate, br",                   P | G | B, "br, gzip"},
	{"libwww-perl",                           "gzip, x-gzip, deflate, x-bzip2",      P | G, "gzip"},
	{"Apache HttpClient",                     "gzip, x-gzip, deflate",               P | G, "gzip"},
	{"Ruby",                                  "gzip;q=1.0,deflate;q=0.6,identity;q=0.3", P | G, "gzip"},
	{"Lynx",                                  "gzip, compress, bzip2",               P | G, "gzip"},
	{"Opera of old",                          "gzip, deflate, lzma, sdch",           P | G, "gzip"},
	{"Android's Dalvik",                      "gzip",                                P | G, "gzip"},
	{"Chrome with a dictionary",              "gzip, deflate, br, zstd, dcb, dcz",   P | G | B | Z, "br, gzip"},
	{"deflate alone",                         "deflate",                             P, ""},
	{"capital letters",                       "GZIP, Br",                            P | G | B, "br, gzip"},

	{"weights do not choose",                 "gzip;q=1, br;q=0.1",                  P | G | B, "br, gzip"},
	{"but 0 refuses",                         "gzip, br;q=0",                        P | G, "gzip"},
	{"in all its spellings",                  "gzip;q=0.0, br;Q=0.000",              P, ""},
	{"with blanks",                           "gzip ; q=0 , br",                     P | B, "br"},
	{"gzip refused",                          "gzip;q=0",                            P, ""},
	{"its old name refuses it",               "x-gzip;q=0, gzip",                    P, ""},
	{"the least weight there is",             "br;q=0.001",                          P | B, "br"},
	{"wanted and refused",                    "br, gzip, br;q=0",                    P | G, "gzip"},
	{"a weight that is none",                 "br;q=x, gzip",                        P | G, "gzip"},
	{"a weight over 1",                       "br;q=1.1, gzip",                      P | G, "gzip"},
	{"a weight below 0",                      "br;q=-1, gzip",                       P | G, "gzip"},
	{"a parameter that is not known",         "br;level=5, gzip",                    P | G, "gzip"},

	{"a star alone",                          "*",                                   P, ""},
	{"a star beside names",                   "gzip, *",                             P | G, "gzip"},
	{"a star with a weight",                  "gzip, *;q=0.5",                       P | G, "gzip"},
	{"all others refused, plain too",         "gzip, *;q=0",                         G, "gzip"},
	{"but plain is named",                    "gzip, identity;q=0.1, *;q=0",         P | G, "gzip"},
	{"plain refused",                         "gzip, identity;q=0",                  G, "gzip"},
	{"plain refused, nothing else named",     "identity;q=0",                        0, NULL},
	{"plain refused, anything else taken",    "identity;q=0, *",                     G | B | Z, "br, gzip"},
	{"but for one",                           "identity;q=0, *, br;q=0",             G | Z, "gzip"},
	{"everything refused",                    "*;q=0",                               0, NULL},
	{"deflate or nothing",                    "deflate, identity;q=0",               0, NULL},

	{"junk",                                  "\001\377;;=,\"gzip",                  P, ""},
	{"quoted",                                "\"gzip\", br",                        P | B, "br"},
	{"one word of two",                       "gzip br",                             P, ""},
	{"commas",                                ",,gzip,,",                            P | G, "gzip"},
	{"many members are read",                 TEN(TEN("a,")) "br",                   P | B, "br"},
	{"too many are not",                      TEN(TEN("a,")) TEN("b,b,b,") "br",     P, ""},
	{"what is too long is not",               TEN(TEN("0123456789")) TEN("012") ",br", P, ""},
	{"and refuses nothing",                   TEN(TEN("0123456789")) TEN("012") ",*;q=0", P, ""},
	{"1 KiB is read, to the last byte",       TEN(TEN("0123456789")) "012345678901234567890,br", P | B, "br"},
	{"one byte more is not",                  TEN(TEN("0123456789")) "0123456789012345678901,br", P, ""},
	/* clang-format on */
};

/* want: as it goes out; NULL: there is none. */
static void
expect_class(const char *says, unsigned set, const struct coding_list *list, const char *want)
{
	struct buf b = {0};
	unsigned class = coding_class(set, list);
	ck_assert_msg((class == CODING_UNCLASSED) == !want, "%s: %#x", says, class);
	coding_class_add(class == CODING_UNCLASSED ? 0 : class, list, &b);
	ck_assert_msg(str_eq(buf_str(&b), str_of(want ? want : "")), "%s: %.*s", says,
		      STR_ARG(buf_str(&b)));
	buf_fini(&b);
}

START_TEST(client)
{
	unsigned set = coding_accepted(str_of(clients[_i].value));
	ck_assert_msg(set == clients[_i].want, "%s: %#x", clients[_i].says, set);
	expect_class(clients[_i].says, set, &br_gzip, clients[_i].class);
}
END_TEST

/* The origin that is sent the normal form reads the same set in it. */
START_TEST(the_normal_form_says_the_same)
{
	struct buf b = {0};
	negotiate_codings(str_of(clients[_i].value), &b);
	ck_assert_msg(coding_accepted(buf_str(&b)) == clients[_i].want, "%s: %.*s",
		      clients[_i].says, STR_ARG(buf_str(&b)));
	buf_fini(&b);
}
END_TEST

static const struct {
	const char *says;
	unsigned set;
	const struct coding_list *list;
	const char *want;
} classes[] = {
	/* clang-format off */
	{"nothing is classed without a list",     P | G | B | Z, &empty, NULL},
	{"not even a client of plain bytes",      P, &empty, NULL},
	{"all of the list, in its order",         P | G | B | Z, &zstd_first, "zstd, br, gzip"},
	{"those that are taken",                  P | G | Z, &zstd_first, "zstd, gzip"},
	{"one alone",                             P | G, &zstd_first, "gzip"},
	{"else plain",                            P, &zstd_first, ""},
	{"what is not in the list is not sent",   P | B | Z, &gzip_only, ""},
	{"even where plain is refused",           B | Z, &gzip_only, NULL},
	{"the list's, where plain is refused",    G, &gzip_only, "gzip"},
	{"nothing at all",                        0, &br_gzip, NULL},
	/* clang-format on */
};

START_TEST(class)
{
	expect_class(classes[_i].says, classes[_i].set, classes[_i].list, classes[_i].want);
}
END_TEST

START_TEST(words_are_read_again)
{
	for (unsigned c = CODING_NONE; c < CODINGS; c++)
		ck_assert_int_eq(coding_of(str_of(coding_word((enum coding)c))), c);
}
END_TEST

UNIT("coding", LOOP(body, bodies), LOOP(client, clients),
     LOOP(the_normal_form_says_the_same, clients), LOOP(class, classes), TEST(words_are_read_again))
