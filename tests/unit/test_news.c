/* test_news.c - what an answer that is not kept says to others.
 * rooms: serve http base
 */
#include "proxy/serve/news.h"

#include "tests/kit/unit.h"

#define PRIVATE .storable = STORABLE_PRIVATE
#define COPY	.by_key = true, .copy = true

static const struct {
	const char *says;
	struct news_facts facts;
	bool outdates, ends_sharing;
} answers[] = {
	{"a page that is not to be kept instead of the copy: validate it next time",
	 {METHOD_GET, COPY, .status = 200, .storable = STORABLE_NO_STORE},
	 true,
	 false},
	{"a private page is one client's and says nothing of the copy",
	 {METHOD_GET, COPY, .status = 200, PRIVATE},
	 false,
	 false},
	{"nor does one with a cookie of its own",
	 {METHOD_GET, COPY, .status = 200, .storable = STORABLE_SET_COOKIE},
	 false,
	 false},
	{"the same to somebody with a cookie says nothing",
	 {METHOD_GET, COPY, .credentials = true, .status = 200, .storable = STORABLE_NO_STORE},
	 false,
	 false},
	{"a redirect to a login says nothing of the copy",
	 {METHOD_GET, COPY, .status = 302, .storable = STORABLE_NO_FRESHNESS},
	 false,
	 false},
	{"nor does an error",
	 {METHOD_GET, COPY, .status = 403, .storable = STORABLE_NO_STORE},
	 false,
	 false},
	{"nor does a part",
	 {METHOD_GET, COPY, .status = 206, .storable = STORABLE_NO_STORE},
	 false,
	 false},
	{"nor what was asked for by another URL than the key's",
	 {METHOD_GET, .copy = true, .status = 200, .storable = STORABLE_NO_STORE},
	 false,
	 false},
	{"a HEAD of another length outdates the copy",
	 {METHOD_HEAD, COPY, .differs = true, .status = 200, .storable = STORABLE_METHOD},
	 true,
	 false},
	{"not when it came with credentials",
	 {METHOD_HEAD, COPY, .credentials = true, .differs = true, .status = 200,
	  .storable = STORABLE_METHOD},
	 false,
	 false},
	{"a HEAD that says the same does not",
	 {METHOD_HEAD, COPY, .status = 200, .storable = STORABLE_METHOD},
	 false,
	 false},
	{"a private page where nothing is stored: nobody waits for the next",
	 {METHOD_GET, .by_key = true, .status = 200, PRIVATE},
	 false,
	 true},
	{"the same to a request with credentials (of those that have some)",
	 {METHOD_GET, .by_key = true, .credentials = true, .status = 200, PRIVATE},
	 false,
	 true},
	{"not kept only because of Authorization: says nothing",
	 {METHOD_GET, .by_key = true, .credentials = true, .status = 200,
	  .storable = STORABLE_AUTHORIZATION},
	 false,
	 false},
	{"not kept because this client wished so: says nothing",
	 {METHOD_GET, .by_key = true, .status = 200, .storable = STORABLE_REQUEST_NO_STORE},
	 false,
	 false},
	{"an error is never a reason to fetch in parallel",
	 {METHOD_GET, .by_key = true, .status = 503, .storable = STORABLE_NO_STORE},
	 false,
	 false},
	{"kept, but to be validated each time",
	 {METHOD_GET, .by_key = true, .status = 200, .storable = STORABLE_YES},
	 false,
	 true},
};

START_TEST(what_an_answer_says)
{
	const struct news_facts *f = &answers[_i].facts;
	ck_assert_msg(news_outdates_copy(f) == answers[_i].outdates, "%s", answers[_i].says);
	ck_assert_msg(news_ends_sharing(f) == answers[_i].ends_sharing, "%s", answers[_i].says);
}
END_TEST

/* Whatever the answer, a stranger with credentials takes nothing from those without. */
START_TEST(credentials_change_nothing_for_others)
{
	for (int method = METHOD_GET; method <= METHOD_HEAD; method++)
		for (int status = 200; status < 600; status++)
			for (int s = 0; s < STORABLE_COUNT; s++)
				for (unsigned bits = 0; bits < 8; bits++) {
					struct news_facts f = {
						.method = (enum method)method,
						.credentials = true,
						.by_key = bits & 1,
						.copy = bits & 2,
						.differs = bits & 4,
						.status = status,
						.storable = (enum storable)s,
					};
					ck_assert(!news_outdates_copy(&f));
				}
}
END_TEST

UNIT("news", LOOP(what_an_answer_says, answers), TEST(credentials_change_nothing_for_others))
