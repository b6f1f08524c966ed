/* test_room.c - which worker can do without a connection, and clients on their way to it.
 * rooms: wire http base
 */
#include "proxy/wire/arrival.h"
#include "proxy/wire/room.h"

#include "proxy/base/mailbox.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct said {
	enum room_rank rank;
	int64_t from;
};
static const struct {
	const char *says;
	struct said a, b, c;
	int want; /* at time 1000 */
} finds[] = {
	{"nobody has any", {ROOM_NONE, 0}, {ROOM_NONE, 0}, {ROOM_NONE, 0}, -1},
	{"one has", {ROOM_NONE, 0}, {ROOM_NONE, 0}, {ROOM_IDLE, 900}, 2},
	{"the oldest", {ROOM_IDLE, 901}, {ROOM_IDLE, 900}, {ROOM_IDLE, 902}, 1},
	{"now is not too early", {ROOM_NONE, 0}, {ROOM_IDLE, 1000}, {ROOM_NONE, 0}, 1},
	{"one that may be gone before one that is idle longer",
	 {ROOM_IDLE, 1},
	 {ROOM_GONE, 999},
	 {ROOM_SLOW, 1},
	 1},
	{"an idle one before a slow one", {ROOM_SLOW, 1}, {ROOM_NONE, 0}, {ROOM_IDLE, 999}, 2},
	{"a slow one, if there is nothing else",
	 {ROOM_NONE, 0},
	 {ROOM_SLOW, 1000},
	 {ROOM_NONE, 0},
	 1},
	{"but not before its time", {ROOM_NONE, 0}, {ROOM_SLOW, 1001}, {ROOM_NONE, 0}, -1},
	{"a slow one whose time is not come hides no other",
	 {ROOM_SLOW, 1001},
	 {ROOM_SLOW, 990},
	 {ROOM_NONE, 0},
	 1},
};

START_TEST(the_one_that_is_missed_least)
{
	struct room *r = room_create(3);
	const struct said said[3] = {finds[_i].a, finds[_i].b, finds[_i].c};
	for (unsigned w = 0; w < 3; w++)
		room_say(r, w, said[w].rank, said[w].from);
	ck_assert_msg(room_find(r, 1000) == finds[_i].want, "%s: %d", finds[_i].says,
		      room_find(r, 1000));
	for (unsigned w = 0; w < 3; w++)
		room_say(r, w, ROOM_NONE, 0);
	ck_assert_int_eq(room_find(r, 1000), -1);
	room_destroy(&r);
	ck_assert_ptr_null(r);
}
END_TEST

static const struct listener listener = {.scheme = STR_INIT("http")};
static unsigned arrived;

static bool
hand_over(struct room *r, int fd)
{
	const struct arrival a = {.fd = fd, .listener = &listener, .peer.ss_family = AF_INET};
	return room_hand_over(r, 1, &a);
}

static void
arrive(struct wire *w, const struct arrival *a)
{
	(void)w; /* never looked into */
	ck_assert_int_eq(a->peer.ss_family, AF_INET);
	ck_assert_ptr_eq(a->listener, &listener);
	ck_assert_uint_eq(a->hops, 1);
	arrived++;
	close(a->fd);
}

START_TEST(a_client_arrives_at_the_worker_it_was_handed_to)
{
	struct mailbox box;
	struct room *r = room_create(2);
	ck_assert_int_eq(mailbox_init(&box), 0);
	room_join(r, 1, (struct wire *)&box, arrive, &box);
	ck_assert(hand_over(r, dup(STDERR_FILENO)));
	ck_assert_uint_eq(arrived, 0);
	ck_assert_uint_eq(mailbox_run(&box, false), 1);
	ck_assert_uint_eq(arrived, 1);
	room_leave(r, 1);
	mailbox_fini(&box);
	room_destroy(&r);
}
END_TEST

/* A client that arrives where no wire is any more is closed; only so many are on their way. */
START_TEST(too_late_and_too_many)
{
	struct mailbox box;
	struct room *r = room_create(2);
	ck_assert_int_eq(mailbox_init(&box), 0);
	room_join(r, 1, (struct wire *)&box, arrive, &box);
	int ends[2], on_their_way = 0;
	ck_assert_int_eq(pipe(ends), 0);
	for (int i = 0; i < 1000; i++) {
		int fd = dup(ends[1]);
		ck_assert_int_ge(fd, 0);
		if (hand_over(r, fd))
			on_their_way++;
		else
			close(fd);
	}
	ck_assert_int_gt(on_their_way, 10);
	ck_assert_int_lt(on_their_way, 1000);
	room_leave(r, 1);
	close(ends[1]);
	ck_assert_uint_eq(mailbox_run(&box, true), (unsigned)on_their_way);
	char c;
	ck_assert_int_eq(read(ends[0], &c, 1), 0); /* the last writer is closed */
	close(ends[0]);
	mailbox_fini(&box);
	room_destroy(&r);
}
END_TEST

START_TEST(what_workers_hold_is_added_up)
{
	struct room *r = room_create(3);
	ck_assert_uint_eq(room_workers(r), 3);
	ck_assert_uint_eq(room_held(r), 0);
	room_hold(r, 0, 100);
	room_hold(r, 2, 5);
	ck_assert_uint_eq(room_held(r), 105);
	room_hold(r, 0, 1);
	ck_assert_uint_eq(room_held(r), 6);
	room_destroy(&r);
}
END_TEST

START_TEST(places_of_an_address_are_added_up)
{
	struct room *r = room_create(2);
	struct mailbox box;
	ck_assert_int_eq(room_unlooked(r, 1000), -1); /* nobody has joined */
	ck_assert_int_eq(mailbox_init(&box), 0);
	room_join(r, 1, (struct wire *)&box, arrive, &box);
	ck_assert_int_eq(room_unlooked(r, 1000), 1);
	room_looked(r, 1, 1000);
	ck_assert_int_eq(room_unlooked(r, 1000), -1);
	ck_assert_int_eq(room_unlooked(r, 1001), 1);
	room_add_places(r, 7, 3);
	room_add_places(r, 7, 2);
	ck_assert_uint_eq(room_places(r, 7), 5);
	ck_assert_uint_eq(room_places(r, 8), 0);
	room_add_places(r, 7, -6); /* another worker is about to add one */
	ck_assert_uint_eq(room_places(r, 7), 0);
	room_leave(r, 1);
	ck_assert_int_eq(room_unlooked(r, 1001), -1);
	mailbox_fini(&box);
	room_destroy(&r);
}
END_TEST

UNIT("room", TEST(places_of_an_address_are_added_up), TEST(what_workers_hold_is_added_up),
     LOOP(the_one_that_is_missed_least, finds),
     TEST(a_client_arrives_at_the_worker_it_was_handed_to), TEST(too_late_and_too_many))
