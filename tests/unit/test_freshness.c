/* rooms: http base
 *
 * test_freshness.c - the arithmetic of RFC 9111 4.2. */
#include "proxy/http/freshness.h"
#include "tests/kit/unit.h"

#define ARRIVED 1000000

static const struct {
	const char *says;
	struct freshness_facts facts;
	struct lifetime want;
} lifetimes[] = {
	/* clang-format off */
	{"s-maxage is for us",                       {.s_maxage = SECS(1), .max_age = SECS(9), .expires = SECS(ARRIVED + 99)}, {1, BY_S_MAXAGE}},
	{"max-age comes before Expires",             {.max_age = SECS(9), .expires = SECS(ARRIVED + 99)}, {9, BY_MAX_AGE}},
	{"max-age=0 is a rule, not an absence",      {.max_age = SECS(0), .expires = SECS(ARRIVED + 99)}, {0, BY_MAX_AGE}},
	{"Expires counts from Date",                 {.expires = SECS(ARRIVED + 99), .date = SECS(ARRIVED + 90)}, {9, BY_EXPIRES}},
	{"without Date from the arrival",            {.expires = SECS(ARRIVED + 99)}, {99, BY_EXPIRES}},
	{"Expires before Date is no lifetime",       {.expires = SECS(ARRIVED + 99), .date = SECS(ARRIVED + 100)}, {0, BY_EXPIRES}},
	{"Expires that was nonsense is long past",   {.expires = SECS(INT64_MIN / 2), .date = SECS(ARRIVED)}, {0, BY_EXPIRES}},
	{"a tenth of its age when that may be guessed", {.last_modified = SECS(ARRIVED - 1000), .date = SECS(ARRIVED), .may_guess = true}, {100, BY_GUESS}},
	{"but not for ever",                         {.last_modified = SECS(0), .date = SECS(ARRIVED), .may_guess = true}, {5000, BY_GUESS}},
	{"changed in the future: nothing to guess from", {.last_modified = SECS(ARRIVED + 10), .may_guess = true}, {0, BY_GUESS}},
	{"not when it must not be guessed",          {.last_modified = SECS(ARRIVED - 1000)}, {0, BY_DEFAULT}},
	{"the setting, when nothing is said",        {.may_guess = true, .otherwise = 30}, {30, BY_DEFAULT}},
	/* clang-format on */
};

START_TEST(lifetime)
{
	struct freshness_facts f = lifetimes[_i].facts;
	f.response_time = ARRIVED;
	f.fraction = 0.1;
	f.guess_max = 5000;
	struct lifetime got = freshness_lifetime(&f);
	ck_assert_msg(got.s == lifetimes[_i].want.s && got.rule == lifetimes[_i].want.rule,
		      "%s: %lld by %d", lifetimes[_i].says, (long long)got.s, got.rule);
}
END_TEST

static const struct {
	const char *says;
	struct freshness_facts facts;
	int64_t want;
} ages[] = {
	/* clang-format off */
	{"new",                                      {.date = SECS(ARRIVED), .request_time = ARRIVED}, 0},
	{"what Age says",                            {.date = SECS(ARRIVED), .age = SECS(30), .request_time = ARRIVED}, 30},
	{"and the way here (corrected_age_value)",   {.date = SECS(ARRIVED), .age = SECS(30), .request_time = ARRIVED - 5}, 35},
	{"the way here without Age",                 {.date = SECS(ARRIVED), .request_time = ARRIVED - 5}, 5},
	{"an old Date (apparent_age)",               {.date = SECS(ARRIVED - 100), .request_time = ARRIVED}, 100},
	{"the larger of both",                       {.date = SECS(ARRIVED - 100), .age = SECS(30), .request_time = ARRIVED - 5}, 100},
	{"a fast Date makes nothing younger",        {.date = SECS(ARRIVED + 100), .age = SECS(30), .request_time = ARRIVED}, 30},
	{"no Date",                                  {.age = SECS(3), .request_time = ARRIVED}, 3},
	{"a clock that jumped back on the way",      {.date = SECS(ARRIVED), .request_time = ARRIVED + 9}, 0},
	/* clang-format on */
};

START_TEST(initial_age)
{
	struct freshness_facts f = ages[_i].facts;
	f.response_time = ARRIVED;
	int64_t got = freshness_initial_age(&f);
	ck_assert_msg(got == ages[_i].want, "%s: %lld", ages[_i].says, (long long)got);
}
END_TEST

UNIT("freshness", LOOP(lifetime, lifetimes), LOOP(initial_age, ages))
