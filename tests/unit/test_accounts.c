/* test_accounts.c - what was written for whom within an hour, and who asked alone.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission/accounts.h"
#include "proxy/cache/admission/askers.h"
#include "tests/kit/unit.h"

enum { MOST = 1000, HOUR = 3600, STEP = 300, FAR = 1000000 };

static struct asker
address(unsigned i)
{
	static const struct twice_seed seed = {"any secret, the same for all of them"};
	struct asker a = {.address = {10, [12] = i >> 24, i >> 16, i >> 8, i}};
	askers_hash(&a, &seed);
	return a;
}

/* Deeds one after the other, of address 1; then whether it may have so many bytes more. */
static const struct {
	const char *says;
	struct {
		enum { NOTHING, WRITES, SETS_ASIDE, WRITES_IT, GIVES_UP } deed;
		uint64_t bytes;
		int64_t at;
	} deeds[4];
	uint64_t asks;
	int64_t at;
	bool may;
} cases[] = {
	/* clang-format off */
	{"who had nothing may have all",         {{0}}, MOST, 0, true},
	{"but no more than that",                {{0}}, MOST + 1, 0, false},
	{"what was written counts",              {{WRITES, 600, 0}}, 400, 0, true},
	{"to the byte",                          {{WRITES, 600, 0}}, 401, 0, false},
	{"for an hour",                          {{WRITES, MOST, 299}}, 1, HOUR + 298, false},
	{"from any second on",                   {{WRITES, MOST, 0}}, 1, HOUR, false},
	{"and five minutes more at most",        {{WRITES, MOST, 0}}, MOST, HOUR + STEP, true},
	{"step by step",                         {{WRITES, 600, 0}, {WRITES, 400, HOUR / 2}}, 601, HOUR + STEP, false},
	{"what is older goes first",             {{WRITES, 600, 0}, {WRITES, 400, HOUR / 2}}, 600, HOUR + STEP, true},
	{"where all is used up nothing is next", {{WRITES, MOST, 0}}, 0, 0, false},
	{"an unknown length is let go until then", {{WRITES, MOST - 1, 0}}, 0, 0, true},
	{"what is set aside counts",             {{SETS_ASIDE, 600, 0}}, 401, 0, false},
	{"however long it takes",                {{SETS_ASIDE, 600, 0}}, 401, 2 * HOUR, false},
	{"once, when it is written",             {{SETS_ASIDE, 600, 0}, {WRITES_IT, 600, 0}}, 400, 0, true},
	{"not when it is given up",              {{SETS_ASIDE, 600, 0}, {GIVES_UP, 600, 0}}, MOST, 0, true},
	{"nothing is given up twice",            {{SETS_ASIDE, 600, 0}, {GIVES_UP, 600, 0}, {GIVES_UP, 600, 0}}, MOST + 1, 0, false},
	{"a clock that is set back adds up",     {{WRITES, 600, FAR}, {WRITES, 400, 0}}, 1, 0, false},
	{"and forgets as before when it is right again", {{WRITES, 600, FAR}, {WRITES, 400, 0}}, MOST, FAR + HOUR + STEP, true},
	{"a clock that is set far ahead forgets", {{WRITES, MOST, 0}}, MOST, INT64_C(1) << 40, true},
	/* clang-format on */
};

START_TEST(within_an_hour)
{
	struct accounts *a = accounts_create();
	struct asker who = address(1);
	for (unsigned i = 0; i < 4 && cases[_i].deeds[i].deed; i++) {
		uint64_t n = cases[_i].deeds[i].bytes;
		int64_t at = cases[_i].deeds[i].at;
		int deed = cases[_i].deeds[i].deed;
		if (deed == SETS_ASIDE)
			accounts_set_aside(a, who, n, at);
		else
			accounts_charge(a, who, deed == GIVES_UP ? 0 : n, deed == WRITES ? 0 : n,
					at);
	}
	ck_assert_msg(accounts_may(a, who, cases[_i].asks, MOST, cases[_i].at) == cases[_i].may,
		      "%s", cases[_i].says);
	ck_assert_msg(accounts_may(a, address(2), MOST, MOST, cases[_i].at),
		      "%s: it is nobody else's", cases[_i].says);
	accounts_destroy(&a);
}
END_TEST

/* An address that had much written is known however many others have a little. */
START_TEST(a_crowd_hides_nobody)
{
	enum { CROWD = 200000 };
	struct accounts *a = accounts_create();
	struct asker who;
	uint64_t bytes;
	ck_assert(!accounts_most(a, 0, &who, &bytes));
	accounts_charge(a, address(0), 500, 0, 0);
	for (unsigned i = 1; i < CROWD; i++)
		accounts_charge(a, address(i), 1 + i % 100, 0, i % HOUR);
	ck_assert(!accounts_may(a, address(0), 501, MOST, HOUR - 1));
	ck_assert(accounts_may(a, address(0), 500, MOST, HOUR - 1));
	ck_assert(accounts_most(a, HOUR - 1, &who, &bytes));
	struct asker want = address(0);
	ck_assert_mem_eq(&who, &want, sizeof who);
	ck_assert_uint_eq(bytes, 500);
	ck_assert(!accounts_most(a, 3 * HOUR, &who, &bytes));
	accounts_destroy(&a);
}
END_TEST

START_TEST(who_asked_alone)
{
	static struct askers a;
	struct twice_key_hash k = {1, UINT64_C(5) << 32},
			      same_place = {1 + ASKERS_SLOTS, UINT64_C(6) << 32};
	ck_assert(askers_is_alone(&a, k, 1)); /* nobody asked before */
	ck_assert(askers_note(&a, k, 1));
	ck_assert(askers_note(&a, k, 1)); /* the same again */
	ck_assert(!askers_is_alone(&a, k, 2));
	ck_assert(askers_is_alone(&a, k, 1)); /* to look is not to ask */
	ck_assert(!askers_note(&a, k, 2));
	ck_assert(!askers_note(&a, k, 1)); /* nor is the first one alone from then on */
	ck_assert(askers_note(&a, same_place, 1));
	ck_assert(askers_note(&a, k, 3));	 /* forgotten */
	for (uint64_t who = 0; who < 5; who++) { /* whatever the hash of an address is */
		struct twice_key_hash other = {2 + who, 0};
		ck_assert(askers_note(&a, other, UINT32_MAX - 2 + who));
		ck_assert(askers_is_alone(&a, other, UINT32_MAX - 2 + who));
		ck_assert(!askers_is_alone(&a, other, UINT32_MAX - 1 + who));
	}
}
END_TEST

UNIT("accounts", LOOP(within_an_hour, cases), TEST(a_crowd_hides_nobody), TEST(who_asked_alone))
