/* rooms: node admin cache http base filter
 * test_chronicle.c - the history on disk: when its file is damaged or cannot be written, that is said
 * once, and nothing is lost that could be kept.
 */
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/node/chronicle.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <fcntl.h>
#include <string.h>

static char dir[200], said_file[300], history_file[300], temporary[300];
static struct cache *cache;
static struct chronicle *chronicle;
static struct report now;

static void
report(void *ctx, struct report *out)
{
	(void)ctx;
	*out = now;
}

static void
open_all(void)
{
	char err[256] = "";
	struct cache_options o = {.dir = dir, .disk_bytes = 16 << 20, .keep_free = 1};
	ck_assert_msg(cache_open(&cache, &o, err, sizeof err) == 0, "%s", err);
	memset(&now, 0, sizeof now);
	chronicle = chronicle_create(cache);
	chronicle_begin(chronicle, report, NULL);
}

static void
close_all(void)
{
	chronicle_destroy(&chronicle);
	cache_close(&cache);
}

/* Lines of the log go to a file. */
static void
begin(void)
{
	tmpdir_make(dir, sizeof dir);
	snprintf(said_file, sizeof said_file, "%s.said", dir);
	snprintf(history_file, sizeof history_file, "%s/history", dir);
	snprintf(temporary, sizeof temporary, "%s/history.new", dir);
	int fd = open(said_file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	ck_assert_int_ge(fd, 0);
	dup2(fd, 2);
	close(fd);
	log_set_level(LOG_INFO);
	open_all();
}

static void
end(void)
{
	close_all();
	unlink(said_file);
	tmpdir_remove(dir);
}

static int
times_said(const char *words)
{
	static char all[65536];
	FILE *f = fopen(said_file, "r");
	ck_assert_ptr_nonnull(f);
	all[fread(all, 1, sizeof all - 1, f)] = 0;
	fclose(f);
	int n = 0;
	for (const char *p = all; (p = strstr(p, words)); p++)
		n++;
	return n;
}

static double
requests_ever(void)
{
	struct report r = now;
	history_lifetime(chronicle_history(chronicle), &r);
	return r.lifetime[REPORT_requests];
}

static void
come(unsigned requests)
{
	now.n[METRIC_REQUESTS] += requests;
	chronicle_save(chronicle);
}

START_TEST(what_cannot_be_saved_is_said_once_and_saved_later)
{
	begin();
	come(5);
	ck_assert_int_eq(mkdir(temporary, 0700), 0);
	for (int i = 0; i < 3; i++)
		come(1);
	ck_assert_int_eq(times_said("cannot save the history of this node"), 1);
	ck_assert_int_eq(rmdir(temporary), 0);
	come(0); /* nobody asked since, and still it is saved */
	come(0);
	ck_assert_int_eq(times_said("the history of this node is saved again"), 1);
	close_all();
	open_all();
	ck_assert_double_eq(requests_ever(), 8);
	ck_assert_int_eq(mkdir(temporary, 0700), 0); /* it is said again when it begins again */
	come(1);
	ck_assert_int_eq(times_said("cannot save the history of this node"), 2);
	close_all();
	open_all();
	ck_assert_double_eq(requests_ever(), 8); /* it ends where it was saved last */
	end();
}
END_TEST

START_TEST(a_damaged_history_is_said_once_and_replaced)
{
	begin();
	come(5);
	close_all();
	int fd = open(history_file, O_RDWR);
	ck_assert_int_eq(pwrite(fd, "damage", 6, 60), 6);
	close(fd);
	open_all();
	ck_assert_int_eq(times_said("history of this node is ignored"), 1);
	ck_assert_double_eq(requests_ever(), 0);
	come(3);
	close_all();
	open_all();
	ck_assert_double_eq(requests_ever(), 3);
	ck_assert_int_eq(times_said("history of this node is ignored"), 1);
	end();
}
END_TEST

START_TEST(without_a_directory_nothing_is_said)
{
	begin();
	close_all();
	struct cache_options o = {.memory_bytes = 1 << 20};
	char err[256] = "";
	ck_assert_int_eq(cache_open(&cache, &o, err, sizeof err), 0);
	chronicle = chronicle_create(cache);
	chronicle_begin(chronicle, report, NULL);
	come(5);
	ck_assert_int_eq(times_said("history"), 0);
	end();
}
END_TEST

UNIT("chronicle", TEST(what_cannot_be_saved_is_said_once_and_saved_later),
     TEST(a_damaged_history_is_said_once_and_replaced), TEST(without_a_directory_nothing_is_said))
