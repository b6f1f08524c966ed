/* rooms: http base
 *
 * test_precond.c - RFC 9110 13, asked of one stored response: ETag "abc", changed an hour before
 * its Date. */
#include "proxy/http/precond.h"
#include "tests/kit/heads.h"

#define NOW 784115377 /* Sun, 06 Nov 1994 09:49:37 GMT */
static const struct validators strong = {STR_INIT("\"abc\""), 784111777, NOW - 60, 200};
static const struct validators weak = {STR_INIT("W/\"abc\""), 784111777, NOW - 60, 0};
static const struct validators none = {{NULL, 0}, -1, NOW - 60, 200};
static const struct validators moved = {STR_INIT("\"abc\""), 784111777, NOW - 60, 301};
static const struct validators comma = {STR_INIT("\"a,\\c\""), -1, NOW - 60, 200};

#define LM     "Sun, 06 Nov 1994 08:49:37 GMT"
#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define AFTER  "Sun, 06 Nov 1994 08:49:38 GMT"

static const struct {
	const char *says;
	const struct validators *stored;
	const char *lines;
	enum precond want;
} conditions[] = {
	/* clang-format off */
	{"no conditions",                          &strong, "", PRECOND_GO},
	{"the tag",                                &strong, "If-None-Match: \"abc\"", PRECOND_NOT_MODIFIED},
	{"another tag",                            &strong, "If-None-Match: \"abd\"", PRECOND_GO},
	{"weak is good enough (13.1.2)",           &strong, "If-None-Match: W/\"abc\"", PRECOND_NOT_MODIFIED},
	{"weak against weak",                      &weak,   "If-None-Match: W/\"abc\"", PRECOND_NOT_MODIFIED},
	{"strong against weak",                    &weak,   "If-None-Match: \"abc\"", PRECOND_NOT_MODIFIED},
	{"one of several",                         &strong, "If-None-Match: \"1\", \"abc\", \"2\"", PRECOND_NOT_MODIFIED},
	{"the last of several, no spaces",         &strong, "If-None-Match: \"1\",\"2\",W/\"abc\"", PRECOND_NOT_MODIFIED},
	{"one in a second line",                   &strong, "If-None-Match: \"1\"\nIf-None-Match: \"abc\"", PRECOND_NOT_MODIFIED},
	{"anything at all",                        &strong, "If-None-Match: *", PRECOND_NOT_MODIFIED},
	{"anything, of what has no tag",           &none,   "If-None-Match: *", PRECOND_NOT_MODIFIED},
	{"a star in quotes is a tag",              &strong, "If-None-Match: \"*\"", PRECOND_GO},
	{"a tag of what has none",                 &none,   "If-None-Match: \"abc\"", PRECOND_GO},
	{"without quotes it is another",           &strong, "If-None-Match: abc", PRECOND_GO},
	{"case matters",                           &strong, "If-None-Match: \"ABC\"", PRECOND_GO},
	{"a small w is no weakness",               &strong, "If-None-Match: w/\"abc\"", PRECOND_GO},
	{"a comma in a tag, and a backslash",      &comma,  "If-None-Match: \"x\", \"a,\\c\"", PRECOND_NOT_MODIFIED},
	{"a tag beats a date (13.1.3)",            &strong, "If-None-Match: \"x\"\nIf-Modified-Since: " LM, PRECOND_GO},
	{"also when the tag matches",              &strong, "If-None-Match: \"abc\"\nIf-Modified-Since: " BEFORE, PRECOND_NOT_MODIFIED},
	{"not since then",                         &strong, "If-Modified-Since: " LM, PRECOND_NOT_MODIFIED},
	{"not since later",                        &strong, "If-Modified-Since: " AFTER, PRECOND_NOT_MODIFIED},
	{"changed since",                          &strong, "If-Modified-Since: " BEFORE, PRECOND_GO},
	{"an old format of date",                  &strong, "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", PRECOND_NOT_MODIFIED},
	{"no date",                                &strong, "If-Modified-Since: yesterday", PRECOND_GO},
	{"two dates are none",                     &strong, "If-Modified-Since: " LM "\nIf-Modified-Since: " LM, PRECOND_GO},
	{"without Last-Modified its Date counts",  &none,   "If-Modified-Since: Sun, 06 Nov 1994 09:48:37 GMT", PRECOND_NOT_MODIFIED},
	{"which is later than this",               &none,   "If-Modified-Since: " AFTER, PRECOND_GO},
	{"a redirect is answered as it is (13.2.1)", &moved, "If-None-Match: \"abc\"", PRECOND_GO},
	{"If-Match",                               &strong, "If-Match: \"abc\"", PRECOND_GO},
	{"If-Match of another",                    &strong, "If-Match: \"x\"", PRECOND_FAILED},
	{"If-Match is strong (13.1.1)",            &weak,   "If-Match: W/\"abc\"", PRECOND_FAILED},
	{"If-Match of anything",                   &none,   "If-Match: *", PRECOND_GO},
	{"If-Match beats If-Unmodified-Since",     &strong, "If-Match: \"abc\"\nIf-Unmodified-Since: " BEFORE, PRECOND_GO},
	{"unmodified since",                       &strong, "If-Unmodified-Since: " LM, PRECOND_GO},
	{"modified since",                         &strong, "If-Unmodified-Since: " BEFORE, PRECOND_FAILED},
	{"unmodified since no date",               &strong, "If-Unmodified-Since: x", PRECOND_GO},
	{"412 comes before 304 (13.2.2)",          &strong, "If-Match: \"x\"\nIf-None-Match: \"abc\"", PRECOND_FAILED},
	/* clang-format on */
};

static struct request *
get_with(const char *lines)
{
	char text[1024];
	snprintf(text, sizeof text, "GET / HTTP/1.1\nHost: h%s%s", *lines ? "\n" : "", lines);
	return request_of(text);
}

START_TEST(condition)
{
	enum precond got =
		precond_decide(get_with(conditions[_i].lines), conditions[_i].stored, NOW);
	ck_assert_msg(got == conditions[_i].want, "%s: %d", conditions[_i].says, got);
}
END_TEST

static const struct validators young = {{NULL, 0}, NOW - 60, NOW - 60, 200};

static const struct {
	const char *says;
	const struct validators *stored;
	const char *lines;
	bool want;
} ranges[] = {
	/* clang-format off */
	{"no If-Range",                      &strong, "", true},
	{"the tag",                          &strong, "If-Range: \"abc\"", true},
	{"another tag",                      &strong, "If-Range: \"x\"", false},
	{"a weak tag never (13.1.5)",        &weak,   "If-Range: W/\"abc\"", false},
	{"the date",                         &strong, "If-Range: " LM, true},
	{"a later date is another",          &strong, "If-Range: " AFTER, false},
	{"a date that is weak (8.8.2.2)",    &young,  "If-Range: Sun, 06 Nov 1994 09:48:37 GMT", false},
	{"of what has neither",              &none,   "If-Range: \"abc\"", false},
	{"two of them",                      &strong, "If-Range: \"abc\"\nIf-Range: \"abc\"", false},
	/* clang-format on */
};

START_TEST(if_range)
{
	bool got = if_range_holds(get_with(ranges[_i].lines), ranges[_i].stored, NOW);
	ck_assert_msg(got == ranges[_i].want, "%s", ranges[_i].says);
}
END_TEST

/* Tags of eight bytes each, comma included, and the one that is stored behind them. */
START_TEST(no_more_than_1_kib_of_tags_is_read)
{
	for (unsigned before = 126; before < 131; before++) {
		struct buf value = {0};
		for (unsigned i = 0; i < before; i++)
			buf_add_lit(&value, "\"12345\",");
		buf_add_lit(&value, "\"abc\"");
		struct field v[2] = {{.id = FIELD_OTHER}};
		struct request rq = {.method = METHOD_GET, .fields = {.v = v, .cap = 2}};
		fields_add(&rq.fields, STR("If-None-Match"), buf_str(&value));
		bool read = before * 8 + 5 <= 1024;
		ck_assert_int_eq(precond_decide(&rq, &strong, NOW),
				 read ? PRECOND_NOT_MODIFIED : PRECOND_GO);
		v[0].value.n -= 5; /* the same tag in a line of its own */
		fields_add(&rq.fields, STR("If-None-Match"), STR("\"abc\""));
		ck_assert_int_eq(precond_decide(&rq, &strong, NOW),
				 read ? PRECOND_NOT_MODIFIED : PRECOND_GO);
		buf_fini(&value);
	}
}
END_TEST

UNIT("precond", TEST(no_more_than_1_kib_of_tags_is_read), LOOP(condition, conditions),
     LOOP(if_range, ranges))
