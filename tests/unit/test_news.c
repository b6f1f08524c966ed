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
	bool outdates;
	enum sharing sharing;
} answers[] = {
	{"a private page instead of the copy: validate it next time",
	 {METHOD_GET, COPY, .status = 200, PRIVATE},
	 true,
	 SHARING_AS_BEFORE},
	{"the same to somebody with a cookie says nothing",
	 {METHOD_GET, COPY, .credentials = true, .status = 200, PRIVATE},
	 false,
	 SHARING_AS_BEFORE},
	{"a redirect to a login says nothing of the copy",
	 {METHOD_GET, COPY, .status = 302, .storable = STORABLE_NO_FRESHNESS},
	 false,
	 SHARING_AS_BEFORE},
	{"nor does an error", {METHOD_GET, COPY, .status = 403, PRIVATE}, false, SHARING_AS_BEFORE},
	{"nor does a part", {METHOD_GET, COPY, .status = 206, PRIVATE}, false, SHARING_AS_BEFORE},
	{"nor what was asked for by another URL than the key's",
	 {METHOD_GET, .copy = true, .status = 200, PRIVATE},
	 false,
	 SHARING_AS_BEFORE},
	{"a HEAD of another length outdates the copy",
	 {METHOD_HEAD, COPY, .differs = true, .status = 200, .storable = STORABLE_METHOD},
	 true,
	 SHARING_AS_BEFORE},
	{"not when it came with credentials",
	 {METHOD_HEAD, COPY, .credentials = true, .differs = true, .status = 200,
	  .storable = STORABLE_METHOD},
	 false,
	 SHARING_AS_BEFORE},
	{"a HEAD that says the same does not",
	 {METHOD_HEAD, COPY, .status = 200, .storable = STORABLE_METHOD},
	 false,
	 SHARING_AS_BEFORE},
	{"a private page where nothing is stored: nobody waits for the next",
	 {METHOD_GET, .by_key = true, .status = 200, PRIVATE},
	 false,
	 SHARING_NONE},
	{"to a request with credentials: nobody who has some waits",
	 {METHOD_GET, .by_key = true, .credentials = true, .status = 200, PRIVATE},
	 false,
	 SHARING_NONE_WITH_CREDENTIALS},
	{"not kept only because of Authorization: says nothing",
	 {METHOD_GET, .by_key = true, .credentials = true, .status = 200,
	  .storable = STORABLE_AUTHORIZATION},
	 false,
	 SHARING_AS_BEFORE},
	{"not kept because this client wished so: says nothing",
	 {METHOD_GET, .by_key = true, .status = 200, .storable = STORABLE_REQUEST_NO_STORE},
	 false,
	 SHARING_AS_BEFORE},
	{"an error is never a reason to fetch in parallel",
	 {METHOD_GET, .by_key = true, .status = 503, .storable = STORABLE_NO_STORE},
	 false,
	 SHARING_AS_BEFORE},
	{"kept, but to be validated each time",
	 {METHOD_GET, .by_key = true, .status = 200, .storable = STORABLE_YES},
	 false,
	 SHARING_NONE},
};

START_TEST(what_an_answer_says)
{
	const struct news_facts *f = &answers[_i].facts;
	ck_assert_msg(news_outdates_copy(f) == answers[_i].outdates, "%s", answers[_i].says);
	ck_assert_msg(news_sharing(f) == answers[_i].sharing, "%s", answers[_i].says);
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
					ck_assert(news_sharing(&f) != SHARING_NONE);
				}
}
END_TEST

UNIT("news", LOOP(what_an_answer_says, answers), TEST(credentials_change_nothing_for_others))
