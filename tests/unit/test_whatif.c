/* test_whatif.c - what other settings would do, beside what they do.
 * rooms: cache http base filter
 */
#include "proxy/cache/ghost/whatif.h"
#include "tests/kit/unit.h"

#include <math.h>

enum { URLS = 6000, HOT = 400, MIB = 1 << 20 };

static struct whatif *
make_lent(unsigned sightings, uint64_t disk, uint64_t memory, uint32_t lent)
{
	struct whatif_options o = {.ghost = {.disk_bytes = disk, .memory_bytes = memory},
				   .lent = lent,
				   .memory = {.kind = TWICE_FILTER_PAIR,
					      .sightings = sightings,
					      .capacity = 1000000,
					      .false_positives = 0.01,
					      .rotate_after_s = 1 << 30,
					      .seed = 1}};
	struct whatif *w = whatif_create(&o);
	ck_assert_ptr_nonnull(w);
	return w;
}

/* It follows all of the first 16,384 events. */
static struct whatif *
make(unsigned sightings, uint64_t disk, uint64_t memory)
{
	return make_lent(sightings, disk, memory, 16 << 10);
}

static uint64_t
key(uint64_t url)
{
	uint64_t x = (url + 1) * 0x9e3779b97f4a7c15u;
	return (x ^ x >> 32) * 0xd6e8feb86659fd93u;
}

static struct ghost_event
event(uint64_t url, uint64_t bytes, unsigned at)
{
	return (struct ghost_event){.key = key(url),
				    .url = key(url),
				    .record_bytes = bytes + 300,
				    .body_bytes = bytes,
				    .origin_bytes = bytes,
				    .now_s = 1000 + at / 1000,
				    .fresh_s = 1 << 30,
				    .deed = GHOST_FETCHED,
				    .sightings = 1,
				    .whole = true};
}

struct played {
	uint64_t sampled, requests;
};

/* The most part is asked for again, some often. salt: other URLs. */
static struct played
play(struct whatif *w, unsigned urls, unsigned hot, unsigned requests, uint64_t salt)
{
	struct played p = {.requests = requests};
	uint64_t x = 1 + salt;
	for (unsigned i = 0; i < requests; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 62) ? hot : urls) + (salt << 32);
		struct ghost_event e = event(url, 2000 + url * 7919 % 30000, i);
		p.sampled += whatif_samples(w, e.key, e.record_bytes);
		whatif_earn(w, 1, 0);
		whatif_see(w, &e);
	}
	return p;
}

static struct whatif_stats
stats(const struct whatif *w)
{
	struct whatif_stats s;
	whatif_stats(w, &s);
	return s;
}

/* clang-format off */
static const struct {
	const char *says;
	enum whatif_row row;
	unsigned sightings;
	unsigned disk, memory; /* halves */
} twins[] = {
	{ "admitting all", WHATIF_SIGHTINGS_1, 1, 2, 2 },
	{ "three sightings", WHATIF_SIGHTINGS_3, 3, 2, 2 },
	{ "half the disk", WHATIF_HALF_DISK, 2, 1, 2 },
	{ "twice the disk", WHATIF_DOUBLE_DISK, 2, 4, 2 },
	{ "half the RAM", WHATIF_HALF_RAM, 2, 2, 1 },
	{ "twice the RAM", WHATIF_DOUBLE_RAM, 2, 2, 4 },
};
/* clang-format on */

/* Few URLs, all of them followed: a row is exactly what those settings themselves would do. */
START_TEST(a_row_is_what_a_run_with_its_settings_shows)
{
	struct whatif *w = make(2, 64 * MIB, 4 * MIB),
		      *other = make(twins[_i].sightings, 32 * MIB * twins[_i].disk,
				    2 * MIB * twins[_i].memory);
	play(w, URLS, HOT, 15000, 0);
	play(other, URLS, HOT, 15000, 0);
	struct whatif_stats a = stats(w), b = stats(other);
	const struct whatif_told *row = &a.rows[twins[_i].row], *now = &b.rows[WHATIF_NOW];
	ck_assert_double_eq(a.sample_share, 1);
	ck_assert(row->told && !a.rows[WHATIF_SIGHTINGS_2].told);
	ck_assert_uint_eq(row->sightings, now->sightings);
	ck_assert_uint_eq(row->disk_bytes, now->disk_bytes);
	ck_assert_uint_eq(row->memory_bytes, now->memory_bytes);
	ck_assert_double_eq(row->written_bytes, now->written_bytes);
	ck_assert_double_eq(a.off_requests + row->more_requests, b.off_requests);
	ck_assert_double_eq(row->more_requests_error + row->more_written_error, 0);
	whatif_destroy(&w);
	whatif_destroy(&other);
}
END_TEST

static struct whatif *
make_with_budget(unsigned sightings, uint64_t bytes_s)
{
	struct whatif_options o = {.ghost = {.disk_bytes = 64 * MIB, .memory_bytes = 4 * MIB},
				   .lent = 16 << 10,
				   .budget_bytes_s = bytes_s,
				   .memory = {.kind = TWICE_FILTER_PAIR,
					      .sightings = sightings,
					      .capacity = 1000000,
					      .false_positives = 0.01,
					      .rotate_after_s = 1 << 30,
					      .seed = 1}};
	return whatif_create(&o);
}

/* 15,000 events are 15 seconds long here. A row is what a run with its settings and the same budget
 * does, and writes no more than that allows: so many seconds, two saved up, and the last object. */
START_TEST(every_row_keeps_to_the_write_budget)
{
	enum { BUDGET = 256 << 10, SECONDS = 15, SAVED = 2, LARGEST = 32 << 10 };
	struct whatif *w = make_with_budget(2, BUDGET), *one = make_with_budget(1, BUDGET),
		      *free = make(2, 64 * MIB, 4 * MIB);
	play(w, URLS, HOT, 15000, 0);
	play(one, URLS, HOT, 15000, 0);
	play(free, URLS, HOT, 15000, 0);
	struct whatif_stats a = stats(w), b = stats(one), f = stats(free);
	const struct whatif_told *row = &a.rows[WHATIF_SIGHTINGS_1];
	ck_assert_double_eq(row->written_bytes, b.rows[WHATIF_NOW].written_bytes);
	ck_assert_double_eq(a.off_requests + row->more_requests, b.off_requests);
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (a.rows[i].told)
			ck_assert_double_le(a.rows[i].written_bytes,
					    BUDGET * (SECONDS + SAVED) + LARGEST);
	ck_assert_double_gt(f.rows[WHATIF_NOW].written_bytes, 2 * a.rows[WHATIF_NOW].written_bytes);
	whatif_destroy(&w);
	whatif_destroy(&one);
	whatif_destroy(&free);
}
END_TEST

/* Ten times as many requests and URLs as it may follow: what rows differ by is right within two points
 * of hits, and of bytes. */
START_TEST(a_sample_tells_what_the_whole_would)
{
	enum { MANY = 60000, REQUESTS = 300000 };
	static bool was_seen[MANY];
	struct whatif *w = make_lent(2, 512 * MIB, 32 * MIB, 0);
	struct ghost_options o = {
		.disk_bytes = 512 * MIB, .memory_bytes = 32 * MIB, .max_entries = 1 << 18};
	struct ghost *all = ghost_create(&o), *second = ghost_create(&o);
	play(w, MANY, MANY / 10, REQUESTS, 0);
	uint64_t x = 1;
	for (unsigned i = 0; i < REQUESTS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 62) ? MANY / 10 : MANY);
		struct ghost_event e = event(url, 2000 + url * 7919 % 30000, i);
		ghost_see(all, &e);
		e.refused = !was_seen[url];
		was_seen[url] = true;
		ghost_see(second, &e);
	}
	struct whatif_stats s = stats(w);
	struct ghost_stats a, b;
	ghost_stats(all, &a);
	ghost_stats(second, &b);
	const struct whatif_told *row = &s.rows[WHATIF_SIGHTINGS_1];
	double now = s.rows[WHATIF_NOW].written_bytes;
	ck_assert_double_lt(s.sample_share, 0.3);
	ck_assert_uint_le(s.entries, 8 * WHATIF_ENTRIES);
	ck_assert_double_eq_tol(row->more_requests, (double)a.misses - (double)b.misses,
				0.02 * REQUESTS);
	ck_assert_double_eq_tol(now / row->written_bytes,
				(double)b.written_bytes / (double)a.written_bytes, 0.02);
	ck_assert_double_gt(row->more_requests_error, 0);
	ck_assert_double_lt(row->more_requests_error, 0.02 * REQUESTS);
	whatif_destroy(&w);
	ghost_destroy(&all);
	ghost_destroy(&second);
}
END_TEST

/* A few thousand hot URLs, each asked for without end, and one alone: what is followed stays below a
 * 16th of the requests, after what is lent. */
START_TEST(it_costs_no_more_than_its_share)
{
	enum { REQUESTS = 500000, LENT = 4 << 10, RESPITE = 1 << 10, HALVINGS = 30 };
	struct whatif *w = make_lent(2, 512 * MIB, 32 * MIB, 0);
	struct played p = play(w, _i ? 1 : 5000, _i ? 1 : 5000, REQUESTS, 0);
	ck_assert_uint_le(p.sampled, LENT + p.requests / 16 + HALVINGS * RESPITE);
	ck_assert_double_lt(stats(w).sample_share, 0.2);
	whatif_destroy(&w);
}
END_TEST

static struct twice_seed seed;

static void
save(struct whatif *w, struct buf *out)
{
	twice_seed_init(&seed, "0123456789abcdef", 16);
	struct twice_filter_place here = {&seed, 1020};
	whatif_save(w, &here, 4 * MIB, out);
	ck_assert_uint_gt(out->n, 1000);
}

static const char *
load(struct whatif *w, struct buf *bytes)
{
	struct twice_filter_place here = {&seed, 1020};
	return whatif_load(w, &here, buf_str(bytes));
}

/* URLs that were held are held again, and those seen once are known. */
START_TEST(it_goes_on_where_it_ended)
{
	struct whatif *w = make(2, 64 * MIB, 4 * MIB), *again = make(2, 64 * MIB, 4 * MIB);
	struct buf bytes = {0};
	for (uint64_t url = 0; url < 300; url++)
		for (uint64_t n = 0; n <= url % 3; n++) {
			struct ghost_event e = event(url, 10000, 0);
			whatif_see(w, &e);
		}
	save(w, &bytes);
	ck_assert_pstr_eq(load(again, &bytes), NULL);
	for (uint64_t url = 0; url < 300; url++) {
		struct ghost_event e = event(url, 10000, 0);
		whatif_see(again, &e);
	}
	struct whatif_stats s = stats(again);
	/* All ask as one that asks always. 200 were seen twice, and are there. 100 were seen once: known,
	 * so they are written now, as the third sighting writes 100. All are there where all are admitted. */
	ck_assert_double_eq(s.off_requests, -200);
	ck_assert_double_eq(s.rows[WHATIF_SIGHTINGS_1].more_requests, -100);
	ck_assert_double_eq(s.rows[WHATIF_SIGHTINGS_3].more_requests, 100);
	ck_assert_double_eq_tol(s.rows[WHATIF_NOW].written_bytes, 100 * 10300, 60000);
	ck_assert_double_eq_tol(s.rows[WHATIF_SIGHTINGS_1].written_bytes, 0, 1000);
	whatif_destroy(&w);
	whatif_destroy(&again);
	buf_fini(&bytes);
}
END_TEST

START_TEST(what_is_no_snapshot_of_it_is_refused)
{
	struct whatif *w = make(2, 64 * MIB, 4 * MIB), *again = make(2, 64 * MIB, 4 * MIB);
	struct buf bytes = {0}, none = {0};
	play(w, URLS, HOT, 3000, 0);
	save(w, &bytes);
	for (size_t i = 0; i < bytes.n; i += bytes.n / 50 + 1) {
		bytes.p[i] ^= 1;
		ck_assert_pstr_ne(load(again, &bytes), NULL);
		bytes.p[i] ^= 1;
	}
	ck_assert_pstr_ne(load(again, &none), NULL);
	twice_seed_init(&seed, "another cache's.", 16);
	ck_assert_pstr_eq(load(again, &bytes), "it belongs to another cache directory");
	struct twice_filter_place here = {&seed, 0};
	whatif_save(w, &here, 100, &none); /* no room: nothing, rather than a part */
	ck_assert_uint_eq(none.n, 0);
	whatif_destroy(&w);
	whatif_destroy(&again);
	buf_fini(&bytes);
	buf_fini(&none);
}
END_TEST

START_TEST(what_is_forgotten_is_forgotten_by_all_rows)
{
	struct whatif *w = make(2, 64 * MIB, 4 * MIB);
	struct ghost_event e = event(7, 10000, 0);
	for (int i = 0; i < 4; i++)
		whatif_see(w, &e);
	double before = stats(w).off_requests;
	if (_i)
		whatif_forget_all(w);
	else
		whatif_forget(w, key(7));
	ck_assert_uint_eq(stats(w).entries, 0);
	whatif_see(w, &e);
	ck_assert_double_eq(stats(w).off_requests, before);
	whatif_destroy(&w);
}
END_TEST

UNIT("whatif", LOOP(a_row_is_what_a_run_with_its_settings_shows, twins),
     TEST(every_row_keeps_to_the_write_budget), TEST(a_sample_tells_what_the_whole_would),
     TIMES(it_costs_no_more_than_its_share, 2), TEST(it_goes_on_where_it_ended),
     TEST(what_is_no_snapshot_of_it_is_refused),
     TIMES(what_is_forgotten_is_forgotten_by_all_rows, 2))
