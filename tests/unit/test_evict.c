/* test_evict.c - victims are not the oldest segments: what was asked for stays, and what was
 * replaced, removed or evicted never comes back in an older version, whenever the process is
 * killed. rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/store/store_inside.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_cache.h"
#include "tests/kit/own_store.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { KEYS = 400, GONE = -1, WRONG = -2 };

static void
begin(void)
{
	begin_with((struct cache_options){.disk_bytes = 9 << 20, .memory_bytes = 1 << 20});
}

static struct str
key_of(unsigned k, char *text, size_t n)
{
	return (struct str){text, (size_t)snprintf(text, n, "http://example.com/%u", k)};
}

static uint32_t
body_of(unsigned k, unsigned version, char *to)
{
	uint32_t n = 2000 + (k * 7919 + version * 104729) % 50000;
	memset(to, (int)(k * 31 + version), n);
	memcpy(to, &k, 4);
	memcpy(to + 4, &version, 4);
	return n;
}

/* o: its kind, sizes and lifetime. */
static bool
put_as(struct cache *c, unsigned k, struct block *b, struct write_options o)
{
	char text[64];
	struct str key = key_of(k, text, sizeof text);
	o.hash = twice_key_hash_of(cache_seed(c), key.p, key.n);
	o.key = key;
	o.head = str_of("HTTP/1.1 200 OK\r\n");
	o.terms.status = 200;
	o.body_bytes = b->n;
	o.disk = true;
	struct object_write *w = cache_write_begin(c, &o);
	cache_write_body(w, b, 0, b->n);
	struct object *object = cache_write_commit(&w, false);
	bool yes = object != NULL;
	object_unref(&object);
	block_unref(&b);
	return yes;
}

/* Stale for years: it goes where it is not asked for, however small it is. */
static bool
put(struct cache *c, unsigned k, unsigned version)
{
	struct block *b = block_create(64 << 10);
	b->n = body_of(k, version, b->p);
	return put_as(c, k, b, (struct write_options){.terms = {.lifetime = 1 << 30}});
}

static struct object *
look_up(struct cache *c, unsigned k)
{
	char text[64];
	struct str key = key_of(k, text, sizeof text);
	return ask_look_up(c, &home, twice_key_hash_of(cache_seed(c), key.p, key.n), key);
}

/* The whole body, or less when it was evicted meanwhile. */
static uint64_t
read_body(struct cache *c, struct object *o, char *to)
{
	struct ask_body a = ASK_BODY(&home);
	uint64_t at = 0;
	while (at < o->body_bytes && ask_read(c, o, &a, at, UINT64_MAX) == BODY_READY) {
		memcpy(to + at, a.r.p, a.r.n);
		at += a.r.n;
	}
	body_done(&a.r);
	return at;
}

/* The version of the key; an answer takes its bytes where it pays. */
static int
version_of(struct cache *c, unsigned k, bool pays)
{
	static char is[64 << 10], want[64 << 10];
	struct object *o = look_up(c, k);
	unsigned version;
	if (!o)
		return GONE;
	uint64_t n = read_body(c, o, is);
	if (pays)
		cache_pay(c, o, n);
	bool whole = n == o->body_bytes;
	object_unref(&o);
	if (!whole)
		return GONE;
	memcpy(&version, is + 4, 4);
	return body_of(k, version, want) == n && memcmp(is, want, n) == 0 ? (int)version : WRONG;
}

static void
forget_key(struct cache *c, unsigned k)
{
	char text[64];
	struct str key = key_of(k, text, sizeof text);
	cache_remove_lasting(c, twice_key_hash_of(cache_seed(c), key.p, key.n), key);
	ram_remove(c->ram, twice_key_hash_of(cache_seed(c), key.p, key.n), key);
}

static void
drop_key(struct cache *c, unsigned k)
{
	char text[64];
	struct str key = key_of(k, text, sizeof text);
	store_drop(c->disks[0].store, twice_key_hash_of(cache_seed(c), key.p, key.n));
	ram_remove(c->ram, twice_key_hash_of(cache_seed(c), key.p, key.n), key);
}

/* ---- what is small stays ------------------------------------------------------------------- */

/* One of each kind, small, and nobody asks for it. */
enum { SMALL_FRESH = 1, SMALL_REFRESHED, SMALL_STALE, SMALL_HEAD, SMALL_MARKER };

static void
put_small(struct cache *c, unsigned k, int64_t lifetime, enum object_kind kind)
{
	struct block *b = block_create(600);
	b->n = kind == OBJECT_SLICED ? 0 : 600;
	memset(b->p, 's', b->n);
	ck_assert(
		put_as(c, k, b,
		       (struct write_options){.terms = {.response_time = now_s(),
							.lifetime = lifetime,
							.stale_while_revalidate =
								k == SMALL_REFRESHED ? 1 << 20 : 0},
					      .kind = kind,
					      .whole_bytes = kind == OBJECT_SLICED ? 5 << 20 : 0}));
}

static bool
holds(struct cache *c, unsigned k)
{
	char text[64];
	struct str key = key_of(k, text, sizeof text);
	struct locator at;
	unsigned hits;
	return store_find(c->disks[0].store, twice_key_hash_of(cache_seed(c), key.p, key.n), &at,
			  &hits);
}

/* Ten turns of the log, of bodies fifty times as large; the second time what is written was not asked for before. */
START_TEST(what_is_small_stays_though_nobody_asks_if_it_could_answer)
{
	begin();
	struct cache *c = open_cache();
	cache_expect(c, !_i);
	put_small(c, SMALL_FRESH, 1 << 30, OBJECT_RESPONSE);
	put_small(c, SMALL_REFRESHED, 0, OBJECT_RESPONSE);
	put_small(c, SMALL_STALE, 0, OBJECT_RESPONSE);
	put_small(c, SMALL_HEAD, 1 << 30, OBJECT_SLICED);
	put_small(c, SMALL_MARKER, 0, OBJECT_MARKER);
	for (unsigned i = 0; i < 3000; i++) {
		await_room(c->disks[0].store);
		put(c, 1000 + i, 1);
		if (i % 20 == 0)
			store_flush(c->disks[0].store);
	}
	ck_assert(!holds(c, 1000));
	ck_assert_int_eq(holds(c, SMALL_FRESH), !_i);
	ck_assert_int_eq(holds(c, SMALL_REFRESHED), !_i);
	ck_assert(!holds(c, SMALL_STALE));
	ck_assert(!holds(c, SMALL_HEAD));
	ck_assert_int_eq(holds(c, SMALL_MARKER), !_i);
	cache_close(&c);
	end();
}
END_TEST

/* ---- what is asked for stays --------------------------------------------------------------- */

START_TEST(what_is_asked_for_stays)
{
	begin();
	struct cache *c = open_cache();
	unsigned lost = 0;
	for (unsigned i = 0; i < 3000; i++) { /* ten turns of the log */
		await_room(c->disks[0].store);
		put(c, 1000 + i, 1);
		if (i % 20 == 0)
			store_flush(c->disks[0].store);
		if (i % 50 == 0)
			for (unsigned k = 0; k < 8; k++)
				if (version_of(c, k, true) == GONE) {
					lost += i > 0;
					ck_assert(put(c, k, 1));
				}
	}
	ck_assert_uint_le(lost, 8);
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_gt(s.evicted_objects, 1500);
	cache_close(&c);
	end();
}
END_TEST

/* The body lies in a segment that is asked for; the head that a 304 brought, in one that is not. The
 * object itself is cold. */
START_TEST(a_new_head_does_not_go_before_its_body)
{
	begin();
	options.memory_bytes = 0;
	struct cache *c = open_cache();
	struct object *o, *new;
	for (unsigned k = 0; k < 8; k++)
		put(c, k, 1);
	for (unsigned i = 0; i < 1200; i++) {
		if (i == 40) {
			o = look_up(c, 0);
			new = cache_refresh(c, o, str_of("HTTP/1.1 200 OK\r\nX: 1\r\n"), o->tags,
					    &o->terms, cache_now(c));
			object_unref(&new);
			object_unref(&o);
		}
		await_room(c->disks[0].store);
		put(c, 1000 + i, 1);
		for (unsigned k = 1; k < 8 && i % 10 == 0; k++)
			ck_assert_int_eq(version_of(c, k, true), 1);
		store_flush(c->disks[0].store);
	}
	for (int restarted = 0; restarted < 2; restarted++) {
		ck_assert_int_eq(version_of(c, 0, false), 1);
		o = look_up(c, 0);
		ck_assert(str_eq(o->head, STR("HTTP/1.1 200 OK\r\nX: 1\r\n")));
		object_unref(&o);
		cache_close(&c);
		c = open_cache();
	}
	cache_close(&c);
	end();
}
END_TEST

/* Objects hot before a restart are the oldest on disk, and stay; also when the process was killed
 * after its last snapshot. */
START_TEST(what_earned_its_place_keeps_it_over_a_restart)
{
	begin();
	pid_t child = fork();
	if (child == 0) {
		struct cache *c = open_cache();
		mailbox_fini(&home);
		mailbox_init(&home);
		for (unsigned k = 0; k < 8; k++)
			put(c, k, 1);
		for (unsigned i = 0; i < 250; i++) {
			put(c, 1000 + i, 1);
			store_flush(c->disks[0].store);
			if (i % 50 == 49)
				for (unsigned k = 0; k < 8; k++)
					version_of(c, k, true);
		}
		if (_i)
			cache_save_earnings(c);
		else
			cache_close(&c);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	struct cache *c = open_cache();
	unsigned kept = 0;
	for (unsigned i = 0; i < 150; i++) {
		put(c, 2000 + i, 1);
		store_flush(c->disks[0].store);
	}
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_gt(s.evicted_objects, 100);
	for (unsigned k = 0; k < 8; k++)
		kept += version_of(c, k, false) == 1;
	ck_assert_uint_eq(kept, 8);
	cache_close(&c);
	end();
}
END_TEST

/* ---- never an older version ---------------------------------------------------------------- */

/* The older version lies in a segment that is asked for and stays; the newer one's is cold and goes
 * first. Then the process is killed. */
START_TEST(what_was_replaced_is_not_back_when_its_successor_goes)
{
	begin();
	pid_t child = fork();
	if (child == 0) {
		struct cache *c = open_cache();
		mailbox_fini(&home);
		mailbox_init(&home);
		for (unsigned k = 0; k < 8; k++)
			put(c, k, 1);
		store_flush(c->disks[0].store);
		for (unsigned i = 0; i < 1200; i++) {
			if (i == 40)
				put(c, 0, 2);
			put(c, 1000 + i, 1);
			for (unsigned k = 1; k < 8 && i % 10 == 0; k++)
				version_of(c, k, true);
			store_flush(c->disks[0].store);
		}
		await_room(c->disks[0].store); /* what moves on is on disk, too */
		store_flush(c->disks[0].store);
		_exit(version_of(c, 0, false) == GONE && version_of(c, 1, false) == 1 ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	struct cache *c = open_cache();
	ck_assert_int_eq(version_of(c, 0, false), GONE);
	ck_assert_int_eq(version_of(c, 1, false), 1);
	cache_close(&c);
	end();
}
END_TEST

static atomic_bool sync_fails;
static atomic_uint failed;

/* The first file that is to be emptied cannot be, for as long as this says. */
static atomic_bool renew_fails = true;
static _Atomic int kept = -1;

static int
failing_renew(int fd, off_t bytes)
{
	struct stat is;
	int none = -1;
	if (fstat(fd, &is) == 0 && is.st_size > 0)
		atomic_compare_exchange_strong(&kept, &none, fd);
	if (fd != atomic_load(&kept) || !atomic_load(&renew_fails))
		return diskio_system.renew(fd, bytes);
	atomic_fetch_add(&failed, 1);
	errno = EIO;
	return DISKIO_KEPT;
}

/* And nothing is written to it before the end of the process. */
static ssize_t
late_write(int fd, const void *p, size_t n, off_t at)
{
	while (fd == atomic_load(&kept) && atomic_load(&renew_fails))
		pause();
	return diskio_system.write(fd, p, n, at);
}

enum { TURN = 300 }; /* so many fill the log */

/* Then nobody makes room, and all that was promised is on disk. */
static void
put_others(struct cache *c, unsigned from, unsigned n)
{
	struct store *st = c->disks[0].store;
	for (unsigned i = 0; i < n; i++) {
		put(c, from + i, 1);
		store_flush(st);
		await_rest(st);
	}
	forget_wait(c->forget, forget_now(c->forget));
}

/* In a process of its own, which ends as by kill -9. */
static void
killed_after(bool (*f)(struct cache *c))
{
	int status;
	pid_t child = fork();
	if (child == 0)
		_exit(f(open_cache()) ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

static bool
replaced_in_peace(struct cache *c)
{
	bool stored = put(c, 0, 1);
	put_others(c, 1000, TURN / 2);
	stored &= put(c, 0, 2);
	put_others(c, 2000, TURN);
	return stored && atomic_load(&failed) > 0;
}

static bool
until_the_disk_works(struct cache *c)
{
	bool yes = replaced_in_peace(c);
	atomic_store(&renew_fails, false);
	c->disks[0].store->health.retry_ms = 0;
	put_others(c, 3000, 2 * TURN);
	return yes && version_of(c, 0, false) == GONE &&
	       version_of(c, 3000 + 2 * TURN - 1, false) == 1;
}

static bool
has(struct cache *c, unsigned k)
{
	char text[64];
	struct str key = key_of(k, text, sizeof text);
	return cache_disks_have(c, twice_key_hash_of(cache_seed(c), key.p, key.n));
}

/* Nobody makes room while this says so. */
static void
keep_from_preparing(struct store *st, bool yes)
{
	pthread_mutex_lock(&st->lock);
	st->preparing = yes;
	pthread_mutex_unlock(&st->lock);
}

/* The slot of the oldest segment is given away before it is empty, and it cannot be emptied. Nothing of the next
 * generation is written there yet when the segment goes whose record replaced one of it. */
static bool
replaced_in_haste(struct cache *c)
{
	struct store *st = c->disks[0].store;
	bool stored = put(c, 0, 1);
	put_others(c, 1000, 12); /* more than a segment */
	stored &= put(c, 0, 2);
	put_others(c, 2000, TURN / 2);
	keep_from_preparing(st, true);
	for (unsigned i = 0; i < 2 * TURN && atomic_load(&kept) < 0; i++) {
		put(c, 3000 + i, 1);
		usleep(1000);
	}
	unit_wait_until(atomic_load(&failed) > 0);
	bool there = has(c, 0); /* whoever is asked for moves on */
	st->health.retry_ms = 0;
	while (store_free_one(st))
		continue;
	return stored && there && !has(c, 0);
}

static bool (*const lives[])(struct cache *) = {replaced_in_peace, until_the_disk_works,
						replaced_in_haste};

/* The bytes of the oldest segment stay on disk, so that the next start finds them: what replaced them does not
 * go before they do without being forgotten. */
START_TEST(what_cannot_be_given_back_is_not_back)
{
	static struct diskio_ops ops;
	begin();
	ops = *options.ops;
	ops.renew = failing_renew;
	ops.write = late_write;
	options.ops = &ops;
	options.memory_bytes = 0;
	killed_after(lives[_i]);
	struct cache *c = open_cache();
	ck_assert_int_ne(version_of(c, 0, false), 1);
	cache_close(&c);
	end();
}
END_TEST

static bool
stored_once(struct cache *c)
{
	bool yes = put(c, 0, 1);
	put_others(c, 1000, TURN / 2);
	return yes;
}

static bool
replaced_unseen(struct cache *c)
{
	bool yes = version_of(c, 0, false) == GONE && put(c, 0, 2);
	put_others(c, 2000, 2 * TURN);
	return yes && version_of(c, 0, false) == GONE;
}

/* A segment whose file cannot be opened at one start, and can at the next. */
START_TEST(what_a_start_could_not_read_is_not_back)
{
	char file[300], aside[300];
	begin();
	options.memory_bytes = 0;
	snprintf(file, sizeof file, "%s/segment.00000", dir);
	snprintf(aside, sizeof aside, "%s/aside", dir);
	killed_after(stored_once);
	ck_assert_int_eq(rename(file, aside), 0);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	killed_after(replaced_unseen);
	ck_assert_int_eq(rmdir(file), 0);
	ck_assert_int_eq(rename(aside, file), 0);
	struct cache *c = open_cache();
	ck_assert_int_ne(version_of(c, 0, false), 1);
	ck_assert_int_eq(version_of(c, 2000 + 2 * TURN - 1, false), 1);
	cache_close(&c);
	end();
}
END_TEST

static int
failing_sync(int fd)
{
	if (!atomic_load(&sync_fails))
		return fdatasync(fd);
	atomic_fetch_add(&failed, 1);
	errno = EIO;
	return -1;
}

static unsigned
count_found(struct cache *c, unsigned n)
{
	unsigned found = 0;
	for (unsigned k = 0; k < n; k++)
		found += version_of(c, k, false) == 2;
	return found;
}

/* All that is stored has replaced something, so that it must be forgotten, durably, before its
 * segment goes. The purge log fails: no room is won by what is lost then. */
START_TEST(what_cannot_be_forgotten_stays)
{
	enum { N = 200, OLDEST = 9999 };
	static struct diskio_ops ops;
	struct locator oldest;
	char text[64];
	unsigned hits;
	begin();
	ops = diskio_system;
	ops.sync = failing_sync;
	options.ops = &ops;
	options.memory_bytes = 0;
	options.purge_retry_ms = 1;
	struct cache *c = open_cache();
	struct store *st = c->disks[0].store;
	struct str key = key_of(OLDEST, text, sizeof text);
	ck_assert(put(c, OLDEST,
		      1)); /* its segment stays: all others have an older one behind them */
	ck_assert(store_find(st, twice_key_hash_of(cache_seed(c), key.p, key.n), &oldest, &hits));
	ck_assert(store_lease(st, &oldest));
	for (unsigned version = 1; version <= 2; version++)
		for (unsigned k = 0; k < N; k++) {
			await_room(c->disks[0].store);
			ck_assert(put(c, k, version));
			store_flush(st);
		}
	unsigned before = count_found(c, N), more = 0;
	ck_assert_uint_gt(before, N / 2);
	atomic_store(&failed, 0);
	atomic_store(&sync_fails, true);
	while (forget_is_sound_at(c->forget, 0)) { /* until room is wanted */
		put(c, 1000 + more++, 1);
		store_flush(st);
	}
	unsigned tried = atomic_load(&failed) + 400;
	unit_wait_until(atomic_load(&failed) >= tried);
	atomic_store(&sync_fails, false);
	unit_wait_until(forget_is_sound_at(c->forget, 0));
	unsigned after = count_found(c, N);
	ck_assert_msg(after + before / 10 >= before, "%u of %u are left, %u were put meanwhile",
		      after, before, more);
	for (unsigned k = 0; k < N; k++) { /* and then room is made again */
		await_room(c->disks[0].store);
		ck_assert(put(c, 2000 + k, 1));
		store_flush(st);
	}
	store_unlease(st, &oldest);
	cache_close(&c);
	end();
}
END_TEST

/* The child tells the parent this. least: no older version than this may ever be found again. */
static struct told {
	_Atomic int least[KEYS];
	_Atomic unsigned steps, evicted, forgotten;
} * told;

struct life {
	struct cache *c;
	int now[KEYS]; /* the last version, or one more than the last that was removed */
	uint64_t random;
};

static unsigned
draw(struct life *l, unsigned below)
{
	l->random = l->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(l->random >> 33) % below;
}

/* Few keys change much, so that their segments are full of what was replaced; others hardly. */
static unsigned
some_key(struct life *l)
{
	unsigned k = draw(l, KEYS);
	return draw(l, 3) ? k / 8 : k;
}

static void
settle(struct life *l)
{
	store_flush(l->c->disks[0].store);
	forget_wait(l->c->forget, forget_now(l->c->forget));
	for (unsigned k = 0; k < KEYS; k++)
		atomic_store(&told->least[k], l->now[k]);
	struct cache_stats s;
	cache_stats(l->c, &s);
	atomic_store(&told->evicted, (unsigned)s.evicted_objects);
	atomic_store(&told->forgotten, (unsigned)s.purges.kept);
}

static void
step(struct life *l)
{
	unsigned k = some_key(l), what = draw(l, 20);
	if (what < 9) {
		if (put(l->c, k, (unsigned)l->now[k] + 1))
			l->now[k]++;
	} else if (what < 17) {
		int v = version_of(l->c, draw(l, KEYS), true);
		if (v == WRONG)
			abort();
	} else if (what < 18) {
		forget_key(l->c, k);
		l->now[k]++;
	} else {
		drop_key(l->c, k);
	}
	int v = version_of(l->c, k, false);
	if (v != GONE && v != l->now[k])
		abort(); /* while it runs there is only the last one */
	atomic_fetch_add(&told->steps, 1);
}

static void
live(uint64_t seed)
{
	struct life l = {.c = open_cache(), .random = seed};
	for (unsigned k = 0; k < KEYS; k++) {
		l.now[k] = version_of(l.c, k, false);
		if (l.now[k] == GONE) /* above what was not told */
			l.now[k] = atomic_load(&told->least[k]) + 1000;
	}
	for (int i = 1;; i++) {
		step(&l);
		if (i % 37 == 0)
			settle(&l);
	}
}

/* Puts, replacements, removals and evictions in any order, and SIGKILL at any time, again and again
 * on one directory: no version is found that is older than the last one. */
START_TEST(killed_at_any_time_no_older_version_is_back)
{
	begin();
	uint64_t seed = (uint64_t)time(NULL) * 1000 + (unsigned)_i;
	printf("seed %llu\n", (unsigned long long)seed);
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned evicted = 0, found = 0, rounds = getenv("TWICE_LONG") ? 100 : 8;
	for (unsigned round = 0; round < rounds; round++) {
		unsigned enough = 700 + (unsigned)(seed + round * 7919) % 900;
		atomic_store(&told->steps, 0);
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			mailbox_fini(&home);
			mailbox_init(&home);
			live(seed + round);
		}
		int status;
		while (atomic_load(&told->steps) < enough && waitpid(child, &status, WNOHANG) == 0)
			usleep(500);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		ck_assert_int_eq(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL);
		evicted += atomic_load(&told->evicted);
		struct cache *c = open_cache();
		for (unsigned k = 0; k < KEYS; k++) {
			int v = version_of(c, k, false), least = atomic_load(&told->least[k]);
			ck_assert_int_ne(v, WRONG);
			ck_assert_msg(v == GONE || v >= least,
				      "round %u, key %u: %d is back, %d was the last", round, k, v,
				      least);
			found += v != GONE;
		}
		cache_close(&c);
	}
	ck_assert_uint_gt(evicted, rounds * 50);
	ck_assert_uint_gt(found, rounds * 20);
	munmap(told, sizeof *told);
	end();
}
END_TEST

UNIT("evict", TIMES(what_is_small_stays_though_nobody_asks_if_it_could_answer, 2),
     TEST(what_is_asked_for_stays), TIMES(what_earned_its_place_keeps_it_over_a_restart, 2),
     TEST(a_new_head_does_not_go_before_its_body),
     TEST(what_was_replaced_is_not_back_when_its_successor_goes),
     TEST(what_cannot_be_forgotten_stays), LOOP(what_cannot_be_given_back_is_not_back, lives),
     TEST(what_a_start_could_not_read_is_not_back),
     TIMES(killed_at_any_time_no_older_version_is_back, 2))
