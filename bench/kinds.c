/* kinds.c - which memory when: what each kind of admission memory costs and remembers.
 *
 *	make build/release/bench/kinds
 *	build/release/bench/kinds [window [urls [FILE...]]]
 *
 * 1. One window, one rate: bits per URL, and the share of URLs still known
 *    after so many other distinct ones.
 * 2. The same bits for all: what a stable filter remembers in the pair's memory.
 * 3. A rush hour: traffic triples for a day; who still knows a URL a day old?
 * 4. The third sighting: how many URLs are taken for popular too early.
 * 5. What counts three sightings, for so many URLs: the cascade of pairs, counting, and a ring of fingerprints
 *    in a cache line (ring.h), beside the pair that counts two. Bits, errors, and CPU time of the thread per key, without
 *    hashing: of a first sighting, many at once, a second, all that follow, and a look at a stranger. Medians of nine
 *    rounds that take turns, and in brackets all but the best and the worst.
 * 6. How many of a generation's keys come back while it or the one before it knows them, on the CDN mix and on
 *    FILEs of lines "time id ...": what the second pair of a cascade must hold.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/kit.h"
#include "bench/ring.h"
#include "filter/family/cascade.h"
#include "filter/family/filter.h"
#include "filter/mix.h"
#include "filter/family/stable.h"
#include "proxy/cli/demo/mix.h"

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
	return (struct twice_filter_options){
		.kind = kind,
		.sightings = kind == TWICE_FILTER_COUNTING || kind == TWICE_FILTER_CASCADE ? 3 : 2,
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
	show_memory("cascade of two pairs (3 sightings)", options(TWICE_FILTER_CASCADE, window),
		    window);
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
third_sighting(enum twice_filter_kind kind, uint64_t window)
{
	struct twice_filter_options o = options(kind, window);
	struct twice_filter *m = twice_filter_create(&o, 0);
	/* As many as the cascade's second pair holds, so that no generation ends early. */
	uint64_t early[2] = {0}, missed = 0, n = window / 4;
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
	printf("| %-8s | %7.4f%% | %7.4f%% | %7.4f%% |\n", twice_filter_word(kind),
	       100.0 * (double)early[0] / (double)n, 100.0 * (double)early[1] / (double)n,
	       100.0 * (double)missed / (double)n);
	twice_filter_destroy(&m);
}

/* ---- what counts three sightings ------------------------------------------------------------ */

enum { PIECE = 4096, PIECES = 256, NEAR = 16 };

static double
cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One of the four. */
struct counter {
	struct twice_pair *pair;
	struct twice_cascade *cascade;
	struct twice_filter *counting;
	struct ring ring;
};

static unsigned
count_one(struct counter *c, struct twice_key_hash h)
{
	return c->pair	     ? twice_pair_record(c->pair, h) != TWICE_SIGHT_FIRST
	       : c->cascade  ? twice_cascade_record(c->cascade, h).times
	       : c->counting ? twice_filter_record(c->counting, h).times
			     : ring_record(&c->ring, h);
}

static unsigned
look_at_one(struct counter *c, struct twice_key_hash h)
{
	return c->pair	     ? twice_pair_test(c->pair, h) != TWICE_SIGHT_FIRST
	       : c->cascade  ? twice_cascade_test(c->cascade, h).times
	       : c->counting ? twice_filter_test(c->counting, h).times
			     : ring_test(&c->ring, h);
}

/* Once it has turned: counting makes its second generation then. */
static double
bytes_of_counter(const struct counter *c)
{
	struct twice_pair_stats pairs;
	struct twice_filter_stats stats;
	if (c->ring.n)
		return (double)c->ring.n * RING_LINE;
	if (c->counting) {
		twice_filter_stats(c->counting, &stats);
		return (double)stats.bytes;
	}
	if (c->pair)
		twice_pair_stats(c->pair, &pairs);
	else
		twice_cascade_stats(c->cascade, &pairs);
	return (double)pairs.memory_bytes;
}

/* counting has no call for many. */
static void
count_piece(struct counter *c, const struct twice_key_hash h[PIECE])
{
	static struct twice_filter_sight out[PIECE];
	static enum twice_sight of_pair[PIECE];
	if (c->pair) {
		twice_pair_record_batch(c->pair, h, of_pair, PIECE);
		return;
	}
	if (c->cascade) {
		twice_cascade_record_batch(c->cascade, h, out, PIECE);
		return;
	}
	for (unsigned i = 0; i < PIECE; i++) {
		if (c->ring.n && i + NEAR < PIECE)
			__builtin_prefetch(ring_line(&c->ring, h[i + NEAR]), 1);
		count_one(c, h[i]);
	}
}

static void
make_keys(struct twice_key_hash h[PIECE], uint64_t from)
{
	static const struct twice_seed seed = {{9}};
	char url[64];
	for (unsigned i = 0; i < PIECE; i++) {
		int n = snprintf(url, sizeof url, "http://cdn.example/objects/%016llx",
				 (unsigned long long)mix_bits(from + i));
		h[i] = twice_key_hash_of(&seed, url, (size_t)n);
	}
}

enum deed { FIRST, MANY, SECOND, LATER, LOOK, DEEDS };

/* Nanoseconds for a key: `of` keys from `from` on. What was answered too high goes to *wrong. */
static double
time_deed(struct counter *c, enum deed d, uint64_t from, unsigned pieces, uint64_t *wrong)
{
	static struct twice_key_hash h[PIECE];
	double spent = 0;
	for (unsigned p = 0; p < pieces; p++) {
		make_keys(h, from + (uint64_t)p * PIECE);
		double start = cpu_seconds();
		if (d == MANY)
			count_piece(c, h);
		else
			for (unsigned i = 0; i < PIECE; i++) {
				unsigned times =
					d == LOOK ? look_at_one(c, h[i]) : count_one(c, h[i]);
				*wrong += d != LATER && times > (d == SECOND);
			}
		spent += cpu_seconds() - start;
	}
	return spent * 1e9 / PIECE / pieces;
}

enum { ROUNDS = 9, COUNTERS = 4 };

/* Of all rounds. */
struct timed {
	double ns[DEEDS][ROUNDS];
	uint64_t wrong[DEEDS];
};

/* New keys one by one and in pieces, the former twice more, and strangers. */
static void
time_round(struct counter *c, struct timed *t, unsigned round, unsigned pieces)
{
	uint64_t from = (UINT64_C(1) << 40) + (uint64_t)round * pieces * PIECE, none = 0;
	t->ns[FIRST][round] = time_deed(c, FIRST, from, pieces, &t->wrong[FIRST]);
	t->ns[SECOND][round] = time_deed(c, SECOND, from, pieces, &t->wrong[SECOND]);
	t->ns[LATER][round] = time_deed(c, LATER, from, pieces, &none);
	t->ns[MANY][round] = time_deed(c, MANY, 2 * from, pieces, &none);
	t->ns[LOOK][round] = time_deed(c, LOOK, 3 * from, pieces, &t->wrong[LOOK]);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void
show_counter(const char *name, const struct counter *c, struct timed *t, uint64_t urls, double n)
{
	printf("| %-24s | %6.1f | %5.2f%% | %5.2f%% |", name,
	       8 * bytes_of_counter(c) / (double)urls, 100 * (double)t->wrong[LOOK] / n,
	       100 * (double)t->wrong[SECOND] / n);
	for (int d = 0; d < DEEDS; d++) {
		qsort(t->ns[d], ROUNDS, sizeof t->ns[d][0], by_size);
		printf(" %4.0f (%.0f to %.0f) |", t->ns[d][ROUNDS / 2], t->ns[d][1],
		       t->ns[d][ROUNDS - 2]);
	}
	printf("\n");
}

/* A window and a third are in each. The rounds take turns. */
static void
show_counters(uint64_t urls)
{
	static const char *const names[COUNTERS] = {"cascade of two pairs",
						    "ring of 36 fingerprints", "counting",
						    "pair, which counts two"};
	static struct timed times[COUNTERS];
	struct twice_filter_options o = options(TWICE_FILTER_COUNTING, urls);
	struct counter c[COUNTERS] = {{.cascade = twice_cascade_create(&o, 0)},
				      {0},
				      {.counting = twice_filter_create(&o, 0)},
				      {0}};
	struct twice_pair_options two = {.capacity = urls, .false_positives = o.false_positives};
	uint64_t none = 0;
	unsigned pieces = (unsigned)(urls / PIECE / 16 / ROUNDS);
	pieces = pieces > PIECES / ROUNDS ? PIECES / ROUNDS : pieces ? pieces : 1;
	if (!c[0].cascade || !ring_create(&c[1].ring, urls) || !c[2].counting ||
	    twice_pair_create(&c[3].pair, &two, 0) != 0) {
		fprintf(stderr, "kinds: no memory for %llu URLs\n", (unsigned long long)urls);
		exit(1);
	}
	for (int i = 0; i < COUNTERS; i++)
		time_deed(&c[i], MANY, 0, (unsigned)(urls * 4 / 3 / PIECE), &none);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (int i = 0; i < COUNTERS; i++)
			time_round(&c[i], &times[i], round, pieces);
	printf("| counts three             | bits/U | false  | early  | first | batch | second | later | absent |\n"
	       "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int i = 0; i < COUNTERS; i++)
		show_counter(names[i], &c[i], &times[i], urls, (double)pieces * ROUNDS * PIECE);
	twice_cascade_destroy(&c[0].cascade);
	free(c[1].ring.lines);
	twice_filter_destroy(&c[2].counting);
	twice_pair_destroy(&c[3].pair);
}

/* ---- what comes back ------------------------------------------------------------------------ */

/* Two pairs that never err, the second for as many keys as the first. */
struct comeback {
	struct twice_pair *first, *second;
	uint64_t generations;
	double shares, most;
};

static bool
comeback_begin(struct comeback *c, uint64_t capacity)
{
	struct twice_pair_options o = {.capacity = capacity, .false_positives = 1e-6},
				  never_full = {.capacity = 2 * capacity, .false_positives = 1e-6};
	*c = (struct comeback){0};
	return twice_pair_create(&c->first, &o, 0) == 0 &&
	       twice_pair_create(&c->second, &never_full, 0) == 0;
}

static void
comeback_end_generation(struct comeback *c, uint64_t capacity)
{
	struct twice_pair_stats is;
	twice_pair_stats(c->second, &is);
	double share = (double)is.keys / (double)capacity;
	if (c->generations++) { /* the first one has none before it */
		c->shares += share;
		c->most = share > c->most ? share : c->most;
	}
	twice_pair_rotate(c->second, 0);
}

static void
comeback_see(struct comeback *c, uint64_t capacity, struct twice_key_hash h)
{
	uint64_t number = twice_pair_number(c->first);
	if (twice_pair_record(c->first, h) != TWICE_SIGHT_FIRST)
		twice_pair_record(c->second, h);
	if (twice_pair_number(c->first) != number)
		comeback_end_generation(c, capacity);
}

static uint64_t
name_number(const char *name)
{
	static const struct twice_seed seed = {{7}};
	return twice_key_hash_of(&seed, name, strlen(name)).hi;
}

/* Requests as numbers of objects; *urls: how many different ones, roughly. */
static uint64_t *
read_log(const char *path, uint64_t *n)
{
	uint64_t *ids = NULL, room = 0;
	char line[4096], id[4096];
	FILE *f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(1);
	}
	for (*n = 0; fgets(line, sizeof line, f);) {
		if (sscanf(line, "%*s %4095s", id) != 1)
			continue;
		if (*n == room && !(ids = realloc(ids, (room = 2 * room + 1024) * sizeof *ids)))
			abort();
		ids[(*n)++] = name_number(id);
	}
	fclose(f);
	return ids;
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t
count_distinct(const uint64_t *ids, uint64_t n)
{
	uint64_t *sorted = malloc(n * sizeof *sorted + 1), distinct = 0;
	if (!sorted)
		abort();
	memcpy(sorted, ids, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_value);
	for (uint64_t i = 0; i < n; i++)
		distinct += i == 0 || sorted[i] != sorted[i - 1];
	free(sorted);
	return distinct;
}

static void
show_comebacks(const char *name, const uint64_t *ids, uint64_t n)
{
	static const double parts[] = {0.02, 0.05, 0.1, 0.2};
	uint64_t urls = count_distinct(ids, n);
	printf("| %-20s |", name);
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		uint64_t capacity = (uint64_t)(parts[p] * (double)urls) + 1;
		struct comeback c;
		if (!comeback_begin(&c, capacity))
			abort();
		for (uint64_t i = 0; i < n; i++)
			comeback_see(&c, capacity, key(ids[i]));
		if (c.generations > 1)
			printf(" %4.1f%%, at most %4.1f%% |",
			       100 * c.shares / (double)(c.generations - 1), 100 * c.most);
		else
			printf(" - |");
		twice_pair_destroy(&c.first);
		twice_pair_destroy(&c.second);
	}
	printf("\n");
}

static void
show_mix(uint32_t requests)
{
	struct mix m;
	char name[64];
	mix_init_cdn(&m, requests, 1);
	uint64_t *ids = malloc(m.request_count * sizeof *ids);
	if (!ids)
		abort();
	for (uint32_t i = 0; i < m.request_count; i++)
		ids[i] = m.order[i];
	snprintf(name, sizeof name, "mix, %u requests", m.request_count);
	show_comebacks(name, ids, m.request_count);
	free(ids);
	mix_fini(&m);
}

int
main(int argc, char **argv)
{
	uint64_t window = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
	if (window < 20000) {
		fprintf(stderr, "kinds: a window of at least 20000 URLs, please\n");
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
	printf("\n## 4. sightings: 3; URLs that are\n\n| filter | admitted at the first | at the second | missed at the third |\n"
	       "|---|---:|---:|---:|\n");
	third_sighting(TWICE_FILTER_CASCADE, window);
	third_sighting(TWICE_FILTER_COUNTING, window);
	uint64_t urls = argc > 2 ? (uint64_t)strtod(argv[2], NULL) : window;
	printf("\n## 5. What counts three sightings of %llu URLs\n\n", (unsigned long long)urls);
	show_counters(urls);
	printf("\n## 6. Keys that came back, of a generation of so many of the URLs\n\n"
	       "| log | 2%% | 5%% | 10%% | 20%% |\n|---|---:|---:|---:|---:|\n");
	show_mix(window > 100000 ? 1000000 : 20000);
	for (int i = 3; i < argc; i++) {
		uint64_t n, *ids = read_log(argv[i], &n);
		show_comebacks(argv[i], ids, n);
		free(ids);
	}
	return 0;
}
