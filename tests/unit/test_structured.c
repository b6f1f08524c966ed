/* rooms: http base
 *
 * test_structured.c - dictionaries of RFC 8941, strict to the last byte. */
#include "proxy/http/structured.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* A dictionary reads as "key:type:text key:..." or "error". */
static const struct {
	const char *says, *wire, *reads;
} dictionaries[] = {
	/* clang-format off */
	{"empty",                             "", ""},
	{"spaces only",                       "   ", ""},
	{"integers",                          "a=1, b=-2,c=0", "a:i:1 b:i:-2 c:i:0 "},
	{"15 digits",                         "a=999999999999999", "a:i:999999999999999 "},
	{"16 digits",                         "a=1000000000000000", "error"},
	{"decimals",                          "a=1.5, b=-0.123", "a:d:1.5 b:d:-0.123 "},
	{"four decimals",                     "a=1.5000", "error"},
	{"no decimals behind the point",      "a=1.", "error"},
	{"13 digits before the point",        "a=1000000000000.0", "error"},
	{"a sign alone",                      "a=-", "error"},
	{"a plus sign",                       "a=+1", "error"},
	{"booleans",                          "a, b=?0, c=?1", "a:b: b:b:?0 c:b:?1 "},
	{"a boolean of two",                  "a=?2", "error"},
	{"tokens",                            "a=foo/bar:1, b=*x", "a:t:foo/bar:1 b:t:*x "},
	{"strings",                           "a=\"x, \\\"y\\\\\"", "a:s:\"x, \\\"y\\\\\" "},
	{"another escape in a string",        "a=\"\\n\"", "error"},
	{"an open string",                    "a=\"x", "error"},
	{"a high byte in a string",           "a=\"\xc3\xbc\"", "error"},
	{"bytes",                             "a=:aGk=:", "a:y::aGk=: "},
	{"open bytes",                        "a=:aGk=", "error"},
	{"an inner list",                     "a=(1 \"b\";x c);y", "a:l: "},
	{"an empty inner list",               "a=( )", "a:l: "},
	{"an open inner list",                "a=(1 2", "error"},
	{"commas in an inner list",           "a=(1,2)", "error"},
	{"parameters are checked",            "a=1;b;c=2;*d=\"e\", f", "a:i:1 f:b: "},
	{"a parameter without a key",         "a=1;=2", "error"},
	{"parameters of a bare key",          "a;b=1, c", "a:b: c:b: "},
	{"keys are lower case",               "A=1", "error"},
	{"keys may hold digits and _-.*",     "*a_-.*9=1", "*a_-.*9:i:1 "},
	{"no key",                            "=1", "error"},
	{"space around =",                    "a =1", "error"},
	{"space behind =",                    "a= 1", "error"},
	{"a comma at the end",                "a,", "error"},
	{"two commas",                        "a,,b", "error"},
	{"a comma in front",                  ",a", "error"},
	{"tabs around commas",                "a\t,\tb", "a:b: b:b: "},
	{"no comma",                          "a b", "error"},
	{"a date is of RFC 9651, not of 8941", "a=@1", "error"},
	{"nonsense",                          "&&&&", "error"},
	/* clang-format on */
};

START_TEST(dictionary)
{
	char reads[256] = "";
	struct str rest = str_of(dictionaries[_i].wire);
	struct sf_member m;
	enum sf_step step;
	size_t n = 0;
	while ((step = sf_dictionary_next(&rest, &m)) == SF_MEMBER)
		n += (size_t)snprintf(reads + n, sizeof reads - n, "%.*s:%c:%.*s ", STR_ARG(m.key),
				      "idstybl"[m.type],
				      m.type == SF_INNER_LIST ? 0 : (int)m.text.n, m.text.p);
	if (step == SF_ERROR)
		strcpy(reads, "error");
	ck_assert_msg(strcmp(reads, dictionaries[_i].reads) == 0, "%s: %s", dictionaries[_i].says,
		      reads);
}
END_TEST

/* An item reads as "type:text key:type:text ..." or "error". */
static const struct {
	const char *says, *wire, *reads;
} items[] = {
	/* clang-format off */
	{"an item alone",                     "1", "i:1 "},
	{"spaces around it",                  "  1  ", "i:1 "},
	{"parameters",                        "1;a=\"x\";b=:aGk=:; c", "i:1 a:s:\"x\" b:y::aGk=: c:b: "},
	{"equal keys come one by one",        "1;a=1;a=2", "i:1 a:i:1 a:i:2 "},
	{"nothing",                           "", "error"},
	{"an inner list is no item",          "(1 2)", "error"},
	{"a second item",                     "1, 2", "error"},
	{"a space before the semicolon",      "1 ;a", "error"},
	{"a parameter without a key",         "1;=2", "error"},
	{"a parameter that is open",          "1;a=\"x", "error"},
	{"a semicolon at the end",            "1;", "error"},
	/* clang-format on */
};

START_TEST(item)
{
	char reads[256] = "error";
	struct str rest = str_of(items[_i].wire);
	struct sf_member m;
	enum sf_step step = SF_ERROR;
	size_t n = 0;
	if (sf_item(&rest, &m)) {
		n = (size_t)snprintf(reads, sizeof reads, "%c:%.*s ", "idstybl"[m.type],
				     STR_ARG(m.text));
		while ((step = sf_parameter_next(&rest, &m)) == SF_MEMBER)
			n += (size_t)snprintf(reads + n, sizeof reads - n, "%.*s:%c:%.*s ",
					      STR_ARG(m.key), "idstybl"[m.type], STR_ARG(m.text));
	}
	if (step == SF_ERROR)
		strcpy(reads, "error");
	ck_assert_msg(strcmp(reads, items[_i].reads) == 0, "%s: %s", items[_i].says, reads);
}
END_TEST

UNIT("structured", LOOP(dictionary, dictionaries), LOOP(item, items))
