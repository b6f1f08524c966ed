/* test_heir.c - only the end of the old process is its end: one that says nothing, or nonsense, may still
 * write to the cache.
 * rooms: node origin cache config http base filter
 */
#include "proxy/node/heir.h"
#include "proxy/node/handover.h"

#include "tests/kit/unit.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static bool in_no_time; /* two minutes are over at once */

/* Instead of the library's. */
int
poll(struct pollfd *p, nfds_t n, int limit_ms)
{
	int ms = in_no_time && limit_ms > 1000 ? 1 : limit_ms;
	struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
	return ppoll(p, n, limit_ms < 0 ? NULL : &limit, NULL);
}

static int ends[2];
static char err[256];

static void
begin(void)
{
	ck_assert_int_eq(handover_pair(ends), 0);
	in_no_time = true;
	err[0] = '\0';
}

static void
say(const char *bytes, size_t n)
{
	ck_assert_int_eq((int)send(ends[0], bytes, n, 0), (int)n);
}

static int
await(struct heir *h)
{
	struct purge_entry *forgotten;
	size_t n;
	int r = heir_await(h, 7, &forgotten, &n, err, sizeof err);
	free(forgotten);
	return r;
}

static void
expect_refused(struct heir *h, const char *why)
{
	static struct handover_message m;
	ck_assert(!heir_is_alone(h) && !heir_is_over(h));
	ck_assert_int_eq(await(h), -1);
	ck_assert_msg(strstr(err, why), "it says: %s", err);
	ck_assert(!heir_is_alone(h) && !heir_is_over(h));
	heir_refuse(&h, err);
	do
		ck_assert_int_eq(handover_receive(ends[0], &m, 0), HANDOVER_GOT);
	while (m.kind != HANDOVER_REFUSED);
	ck_assert(m.n == strlen(err) && memcmp(m.bytes, err, m.n) == 0);
	close(ends[0]);
}

/* Behind which of these messages it says no more, or nonsense. */
static const struct {
	const char *bytes;
	size_t n;
} before[] = {{"", 0}, {"\x02", 1}, {"\x07", 1}};

static void
say_before(int i)
{
	if (before[i].n)
		say(before[i].bytes, before[i].n);
}

START_TEST(silence_is_not_the_end)
{
	begin();
	say_before(_i);
	expect_refused(heir_begin(ends[1], NULL), "says nothing");
}
END_TEST

START_TEST(nonsense_is_not_the_end)
{
	begin();
	say_before(_i);
	say("\x7fnobody knows", 13);
	expect_refused(heir_begin(ends[1], NULL), "does not understand");
}
END_TEST

START_TEST(a_descriptor_that_cannot_be_taken_is_not_the_end)
{
	struct rlimit limit;
	begin();
	ck_assert_int_eq(handover_send(ends[0], HANDOVER_ADMIN, STR(""), ends[0], 0), 0);
	say("\x07", 1);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	rlim_t was = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)ends[1] + 1; /* the lowest that is free is beyond */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	struct heir *h = heir_begin(ends[1], NULL);
	limit.rlim_cur = was;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	expect_refused(h, "descriptors");
}
END_TEST

START_TEST(one_that_does_not_listen_has_not_ended)
{
	begin();
	while (handover_send(ends[1], HANDOVER_HELLO, STR("full"), -1, 0) == 0)
		continue;
	struct heir *h = heir_begin(ends[1], NULL);
	ck_assert(!heir_is_alone(h));
	ck_assert_int_eq(await(h), -1);
	ck_assert_msg(strstr(err, "does not listen"), "it says: %s", err);
	heir_end(&h);
	close(ends[0]);
}
END_TEST

START_TEST(the_end_is_the_end)
{
	begin();
	say_before(_i);
	close(ends[0]);
	struct heir *h = heir_begin(ends[1], NULL);
	ck_assert_int_eq(await(h), 0);
	ck_assert(heir_is_alone(h) && heir_is_over(h));
	heir_end(&h);
}
END_TEST

UNIT("heir", LOOP(silence_is_not_the_end, before), LOOP(nonsense_is_not_the_end, before),
     TEST(a_descriptor_that_cannot_be_taken_is_not_the_end),
     TEST(one_that_does_not_listen_has_not_ended), LOOP(the_end_is_the_end, before))
