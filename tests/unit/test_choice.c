/* test_choice.c - two sightings or three: when that changes, and that it does so seldom.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission/choice.h"
#include "tests/kit/unit.h"

#include <math.h>
#include <string.h>

/* 10,000 requests for 1,000 MB, of which two wrote 100. The rest in hundredths: of those bytes, of requests, of
 * bytes, and of what two would have written. */
static struct choice_period
period(double saved, double lost_hits, double lost_bytes, double refused)
{
	struct choice_period p = {.requests = 10000, .bytes = 1e9, .written = 1e8};
	p.more_written = -saved / 100 * p.written;
	p.more_requests = lost_hits / 100 * p.requests;
	p.more_bytes = lost_bytes / 100 * p.bytes;
	p.refused = refused / (100 - refused) * p.written;
	return p;
}

static struct choice
choice_of(unsigned sightings)
{
	struct choice c;
	choice_init(&c);
	c.sightings = sightings;
	return c;
}

/* A period of clear figures. True: the last of its generations counted, and no other. */
static bool
turn(struct choice *c, const struct choice_period *p, int64_t now_s)
{
	return !choice_turn(c, p, now_s) && !choice_turn(c, p, now_s) && choice_turn(c, p, now_s);
}

/* After so many generations that are all alike. */
static unsigned
after(unsigned begins, struct choice_period p, unsigned n)
{
	struct choice c = choice_of(begins);
	unsigned was = begins;
	for (unsigned i = 0; i < n; i++) {
		choice_turn(&c, &p, 1000 + i);
		ck_assert(c.sightings == was || c.changes == 1); /* it goes once, and stays */
	}
	return c.sightings;
}

/* clang-format off */
static const struct {
	const char *says;
	double saved, hits, bytes, refused;
	unsigned few, many; /* what becomes of two, and of three, in a long time */
} turns[] = {
	{"three write much less and lose nothing",         35,  0,    0,   0, 3, 3},
	{"they even gain hits",                            35, -0.8, -1,   0, 3, 3},
	{"they lose a little",                             21,  0.4,  1.9, 0, 3, 3},
	{"a fifth is the bound to go",                     19,  0,    0,   0, 2, 3},
	{"half a point of hits is",                        40,  0.6,  0,   0, 2, 3},
	{"two points of bytes are",                        40,  0,    2.1, 0, 2, 3},
	{"a tenth is the bound to come back",               9,  0,    0,   0, 2, 2},
	{"and what is just more keeps it",                 11,  0,    0,   0, 2, 3},
	{"a point of hits is",                             40,  1.1,  0,   0, 2, 2},
	{"three points of bytes are",                      40,  0,    3.1, 0, 2, 2},
	{"they write more",                                -5,  0,    0,   0, 2, 2},
	{"the budget refuses two much, at whatever price",  0,  5,    9,   6, 3, 3},
	{"it refuses little: nothing goes, none returns",   0,  5,    9,   2, 2, 3},
	{"it refuses next to nothing",                      0,  5,    9, 0.5, 2, 2},
};
/* clang-format on */

START_TEST(bounds)
{
	struct choice_period p =
		period(turns[_i].saved, turns[_i].hits, turns[_i].bytes, turns[_i].refused);
	ck_assert_msg(after(CHOICE_FEW, p, 60) == turns[_i].few, "%s: from two", turns[_i].says);
	ck_assert_msg(after(CHOICE_MANY, p, 60) == turns[_i].many, "%s: from three",
		      turns[_i].says);
}
END_TEST

START_TEST(two_periods_must_agree)
{
	struct choice c = choice_of(CHOICE_FEW);
	struct choice_period good = period(40, 0, 0, 0), none = period(15, 0, 0, 0);
	for (int i = 0; i < 20; i++) {
		ck_assert(turn(&c, i % 2 ? &none : &good, i));
		ck_assert_uint_eq(c.sightings, CHOICE_FEW);
	}
	turn(&c, &good, 100);
	ck_assert_uint_eq(c.sightings, CHOICE_FEW);
	ck_assert(turn(&c, &good, 101));
	ck_assert_uint_eq(c.sightings, CHOICE_MANY);
	ck_assert_int_eq(c.since_s, 101);
	ck_assert_uint_eq(c.changes, 1);
	ck_assert_int_eq(c.why, CHOICE_SAVES);
}
END_TEST

START_TEST(the_log_turns_once_before_the_next_change)
{
	struct choice c = choice_of(CHOICE_FEW);
	struct choice_period good = period(40, 0, 0, 0), bad = period(40, 2, 0, 0);
	unsigned n = 0;
	turn(&c, &good, 1);
	turn(&c, &good, 2);
	for (; c.sightings == CHOICE_MANY; n++)
		choice_turn(&c, &bad, 3);
	ck_assert_uint_eq(n, 4 * 3);
	ck_assert_int_eq(c.why, CHOICE_LOSES);
}
END_TEST

START_TEST(the_budget_waits_for_nothing)
{
	struct choice c = choice_of(CHOICE_FEW);
	struct choice_period over = period(0, 3, 3, 20), calm = period(0, 3, 3, 0);
	choice_turn(&c, &calm, 6);
	ck_assert(choice_turn(&c, &over, 7));
	ck_assert_uint_eq(c.sightings, CHOICE_MANY);
	ck_assert_int_eq(c.why, CHOICE_BUDGET);
	for (int i = 0; i < 4; i++)
		turn(&c, &calm, 8);
	ck_assert_uint_eq(c.sightings, CHOICE_FEW);
	choice_turn(&c, &over, 9); /* before it has rested */
	ck_assert_uint_eq(c.sightings, CHOICE_MANY);
}
END_TEST

static double
random_of(uint64_t *x)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return (double)(*x >> 11) * 0x1p-53;
}

/* Figures that lie about a bound by chance make it go once at most, and it does not come back. */
START_TEST(it_never_flaps_at_a_bound)
{
	static const double about[][3] = {{20, 0, 0}, {40, 0.5, 0}, {40, 0, 2},	   {10, 0, 0},
					  {40, 1, 0}, {40, 0, 3},   {15, 0.7, 2.5}};
	const double *at = about[_i];
	for (uint64_t seed = 1; seed <= 50; seed++)
		for (unsigned begins = CHOICE_FEW; begins <= CHOICE_MANY; begins++) {
			struct choice c = choice_of(begins);
			uint64_t x = seed;
			for (int n = 0; n < 600; n++) {
				struct choice_period p =
					period(at[0] + 6 * random_of(&x) - 3,
					       at[1] + 0.2 * random_of(&x) - 0.1,
					       at[2] + 0.8 * random_of(&x) - 0.4, 0);
				choice_turn(&c, &p, n);
			}
			ck_assert_uint_le(c.changes, 1);
		}
}
END_TEST

/* A sample that cannot tell a figure apart from a bound is no reason. */
START_TEST(doubt_keeps_it)
{
	struct choice_period p = period(22, 0.3, 1.5, 0);
	ck_assert_uint_eq(after(CHOICE_FEW, p, 27), CHOICE_MANY);
	p.more_written_error = 0.06 * p.written;
	ck_assert_uint_eq(after(CHOICE_FEW, p, 27), CHOICE_FEW);
	p = period(22, 0.3, 1.5, 0);
	p.more_requests_error = 0.006 * p.requests;
	ck_assert_uint_eq(after(CHOICE_FEW, p, 27), CHOICE_FEW);
	p = period(22, 0.3, 1.5, 0);
	p.more_bytes_error = 0.02 * p.bytes;
	ck_assert_uint_eq(after(CHOICE_FEW, p, 27), CHOICE_FEW);
	p = period(8, 1.1, 3.1, 0);
	ck_assert_uint_eq(after(CHOICE_MANY, p, 27), CHOICE_FEW);
	p.more_written_error = 0.06 * p.written;
	p.more_requests_error = 0.006 * p.requests;
	p.more_bytes_error = 0.02 * p.bytes;
	ck_assert_uint_eq(after(CHOICE_MANY, p, 27), CHOICE_MANY);
}
END_TEST

/* Doubt gathers figures for longer, but not for ever; then it says nothing for the other one. */
START_TEST(doubt_makes_a_period_longer)
{
	struct choice c = choice_of(CHOICE_FEW);
	struct choice_period clear = period(40, 0, 0, 0), doubtful = clear;
	doubtful.more_written_error = 0.5 * clear.written;
	ck_assert(turn(&c, &clear, 1));
	for (int i = 0; i < 30; i++)
		ck_assert(!choice_turn(&c, &doubtful, 2));
	ck_assert(choice_turn(&c, &clear, 3));
	ck_assert_uint_eq(c.sightings, CHOICE_MANY);
	c = choice_of(CHOICE_FEW);
	ck_assert(turn(&c, &clear, 1));
	for (int i = 1; i < 40; i++)
		ck_assert(!choice_turn(&c, &doubtful, 2));
	ck_assert(choice_turn(&c, &doubtful, 3));
	ck_assert_uint_eq(c.agreed, 0);
	c = choice_of(CHOICE_MANY);
	doubtful = period(12, 0.9, 0, 0);
	doubtful.more_requests_error = 0.004 * doubtful.requests;
	ck_assert(!turn(&c, &doubtful, 1));
	ck_assert_uint_eq(c.gathered, 3);
}
END_TEST

START_TEST(what_is_no_figure_changes_nothing)
{
	struct choice c = choice_of(CHOICE_FEW);
	struct choice_period good = period(40, 0, 0, 0), bad[8];
	for (int i = 0; i < COUNT(bad); i++)
		bad[i] = good;
	bad[0].requests = CHOICE_LEAST_REQUESTS - 1;
	bad[1].more_written = (double)NAN;
	bad[2].more_requests = -(double)INFINITY;
	bad[3].written = -1;
	bad[4].more_bytes_error = (double)NAN;
	bad[5].off_requests = 0.031 * good.requests;
	bad[6].off_requests = -0.031 * good.requests;
	bad[7].refused = (double)INFINITY;
	turn(&c, &good, 1);
	struct choice before = c;
	for (int i = 0; i < COUNT(bad); i++)
		ck_assert(!choice_turn(&c, &bad[i], 2));
	ck_assert(memcmp(&c, &before, sizeof c) == 0);
	struct choice_period nothing = {.requests = 5000}; /* all were hits: nobody wrote */
	ck_assert(turn(&c, &nothing, 3));
	ck_assert_uint_eq(c.sightings, CHOICE_FEW);
}
END_TEST

START_TEST(a_file_says_the_same)
{
	char bytes[CHOICE_FILE], text[CHOICE_TEXT], again[CHOICE_TEXT];
	struct choice c = choice_of(CHOICE_FEW), read = choice_of(CHOICE_FEW);
	struct choice_period p = period(34, -0.3, 1.25, 0);
	turn(&c, &p, 1);
	turn(&c, &p, 1234567890123);
	choice_format(&c, bytes);
	ck_assert_pstr_eq(choice_parse(&read, (struct str){bytes, sizeof bytes}), NULL);
	ck_assert_uint_eq(read.sightings, CHOICE_MANY);
	ck_assert_int_eq(read.since_s, 1234567890123);
	ck_assert_str_eq(choice_say(&read, again), choice_say(&c, text));
	ck_assert_str_eq(text,
			 "3 for bodies over 64 KiB, 2 for others: with 3 for those over 64 KiB 66% "
			 "as many bytes are written, with +0.3 points of hits and -1.2 of bytes");
	struct choice kept = read;
	for (size_t i = 0; i < sizeof bytes; i++) {
		bytes[i] ^= 4;
		ck_assert_pstr_ne(choice_parse(&read, (struct str){bytes, sizeof bytes}), NULL);
		bytes[i] ^= 4;
		ck_assert_pstr_ne(choice_parse(&read, (struct str){bytes, i}), NULL);
	}
	c.sightings = 4; /* no damage, and of no use */
	choice_format(&c, bytes);
	ck_assert_pstr_ne(choice_parse(&read, (struct str){bytes, sizeof bytes}), NULL);
	ck_assert(memcmp(&read, &kept, sizeof read) == 0);
}
END_TEST

UNIT("choice", LOOP(bounds, turns), TEST(two_periods_must_agree),
     TEST(the_log_turns_once_before_the_next_change), TEST(the_budget_waits_for_nothing),
     TIMES(it_never_flaps_at_a_bound, 7), TEST(doubt_keeps_it), TEST(doubt_makes_a_period_longer),
     TEST(what_is_no_figure_changes_nothing), TEST(a_file_says_the_same))
