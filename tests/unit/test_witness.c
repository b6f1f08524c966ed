/* test_witness.c - when is something believed that one client's own fields may have caused?
 * rooms: serve base filter
 */
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/rules/witness.h"

#include "tests/kit/unit.h"

static const struct twice_key_hash what = {.lo = 0x1234, .hi = UINT64_C(0x9e3779b97f4a7c15)},
				   other = {.lo = 0x4321, .hi = UINT64_C(0xbf58476d1ce4e5b9)};
static const uint64_t one = UINT64_C(0x94d049bb133111eb), two = UINT64_C(0xd6e8feb86659fd93),
		      three = UINT64_C(0xa0761d6478bd642f);
enum { NOW = 1000, LATER = NOW + 601 };

START_TEST(a_second_address_is_one_that_did_not_say_so_before)
{
	struct passes *p = passes_create();
	ck_assert(!witness_is_second(p, what, one, NOW));
	ck_assert(!witness_is_second(p, what, one, NOW));
	ck_assert(!witness_is_second(p, other, two, NOW));
	ck_assert(witness_is_second(p, what, two, NOW));
	ck_assert(!witness_is_second(p, what, two, NOW));
	ck_assert(!witness_is_second(p, what, three, LATER));
	passes_destroy(&p);
}
END_TEST

START_TEST(what_two_have_said_is_known_for_a_while)
{
	struct passes *p = passes_create();
	ck_assert(!witness_is_known(p, what, one, NOW));
	ck_assert(!witness_is_known(p, what, one, NOW));
	ck_assert(witness_is_known(p, what, two, NOW));
	ck_assert(witness_is_known(p, what, one, NOW));
	ck_assert(witness_is_known(p, what, two, NOW));
	ck_assert(!witness_is_known(p, other, one, NOW));
	ck_assert(!witness_is_known(p, what, one, LATER));
	passes_destroy(&p);
}
END_TEST

START_TEST(one_network_of_IPv6_is_one_client)
{
	struct twice_seed seed;
	twice_seed_init(&seed, "sixteen bytes...", 16);
	ck_assert(witness_of(&seed, STR("2001:db8::1")) == witness_of(&seed, STR("2001:db8::2:1")));
	ck_assert(witness_of(&seed, STR("2001:db8::1")) != witness_of(&seed, STR("2001:db9::1")));
	ck_assert(witness_of(&seed, STR("192.0.2.1")) != witness_of(&seed, STR("192.0.2.2")));
}
END_TEST

UNIT("witness", TEST(a_second_address_is_one_that_did_not_say_so_before),
     TEST(what_two_have_said_is_known_for_a_while), TEST(one_network_of_IPv6_is_one_client))
