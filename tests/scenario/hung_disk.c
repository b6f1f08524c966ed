/* A disk that hangs below the page cache: whoever meets it sleeps in the kernel, so no worker may. */
#include "tests/kit/disk.h"
#include "tests/kit/kit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
/* RAM is too small for the objects, so that hits are read from the page cache. */
#define ON_DISK_WITH(more)                                          \
	"cache:\n  dir: %D/disk/c\n  disk: 64MiB\n  memory: 1MiB\n" \
	"  keep_free: 0\n" more "admission:\n  sightings: 1\n"
/* For scenarios in which the disk hangs: in others one that is slow, for the machine is busy, is not to be taken for that. */
#define ON_DISK ON_DISK_WITH("  read_timeout: 200ms\n")

enum { N = 60, BYTES = 60000 };

static void
fill_with(const char *yaml)
{
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_start_yaml(yaml);
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_wait_stat("disk.objects", N);
	/* No batch waits in memory, to be written in a second. */
	edge_expect_stat("disk.pending_bytes", 0);
}

static void
fill(const char *more)
{
	fill_with(text("%s%s", ON_DISK, more));
}

static int
hits_but(int but)
{
	int n = 0;
	for (int i = 0; i < N; i++) {
		if (i == but)
			continue;
		struct answer a = get(text("/o/%d", i));
		expect_status(a, 200);
		expect(a.body_bytes == BYTES && is_pattern(a.body, (uint64_t)i, 0, BYTES));
		n += verdict_has(a, "hit");
	}
	return n;
}

static int
hits(void)
{
	return hits_but(-1);
}

static bool
is_durable(struct answer a)
{
	return strstr(a.body, "\"durable\": true") != NULL;
}

/* The pages of its files have gone, so that the threads of the disk sleep in the kernel. */
static void
hang_cold(struct disk *d)
{
	disk_forget_pages(d, "c");
	disk_hang(d, "c");
	for (int i = 0; i < N; i++)
		expect_status(get(text("/o/%d", i)), 200);
	wait_until(edge_said("a read from the disk has taken more than"));
}

/* An answer that is being sent from a file when the hang is noticed may be cut, and no later one. */
static void
ask_for_all(void)
{
	for (int i = 0; i < N; i++) {
		struct client *c = client_open();
		client_request(c, "GET", text("/o/%d", i), NULL);
		expect_int(client_try(c, "GET").status, 200);
		client_close(c);
	}
}

static struct answer
health(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return client_read(c, "GET");
}

SCENARIO("hits, misses and new connections go on while the disk hangs")
{
	struct disk *d = disk_new("disk");
	clock_run(1);
	fill("");
	clock_hold(); /* a thread that reads from memory late is no disk that hangs */
	expect_int(hits(), N);
	disk_keep_pages(d, "c");
	disk_hang(d, "c");
	expect_int(hits(), N);
	disk_expect_awake("worker");
	for (int i = 0; i < N; i++) {
		origin_says(text("/new/%d", i), .fields = FRESH, .pattern_bytes = BYTES);
		expect_status(get(text("/new/%d", i)), 200);
	}
	expect_int(hits(), N);
	disk_expect_awake("worker");
	expect_answer(health(), 200, "ok\n"); /* what is asked for is in memory */
	disk_go_on(d);
	expect_int(hits(), N);
}

/* All that comes of a body is right, however much it is: a client in the middle of one is cut off when the next
 * piece cannot be read in time. */
static void
read_some(struct client *c, size_t from, size_t n)
{
	char *some = malloc(n);
	size_t got = client_read_body(c, some, n);
	expect(is_pattern(some, 7, from, got));
	free(some);
}

SCENARIO("large bodies that are sent from files wait for no disk")
{
	enum { LARGE = 12 << 20, SOME = 2300000, CLIENTS = 16 }; /* SOME: not in RAM */
	by_h1_only();
	by_http_only();
	struct disk *d = disk_new("disk");
	origin_says("/large", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = LARGE, .seed = 7);
	origin_says("/small", .fields = FRESH, .body = "hello");
	edge_start_yaml(ON_DISK);
	for (int i = 0; i < 2; i++)
		get("/large");
	edge_wait_stat("disk.written_bytes", LARGE);
	wait_until((get("/large"), edge_stat("bytes.from_files") > 0));
	struct client *slow[CLIENTS];
	for (int i = 0; i < CLIENTS; i++) {
		slow[i] = client_open_narrow();
		client_request(slow[i], "GET", "/large", NULL);
		client_read_head(slow[i]);
		read_some(slow[i], 0, SOME);
	}
	disk_forget_pages(d, "c");
	disk_hang(d, "");
	for (int i = 0; i < CLIENTS; i++)
		read_some(slow[i], SOME, SOME);
	wait_until(edge_said("a read from the disk has taken more than"));
	disk_expect_awake("worker");
	for (int i = 0; i < N; i++)
		expect_answer(get("/small"), 200, "hello");
	expect_answer(
		health(), 200,
		"degraded: 1 of 1 directories of the cache cannot be used (the log says more)\n");
	disk_go_on(d);
	for (int i = 0; i < CLIENTS; i++)
		client_close(slow[i]);
	expect_int((long long)get("/large").body_bytes, LARGE);
}

static double
from_files(void)
{
	return edge_stat("bytes.from_files");
}

SCENARIO("nothing is sent from a file of a disk that does not answer, though the page cache has it")
{
	enum { LARGE = 12 << 20 };
	by_h1_only();
	by_http_only();
	struct disk *d = disk_new("disk");
	clock_hold();
	origin_says("/large", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = LARGE, .seed = 7);
	edge_start_yaml(ON_DISK);
	for (int i = 0; i < 2; i++)
		get("/large");
	edge_wait_stat("disk.written_bytes", LARGE);
	get("/large");
	wait_until((get("/large"), from_files() > 0)); /* it is asked whether it answers */
	disk_keep_pages(d, "c");
	disk_hang(d, "");
	clock_advance(200);
	double before = from_files();
	for (int i = 0; i < 3; i++) {
		struct answer a = get("/large");
		expect(a.body_bytes == LARGE && is_pattern(a.body, 7, 0, LARGE));
	}
	expect_that(from_files() <= before, "%.0f bytes more were", from_files() - before);
	disk_expect_awake("worker");
	disk_go_on(d);
	wait_until((get("/large"), from_files() > before));
}

static struct output
tell(const char *command)
{
	return program(edge_binary(), command, "--admin", text("127.0.0.1:%u", edge_admin_port()));
}

static void *
tell_upgrade(void *out)
{
	*(struct output *)out = tell("upgrade");
	return NULL;
}

/* The time that an upgrade may take begins to pass when the new process has met the disk that hangs. */
static struct output
upgrade_that_hangs(struct disk *d)
{
	struct output o;
	pthread_t t;
	disk_hang_after_read(d, "c/seed");
	clock_hold();
	expect_int(pthread_create(&t, NULL, tell_upgrade, &o), 0);
	wait_until(disk_hangs(d));
	clock_run(1);
	expect_int(pthread_join(t, NULL), 0);
	return o;
}

SCENARIO("whoever asks why is answered while the disk hangs, and so is /healthz")
{
	struct disk *d = disk_new("disk");
	fill("");
	disk_forget_pages(d, "c");
	disk_hang(d, "");
	struct output o = program(edge_binary(), "explain", "http://example.com/o/1", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "A disk does not answer"), "it says: %s", o.out);
	expect_answer(health(), 200, "ok\n");
	disk_go_on(d);
}

/* The sockets that listen there, as the kernel numbers them; another program may be given the port later. */
static char *
listeners(unsigned port)
{
	enum { LISTEN = 10 };
	char line[512], *all = text(" ");
	unsigned at, state;
	unsigned long inode;
	FILE *f = fopen("/proc/net/tcp", "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%*d: %*8x:%4x %*8x:%*4x %2x %*8x:%*8x %*2x:%*8x %*8x %*u %*u %lu",
			   &at, &state, &inode) == 3 &&
		    at == port && state == LISTEN)
			all = text("%s%lu ", all, inode);
	if (f)
		fclose(f);
	return all;
}

SCENARIO("SIGTERM ends the process though the disk hangs")
{
	struct disk *d = disk_new("disk");
	fill("timeouts:\n  drain: 1s\n");
	hang_cold(d);
	char *save, *mine = listeners(edge_port());
	expect_that(*mine && mine[1], "nobody listens at port %u", edge_port());
	edge_signal(SIGTERM);
	wait_until(disk_proxy_has_ended());
	for (char *l = strtok_r(listeners(edge_port()), " ", &save); l;
	     l = strtok_r(NULL, " ", &save))
		expect_that(!strstr(mine, text(" %s ", l)), "socket %s still listens", l);
	expect(edge_said("without saving what the filters learnt"));
	disk_go_on(d);
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("an upgrade is taken back while the disk hangs, and works when it is back")
{
	struct disk *d = disk_new("disk");
	fill("timeouts:\n  upgrade: 1s\n");
	hang_cold(d);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct output o = tell("upgrade");
	expect_int(o.status, 1);
	expect(strstr(o.err, "a disk of the cache does not answer"));
	o = tell("reload");
	expect_int(o.status, 0);
	for (int i = 0; i < N; i++)
		expect_status(get(text("/o/%d", i)), 200);
	disk_go_on(d);
	wait_until((o = tell("upgrade")).status == 0);
	char *by = strstr(o.out, "process ");
	expect(by);
	edge_becomes((pid_t)atoi(by + strlen("process ")), 0);
	wait_until(hits() == N); /* who was served meanwhile was served from the origin */
}

SCENARIO("an upgrade is taken back when the disk begins to hang while the new process opens it")
{
	struct disk *d = disk_new("disk");
	clock_run(1);
	fill("timeouts:\n  upgrade: 3s\n");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct output o = upgrade_that_hangs(d);
	expect_int(o.status, 1);
	wait_until(edge_said("was killed and does not end"));
	o = tell("reload");
	expect_int(o.status, 0);
	ask_for_all();
	for (int i = 0; i < N; i++)
		expect_status(get(text("/o/%d", i)), 200);
	expect(!is_durable(edge_purge("url=http://example.com/o/1")));
	o = tell("upgrade");
	expect(strstr(o.err, "has not ended, for a disk holds it"));
	expect_status(get("/o/2"), 200);
	disk_go_on(d);
	wait_until(edge_said("the cache is written again"));
	wait_until(is_durable(edge_purge("url=http://example.com/o/1")));
	wait_until((o = tell("upgrade")).status == 0);
	char *by = strstr(o.out, "process ");
	expect(by);
	edge_becomes((pid_t)atoi(by + strlen("process ")), 0);
	origin_says("/o/1", .fields = FRESH, .body = "new");
	expect_answer(get("/o/1"), 200, "new");
	wait_until(hits_but(1) == N - 1);
}

SCENARIO(
	"SIGTERM ends a process whose successor the disk holds, and the next one starts without the directory")
{
	struct disk *d = disk_new("disk");
	clock_run(1);
	fill("timeouts:\n  upgrade: 3s\n  drain: 1s\n");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	expect_int(upgrade_that_hangs(d).status, 1);
	wait_until(edge_said("was killed and does not end"));
	edge_signal(SIGTERM);
	wait_until(disk_proxy_has_ended());
	/* The lock is that one's until the disk lets it go. */
	unsigned port = edge_beside(text("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\n"
					 "origins:\n  - url: %%O\ntimeouts:\n  upgrade: 3s\n%s",
					 ON_DISK));
	expect(port > 0);
	disk_go_on(d);
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("a node whose only disk is dead starts without it, and takes it back empty after a purge")
{
	struct disk *d = disk_new("disk");
	fill_with(ON_DISK_WITH(""));
	disk_die(d);
	edge_restart();
	expect(edge_said("The cache is in RAM only"));
	expect_answer(
		health(), 200,
		"degraded: 1 of 1 directories of the cache cannot be used (the log says more)\n");
	expect_int((long long)edge_stat("disk.left_out"), 1);
	expect_status(get("/o/1"), 200);
	struct answer purged = edge_purge("url=http://example.com/o/1");
	expect(strstr(purged.body, "\"durable\": false"));
	disk_mend(d);
	wait_until(edge_said("is taken back, empty"));
	wait_until(is_durable(edge_purge("url=http://example.com/o/2")));
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_answer(health(), 200, "ok\n");
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	hits();
	edge_wait_stat("disk.written_bytes", N * BYTES);
	expect_int(hits(), N);
	origin_says("/o/1", .fields = FRESH, .body = "new");
	expect(is_durable(edge_purge("url=http://example.com/o/1")));
	edge_restart();
	expect_answer(get("/o/1"), 200, "new");
	edge_kill9();
	edge_restart();
	expect_int(hits_but(1), N - 1);
}

SCENARIO("a dead disk that nothing was purged of meanwhile comes back with all it had")
{
	struct disk *d = disk_new("disk");
	fill_with(ON_DISK_WITH(""));
	edge_stop();
	disk_forget_pages(d, "c"); /* all is on the disk */
	disk_die(d);
	edge_restart();
	expect(edge_said("The cache is in RAM only"));
	expect_status(get("/o/1"), 200);
	disk_mend(d);
	wait_until(edge_said("the cache is on disk again, with what the directory held"));
	expect_int(hits(), N);
	edge_restart();
	expect_int(hits(), N);
}

SCENARIO("with cache.required nothing starts without the directory")
{
	struct disk *d = disk_new("disk");
	char *says;
	disk_die(d);
	edge_yaml("cache:\n  dir: %D/disk/c\n  disk: 64MiB\n  required: true\n");
	expect(edge_refuses(&says) != 0);
	expect_that(strstr(says, "/disk/c"), "it does not name the directory: %s", says);
}

SCENARIO("challenges whose disk hangs are answered 503 after a while, and all others at once")
{
	enum { ASKS = 80 }; /* more than may wait */
	by_h1_only();
	by_http_only();
	struct disk *d = disk_new("disk");
	FILE *f = fopen(text("%s/token", disk_path(d)), "w");
	fputs("token.thumbprint", f);
	fclose(f);
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml(
		"listen: 127.0.0.1:0\ntls: { self_signed: on, acme_challenges: %D/disk }\n");
	expect_answer(get("/.well-known/acme-challenge/token"), 200, "token.thumbprint");
	get("/x");
	disk_forget_file(d, "token");
	disk_hang(d, "");
	struct client *c[ASKS];
	for (int i = 0; i < ASKS; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", "/.well-known/acme-challenge/token", NULL);
	}
	for (int i = 0; i < N; i++)
		expect_answer(get("/x"), 200, "hello");
	disk_expect_awake("worker");
	client_close(c[0]); /* who leaves is not answered */
	for (int i = 1; i < ASKS; i++)
		expect_status(client_read(c[i], "GET"), 503);
	expect_answer(get("/x"), 200, "hello");
	disk_go_on(d);
	wait_until(get("/.well-known/acme-challenge/token").status == 200);
	disk_forget_file(d, "token");
	disk_hang(d, "");
	client_request(c[1], "GET", "/.well-known/acme-challenge/token", NULL);
	edge_signal(SIGTERM); /* with one under way */
	disk_go_on(d);
	expect_int(edge_wait_exit(), 0);
}
