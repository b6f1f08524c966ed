/* test_commits.c - two threads change what is stored for one key: an answer is left, whichever it is. The cache
 * calls out wherever another thread may come (cache_options.window); in each such place of the one the other
 * does its work, as far as it gets.
 * rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/base/block.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_disk.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 3000, WINDOWS = 16, TEXT = 64 };

static char dir[256], key[TEXT];
static struct mailbox home;
static struct cache *c;

/* A key gets one of these: a new answer for RAM alone, or for the disk; the answer that RAM has goes to the disk, too; a 304
 * gives it another head. */
enum deed { TO_RAM, TO_DISK, ADMIT, REFRESH, DEEDS };
static const char *const words[DEEDS] = {"a write for RAM", "a write for the disk", "an admission",
					 "a refresh"};

struct work {
	enum deed deed;
	struct object_write *write; /* of the first two */
	struct object *object;	    /* of the others */
	uint64_t begun;
};

static struct {
	struct work work;
	pthread_t thread;
	_Atomic int tid;
	_Atomic bool is_done;
	bool begun;
	int at, now;  /* the window that it begins in; windows so far */
	pthread_t by; /* the thread whose windows count */
} other;

static struct twice_key_hash
hash(void)
{
	return twice_key_hash_of(cache_seed(c), key, strlen(key));
}

static struct object *
look_up(void)
{
	return ask_look_up(c, &home, hash(), str_of(key));
}

static struct terms
fresh(void)
{
	return (struct terms){
		.response_time = now_s(), .lifetime = 1000, .last_modified = -1, .status = 200};
}

static struct object_write *
begin_write(bool disk)
{
	struct write_options o = {
		.hash = hash(),
		.key = str_of(key),
		.head = str_of("head"),
		.terms = fresh(),
		.begun = cache_now(c),
		.kind = OBJECT_RESPONSE,
		.body_bytes = BYTES,
		.disk = disk,
	};
	struct object_write *w = cache_write_begin(c, &o);
	struct block *b = block_create(BYTES);
	memset(b->p, disk ? 'd' : 'r', BYTES);
	b->n = BYTES;
	cache_write_body(w, b, 0, BYTES);
	block_unref(&b);
	return w;
}

/* The cache may change between the beginning of a work and its end. */
static struct work
begin_work(enum deed d)
{
	struct work w = {.deed = d, .begun = cache_now(c)};
	if (d == TO_RAM || d == TO_DISK)
		w.write = begin_write(d == TO_DISK);
	else
		w.object = look_up();
	return w;
}

static void
end_work(struct work *w)
{
	struct object *o = NULL;
	struct terms terms = fresh();
	if (w->write)
		o = cache_write_commit(&w->write, false);
	else if (w->deed == ADMIT)
		cache_admit(c, w->object);
	else
		o = cache_refresh(c, w->object, str_of("new head"), str_of(""), &terms, w->begun);
	object_unref(&o);
	object_unref(&w->object);
}

static void *
end_other(void *ctx)
{
	(void)ctx;
	atomic_store(&other.tid, (int)gettid());
	end_work(&other.work);
	atomic_store(&other.is_done, true);
	return NULL;
}

/* It has ended, or waits for somebody. */
static bool
is_through(void)
{
	char path[64], line[512];
	int tid = atomic_load(&other.tid);
	if (atomic_load(&other.is_done) || !tid)
		return atomic_load(&other.is_done);
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	FILE *f = fopen(path, "r");
	bool any = f && fgets(line, sizeof line, f);
	if (f)
		fclose(f);
	char *name_ends = any ? strrchr(line, ')') : NULL;
	return !name_ends || name_ends[2] == 'S';
}

static void
on_window(void *ctx)
{
	(void)ctx;
	if (!pthread_equal(pthread_self(), other.by) || other.now++ != other.at)
		return;
	other.begun = true;
	ck_assert_int_eq(pthread_create(&other.thread, NULL, end_other, NULL), 0);
	unit_wait_until(is_through());
}

static void
begin(void)
{
	char err[512] = "";
	tmpdir_make(dir, sizeof dir);
	ck_assert_int_eq(mailbox_init(&home), 0);
	other.at = -1;
	struct cache_options o = {.dir = dir,
				  .disk_bytes = 1 << 30,
				  .memory_bytes = 64 << 20,
				  .shards = 1,
				  .ops = unsynced_disk(),
				  .window = on_window};
	ck_assert_msg(cache_open(&c, &o, err, sizeof err) == 0, "%s", err);
}

static void
end(void)
{
	cache_close(&c);
	mailbox_fini(&home);
	tmpdir_remove(dir);
}

/* False: the one has no such window. */
static bool
do_both(enum deed one, enum deed two, int at)
{
	snprintf(key, sizeof key, "http://a/%d/%d/%d", one, two, at);
	struct work old = begin_work(TO_RAM);
	end_work(&old);
	struct work w = begin_work(one);
	other.work = begin_work(two);
	atomic_store(&other.tid, 0);
	atomic_store(&other.is_done, false);
	other.begun = false;
	other.by = pthread_self();
	other.now = 0;
	other.at = at;
	end_work(&w);
	other.at = -1;
	if (other.begun)
		pthread_join(other.thread, NULL);
	else
		end_work(&other.work);
	struct object *o = look_up();
	ck_assert_msg(o, "%s in window %d of %s: nothing is left", words[two], at, words[one]);
	object_unref(&o);
	return other.begun;
}

START_TEST(of_two_at_once_one_is_left)
{
	begin();
	int windows = 0, two = _i % DEEDS;
	while (windows < WINDOWS && do_both(_i / DEEDS, two, windows))
		windows++;
	ck_assert_int_gt(windows, 0);
	ck_assert_int_lt(windows, WINDOWS);
	end();
}
END_TEST

UNIT("commits", TIMES(of_two_at_once_one_is_left, DEEDS *DEEDS))
