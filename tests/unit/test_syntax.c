/* rooms: http base
 *
 * test_syntax.c - the byte classes against their definitions, lists and numbers. */
#include "proxy/http/syntax.h"
#include "tests/kit/unit.h"

#include <ctype.h>

/* The classes once more, spelled out. */
static int
class_of(int c)
{
	bool ascii = c > 0x20 && c < 0x7f;
	bool unreserved = ascii && (isalnum(c) || strchr("-._~", c));
	int class = 0;
	class |= ascii && (isalnum(c) || strchr("!#$%&'*+-.^_`|~", c)) ? BYTE_TOKEN : 0;
	class |= c == '\t' || (c >= 0x20 && c != 0x7f) ? BYTE_VALUE : 0;
	class |= ascii && !strchr("\"<>#", c) ? BYTE_TARGET : 0;
	class |= ascii && !strchr("\"<>#\\?", c) ? BYTE_PATH : 0;
	class |= unreserved ? BYTE_UNRESERVED : 0;
	class |= unreserved && c != '~' ? BYTE_HOST : 0;
	class |= ascii && isxdigit(c) ? BYTE_HEX : 0;
	return class;
}

START_TEST(every_byte_is_in_its_classes)
{
	ck_assert_msg(byte_class[_i] == class_of(_i), "byte 0x%02x: 0x%02x, not 0x%02x", _i,
		      byte_class[_i], class_of(_i));
}
END_TEST

static const struct {
	const char *says, *list, *joined;
} lists[] = {
	{"members are trimmed", " a ,\tb\t", "a|b|"},
	{"empty members do not count (5.6.1.2)", ",, a,,b ,", "a|b|"},
	{"a comma in quotes does not separate", "a=\"1,2\", b", "a=\"1,2\"|b|"},
	{"an escaped quote does not end the quotes", "a=\"1\\\",2\", b", "a=\"1\\\",2\"|b|"},
	{"quotes that never end hold the rest", "a=\"1, b", "a=\"1, b|"},
	{"nothing is no list", "", ""},
	{"neither are commas", " , ", ""},
};

START_TEST(list)
{
	char joined[64] = "";
	struct str rest = str_of(lists[_i].list), item;
	while (list_next(&rest, &item)) {
		strncat(joined, item.p, item.n);
		strcat(joined, "|");
	}
	ck_assert_msg(strcmp(joined, lists[_i].joined) == 0, "%s: %s", lists[_i].says, joined);
}
END_TEST

static const struct {
	const char *says, *text;
	bool ok;
	int64_t value;
} numbers[] = {
	{"digits", "3600", true, 3600},
	{"leading zeros are digits", "007", true, 7},
	{"too large is as large as can be", "99999999999999999999999", true, INT64_MAX},
	{"the largest fits", "9223372036854775807", true, INT64_MAX},
	{"nothing is no number", "", false, 0},
	{"no sign", "+1", false, 0},
	{"no space", "1 ", false, 0},
	{"no fraction", "1.0", false, 0},
};

START_TEST(number)
{
	int64_t v = 0;
	bool ok = digits_parse(str_of(numbers[_i].text), &v);
	ck_assert_msg(ok == numbers[_i].ok && v == numbers[_i].value, "%s", numbers[_i].says);
}
END_TEST

UNIT("syntax", TIMES(every_byte_is_in_its_classes, 256), LOOP(list, lists), LOOP(number, numbers))
