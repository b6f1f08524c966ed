/* test_rest.c - which fetch goes on when nobody reads it.
 * rooms: serve
 */
#include "proxy/serve/rules/rest.h"
#include "tests/kit/unit.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)

static const struct {
	const char *says;
	struct rest_facts facts;
	bool worth;
} cases[] = {
	{"what somebody else wants goes on, whatever is missing", {true, false, 0, 98 * MIB}, true},
	{"also of unknown length", {true, true, 0, UINT64_MAX}, true},
	{"what one client began and left does not", {false, true, 0, 98 * MIB}, false},
	{"nor when some of it is here", {false, true, 40 * MIB, 98 * MIB}, false},
	{"less than has come is fetched", {false, true, 3 * MIB, 6 * MIB}, true},
	{"but no more than that", {false, true, 3 * MIB - 1, 6 * MIB}, false},
	{"nor much, however much has come", {false, true, 90 * MIB, 98 * MIB}, false},
	{"the last of it is", {false, true, 94 * MIB, 98 * MIB}, true},
	{"a small body is, from its beginning", {false, true, 0, 512 * KIB}, true},
	{"one that is not small is not", {false, true, 0, 513 * KIB}, false},
	{"what is not stored is for nobody", {false, false, 63 * KIB, 64 * KIB}, false},
	{"what has no known end may have none", {false, true, 64 * KIB, UINT64_MAX}, false},
	{"all of it is here", {false, true, 98 * MIB, 98 * MIB}, true},
};

START_TEST(whether_the_rest_is_fetched)
{
	ck_assert_msg(rest_is_worth(&cases[_i].facts) == cases[_i].worth, "%s", cases[_i].says);
}
END_TEST

UNIT("rest", LOOP(whether_the_rest_is_fetched, cases))
