/* test_template.c - text with variables: where each begins and ends.
 * rooms: base
 */
#include "proxy/base/template.h"

#include "tests/kit/unit.h"

#include <stdio.h>

/* clang-format off */
static const struct {
	const char *says, *text, *pieces; /* a letter and the text of each */
} texts[] = {
	{"nothing",                      "",                     ""},
	{"no variable",                  "a b",                  "t(a b)"},
	{"a variable alone",             "$host",                "h($host)"},
	{"variables and text",           "https://$host$path",   "t(https://)h($host)p($path)"},
	{"a name ends where letters do", "$host1",               "h($host)t(1)"},
	{"a longer name is another",     "$hostname",            "?($hostname)"},
	{"names have underscores",       "$client_address:1",    "c($client_address)t(:1)"},
	{"a dollar",                     "$$host",               "t($)t(host)"},
	{"a dollar at the end",          "a$",                   "t(a)?($)"},
	{"a dollar and a sign",          "$0",                   "?($)t(0)"},
	{"a capture has one digit",      "/$12",                 "t(/)n($1)t(2)"},
	{"other case is another name",   "$Host",                "?($)t(Host)"},
	{"all of them",                  "$scheme$query",        "s($scheme)q($query)"},
};
/* clang-format on */

START_TEST(pieces)
{
	static const char letters[] = "-thscpqn?";
	char out[256] = "";
	size_t n = 0;
	struct str rest = str_of(texts[_i].text), text;
	enum template_piece p;
	unsigned bits = 0;
	while ((p = template_next(&rest, &text)) != TEMPLATE_END) {
		n += (size_t)snprintf(out + n, sizeof out - n, "%c(%.*s)", letters[p],
				      STR_ARG(text));
		bits |= 1u << p;
	}
	ck_assert_msg(strcmp(out, texts[_i].pieces) == 0, "%s: %s", texts[_i].says, out);
	ck_assert_uint_eq(bits, template_pieces(str_of(texts[_i].text)));
}
END_TEST

UNIT("template", LOOP(pieces, texts))
