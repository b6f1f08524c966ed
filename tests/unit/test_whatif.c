/* test_whatif.c - what other settings would do, beside what they do.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission/sighting.h"
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

/* Bodies that will be packed are taken as so much as those that were have become. */
START_TEST(rows_count_what_is_packed_packed)
{
	struct whatif *w = make(1, 1024 * MIB, 0);
	struct whatif_options packs = {.ghost = {.disk_bytes = 1024 * MIB, .packs = true},
				       .memory = {.kind = TWICE_FILTER_PAIR,
						  .sightings = 1,
						  .capacity = 1000,
						  .false_positives = 0.01}};
	struct whatif *p = whatif_create(&packs);
	enum { BYTES = 100000, EACH = 500 };
	double before = 0, plain = 0;
	for (unsigned i = 0; i < 2 * EACH; i++) {
		struct ghost_event e = event(i, BYTES, i);
		if (i < EACH)
			e.packed_bytes = e.record_bytes / 10;
		else
			e.packable = true;
		if (i == EACH) {
			before = stats(p).rows[WHATIF_NOW].written_bytes;
			plain = stats(w).rows[WHATIF_NOW].written_bytes;
		}
		whatif_see(w, &e);
		whatif_see(p, &e);
	}
	double after = stats(p).rows[WHATIF_NOW].written_bytes - before;
	ck_assert_double_eq_tol(before, plain / 10, plain / 200);
	ck_assert_double_eq_tol(after, before, before / 50);
	ck_assert_double_gt(stats(w).rows[WHATIF_NOW].written_bytes, 1.99 * plain);
	whatif_destroy(&w);
	whatif_destroy(&p);
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

/* ---- slices -------------------------------------------------------------------------------- */

enum { FILMS = 40, SLICES = 12, PARTS_MOST = 3, HEAD = 500, SLICE = MIB };

/* The rule of slices, once more: so often was each seen, and what is on a disk without an end. */
struct model {
	unsigned sightings;
	unsigned url[FILMS], slice[FILMS][SLICES];
	bool head_there[FILMS], there[FILMS][SLICES];
	double written;
};

/* A request for the slices first to last: plain, from the first byte on, or from behind it. */
struct wish {
	unsigned film, first, last;
	bool part, behind;
};

static bool
model_knows(unsigned seen, unsigned more, unsigned sightings)
{
	return (seen > more ? seen : more) + 1 >= sightings;
}

static void
model_see(struct model *m, struct wish w)
{
	unsigned *url = &m->url[w.film], *slices = m->slice[w.film];
	unsigned *of = w.behind ? &slices[w.first] : url;
	unsigned other = w.first || !w.part ? 0 : w.behind ? *url : slices[0];
	if (!m->head_there[w.film] && model_knows(*of, other, m->sightings)) {
		m->head_there[w.film] = true;
		m->written += HEAD;
	}
	++*of;
	for (unsigned i = w.first; i <= w.last; i++) {
		bool own = w.behind && i > w.first;
		bool known = own && model_knows(slices[i], 0, m->sightings);
		slices[i] += own;
		if (m->there[w.film][i] || !(m->head_there[w.film] || known))
			continue;
		m->there[w.film][i] = true;
		m->written += SLICE;
	}
}

static void
tell(struct whatif *what_if, struct wish w, unsigned at)
{
	struct ghost_event head = event(w.film, 0, at);
	head.record_bytes = HEAD;
	head.sampled_as = (uint64_t)SLICES * SLICE;
	head.behind = w.behind ? w.first + 1 : 0;
	head.first = w.part && !w.behind;
	head.validator = 1;
	whatif_see(what_if, &head);
	for (unsigned i = w.first; i <= w.last; i++) {
		struct ghost_event e = event(w.film, SLICE, at);
		bool own = w.behind && i > w.first;
		e.key = (head.key & ~(uint64_t)UINT32_MAX) | (uint32_t)key(w.film * 1000 + i);
		e.record_bytes = SLICE;
		e.sampled_as = head.sampled_as;
		e.head = head.key;
		e.sightings = own;
		e.behind = own ? i + 1 : 0;
		e.slice = e.joins = true;
		whatif_see(what_if, &e);
	}
}

START_TEST(slices_are_judged_by_their_own_sightings)
{
	struct whatif *w = make(2, (uint64_t)8 << 30, 0);
	static struct model models[3];
	uint64_t x = 1;
	for (unsigned n = 0; n < 3; n++)
		models[n] = (struct model){.sightings = n + 1};
	for (unsigned i = 0; i < 300; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned first = (unsigned)(x >> 40) % (SLICES - PARTS_MOST);
		struct wish wish = {.film = (unsigned)(x >> 33) % FILMS,
				    .part = (x >> 60) % 8 != 0,
				    .first = (x >> 50) % 4 ? first : 0};
		wish.behind = wish.part && (wish.first || (x >> 55) % 2);
		wish.first = wish.part ? wish.first : 0;
		wish.last = wish.part ? wish.first + (unsigned)(x >> 45) % PARTS_MOST : SLICES - 1;
		for (unsigned n = 0; n < 3; n++)
			model_see(&models[n], wish);
		tell(w, wish, i);
	}
	struct whatif_stats s = stats(w);
	const enum whatif_row rows[] = {WHATIF_SIGHTINGS_1, WHATIF_NOW, WHATIF_SIGHTINGS_3};
	for (unsigned n = 0; n < 3; n++)
		ck_assert_double_eq_tol(s.rows[rows[n]].written_bytes, models[n].written,
					0.01 * models[n].written);
	ck_assert_double_lt(models[2].written, 0.9 * models[1].written);
	ck_assert_double_lt(models[1].written, 0.9 * models[0].written);
	whatif_destroy(&w);
}
END_TEST

/* ---- a choice ------------------------------------------------------------------------------ */

static struct whatif *
make_choosing(unsigned large_sightings)
{
	struct whatif_options o = {.ghost = {.disk_bytes = 64 * MIB, .memory_bytes = 4 * MIB},
				   .lent = 64 << 10,
				   .chooses = true,
				   .sightings = 2,
				   .large_sightings = large_sightings,
				   .memory = {.sightings = 3,
					      .capacity = 1000000,
					      .false_positives = 0.01,
					      .rotate_after_s = 1 << 30,
					      .seed = 1}};
	struct whatif *w = whatif_create(&o);
	ck_assert_ptr_nonnull(w);
	return w;
}

/* So many URLs, each twice, of which every other one is large. */
static void
play_twice(struct whatif *w, unsigned from, unsigned urls)
{
	for (unsigned i = from; i < from + urls; i++)
		for (unsigned n = 0; n < 2; n++) {
			struct ghost_event e =
				event(i, i % 2 ? SIGHTING_LARGE + 1 : SIGHTING_LARGE, i);
			whatif_earn(w, 1, 1);
			whatif_see(w, &e);
		}
}

/* The rows that are as now follow the choice, and the two that it is made of stay as they are. */
START_TEST(rows_follow_a_choice)
{
	struct whatif *w = make_choosing(0), *three = make_choosing(3);
	play_twice(w, 0, 400);
	play_twice(three, 0, 400);
	struct whatif_stats a = stats(w), b = stats(three);
	double two = a.rows[WHATIF_SIGHTINGS_2].written_bytes,
	       large = a.rows[WHATIF_LARGE_3].written_bytes;
	ck_assert_double_eq(a.rows[WHATIF_NOW].written_bytes, two);
	ck_assert_double_eq(b.rows[WHATIF_NOW].written_bytes, large);
	ck_assert_double_eq(b.rows[WHATIF_SIGHTINGS_2].written_bytes, two);
	ck_assert_double_eq_tol(large, two / 2, 0.02 * two);
	ck_assert_uint_eq(b.rows[WHATIF_NOW].sightings, 3);
	ck_assert_uint_eq(b.large_sightings, 3);
	whatif_settle(w, 2, 3);
	double before = a.rows[WHATIF_NOW].written_bytes;
	play_twice(w, 1000, 400);
	a = stats(w);
	ck_assert_double_eq_tol(a.rows[WHATIF_NOW].written_bytes - before, two / 2, 0.02 * two);
	ck_assert_double_eq_tol(a.rows[WHATIF_SIGHTINGS_2].written_bytes, 2 * two, 0.02 * two);
	ck_assert_uint_eq(a.large_sightings, 3);
	whatif_destroy(&w);
	whatif_destroy(&three);
}
END_TEST

START_TEST(a_period_begins_where_the_last_one_ended)
{
	enum { URLS_EACH = 400, BYTES = SIGHTING_LARGE * URLS_EACH };
	struct whatif *w = make_choosing(0), *fixed = make(3, 64 * MIB, 4 * MIB);
	struct choice_period p, same;
	for (unsigned i = 0; i < 2; i++) {
		play_twice(w, 1000 * i, URLS_EACH);
		ck_assert(whatif_period(w, false, &same) && whatif_period(w, true, &p));
		ck_assert_double_eq(p.requests, 2 * URLS_EACH);
		ck_assert_double_eq(same.written, p.written);
		ck_assert_double_eq_tol(p.bytes, 2.0 * BYTES, 0.01 * BYTES);
		ck_assert_double_eq_tol(p.written, BYTES, 0.01 * BYTES);
		ck_assert_double_eq_tol(p.more_written, -0.5 * BYTES, 0.01 * BYTES);
		ck_assert_double_eq(p.more_written_error + p.more_requests_error + p.refused, 0);
	}
	ck_assert(whatif_period(w, true, &p));
	ck_assert_double_eq(p.requests + p.written + p.more_written + p.bytes, 0);
	ck_assert(!whatif_period(fixed, true, &p));
	whatif_destroy(&w);
	whatif_destroy(&fixed);
}
END_TEST

UNIT("whatif", TEST(rows_follow_a_choice), TEST(a_period_begins_where_the_last_one_ended),
     LOOP(a_row_is_what_a_run_with_its_settings_shows, twins),
     TEST(every_row_keeps_to_the_write_budget), TEST(slices_are_judged_by_their_own_sightings),
     TEST(a_sample_tells_what_the_whole_would), TIMES(it_costs_no_more_than_its_share, 2),
     TEST(it_goes_on_where_it_ended), TEST(what_is_no_snapshot_of_it_is_refused),
     TEST(rows_count_what_is_packed_packed), TIMES(what_is_forgotten_is_forgotten_by_all_rows, 2))
