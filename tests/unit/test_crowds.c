/* test_crowds.c - an address that asks for many things is not one client.
 * rooms: cache http base filter filter/family
 */
#include "proxy/cache/admission/crowds.h"

#include "tests/kit/unit.h"

static struct crowds c;

static const uint64_t who = UINT64_C(0x1234567800000001), other = UINT64_C(0x9abcdef000000001);

static void
asks(uint64_t client, unsigned times, int64_t now_s)
{
	for (unsigned i = 0; i < times; i++)
		crowds_note(&c, client, now_s);
}

START_TEST(more_than_a_hundred_in_a_minute_are_a_crowd)
{
	c = (struct crowds){0};
	asks(who, CROWD_KEYS, 600);
	ck_assert(!crowds_has(&c, who, 600));
	asks(who, 1, 659);
	ck_assert(crowds_has(&c, who, 659));
	ck_assert(!crowds_has(&c, other, 659)); /* the same slot, another address */
}
END_TEST

START_TEST(it_is_one_for_the_next_minute_and_no_longer)
{
	c = (struct crowds){0};
	asks(who, CROWD_KEYS + 1, 600);
	ck_assert(crowds_has(&c, who, 719));
	ck_assert(crowds_has(&c, who, 599)); /* by a thread whose minute has not begun */
	ck_assert(!crowds_has(&c, who, 720));
	asks(who, 1, 700); /* goes on, and is one in the minute behind that too */
	ck_assert(crowds_has(&c, who, 779));
	asks(who, CROWD_KEYS, 900);
	ck_assert(!crowds_has(&c, who, 900));
}
END_TEST

START_TEST(another_address_takes_the_place)
{
	c = (struct crowds){0};
	asks(who, CROWD_KEYS + 1, 600);
	asks(other, 1, 600);
	ck_assert(!crowds_has(&c, who, 600));
	asks(who, 1 << 17, 600); /* the number does not wrap */
	ck_assert(crowds_has(&c, who, 600));
}
END_TEST

UNIT("crowds", TEST(more_than_a_hundred_in_a_minute_are_a_crowd),
     TEST(it_is_one_for_the_next_minute_and_no_longer), TEST(another_address_takes_the_place))
