/* test_purge_log.c - the purge log as bytes: there and back, every flip and every cut.
 * rooms: cache http base filter
 */
#include "filter/hash_equal.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/forget/purge_log.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { BYTES = 1 << 16, PAIR = 2 * PURGE_PAGE };

static char dir[256], bytes[BYTES];
static struct purge_log l;
static const struct purge_head head = {.id = 7, .starts = 3, .floor = 5, .fingerprint = 11};

static void
begin(void)
{
	tmpdir_make(dir, sizeof dir);
	l = (struct purge_log){.ops = &diskio_system, .fd = -1};
	l.dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
}

static void
end(void)
{
	purge_log_close(&l);
	close(l.dir_fd);
	tmpdir_remove(dir);
}

static struct purge_entry
entry(uint64_t i)
{
	static const enum forget_kind kinds[] = {FORGET_URL,	    FORGET_HOST,   FORGET_ALL,
						 FORGET_KEY,	    FORGET_PREFIX, FORGET_TAG,
						 FORGET_PREFIX_HOST};
	enum forget_kind kind = kinds[i % 7];
	bool soft = kind != FORGET_KEY && i % 3 == 0;
	return (struct purge_entry){
		.at = i,
		.hash = {i * 3, i * 5},
		.kind = (uint8_t)kind,
		.flags = soft ? FORGET_SOFT : 0,
		.when_s = soft ? (uint32_t)i + 1 : 0,
		.prefix_bytes =
			kind == FORGET_PREFIX ? (uint16_t)(1 + i % (PURGE_PREFIX_MOST - 1)) : 0,
	};
}

static size_t
load(void)
{
	int fd = openat(l.dir_fd, "purges", O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ssize_t n = read(fd, bytes, sizeof bytes);
	close(fd);
	return (size_t)n;
}

struct told {
	uint64_t n;
	bool right;
};

static void
tell(void *ctx, const struct purge_entry *e)
{
	struct told *t = ctx;
	struct purge_entry want = entry(++t->n);
	t->right = t->right && e->at == want.at && key_hash_equal(e->hash, want.hash) &&
		   e->kind == want.kind && e->flags == want.flags && e->when_s == want.when_s &&
		   e->prefix_bytes == want.prefix_bytes;
}

/* How many entries the bytes tell, or -1: lost. */
static int64_t
told(const char *p, size_t n)
{
	struct told t = {.right = true};
	struct purge_head found;
	if (!purge_log_parse(p, n, &found, tell, &t))
		return -1;
	ck_assert(t.right);
	ck_assert_uint_eq(found.starts, 3);
	ck_assert_uint_eq(found.floor, 5);
	ck_assert_uint_eq(found.fingerprint, 11);
	return (int64_t)t.n;
}

static void
append(uint64_t from, size_t n)
{
	struct purge_entry list[400];
	for (size_t i = 0; i < n; i++)
		list[i] = entry(from + i);
	ck_assert_int_eq(purge_log_append(&l, list, n), 0);
}

START_TEST(there_and_back)
{
	static const size_t steps[] = {1, 1, 124, 1, 1, 300, 126, 5};
	begin();
	ck_assert_int_eq(purge_log_rewrite(&l, &head, BYTES, NULL, 0), 0);
	ck_assert_uint_eq(load(), BYTES);
	ck_assert_int_eq(told(bytes, BYTES), 0);
	uint64_t n = 0;
	for (int i = 0; i < COUNT(steps); i++) {
		append(n + 1, steps[i]);
		n += steps[i];
		load();
		ck_assert_int_eq(told(bytes, BYTES), (int64_t)n);
	}
	end();
}
END_TEST

START_TEST(a_full_file_says_so_and_stays_as_it_was)
{
	begin();
	struct purge_entry list[PURGE_PER_PAGE] = {{0}};
	ck_assert_int_eq(purge_log_rewrite(&l, &head, 2 * PAIR, NULL, 0), 0);
	append(1, PURGE_PER_PAGE);
	append(PURGE_PER_PAGE + 1, PURGE_PER_PAGE - 1);
	ck_assert_int_eq(purge_log_append(&l, list, 2), -1);
	ck_assert_int_eq(errno, ENOSPC);
	append(2 * PURGE_PER_PAGE, 1);
	load();
	ck_assert_int_eq(told(bytes, 2 * PAIR), 2 * PURGE_PER_PAGE);
	end();
}
END_TEST

/* One damaged copy of a page loses nothing; both lose all, and say so. */
START_TEST(no_flipped_byte_brings_anything_back)
{
	begin();
	ck_assert_int_eq(purge_log_rewrite(&l, &head, BYTES, NULL, 0), 0);
	append(1, 300); /* two pages and a part */
	load();
	for (size_t i = 0; i < 3 * PAIR; i += 13) {
		size_t other = i % PAIR < PURGE_PAGE ? i + PURGE_PAGE : i - PURGE_PAGE;
		bytes[i] ^= 0x20;
		ck_assert_int_eq(told(bytes, BYTES), 300);
		bytes[other] ^= 0x20;
		int64_t both = told(bytes, BYTES);
		/* Behind the entries of the last page nothing is said. */
		ck_assert_msg(both == -1 || both == 300, "%zu: %lld", i, (long long)both);
		ck_assert(both == -1 || i % PURGE_PAGE >= 64 + 48 * PURGE_ENTRY);
		bytes[i] ^= 0x20;
		bytes[other] ^= 0x20;
	}
	for (size_t cut = 0; cut < 3 * PAIR; cut += 511) {
		int64_t n = told(bytes, cut);
		/* A shorter file is another file's end: whole pages are all that is read. */
		ck_assert(n == -1 || (size_t)n == cut / PAIR * PURGE_PER_PAGE);
	}
	end();
}
END_TEST

START_TEST(a_page_that_is_missing_in_the_middle_is_noticed)
{
	begin();
	ck_assert_int_eq(purge_log_rewrite(&l, &head, BYTES, NULL, 0), 0);
	append(1, 400);
	load();
	memset(bytes + PAIR, 0, PAIR); /* a write that never came, before one that did */
	ck_assert_int_eq(told(bytes, BYTES), -1);
	load();
	memset(bytes, 0, PAIR);
	ck_assert_int_eq(told(bytes, BYTES), -1);
	load();
	bytes[PURGE_HEADER + 24] = 9; /* a kind that this program does not know */
	bytes[PURGE_PAGE + PURGE_HEADER + 24] = 9;
	ck_assert_int_eq(told(bytes, BYTES), -1);
	end();
}
END_TEST

static int syncs_left;

static int
failing_sync(int fd)
{
	if (syncs_left-- > 0)
		return fdatasync(fd);
	errno = EIO;
	return -1;
}

START_TEST(after_a_failed_sync_the_file_is_never_written_again)
{
	begin();
	struct diskio_ops ops = diskio_system;
	struct purge_entry e = entry(1);
	ops.sync = failing_sync;
	l.ops = &ops;
	syncs_left = 1;
	ck_assert_int_eq(purge_log_rewrite(&l, &head, BYTES, NULL, 0), 0);
	ck_assert_int_eq(purge_log_append(&l, &e, 1), -1);
	syncs_left = 100;
	ck_assert_int_eq(purge_log_append(&l, &e, 1), -1); /* though it would succeed */
	ck_assert_int_eq(purge_log_rewrite(&l, &head, BYTES, &e, 1), 0);
	load();
	ck_assert_int_eq(told(bytes, BYTES), 1);
	end();
}
END_TEST

UNIT("purge_log", TEST(there_and_back), TEST(a_full_file_says_so_and_stays_as_it_was),
     TEST(no_flipped_byte_brings_anything_back),
     TEST(a_page_that_is_missing_in_the_middle_is_noticed),
     TEST(after_a_failed_sync_the_file_is_never_written_again))
