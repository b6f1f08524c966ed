/* draw.c - logs made from a seed, as lines "time id size" with a thousand requests a second: what
 * `twice simulate` and bench/policy read.
 *
 *	draw mix REQUESTS SEED
 *	draw table OBJECTS SEED < akamai-tc.popularity.txt
 *
 * mix: the CDN mix of proxy/cli/demo/mix. table: objects of a table of popularity and size, which
 * has a line with one number p, and then lines "size_KB share": of all objects, those that are asked
 * for p times and have that size. Each object is asked for at random times of the whole log.
 */
#include "proxy/base/mem.h"
#include "proxy/cli/demo/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_SECOND = 1000, MOST_TIMES = 100000 };

struct moment {
	double when;
	uint32_t object;
};

struct draw {
	struct moment *moments;
	size_t n, room;
	uint64_t *sizes;
	uint64_t state;
};

static double
share(struct draw *d)
{
	uint64_t x = d->state += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static void
ask(struct draw *d, uint32_t object, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		if (d->n == d->room) {
			d->room = 2 * d->room + 1024;
			d->moments = mem_realloc(d->moments, d->room * sizeof *d->moments);
		}
		d->moments[d->n++] = (struct moment){share(d), object};
	}
}

static int
by_time(const void *pa, const void *pb)
{
	const struct moment *a = pa, *b = pb;
	return (a->when > b->when) - (a->when < b->when);
}

/* Rows are as many objects as their share of all, one after the other: where a row's share ends
 * between two objects, the seed says which row has it. */
static void
draw_table(struct draw *d, uint32_t objects)
{
	char line[128];
	double size, part, sum = share(d);
	unsigned times = 0;
	uint32_t k = 0;
	d->sizes = mem_alloc(objects * sizeof *d->sizes);
	while (k < objects && fgets(line, sizeof line, stdin)) {
		int n = sscanf(line, "%lf %lf", &size, &part);
		if (n == 1)
			times = size < MOST_TIMES ? (unsigned)size : MOST_TIMES;
		if (n != 2)
			continue;
		for (sum += part * objects; sum >= 1 && k < objects; sum--) {
			d->sizes[k] = (uint64_t)(size * 1000 * (1 - share(d) / 2)) + 1;
			ask(d, k++, times);
		}
	}
	qsort(d->moments, d->n, sizeof *d->moments, by_time);
}

static void
print_mix(uint32_t requests, uint64_t seed)
{
	struct mix m;
	mix_init_cdn(&m, requests, seed);
	for (uint32_t i = 0; i < m.request_count; i++)
		printf("%u %u %llu\n", i / PER_SECOND, m.order[i],
		       (unsigned long long)mix_request(&m, i)->bytes);
	mix_fini(&m);
}

static void
print_table(uint32_t objects, uint64_t seed)
{
	struct draw d = {.state = seed};
	draw_table(&d, objects);
	for (size_t i = 0; i < d.n; i++)
		printf("%zu %u %llu\n", i / PER_SECOND, d.moments[i].object,
		       (unsigned long long)d.sizes[d.moments[i].object]);
	free(d.moments);
	free(d.sizes);
}

int
main(int argc, char **argv)
{
	uint32_t n = argc == 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	uint64_t seed = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	if (n && strcmp(argv[1], "mix") == 0)
		print_mix(n, seed);
	else if (n && strcmp(argv[1], "table") == 0)
		print_table(n, seed);
	else
		fprintf(stderr,
			"usage: draw mix REQUESTS SEED | draw table OBJECTS SEED < TABLE\n");
	return n ? 0 : 2;
}
