/* rooms: base
 * test_address.c - where to listen, as people write it.
 */
#include "proxy/base/address.h"
#include "tests/kit/unit.h"

#include <arpa/inet.h>

/* clang-format off */
static const struct {
	const char *says, *text, *want; /* want NULL: refused */
	bool loopback;
} addresses[] = {
	{ "an IPv4 address",             "127.0.0.1:8080",    "127.0.0.1:8080", true },
	{ "all of 127 is loopback",      "127.9.9.9:1",       "127.9.9.9:1",    true },
	{ "any port",                    "10.0.0.1:0",        "10.0.0.1:0",     false },
	{ "the last port",               "10.0.0.1:65535",    "10.0.0.1:65535", false },
	{ "an IPv6 address",             "[::1]:8080",        "[::1]:8080",     true },
	{ "every IPv6 address",          "[::]:80",           "[::]:80",        false },
	{ "a star is all of IPv4",       "*:8080",            "0.0.0.0:8080",   false },
	{ "no host is all of IPv4",      ":8080",             "0.0.0.0:8080",   false },
	{ "localhost needs no resolver", "localhost:8080",    "127.0.0.1:8080", true },
	{ "no port",                     "127.0.0.1",         NULL, false },
	{ "an empty port",               "127.0.0.1:",        NULL, false },
	{ "a port too far",              "127.0.0.1:65536",   NULL, false },
	{ "a port with a sign",          "127.0.0.1:+80",     NULL, false },
	{ "a bare IPv6 address",         "::1:80",            NULL, false },
	{ "empty brackets",              "[]:80",             NULL, false },
	{ "a name",                      "example.com:80",    NULL, false },
	{ "nothing",                     "",                  NULL, false },
	{ "a URL",                       "http://1.2.3.4:80", NULL, false },
	{ "too long a host",             "1111111111111111111111111111111111111111111111111111111111111111111:1", NULL, false },
};
/* clang-format on */

START_TEST(is_read)
{
	struct address a;
	char text[ADDRESS_TEXT];
	int r = address_parse(addresses[_i].text, &a);
	ck_assert_msg((r == 0) == (addresses[_i].want != NULL), "%s", addresses[_i].says);
	if (r == 0) {
		ck_assert_str_eq(address_print(&a, text), addresses[_i].want);
		ck_assert_msg(address_is_loopback(&a) == addresses[_i].loopback, "%s",
			      addresses[_i].says);
	}
}
END_TEST

START_TEST(a_port_can_be_set)
{
	struct address a;
	char text[ADDRESS_TEXT];
	address_parse("[::1]:0", &a);
	address_set_port(&a, 4711);
	ck_assert_uint_eq(address_port(&a), 4711);
	ck_assert_str_eq(address_print(&a, text), "[::1]:4711");
}
END_TEST

START_TEST(a_host_is_written_as_the_library_writes_it)
{
	for (int i = 0; i < 4 * 256; i++) {
		unsigned char host[4] = {192, 0, 2, 1};
		char text[ADDRESS_HOST_BYTES], want[ADDRESS_HOST_BYTES];
		host[i / 256] = (unsigned char)(i % 256);
		address_print_host(AF_INET, host, text);
		ck_assert_str_eq(text, inet_ntop(AF_INET, host, want, sizeof want));
	}
}
END_TEST

UNIT("address", LOOP(is_read, addresses), TEST(a_port_can_be_set),
     TEST(a_host_is_written_as_the_library_writes_it))
