/* rooms: base
 * test_network.c - which addresses a network holds.
 */
#include "proxy/base/network.h"
#include "tests/kit/unit.h"

/* clang-format off */
static const struct {
	const char *says, *network, *address;
	bool parses, holds;
} facts[] = {
	{ "one address holds itself",               "192.0.2.1",       "192.0.2.1",          true,  true },
	{ "and no other",                           "192.0.2.1",       "192.0.2.2",          true,  false },
	{ "a prefix holds what begins with it",     "10.0.0.0/8",      "10.255.255.255",     true,  true },
	{ "and nothing behind",                     "10.0.0.0/8",      "11.0.0.0",           true,  false },
	{ "a prefix within a byte",                 "172.16.0.0/12",   "172.31.0.1",         true,  true },
	{ "its first stranger",                     "172.16.0.0/12",   "172.32.0.0",         true,  false },
	{ "a port is not part of the address",      "192.0.2.1",       "192.0.2.1:80",       true,  true },
	{ "IPv6",                                   "2001:db8::/32",   "2001:db8:1::7",      true,  true },
	{ "IPv6 in brackets with a port",           "2001:db8::/32",   "[2001:db8::1]:443",  true,  true },
	{ "a mapped address is the IPv4 one",       "10.0.0.0/8",      "::ffff:10.1.2.3",    true,  true },
	{ "all of IPv6 does not hold IPv4 by /96",  "::/96",           "10.1.2.3",           true,  false },
	{ "any holds IPv4",                         "any",             "10.1.2.3",           true,  true },
	{ "any holds IPv6",                         "any",             "2001:db8::1",        true,  true },
	{ "all of IPv4",                            "0.0.0.0/0",       "255.255.255.255",    true,  true },
	{ "all of IPv4 holds no IPv6",              "0.0.0.0/0",       "2001:db8::1",        true,  false },
	{ "no address is in no network",            "any",             "unknown",            true,  false },
	{ "nor is an empty one",                    "any",             "",                   true,  false },
	{ "a port that is none",                    "any",             "10.0.0.1:8x",        true,  false },
	{ "a bracket that is not closed",           "any",             "[::1",               true,  false },
	{ "IPv4 in brackets is not an address",     "any",             "[10.0.0.1]",         true,  false },
	{ "any holds Unix sockets",                 "any",             "unix",               true,  true },
	{ "they have a name",                       "unix",            "unix",               true,  true },
	{ "which holds nothing else",               "unix",            "127.0.0.1",          true,  false },
	{ "a prefix too long",                      "10.0.0.0/33",     "",                   false, false },
	{ "a prefix that is none",                  "10.0.0.0/x",      "",                   false, false },
	{ "no prefix",                              "10.0.0.0/",       "",                   false, false },
	{ "bits behind the prefix",                 "10.0.0.1/8",      "",                   false, false },
	{ "a name",                                 "localhost",       "",                   false, false },
	{ "three numbers",                          "10.0.0",          "",                   false, false },
	{ "nothing",                                "",                "",                   false, false },
};
/* clang-format on */

START_TEST(holds)
{
	struct network n;
	bool parses = network_parse(facts[_i].network, &n) == 0;
	ck_assert_msg(parses == facts[_i].parses, "%s", facts[_i].says);
	if (parses)
		ck_assert_msg(network_any_holds(&n, 1, str_of(facts[_i].address)) ==
				      facts[_i].holds,
			      "%s", facts[_i].says);
}
END_TEST

START_TEST(one_of_several_is_enough)
{
	struct network v[2];
	network_parse("10.0.0.0/8", &v[0]);
	network_parse("192.0.2.0/24", &v[1]);
	ck_assert(network_any_holds(v, 2, STR("192.0.2.9")));
	ck_assert(!network_any_holds(v, 1, STR("192.0.2.9")));
	ck_assert(!network_any_holds(v, 0, STR("10.0.0.1")));
}
END_TEST

static const struct {
	const char *address, *client;
} clients[] = {
	{"192.0.2.1", "192.0.2.1"},
	{"192.0.2.1:80", "192.0.2.1"},
	{"::ffff:192.0.2.1", "192.0.2.1"},
	{"2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
	{"[2001:db8::1]:443", "2001:db8::/64"},
	{"unix", "unix"},
	{"unknown", "unknown"},
	{"", "unknown"},
	{"::1", "unknown"},
	{"255.255.255.255", "255.255.255.255"},
	{"0.0.0.0", "0.0.0.0"},
	{"1.2.3", "unknown"},
	{"1.2.3.256", "unknown"},
	{"1.2.3.04", "unknown"},
	{"1.2.3.4.5", "unknown"},
	{"1.2.3.", "unknown"},
	{"1..3.4", "unknown"},
	{"1.2.3.0004", "unknown"},
	{"1.2.3.4 ", "unknown"},
	{"4294967297.2.3.4", "unknown"},
};

START_TEST(who_counts_as_one_client)
{
	unsigned char client[16];
	char text[NETWORK_CLIENT_TEXT];
	network_client(str_of(clients[_i].address), client);
	ck_assert_str_eq(network_print_client(client, text), clients[_i].client);
}
END_TEST

UNIT("network", LOOP(holds, facts), LOOP(who_counts_as_one_client, clients),
     TEST(one_of_several_is_enough))
