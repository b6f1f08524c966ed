/* test_select.c - what becomes of a request, by what the cache has.
 * rooms: serve coding http base
 */
#include "proxy/serve/rules/select.h"

#include "tests/kit/unit.h"

static const struct {
	const char *says;
	struct select_facts facts;
	enum selection want;
} decisions[] = {
	{"what is fresh answers", {METHOD_GET, .found = true, .reuse = REUSE_FRESH}, SELECT_ANSWER},
	{"what the client takes stale answers",
	 {METHOD_GET, .found = true, .reuse = REUSE_STALE},
	 SELECT_ANSWER},
	{"only-if-cached is no obstacle to an answer from here",
	 {METHOD_HEAD, .only_if_cached = true, .found = true, .reuse = REUSE_FRESH},
	 SELECT_ANSWER},
	{"stale-while-revalidate answers now and asks behind",
	 {METHOD_GET, .found = true, .reuse = REUSE_STALE_REFRESH},
	 SELECT_ANSWER_REFRESH},
	{"what is stale is validated",
	 {METHOD_GET, .found = true, .reuse = REUSE_VALIDATE},
	 SELECT_VALIDATE},
	{"asking for less changes nothing for what is stored",
	 {METHOD_GET, .asks_for_less = true, .found = true, .unseen = true,
	  .reuse = REUSE_VALIDATE},
	 SELECT_VALIDATE},
	{"a HEAD asks by itself",
	 {METHOD_HEAD, .found = true, .reuse = REUSE_VALIDATE},
	 SELECT_NEWS},
	{"only-if-cached never asks the origin about what is stale",
	 {METHOD_GET, .only_if_cached = true, .found = true, .reuse = REUSE_VALIDATE},
	 SELECT_REFUSE},
	{"nor does its HEAD",
	 {METHOD_HEAD, .only_if_cached = true, .found = true, .reuse = REUSE_VALIDATE},
	 SELECT_REFUSE},
	{"what may never be used again passes",
	 {METHOD_GET, .found = true, .reuse = REUSE_NEVER},
	 SELECT_PASS},
	{"what another one decides about goes there as it came, also only-if-cached",
	 {METHOD_GET, .elsewhere = true, .only_if_cached = true},
	 SELECT_FETCH_AS_ASKED},
	{"and a HEAD", {METHOD_HEAD, .elsewhere = true}, SELECT_FETCH_AS_ASKED},
	{"but what is fresh here answers",
	 {METHOD_GET, .elsewhere = true, .found = true, .reuse = REUSE_FRESH},
	 SELECT_ANSWER},
	{"only-if-cached and nothing there", {METHOD_GET, .only_if_cached = true}, SELECT_REFUSE},
	{"a HEAD keeps nothing", {.method = METHOD_HEAD}, SELECT_FETCH_ALONE},
	{"no-store keeps nothing", {METHOD_GET, .no_store = true}, SELECT_FETCH_ALONE},
	{"a miss fetches the whole with all who ask", {.method = METHOD_GET}, SELECT_FETCH},
	{"a first sighting that wants less gets just that",
	 {METHOD_GET, .asks_for_less = true, .unseen = true},
	 SELECT_FETCH_AS_ASKED},
	{"a piece far into what is wanted whole does not wait for the rest",
	 {METHOD_GET, .asks_for_less = true, .far_piece = true},
	 SELECT_FETCH_PIECE},
	{"a far piece of what nobody asked for before is just that piece",
	 {METHOD_GET, .asks_for_less = true, .far_piece = true, .unseen = true},
	 SELECT_FETCH_AS_ASKED},
	{"the second fetches the whole", {METHOD_GET, .asks_for_less = true}, SELECT_FETCH},
};

START_TEST(each_set_of_facts_has_one_outcome)
{
	enum selection is = select_decide(&decisions[_i].facts);
	ck_assert_msg(is == decisions[_i].want, "%s: %d", decisions[_i].says, (int)is);
}
END_TEST

/* only-if-cached (RFC 9111 5.2.1.7) may never lead to the origin, whatever else is true. */
START_TEST(only_if_cached_never_asks_the_origin)
{
	for (unsigned bits = 0; bits < 1 << 4; bits++)
		for (int reuse = REUSE_FRESH; reuse <= REUSE_NEVER; reuse++) {
			struct select_facts f = {
				.method = bits & 1 ? METHOD_HEAD : METHOD_GET,
				.only_if_cached = true,
				.no_store = bits & 2,
				.asks_for_less = bits & 4,
				.found = bits & 8,
				.unseen = bits & 4,
				.reuse = (enum reuse)reuse,
			};
			enum selection s = select_decide(&f);
			ck_assert_msg(s < SELECT_VALIDATE, "%u %d: %d", bits, reuse, (int)s);
		}
}
END_TEST

UNIT("select", LOOP(each_set_of_facts_has_one_outcome, decisions),
     TEST(only_if_cached_never_asks_the_origin))
