/* test_news.c - what an answer that is not kept says to others.
 * rooms: serve coding http base
 */
#include "proxy/serve/rules/news.h"

#include "tests/kit/unit.h"

#define PRIVATE .storable = STORABLE_PRIVATE
#define COPY	.by_key = true, .copy = true, .own = true
#define PLAIN	.by_key = true, .copy = true
#define HEARD	COPY, .heard = true

static const struct {
	const char *says;
	struct news_facts facts;
	enum news_of_copy copy;
	bool ends_sharing;
} answers[] = {
	{"a page that is not to be kept instead of the copy: validate it next time",
	 {METHOD_GET, COPY, .status = 200, .storable = STORABLE_NO_STORE},
	 NEWS_OUTDATES,
	 false},
	{"a private page is one client's and says nothing of the copy",
	 {METHOD_GET, COPY, .status = 200, PRIVATE},
	 NEWS_NONE,
	 false},
	{"nor does one with a cookie of its own",
	 {METHOD_GET, COPY, .status = 200, .storable = STORABLE_SET_COOKIE},
	 NEWS_NONE,
	 false},
	{"the same to somebody with a cookie says nothing",
	 {METHOD_GET, COPY, .credentials = true, .status = 200, .storable = STORABLE_NO_STORE},
	 NEWS_NONE,
	 false},
	{"a redirect to a login says nothing of the copy",
	 {METHOD_GET, COPY, .status = 302, .storable = STORABLE_NO_FRESHNESS},
	 NEWS_NONE,
	 false},
	{"nor does an error",
	 {METHOD_GET, COPY, .status = 403, .storable = STORABLE_NO_STORE},
	 NEWS_NONE,
	 false},
	{"nor does a part",
	 {METHOD_GET, COPY, .status = 206, .storable = STORABLE_NO_STORE},
	 NEWS_NONE,
	 false},
	{"nor what was asked for by another URL than the key's",
	 {METHOD_GET, .copy = true, .status = 200, .storable = STORABLE_NO_STORE},
	 NEWS_NONE,
	 false},
	{"a HEAD of another length outdates the copy",
	 {METHOD_HEAD, COPY, .differs = true, .status = 200, .storable = STORABLE_METHOD},
	 NEWS_OUTDATES,
	 false},
	{"not when it came with credentials",
	 {METHOD_HEAD, COPY, .credentials = true, .differs = true, .status = 200,
	  .storable = STORABLE_METHOD},
	 NEWS_NONE,
	 false},
	{"a HEAD that says the same does not",
	 {METHOD_HEAD, COPY, .status = 200, .storable = STORABLE_METHOD},
	 NEWS_NONE,
	 false},
	{"a private page where nothing is stored: nobody waits for the next",
	 {METHOD_GET, .by_key = true, .status = 200, PRIVATE},
	 NEWS_NONE,
	 true},
	{"the same to a request with credentials (of those that have some)",
	 {METHOD_GET, .by_key = true, .credentials = true, .status = 200, PRIVATE},
	 NEWS_NONE,
	 true},
	{"not kept only because of Authorization: says nothing",
	 {METHOD_GET, .by_key = true, .credentials = true, .status = 200,
	  .storable = STORABLE_AUTHORIZATION},
	 NEWS_NONE,
	 false},
	{"not kept because this client wished so: says nothing",
	 {METHOD_GET, .by_key = true, .status = 200, .storable = STORABLE_REQUEST_NO_STORE},
	 NEWS_NONE,
	 false},
	{"an error to a stranger's own fields is no reason to fetch in parallel",
	 {METHOD_GET, .by_key = true, .own = true, .status = 503, .storable = STORABLE_NO_STORE},
	 NEWS_NONE,
	 false},
	{"one that two were told is",
	 {METHOD_GET, .by_key = true, .own = true, .heard = true, .status = 503,
	  .storable = STORABLE_NO_STORE},
	 NEWS_NONE,
	 true},
	{"so is one to a question with nothing of its client's own",
	 {METHOD_GET, .by_key = true, .status = 404, .storable = STORABLE_NO_USE},
	 NEWS_NONE,
	 true},
	{"also one that is never kept, as 429",
	 {METHOD_GET, .by_key = true, .status = 429, .storable = STORABLE_STATUS},
	 NEWS_NONE,
	 true},
	{"but not one that is fresh for others",
	 {METHOD_GET, .by_key = true, .status = 404, .storable = STORABLE_REQUEST_NO_STORE},
	 NEWS_NONE,
	 false},
	{"no page, where nothing of the client's own was asked: it contradicts the copy",
	 {METHOD_GET, PLAIN, .status = 404, .storable = STORABLE_NO_USE},
	 NEWS_CONTRADICTS,
	 true},
	{"so does a refusal",
	 {METHOD_GET, PLAIN, .status = 403, .storable = STORABLE_CLIENT_ERROR},
	 NEWS_CONTRADICTS,
	 true},
	{"a redirect",
	 {METHOD_GET, PLAIN, .status = 302, .storable = STORABLE_NO_FRESHNESS},
	 NEWS_CONTRADICTS,
	 true},
	{"a private page", {METHOD_GET, PLAIN, .status = 200, PRIVATE}, NEWS_CONTRADICTS, true},
	{"and what two clients were told",
	 {METHOD_GET, HEARD, .status = 404, .storable = STORABLE_NO_USE},
	 NEWS_CONTRADICTS,
	 true},
	{"not what is only kept and stale at once",
	 {METHOD_GET, PLAIN, .status = 404, .storable = STORABLE_YES},
	 NEWS_NONE,
	 false},
	{"nor an error of the origin's",
	 {METHOD_GET, PLAIN, .status = 500, .storable = STORABLE_NO_FRESHNESS},
	 NEWS_NONE,
	 false},
	{"nor what speaks of the request alone",
	 {METHOD_GET, PLAIN, .status = 429, .storable = STORABLE_STATUS},
	 NEWS_NONE,
	 false},
	{"where the copy was contradicted before, nobody waits for the next error",
	 {METHOD_GET, PLAIN, .contradicted = true, .status = 500,
	  .storable = STORABLE_NO_FRESHNESS},
	 NEWS_NONE,
	 true},
	{"kept, but to be validated each time",
	 {METHOD_GET, .by_key = true, .status = 200, .storable = STORABLE_YES},
	 NEWS_NONE,
	 true},
};

START_TEST(what_an_answer_says)
{
	const struct news_facts *f = &answers[_i].facts;
	ck_assert_msg(news_of_copy(f) == answers[_i].copy, "%s", answers[_i].says);
	ck_assert_msg(news_ends_sharing(f) == answers[_i].ends_sharing, "%s", answers[_i].says);
}
END_TEST

/* A stranger with credentials takes nothing from those without, whatever the answer. */
START_TEST(credentials_change_nothing_for_others)
{
	for (int method = METHOD_GET; method <= METHOD_HEAD; method++)
		for (int status = 200; status < 600; status++)
			for (int s = 0; s < STORABLE_COUNT; s++)
				for (unsigned bits = 0; bits < 32; bits++) {
					struct news_facts f = {
						.method = (enum method)method,
						.credentials = true,
						.by_key = bits & 1,
						.copy = bits & 2,
						.differs = bits & 4,
						.own = bits & 8,
						.heard = bits & 16,
						.status = status,
						.storable = (enum storable)s,
					};
					ck_assert(news_of_copy(&f) == NEWS_NONE);
				}
}
END_TEST

UNIT("news", LOOP(what_an_answer_says, answers), TEST(credentials_change_nothing_for_others))
