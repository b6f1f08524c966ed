/* test_filter.c - every kind of filter for admission keeps the promises of its kind.
 * rooms: filter
 */
#include <pthread.h>

#include "filter/family/filter.h"
#include "tests/kit/family.h"

static struct twice_filter_options
options(int kind, uint64_t capacity)
{
	return (struct twice_filter_options){.kind = (enum twice_filter_kind)kind,
					     .sightings = kind == TWICE_FILTER_CASCADE ? 3 : 2,
					     .capacity = capacity,
					     .false_positives = 0.01,
					     .seed = 1};
}

static struct twice_filter *
filter_for(int kind, uint64_t capacity)
{
	struct twice_filter_options o = options(kind, capacity);
	struct twice_filter *m = twice_filter_create(&o, 0);
	ck_assert_ptr_nonnull(m);
	return m;
}

/* _i is the kind, in all of these */
START_TEST(the_second_sighting_is_known)
{
	struct twice_filter *m = filter_for(_i, 4000);
	ck_assert((twice_filter_pair(m) != NULL) == (_i == TWICE_FILTER_PAIR));
	for (uint64_t i = 0; i < 500; i++) {
		twice_filter_prefetch(m, key_at(1, i));
		struct twice_filter_sight s = twice_filter_test(m, key_at(1, i));
		ck_assert_uint_eq(twice_filter_record(m, key_at(1, i)).times, s.times);
		s = twice_filter_test(m, key_at(1, i));
		ck_assert_int_eq(s.sight, TWICE_SIGHT_CURRENT);
		ck_assert_uint_eq(s.times, 1);
		ck_assert_int_eq(twice_filter_record(m, key_at(1, i)).sight, TWICE_SIGHT_CURRENT);
	}
	twice_filter_destroy(&m);
	ck_assert_ptr_null(m);
}
END_TEST

/* Small memories are one stripe, large ones several: both. */
static void
check_window(int kind, uint64_t capacity)
{
	uint64_t known = 0, asked = capacity / 2;
	struct twice_filter *m = filter_for(kind, capacity);
	for (uint64_t i = 0; i < 3 * capacity; i++)
		twice_filter_record(m, key_at(2, i));
	for (uint64_t i = 0; i < asked; i++) /* from capacity - 1 keys ago on */
		known += twice_filter_test(m, key_at(2, 2 * capacity + 1 + i)).times > 0;
	if (kind == TWICE_FILTER_STABLE)
		ck_assert_double_ge((double)known, 0.94 * (double)asked);
	else
		ck_assert_uint_eq(known, asked);
	twice_filter_destroy(&m);
}

START_TEST(a_window_of_capacity_keys_is_remembered)
{
	check_window(_i, 5000);
	check_window(_i, 70000);
}
END_TEST

START_TEST(unknown_keys_seem_known_as_rarely_as_asked)
{
	struct twice_filter *m = filter_for(_i, 20000);
	double hits = 0, tries = 200000;
	for (uint64_t i = 0; i < 39999; i++)
		twice_filter_record(m, key_at(3, i));
	for (uint64_t i = 0; i < 200000; i++)
		hits += twice_filter_test(m, key_at(3, (UINT64_C(1) << 40) + i)).times > 0;
	ck_assert_double_le(hits / tries, 0.01 + 3 * sqrt(0.01 * 0.99 / tries));
	twice_filter_destroy(&m);
}
END_TEST

START_TEST(time_closes_a_generation)
{
	struct twice_filter_options o = options(_i, 1000);
	o.rotate_after_s = 60;
	struct twice_filter *m = twice_filter_create(&o, 1000);
	twice_filter_record(m, key_at(4, 1));
	twice_filter_tick(m, 1059);
	ck_assert_int_eq(twice_filter_test(m, key_at(4, 1)).sight, TWICE_SIGHT_CURRENT);
	twice_filter_tick(m, 1060);
	bool turns = _i != TWICE_FILTER_STABLE;
	ck_assert_int_eq(twice_filter_test(m, key_at(4, 1)).sight,
			 turns ? TWICE_SIGHT_PREVIOUS : TWICE_SIGHT_CURRENT);
	twice_filter_record(m, key_at(4, 2));
	twice_filter_tick(m, 1120);
	ck_assert_int_eq(twice_filter_test(m, key_at(4, 1)).sight,
			 turns ? TWICE_SIGHT_FIRST : TWICE_SIGHT_CURRENT);
	ck_assert_uint_eq(twice_filter_test(m, key_at(4, 2)).times, 1);
	twice_filter_destroy(&m);
}
END_TEST

/* Small memories are one stripe, large ones several, of which some may have ended it by themselves. */
static void
check_turns(int kind, uint64_t capacity)
{
	bool turns = kind != TWICE_FILTER_STABLE;
	struct twice_filter *m = filter_for(kind, capacity);
	ck_assert(twice_filter_has_generations(m) == turns);
	twice_filter_record(m, key_at(14, 1));
	ck_assert(!twice_filter_try_rotate(m, 1)); /* that is not the current one */
	ck_assert(twice_filter_try_rotate(m, 0) == turns);
	ck_assert(!twice_filter_try_rotate(m, 0));
	ck_assert_uint_eq(twice_filter_number(m), turns);
	ck_assert_int_eq(twice_filter_test(m, key_at(14, 1)).sight,
			 turns ? TWICE_SIGHT_PREVIOUS : TWICE_SIGHT_CURRENT);
	twice_filter_record(m, key_at(14, 2));
	twice_filter_rotate(m, 100);
	ck_assert_uint_eq(twice_filter_number(m), turns ? 2 : 0);
	ck_assert_uint_eq(twice_filter_test(m, key_at(14, 1)).times, !turns);
	ck_assert_uint_eq(twice_filter_test(m, key_at(14, 2)).times, 1);
	struct twice_filter_stats s;
	twice_filter_stats(m, &s);
	ck_assert_uint_eq(s.generation, twice_filter_number(m));
	ck_assert_int_eq(s.born_s, turns ? 100 : 0);
	twice_filter_destroy(&m);
}

START_TEST(a_generation_ends_when_somebody_says_so)
{
	check_turns(_i, 1000);
	check_turns(_i, 70000);
}
END_TEST

START_TEST(a_live_key_survives_rotations)
{
	struct twice_filter *m = filter_for(_i, 1000);
	twice_filter_record(m, key_at(5, 0));
	for (uint64_t i = 1; i < 20000; i++) {
		twice_filter_record(m, key_at(5, i));
		if (i % 200 == 0)
			ck_assert_uint_ge(twice_filter_record(m, key_at(5, 0)).times, 1);
	}
	twice_filter_destroy(&m);
}
END_TEST

/* The exact promise of two generations, against a model that remembers everything: a key is
 * known for as long as fewer than capacity keys were new to the current generation since. (Of a cascade many that
 * come back end it earlier: test_cascade.) */
START_TEST(nothing_in_the_window_is_ever_lost)
{
	enum { CAPACITY = 700, UNIVERSE = 3000, STEPS = 200000 };
	static uint64_t last[UNIVERSE]; /* the count of news at its last sighting, plus 1 */
	uint64_t row = 9, news = 0;
	struct twice_filter *m = filter_for(_i, CAPACITY);
	memset(last, 0, sizeof(last));
	bool promises = _i != TWICE_FILTER_STABLE && _i != TWICE_FILTER_CASCADE;
	for (int s = 0; s < STEPS && promises; s++) {
		uint64_t i = mix_range(mix_next(&row), UNIVERSE);
		bool certain = last[i] && news - (last[i] - 1) < CAPACITY;
		struct twice_filter_sight sight = twice_filter_record(m, key_at(9, i));
		ck_assert_msg(!certain || sight.times > 0, "step %d: key %d was lost", s, (int)i);
		news += sight.sight != TWICE_SIGHT_CURRENT;
		last[i] = news + 1;
	}
	twice_filter_destroy(&m);
}
END_TEST

static const struct {
	enum twice_filter_kind kind, serves;
	unsigned most;
} many[] = {
	{TWICE_FILTER_COUNTING, TWICE_FILTER_COUNTING, 15},
	{TWICE_FILTER_PAIR, TWICE_FILTER_CASCADE, 14},
};

START_TEST(fifteen_sightings_are_told_across_rotations)
{
	struct twice_filter_options o = options((int)many[_i].kind, 1000);
	o.sightings = 15;
	ck_assert_int_eq(twice_filter_kind_for(&o), many[_i].serves);
	struct twice_filter *m = twice_filter_create(&o, 0);
	for (unsigned n = 0; n < 20; n++) {
		struct twice_filter_sight s = twice_filter_record(m, key_at(6, 0));
		ck_assert_uint_eq(s.times, n < many[_i].most ? n : many[_i].most);
		for (uint64_t i = 0; i < 800; i++)
			twice_filter_record(m, key_at(6, 1 + n * 800 + i));
	}
	twice_filter_destroy(&m);
}
END_TEST

/* --- snapshots: the flips and cuts of family.h, through memory's own calls --- */

static const struct twice_seed seed = {{1, 2, 3}};

static int
put(const void *m, const struct twice_snapshot_sink *to)
{
	return twice_filter_save(m, &(struct twice_filter_place){&seed, 100}, *to);
}

static int kind_loaded;

static void *
get(struct twice_snapshot_source *from)
{
	struct twice_filter *m = NULL;
	struct twice_seed s = seed;
	struct twice_filter_options o = options(kind_loaded, 500);
	s.secret[0] = (unsigned char)(from->tag - SEALED_TAG + 1);
	from->fault = TWICE_SNAPSHOT_NONE;
	const char *why = twice_filter_load(&m, &o, &(struct twice_filter_place){&s, 100}, *from);
	ck_assert((m == NULL) == (why != NULL));
	if (why)
		from->fault = TWICE_SNAPSHOT_DAMAGED; /* any: memory says it in words */
	return m;
}

static void
drop(void *m)
{
	struct twice_filter *x = m;
	twice_filter_destroy(&x);
}

static const struct sealed memory_sealed = {put, get, drop};

START_TEST(snapshots_come_back_or_are_refused)
{
	struct twice_filter *m = filter_for(_i, 500);
	for (uint64_t i = 0; i < 700; i++)
		twice_filter_record(m, key_at(7, i));
	kind_loaded = _i;
	struct twice_filter *again = check_sealed(&memory_sealed, m);
	for (uint64_t i = 0; i < 2000; i++)
		ck_assert_uint_eq(twice_filter_record(m, key_at(7, i)).times,
				  twice_filter_record(again, key_at(7, i)).times);
	twice_filter_destroy(&again);
	twice_filter_destroy(&m);
}
END_TEST

START_TEST(a_snapshot_of_other_settings_is_foreign)
{
	struct twice_filter *m = filter_for(_i, 500), *again = NULL;
	struct twice_filter_place here = {&seed, 100};
	struct twice_snapshot_buffer b = sealed_bytes(&memory_sealed, m);
	struct twice_filter_options other = options(_i, 501);
	struct twice_snapshot_source from = {
		.read = twice_snapshot_buffer_read, .ctx = &b, .limit = b.size};
	ck_assert_ptr_nonnull(twice_filter_load(&again, &other, &here, from));
	ck_assert_ptr_null(again);
	free(b.bytes);
	twice_filter_destroy(&m);
}
END_TEST

/* --- threads --- */

#define RACED 30000

struct racer {
	struct twice_filter *m;
	unsigned firsts;
};

static void *
race(void *arg)
{
	struct racer *r = arg;
	for (uint64_t i = 0; i < RACED; i++) {
		/* Keys are made here: key_at keeps its seed to one thread. */
		struct twice_key_hash h = {mix_bits(i), mix_bits(i + RACED)};
		r->firsts += twice_filter_record(r->m, h).sight == TWICE_SIGHT_FIRST;
	}
	return NULL;
}

START_TEST(of_racing_threads_one_is_first)
{
	struct twice_filter *m = filter_for(_i, 100000);
	struct racer racers[2] = {{m, 0}, {m, 0}};
	pthread_t threads[2];
	for (int t = 0; t < 2; t++)
		ck_assert_int_eq(0, pthread_create(&threads[t], NULL, race, &racers[t]));
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
	ck_assert_uint_le(racers[0].firsts + racers[1].firsts, RACED);
	ck_assert_uint_ge(racers[0].firsts + racers[1].firsts, RACED * 98 / 100);
	twice_filter_destroy(&m);
}
END_TEST

START_TEST(stats_tell_keys_and_bytes)
{
	struct twice_filter *m = filter_for(_i, 100000);
	struct twice_filter_stats s;
	for (uint64_t i = 0; i < 50000; i++)
		twice_filter_record(m, key_at(8, i));
	twice_filter_stats(m, &s);
	ck_assert_double_eq_tol((double)s.keys, 50000, 500);
	ck_assert_uint_gt(s.bytes, 100000);
	ck_assert(s.fill_ratio > 0 && s.fill_ratio < 1);
	ck_assert_double_le(s.estimated_fpr, 0.0101);
	twice_filter_destroy(&m);
}
END_TEST

/* The sink of a snapshot may be slow, and may itself ask the filter. */
static int
write_and_record(void *ctx, const void *bytes, size_t n)
{
	struct twice_filter *m = ctx;
	(void)bytes;
	for (uint64_t i = 0; i < 64 && n > 0; i++)
		twice_filter_record(m, (struct twice_key_hash){mix_bits(i), i << 58});
	return 0;
}

START_TEST(whoever_records_never_waits_for_a_snapshot)
{
	for (uint64_t capacity = 1000; capacity <= 1000000; capacity *= 1000) {
		struct twice_filter *m = filter_for(_i, capacity);
		struct twice_snapshot_sink to = {write_and_record, m, 0};
		struct twice_filter_place here = {&seed, 0};
		ck_assert_int_eq(twice_filter_save(m, &here, to), 0);
		twice_filter_destroy(&m);
	}
}
END_TEST

START_TEST(a_clock_that_is_set_back_makes_nothing_younger)
{
	struct twice_filter_options o = options(_i, 1000);
	o.rotate_after_s = 60;
	struct twice_filter *m = twice_filter_create(&o, 1000000);
	struct twice_filter_stats s;
	twice_filter_record(m, key_at(9, 1));
	twice_filter_tick(m, 1000030);
	twice_filter_tick(m, 500); /* an age of 30 seconds, still */
	twice_filter_tick(m, 529);
	twice_filter_stats(m, &s);
	ck_assert_uint_eq(s.generation, 0);
	twice_filter_tick(m, 530);
	twice_filter_stats(m, &s);
	ck_assert_uint_eq(s.generation, _i == TWICE_FILTER_STABLE ? 0 : 1);
	twice_filter_destroy(&m);
}
END_TEST

/* clang-format off */
static const struct twice_filter_options impossible[] = {
	{ TWICE_FILTER_KIND_COUNT, 2, 1000, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_COUNTING, 0, 1000, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_COUNTING, 16, 1000, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_STABLE, 3, 1000, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_SCALABLE, 3, 1000, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, 0, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, UINT64_MAX, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, (UINT64_C(1) << 30) + 1, 0.01, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, 1000, 1e-7, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, 1000, 0, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, 1000, 1, 0, 0, 0 },
	{ TWICE_FILTER_PAIR, 2, 1000, NAN, 0, 0, 0 },
	{ TWICE_FILTER_STABLE, 2, 1000, 0.01, 1, 0, 0 },
};
/* clang-format on */

START_TEST(impossible_options_are_refused_in_words)
{
	ck_assert_ptr_nonnull(twice_filter_may(&impossible[_i]));
	ck_assert_ptr_null(twice_filter_create(&impossible[_i], 0));
}
END_TEST

START_TEST(kinds_have_names)
{
	enum twice_filter_kind k;
	ck_assert_int_eq(0,
			 twice_filter_kind_of(twice_filter_word((enum twice_filter_kind)_i), &k));
	ck_assert_int_eq((int)k, _i);
	ck_assert_int_eq(-1, twice_filter_kind_of("elephant", &k));
}
END_TEST

#define EACH(test) TIMES(test, TWICE_FILTER_KIND_COUNT)

UNIT("filter", EACH(the_second_sighting_is_known), EACH(a_window_of_capacity_keys_is_remembered),
     EACH(unknown_keys_seem_known_as_rarely_as_asked), EACH(time_closes_a_generation),
     EACH(a_generation_ends_when_somebody_says_so), EACH(a_live_key_survives_rotations),
     EACH(nothing_in_the_window_is_ever_lost),
     LOOP(fifteen_sightings_are_told_across_rotations, many),
     EACH(snapshots_come_back_or_are_refused), EACH(a_snapshot_of_other_settings_is_foreign),
     EACH(of_racing_threads_one_is_first), EACH(stats_tell_keys_and_bytes),
     EACH(whoever_records_never_waits_for_a_snapshot),
     EACH(a_clock_that_is_set_back_makes_nothing_younger),
     LOOP(impossible_options_are_refused_in_words, impossible), EACH(kinds_have_names))
