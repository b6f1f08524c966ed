/* test_ghost.c - what an ordinary cache would have written and asked for.
 * rooms: cache http base filter
 */
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/ghost/ghost_inside.h"
#include "proxy/cache/admission/sighting.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

enum { URL_BYTES = 5000 };

static uint64_t
key(uint64_t i)
{
	i = (i + 1) * 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 31) * 0xd6e8feb86659fd93u;
	return i ^ i >> 32;
}

static struct ghost *
make(uint64_t disk, uint32_t entries)
{
	return ghost_create(&(struct ghost_options){.disk_bytes = disk, .max_entries = entries});
}

static struct ghost_stats
stats_of(struct ghost *g)
{
	struct ghost_stats s;
	ghost_check(g);
	ghost_stats(g, &s);
	return s;
}

/* A request for i that we fetched: what would it have done? 'h' answered, 'v' validated, 'm'
 * fetched. */
static char
asked(struct ghost *g, uint64_t i, uint64_t bytes, uint32_t now, uint32_t validator)
{
	struct ghost_stats was, is;
	ghost_stats(g, &was);
	ghost_see(g, &(struct ghost_event){.key = key(i),
					   .url = key(i),
					   .record_bytes = bytes,
					   .body_bytes = bytes,
					   .origin_bytes = bytes,
					   .now_s = now,
					   .fresh_s = 100,
					   .validator = validator,
					   .deed = GHOST_FETCHED,
					   .whole = true});
	ghost_stats(g, &is);
	return is.hits > was.hits ? 'h' : is.validated > was.validated ? 'v' : 'm';
}

START_TEST(writes_at_first_sight_and_hits_while_fresh)
{
	struct ghost *g = make(64 << 20, 0);
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 0, 0), 'm');
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 99, 0), 'h');
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 100, 0), 'm');
	struct ghost_stats s = stats_of(g);
	ck_assert_uint_ge(s.written_bytes, 2 * URL_BYTES);
	ck_assert_uint_lt(s.written_bytes, 2 * (URL_BYTES + 4096));
	ghost_forget(g, key(1));
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 100, 0), 'm');
	ghost_forget_all(g);
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 100, 0), 'm');
	ghost_destroy(&g);
	ck_assert_ptr_null(g);
}
END_TEST

/* Its disk and its RAM, after a first request that RAM takes alone, and after the second that is written. */
static void
play_packed(bool packs, uint64_t ram[2], uint64_t *written)
{
	struct ghost *g = ghost_create(&(struct ghost_options){
		.disk_bytes = 64 << 20, .memory_bytes = 8 << 20, .packs = packs});
	for (int i = 0; i < 2; i++) {
		ghost_see(g, &(struct ghost_event){.key = key(1),
						   .url = key(1),
						   .record_bytes = URL_BYTES,
						   .packed_bytes = URL_BYTES / 5,
						   .body_bytes = URL_BYTES,
						   .fresh_s = 100,
						   .deed = GHOST_FETCHED,
						   .whole = true,
						   .refused = i == 0});
		ram[i] = g->ram.used;
	}
	*written = stats_of(g).written_bytes;
	ghost_destroy(&g);
}

START_TEST(a_cache_that_packs_has_less_on_disk_and_then_in_ram)
{
	uint64_t plain[2], packed[2], plainly, small;
	play_packed(false, plain, &plainly);
	play_packed(true, packed, &small);
	ck_assert_uint_eq(plain[0], packed[0]);
	ck_assert_uint_eq(plain[1], plain[0]);
	ck_assert_uint_lt(packed[1], packed[0] - URL_BYTES / 2);
	ck_assert_uint_eq(plainly - small, URL_BYTES - URL_BYTES / 5);
}
END_TEST

START_TEST(validates_what_it_could_validate)
{
	struct ghost *g = make(64 << 20, 0);
	asked(g, 1, URL_BYTES, 0, 7);
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 100, 7), 'v'); /* a head is written */
	ck_assert_uint_lt(stats_of(g).written_bytes, 2 * URL_BYTES);
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 199, 7), 'h');
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 200, 8), 'm'); /* it has changed */
	ck_assert_int_eq(asked(g, 1, URL_BYTES, 300, 0), 'm'); /* nothing to validate by */
	/* Both would ask, but of us a whole body was sent each time but the first. */
	struct ghost_stats s = stats_of(g);
	ck_assert_uint_eq(s.extra_requests, 1); /* the hit */
	ck_assert_uint_eq(s.extra_bytes, 2 * URL_BYTES);
	ck_assert_uint_eq(s.avoided_requests + s.avoided_bytes, 0);
	ghost_destroy(&g);
}
END_TEST

START_TEST(learns_of_purges_when_it_is_asked)
{
	struct ghost *g = make(64 << 20, 0);
	struct ghost_event e = {.key = key(1),
				.url = key(1),
				.record_bytes = URL_BYTES,
				.body_bytes = URL_BYTES,
				.fresh_s = 100,
				.validator = 7,
				.purge_now = 10,
				.deed = GHOST_FETCHED,
				.whole = true};
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_MISSED);
	e.purge_now = 12;
	e.gone_at = 10; /* it knew that */
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_FROM_DISK);
	e.gone_at = 11;
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_MISSED);
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_FROM_DISK);
	e.purge_now = e.stale_at = 13;
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_VALIDATED);
	ck_assert_int_ne(ghost_see(g, &e).answer, GHOST_VALIDATED);
	/* Restored, it is as clean as when the first event came. */
	struct buf bytes = {0};
	ghost_snapshot_save(g, 1, 1 << 20, &bytes);
	struct ghost *again = make(64 << 20, 0);
	ck_assert_ptr_null(ghost_snapshot_load(again, 1, buf_str(&bytes)));
	e.purge_now = 20;
	ck_assert_int_ne(ghost_see(again, &e).answer, GHOST_MISSED);
	e.purge_now = e.gone_at = 21;
	ck_assert_int_eq(ghost_see(again, &e).answer, GHOST_MISSED);
	buf_fini(&bytes);
	ghost_destroy(&again);
	ghost_destroy(&g);
}
END_TEST

/* ---- the bill, both sides -------------------------------------------------------------------- */

static const struct {
	const char *says;
	enum { ABSENT, STALE, FRESH } held;
	struct ghost_event then;
	uint64_t extra, extra_bytes, avoided, avoided_bytes, written;
} bills[] = {
	/* clang-format off */
	{"we fetched, it would have answered", FRESH,
	 {.deed = GHOST_FETCHED, .whole = true, .origin_bytes = 100}, 1, 100, 0, 0, 0},
	{"we answered, it would have fetched", ABSENT,
	 {.deed = GHOST_HIT, .whole = true}, 0, 0, 1, 100, 100},
	{"we answered, it would have validated", STALE,
	 {.deed = GHOST_HIT, .whole = true, .validator = 7}, 0, 0, 1, 0, 640},
	{"we fetched, it would have validated", STALE,
	 {.deed = GHOST_FETCHED, .whole = true, .validator = 7, .origin_bytes = 100}, 0, 100, 0, 0, 640},
	{"we validated, it would have fetched", ABSENT,
	 {.deed = GHOST_CHECKED, .whole = true, .validator = 7}, 0, 0, 0, 100, 100},
	{"we validated, it would have answered", FRESH,
	 {.deed = GHOST_CHECKED, .whole = true, .validator = 7}, 1, 0, 0, 0, 0},
	{"a part passed, it would have answered", FRESH,
	 {.deed = GHOST_PART, .origin_bytes = 10}, 1, 10, 0, 0, 0},
	{"a part passed, on first sight of both", ABSENT,
	 {.deed = GHOST_PART, .origin_bytes = 10}, 0, 0, 0, 0, 0},
	{"a part passed, it would have fetched the whole", ABSENT,
	 {.deed = GHOST_PART, .whole = true, .origin_bytes = 10}, 0, 0, 0, 90, 100},
	{"nothing storable came, and it would have answered", FRESH,
	 {.deed = GHOST_ASKED}, 1, 0, 0, 0, 0},
	{"nothing storable came, for it neither", ABSENT,
	 {.deed = GHOST_ASKED}, 0, 0, 0, 0, 0},
	{"both answer", FRESH, {.deed = GHOST_HIT, .whole = true}, 0, 0, 0, 0, 0},
	{"both fetch", ABSENT,
	 {.deed = GHOST_FETCHED, .whole = true, .origin_bytes = 100}, 0, 0, 0, 0, 100},
	/* clang-format on */
};

START_TEST(bill)
{
	struct ghost *g = make(64 << 20, 0);
	struct ghost_event e = {.key = key(1),
				.url = key(1),
				.record_bytes = 100,
				.body_bytes = 100,
				.origin_bytes = 100,
				.fresh_s = bills[_i].held == STALE ? 1 : 1000,
				.validator = 7,
				.deed = GHOST_FETCHED,
				.whole = true};
	if (bills[_i].held != ABSENT)
		ghost_see(g, &e);
	ghost_age(g, 10); /* the batch of the first one goes to the disk */
	struct ghost_stats was = stats_of(g);
	e.now_s = 10;
	e.fresh_s = 1000;
	e.deed = bills[_i].then.deed;
	e.whole = bills[_i].then.whole;
	e.validator = bills[_i].then.validator;
	e.origin_bytes = bills[_i].then.origin_bytes;
	ghost_see(g, &e);
	struct ghost_stats s = stats_of(g);
	const char *says = bills[_i].says;
	ck_assert_msg(s.extra_requests == bills[_i].extra, "%s: extra", says);
	ck_assert_msg(s.extra_bytes == bills[_i].extra_bytes, "%s: extra bytes %llu", says,
		      (unsigned long long)s.extra_bytes);
	ck_assert_msg(s.avoided_requests == bills[_i].avoided, "%s: avoided", says);
	ck_assert_msg(s.avoided_bytes == bills[_i].avoided_bytes, "%s: avoided bytes %llu", says,
		      (unsigned long long)s.avoided_bytes);
	ck_assert_msg(s.written_bytes - was.written_bytes == bills[_i].written, "%s: written %llu",
		      says, (unsigned long long)(s.written_bytes - was.written_bytes));
	ghost_destroy(&g);
}
END_TEST

/* ---- slices: a request of theirs is counted once, and only where one was made ---------------- */

enum { HEAD = 100, SLICE = 1 << 20 };

/* request: of a client; 0: it stands for itself. number 0: of the head. */
static void
slice(struct ghost *g, uint32_t request, unsigned number, enum ghost_deed deed, bool joins)
{
	uint64_t bytes = number ? SLICE : HEAD;
	ghost_see(g, &(struct ghost_event){.key = key(1000 + number),
					   .url = key(1),
					   .record_bytes = bytes,
					   .body_bytes = number ? SLICE : 0,
					   .origin_bytes = deed == GHOST_HIT || !number ? 0 : SLICE,
					   .now_s = request ? 1000 : 0,
					   .fresh_s = 10000,
					   .validator = 7,
					   .request = request,
					   .slice = number > 0,
					   .deed = (uint8_t)deed,
					   .joins = joins,
					   .whole = true});
}

/* The ghost holds these of a body's four slices and its head (0); we fetched or answered those. */
static const struct {
	const char *says, *holds, *fetched, *answered;
	uint64_t extra, avoided;
	int64_t missed; /* it needs an origin where we did not */
} bodies[] = {
	/* clang-format off */
	{"both fetch all", "", "01234", "", 0, 0, 0},
	{"both have all", "01234", "", "01234", 0, 0, 0},
	{"it has nothing, we answer", "", "", "01234", 0, 1, 1},
	{"it has the head alone, we answer", "0", "", "01234", 0, 1, 1},
	{"it lacks some in the middle, we answer", "014", "", "01234", 0, 1, 1},
	{"it lacks the head alone, we answer", "1234", "", "01234", 0, 1, 1},
	{"it has all, we lack some", "01234", "34", "012", 1, 0, -1},
	{"both lack some", "012", "34", "012", 0, 0, 0},
	{"each lacks others", "034", "34", "012", 1, 1, 0},
	{"it has the head alone, we fetch all", "0", "01234", "", 1, 1, 0},
	/* clang-format on */
};

START_TEST(bill_of_slices)
{
	struct ghost *g = make(1 << 30, 0);
	const char *says = bodies[_i].says;
	for (const char *p = bodies[_i].holds; *p; p++)
		slice(g, 0, (unsigned)(*p - '0'), GHOST_FETCHED, false);
	struct ghost_stats was = stats_of(g);
	for (unsigned n = 0, fetched = 0; n < 5; n++) {
		char c = (char)('0' + n);
		bool fetches = strchr(bodies[_i].fetched, c) != NULL;
		if (!fetches && !strchr(bodies[_i].answered, c))
			continue;
		bool joins = fetches ? fetched > 0 : n > 0;
		slice(g, 1, n, fetches ? GHOST_FETCHED : GHOST_HIT, joins);
		fetched += fetches;
	}
	struct ghost_stats s = stats_of(g);
	ck_assert_msg(s.extra_requests - was.extra_requests == bodies[_i].extra, "%s: extra %llu",
		      says, (unsigned long long)s.extra_requests);
	ck_assert_msg(s.avoided_requests - was.avoided_requests == bodies[_i].avoided,
		      "%s: avoided %llu", says, (unsigned long long)s.avoided_requests);
	ck_assert_msg(s.net_missed - was.net_missed == bodies[_i].missed, "%s: missed %lld", says,
		      (long long)s.net_missed);
	ghost_destroy(&g);
}
END_TEST

/* It comes in three trips, of which each is a request to the origin, and none behind a client's back. */
START_TEST(a_client_that_misses_slices_misses_once)
{
	struct ghost *g = make(1 << 30, 0);
	for (unsigned n = 0; n < 5; n++)
		slice(g, 0, n, GHOST_FETCHED, n > 0);
	struct ghost_stats was = stats_of(g);
	slice(g, 1, 0, GHOST_HIT, false);
	for (unsigned n = 1; n < 5; n += 2)
		slice(g, 1, n, GHOST_FETCHED, false);
	struct ghost_stats s = stats_of(g);
	ck_assert_uint_eq(s.extra_requests - was.extra_requests, 2);
	ck_assert_int_eq(s.net_missed - was.net_missed, -1);
	ck_assert_uint_eq(s.hits - was.hits, 1);
	ck_assert_uint_eq(s.misses, 1);
	slice(g, 1 + GHOST_REQUEST_SLOTS, 1, GHOST_FETCHED, false); /* another client's */
	ck_assert_int_eq(stats_of(g).net_missed - was.net_missed, -2);
	ghost_see(g, &(struct ghost_event){.key = key(1000),
					   .url = key(1),
					   .record_bytes = HEAD,
					   .now_s = 2000,
					   .fresh_s = 10000,
					   .deed = GHOST_FETCHED,
					   .background = true,
					   .whole = true});
	ck_assert_int_eq(stats_of(g).net_missed - was.net_missed, -2);
	ghost_destroy(&g);
}
END_TEST

START_TEST(a_forgotten_url_takes_its_variants_along)
{
	struct ghost *g = make(64 << 20, 0);
	struct ghost_event e = {.record_bytes = 500, .body_bytes = 500, .fresh_s = 100};
	e.deed = GHOST_FETCHED;
	e.whole = true;
	for (uint64_t url = 0; url < 50; url++)
		for (uint64_t variant = 0; variant < 40; variant++) {
			e.url = key(url);
			e.key = key(1000 + url * 40 + variant);
			ghost_see(g, &e);
		}
	ck_assert_uint_eq(stats_of(g).entries, 2000);
	ghost_forget(g, key(7));
	ghost_forget(g, key(8));
	ghost_forget(g, key(999)); /* nobody */
	ck_assert_uint_eq(stats_of(g).entries, 1920);
	for (uint64_t url = 0; url < 50; url++)
		ghost_forget(g, key(url));
	ck_assert_uint_eq(stats_of(g).entries, 0);
	ghost_destroy(&g);
}
END_TEST

START_TEST(a_forgotten_host_takes_all_its_urls_along)
{
	struct ghost *g = make(64 << 20, 0);
	struct ghost_event e = {.record_bytes = 500, .body_bytes = 500, .fresh_s = 100};
	e.deed = GHOST_FETCHED;
	e.whole = true;
	for (uint64_t i = 0; i < 300; i++) {
		e.url = e.key = key(i);
		e.host = (uint32_t)key(5000 + i % 3);
		ghost_see(g, &e);
	}
	ghost_forget_host(g, (uint32_t)key(5001));
	ck_assert_uint_eq(stats_of(g).entries, 200);
	struct buf bytes = {0}; /* also after a restart */
	struct ghost *b = make(64 << 20, 0);
	ghost_snapshot_save(g, 5, 64 << 20, &bytes);
	ck_assert_ptr_null(ghost_snapshot_load(b, 5, buf_str(&bytes)));
	ghost_forget_host(b, (uint32_t)key(5002));
	ck_assert_uint_eq(stats_of(b).entries, 100);
	buf_fini(&bytes);
	ghost_destroy(&b);
	ghost_destroy(&g);
}
END_TEST

/* A forgotten object leaves the RAM tier of the ghost too: else it would come back from there. */
START_TEST(what_is_forgotten_leaves_ram_too)
{
	struct ghost *g = ghost_create(
		&(struct ghost_options){.disk_bytes = 64 << 20, .memory_bytes = 8 << 20});
	for (uint64_t i = 0; i < 3; i++) {
		for (int n = 0; n < 4; n++)
			asked(g, i, URL_BYTES, 0, 0);
		ck_assert(ghost_find(g, key(i))->in_ram);
	}
	ck_assert_uint_gt(g->ram.used, 3 * URL_BYTES);
	ghost_forget(g, key(0));
	ghost_forget_host(g, 0);
	ck_assert_uint_eq(g->ram.used, 0);
	ck_assert_uint_eq(stats_of(g).entries, 0);
	ck_assert_int_eq(asked(g, 0, URL_BYTES, 0, 0), 'm');
	for (int n = 0; n < 4; n++)
		asked(g, 0, URL_BYTES, 0, 0);
	ghost_forget_all(g);
	ck_assert_uint_eq(g->ram.used, 0);
	ck_assert_int_eq(asked(g, 0, URL_BYTES, 0, 0), 'm');
	ghost_destroy(&g);
}
END_TEST

static const uint32_t samples[] = {0, 512}; /* entries: all, or few */

/* Like the store: a hot body in pieces stays while cold ones stream by, also in a sample, and no
 * more segments are emptied for it than it needs. */
START_TEST(carries_hot_bodies_in_pieces)
{
	struct ghost *g = make(256 << 20, samples[_i]);
	uint64_t x = 1;
	int lost = 0;
	for (uint64_t i = 100; i < 12000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		asked(g, i, 1000 + (x >> 40) % 60000, 0, 0);
		ck_assert_uint_le(g->ledger.free, 3);
		if (i % 50)
			continue;
		for (uint64_t hot = 0; hot < 10; hot++)
			lost += ghost_samples(g, key(hot), 2000000) &&
				asked(g, hot, 2000000, 0, 0) == 'm';
	}
	ck_assert_int_le(lost, 10); /* when they were asked for first */
	ck_assert_uint_eq(stats_of(g).sample_share < 1, _i);
	ghost_destroy(&g);
}
END_TEST

/* As test_cache says of the store: an_object_may_take_half_the_log. */
START_TEST(an_object_may_take_half_the_log)
{
	struct ghost *g = make(24 << 20, 0);
	for (uint64_t i = 0; i < 1200; i++) {
		asked(g, i, 30000, 0, 0);
		for (uint64_t k = i - i % 300; k < i; k += 7)
			if (ghost_holds(g, key(k)))
				asked(g, k, 30000, 0, 0);
	}
	ck_assert_uint_ge(g->o.max_object_bytes, (24 << 20) / 3);
	for (uint64_t again = 0; again < 3; again++) {
		ck_assert_int_eq(asked(g, 5000 + again, g->o.max_object_bytes, 0, 0), 'm');
		ck_assert_int_eq(asked(g, 5000 + again, g->o.max_object_bytes, 0, 0), 'h');
	}
	ghost_destroy(&g);
}
END_TEST

/* The bytes said to be written are never fewer than the records take: also of bodies in pieces,
 * whose last ones are still in an open batch. */
START_TEST(counts_what_it_writes_at_once)
{
	struct ghost *g = ghost_create(
		&(struct ghost_options){.disk_bytes = 64 << 20, .segment_bytes = 4 << 20});
	for (uint64_t i = 0; i < 300; i++) {
		asked(g, i, 100000, 0, 0);
		uint64_t least = (i + 1) * 100000, written = stats_of(g).written_bytes;
		ck_assert_uint_ge(written, least);
		ck_assert_uint_le(written, least * 102 / 100);
	}
	ghost_destroy(&g);
}
END_TEST

static uint64_t
earned(const struct ghost *g)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < g->ledger.slots_n; i++)
		sum += g->ledger.earned[i];
	return sum;
}

/* As in the store: each segment is paid for what lies in it, not for the whole body. */
START_TEST(a_body_in_pieces_pays_each_segment_for_its_part)
{
	enum { BODY = 4 << 20 };
	struct ghost *large = make(64 << 20, 0), *small = make(64 << 20, 0);
	for (int times = 0; times < 2; times++)
		asked(large, 1, BODY, 0, 0);
	const struct shade *s = ghost_find(large, key(1));
	uint64_t lies_in = s->last - s->first + 1;
	ck_assert_uint_ge(lies_in, 16);
	for (int times = 0; times < 2; times++)
		asked(small, 1, BODY / lies_in, 0, 0);
	s = ghost_find(small, key(1));
	uint64_t part = earned(small) / (s->last - s->first + 1);
	ck_assert_uint_ge(earned(large), lies_in * part * 9 / 10);
	ck_assert_uint_le(earned(large), lies_in * part * 11 / 10);
	ghost_destroy(&large);
	ghost_destroy(&small);
}
END_TEST

static bool
lies_beside(const struct ghost *g, uint64_t i, uint64_t other)
{
	return ghost_find(g, key(i))->segment == ghost_find(g, key(other))->segment;
}

/* As in the store: a head alone, and what could not answer, go when nobody asks for them; in an ordinary cache all
 * that nobody asks for. */
START_TEST(keeps_the_small_that_could_answer)
{
	struct ghost *g =
		ghost_create(&(struct ghost_options){.disk_bytes = 16 << 20, .asked_before = _i});
	enum { CAN_ANSWER = 1, IS_STALE, HEAD_ALONE };
	for (uint64_t i = CAN_ANSWER; i <= HEAD_ALONE; i++)
		ghost_see(g, &(struct ghost_event){.key = key(i),
						   .url = key(i),
						   .record_bytes = 1000,
						   .body_bytes = i == HEAD_ALONE ? 0 : 600,
						   .fresh_s = i == IS_STALE ? 0 : 100,
						   .deed = GHOST_FETCHED,
						   .whole = true});
	for (uint64_t i = 1000; i < 12000; i++)
		asked(g, i, 9000, 0, 0);
	ck_assert(!ghost_holds(g, key(1000)));
	ck_assert_int_eq(ghost_holds(g, key(CAN_ANSWER)), _i);
	ck_assert(!ghost_holds(g, key(IS_STALE)));
	ck_assert(!ghost_holds(g, key(HEAD_ALONE)));
	ghost_destroy(&g);
}
END_TEST

START_TEST(evicts_the_cold_and_keeps_the_hot)
{
	struct ghost *g = make(16 << 20, 0);
	asked(g, 1, 9000, 0, 0);
	asked(g, 2, 9000, 0, 0);
	for (uint64_t i = 1000; i < 8000; i++) {
		asked(g, i, 9000, 0, 0);
		if (i % 10 == 0)
			ck_assert_int_eq(asked(g, 1, 9000, 0, 0), 'h');
	}
	/* Of the oldest, those beside the hot one stay, and no others. */
	for (uint64_t i = 1000; i < 1200; i++)
		ck_assert(!ghost_holds(g, key(i)) || lies_beside(g, i, 1));
	ck_assert(lies_beside(g, 2, 1));
	struct ghost_stats s = stats_of(g);
	ck_assert_uint_ge(s.entries, 1300);
	ck_assert_uint_le(s.entries, (16 << 20) / 9000);
	ghost_destroy(&g);
}
END_TEST

static void
play(struct ghost *g, int requests)
{
	uint64_t x = 1;
	for (int i = 0; i < requests; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 60) ? 60000 : 3000);
		asked(g, url, 1000 + url * 7919 % 20000, 0, 0);
	}
}

START_TEST(a_sample_forecasts_the_whole)
{
	struct ghost *exact = make(512 << 20, 1 << 20), *sample = make(512 << 20, 8192);
	play(exact, 400000);
	play(sample, 400000);
	struct ghost_stats e = stats_of(exact), s = stats_of(sample);
	ck_assert_double_eq(e.sample_share, 1.0);
	ck_assert_double_le(s.sample_share, 0.25);
	ck_assert_uint_le(s.entries, 8192);
	ck_assert_double_eq_tol((double)s.written_bytes, (double)e.written_bytes,
				0.1 * (double)e.written_bytes);
	ck_assert_double_eq_tol((double)s.hits, (double)e.hits, 0.1 * (double)e.hits);
	ghost_destroy(&exact);
	ghost_destroy(&sample);
}
END_TEST

/* One URL in 200 has 96% of the bytes. */
static uint64_t
heavy_bytes(uint64_t url)
{
	return url % 200 ? 1000 + url * 7919 % 10000 : 10000000 + url * 104729 % 30000000;
}

static uint64_t
written_for_heavy(uint32_t entries, uint64_t salt)
{
	struct ghost *g = make(UINT64_C(2) << 30, entries);
	uint64_t x = 1;
	for (int i = 0; i < 200000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 61) ? 60000 : 3000), bytes = heavy_bytes(url);
		ghost_see(g, &(struct ghost_event){.key = key(url + salt),
						   .url = key(url + salt),
						   .record_bytes = bytes + 600,
						   .body_bytes = bytes,
						   .now_s = 1000,
						   .fresh_s = 1 << 30,
						   .deed = GHOST_FETCHED,
						   .whole = true});
		if (i % 20000 == 0)
			ghost_check(g);
	}
	struct ghost_stats s = stats_of(g);
	ck_assert(entries > 60000 || s.sample_share <= 0.125);
	ck_assert_uint_le(s.memory_bytes, entries * UINT64_C(200) + (1 << 20));
	ghost_destroy(&g);
	return s.written_bytes;
}

/* Whichever keys the hash chooses. That the others come in lumps makes the ghost choose its victims
 * somewhat better than the whole would. */
START_TEST(a_sample_holds_all_that_is_large)
{
	double all = (double)written_for_heavy(1 << 17, 0), least = all, most = 0;
	for (uint64_t salt = 1; salt <= 4; salt++) {
		double sample = (double)written_for_heavy(2048, salt << 32);
		least = sample < least ? sample : least;
		most = sample > most ? sample : most;
	}
	ck_assert_double_ge(least, 0.9 * all);
	ck_assert_double_le(most, 1.02 * all);
	ck_assert_double_le(most - least, 0.03 * all);
}
END_TEST

START_TEST(without_a_disk_there_is_nothing_to_compare)
{
	struct ghost *g = make(0, 0);
	struct buf bytes = {0};
	ck_assert(!ghost_samples(g, 0, 0) && !ghost_samples(g, 0, UINT64_MAX));
	asked(g, 1, 100, 0, 0);
	ghost_forget(g, key(1));
	ck_assert_uint_eq(stats_of(g).misses, 0);
	ghost_snapshot_save(g, 1, 10000, &bytes);
	ck_assert_ptr_null(ghost_snapshot_load(g, 1, buf_str(&bytes)));
	buf_fini(&bytes);
	ghost_destroy(&g);
}
END_TEST

/* ---- snapshots ------------------------------------------------------------------------------- */

enum { TAG = 5, PLENTY = 64 << 20 };

static struct ghost *
again(struct ghost *g, uint64_t disk, uint64_t most)
{
	struct buf bytes = {0};
	struct ghost *b = make(disk, 0);
	ghost_snapshot_save(g, TAG, most, &bytes);
	ck_assert_uint_le(bytes.n, most);
	ck_assert_ptr_null(ghost_snapshot_load(b, TAG, buf_str(&bytes)));
	ghost_check(b);
	buf_fini(&bytes);
	return b;
}

/* The same requests then get the same answers, and counting begins anew. */
START_TEST(a_snapshot_goes_on_where_it_ended)
{
	struct ghost *a = make(64 << 20, 0);
	play(a, 50000);
	struct ghost *b = again(a, 64 << 20, PLENTY);
	struct ghost_stats before = stats_of(a), fresh = stats_of(b);
	ck_assert_uint_eq(fresh.written_bytes + fresh.hits + fresh.misses, 0);
	ck_assert_uint_eq(fresh.entries, before.entries);
	play(a, 50000);
	play(b, 50000);
	struct ghost_stats x = stats_of(a), y = stats_of(b);
	double written = (double)(x.written_bytes - before.written_bytes);
	ck_assert_double_eq_tol((double)y.written_bytes, written, 0.02 * written);
	ghost_destroy(&a);
	ghost_destroy(&b);
}
END_TEST

/* Bodies in several pieces lie in several segments, and what has earned stays: a full log is the same
 * log afterwards. Saved twice, it is the same snapshot, but for the order within a segment. */
START_TEST(a_snapshot_of_a_full_log_keeps_every_object)
{
	struct ghost *a = make(64 << 20, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		asked(a, i, i % 5 ? 9000 : 700000, 0, 0);
		asked(a, i % 200, i % 200 % 5 ? 9000 : 700000, 0, 0);
	}
	struct ghost *b = again(a, 64 << 20, PLENTY), *c = again(b, 64 << 20, PLENTY);
	ck_assert_uint_gt(stats_of(a).entries, 100);
	ck_assert_uint_eq(stats_of(b).entries, stats_of(a).entries);
	ck_assert_uint_eq(stats_of(c).entries, stats_of(a).entries);
	for (uint64_t i = 3000; i < 6000; i++) {
		int x = asked(a, i % 700, i % 700 % 5 ? 9000 : 700000, 50, 0);
		ck_assert_int_eq(asked(b, i % 700, i % 700 % 5 ? 9000 : 700000, 50, 0), x);
	}
	ghost_destroy(&a);
	ghost_destroy(&b);
	ghost_destroy(&c);
}
END_TEST

START_TEST(a_warm_disk_writes_nothing_for_hits_alone)
{
	struct ghost *a = make(64 << 20, 0);
	for (uint64_t i = 0; i < 1000; i++)
		asked(a, i, 9000, 0, 0);
	struct ghost *b = again(a, 64 << 20, PLENTY);
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(asked(b, i, 9000, 50, 0), 'h');
	ck_assert_uint_eq(stats_of(b).written_bytes, 0);
	ghost_destroy(&a);
	ghost_destroy(&b);
}
END_TEST

START_TEST(a_snapshot_fits_where_it_must_and_into_another_disk)
{
	struct ghost *a = make(64 << 20, 0);
	play(a, 50000);
	uint64_t entries = stats_of(a).entries;
	struct ghost *small = again(a, 32 << 20, PLENTY), *large = again(a, 256 << 20, PLENTY);
	ck_assert_uint_lt(stats_of(small).entries, entries * 7 / 10);
	ck_assert_uint_eq(stats_of(large).entries, entries);
	struct ghost *sampled = again(a, 64 << 20, entries * 16);
	ck_assert_double_eq(stats_of(sampled).sample_share, stats_of(a).sample_share);
	ck_assert_double_lt(stats_of(sampled).sample_share, 1);
	ghost_destroy(&a);
	ghost_destroy(&small);
	ghost_destroy(&large);
	ghost_destroy(&sampled);
}
END_TEST

/* An object in RAM alone, as its segment is gone, is in no snapshot, and spoils none. */
START_TEST(a_snapshot_of_a_ghost_with_memory_is_whole)
{
	struct ghost *a = ghost_create(
		&(struct ghost_options){.disk_bytes = 16 << 20, .memory_bytes = 8 << 20});
	for (uint64_t i = 0; i < 400; i++)
		asked(a, i / 20, 20000, 0, 0);
	for (uint64_t i = 0; i < 3000; i++)
		asked(a, 1000 + i, 20000, 0, 0);
	struct ghost *b = again(a, 16 << 20, PLENTY);
	ck_assert_uint_gt(stats_of(b).entries, 0);
	ghost_destroy(&a);
	ghost_destroy(&b);
}
END_TEST

/* Those that lie on its disk. */
static unsigned
held(const struct ghost *g, const struct ghost *also_by)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < g->shades_n; i++)
		n += g->shades[i].used && g->shades[i].on_disk &&
		     ghost_is_on_disk(also_by, g->shades[i].key);
	return n;
}

/* Objects large and small, some hot, some changed, some purged; several turns of the log. */
static void
busy_day(struct ghost *g, unsigned from, unsigned until, struct buf *rows)
{
	unsigned x = 1;
	for (unsigned i = from; i < until; i++) {
		x = x * 1664525 + 1013904223;
		uint64_t is = x >> 31 ? (x >> 8) % 700 : 10000 + i, mixed = key(is);
		uint64_t bytes = 1000 + mixed % 30000 + (mixed % 50 == 0 ? 1500000 : 0);
		asked(g, is, bytes, 1000 + i / 50, 1 + (uint32_t)(i / 4000 % 2));
		if (i % 97 == 0)
			ghost_forget(g, key((x >> 8) % 700));
		if (i % 500 == 0)
			ck_assert(ghost_journal_take(g, rows));
	}
	ck_assert(ghost_journal_take(g, rows));
}

/* restored: from a snapshot in the middle; else from nothing. */
START_TEST(a_journal_comes_to_the_same_objects)
{
	bool restored = _i;
	struct ghost_options o = {.disk_bytes = 64 << 20, .memory_bytes = 2 << 20};
	struct ghost *g = ghost_create(&o), *again = ghost_create(&o);
	struct buf rows = {0}, bytes = {0};
	ghost_journal_begin(g);
	busy_day(g, 0, 8000, &rows);
	if (restored) {
		ghost_snapshot_save(g, 1, 1 << 24, &bytes);
		ck_assert_ptr_null(ghost_snapshot_load(again, 1, buf_str(&bytes)));
		ghost_journal_begin(g);
		rows.n = 0;
		busy_day(g, 8000, 12000, &rows);
	}
	ghost_journal_replay(again, buf_str(&rows));
	ghost_check(again);
	unsigned n = held(g, g);
	ck_assert_uint_gt(n, 1000);
	ck_assert_uint_eq(held(g, again), n);
	ck_assert_uint_eq(held(again, again), n);
	ck_assert_uint_eq(again->ledger.generation, g->ledger.generation);
	for (uint32_t i = 0; i < g->shades_n; i++) {
		const struct shade *s = &g->shades[i];
		const struct shade *t = s->used && s->on_disk ? ghost_find(again, s->key) : NULL;
		ck_assert(!t || s->unwritten || t->fresh_until == s->fresh_until);
		ck_assert(!t || s->unwritten || t->validator == s->validator);
		ck_assert(!t || (t->bytes == s->bytes && t->url == s->url));
	}
	ck_assert_uint_eq(stats_of(again).written_bytes, 0);
	buf_fini(&rows);
	buf_fini(&bytes);
	ghost_destroy(&g);
	ghost_destroy(&again);
}
END_TEST

START_TEST(a_journal_says_when_only_a_snapshot_tells)
{
	struct ghost *g = make(64 << 20, 0);
	struct buf rows = {0};
	asked(g, 1, URL_BYTES, 0, 0);
	ck_assert(ghost_journal_take(g, &rows) && rows.n == 0); /* nobody asked for it */
	ghost_journal_begin(g);
	asked(g, 2, URL_BYTES, 0, 0);
	ck_assert(ghost_journal_take(g, &rows) && rows.n > 0);
	ghost_thin(g, 1, UINT64_MAX);
	ck_assert(!ghost_journal_take(g, &rows));
	ghost_journal_begin(g);
	ck_assert(ghost_journal_take(g, &rows));
	buf_fini(&rows);
	ghost_destroy(&g);
}
END_TEST

START_TEST(a_damaged_snapshot_changes_nothing)
{
	struct ghost *a = make(16 << 20, 0), *b = make(16 << 20, 0);
	struct buf bytes = {0};
	for (uint64_t i = 0; i < 20; i++)
		asked(a, i, 9000, 0, 0);
	ghost_snapshot_save(a, TAG, PLENTY, &bytes);
	for (size_t i = 0; i < bytes.n; i++) {
		bytes.p[i] ^= (char)(1 << (i % 8));
		ck_assert_ptr_nonnull(ghost_snapshot_load(b, TAG, buf_str(&bytes)));
		bytes.p[i] ^= (char)(1 << (i % 8));
		ck_assert_ptr_nonnull(ghost_snapshot_load(b, TAG, (struct str){bytes.p, i}));
	}
	ck_assert_ptr_nonnull(ghost_snapshot_load(b, TAG + 1, buf_str(&bytes)));
	ck_assert_uint_eq(stats_of(b).entries, 0);
	ck_assert_ptr_null(ghost_snapshot_load(b, TAG, buf_str(&bytes)));
	ck_assert_uint_eq(stats_of(b).entries, 20);
	buf_fini(&bytes);
	ghost_destroy(&a);
	ghost_destroy(&b);
}
END_TEST

/* ---- N1 one-hit URLs, N2 others, all of one size, no eviction: N1 / (N1 + N2) ---------------- */

enum { N1 = 740, N2 = 260, BODY = 8192 };

struct scene {
	struct cache *c;
	struct twice_pair *pair;
	struct ghost *g, *same; /* admits all; admits what the rule does */
	unsigned fetches, wrong;
};

/* Two ghosts see it: the second is told what the rule refuses, and must do what the cache does. */
static enum ghost_answer
ghosts_see(struct scene *s, struct twice_key_hash hash, size_t key_bytes, bool refused)
{
	struct ghost_event e = {.key = hash.hi,
				.url = hash.hi,
				.record_bytes = cache_record_bytes(key_bytes, 0, BODY),
				.body_bytes = BODY,
				.fresh_s = 100,
				.deed = GHOST_FETCHED,
				.whole = true};
	ghost_see(s->g, &e);
	e.refused = refused;
	return s->same ? ghost_see(s->same, &e).answer : GHOST_IGNORED;
}

static void
request(struct scene *s, unsigned url)
{
	char text[32];
	struct str k = {text, (size_t)snprintf(text, sizeof text, "url-%05u", url)};
	struct twice_key_hash hash = twice_key_hash_of(cache_seed(s->c), k.p, k.n);
	struct object *o = NULL;
	struct cache_lookup l = {0};
	enum found found = cache_lookup(s->c, &l, hash, k, &o);
	ck_assert_int_ne(found, FOUND_LATER);
	enum twice_sight sight = twice_pair_record(s->pair, hash);
	enum ghost_answer a = ghosts_see(s, hash, k.n, sight == TWICE_SIGHT_FIRST);
	s->fetches += found != FOUND_OBJECT;
	s->wrong += (a == GHOST_MISSED) != (found != FOUND_OBJECT);
	if (found == FOUND_OBJECT) {
		if (!o->on_disk && sight != TWICE_SIGHT_FIRST)
			cache_admit(s->c, o);
		object_unref(&o);
		return;
	}
	static const struct sighting_settings two = {.sightings = 2};
	struct sighting_facts f = {
		.storable = true, .status = 200, .known = {sight, sight != TWICE_SIGHT_FIRST}};
	struct object_write *w = cache_write_begin(
		s->c, &(struct write_options){.hash = hash,
					      .key = k,
					      .body_bytes = BODY,
					      .disk = sighting_decide(&two, &f).writes});
	struct block *body = block_create(BODY);
	memset(body->p, 1, BODY);
	body->n = BODY;
	cache_write_body(w, body, 0, BODY);
	block_unref(&body);
	o = cache_write_commit(&w, false);
	object_unref(&o);
}

static const uint64_t memories[] = {1 << 20, 3 << 20, 64 << 20};

/* First sights wait in RAM and are written from there; what RAM did not take is fetched again. */
START_TEST(told_what_the_rule_refuses_it_does_as_the_cache_does)
{
	char dir[256], err[256];
	tmpdir_make(dir, sizeof dir);
	struct scene s = {0};
	struct cache_options o = {.dir = dir, .disk_bytes = 64 << 20, .memory_bytes = memories[_i]};
	ck_assert_int_eq(cache_open(&s.c, &o, err, sizeof err), 0);
	twice_pair_create(&s.pair,
			  &(struct twice_pair_options){.capacity = 100000, .false_positives = 1e-6},
			  0);
	s.g = make(64 << 20, 0);
	s.same = ghost_create(
		&(struct ghost_options){.disk_bytes = 64 << 20, .memory_bytes = memories[_i]});
	uint64_t x = 1;
	for (int i = 0; i < 6000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		request(&s, (unsigned)(x >> 33) % ((x >> 61) ? 1500 : 80));
	}
	store_flush(s.c->disks[0].store);
	struct cache_stats real;
	cache_stats(s.c, &real);
	struct ghost_stats ghost = stats_of(s.same);
	ck_assert_uint_le(s.wrong, 60); /* the copies in RAM are not of quite one size: 1% */
	ck_assert_double_eq_tol((double)ghost.misses, s.fetches, 45);
	ck_assert_double_eq_tol((double)ghost.written_bytes, (double)real.written_bytes,
				0.01 * (double)real.written_bytes);
	ck_assert_uint_lt(ghost.written_bytes, stats_of(s.g).written_bytes);
	ghost_destroy(&s.g);
	ghost_destroy(&s.same);
	twice_pair_destroy(&s.pair);
	cache_close(&s.c);
	tmpdir_remove(dir);
}
END_TEST

/* A lifetime that reaches beyond the numbers is the longest there is, not none. */
START_TEST(a_lifetime_without_end_ends_never)
{
	struct ghost *g = make(64 << 20, 0);
	struct ghost_event e = {.key = key(1),
				.record_bytes = URL_BYTES,
				.body_bytes = URL_BYTES,
				.now_s = 1000000,
				.fresh_s = UINT32_MAX,
				.deed = GHOST_FETCHED,
				.whole = true};
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_MISSED);
	e.now_s += 1000000;
	ck_assert_int_eq(ghost_see(g, &e).answer, GHOST_FROM_DISK);
	ghost_destroy(&g);
}
END_TEST

START_TEST(what_is_refused_is_written_at_its_next_sight)
{
	struct ghost *g = ghost_create(
		&(struct ghost_options){.disk_bytes = 64 << 20, .memory_bytes = 1 << 20});
	struct ghost_event e = {.key = key(1),
				.record_bytes = URL_BYTES,
				.body_bytes = URL_BYTES,
				.fresh_s = 100,
				.deed = GHOST_FETCHED,
				.whole = true,
				.refused = true};
	struct ghost_did did = ghost_see(g, &e);
	ck_assert(did.answer == GHOST_MISSED && !did.wrote && did.written_bytes == 0);
	did = ghost_see(g, &e); /* a third sight may be asked for */
	ck_assert(did.answer == GHOST_FROM_RAM && !did.wrote && did.written_bytes == 0);
	e.refused = false;
	did = ghost_see(g, &e);
	ck_assert(did.answer == GHOST_FROM_RAM && did.wrote && did.weight == 1);
	ck_assert_uint_eq(did.written_bytes, URL_BYTES);
	did = ghost_see(g, &e);
	ck_assert(did.answer == GHOST_FROM_RAM && !did.wrote && did.written_bytes == 0);
	e.key = key(2);
	e.refused = true;
	e.record_bytes = e.body_bytes = 2 << 20; /* more than RAM takes: nowhere */
	ck_assert(ghost_see(g, &e).answer == GHOST_MISSED && !ghost_holds(g, key(2)));
	ck_assert_uint_eq(stats_of(g).written_bytes, URL_BYTES);
	ghost_destroy(&g);
}
END_TEST

START_TEST(saved_is_exactly_the_one_hit_share)
{
	char dir[256], err[256];
	tmpdir_make(dir, sizeof dir);
	struct scene s = {0};
	struct cache_options o = {.dir = dir, .disk_bytes = 64 << 20, .segment_bytes = 4 << 20};
	o.memory_bytes =
		_i ? 1 << 20 : 64 << 20; /* second fetches, or writes from RAM: all the same */
	ck_assert_int_eq(cache_open(&s.c, &o, err, sizeof err), 0);
	twice_pair_create(&s.pair,
			  &(struct twice_pair_options){.capacity = 100000, .false_positives = 1e-6},
			  0);
	s.g = ghost_create(
		&(struct ghost_options){.disk_bytes = 64 << 20, .segment_bytes = 4 << 20});
	for (int round = 0; round < 3; round++)
		for (unsigned url = 0; url < N1 + N2; url++)
			if (round == 0 || url < N2)
				request(&s, url);
	store_flush(s.c->disks[0].store);
	struct cache_stats real;
	struct ghost_stats ghost;
	cache_stats(s.c, &real);
	ghost_stats(s.g, &ghost);
	ck_assert_uint_eq(ghost.misses, N1 + N2);
	ck_assert_uint_eq(real.objects, N2);
	ck_assert_uint_eq(real.evicted_objects, 0);
	uint64_t each = cache_record_bytes(9, 0, BODY);
	double all = (double)((N1 + N2) * each);
	ck_assert_double_eq_tol((double)ghost.written_bytes, all, 0.003 * all);
	double saved = 1 - (double)real.written_bytes / (double)ghost.written_bytes;
	ck_assert_double_eq_tol(saved, (double)N1 / (N1 + N2), 0.002);
	ghost_destroy(&s.g);
	twice_pair_destroy(&s.pair);
	cache_close(&s.c);
	tmpdir_remove(dir);
}
END_TEST

UNIT("ghost", TEST(a_cache_that_packs_has_less_on_disk_and_then_in_ram),
     TEST(writes_at_first_sight_and_hits_while_fresh), TEST(validates_what_it_could_validate),
     TEST(learns_of_purges_when_it_is_asked), LOOP(bill, bills), LOOP(bill_of_slices, bodies),
     TEST(a_client_that_misses_slices_misses_once), TEST(what_is_forgotten_leaves_ram_too),
     TEST(counts_what_it_writes_at_once), LOOP(carries_hot_bodies_in_pieces, samples),
     TEST(an_object_may_take_half_the_log), TEST(a_forgotten_url_takes_its_variants_along),
     TEST(a_forgotten_host_takes_all_its_urls_along), TIMES(keeps_the_small_that_could_answer, 2),
     TEST(evicts_the_cold_and_keeps_the_hot), TEST(a_body_in_pieces_pays_each_segment_for_its_part),
     TEST(a_sample_forecasts_the_whole), TEST(a_sample_holds_all_that_is_large),
     TEST(without_a_disk_there_is_nothing_to_compare), TEST(a_snapshot_goes_on_where_it_ended),
     TEST(a_snapshot_of_a_full_log_keeps_every_object),
     TEST(a_warm_disk_writes_nothing_for_hits_alone),
     TEST(a_snapshot_fits_where_it_must_and_into_another_disk),
     TEST(a_snapshot_of_a_ghost_with_memory_is_whole),
     TIMES(a_journal_comes_to_the_same_objects, 2), TEST(a_journal_says_when_only_a_snapshot_tells),
     TIMES(a_journal_comes_to_the_same_objects, 2), TEST(a_journal_says_when_only_a_snapshot_tells),
     TEST(a_damaged_snapshot_changes_nothing), TIMES(saved_is_exactly_the_one_hit_share, 2),
     TIMES(told_what_the_rule_refuses_it_does_as_the_cache_does, 3),
     TEST(a_lifetime_without_end_ends_never), TEST(what_is_refused_is_written_at_its_next_sight))
