/* reloads.c - clients of a proxy whose configuration is changed under them.
 *
 *	reloads PORT SECONDS [RATE [KEPT]]
 *
 * RATE (2000) requests a second come on connections of their own, from 16 threads; KEPT (200) clients
 * each keep a connection and ask ten times a second, four threads for all. 9 in 10 requests ask for one
 * of 100 objects, the others for one of a million. Prints one line of key=value: failed requests, kept
 * connections that the proxy closed, the share of hits in each half of the time, and the times.
 */
#include "bench/ask.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	NEW_THREADS = 16,
	KEPT_THREADS = 4,
	KEPT_EVERY_US = 100000,
	SAMPLES = 1 << 20,
	POPULAR = 100,
	OTHERS = 1000000
};

static unsigned port, rate = 2000, kept = 200;
static int64_t begun_us, until_us;

static struct tally {
	_Atomic unsigned asked, failed, closed, asked_half[2], hits_half[2];
	_Atomic uint32_t us[SAMPLES];
} fresh, steady;

static void
count(struct tally *t, struct ask_answer a, int64_t from_us)
{
	unsigned i = atomic_fetch_add(&t->asked, 1);
	int half = ask_now_us() > (begun_us + until_us) / 2;
	if (i < SAMPLES)
		atomic_store(&t->us[i], (uint32_t)(ask_now_us() - from_us));
	atomic_fetch_add(&t->failed, a.status != 200);
	atomic_fetch_add(&t->asked_half[half], 1);
	atomic_fetch_add(&t->hits_half[half], a.hit);
}

/* Another one in each run: what was asked for before would all be hits. */
static unsigned
seed_of(void *arg)
{
	return (unsigned)getpid() * 64 + (unsigned)(intptr_t)arg;
}

static const char *
path_of(unsigned *seed, char path[64])
{
	bool popular = rand_r(seed) % 10 != 0;
	unsigned which = (unsigned)rand_r(seed) % (popular ? POPULAR : OTHERS);
	snprintf(path, 64, "/cdn/%016x/1024", which + 1);
	return path;
}

static void *
come_and_go(void *arg)
{
	unsigned seed = seed_of(arg);
	char path[64];
	for (int64_t next = ask_now_us(); next < until_us;
	     next += (int64_t)1000000 * NEW_THREADS / rate) {
		ask_sleep_until(next);
		int64_t from = ask_now_us();
		int fd = ask_open(port);
		struct ask_answer a = {0};
		if (fd >= 0)
			a = ask(fd, path_of(&seed, path), true);
		count(&fresh, a, from);
		if (fd >= 0)
			close(fd);
		if (from - next > 1000000)
			next = from; /* the machine was away */
	}
	return NULL;
}

static void *
stay(void *arg)
{
	unsigned seed = seed_of(arg), n = kept / KEPT_THREADS;
	char path[64];
	int *fds = calloc(n, sizeof *fds);
	for (unsigned i = 0; i < n; i++)
		fds[i] = ask_open(port);
	for (int64_t next = ask_now_us(); next < until_us; next += KEPT_EVERY_US)
		for (unsigned i = 0; i < n; i++) {
			ask_sleep_until(next + (int64_t)KEPT_EVERY_US * i / n);
			int64_t from = ask_now_us();
			struct ask_answer a = ask(fds[i], path_of(&seed, path), false);
			count(&steady, a, from);
			if (a.status && !a.ends)
				continue;
			atomic_fetch_add(&steady.closed, 1);
			close(fds[i]);
			fds[i] = ask_open(port);
		}
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	free(fds);
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	return ask_compare(a, b);
}

static double
share(unsigned part, unsigned whole)
{
	return whole ? (double)part / whole : 0;
}

static void
print(const char *name, struct tally *t)
{
	static uint32_t us[SAMPLES];
	unsigned n = t->asked < SAMPLES ? t->asked : SAMPLES;
	for (unsigned i = 0; i < n; i++)
		us[i] = t->us[i];
	qsort(us, n, sizeof us[0], compare);
	printf("%s=%u %s_failed=%u %s_hits=%.4f,%.4f %s_p50_us=%.0f %s_p99_us=%.0f %s_longest_ms=%.1f ",
	       name, t->asked, name, t->failed, name, share(t->hits_half[0], t->asked_half[0]),
	       share(t->hits_half[1], t->asked_half[1]), name, ask_share(us, n, 0.5), name,
	       ask_share(us, n, 0.99), name, ask_share(us, n, 1) / 1000);
}

int
main(int argc, char **argv)
{
	pthread_t threads[NEW_THREADS + KEPT_THREADS];
	if (argc < 3) {
		fprintf(stderr, "usage: reloads PORT SECONDS [RATE [KEPT]]\n");
		return 2;
	}
	port = (unsigned)atoi(argv[1]);
	rate = argc > 3 ? (unsigned)atoi(argv[3]) : rate;
	kept = argc > 4 ? (unsigned)atoi(argv[4]) : kept;
	begun_us = ask_now_us();
	until_us = begun_us + (int64_t)(atof(argv[2]) * 1e6);
	for (intptr_t i = 0; i < NEW_THREADS + KEPT_THREADS; i++)
		if (pthread_create(&threads[i], NULL, i < NEW_THREADS ? come_and_go : stay,
				   (void *)i)) {
			fprintf(stderr, "reloads: no thread\n");
			return 1;
		}
	for (int i = 0; i < NEW_THREADS + KEPT_THREADS; i++)
		pthread_join(threads[i], NULL);
	double seconds = (double)(ask_now_us() - begun_us) / 1e6;
	print("new", &fresh);
	print("kept", &steady);
	printf("kept_closed=%u new_per_second=%.0f seconds=%.1f\n", steady.closed,
	       fresh.asked / seconds, seconds);
	return 0;
}
