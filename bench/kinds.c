/* memory.c - which memory when: what each kind of admission memory costs and remembers.
 *
 *	make build/release/bench/kinds
 *	build/release/bench/kinds [window]
 *
 * 1. One window, one rate: bits per URL, and the share of URLs still known
 *    after so many other distinct ones.
 * 2. The same bits for all: what a stable filter remembers in the pair's memory.
 * 3. A rush hour: traffic triples for a day; who still knows a URL a day old?
 * 4. The third sighting: how many URLs are taken for popular too early.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/kit.h"
#include "filter/family/filter.h"
#include "filter/mix.h"
#include "filter/family/stable.h"

#define ABSENT (UINT64_C(1) << 50) /* keys from here on are never recorded */
#define ASKED  20000		   /* questions per figure */

static const double gaps[] = {0.5, 1, 1.5, 2, 4}; /* in windows */
#define GAPS (sizeof(gaps) / sizeof(*gaps))

static struct twice_key_hash
key(uint64_t i)
{
	return (struct twice_key_hash){mix_bits(i * MIX_GOLDEN + 1),
				       mix_bits(mix_bits(i) + MIX_GOLDEN)};
}

/* A run over distinct URLs shows this. */
struct shown {
	double bits; /* per URL of the window */
	double ns;   /* per sighting recorded */
	double recall[GAPS], absent;
};

/* A thing that records and is asked: a memory of some kind, or a stable filter of a given shape. */
struct subject {
	struct twice_filter *memory;
	struct twice_stable *stable;
};

static bool
record(const struct subject *s, uint64_t i)
{
	return s->memory ? twice_filter_record(s->memory, key(i)).times > 0
			 : twice_stable_add(s->stable, key(i));
}

static bool
knows(const struct subject *s, uint64_t i)
{
	return s->memory ? twice_filter_test(s->memory, key(i)).times > 0
			 : twice_stable_has(s->stable, key(i));
}

static double
bytes_of(const struct subject *s)
{
	struct twice_filter_stats stats;
	if (!s->memory)
		return (double)twice_stable_memory(s->stable);
	twice_filter_stats(s->memory, &stats);
	return (double)stats.bytes;
}

/* Six windows to settle, then two in which questions are spread evenly over the rotation. */
static struct shown
show(const struct subject *s, uint64_t window)
{
	struct shown r = {0};
	uint64_t i = 0, step = 2 * window / ASKED;
	double start = bench_seconds();
	for (; i < 6 * window; i++)
		record(s, i);
	r.ns = (bench_seconds() - start) * 1e9 / (double)i;
	for (; i < 8 * window; i++) {
		record(s, i);
		if (i % step)
			continue;
		for (size_t g = 0; g < GAPS; g++)
			r.recall[g] += knows(s, i + 1 - (uint64_t)(gaps[g] * (double)window));
		r.absent += knows(s, ABSENT + i);
	}
	for (size_t g = 0; g < GAPS; g++)
		r.recall[g] *= 100.0 / ASKED;
	r.absent *= 100.0 / ASKED;
	r.bits = bytes_of(s) * 8 / (double)window;
	return r;
}

static void
row(const char *name, struct shown r)
{
	printf("| %-34s | %6.1f |", name, r.bits);
	for (size_t g = 0; g < GAPS; g++)
		printf(" %6.2f%% |", r.recall[g]);
	printf(" %5.2f%% | %5.0f |\n", r.absent, r.ns);
}

static void
heading(void)
{
	printf("| %-34s | bits/U |", "memory");
	for (size_t g = 0; g < GAPS; g++)
		printf(" %4.1f W  |", gaps[g]);
	printf(" false  |  ns   |\n|%.36s|-------:|", "------------------------------------");
	for (size_t g = 0; g < GAPS; g++)
		printf("--------:|");
	printf("-------:|------:|\n");
}

static struct twice_filter_options
options(enum twice_filter_kind kind, uint64_t window)
{
	return (struct twice_filter_options){.kind = kind,
					     .sightings = kind == TWICE_FILTER_COUNTING ? 3 : 2,
					     .capacity = window,
					     .false_positives = 0.01,
					     .seed = 1};
}

static double
show_memory(const char *name, struct twice_filter_options o, uint64_t window)
{
	struct subject s = {.memory = twice_filter_create(&o, 0)};
	struct shown r = show(&s, window);
	row(name, r);
	twice_filter_destroy(&s.memory);
	return r.bits;
}

static void
show_stable(const char *name, struct twice_stable_shape shape, uint64_t window)
{
	struct subject s = {.stable = twice_stable_create(&shape, 1)};
	if (s.stable)
		row(name, show(&s, window));
	else
		printf("| %-34s | impossible\n", name);
	twice_stable_destroy(&s.stable);
}

static double
one_window(uint64_t window)
{
	char name[64];
	printf("## 1. A window of %llu distinct URLs, false positives 1%%\n\n",
	       (unsigned long long)window);
	heading();
	double pair = show_memory("pair", options(TWICE_FILTER_PAIR, window), window);
	show_memory("counting (up to 15 sightings)", options(TWICE_FILTER_COUNTING, window),
		    window);
	static const double recalls[] = {0.90, 0.95, 0.99, 0.999};
	for (int i = 0; i < 4; i++) {
		struct twice_filter_options o = options(TWICE_FILTER_STABLE, window);
		o.recall = recalls[i];
		snprintf(name, sizeof(name), "stable, recall %g%% at 1 W", 100 * recalls[i]);
		show_memory(name, o, window);
	}
	return pair;
}

/* The best recall at one window that a stable filter of so many bits can have at 1%. */
static struct twice_stable_shape
best_of_bits(double bits, uint64_t window)
{
	struct twice_stable_shape best = {0};
	for (unsigned width = 1; width <= 4; width++)
		for (unsigned probes = 1; probes <= 16; probes++) {
			struct twice_stable_shape s = {(uint64_t)(bits / width), width, probes, 0};
			s.decrements = twice_stable_decrements(&s, 0.01);
			if (s.decrements &&
			    (!best.cells || twice_stable_recall(&s, (double)window) >
						    twice_stable_recall(&best, (double)window)))
				best = s;
		}
	return best;
}

static void
same_bits(double pair_bits, uint64_t window)
{
	printf("\n## 2. The stable filter of the literature, in the pair's memory and in more\n\n");
	heading();
	show_stable("stable, as many bits as the pair",
		    best_of_bits(pair_bits * (double)window, window), window);
	/* 3 bits a cell and 3 hashes is what implementations take for granted. */
	for (double bits = 25; bits <= 400; bits *= 2) {
		struct twice_stable_shape s = {(uint64_t)(bits * (double)window) / 3, 3, 3, 0};
		char name[64];
		s.decrements = twice_stable_decrements(&s, 0.01);
		snprintf(name, sizeof(name), "stable, 3 bits 3 hashes, %g bits", bits);
		show_stable(name, s, window);
	}
}

/* An hour is a tick. A day of the usual traffic is one window; a rush day is three. */
static void
rush_hour(enum twice_filter_kind kind, uint64_t window, uint64_t capacity)
{
	struct twice_filter_options o = options(kind, capacity);
	o.rotate_after_s = 24 * 3600;
	struct twice_filter *m = twice_filter_create(&o, 0);
	struct twice_filter_stats stats;
	uint64_t i = 0, hour = window / 24, known = 0, asked = 0;
	for (int64_t h = 1; h <= 6 * 24; h++) {
		bool rush = h > 3 * 24;
		for (uint64_t end = i + hour * (rush ? 3 : 1); i < end; i++) {
			twice_filter_record(m, key(i));
			if (h <= 5 * 24 || i % 100)
				continue;
			known += twice_filter_test(m, key(i - 3 * 23 * hour)).times > 0;
			asked++;
		}
		twice_filter_tick(m, h * 3600);
	}
	twice_filter_stats(m, &stats);
	printf("| %-8s of %.0f W | %6.2f%% | %10.1f |\n", twice_filter_word(kind),
	       (double)capacity / (double)window, 100.0 * (double)known / (double)asked,
	       8.0 * (double)stats.bytes / (double)window);
	twice_filter_destroy(&m);
}

/* A key's third sighting admits it. Who is taken for third when it is first or second? */
static void
third_sighting(uint64_t window)
{
	struct twice_filter_options o = options(TWICE_FILTER_COUNTING, window);
	struct twice_filter *m = twice_filter_create(&o, 0);
	uint64_t early[2] = {0}, missed = 0, n = window / 2;
	for (uint64_t i = 0; i < 2 * window; i++)
		twice_filter_record(m, key(ABSENT + i));
	for (unsigned round = 0; round < 3; round++)
		for (uint64_t i = 0; i < n; i++) {
			unsigned times = twice_filter_record(m, key(i)).times;
			if (round < 2)
				early[round] += times >= 2;
			else
				missed += times < 2;
		}
	printf("| admitted at the first sighting  | %7.4f%% |\n"
	       "| admitted at the second sighting | %7.4f%% |\n"
	       "| missed at the third             | %7.4f%% |\n",
	       100.0 * (double)early[0] / (double)n, 100.0 * (double)early[1] / (double)n,
	       100.0 * (double)missed / (double)n);
	twice_filter_destroy(&m);
}

int
main(int argc, char **argv)
{
	uint64_t window = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
	if (window < 20000) {
		fprintf(stderr, "memory: a window of at least 20000 URLs, please\n");
		return 2;
	}
	bench_head(argc, argv);
	double bits = one_window(window);
	same_bits(bits, window);
	printf("\n## 3. Traffic triples; generations close after a day or when full\n\n"
	       "| memory          | known 23 h later | bits/usual U |\n|---|---:|---:|\n");
	rush_hour(TWICE_FILTER_PAIR, window, window);
	rush_hour(TWICE_FILTER_PAIR, window, 3 * window);
	rush_hour(TWICE_FILTER_SCALABLE, window, window);
	printf("\n## 4. sightings: 3, with counting\n\n| a URL is | share |\n|---|---:|\n");
	third_sighting(window);
	return 0;
}
