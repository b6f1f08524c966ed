/* test_admission.c - the rule of admission, row by row.
 * rooms: cache http base filter
 */
#include "proxy/cache/admission.h"
#include "tests/kit/unit.h"

#include <string.h>

static const struct {
	const char *says;
	struct admission_facts facts;
	const char *word;
	bool written;
} cases[] = {
	{"what may not be stored is not",
	 {.sightings = 1, .rule = RULE_ALWAYS},
	 "not-storable",
	 false},
	{"a first sighting stays off the disk",
	 {.storable = true, .sightings = 2, .sight = SIGHT_FIRST},
	 "first-sight",
	 false},
	{"the second is written",
	 {.storable = true, .sightings = 2, .seen = 1, .sight = SIGHT_CURRENT},
	 "seen-current",
	 true},
	{"the previous generation counts",
	 {.storable = true, .sightings = 2, .seen = 1, .sight = SIGHT_PREVIOUS},
	 "seen-previous",
	 true},
	{"one sighting admits all", {.storable = true, .sightings = 1}, "seen-current", true},
	{"three want two before",
	 {.storable = true, .sightings = 3, .seen = 1, .sight = SIGHT_CURRENT},
	 "first-sight",
	 false},
	{"a route may say always",
	 {.storable = true, .sightings = 2, .rule = RULE_ALWAYS},
	 "always",
	 true},
	{"and never", {.storable = true, .sightings = 1, .rule = RULE_NEVER}, "never", false},
	{"while the disk fills all is taken",
	 {.storable = true, .sightings = 2, .disk_used_share = 0.2, .fill_until = 0.5},
	 "filling",
	 true},
	{"until it is full enough",
	 {.storable = true, .sightings = 2, .disk_used_share = 0.5, .fill_until = 0.5},
	 "first-sight",
	 false},
	{"what is seen says so also while filling",
	 {.storable = true, .sightings = 2, .seen = 1, .sight = SIGHT_CURRENT, .fill_until = 1},
	 "seen-current",
	 true},
	{"too large",
	 {.storable = true, .sightings = 1, .body_bytes = 11, .max_object_bytes = 10},
	 "too-large",
	 false},
	{"just not too large",
	 {.storable = true, .sightings = 1, .body_bytes = 10, .max_object_bytes = 10},
	 "seen-current",
	 true},
	{"an unknown length is found out later",
	 {.storable = true, .sightings = 1, .body_bytes = UINT64_MAX, .max_object_bytes = 10},
	 "seen-current",
	 true},
	{"over the budget nothing is written",
	 {.storable = true, .sightings = 1, .over_budget = true},
	 "over-budget",
	 false},
	{"a first sighting is none of the budget's business",
	 {.storable = true, .sightings = 2, .over_budget = true},
	 "first-sight",
	 false},
};

START_TEST(rule)
{
	enum admission a = admission_decide(&cases[_i].facts);
	ck_assert_msg(strcmp(admission_word(a), cases[_i].word) == 0, "%s: %s", cases[_i].says,
		      admission_word(a));
	ck_assert_msg(admission_writes(a) == cases[_i].written, "%s", cases[_i].says);
}
END_TEST

UNIT("admission", LOOP(rule, cases))
