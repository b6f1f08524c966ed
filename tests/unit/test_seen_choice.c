/* test_seen_choice.c - `sightings: auto`: made when a generation has ended, and over restarts.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission/seen.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_stats.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = SIGHTING_LARGE, LARGE = SIGHTING_LARGE + 1, TURN = 1000000 };

static char dir[256];
static struct cache *cache;
static struct seen *seen;
static int64_t now;
static const struct choice_period saves = {.requests = 5000,
					   .bytes = 1e9,
					   .written = 1e8,
					   .more_written = -4e7},
				  loses = {.requests = 5000,
					   .bytes = 1e9,
					   .written = 1e8,
					   .more_written = -4e7,
					   .more_requests = 100};

static void
start(unsigned sightings)
{
	char err[256];
	struct cache_options o = {.dir = dir, .disk_bytes = 1 << 30, .memory_bytes = 1 << 20};
	struct seen_options s = {.saved = true,
				 .memory = {.sightings = sightings ? sightings : CHOICE_MANY,
					    .capacity = 10000,
					    .false_positives = 1e-4},
				 .rule = {.sightings = sightings}};
	ck_assert_int_eq(cache_open(&cache, &o, err, sizeof err), 0);
	s.cache = cache;
	ck_assert_int_eq(seen_open(&seen, &s, err, sizeof err), 0);
	now = (int64_t)time(NULL);
	seen_tick(seen, now, now * 1000, &(struct cache_stats){.turn_bytes = TURN});
}

static void
stop(bool saves_all)
{
	if (saves_all)
		seen_save(seen, now);
	seen_close(&seen);
	cache_close(&cache);
}

static enum admission
ask(uint64_t key, uint64_t bytes)
{
	struct sighting_facts f = {.storable = true, .status = 200, .body_bytes = bytes};
	struct twice_key_hash h = {key * 0x9e3779b97f4a7c15u, key * 0xd6e8feb86659fd93u};
	return seen_judge(seen, h, &f).verdict;
}

/* How many sightings are asked for, as those who ask see it. */
static unsigned
asked(uint64_t key, uint64_t bytes)
{
	unsigned n = 1;
	while (ask(key, bytes) == ADMISSION_FIRST_SIGHT)
		n++;
	return n;
}

static void
end_generation(void)
{
	seen_charge(seen, NULL, TURN / 4);
}

/* So many periods, of three generations each. */
static void
turns(const struct choice_period *p, int n)
{
	for (int i = 0; i < 3 * n; i++) {
		ck_assert(!seen_choice_is_due(seen)); /* a generation goes on */
		end_generation();
		ck_assert(seen_choice_is_due(seen));
		ck_assert(seen_choose(seen, p, now) == (p && i % 3 == 2));
	}
}

START_TEST(large_bodies_need_three_once_that_is_chosen)
{
	tmpdir_make(dir, sizeof dir);
	start(0);
	ck_assert_uint_eq(asked(1, LARGE), 2);
	turns(&saves, 1);
	ck_assert_uint_eq(asked(2, LARGE), 2);
	turns(NULL, 3); /* nothing is known of these */
	ck_assert_uint_eq(asked(3, LARGE), 2);
	turns(&saves, 1);
	ck_assert_uint_eq(asked(4, LARGE), 3);
	ck_assert_uint_eq(asked(5, SMALL), 2);
	turns(&loses, 4);
	ck_assert_uint_eq(asked(6, LARGE), 2);
	stop(false);
	tmpdir_remove(dir);
}
END_TEST

START_TEST(a_restart_keeps_it)
{
	struct choice is;
	tmpdir_make(dir, sizeof dir);
	start(0);
	turns(&saves, 2);
	stop(false); /* it was killed: a change is there all the same */
	start(0);
	ck_assert(seen_choice(seen, &is) && is.sightings == CHOICE_MANY && is.changes == 1);
	ck_assert_uint_eq(asked(1, LARGE), 3);
	turns(&loses, 1);
	stop(true);
	start(0);
	ck_assert(seen_choice(seen, &is) && is.agreed == 1 && is.rested == 1);
	stop(false);
	tmpdir_remove(dir);
}
END_TEST

static void
spoil(void)
{
	char path[300];
	snprintf(path, sizeof path, "%s/choice", dir);
	int fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, "\7", 1, 12), 1);
	close(fd);
}

START_TEST(a_damaged_file_is_no_choice)
{
	struct choice is;
	tmpdir_make(dir, sizeof dir);
	start(0);
	turns(&saves, 2);
	stop(true);
	spoil();
	start(0);
	ck_assert(seen_choice(seen, &is) && is.sightings == CHOICE_FEW && is.changes == 0);
	turns(&saves, 2);
	ck_assert_uint_eq(asked(1, LARGE), 3);
	stop(false);
	tmpdir_remove(dir);
}
END_TEST

/* A reload sets a number, and then auto again. */
START_TEST(a_number_ends_it_and_auto_goes_on)
{
	struct choice is;
	tmpdir_make(dir, sizeof dir);
	start(0);
	turns(&saves, 2);
	seen_settle(seen, &(struct seen_rule){.sightings = 2});
	ck_assert(!seen_choice(seen, &is));
	ck_assert_uint_eq(asked(1, LARGE), 2);
	end_generation();
	ck_assert(!seen_choice_is_due(seen));
	seen_settle(seen, &(struct seen_rule){.sightings = 3});
	ck_assert_uint_eq(asked(2, SMALL), 3);
	seen_settle(seen, &(struct seen_rule){.sightings = 0});
	ck_assert(!seen_choice_is_due(seen));
	ck_assert_uint_eq(asked(3, LARGE), 3);
	ck_assert_uint_eq(asked(4, SMALL), 2);
	stop(false);
	tmpdir_remove(dir);
}
END_TEST

/* A filter that was made for two becomes the elder: what it knows counts. */
START_TEST(a_restart_from_two_knows_what_was_seen)
{
	tmpdir_make(dir, sizeof dir);
	start(2);
	ask(1, LARGE);
	stop(true);
	start(0);
	ck_assert_int_eq(ask(1, LARGE), ADMISSION_SEEN_PREVIOUS);
	stop(true);
	start(2);
	ck_assert_int_ne(ask(1, LARGE), ADMISSION_FIRST_SIGHT);
	stop(false);
	tmpdir_remove(dir);
}
END_TEST

UNIT("seen_choice", TEST(large_bodies_need_three_once_that_is_chosen), TEST(a_restart_keeps_it),
     TEST(a_damaged_file_is_no_choice), TEST(a_number_ends_it_and_auto_goes_on),
     TEST(a_restart_from_two_knows_what_was_seen))
