/* test_baseline.c - the ghost beside a running proxy: rings, threads, snapshots.
 * rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_stats.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITERS = 4, EACH = 20000, BYTES = 1000 };

static struct baseline *
make(struct cache *c, uint64_t disk)
{
	struct baseline *b = NULL;
	struct baseline_options o = {.ghost = {.disk_bytes = disk, .max_entries = 1 << 17},
				     .rings = WRITERS,
				     .cache = c};
	ck_assert_int_eq(baseline_create(&b, &o), 0);
	return b;
}

static struct twice_key_hash
key(uint64_t i)
{
	return (struct twice_key_hash){i, (i + 1) * 0x9e3779b97f4a7c15u};
}

static void
note(struct baseline_ring *r, uint64_t i)
{
	ck_assert(baseline_wants(r, key(i), 1000));
	baseline_note(r, &(struct ghost_event){.key = key(i).hi,
					       .url = key(i).hi,
					       .record_bytes = BYTES,
					       .body_bytes = BYTES,
					       .origin_bytes = BYTES,
					       .fresh_s = 1000,
					       .deed = GHOST_FETCHED,
					       .whole = true});
}

struct writer {
	struct baseline *b;
	unsigned n;
};

static void *
write_notes(void *arg)
{
	struct writer *w = arg;
	for (uint64_t i = 0; i < EACH; i++)
		note(baseline_ring(w->b, w->n), w->n * EACH + i);
	return NULL;
}

/* A note that is not lost is counted, and a lost one is counted as lost. */
START_TEST(every_note_is_seen_or_counted_as_dropped)
{
	struct baseline *b = make(NULL, 1 << 30);
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	struct baseline_stats s;
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){b, i};
		pthread_create(&threads[i], NULL, write_notes, &writers[i]);
	}
	for (int i = 0; i < 100; i++) {
		baseline_forget(b, key(UINT32_MAX)); /* nobody's */
		baseline_stats(b, &s);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.ghost.misses + s.dropped, WRITERS * EACH);
	double all = (double)(s.ghost.misses * BYTES); /* and what batches and footers add */
	ck_assert_double_eq_tol((double)s.ghost.written_bytes, all, 0.01 * all);
	baseline_destroy(&b);
	ck_assert_ptr_null(b);
}
END_TEST

START_TEST(what_is_forgotten_comes_after_what_was_noted)
{
	struct baseline *b = make(NULL, 1 << 30);
	struct baseline_stats s;
	for (uint64_t i = 0; i < 100; i++) {
		note(baseline_ring(b, 0), 1);
		baseline_forget(b, key(1));
	}
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.ghost.misses, 100);
	ck_assert_uint_eq(s.ghost.entries, 0);
	baseline_destroy(&b);
}
END_TEST

static _Atomic bool asks;

static void *
ask_much(void *arg)
{
	struct baseline_stats s;
	while (asks)
		baseline_stats(arg, &s);
	return NULL;
}

/* A thread that forgets while another one looks leaves it to that one; none of it is lost. */
START_TEST(what_is_forgotten_while_others_look_is_forgotten_too)
{
	enum { N = 3000 };
	struct baseline *b = make(NULL, 1 << 30);
	struct baseline_stats s;
	pthread_t thread;
	for (uint64_t i = 0; i < N; i++)
		note(baseline_ring(b, 0), i);
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.ghost.entries, N);
	asks = true;
	pthread_create(&thread, NULL, ask_much, b);
	for (uint64_t i = 0; i < N; i++)
		baseline_forget(b, key(i));
	asks = false;
	pthread_join(thread, NULL);
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.ghost.entries, 0);
	baseline_destroy(&b);
}
END_TEST

static void
wait_a_moment(void)
{
	int64_t now = now_us();
	while (now_us() == now)
		;
}

/* However long it takes until it is forgotten: what was fetched anew since is there. */
START_TEST(what_is_forgotten_while_others_look_is_so_at_its_time)
{
	enum { N = 3000 };
	struct baseline *b = make(NULL, 1 << 30);
	struct baseline_stats s;
	pthread_t thread;
	asks = true;
	pthread_create(&thread, NULL, ask_much, b);
	for (uint64_t i = 0; i < N; i++) {
		note(baseline_ring(b, i % WRITERS), i);
		wait_a_moment();
		baseline_forget(b, key(i));
		wait_a_moment();
		note(baseline_ring(b, (i + 1) % WRITERS), i);
	}
	asks = false;
	pthread_join(thread, NULL);
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.dropped, 0);
	ck_assert_uint_eq(s.ghost.misses, 2 * N);
	ck_assert_uint_eq(s.ghost.entries, N);
	baseline_destroy(&b);
}
END_TEST

/* A player's requests come to several workers; a part that passed before the whole was fetched is
 * no extra request. */
START_TEST(rings_are_read_in_the_order_of_time)
{
	struct baseline *b = make(NULL, 1 << 30);
	struct baseline_stats s;
	for (uint64_t i = 0; i < 50; i++) {
		baseline_note(baseline_ring(b, 1), &(struct ghost_event){.key = key(i).hi,
									 .url = key(i).hi,
									 .record_bytes = BYTES,
									 .body_bytes = BYTES,
									 .origin_bytes = 10,
									 .deed = GHOST_PART});
		wait_a_moment();
		note(baseline_ring(b, 0), i);
	}
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.ghost.extra_requests, 0);
	ck_assert_uint_eq(s.ghost.misses, 50);
	baseline_destroy(&b);
}
END_TEST

START_TEST(it_survives_a_restart_and_its_file_is_counted)
{
	char dir[256], err[256];
	struct cache *c = NULL;
	struct cache_stats before, after;
	struct baseline_stats s;
	tmpdir_make(dir, sizeof dir);
	struct cache_options o = {.dir = dir,
				  .disk_bytes = 64 << 20,
				  .memory_bytes = 1 << 20,
				  .reserve_bytes = 4 << 20};
	ck_assert_int_eq(cache_open(&c, &o, err, sizeof err), 0);
	struct baseline *b = make(c, o.disk_bytes);
	for (uint64_t i = 0; i < 3000; i++)
		note(baseline_ring(b, 1), i);
	cache_stats(c, &before);
	baseline_save(b);
	cache_stats(c, &after);
	ck_assert_uint_ge(after.written_bytes - before.written_bytes, 3000 * 32);
	ck_assert_uint_le(after.written_bytes - before.written_bytes, o.disk_bytes / 100 + 4096);
	baseline_destroy(&b);
	b = make(c, o.disk_bytes);
	for (uint64_t i = 0; i < 3000; i++)
		note(baseline_ring(b, 0), i);
	baseline_stats(b, &s);
	ck_assert_uint_eq(s.ghost.hits, 3000);
	ck_assert_uint_eq(s.ghost.written_bytes, 0);
	baseline_destroy(&b);
	cache_close(&c);
	tmpdir_remove(dir);
}
END_TEST

/* A small disk is not eaten by what is beside the log, and a large one not taxed by its size. */
static const struct {
	uint64_t disk, capacity, most;
} disks[] = {{64 << 20, 10000000, 4 << 20},
	     {UINT64_C(1) << 30, 10000000, 32 << 20},
	     {UINT64_C(100) << 30, 10000000, 200 << 20},
	     {UINT64_C(100) << 30, 100000000, 800 << 20},
	     {UINT64_C(16) << 40, 10000000, 200 << 20}};

START_TEST(little_is_reserved)
{
	uint64_t is = baseline_reserve_bytes(disks[_i].disk, disks[_i].capacity);
	ck_assert_uint_le(is, disks[_i].most);
	ck_assert_uint_ge(is, disks[_i].most / 2);
}
END_TEST

/* Nothing is saved at the end, as if it were killed. */
static uint64_t
hits_after_a_crash(struct cache *c, struct baseline **b, unsigned n)
{
	struct baseline_stats s;
	baseline_destroy(b);
	*b = make(c, 64 << 20);
	for (unsigned i = 0; i < n; i++)
		note(baseline_ring(*b, 0), i);
	baseline_stats(*b, &s);
	ck_assert_uint_eq(s.ghost.hits + s.ghost.misses, n);
	return s.ghost.hits;
}

static long
log_bytes(const char *dir)
{
	struct stat is;
	char path[300];
	snprintf(path, sizeof path, "%s/baseline.log", dir);
	return stat(path, &is) == 0 ? (long)is.st_size : 0;
}

START_TEST(it_survives_a_crash)
{
	char dir[100], err[200], path[300];
	tmpdir_make(dir, sizeof dir);
	struct cache_options o = {.dir = dir, .disk_bytes = 64 << 20};
	struct cache *c = NULL;
	int64_t now = 0;
	ck_assert_int_eq(cache_open(&c, &o, err, sizeof err), 0);
	struct baseline *b = make(c, 64 << 20);
	for (unsigned i = 0; i < 100; i++)
		note(baseline_ring(b, 0), i);
	baseline_tick(b, now);
	baseline_tick(b, now += 9999);
	ck_assert_int_eq(log_bytes(dir), 0); /* a few wait for more */
	baseline_tick(b, now += 1);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 120), 100);

	/* It goes on where it ended, and a snapshot has all of it. */
	long first = log_bytes(dir);
	baseline_tick(b, now);
	baseline_tick(b, now += 10000);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 120), 120);
	ck_assert_int_gt(log_bytes(dir), first);
	baseline_save(b);
	ck_assert_int_lt(log_bytes(dir), first);
	for (unsigned i = 120; i < 130; i++)
		note(baseline_ring(b, 0), i);
	baseline_tick(b, now);
	baseline_tick(b, now += 10000);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 130), 130);

	/* Of a torn block nothing is believed, and what comes goes in its place. */
	snprintf(path, sizeof path, "%s/baseline.log", dir);
	ck_assert_int_eq(truncate(path, log_bytes(dir) - 1), 0);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 130), 120);
	baseline_tick(b, now);
	baseline_tick(b, now += 10000);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 130), 130);
	baseline_destroy(&b);
	cache_close(&c);
	tmpdir_remove(dir);
}
END_TEST

/* The log of another snapshot says nothing of this one. */
START_TEST(a_log_belongs_to_its_snapshot)
{
	char dir[100], err[200], path[300], kept[300];
	tmpdir_make(dir, sizeof dir);
	struct cache_options o = {.dir = dir, .disk_bytes = 64 << 20};
	struct cache *c = NULL;
	ck_assert_int_eq(cache_open(&c, &o, err, sizeof err), 0);
	struct baseline *b = make(c, 64 << 20);
	note(baseline_ring(b, 0), 0);
	baseline_tick(b, 0);
	baseline_tick(b, 10000);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 1), 1);
	snprintf(path, sizeof path, "%s/baseline.log", dir);
	snprintf(kept, sizeof kept, "%s/kept", dir);
	ck_assert_int_eq(link(path, kept), 0);
	baseline_forget_all(b);
	baseline_save(b);
	ck_assert_int_eq(rename(kept, path), 0);
	ck_assert_uint_eq(hits_after_a_crash(c, &b, 1), 0);
	baseline_destroy(&b);
	cache_close(&c);
	tmpdir_remove(dir);
}
END_TEST

UNIT("baseline", LOOP(little_is_reserved, disks), TEST(every_note_is_seen_or_counted_as_dropped),
     TEST(what_is_forgotten_comes_after_what_was_noted),
     TEST(what_is_forgotten_while_others_look_is_forgotten_too),
     TEST(what_is_forgotten_while_others_look_is_so_at_its_time),
     TEST(rings_are_read_in_the_order_of_time), TEST(it_survives_a_restart_and_its_file_is_counted),
     TEST(it_survives_a_crash), TEST(a_log_belongs_to_its_snapshot))
