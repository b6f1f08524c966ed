/* test_sighting.c - the rule of admission, row by row; and what it says of any facts at all.
 * rooms: cache http base filter
 */
#include "filter/hash_equal.h"
#include "proxy/cache/admission/sighting.h"
#include "tests/kit/unit.h"

#include <string.h>

#define ONCE                                             \
	{                                                \
		.sight = TWICE_SIGHT_CURRENT, .times = 1 \
	}
#define LATER                                             \
	{                                                 \
		.sight = TWICE_SIGHT_PREVIOUS, .times = 1 \
	}

static const struct {
	const char *says;
	struct sighting_settings settings;
	struct sighting_facts facts;
	const char *word;
	bool recorded, writes, whole;
} cases[] = {
	/* clang-format off */
	{"what may not be stored is not, and counts for nothing", {1, 0, 0, 0},
	 {.status = 200, .route = RULE_ALWAYS, .known = ONCE}, "not-storable", false, false, true},
	{"a first sighting stays off the disk", {2, 0, 0, 0},
	 {.status = 200, .storable = true}, "first-sight", true, false, false},
	{"the second is written", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE}, "seen-current", true, true, true},
	{"the previous generation counts", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = LATER}, "seen-previous", true, true, true},
	{"one sighting admits all, but a part does not pull in the whole", {1, 0, 0, 0},
	 {.status = 200, .storable = true}, "seen-current", true, true, false},
	{"three want two before", {3, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE}, "first-sight", true, false, false},
	{"three are asked for of large bodies alone", {2, 0, 0, 3},
	 {.status = 200, .storable = true, .known = ONCE, .body_bytes = SIGHTING_LARGE + 1}, "first-sight", true, false, false},
	{"one that is no larger is small", {2, 0, 0, 3},
	 {.status = 200, .storable = true, .known = ONCE, .body_bytes = SIGHTING_LARGE}, "seen-current", true, true, true},
	{"and so is one whose length is not known", {2, 0, 0, 3},
	 {.status = 200, .storable = true, .known = ONCE, .body_bytes = UINT64_MAX}, "seen-current", true, true, true},
	{"a route's number is for bodies of any size", {2, 0, 0, 3},
	 {.status = 200, .storable = true, .known = ONCE, .sightings = 2, .body_bytes = 1 << 20}, "seen-current", true, true, true},
	{"a route may ask for one sighting", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .sightings = 1}, "seen-current", true, true, false},
	{"or for two where others need one", {1, 0, 0, 0},
	 {.status = 200, .storable = true, .sightings = 2}, "first-sight", true, false, false},
	{"a route may write smaller bodies only", {2, 1000, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .body_bytes = 500, .max_object_bytes = 499}, "too-large", true, false, true},
	{"but no larger ones than all", {2, 499, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .body_bytes = 500, .max_object_bytes = 1000}, "too-large", true, false, true},
	{"a route may say always", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .route = RULE_ALWAYS}, "always", true, true, true},
	{"and never", {1, 0, 0, 0},
	 {.status = 200, .storable = true, .route = RULE_NEVER}, "never", true, false, true},
	{"while the disk fills all is taken", {2, 0, 0.5, 0},
	 {.status = 200, .storable = true, .disk_used_share = 0.2}, "filling", true, true, false},
	{"until it is full enough", {2, 0, 0.5, 0},
	 {.status = 200, .storable = true, .disk_used_share = 0.5}, "first-sight", true, false, false},
	{"a seek into a body in slices whose head is on disk", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_BEHIND, .status = 200, .storable = true, .admitted = true},
	 "seen-current", true, true, false},
	{"a seek into one whose head is not", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_BEHIND, .status = 200, .storable = true},
	 "first-sight", true, false, false},
	{"what is seen says so also while filling", {2, 0, 1, 0},
	 {.status = 200, .storable = true, .known = ONCE}, "seen-current", true, true, true},
	{"too large", {1, 10, 0, 0},
	 {.status = 200, .storable = true, .body_bytes = 11}, "too-large", true, false, false},
	{"just not too large", {1, 10, 0, 0},
	 {.status = 200, .storable = true, .body_bytes = 10}, "seen-current", true, true, false},
	{"an unknown length is found out later", {1, 10, 0, 0},
	 {.status = 200, .storable = true, .body_bytes = UINT64_MAX}, "seen-current", true, true, false},
	{"fresh for a minute is fresh enough", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .has_life = true, .fresh_s = 60, .ram_turn_s = 100000}, "seen-current", true, true, true},
	{"less is not, while RAM has it as long", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .has_life = true, .fresh_s = 59, .ram_turn_s = 100000}, "too-short", true, false, true},
	{"where RAM turns faster it is", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .has_life = true, .fresh_s = 8, .ram_turn_s = 32}, "seen-current", true, true, true},
	{"a little less is not", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .has_life = true, .fresh_s = 7, .ram_turn_s = 32}, "too-short", true, false, true},
	{"without a lifetime it is never answered with, however fast RAM turns", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .has_life = true}, "too-short", true, false, true},
	{"but validated, once a 304 has said that this is worth it", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .has_life = true, .confirmed = true}, "seen-current", true, true, true},
	{"a first sighting is that", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .has_life = true}, "first-sight", true, false, false},
	{"also where one sighting admits", {1, 0, 0, 0},
	 {.status = 200, .storable = true, .has_life = true}, "too-short", true, false, false},
	{"a route that says always means it", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .route = RULE_ALWAYS, .has_life = true}, "always", true, true, true},
	{"the disk that fills takes none of it", {2, 0, 1, 0},
	 {.status = 200, .storable = true, .has_life = true}, "too-short", true, false, false},
	{"over the budget nothing is written", {1, 0, 0, 0},
	 {.status = 200, .storable = true, .over_budget = true}, "over-budget", true, false, false},
	{"a route's always is bound by the budget too", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .route = RULE_ALWAYS, .over_budget = true}, "over-budget", true, false, true},
	{"a first sighting is none of the budget's business", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .over_budget = true}, "first-sight", true, false, false},
	{"what the disk holds is not written again", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .on_disk = true, .known = ONCE}, "on-disk", true, false, true},
	{"a redirect uses up nothing and is not written", {2, 0, 0, 0},
	 {.status = 301, .storable = true, .known = ONCE}, "first-sight", false, false, false},
	{"but admitting all takes it too", {1, 0, 0, 0},
	 {.status = 301, .storable = true}, "seen-current", false, true, false},
	{"a follower is a second sighting", {2, 0, 0, 0},
	 {.kind = SIGHTING_FOLLOWER, .status = 200, .storable = true, .known = ONCE}, "seen-current", true, true, true},
	{"the first byte counts", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_FIRST, .status = 200, .storable = true}, "first-sight", true, false, false},
	{"and makes the second sighting", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_FIRST, .status = 200, .storable = true, .known = ONCE}, "seen-current", true, true, true},
	{"a player that probes and plays is one sighting", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_REPEATED, .status = 200, .storable = true, .known = ONCE}, "first-sight", false, false, false},
	{"a slice that was asked for before is written", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_BEHIND, .status = 200, .storable = true, .known = ONCE, .slice = 3}, "seen-current", true, true, false},
	{"the first one pulls in the whole", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_BEHIND, .status = 200, .storable = true, .known = ONCE}, "seen-current", true, true, true},
	{"a HEAD is none, and brings nothing to store", {2, 0, 0, 0},
	 {.kind = SIGHTING_HEAD, .status = 200, .storable = true, .known = ONCE}, "head", false, false, false},
	{"nor where everything is admitted", {1, 0, 1, 0},
	 {.kind = SIGHTING_HEAD, .status = 200, .storable = true, .route = RULE_ALWAYS}, "head", false, false, true},
	{"of what the disk holds it says so", {2, 0, 0, 0},
	 {.kind = SIGHTING_HEAD, .status = 200, .storable = true, .on_disk = true}, "on-disk", false, false, false},
	{"of what may not be stored too", {2, 0, 0, 0},
	 {.kind = SIGHTING_HEAD, .status = 200, .known = ONCE}, "not-storable", false, false, false},
	{"a client's reload is none and writes nothing", {2, 0, 0, 0},
	 {.kind = SIGHTING_RELOAD, .status = 200, .storable = true, .known = ONCE}, "reload", false, false, false},
	{"nor where everything is admitted", {1, 0, 1, 0},
	 {.kind = SIGHTING_RELOAD, .status = 200, .storable = true, .route = RULE_ALWAYS}, "reload", false, false, true},
	{"a 304 is none, and brings nothing to store", {2, 0, 0, 0},
	 {.kind = SIGHTING_VALIDATION, .status = 200, .storable = true, .known = ONCE}, "not-storable", false, false, false},
	{"a 304 for what the disk holds says so", {2, 0, 0, 0},
	 {.kind = SIGHTING_VALIDATION, .status = 200, .storable = true, .on_disk = true}, "on-disk", false, false, false},
	{"a refresh behind an answer has that answer's sighting", {2, 0, 0, 0},
	 {.kind = SIGHTING_BACKGROUND, .status = 200, .storable = true, .known = ONCE}, "seen-current", false, true, true},
	{"what one address alone asked for is written until it had its share", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .alone = true}, "seen-current", true, true, true},
	{"and not beyond", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .alone = true, .over_share = true}, "over-budget", true, false, true},
	{"what others asked for too is, beyond it", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .known = ONCE, .over_share = true}, "seen-current", true, true, true},
	{"a share holds where everything is admitted", {2, 0, 0, 0},
	 {.status = 200, .storable = true, .route = RULE_ALWAYS, .alone = true, .over_share = true}, "over-budget", true, false, true},
	{"one client's ranges do not pull in the whole", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_FIRST, .status = 200, .storable = true, .known = ONCE, .alone = true}, "seen-current", true, true, false},
	{"those of an address that asks for much are not one client's", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_FIRST, .status = 200, .storable = true, .known = ONCE, .alone = true, .crowd = true}, "seen-current", true, true, true},
	{"nor where everything is admitted", {2, 0, 0, 0},
	 {.kind = SIGHTING_RANGE_BEHIND, .status = 200, .storable = true, .route = RULE_ALWAYS, .alone = true}, "always", true, true, false},
	{"what another one decides about is none of ours", {1, 0, 1, 0},
	 {.kind = SIGHTING_ELSEWHERE, .status = 200, .storable = true}, "elsewhere", false, false, false},
	{"whatever the route says", {2, 0, 0, 0},
	 {.kind = SIGHTING_ELSEWHERE, .status = 200, .storable = true, .route = RULE_ALWAYS}, "elsewhere", false, false, true},
	{"a POST is none", {2, 0, 0, 0},
	 {.kind = SIGHTING_OTHER, .status = 200, .storable = true, .known = ONCE}, "first-sight", false, false, false},
	/* clang-format on */
};

START_TEST(rule)
{
	struct sighting s = sighting_decide(&cases[_i].settings, &cases[_i].facts);
	const char *says = cases[_i].says;
	ck_assert_msg(strcmp(admission_word(s.verdict), cases[_i].word) == 0, "%s: %s", says,
		      admission_word(s.verdict));
	ck_assert_msg(s.recorded == cases[_i].recorded, "%s: recorded %d", says, s.recorded);
	ck_assert_msg(s.writes == cases[_i].writes, "%s: writes %d", says, s.writes);
	ck_assert_msg(s.whole == cases[_i].whole, "%s: whole %d", says, s.whole);
}
END_TEST

START_TEST(followers_count_when_the_body_is_whole)
{
	const struct sighting_settings two = {.sightings = 2};
	struct sighting_facts f = {.status = 200, .storable = true, .body_bytes = UINT64_MAX};
	ck_assert(!sighting_at_end(&two, &f, 0, 100).writes);
	struct sighting s = sighting_at_end(&two, &f, 1, 100);
	ck_assert_int_eq(s.verdict, ADMISSION_SEEN_CURRENT);
	f.over_budget = true;
	s = sighting_at_end(&two, &f, 1, 100);
	ck_assert_int_eq(s.verdict, ADMISSION_OVER_BUDGET);
	const struct sighting_settings small = {.sightings = 1, .max_object_bytes = 99};
	f.over_budget = false;
	s = sighting_at_end(&small, &f, 0, 100);
	ck_assert_int_eq(s.verdict, ADMISSION_TOO_LARGE);
}
END_TEST

/* ---- whatever the facts are ------------------------------------------------------------------ */

static uint64_t state = 0x5eed;

static unsigned
some(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static struct sighting_facts
some_facts(void)
{
	static const int statuses[] = {200, 203, 206, 301, 404, 500};
	return (struct sighting_facts){
		.kind = (enum sighting_kind)some(SIGHTING_KINDS),
		.route = (enum admission_rule)some(3),
		.sightings = (unsigned)some(4),
		.storable = some(4) > 0,
		.on_disk = some(4) == 0,
		.status = statuses[some(6)],
		.body_bytes = some(2) ? some(20) : UINT64_MAX,
		.known = {.sight = (enum twice_sight)some(3), .times = some(4)},
		.disk_used_share = some(10) / 10.0,
		.over_budget = some(3) == 0,
		.has_life = some(3) == 0,
		.confirmed = some(4) == 0,
		.fresh_s = some(100),
		.ram_turn_s = some(1000),
	};
}

START_TEST(no_facts_break_the_promises)
{
	unsigned words[ADMISSION_COUNT] = {0}, n = 200000;
	for (unsigned i = 0; i < n; i++) {
		struct sighting_settings t = {1 + some(3), some(2) ? 10 : 0, some(3) / 2.0,
					      some(4)};
		struct sighting_facts f = some_facts();
		struct sighting s = sighting_decide(&t, &f);
		words[s.verdict]++;
		ck_assert(s.writes == admission_writes(s.verdict));
		if (s.writes) {
			ck_assert(f.storable && !f.on_disk && !f.over_budget);
			ck_assert(f.route != RULE_NEVER && f.kind != SIGHTING_RELOAD);
			ck_assert(!t.max_object_bytes || f.body_bytes == UINT64_MAX ||
				  f.body_bytes <= t.max_object_bytes);
		}
		if (s.recorded)
			ck_assert(f.storable && s.recorded == sighting_counts(&f));
		/* One more sighting never takes a write away, one more fact against it never adds
		 * one. */
		struct sighting_facts more = f;
		more.known.times++;
		ck_assert(sighting_decide(&t, &more).writes >= s.writes);
		more = f;
		more.over_budget = true;
		ck_assert(!sighting_decide(&t, &more).writes);
	}
	unsigned sum = 0;
	for (int a = 0; a < ADMISSION_COUNT; a++) {
		ck_assert_msg(words[a] > 0, "no facts gave \"%s\"", admission_word(a));
		sum += words[a];
	}
	ck_assert_uint_eq(sum, n); /* each has exactly one */
}
END_TEST

START_TEST(variants_have_keys_of_their_own)
{
	struct twice_seed seed;
	twice_seed_init(&seed, "0123456789abcdef", 16);
	struct twice_key_hash url = twice_key_hash_of(&seed, "u", 1),
			      other = twice_key_hash_of(&seed, "v", 1);
	struct twice_key_hash none = sighting_key(&seed, url, STR(""));
	ck_assert(key_hash_equal(none, url));
	struct twice_key_hash de = sighting_key(&seed, url, STR("de"));
	struct twice_key_hash en = sighting_key(&seed, url, STR("en"));
	struct twice_key_hash de_again = sighting_key(&seed, url, STR("de"));
	struct twice_key_hash elsewhere = sighting_key(&seed, other, STR("de"));
	ck_assert(key_hash_equal(de, de_again));
	ck_assert(de.lo != url.lo && de.lo != en.lo && de.lo != elsewhere.lo);
}
END_TEST

UNIT("sighting", LOOP(rule, cases), TEST(followers_count_when_the_body_is_whole),
     TEST(no_facts_break_the_promises), TEST(variants_have_keys_of_their_own))
