/* rooms: fleet origin http base
 *
 * test_standing.c - how long a sibling that failed is left alone. */
#include "proxy/fleet/standing.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* "0f" fails in second 0, "5a" answers in second 5; then "3?" asks in second 3: y or n. */
static const struct {
	const char *says, *story, *want;
} stories[] = {
	{"nothing is known against it", "0? 100?", "yy"},
	{"a failure is a second alone", "10f 10? 11?", "ny"},
	{"then two", "10f 11f 12? 13?", "ny"},
	{"then four", "10f 11f 13f 16? 17?", "ny"},
	{"thirty at most", "0f 1f 3f 7f 15f 31f 60? 61? 61f 90? 91?", "nyny"},
	{"an answer ends it", "10f 11f 13f 14a 14?", "y"},
	{"and begins anew", "10f 11f 14a 20f 20? 21?", "ny"},
	{"failures that began before count once", "10f 10f 10f 11?", "y"},
};

START_TEST(story)
{
	struct standing s = {0};
	char got[16] = "";
	size_t n = 0;
	for (const char *p = stories[_i].story; *p; p += *p == ' ') {
		char *end;
		int64_t at_ms = 1000 * strtol(p, &end, 10);
		if (*end == '?')
			got[n++] = standing_is_well(&s, at_ms) ? 'y' : 'n';
		else
			standing_tell(&s, *end == 'a', at_ms);
		p = end + 1;
	}
	ck_assert_msg(strcmp(got, stories[_i].want) == 0, "%s: %s", stories[_i].says, got);
}
END_TEST

UNIT("standing", LOOP(story, stories))
