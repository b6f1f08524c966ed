/* Players seek and leave, downloaders ask for many parts at once: what that makes us fetch.
 *
 * The bound: 1.15 times what the client took and one slice for each range it asked for; of a file
 * that is taken whole, 1.15 times the file. Counted is what we read from the origin. */
#include "tests/kit/kit.h"

#include <sys/stat.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)

enum { SLICES = 24, BYTES = SLICES * MIB, SEED = 3 };

static void
start_with_film(void)
{
	origin_says("/film", .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES,
		    .seed = SEED, .ranges = true);
	edge_start("--memory", "64MiB", "--disk", "256MiB");
}

static void
expect_fetched(double bound)
{
	wait_until(edge_stat("connections.closed") == edge_stat("connections.accepted"));
	double fetched = edge_stat("bytes.from_origin");
	note("%.2f MiB fetched, at most %.2f", fetched / MIB, bound / MIB);
	expect_between(fetched, 0, bound);
}

/* Plays a while from there, and leaves. */
static size_t
play(size_t from, const char *range, size_t n)
{
	static char got[MIB];
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/film", text("Range: bytes=%s\r\n", range));
	expect_status(client_read_head(c), 206);
	expect_int((long long)client_read_body(c, got, n), (long long)n);
	expect(is_pattern(got, SEED, from, n));
	client_reset(c);
	return n;
}

/* Its clients read little at a time: the kernel asks them for room by a timer. */
SCENARIO(
	"a player that probes, plays, seeks and leaves each time fetches little more than it takes")
{
	enum { SEEKS = 20, TAKES = 300000 };
	size_t took = 0;
	start_with_film();
	took += play(0, "0-1", 2);
	took += play(0, "0-", TAKES);
	for (int i = 0; i < SEEKS; i++) {
		size_t at = (size_t)i * 7919 * 131 % (BYTES - MIB);
		took += play(at, text("%zu-", at), TAKES);
	}
	expect_fetched(1.15 * ((double)took + (SEEKS + 2) * (double)MIB));
}

SCENARIO("requests for the rest of a file that are cut at once fetch a slice each at most")
{
	by_http_only();
	enum { CUTS = 20 };
	start_with_film();
	for (int i = 0; i < CUTS; i++) {
		struct client *c = client_open();
		client_request(c, "GET", "/film", text("Range: bytes=%d-\r\n", i * MIB + 1000));
		client_reset(c);
	}
	edge_wait_requests(CUTS);
	expect_fetched(1.15 * CUTS * (double)MIB);
}

SCENARIO("aria2c, eight parts at a time, has an unseen file fetched once")
{
	by_http_only();
	struct stat s;
	needs("aria2c");
	start_with_film();
	for (int i = 0; i < 2; i++) {
		char *name = text("file%d", i), *path = text("%s/%s", kit_dir(), name);
		struct output o = program("aria2c", "-q", "-x", "8", "-s", "8", "-k", "1M",
					  "--no-conf", "-d", kit_dir(), "-o", name,
					  text("http://127.0.0.1:%u/film", edge_port()));
		expect_int(o.status, 0);
		expect_int(stat(path, &s), 0);
		expect_int((long long)s.st_size, BYTES);
		char *got = malloc(BYTES);
		FILE *f = fopen(path, "r");
		expect(f && fread(got, 1, BYTES, f) == BYTES && fclose(f) == 0);
		expect(is_pattern(got, SEED, 0, BYTES));
	}
	expect_fetched(1.15 * BYTES);
}
