/* test_commits.c - two writes of one key end at once, one for RAM alone and one for the disk: an answer is
 * left, whichever it is. The cache calls out wherever another thread may come (cache_options.window); in each
 * such place of the one the other begins to end.
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

static struct {
	struct object_write *write;
	pthread_t thread;
	_Atomic int tid;
	_Atomic bool is_done;
	bool begun;
	int at, now;  /* the window that it begins in; windows so far */
	pthread_t by; /* the thread whose windows count */
} other;

static struct object_write *
begin_write(bool disk)
{
	struct write_options o = {
		.hash = twice_key_hash_of(cache_seed(c), key, strlen(key)),
		.key = str_of(key),
		.head = str_of("head"),
		.terms = {.response_time = now_s(),
			  .lifetime = 1000,
			  .last_modified = -1,
			  .status = 200},
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

static void
end_write(struct object_write **w)
{
	struct object *o = cache_write_commit(w, false);
	object_unref(&o);
}

static void *
end_other(void *ctx)
{
	(void)ctx;
	atomic_store(&other.tid, (int)gettid());
	end_write(&other.write);
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
end_both(bool one_for_disk, int at)
{
	snprintf(key, sizeof key, "http://a/%d/%d", one_for_disk, at);
	struct object_write *one = begin_write(one_for_disk);
	other.write = begin_write(!one_for_disk);
	atomic_store(&other.tid, 0);
	atomic_store(&other.is_done, false);
	other.begun = false;
	other.by = pthread_self();
	other.now = 0;
	other.at = at;
	end_write(&one);
	other.at = -1;
	if (!other.begun) {
		end_write(&other.write);
		return false;
	}
	pthread_join(other.thread, NULL);
	struct object *o = ask_look_up(c, &home, twice_key_hash_of(cache_seed(c), key, strlen(key)),
				       str_of(key));
	ck_assert_msg(o, "window %d of the one for %s: both are lost", at,
		      one_for_disk ? "the disk" : "RAM");
	object_unref(&o);
	return true;
}

START_TEST(one_of_two_at_once_is_left)
{
	begin();
	int windows = 0;
	while (windows < WINDOWS && end_both(_i, windows))
		windows++;
	ck_assert_int_gt(windows, 2);
	ck_assert_int_lt(windows, WINDOWS);
	end();
}
END_TEST

UNIT("commits", TIMES(one_of_two_at_once_is_left, 2))
