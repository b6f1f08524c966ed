/* What a request allocates: a hit nothing, a miss what the RAM tier keeps of it (issue 9).
 *
 * The proxy runs with a malloc that counts: a small library, made by the compiler here, that adds
 * to a file which the scenario maps as well.
 */
#include "tests/kit/kit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WARM = 400, REQUESTS = 1000 };

static const char shim[] =
	"#include <stdatomic.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <fcntl.h>\n"
	"#include <sys/mman.h>\n"
	"extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t),\n"
	"	*__libc_realloc(void *, size_t);\n"
	"static _Atomic long here, *count = &here;\n"
	"void *malloc(size_t n) { ++*count; return __libc_malloc(n); }\n"
	"void *calloc(size_t n, size_t m) { ++*count; return __libc_calloc(n, m); }\n"
	"void *realloc(void *p, size_t n) { ++*count; return __libc_realloc(p, n); }\n"
	"__attribute__((constructor)) static void begin(void) {\n"
	"	int fd = open(getenv(\"COUNT_FILE\"), O_RDWR);\n"
	"	void *p = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);\n"
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
	expect(fd >= 0 && ftruncate(fd, sizeof *count) == 0);
	count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
	origin_says("/0", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 1024);
	start_counting(ONE_WORKER);
	get("/0");
	/* What threads do by the clock may fall into it: a hundredth of an allocation. */
	expect_between(per_request(false, "hit"), 0, 0.01);
}

SCENARIO("a miss allocates what RAM keeps: the object and its body")
{
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .pattern_bytes = 1024);
	start_counting(ONE_WORKER);
	expect_between(per_request(true, "detail=first-sight"), 1.9, 2.1);
}

SCENARIO("a miss that is not stored allocates nothing")
{
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .pattern_bytes = 1024);
	start_counting(ONE_WORKER);
	expect_between(per_request(true, "fwd=uri-miss"), 0, 0.02);
}
