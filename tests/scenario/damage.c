/* A damaged record is a miss; a wrong byte is never served. */
#include "tests/kit/kit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
enum { N = 60, BYTES = 30000 };

static void
fill(void)
{
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i + 1);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_stop();
}

/* Flips one byte in every `step` of each file of the segments. */
static void
damage(int step, int from)
{
	struct output o = program("find", edge_cache_dir(), "-name", "segment.*");
	char *save;
	for (char *f = strtok_r(o.out, "\n", &save); f; f = strtok_r(NULL, "\n", &save)) {
		int fd = open(f, O_RDWR);
		off_t end = lseek(fd, 0, SEEK_END);
		for (off_t at = from; at < end; at += step) {
			char c;
			if (pread(fd, &c, 1, at) != 1)
				break;
			c ^= 0x40;
			if (pwrite(fd, &c, 1, at) != 1)
				fail("cannot write %s", f);
		}
		close(fd);
	}
}

static int
check_all(void)
{
	int hits = 0;
	for (int i = 0; i < N; i++) {
		struct client *c = client_open();
		client_request(c, "GET", text("/o/%d", i), NULL);
		struct answer a = client_try(c, "GET");
		client_close(c);
		expect_int(a.status, 200);
		char *want = pattern((uint64_t)i + 1, BYTES);
		/* A body found damaged while it is being sent may be cut, but never wrong. */
		expect_that(a.body_bytes <= BYTES && memcmp(a.body, want, a.body_bytes) == 0,
			    "wrong bytes were served for object %d (%s)", i, verdict(a));
		expect_that(!a.fault || a.cut, "a bad answer: %s", a.fault);
		hits += !a.cut && verdict_has(a, "hit");
	}
	return hits;
}

SCENARIO("flipped bytes all over the segments: misses, never wrong bytes")
{
	fill();
	damage(5000, 777);
	edge_restart();
	note("%d hits of %d after the damage", check_all(), N);
	check_all();
}

SCENARIO("every place in a record: one flip per run of a few objects")
{
	fill();
	for (int round = 0; round < 6; round++) {
		damage(BYTES + 1500, round * 5003 + 13);
		edge_restart();
		check_all();
		edge_stop();
	}
}

SCENARIO("segments cut short: misses, and the proxy goes on")
{
	fill();
	struct output o = program("find", edge_cache_dir(), "-name", "segment.*");
	char *save;
	for (char *f = strtok_r(o.out, "\n", &save); f; f = strtok_r(NULL, "\n", &save))
		if (truncate(f, 70000) != 0)
			fail("cannot cut %s", f);
	edge_restart();
	check_all();
}

SCENARIO("segments taken away: misses, and the proxy goes on")
{
	fill();
	program("find", edge_cache_dir(), "-name", "segment.*", "-delete");
	edge_restart();
	expect_int(check_all(), 0);
	expect_int(check_all(), N);
}

SCENARIO("segments full of foreign bytes: nothing is served from them")
{
	fill();
	program("sh", "-c",
		text("for f in $(find %s -name 'segment.*'); do head -c 70000 /dev/urandom > $f; done",
		     edge_cache_dir()));
	edge_restart();
	check_all();
}

/* One damaged byte at an offset of a body that takes several pieces, in every copy of it. */
static void
flip_in_body(const char *body, size_t at)
{
	struct output o = program("find", edge_cache_dir(), "-name", "segment.*");
	char *save;
	int flipped = 0;
	for (char *f = strtok_r(o.out, "\n", &save); f; f = strtok_r(NULL, "\n", &save)) {
		static char bytes[4 << 20];
		int fd = open(f, O_RDWR);
		ssize_t n = pread(fd, bytes, sizeof bytes, 0);
		char *found = n > 0 ? memmem(bytes, (size_t)n, body + at, 64) : NULL;
		for (; found; found = memmem(bytes, (size_t)n, body + at, 64)) {
			*found ^= 1;
			if (pwrite(fd, found, 1, found - bytes) != 1)
				fail("cannot write %s", f);
			flipped++;
		}
		close(fd);
	}
	expect_that(flipped > 0, "the body is not on disk");
}

SCENARIO("one damaged byte of a large body: a miss, or one answer is cut and the next is a miss")
{
	enum { LARGE = 1 << 20 };
	static const size_t places[] = {100, 700000};
	char *body = pattern(5, LARGE);
	origin_says("/large", .fields = FRESH, .pattern_bytes = LARGE, .seed = 5, .times = 9);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/large");
	for (int i = 0; i < 2; i++) {
		edge_stop();
		flip_in_body(body, places[i]);
		edge_restart();
		struct client *c = client_open();
		client_request(c, "GET", "/large", NULL);
		struct answer a = client_try(c, "GET");
		client_close(c);
		expect(memcmp(a.body, body, a.body_bytes) == 0);
		/* The first piece is looked at before anything is sent. */
		if (i == 0)
			expect_miss(a);
		expect_that(a.cut == (i == 1), "cut: %d", a.cut);
		a = get("/large");
		expect_int((long long)a.body_bytes, LARGE);
		expect(memcmp(a.body, body, LARGE) == 0);
		expect_hit(get("/large"));
	}
	/* And the piece that a range begins with. */
	edge_stop();
	flip_in_body(body, 900000);
	edge_restart();
	struct answer a = get_with("/large", "Range: bytes=900000-900099\r\n");
	expect_status(a, 206);
	expect_int((long long)a.body_bytes, 100);
	expect(memcmp(a.body, body + 900000, 100) == 0);
	expect_miss(a);
}

SCENARIO("a damaged slice is fetched again, and no other one")
{
	enum { MIB = 1 << 20, FILM = 5 * MIB + 123 };
	char *body = pattern(5, FILM);
	origin_says("/film", .fields = FRESH, .etag = "\"v\"", .pattern_bytes = FILM, .seed = 5,
		    .ranges = true, .times = 9);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/film");
	edge_expect_stat("disk.objects", 7);
	edge_stop();
	flip_in_body(body, MIB + MIB / 2);
	edge_restart();
	struct answer a = get("/film");
	expect_int((long long)a.body_bytes, FILM);
	expect(memcmp(a.body, body, FILM) == 0);
	origin_expect_requests(2);
	expect_text(heard_field(origin_last(), "Range"), text("bytes=%d-%d", MIB, 2 * MIB - 1));
}

static const char *const small_files[] = {"seed", "format"};

SCENARIO("the small files beside the segments, spoilt: refused with a sentence, or begun anew")
{
	fill();
	for (size_t i = 0; i < sizeof small_files / sizeof *small_files; i++) {
		program("sh", "-c", text("cp -r %s %s.good", edge_cache_dir(), edge_cache_dir()));
		program("sh", "-c", text("echo short > %s/%s", edge_cache_dir(), small_files[i]));
		char *says;
		if (edge_refuses_or_runs(&says) == 0) {
			check_all();
			edge_stop();
		} else {
			expect_that(strstr(says, edge_cache_dir()),
				    "it does not name the place: %s", says);
		}
		program("sh", "-c",
			text("rm -r %s; mv %s.good %s", edge_cache_dir(), edge_cache_dir(),
			     edge_cache_dir()));
	}
}

SCENARIO(
	"a segment that cannot be read: the log names the file and a way out, the answer is fetched")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start_yaml("admission:\n  sightings: 1\ncache:\n  dir: %D/cache\n  disk: 64MiB\n"
			"  memory: 1MiB\n");
	get("/x");
	edge_restart(); /* all of it is on disk, nothing in RAM */
	struct output o = program("sh", "-c",
				  text("for f in %s/segment.*; do : >$f; done", edge_cache_dir()));
	expect_int(o.status, 0);
	struct answer a = get("/x");
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, BYTES);
	expect_verdict(a, "fwd=uri-miss");
	origin_expect_requests(2);
	wait_until(edge_said("cannot read segment.0")); /* its words come through a pipe */
	wait_until(edge_said("too short") && edge_said("cache.dir"));
	expect_that(!strstr(edge_stderr(), "cannot write"), "%s", edge_stderr());
}
