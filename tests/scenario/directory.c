/* The cache directory: one process, a hard limit, and clear words when it cannot be used. */
#include "tests/kit/kit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("a second process on the same directory is refused with a sentence")
{
	edge_start();
	char *says;
	int status = edge_refuses(&says);
	expect_that(status == 1 || status == 2, "expected exit 1 or 2, it was %d", status);
	expect_that(strstr(says, edge_cache_dir()), "it does not name the directory: %s", says);
	expect_that(strstr(says, "use") || strstr(says, "lock") || strstr(says, "another"),
		    "it does not say that another process has it: %s", says);
}

SCENARIO("a directory that cannot be made is refused with a sentence")
{
	char *says, *file = text("%s/file", kit_dir());
	fclose(fopen(file, "w"));
	int status = edge_refuses(&says, "--cache", text("%s/cache", file));
	expect_that(status == 1 || status == 2, "expected exit 1 or 2, it was %d", status);
	expect_that(strstr(says, file), "it does not name the place: %s", says);
}

SCENARIO("a directory without the right to write is refused with a sentence")
{
	if (geteuid() == 0) {
		/* Root may write anywhere; /proc refuses even root. */
		char *says;
		int status = edge_refuses(&says, "--cache", "/proc/twice-cache");
		expect_that(status == 1 || status == 2, "expected exit 1 or 2, it was %d", status);
		expect_that(strstr(says, "/proc/twice-cache"), "it does not name the place: %s",
			    says);
		return;
	}
	char *says, *dir = text("%s/closed", kit_dir());
	mkdir(dir, 0555);
	expect_that(edge_refuses(&says, "--cache", text("%s/cache", dir)) != 0, "it started");
	expect_that(strstr(says, dir), "it does not name the place: %s", says);
}

SCENARIO("a listen address that is taken is refused with a sentence")
{
	edge_start();
	char *says, *address = text("127.0.0.1:%u", origin_port());
	int status =
		edge_refuses(&says, "--listen", address, "--cache", text("%s/other", kit_dir()));
	expect_that(status == 1 || status == 2, "expected exit 1 or 2, it was %d", status);
	expect_that(strstr(says, address) || strstr(says, text("%u", origin_port())),
		    "it does not name the address: %s", says);
}

SCENARIO_IN(90, "the disk limit is never exceeded, eviction makes room, newest objects stay")
{
	enum { N = 400, BYTES = 100000, LIMIT = 8 << 20 };
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_yaml("admission:\n  sightings: 1\n");
	edge_start("--disk", "8MiB", "--memory", "1MiB");
	for (int i = 0; i < N; i++) {
		/* A disk that is behind may refuse an object (over-budget):
		 * it is asked for again. */
		wait_until(
			(get(text("/o/%d", i)),
			 edge_stat("disk.objects") + edge_stat("disk.evicted_objects") >= i + 1));
		if (i % 20 == 0)
			expect_between((double)edge_disk_usage(), 0, LIMIT);
	}
	expect_between((double)edge_disk_usage(), 0, LIMIT);
	edge_wait_stat("disk.evicted_objects", 1);
	expect_between(edge_stat("disk.used_bytes"), 1, LIMIT);
	expect_int((long long)edge_stat("disk.limit_bytes"), LIMIT);
	edge_restart();
	expect_between((double)edge_disk_usage(), 0, LIMIT);
	int hits = 0;
	for (int i = N - 20; i < N; i++) {
		struct answer a = get(text("/o/%d", i));
		expect(a.body_bytes == BYTES && is_pattern(a.body, (uint64_t)i, 0, BYTES));
		hits += verdict_has(a, "hit");
	}
	expect_between(hits, 10, 20);
}

SCENARIO("what counts as written agrees with the operating system")
{
	enum { N = 300, BYTES = 60000 };
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start_yaml("admission:\n  sightings: 1\n");
	double os = (double)edge_written_os(), ours = edge_stat("disk.written_bytes");
	/* On a busy disk the log grows more slowly than we write, and its oldest segment goes. */
	for (int i = 0; i < N; i++)
		wait_until(
			(get(text("/o/%d", i)),
			 edge_stat("disk.objects") + edge_stat("disk.evicted_objects") >= i + 1));
	/* Objects gathered in memory reach the disk sooner or later; both counts then agree. */
	wait_until(edge_stat("disk.written_bytes") - ours >= (double)N * BYTES * 0.9);
	edge_expect_stat("disk.pending_bytes", 0); /* nothing is written between the two looks */
	double ours_now = edge_stat("disk.written_bytes") - ours,
	       os_now = (double)edge_written_os() - os;
	if (os_now == 0)
		skip("this file system does not count write_bytes (tmpfs?)");
	expect_between(ours_now / os_now, 0.9, 1.1);
}

/* A file system of its own; unmounted when the scenario is over, should it not get to it. */
static char *
small_disk(const char *size)
{
	if (geteuid() != 0)
		skip("needs root for a small tmpfs");
	char *mount = text("%s/small", kit_dir());
	mkdir(mount, 0700);
	struct output o = program("mount", "-t", "tmpfs", "-o", size, "tmpfs", mount);
	if (o.status != 0)
		skip("cannot mount a tmpfs here: %s", o.err);
	program("sh", "-c",
		text("(while kill -0 %d; do sleep 1; done; umount -l %s) >/dev/null 2>&1 &",
		     (int)getpid(), mount));
	return mount;
}

SCENARIO("a full file system: serving goes on, storing stops, and it says so")
{
	char *mount = small_disk("size=6m");
	for (int i = 0; i < 200; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = 100000,
			    .seed = (uint64_t)i);
	edge_yaml("admission:\n  sightings: 1\n");
	char *cache = text("%s/cache", mount);
	edge_start("--cache", cache, "--disk", "64MiB", "--memory", "1MiB");
	for (int i = 0; i < 200; i++) {
		struct answer a = get(text("/o/%d", i));
		expect_status(a, 200);
		expect(a.body_bytes == 100000 && is_pattern(a.body, (uint64_t)i, 0, 100000));
	}
	wait_until(edge_said("space") || edge_said("full"));
	edge_stop();
	program("umount", "-l", mount);
}

SCENARIO("a limit of the size of files is a disk that fails, and not the end")
{
	struct rlimit little = {1, RLIM_INFINITY};
	origin_says("*", .fields = FRESH, .pattern_bytes = 30000);
	edge_start();
	get("/a");
	get("/a");
	edge_wait_stat("disk.objects", 1);
	expect(prlimit(edge_pid(), RLIMIT_FSIZE, &little, NULL) == 0);
	get("/b");
	get("/b");
	edge_wait_stat("disk.failing", 1);
	expect_hit(get("/a"));
	expect_status(get("/c"), 200);
}

SCENARIO("the cache leaves free what cache.keep_free says, and check says so")
{
	by_http_only();
	enum { MIB = 1 << 20, BYTES = 100000, N = 400 };
	char *mount = small_disk("size=40m");
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	char *settings = text("admission:\n  sightings: 1\ncache:\n  dir: %s/cache\n  disk: 36MiB\n"
			      "  memory: 1MiB\n  keep_free: 60%%\n",
			      mount);
	edge_start_yaml(settings);
	struct output o = program(edge_binary(), "check", "-c", text("%s/twice.yaml", kit_dir()));
	expect_that(o.status == 2 && strstr(o.err, "cache.keep_free"), "%d: %s", o.status, o.err);
	wait_until(edge_said("24 MiB are left to others"));
	for (int i = 0; i < N; i++)
		expect_status(get(text("/o/%d", i)), 200);
	wait_until(edge_stat("disk.evicted_objects") > 0); /* it has stopped growing */
	struct statvfs fs;
	expect(statvfs(mount, &fs) == 0);
	expect_between((double)fs.f_bavail * (double)fs.f_frsize / MIB, 24, 28);
	edge_expect_stat("disk.io_errors", 0);
	edge_stop(); /* saves its small files too */
	expect(statvfs(mount, &fs) == 0);
	expect_between((double)fs.f_bavail * (double)fs.f_frsize / MIB, 24, 28);
	program("umount", "-l", mount);
}

SCENARIO("an object that is evicted while it is being sent is sent to its end")
{
	enum { BYTES = 6 << 20 };
	origin_says("/slow", .fields = FRESH, .pattern_bytes = BYTES, .seed = 1);
	for (int i = 0; i < 400; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = 200000,
			    .seed = (uint64_t)i);
	edge_start_yaml(
		"admission:\n  sightings: 1\n"
		"cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 1MiB\n  max_object: 8MiB\n");
	get("/slow");
	edge_wait_stat("disk.objects", 1);
	edge_restart(); /* on disk for certain */
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/slow", NULL);
	struct answer a = client_read_head(c);
	expect_hit(a);
	for (int i = 0; i < 400; i++)
		get(text("/o/%d", i));
	edge_wait_stat("disk.evicted_objects", 100);
	char *got = malloc(BYTES), *want = pattern(1, BYTES);
	size_t n = client_read_body(c, got, BYTES);
	expect(memcmp(got, want, n) == 0);
	expect_int((long long)n, BYTES);
}
