/* A directory that hangs, or is not the one that was there, when the process starts. */
#include "tests/kit/disk.h"
#include "tests/kit/kit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define ALONE                                                       \
	"cache:\n  dir: %D/disk/c\n  disk: 64MiB\n  memory: 1MiB\n" \
	"  keep_free: 0\n"                                          \
	"admission:\n  sightings: 1\n"                              \
	"timeouts:\n  upgrade: 1s\n"
#define TWO                                                      \
	"cache:\n  dir: %D/own\n  disk: 64MiB\n  memory: 1MiB\n" \
	"  keep_free: 0\n"                                       \
	"more_disks:\n  - dir: %D/disk/c\n    size: 64MiB\n"     \
	"admission:\n  sightings: 1\n"                           \
	"timeouts:\n  upgrade: 1s\n"

enum { N = 60, BYTES = 60000 };

/* The thread of ThreadSanitizer uses the processor while all others stand still. */
static void
needs_one_thread(void)
{
	if (edge_is_thread_sanitized())
		skip("ThreadSanitizer has a thread of its own");
}

static void
fill(const char *yaml)
{
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_start_yaml(yaml);
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_wait_stat("disk.objects", N);
	edge_wait_stat("disk.written_bytes", N * BYTES);
	edge_stop();
}

static struct answer
health(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return client_read(c, "GET");
}

static bool
is_durable(struct answer a)
{
	return strstr(a.body, "\"durable\": true") != NULL;
}

static struct output
check(const char *yaml)
{
	char *path = text("%s/check.yaml", kit_dir());
	FILE *f = fopen(path, "w");
	fprintf(f,
		"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\norigins:\n  - url: http://127.0.0.1:1\n%s",
		yaml);
	fclose(f);
	return program(edge_binary(), "check", "-c", path);
}

/* In one order of events the journal stands, in the other one not even the directory is in memory. */
static void
starts_without(struct disk *d)
{
	edge_restart();
	expect(edge_said("does not answer (the disk hangs). The cache is in RAM only"));
	expect_answer(
		health(), 200,
		"degraded: 1 of 1 directories of the cache cannot be used (the log says more)\n");
	expect_int((long long)edge_stat("disk.left_out"), 1);
	for (int i = 0; i < N; i++)
		expect_status(get(text("/o/%d", i)), 200);
	expect(!is_durable(edge_purge("url=http://example.com/o/1")));
	expect_int(
		program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()))
			.status,
		0);
	check(text("cache:\n  dir: %s/disk/c\n  disk: 64MiB\n", kit_dir()));
	disk_go_on(d);
	wait_until(edge_said("is taken back, empty"));
	wait_until(is_durable(edge_purge("url=http://example.com/o/2")));
	expect_answer(health(), 200, "ok\n");
	origin_says("/o/1", .fields = FRESH, .body = "new");
	expect_answer(get("/o/1"), 200, "new");
	edge_restart();
	expect_answer(get("/o/1"), 200, "new");
}

SCENARIO(
	"a start does without the only directory while its disk hangs, and takes it back without a restart")
{
	needs_one_thread();
	struct disk *d = disk_new("disk");
	fill(ALONE);
	disk_forget_pages(d, "c");
	disk_hang(d, "c");
	starts_without(d);
}

SCENARIO("a start does without a directory that nothing of is in memory")
{
	needs_one_thread();
	struct disk *d = disk_new("disk");
	fill(ALONE);
	disk_mend(d);
	disk_hang(d, "");
	struct output o = check(text("cache:\n  dir: %s/disk/c\n  disk: 64MiB\n", kit_dir()));
	expect_that(strstr(o.err, "/disk/c does not answer"), "check says: %s", o.err);
	starts_without(d);
}

/* The only directory hangs while the proxy starts, and then answers with what it holds. */
static struct disk *
start_without(void)
{
	struct disk *d = disk_new("disk");
	fill(ALONE);
	disk_mend(d);
	disk_hang(d, "");
	edge_restart();
	expect(edge_said("does not answer (the disk hangs). The cache is in RAM only"));
	return d;
}

static struct answer
ask_on(struct client *c, const char *method, const char *target)
{
	client_request(c, method, target, strcmp(method, "GET") ? "Content-Length: 0\r\n" : NULL);
	return client_read(c, method);
}

SCENARIO(
	"an only directory that answers again, with nothing purged meanwhile, is taken back with all it holds")
{
	needs_one_thread();
	struct disk *d = start_without();
	pid_t before = edge_pid();
	struct client *c = client_open();
	expect_status(ask_on(c, "GET", "/o/1"), 200);
	disk_go_on(d);
	wait_until(edge_said("the cache is on disk again, with what the directory held"));
	expect_int(edge_pid(), before);
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_answer(health(), 200, "ok\n");
	expect_int(hits_of("/o/", N, BYTES), N);
	expect_field(ask_on(c, "GET", "/o/2"), "Connection", "close");
	client_expect_closed(c);
	wait_until(edge_said("what served before has ended with its last client"));
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 0);
	expect_that(!strstr(o.out, "restart"), "a reload says: %s", o.out);
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	expect_int(hits_of("/o/", N, BYTES), N - 1);
	edge_restart();
	expect_int(edge_times_said("starting empty"), 0);
	expect_int(hits_of("/o/", N, BYTES), N);
}

SCENARIO("an invalidation by a connection of before empties the directory that was taken back")
{
	needs_one_thread();
	struct disk *d = start_without();
	struct client *c = client_open();
	expect_status(ask_on(c, "GET", "/o/1"), 200);
	disk_go_on(d);
	wait_until(edge_said("the cache is on disk again, with what the directory held"));
	expect_hit(get("/o/2"));
	origin_says("/o/1", .fields = FRESH, .body = "new");
	expect_status(ask_on(c, "POST", "/o/1"), 200);
	wait_until(edge_said("what served before has ended with its last client"));
	expect_answer(get("/o/1"), 200, "new");
	expect_miss(get("/o/3"));
	edge_restart();
	expect_answer(get("/o/1"), 200, "new");
}

static void
let_pass(int ms)
{
	int64_t until = clock_ms() + ms;
	clock_run(100);
	wait_until(clock_ms() >= until);
	clock_run(1);
}

SCENARIO("a node without its only directory remembers sightings, though there is no file for them")
{
	needs_one_thread();
	clock_run(1);
	struct disk *d = start_without();
	expect_status(get("/o/1"), 200);
	let_pass(70000); /* the log of sightings is due each minute */
	expect_status(get("/o/2"), 200);
	expect(!is_durable(edge_purge("url=http://example.com/o/1")));
	disk_go_on(d);
	wait_until(edge_said("is taken back, empty"));
}

SCENARIO("a directory that cannot be taken back is tried again, and meanwhile all is as it was")
{
	needs_one_thread();
	char *page = text("%s/page", kit_dir());
	struct disk *d = disk_new("disk");
	FILE *f = fopen(page, "w");
	fprintf(f, "hello");
	fclose(f);
	clock_run(1);
	fill(ALONE "routes:\n  - path: /page\n    answer: { status: 200, file: %D/page }\n");
	disk_mend(d);
	disk_hang(d, "");
	edge_restart();
	expect_int(rename(page, text("%s/aside", kit_dir())), 0);
	disk_go_on(d);
	wait_until(edge_said("the directory cannot be taken back with what it holds"));
	expect(edge_said("It is tried again in 60 s"));
	expect_int((long long)edge_stat("disk.left_out"), 1);
	expect_answer(get("/page"), 200, "hello");
	expect_int(hits_of("/o/", N, BYTES), 0);
	expect_int(rename(text("%s/aside", kit_dir()), page), 0);
	let_pass(55000);
	wait_until(edge_said("the cache is on disk again, with what the directory held"));
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_answer(get("/page"), 200, "hello");
	expect_int(hits_of("/o/", N, BYTES), N);
}

SCENARIO("a disk that hangs again while its directory is taken back holds nobody up")
{
	needs_one_thread();
	clock_run(1);
	struct disk *d = start_without();
	disk_go_on(d);
	wait_until(edge_said("another server opens it"));
	disk_hang(d, "");
	for (int i = 0; i < 5; i++)
		expect_status(get(text("/o/%d", i)), 200);
	wait_until(edge_said("cannot be taken back") || edge_said("the cache is on disk again"));
	disk_go_on(d);
	let_pass(55000); /* before it is tried again */
	wait_until(edge_said("the cache is on disk again, with what the directory held"));
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_int(hits_of("/o/", N, BYTES), N);
}

SCENARIO("a second disk that hangs at the start is taken back empty, and the first one serves")
{
	needs_one_thread();
	struct disk *d = disk_new("disk");
	fill(TWO);
	disk_mend(d);
	disk_hang(d, "");
	edge_restart();
	expect(edge_said("does not answer (the disk hangs). The other disks are used without it"));
	expect_answer(
		health(), 200,
		"degraded: 1 of 2 directories of the cache cannot be used (the log says more)\n");
	expect_between(hits_of("/o/", N, BYTES), 1, N - 1);
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	disk_go_on(d);
	wait_until(edge_said("is taken back, empty"));
	edge_wait_stat("disk.limit_bytes", 128 << 20);
	edge_purge("all=1");
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_wait_stat("disks.1.objects", 1);
	edge_wait_stat("disk.written_bytes", N * BYTES);
	expect_int(hits_of("/o/", N, BYTES), N);
	expect_answer(health(), 200, "ok\n");
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	edge_restart();
	expect_int(edge_times_said("starting empty"), 0);
	expect_int(hits_of("/o/", N, BYTES), N - 1);
}

SCENARIO("with cache.required a start refuses a directory that hangs, in its time")
{
	needs_one_thread();
	struct disk *d = disk_new("disk");
	char *says;
	disk_hang(d, "");
	edge_yaml("cache:\n  dir: %D/disk/c\n  disk: 64MiB\n  required: true\n"
		  "timeouts:\n  upgrade: 1s\n");
	expect(edge_refuses(&says) != 0);
	expect_that(strstr(says, "/disk/c"), "it does not name the directory: %s", says);
}

SCENARIO("a reload refuses files that hang, and answers")
{
	needs_one_thread();
	struct disk *d = disk_new("disk");
	FILE *f = fopen(text("%s/page", disk_path(d)), "w");
	fprintf(f, "hello");
	fclose(f);
	disk_mend(d);
	origin_says("/x", .fields = FRESH, .body = "x");
	edge_start();
	disk_hang(d, "");
	edge_rewrite("routes:\n  - path: /page\n    answer: { status: 200, file: %D/disk/page }\n");
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "/disk/page does not answer"), "it says: %s", o.err);
	expect_answer(get("/x"), 200, "x");
	disk_go_on(d);
	o = program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 0);
	expect_answer(get("/page"), 200, "hello");
}

#define ON_DISKS                                             \
	"cache:\n  dir: %D/disk/c\n  disk: 64MiB\n"          \
	"  memory: 1MiB\n  keep_free: 0\n"                   \
	"more_disks:\n  - dir: %D/more/c\n    size: 64MiB\n" \
	"admission:\n  sightings: 1\n"

static bool
is_on_root(void)
{
	struct stat here, root;
	return stat(kit_dir(), &here) == 0 && stat("/", &root) == 0 && here.st_dev == root.st_dev;
}

SCENARIO(
	"a disk that is not mounted is left out, its place stays as it was, and it is taken back when it is mounted")
{
	disk_new("disk");
	struct disk *d = disk_new("more");
	if (!is_on_root())
		skip("the temporary directory is not on the root file system");
	fill(ON_DISKS);
	disk_take_away(d);
	edge_restart();
	expect(edge_said("more/c is empty and on the root file system"));
	expect(access(text("%s/c", disk_path(d)), F_OK) != 0);
	expect_int((long long)edge_stat("disk.left_out"), 1);
	expect_between(hits_of("/o/", N, BYTES), 1, N - 1);
	edge_restart();
	expect_int(edge_times_said("more/c is empty and on the root file system"), 2);
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	disk_put_back(d);
	wait_until(edge_said("is taken back, empty"));
	edge_wait_stat("disk.limit_bytes", 128 << 20);
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_answer(health(), 200, "ok\n");
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_restart();
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_between(hits_of("/o/", N, BYTES), N - 1, N);
}

SCENARIO("a directory that was emptied before a start is told of")
{
	fill("cache:\n  dir: %D/own\n  disk: 64MiB\n"
	     "more_disks:\n  - dir: %D/second\n    size: 64MiB\n"
	     "admission:\n  sightings: 1\n");
	expect_int(program("sh", "-c", text("rm -rf %s/second", kit_dir())).status, 0);
	edge_restart();
	expect(edge_said("second: it is empty, though a disk of this cache was there"));
	expect_int((long long)edge_stat("disk.left_out"), 0);
}
