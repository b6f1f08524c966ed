/* rooms: http base
 *
 * test_policy.c - what may be stored (RFC 9111 3), on which terms, and what they allow (4). */
#include "proxy/http/policy.h"
#include "tests/kit/heads.h"

#define NOW	 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define DATE	 "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"
#define LAST_DAY "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT\n"
#define TOMORROW "Expires: Mon, 07 Nov 1994 08:49:37 GMT\n"

static const struct policy_settings settings = {
	.target = STR_INIT("twice-cache-control"),
	.default_stale_if_error_s = 600,
	.heuristic_fraction = 0.1,
	.heuristic_max_s = 86400,
};

static enum storable
store(const char *asked, const char *answered, struct terms *terms)
{
	char request[1024], response[1024];
	snprintf(request, sizeof request, "%s HTTP/1.1\nHost: h%s",
		 strncmp(asked, "POST", 4) ? "GET /d/f?q" : "POST /d/f?q",
		 strncmp(asked, "POST", 4) ? asked : asked + 4);
	snprintf(response, sizeof response, "HTTP/1.1 %s", answered);
	struct storing_facts facts = {
		.request = request_of(request),
		.response = response_of(response),
		.request_time = NOW,
		.response_time = NOW,
		.settings = &settings,
		.credential = strstr(asked, "X-Token") != NULL,
	};
	*terms = (struct terms){0};
	return policy_storable(&facts, terms);
}

/* asked: what follows "GET /d/f?q HTTP/1.1, Host: h", or "POST" and that */
static const struct {
	const char *says, *asked, *answered;
	enum storable want;
} answers[] = {
	/* clang-format off */
	{"fresh",                                     "", "200 OK\nCache-Control: max-age=60", STORABLE_YES},
	{"nothing said, no validator",                "", "200 OK", STORABLE_NO_USE},
	{"nothing said, but a tag to ask with",       "", "200 OK\nETag: \"a\"", STORABLE_YES},
	{"a guess from Last-Modified",                "", "200 OK\n" DATE LAST_DAY, STORABLE_YES},
	{"max-age=0 and nothing to ask with",         "", "200 OK\nCache-Control: max-age=0", STORABLE_NO_USE},
	{"max-age=0 with a tag",                      "", "200 OK\nCache-Control: max-age=0\nETag: \"a\"", STORABLE_YES},
	{"max-age=0, but stale allowed in so many words", "", "200 OK\nCache-Control: max-age=0, stale-if-error=60", STORABLE_YES},
	{"the same, forbidden again",                 "", "200 OK\nCache-Control: max-age=0, stale-if-error=60, must-revalidate", STORABLE_NO_USE},
	{"older than its lifetime on arrival",        "", "200 OK\nCache-Control: max-age=60\nAge: 60", STORABLE_NO_USE},
	{"no-cache and nothing to ask with",          "", "200 OK\nCache-Control: max-age=60, no-cache", STORABLE_NO_USE},
	{"no-cache with a tag",                       "", "200 OK\nCache-Control: no-cache\nETag: \"a\"", STORABLE_YES},
	{"no-cache of a field",                       "", "200 OK\nCache-Control: no-cache=\"a\", max-age=60", STORABLE_YES},
	{"no-store",                                  "", "200 OK\nCache-Control: max-age=60, no-store\n" TOMORROW, STORABLE_NO_STORE},
	{"no-store in the request",                   "\nCache-Control: no-store", "200 OK\nCache-Control: max-age=60", STORABLE_REQUEST_NO_STORE},
	{"private",                                   "", "200 OK\nCache-Control: private, max-age=60", STORABLE_PRIVATE},
	{"private of a field",                        "", "200 OK\nCache-Control: private=\"set-cookie\", max-age=60", STORABLE_YES},
	{"Expires tomorrow",                          "", "200 OK\n" DATE TOMORROW, STORABLE_YES},
	{"Expires: 0",                                "", "200 OK\nExpires: 0\n" DATE, STORABLE_NO_USE},
	{"Expires now",                               "", "200 OK\nExpires: Sun, 06 Nov 1994 08:49:37 GMT\n" DATE, STORABLE_NO_USE},
	{"Expires tomorrow and Expires: 0",           "", "200 OK\n" TOMORROW "Expires: 0", STORABLE_NO_USE},
	{"Authorization",                             "\nAuthorization: x", "200 OK\n" DATE TOMORROW, STORABLE_AUTHORIZATION},
	{"Authorization and max-age",                 "\nAuthorization: x", "200 OK\nCache-Control: max-age=60", STORABLE_AUTHORIZATION},
	{"Authorization and public (3.5)",            "\nAuthorization: x", "200 OK\nCache-Control: max-age=60, public", STORABLE_YES},
	{"Authorization and must-revalidate",         "\nAuthorization: x", "200 OK\nCache-Control: max-age=60, must-revalidate", STORABLE_YES},
	{"Authorization and s-maxage",                "\nAuthorization: x", "200 OK\nCache-Control: s-maxage=60", STORABLE_YES},
	{"Authorization and proxy-revalidate is not in the list", "\nAuthorization: x", "200 OK\nCache-Control: max-age=60, proxy-revalidate", STORABLE_AUTHORIZATION},
	{"a Cookie is no obstacle",                   "\nCookie: a=b", "200 OK\nCache-Control: max-age=60", STORABLE_YES},
	{"a Cookie, and a guess",                     "\nCookie: a=b", "200 OK\n" DATE LAST_DAY, STORABLE_NO_FRESHNESS},
	{"a Cookie, and but a tag",                   "\nCookie: a=b", "200 OK\nETag: \"a\"", STORABLE_NO_FRESHNESS},
	{"a Cookie, a guess, and public",             "\nCookie: a=b", "200 OK\nCache-Control: public\n" DATE LAST_DAY, STORABLE_YES},
	{"a Cookie, and to be asked about each time", "\nCookie: a=b", "200 OK\nCache-Control: no-cache\nETag: \"a\"", STORABLE_YES},
	{"a token, and a lifetime",                   "\nX-Token: a", "200 OK\nCache-Control: max-age=60", STORABLE_YES},
	{"a token, and a guess",                      "\nX-Token: a", "200 OK\n" DATE LAST_DAY, STORABLE_CREDENTIAL},
	{"a token, and but a tag",                    "\nX-Token: a", "200 OK\nETag: \"a\"", STORABLE_CREDENTIAL},
	{"a token, a guess, and public",              "\nX-Token: a", "200 OK\nCache-Control: public\n" DATE LAST_DAY, STORABLE_YES},
	{"a token, and to be asked about each time",  "\nX-Token: a", "200 OK\nCache-Control: no-cache\nETag: \"a\"", STORABLE_YES},
	{"Set-Cookie with explicit freshness",        "", "200 OK\nCache-Control: max-age=60\nSet-Cookie: a=b", STORABLE_SET_COOKIE},
	{"and public",                                "", "200 OK\nCache-Control: public, max-age=60\nSet-Cookie: a=b", STORABLE_SET_COOKIE},
	{"400 answers this client's request",         "", "400 Bad\nCache-Control: max-age=60", STORABLE_CLIENT_ERROR},
	{"so does 403, by a firewall",                "", "403 Forbidden\nCache-Control: public, max-age=60", STORABLE_CLIENT_ERROR},
	{"and 414",                                   "", "414 Long\n" DATE LAST_DAY, STORABLE_CLIENT_ERROR},
	{"Set-Cookie and a guess",                    "", "200 OK\nSet-Cookie: a=b\n" DATE LAST_DAY, STORABLE_SET_COOKIE},
	{"Vary: *",                                   "", "200 OK\nCache-Control: max-age=60\nVary: a, *", STORABLE_VARY_STAR},
	{"Vary",                                      "", "200 OK\nCache-Control: max-age=60\nVary: a", STORABLE_YES},
	{"302 with nothing said",                     "", "302 Found\nETag: \"a\"", STORABLE_NO_FRESHNESS},
	{"302 with a lifetime",                       "", "302 Found\nCache-Control: max-age=60", STORABLE_YES},
	{"201 with Last-Modified is not guessed",     "", "201 Created\n" DATE LAST_DAY, STORABLE_NO_FRESHNESS},
	{"404 with Last-Modified is",                 "", "404 Not Found\n" DATE LAST_DAY, STORABLE_YES},
	{"500 with a lifetime",                       "", "500 Oops\nCache-Control: max-age=60", STORABLE_YES},
	{"an unknown status with a lifetime",         "", "599 What\nCache-Control: max-age=60", STORABLE_YES},
	{"an unknown status, public, Last-Modified",  "", "599 What\nCache-Control: public\n" DATE LAST_DAY, STORABLE_YES},
	{"an unknown status, Last-Modified",          "", "599 What\n" DATE LAST_DAY, STORABLE_NO_FRESHNESS},
	{"an unknown status that must be understood", "", "599 What\nCache-Control: max-age=60, must-understand", STORABLE_STATUS},
	{"a known one that must be understood, beside no-store", "", "200 OK\nCache-Control: max-age=60, must-understand, no-store", STORABLE_YES},
	{"an unknown one, beside no-store",           "", "599 What\nCache-Control: max-age=60, must-understand, no-store", STORABLE_STATUS},
	{"an interim answer",                         "", "103 Early\nCache-Control: max-age=60", STORABLE_STATUS},
	{"304 is news of another",                    "", "304 Not Modified\nCache-Control: max-age=60", STORABLE_STATUS},
	{"412 answers a condition",                   "", "412 Failed\nCache-Control: max-age=60", STORABLE_STATUS},
	{"416 answers a range",                       "", "416 Range\nCache-Control: max-age=60", STORABLE_STATUS},
	{"431 answers this client's fields",          "", "431 Large\nCache-Control: max-age=60", STORABLE_STATUS},
	{"a part",                                    "\nRange: bytes=0-4", "206 Part\nCache-Control: max-age=60\nContent-Range: bytes 0-4/10", STORABLE_RANGE},
	{"a part of unknown length",                  "\nRange: bytes=0-4", "206 Part\nCache-Control: max-age=60\nContent-Range: bytes 0-4/*", STORABLE_RANGE},
	{"several parts",                             "\nRange: bytes=0-4,6-7", "206 Part\nCache-Control: max-age=60\nContent-Type: multipart/byteranges; boundary=x", STORABLE_RANGE},
	{"a part nobody asked for",                   "", "206 Part\nCache-Control: max-age=60\nContent-Range: bytes 0-4/10", STORABLE_RANGE},
	{"a POST with nothing said",                  "POST", "200 OK\nETag: \"a\"", STORABLE_METHOD},
	{"a POST with a lifetime, but of what?",      "POST", "200 OK\nCache-Control: max-age=60", STORABLE_METHOD},
	{"a POST that says of itself",                "POST", "200 OK\nCache-Control: max-age=60\nContent-Location: /d/f?q", STORABLE_METHOD},
	{"a POST by a guess",                         "POST", "200 OK\n" DATE LAST_DAY "Content-Location: /d/f?q", STORABLE_METHOD},
	{"CDN-Cache-Control beats no-store (RFC 9213)", "", "200 OK\nCache-Control: no-store\nCDN-Cache-Control: max-age=60", STORABLE_YES},
	{"and a fresh Cache-Control",                 "", "200 OK\nCache-Control: max-age=60\nCDN-Cache-Control: no-store", STORABLE_NO_STORE},
	{"and Expires",                               "", "200 OK\nCDN-Cache-Control: max-age=0\n" DATE TOMORROW, STORABLE_NO_USE},
	{"invalid: no-store holds",                   "", "200 OK\nCache-Control: no-store\nCDN-Cache-Control: max-age=60, &&", STORABLE_NO_STORE},
	{"events, and a lifetime",                    "", "200 OK\nContent-Type: text/event-stream\nCache-Control: max-age=60", STORABLE_YES},
	{"events, and a guess",                       "", "200 OK\nContent-Type: Text/Event-Stream ;charset=utf-8\n" DATE LAST_DAY, STORABLE_NO_FRESHNESS},
	{"events, public",                            "", "200 OK\nContent-Type: text/event-stream\nETag: \"a\"\nCache-Control: public", STORABLE_NO_FRESHNESS},
	{"a type that begins as that of events",      "", "200 OK\nContent-Type: text/event-streams\n" DATE LAST_DAY, STORABLE_YES},
	{"Pragma of a response against a guess",      "", "200 OK\nPragma: no-cache\nContent-Type: a\n" LAST_DAY, STORABLE_YES},
	/* clang-format on */
};

static const char *
word_of(enum storable s)
{
	static const char *const words[] = {
#define STORABLE(id, yes, word, section) [STORABLE_##id] = word,
#include "proxy/http/storables.h"
#undef STORABLE
	};
	return words[s];
}

START_TEST(may_be_stored)
{
	struct terms t;
	enum storable got = store(answers[_i].asked, answers[_i].answered, &t);
	ck_assert_msg(got == answers[_i].want, "%s: %s, not %s", answers[_i].says, word_of(got),
		      word_of(answers[_i].want));
	ck_assert(storable_is_yes(got) == (got == STORABLE_YES));
}
END_TEST

static const struct {
	const char *says, *asked, *answered;
	enum set_cookie set_cookie;
	bool client_errors, updated;
	enum storable want;
	uint32_t flags;
} by_setting[] = {
	/* clang-format off */
	{"strip: kept without it",       "", "200 OK\nCache-Control: max-age=60\nSet-Cookie: a=b", SET_COOKIE_STRIP, false, false, STORABLE_YES, TERMS_STRIPPED},
	{"strip: nothing to strip",      "", "200 OK\nCache-Control: max-age=60", SET_COOKIE_STRIP, false, false, STORABLE_YES, 0},
	{"strip: not by a guess",        "", "200 OK\nSet-Cookie: a=b\n" DATE LAST_DAY, SET_COOKIE_STRIP, false, false, STORABLE_SET_COOKIE, 0},
	{"share: kept with it",          "", "200 OK\nCache-Control: max-age=60\nSet-Cookie: a=b", SET_COOKIE_SHARE, false, false, STORABLE_YES, 0},
	{"share: not by a guess",        "", "200 OK\nSet-Cookie: a=b\n" DATE LAST_DAY, SET_COOKIE_SHARE, false, false, STORABLE_SET_COOKIE, 0},
	{"errors with a lifetime",       "", "400 Bad\nCache-Control: max-age=60", SET_COOKIE_NEVER, true, false, STORABLE_YES, 0},
	{"and by a guess",               "", "414 Long\n" DATE LAST_DAY, SET_COOKIE_NEVER, true, false, STORABLE_YES, TERMS_HEURISTIC},
	{"but not those that never are", "", "431 Large\nCache-Control: max-age=60", SET_COOKIE_NEVER, true, false, STORABLE_STATUS, 0},
	{"a stored one is nobody's",     "\nCookie: a=b", "200 OK\n" DATE LAST_DAY, SET_COOKIE_NEVER, false, true, STORABLE_YES, TERMS_HEURISTIC},
	/* clang-format on */
};

START_TEST(what_settings_allow)
{
	char request[256], response[512];
	struct policy_settings set = settings;
	struct terms t = {0};
	set.set_cookie = by_setting[_i].set_cookie;
	set.client_errors = by_setting[_i].client_errors;
	snprintf(request, sizeof request, "GET / HTTP/1.1\nHost: h%s", by_setting[_i].asked);
	snprintf(response, sizeof response, "HTTP/1.1 %s", by_setting[_i].answered);
	struct storing_facts facts = {.request = request_of(request),
				      .response = response_of(response),
				      .request_time = NOW,
				      .response_time = NOW,
				      .settings = &set,
				      .updated = by_setting[_i].updated};
	enum storable got = policy_storable(&facts, &t);
	ck_assert_msg(got == by_setting[_i].want, "%s: %s", by_setting[_i].says, word_of(got));
	ck_assert_msg((t.flags & (TERMS_STRIPPED | TERMS_HEURISTIC)) == by_setting[_i].flags, "%s",
		      by_setting[_i].says);
}
END_TEST

/* 4.2.3 counts the time of the exchange as age. An answer that is stale for nothing else is for those
 * who waited for it; what it says of its age itself counts for them too. */
START_TEST(who_waits_long_may_have_it)
{
	static const struct {
		const char *answered;
		int64_t takes;
		enum storable want;
		int64_t age, waiting_age;
	} cases[] = {
		{"200 OK\nCache-Control: max-age=5", 0, STORABLE_YES, 0, 0},
		{"200 OK\nCache-Control: max-age=5", 9, STORABLE_YES, 9, 0},
		{"200 OK\nCache-Control: max-age=5, must-revalidate", 9, STORABLE_YES, 9, 0},
		{"200 OK\nCache-Control: max-age=5\nAge: 4", 9, STORABLE_YES, 13, 4},
		{"200 OK\nCache-Control: max-age=5\nAge: 5", 9, STORABLE_NO_USE, 0, 0},
		{"200 OK\nCache-Control: max-age=0", 9, STORABLE_NO_USE, 0, 0},
		{"200 OK\nCache-Control: max-age=5", -9, STORABLE_YES, 0,
		 0}, /* the clock was set */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char response[256];
		struct terms t;
		snprintf(response, sizeof response, "HTTP/1.1 %s", cases[i].answered);
		struct storing_facts facts = {.request = request_of("GET /d HTTP/1.1\nHost: h"),
					      .response = response_of(response),
					      .request_time = NOW - cases[i].takes,
					      .response_time = NOW,
					      .settings = &settings};
		ck_assert_int_eq(policy_storable(&facts, &t), cases[i].want);
		if (cases[i].want != STORABLE_YES)
			continue;
		struct terms waiting =
			terms_for_waiting(&t, cases[i].takes > 0 ? cases[i].takes : 0);
		ck_assert_int_eq(terms_age(&t, NOW), cases[i].age);
		ck_assert_int_eq(terms_age(&waiting, NOW), cases[i].waiting_age);
	}
}
END_TEST

/* RFC 9110 15.1: the statuses whose freshness may be guessed, and no other; without 405, 414 and
 * 501, which a client's own fields can cause. */
START_TEST(guessed_statuses)
{
	static const int guessed[] = {200, 203, 204, 300, 301, 308, 404, 410};
	for (int status = 200; status < 600; status++) {
		char answer[128];
		struct terms t;
		bool want = false;
		for (int i = 0; i < COUNT(guessed); i++)
			want = want || guessed[i] == status;
		snprintf(answer, sizeof answer, "%d X\n" DATE LAST_DAY, status);
		enum storable got = store("", answer, &t);
		ck_assert_msg((got == STORABLE_YES) == want, "%d: %s", status, word_of(got));
		if (want)
			ck_assert(t.lifetime == 8640 && (t.flags & TERMS_HEURISTIC));
	}
}
END_TEST

static const struct {
	const char *says, *answered;
	int64_t lifetime, age;
	int32_t revalidate, error;
	uint32_t flags;
} kept[] = {
	/* clang-format off */
	{"a lifetime, and stale on error by default", "Cache-Control: max-age=60", 60, 0, 0, 600, 0},
	{"in the origin's own words",                 "Cache-Control: max-age=60, stale-while-revalidate=5, stale-if-error=7", 60, 0, 5, 7, 0},
	{"stale-if-error=0 turns the default off",    "Cache-Control: max-age=60, stale-if-error=0", 60, 0, 0, 0, 0},
	{"must-revalidate forbids all of it",         "Cache-Control: max-age=60, must-revalidate, stale-while-revalidate=5", 60, 0, 0, 0, TERMS_MUST_REVALIDATE},
	{"proxy-revalidate likewise",                 "Cache-Control: max-age=60, proxy-revalidate, stale-if-error=5", 60, 0, 0, 0, TERMS_MUST_REVALIDATE},
	{"s-maxage likewise (5.2.2.10)",              "Cache-Control: s-maxage=60, stale-if-error=5", 60, 0, 0, 0, TERMS_MUST_REVALIDATE},
	{"no-cache likewise",                         "Cache-Control: max-age=60, no-cache\nETag: \"a\"", 60, 0, 0, 0, TERMS_NO_CACHE},
	{"immutable",                                 "Cache-Control: max-age=60, immutable", 60, 0, 0, 600, TERMS_IMMUTABLE},
	{"Vary",                                      "Cache-Control: max-age=60\nVary: a", 60, 0, 0, 600, TERMS_VARY},
	{"Age",                                       "Cache-Control: max-age=60\nAge: 7", 60, 7, 0, 600, 0},
	{"a lifetime of 2^31",                        "Cache-Control: max-age=2147483649", 2147483648, 0, 0, 600, 0},
	{"Pragma against a guess: to be asked first", "Pragma: no-cache\n" LAST_DAY, 0, 0, 0, 600, TERMS_HEURISTIC},
	{"Expires and an invalid Date",               "Date: foo\n" TOMORROW, 86400, 0, 0, 600, 0},
	/* clang-format on */
};

START_TEST(terms)
{
	char answer[512];
	struct terms t;
	snprintf(answer, sizeof answer, "200 OK\n%s", kept[_i].answered);
	ck_assert_msg(store("", answer, &t) == STORABLE_YES, "%s", kept[_i].says);
	ck_assert_msg(t.lifetime == kept[_i].lifetime && t.initial_age == kept[_i].age, "%s",
		      kept[_i].says);
	ck_assert_msg(t.stale_while_revalidate == kept[_i].revalidate &&
			      t.stale_if_error == kept[_i].error,
		      "%s: %d %d", kept[_i].says, t.stale_while_revalidate, t.stale_if_error);
	ck_assert_msg(t.flags == kept[_i].flags, "%s: %x", kept[_i].says, t.flags);
	ck_assert(t.status == 200 && t.response_time == NOW);
}
END_TEST

START_TEST(an_error_does_not_stand_in_for_an_error)
{
	struct terms t;
	ck_assert(store("", "503 Busy\nCache-Control: max-age=60", &t) == STORABLE_YES);
	ck_assert_int_eq(t.stale_if_error, 0);
	ck_assert(store("", "503 Busy\nCache-Control: max-age=60, stale-if-error=5", &t) ==
		  STORABLE_YES);
	ck_assert_int_eq(t.stale_if_error, 5);
}
END_TEST

/* -- reuse: an object of age 5 on arrival, lifetime 60 ----------------------------- */

#define MUST	     TERMS_MUST_REVALIDATE
#define CONTRADICTED TERMS_CONTRADICTED
static const struct {
	const char *says;
	int64_t after; /* seconds since arrival */
	uint32_t flags;
	int revalidate, error; /* stale windows of the terms */
	const char *asked;
	enum reuse want;
	const char *fwd;
	bool on_error;
} reuses[] = {
	/* clang-format off */
	{"fresh",                                     10, 0, 0, 0, "", REUSE_FRESH, NULL, true},
	{"fresh for one more second",                 54, 0, 0, 0, "", REUSE_FRESH, NULL, true},
	{"stale from the second its lifetime ends",   55, 0, 0, 0, "", REUSE_VALIDATE, "stale", false},
	{"no-cache is never fresh",                   10, TERMS_NO_CACHE, 0, 60, "", REUSE_VALIDATE, "stale", false},
	{"must-revalidate while fresh",               10, MUST, 0, 0, "", REUSE_FRESH, NULL, true},
	{"must-revalidate when stale",                60, MUST, 30, 30, "", REUSE_VALIDATE, "stale", false},
	{"stale while it is revalidated",             60, 0, 30, 0, "", REUSE_STALE_REFRESH, NULL, false},
	{"to the last second",                        85, 0, 30, 0, "", REUSE_STALE_REFRESH, NULL, false},
	{"and no longer",                             86, 0, 30, 0, "", REUSE_VALIDATE, "stale", false},
	{"stale on error",                            60, 0, 0, 30, "", REUSE_VALIDATE, "stale", true},
	{"and no longer",                             86, 0, 0, 30, "", REUSE_VALIDATE, "stale", false},
	{"the client allows stale on error",          60, 0, 0, 0, "stale-if-error=30", REUSE_VALIDATE, "stale", true},
	{"which must-revalidate does not",            60, MUST, 0, 0, "stale-if-error=30", REUSE_VALIDATE, "stale", false},
	{"reload",                                    10, 0, 0, 60, "no-cache", REUSE_VALIDATE, "request", false},
	{"reload of an immutable (RFC 8246: a signal)", 10, TERMS_IMMUTABLE, 0, 60, "no-cache", REUSE_VALIDATE, "request", false},
	{"max-age=0",                                 10, 0, 0, 60, "max-age=0", REUSE_VALIDATE, "request", true},
	{"max-age=0 of an immutable",                 10, TERMS_IMMUTABLE, 0, 60, "max-age=0", REUSE_FRESH, NULL, true},
	{"max-age=0 of a stale immutable",            60, TERMS_IMMUTABLE, 0, 60, "max-age=0", REUSE_VALIDATE, "request", true},
	{"max-age as old as it is",                   10, 0, 0, 0, "max-age=15", REUSE_FRESH, NULL, true},
	{"max-age younger than it is",                10, 0, 0, 0, "max-age=14", REUSE_VALIDATE, "request", true},
	{"max-age of what is stale and must be asked", 60, MUST, 0, 0, "max-age=0", REUSE_VALIDATE, "stale", false},
	{"min-fresh that it has",                     10, 0, 0, 0, "min-fresh=45", REUSE_FRESH, NULL, true},
	{"min-fresh that it has not",                 10, 0, 0, 0, "min-fresh=46", REUSE_VALIDATE, "request", true},
	{"max-stale",                                 60, 0, 0, 0, "max-stale=5", REUSE_STALE, NULL, false},
	{"max-stale, a second too late",              61, 0, 0, 0, "max-stale=5", REUSE_VALIDATE, "stale", false},
	{"max-stale of any age",                      99999, 0, 0, 0, "max-stale", REUSE_STALE, NULL, false},
	{"max-stale does not beat must-revalidate",   60, MUST, 0, 0, "max-stale", REUSE_VALIDATE, "stale", false},
	{"max-stale does not beat no-cache",          10, TERMS_NO_CACHE, 0, 0, "max-stale", REUSE_VALIDATE, "stale", false},
	{"contradicted: validated, though it was fresh", 10, CONTRADICTED, 30, 30, "", REUSE_VALIDATE, "stale", false},
	{"contradicted: it stands in for nothing",    60, CONTRADICTED, 30, 30, "", REUSE_VALIDATE, "stale", false},
	{"whatever the client allows",                60, CONTRADICTED, 0, 0, "max-stale, stale-if-error=30", REUSE_VALIDATE, "stale", false},
	{"no-store in the request",                   10, 0, 0, 0, "no-store", REUSE_NEVER, "request", false},
	{"a clock that went back",                    -50, 0, 0, 0, "", REUSE_FRESH, NULL, true},
	{"by an hour",                                -3600, 0, 0, 0, "", REUSE_FRESH, NULL, true},
	{"by years: nobody knows how old it is",      -99999999, 0, 0, 30, "", REUSE_VALIDATE, "stale", true},
	/* clang-format on */
};

START_TEST(reuse)
{
	const char *says = reuses[_i].says;
	char request[256];
	struct request_cc cc;
	struct terms t = {
		.response_time = NOW,
		.initial_age = 5,
		.lifetime = 60,
		.flags = reuses[_i].flags,
		.stale_while_revalidate = reuses[_i].revalidate,
		.stale_if_error = reuses[_i].error,
	};
	snprintf(request, sizeof request, "GET / HTTP/1.1\nHost: h\nCache-Control: %s",
		 reuses[_i].asked);
	struct request *r = request_of(request);
	request_cc_parse(&r->fields, &cc);
	struct reuse_verdict v = policy_reuse(&t, r, &cc, NOW + reuses[_i].after);
	ck_assert_msg(v.reuse == reuses[_i].want, "%s: %d", says, v.reuse);
	ck_assert_msg((v.fwd == NULL) == (reuses[_i].fwd == NULL), "%s", says);
	ck_assert_msg(!v.fwd || strcmp(v.fwd, reuses[_i].fwd) == 0, "%s: %s", says, v.fwd);
	ck_assert_msg(v.stale_on_error == reuses[_i].on_error, "%s: on error", says);
	int64_t known = 5 + (reuses[_i].after > 0 ? reuses[_i].after : 0);
	ck_assert_int_eq(v.age, reuses[_i].after < -3600 ? 60 : known);
	ck_assert_int_eq(v.ttl, 60 - v.age);
}
END_TEST

START_TEST(which_statuses_speak_of_the_page)
{
	static const int page[] = {200, 204, 301, 302, 307, 401, 403, 404, 410, 451};
	static const int else_[] = {206, 304, 407, 408, 412, 416, 421,
				    425, 429, 431, 500, 503, 511};
	for (size_t i = 0; i < sizeof page / sizeof *page; i++)
		ck_assert_msg(policy_is_word_on_page(page[i]), "%d", page[i]);
	for (size_t i = 0; i < sizeof else_ / sizeof *else_; i++)
		ck_assert_msg(!policy_is_word_on_page(else_[i]), "%d", else_[i]);
}
END_TEST

START_TEST(what_is_outdated_stays_so_whatever_the_clock)
{
	static const int64_t when[] = {10, 0, -50, -99999999};
	struct request *r = request_of("GET / HTTP/1.1\nHost: h");
	struct request_cc cc = {0};
	for (int i = 0; i < 4; i++) {
		struct terms t = {.response_time = NOW, .initial_age = 5, .lifetime = 60};
		terms_outdate(&t, NOW + when[i]);
		for (int64_t later = 0; later < 200000000; later = 7 * later + 1)
			for (int back = 0; back < 2; back++) {
				int64_t now = NOW + when[i] + (back ? -later : later);
				ck_assert_int_eq(policy_reuse(&t, r, &cc, now).reuse,
						 REUSE_VALIDATE);
			}
	}
}
END_TEST

/* -- the rest of section 4 --------------------------------------------------------- */

static const struct {
	const char *says, *request;
	enum lookup want;
} lookups[] = {
	/* clang-format off */
	{"GET",                                   "GET / HTTP/1.1\nHost: h", LOOKUP_YES},
	{"HEAD",                                  "HEAD / HTTP/1.1\nHost: h", LOOKUP_YES},
	{"GET with conditions and a range",       "GET / HTTP/1.1\nHost: h\nIf-None-Match: \"a\"\nRange: bytes=0-1", LOOKUP_YES},
	{"POST",                                  "POST / HTTP/1.1\nHost: h", LOOKUP_NO},
	{"OPTIONS",                               "OPTIONS * HTTP/1.1\nHost: h", LOOKUP_NO},
	{"a GET with a body, which is in no key", "GET / HTTP/1.1\nHost: h\nContent-Length: 1", LOOKUP_NO},
	{"a GET with a chunked body",             "GET / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked", LOOKUP_NO},
	{"a GET with an empty body",              "GET / HTTP/1.1\nHost: h\nContent-Length: 0", LOOKUP_YES},
	{"If-Match is for the origin (4.3.2)",    "GET / HTTP/1.1\nHost: h\nIf-Match: \"a\"", LOOKUP_NO},
	{"so is If-Unmodified-Since",             "GET / HTTP/1.1\nHost: h\nIf-Unmodified-Since: x", LOOKUP_NO},
	/* clang-format on */
};

START_TEST(lookup)
{
	ck_assert_msg(policy_lookup(request_of(lookups[_i].request)) == lookups[_i].want, "%s",
		      lookups[_i].says);
}
END_TEST

START_TEST(unsafe_methods_invalidate_when_they_succeed)
{
	ck_assert(policy_invalidates(METHOD_POST, 200));
	ck_assert(policy_invalidates(METHOD_PUT, 204));
	ck_assert(policy_invalidates(METHOD_DELETE, 302));
	ck_assert(policy_invalidates(METHOD_OTHER, 200));
	ck_assert(!policy_invalidates(METHOD_POST, 500));
	ck_assert(!policy_invalidates(METHOD_POST, 404));
	ck_assert(!policy_invalidates(METHOD_POST, 103));
	ck_assert(!policy_invalidates(METHOD_GET, 200));
	ck_assert(!policy_invalidates(METHOD_OPTIONS, 200));
}
END_TEST

#define LM1 "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT"
#define LM2 "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
static const struct {
	const char *says, *stored, *fresh;
	bool want;
} validations[] = {
	/* clang-format off */
	{"the same tag",                             "ETag: \"a\"", "ETag: \"a\"", true},
	{"another tag: not of ours",                 "ETag: \"a\"", "ETag: \"b\"", false},
	{"weakened on the way",                      "ETag: \"a\"", "ETag: W/\"a\"", true},
	{"the tag decides, not the date",            "ETag: \"a\"\n" LM1, "ETag: \"a\"\n" LM2, true},
	{"no tag repeated",                          "ETag: \"a\"", "Date: x", true},
	{"the same date",                            LM1, LM1, true},
	{"another date",                             LM1, LM2, false},
	{"no date repeated",                         LM1, "", true},
	{"a tag that we do not know",                LM1, "ETag: \"a\"", false},
	{"a tag that we do not know, and our date",  LM1, "ETag: \"a\"\n" LM1, true},
	{"no validators at all",                     "", "", true},
	/* clang-format on */
};

/* Beside those of fields_of. */
static const struct fields *
stored_fields(const char *lines)
{
	char text[256];
	snprintf(text, sizeof text, "HTTP/1.1 200 OK\n%s", lines);
	return &response_of(text)->fields;
}

START_TEST(not_modified)
{
	const struct fields *stored = stored_fields(validations[_i].stored);
	const struct fields *fresh = fields_of(validations[_i].fresh);
	ck_assert_msg(policy_304_is_of(stored, fresh, NOW) == validations[_i].want, "%s",
		      validations[_i].says);
}
END_TEST

static const struct {
	const char *says, *stored, *head;
	enum head_says want;
} heads[] = {
	/* clang-format off */
	{"nothing to compare",          "", "Cache-Control: max-age=9", HEAD_SAYS_SAME},
	{"the same tag and length",     "ETag: \"a\"", "ETag: \"a\"\nContent-Length: 10", HEAD_SAYS_SAME},
	{"another tag",                 "ETag: \"a\"", "ETag: \"b\"", HEAD_SAYS_CHANGED},
	{"a tag where there was none",  "", "ETag: \"b\"", HEAD_SAYS_CHANGED},
	{"another date",                LM1, LM2, HEAD_SAYS_CHANGED},
	{"another length",              "ETag: \"a\"", "ETag: \"a\"\nContent-Length: 11", HEAD_SAYS_CHANGED},
	{"a length that is none",       "", "Content-Length: x", HEAD_SAYS_CHANGED},
	/* clang-format on */
};

START_TEST(head)
{
	const struct fields *stored = stored_fields(heads[_i].stored);
	ck_assert_msg(policy_head(stored, 10, fields_of(heads[_i].head)) == heads[_i].want, "%s",
		      heads[_i].says);
}
END_TEST

/* -- what one client asks changes nothing for others ------------------------------------------- */

static const struct {
	const char *says, *lines;
	enum client_directives how;
	bool no_cache, reload, max_age, only_if_cached;
} advice[] = {
	/* clang-format off */
	{"ignored",                   "Cache-Control: no-cache, max-age=0, min-fresh=9", CLIENT_IGNORE, false, false, false, false},
	{"also in its old form",      "Pragma: no-cache", CLIENT_IGNORE, false, false, false, false},
	{"what concerns him alone is not", "Cache-Control: no-cache, only-if-cached", CLIENT_IGNORE, false, false, false, true},
	{"a wish",                    "Cache-Control: no-cache", CLIENT_VALIDATE, false, true, false, false},
	{"max-age is one",            "Cache-Control: max-age=5", CLIENT_VALIDATE, false, true, false, false},
	{"min-fresh is one",          "Cache-Control: min-fresh=5", CLIENT_VALIDATE, false, true, false, false},
	{"Pragma is one",             "Pragma: no-cache", CLIENT_VALIDATE, false, true, false, false},
	{"max-stale is none",         "Cache-Control: max-stale", CLIENT_VALIDATE, false, false, false, false},
	{"obeyed",                    "Cache-Control: no-cache, max-age=0", CLIENT_OBEY, true, false, true, false},
	/* clang-format on */
};

START_TEST(client_directive)
{
	struct request_cc cc;
	request_cc_parse(fields_of(advice[_i].lines), &cc);
	policy_advise(advice[_i].how, &cc);
	ck_assert_msg(cc.no_cache == advice[_i].no_cache && cc.reload == advice[_i].reload &&
			      cc.max_age.known == advice[_i].max_age &&
			      (advice[_i].how == CLIENT_OBEY || !cc.min_fresh.known) &&
			      cc.only_if_cached == advice[_i].only_if_cached &&
			      cc.may_hit == (advice[_i].how != CLIENT_OBEY),
		      "%s", advice[_i].says);
}
END_TEST

/* RFC 9111 5.2.1.5 forbids to keep the answer, not to use what is kept. */
START_TEST(no_store_is_answered_by_what_is_fresh)
{
	struct terms t = {.response_time = NOW, .lifetime = 60, .status = 200};
	struct request_cc cc;
	request_cc_parse(fields_of("Cache-Control: no-store"), &cc);
	policy_advise(CLIENT_IGNORE, &cc);
	struct request *r = request_of("GET / HTTP/1.1\nHost: h");
	ck_assert_int_eq(policy_reuse(&t, r, &cc, NOW + 1).reuse, REUSE_FRESH);
	ck_assert_int_eq(policy_reuse(&t, r, &cc, NOW + 61).reuse, REUSE_NEVER);
	t.flags = TERMS_NO_CACHE;
	ck_assert_int_eq(policy_reuse(&t, r, &cc, NOW + 1).reuse, REUSE_NEVER);
}
END_TEST

START_TEST(a_wish_for_news_is_a_validation_that_may_fail)
{
	struct terms t = {.response_time = NOW, .lifetime = 60, .status = 200};
	struct request_cc cc = {.reload = true};
	struct reuse_verdict v = policy_reuse(&t, NULL, &cc, NOW + 5);
	ck_assert_int_eq(v.reuse, REUSE_VALIDATE);
	ck_assert_str_eq(v.fwd, "request");
	ck_assert(v.stale_on_error); /* the copy is fresh: no error takes it away */
}
END_TEST

static const struct {
	const char *says, *lines;
	enum client_directives how;
	uint32_t flags;
	int64_t after;
	bool want;
} guesses[] = {
	/* clang-format off */
	{"a guess is not for who wants news",      "Cache-Control: no-cache", CLIENT_IGNORE, TERMS_HEURISTIC, 1, true},
	{"nor for max-age=0",                      "Cache-Control: max-age=0", CLIENT_IGNORE, TERMS_HEURISTIC, 1, true},
	{"nor for the old form",                   "Pragma: no-cache", CLIENT_VALIDATE, TERMS_HEURISTIC, 1, true},
	{"within the second it was asked about",   "Cache-Control: no-cache", CLIENT_IGNORE, TERMS_HEURISTIC, 0, false},
	{"what came while the clock was wrong",    "Cache-Control: no-cache", CLIENT_IGNORE, TERMS_HEURISTIC, -9, true},
	{"what the origin said is another matter", "Cache-Control: no-cache", CLIENT_IGNORE, 0, 1, false},
	{"also that it never changes",             "Cache-Control: no-cache", CLIENT_IGNORE, TERMS_HEURISTIC | TERMS_IMMUTABLE, 1, false},
	{"who wants nothing of it gets it",        "", CLIENT_IGNORE, TERMS_HEURISTIC, 1, false},
	{"also who sets a limit",                  "Cache-Control: max-age=5", CLIENT_IGNORE, TERMS_HEURISTIC, 1, false},
	{"obeyed, it is no matter of guesses",     "Cache-Control: no-cache", CLIENT_OBEY, TERMS_HEURISTIC, 1, false},
	/* clang-format on */
};

START_TEST(guess)
{
	struct terms t = {.response_time = NOW, .lifetime = 60, .flags = guesses[_i].flags};
	struct request_cc cc;
	request_cc_parse(fields_of(guesses[_i].lines), &cc);
	policy_advise(guesses[_i].how, &cc);
	ck_assert_msg(policy_is_guess_refused(&t, &cc, NOW + guesses[_i].after) == guesses[_i].want,
		      "%s", guesses[_i].says);
}
END_TEST

UNIT("policy", LOOP(may_be_stored, answers), LOOP(what_settings_allow, by_setting),
     TEST(who_waits_long_may_have_it), TEST(guessed_statuses), LOOP(terms, kept),
     TEST(an_error_does_not_stand_in_for_an_error), LOOP(reuse, reuses),
     TEST(which_statuses_speak_of_the_page), TEST(what_is_outdated_stays_so_whatever_the_clock),
     LOOP(lookup, lookups), TEST(unsafe_methods_invalidate_when_they_succeed),
     LOOP(not_modified, validations), LOOP(head, heads), LOOP(client_directive, advice),
     LOOP(guess, guesses), TEST(no_store_is_answered_by_what_is_fresh),
     TEST(no_store_is_answered_by_what_is_fresh), TEST(no_store_is_answered_by_what_is_fresh),
     TEST(a_wish_for_news_is_a_validation_that_may_fail))
