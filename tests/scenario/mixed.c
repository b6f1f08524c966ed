/* Everything at once: clients in threads mix methods, ranges and conditions over objects that
 * change, expire, vary, are evicted and are invalidated. Each answer must be true to the ETag it
 * carries.
 */
#include "tests/kit/kit.h"

#include <pthread.h>
#include <stdatomic.h>

enum { OBJECTS = 40, VERSIONS = 6, CLIENTS = 6 };

static _Atomic long answers, hits, parts, unmodified;
static int requests_each;

static size_t
size_of(int object, int version)
{
	return (size_t)(object % 5 == 0 ? 300000 : 3000) +
	       (size_t)(object * 977 + version * 4001) % 5000;
}

static uint64_t
seed_of(int object, int version)
{
	return (uint64_t)(object * 100 + version + 1);
}

/* The body must be what the ETag "object-version" says; a part of it where Content-Range says. */
static void
check(struct answer a, int object, const char *asked)
{
	int o = -1, v = -1;
	const char *etag = field(a, "ETag");
	if (a.status == 304) {
		unmodified++;
		expect_that(etag && sscanf(etag, "\"%d-%d\"", &o, &v) == 2 && o == object,
			    "%s: 304 with ETag %s", asked, etag);
		return;
	}
	if (a.status == 412 || a.status == 416)
		return;
	expect_that(a.status == 200 || a.status == 206, "%s: %s", asked, a.head);
	expect_that(etag && sscanf(etag, "\"%d-%d\"", &o, &v) == 2 && o == object, "%s: ETag %s",
		    asked, etag);
	size_t total = size_of(o, v), first = 0, last = total - 1, said = total;
	if (a.status == 206) {
		const char *cr = field(a, "Content-Range");
		expect_that(cr && sscanf(cr, "bytes %zu-%zu/%zu", &first, &last, &said) == 3 &&
				    said == total && last < total,
			    "%s: Content-Range %s of %zu", asked, cr, total);
		parts++;
	}
	expect_that(a.body_bytes == last - first + 1, "%s: %zu bytes\n%s", asked, a.body_bytes,
		    a.head);
	static _Thread_local char want[400000];
	pattern_fill(want, a.body_bytes, seed_of(o, v), first);
	expect_that(memcmp(a.body, want, a.body_bytes) == 0, "%s: wrong bytes\n%s", asked, a.head);
	hits += verdict_has(a, "hit");
}

static void *
client(void *ctx)
{
	unsigned seed = (unsigned)(uintptr_t)ctx;
	struct client *c = client_open();
	for (int i = 0; i < requests_each; i++) {
		int object = rand_r(&seed) % 3 ? rand_r(&seed) % (OBJECTS / 4)
					       : rand_r(&seed) % OBJECTS,
		    at = rand_r(&seed) % 3000;
		char *asked;
		const char *method = "GET";
		switch (rand_r(&seed) % 10) {
		case 0:
			asked = text("Range: bytes=%d-%d\r\n", at, at + rand_r(&seed) % 5000);
			break;
		case 1:
			asked = text("Range: bytes=-%d\r\n", at + 1);
			break;
		case 2:
			asked = text("If-None-Match: \"%d-%d\"\r\n", object,
				     rand_r(&seed) % VERSIONS);
			break;
		case 3:
			asked = text("Range: bytes=%d-\r\nIf-Range: \"%d-%d\"\r\n", at, object,
				     rand_r(&seed) % VERSIONS);
			break;
		case 4:
			asked = text("Cache-Control: no-cache\r\n");
			break;
		case 5:
			asked = text("X-Kind: %d\r\n", rand_r(&seed) % 3);
			break;
		default:
			asked = text("X-None: 1\r\n");
		}
		if (rand_r(&seed) % 40 == 0)
			method = "DELETE", asked = text("X-None: 1\r\n");
		client_request(c, method, text("/o/%d", object), asked);
		struct answer a = client_read(c, method);
		if (*method == 'G')
			check(a, object, text("/o/%d %s", object, asked));
		answers++;
		const char *connection = field(a, "Connection");
		if (rand_r(&seed) % 50 == 0 || (connection && strcmp(connection, "close") == 0)) {
			client_close(c);
			c = client_open();
		}
		free(a.body);
		free(a.head);
		free(asked);
	}
	client_close(c);
	return NULL;
}

static void
script(int object)
{
	static const char *const lives[] = {"max-age=600", "max-age=10",
					    "max-age=600, stale-while-revalidate=60", "no-cache",
					    "max-age=1"};
	for (int v = 0; v < VERSIONS; v++) {
		const char *life = lives[(object + v) % 5],
			   *age = (object + v) % 5 == 1 || (object + v) % 5 == 2 ? "Age: 20\r\n"
										 : "";
		const char *vary = object % 7 == 3 ? "Vary: X-Kind\r\n" : "";
		origin_says(text("/o/%d", object),
			    .fields = text("Cache-Control: %s\r\n%s%s", life, age, vary),
			    .etag = text("\"%d-%d\"", object, v),
			    .pattern_bytes = size_of(object, v), .seed = seed_of(object, v),
			    .chunked = (object + v) % 3 == 0, .ranges = object % 2,
			    .times = 1 + (object * v) % 9);
	}
}

SCENARIO_IN(120, "methods, ranges, conditions, variants, expiry, eviction and invalidation at once")
{
	requests_each = kit_long() ? 20000 : 1500;
	for (int i = 0; i < OBJECTS; i++)
		script(i);
	edge_start("--disk", kit_long() ? "8MiB" : "16MiB", "--memory", "1MiB");
	pthread_t thread[CLIENTS];
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&thread[i], NULL, client, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(thread[i], NULL);
	note("%ld answers: %ld hits, %ld parts, %ld not modified; %d requests at the origin",
	     answers, hits, parts, unmodified, origin_requests());
	expect(hits > answers / 20);
	edge_restart();
	for (int i = 0; i < OBJECTS; i++)
		check(get(text("/o/%d", i)), i, "after the restart");
}
