/* test_baseline.c - what an ordinary cache would have written (DESIGN 3).
 * rooms: cache http base filter
 */
#include "proxy/cache/baseline.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/sighting.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

static struct key_hash
key(uint64_t i)
{
	return (struct key_hash){i * 0x9e3779b97f4a7c15u, i * 0xd6e8feb86659fd93u};
}

static enum baseline_answer
ask(struct baseline *b, uint64_t i, uint64_t bytes, int64_t now)
{
	return baseline_request(b, &(struct baseline_request){.hash = key(i),
							      .record_bytes = bytes,
							      .fresh_until = now + 100,
							      .now = now});
}

static struct baseline *
make(uint64_t disk, uint32_t entries)
{
	struct baseline *b = NULL;
	ck_assert_int_eq(baseline_create(&b, &(struct baseline_options){.disk_bytes = disk,
									.max_entries = entries}),
			 0);
	return b;
}

START_TEST(writes_at_first_sight_and_hits_while_fresh)
{
	struct baseline *b = make(64 << 20, 0);
	struct baseline_stats s;
	ck_assert_int_eq(ask(b, 1, 5000, 0), BASELINE_MISS);
	ck_assert_int_eq(ask(b, 1, 5000, 99), BASELINE_HIT);
	ck_assert_int_eq(ask(b, 1, 5000, 100), BASELINE_MISS);
	struct baseline_request again = {.hash = key(1),
					 .record_bytes = 5000,
					 .fresh_until = 500,
					 .validated = true,
					 .now = 300};
	ck_assert_int_eq(baseline_request(b, &again), BASELINE_HIT);
	ck_assert_int_eq(ask(b, 1, 5000, 499), BASELINE_HIT);
	baseline_stats(b, &s);
	ck_assert_uint_ge(s.written_bytes, 10000);
	ck_assert_uint_le(s.written_bytes, 11000); /* and a head for the 304 */
	baseline_remove(b, key(1));
	ck_assert_int_eq(ask(b, 1, 5000, 499), BASELINE_MISS);
	baseline_destroy(&b);
	ck_assert_ptr_null(b);
}
END_TEST

START_TEST(evicts_the_oldest_but_carries_the_hot)
{
	struct baseline *b = make(16 << 20, 0);
	ask(b, 1, 9000, 0);
	ask(b, 2, 9000, 0);
	for (uint64_t i = 1000; i < 8000; i++) {
		ask(b, i, 9000, 0);
		if (i % 10 == 0)
			ck_assert_int_eq(ask(b, 1, 9000, 0), BASELINE_HIT);
	}
	ck_assert_int_eq(ask(b, 2, 9000, 0), BASELINE_MISS);
	struct baseline_stats s;
	baseline_stats(b, &s);
	ck_assert_uint_ge(s.entries, 1300);
	ck_assert_uint_le(s.entries, (16 << 20) / 9000);
	baseline_destroy(&b);
}
END_TEST

START_TEST(a_sample_forecasts_the_whole)
{
	struct baseline *exact = make(512 << 20, 1 << 20), *sample = make(512 << 20, 4096);
	uint64_t x = 1;
	for (int i = 0; i < 400000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 60) ? 60000 : 3000);
		uint64_t bytes = 1000 + url * 7919 % 20000;
		ask(exact, url, bytes, 0);
		ask(sample, url, bytes, 0);
	}
	struct baseline_stats e, s;
	baseline_stats(exact, &e);
	baseline_stats(sample, &s);
	ck_assert_double_eq(e.sample_share, 1.0);
	ck_assert_double_le(s.sample_share, 0.125);
	ck_assert_uint_le(s.entries, 4096);
	ck_assert_double_eq_tol((double)s.written_bytes, (double)e.written_bytes,
				0.1 * (double)e.written_bytes);
	ck_assert_double_eq_tol((double)s.hits, (double)e.hits, 0.1 * (double)e.hits);
	baseline_destroy(&exact);
	baseline_destroy(&sample);
}
END_TEST

START_TEST(without_a_disk_there_is_nothing_to_compare)
{
	struct baseline *b = make(0, 0);
	ck_assert_int_eq(ask(b, 1, 100, 0), BASELINE_UNKNOWN);
	baseline_remove(b, key(1));
	baseline_destroy(&b);
}
END_TEST

/* ---- DESIGN 3: N1 one-hit URLs, N2 others, all of one size, no eviction: N1 / (N1 + N2) --------
 */

enum { N1 = 740, N2 = 260, BODY = 8192 };

struct scene {
	struct cache *c;
	struct twice_pair *pair;
	struct baseline *b;
};

static void
request(struct scene *s, unsigned url)
{
	char text[32];
	struct str k = {text, (size_t)snprintf(text, sizeof text, "url-%05u", url)};
	struct key_hash hash = key_hash_of(cache_seed(s->c), k.p, k.n);
	struct object *o = NULL;
	struct cache_lookup l = {0};
	baseline_request(
		s->b, &(struct baseline_request){.hash = hash,
						 .record_bytes = cache_record_bytes(k.n, 0, BODY),
						 .fresh_until = 100});
	enum found found = cache_lookup(s->c, &l, hash, k, &o);
	ck_assert_int_ne(found, FOUND_LATER);
	enum twice_sight sight = pair_record(s->pair, hash);
	if (found == FOUND_OBJECT) {
		if (!o->on_disk && sight != SIGHT_FIRST)
			cache_admit(s->c, o);
		object_unref(&o);
		return;
	}
	static const struct sighting_settings two = {.sightings = 2};
	struct sighting_facts f = {
		.storable = true, .status = 200, .known = {sight, sight != SIGHT_FIRST}};
	struct object_write *w = cache_write_begin(
		s->c, &(struct write_options){.hash = hash,
					      .key = k,
					      .body_bytes = BODY,
					      .disk = sighting_decide(&two, &f).writes});
	struct block *body = block_create(BODY);
	memset(body->p, 1, BODY);
	cache_write_body(w, body, 0, BODY);
	block_unref(&body);
	o = cache_write_commit(&w, false);
	object_unref(&o);
}

START_TEST(saved_is_exactly_the_one_hit_share)
{
	char dir[256], err[256];
	tmpdir_make(dir, sizeof dir);
	struct scene s = {0};
	struct cache_options o = {.dir = dir, .disk_bytes = 64 << 20};
	o.memory_bytes =
		_i ? 1 << 20 : 64 << 20; /* second fetches, or writes from RAM: all the same */
	ck_assert_int_eq(cache_open(&s.c, &o, err, sizeof err), 0);
	pair_create(&s.pair, &(struct pair_options){.capacity = 100000, .false_positives = 1e-6},
		    0);
	s.b = make(64 << 20, 0);
	for (int round = 0; round < 3; round++)
		for (unsigned url = 0; url < N1 + N2; url++)
			if (round == 0 || url < N2)
				request(&s, url);
	store_flush(s.c->store);
	struct cache_stats real;
	struct baseline_stats ghost;
	cache_stats(s.c, &real);
	baseline_stats(s.b, &ghost);
	ck_assert_uint_eq(ghost.misses, N1 + N2);
	ck_assert_uint_eq(real.objects, N2);
	ck_assert_uint_eq(real.evicted_objects, 0);
	uint64_t each = cache_record_bytes(9, 0, BODY);
	ck_assert_uint_eq(ghost.written_bytes, (N1 + N2) * each);
	/* Footers are written when a segment is full, so half of the table entries come later; the
	 * rest is padding to pages. */
	double saved = 1 - (double)real.written_bytes / (double)ghost.written_bytes;
	ck_assert_double_eq_tol(saved, (double)N1 / (N1 + N2), 0.002);
	baseline_destroy(&s.b);
	pair_destroy(&s.pair);
	cache_close(&s.c);
	tmpdir_remove(dir);
}
END_TEST

UNIT("baseline", TEST(writes_at_first_sight_and_hits_while_fresh),
     TEST(evicts_the_oldest_but_carries_the_hot), TEST(a_sample_forecasts_the_whole),
     TEST(without_a_disk_there_is_nothing_to_compare), TIMES(saved_is_exactly_the_one_hit_share, 2))
