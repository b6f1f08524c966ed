/* rooms: admin base filter
 * test_guests.c - who stays connected to the admin server, and who goes. */
#include "proxy/admin/guests.h"

#include "tests/kit/unit.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct guests guests;
static struct event_base *base;
static struct bufferevent *ours[GUESTS_MOST + 2];
static int theirs[GUESTS_MOST + 2];

static void
on_event(struct bufferevent *b, short what, void *ctx)
{
	(void)b, (void)what, (void)ctx;
}

/* As libevent's server would have it. */
static void
come(int i, int64_t now)
{
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	if (!base)
		base = event_base_new();
	ours[i] = bufferevent_socket_new(base, pair[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(ours[i], NULL, NULL, on_event, NULL);
	theirs[i] = pair[1];
	bufferevent_incref(ours[i]);
	guests_add(&guests, ours[i], now);
}

/* libevent frees, and closes, in its next turn. */
static int
is_out(int i)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
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
	bufferevent_free(ours[7]);
	come(GUESTS_MOST, 6000);
	ck_assert_int_eq(is_out(7), 1); /* its socket is closed with the last reference */
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

/* The socket of a connection that has ended is nobody else's until the list has let go of it. */
START_TEST(what_has_ended_is_let_go)
{
	come(0, 1000);
	int fd = bufferevent_getfd(ours[0]), pair[2];
	bufferevent_free(ours[0]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert(pair[0] != fd && pair[1] != fd);
	guests_tick(&guests, 1001);
	ck_assert_uint_eq(guests.n, 0);
	ck_assert(is_out(0));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(who_has_asked_waits_for_an_answer)
{
	come(0, 1000);
	come(1, 1000);
	ck_assert(!guests_wait(&guests));
	ck_assert_int_eq(write(theirs[0], "GET", 3), 3);
	ck_assert(guests_wait(&guests)); /* said, and not read yet */
	char said[3];
	ck_assert_int_eq(read(bufferevent_getfd(ours[0]), said, 3), 3);
	ck_assert(!guests_wait(&guests)); /* half a request */
	guests_asked(&guests, ours[0], 2000);
	guests_asked(&guests, ours[1], 2000);
	guests_answered(&guests, ours[0]);
	ck_assert(guests_wait(&guests));
	bufferevent_free(ours[1]); /* it has left */
	ck_assert(!guests_wait(&guests));
}
END_TEST

START_TEST(all_are_let_go_at_the_end)
{
	come(0, 1000);
	come(1, 1000);
	guests_fini(&guests);
	bufferevent_free(ours[0]);
	bufferevent_free(ours[1]);
	ck_assert(is_out(0) && is_out(1));
}
END_TEST

UNIT("guests", TEST(one_more_than_there_may_be_takes_the_place_of_the_quietest),
     TEST(who_has_left_makes_room), TEST(who_asks_for_nothing_goes_in_time),
     TEST(what_has_ended_is_let_go), TEST(who_has_asked_waits_for_an_answer),
     TEST(all_are_let_go_at_the_end))
