/* rooms: admin base filter
 * test_guests.c - who stays connected to the admin server, and who goes. */
#include "proxy/admin/guests.h"

#include "tests/kit/unit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static struct guests guests;
static int ours[GUESTS_MOST + 2], theirs[GUESTS_MOST + 2];

static void
come(int i, int64_t now)
{
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ours[i] = pair[0];
	theirs[i] = pair[1];
	guests_add(&guests, ours[i], now);
}

static int
is_out(int i)
{
	char byte;
	ssize_t n = recv(theirs[i], &byte, 1, MSG_DONTWAIT);
	ck_assert(n == 0 || errno == EAGAIN);
	return n == 0;
}

START_TEST(one_more_than_there_may_be_takes_the_place_of_the_quietest)
{
	for (int i = 0; i < GUESTS_MOST; i++)
		come(i, 1000); /* in one millisecond */
	guests_asked(&guests, ours[0], 1000);
	come(GUESTS_MOST, 1000);
	come(GUESTS_MOST + 1, 1000);
	for (int i = 0; i <= GUESTS_MOST + 1; i++)
		ck_assert_int_eq(is_out(i), i == 1 || i == 2);
	ck_assert_uint_eq(guests.n, GUESTS_MOST);
}
END_TEST

START_TEST(who_has_left_makes_room)
{
	for (int i = 0; i < GUESTS_MOST; i++)
		come(i, 1000 + i);
	close(ours[7]);
	come(GUESTS_MOST, 6000); /* maybe with the same descriptor */
	for (int i = 0; i <= GUESTS_MOST; i++)
		if (i != 7)
			ck_assert_int_eq(is_out(i), 0);
	ck_assert_uint_eq(guests.n, GUESTS_MOST);
}
END_TEST

START_TEST(who_asks_for_nothing_goes_in_time)
{
	come(0, 1000);
	come(1, 1000);
	guests_asked(&guests, ours[1], 2000);
	guests_tick(&guests, 1000 + GUEST_MS - 1);
	ck_assert(!is_out(0));
	guests_tick(&guests, 1000 + GUEST_MS);
	ck_assert(is_out(0) && !is_out(1));
	guests_tick(&guests, 2000 + GUEST_MS);
	ck_assert(is_out(1));
}
END_TEST

/* A descriptor that was closed and is somebody else's now is left alone. */
START_TEST(a_descriptor_is_no_name)
{
	come(0, 1000);
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(dup2(pair[0], ours[0]), ours[0]);
	guests_tick(&guests, 1000 + GUEST_MS);
	char byte;
	ck_assert_int_eq(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_eq(guests.n, 0);
}
END_TEST

UNIT("guests", TEST(one_more_than_there_may_be_takes_the_place_of_the_quietest),
     TEST(who_has_left_makes_room), TEST(who_asks_for_nothing_goes_in_time),
     TEST(a_descriptor_is_no_name))
