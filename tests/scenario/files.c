/* Large bodies that were read and checked once are sent from their files. */
#include "tests/kit/kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

enum { WHOLE = 900000, SLICED = 3500000 };

/* A body in several pieces and one in slices, on disk, and none of it in memory. */
static void
fill(const char *settings)
{
	origin_says("/whole", .fields = FRESH, .pattern_bytes = WHOLE, .seed = 1);
	origin_says("/sliced", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = SLICED,
		    .seed = 2);
	edge_yaml(text("admission:\n  sightings: 1\n%s", settings));
	edge_start("--memory", "1MiB", "--disk", "256MiB");
	get("/whole");
	get("/sliced");
	edge_stop();
	edge_restart();
}

static void
expect_right(struct answer a, int seed, size_t from, size_t n)
{
	expect_int((long long)a.body_bytes, (long long)n);
	expect(is_pattern(a.body, (uint64_t)seed, from, n));
	expect_hit(a);
}

static double
from_files(void)
{
	return edge_stat("bytes.from_files");
}

SCENARIO(
	"what was checked once is sent from its file, whole, in parts and to one that reads slowly")
{
	by_h1_only();
	if (!by_kernel())
		by_http_only(); /* OpenSSL reads what it encrypts */
	fill("");
	expect_right(get("/whole"), 1, 0, WHOLE);
	expect_right(get("/sliced"), 2, 0, SLICED);
	edge_expect_stat("bytes.from_files", 0);
	/* While the disk is asked whether it answers a body is read. */
	wait_until((expect_right(get("/whole"), 1, 0, WHOLE), from_files() >= WHOLE / 2));
	double before = from_files();
	wait_until(
		(expect_right(get("/sliced"), 2, 0, SLICED), from_files() >= before + SLICED / 2));
	expect_right(get_with("/sliced", "Range: bytes=1000001-3000000\r\n"), 2, 1000001, 2000000);
	expect_right(get_with("/whole", "Range: bytes=500001-\r\n"), 1, 500001, WHOLE - 500001);
	struct answer two = get_with("/sliced", "Range: bytes=5-300004,2000000-2999999\r\n");
	expect_status(two, 206);
	expect(memmem(two.body, two.body_bytes, pattern(2, SLICED) + 5, 300000));
	expect(memmem(two.body, two.body_bytes, pattern(2, SLICED) + 2000000, 1000000));
	struct client *narrow = client_open_narrow();
	client_request(narrow, "GET", "/sliced", NULL);
	expect_right(get("/sliced"), 2, 0, SLICED);
	expect_right(client_read(narrow, "GET"), 2, 0, SLICED);
	origin_expect_requests(2);
}

SCENARIO("with cache.verify: always nothing is sent unread")
{
	fill("cache:\n  verify: always\n");
	for (int i = 0; i < 3; i++) {
		expect_right(get("/whole"), 1, 0, WHOLE);
		expect_right(get("/sliced"), 2, 0, SLICED);
	}
	edge_expect_stat("bytes.from_files", 0);
}

/* Flips every hundredth byte of the cache's segments, while the proxy runs. */
static void
spoil(void)
{
	struct output o = program("find", edge_cache_dir(), "-name", "segment.*");
	char *save;
	for (char *f = strtok_r(o.out, "\n", &save); f; f = strtok_r(NULL, "\n", &save)) {
		int fd = open(f, O_RDWR);
		off_t end = lseek(fd, 0, SEEK_END);
		for (off_t at = 0; at < end; at += 100) {
			char c;
			expect(pread(fd, &c, 1, at) == 1);
			c ^= 1;
			expect(pwrite(fd, &c, 1, at) == 1);
		}
		close(fd);
	}
}

SCENARIO("a file that somebody writes to is read and checked anew: no wrong byte is sent")
{
	by_h1_only();
	if (!by_kernel())
		by_http_only(); /* OpenSSL reads what it encrypts */
	fill("");
	/* While the disk is asked whether it answers a body is read. */
	wait_until((expect_right(get("/whole"), 1, 0, WHOLE),
		    expect_right(get("/sliced"), 2, 0, SLICED),
		    from_files() >= WHOLE / 2 + SLICED / 2));
	spoil();
	struct answer a = get("/whole"), b = get("/sliced");
	expect_int((long long)a.body_bytes, WHOLE);
	expect(is_pattern(a.body, 1, 0, WHOLE));
	expect_miss(a);
	expect_int((long long)b.body_bytes, SLICED);
	expect(is_pattern(b.body, 2, 0, SLICED));
}
