/* test_direct.c - which fragments may be sent as they lie in their file.
 * rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/cache/store/store.h"
#include "proxy/cache/store/store_inside.h"
#include "tests/kit/own_clock.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

enum { SEGMENT = 1 << 20, FRAGMENT = 64 << 10 };

static char dir[256];
static int dir_fd;
static struct store *st;
static struct fragment fragments[2];
static bool is_away;
static unsigned looks, tries; /* at what the page cache holds; to read without waiting */
static _Atomic unsigned touches;
static bool is_asked;	    /* the disk, whether it answers */
static _Atomic bool silent; /* it does not */

static bool
is_cached(int fd, const void *view, uint64_t at, size_t n)
{
	(void)fd, (void)view, (void)at, (void)n;
	looks++;
	return !is_away;
}

/* A file system that has no such call. */
static ssize_t
never_now(int fd, void *p, size_t n, off_t at)
{
	(void)fd, (void)p, (void)n, (void)at;
	tries++;
	errno = EOPNOTSUPP;
	return -1;
}

static void
touch(int fd, off_t at)
{
	atomic_fetch_add(&touches, 1);
	diskio_system.touch(fd, at);
	while (atomic_load(&silent))
		sched_yield();
}

static char *
bytes_of(unsigned number)
{
	static char bytes[FRAGMENT];
	for (unsigned i = 0; i < FRAGMENT; i++)
		bytes[i] = (char)(i * 7 + number);
	return bytes;
}

/* Two fragments, written and leased. */
static void
begin_with(struct store_options options)
{
	static struct diskio_ops ops;
	char err[256] = "";
	ops = diskio_system;
	ops.is_cached = is_cached;
	ops.read_now = never_now;
	ops.touch = is_asked ? touch : NULL;
	is_away = false;
	looks = tries = 0;
	tmpdir_make(dir, sizeof dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	options.dir = dir;
	options.dir_fd = dir_fd;
	options.log_bytes = 8 * SEGMENT;
	options.segment_bytes = SEGMENT;
	options.ops = &ops;
	ck_assert_msg(store_open(&st, &options, err, sizeof err) == 0, "%s", err);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(store_put_fragment(st, (struct twice_key_hash){i, i}, bytes_of(i),
					     FRAGMENT, &fragments[i]));
		ck_assert(store_lease(st, &fragments[i].at));
	}
}

static void
begin(bool verify_always)
{
	begin_with((struct store_options){.verify_always = verify_always});
}

static void
end(void)
{
	for (unsigned i = 0; i < 2; i++)
		store_unlease(st, &fragments[i].at);
	store_close(&st);
	close(dir_fd);
	tmpdir_remove(dir);
}

/* Reads and checks a fragment, as the cache does. */
static void
look_at(unsigned i)
{
	struct block *b;
	uint64_t stamp = store_stamp(st, &fragments[i].at);
	ck_assert_int_eq(store_read(st, &fragments[i].at, &b), STORE_READ);
	ck_assert_int_eq(memcmp(b->p, bytes_of(i), FRAGMENT), 0);
	block_unref(&b);
	store_checked(st, &fragments[i].at, stamp);
}

/* May it be sent so? Then these are its bytes. */
static bool
is_direct(unsigned i)
{
	static char got[FRAGMENT];
	struct file_piece piece;
	if (!store_direct(st, &fragments[i].at, &piece))
		return false;
	ck_assert_uint_eq(piece.n, FRAGMENT);
	ck_assert_int_eq(pread(piece.fd, got, FRAGMENT, (off_t)piece.at), FRAGMENT);
	ck_assert_int_eq(memcmp(got, bytes_of(i), FRAGMENT), 0);
	return true;
}

START_TEST(what_was_checked_and_no_other)
{
	begin(false);
	look_at(0);
	ck_assert(!is_direct(0)); /* it is not in the file yet */
	store_flush(st);
	ck_assert(!is_direct(0));
	look_at(0);
	ck_assert(is_direct(0));
	ck_assert(!is_direct(1));
	look_at(1);
	ck_assert(is_direct(0) && is_direct(1));
	end();
}
END_TEST

START_TEST(not_behind_a_write_to_the_file)
{
	static struct fragment more;
	begin(false);
	store_flush(st);
	look_at(0);
	look_at(1);
	ck_assert(store_put_fragment(st, (struct twice_key_hash){9, 9}, bytes_of(9), FRAGMENT,
				     &more));
	ck_assert_uint_eq(more.at.segment, fragments[0].at.segment);
	store_flush(st);
	ck_assert(!is_direct(0) && !is_direct(1));
	look_at(1);
	ck_assert(!is_direct(0) && is_direct(1));
	/* Any writer counts. */
	int fd = atomic_load(&st->slots.fds[more.at.segment]);
	off_t at = (off_t)more.at.offset * SEGMENT_ALIGN;
	struct timespec newer[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	ck_assert_int_eq(pwrite(fd, "x", 1, at), 1);
	ck_assert_int_eq(futimens(fd, newer), 0);
	ck_assert(!is_direct(1));
	end();
}
END_TEST

START_TEST(not_when_it_was_written_to_while_it_was_read)
{
	begin(false);
	store_flush(st);
	uint64_t before = store_stamp(st, &fragments[0].at);
	look_at(1);
	store_checked(st, &fragments[0].at, before - 1);
	ck_assert(!is_direct(0) && is_direct(1));
	store_checked(st, &fragments[0].at, before + 1);
	ck_assert(!is_direct(0) && !is_direct(1));
	end();
}
END_TEST

static void
await_answer(const _Atomic int64_t *until_ms)
{
	while (atomic_load(until_ms) <= now_ms())
		sched_yield();
}

START_TEST(only_while_the_disk_answers)
{
	struct file_piece piece;
	is_asked = true;
	own_clock_hold();
	begin(false);
	store_flush(st);
	look_at(0);
	ck_assert(!store_direct(st, &fragments[0].at, &piece)); /* it is asked */
	await_answer(piece.until_ms);
	for (int i = 0; i < 10; i++)
		ck_assert(is_direct(0));
	ck_assert_uint_eq(atomic_load(&touches), 1);
	own_clock_pass_ms(DISKIO_ANSWER_MS - 1);
	atomic_store(&silent, true);
	ck_assert(is_direct(0)); /* it is asked again */
	while (atomic_load(&touches) < 2)
		sched_yield();
	own_clock_pass_ms(99);
	ck_assert(is_direct(0));
	own_clock_pass_ms(1);
	for (int i = 0; i < 10; i++)
		ck_assert(!is_direct(0)); /* once */
	atomic_store(&silent, false);
	await_answer(piece.until_ms);
	ck_assert(is_direct(0));
	ck_assert_uint_eq(atomic_load(&touches), 2);
	end();
}
END_TEST

START_TEST(not_when_it_left_the_page_cache)
{
	begin(false);
	store_flush(st);
	look_at(0);
	is_away = true;
	ck_assert(!is_direct(0));
	is_away = false;
	ck_assert(!is_direct(0)); /* it may have come back as something else */
	look_at(0);
	ck_assert(is_direct(0));
	end();
}
END_TEST

START_TEST(what_the_page_cache_has_is_read_at_once_on_any_file_system)
{
	struct block *b;
	begin(true); /* whatever may be sent unread */
	store_flush(st);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(store_read_now(st, &fragments[i].at, &b), STORE_READ);
		ck_assert_int_eq(memcmp(b->p, bytes_of(i), FRAGMENT), 0);
		block_unref(&b);
	}
	ck_assert_uint_eq(tries, 1); /* in vain, and never again */
	is_away = true;
	ck_assert_int_eq(store_read_now(st, &fragments[0].at, &b), STORE_LATER);
	end();
}
END_TEST

/* The disk, asked again (by the scrub), may not give what was checked. */
START_TEST(not_what_was_read_from_the_disk_anew)
{
	begin(false);
	store_flush(st);
	look_at(0);
	look_at(1);
	store_unchecked(st, &fragments[0].at);
	ck_assert(!is_direct(0) && is_direct(1));
	look_at(0);
	ck_assert(is_direct(0));
	end();
}
END_TEST

START_TEST(not_where_everything_is_verified)
{
	begin(true);
	store_flush(st);
	look_at(0);
	ck_assert(!is_direct(0));
	end();
}
END_TEST

START_TEST(not_in_another_life_of_the_segment)
{
	struct fragment other;
	begin(false);
	store_flush(st);
	look_at(0);
	look_at(1);
	struct locator first = fragments[0].at;
	for (unsigned i = 0; i < 2; i++)
		store_unlease(st, &fragments[i].at);
	for (unsigned n = 0; n < 500; n++) {
		ck_assert(store_put_fragment(st, (struct twice_key_hash){n, n}, bytes_of(0),
					     FRAGMENT, &other));
		store_flush(st);
		fragments[0] = other;
		if (other.at.segment == first.segment && other.at.generation != first.generation)
			break;
	}
	ck_assert_uint_eq(other.at.segment, first.segment);
	for (unsigned i = 0; i < 2; i++) {
		fragments[i] = other;
		ck_assert(store_lease(st, &other.at));
	}
	ck_assert(!is_direct(0));
	fragments[0].at.offset = first.offset;
	ck_assert(!is_direct(0));
	end();
}
END_TEST

UNIT("direct", TEST(what_was_checked_and_no_other), TEST(not_behind_a_write_to_the_file),
     TEST(not_when_it_was_written_to_while_it_was_read), TEST(only_while_the_disk_answers),
     TEST(not_when_it_left_the_page_cache),
     TEST(what_the_page_cache_has_is_read_at_once_on_any_file_system),
     TEST(not_what_was_read_from_the_disk_anew), TEST(not_where_everything_is_verified),
     TEST(not_in_another_life_of_the_segment))
