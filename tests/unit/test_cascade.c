/* test_cascade.c - pairs one behind the other count sightings, and turn together.
 * rooms: filter
 */
#include <pthread.h>
#include <stdatomic.h>

#include "filter/family/cascade.h"
#include "filter/sizing.h"
#include "tests/kit/family.h"

static const struct twice_seed seed = {{1, 2, 3}};

static struct twice_cascade *
cascade_of(unsigned sightings, uint64_t capacity)
{
	struct twice_filter_options o = {
		.sightings = sightings, .capacity = capacity, .false_positives = 1e-6};
	struct twice_cascade *c = twice_cascade_create(&o, 0);
	ck_assert_ptr_nonnull(c);
	return c;
}

/* ---- against a model that makes no mistakes ------------------------------------------------- */

enum { UNIVERSE = 3000, LEVELS = 4 };

/* In which generation each pair was told of a key last, plus one; a pair knows it in that and in the next. */
struct model {
	uint64_t told[LEVELS][UNIVERSE];
	bool at_turn
		[UNIVERSE]; /* some pairs had it in the generation that it ended, and some in the next */
};

static bool
knows(const struct model *m, unsigned level, uint64_t key, uint64_t number)
{
	uint64_t told = m->told[level][key];
	return told && told + 1 > number;
}

/* The answer that is right, if the key came while this was the generation. */
static struct twice_filter_sight
see(struct model *m, unsigned levels, uint64_t key, uint64_t number)
{
	struct twice_filter_sight s = {TWICE_SIGHT_FIRST, 0};
	bool all_current = true;
	for (unsigned i = 0; i < levels; i++) {
		bool knew = knows(m, i, key, number);
		all_current = all_current && m->told[i][key] == number + 1;
		if (knew)
			s.sight = all_current ? TWICE_SIGHT_CURRENT : TWICE_SIGHT_PREVIOUS;
		m->told[i][key] = number + 1;
		if (!knew)
			break;
		s.times++;
	}
	return s;
}

/* Generations that the first pair ends, that a later one ends (few keys, each again and again), and that are
 * ended from outside. */
static const struct {
	unsigned sightings;
	uint64_t capacity, universe, turn_every;
} plays[] = {
	{3, 700, UNIVERSE, UINT64_MAX}, {5, 700, UNIVERSE, UINT64_MAX}, {3, 2000, 1500, UINT64_MAX},
	{5, 2000, 1500, UINT64_MAX},	{3, 100000, UNIVERSE, 997},	{4, 100000, 400, 301},
};

START_TEST(each_sighting_is_counted_as_long_as_it_counts)
{
	enum { STEPS = 60000 };
	static struct model m;
	struct twice_cascade *c = cascade_of(plays[_i].sightings, plays[_i].capacity);
	unsigned levels = plays[_i].sightings - 1, more = 0;
	uint64_t row = 5, turns = 0;
	memset(&m, 0, sizeof m);
	for (uint64_t s = 0; s < STEPS; s++) {
		uint64_t key = mix_range(mix_next(&row), plays[_i].universe);
		uint64_t number = twice_cascade_number(c);
		struct twice_key_hash h = key_at(20, key);
		struct twice_filter_sight looked = twice_cascade_test(c, h);
		struct twice_filter_sight is = twice_cascade_record(c, h);
		struct twice_filter_sight want = see(&m, levels, key, number);
		ck_assert_msg(is.times >= want.times, "step %d: %u, not %u", (int)s, is.times,
			      want.times);
		ck_assert_uint_ge(looked.times, want.times);
		more += is.times > want.times;
		if (is.times == want.times && !m.at_turn[key])
			ck_assert_int_eq(is.sight, want.sight);
		m.at_turn[key] = twice_cascade_number(c) != number;
		turns += m.at_turn[key];
		number = twice_cascade_number(c);
		while (s % plays[_i].turn_every == plays[_i].turn_every - 1 &&
		       twice_cascade_number(c) == number)
			twice_cascade_try_rotate(c, number);
	}
	ck_assert_uint_le(more, 20 + turns); /* false positives, and a key at a turn */
	ck_assert(turns > 20 || plays[_i].turn_every < STEPS);
	twice_cascade_destroy(&c);
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(a_batch_says_what_single_keys_would_be_told)
{
	enum { KEYS = 5000, UNIQUE = 900 };
	static struct twice_key_hash h[KEYS];
	static struct twice_filter_sight many[KEYS], looked[KEYS];
	struct twice_cascade *one = cascade_of(4, 100000), *batch = cascade_of(4, 100000);
	uint64_t row = 7;
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < KEYS; i++)
			h[i] = key_at(21, mix_range(mix_next(&row), UNIQUE));
		twice_cascade_test_batch(batch, h, looked, KEYS);
		for (unsigned i = 0; i < KEYS; i++)
			ck_assert_uint_eq(looked[i].times, twice_cascade_test(one, h[i]).times);
		twice_cascade_record_batch(batch, h, many, KEYS);
		for (unsigned i = 0; i < KEYS; i++) {
			struct twice_filter_sight s = twice_cascade_record(one, h[i]);
			ck_assert_uint_eq(many[i].times, s.times);
			ck_assert_int_eq(many[i].sight, s.sight);
		}
		ck_assert_uint_eq(twice_cascade_keys(one), twice_cascade_keys(batch));
		twice_cascade_rotate(one, 1);
		twice_cascade_rotate(batch, 1);
	}
	twice_cascade_destroy(&one);
	twice_cascade_destroy(&batch);
}
END_TEST

/* ---- turning --------------------------------------------------------------------------------- */

START_TEST(time_turns_all_pairs_once)
{
	struct twice_filter_options o = {
		.sightings = 3, .capacity = 1000, .false_positives = 1e-4, .rotate_after_s = 60};
	struct twice_cascade *c = twice_cascade_create(&o, 1000);
	for (int64_t now = 1000; now < 1600; now++) {
		twice_cascade_tick(c, now);
		ck_assert_uint_eq(twice_cascade_number(c), (uint64_t)(now - 1000) / 60);
		if (now % 60 == 0)
			twice_cascade_record(c, key_at(22, 1));
	}
	ck_assert_uint_eq(twice_cascade_record(c, key_at(22, 1)).times, 2);
	ck_assert_uint_eq(twice_cascade_test(c, key_at(22, 2)).times, 0);
	twice_cascade_destroy(&c);
}
END_TEST

START_TEST(a_second_pair_that_is_full_ends_the_generation_of_all)
{
	struct twice_cascade *c = cascade_of(3, 4000);
	struct twice_pair_stats is;
	for (uint64_t i = 0; i < 999; i++) {
		twice_cascade_record(c, key_at(23, i));
		twice_cascade_record(c, key_at(23, i));
	}
	ck_assert_uint_eq(twice_cascade_number(c), 0);
	twice_cascade_record(c, key_at(23, 999));
	twice_cascade_record(c, key_at(23, 999));
	ck_assert_uint_eq(twice_cascade_number(c), 1);
	twice_cascade_tick(c, 1);
	twice_cascade_stats(c, &is);
	ck_assert_uint_eq(is.number, 1);
	ck_assert_uint_eq(is.previous_keys, 1000);
	for (uint64_t i = 0; i < 999; i++)
		ck_assert_uint_eq(twice_cascade_record(c, key_at(23, i)).times, 2);
	twice_cascade_destroy(&c);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

enum { RACED = 30000, RACERS = 4, TIMES = 3 };

struct racer {
	struct twice_cascade *c;
	uint64_t told[TIMES]; /* how often so many times were known */
};

static void *
race(void *arg)
{
	struct racer *r = arg;
	for (uint64_t i = 0; i < RACED; i++) {
		struct twice_key_hash h = {mix_bits(i), mix_bits(i + RACED)};
		r->told[twice_cascade_record(r->c, h).times]++;
	}
	return NULL;
}

static atomic_bool races;

static void *
turn(void *arg)
{
	struct twice_cascade *c = arg;
	while (atomic_load(&races))
		if (twice_cascade_number(c) == 0)
			twice_cascade_try_rotate(c, 0);
	return NULL;
}

/* A turn meanwhile forgets nothing; a second one would. */
START_TEST(of_racing_threads_one_is_first_and_one_is_second)
{
	struct twice_cascade *c = cascade_of(3, 200000);
	struct racer racers[RACERS];
	pthread_t threads[RACERS], turner;
	uint64_t told[TIMES] = {0};
	atomic_store(&races, true);
	for (int t = 0; t < RACERS; t++) {
		racers[t] = (struct racer){.c = c};
		ck_assert_int_eq(0, pthread_create(&threads[t], NULL, race, &racers[t]));
	}
	ck_assert_int_eq(0, pthread_create(&turner, NULL, turn, c));
	for (int t = 0; t < RACERS; t++) {
		pthread_join(threads[t], NULL);
		for (int i = 0; i < TIMES; i++)
			told[i] += racers[t].told[i];
	}
	atomic_store(&races, false);
	pthread_join(turner, NULL);
	ck_assert_uint_eq(twice_cascade_number(c), 1);
	ck_assert_uint_le(told[0], RACED);
	ck_assert_uint_ge(told[0], RACED - 3); /* false positives at 1e-6 */
	ck_assert_uint_le(told[1], RACED + 3);
	ck_assert_uint_ge(told[1], RACED - 3);
	twice_cascade_destroy(&c);
}
END_TEST

/* ---- snapshots ------------------------------------------------------------------------------- */

static int
put(void *ctx, const void *bytes, size_t n)
{
	return twice_snapshot_buffer_write(ctx, bytes, n);
}

static size_t
get(void *ctx, void *bytes, size_t n)
{
	return twice_snapshot_buffer_read(ctx, bytes, n);
}

/* The second pair's part was written generations after the first's, as when a slow disk takes it. */
START_TEST(pairs_of_different_moments_are_brought_together)
{
	struct twice_filter_options o = {.sightings = 3, .capacity = 1000, .false_positives = 1e-6};
	struct twice_cascade *c = cascade_of(3, 1000), *again = NULL;
	static unsigned char early[200000], late[200000];
	struct twice_snapshot_buffer a = {.bytes = early, .size = sizeof early},
				     b = {.bytes = late, .size = sizeof late};
	struct twice_pair_options first = {.capacity = 1000, .false_positives = 1e-6};
	struct twice_pair *pair;
	twice_cascade_record(c, key_at(24, 1));
	twice_cascade_record(c, key_at(24, 1));
	ck_assert_int_eq(twice_cascade_save(c, &seed, 0, put, &a), 0);
	twice_cascade_rotate(c, 1);
	ck_assert_int_eq(twice_cascade_save(c, &seed, 0, put, &b), 0);
	ck_assert_int_eq(twice_pair_create(&pair, &first, 0), 0);
	size_t split = twice_pair_snapshot_bytes(pair);
	twice_pair_destroy(&pair);
	memcpy(early + split, late + split, a.used - split);
	a = (struct twice_snapshot_buffer){.bytes = early, .size = a.used};
	ck_assert_ptr_null(twice_cascade_load(&again, &o, &seed, 10, get, &a));
	ck_assert_uint_eq(twice_cascade_number(again), 1);
	ck_assert_uint_eq(twice_cascade_test(again, key_at(24, 1)).times, 2);
	ck_assert_int_eq(twice_cascade_test(again, key_at(24, 1)).sight, TWICE_SIGHT_PREVIOUS);
	twice_cascade_destroy(&again);
	twice_cascade_destroy(&c);
}
END_TEST

START_TEST(what_it_cannot_be_is_refused)
{
	static const struct twice_filter_options no[] = {
		{.sightings = 1, .capacity = 10, .false_positives = 0.01},
		{.sightings = 16, .capacity = 10, .false_positives = 0.01},
		{.sightings = 3, .capacity = 0, .false_positives = 0.01},
		{.sightings = 3, .capacity = 10, .false_positives = 1e-9},
	};
	struct twice_snapshot_buffer none = {0};
	for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
		struct twice_cascade *c = NULL;
		ck_assert_ptr_null(twice_cascade_create(&no[i], 0));
		ck_assert_ptr_nonnull(twice_cascade_load(&c, &no[i], &seed, 0, get, &none));
		ck_assert_ptr_null(c);
	}
}
END_TEST

START_TEST(a_later_pair_adds_a_quarter)
{
	struct twice_cascade *two = cascade_of(2, 100000), *three = cascade_of(3, 100000);
	struct twice_pair_stats a, b;
	twice_cascade_stats(two, &a);
	twice_cascade_stats(three, &b);
	ck_assert_double_eq_tol(b.bits_per_key / a.bits_per_key, 1.25, 0.01);
	ck_assert_uint_gt(b.memory_bytes, a.memory_bytes);
	ck_assert_uint_eq(twice_sizing_later_capacity(1), 1);
	ck_assert_uint_eq(twice_sizing_later_capacity(9), 3);
	twice_cascade_destroy(&two);
	twice_cascade_destroy(&three);
}
END_TEST

UNIT("cascade", TIMES(each_sighting_is_counted_as_long_as_it_counts, 6),
     TEST(a_batch_says_what_single_keys_would_be_told), TEST(time_turns_all_pairs_once),
     TEST(a_second_pair_that_is_full_ends_the_generation_of_all),
     TEST(of_racing_threads_one_is_first_and_one_is_second),
     TEST(pairs_of_different_moments_are_brought_together), TEST(what_it_cannot_be_is_refused),
     TEST(a_later_pair_adds_a_quarter))
