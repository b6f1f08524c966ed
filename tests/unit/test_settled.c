/* rooms: fleet origin http base
 *
 * test_settled.c - how long the ring of before a series of changes is kept. */
#include "proxy/fleet/settled.h"
#include "tests/kit/settled_days.h"
#include "tests/kit/unit.h"

START_TEST(day)
{
	struct settled s = {0};
	char got[32] = "";
	size_t n = 0;
	for (const char *p = days[_i].day; *p; p += *p == ' ') {
		char *end;
		int64_t minute = strtol(p, &end, 10);
		bool changed = *end == 'c';
		got[n++] = "-be"[settled_turn(&s, changed, 7777 + minute * 60 * 1000)];
		p = end + changed;
	}
	ck_assert_msg(strcmp(got, days[_i].want) == 0, "%s: %s", days[_i].says, got);
}
END_TEST

UNIT("settled", LOOP(day, days))
