/* Clients of different speed that read one fetch: the fast ones are not slowed by the slow ones. */
#include "tests/kit/kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

enum { BYTES = 48 << 20 };

/* A client that takes the head and then nothing. */
static struct client *
idler(const char *target)
{
	struct client *c = client_open_narrow();
	client_request(c, "GET", target, NULL);
	return c;
}

SCENARIO("a client that reads nothing does not stop another one")
{
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 3, .chunked = true,
		    .hold_head = go);
	edge_start();
	struct call *fast = call_get("/big");
	origin_wait_requests(1);
	struct client *idle = idler("/big");
	edge_wait_requests(2);
	barrier_open(go);
	int64_t began = kit_now_ms();
	struct answer a = call_wait(fast);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 3, 0, BYTES));
	note("the fast client had all after %lld ms", (long long)(kit_now_ms() - began));
	origin_expect_requests(1);
	/* Too large for RAM and not for the disk: the slow one is cut, and counted. */
	a = client_try(idle, "GET");
	expect(a.cut);
	expect(is_pattern(a.body, 3, 0, a.body_bytes));
	edge_wait_stat("connections.left_behind", 1);
}

SCENARIO("who was left behind gets the rest from the cache when the whole is there")
{
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 3, .hold_head = go);
	edge_yaml("admission:\n  sightings: 1\n");
	edge_start("--disk", "512MiB");
	struct call *fast = call_get("/big");
	origin_wait_requests(1);
	struct client *slow = idler("/big");
	edge_wait_requests(2);
	barrier_open(go);
	struct answer a = call_wait(fast);
	char *want = pattern(3, BYTES);
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	edge_wait_stat("disk.objects", 1);
	a = client_read(slow, "GET");
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	origin_expect_requests(1);
	expect_int((long long)edge_stat("connections.left_behind"), 0);
	edge_wait_stat("bytes.from_cache", 1); /* what came before it was left behind is not */
	expect_between(edge_stat("bytes.from_cache"), 1, BYTES - 1);
}

/* Of unknown length, so that it cannot lie in slices. */
SCENARIO("who was left behind gets the rest from the origin when it is kept nowhere")
{
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 3,
		    .hold_head = go, .ranges = true, .chunked = true, .times = 9);
	edge_start();
	struct call *fast = call_get("/big");
	origin_wait_requests(1);
	struct client *slow = client_open_narrow();
	client_request(slow, "GET", "/big", NULL);
	edge_wait_requests(2);
	barrier_open(go);
	struct answer a = call_wait(fast);
	char *want = pattern(3, BYTES);
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	a = client_read(slow, "GET");
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	origin_expect_requests(2);
	const char *range = heard_field(origin_last(), "Range");
	expect_that(range && atoll(range + strlen("bytes=")) > 0, "only the rest: %s", range);
	expect_text(heard_field(origin_last(), "If-Range"), "\"1\"");
}

/* One tag for both codings, and a part is never coded. */
SCENARIO("who was left behind in a coded body gets no rest that is not coded")
{
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = FRESH "Content-Encoding: gzip\r\n", .etag = "\"1\"",
		    .pattern_bytes = BYTES, .seed = 3, .hold_head = go, .chunked = true);
	origin_says("/big", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 4,
		    .ranges = true, .times = 9);
	edge_start();
	struct call *fast = call_with("GET", "/big", "Accept-Encoding: gzip\r\n", NULL);
	origin_wait_requests(1);
	struct client *slow = client_open_narrow();
	client_request(slow, "GET", "/big", "Accept-Encoding: gzip\r\n");
	edge_wait_requests(2);
	barrier_open(go);
	struct answer a = call_wait(fast);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 3, 0, BYTES));
	a = client_try(slow, "GET");
	expect(a.cut);
	expect(is_pattern(a.body, 3, 0, a.body_bytes));
}

SCENARIO("a slow reader of slices that are kept nowhere has its own fetched, and stops nobody")
{
	struct barrier *go = barrier_new();
	origin_says("/big", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 3,
		    .hold_head = go, .ranges = true);
	origin_says("/big", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 3,
		    .ranges = true);
	edge_start();
	struct call *fast = call_get("/big");
	origin_wait_requests(1);
	struct client *slow = client_open_narrow();
	client_request(slow, "GET", "/big", NULL);
	edge_wait_requests(2);
	barrier_open(go);
	struct answer a = call_wait(fast);
	char *want = pattern(3, BYTES);
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	a = client_read(slow, "GET");
	expect(a.body_bytes == BYTES && memcmp(a.body, want, BYTES) == 0);
	expect_between(edge_stat("bytes.from_origin"), BYTES, 2.0 * BYTES);
	for (int i = 1; i < origin_requests(); i++)
		expect_text(heard_field(origin_request(i), "If-Range"), "\"1\"");
}

SCENARIO("many slow clients elsewhere do not let a slow follower stop a fast one")
{
	enum { OTHERS = 40, OTHER = 6000000, HOT = 4000000 };
	struct barrier *go = barrier_new();
	origin_says("*", .fields = FRESH, .pattern_bytes = OTHER);
	origin_says("/hot", .fields = FRESH, .pattern_bytes = HOT, .seed = 9, .hold_head = go);
	edge_start_yaml("timeouts:\n  drain: 100ms\n");
	for (int i = 0; i < OTHERS; i++)
		idler(text("/other%d", i));
	wait_until(edge_stat("flights.bytes") >
		   48e6); /* three quarters of the bound: they run ahead less */
	struct call *fast = call_get("/hot");
	edge_wait_requests(OTHERS + 1);
	idler("/hot");
	edge_wait_requests(OTHERS + 2);
	barrier_open(go);
	struct answer a = call_wait(fast);
	expect(a.body_bytes == HOT && is_pattern(a.body, 9, 0, HOT));
	expect_int(origin_requests_for("/hot"), 1);
}

/* Each of them has this much of `what` once it waits. */
static void
slow_readers(const char *cache, const char *what, double each)
{
	enum { WHOLE = 12 << 20, READERS = 200, KIB_EACH = 24, FIRST = 200000 };
	origin_says("/big", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = WHOLE);
	edge_yaml(text("admission:\n  sightings: 1\ntimeouts:\n  send: 10m\n%s", cache));
	edge_start("--workers", "1", "--disk", "1GiB");
	get("/big");
	edge_wait_stat("disk.objects", 1);
	expect_verdict(get("/big"), "detail=disk");
	double before = (double)edge_rss_bytes();
	struct client *c[READERS];
	for (int i = 0; i < READERS; i++) {
		c[i] = client_open_narrow();
		client_request(c[i], "GET", "/big", NULL);
	}
	edge_wait_requests(2 + READERS);
	edge_wait_stat(what, READERS * each);
	if (!edge_is_sanitized())
		wait_until(((double)edge_rss_bytes() - before) / READERS < KIB_EACH * 1024);
	note("%d slow readers: %.0f bytes each", READERS,
	     ((double)edge_rss_bytes() - before) / READERS);
	char *want = pattern(0, WHOLE), *got = malloc(WHOLE);
	for (int i = 0; i < READERS; i += 50) {
		expect_status(client_read_head(c[i]), 200);
		expect_int((long long)client_read_body(c[i], got, FIRST), FIRST);
	}
	for (int i = 0; i < READERS; i += 50) {
		size_t rest = WHOLE - FIRST;
		expect_int((long long)client_read_body(c[i], got, rest), (long long)rest);
		expect(memcmp(got, want + FIRST, rest) == 0);
	}
	origin_expect_requests(1);
	for (int i = 0; i < READERS; i++)
		client_close(c[i]);
}

SCENARIO(
	"slow readers of an object on disk hold little memory, and get the right bytes when they go on")
{
	by_http_only();
	slow_readers("cache:\n  verify: always\n", "connections.given_back", 1);
}

SCENARIO("slow readers of an object that is sent from its file hold little memory too")
{
	by_http_only();
	slow_readers("", "bytes.from_files", 1000);
}

SCENARIO("slow readers of a body in one record on disk hold little memory")
{
	by_http_only();
	/* The first ones cost what the proxy keeps as its own: memory for the next ones. */
	enum { BODY = 200000, FIRST = 50, READERS = 300, KIB_EACH = 24 };
	struct client *c[READERS];
	double before = 0, each = 0;
	origin_says("*", .fields = FRESH, .pattern_bytes = BODY);
	edge_yaml("admission:\n  sightings: 1\ncache:\n  memory: 1MiB\ntimeouts:\n  send: 10m\n");
	edge_start("--workers", "1", "--disk", "1GiB");
	for (int i = 0; i < READERS; i++)
		get(text("/%d", i));
	edge_wait_stat("disk.objects", READERS);
	edge_restart();
	for (int i = 0; i < READERS; i++) {
		c[i] = client_open_far();
		client_request(c[i], "GET", text("/%d", i), NULL);
		if (i + 1 != FIRST)
			continue;
		edge_wait_requests(FIRST);
		edge_wait_stat("connections.given_back", FIRST);
		before = (double)edge_rss_bytes();
	}
	edge_wait_requests(READERS);
	edge_wait_stat("connections.given_back", READERS);
	wait_until((each = ((double)edge_rss_bytes() - before) / (READERS - FIRST)) <
			   KIB_EACH * 1024 ||
		   edge_is_sanitized());
	note("%d slow readers of %d bytes: %.0f bytes each", READERS, BODY, each);
	for (int i = 0; i < READERS; i++) {
		struct answer a = client_read(c[i], "GET");
		expect_verdict(a, "detail=disk");
		expect(a.body_bytes == BODY && is_pattern(a.body, 0, 0, BODY));
		client_close(c[i]);
	}
	origin_expect_requests(READERS);
}

/* All that was written to the cache's files is on disk, and nowhere else. */
static void
make_cold(void)
{
	const char *path = edge_cache_dir();
	DIR *dir = opendir(path);
	expect(dir);
	for (struct dirent *e; (e = readdir(dir)) != NULL;) {
		int fd = openat(dirfd(dir), e->d_name, O_RDONLY);
		if (fd >= 0 && fdatasync(fd) == 0)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
}

SCENARIO("many objects read from disk at once leave no memory behind")
{
	enum { EACH = 200000, READERS = 300, KIB_EACH = 24 };
	struct client *c[READERS];
	edge_yaml("admission:\n  sightings: 1\ncache:\n  memory: 1MiB\n");
	edge_start("--workers", "1", "--disk", "1GiB");
	for (int i = 0; i <= READERS; i++) {
		origin_says(text("/s%d", i), .fields = FRESH, .pattern_bytes = EACH,
			    .seed = (unsigned)i);
		get(text("/s%d", i));
	}
	edge_wait_stat("disk.objects", READERS + 1);
	edge_restart();
	make_cold();
	get(text("/s%d", READERS));
	double before = (double)edge_rss_bytes();
	for (int i = 0; i < READERS; i++)
		c[i] = idler(text("/s%d", i));
	edge_wait_stat("requests.disk_hits", READERS + 1);
	if (!edge_is_sanitized())
		wait_until(((double)edge_rss_bytes() - before) / READERS < KIB_EACH * 1024);
	note("%d readers: %.0f bytes each", READERS, ((double)edge_rss_bytes() - before) / READERS);
	for (int i = 0; i < READERS; i++)
		client_close(c[i]);
}
