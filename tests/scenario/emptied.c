/* The cache directory is emptied, replaced or moved while the proxy runs. */
#include "tests/kit/kit.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define SETTINGS                                                   \
	"cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 1MiB\n" \
	"admission:\n  sightings: 1\n"

enum { N = 60, BYTES = 60000 };

static void
fill(void)
{
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_start_yaml(SETTINGS);
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_wait_stat("disk.written_bytes", N * BYTES);
}

static char *
in_cache(const char *name)
{
	return text("%s/%s", edge_cache_dir(), name);
}

static void
delete_files(const char *which)
{
	expect_int(program("sh", "-c", text("rm -rf %s", in_cache(which))).status, 0);
}

/* Bytes of files that the proxy has open and nobody else can see. */
static long long
hidden_bytes(void)
{
	long long sum = 0;
	char *fds = text("/proc/%d/fd", (int)edge_pid());
	DIR *all = opendir(fds);
	for (struct dirent *e; all && (e = readdir(all));) {
		struct stat st;
		if (stat(text("%s/%s", fds, e->d_name), &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_nlink == 0)
			sum += st.st_blocks * 512LL;
	}
	if (all)
		closedir(all);
	return sum;
}

static bool
is_durable(struct answer a)
{
	return strstr(a.body, "\"durable\": true") != NULL;
}

SCENARIO("a directory whose files were deleted is used no more, and its room is given back")
{
	fill();
	expect_int(hits_of("/o/", N, BYTES), N);
	delete_files("*");
	wait_until(edge_said("its files were deleted while this process uses them"));
	expect_between(hits_of("/o/", N, BYTES), 0, N / 2); /* RAM has some */
	wait_until(hidden_bytes() < 1 << 20);
	wait_until(is_durable(edge_purge("url=http://example.com/o/1")));
	expect_int(access(in_cache("purges"), R_OK), 0);
	char *says;
	expect(edge_refuses(&says) != 0);
	expect_that(strstr(says, "is in use by process"), "it is not refused: %s", says);
	origin_says("/o/1", .fields = FRESH, .body = "new");
	expect_answer(get("/o/1"), 200, "new");
	edge_restart();
	expect_int((long long)edge_stat("disk.objects"), 0);
	expect_answer(get("/o/1"), 200, "new");
}

SCENARIO("whoever takes the emptied directory has it alone")
{
	fill();
	edge_pause();
	delete_files("*");
	unsigned port = edge_beside(text(
		"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\norigins:\n  - url: %%O\n%s", SETTINGS));
	expect(port > 0);
	struct stat before, after;
	expect_int(stat(in_cache("purges"), &before), 0);
	edge_resume();
	expect(!is_durable(edge_purge("url=http://example.com/o/1")));
	wait_until(edge_said("its files were deleted while this process uses them"));
	for (int i = 0; i < N; i++) {
		origin_says(text("/new/%d", i), .fields = FRESH, .pattern_bytes = BYTES);
		get(text("/new/%d", i));
	}
	expect_int(stat(in_cache("purges"), &after), 0);
	expect(before.st_ino == after.st_ino);
}

SCENARIO("a purge log that was deleted is written anew before a purge is durable")
{
	fill();
	delete_files("purges");
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	expect_int(access(in_cache("purges"), R_OK), 0);
	edge_kill9();
	origin_says("/o/1", .fields = FRESH, .body = "new");
	edge_restart();
	expect_answer(get("/o/1"), 200, "new");
}

SCENARIO("a directory that was moved is told of and stays in use")
{
	fill();
	expect_int(rename(edge_cache_dir(), text("%s/aside", kit_dir())), 0);
	expect_int(mkdir(edge_cache_dir(), 0700), 0);
	wait_until(edge_said("it is another directory than at the start"));
	expect_int(hits_of("/o/", N, BYTES), N);
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	expect_int(access(text("%s/aside/purges", kit_dir()), R_OK), 0);
}
