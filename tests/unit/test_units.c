/* rooms: config
 * test_units.c - sizes, counts, durations and shares, read and printed.
 */
#include "config/suggest.h"
#include "config/units.h"
#include "tests/kit/unit.h"

enum quantity { BYTES, COUNT_OF, MS, RATE };

static const struct {
	int (*parse)(const char *z, uint64_t *v);
	char *(*print)(uint64_t v, char out[UNITS_BYTES]);
} units[] = {
	[BYTES] = {units_parse_bytes, units_print_bytes},
	[COUNT_OF] = {units_parse_count, units_print_count},
	[MS] = {units_parse_ms, units_print_ms},
	[RATE] = {units_parse_rate, units_print_rate},
};

/* clang-format off */
static const struct {
	const char *says;
	enum quantity q;
	const char *text;
	uint64_t want;
} good[] = {
	{ "KiB are powers of 1024",              BYTES,    "64KiB",    65536 },
	{ "so are TiB",                          BYTES,    "2TiB",     2ull << 40 },
	{ "M of bytes is a power of 1000",       BYTES,    "10M",      10000000 },
	{ "MB as well",                          BYTES,    "10MB",     10000000 },
	{ "a fraction counts",                   BYTES,    "1.5GiB",   1610612736 },
	{ "spaces before the unit are fine",     BYTES,    "64 MiB",   67108864 },
	{ "so are small letters",                BYTES,    "64mib",    67108864 },
	{ "bytes need no unit",                  BYTES,    "4096",     4096 },
	{ "B is one",                            BYTES,    "7B",       7 },
	{ "zero is a size",                      BYTES,    "0",        0 },
	{ "the most that fits",                  BYTES,    "18446744073709551615", UINT64_MAX },
	{ "10M of things",                       COUNT_OF, "10M",      10000000 },
	{ "50k of things",                       COUNT_OF, "50k",      50000 },
	{ "half a thousand",                     COUNT_OF, "0.5k",     500 },
	{ "seconds",                             MS,       "30s",      30000 },
	{ "milliseconds",                        MS,       "250ms",    250 },
	{ "minutes are m",                       MS,       "5m",       300000 },
	{ "a day",                               MS,       "24h",      86400000 },
	{ "a week",                              MS,       "1w",       604800000 },
	{ "parts add up",                        MS,       "1h30m",    5400000 },
	{ "zero needs no unit",                  MS,       "0",        0 },
	{ "a rate is by the second",             RATE,     "10MiB",    10 << 20 },
	{ "also when it says so",                RATE,     "10MB/s",   10000000 },
	{ "or by the day",                       RATE,     "50GB/day", UNITS_RATE_DAY | 50000000000 },
	{ "with spaces",                         RATE,     "50 GB /d", UNITS_RATE_DAY | 50000000000 },
	{ "half a drive a day",                  RATE,     "0.5DWPD",  UNITS_RATE_DRIVE | 500000 },
	{ "three, in small letters",             RATE,     "3 dwpd",   UNITS_RATE_DRIVE | 3000000 },
	{ "a third of one",                      RATE,     "0.333333DWPD", UNITS_RATE_DRIVE | 333333 },
	{ "of a drive of another size",          RATE,     "0.5 DWPD of 960GB", UNITS_RATE_DAY | 480000000000 },
};

static const struct {
	const char *says;
	enum quantity q;
	const char *text;
} bad[] = {
	{ "nothing is not a number",             BYTES,    "" },
	{ "half a thing",                        COUNT_OF, "1.5" },
	{ "nor a part of one by its unit",       COUNT_OF, "1.0005k" },
	{ "half a byte",                         BYTES,    "0.5" },
	{ "half a millisecond",                  MS,       "1.5ms" },
	{ "a number that YAML 1.1 reads by eights", COUNT_OF, "010" },
	{ "a unit alone",                        BYTES,    "MiB" },
	{ "an unknown unit",                     BYTES,    "5GX" },
	{ "a sign",                              BYTES,    "-1" },
	{ "two points",                          BYTES,    "1.2.3M" },
	{ "a lone point",                        BYTES,    "." },
	{ "something behind it",                 BYTES,    "5MiB x" },
	{ "one more than fits",                  BYTES,    "18446744073709551616" },
	{ "more than fits by its unit",          BYTES,    "16EiB" },
	{ "bytes are no count",                  COUNT_OF, "5MiB" },
	{ "a duration without unit",             MS,       "30" },
	{ "a size is no duration",               MS,       "5MiB" },
	{ "spaces between parts",                MS,       "1h 30m" },
	{ "no rate",                             RATE,     "0" },
	{ "no rate by the day",                  RATE,     "0/day" },
	{ "less than a byte a second",           RATE,     "86399/day" },
	{ "no drives",                           RATE,     "0DWPD" },
	{ "a thousand drives",                   RATE,     "1000DWPD" },
	{ "drives without number",               RATE,     "DWPD" },
	{ "a drive of no size",                  RATE,     "1DWPD of 0" },
	{ "of nothing",                          RATE,     "1DWPD of" },
	{ "something behind drives",             RATE,     "1DWPDs" },
	{ "another time",                        RATE,     "1GB/week" },
	{ "a day alone",                         RATE,     "/day" },
	{ "more than fits in a day",             RATE,     "8EiB/day" },
	{ "more time than fits",                 MS,       "99999999999999w" },
};

static const struct { const char *text; double want; } shares[] = {
	{ "1%", 0.01 }, { "0.01", 0.01 }, { "100%", 1 }, { "1", 1 }, { "0%", 0 }, { "0", 0 },
	{ "12.5 %", 0.125 }, { "1e-3", 0.001 }, { ".5", 0.5 },
};
static const char *const no_shares[] = {
	"", "%", "101%", "1.1", "-1%", "nan", "inf", "0x1p-3", "1%%", "1% x", "one",
};
/* clang-format on */

START_TEST(a_rate_is_so_many_bytes_a_second)
{
	static const struct {
		const char *text;
		uint64_t drive, want;
	} rates[] = {
		{"10MiB", 1, 10 << 20},
		{"86400kB/day", 1, 1000},
		{"1DWPD", 86400000, 1000},
		{"0.5DWPD", 86400000, 500},
		{"0.000001DWPD", 8 << 20, 1},		  /* 0 would be none */
		{"999.999999DWPD", UINT64_C(1) << 60, 0}, /* no overflow: more than 2^50 */
	};
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		uint64_t rate;
		ck_assert_int_eq(units_parse_rate(rates[i].text, &rate), 0);
		uint64_t got = units_rate_per_s(rate, rates[i].drive);
		if (i + 1 < sizeof rates / sizeof *rates)
			ck_assert_uint_eq(got, rates[i].want);
		else
			ck_assert_uint_gt(got, UINT64_C(1) << 50);
	}
	ck_assert_uint_eq(units_rate_per_s(0, 1), 0);
}
END_TEST

START_TEST(is_read)
{
	uint64_t v = 1;
	ck_assert_msg(units[good[_i].q].parse(good[_i].text, &v) == 0, "%s", good[_i].says);
	ck_assert_msg(v == good[_i].want, "%s: %llu", good[_i].says, (unsigned long long)v);
}
END_TEST

START_TEST(is_refused)
{
	uint64_t v = 42;
	ck_assert_msg(units[bad[_i].q].parse(bad[_i].text, &v) < 0, "%s", bad[_i].says);
	ck_assert_msg(v == 42, "%s: touched", bad[_i].says);
}
END_TEST

START_TEST(share_is_read)
{
	double v = -1;
	ck_assert_int_eq(units_parse_share(shares[_i].text, &v), 0);
	ck_assert_double_eq(v, shares[_i].want);
}
END_TEST

START_TEST(share_is_refused)
{
	double v = 42;
	ck_assert_int_eq(units_parse_share(no_shares[_i], &v), -1);
	ck_assert_double_eq(v, 42);
}
END_TEST

START_TEST(print_is_short)
{
	char t[UNITS_BYTES];
	ck_assert_str_eq(units_print_bytes(100ull << 30, t), "100GiB");
	ck_assert_str_eq(units_print_bytes(10000000, t), "10MB");
	ck_assert_str_eq(units_print_bytes(1025, t), "1025B");
	ck_assert_str_eq(units_print_bytes(0, t), "0B");
	ck_assert_str_eq(units_print_count(10000000, t), "10M");
	ck_assert_str_eq(units_print_ms(90000, t), "90s");
	ck_assert_str_eq(units_print_ms(0, t), "0s");
	ck_assert_str_eq(units_print_share(0.01, t), "1%");
	ck_assert_str_eq(units_print_share(0.125, t), "12.5%");
}
END_TEST

START_TEST(people_read_it)
{
	char t[UNITS_BYTES];
	ck_assert_str_eq(units_say_bytes(0, t), "0 bytes");
	ck_assert_str_eq(units_say_bytes(999, t), "999 bytes");
	ck_assert_str_eq(units_say_bytes(1710000000, t), "1.71 GB");
	ck_assert_str_eq(units_say_bytes(563400000, t), "563 MB");
	ck_assert_str_eq(units_say_bytes(99960000, t), "100 MB");
	ck_assert_str_eq(units_say_bytes(UINT64_MAX, t), "18.4 EB");
	ck_assert_str_eq(units_say_count(0, t), "0");
	ck_assert_str_eq(units_say_count(999, t), "999");
	ck_assert_str_eq(units_say_count(50000, t), "50,000");
	ck_assert_str_eq(units_say_count(UINT64_MAX, t), "18,446,744,073,709,551,615");
}
END_TEST

/* Random numbers of all lengths, many of them round. */
static uint64_t
any_number(void)
{
	uint64_t v =
		((uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand()) >> rand() % 64;
	return rand() % 2 ? v : v % 1000 * (rand() % 2 ? 1024 * 1024 : 1000 * 60);
}

START_TEST(what_is_printed_is_read_back)
{
	char t[UNITS_BYTES];
	srand((unsigned)_i + 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t v = any_number(), back;
		enum quantity q = (enum quantity)(i % 3);
		ck_assert_msg(units[q].parse(units[q].print(v, t), &back) == 0 && back == v,
			      "seed %d: %llu as %s", _i + 1, (unsigned long long)v, t);
		double share = (double)v / (double)UINT64_MAX, again;
		ck_assert_msg(units_parse_share(units_print_share(share, t), &again) == 0 &&
				      again == share,
			      "seed %d: %.17g as %s", _i + 1, share, t);
	}
}
END_TEST

START_TEST(a_room_is_read_back_as_it_was)
{
	char t[UNITS_BYTES];
	uint64_t back;
	for (uint64_t n = 0; n <= 1000000; n += 100) {
		uint64_t room = UNITS_ROOM_SHARE | n;
		ck_assert_msg(units_parse_room(units_print_room(room, t), &back) == 0 &&
				      back == room,
			      "%llu millionths as %s", (unsigned long long)n, t);
	}
	ck_assert_str_eq(units_print_room(UNITS_ROOM_SHARE | 13000, t), "1.3%");
	ck_assert_str_eq(units_print_room(UNITS_ROOM_SHARE | 50000, t), "5%");
	ck_assert_str_eq(units_print_room(UNITS_ROOM_SHARE | 1, t), "0.0001%");
	ck_assert_str_eq(units_print_room(1 << 30, t), "1GiB");
}
END_TEST

static const struct {
	const char *text;
	uint64_t want;
} rooms[] = {
	{"5%", UNITS_ROOM_SHARE | 50000},
	{"0.05", UNITS_ROOM_SHARE | 50000},
	{".5", UNITS_ROOM_SHARE | 500000},
	{"1.0", UNITS_ROOM_SHARE | 1000000},
	{"0", UNITS_ROOM_SHARE},
	{"0%", UNITS_ROOM_SHARE},
	{"1.5GiB", 1610612736},
	{"4096", 4096},
};

START_TEST(a_room_is_a_size_or_a_share)
{
	uint64_t room;
	ck_assert_int_eq(units_parse_room(rooms[_i].text, &room), 0);
	ck_assert_msg(room == rooms[_i].want, "%s: %llx", rooms[_i].text, (unsigned long long)room);
	ck_assert_int_eq(units_parse_room("1.5", &room), -1);
}
END_TEST

START_TEST(slips_are_near)
{
	ck_assert_uint_eq(suggest_distance("disk", "disk"), 0);
	ck_assert_uint_eq(suggest_distance("disc", "disk"), 1);
	ck_assert_uint_eq(suggest_distance("dsik", "disk"), 1);
	ck_assert_uint_eq(suggest_distance("", "disk"), 4);
	ck_assert(suggest_is_near("orign", "origin"));
	ck_assert(suggest_is_near("capcity", "capacity"));
	ck_assert(!suggest_is_near("zzz", "dir"));
	ck_assert(!suggest_is_near(
		"a-word-that-is-longer-than-any-setting-could-ever-be-in-this-program", "d"));
}
END_TEST

UNIT("units", TEST(a_rate_is_so_many_bytes_a_second), LOOP(is_read, good), LOOP(is_refused, bad),
     LOOP(share_is_read, shares), LOOP(share_is_refused, no_shares), TEST(print_is_short),
     TEST(people_read_it), TIMES(what_is_printed_is_read_back, 5),
     TEST(a_room_is_read_back_as_it_was), LOOP(a_room_is_a_size_or_a_share, rooms),
     TEST(slips_are_near))
