/* kill -9 under load, again and again: no wrong byte, soon back, and hits come back.
 *
 * Clients in threads ask for objects whose every byte tells its place, and check each one.
 * TWICE_LONG=1: 20 times instead of 3.
 */
#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OBJECTS = 300, CLIENTS = 4 };

static _Atomic unsigned port; /* of the running proxy; 0 while there is none */
static _Atomic bool over;
static _Atomic long answers, hits, refused;
static char *bodies[OBJECTS];

static size_t
size_of(int object)
{
	return (size_t)(object * 7919 % 60000 + object % 7 * 20000 + 1);
}

/* A client of its own, without the kit's: a proxy that is killed is no failure here. */
static bool
ask_and_check(int fd, int object)
{
	static _Thread_local char in[400000];
	char request[100];
	int n = snprintf(request, sizeof request, "GET /o/%d HTTP/1.1\r\nHost: example.com\r\n\r\n",
			 object);
	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n)
		return false;
	size_t have = 0, want = size_of(object), head = 0;
	while (!head || have < head + want) {
		ssize_t k = recv(fd, in + have, sizeof in - 1 - have, 0);
		if (k <= 0)
			break;
		have += (size_t)k;
		in[have] = 0;
		char *end = head ? NULL : strstr(in, "\r\n\r\n");
		if (end)
			head = (size_t)(end + 4 - in);
	}
	if (!head)
		return false;
	if (strncmp(in, "HTTP/1.1 200 ", 13) != 0)
		fail("object %d: %.100s", object, in);
	size_t body = have - head;
	expect_that(body <= want && memcmp(in + head, bodies[object], body) == 0,
		    "object %d: wrong bytes\n%.*s", object, (int)head, in);
	if (body < want)
		return false; /* killed in the middle: cut, and not wrong */
	in[head - 2] = 0;
	answers++;
	hits += strstr(in, "; hit") != NULL;
	return true;
}

static void *
client(void *ctx)
{
	unsigned seed = (unsigned)(uintptr_t)ctx;
	int fd = -1;
	unsigned to = 0;
	while (!over) {
		if (fd < 0) {
			struct sockaddr_in a = {.sin_family = AF_INET,
						.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
			if (!(to = port)) {
				poll(NULL, 0, 1);
				continue;
			}
			a.sin_port = htons((uint16_t)to);
			fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
				close(fd);
				fd = -1;
				refused++;
				poll(NULL, 0, 1);
				continue;
			}
		}
		/* Half of the requests go to a tenth of the objects. */
		int object = rand_r(&seed) % 2 ? rand_r(&seed) % (OBJECTS / 10)
					       : rand_r(&seed) % OBJECTS;
		if (!ask_and_check(fd, object)) {
			close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

SCENARIO_IN(300, "kill -9 under verified load")
{
	by_http_only();
	int rounds = kit_long() ? 20 : 3;
	for (int i = 0; i < OBJECTS; i++) {
		bodies[i] = pattern((uint64_t)i + 1, size_of(i));
		origin_says(text("/o/%d", i), .fields = "Cache-Control: max-age=3600\r\n",
			    .pattern_bytes = size_of(i), .seed = (uint64_t)i + 1,
			    .etag = text("\"%d\"", i));
	}
	/* A disk smaller than the objects: eviction goes on under the load too. */
	edge_start("--disk", "16MiB", "--memory", "2MiB");
	port = edge_port();
	pthread_t thread[CLIENTS];
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&thread[i], NULL, client, (void *)(uintptr_t)(i + 1));
	unsigned seed = 42;
	double slowest = 0;
	for (int round = 0; round < rounds; round++) {
		long from = answers, more = 400 + rand_r(&seed) % 1200;
		wait_until(answers >= from + more);
		port = 0;
		edge_kill9();
		int64_t start = kit_now_ms();
		edge_restart();
		expect_status(get("/o/0"), 200);
		double took = (double)(kit_now_ms() - start);
		slowest = took > slowest ? took : slowest;
		long hits_before = hits;
		port = edge_port();
		from = answers;
		wait_until(answers >= from + 300);
		expect_that(hits > hits_before, "no hit came in 300 answers after kill %d",
			    round + 1);
	}
	over = true;
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(thread[i], NULL);
	expect_between((double)edge_disk_usage(), 0, 16 << 20);
	note("%d kills, %ld answers checked, %ld hits, slowest restart %.0f ms", rounds, answers,
	     hits, slowest);
}
