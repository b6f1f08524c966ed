/* test_tls_name.c - names as ClientHello, certificates and Host fields write them.
 * rooms: wire
 */
#include "proxy/wire/tls_name.h"

#include "tests/kit/unit.h"

static const struct {
	const char *says, *host, *want; /* want NULL: no name */
} plains[] = {
	{"a name", "www.example.com", "www.example.com"},
	{"lower case", "WWW.Example.COM", "www.example.com"},
	{"without its port", "a.example:8443", "a.example"},
	{"without the last dot", "a.example.", "a.example"},
	{"without both", "a.example.:443", "a.example"},
	{"an address", "192.0.2.1:443", "192.0.2.1"},
	{"an address of IPv6", "[2001:DB8::1]:443", "2001:db8::1"},
	{"nothing", "", NULL},
	{"only a port", ":443", NULL},
	{"only a dot", ".", NULL},
	{"a bracket that is not closed", "[::1", NULL},
	{"a space", "a b", NULL},
	{"a slash", "a/b", NULL},
	{"a byte of another alphabet", "\xc3\xa4.example", NULL},
};

START_TEST(plain)
{
	char got[TLS_NAME_BYTES];
	size_t n = tls_name_plain(str_of(plains[_i].host), got);
	if (!plains[_i].want)
		ck_assert_msg(n == 0, "%s: %s", plains[_i].says, got);
	else
		ck_assert_msg(n == strlen(plains[_i].want) && strcmp(got, plains[_i].want) == 0,
			      "%s: %s", plains[_i].says, n ? got : "(none)");
}
END_TEST

START_TEST(a_name_is_at_most_255_bytes)
{
	char text[TLS_NAME_BYTES + 1], got[TLS_NAME_BYTES];
	memset(text, 'a', sizeof text);
	ck_assert_uint_eq(tls_name_plain((struct str){text, 255}, got), 255);
	ck_assert_uint_eq(tls_name_plain((struct str){text, 256}, got), 0);
	text[8] = '\0';
	ck_assert_uint_eq(tls_name_plain((struct str){text, 20}, got), 0);
}
END_TEST

static const struct {
	const char *says, *certificate, *host;
	bool want;
} covered[] = {
	{"the same", "a.example", "a.example", true},
	{"another", "a.example", "b.example", false},
	{"a star is one label", "*.a.example", "www.a.example", true},
	{"a star is not two", "*.a.example", "x.www.a.example", false},
	{"a star is not none", "*.a.example", "a.example", false},
	{"a star is not an empty label", "*.a.example", ".a.example", false},
	{"a star inside of a label is none", "w*.a.example", "www.a.example", false},
	{"a star alone", "*", "example", false},
	{"a star is no part of an address", "*.0.2.1", "192.0.2.1", false},
	{"an address", "192.0.2.1", "192.0.2.1", true},
};

START_TEST(covers)
{
	ck_assert_msg(tls_name_covers(covered[_i].certificate, covered[_i].host) ==
			      covered[_i].want,
		      "%s", covered[_i].says);
}
END_TEST

#define HELLO(bytes) bytes, sizeof(bytes) - 1
static const struct {
	const char *says, *bytes;
	size_t n;
	const char *want;
} hellos[] = {
	{"a name", HELLO("\0\6\0\0\3abc"), "abc"},
	{"no bytes", HELLO(""), ""},
	{"an empty list", HELLO("\0\0"), ""},
	{"an empty name", HELLO("\0\3\0\0\0"), ""},
	{"a list shorter than it says", HELLO("\0\7\0\0\3abc"), ""},
	{"a list longer than it says", HELLO("\0\5\0\0\3abc"), ""},
	{"a name longer than the list", HELLO("\0\6\0\0\4abc"), ""},
	{"a name shorter than the list", HELLO("\0\6\0\0\2abc"), ""},
	{"of another type", HELLO("\0\6\1\0\3abc"), ""},
	{"two names", HELLO("\0\14\0\0\3abc\0\0\3def"), ""},
};

START_TEST(of_hello)
{
	struct str got = tls_name_of_hello((const unsigned char *)hellos[_i].bytes, hellos[_i].n);
	ck_assert_msg(str_eq(got, str_of(hellos[_i].want)), "%s: %.*s", hellos[_i].says,
		      STR_ARG(got));
}
END_TEST

UNIT("tls_name", LOOP(plain, plains), TEST(a_name_is_at_most_255_bytes), LOOP(covers, covered),
     LOOP(of_hello, hellos))
