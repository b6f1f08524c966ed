/* rooms: http base
 *
 * test_cache_control.c - directives as real servers write them (RFC 9111 5.2, RFC 9213). */
#include "proxy/http/cache_control.h"
#include "tests/kit/heads.h"

/* A bool or a number of seconds of a response, by name, so that a row can name what it expects. */
#define ABSENT (-1)
static int64_t
fact(const struct response_cc *cc, const char *name)
{
#define IS(member, text)             \
	if (strcmp(name, text) == 0) \
		return cc->member;
#define SECONDS(member, text)        \
	if (strcmp(name, text) == 0) \
		return cc->member.known ? cc->member.n : ABSENT;
	SECONDS(max_age, "max-age")
	SECONDS(s_maxage, "s-maxage")
	SECONDS(stale_while_revalidate, "swr")
	SECONDS(stale_if_error, "sie")
	IS(no_cache, "no-cache")
	IS(no_store, "no-store")
	IS(private_, "private")
	IS(public_, "public")
	IS(must_revalidate, "must-revalidate")
	IS(proxy_revalidate, "proxy-revalidate")
	IS(must_understand, "must-understand")
	IS(no_transform, "no-transform")
	IS(immutable, "immutable")
	IS(has_any, "any")
	ck_abort_msg("no fact %s", name);
	return 0;
}

static const struct {
	const char *says, *lines, *name;
	int64_t want;
} responses[] = {
	/* clang-format off */
	{"seconds",                                    "Cache-Control: max-age=3600", "max-age", 3600},
	{"any case",                                   "Cache-Control: MaX-aGe=3600", "max-age", 3600},
	{"0 is a rule, not an absence",                "Cache-Control: max-age=0", "max-age", 0},
	{"nothing said",                               "Cache-Control: public", "max-age", ABSENT},
	{"no field at all",                            "", "max-age", ABSENT},
	{"leading zeros",                              "Cache-Control: max-age=003600", "max-age", 3600},
	{"2^31-1",                                     "Cache-Control: max-age=2147483647", "max-age", 2147483647},
	{"2^31",                                       "Cache-Control: max-age=2147483648", "max-age", 2147483648},
	{"2^31+1 is 2^31 (1.2.2)",                     "Cache-Control: max-age=2147483649", "max-age", 2147483648},
	{"more than 64 bits is 2^31",                  "Cache-Control: max-age=99999999999999999999999", "max-age", 2147483648},
	{"quoted (5.2: accept both forms)",            "Cache-Control: max-age=\"3600\"", "max-age", 3600},
	{"single quotes are no quotes: stale",         "Cache-Control: max-age='3600'", "max-age", 0},
	{"negative: stale",                            "Cache-Control: max-age=-3600", "max-age", 0},
	{"a plus sign: stale",                         "Cache-Control: max-age=+3600", "max-age", 0},
	{"a fraction: stale",                          "Cache-Control: max-age=3600.0", "max-age", 0},
	{"a letter before: stale",                     "Cache-Control: max-age=a3600", "max-age", 0},
	{"a letter behind: stale",                     "Cache-Control: max-age=3600a", "max-age", 0},
	{"empty: stale",                               "Cache-Control: max-age=", "max-age", 0},
	{"empty quotes: stale",                        "Cache-Control: max-age=\"\"", "max-age", 0},
	{"an open quote: stale",                       "Cache-Control: max-age=\"3600", "max-age", 0},
	{"no value: stale",                            "Cache-Control: max-age", "max-age", 0},
	{"space before =: stale",                      "Cache-Control: max-age =3600", "max-age", 0},
	{"space behind =: stale",                      "Cache-Control: max-age= 3600", "max-age", 0},
	{"two values: the smaller",                    "Cache-Control: max-age=1800, max-age=1", "max-age", 1},
	{"two values, the other way",                  "Cache-Control: max-age=1, max-age=1800", "max-age", 1},
	{"two values in two lines",                    "Cache-Control: max-age=1800\nCache-Control: max-age=1", "max-age", 1},
	{"a good and a bad value: stale",              "Cache-Control: max-age=1800, max-age=x", "max-age", 0},
	{"inside another's quotes it is text",         "Cache-Control: extension=\"max-age=3600\", max-age=1", "max-age", 1},
	{"also behind",                                "Cache-Control: max-age=1, extension=\"max-age=3600\"", "max-age", 1},
	{"only there: nothing said",                   "Cache-Control: extension=\"a, max-age=3600, b\"", "max-age", ABSENT},
	{"beside an unknown directive",                "Cache-Control: foobar, max-age=3600", "max-age", 3600},
	{"a directive that begins like it",            "Cache-Control: max-age-x=3600", "max-age", ABSENT},
	{"semicolons do not separate",                 "Cache-Control: public; max-age=3600", "max-age", ABSENT},
	{"shared",                                     "Cache-Control: s-maxage=7, max-age=3", "s-maxage", 7},
	{"a bad s-maxage: stale",                      "Cache-Control: s-maxage=x", "s-maxage", 0},
	{"stale-while-revalidate",                     "Cache-Control: stale-while-revalidate=30", "swr", 30},
	{"what would permit more must be well-formed", "Cache-Control: stale-while-revalidate=30s", "swr", ABSENT},
	{"stale-if-error",                             "Cache-Control: stale-if-error=0", "sie", 0},
	{"stale-if-error without a value",             "Cache-Control: stale-if-error", "sie", ABSENT},
	{"no-store in any case",                       "Cache-Control: nO-StOrE", "no-store", 1},
	{"a flag with a value is a flag",              "Cache-Control: no-store=1", "no-store", 1},
	{"must-revalidate",                            "Cache-Control: a,must-revalidate ,b", "must-revalidate", 1},
	{"proxy-revalidate",                           "Cache-Control: proxy-revalidate", "proxy-revalidate", 1},
	{"must-understand",                            "Cache-Control: must-understand", "must-understand", 1},
	{"no-transform",                               "Cache-Control: no-transform", "no-transform", 1},
	{"immutable",                                  "Cache-Control: immutable", "immutable", 1},
	{"no-cache",                                   "Cache-Control: no-cache", "no-cache", 1},
	{"no-cache of a field is not of all",          "Cache-Control: no-cache=\"a\"", "no-cache", 0},
	{"no-cache of nothing is of all",              "Cache-Control: no-cache=\"\"", "no-cache", 1},
	{"no-cache of what is no name is of all",      "Cache-Control: no-cache=\"a b\"", "no-cache", 1},
	{"no-cache of a field, then of all",           "Cache-Control: no-cache=\"a\", no-cache", "no-cache", 1},
	{"no-cache of all, then of a field",           "Cache-Control: no-cache, no-cache=\"a\"", "no-cache", 1},
	{"two lists: of all, which caches less",       "Cache-Control: no-cache=\"a\", no-cache=\"b\"", "no-cache", 1},
	{"private of a field is not of all",           "Cache-Control: private=\"set-cookie\"", "private", 0},
	{"private of a field without quotes",          "Cache-Control: private=set-cookie", "private", 0},
	{"private of all",                             "Cache-Control: private", "private", 1},
	{"an empty field says nothing",                "Cache-Control: ", "any", 0},
	{"commas say nothing",                         "Cache-Control: , ,", "any", 0},
	{"Pragma is no directive of a response",       "Pragma: no-cache", "no-cache", 0},
	/* clang-format on */
};

START_TEST(response)
{
	struct response_cc cc;
	response_cc_select(fields_of(responses[_i].lines), STR(""), &cc);
	int64_t got = fact(&cc, responses[_i].name);
	ck_assert_msg(got == responses[_i].want, "%s: %lld", responses[_i].says, (long long)got);
}
END_TEST

START_TEST(lists_of_fields_are_handed_out)
{
	struct response_cc cc;
	response_cc_select(fields_of("Cache-Control: no-cache=\"a, b\", private=c"), STR(""), &cc);
	ck_assert(str_eq(cc.no_cache_fields, STR("a, b")));
	ck_assert(str_eq(cc.private_fields, STR("c")));
}
END_TEST

/* -- RFC 9213 ---------------------------------------------------------------------- */

static const struct {
	const char *says, *lines;
	bool targeted;
	const char *name;
	int64_t want;
} targets[] = {
	/* clang-format off */
	{"it beats Cache-Control",            "CDN-Cache-Control: max-age=60\nCache-Control: max-age=1", true, "max-age", 60},
	{"also when that says no",            "CDN-Cache-Control: max-age=60\nCache-Control: no-store", true, "no-store", 0},
	{"and when itself says no",           "CDN-Cache-Control: no-store\nCache-Control: max-age=60", true, "no-store", 1},
	{"absent: Cache-Control",             "Cache-Control: max-age=1", false, "max-age", 1},
	{"empty: Cache-Control",              "CDN-Cache-Control: \nCache-Control: max-age=1", false, "max-age", 1},
	{"unknown directives are skipped",    "CDN-Cache-Control: foobar, max-age=60;x=y", true, "max-age", 60},
	{"a false flag is none",              "CDN-Cache-Control: no-store=?0, max-age=60", true, "no-store", 0},
	{"private with names is private",     "CDN-Cache-Control: private=\"a\"", true, "private", 1},
	{"the last of equal keys (8941)",     "CDN-Cache-Control: max-age=60, max-age=30", true, "max-age", 30},
	{"two lines are one dictionary",      "CDN-Cache-Control: max-age=60\nCDN-Cache-Control: must-revalidate", true, "must-revalidate", 1},
	{"large",                             "CDN-Cache-Control: max-age=99999999999", true, "max-age", 2147483648},
	{"negative: stale",                   "CDN-Cache-Control: max-age=-1", true, "max-age", 0},
	{"keys are lower case",               "CDN-Cache-Control: MaX-aGe=60\nCache-Control: max-age=1", false, "max-age", 1},
	{"a string is no integer",            "CDN-Cache-Control: max-age=\"60\"\nCache-Control: max-age=1", false, "max-age", 1},
	{"a decimal is no integer",           "CDN-Cache-Control: max-age=60.0\nCache-Control: max-age=1", false, "max-age", 1},
	{"max-age alone is a boolean",        "CDN-Cache-Control: max-age\nCache-Control: max-age=1", false, "max-age", 1},
	{"a flag that is no boolean",         "CDN-Cache-Control: no-store=1\nCache-Control: max-age=1", false, "max-age", 1},
	{"one error voids it all",            "CDN-Cache-Control: max-age=60, &&&\nCache-Control: max-age=1", false, "max-age", 1},
	{"space before =",                    "CDN-Cache-Control: max-age =60\nCache-Control: max-age=1", false, "max-age", 1},
	{"space behind =",                    "CDN-Cache-Control: max-age= 60\nCache-Control: max-age=1", false, "max-age", 1},
	{"a comma at the end",                "CDN-Cache-Control: max-age=60,\nCache-Control: max-age=1", false, "max-age", 1},
	{"our own name comes first",          "Twice-Cache-Control: max-age=5\nCDN-Cache-Control: max-age=60", true, "max-age", 5},
	{"our own invalid: the next",         "Twice-Cache-Control: max-age=x\nCDN-Cache-Control: max-age=60", true, "max-age", 60},
	/* clang-format on */
};

START_TEST(targeted)
{
	struct response_cc cc;
	bool is = response_cc_select(fields_of(targets[_i].lines), STR("twice-cache-control"), &cc);
	ck_assert_msg(is == targets[_i].targeted, "%s", targets[_i].says);
	int64_t got = fact(&cc, targets[_i].name);
	ck_assert_msg(got == targets[_i].want, "%s: %lld", targets[_i].says, (long long)got);
}
END_TEST

/* -- requests ---------------------------------------------------------------------- */

#define OTHERS_7  "a, a, a, a, a, a, a, "
#define OTHERS_56 OTHERS_7 OTHERS_7 OTHERS_7 OTHERS_7 OTHERS_7 OTHERS_7 OTHERS_7 OTHERS_7

static const struct {
	const char *says, *lines;
	struct request_cc want;
} requests[] = {
	/* clang-format off */
	{"nothing",                          "", {0}},
	{"an unknown directive",             "Cache-Control: nothing-to-see-here", {0}},
	{"reload",                           "Cache-Control: no-cache", {.no_cache = true}},
	{"Pragma alone is no-cache (5.4)",   "Pragma: a, No-Cache", {.no_cache = true}},
	{"Pragma beside Cache-Control is nothing", "Pragma: no-cache\nCache-Control: max-age=5", {.max_age = SECS(5)}},
	{"another Pragma",                   "Pragma: foo", {0}},
	{"max-stale without a value",        "Cache-Control: max-stale", {.max_stale_any = true}},
	{"max-stale with one",               "Cache-Control: max-stale=9", {.max_stale = SECS(9)}},
	{"max-stale with nonsense",          "Cache-Control: max-stale=x", {0}},
	{"max-age with nonsense",            "Cache-Control: max-age=x", {.max_age = SECS(0)}},
	{"the 64th directive counts",        "Cache-Control: " OTHERS_56 "a, a, a, a, a, a, a, no-cache", {.no_cache = true}},
	{"of more, one may be no-store",     "Cache-Control: max-age=1, " OTHERS_56 "a, a, a, a, a, a, a, no-cache", {.max_age = SECS(1), .no_store = true}},
	{"in several lines too",             "Cache-Control: " OTHERS_56 "a\nCache-Control: " OTHERS_56 "a", {.no_store = true}},
	{"the 64th member of Pragma",        "Pragma: " OTHERS_56 "a, a, a, a, a, a, a, no-cache", {.no_cache = true}},
	{"what lies behind is not read",     "Pragma: " OTHERS_56 "a, a, a, a, a, a, a, a, no-cache", {0}},
	{"the rest",                         "Cache-Control: min-fresh=1, no-store, no-transform, only-if-cached, stale-if-error=2",
	 {.min_fresh = SECS(1), .no_store = true, .no_transform = true, .only_if_cached = true, .stale_if_error = SECS(2)}},
	/* clang-format on */
};

START_TEST(request)
{
	struct request_cc cc;
	const struct request_cc *want = &requests[_i].want;
	request_cc_parse(fields_of(requests[_i].lines), &cc);
	bool same = cc.no_cache == want->no_cache && cc.no_store == want->no_store &&
		    cc.no_transform == want->no_transform &&
		    cc.only_if_cached == want->only_if_cached &&
		    cc.max_stale_any == want->max_stale_any;
	ck_assert_msg(same, "%s", requests[_i].says);
#define SAME(member)                                                                          \
	ck_assert_msg(cc.member.known == want->member.known && cc.member.n == want->member.n, \
		      "%s: " #member, requests[_i].says)
	SAME(max_age);
	SAME(max_stale);
	SAME(min_fresh);
	SAME(stale_if_error);
}
END_TEST

/* -- Age --------------------------------------------------------------------------- */

static const struct {
	const char *says, *lines;
	struct secs want;
} ages[] = {
	/* clang-format off */
	{"absent",                                 "", {0}},
	{"seconds",                                "Age: 7200", SECS(7200)},
	{"the first member counts (5.1)",          "Age: 7200, 0", SECS(7200)},
	{"also when it is the smaller",            "Age: 0, 7200", SECS(0)},
	{"the first line counts",                  "Age: 0\nAge: 7200", SECS(0)},
	{"no number is ignored",                   "Age: abc", {0}},
	{"a negative one is ignored",              "Age: -7200", {0}},
	{"a fraction is ignored",                  "Age: 7200.0", {0}},
	{"a parameter makes it no number",         "Age: 7200;foo=bar", {0}},
	{"the first is no number: ignored",        "Age: x, 5", {0}},
	{"large is 2^31",                          "Age: 99999999999", SECS(2147483648)},
	/* clang-format on */
};

START_TEST(age)
{
	struct secs got = age_parse(fields_of(ages[_i].lines));
	ck_assert_msg(got.known == ages[_i].want.known && got.n == ages[_i].want.n, "%s",
		      ages[_i].says);
}
END_TEST

UNIT("cache_control", LOOP(response, responses), TEST(lists_of_fields_are_handed_out),
     LOOP(targeted, targets), LOOP(request, requests), LOOP(age, ages))
