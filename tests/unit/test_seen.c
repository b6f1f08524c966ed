/* test_seen.c - when a generation of the filter ends, and what of that survives a restart.
 * rooms: cache http base filter
 */
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/admission/seen.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum {
	DAY = 24 * 3600,
	TURN = 1000000,
	CHARGERS = 4,
	CHARGES = 1000000,
	TENTH = TURN / 10,
	FEW = 2000
};

static char dir[256];
static struct cache *cache;
static struct seen *seen;
static int64_t now;

static void
open_with(const struct twice_filter_options *memory)
{
	char err[256];
	struct cache_options o = {.dir = dir, .disk_bytes = 1 << 30, .memory_bytes = 1 << 20};
	ck_assert_int_eq(cache_open(&cache, &o, err, sizeof err), 0);
	struct seen_options s = {.cache = cache,
				 .saved = true,
				 .memory = *memory,
				 .rule = {.sightings = memory->sightings}};
	ck_assert_int_eq(seen_open(&seen, &s, err, sizeof err), 0);
	now = (int64_t)time(NULL);
}

static void
open_seen(uint64_t rotate_after_s)
{
	open_with(&(struct twice_filter_options){.sightings = 2,
						 .capacity = 10000,
						 .false_positives = 1e-4,
						 .rotate_after_s = rotate_after_s});
}

static void
close_seen(void)
{
	seen_close(&seen);
	cache_close(&cache);
}

static void
begin(uint64_t rotate_after_s)
{
	tmpdir_make(dir, sizeof dir);
	open_seen(rotate_after_s);
}

static void
end(void)
{
	close_seen();
	tmpdir_remove(dir);
}

static void
tick(uint64_t turn_bytes, int64_t seconds)
{
	now += seconds;
	seen_tick(seen, now, now * 1000, &(struct cache_stats){.turn_bytes = turn_bytes});
}

static enum admission
ask(uint64_t key)
{
	struct sighting_facts f = {.storable = true, .status = 200, .body_bytes = 1};
	struct twice_key_hash h = {key * 0x9e3779b97f4a7c15u, key * 0xd6e8feb86659fd93u};
	return seen_judge(seen, h, &f).verdict;
}

static uint64_t
generation(void)
{
	struct twice_pair_stats is;
	seen_report(seen, &is);
	return is.number;
}

START_TEST(a_generation_is_a_tenth_of_a_turn_of_the_log)
{
	begin(0);
	tick(TURN, 1);
	ck_assert_int_eq(ask(1), ADMISSION_FIRST_SIGHT);
	seen_charge(seen, NULL, TENTH - 1);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_CURRENT);
	ck_assert_uint_eq(generation(), 0);
	seen_charge(seen, NULL, 1000);
	ck_assert_uint_eq(generation(), 1);
	ask(2);
	seen_charge(seen, NULL, TENTH - 1); /* counted from the beginning of this one */
	ck_assert_uint_eq(generation(), 1);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_PREVIOUS);
	seen_charge(seen, NULL, 1001);
	ck_assert_uint_eq(generation(), 2);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_PREVIOUS); /* its last sighting, not its first */
	seen_charge(seen, NULL, TENTH);
	ck_assert_uint_eq(generation(), 3);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_PREVIOUS);
	ck_assert_int_eq(ask(2), ADMISSION_FIRST_SIGHT);
	tick(TURN, 100 * DAY); /* time alone ends nothing */
	ck_assert_uint_eq(generation(), 3);
	end();
}
END_TEST

static const struct twice_filter_options others[] = {
	{TWICE_FILTER_COUNTING, 2, .capacity = 1000, .false_positives = 1e-4},
	{TWICE_FILTER_COUNTING, 2, .capacity = 70000, .false_positives = 1e-4},
	{TWICE_FILTER_SCALABLE, 2, .capacity = 1000, .false_positives = 1e-4},
	{TWICE_FILTER_PAIR, 3, .capacity = 1000, .false_positives = 1e-4},
};

/* Some take locks and memory for it, so it is done at the next tick. */
START_TEST(any_kind_that_has_generations_turns_with_the_log)
{
	tmpdir_make(dir, sizeof dir);
	open_with(&others[_i]);
	tick(TURN, 1);
	for (unsigned n = 1; n < others[_i].sightings; n++)
		ck_assert_int_eq(ask(1), ADMISSION_FIRST_SIGHT);
	seen_charge(seen, NULL, TENTH - 1);
	tick(TURN, DAY); /* not with time */
	ck_assert_uint_eq(generation(), 0);
	seen_charge(seen, NULL, 1);
	tick(TURN, 1);
	ck_assert_uint_eq(generation(), 1);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_PREVIOUS);
	for (uint64_t end = 2; end < 4; end++) {
		seen_charge(seen, NULL, TENTH);
		tick(TURN, 1);
		ck_assert_uint_eq(generation(), end);
	}
	ck_assert_int_eq(ask(1), ADMISSION_FIRST_SIGHT);
	tick(0, DAY); /* a log that grows */
	ck_assert_uint_eq(generation(), 4);
	end();
}
END_TEST

START_TEST(stable_has_no_generations)
{
	const struct twice_filter_options stable = {TWICE_FILTER_STABLE, 2, .capacity = 1000,
						    .false_positives = 1e-4};
	tmpdir_make(dir, sizeof dir);
	open_with(&stable);
	tick(TURN, 1);
	ask(1);
	seen_charge(seen, NULL, TURN);
	tick(TURN, 1);
	tick(0, DAY);
	ck_assert_uint_eq(generation(), 0);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_CURRENT);
	end();
}
END_TEST

static _Atomic uint64_t charged;
static _Atomic int chargers;

static void *
charge_bytes(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < CHARGES; i++) {
		ask(1);
		atomic_fetch_add(&charged, 1);
		seen_charge(seen, NULL, 1);
	}
	atomic_fetch_sub(&chargers, 1);
	return NULL;
}

/* Of the generations that end while somebody looks away, all but the first began meanwhile. */
START_TEST(each_generation_needs_a_tenth_of_a_turn_of_its_own)
{
	pthread_t charger[CHARGERS];
	uint64_t number = 0, before = 0;
	begin(0);
	tick(10 * FEW, 1);
	atomic_store(&chargers, CHARGERS);
	for (int i = 0; i < CHARGERS; i++)
		ck_assert_int_eq(pthread_create(&charger[i], NULL, charge_bytes, NULL), 0);
	while (atomic_load(&chargers)) {
		uint64_t next = atomic_load(&charged), is = generation();
		uint64_t most = (atomic_load(&charged) + CHARGERS - before) / FEW + 1;
		ck_assert_uint_le(is - number, most);
		number = is;
		before = next;
	}
	for (int i = 0; i < CHARGERS; i++)
		pthread_join(charger[i], NULL);
	end();
}
END_TEST

/* Of the one that was there at start nobody knows when it began; then a turn in 40 s, two in 10 s. */
START_TEST(how_long_generations_last_is_told)
{
	begin(0);
	tick(TURN, 1);
	seen_charge(seen, NULL, TENTH);
	tick(TURN, 7);
	ck_assert_double_eq(seen_interval_s(seen), 0);
	tick(TURN, 20);
	seen_charge(seen, NULL, TENTH);
	tick(TURN, 20);
	ck_assert_double_eq_tol(seen_interval_s(seen), 40, 1e-9);
	for (uint64_t key = 0; key < 3; key++) {
		ask(key);
		seen_charge(seen, NULL, TENTH / 2);
		seen_charge(seen, NULL, TENTH / 2);
	}
	uint64_t number = generation();
	tick(TURN, 9);
	ck_assert_uint_ge(generation(), number);
	ck_assert_double_le(seen_interval_s(seen), 9);
	ck_assert_double_gt(seen_interval_s(seen), 0);
	end();
}
END_TEST

START_TEST(while_the_log_grows_a_generation_is_a_day)
{
	begin(0);
	tick(0, 1);
	ask(1);
	seen_charge(seen, NULL, 10 * TURN);
	tick(0, DAY - 10);
	ck_assert_uint_eq(generation(), 0);
	tick(0, 10);
	ck_assert_uint_eq(generation(), 1);
	ask(1);
	seen_charge(seen, NULL, 10 * TURN);
	tick(TURN, 1); /* now it is full, and more than a tenth of a turn was admitted */
	ck_assert_uint_eq(generation(), 2);
	end();
}
END_TEST

START_TEST(a_time_that_is_set_overrides)
{
	begin(60);
	tick(TURN, 1);
	ask(1);
	seen_charge(seen, NULL, 10 * TURN);
	tick(TURN, 1);
	ck_assert_uint_eq(generation(), 0);
	tick(TURN, 60);
	ck_assert_uint_eq(generation(), 1);
	end();
}
END_TEST

START_TEST(what_a_generation_admitted_survives_a_restart)
{
	begin(0);
	tick(TURN, 1);
	ask(1);
	seen_charge(seen, NULL, TENTH - 10);
	seen_save(seen, now);
	close_seen();
	open_seen(0);
	tick(TURN, 1);
	ck_assert_uint_eq(generation(), 0);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_CURRENT);
	seen_charge(seen, NULL, 10);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_PREVIOUS);
	end();
}
END_TEST

/* At the lowest rate: two generations of cells, one that forgets at random, and two that have grown
 * to almost 16 times their capacity. */
static const struct {
	struct twice_filter_options memory;
	uint64_t keys;
} largest[] = {
	{{TWICE_FILTER_COUNTING, 2, .capacity = 70000, .false_positives = 1e-6}, 105000},
	{{TWICE_FILTER_STABLE, 2, .capacity = 70000, .false_positives = 1e-6}, 105000},
	{{TWICE_FILTER_SCALABLE, 2, .capacity = 10000, .false_positives = 1e-6}, 315000},
};

START_TEST(the_largest_snapshot_is_read_back)
{
	tmpdir_make(dir, sizeof dir);
	open_with(&largest[_i].memory);
	for (uint64_t key = 0; key < largest[_i].keys; key++)
		ask(key);
	ck_assert_int_ne(ask(largest[_i].keys - 1), ADMISSION_FIRST_SIGHT);
	seen_save(seen, now);
	close_seen();
	open_with(&largest[_i].memory);
	ck_assert_int_ne(ask(largest[_i].keys - 1), ADMISSION_FIRST_SIGHT);
	end();
}
END_TEST

START_TEST(a_count_that_rose_survives_a_restart)
{
	const struct twice_filter_options counting = {.kind = TWICE_FILTER_COUNTING,
						      .sightings = 4,
						      .capacity = 1000,
						      .false_positives = 1e-4};
	tmpdir_make(dir, sizeof dir);
	open_with(&counting);
	ask(1);
	seen_save(seen, now);
	ask(1);
	ask(1);
	seen_save(seen, now);
	close_seen();
	open_with(&counting);
	ck_assert_int_eq(ask(1), ADMISSION_SEEN_CURRENT);
	end();
}
END_TEST

UNIT("seen", TEST(how_long_generations_last_is_told),
     TEST(a_generation_is_a_tenth_of_a_turn_of_the_log),
     TEST(while_the_log_grows_a_generation_is_a_day), TEST(a_time_that_is_set_overrides),
     TEST(what_a_generation_admitted_survives_a_restart),
     TEST(each_generation_needs_a_tenth_of_a_turn_of_its_own),
     LOOP(any_kind_that_has_generations_turns_with_the_log, others),
     TEST(stable_has_no_generations), TIMES(the_largest_snapshot_is_read_back, 3),
     TEST(a_count_that_rose_survives_a_restart))
