/* ram.c - what does a megabyte of the RAM tier cost in resident memory, and a miss that fills it?
 *
 *	ram [megabytes [requests [threads]]]
 *
 * A day in four parts through the real tier (cache/ram): the CDN mix, then one of small objects, of
 * large ones, and the mix again, each of URLs of its own, so that what was freed for one size has
 * to serve another. Objects are made as a flight makes them, and so many of them are under way at
 * any time. Beside what the tier counts (`cache.memory` bounds that) is what the process took of
 * the system for it: the difference is what allocation wastes. To see another allocator, preload it.
 */
#include "bench/kit.h"
#include "proxy/base/mem.h"
#include "proxy/cache/ram.h"
#include "proxy/cli/demo/mix.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
	HEAD = 350,
	UNDER_WAY = 32,
	SLICE = 1 << 20,
	BLOCK_EXACT = 256 << 10,
	BLOCK_NEXT = 64 << 10
};

struct part {
	const char *name;
	double sizes; /* times those of the mix */
};
static const struct part day[] = {
	{"mix", 1}, {"small", 0.1}, {"large", 6}, {"mix again", 1}, {"small again", 0.1}};

struct player {
	struct ram *ram;
	struct mix mix;
	double sizes;
	unsigned seed;
	uint64_t hits, misses;
	pthread_t thread;
};

/* As flight_body.c cuts a body. */
static void
add_body(struct stored *o, uint64_t bytes)
{
	o->pub.body_bytes = bytes;
	o->block_bytes = bytes <= BLOCK_EXACT ? (uint32_t)bytes : BLOCK_NEXT;
	for (uint64_t at = 0; at < bytes; at += o->block_bytes) {
		uint64_t left = bytes - at;
		uint32_t n = left < o->block_bytes ? (uint32_t)left : o->block_bytes;
		struct block *b = block_create(n);
		memset(b->p, 1, n);
		b->n = n;
		stored_add_block(o, b);
	}
}

static pthread_barrier_t begin, over;

static void
play(struct player *p)
{
	struct stored *under_way[UNDER_WAY] = {0};
	static const char head[HEAD];
	for (uint32_t i = 0; i < p->mix.request_count; i++) {
		const struct mix_object *m = mix_request(&p->mix, i);
		struct twice_key_hash hash = {m->name * 0x9e3779b97f4a7c15u, m->name};
		char path[MIX_PATH_BYTES];
		struct str key = {path, mix_path(m, path)};
		bool tells;
		struct stored *o = ram_find(p->ram, hash, key, 0, &tells);
		if (o) {
			p->hits++;
			stored_unref(&o);
			continue;
		}
		p->misses++;
		o = stored_create(NULL, hash, key, (struct str){head, sizeof head}, STR(""),
				  &(struct terms){0}, OBJECT_RESPONSE);
		uint64_t bytes = (uint64_t)((double)m->bytes * p->sizes) + 1;
		add_body(o, bytes < SLICE ? bytes : SLICE);
		struct stored **place = &under_way[rand_r(&p->seed) % UNDER_WAY];
		if (*place) {
			ram_put(p->ram, *place, 0);
			stored_unref(place);
		}
		*place = o;
	}
	for (int i = 0; i < UNDER_WAY; i++)
		stored_unref(&under_way[i]);
}

static void *
all_day(void *arg)
{
	for (size_t i = 0; i < sizeof day / sizeof *day; i++) {
		pthread_barrier_wait(&begin);
		play(arg);
		pthread_barrier_wait(&over);
	}
	return NULL;
}

static double
resident_mb(void)
{
	long pages = 0, all = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f && fscanf(f, "%ld %ld", &all, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void
one_part(struct ram *ram, struct player *players, int n, uint32_t requests, int number)
{
	for (int i = 0; i < n; i++) {
		players[i].ram = ram;
		players[i].sizes = day[number].sizes;
		players[i].seed = 1;
		players[i].hits = players[i].misses = 0;
		mix_init_cdn(&players[i].mix, requests, (uint64_t)(number * n + i + 1));
	}
	double began_mb = resident_mb(); /* the mix is not the tier's */
	struct ram_stats was, is;
	struct rusage a, b;
	ram_stats(ram, &was);
	getrusage(RUSAGE_SELF, &a);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&over);
	uint64_t hits = 0, misses = 0;
	for (int i = 0; i < n; i++) {
		hits += players[i].hits;
		misses += players[i].misses;
	}
	getrusage(RUSAGE_SELF, &b);
	ram_stats(ram, &is);
	static double tier_mb;
	tier_mb += resident_mb() - began_mb;
	for (int i = 0; i < n; i++)
		mix_fini(&players[i].mix);
	double user = (double)(b.ru_utime.tv_sec - a.ru_utime.tv_sec) * 1e6 +
		      (double)(b.ru_utime.tv_usec - a.ru_utime.tv_usec);
	double system = (double)(b.ru_stime.tv_sec - a.ru_stime.tv_sec) * 1e6 +
			(double)(b.ru_stime.tv_usec - a.ru_stime.tv_usec);
	printf("%-12s %7llu objects, %6.1f MB counted, %6.1f MB resident (%+.1f%%), hits %4.1f%%; of a miss: "
	       "%.2f us user, %.2f us system, %.2f page faults\n",
	       day[number].name, (unsigned long long)is.objects, (double)is.used_bytes / 1e6,
	       tier_mb, 100 * (tier_mb / ((double)is.used_bytes / 1e6) - 1),
	       100.0 * (double)hits / (double)(hits + misses), user / (double)misses,
	       system / (double)misses, (double)(b.ru_minflt - a.ru_minflt) / (double)misses);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20;
	uint32_t requests = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200000;
	int n = argc > 3 ? atoi(argv[3]) : 1;
	struct player *players = mem_zalloc((size_t)n * sizeof *players);
	struct ram *ram;
	bench_head(argc, argv);
	ram_create(&ram, bytes, 0);
	pthread_barrier_init(&begin, NULL, (unsigned)n + 1);
	pthread_barrier_init(&over, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		pthread_create(&players[i].thread, NULL, all_day, &players[i]);
	for (int i = 0; i < (int)(sizeof day / sizeof *day); i++)
		one_part(ram, players, n, requests, i);
	for (int i = 0; i < n; i++)
		pthread_join(players[i].thread, NULL);
	ram_destroy(&ram);
	free(players);
	return 0;
}
