/* test_disks.c - a cache on several disks: where objects lie, disks that come, go, fail and return.
 * rooms: cache http base filter
 */
#include "filter/family/digest.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_digest.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_disk.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { DISKS = 3, BODY = 3000, MIB = 1 << 20 };

static char dirs[DISKS][256];
static struct mailbox home;
static struct cache_disk more[DISKS - 1];
static struct cache_options options;

static void
begin(void)
{
	log_set_level(LOG_ERROR);
	ck_assert_int_eq(mailbox_init(&home), 0);
	for (int i = 0; i < DISKS; i++)
		tmpdir_make(dirs[i], sizeof dirs[i]);
	more[0] = (struct cache_disk){dirs[1], 32 * MIB};
	more[1] = (struct cache_disk){dirs[2], 64 * MIB};
	options = (struct cache_options){.dir = dirs[0],
					 .disk_bytes = 32 * MIB,
					 .memory_bytes = 0,
					 .more = more,
					 .more_n = DISKS - 1,
					 .ops = unsynced_disk()};
}

static void
end(void)
{
	mailbox_fini(&home);
	for (int i = 0; i < DISKS; i++)
		tmpdir_remove(dirs[i]);
}

static struct cache *
open_cache(void)
{
	struct cache *c = NULL;
	char err[512] = "";
	ck_assert_msg(cache_open(&c, &options, err, sizeof err) == 0, "%s", err);
	return c;
}

static struct str
key_of(int i, char to[64])
{
	return (struct str){to, (size_t)snprintf(to, 64, "http://host/%d", i)};
}

static struct twice_key_hash
hash_of(struct cache *c, struct str key)
{
	return twice_key_hash_of(cache_seed(c), key.p, key.n);
}

/* The body's bytes all are `version`. */
static bool
put(struct cache *c, int i, char version)
{
	char text[64];
	struct str key = key_of(i, text);
	struct object_write *w = cache_write_begin(
		c, &(struct write_options){
			   .hash = hash_of(c, key),
			   .key = key,
			   .head = STR("HTTP/1.1 200 OK\r\n"),
			   .terms = {.response_time = 1000, .lifetime = 60, .status = 200},
			   .body_bytes = BODY,
			   .disk = true});
	struct block *b = block_create(BODY);
	memset(b->p, version, BODY);
	b->n = BODY;
	cache_write_body(w, b, 0, BODY);
	block_unref(&b);
	struct object *o = cache_write_commit(&w, true);
	bool yes = o && atomic_load(&o->on_disk);
	if (o)
		object_unref(&o);
	return yes;
}

/* The version that is found, or 0. */
static char
get(struct cache *c, int i)
{
	char text[64], version = 0;
	struct str key = key_of(i, text);
	struct object *o = ask_look_up(c, &home, hash_of(c, key), key);
	if (!o)
		return 0;
	struct ask_body a = ASK_BODY(&home);
	if (ask_read(c, o, &a, 0, BODY) == BODY_READY) {
		ck_assert_uint_eq(a.r.n, BODY);
		version = a.r.p[0];
		ck_assert(version && memcmp(a.r.p, a.r.p + 1, BODY - 1) == 0);
	}
	body_done(&a.r);
	object_unref(&o);
	return version;
}

static int
count(struct cache *c, int from, int to, char version)
{
	int n = 0;
	for (int i = from; i < to; i++)
		n += get(c, i) == version;
	return n;
}

static uint64_t
objects_on(struct cache *c, unsigned disk)
{
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_lt(disk, s.disks_n);
	return s.disks[disk].objects;
}

static int
disk_of(struct cache *c, int i)
{
	char text[64];
	int found = -1;
	for (unsigned d = 0; d < c->disks_n; d++)
		if (store_has(c->disks[d].store, hash_of(c, key_of(i, text)))) {
			ck_assert_int_eq(found, -1);
			found = (int)d;
		}
	return found;
}

static void
flush(struct cache *c)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		store_flush(c->disks[i].store);
}

static bool
purge(struct cache *c, int i)
{
	char text[64];
	struct str key = key_of(i, text);
	return cache_purge_wait(c, cache_purge(c, FORGET_URL, false, hash_of(c, key), key).at);
}

/* ---- where objects lie --------------------------------------------------------------------- */

START_TEST(objects_lie_on_the_disks_as_their_sizes_are)
{
	enum { N = 2000 };
	begin();
	struct cache *c = open_cache();
	struct cache_stats s;
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'a'));
	for (int i = 0; i < N; i++)
		ck_assert_int_ge(disk_of(c, i), 0);
	/* A quarter, a quarter and a half. */
	for (unsigned d = 0; d < DISKS; d++) {
		uint64_t n = objects_on(c, d), want = d == 2 ? N / 2 : N / 4;
		ck_assert_msg(n > want / 10 * 8 && n < want / 10 * 12, "disk %u has %llu", d,
			      (unsigned long long)n);
	}
	ck_assert_int_eq(count(c, 0, N, 'a'), N);
	cache_stats(c, &s);
	ck_assert_uint_eq(s.objects, N);
	ck_assert_uint_eq(s.limit_bytes, 128 * MIB);
	ck_assert_str_eq(s.disks[2].dir, dirs[2]);
	cache_close(&c);
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 'a'), N);
	/* In another order, from another first disk. */
	cache_close(&c);
	options.dir = dirs[1];
	more[0].dir = dirs[0];
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 'a'), N);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(adding_a_disk_moves_nothing)
{
	enum { N = 500 };
	begin();
	options.more_n = 1;
	struct cache *c = open_cache();
	for (int i = 0; i < N; i++)
		put(c, i, 'a');
	cache_close(&c);
	options.more_n = 2;
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 'a'), N);
	ck_assert_uint_eq(objects_on(c, 2), 0);
	for (int i = N; i < 2 * N; i++)
		put(c, i, 'a');
	ck_assert_uint_gt(objects_on(c, 2), N / 3);
	/* An object written anew may lie elsewhere, and then there is one of it. */
	for (int i = 0; i < N; i++)
		put(c, i, 'b');
	for (int i = 0; i < N; i++)
		ck_assert_int_ge(disk_of(c, i), 0);
	ck_assert_int_eq(count(c, 0, N, 'b'), N);
	cache_close(&c);
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 'b'), N);
	ck_assert_int_eq(count(c, N, 2 * N, 'a'), N);
	cache_close(&c);
	end();
}
END_TEST

/* A crash undid that an older record was forgotten: nobody can say which one is the newer. */
START_TEST(what_lies_on_two_disks_is_on_none)
{
	begin();
	struct cache *c = open_cache();
	char text[64];
	struct str key = key_of(1, text);
	put(c, 1, 'a');
	ck_assert_int_eq(get(c, 1), 'a');
	struct store *other = c->disks[(disk_of(c, 1) + 1) % DISKS].store;
	struct record r = {.hash = hash_of(c, key),
			   .key = key,
			   .head = STR("HTTP/1.1 200 OK\r\n"),
			   .terms = {.response_time = 1000, .lifetime = 60, .status = 200},
			   .clean_as_of = cache_now(c),
			   .is_inline = true,
			   .body = "b",
			   .body_bytes = 1,
			   .body_checksum = segment_checksum("b", 1)};
	ck_assert(store_put(other, &r, NULL));
	ck_assert_int_eq(get(c, 1), 0);
	ck_assert_int_eq(disk_of(c, 1), -1);
	put(c, 1, 'c');
	ck_assert_int_eq(get(c, 1), 'c');
	cache_close(&c);
	c = open_cache();
	ck_assert_int_eq(get(c, 1), 'c');
	cache_close(&c);
	end();
}
END_TEST

/* ---- disks that are away ------------------------------------------------------------------- */

START_TEST(a_disk_that_was_away_comes_back_empty)
{
	enum { N = 300 };
	begin();
	struct cache *c = open_cache();
	for (int i = 0; i < N; i++)
		put(c, i, 'a');
	uint64_t away_n = objects_on(c, (unsigned)_i);
	cache_close(&c);
	/* In its place is something that is no directory. */
	char aside[300];
	snprintf(aside, sizeof aside, "%s-aside", dirs[_i]);
	ck_assert_int_eq(rename(dirs[_i], aside), 0);
	ck_assert_int_ge(close(open(dirs[_i], O_CREAT | O_WRONLY, 0600)), 0);
	c = open_cache();
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_eq(s.disks_n, DISKS - 1);
	ck_assert_uint_eq(s.disks_left_out, 1);
	ck_assert_int_eq(count(c, 0, N, 'a'), N - (int)away_n);
	for (int i = 0; i < N / 2; i++)
		ck_assert(purge(c, i));
	cache_close(&c);
	ck_assert_int_eq(unlink(dirs[_i]), 0);
	ck_assert_int_eq(rename(aside, dirs[_i]), 0);
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N / 2, 0), N / 2);
	ck_assert_uint_eq(objects_on(c, (unsigned)_i), 0);
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'b'));
	ck_assert_uint_gt(objects_on(c, (unsigned)_i), 0);
	ck_assert_int_eq(count(c, 0, N, 'b'), N);
	cache_close(&c);
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 'b'), N);
	cache_close(&c);
	end();
}
END_TEST

/* The same of one that was not named for a while. */
START_TEST(a_disk_that_was_not_named_comes_back_empty)
{
	enum { N = 300 };
	begin();
	struct cache *c = open_cache();
	for (int i = 0; i < N; i++)
		put(c, i, 'a');
	cache_close(&c);
	options.more_n = DISKS - 2;
	c = open_cache();
	for (int i = 0; i < N; i++)
		ck_assert(purge(c, i));
	cache_close(&c);
	options.more_n = DISKS - 1;
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 0), N);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(a_disk_of_another_cache_is_emptied)
{
	begin();
	options.more_n = 0;
	struct cache *c = open_cache();
	put(c, 1, 'a');
	cache_close(&c);
	options.dir = dirs[1];
	c = open_cache();
	put(c, 1, 'b');
	cache_close(&c);
	options.dir = dirs[0];
	options.more_n = 1;
	c = open_cache();
	ck_assert_int_eq(get(c, 1), 'a');
	ck_assert_uint_eq(objects_on(c, 1), 0);
	cache_close(&c);
	end();
}
END_TEST

/* ---- disks that fail ----------------------------------------------------------------------- */

static _Atomic int broken_writes = -1, broken_log = -1; /* number of the disk, or -1 */

static int
disk_of_fd(int fd)
{
	char link[64], path[512];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	for (int i = 0; i < DISKS; i++)
		if (strncmp(path, dirs[i], strlen(dirs[i])) == 0)
			return i;
	return -1;
}

static ssize_t
write_or_fail(int fd, const void *p, size_t n, off_t at)
{
	if (broken_writes >= 0 && disk_of_fd(fd) == broken_writes) {
		errno = EIO;
		return -1;
	}
	return pwrite(fd, p, n, at);
}

static int
create_or_fail(int dir_fd, const char *name)
{
	if (broken_log >= 0 && disk_of_fd(dir_fd) == broken_log) {
		errno = EIO;
		return -1;
	}
	return diskio_system.create(dir_fd, name);
}

static int
sync_or_fail(int fd)
{
	if (broken_log >= 0 && disk_of_fd(fd) == broken_log) {
		errno = EIO;
		return -1;
	}
	return 0;
}

/* Nothing can be removed there either. */
static int
remove_or_fail(int dir_fd, const char *name)
{
	if (broken_log >= 0 && disk_of_fd(dir_fd) == broken_log) {
		errno = EIO;
		return -1;
	}
	return diskio_system.remove(dir_fd, name);
}

static struct diskio_ops ops;

static void
begin_broken(void)
{
	begin();
	ops = *unsynced_disk();
	ops.write = write_or_fail;
	ops.create = create_or_fail;
	ops.sync = sync_or_fail;
	ops.remove = remove_or_fail;
	options.ops = &ops;
}

static void
await_failing(struct cache *c, unsigned disk, bool failing)
{
	struct cache_stats s;
	unit_wait_until((cache_stats(c, &s), s.disks[disk].failing == failing));
}

static bool
is_failing(struct cache *c, unsigned disk)
{
	struct cache_stats s;
	cache_stats(c, &s);
	return s.disks[disk].failing;
}

START_TEST(a_disk_that_cannot_be_written_gets_nothing_new)
{
	enum { N = 400 };
	begin_broken();
	struct cache *c = open_cache();
	unsigned disk = (unsigned)_i;
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'a'));
	flush(c);
	broken_writes = _i;
	for (int i = N; !is_failing(c, disk); i++) { /* until it is noticed */
		put(c, i, 'x');
		store_flush(c->disks[disk].store);
	}
	/* Objects that were there are read, and all new ones go to the others. */
	ck_assert_int_eq(count(c, 0, N, 'a'), N);
	uint64_t had = objects_on(c, disk);
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'b'));
	ck_assert_uint_lt(objects_on(c, disk), had); /* they lie elsewhere now */
	for (int i = 0; i < N; i++)
		ck_assert_int_ne(disk_of(c, i), _i);
	ck_assert_int_eq(count(c, 0, N, 'b'), N);
	broken_writes = -1;
	cache_close(&c);
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N, 'b'), N); /* no older one is back */
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'c'));
	ck_assert_uint_gt(objects_on(c, disk), 0);
	ck_assert_int_eq(count(c, 0, N, 'c'), N);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(a_disk_whose_purge_log_fails_is_not_used)
{
	enum { N = 300 };
	begin_broken();
	struct cache *c = open_cache();
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'a'));
	flush(c);
	uint64_t had = objects_on(c, (unsigned)_i);
	broken_log = _i;
	ck_assert(purge(c, 0)); /* durable on the others */
	await_failing(c, (unsigned)_i, true);
	int there = count(c, 1, N, 'a');
	ck_assert_int_ge(there, N - 1 - (int)had);
	ck_assert_int_lt(there, N - 1);
	for (int i = 1; i < N / 2; i++)
		ck_assert(purge(c, i));
	broken_log = -1;
	await_failing(c, (unsigned)_i, false);
	/* This process knows all that was forgotten: nothing else was lost. */
	ck_assert_int_eq(count(c, 0, N / 2, 0), N / 2);
	ck_assert_int_eq(count(c, N / 2, N, 'a'), N - N / 2);
	cache_close(&c);
	c = open_cache();
	ck_assert_int_eq(count(c, 0, N / 2, 0), N / 2);
	ck_assert_int_eq(count(c, N / 2, N, 'a'), N - N / 2);
	cache_close(&c);
	end();
}
END_TEST

/* Killed while a disk is left out, whose log says nothing of what was purged since. */
START_TEST(killed_while_a_disk_is_left_out)
{
	enum { N = 300 };
	begin_broken();
	pid_t pid = fork();
	if (pid == 0) {
		struct cache *c = open_cache();
		for (int i = 0; i < N; i++)
			ck_assert(put(c, i, 'a'));
		flush(c);
		broken_log = _i;
		for (int i = 0; i < N / 2; i++)
			ck_assert(purge(c, i));
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	struct cache *c = open_cache();
	ck_assert_int_eq(count(c, 0, N / 2, 0), N / 2);
	ck_assert_uint_eq(objects_on(c, (unsigned)_i), 0);
	ck_assert_int_gt(count(c, N / 2, N, 'a'), 0);
	cache_close(&c);
	end();
}
END_TEST

/* Killed with all disks at work: nothing that was kept is lost. */
START_TEST(killed_with_all_disks_at_work)
{
	enum { N = 300 };
	begin();
	for (int round = 0; round < 3; round++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct cache *c = open_cache();
			for (int i = 0; i < N; i++)
				ck_assert(put(c, i, (char)('a' + round)));
			flush(c);
			for (int i = 0; i < N / 2; i++)
				ck_assert(purge(c, i));
			_exit(0);
		}
		int status;
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
		struct cache *c = open_cache();
		ck_assert_int_eq(count(c, 0, N / 2, 0), N / 2);
		ck_assert_int_eq(count(c, N / 2, N, (char)('a' + round)), N - N / 2);
		cache_close(&c);
	}
	end();
}
END_TEST

static bool
is_in(const struct twice_digest *d, struct cache *c, int i)
{
	char text[64];
	uint64_t hash = hash_of(c, key_of(i, text)).hi;
	return twice_digest_has(d, hash >> (64 - CACHE_DIGEST_HASH_BITS)
						   << (64 - CACHE_DIGEST_HASH_BITS));
}

START_TEST(a_digest_has_what_all_disks_hold)
{
	enum { N = 2000 };
	int wrong = 0;
	begin();
	struct cache *c = open_cache();
	for (int i = 0; i < N; i++)
		ck_assert(put(c, i, 'a'));
	struct twice_digest *d = cache_digest(c, 8, 1 << 20);
	ck_assert_uint_ge(twice_digest_memory(d), N);
	for (int i = 0; i < N; i++)
		ck_assert(is_in(d, c, i));
	for (int i = N; i < 11 * N; i++)
		wrong += is_in(d, c, i);
	ck_assert_int_lt(wrong, 10 * N * 3 / 100); /* 2.2% */
	twice_digest_destroy(&d);
	/* It may have fewer bits, and is then wrong more often. */
	d = cache_digest(c, 8, N / 4);
	ck_assert_uint_lt(twice_digest_memory(d), N / 4 + 200);
	for (int i = 0; i < N; i++)
		ck_assert(is_in(d, c, i));
	twice_digest_destroy(&d);
	ck_assert_ptr_null(cache_digest(c, 8, N / 10));
	/* Nothing is told of a disk that may not answer. */
	cache_hold(c, true);
	ck_assert_ptr_null(cache_digest(c, 8, 1 << 20));
	cache_close(&c);
	end();
}
END_TEST

UNIT("disks", TEST(objects_lie_on_the_disks_as_their_sizes_are), TEST(adding_a_disk_moves_nothing),
     TEST(what_lies_on_two_disks_is_on_none), TIMES(a_disk_that_was_away_comes_back_empty, DISKS),
     TEST(a_disk_that_was_not_named_comes_back_empty), TEST(a_disk_of_another_cache_is_emptied),
     TIMES(a_disk_that_cannot_be_written_gets_nothing_new, DISKS),
     TIMES(a_disk_whose_purge_log_fails_is_not_used, DISKS),
     TIMES(killed_while_a_disk_is_left_out, DISKS), TEST(killed_with_all_disks_at_work),
     TEST(a_digest_has_what_all_disks_hold))
