/* test_told.c - what a log of twice tells besides: what the cache did, purges, who waited for whom.
 * rooms: simulate serve config cache coding http base filter
 */
#include "config/config.h"
#include "proxy/simulate/joins.h"
#include "proxy/simulate/parse.h"
#include "proxy/simulate/ram_turn.h"
#include "proxy/simulate/screen.h"
#include "proxy/simulate/told.h"
#include "tests/kit/unit.h"

/* h hit, a asked, j joined, v validated, n nothing to store; "-": it says nothing of this kind. */
static const struct {
	const char *value, *says;
} values[] = {
	{"twice; hit; ttl=60; detail=ram", "h"},
	{"twice; fwd=uri-miss; fwd-status=200; detail=first-sight", "a"},
	{"twice; fwd=uri-miss; fwd-status=200; stored; collapsed; detail=on-disk", "aj"},
	{"twice; fwd=stale; fwd-status=304; detail=disk", "av"},
	{"twice; fwd=uri-miss; fwd-status=200; detail=not-storable", "an"},
	{"twice; fwd=bypass; fwd-status=200", "an"},
	{"twice;fwd=method", "an"},
	{"twice; detail=host", "n"},
	{"x ; hit ;ttl=1", "h"},
	{"x;", "n"},
	{"; ; =; hit=", "h"},
	{"HIT", "-"},
	{"", "-"},
};

START_TEST(cache_status)
{
	struct told t = told_read(str_of(values[_i].value));
	char is[8], *to = is;
	if (!t.is_known)
		*to++ = '-';
	*to = t.hit ? 'h' : '?';
	to += t.hit;
	*to = t.asked ? 'a' : '?';
	to += t.asked;
	*to = t.joined ? 'j' : '?';
	to += t.joined;
	*to = t.validated ? 'v' : '?';
	to += t.validated;
	*to = t.stored_not ? 'n' : '?';
	to += t.stored_not;
	*to = '\0';
	ck_assert_str_eq(is, values[_i].says);
}
END_TEST

/* ---- lines, as the proxy writes them --------------------------------------------------------- */

static struct config config;
static struct screen *screen;
static struct visit visit;
static struct catalogue_news news;

static void
start(void)
{
	config_init(&config);
	screen = screen_create(&(struct screen_options){.config = &config});
}

static void
stop(void)
{
	screen_destroy(&screen);
	config_fini(&config);
}

#define LINE(request, rest)                                     \
	"192.0.2.1 - - [20/Nov/2026:15:04:05 +0000] \"" request \
	" HTTP/1.1\" 200 1024 \"-\" \"curl\" host=\"a.test\" cache=" rest "\n"
#define HIT  "\"twice; hit; ttl=60; detail=ram\" head_us=1 total_us=1"
#define MISS "\"twice; fwd=uri-miss; fwd-status=200; detail=first-sight\" head_us=1 total_us=1"

static enum screening
see(const char *line)
{
	static struct parsing p;
	struct shape shape = {.format = line[0] == '{' ? FORMAT_JSON : FORMAT_CLF};
	struct entry e;
	parse_fini(&p);
	parse_init(&p, &shape, NULL);
	ck_assert_int_eq(parse_line(&p, str_of(line), &e), PARSED_ENTRY);
	return screen_entry(screen, &e, &visit, &news);
}

static const struct {
	const char *says, *line;
	enum visit_kind kind;
	bool has_life, joined, fetched;
} lines[] = {
	{"a hit", LINE("GET /a", HIT), VISIT_WHOLE, false, false, false},
	{"a miss that may be stored", LINE("GET /a", MISS " life=600"), VISIT_WHOLE, true, false,
	 true},
	{"the same in JSON",
	 "{\"time\":\"2026-11-20T15:04:05Z\",\"host\":\"a.test\",\"method\":\"GET\",\"target\":\"/a\","
	 "\"status\":200,\"cache\":\"twice; fwd=uri-miss\",\"life\":600}",
	 VISIT_WHOLE, true, false, true},
	{"one that waited", LINE("GET /a", "\"twice; fwd=uri-miss; collapsed\" life=5"),
	 VISIT_WHOLE, true, true, false},
	{"a POST", LINE("POST /a", "\"twice; fwd=method; fwd-status=200\""), VISIT_PASSED, false,
	 false, true},
	{"a HEAD of a stored object", LINE("HEAD /a", HIT), VISIT_HEAD, false, false, false},
	{"an answer for this client alone", LINE("GET /a", "\"twice; fwd=bypass\""), VISIT_PASSED,
	 false, false, true},
	{"an error made here", LINE("GET /a", "\"twice; detail=host\""), VISIT_PASSED, false, false,
	 false},
};

START_TEST(what_becomes_of_a_line)
{
	start();
	ck_assert_int_eq(see(lines[_i].line), SCREENING_TAKEN);
	ck_assert_msg(visit.kind == lines[_i].kind, "%s: %d", lines[_i].says, visit.kind);
	ck_assert_int_eq(news.has_life, lines[_i].has_life);
	ck_assert_int_eq(visit.joined, lines[_i].joined);
	ck_assert_int_eq(visit.fetched, lines[_i].fetched);
	stop();
}
END_TEST

START_TEST(variants_have_keys_of_their_own)
{
	start();
	see(LINE("GET /a", HIT));
	uint64_t plain = visit.key.hi;
	see(LINE("GET /a", HIT " var=01234567"));
	uint64_t one = visit.key.hi;
	see(LINE("GET /a", HIT " var=01234568"));
	ck_assert(visit.key.hi != one && one != plain && visit.key.hi != plain);
	see(LINE("GET /a", HIT " var=01234567"));
	ck_assert_uint_eq(visit.key.hi, one);
	stop();
}
END_TEST

/* A purge behind the first request of /x/a; does the second one hear of it? g gone, s softly, - not. */
static const struct {
	const char *says, *purge;
	char hears;
} purged[] = {
	{"its URL", LINE("PURGE http://a.test/x/a", "\"-\" purge=\"url\""), 'g'},
	{"its URL, by the method", LINE("PURGE /x/a", "\"twice; detail=x\" purge=\"url\""), 'g'},
	{"another URL", LINE("PURGE http://a.test/x/b", "\"-\" purge=\"url\""), '-'},
	{"softly", LINE("PURGE http://a.test/x/a", "\"-\" purge=\"soft-url\""), 's'},
	{"a prefix", LINE("PURGE http://a.test/x/", "\"-\" purge=\"prefix\""), 'g'},
	{"a prefix with a star", LINE("PURGE /x/*", "\"-\" purge=\"prefix\""), 'g'},
	{"another prefix", LINE("PURGE http://a.test/y/", "\"-\" purge=\"prefix\""), '-'},
	{"its host", LINE("PURGE a.test", "\"-\" purge=\"host\""), 'g'},
	{"a host that begins alike", LINE("PURGE a.tes", "\"-\" purge=\"host\""), '-'},
	{"all", LINE("PURGE *", "\"-\" purge=\"soft-all\""), 's'},
	{"a tag, which no line has", LINE("PURGE t", "\"-\" purge=\"tag\""), '-'},
	{"nonsense", LINE("PURGE *", "\"-\" purge=\"soft-\""), '-'},
};

START_TEST(requests_hear_of_purges)
{
	struct heard h = {0};
	bool softly;
	start();
	see(LINE("GET /x/a", HIT));
	ck_assert(!purges_tell(&h, news.purged, &softly) && !softly);
	ck_assert_int_eq(see(purged[_i].purge), SCREENING_PURGE);
	see(LINE("GET /x/a", HIT));
	bool gone = purges_tell(&h, news.purged, &softly);
	char hears = gone ? 'g' : softly ? 's' : '-';
	ck_assert_msg(hears == purged[_i].hears, "%s: %c", purged[_i].says, hears);
	see(LINE("GET /x/a", HIT));
	ck_assert(!purges_tell(&h, news.purged, &softly) && !softly); /* once */
	stop();
}
END_TEST

START_TEST(a_post_that_failed_invalidates_nothing)
{
	struct heard h = {0};
	bool softly;
	start();
	see("192.0.2.1 - - [20/Nov/2026:15:04:05 +0000] \"POST /a HTTP/1.1\" 500 10 \"-\" \"-\" "
	    "host=\"a.test\" cache=\"twice; fwd=method\"");
	see(LINE("GET /a", HIT));
	ck_assert(!purges_tell(&h, news.purged, &softly));
	see(LINE("POST /a", "\"twice; fwd=method\""));
	see(LINE("GET /a", HIT));
	ck_assert(purges_tell(&h, news.purged, &softly));
	stop();
}
END_TEST

START_TEST(more_purges_than_are_kept_forget_the_oldest)
{
	struct purges *p = purges_create();
	for (uint64_t i = 0; i < 100000; i++)
		purges_add_url(p, i * 0x9e3779b97f4a7c15u, false);
	ck_assert_uint_eq(purges_find(p, 99999 * 0x9e3779b97f4a7c15u, STR("")).gone, 100000);
	for (int i = 0; i < 1000; i++)
		purges_add_prefix(p, STR("http://a.test/x"), true);
	ck_assert_uint_eq(purges_find(p, 5, STR("http://a.test/xy")).stale, 101000);
	ck_assert_uint_eq(purges_find(p, 5, STR("http://a.test/y")).stale, 0);
	purges_destroy(&p);
	ck_assert_ptr_null(p);
}
END_TEST

/* ---- one fetch for many ------------------------------------------------------------------------ */

START_TEST(who_waited_has_joined_whichever_line_comes_first)
{
	struct joins j = {0};
	struct visit leader = {.key = {7, 7}, .now_s = 10, .fetched = true};
	struct visit follower = {.key = {7, 7}, .now_s = 10, .joined = true};
	struct visit hit = {.key = {7, 7}, .now_s = 10};
	ck_assert(!joins_has(&j, &follower)); /* it is the first that is told of: it fetches */
	joins_note(&j, &follower);
	ck_assert(joins_has(&j, &follower));
	ck_assert(!joins_has(&j, &hit));
	ck_assert(joins_has(&j, &leader)); /* in its place */
	ck_assert(!joins_has(&j, &leader));
	leader.now_s = follower.now_s = 20;
	ck_assert(!joins_has(&j, &follower)); /* of another fetch */
	joins_note(&j, &leader);
	ck_assert(joins_has(&j, &follower));
	ck_assert(!joins_has(&j, &leader));
	joins_fini(&j);
}
END_TEST

START_TEST(ram_keeps_for_ever_until_it_is_full)
{
	struct ram_turn r = {.memory_bytes = 1000};
	ck_assert_int_ge(ram_turn_find(&r, 10), 1 << 30);
	for (uint32_t s = 11; s < 100; s++) {
		r.got += 100;
		ram_turn_find(&r, s);
	}
	ck_assert_int_ge(ram_turn_find(&r, 100), 9);
	ck_assert_int_le(ram_turn_find(&r, 100), 12);
	ck_assert_int_eq(ram_turn_find(&(struct ram_turn){0}, 5), 0);
}
END_TEST

UNIT("told", LOOP(cache_status, values), LOOP(what_becomes_of_a_line, lines),
     TEST(variants_have_keys_of_their_own), LOOP(requests_hear_of_purges, purged),
     TEST(a_post_that_failed_invalidates_nothing),
     TEST(more_purges_than_are_kept_forget_the_oldest),
     TEST(who_waited_has_joined_whichever_line_comes_first),
     TEST(ram_keeps_for_ever_until_it_is_full))
