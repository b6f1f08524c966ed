/* test_store.c - the log under a bad disk, cuts, flips, kills and many threads.
 * rooms: cache http base filter
 *
 * Every body follows from its key and version, so that a wrong byte or a version that was replaced
 * is found by looking at what came.
 */
#include "proxy/base/log.h"
#include "proxy/cache/store/store.h"
#include "proxy/cache/store/store_inside.h"
#include "tests/kit/own_clock.h"
#include "tests/kit/own_store.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { KEYS = 64, SEGMENT = 1 << 20 };

static char dir[256];
static int dir_fd;
static struct store_options options;

static void
begin(void)
{
	tmpdir_make(dir, sizeof dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	options = (struct store_options){
		.dir = dir, .dir_fd = dir_fd, .log_bytes = 8 * SEGMENT, .segment_bytes = SEGMENT};
}

/* No batch grows so old that it is written for that, and a disk that failed is left alone until the test
 * says that time passes. */
static void
begin_in_no_time(void)
{
	own_clock_hold();
	begin();
}

static void
end(void)
{
	close(dir_fd);
	tmpdir_remove(dir);
}

static struct store *
open_store(void)
{
	struct store *st = NULL;
	char err[256] = "";
	ck_assert_msg(store_open(&st, &options, err, sizeof err) == 0, "%s", err);
	return st;
}

static struct twice_key_hash
hash_of(unsigned key)
{
	return (struct twice_key_hash){key, key * 0x9e3779b97f4a7c15u + 1};
}

static size_t
body_of(unsigned key, unsigned version, char *to)
{
	size_t n = 8 + (key * 7919 + version * 104729) % 3000;
	memset(to, (int)(key * 31 + version), n);
	memcpy(to, &key, 4);
	memcpy(to + 4, &version, 4);
	return n;
}

static bool
put(struct store *st, unsigned key, unsigned version)
{
	char body[4000], name[16];
	struct record r = {.hash = hash_of(key), .is_inline = true};
	r.body_bytes = body_of(key, version, body);
	r.body = body;
	r.body_checksum = segment_checksum(body, r.body_bytes);
	r.key = (struct str){name, (size_t)snprintf(name, sizeof name, "k%u", key)};
	r.head = str_of("head");
	return store_put(st, &r, NULL);
}

enum { GONE = -1, DAMAGED = -2 };

/* The version that the store has of a key. A body that is none fails the test. */
static int
version_of(struct store *st, unsigned key)
{
	struct locator at;
	unsigned hits, version;
	char want[4000];
	if (!store_find(st, hash_of(key), &at, &hits))
		return GONE;
	struct block *b = NULL;
	struct record r;
	int found = DAMAGED;
	enum store_read got = store_read(st, &at, &b);
	if (got == STORE_GONE)
		found = GONE;
	if (got == STORE_READ && !record_parse(b->p, b->n, &r) && r.at.segment == at.segment &&
	    r.at.generation == at.generation && r.at.offset == at.offset &&
	    record_body_is_right(&r) && r.hash.hi == hash_of(key).hi) {
		memcpy(&version, r.body + 4, 4);
		ck_assert_uint_eq(r.body_bytes, body_of(key, version, want));
		ck_assert_mem_eq(r.body, want, r.body_bytes);
		found = (int)version;
	}
	block_unref(&b);
	return found;
}

/* ---- kills --------------------------------------------------------------------------------- */

static int now[KEYS]; /* the version each key has, or GONE */

/* The same steps in the child that dies and in the parent that knows. */
static void
steps(struct store *st, unsigned seed, int n)
{
	srandom(seed);
	for (int i = 1; i <= n; i++) {
		unsigned key = (unsigned)random() % KEYS;
		if (st)
			ck_assert(put(st, key, (unsigned)i));
		if (st && i % 50 == 0)
			store_flush(st);
		now[key] = i;
	}
}

START_TEST(killed_process_leaves_all_that_was_written)
{
	begin();
	unsigned seed = (unsigned)time(NULL) + (unsigned)_i;
	printf("seed %u\n", seed);
	int n = _i * 150; /* up to several segments */
	for (int i = 0; i < KEYS; i++)
		now[i] = GONE;
	for (int round = 0; round < 3; round++) {
		pid_t child = fork();
		if (child == 0) {
			struct store *st = open_store();
			steps(st, seed, n);
			store_flush(st);
			_exit(0); /* no close: as if killed */
		}
		int status;
		waitpid(child, &status, 0);
		ck_assert_int_eq(status, 0);
		steps(NULL, seed, n);
		struct store *st = open_store();
		check_store(st);
		for (unsigned k = 0; k < KEYS; k++)
			ck_assert_int_eq(version_of(st, k), now[k]);
		store_close(&st);
		st = open_store();
		for (unsigned k = 0; k < KEYS; k++)
			ck_assert_int_eq(version_of(st, k), now[k]);
		store_close(&st);
		seed++;
	}
	end();
}
END_TEST

/* ---- cuts and flips ------------------------------------------------------------------------ */

static off_t
used_of(const char *path)
{
	/* where the last byte that is not zero is */
	char page[4096];
	off_t used = 0, at = 0;
	int fd = open(path, O_RDONLY);
	for (ssize_t n; (n = pread(fd, page, sizeof page, at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++)
			if (page[i])
				used = at + i + 1;
	close(fd);
	return used;
}

static void
copy_file(const char *from, const char *to)
{
	char page[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (ssize_t n; (n = read(in, page, sizeof page)) > 0;)
		ck_assert_int_eq(write(out, page, (size_t)n), n);
	close(in);
	close(out);
}

/* Some keys in three batches; the file that holds them and its copy. */
static off_t
write_three_batches(char *file, char *copy, size_t n)
{
	struct store *st = open_store();
	for (unsigned batch = 1; batch <= 3; batch++) {
		for (unsigned k = 0; k < 4; k++)
			ck_assert(put(st, k, batch));
		ck_assert(put(st, 3 + batch, batch));
		store_flush(st);
	}
	store_close(&st);
	snprintf(file, n, "%s/segment.00000", dir);
	snprintf(copy, n, "%s/copy", dir);
	copy_file(file, copy);
	return used_of(file);
}

static void
spoil(const char *file, off_t at, bool cut)
{
	int fd = open(file, O_RDWR);
	char c;
	if (cut) {
		ck_assert_int_eq(ftruncate(fd, at), 0);
	} else {
		ck_assert_int_eq(pread(fd, &c, 1, at), 1);
		c ^= 0x41;
		ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
	}
	close(fd);
}

/* No byte is wrong, whatever is spoilt (version_of looks), and what is whole before it is there. */
static void
expect_sane(bool is_cut_late)
{
	struct store *st = open_store();
	for (unsigned k = 0; k < 7; k++) {
		int v = version_of(st, k);
		ck_assert_int_le(v, k < 4 ? 3 : (int)k - 3);
		if (is_cut_late && k == 4)
			ck_assert_int_eq(v, 1);
	}
	/* And it goes on from there. */
	ck_assert(put(st, 0, 9));
	store_flush(st);
	store_close(&st);
	st = open_store();
	ck_assert_int_eq(version_of(st, 0), 9);
	store_close(&st);
}

START_TEST(cut_anywhere_or_flipped_anywhere)
{
	begin_in_no_time();
	options.log_bytes = 4 * SEGMENT;
	char file[300], copy[300];
	off_t used = write_three_batches(file, copy, sizeof file);
	/* _i 0: a cut at each byte of the last batch's surroundings; 1: flips all over. */
	off_t from = _i ? 0 : used - 2500, step = _i ? 97 : 29;
	for (off_t at = from; at < used; at += step) {
		copy_file(copy, file);
		spoil(file, at, _i == 0);
		expect_sane(_i == 0);
	}
	end();
}
END_TEST

/* Batches that were behind a torn one must not come back when others are written before them. */
START_TEST(what_was_cut_off_stays_off)
{
	begin_in_no_time();
	options.log_bytes = 4 * SEGMENT;
	char file[300], copy[300];
	write_three_batches(file, copy, sizeof file);
	struct batch_header h;
	char head[SEGMENT_HEADER_BYTES];
	int fd = open(file, O_RDWR);
	ck_assert_int_eq(pread(fd, head, sizeof head, 0), SEGMENT_HEADER_BYTES);
	ck_assert(batch_header_parse(head, sizeof head, &h));
	spoil(file, h.bytes + 20, false); /* the second batch is damaged, the third is whole */
	struct store *st = open_store();
	ck_assert_int_eq(version_of(st, 1), 1);
	for (unsigned k = 0; k < 4; k++)
		ck_assert(put(st, k, 2));
	ck_assert(put(st, 5, 2)); /* the very sizes of the second batch */
	store_flush(st);
	store_close(&st);
	st = open_store();
	ck_assert_int_eq(version_of(st, 1), 2);
	ck_assert_int_eq(version_of(st, 6), GONE);
	store_close(&st);
	close(fd);
	end();
}
END_TEST

/* ---- a bad disk ---------------------------------------------------------------------------- */

static _Atomic int write_error, renew_error, cold;

static void
time_passes(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	st->health.retry_ms = st->grow_ms = 0;
	pthread_mutex_unlock(&st->lock);
}

static _Atomic int one_error; /* of the next write, and of no other */

static ssize_t
bad_write(int fd, const void *p, size_t n, off_t at)
{
	int once = atomic_exchange(&one_error, 0), error = once ? once : write_error;
	if (error) {
		errno = error;
		return -1;
	}
	return pwrite(fd, p, n > 5000 ? 5000 : n, at); /* short writes are normal */
}

static int
bad_renew(int fd, off_t bytes)
{
	if (renew_error) {
		errno = renew_error;
		return -1;
	}
	return ftruncate(fd, bytes);
}

static ssize_t
cold_read_now(int fd, void *p, size_t n, off_t at)
{
	if (cold) {
		errno = EAGAIN;
		return -1;
	}
	return pread(fd, p, n, at);
}

static _Atomic uint64_t room_free = UINT64_MAX;

static int
bad_room(int fd, uint64_t *free_bytes, uint64_t *all_bytes)
{
	(void)fd;
	*free_bytes = room_free;
	*all_bytes = 100 * SEGMENT;
	return 0;
}

static const struct diskio_ops bad_disk = {.read = pread,
					   .read_now = cold_read_now,
					   .write = bad_write,
					   .renew = bad_renew,
					   .room = bad_room};

START_TEST(a_failing_disk_stops_storing_and_nothing_else)
{
	begin_in_no_time();
	options.ops = &bad_disk;
	struct store *st = open_store();
	struct store_stats s;
	ck_assert(put(st, 1, 1));
	store_flush(st);
	write_error = EIO;
	ck_assert(put(st, 2, 1));
	ck_assert_int_eq(version_of(st, 2), 1); /* still in memory */
	store_flush(st);
	store_stats(st, &s);
	ck_assert(s.failing && s.io_errors >= 1); /* the batch, the footer */
	ck_assert_int_eq(version_of(st, 1), 1);
	ck_assert_int_eq(version_of(st, 2), GONE);
	ck_assert(!put(st, 3, 1)); /* suspended */
	write_error = 0;
	time_passes(st);
	ck_assert(put(st, 3, 1));
	store_flush(st);
	store_stats(st, &s);
	ck_assert(!s.failing && s.refused_writes == 1);
	ck_assert_int_eq(version_of(st, 3), 1);
	store_close(&st);
	end();
}
END_TEST

/* One write fails, others before and behind it work; then the process is killed, or ends well. */
START_TEST(one_failed_write_loses_nothing_that_came_later)
{
	begin_in_no_time();
	bool killed = _i & 1, first = _i & 2; /* first: the hole is where the segment begins */
	options.ops = &bad_disk;
	options.segment_bytes = SEGMENT;
	pid_t child = fork();
	if (child == 0) {
		struct store *st = open_store();
		if (!first) {
			put(st, 1, 1);
			store_flush(st);
		}
		one_error = EIO;
		put(st, 2, 1);
		store_flush(st);
		time_passes(st);
		for (unsigned k = 10; k < 200; k++)
			ck_assert(put(st, k, 1));
		store_flush(st);
		await_rest(st); /* the footer is written */
		if (!killed)
			store_close(&st);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	struct store *st = open_store();
	check_store(st);
	ck_assert_int_eq(version_of(st, 1), first ? GONE : 1);
	ck_assert_int_lt(version_of(st, 2), 0); /* gone, or found damaged when it is read */
	for (unsigned k = 10; k < 200; k++)
		ck_assert_int_eq(version_of(st, k), 1);
	store_close(&st);
	end();
}
END_TEST

/* The store wants these keys to be forgotten. */
static _Atomic bool told_of[KEYS];

static bool
on_forget(void *ctx, const uint64_t *hashes, size_t n, bool waits)
{
	(void)ctx;
	(void)waits;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < KEYS; k++)
			if (hash_of(k).hi == hashes[i])
				told_of[k] = true;
	return true;
}

static _Atomic int lost_footers, lose_batches;
static _Atomic bool may_fail;

/* One batch fails, when the test says that it may, and what is written at the end of a segment. */
static ssize_t
no_footer(int fd, const void *p, size_t n, off_t at)
{
	bool footer = may_fail && at + (off_t)n == SEGMENT;
	lost_footers += footer;
	if (!footer && lose_batches > 0) {
		lose_batches--;
		while (!may_fail)
			usleep(1000);
	} else if (!footer) {
		return pwrite(fd, p, n, at);
	}
	errno = EIO;
	return -1;
}

static void
close_batch(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	store_close_batch(st);
	pthread_mutex_unlock(&st->lock);
}

/* A batch cannot be written, and then the footer cannot either, which would have listed what was
 * written behind the hole: after a restart nobody finds that, and an older version of a key would
 * be the newest. */
START_TEST(a_footer_that_is_lost_brings_no_older_version_back)
{
	static struct diskio_ops ops;
	begin_in_no_time();
	ops = bad_disk;
	ops.write = no_footer;
	options.ops = &ops;
	options.forget = on_forget;
	struct store *st = open_store();
	for (unsigned k = 0; k < 4; k++)
		ck_assert(put(st, k, 1));
	store_flush(st);
	pthread_mutex_lock(&st->lock); /* the next segment begins */
	store_seal(st);
	pthread_mutex_unlock(&st->lock);
	ck_assert(put(st, 10, 1));
	store_flush(st);
	lose_batches = 1;
	ck_assert(put(st, 11, 1)); /* the hole: with the first version of a key, */
	ck_assert(put(st, 0, 2));  /* and the second of another one */
	close_batch(st);
	ck_assert(put(st, 1, 2)); /* behind the hole, in the same segment */
	may_fail = true;
	store_flush(st);
	store_close(&st);
	ck_assert_int_ge(lost_footers, 1);
	ck_assert(!told_of[2] && !told_of[10] && !told_of[11]);
	options.ops = NULL;
	st = open_store();
	ck_assert_int_eq(version_of(st, 2), 1);
	ck_assert_int_eq(version_of(st, 10), 1);
	for (unsigned k = 0; k < 2; k++) {
		ck_assert_int_eq(version_of(st, k), 1); /* it is back, but */
		ck_assert(told_of[k]);
	}
	store_close(&st);
	end();
}
END_TEST

/* The footers of two segments, one after the other; their batches are found by walking, whether the
 * process ends well or is killed. */
START_TEST(footers_that_fail_twice_lose_nothing)
{
	static struct diskio_ops ops;
	begin_in_no_time();
	ops = bad_disk;
	ops.write = no_footer;
	options.ops = &ops;
	bool killed = _i;
	pid_t child = fork();
	if (child == 0) {
		struct store *st = open_store();
		struct store_stats s;
		may_fail = true;
		for (unsigned segment = 0; segment < 3; segment++) {
			for (unsigned k = 0; k < 10; k++)
				ck_assert(put(st, 10 * segment + k, 1));
			store_flush(st);
			pthread_mutex_lock(&st->lock);
			if (segment < 2)
				store_seal(st);
			pthread_mutex_unlock(&st->lock);
			do
				store_stats(st, &s);
			while (s.pending_bytes);
			time_passes(st);
		}
		ck_assert_int_eq(lost_footers, 2);
		ck_assert_uint_ge(s.io_errors, 2);
		for (unsigned k = 0; k < 30; k++)
			ck_assert_int_eq(version_of(st, k), 1);
		if (!killed)
			store_close(&st);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	struct store *st = open_store();
	check_store(st);
	for (unsigned k = 0; k < 30; k++)
		ck_assert_int_eq(version_of(st, k), 1);
	store_close(&st);
	end();
}
END_TEST

static _Atomic int held_footers;
static _Atomic bool hold_footers;

/* The disk hangs when a footer comes. */
static ssize_t
slow_footer(int fd, const void *p, size_t n, off_t at)
{
	held_footers += at + (off_t)n == SEGMENT;
	while (hold_footers && held_footers)
		usleep(1000);
	return pwrite(fd, p, n, at);
}

/* 1: its records may be read; 0: it has gone; any other fails the test. */
static int
is_there(struct store *st, unsigned key)
{
	int version = version_of(st, key);
	ck_assert_msg(version == 1 || version == GONE, "%u: %d", key, version);
	return version == 1;
}

/* The log turns over while the footer of its first segment is not on disk yet: what lay there is a
 * miss, when it is read and after a restart, and no other segment's record is taken for it. */
START_TEST(a_segment_that_goes_before_its_footer_is_written_is_a_miss)
{
	enum { MOST = 20000 };
	static struct diskio_ops ops;
	begin();
	ops = bad_disk;
	ops.write = slow_footer;
	options.ops = &ops;
	pid_t child = fork();
	if (child == 0) {
		struct store *st = open_store();
		unsigned n = 0, had = 0, has = 0;
		for (; n < 200; n++)
			ck_assert(put(st, n, 1));
		store_flush(st);
		hold_footers = true;
		struct locator at;
		ck_assert(index_find(st->index, hash_of(0).hi, &at));
		while (store_generation(st, at.segment) == at.generation || !held_footers) {
			if (n < MOST && put(st, n, 1))
				n++;
			else
				usleep(1000);
		}
		for (unsigned k = 0; k < n; k++)
			had += is_there(st, k);
		ck_assert_uint_lt(had, n);
		hold_footers = false;
		store_flush(st);
		for (unsigned k = 0; k < n; k++)
			has += is_there(st, k);
		ck_assert_uint_gt(has, 0);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	options.ops = NULL;
	struct store *st = open_store();
	unsigned has = 0;
	check_store(st);
	for (unsigned k = 0; k < MOST; k++)
		has += is_there(st, k);
	ck_assert_uint_gt(has, 0);
	store_close(&st);
	end();
}
END_TEST

/* A disk that never works must not use up the segments that hold something. */
START_TEST(a_disk_that_fails_for_long_evicts_nothing)
{
	begin();
	options.ops = &bad_disk;
	struct store *st = open_store();
	for (unsigned k = 0; k < 1000; k++)
		ck_assert(put(st, k, 1));
	store_flush(st);
	write_error = EIO;
	for (unsigned i = 0; i < 30; i++) {
		time_passes(st);
		put(st, 2000 + i, 1);
		store_flush(st);
		await_rest(st);
	}
	write_error = 0;
	time_passes(st);
	for (unsigned k = 0; k < 1000; k++)
		ck_assert_int_eq(version_of(st, k), 1);
	store_close(&st);
	end();
}
END_TEST

START_TEST(a_body_with_a_lost_piece_is_not_stored)
{
	begin();
	options.ops = &bad_disk;
	struct store *st = open_store();
	static char piece[60000], table[FRAGMENT_ENTRY_BYTES];
	struct fragment f;
	write_error = EIO;
	ck_assert(store_put_fragment(st, hash_of(1), piece, sizeof piece, &f));
	store_flush(st);
	write_error = 0;
	time_passes(st);
	fragment_put(table, 0, &f);
	struct record r = {.hash = hash_of(1), .fragments_n = 1, .fragments = table};
	r.key = str_of("k1");
	r.body_bytes = sizeof piece;
	ck_assert(!store_put(st, &r, NULL));
	store_close(&st);
	end();
}
END_TEST

START_TEST(a_record_that_no_batch_takes_costs_nothing)
{
	begin();
	options.log_bytes = 16 * 65536;
	options.segment_bytes = 65536;
	struct store *st = open_store();
	static char head[40000];
	memset(head, 'h', sizeof head);
	struct record r = {.hash = hash_of(1), .is_inline = true, .body = ""};
	r.body_checksum = segment_checksum(r.body, 0);
	r.key = str_of("k1");
	r.head = (struct str){head, sizeof head};
	uint32_t generation = st->ledger.generation;
	for (unsigned i = 0; i < 100; i++) {
		ck_assert(put(st, 7, i));
		ck_assert(!store_put(st, &r, NULL));
	}
	ck_assert_uint_le(st->ledger.generation, generation + 3);
	ck_assert_int_eq(version_of(st, 7), 99);
	store_close(&st);
	end();
}
END_TEST

/* With 64 segments, counted over all of them, each slot's generations had the same six bits. */
START_TEST(generations_of_a_slot_are_told_apart)
{
	begin();
	options.log_bytes = 64 * 65536;
	options.segment_bytes = 65536;
	struct store *st = open_store();
	struct locator first, at, place;
	unsigned hits;
	ck_assert(put(st, 7, 1));
	ck_assert(store_find(st, hash_of(7), &first, &hits));
	ck_assert(store_index_place(st, &first, &place));
	uint32_t code = place.generation;
	for (unsigned i = 0; store_generation(st, first.segment) == first.generation; i++)
		while (!put(st, 100 + i % 50, i))
			store_flush(st);
	for (unsigned i = 0; store_generation(st, first.segment) == 0; i++)
		while (!put(st, 100 + i % 50, i))
			store_flush(st);
	/* An entry that was left over from the old generation. */
	place = first;
	place.generation = code;
	index_put(st->index, hash_of(7).hi, &place);
	ck_assert(!store_find(st, hash_of(7), &at, &hits));
	store_close(&st);
	end();
}
END_TEST

START_TEST(a_full_disk_is_no_reason_not_to_start)
{
	begin();
	options.ops = &bad_disk;
	renew_error = ENOSPC;
	struct store *st = open_store();
	ck_assert(!put(st, 1, 1));
	renew_error = 0;
	time_passes(st);
	unit_wait_until(put(st, 1, 1));
	ck_assert_int_eq(version_of(st, 1), 1);
	store_close(&st);
	end();
}
END_TEST

/* Files are made as the log fills, and none that would take what is left to others. */
static uint32_t
files_of(struct store *st)
{
	struct store_stats s;
	store_stats(st, &s);
	return (uint32_t)(s.file_bytes / options.segment_bytes);
}

static const struct {
	uint64_t keep_free, beside;
} keeps[] = {{0, 0}, {5 << 20, 0}, {STORE_KEEP_SHARE | 50000, 0}, {3 << 20, 2 << 20}};

START_TEST(the_log_grows_as_it_fills_and_stops_at_the_reserve)
{
	begin();
	log_set_level(LOG_ERROR);
	options.ops = &bad_disk;
	options.segment_bytes = SEGMENT / 4;	 /* 32 of them */
	options.keep_free = keeps[_i].keep_free; /* each is five MiB, with what is beside */
	options.beside_bytes = keeps[_i].beside;
	room_free = UINT64_MAX;
	struct store *st = open_store();
	ck_assert_uint_le(files_of(st), 8);
	for (unsigned k = 0; k < 1000; k++)
		unit_wait_until(put(st, k, 1));
	store_flush(st);
	await_rest(st);
	uint32_t half = files_of(st);
	ck_assert(half >= 8 && half < 24);
	room_free = 5 * SEGMENT + SEGMENT / 4 - 1; /* no room for one more */
	for (unsigned k = 0; k < 4000; k++)
		unit_wait_until(put(st, k, 2));
	store_flush(st);
	ck_assert_uint_le(files_of(st), half); /* none was on its way any more */
	ck_assert_int_eq(version_of(st, 3999), 2);
	room_free = 6 * SEGMENT;
	uint32_t before = files_of(st);
	for (unsigned k = 0; k < 4000 && files_of(st) == before; k++) {
		time_passes(st);
		unit_wait_until(put(st, k, 3));
	}
	while (files_of(st) == before) {
		time_passes(st); /* a reading thread makes the file when it comes to it */
		await_rest(st);
	}
	store_close(&st);
	end();
}
END_TEST

static _Atomic int files_left;

static int
few_files(int fd, off_t bytes)
{
	struct stat s;
	if ((fstat(fd, &s) == 0 && s.st_size == bytes) || files_left-- > 0)
		return ftruncate(fd, bytes);
	errno = ENOSPC;
	return -1;
}

/* Files take their room late, and from what there is. */
static _Atomic bool renew_waits;
static _Atomic int64_t room_left;

static int
late_renew(int fd, off_t bytes)
{
	struct stat s;
	while (renew_waits)
		usleep(100);
	if (fstat(fd, &s) == 0 && s.st_size != bytes)
		room_left -= bytes;
	return ftruncate(fd, bytes);
}

static int
room_is_left(int fd, uint64_t *free_bytes, uint64_t *all_bytes)
{
	(void)fd;
	*free_bytes = room_left > 0 ? (uint64_t)room_left : 0;
	*all_bytes = UINT64_C(1) << 40;
	return 0;
}

START_TEST(files_that_are_being_made_count_as_room_taken)
{
	begin();
	log_set_level(LOG_ERROR);
	struct diskio_ops ops = diskio_system;
	ops.renew = late_renew;
	ops.room = room_is_left;
	options.ops = &ops;
	options.keep_free = 5 * SEGMENT;
	options.segment_bytes = SEGMENT / 4;
	room_left = 5 * SEGMENT + SEGMENT / 4;
	struct store *st = open_store(); /* with one file, which takes that */
	renew_waits = true;
	room_left += SEGMENT / 2;
	time_passes(st);
	for (unsigned i = 0; i < 3000; i++)
		put(st, i, 1); /* much more than there is room for; some is refused */
	renew_waits = false;
	store_flush(st);
	store_close(&st);
	ck_assert_int_ge(room_left, 5 * SEGMENT);
	end();
}
END_TEST

START_TEST(a_log_may_be_smaller_than_its_limit)
{
	begin();
	struct diskio_ops ops = diskio_system;
	ops.renew = few_files;
	files_left = 3;
	options.ops = &ops;
	struct store *st = open_store();
	for (unsigned i = 0; i < 2000; i++)
		ck_assert(put(st, i, 1)); /* about three segments: no need to empty one */
	ck_assert_int_eq(version_of(st, 1999), 1);
	struct store_stats s;
	store_stats(st, &s);
	ck_assert(!s.failing);
	store_close(&st);
	end();
}
END_TEST

START_TEST(a_smaller_limit_drops_the_oldest)
{
	begin();
	struct store *st = open_store();
	for (unsigned i = 0; i < 3000; i++)
		ck_assert(put(st, i % 2000, i));
	store_close(&st);
	options.log_bytes = 4 * SEGMENT;
	st = open_store();
	ck_assert_uint_le(tmpdir_bytes(dir), 4 * SEGMENT + 65536);
	ck_assert_int_eq(version_of(st, 2999 % 2000), 2999);
	for (unsigned i = 0; i < 2000; i++)
		ck_assert(put(st, i, 5000));
	store_close(&st);
	options.log_bytes = 9 * SEGMENT;
	st = open_store();
	ck_assert_int_eq(version_of(st, 1999), 5000);
	for (unsigned i = 0; i < 4000; i++)
		ck_assert(put(st, i, 6000));
	ck_assert_int_eq(version_of(st, 3999), 6000);
	check_store(st);
	store_close(&st);
	end();
}
END_TEST

/* ---- many threads -------------------------------------------------------------------------- */

static struct store *shared;
static _Atomic bool over;

static void *
write_much(void *arg)
{
	unsigned first = *(unsigned *)arg;
	for (unsigned i = 1; i < 800; i++) {
		put(shared, first + i % 20, i);
	}
	return NULL;
}

static void *
read_much(void *arg)
{
	(void)arg;
	for (unsigned i = 0; !over; i++) {
		version_of(shared, i % 80); /* looks at every byte */
		struct locator at;
		unsigned hits;
		if (store_find(shared, hash_of(i % 80), &at, &hits) && store_lease(shared, &at))
			store_unlease(shared, &at);
	}
	return NULL;
}

START_TEST(threads_write_read_and_evict)
{
	begin();
	shared = open_store();
	pthread_t w[3], r[2];
	unsigned first[3] = {0, 20, 40};
	over = false;
	for (int i = 0; i < 2; i++)
		pthread_create(&r[i], NULL, read_much, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&w[i], NULL, write_much, &first[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(w[i], NULL);
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(r[i], NULL);
	store_flush(shared);
	check_store(shared);
	int before[60];
	for (unsigned k = 0; k < 60; k++)
		before[k] = version_of(shared, k);
	store_close(&shared);
	shared = open_store();
	for (unsigned k = 0; k < 60; k++) /* the log says what the index said */
		ck_assert_int_eq(version_of(shared, k), before[k]);
	store_close(&shared);
	end();
}
END_TEST

/* SIGKILL in the middle of whatever three threads do, again and again on one directory. */
START_TEST(killed_under_load)
{
	begin();
	unsigned found = 0;
	for (int round = 0; round < 10; round++) {
		int go[2];
		ck_assert_int_eq(pipe(go), 0);
		pid_t child = fork();
		if (child == 0) {
			unsigned first[3] = {0, 20, 40};
			pthread_t w[3];
			shared = open_store();
			put(shared, 59, 1); /* so that there is something for certain */
			store_flush(shared);
			if (write(go[1], "x", 1) != 1)
				_exit(1);
			for (int i = 0; i < 3; i++)
				pthread_create(&w[i], NULL, write_much, &first[i]);
			for (;;)
				store_flush(shared);
		}
		char c;
		ck_assert_int_eq(read(go[0], &c, 1), 1);
		usleep(1000u << round % 6); /* one moment or another: all are right */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(go[0]);
		close(go[1]);
		struct store *st = open_store();
		check_store(st);
		for (unsigned k = 0; k < 60; k++) {
			int v = version_of(st, k); /* every byte is looked at */
			ck_assert_int_ne(v, DAMAGED);
			found += v != GONE;
		}
		store_close(&st);
	}
	ck_assert_uint_gt(found, 0);
	end();
}
END_TEST

UNIT("store", TIMES(killed_process_leaves_all_that_was_written, 12),
     TIMES(cut_anywhere_or_flipped_anywhere, 2), TEST(what_was_cut_off_stays_off),
     TEST(a_failing_disk_stops_storing_and_nothing_else),
     TIMES(one_failed_write_loses_nothing_that_came_later, 4),
     TEST(a_disk_that_fails_for_long_evicts_nothing),
     TIMES(footers_that_fail_twice_lose_nothing, 2),
     TEST(a_segment_that_goes_before_its_footer_is_written_is_a_miss),
     TEST(a_footer_that_is_lost_brings_no_older_version_back),
     TEST(a_body_with_a_lost_piece_is_not_stored), TEST(a_record_that_no_batch_takes_costs_nothing),
     TEST(generations_of_a_slot_are_told_apart), TEST(a_full_disk_is_no_reason_not_to_start),
     TEST(a_log_may_be_smaller_than_its_limit),
     LOOP(the_log_grows_as_it_fills_and_stops_at_the_reserve, keeps),
     TEST(files_that_are_being_made_count_as_room_taken), TEST(a_smaller_limit_drops_the_oldest),
     TEST(threads_write_read_and_evict), TEST(killed_under_load))
