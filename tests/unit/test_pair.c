/* rooms: filter
 *
 * The pair against a model that forgets nothing it should know: no false negative,
 * exactly one FIRST, false positives as forecast, snapshots that are right or refused.
 * TWICE_LONG=1 runs 10^8 operations where the normal run takes a few million.
 */
#include "tests/kit/unit.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "filter/pair.h"

#define SLOW (SANITIZED ? 10 : 1) /* sanitizers: a tenth of the work */

static uint64_t
many(uint64_t normal)
{
	return getenv("TWICE_LONG") ? UINT64_C(100000000) : normal / SLOW;
}

/* splitmix64: a number for every number */
static uint64_t
scatter(uint64_t z)
{
	z += 0x9E3779B97F4A7C15ULL;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

static struct twice_key_hash
key(uint64_t i)
{
	return (struct twice_key_hash){scatter(2 * i), scatter(2 * i + 1)};
}

static struct twice_pair *
pair_of(uint64_t capacity, double fpr)
{
	struct twice_pair *p = NULL;
	struct twice_pair_options o = {.capacity = capacity, .false_positives = fpr};

	ck_assert_int_eq(twice_pair_create(&p, &o, 0), 0);
	return p;
}

static struct twice_pair_stats
stats_of(const struct twice_pair *p)
{
	struct twice_pair_stats s;
	twice_pair_stats(p, &s);
	return s;
}

/* ---- words of the interface ---- */

static const struct {
	const char *says;
	struct twice_pair_options o;
	int want;
} options[] = {
	{"nothing to hold", {.capacity = 0, .false_positives = 0.01}, -1},
	{"more than 2^30 keys", {.capacity = (1ULL << 30) + 1, .false_positives = 0.01}, -1},
	{"no errors allowed", {.capacity = 10, .false_positives = 0}, -1},
	{"always wrong", {.capacity = 10, .false_positives = 1}, -1},
	{"not a number", {.capacity = 10, .false_positives = NAN}, -1},
	{"one key", {.capacity = 1, .false_positives = 0.01}, 0},
	{"coarse", {.capacity = 1000, .false_positives = 0.5}, 0},
	{"fine", {.capacity = 1000, .false_positives = 1e-6}, 0},
};

START_TEST(options_are_checked)
{
	struct twice_pair *p = NULL;

	errno = 0;
	ck_assert_msg(twice_pair_create(&p, &options[_i].o, 0) == options[_i].want, "%s",
		      options[_i].says);
	ck_assert(options[_i].want == 0 ? p != NULL : p == NULL && errno == EINVAL);
	twice_pair_destroy(&p);
	twice_pair_destroy(&p);
	ck_assert_ptr_null(p);
}
END_TEST

START_TEST(first_then_current_then_previous_then_forgotten)
{
	struct twice_pair *p = pair_of(100000, 0.01);

	ck_assert_int_eq(twice_pair_test(p, key(1)), TWICE_SIGHT_FIRST);
	ck_assert_int_eq(twice_pair_record(p, key(1)), TWICE_SIGHT_FIRST);
	ck_assert_int_eq(twice_pair_record(p, key(1)), TWICE_SIGHT_CURRENT);
	twice_pair_rotate(p, 5);
	ck_assert_int_eq(twice_pair_test(p, key(1)), TWICE_SIGHT_PREVIOUS);
	ck_assert_int_eq(stats_of(p).born_s, 5);
	twice_pair_rotate(p, 6);
	ck_assert_int_eq(twice_pair_test(p, key(1)), TWICE_SIGHT_FIRST);
	twice_pair_destroy(&p);
}
END_TEST

START_TEST(a_live_key_survives_rotation)
{
	struct twice_pair *p = pair_of(100000, 0.01);

	twice_pair_record(p, key(1));
	for (int i = 0; i < 40; i++) {
		twice_pair_rotate(p, i);
		ck_assert_int_eq(twice_pair_record(p, key(1)), TWICE_SIGHT_PREVIOUS);
		ck_assert_int_eq(twice_pair_record(p, key(1)), TWICE_SIGHT_CURRENT);
	}
	ck_assert_int_eq(stats_of(p).rotations, 40);
	ck_assert_int_eq(stats_of(p).recurring_keys, 1);
	twice_pair_destroy(&p);
}
END_TEST

/* Tags repeat after eight generations; what was left behind must not come back. */
START_TEST(nothing_comes_back_when_tags_repeat)
{
	struct twice_pair *p = pair_of(200000, 0.001);

	for (uint64_t i = 0; i < 2000; i++)
		twice_pair_record(p, key(i));
	for (uint64_t turn = 1; turn <= 40; turn++) {
		twice_pair_rotate(p, 0);
		twice_pair_record(p, key(1000000 + turn));
		for (uint64_t i = 0; i < 2000; i++)
			ck_assert_int_eq(twice_pair_test(p, key(i)),
					 turn == 1 ? TWICE_SIGHT_PREVIOUS : TWICE_SIGHT_FIRST);
	}
	twice_pair_destroy(&p);
}
END_TEST

START_TEST(a_generation_closes_on_the_key_that_fills_it)
{
	struct twice_pair *p = pair_of(5000, 0.01);
	uint64_t fresh = 0;

	for (uint64_t i = 0; fresh < 5000; i++) {
		ck_assert_int_eq(twice_pair_number(p), 0);
		fresh += twice_pair_record(p, key(i)) != TWICE_SIGHT_CURRENT;
	}
	ck_assert_int_eq(twice_pair_number(p), 1);
	ck_assert_int_eq(stats_of(p).keys, 0);
	ck_assert_int_eq(stats_of(p).previous_keys, 5000);
	twice_pair_destroy(&p);
}
END_TEST

START_TEST(a_generation_closes_by_age)
{
	struct twice_pair *p = NULL;
	struct twice_pair_options o = {
		.capacity = 1000, .false_positives = 0.01, .rotate_after_s = 60};

	ck_assert_int_eq(twice_pair_create(&p, &o, 1000), 0);
	ck_assert(!twice_pair_tick(p, 1059));
	ck_assert(twice_pair_tick(p, 1060));
	ck_assert_int_eq(stats_of(p).born_s, 1060);
	ck_assert(!twice_pair_tick(p, 1061));
	ck_assert(!twice_pair_tick(p, 10)); /* a clock that went back */
	ck_assert(twice_pair_tick(p, 5000));
	twice_pair_destroy(&p);
}
END_TEST

START_TEST(a_clock_that_is_set_back_leaves_ages_as_they_are)
{
	struct twice_pair *p = NULL;
	struct twice_pair_options o = {
		.capacity = 1000, .false_positives = 0.01, .rotate_after_s = 60};

	ck_assert_int_eq(twice_pair_create(&p, &o, 1000000), 0);
	twice_pair_record(p, key(1));
	ck_assert(!twice_pair_tick(p, 1000030));
	ck_assert(!twice_pair_tick(p, 500));
	ck_assert_int_eq(stats_of(p).born_s, 470);
	ck_assert(!twice_pair_tick(p, 529));
	ck_assert(twice_pair_tick(p, 530));
	ck_assert_int_eq(stats_of(p).born_s, 530);
	twice_pair_destroy(&p);
}
END_TEST

/* Capacity counts only keys that this thread saw added; ones count whatever is set. At
 * a coarse rate the plan itself lies near half full, and small filters spread. */
START_TEST(no_generation_is_more_than_half_full)
{
	struct twice_pair *p = pair_of(1000, 0.5);

	for (uint64_t i = 0; i < 20000; i++) {
		twice_pair_record(p, key(i));
		ck_assert(stats_of(p).fill_ratio <= 0.5);
	}
	ck_assert(twice_pair_number(p) > 5);
	twice_pair_destroy(&p);
}
END_TEST

START_TEST(batch_answers_as_singles_do)
{
	struct twice_pair *one = pair_of(3000, 0.02), *all = pair_of(3000, 0.02);
	uint64_t state = 7;

	for (int round = 0; round < 400; round++) {
		struct twice_key_hash h[200];
		enum twice_sight out[200];
		size_t n = scatter(state++) % 200;

		for (size_t i = 0; i < n; i++)
			h[i] = key(scatter(state++) % 20000);
		twice_pair_record_batch(all, h, out, n);
		for (size_t i = 0; i < n; i++)
			ck_assert_int_eq(out[i], twice_pair_record(one, h[i]));
		twice_pair_test_batch(all, h, out, n);
		for (size_t i = 0; i < n; i++)
			ck_assert_int_eq(out[i], twice_pair_test(one, h[i]));
		ck_assert_int_eq(twice_pair_number(one), twice_pair_number(all));
	}
	ck_assert(twice_pair_number(one) > 3);
	ck_assert_int_eq(stats_of(one).keys, stats_of(all).keys);
	ck_assert(stats_of(one).fill_ratio == stats_of(all).fill_ratio);
	twice_pair_destroy(&one);
	twice_pair_destroy(&all);
}
END_TEST

START_TEST(keys_answer_as_hashes_do)
{
	struct twice_pair *p = pair_of(1000, 0.01);
	struct twice_seed seed;
	struct twice_key_bytes keys[] = {{"a", 1}, {"http://a/b", 10}, {"a", 1}, {"", 0}};
	enum twice_sight out[4];

	twice_seed_init(&seed, "0123456789abcdef", 16);
	twice_pair_record_keys(p, &seed, keys, out, 4);
	ck_assert_int_eq(out[0], TWICE_SIGHT_FIRST);
	ck_assert_int_eq(out[2], TWICE_SIGHT_CURRENT);
	ck_assert_int_eq(twice_pair_test(p, twice_key_hash_of(&seed, "http://a/b", 10)),
			 TWICE_SIGHT_CURRENT);
	twice_pair_test_keys(p, &seed, keys, out, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(out[i], TWICE_SIGHT_CURRENT);
	twice_pair_destroy(&p);
}
END_TEST

/* ---- the model: which generation knew this key last ---- */

START_TEST(no_false_negative_against_the_model)
{
	enum { UNIVERSE = 6000, CAPACITY = 1500 };
	static int64_t last[UNIVERSE];
	struct twice_pair *p = pair_of(CAPACITY, 0.01);
	int64_t g = 0;
	uint64_t state = 1, fresh = 0, wrong = 0, absent = 0, ops = many(4000000);

	memset(last, 0x80, sizeof(last)); /* long ago */
	for (uint64_t i = 0; i < ops; i++) {
		uint64_t r = scatter(state++), k = r % UNIVERSE;
		bool records = r >> 60 != 0;
		enum twice_sight s =
			records ? twice_pair_record(p, key(k)) : twice_pair_test(p, key(k));

		if (last[k] == g)
			ck_assert_int_eq(s, TWICE_SIGHT_CURRENT);
		else if (last[k] == g - 1)
			ck_assert(s != TWICE_SIGHT_FIRST);
		else
			absent++, wrong += s != TWICE_SIGHT_FIRST;
		if (records) {
			last[k] = g;
			fresh += s != TWICE_SIGHT_CURRENT;
		}
		if (fresh == CAPACITY || r >> 48 == 0xabc) {
			if (fresh != CAPACITY)
				twice_pair_rotate(p, 0);
			fresh = 0;
			g++;
		}
		if ((i & 0xfff) == 0)
			ck_assert_int_eq(twice_pair_number(p), g);
	}
	ck_assert_msg((double)wrong < 0.01 * (double)absent, "%lu of %lu", (unsigned long)wrong,
		      (unsigned long)absent);
	twice_pair_destroy(&p);
}
END_TEST

/* ---- threads ---- */

static void
run_together(void *(*work)(void *), void *ctx[], int n)
{
	pthread_t t[8];

	for (int i = 0; i < n; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, work, ctx[i]), 0);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

enum { RACERS = 2, CHUNK = 500, CHUNKS = SANITIZED ? 150 : 400 };

struct race {
	struct twice_pair *p;
	pthread_barrier_t start;
	bool rotates;
	_Atomic unsigned char firsts[CHUNKS][CHUNK];
};

struct racer {
	struct race *race;
	int who; /* RACERS: the one that rotates */
};

static void
race_chunk(struct race *r, int chunk, bool batch)
{
	struct twice_key_hash h[CHUNK];
	enum twice_sight out[CHUNK];

	for (int i = 0; i < CHUNK; i++)
		h[i] = key((uint64_t)(chunk * CHUNK + i));
	if (batch)
		twice_pair_record_batch(r->p, h, out, CHUNK);
	for (int i = 0; i < CHUNK; i++) {
		enum twice_sight s = batch ? out[i] : twice_pair_record(r->p, h[i]);
		if (s == TWICE_SIGHT_FIRST)
			atomic_fetch_add(&r->firsts[chunk][i], 1);
	}
}

static void *
race_run(void *ctx)
{
	struct racer *me = ctx;

	for (int c = 0; c < CHUNKS; c++) {
		pthread_barrier_wait(&me->race->start);
		if (me->who < RACERS) {
			race_chunk(me->race, c, c % 2);
		} else if (me->race->rotates) {
			for (volatile uint64_t i = scatter((uint64_t)c) % 30000; i > 0;)
				i = i - 1;
			twice_pair_rotate(me->race->p, c);
		}
	}
	return NULL;
}

/* At most one rotation while a chunk is raced for, so that no key of it is forgotten. */
static void
race_is_fair(bool rotates)
{
	static struct race r;
	struct racer racer[RACERS + 1];
	void *ctx[RACERS + 1];
	int none = 0;

	memset((void *)&r, 0, sizeof(r));
	r.p = pair_of(10 * CHUNKS * CHUNK, 0.001);
	r.rotates = rotates;
	pthread_barrier_init(&r.start, NULL, RACERS + 1);
	for (int i = 0; i <= RACERS; i++) {
		racer[i] = (struct racer){&r, i};
		ctx[i] = &racer[i];
	}
	run_together(race_run, ctx, RACERS + 1);
	for (int c = 0; c < CHUNKS; c++)
		for (int i = 0; i < CHUNK; i++) {
			ck_assert_msg(r.firsts[c][i] <= 1, "key %d of chunk %d was first twice", i,
				      c);
			none += r.firsts[c][i] == 0;
		}
	ck_assert_msg(none < CHUNKS * CHUNK / 1000, "%d keys were nobody's first", none);
	ck_assert_int_eq(stats_of(r.p).rotations, rotates ? CHUNKS : 0);
	pthread_barrier_destroy(&r.start);
	twice_pair_destroy(&r.p);
}

START_TEST(exactly_one_of_two_racers_is_first)
{
	race_is_fair(false);
}
END_TEST

START_TEST(exactly_one_is_first_while_generations_turn)
{
	race_is_fair(true);
}
END_TEST

enum { KEEPERS = 3, OWN_KEYS = 300 };

struct keeper {
	struct twice_pair *p;
	uint64_t who, ops, lost;
	_Atomic bool *stop;
};

/* Records its own keys and the others' too; its own must be known while they should. */
static void *
keeper_run(void *ctx)
{
	struct keeper *k = ctx;
	static _Thread_local uint64_t recorded_in[OWN_KEYS];

	for (uint64_t i = 0; i < OWN_KEYS; i++)
		recorded_in[i] = UINT64_MAX / 2;
	for (uint64_t op = 0; op < k->ops; op++) {
		uint64_t r = scatter(op * KEEPERS + k->who), i = r % OWN_KEYS;
		struct twice_key_hash own = key(k->who * OWN_KEYS + i);

		if (r >> 62 == 0)
			twice_pair_record(k->p, key(scatter(r) % 5000));
		uint64_t before = twice_pair_number(k->p);
		enum twice_sight s =
			r >> 61 & 1 ? twice_pair_test(k->p, own) : twice_pair_record(k->p, own);
		uint64_t after = twice_pair_number(k->p);

		if (after - recorded_in[i] <= 1 && s == TWICE_SIGHT_FIRST)
			k->lost++;
		if (!(r >> 61 & 1))
			recorded_in[i] = before;
	}
	return NULL;
}

static void *
turner_run(void *ctx)
{
	struct keeper *k = ctx;

	for (uint64_t i = 0; !atomic_load(k->stop); i++) {
		for (volatile uint64_t n = scatter(i) % 20000; n > 0;)
			n = n - 1;
		twice_pair_rotate(k->p, (int64_t)i);
	}
	return NULL;
}

START_TEST(no_key_is_lost_while_threads_rotate)
{
	_Atomic bool stop = false;
	struct keeper k[KEEPERS], turner = {.stop = &stop};
	void *ctx[KEEPERS];
	pthread_t t;

	turner.p = pair_of(600, 0.01);
	for (uint64_t i = 0; i < KEEPERS; i++) {
		k[i] = (struct keeper){.p = turner.p, .who = i, .ops = many(6000000) / KEEPERS};
		ctx[i] = &k[i];
	}
	pthread_create(&t, NULL, turner_run, &turner);
	run_together(keeper_run, ctx, KEEPERS);
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	for (int i = 0; i < KEEPERS; i++)
		ck_assert_int_eq(k[i].lost, 0);
	ck_assert(stats_of(turner.p).rotations > 100);
	twice_pair_destroy(&turner.p);
}
END_TEST

/* ---- false positives and memory ---- */

static const struct {
	uint64_t capacity;
	double fpr;
} rates[] = {
	{20000, 0.1},	{100000, 0.05},	 {100000, 0.02},  {100000, 0.01},
	{400000, 0.01}, {100000, 0.005}, {100000, 0.001},
};

static void
fill_both(struct twice_pair *p, uint64_t salt)
{
	uint64_t i = salt;

	while (twice_pair_number(p) < 1)
		twice_pair_record(p, key(i++));
	for (uint64_t left = stats_of(p).capacity - 1; left > 0;)
		left -= twice_pair_record(p, key(i++)) != TWICE_SIGHT_CURRENT;
}

static double
measured_fpr(const struct twice_pair *p, uint64_t salt, uint64_t tries)
{
	uint64_t seen = 0;

	for (uint64_t i = 0; i < tries; i++)
		seen += twice_pair_test(p, key(salt + i)) != TWICE_SIGHT_FIRST;
	return (double)seen / (double)tries;
}

START_TEST(false_positives_are_as_forecast_and_configured)
{
	enum { FILTERS = SANITIZED ? 1 : 4 };
	double sum = 0, p = rates[_i].fpr, forecast = 0;
	uint64_t tries = SANITIZED ? 400000 : 2000000;

	for (uint64_t f = 0; f < FILTERS; f++) {
		struct twice_pair *a = pair_of(rates[_i].capacity, p);

		fill_both(a, f << 40);
		ck_assert_int_eq(twice_pair_number(a), 1);
		forecast = stats_of(a).forecast_fpr;
		double estimated = stats_of(a).estimated_fpr;
		ck_assert_msg(fabs(estimated / forecast - 1) < 0.05, "estimated %g forecast %g",
			      estimated, forecast);
		sum += measured_fpr(a, (f << 40) + (1ULL << 39), tries);
		twice_pair_destroy(&a);
	}
	/* Two sources of spread: the tries, and how evenly the lines happened to fill. */
	double lines = (double)rates[_i].capacity / 20;
	double error = sqrt(p / (double)(FILTERS * tries) + p * p / (FILTERS * lines));
	double measured = sum / FILTERS;

	ck_assert_msg(fabs(measured - forecast) < 3 * error, "measured %.6f forecast %.6f +- %.6f",
		      measured, forecast, error);
	ck_assert_msg(fabs(measured - p) < 0.1 * p, "measured %.6f configured %.6f", measured, p);
}
END_TEST

START_TEST(memory_keeps_its_promise)
{
	for (uint64_t capacity = 10000; capacity <= 1000000; capacity *= 10) {
		struct twice_pair *p = pair_of(capacity, 0.01);

		ck_assert(stats_of(p).bits_per_key <= 25.5);
		ck_assert((double)stats_of(p).memory_bytes * 8 <=
			  25.5 * (double)capacity + 8 * 16384);
		twice_pair_destroy(&p);
	}
}
END_TEST

START_TEST(estimates_are_near_the_truth)
{
	enum { KEYS = 50000, SHARED = 20000 };
	struct twice_pair *p = pair_of(100000, 0.01);

	for (uint64_t i = 0; i < KEYS; i++)
		twice_pair_record(p, key(i));
	twice_pair_rotate(p, 0);
	for (uint64_t i = KEYS - SHARED; i < 2 * KEYS - SHARED; i++)
		twice_pair_record(p, key(i));
	struct twice_pair_stats s = stats_of(p);
	ck_assert_msg(fabs(s.distinct_estimate / KEYS - 1) < 0.01, "%g", s.distinct_estimate);
	ck_assert_msg(fabs(s.previous_distinct_estimate / KEYS - 1) < 0.01, "%g",
		      s.previous_distinct_estimate);
	ck_assert_msg(fabs(s.recurring_share - 0.4) < 0.01, "%g", s.recurring_share);
	twice_pair_destroy(&p);
}
END_TEST

/* A stranger who knows the code but not the seed collects keys that are false positives
 * under a seed of his own. With the real one they do no better than any others. */
START_TEST(keys_aimed_with_another_seed_miss)
{
	enum { CAPACITY = 20000, AIMED = 4000 };
	struct twice_seed his, ours;
	struct twice_pair *a = pair_of(CAPACITY, 0.05), *b = pair_of(CAPACITY, 0.05);
	uint64_t k[2] = {0, 0}, aimed = 0, hit = 0;

	twice_seed_init(&his, "what a stranger may guess", 25);
	twice_seed_init(&ours, "what nobody else can know", 25);
	for (k[0] = 0; k[0] < CAPACITY - 1; k[0]++) {
		twice_pair_record(a, twice_key_hash_of(&his, k, sizeof(k)));
		twice_pair_record(b, twice_key_hash_of(&ours, k, sizeof(k)));
	}
	double rate = stats_of(b).estimated_fpr;
	for (k[1] = 1; aimed < AIMED; k[0]++)
		if (twice_pair_test(a, twice_key_hash_of(&his, k, sizeof(k))) !=
		    TWICE_SIGHT_FIRST) {
			aimed++;
			hit += twice_pair_test(b, twice_key_hash_of(&ours, k, sizeof(k))) !=
			       TWICE_SIGHT_FIRST;
		}
	double error = sqrt(AIMED * rate);
	ck_assert_msg(fabs((double)hit - AIMED * rate) < 4 * error, "%lu hits, %.1f by chance",
		      (unsigned long)hit, AIMED * rate);
	twice_pair_destroy(&a);
	twice_pair_destroy(&b);
}
END_TEST

/* ---- snapshots ---- */

struct tape {
	unsigned char *bytes;
	size_t n, at, room;
	size_t step; /* hands out at most so much at once; 0: all */
};

static int
tape_write(void *ctx, const void *bytes, size_t n)
{
	struct tape *t = ctx;

	if (t->n + n > t->room)
		return -1;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	return 0;
}

static size_t
tape_read(void *ctx, void *buf, size_t n)
{
	struct tape *t = ctx;
	size_t left = t->n - t->at;

	if (t->step && n > t->step)
		n = t->step;
	if (n > left)
		n = left;
	memcpy(buf, t->bytes + t->at, n);
	t->at += n;
	return n;
}

static const struct twice_pair_options small = {.capacity = 800, .false_positives = 0.01};

static struct twice_seed
seed_of(const char *random)
{
	struct twice_seed s;
	twice_seed_init(&s, random, 16);
	return s;
}

static struct tape
saved(const struct twice_pair *p, const struct twice_seed *seed, int64_t now_s)
{
	struct tape t = {.room = twice_pair_snapshot_bytes(p)};

	t.bytes = malloc(t.room);
	ck_assert_int_eq(twice_pair_save(p, seed, now_s, tape_write, &t), 0);
	ck_assert_int_eq(t.n, t.room);
	return t;
}

static const char *
loaded(struct twice_pair **out, struct tape *t, const struct twice_pair_options *o,
       const struct twice_seed *seed, int64_t now_s)
{
	t->at = 0;
	return twice_pair_load(out, o, seed, now_s, tape_read, t);
}

START_TEST(a_snapshot_remembers_everything)
{
	struct twice_seed seed = seed_of("0123456789abcdef");

	for (int rotations = 0; rotations < 12; rotations++) {
		struct twice_pair *p = NULL, *q = NULL;
		ck_assert_int_eq(twice_pair_create(&p, &small, 100), 0);
		for (int i = 0; i < rotations; i++) {
			for (uint64_t k = 0; k < 500; k++)
				twice_pair_record(p, key((uint64_t)i * 400 + k));
			twice_pair_rotate(p, 100);
		}
		for (uint64_t k = 0; k < 70; k++)
			twice_pair_record(p, key(90000 + k));

		struct tape t = saved(p, &seed, 130);
		t.step = rotations % 2 ? 7 : 0;
		ck_assert_ptr_null(loaded(&q, &t, &small, &seed, 5000));
		struct twice_pair_stats a = stats_of(p), b = stats_of(q);
		ck_assert_int_eq(b.born_s, 5000 - 30);
		ck_assert_int_eq(a.number, b.number);
		ck_assert_int_eq(a.keys, b.keys);
		ck_assert_int_eq(a.previous_keys, b.previous_keys);
		ck_assert(a.fill_ratio == b.fill_ratio);
		ck_assert(a.previous_fill_ratio == b.previous_fill_ratio);
		for (uint64_t k = 0; k < 95000; k++)
			ck_assert_int_eq(twice_pair_test(p, key(k)), twice_pair_test(q, key(k)));
		for (int i = 0; i < 12; i++) { /* and lives on as the other does */
			for (uint64_t k = 0; k < 300; k++)
				ck_assert_int_eq(twice_pair_record(p, key(k + (uint64_t)i * 200)),
						 twice_pair_record(q, key(k + (uint64_t)i * 200)));
			twice_pair_rotate(p, 0);
			twice_pair_rotate(q, 0);
		}
		free(t.bytes);
		twice_pair_destroy(&p);
		twice_pair_destroy(&q);
	}
}
END_TEST

static struct tape
small_tape(const struct twice_seed *seed)
{
	struct twice_pair *p = NULL;

	ck_assert_int_eq(twice_pair_create(&p, &small, 0), 0);
	for (uint64_t k = 0; k < 1200; k++)
		twice_pair_record(p, key(k));
	struct tape t = saved(p, seed, 0);
	twice_pair_destroy(&p);
	return t;
}

START_TEST(a_byte_flipped_anywhere_is_refused)
{
	struct twice_seed seed = seed_of("0123456789abcdef");
	struct tape t = small_tape(&seed);
	struct twice_pair *untouched = NULL;

	size_t stride = SLOW > 1 || !getenv("TWICE_LONG") ? 7 : 1; /* behind the head */
	for (size_t i = 0; i<t.n; i += i> 200 && i + 200 < t.n ? stride : 1) {
		unsigned char bit = (unsigned char)(1u << (scatter(i) & 7));
		t.bytes[i] ^= bit;
		ck_assert_ptr_nonnull(loaded(&untouched, &t, &small, &seed, 0));
		ck_assert_ptr_null(untouched);
		t.bytes[i] ^= bit;
	}
	ck_assert_ptr_null(loaded(&untouched, &t, &small, &seed, 0));
	twice_pair_destroy(&untouched);
	free(t.bytes);
}
END_TEST

START_TEST(a_snapshot_cut_short_is_refused)
{
	struct twice_seed seed = seed_of("0123456789abcdef");
	struct tape t = small_tape(&seed);
	struct twice_pair *untouched = NULL;
	size_t whole = t.n;

	for (t.n = 0; t.n < whole; t.n += t.n < 100 || t.n > whole - 100 ? 1 : 13)
		ck_assert_ptr_nonnull(loaded(&untouched, &t, &small, &seed, 0));
	ck_assert_ptr_null(untouched);
	free(t.bytes);
}
END_TEST

START_TEST(a_foreign_snapshot_is_refused_with_a_reason)
{
	struct twice_seed seed = seed_of("0123456789abcdef"), other = seed_of("0123456789abcdeX");
	struct twice_pair_options larger = small, finer = small;
	struct tape t = small_tape(&seed);
	struct twice_pair *p = NULL;

	larger.capacity++;
	finer.false_positives /= 2;
	ck_assert_pstr_eq(loaded(&p, &t, &small, &other, 0), "made with another seed");
	ck_assert_pstr_eq(loaded(&p, &t, &larger, &seed, 0),
			  "made for another capacity or false-positive rate");
	ck_assert_pstr_eq(loaded(&p, &t, &finer, &seed, 0),
			  "made for another capacity or false-positive rate");
	ck_assert_ptr_null(p);
	free(t.bytes);
}
END_TEST

static int
refuse(void *ctx, const void *bytes, size_t n)
{
	(void)bytes, (void)n;
	return --*(int *)ctx < 0 ? -1 : 0;
}

START_TEST(a_write_that_fails_fails_the_save)
{
	struct twice_seed seed = seed_of("0123456789abcdef");
	struct twice_pair *p = pair_of(800, 0.01);

	for (int good = 0; good < 3; good++) {
		int left = good;
		ck_assert_int_eq(twice_pair_save(p, &seed, 0, refuse, &left), -1);
	}
	twice_pair_destroy(&p);
}
END_TEST

static void *
recorder_run(void *ctx)
{
	struct keeper *k = ctx;

	for (uint64_t i = 0; !atomic_load(k->stop); i++)
		twice_pair_record(k->p, key((1ULL << 50) + i));
	return NULL;
}

/* Keys that were there before the save are there after the load, whatever went on meanwhile. */
START_TEST(a_snapshot_taken_while_others_record_loses_nothing)
{
	_Atomic bool stop = false;
	struct twice_seed seed = seed_of("0123456789abcdef");
	struct twice_pair_options o = {.capacity = 400000, .false_positives = 0.01};
	struct keeper k = {.stop = &stop};
	pthread_t t;

	ck_assert_int_eq(twice_pair_create(&k.p, &o, 0), 0);
	pthread_create(&t, NULL, recorder_run, &k);
	for (uint64_t round = 0; round < 30 / SLOW + 1; round++) {
		struct twice_pair *q = NULL;
		uint64_t from = round * 1000, number = twice_pair_number(k.p);

		for (uint64_t i = 0; i < 1000; i++)
			twice_pair_record(k.p, key(from + i));
		struct tape tape = saved(k.p, &seed, 0);
		ck_assert_ptr_null(loaded(&q, &tape, &o, &seed, 0));
		if (twice_pair_number(q) - number <= 1)
			for (uint64_t i = 0; i < 1000; i++)
				ck_assert_int_ne(twice_pair_test(q, key(from + i)),
						 TWICE_SIGHT_FIRST);
		twice_pair_destroy(&q);
		free(tape.bytes);
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	twice_pair_destroy(&k.p);
}
END_TEST

/* Sizes whose number of lines is odd, even, one and large. */
static const struct {
	uint64_t capacity;
	double fpr;
} packs[] = {{1, 0.5}, {1000, 0.01}, {4097, 1e-6}, {100000, 0.1}, {3000000, 0.01}};

/* A pair's answers alone tell which hashes are the same key to it. */
START_TEST(a_packed_key_is_the_key)
{
	enum { KEYS = 2000 };
	struct twice_pair *p = pair_of(packs[_i].capacity, packs[_i].fpr);
	struct twice_pair *q = pair_of(packs[_i].capacity, packs[_i].fpr);
	for (uint64_t i = 0; i < KEYS; i++) {
		struct twice_key_hash h = key(i), edge[2] = {{UINT64_MAX, UINT64_MAX}, {0, 0}};
		h = i < 2 ? edge[i] : h;
		uint64_t packed = twice_pair_pack_key(p, h);
		struct twice_key_hash same = twice_pair_unpack_key(p, packed);
		ck_assert_uint_eq(twice_pair_pack_key(p, same), packed);
		twice_pair_record(p, h);
		ck_assert_int_ne(twice_pair_test(p, same), TWICE_SIGHT_FIRST);
		twice_pair_record(q, same);
		ck_assert_int_ne(twice_pair_test(q, h), TWICE_SIGHT_FIRST);
		if (i % 100 == 0 && packs[_i].capacity > KEYS)
			ck_assert_int_eq(twice_pair_test(q, key(KEYS + i)),
					 twice_pair_test(p, key(KEYS + i)));
	}
	/* Bits that nobody packed are some key, too. */
	for (uint64_t i = 0; i < KEYS; i++) {
		struct twice_key_hash h = twice_pair_unpack_key(p, scatter(i));
		twice_pair_record(p, h);
		ck_assert_int_ne(twice_pair_test(p, h), TWICE_SIGHT_FIRST);
	}
	twice_pair_destroy(&p);
	twice_pair_destroy(&q);
}
END_TEST

UNIT("pair", LOOP(options_are_checked, options),
     TEST(first_then_current_then_previous_then_forgotten), TEST(a_live_key_survives_rotation),
     TEST(nothing_comes_back_when_tags_repeat), TEST(a_generation_closes_on_the_key_that_fills_it),
     TEST(a_generation_closes_by_age), TEST(a_clock_that_is_set_back_leaves_ages_as_they_are),
     TEST(no_generation_is_more_than_half_full), TEST(batch_answers_as_singles_do),
     TEST(keys_answer_as_hashes_do), TEST(no_false_negative_against_the_model),
     TEST(exactly_one_of_two_racers_is_first), TEST(exactly_one_is_first_while_generations_turn),
     TEST(no_key_is_lost_while_threads_rotate),
     LOOP(false_positives_are_as_forecast_and_configured, rates), TEST(memory_keeps_its_promise),
     TEST(estimates_are_near_the_truth), TEST(keys_aimed_with_another_seed_miss),
     TEST(a_snapshot_remembers_everything), TEST(a_byte_flipped_anywhere_is_refused),
     TEST(a_snapshot_cut_short_is_refused), TEST(a_foreign_snapshot_is_refused_with_a_reason),
     TEST(a_write_that_fails_fails_the_save), LOOP(a_packed_key_is_the_key, packs),
     TEST(a_snapshot_taken_while_others_record_loses_nothing))
