/* groups.c - the clients of a group of origins that is well, beside the clients of one that is not,
 * and the origin of that group.
 *
 *	groups PORT SECONDS KIND BAD_PORT [FILE]
 *
 * KIND is what the origin at BAD_PORT does: alone (nobody asks it), well, dead (nobody listens),
 * hanging (takes requests and says nothing), resetting (answers with a RST), slow (after 1.5 s),
 * flapping (a second well, a second resetting). Its 16 clients ask for other paths below /bad/ at 50 a
 * second each. The client that is measured asks every half millisecond, in turn for an object that is
 * stored and for one that its origin must be asked for. Prints one line of key=value; FILE gets lines
 * of "hit" or "miss", microseconds, and how many took so long.
 */
#include "bench/ask.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BAD_CLIENTS = 16, BAD_EVERY_US = 20000, EVERY_US = 500, SAMPLES = 1 << 20 };

static unsigned port, bad_port;
static const char *kind;
static int64_t until_us;

/* ---- the origin ---------------------------------------------------------------------------- */

static bool
is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

static bool
resets_now(void)
{
	return is_kind("resetting") || (is_kind("flapping") && ask_now_us() / 1000000 % 2);
}

static void *
serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
				     "Cache-Control: no-store\r\n\r\nwell";
	int fd = (int)(intptr_t)arg;
	char in[4096];
	while (recv(fd, in, sizeof in, 0) > 0) {
		if (resets_now()) {
			struct linger now = {1, 0};
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
			break;
		}
		if (is_kind("hanging"))
			continue;
		if (is_kind("slow"))
			ask_sleep_until(ask_now_us() + 1500000);
		if (send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void
start(void *(*run)(void *), void *arg, pthread_t *t)
{
	if (pthread_create(t, NULL, run, arg)) {
		fprintf(stderr, "groups: no thread\n");
		exit(1);
	}
}

static void *
listen_on(void *arg)
{
	int fd, listener = (int)(intptr_t)arg;
	pthread_t t;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		start(serve, (void *)(intptr_t)fd, &t);
		pthread_detach(t);
	}
	return NULL;
}

static void
open_origin(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)bad_port)};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t t;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 1024)) {
		perror("groups");
		exit(1);
	}
	start(listen_on, (void *)(intptr_t)fd, &t);
	pthread_detach(t);
}

/* ---- its clients --------------------------------------------------------------------------- */

static _Atomic unsigned statuses[600], longest_ms;

static void
note_bad(int status, int64_t took_us)
{
	unsigned ms = (unsigned)(took_us / 1000), was = atomic_load(&longest_ms);
	atomic_fetch_add(&statuses[status > 0 && status < 600 ? status : 0], 1);
	while (ms > was && !atomic_compare_exchange_weak(&longest_ms, &was, ms))
		;
}

static void *
ask_bad(void *arg)
{
	char path[64];
	int fd = -1;
	int64_t next = ask_now_us() + (intptr_t)arg * BAD_EVERY_US / BAD_CLIENTS;
	ask_sleep_until(next);
	for (unsigned i = 0; ask_now_us() < until_us; i++) {
		if (fd < 0 && (fd = ask_open(port)) < 0)
			break;
		snprintf(path, sizeof path, "/bad/%u/%u", (unsigned)(intptr_t)arg, i);
		int64_t begun = ask_now_us();
		struct ask_answer a = ask(fd, path, false);
		note_bad(a.status, ask_now_us() - begun);
		if (!a.status || a.ends) {
			close(fd);
			fd = -1;
		}
		next += BAD_EVERY_US;
		if (next < ask_now_us())
			next = ask_now_us();
		ask_sleep_until(next);
	}
	return NULL;
}

/* ---- the one that is measured -------------------------------------------------------------- */

struct times {
	uint32_t us[SAMPLES];
	size_t n;
};

static unsigned
measure(struct times *hits, struct times *misses)
{
	char path[80];
	unsigned failed = 0;
	int fd = ask_open(port);
	uint64_t name = (uint64_t)ask_now_us() << 20;
	int64_t next = ask_now_us();
	for (unsigned i = 0; ask_now_us() < until_us && i < SAMPLES; i++, next += EVERY_US) {
		struct times *t = i % 2 ? misses : hits;
		ask_sleep_until(next);
		if (next < ask_now_us() - EVERY_US)
			next = ask_now_us(); /* the machine was away */
		snprintf(path, sizeof path, "/cdn/%016llx/1024",
			 i % 2 ? (unsigned long long)(name + i) : 0x123456789abcdefull);
		int64_t begun = ask_now_us();
		struct ask_answer a = ask(fd, path, false);
		t->us[t->n++] = (uint32_t)(ask_now_us() - begun);
		failed += a.status != 200;
		if (!a.status || a.ends) {
			close(fd);
			fd = ask_open(port);
		}
	}
	return failed;
}

static void
print_times(const char *name, struct times *t)
{
	qsort(t->us, t->n, sizeof t->us[0], ask_compare);
	printf("%s_p50=%.0f %s_p99=%.0f ", name, ask_share(t->us, t->n, 0.5), name,
	       ask_share(t->us, t->n, 0.99));
}

/* Sorted. */
static void
write_times(FILE *to, const char *name, const struct times *t)
{
	for (size_t i = 0, k; i < t->n; i = k) {
		for (k = i + 1; k < t->n && t->us[k] == t->us[i]; k++)
			;
		fprintf(to, "%s %u %zu\n", name, t->us[i], k - i);
	}
}

int
main(int argc, char **argv)
{
	static struct times hits, misses;
	pthread_t bad[BAD_CLIENTS];
	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: groups PORT SECONDS KIND BAD_PORT [FILE]\n");
		return 2;
	}
	port = (unsigned)atoi(argv[1]);
	kind = argv[3];
	bad_port = (unsigned)atoi(argv[4]);
	until_us = ask_now_us() + (int64_t)(atof(argv[2]) * 1e6);
	if (!is_kind("dead") && !is_kind("alone"))
		open_origin();
	for (intptr_t i = 0; i < BAD_CLIENTS && !is_kind("alone"); i++)
		start(ask_bad, (void *)i, &bad[i]);
	unsigned failed = measure(&hits, &misses);
	for (int i = 0; i < BAD_CLIENTS && !is_kind("alone"); i++)
		pthread_join(bad[i], NULL);
	print_times("hit", &hits);
	print_times("miss", &misses);
	FILE *to = argc == 6 ? fopen(argv[5], "w") : NULL;
	if (to) {
		write_times(to, "hit", &hits);
		write_times(to, "miss", &misses);
		fclose(to);
	}
	printf("asked=%zu failed=%u", hits.n + misses.n, failed);
	for (int i = 0; i < 600; i++)
		if (atomic_load(&statuses[i]))
			printf(" bad_%03d=%u", i, atomic_load(&statuses[i]));
	printf(" bad_longest_ms=%u\n", atomic_load(&longest_ms));
	return 0;
}
