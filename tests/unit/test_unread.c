/* test_unread.c - a store and a cache that are used while what they hold is still being read.
 * rooms: cache http base filter
 *
 * The table of a sealed segment is read when a gate lets it; so each state between nothing known and
 * all known can be looked at.
 */
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/store/store_inside.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_store.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

enum { SEGMENT = 1 << 20, SEGMENTS = 8, BODY = 30000, KEYS = 24, ALL = 1000, MIB = 1 << 20 };

static char dirs[2][256];
static int dir_fd;
static struct store_options options;
static struct diskio_ops ops;

/* ---- the gate ------------------------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int permits;	      /* tables that may be read */
	int held;	      /* the slot whose table may not, or -1 */
	const char *held_dir; /* the directory whose tables may not, or NULL */
	int waiting, passed;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, ALL, -1, NULL, 0, 0};

static void
path_of(int fd, char *path, size_t bytes)
{
	char name[64];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(name, path, bytes - 1);
	path[n > 0 ? n : 0] = 0;
}

/* Under the lock. */
static bool
is_held(const char *path)
{
	const char *dot = strrchr(path, '.');
	return gate.permits == 0 || (dot && gate.held == atoi(dot + 1)) ||
	       (gate.held_dir && strncmp(path, gate.held_dir, strlen(gate.held_dir)) == 0);
}

static ssize_t
gated_read(int fd, void *p, size_t n, off_t at)
{
	if ((uint64_t)at + n == SEGMENT - SEGMENT_HEADER_BYTES) {
		char path[512];
		path_of(fd, path, sizeof path);
		pthread_mutex_lock(&gate.lock);
		gate.waiting++;
		pthread_cond_broadcast(&gate.moved);
		while (is_held(path))
			pthread_cond_wait(&gate.moved, &gate.lock);
		gate.permits--;
		gate.waiting--;
		gate.passed++;
		pthread_cond_broadcast(&gate.moved);
		pthread_mutex_unlock(&gate.lock);
	}
	return pread(fd, p, n, at);
}

static void
hold_dir(const char *held)
{
	pthread_mutex_lock(&gate.lock);
	gate.held_dir = held;
	pthread_mutex_unlock(&gate.lock);
}

static void
set_gate(int permits, int held)
{
	pthread_mutex_lock(&gate.lock);
	gate.permits = permits;
	gate.held = held;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);
}

/* So many threads stand before the gate. */
static void
await_waiting(int n)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.waiting < n)
		pthread_cond_wait(&gate.moved, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

/* ---- a store ------------------------------------------------------------------------------- */

static void
begin(void)
{
	log_set_level(LOG_ERROR);
	tmpdir_make(dirs[0], sizeof dirs[0]);
	dir_fd = open(dirs[0], O_RDONLY | O_DIRECTORY);
	ops = diskio_system;
	ops.read = gated_read;
	options = (struct store_options){.dir = dirs[0],
					 .dir_fd = dir_fd,
					 .log_bytes = SEGMENTS * SEGMENT,
					 .segment_bytes = SEGMENT,
					 .io_threads = 1,
					 .ops = &ops,
					 .load_at_once = 1};
}

static void
end(void)
{
	close(dir_fd);
	tmpdir_remove(dirs[0]);
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
	return (struct twice_key_hash){key, (key + 1) * 0x9e3779b97f4a7c15u};
}

static bool
put(struct store *st, unsigned key, char version)
{
	char body[BODY], name[16];
	memset(body, version, sizeof body);
	struct record r = {.hash = hash_of(key),
			   .is_inline = true,
			   .body = body,
			   .body_bytes = BODY,
			   .body_checksum = segment_checksum(body, BODY)};
	r.key = (struct str){name, (size_t)snprintf(name, sizeof name, "k%u", key)};
	r.head = str_of("head");
	return store_put(st, &r, NULL);
}

enum { GONE = 0 };

static char
version_of(struct store *st, unsigned key)
{
	struct locator at;
	struct record r;
	struct block *b = NULL;
	unsigned hits;
	char version = GONE;
	if (!store_find(st, hash_of(key), &at, &hits))
		return GONE;
	if (store_read(st, &at, &b) == STORE_READ && !record_parse(b->p, b->n, &r) &&
	    record_body_is_right(&r) && r.hash.hi == hash_of(key).hi)
		version = r.body[0];
	block_unref(&b);
	return version;
}

static uint32_t
open_segment(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	uint32_t n = st->ledger.generation;
	pthread_mutex_unlock(&st->lock);
	return n;
}

/* Key k has version 'a' in the first segment that is written, and each segment after it some keys in
 * version 'b': last[k] is what it has, born[k] the segment (from 1) where that lies. */
static char last[KEYS];
static uint32_t born[KEYS], segments;

static void
write_segments(void)
{
	struct store *st = open_store();
	unsigned next = 0;
	for (unsigned k = 0; k < KEYS; k++) {
		ck_assert(put(st, k, 'a'));
		last[k] = 'a';
		born[k] = open_segment(st);
	}
	ck_assert_uint_eq(open_segment(st), 1);
	while (open_segment(st) < SEGMENTS - 2) { /* and what fills them up */
		ck_assert(put(st, 1000 + next, 'x'));
		if (next++ % 10 == 0 && next / 10 < KEYS - 4) {
			unsigned k = next / 10;
			ck_assert(put(st, k, 'b'));
			last[k] = 'b';
			born[k] = open_segment(st);
		}
		store_flush(st);
	}
	segments = open_segment(st);
	store_close(&st);
}

static unsigned
unread_in(struct store *st)
{
	struct store_stats s;
	store_stats(st, &s);
	return (unsigned)s.unread_segments;
}

static void
await_unread(struct store *st, unsigned n)
{
	unit_wait_until(unread_in(st) == n);
}

static void
await_all(struct store *st)
{
	set_gate(ALL, -1);
	await_unread(st, 0);
	unit_wait_until(store_takes(st)); /* what was buried is cleared away first */
}

static void
expect_versions(struct store *st)
{
	for (unsigned k = 0; k < KEYS; k++)
		ck_assert_int_eq(version_of(st, k), last[k]);
}

/* Nobody else uses the store meanwhile. */
static void
expect_all(struct store *st)
{
	expect_versions(st);
	check_store(st);
}

/* A version found is the last one, and all that lie in segments from one on are found. */
static void
expect_known_from(struct store *st, uint32_t from)
{
	for (unsigned k = 0; k < KEYS; k++)
		ck_assert_int_eq(version_of(st, k), born[k] >= from ? last[k] : GONE);
}

START_TEST(segments_are_known_one_after_the_other_the_newest_first)
{
	begin();
	write_segments();
	ck_assert_uint_ge(segments, 5);
	set_gate(0, -1);
	struct store *st = open_store();
	/* The last one is open, and known at once. */
	for (unsigned unread = segments - 1; unread > 0; unread--) {
		await_unread(st, unread);
		expect_known_from(st, unread + 1);
		ck_assert(!store_takes(st));
		ck_assert(!put(st, 1, 'c'));
		set_gate(1, -1);
	}
	await_all(st);
	expect_all(st);
	ck_assert(put(st, 1, 'c'));
	ck_assert_int_eq(version_of(st, 1), 'c');
	store_close(&st);
	st = open_store();
	last[1] = 'c';
	await_all(st);
	expect_all(st);
	store_close(&st);
	end();
}
END_TEST

/* The slot of the newest sealed segment. */
static int
newest_sealed(void)
{
	int newest = -1;
	struct store *st = open_store();
	await_all(st);
	for (uint32_t i = 0; i < st->ledger.slots_n; i++)
		if (st->ledger.slots[i].generation == segments - 1)
			newest = (int)i;
	ck_assert_int_ge(newest, 0);
	store_close(&st);
	return newest;
}

/* One is held; another thread has read all that are older. */
static struct store *
open_all_but(int held)
{
	options.io_threads = 4;
	gate.passed = 0;
	set_gate(ALL, held);
	struct store *st = open_store();
	pthread_mutex_lock(&gate.lock);
	while (gate.passed < (int)segments - 2)
		pthread_cond_wait(&gate.moved, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
	/* Their lists are entered behind the gate: all of them when the thread has ended. */
	for (unsigned loaders = 2; loaders != 1;) {
		pthread_mutex_lock(&st->lock);
		loaders = st->unread.loaders;
		pthread_mutex_unlock(&st->lock);
	}
	ck_assert_uint_eq(unread_in(st), segments - 1);
	return st;
}

START_TEST(an_older_version_is_not_believed_while_a_newer_one_may_be_unread)
{
	begin();
	write_segments();
	struct store *st = open_all_but(newest_sealed());
	expect_known_from(st, segments);
	await_all(st);
	expect_all(st);
	store_close(&st);
	end();
}
END_TEST

static _Atomic bool is_over;
static _Atomic unsigned looks;

static void *
look_all_the_time(void *ctx)
{
	struct store *st = ctx;
	struct locator at;
	for (; !atomic_load(&is_over); atomic_fetch_add(&looks, 1))
		for (unsigned k = 0; k < KEYS; k++)
			if (store_look(st, hash_of(k), &at))
				ck_assert_uint_eq(at.generation, born[k]);
	return NULL;
}

/* A thread that asked the index while a newer segment was unread does not believe the answer because
 * that has been read meanwhile: many threads, so that some stand between the two. */
START_TEST(an_older_version_is_not_believed_for_what_is_known_since)
{
	enum { LOOKERS = 16 };
	begin();
	write_segments();
	int held = newest_sealed();
	for (int round = 0; round < 20; round++) {
		pthread_t threads[LOOKERS];
		struct store *st = open_all_but(held);
		atomic_store(&is_over, false);
		atomic_store(&looks, 0);
		for (int i = 0; i < LOOKERS; i++)
			pthread_create(&threads[i], NULL, look_all_the_time, st);
		while (atomic_load(&looks) < LOOKERS)
			sched_yield();
		await_all(st);
		atomic_store(&is_over, true);
		for (int i = 0; i < LOOKERS; i++)
			pthread_join(threads[i], NULL);
		expect_all(st);
		store_close(&st);
	}
	end();
}
END_TEST

/* Of a key with two versions, the newer one is known, and goes; the older one is still unread. */
START_TEST(what_goes_meanwhile_does_not_come_back)
{
	begin();
	write_segments();
	unsigned newer = KEYS, older = KEYS;
	for (unsigned k = 0; k < KEYS; k++)
		if (born[k] == segments - 1)
			newer = k;
		else if (last[k] == 'a')
			older = k;
	ck_assert(newer < KEYS && older < KEYS);
	struct locator at;
	unsigned hits;
	for (int way = 0; way < 4; way++) {
		set_gate(0, -1);
		struct store *st = open_store();
		set_gate(1, -1);
		await_unread(st, segments - 2);
		await_waiting(1);
		ck_assert_int_eq(version_of(st, newer), 'b');
		ck_assert_int_eq(version_of(st, older), GONE);
		ck_assert(store_find(st, hash_of(newer), &at, &hits));
		if (way == 0)
			ck_assert(store_remove(st, hash_of(newer)));
		else if (way == 1)
			store_drop(st, hash_of(newer));
		else if (way == 2)
			store_forget(st, hash_of(newer), &at);
		else
			store_clear(st, hash_of(newer), &at);
		ck_assert(store_remove(st, hash_of(older))); /* it may be there */
		store_drop(st, hash_of(9999));		     /* and this is nowhere */
		ck_assert_int_eq(version_of(st, newer), GONE);
		await_all(st);
		ck_assert_int_eq(version_of(st, newer), GONE);
		ck_assert_int_eq(version_of(st, older), GONE);
		ck_assert(!store_has(st, hash_of(newer)) && !store_has(st, hash_of(9999)));
		check_store(st);
		for (unsigned k = 0; k < KEYS; k++)
			if (k != newer && k != older)
				ck_assert_int_eq(version_of(st, k), last[k]);
		if (way == 3) { /* and the keys may be stored again */
			ck_assert(put(st, newer, 'c') && put(st, older, 'c'));
			last[newer] = last[older] = 'c';
			expect_all(st);
		}
		store_close(&st);
	}
	struct store *st = open_store();
	await_all(st);
	expect_all(st);
	store_close(&st);
	end();
}
END_TEST

START_TEST(it_may_end_before_all_is_read)
{
	begin();
	write_segments();
	for (int permits = 0; permits < 4; permits++) {
		options.io_threads = 1 + 3 * (permits % 2);
		set_gate(permits, -1);
		struct store *st = open_store();
		await_waiting(1);
		pthread_mutex_lock(&st->lock);
		st->closing = true; /* as store_stop says first, which then waits for the threads */
		pthread_mutex_unlock(&st->lock);
		set_gate(ALL, -1);
		store_close(&st);
	}
	struct store *st = open_store();
	await_all(st);
	expect_all(st);
	store_close(&st);
	end();
}
END_TEST

/* While one process takes the other's place. */
START_TEST(it_may_rest_and_work_before_all_is_read)
{
	begin();
	write_segments();
	options.rests = true;
	set_gate(0, -1);
	struct store *st = open_store();
	ck_assert(!put(st, 0, 'c'));
	ck_assert(store_set_duty(st, STORE_KEEPS, 0));
	ck_assert(!put(st, 0, 'c'));
	ck_assert(store_set_duty(st, STORE_RESTS, 0));
	ck_assert(store_set_duty(st, STORE_KEEPS, 0));
	set_gate(1, -1);
	await_unread(st, segments - 2);
	store_release(st);
	ck_assert(!put(st, 0, 'c'));
	await_all(st);
	ck_assert(put(st, 0, 'c'));
	last[0] = 'c';
	expect_all(st);
	store_close(&st);
	end();
}
END_TEST

/* The table of a footer is damaged: its segment is walked, on the thread. */
START_TEST(a_damaged_table_is_made_up_for)
{
	begin();
	write_segments();
	struct store *st = open_store();
	await_all(st);
	char name[300], byte = 0x55;
	for (uint32_t i = 0; i < st->ledger.slots_n; i++) {
		if (st->ledger.slots[i].generation != 1)
			continue;
		snprintf(name, sizeof name, "%s/segment.%05u", dirs[0], i);
		int fd = open(name, O_RDWR);
		ck_assert_int_eq(pwrite(fd, &byte, 1, SEGMENT - SEGMENT_HEADER_BYTES - 3), 1);
		close(fd);
	}
	store_close(&st);
	st = open_store();
	await_all(st);
	expect_all(st);
	store_close(&st);
	end();
}
END_TEST

/* ---- under way ----------------------------------------------------------------------------- */

static void *
ask_all_the_time(void *ctx)
{
	struct store *st = ctx;
	while (!atomic_load(&is_over))
		for (unsigned k = 0; k < KEYS; k++) {
			char v = version_of(st, k);
			ck_assert(v == GONE || v == last[k]);
		}
	return NULL;
}

static void *
remove_all_the_time(void *ctx)
{
	struct store *st = ctx;
	for (unsigned k = 0; k < 10; k++)
		store_remove(st, hash_of(1000 + k));
	while (!atomic_load(&is_over))
		for (unsigned k = 0; k < 10; k++)
			ck_assert_int_eq(version_of(st, 1000 + k), GONE);
	return NULL;
}

START_TEST(others_ask_and_remove_while_it_is_read)
{
	begin();
	write_segments();
	options.io_threads = 8;
	for (int round = 0; round < 20; round++) {
		pthread_t threads[3];
		set_gate(0, -1);
		struct store *st = open_store();
		atomic_store(&is_over, false);
		pthread_create(&threads[0], NULL, ask_all_the_time, st);
		pthread_create(&threads[1], NULL, ask_all_the_time, st);
		pthread_create(&threads[2], NULL, remove_all_the_time, st);
		await_all(st);
		expect_versions(st);
		atomic_store(&is_over, true);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		check_store(st);
		store_close(&st);
	}
	end();
}
END_TEST

/* ---- a cache ------------------------------------------------------------------------------- */

static struct mailbox home;
static struct cache_disk more;
static struct cache_options cache_options;

static void
begin_cache(void)
{
	begin();
	ck_assert_int_eq(mailbox_init(&home), 0);
	tmpdir_make(dirs[1], sizeof dirs[1]);
	more = (struct cache_disk){dirs[1], 16 * MIB};
	cache_options = (struct cache_options){.dir = dirs[0],
					       .disk_bytes = 16 * MIB,
					       .memory_bytes = 4 * MIB,
					       .segment_bytes = SEGMENT,
					       .ops = &ops,
					       .load_at_once = 1};
}

static void
end_cache(void)
{
	mailbox_fini(&home);
	tmpdir_remove(dirs[1]);
	end();
}

static struct cache *
open_cache(void)
{
	struct cache *c = NULL;
	char err[512] = "";
	ck_assert_msg(cache_open(&c, &cache_options, err, sizeof err) == 0, "%s", err);
	return c;
}

static struct str
key_of(unsigned i, char to[64])
{
	return (struct str){to, (size_t)snprintf(to, 64, "http://host/%u", i)};
}

/* The commit says where: in RAM or on disk. */
static bool
store_object(struct cache *c, unsigned i, char version, bool disk, bool *on_disk)
{
	char text[64];
	struct str key = key_of(i, text);
	struct object_write *w = cache_write_begin(
		c, &(struct write_options){
			   .hash = twice_key_hash_of(cache_seed(c), key.p, key.n),
			   .key = key,
			   .head = STR("HTTP/1.1 200 OK\r\n"),
			   .terms = {.response_time = 1000, .lifetime = 60, .status = 200},
			   .body_bytes = BODY,
			   .disk = disk});
	struct block *b = block_create(BODY);
	memset(b->p, version, BODY);
	b->n = BODY;
	cache_write_body(w, b, 0, BODY);
	block_unref(&b);
	struct object *o = cache_write_commit(&w, !disk);
	*on_disk = o && atomic_load(&o->on_disk);
	if (!o)
		return false;
	object_unref(&o);
	return true;
}

static char
look_up(struct cache *c, unsigned i)
{
	char text[64], version = GONE;
	struct str key = key_of(i, text);
	struct object *o =
		ask_look_up(c, &home, twice_key_hash_of(cache_seed(c), key.p, key.n), key);
	if (!o)
		return GONE;
	struct ask_body a = ASK_BODY(&home);
	if (ask_read(c, o, &a, 0, BODY) == BODY_READY)
		version = a.r.p[0];
	body_done(&a.r);
	object_unref(&o);
	return version;
}

static void
empty_ram(struct cache *c)
{
	char text[64];
	for (unsigned i = 0; i < 300; i++) {
		struct str key = key_of(i, text);
		ram_remove(c->ram, twice_key_hash_of(cache_seed(c), key.p, key.n), key);
	}
}

/* Objects 0 to n - 1 as version 'a', on disk alone. */
static void
fill_cache(unsigned n)
{
	bool on_disk;
	struct cache *c = open_cache();
	for (unsigned i = 0; i < n; i++)
		ck_assert(store_object(c, i, 'a', true, &on_disk) && on_disk);
	cache_close(&c);
}

static void
await_cache(struct cache *c)
{
	set_gate(ALL, -1);
	unit_wait_until(!cache_has_unread(c));
}

START_TEST(what_ram_takes_meanwhile_is_the_newest)
{
	enum { N = 200 };
	bool on_disk;
	begin_cache();
	fill_cache(N);
	set_gate(0, -1);
	struct cache *c = open_cache();
	ck_assert(cache_has_unread(c));
	ck_assert_int_eq(look_up(c, 0), GONE);
	ck_assert(store_object(c, 0, 'b', false, &on_disk) && !on_disk);
	ck_assert(store_object(c, 1, 'b', true, &on_disk) && !on_disk);
	ck_assert_int_eq(look_up(c, 0), 'b');
	await_cache(c);
	ck_assert_int_eq(look_up(c, 0), 'b');
	ck_assert_int_eq(look_up(c, 1), 'b');
	ck_assert_int_eq(look_up(c, 2), 'a');
	empty_ram(c);
	ck_assert_int_eq(look_up(c, 0), GONE);
	ck_assert_int_eq(look_up(c, 1), GONE);
	cache_close(&c);
	c = open_cache();
	await_cache(c);
	ck_assert_int_eq(look_up(c, 0), GONE);
	ck_assert_int_eq(look_up(c, 1), GONE);
	ck_assert_int_eq(look_up(c, 2), 'a');
	cache_close(&c);
	end_cache();
}
END_TEST

/* RAM takes no more than the purge log has room for. */
START_TEST(ram_takes_so_many_meanwhile)
{
	enum { N = 200 };
	bool on_disk;
	begin_cache();
	cache_options.memory_bytes = 256 * MIB;
	fill_cache(N);
	set_gate(0, -1);
	struct cache *c = open_cache();
	uint64_t most = forget_most(c->forget) / 8, taken = 0;
	for (unsigned i = 0; i < most + 50; i++)
		taken += store_object(c, 1000 + i, 'b', false, &on_disk);
	ck_assert_uint_eq(taken, most);
	await_cache(c);
	ck_assert(store_object(c, 1000 + (unsigned)most, 'c', false, &on_disk));
	cache_close(&c);
	end_cache();
}
END_TEST

START_TEST(what_is_purged_meanwhile_is_gone)
{
	enum { N = 200 };
	char text[64];
	begin_cache();
	fill_cache(N);
	for (int round = 0; round < 2; round++) {
		set_gate(0, -1);
		struct cache *c = open_cache();
		for (unsigned i = 0; i < 10; i++) {
			unsigned n = (unsigned)round * 10 + i;
			struct str key = key_of(n, text);
			struct twice_key_hash hash = twice_key_hash_of(cache_seed(c), key.p, key.n);
			struct purged f = cache_purge(c, FORGET_URL, false, hash, key);
			ck_assert(cache_purge_wait(c, f.at));
		}
		await_cache(c);
		for (unsigned i = 0; i < N; i++)
			ck_assert_int_eq(look_up(c, i), i < 10 + 10 * (unsigned)round ? GONE : 'a');
		cache_close(&c);
	}
	end_cache();
}
END_TEST

/* A key may have moved from one disk to the other. */
START_TEST(of_several_disks_nothing_is_believed_before_all_are_read)
{
	enum { N = 300 };
	bool on_disk;
	unsigned found = 0;
	begin_cache();
	cache_options.more = &more;
	cache_options.more_n = 1;
	fill_cache(N);
	set_gate(0, -1);
	struct cache *c = open_cache();
	ck_assert_uint_eq(atomic_load(&c->unread), 2);
	hold_dir(dirs[1]);
	set_gate(ALL, -1);
	unit_wait_until(atomic_load(&c->unread) == 1);
	ck_assert_uint_eq(unread_in(c->disks[0].store), 0);
	for (unsigned i = 0; i < N; i++)
		found += look_up(c, i) != GONE;
	ck_assert_uint_eq(found, 0);
	ck_assert(store_object(c, 3, 'b', true, &on_disk) && !on_disk);
	hold_dir(NULL);
	await_cache(c);
	empty_ram(c);
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(look_up(c, i), i == 3 ? GONE : 'a');
	cache_close(&c);
	end_cache();
}
END_TEST

UNIT("unread", TEST(segments_are_known_one_after_the_other_the_newest_first),
     TEST(an_older_version_is_not_believed_while_a_newer_one_may_be_unread),
     TEST(an_older_version_is_not_believed_for_what_is_known_since),
     TEST(what_goes_meanwhile_does_not_come_back), TEST(it_may_end_before_all_is_read),
     TEST(it_may_rest_and_work_before_all_is_read), TEST(a_damaged_table_is_made_up_for),
     TEST(others_ask_and_remove_while_it_is_read), TEST(what_ram_takes_meanwhile_is_the_newest),
     TEST(ram_takes_so_many_meanwhile), TEST(what_is_purged_meanwhile_is_gone),
     TEST(of_several_disks_nothing_is_believed_before_all_are_read))
