/* Several disks: one cache on two directories, one that is away, and what is said of it. */
#include "tests/kit/kit.h"

#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define TWO_DISKS                                            \
	EDGE_CACHE("")                                       \
	"more_disks:\n  - dir: %D/second\n    size: 64MiB\n" \
	"admission:\n  sightings: 1\n"

enum { N = 60, BYTES = 20000 };

static void
prepare(void)
{
	for (int i = 0; i < N; i++)
		origin_says(text("/o/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .seed = (uint64_t)i);
	edge_start_yaml(TWO_DISKS);
	for (int i = 0; i < N; i++)
		get(text("/o/%d", i));
	edge_wait_stat("disk.objects", N);
}

SCENARIO("two disks hold one cache, over a restart and kill -9")
{
	prepare();
	expect_between(edge_stat("disks.0.objects"), 1, N - 1);
	expect_int((long long)(edge_stat("disks.0.objects") + edge_stat("disks.1.objects")), N);
	expect_int((long long)edge_stat("disk.limit_bytes"), 128 << 20);
	edge_restart();
	expect_int(hits_of("/o/", N, BYTES), N);
	edge_kill9();
	edge_restart();
	expect_int(hits_of("/o/", N, BYTES), N);
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	struct answer a = client_read(c, "GET");
	expect_status(a, 200);
	expect(strstr(a.body, text("twice_disk_objects{dir=\"%s/second\"}", kit_dir())));
}

SCENARIO("a disk that is away is left out, and comes back empty")
{
	prepare();
	int second = (int)edge_stat("disks.1.objects");
	edge_stop();
	char *dir = text("%s/second", kit_dir()), *aside = text("%s/aside", kit_dir());
	expect_int(rename(dir, aside), 0);
	fclose(fopen(dir, "w"));
	edge_restart();
	expect(edge_said("The other disks are used without it"));
	expect_int((long long)edge_stat("disk.left_out"), 1);
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	expect_answer(
		client_read(c, "GET"), 200,
		"degraded: 1 of 2 directories of the cache cannot be used (the log says more)\n");
	expect_int(hits_of("/o/", N, BYTES), N - second);
	edge_stop();
	expect_int(unlink(dir), 0);
	expect_int(rename(aside, dir), 0);
	edge_restart();
	expect(edge_said("starting empty"));
	expect_int((long long)edge_stat("disk.left_out"), 0);
	expect_int(hits_of("/o/", N, BYTES), N);
}

SCENARIO("a disk that is named twice is refused")
{
	char *says;
	edge_yaml(EDGE_CACHE("") "more_disks: [ { dir: %D/cache } ]\n");
	expect_int(edge_refuses(&says), 2);
	expect_that(strstr(says, "is given twice"), "%s", says);
}
