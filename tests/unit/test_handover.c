/* test_handover.c - what one process says, another one reads; what nobody says is refused.
 * rooms: node cache http base filter
 */
#include "proxy/node/handover.h"

#include "tests/kit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct handover_message got;

START_TEST(a_message_comes_with_its_descriptor)
{
	int ends[2];
	ck_assert_int_eq(handover_pair(ends), 0);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_NOTHING);
	ck_assert_int_eq(handover_send(ends[0], HANDOVER_DOOR, STR("x:1"), ends[0], 0), 0);
	ck_assert_int_eq(handover_send(ends[0], HANDOVER_GO, STR(""), -1, 0), 0);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_GOT);
	ck_assert(got.kind == HANDOVER_DOOR && got.n == 3 && memcmp(got.bytes, "x:1", 3) == 0);
	ck_assert(got.fd >= 0 && fcntl(got.fd, F_GETFD) == FD_CLOEXEC);
	handover_drop(&got);
	ck_assert_int_eq(got.fd, -1);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_GOT);
	ck_assert(got.kind == HANDOVER_GO && got.n == 0 && got.fd < 0);
	close(ends[0]);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_END);
	ck_assert_int_eq(handover_send(ends[1], HANDOVER_GO, STR(""), -1, 0), -1);
	close(ends[1]);
}
END_TEST

START_TEST(the_last_words_of_one_that_did_not_listen_are_heard)
{
	int ends[2];
	ck_assert_int_eq(handover_pair(ends), 0);
	ck_assert_int_eq(handover_send(ends[0], HANDOVER_REFUSED, STR("no"), -1, 0), 0);
	ck_assert_int_eq(handover_send(ends[1], HANDOVER_OPEN, STR(""), -1, 0), 0);
	close(ends[0]); /* OPEN is not read */
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_GOT);
	ck_assert(got.kind == HANDOVER_REFUSED && got.n == 2 && memcmp(got.bytes, "no", 2) == 0);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_END);
	close(ends[1]);
}
END_TEST

static const struct {
	const char *says, *bytes;
	size_t n;
} wrong[] = {
	{"a kind below all", "\0", 1},
	{"a kind beyond all", "\x7f", 1},
};

START_TEST(what_is_no_message_is_told_from_the_end)
{
	int ends[2];
	ck_assert_int_eq(handover_pair(ends), 0);
	ck_assert_int_ge((int)send(ends[0], wrong[_i].bytes, wrong[_i].n, 0), 0);
	ck_assert_msg(handover_receive(ends[1], &got, 0) == HANDOVER_WRONG, "%s", wrong[_i].says);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_NOTHING);
	close(ends[0]);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_END);
	close(ends[1]);
}
END_TEST

/* Said with so many copies of a descriptor. */
static void
say_with(int end, const char *bytes, size_t n, int fd, unsigned times)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(8 * sizeof fd)] = {0};
	struct iovec part = {(void *)(uintptr_t)bytes, n};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = CMSG_SPACE(times * sizeof fd)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(times * sizeof fd);
	for (unsigned i = 0; i < times; i++)
		memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
	ck_assert_int_eq((int)sendmsg(end, &m, 0), (int)n);
}

static int
lowest_free(void)
{
	int fd = dup(0);
	close(fd);
	return fd;
}

static const unsigned copies[] = {2, 3, 8};

START_TEST(more_descriptors_than_one_are_no_message_and_closed)
{
	int ends[2];
	ck_assert_int_eq(handover_pair(ends), 0);
	int before = lowest_free();
	say_with(ends[0], "\x02x", 2, ends[0], copies[_i]);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_WRONG);
	ck_assert_int_eq(got.fd, -1);
	say_with(ends[0], "", 0, ends[0], 1); /* empty, as the end is */
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_WRONG);
	ck_assert_int_eq(lowest_free(), before);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(a_message_that_is_too_long_is_none)
{
	static const char bytes[HANDOVER_BYTES + 2] = {HANDOVER_FORGET};
	int ends[2];
	ck_assert_int_eq(handover_pair(ends), 0);
	ck_assert_int_eq((int)send(ends[0], bytes, sizeof bytes, 0), (int)sizeof bytes);
	ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_WRONG);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(entries_come_as_they_were)
{
	enum { MANY = 1000 };
	static struct purge_entry sent[MANY];
	struct purge_entry *list = NULL;
	size_t n = 0;
	int ends[2];
	for (unsigned i = 0; i < MANY; i++)
		sent[i] = (struct purge_entry){.at = i, .hash = {i, ~i}, .kind = FORGET_URL};
	sent[7].flags = FORGET_SOFT;
	sent[7].when_s = 77;
	ck_assert_int_eq(handover_pair(ends), 0);
	ck_assert_int_eq(handover_send_forgets(ends[0], sent, MANY, 0), 0);
	while (n < MANY) {
		ck_assert_int_eq(handover_receive(ends[1], &got, 0), HANDOVER_GOT);
		ck_assert(got.kind == HANDOVER_FORGET && handover_read_forgets(&got, &list, &n));
	}
	ck_assert_uint_eq(n, MANY);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert(list[i].at == i && list[i].hash.lo == i && list[i].kind == FORGET_URL);
	ck_assert(list[7].flags == FORGET_SOFT && list[7].when_s == 77);
	free(list);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(entries_of_no_kind_or_cut_short_are_refused)
{
	struct purge_entry *list = NULL;
	size_t n = 0;
	got = (struct handover_message){.kind = HANDOVER_FORGET, .n = PURGE_ENTRY - 1};
	ck_assert(!handover_read_forgets(&got, &list, &n));
	got.n = PURGE_ENTRY; /* kind 0 */
	ck_assert(!handover_read_forgets(&got, &list, &n));
	got.bytes[24] = 127;
	ck_assert(!handover_read_forgets(&got, &list, &n));
	ck_assert_uint_eq(n, 0);
	free(list);
}
END_TEST

UNIT("handover", TEST(a_message_comes_with_its_descriptor),
     TEST(the_last_words_of_one_that_did_not_listen_are_heard),
     LOOP(what_is_no_message_is_told_from_the_end, wrong), TEST(a_message_that_is_too_long_is_none),
     LOOP(more_descriptors_than_one_are_no_message_and_closed, copies),
     TEST(entries_come_as_they_were), TEST(entries_of_no_kind_or_cut_short_are_refused))
