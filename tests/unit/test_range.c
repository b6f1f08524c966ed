/* rooms: http base
 *
 * test_range.c - byte ranges (RFC 9110 14) and what is held of a body. */
#include "proxy/http/range.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* Answers are written "at+n at+n", "whole" or "416". */
static const struct {
	const char *says, *value;
	uint64_t length;
	const char *want;
} ranges[] = {
	/* clang-format off */
	{"first bytes",                            "bytes=0-4", 10, "0+5 "},
	{"to the end",                             "bytes=4-", 10, "4+6 "},
	{"the last bytes",                         "bytes=-3", 10, "7+3 "},
	{"more than there are",                    "bytes=5-100", 10, "5+5 "},
	{"more last bytes than there are",         "bytes=-100", 10, "0+10 "},
	{"one byte",                               "bytes=9-9", 10, "9+1 "},
	{"the unit in any case",                   "BYTES=0-4", 10, "0+5 "},
	{"beginning behind the end",               "bytes=10-", 10, "416"},
	{"no last bytes",                          "bytes=-0", 10, "416"},
	{"of nothing",                             "bytes=0-", 0, "416"},
	{"the last of nothing",                    "bytes=-5", 0, "416"},
	{"two, in the order asked for",            "bytes=8-9,0-1", 10, "8+2 0+2 "},
	{"spaces and empty members",               "bytes= 0-1 ,, 4-5 ", 10, "0+2 4+2 "},
	{"one of two cannot be",                   "bytes=20-,0-1", 10, "0+2 "},
	{"neither can be",                         "bytes=20-,-0", 10, "416"},
	{"overlapping ones are one",               "bytes=0-5,3-8", 10, "0+9 "},
	{"adjacent ones are one",                  "bytes=0-4,5-9", 10, "0+10 "},
	{"the same one is one",                    "bytes=1-2,1-2,1-2", 10, "1+2 "},
	{"a third joins two",                      "bytes=0-1,6-7,1-6", 10, "0+8 "},
	{"joined in the first one's place",        "bytes=0-1,8-9,4-5,2-4", 10, "0+6 8+2 "},
	{"the attack: all of it, many times",      "bytes=0-,0-,0-,0-,0-,0-", 10, "0+10 "},
	{"as many as are allowed",                 "bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30", 99,
	 "0+1 2+1 4+1 6+1 8+1 10+1 12+1 14+1 16+1 18+1 20+1 22+1 24+1 26+1 28+1 30+1 "},
	{"one more is abuse, also when they are the same", "bytes=0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0", 99, "whole"},
	{"numbers over 64 bits",                   "bytes=0-99999999999999999999999", 10, "0+10 "},
	{"a begin over 64 bits",                   "bytes=99999999999999999999999-", 10, "416"},
	{"backwards",                              "bytes=5-4", 10, "whole"},
	{"one of two backwards",                   "bytes=0-1,5-4", 10, "whole"},
	{"no numbers",                             "bytes=-", 10, "whole"},
	{"no dash",                                "bytes=5", 10, "whole"},
	{"a sign",                                 "bytes=+0-4", 10, "whole"},
	{"hex",                                    "bytes=0x0-4", 10, "whole"},
	{"two dashes",                             "bytes=0--4", 10, "whole"},
	{"a space inside",                         "bytes=0 - 4", 10, "whole"},
	{"another unit",                           "lines=0-4", 10, "whole"},
	{"no unit",                                "0-4", 10, "whole"},
	{"no ranges",                              "bytes=", 10, "whole"},
	{"nothing",                                "", 10, "whole"},
	/* clang-format on */
};

START_TEST(range)
{
	struct range parsed[RANGES_MAX];
	char got[512] = "";
	unsigned n = 0;
	size_t at = 0;
	enum range_answer a = range_parse(str_of(ranges[_i].value), ranges[_i].length, parsed, &n);
	for (unsigned i = 0; a == RANGE_PART && i < n; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%llu+%llu ",
				       (unsigned long long)parsed[i].at,
				       (unsigned long long)parsed[i].n);
	if (a != RANGE_PART)
		strcpy(got, a == RANGE_WHOLE ? "whole" : "416");
	ck_assert_msg(strcmp(got, ranges[_i].want) == 0, "%s: %s", ranges[_i].says, got);
}
END_TEST

/* The parts are apart from each other and inside the body, whatever is asked for. */
START_TEST(no_byte_is_sent_twice)
{
	srand(7);
	for (int round = 0; round < 4000; round++) {
		char value[256] = "bytes=";
		size_t at = strlen(value);
		uint64_t length = (uint64_t)(rand() % 40);
		struct range v[RANGES_MAX];
		unsigned n, sent[64] = {0};
		for (int i = rand() % RANGES_MAX; i >= 0; i--)
			at += (size_t)(rand() % 3
					       ? snprintf(value + at, sizeof value - at, "%d-%d,",
							  rand() % 20, 20 + rand() % 30)
					       : snprintf(value + at, sizeof value - at, "-%d,",
							  rand() % 50));
		if (range_parse(str_of(value), length, v, &n) != RANGE_PART)
			continue;
		ck_assert_uint_ge(n, 1);
		for (unsigned i = 0; i < n; i++) {
			ck_assert_uint_gt(v[i].n, 0);
			ck_assert_uint_le(v[i].at + v[i].n, length);
			for (uint64_t b = v[i].at; b < v[i].at + v[i].n; b++)
				ck_assert_uint_eq(sent[b]++, 0);
		}
	}
}
END_TEST

static const struct {
	const char *says, *value;
	bool ok;
	uint64_t at, n, total;
} content_ranges[] = {
	/* clang-format off */
	{"as it should be",              "bytes 0-99/1000", true, 0, 100, 1000},
	{"of unknown length",            "bytes 5-9/*", true, 5, 5, UINT64_MAX},
	{"to the last byte",             "bytes 999-999/1000", true, 999, 1, 1000},
	{"the unit in any case",         "Bytes 0-0/1", true, 0, 1, 1},
	{"behind the end",               "bytes 0-1000/1000", false, 0, 0, 0},
	{"backwards",                    "bytes 5-4/10", false, 0, 0, 0},
	{"of a 416",                     "bytes */1000", false, 0, 0, 0},
	{"another unit",                 "lines 0-99/1000", false, 0, 0, 0},
	{"an equals sign",               "bytes=0-99/1000", false, 0, 0, 0},
	{"no length",                    "bytes 0-99", false, 0, 0, 0},
	{"a sign",                       "bytes 0-99/+1000", false, 0, 0, 0},
	{"numbers over 63 bits",         "bytes 0-9223372036854775807/*", false, 0, 0, 0},
	{"nothing",                      "", false, 0, 0, 0},
	/* clang-format on */
};

START_TEST(content_range)
{
	struct range s = {0, 0};
	uint64_t total = 0;
	bool ok = content_range_parse(str_of(content_ranges[_i].value), &s, &total);
	ck_assert_msg(ok == content_ranges[_i].ok && s.at == content_ranges[_i].at &&
			      s.n == content_ranges[_i].n && total == content_ranges[_i].total,
		      "%s", content_ranges[_i].says);
}
END_TEST

START_TEST(parts_are_written)
{
	struct buf b = {0};
	multipart_part_head(STR("B"), STR("text/plain"), (struct range){0, 2}, 10, true, &b);
	buf_add_lit(&b, "01");
	multipart_part_head(STR("B"), STR(""), (struct range){8, 2}, UINT64_MAX, false, &b);
	buf_add_lit(&b, "89");
	multipart_end(STR("B"), &b);
	ck_assert(str_eq(buf_str(&b), STR("--B\r\nContent-Type: text/plain\r\n"
					  "Content-Range: bytes 0-1/10\r\n\r\n01"
					  "\r\n--B\r\nContent-Range: bytes 8-9/*\r\n\r\n89"
					  "\r\n--B--\r\n")));
	b.n = 0;
	content_range_format((struct range){0, 0}, 10, &b);
	ck_assert(str_eq(buf_str(&b), STR("bytes */10")));
	buf_fini(&b);
}
END_TEST

UNIT("range", LOOP(range, ranges), TEST(no_byte_is_sent_twice), LOOP(content_range, content_ranges),
     TEST(parts_are_written))
