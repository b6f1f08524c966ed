/* A hit allocates nothing, a miss what the RAM tier keeps of it (issue 9).
 *
 * The proxy runs with a malloc that counts: a small library, made by the compiler here, that adds
 * to a file which the scenario maps as well.
 */
#include "tests/kit/kit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WARM = 400, REQUESTS = 1000 };

static const char shim[] =
	"#include <stdatomic.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <fcntl.h>\n"
	"#include <sys/mman.h>\n"
	"extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t),\n"
	"	*__libc_realloc(void *, size_t);\n"
	"static _Atomic long here[2], *count = here;\n" /* how many; from which size on they fail */
	"static int fails(size_t n) { ++*count; return count[1] && n >= (size_t)count[1]; }\n"
	"void *malloc(size_t n) { return fails(n) ? NULL : __libc_malloc(n); }\n"
	"void *calloc(size_t n, size_t m) { return fails(n * m) ? NULL : __libc_calloc(n, m); }\n"
	"void *realloc(void *p, size_t n) { return fails(n) ? NULL : __libc_realloc(p, n); }\n"
	"__attribute__((constructor)) static void begin(void) {\n"
	"	int fd = open(getenv(\"COUNT_FILE\"), O_RDWR);\n"
	"	void *p = mmap(NULL, 2 * sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);\n"
	"	if (p != MAP_FAILED) count = p; }\n";

static _Atomic long *count;

static void
start_counting(const char *yaml)
{
	const char *source = text("%s/count.c", kit_dir()), *lib = text("%s/count.so", kit_dir());
	const char *numbers = text("%s/numbers", kit_dir());
	if (edge_is_sanitized())
		skip("sanitizers have a malloc of their own");
	needs("cc");
	FILE *f = fopen(source, "w");
	expect(f && fputs(shim, f) >= 0 && fclose(f) == 0);
	struct output made = program("cc", "-O1", "-shared", "-fPIC", "-o", lib, source);
	expect_that(made.status == 0, "%s", made.err);
	int fd = open(numbers, O_RDWR | O_CREAT, 0600);
	expect(fd >= 0 && ftruncate(fd, 2 * sizeof *count) == 0);
	count = mmap(NULL, 2 * sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	expect(count != MAP_FAILED);
	setenv("COUNT_FILE", numbers, 1);
	setenv("LD_PRELOAD", lib, 1);
	edge_start_yaml(yaml);
	unsetenv("LD_PRELOAD");
	expect(*count > 0);
}

static void
ask_all(struct client *c, bool new, int from, int n, const char *word)
{
	for (int i = from; i < from + n; i++) {
		client_request(c, "GET", text("/%d", new ? i : 0), NULL);
		struct answer a = client_read(c, "GET");
		expect_status(a, 200);
		expect_verdict(a, word);
	}
}

/* Allocations of each of REQUESTS, when the first WARM have been answered. */
static double
per_request(bool new, const char *word)
{
	struct client *c = client_open();
	ask_all(c, new, 0, WARM, word);
	long before = *count;
	ask_all(c, new, WARM, REQUESTS, word);
	double each = (double)(*count - before) / REQUESTS;
	note("%.3f allocations a request", each);
	return each;
}

#define ONE_WORKER EDGE_CACHE("") "workers: 1\n"

SCENARIO("a hit allocates nothing")
{
	by_http_only();
	origin_says("/0", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 1024);
	start_counting(ONE_WORKER);
	get("/0");
	/* Work that threads do by the clock may add to it: a hundredth of an allocation. */
	expect_between(per_request(false, "hit"), 0, 0.01);
}

SCENARIO("a miss allocates what RAM keeps: the object and its body")
{
	by_http_only();
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 1024);
	start_counting(ONE_WORKER);
	expect_between(per_request(true, "detail=first-sight"), 1.9, 2.1);
}

SCENARIO("a miss that is not stored allocates nothing")
{
	by_http_only();
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = 1024);
	start_counting(ONE_WORKER);
	expect_between(per_request(true, "fwd=uri-miss"), 0, 0.02);
}

/* Heaps besides the first: glibc begins each at a multiple of 64 MiB, of which most is only reserved. */
static int
more_heaps(void)
{
	enum { HEAP = 64 << 20 };
	unsigned long from, until, begun = 0;
	char line[512], rights[8];
	int n = 0;
	FILE *f = fopen(text("/proc/%d/maps", (int)edge_pid()), "r");
	expect(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &until, rights) != 3)
			continue;
		n += rights[0] == '-' && begun && until == begun + HEAP;
		if (from % HEAP == 0)
			begun = rights[0] == 'r' ? from : 0;
	}
	fclose(f);
	return n;
}

SCENARIO("workers share a heap, so that memory freed by one serves another")
{
	if (edge_is_sanitized())
		skip("sanitizers have a malloc of their own");
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 20000);
	edge_start_yaml(EDGE_CACHE("") "workers: 4\n");
	for (int i = 0; i < 32; i++)
		get(text("/%d", i)); /* each by a connection of its own */
	note("%d more heaps", more_heaps());
	expect(more_heaps() == 0);
}

static void
expect_pattern(const char *target, uint64_t seed, size_t bytes)
{
	struct answer a = get(target);
	expect_status(a, 200);
	expect(a.body_bytes == bytes && is_pattern(a.body, seed, 0, bytes));
}

/* The process may have so many bytes of addresses more than it has now. */
static void
give_only(uint64_t more)
{
	char line[512];
	unsigned long long kib = 0;
	FILE *f = fopen(text("/proc/%d/status", (int)edge_pid()), "r");
	expect(f);
	while (fgets(line, sizeof line, f) && sscanf(line, "VmSize: %llu", &kib) != 1)
		;
	fclose(f);
	expect(kib > 0);
	struct rlimit limit = {kib * 1024 + more, RLIM_INFINITY};
	expect(prlimit(edge_pid(), RLIMIT_AS, &limit, NULL) == 0);
}

SCENARIO("where the system has less memory than the cache may take, the cache takes less")
{
	enum { BYTES = 100000, MORE = 48 << 20, OBJECTS = 2500 };
	if (edge_is_sanitized())
		skip("sanitizers have a malloc of their own");
	by_http_only();
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = BYTES);
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 1GiB\n");
	struct client *c = client_open();
	ask_all(c, true, 0, 1, "detail=first-sight");
	give_only(MORE);
	for (int i = 1; i < OBJECTS; i++) {
		client_request(c, "GET", text("/%d", i), NULL);
		expect_status(client_read(c, "GET"), 200);
	}
	wait_until(edge_said("the RAM tier gives up objects"));
	expect(edge_stat("ram.limit_bytes") < 3 * MORE);
	/* The rest of it is of use. */
	wait_until(verdict_has(get("/last"), "hit"));
}

SCENARIO("where there is no memory for large bodies they are passed on, and the process goes on")
{
	enum { BYTES = 3 << 20, MIDDLE = 100000 };
	by_http_only();
	origin_says("/large", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = BYTES,
		    .seed = 1);
	origin_says("/chunked", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = BYTES,
		    .seed = 2, .chunked = true);
	origin_says("/middle", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = MIDDLE,
		    .seed = 3, .times = 99);
	origin_says("/other", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = MIDDLE,
		    .seed = 4, .times = 99);
	start_counting(EDGE_CACHE("") "admission: { sightings: 1 }\n");
	expect_pattern("/middle", 3, MIDDLE);
	count[1] = 60000; /* libcurl takes less for a connection */
	expect_pattern("/large", 1, BYTES);
	expect_pattern("/chunked", 2, BYTES);
	expect_pattern("/other", 4, MIDDLE);
	expect_pattern("/middle", 3, MIDDLE); /* in RAM, or from the disk, or from the origin */
	count[1] = 0;
	/* Within a second it is noticed that there is memory again. */
	wait_until(verdict_has(get("/other"), "hit"));
}
