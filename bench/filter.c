/* filter.c - what a sighting costs, beside two floors and Debian's libbloom.
 *
 *	make build/release/bench/filter
 *	build/release/bench/filter [KEYS...]	keys per generation: 1e5 1e6 1e7, or 1e8
 *
 * Floors, in the same run, over an array of the pair's size on ordinary pages: the cheapest
 * keyed hash there is (XXH3, 64 bits) of the key alone, and that plus one locked OR in one random
 * cache line. Keys are 40 to 120
 * bytes. The previous generation is full, the current one a third full or more. Every figure is the
 * median of several rounds, which take turns. Time is the threads' own, for the machine
 * may be shared: two threads in each other's way spend more of it, one that waits for a
 * processor does not.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <xxhash.h>

#include "bench/kit.h"
#include "filter/family/blocked.h"
#include "filter/pair.h"

#if __has_include(<bloom.h>)
#include <bloom.h>
#define HAVE_LIBBLOOM 1
#else
#define HAVE_LIBBLOOM 0
#endif

enum {
	SLOTS = 4096, /* keys made at a time, outside the clock */
	KEY_ROOM = 128,
	ROUNDS = 9,
	PIECES_MOST = 16, /* of SLOTS keys, per round and operation */
	AHEAD = 32,
	THREAD_PIECES = 8,
};

#define ABSENT (UINT64_C(1) << 60)

static const struct twice_seed *
seed(void)
{
	static struct twice_seed s;
	twice_seed_init(&s, "a fixed seed: runs can be repeated", 34);
	return &s;
}

/* ---- keys ---- */

struct keys {
	struct twice_key_bytes view[SLOTS];
	unsigned char text[SLOTS][KEY_ROOM];
	const struct twice_seed *seed;
	struct twice_key_hash hash[SLOTS];
	enum twice_sight sight[SLOTS];
};

static uint64_t
scatter(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

static struct keys *
keys_new(void)
{
	struct keys *k = calloc(1, sizeof(*k));

	k->seed = seed();
	for (unsigned i = 0; i < SLOTS; i++)
		for (unsigned c = 0; c < KEY_ROOM; c++)
			k->text[i][c] = (unsigned char)('a' + scatter(i * KEY_ROOM + c) % 26);
	return k;
}

/* Slot i gets key number first + i; length and text follow from the number. */
static void
keys_make(struct keys *k, unsigned slot, uint64_t number)
{
	unsigned char *text = k->text[slot];

	memcpy(text + 20, &number, sizeof(number));
	k->view[slot] = (struct twice_key_bytes){text, 40 + scatter(number) % 81};
}

static void
keys_row(struct keys *k, uint64_t first)
{
	for (unsigned i = 0; i < SLOTS; i++)
		keys_make(k, (unsigned)((first + i) % SLOTS), first + i);
}

/* Keys that were recorded: numbers from `low` up to `high`, at random. */
static void
keys_known(struct keys *k, uint64_t low, uint64_t high, uint64_t salt)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t n = low + scatter(salt * SLOTS + i) % (high - low);
		keys_make(k, (unsigned)(n % SLOTS), n);
	}
	for (unsigned i = 0; i < SLOTS; i++) /* slots that no number fell to */
		if (k->view[i].n == 0)
			keys_make(k, i, low - low % SLOTS + i);
}

/* ---- what is measured ---- */

struct subject {
	struct twice_pair *pair;
	struct twice_blocked *blocked;
	uint64_t *array; /* the floor's */
	uint64_t lines;
	uint64_t next;	 /* number of the next new key */
	uint64_t recent; /* so many keys before it are surely in the current generation */
	unsigned pieces;
	volatile uint64_t sink;
};

typedef void work_fn(struct subject *s, struct keys *k);

/* 64 bits are enough for a line, a word and a bit: a floor that hashed 128 would be too high. */
static inline uint64_t
xxh3(const struct keys *k, unsigned i)
{
	return XXH3_64bits_withSecret(k->view[i].p, k->view[i].n, k->seed->secret,
				      sizeof(k->seed->secret));
}

static void
hash_alone(struct subject *s, struct keys *k)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		sum += xxh3(k, i);
	s->sink = sum;
}

static inline uint64_t *
word_of(const struct subject *s, uint64_t h)
{
	uint64_t line = (uint64_t)((unsigned __int128)h * s->lines >> 64);
	return s->array + 8 * line + (h & 7);
}

static inline void
set_bit(const struct subject *s, uint64_t h)
{
	__atomic_fetch_or(word_of(s, h), UINT64_C(1) << (h >> 3 & 63), __ATOMIC_SEQ_CST);
}

static void
floor_single(struct subject *s, struct keys *k)
{
	for (unsigned i = 0; i < SLOTS; i++)
		set_bit(s, xxh3(k, i));
}

static void
floor_batch(struct subject *s, struct keys *k)
{
	for (unsigned at = 0; at < SLOTS; at += AHEAD) {
		uint64_t h[AHEAD];
		for (unsigned i = 0; i < AHEAD; i++) {
			h[i] = xxh3(k, at + i);
			__builtin_prefetch(word_of(s, h[i]), 1);
		}
		for (unsigned i = 0; i < AHEAD; i++)
			set_bit(s, h[i]);
	}
}

static void
pair_record_single(struct subject *s, struct keys *k)
{
	for (unsigned i = 0; i < SLOTS; i++)
		twice_pair_record(s->pair, twice_key_hash_of(k->seed, k->view[i].p, k->view[i].n));
}

static void
pair_record_all(struct subject *s, struct keys *k)
{
	twice_pair_record_keys(s->pair, k->seed, k->view, k->sight, SLOTS);
}

static void
pair_test_single(struct subject *s, struct keys *k)
{
	uint64_t seen = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		seen += twice_pair_test(s->pair,
					twice_key_hash_of(k->seed, k->view[i].p, k->view[i].n));
	s->sink = seen;
}

static void
pair_test_all(struct subject *s, struct keys *k)
{
	twice_pair_test_keys(s->pair, k->seed, k->view, k->sight, SLOTS);
}

static void
blocked_add_single(struct subject *s, struct keys *k)
{
	for (unsigned i = 0; i < SLOTS; i++)
		twice_blocked_add(s->blocked,
				  twice_key_hash_of(k->seed, k->view[i].p, k->view[i].n));
}

static void
blocked_has_single(struct subject *s, struct keys *k)
{
	uint64_t seen = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		seen += twice_blocked_has(s->blocked,
					  twice_key_hash_of(k->seed, k->view[i].p, k->view[i].n));
	s->sink = seen;
}

#if HAVE_LIBBLOOM
static struct {
	void *library;
	int (*init)(struct bloom *, int, double);
	int (*check)(struct bloom *, const void *, int);
	int (*add)(struct bloom *, const void *, int);
	void (*free)(struct bloom *);
	struct bloom now, then;
} lib;

static bool
libbloom_open(uint64_t capacity)
{
	lib.library = dlopen("libbloom.so", RTLD_NOW);
	if (!lib.library)
		lib.library = dlopen("libbloom.so.1", RTLD_NOW);
	if (!lib.library || capacity > INT32_MAX)
		return false;
	*(void **)&lib.init = dlsym(lib.library, "bloom_init");
	*(void **)&lib.check = dlsym(lib.library, "bloom_check");
	*(void **)&lib.add = dlsym(lib.library, "bloom_add");
	*(void **)&lib.free = dlsym(lib.library, "bloom_free");
	return lib.init && lib.check && lib.add && lib.free &&
	       lib.init(&lib.now, (int)capacity, 0.005) == 0 &&
	       lib.init(&lib.then, (int)capacity, 0.005) == 0;
}

static void
libbloom_record(struct subject *s, struct keys *k)
{
	uint64_t seen = 0;
	for (unsigned i = 0; i < SLOTS; i++) {
		int n = (int)k->view[i].n;
		seen += (uint64_t)lib.check(&lib.then, k->view[i].p, n);
		seen += (uint64_t)lib.add(&lib.now, k->view[i].p, n);
	}
	s->sink = seen;
}

static void
libbloom_test(struct subject *s, struct keys *k)
{
	uint64_t seen = 0;
	for (unsigned i = 0; i < SLOTS; i++) {
		int n = (int)k->view[i].n;
		seen += (uint64_t)(lib.check(&lib.now, k->view[i].p, n) ||
				   lib.check(&lib.then, k->view[i].p, n));
	}
	s->sink = seen;
}
#else
#define libbloom_record NULL
#define libbloom_test	NULL
static bool
libbloom_open(uint64_t capacity)
{
	(void)capacity;
	return false;
}
#endif

/* ---- rows ---- */

enum kind { ANY, NEW, PRESENT, NONE };

/* clang-format off */
static const struct row {
	const char *says;
	enum kind keys;
	work_fn *single, *batch;
	bool libbloom;
} rows[] = {
	{ "floor: XXH3-64 alone",        ANY,     hash_alone,         NULL,            false },
	{ "floor: XXH3-64 + locked OR",  ANY,     floor_single,       floor_batch,     false },
	{ "pair: first sighting",     NEW,     pair_record_single, pair_record_all, false },
	{ "pair: absent key",         NONE,    pair_test_single,   pair_test_all,   false },
	{ "pair: known, recorded",    PRESENT, pair_record_single, pair_record_all, false },
	{ "pair: known, tested",      PRESENT, pair_test_single,   pair_test_all,   false },
	{ "blocked: new key",         NEW,     blocked_add_single, NULL,            false },
	{ "blocked: absent key",      NONE,    blocked_has_single, NULL,            false },
	{ "libbloom: first sighting", NEW,     libbloom_record,    NULL,            true },
	{ "libbloom: absent key",     NONE,    libbloom_test,      NULL,            true },
};
/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(*rows), FLOOR = 1 };

static double
cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
timed(const struct row *r, work_fn *work, struct subject *s, struct keys *k)
{
	static uint64_t salt;
	double sum = 0;

	for (unsigned i = 0; i < s->pieces; i++) {
		if (r->keys == PRESENT)
			keys_known(k, s->next - s->recent, s->next, ++salt);
		else
			keys_row(k, r->keys == NEW ? s->next : ABSENT + SLOTS * ++salt);
		s->next += r->keys == NEW ? SLOTS : 0;
		double began = cpu_seconds();
		work(s, k);
		sum += cpu_seconds() - began;
	}
	return sum / s->pieces / SLOTS * 1e9;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct figure {
	double low, median, high;
};

static struct figure
figure_of(double v[ROUNDS])
{
	qsort(v, ROUNDS, sizeof(*v), by_size);
	return (struct figure){v[1], v[ROUNDS / 2], v[ROUNDS - 2]};
}

static void
print_cell(struct figure f, double floor)
{
	printf(" %7.1f (%5.1f-%5.1f) %5.2f", f.median, f.low, f.high, f.median / floor);
}

static void
run_rows(struct subject *s, struct keys *k, bool has_lib)
{
	static double v[ROWS][2][ROUNDS];
	double floor;

	for (unsigned n = 0; n < ROUNDS; n++)
		for (unsigned i = 0; i < ROWS; i++) {
			if (rows[i].libbloom && !has_lib)
				continue;
			v[i][0][n] = timed(&rows[i], rows[i].single, s, k);
			if (rows[i].batch)
				v[i][1][n] = timed(&rows[i], rows[i].batch, s, k);
		}
	floor = figure_of(v[FLOOR][0]).median;
	printf("%-26s %29s %30s\n", "ns per key", "single (spread)  to floor",
	       "batch (spread)  to floor");
	for (unsigned i = 0; i < ROWS; i++) {
		if (rows[i].libbloom && !has_lib)
			continue;
		printf("%-26s", rows[i].says);
		print_cell(figure_of(v[i][0]), floor);
		if (rows[i].batch)
			print_cell(figure_of(v[i][1]), floor);
		printf("\n");
	}
}

/* ---- two threads ---- */

struct worker {
	struct subject *s;
	pthread_barrier_t *start;
	uint64_t first;
	bool batch;
	double seconds;
};

static void *
worker_run(void *ctx)
{
	struct worker *w = ctx;
	struct keys *k = keys_new();
	double sum = 0;

	pthread_barrier_wait(w->start);
	for (unsigned i = 0; i < w->s->pieces * THREAD_PIECES; i++) {
		keys_row(k, w->first + i * SLOTS);
		double began = cpu_seconds();
		(w->batch ? pair_record_all : pair_record_single)(w->s, k);
		sum += cpu_seconds() - began;
	}
	w->seconds = sum;
	free(k);
	return NULL;
}

/* Keys per second of all threads together while they record. */
static double
throughput(struct subject *s, unsigned threads, bool batch)
{
	pthread_t t[2];
	struct worker w[2];
	pthread_barrier_t start;
	double sum = 0;

	pthread_barrier_init(&start, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		w[i] = (struct worker){s, &start, s->next, batch, 0};
		s->next += s->pieces * THREAD_PIECES * SLOTS;
		pthread_create(&t[i], NULL, worker_run, &w[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += (double)(s->pieces * THREAD_PIECES * SLOTS) / w[i].seconds;
	}
	pthread_barrier_destroy(&start);
	return sum;
}

static void
run_threads(struct subject *s)
{
	for (int batch = 0; batch < 2; batch++) {
		double best[2] = {0};
		for (int round = 0; round < 3; round++)
			for (unsigned n = 1; n <= 2; n++) {
				double v = throughput(s, n, batch);
				best[n - 1] = v > best[n - 1] ? v : best[n - 1];
			}
		printf("first sightings, %s: %.1f M/s by one thread, %.1f by two: %.2f times\n",
		       batch ? "batch" : "single", best[0] / 1e6, best[1] / 1e6, best[1] / best[0]);
	}
}

/* ---- one size ---- */

static void
fill(struct subject *s, struct keys *k, uint64_t keys, bool has_lib, bool then)
{
	for (uint64_t done = 0; done < keys; done += SLOTS, s->next += SLOTS) {
		keys_row(k, s->next);
		pair_record_all(s, k);
		if (!then)
			blocked_add_single(s, k);
#if HAVE_LIBBLOOM
		for (unsigned i = 0; has_lib && i < SLOTS; i++)
			lib.add(then ? &lib.then : &lib.now, k->view[i].p, (int)k->view[i].n);
#else
		(void)has_lib;
#endif
	}
}

static double
rotation_us(struct twice_pair *p)
{
	double began = bench_seconds();
	twice_pair_rotate(p, 0);
	return (bench_seconds() - began) * 1e6;
}

static void
run_size(uint64_t capacity)
{
	struct twice_pair_options o = {.capacity = capacity, .false_positives = 0.01};

	struct subject s = {.recent = capacity / 4 / SLOTS * SLOTS};
	struct keys *k = keys_new();
	struct twice_pair_stats stats;
	uint64_t pieces = capacity / 3 / (2 * ROUNDS * SLOTS);

	s.pieces = pieces < 1 ? 1 : pieces < PIECES_MOST ? (unsigned)pieces : PIECES_MOST;
	bool has_lib = capacity <= 10000000 && libbloom_open(capacity);

	if (twice_pair_create(&s.pair, &o, 0) != 0 ||
	    !(s.blocked = twice_blocked_create(capacity, 0.005))) {
		printf("no memory for %llu keys\n", (unsigned long long)capacity);
		exit(1);
	}
	twice_pair_stats(s.pair, &stats);
	s.lines = (uint64_t)(stats.bits_per_key * (double)capacity / 512);
	s.array = aligned_alloc(64, s.lines * 64);
	memset(s.array, 1, s.lines * 64);

	fill(&s, k, capacity - SLOTS, has_lib, true);
	double rotation = rotation_us(s.pair);
	fill(&s, k, capacity / 3, has_lib, false);
	twice_pair_stats(s.pair, &stats);
	printf("## %llu keys per generation: %.2f bits per key, %u bits set per key, "
	       "rotation %.1f us, forecast %.4f%%\n",
	       (unsigned long long)capacity, stats.bits_per_key, stats.hashes, rotation,
	       100 * stats.forecast_fpr);
	run_rows(&s, k, has_lib);
	run_threads(&s);
	printf("\n");
#if HAVE_LIBBLOOM
	if (has_lib) {
		lib.free(&lib.now);
		lib.free(&lib.then);
	}
#endif
	free(s.array);
	free(k);
	twice_pair_destroy(&s.pair);
	twice_blocked_destroy(&s.blocked);
}

int
main(int argc, char **argv)
{
	bench_head(argc, argv);
	for (int i = 1; i < argc; i++)
		run_size((uint64_t)strtod(argv[i], NULL));
	if (argc == 1)
		for (uint64_t n = 100000; n <= 10000000; n *= 10)
			run_size(n);
	return 0;
}
