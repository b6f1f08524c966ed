/* test_recent.c - what happened within the last minute, in a table of fixed size.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission/recent.h"
#include "proxy/base/clock.h"
#include "tests/kit/unit.h"

static struct recent table;

static uint64_t
thing(uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u;
}

START_TEST(a_minute_and_no_longer)
{
	int64_t now = 1700000000;
	ck_assert(!recent_has(&table, thing(1), now));
	recent_note(&table, thing(1), now);
	ck_assert(recent_has(&table, thing(1), now));
	ck_assert(recent_has(&table, thing(1), now + RECENT_S - 1));
	ck_assert(!recent_has(&table, thing(1), now + RECENT_S));
	/* Another thread's second began before; or the clock was set back. */
	ck_assert(recent_has(&table, thing(1), now - CLOCK_APART_S));
	ck_assert(!recent_has(&table, thing(1), now - CLOCK_APART_S - 1));
	ck_assert(!recent_has(&table, thing(1) + RECENT_SLOTS * 2048ull, now)); /* the same slot */
}
END_TEST

START_TEST(nothing_unasked_is_ever_recent)
{
	int64_t now = 1700000000;
	for (uint64_t i = 0; i < 100000; i++)
		recent_note(&table, thing(i), now);
	for (uint64_t i = 1 << 20; i < (1 << 20) + 100000; i++)
		ck_assert(!recent_has(&table, thing(i), now));
	ck_assert(!recent_has(&table, 0, 0)); /* an empty table's zeros are nobody */
}
END_TEST

UNIT("recent", TEST(a_minute_and_no_longer), TEST(nothing_unasked_is_ever_recent))
