/* test_seen_log.c - what was seen is on disk within a minute, whatever becomes of the process, the file or the disk.
 * rooms: cache http base filter
 */
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/admission/seen_file.h"
#include "proxy/cache/admission/seen_inside.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MINUTE = 60, TURN = 1000000 };

static const struct twice_filter_options pair = {
	.sightings = 2, .capacity = 100000, .false_positives = 1e-4};

static char dir[256], file[300];
static struct cache *cache;
static struct seen *seen;
static int64_t now;
static atomic_bool holds; /* the disk: no sync comes back */
static atomic_uint held;

int
fdatasync(int fd)
{
	(void)fd; /* no power is cut here */
	atomic_fetch_add(&held, 1);
	while (atomic_load(&holds))
		usleep(1000);
	atomic_fetch_sub(&held, 1);
	return 0;
}

static void
open_with(const struct twice_filter_options *memory)
{
	char err[256];
	struct cache_options o = {.dir = dir, .disk_bytes = 64 << 20, .memory_bytes = 1 << 20};
	ck_assert_int_eq(cache_open(&cache, &o, err, sizeof err), 0);
	struct seen_options s = {.cache = cache,
				 .saved = true,
				 .memory = *memory,
				 .rule = {.sightings = memory->sightings}};
	ck_assert_int_eq(seen_open(&seen, &s, err, sizeof err), 0);
	now = (int64_t)time(NULL);
}

static void
begin_with(const struct twice_filter_options *memory)
{
	if (access("/dev/shm", W_OK) == 0) /* no power is cut here */
		setenv("TMPDIR", "/dev/shm", false);
	tmpdir_make(dir, sizeof dir);
	snprintf(file, sizeof file, "%s/sightings", dir);
	open_with(memory);
}

/* As a kill does: nothing is saved. */
static void
kill_it(void)
{
	seen_close(&seen);
	cache_close(&cache);
}

static void
reopen(const struct twice_filter_options *memory)
{
	kill_it();
	open_with(memory);
}

static void
end(void)
{
	kill_it();
	tmpdir_remove(dir);
}

static void
tick(int64_t seconds)
{
	now += seconds;
	seen_tick(seen, now, now * 1000, &(struct cache_stats){.turn_bytes = TURN});
}

/* As the keeper does, but all at once: what came is gathered, and is due. */
static void
pass_a_minute(void)
{
	tick(1);
	tick(MINUTE - 1);
}

static uint64_t
file_bytes(void)
{
	struct stat is;
	return stat(file, &is) == 0 ? (uint64_t)is.st_size : 0;
}

static uint64_t
file_number(void)
{
	struct stat is;
	return stat(file, &is) == 0 ? (uint64_t)is.st_ino : 0;
}

static bool
has_changed(uint64_t bytes, uint64_t number)
{
	tick(1);
	return file_bytes() != bytes || file_number() != number;
}

/* Until the log's thread has nothing under way. */
static void
await_write(void)
{
	seen_log_snapshot_begin(seen->log);
}

/* The same, and a thread has written all of it: what is new, of which there is some. */
static void
write_down(void)
{
	await_write(); /* or the rest of the last write were taken for this one */
	uint64_t bytes = file_bytes(), number = file_number();
	pass_a_minute();
	unit_wait_until(has_changed(bytes, number));
	await_write();
}

static enum admission
ask(uint64_t key)
{
	struct sighting_facts f = {.storable = true, .status = 200, .body_bytes = 1};
	struct twice_key_hash h = {key * 0x9e3779b97f4a7c15u, key * 0xd6e8feb86659fd93u};
	return seen_judge(seen, h, &f).verdict;
}

static enum admission
look(uint64_t key)
{
	struct sighting_facts f = {.storable = true, .status = 200, .body_bytes = 1};
	struct twice_key_hash h = {key * 0x9e3779b97f4a7c15u, key * 0xd6e8feb86659fd93u};
	return seen_look(seen, h, &f).verdict;
}

static void
ask_from(uint64_t from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		ask(from + i);
}

static unsigned
known(uint64_t from, uint64_t n)
{
	unsigned sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += look(from + i) != ADMISSION_FIRST_SIGHT;
	return sum;
}

static const struct {
	struct twice_filter_options memory;
	unsigned times; /* that make a key known at the next request */
} kinds[] = {
	{{.sightings = 2, .capacity = 100000, .false_positives = 1e-4}, 1},
	{{.sightings = 2, .capacity = 1000, .false_positives = 1e-6}, 1},
	{{TWICE_FILTER_COUNTING, 2, .capacity = 10000, .false_positives = 1e-4}, 1},
	{{TWICE_FILTER_COUNTING, 4, .capacity = 10000, .false_positives = 1e-4}, 3},
	{{.sightings = 3, .capacity = 10000, .false_positives = 1e-4}, 2},
	{{.sightings = 5, .capacity = 10000, .false_positives = 1e-4}, 4},
	{{TWICE_FILTER_STABLE, 2, .capacity = 100000, .false_positives = 1e-4}, 1},
	{{TWICE_FILTER_SCALABLE, 2, .capacity = 1000, .false_positives = 1e-4}, 1},
};

START_TEST(what_was_seen_survives_a_kill_a_minute_later)
{
	enum { KEYS = 300 };
	begin_with(&kinds[_i].memory);
	for (unsigned i = 0; i < kinds[_i].times; i++)
		ask_from(1, KEYS);
	write_down();
	reopen(&kinds[_i].memory);
	ck_assert_uint_ge(known(1, KEYS), KEYS * 9 / 10); /* stable forgets some */
	ck_assert_uint_eq(known(10000, KEYS), 0);
	ck_assert_uint_eq(seen_unlogged(seen), 0);
	end();
}
END_TEST

START_TEST(the_log_goes_on_behind_a_restart_and_begins_anew_with_a_snapshot)
{
	begin_with(&pair);
	ask_from(1, 1000);
	write_down();
	reopen(&pair);
	ask_from(2000, 1000);
	write_down();
	reopen(&pair);
	ck_assert_uint_eq(known(1, 1000) + known(2000, 1000), 2000);
	ck_assert_uint_ge(file_bytes(), 2000 * 8);
	seen_save(seen, now);
	ck_assert_uint_eq(file_bytes(), SEEN_FILE_HEAD);
	ask_from(4000, 10);
	write_down();
	reopen(&pair);
	ck_assert_uint_eq(known(1, 1000) + known(2000, 1000) + known(4000, 10), 2010);
	ck_assert_uint_lt(file_bytes(), 1000);
	end();
}
END_TEST

static const struct twice_filter_options cascade = {
	.sightings = 3, .capacity = 100000, .false_positives = 1e-4};
static const struct twice_filter_options counting = {TWICE_FILTER_COUNTING, 3, .capacity = 100000,
						     .false_positives = 1e-4};

/* The keys themselves end some of the generations, and turns of the disk's log the others. */
static const struct {
	const struct twice_filter_options *memory;
	uint64_t fill;
	bool snapshot;
} turns[] = {{&pair, 0, false},	    {&pair, 0, true},	  {&pair, 100000, false},
	     {&pair, 100000, true}, {&cascade, 0, false}, {&cascade, 0, true},
	     {&counting, 0, false}, {&counting, 0, true}};

START_TEST(generations_turn_in_a_log_as_they_did)
{
	enum { EACH = 100 };
	begin_with(turns[_i].memory);
	for (uint64_t g = 0; g < 4; g++) {
		for (unsigned n = 1; n < turns[_i].memory->sightings; n++)
			ask_from(1000000 * (g + 1), EACH);
		if (turns[_i].fill && g < 3)
			ask_from(1000000 * (g + 1) + 1000, turns[_i].fill - EACH);
		write_down();
		if (!turns[_i].fill && g < 3) {
			seen_charge(seen, NULL, TURN);
			tick(1); /* counting turns then */
		}
		if (g == 0 && turns[_i].snapshot)
			seen_save(seen, now);
	}
	uint64_t was[4];
	for (uint64_t g = 0; g < 4; g++)
		was[g] = known(1000000 * (g + 1), EACH);
	ck_assert_uint_eq(was[3], EACH);
	ck_assert_uint_eq(was[2], EACH);
	ck_assert_uint_eq(was[1] + was[0], 0);
	reopen(turns[_i].memory);
	for (uint64_t g = 0; g < 4; g++) {
		unsigned is = known(1000000 * (g + 1), EACH);
		/* A generation that began and ended within a second is taken for the next one. */
		ck_assert_msg(turns[_i].fill ? is >= was[g] : is == was[g], "%d: %u for %u", (int)g,
			      is, (unsigned)was[g]);
	}
	end();
}
END_TEST

static void
spoil(uint64_t at, bool cut)
{
	char c;
	int fd = open(file, O_RDWR);
	if (cut) {
		ck_assert_int_eq(ftruncate(fd, (off_t)at), 0);
	} else {
		ck_assert_int_eq(pread(fd, &c, 1, (off_t)at), 1);
		c ^= 1;
		ck_assert_int_eq(pwrite(fd, &c, 1, (off_t)at), 1);
	}
	close(fd);
}

/* Cut short or damaged at each of its bytes: what stands before is known, what stands behind is not; and what
 * comes then is. */
START_TEST(a_torn_or_damaged_log_counts_up_to_there)
{
	enum { BLOCKS = 3, EACH = 4 };
	log_set_level(LOG_ERROR);
	begin_with(&pair);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ask_from(1000 * (i + 1), EACH);
		write_down();
		reopen(&pair);
	}
	kill_it();
	uint64_t bytes = file_bytes(), block = SEEN_BLOCK_HEAD + EACH * 8;
	ck_assert_uint_eq(bytes, SEEN_FILE_HEAD + BLOCKS * block);
	char good[300], command[700];
	snprintf(good, sizeof good, "%s/good", dir);
	ck_assert_int_eq(rename(file, good), 0);
	for (uint64_t at = 0; at < bytes; at += 5) {
		snprintf(command, sizeof command, "cp '%s' '%s'", good, file);
		ck_assert_int_eq(system(command), 0);
		spoil(at, _i);
		open_with(&pair);
		for (unsigned i = 0; i < BLOCKS; i++) {
			bool whole = at >= SEEN_FILE_HEAD + (i + 1) * block;
			ck_assert_uint_eq(known(1000 * (i + 1), EACH), whole ? EACH : 0);
		}
		ask_from(9000, EACH + 1); /* a block of another length */
		write_down();
		reopen(&pair);
		ck_assert_uint_eq(known(9000, EACH + 1), EACH + 1);
		kill_it();
	}
	open_with(&pair);
	end();
}
END_TEST

/* Nobody who asks waits, nor does the keeper; what is too much is counted, and in the next snapshot. */
START_TEST(a_disk_that_hangs_holds_up_nobody)
{
	enum { KEYS = 3000, TOO_MANY = 90000 };
	begin_with(&pair);
	ask_from(1, 10);
	write_down();
	ask_from(1000, 10);
	atomic_store(&holds, true);
	pass_a_minute();
	unit_wait_until((tick(1), atomic_load(&held) > 0));
	ask_from(100000, KEYS);
	pass_a_minute();
	pass_a_minute();
	ck_assert_uint_eq(seen_unlogged(seen), 0); /* gathered meanwhile */
	ask_from(200000, TOO_MANY);
	pass_a_minute();
	uint64_t missed = seen_unlogged(seen);
	ck_assert_uint_gt(missed, 0);
	ck_assert_uint_lt(missed, TOO_MANY);
	uint64_t bytes = file_bytes(), number = file_number();
	atomic_store(&holds, false);
	unit_wait_until(has_changed(bytes, number));
	reopen(&pair);
	ck_assert_uint_eq(known(1, 10) + known(1000, 10) + known(100000, KEYS), 20 + KEYS);
	end();
}
END_TEST

START_TEST(what_is_in_no_log_is_in_the_snapshot)
{
	enum { KEYS = 50000 };
	begin_with(&pair);
	ask_from(1, KEYS);
	write_down();
	uint64_t missed = seen_unlogged(seen);
	ck_assert_uint_gt(missed, KEYS / 2);
	seen_save(seen, now);
	reopen(&pair);
	ck_assert_uint_eq(known(1, KEYS), KEYS);
	end();
}
END_TEST

static uint64_t
written(void)
{
	struct cache_stats s;
	cache_stats(cache, &s);
	return s.written_bytes;
}

START_TEST(its_bytes_are_counted_in_whole_pages)
{
	begin_with(&pair);
	uint64_t before = written();
	ask_from(1, 10);
	write_down();
	seen_close(&seen); /* when it has been written */
	ck_assert_uint_eq(written() - before, 4096);
	cache_close(&cache);
	open_with(&pair);
	before = written();
	ask_from(1000, 1000);
	write_down();
	seen_close(&seen);
	ck_assert_uint_eq(written() - before, 2 * 4096); /* the first one again */
	cache_close(&cache);
	open_with(&pair);
	end();
}
END_TEST

/* ---- other options -------------------------------------------------------------------------- */

enum { EACH = 200, OLD = 1, OLDER = 10000, UNSAVED = 20000, FRESH = 30000 };

static void
end_generation(void)
{
	seen_charge(seen, NULL, TURN);
	tick(1);
}

static const struct {
	struct twice_filter_options was, is;
} changes[] = {
	{{.sightings = 2, .capacity = 100000, .false_positives = 1e-4},
	 {.sightings = 2, .capacity = 200000, .false_positives = 1e-4}},
	{{.sightings = 2, .capacity = 100000, .false_positives = 1e-4},
	 {.sightings = 2, .capacity = 3000, .false_positives = 1e-4}},
	{{.sightings = 2, .capacity = 100000, .false_positives = 1e-4},
	 {.sightings = 2, .capacity = 100000, .false_positives = 1e-5}},
	{{TWICE_FILTER_COUNTING, 2, .capacity = 10000, .false_positives = 1e-4},
	 {.sightings = 2, .capacity = 100000, .false_positives = 1e-4}},
	/* Known by one sighting, and asked about by one: the second pair is not needed. */
	{{.sightings = 3, .capacity = 10000, .false_positives = 1e-4},
	 {.sightings = 2, .capacity = 10000, .false_positives = 1e-4}},
};

/* Keys of the generation before, of the current one, and of the log that no snapshot holds. */
static void
fill_before_change(unsigned i)
{
	begin_with(&changes[i].was);
	ask_from(OLDER, EACH);
	write_down();
	end_generation();
	ask_from(OLD, EACH);
	seen_save(seen, now);
	ask_from(UNSAVED, EACH);
	write_down();
}

static unsigned
known_before(void)
{
	return known(OLD, EACH) + known(OLDER, EACH) + known(UNSAVED, EACH);
}

/* The process is killed right then, or when it has saved what it found, or before and after. */
START_TEST(other_options_forget_nothing_until_it_has_turned)
{
	char elder[300];
	unsigned i = (unsigned)_i / 3, killed = (unsigned)_i % 3;
	fill_before_change(i);
	reopen(&changes[i].is);
	ck_assert_uint_eq(known_before(), 3 * EACH);
	if (killed) {
		reopen(&changes[i].is);
		ck_assert_uint_eq(known_before(), 3 * EACH);
	}
	tick(1);
	ask_from(FRESH, EACH);
	if (killed == 2) {
		write_down();
		reopen(&changes[i].is);
		ck_assert_uint_eq(known(FRESH, EACH), EACH);
	}
	ck_assert_uint_eq(known_before(), 3 * EACH);
	ck_assert_uint_eq(known(90000, EACH), 0);
	end_generation();
	ck_assert_uint_eq(known(OLD, EACH) + known(UNSAVED, EACH), 2 * EACH);
	ck_assert_uint_eq(known(OLDER, EACH), 0);
	if (killed == 2) {
		seen_save(seen, now);
		reopen(&changes[i].is);
		ck_assert_uint_eq(known(OLD, EACH) + known(UNSAVED, EACH), 2 * EACH);
	}
	ask_from(40000, EACH); /* else the next generation is an empty one */
	end_generation();
	ck_assert_uint_eq(known_before(), 0);
	tick(1);
	ask_from(50000, EACH);
	seen_save(seen, now);
	reopen(&changes[i].is);
	ck_assert_uint_eq(known_before(), 0);
	ck_assert_uint_eq(known(50000, EACH), EACH);
	snprintf(elder, sizeof elder, "%s/filter.old", dir);
	ck_assert_int_ne(access(elder, F_OK), 0);
	end();
}
END_TEST

static const struct {
	const struct twice_filter_options *was, *is;
	unsigned asked, missing; /* before the change, and until it is known after it */
} counts[] = {
	{&pair, &cascade, 1, 1},     {&cascade, &pair, 1, 0},	  {&counting, &cascade, 1, 1},
	{&counting, &cascade, 2, 0}, {&cascade, &counting, 2, 0}, {&cascade, &counting, 1, 1},
};

START_TEST(sightings_are_counted_on_when_their_number_or_the_filter_changes)
{
	begin_with(counts[_i].was);
	for (unsigned n = 0; n < counts[_i].asked; n++)
		ask_from(OLD, EACH);
	seen_save(seen, now);
	reopen(counts[_i].is);
	for (unsigned n = 0; n < counts[_i].missing; n++) {
		ck_assert_uint_eq(known(OLD, EACH), 0);
		ask_from(OLD, EACH);
	}
	ck_assert_uint_eq(known(OLD, EACH), EACH);
	ck_assert_uint_eq(known(FRESH, EACH), 0);
	end();
}
END_TEST

/* Nothing new is nothing written. */
START_TEST(a_snapshot_of_a_cascade_is_written_when_it_says_more)
{
	char snapshot[300];
	struct stat is;
	begin_with(&cascade);
	snprintf(snapshot, sizeof snapshot, "%s/filter", dir);
	ask_from(OLD, 1);
	seen_save(seen, now);
	for (unsigned times = 2; times < 5; times++) {
		ck_assert_int_eq(stat(snapshot, &is), 0);
		ino_t before = is.st_ino;
		int hold = open(snapshot, O_RDONLY); /* else its number may be used again */
		ask_from(OLD, 1);
		seen_save(seen, now);
		ck_assert_int_eq(stat(snapshot, &is), 0);
		ck_assert((is.st_ino != before) == (times == 2)); /* the third adds nothing */
		close(hold);
	}
	end();
}
END_TEST

/* A change that was a mistake is taken back. */
START_TEST(options_that_come_back_find_their_filter)
{
	fill_before_change(0);
	reopen(&changes[0].is);
	tick(1);
	ask_from(FRESH, EACH);
	seen_save(seen, now);
	reopen(&changes[0].was);
	ck_assert_uint_eq(known_before() + known(FRESH, EACH), 4 * EACH);
	tick(1);
	reopen(&changes[0].was);
	ck_assert_uint_eq(known_before() + known(FRESH, EACH), 4 * EACH);
	end();
}
END_TEST

START_TEST(a_filter_many_times_as_large_is_not_kept_beside)
{
	const struct twice_filter_options large = {
		.sightings = 2, .capacity = 40000000, .false_positives = 1e-2};
	log_set_level(LOG_ERROR);
	begin_with(&large);
	ask_from(OLD, EACH);
	seen_save(seen, now);
	reopen(&pair);
	ck_assert_uint_eq(known(OLD, EACH), 0);
	ask_from(OLD, EACH);
	write_down();
	reopen(&pair);
	ck_assert_uint_eq(known(OLD, EACH), EACH);
	end();
}
END_TEST

UNIT("seen_log", LOOP(what_was_seen_survives_a_kill_a_minute_later, kinds),
     TEST(the_log_goes_on_behind_a_restart_and_begins_anew_with_a_snapshot),
     LOOP(generations_turn_in_a_log_as_they_did, turns),
     TIMES(a_torn_or_damaged_log_counts_up_to_there, 2), TEST(a_disk_that_hangs_holds_up_nobody),
     TEST(what_is_in_no_log_is_in_the_snapshot), TEST(its_bytes_are_counted_in_whole_pages),
     TIMES(other_options_forget_nothing_until_it_has_turned,
	   3 * sizeof changes / sizeof changes[0]),
     LOOP(sightings_are_counted_on_when_their_number_or_the_filter_changes, counts),
     TEST(a_snapshot_of_a_cascade_is_written_when_it_says_more),
     TEST(options_that_come_back_find_their_filter),
     TEST(a_filter_many_times_as_large_is_not_kept_beside))
