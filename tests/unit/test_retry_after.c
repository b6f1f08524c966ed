/* test_retry_after.c - when a slice that was refused is asked for once more.
 * rooms: serve coding http base
 */
#include "proxy/serve/rules/retry_after.h"

#include "tests/kit/unit.h"

enum { NOW = 1700000000 }; /* Tue, 14 Nov 2023 22:13:20 GMT */

static const struct {
	const char *says;
	int status;
	const char *retry_after;
	int64_t after_ms;
} refusals[] = {
	/* clang-format off */
	{"a limit of rates that says nothing: in a second", 429, "", 1000},
	{"too busy, and says nothing: in a second", 503, "", 1000},
	{"any other error: soon", 500, "", 250},
	{"no answer at all: soon", 0, "", 250},
	{"seconds count", 503, "2", 2000},
	{"with any status", 404, "2", 2000},
	{"as many as a client waits for", 429, "5", 5000},
	{"but no more", 429, "6", -1},
	{"nor as many as there are", 503, "99999999999999999999999", -1},
	{"none is soon, and not at once", 503, "0", 250},
	{"a date counts", 503, "Tue, 14 Nov 2023 22:13:23 GMT", 3000},
	{"one that is over is soon", 503, "Tue, 14 Nov 2023 22:13:19 GMT", 250},
	{"one that is far away is not waited for", 503, "Tue, 14 Nov 2023 22:14:20 GMT", -1},
	{"one in two forms is none", 503, "1, 2", 1000},
	{"words are none", 429, "soon", 1000},
	{"less than none is none", 429, "-1", 1000},
	/* clang-format on */
};

START_TEST(so_long_after_a_refusal)
{
	int64_t ms = retry_after_ms(refusals[_i].status, str_of(refusals[_i].retry_after), NOW);
	ck_assert_msg(ms == refusals[_i].after_ms, "%s: %lld", refusals[_i].says, (long long)ms);
}
END_TEST

UNIT("retry_after", LOOP(so_long_after_a_refusal, refusals))
