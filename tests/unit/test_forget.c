/* test_forget.c - the order of things in time: each rule, the bound, crashes at every step, races.
 * rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/forget/forget.h"
#include "tests/kit/own_clock.h"
#include "tests/kit/own_disk.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static char dir[256];
static int dir_fd = -1;
static struct twice_seed seed;
static struct forget_options options;

static void
begin(void)
{
	twice_seed_init(&seed, "sixteen bytes and", 17);
	tmpdir_make(dir, sizeof dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	options = (struct forget_options){
		.dir_fd = dir_fd, .dir = dir, .seed = &seed, .log_bytes = 1 << 20};
}

static void
end(void)
{
	close(dir_fd);
	tmpdir_remove(dir);
}

static uint64_t oldest_now = 1;

static uint64_t
oldest(void *ctx)
{
	(void)ctx;
	return oldest_now;
}

static struct forget *
open_forget(enum forget_found want)
{
	struct forget *f;
	ck_assert_int_eq(forget_open(&f, &options), want);
	ck_assert_int_eq(forget_begin(f, oldest, NULL), 0);
	return f;
}

static struct twice_key_hash
hash_of(const char *key)
{
	return twice_key_hash_of(&seed, key, strlen(key));
}

static enum forget_word
judge(struct forget *f, const char *key, const char *tags, uint64_t since)
{
	uint64_t now;
	uint32_t stale_s;
	uint32_t hashes[64];
	unsigned n = 0;
	char text[1024], *word, *rest = text;
	snprintf(text, sizeof text, "%s", tags);
	while ((word = strsep(&rest, " ")))
		if (*word)
			hashes[n++] = htole32(forget_tag(f, str_of(word)));
	struct forget_thing o = {hash_of(key), str_of(key), {(const char *)hashes, 4 * n}};
	return forget_judge(f, &o, since, &now, &stale_s);
}

static bool
is_gone(struct forget *f, const char *key, uint64_t since)
{
	return judge(f, key, "", since) == FORGET_GONE;
}

static bool
covers_fetch(struct forget *f, const char *key, uint64_t since)
{
	struct forget_thing o = {hash_of(key), str_of(key), {NULL, 0}};
	uint64_t now;
	return forget_covers_fetch(f, &o, since, &now);
}

static uint64_t
add(struct forget *f, enum forget_kind kind, const char *key)
{
	return forget_add(f, kind, hash_of(key), str_of(key), FORGET_ORDERED);
}

/* ---- rules --------------------------------------------------------------------------------- */

#define PAGE "http://example.com/a?b"
static void
wait_shed(struct forget *f, uint64_t most)
{
	struct forget_stats s;
	unit_wait_until((forget_stats(f, &s), s.lasting + s.passing <= most));
}

struct rule {
	const char *says;
	enum forget_kind kind;
	const char *name, *key;
	bool covers;
};
static const struct rule rules[] = {
	{"a URL covers itself", FORGET_URL, PAGE, PAGE, true},
	{"its variants", FORGET_URL, PAGE, PAGE "\n#0123\naccept:x", true},
	{"its slices", FORGET_URL, PAGE, PAGE "\n%slice 9 0 x", true},
	{"its keys with headers", FORGET_URL, PAGE, PAGE "\nx-device=phone", true},
	{"asked for by one of them, too", FORGET_URL, PAGE "\nx-device=", PAGE "\nx-device=a",
	 true},
	{"no other query", FORGET_URL, PAGE, "http://example.com/a?c", false},
	{"no other scheme", FORGET_URL, PAGE, "https://example.com/a?b", false},
	{"no longer path", FORGET_URL, "http://example.com/a", PAGE, false},
	{"a host covers its URLs", FORGET_HOST, "example.com", PAGE, true},
	{"of all schemes", FORGET_HOST, "example.com", "https://example.com/", true},
	{"with variants", FORGET_HOST, "example.com", PAGE "\n#1", true},
	{"without a path", FORGET_HOST, "example.com", "http://example.com?x", true},
	{"no host within it", FORGET_HOST, "example.com", "http://www.example.com/", false},
	{"no other port", FORGET_HOST, "example.com", "http://example.com:8080/", false},
	{"with a port, that port", FORGET_HOST, "a:81", "http://a:81/x", true},
	{"no URL that names it in its query", FORGET_HOST, "b", "http://a/?http://b/", false},
	{"all covers everything", FORGET_ALL, "", PAGE, true},
	{"a key covers itself", FORGET_KEY, PAGE, PAGE, true},
	{"and no variant of it", FORGET_KEY, PAGE, PAGE "\n#1", false},
	{"a variant covers itself", FORGET_KEY, PAGE "\n#1", PAGE "\n#1", true},
	{"and not its URL", FORGET_KEY, PAGE "\n#1", PAGE, false},
	{"a prefix covers what begins so", FORGET_PREFIX, "http://a/b/", "http://a/b/c", true},
	{"and itself", FORGET_PREFIX, "http://a/b/", "http://a/b/", true},
	{"deeper, with variants and a query", FORGET_PREFIX, "http://a/b/", "http://a/b/c/d?e\n#1",
	 true},
	{"slices too", FORGET_PREFIX, "http://a/b/", "http://a/b/c\n%slice 9 0 x", true},
	{"not its directory without the slash", FORGET_PREFIX, "http://a/b/", "http://a/b", false},
	{"no neighbour", FORGET_PREFIX, "http://a/b/", "http://a/bc/", false},
	{"no shorter path", FORGET_PREFIX, "http://a/b/", "http://a/", false},
	{"no other host", FORGET_PREFIX, "http://a/b/", "http://aa/b/", false},
	{"no other port", FORGET_PREFIX, "http://a/b/", "http://a:81/b/", false},
	{"no other scheme", FORGET_PREFIX, "http://a/b/", "https://a/b/c", false},
	{"it need not end at a slash", FORGET_PREFIX, "http://a/b/20", "http://a/b/2026.jpg", true},
	{"nor with a whole name", FORGET_PREFIX, "http://a/b/20", "http://a/b/2", false},
	{"nothing behind the question mark", FORGET_PREFIX, "http://a/b/", "http://a/?http://a/b/",
	 false},
	{"the root covers the scheme and host", FORGET_PREFIX, "http://a/", "http://a/x", true},
	{"at a length that is a multiple of 64", FORGET_PREFIX,
	 "http://a/3456789012345678901234567890123456789012345678901234567/",
	 "http://a/3456789012345678901234567890123456789012345678901234567/x", true},
};

static const struct {
	const char *tags; /* of the key */
	struct rule rule;
} tagged[] = {
	{"news", {"a tag covers what has it", FORGET_TAG, "news", PAGE, true}},
	{"a b news c", {"among others", FORGET_TAG, "news", PAGE "\n#1", true}},
	{"nEWS", {"in capital letters", FORGET_TAG, "News", PAGE, true}},
	{"new newss", {"not what has others", FORGET_TAG, "news", PAGE, false}},
	{"", {"nor what has none", FORGET_TAG, "news", PAGE, false}},
	{"", {"nor a URL of that name", FORGET_TAG, PAGE, PAGE, false}},
};

static void
try_rule(const struct rule *r, const char *tags, bool soft)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f), now;
	ck_assert(!is_gone(f, r->key, before));
	uint64_t at =
		soft ? forget_add_softly(f, r->kind, str_of(r->name)) : add(f, r->kind, r->name);
	ck_assert_uint_eq(at, before + 1);
	for (int again = 0; again < 2; again++) {
		enum forget_word word = judge(f, r->key, tags, before);
		ck_assert_msg(word == (!r->covers ? FORGET_CLEAN
				       : soft	  ? FORGET_STALE
						  : FORGET_GONE),
			      "%s", r->says);
		ck_assert_msg(judge(f, r->key, tags, at) == FORGET_CLEAN, "%s: what came after it",
			      r->says);
		struct forget_thing other = {hash_of("x:other"), STR_INIT("http://o/"), {NULL, 0}};
		uint32_t stale_s;
		ck_assert_int_eq(forget_judge(f, &other, at, &now, &stale_s), FORGET_CLEAN);
		ck_assert_uint_eq(now, forget_now(f));
		ck_assert_int_eq(forget_wait(f, at), 0);
		forget_close(&f);
		f = open_forget(FORGET_KEPT); /* the same after a restart */
		ck_assert_uint_gt(forget_now(f), at);
	}
	forget_close(&f);
	end();
}

START_TEST(rule)
{
	try_rule(&rules[_i], "", false);
	if (rules[_i].kind != FORGET_KEY)
		try_rule(&rules[_i], "", true);
}
END_TEST

START_TEST(tagged_rule)
{
	try_rule(&tagged[_i].rule, tagged[_i].tags, false);
	try_rule(&tagged[_i].rule, tagged[_i].tags, true);
}
END_TEST

START_TEST(what_is_gone_is_not_only_stale)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f);
	forget_add_softly(f, FORGET_TAG, STR("t"));
	uint64_t between = forget_now(f);
	add(f, FORGET_TAG, "t");
	forget_add_softly(f, FORGET_ALL, STR(""));
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(judge(f, PAGE, "t", before), FORGET_GONE);
		ck_assert_int_eq(judge(f, PAGE, "t", between), FORGET_GONE);
		ck_assert_int_eq(judge(f, PAGE, "t", between + 1), FORGET_STALE);
		ck_assert_int_eq(judge(f, PAGE, "t", between + 2), FORGET_CLEAN);
		ck_assert_int_eq(judge(f, PAGE, "", before), FORGET_STALE);
		ck_assert(covers_fetch(f, PAGE, before)); /* which is not stored at all */
		forget_close(&f);
		f = open_forget(FORGET_KEPT);
	}
	forget_close(&f);
	end();
}
END_TEST

START_TEST(the_first_of_several_says_since_when)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	struct forget_thing o = {hash_of(PAGE), STR(PAGE), {NULL, 0}};
	uint64_t before = forget_now(f), now;
	uint32_t since_s, late_s = (uint32_t)time(NULL);
	forget_add_softly(f, FORGET_HOST, STR("example.com"));
	ck_assert_int_eq(forget_judge(f, &o, before, &now, &since_s), FORGET_STALE);
	ck_assert_uint_ge(since_s, late_s);
	ck_assert_uint_le(since_s, late_s + 2);
	forget_close(&f);
	end();
}
END_TEST

START_TEST(many_soft_ones_beyond_the_bound_leave_everything_stale_not_gone)
{
	enum { N = 3000 };
	begin();
	log_set_level(LOG_ERROR);
	options.log_bytes = 16 * 8192;
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f), at = 0;
	char tag[64];
	for (int i = 0; i < N; i++) {
		snprintf(tag, sizeof tag, "t%d", i);
		at = forget_add_softly(f, FORGET_TAG, str_of(tag));
		if (i % 100 == 99)
			ck_assert_int_eq(forget_wait(f, at), 0);
	}
	wait_shed(f, 1512);
	for (int again = 0; again < 2; again++) {
		struct forget_stats s;
		forget_stats(f, &s);
		ck_assert(again || s.shed > 1000);
		for (int i = 0; i < N; i++) {
			snprintf(tag, sizeof tag, "t%d", i);
			ck_assert_int_eq(judge(f, PAGE, tag, before), FORGET_STALE);
		}
		ck_assert_int_eq(judge(f, PAGE, tag, at), FORGET_CLEAN);
		ck_assert_int_eq(judge(f, PAGE, "other", before), FORGET_STALE); /* too much */
		ck_assert_int_eq(judge(f, PAGE, "other", at - 10), FORGET_CLEAN);
		forget_close(&f);
		f = open_forget(FORGET_KEPT);
	}
	forget_close(&f);
	end();
}
END_TEST

START_TEST(times_are_never_used_twice)
{
	begin();
	uint64_t last = 0;
	for (int i = 0; i < 5; i++) {
		struct forget *f = open_forget(i ? FORGET_KEPT : FORGET_MISSING);
		ck_assert_uint_gt(forget_now(f), last);
		last = forget_add(f, FORGET_URL, hash_of("http://a/"), STR("http://a/"),
				  i & 1 ? FORGET_ORDERED : FORGET_PASSING);
		forget_close(&f);
	}
	end();
}
END_TEST

START_TEST(what_passes_is_for_fetches_and_is_not_kept)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	struct forget_stats s;
	uint64_t before = forget_now(f);
	bool clean;
	char tags[4];
	le_put32(tags, forget_tag(f, STR("season")));
	struct forget_thing o = {hash_of(PAGE), STR(PAGE), {tags, sizeof tags}};
	uint64_t at = forget_add_own(f, FORGET_URL, &o, FORGET_PASSING, before, &clean);
	ck_assert(clean);
	ck_assert(covers_fetch(f, PAGE, before));
	ck_assert(!covers_fetch(f, PAGE, at));
	forget_stats(f, &s);
	ck_assert(s.lasting == 0 && s.passing == 1 && s.sound);
	/* A caller that forgets learns whether somebody else did so before. */
	forget_add_own(f, FORGET_URL, &o, FORGET_ORDERED, before, &clean);
	ck_assert(!clean);
	forget_stats(f, &s);
	ck_assert(s.lasting == 1 && s.passing == 0);
	/* Also where only a tag of the answer says so. */
	before = forget_now(f);
	forget_add(f, FORGET_TAG, (struct twice_key_hash){0}, STR("other"), FORGET_ORDERED);
	forget_add_own(f, FORGET_KEY, &o, FORGET_ORDERED, before, &clean);
	ck_assert(clean);
	before = forget_now(f);
	forget_add(f, FORGET_TAG, (struct twice_key_hash){0}, STR("Season"), FORGET_ORDERED);
	forget_add_own(f, FORGET_KEY, &o, FORGET_ORDERED, before, &clean);
	ck_assert(!clean);
	forget_close(&f);
	end();
}
END_TEST

START_TEST(works_in_memory_alone)
{
	begin();
	options.dir_fd = -1;
	options.dir = NULL;
	struct forget *f = open_forget(FORGET_KEPT);
	uint64_t before = forget_now(f);
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, PAGE)), 0);
	ck_assert(is_gone(f, PAGE, before) && forget_is_sound_at(f, 0));
	forget_close(&f);
	end();
}
END_TEST

START_TEST(a_damaged_log_is_said_to_be_lost)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	for (int i = 0; i < 10; i++)
		add(f, FORGET_URL, PAGE);
	forget_close(&f);
	int fd = openat(dir_fd, "purges", O_RDWR);
	ck_assert_int_eq(pwrite(fd, "damaged.", 8, 70), 8); /* one copy: nothing is lost */
	f = open_forget(FORGET_KEPT);
	ck_assert(is_gone(f, PAGE, 1ull << 40));
	forget_close(&f);
	close(fd);
	fd = openat(dir_fd, "purges", O_RDWR);
	ck_assert_int_eq(pwrite(fd, "damaged.", 8, 70), 8);
	ck_assert_int_eq(pwrite(fd, "damaged.", 8, 4096 + 70), 8);
	close(fd);
	f = open_forget(FORGET_LOST);
	forget_close(&f);
	twice_seed_init(&seed, "another sixteen bytes", 21);
	f = open_forget(FORGET_LOST); /* somebody else's */
	forget_close(&f);
	end();
}
END_TEST

/* A log with one entry, of the first start. */
static void
write_log(uint64_t at)
{
	struct purge_log l = {.ops = &diskio_system, .dir_fd = dir_fd, .fd = -1};
	struct purge_head head = {
		.id = 1, .starts = 1, .fingerprint = twice_seed_fingerprint(&seed)};
	struct purge_entry e = {.at = at, .hash = hash_of(PAGE), .kind = FORGET_URL};
	ck_assert_int_eq(purge_log_rewrite(&l, &head, purge_log_bytes(1), &e, 1), 0);
	purge_log_close(&l);
}

static const struct {
	const char *says;
	uint64_t at;
	enum forget_found found;
} log_times[] = {
	{"the first of a start", UINT64_C(1) << 40 | 1, FORGET_KEPT},
	{"the last of it", (UINT64_C(2) << 40) - 1, FORGET_KEPT},
	{"no time at all", 0, FORGET_LOST},
	{"of a start that was not yet", UINT64_C(2) << 40, FORGET_LOST},
	{"the end of time", UINT64_MAX, FORGET_LOST},
};

START_TEST(a_log_tells_of_the_past_alone)
{
	begin();
	write_log(log_times[_i].at);
	struct forget *f = open_forget(log_times[_i].found);
	ck_assert(is_gone(f, PAGE, UINT64_C(1) << 40) == (log_times[_i].found == FORGET_KEPT));
	ck_assert(!is_gone(f, PAGE, forget_now(f)));
	forget_close(&f);
	end();
}
END_TEST

/* ---- the bound ----------------------------------------------------------------------------- */

static const char *
url_of(const char *host, int i)
{
	static char text[96];
	snprintf(text, sizeof text, "http://%s/%d", host, i);
	return text;
}

/* Purges by tag name nothing that they could be merged by. */
START_TEST(beyond_the_bound_too_much_is_forgotten_and_never_too_little)
{
	enum { N = 3000 };
	begin();
	log_set_level(LOG_ERROR);
	options.log_bytes = 16 * 8192; /* 16 pages: 1,512 entries are kept */
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f), at[N];
	char tag[64];
	for (int i = 0; i < N; i++) {
		snprintf(tag, sizeof tag, "t%d", i);
		at[i] = add(f, FORGET_TAG, tag);
		if (i % 500 == 499)
			ck_assert_int_eq(forget_wait(f, at[i]), 0);
	}
	wait_shed(f, 1512);
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < N; i++) {
			snprintf(tag, sizeof tag, "t%d", i);
			ck_assert_int_eq(judge(f, PAGE, tag, before), FORGET_GONE);
			ck_assert_int_eq(judge(f, PAGE, tag, at[i] - 1), FORGET_GONE);
		}
		ck_assert_int_eq(judge(f, PAGE, tag, at[N - 1]), FORGET_CLEAN);
		ck_assert(is_gone(f, "http://other/", before)); /* too much */
		ck_assert(!is_gone(f, "http://other/", at[N - 1] - 10));
		struct forget_stats s;
		forget_stats(f, &s);
		ck_assert(again || s.shed > 1000);
		ck_assert_uint_le(s.log_bytes, options.log_bytes);
		forget_close(&f);
		f = open_forget(FORGET_KEPT);
	}
	forget_close(&f);
	end();
}
END_TEST

/* Before that, those that name a host are merged, of the host that has most: all at once, as 10,000 URLs of one
 * order may be, or a few at a time. flat: one row after the other. */
START_TEST(purges_of_many_urls_become_one_of_their_host)
{
	enum { N = 5000, FEW = 15 };
	begin();
	log_set_level(LOG_ERROR);
	options.log_bytes = 16 * 8192;
	struct forget *f = open_forget(FORGET_MISSING);
	struct forget_stats s;
	uint64_t before = forget_now(f), few, last = 0;
	for (int i = 0; i < FEW; i++)
		add(f, FORGET_URL, url_of("few", i));
	few = forget_now(f);
	for (int i = 0; i < N; i++) {
		enum forget_kind kind = i % 3 ? FORGET_URL : FORGET_PREFIX;
		last = _i ? forget_add_softly(f, kind, str_of(url_of("many", i)))
			  : add(f, kind, url_of("many", i));
		if (i % 100 == 0 && i < 2000)
			ck_assert_int_eq(forget_wait(f, last), 0);
	}
	unit_wait_until((forget_stats(f, &s), s.room > 1512 / 4));
	ck_assert_uint_eq(s.shed, 0);
	ck_assert_uint_gt(s.merged, N - 1512);
	ck_assert_int_eq(forget_wait(f, last), 0);
	for (int again = 0; again < 2; again++) {
		enum forget_word word = _i ? FORGET_STALE : FORGET_GONE;
		for (int i = 0; i < N; i++)
			ck_assert_int_eq(judge(f, url_of("many", i), "", before), word);
		ck_assert_int_eq(judge(f, url_of("many", -1), "", before), word); /* too much */
		ck_assert_int_eq(judge(f, url_of("many", N - 1), "", last), FORGET_CLEAN);
		for (int i = 0; i < FEW; i++)
			ck_assert(is_gone(f, url_of("few", i), before));
		ck_assert_int_eq(judge(f, url_of("few", 1), "", few), FORGET_CLEAN);
		ck_assert_int_eq(judge(f, url_of("few", FEW), "", before), FORGET_CLEAN);
		ck_assert_int_eq(judge(f, url_of("other", 1), "", before), FORGET_CLEAN);
		forget_close(&f);
		f = open_forget(FORGET_KEPT);
	}
	forget_close(&f);
	end();
}
END_TEST

static uint64_t
gather(struct forget *f, const char *url)
{
	return forget_add(f, FORGET_URL, hash_of(url), str_of(url), FORGET_GATHERED);
}

/* However small the log is: what clients change is forgotten, and nothing else is; purges keep their room. Behind a
 * restart, those that were too many for the log are not fresh. */
START_TEST(what_clients_change_costs_nobody_else_a_page)
{
	enum { N = 20000 };
	static uint64_t at[N];
	begin();
	log_set_level(LOG_ERROR);
	options.log_bytes = 16 * 8192;
	struct forget *f = open_forget(FORGET_MISSING);
	struct forget_stats s;
	uint64_t before = forget_now(f);
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, PAGE)), 0);
	for (int i = 0; i < N; i++)
		at[i] = gather(f, url_of("a", i));
	forget_stats(f, &s);
	ck_assert(s.shed == 0 && s.merged == 0 && s.room == 1511 && s.lasting == N + 1);
	for (int i = 0; i < N; i++)
		ck_assert(is_gone(f, url_of("a", i), at[i] - 1));
	ck_assert_int_eq(judge(f, url_of("a", N), "", before), FORGET_CLEAN);
	ck_assert_int_eq(judge(f, "http://other/", "", before), FORGET_CLEAN);
	forget_close(&f);
	f = open_forget(FORGET_KEPT);
	ck_assert(is_gone(f, PAGE, before)); /* it was purged */
	for (int i = 0; i < N; i++)
		ck_assert_int_ne(judge(f, url_of("a", i), "", at[i] - 1), FORGET_CLEAN);
	ck_assert(is_gone(f, url_of("a", N - 1), at[N - 1] - 1));
	ck_assert_int_eq(judge(f, "http://other/", "", before), FORGET_STALE);
	ck_assert_int_eq(judge(f, "http://other/", "", at[N - 1]), FORGET_CLEAN);
	forget_stats(f, &s);
	ck_assert(s.room == 1510); /* all is stale: that is one */
	forget_close(&f);
	end();
}
END_TEST

/* More than are kept at all: everybody's pages are validated, and none is lost. */
START_TEST(beyond_what_memory_holds_of_them_all_is_stale)
{
	enum { N = 3 << 17 };
	begin();
	log_set_level(LOG_ERROR);
	options.dir_fd = -1;
	options.dir = NULL;
	struct forget *f = open_forget(FORGET_KEPT);
	struct forget_stats s;
	uint64_t before = forget_now(f);
	for (int i = 0; i < N; i++)
		gather(f, url_of("a", i));
	wait_shed(f, 1 << 18);
	for (int i = 0; i < N; i += 100)
		ck_assert_int_ne(judge(f, url_of("a", i), "", before), FORGET_CLEAN);
	ck_assert(is_gone(f, url_of("a", N - 1), before));
	ck_assert_int_eq(judge(f, "http://other/", "", before), FORGET_STALE);
	ck_assert_int_eq(judge(f, "http://other/", "", forget_now(f)), FORGET_CLEAN);
	forget_stats(f, &s);
	ck_assert_uint_gt(s.shed, 0);
	forget_close(&f);
	end();
}
END_TEST

/* A URL that was purged by hand stays among the purges, though clients change it besides. */
START_TEST(what_was_ordered_stays_so)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	struct forget_stats s;
	forget_stats(f, &s);
	uint64_t room = s.room, before = forget_now(f);
	for (int i = 0; i < 4; i++) {
		if (i % 2 == _i)
			gather(f, PAGE);
		else
			add(f, FORGET_URL, PAGE);
		ck_assert(is_gone(f, PAGE, forget_now(f) - 1));
	}
	forget_stats(f, &s);
	ck_assert(s.room == room - 1 && s.lasting == 1);
	ck_assert(is_gone(f, PAGE, before));
	forget_close(&f);
	end();
}
END_TEST

/* One write for all that came in a second, and for no more than the disk may be given. */
START_TEST(what_clients_change_is_written_together)
{
	own_clock_hold();
	begin();
	options.ops = unsynced_disk();
	options.log_bytes = 16 << 20;
	struct forget *f = open_forget(FORGET_MISSING);
	for (int i = 0; i < 4 * FORGET_GATHER_MOST;
	     i++) /* a log of that size has room for as many */
		add(f, FORGET_URL, url_of("o", i));
	forget_close(&f);
	f = open_forget(FORGET_KEPT);
	struct forget_stats s;
	forget_stats(f, &s);
	uint64_t first = s.written_bytes, each;
	for (int i = 0; i < 100; i++)
		gather(f, url_of("a", i));
	own_clock_pass_ms(FORGET_GATHER_MS - 1);
	forget_stats(f, &s);
	ck_assert_uint_eq(s.written_bytes, first);
	unit_wait_until((own_clock_pass_ms(1), forget_stats(f, &s), s.written_bytes > first));
	each = s.written_bytes - first;
	ck_assert_uint_le(each, 2 * 8192); /* of a page or two */
	for (int i = 0; i < 3 * FORGET_GATHER_MOST; i++)
		gather(f, url_of("b", i));
	first = s.written_bytes;
	unit_wait_until((own_clock_pass_ms(1), forget_stats(f, &s), s.written_bytes > first));
	ck_assert_uint_le(s.written_bytes - first, (FORGET_GATHER_MOST / 126 + 2) * 8192);
	/* A purge does not wait for them, nor they for more than it. */
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, PAGE)), 0);
	first = s.written_bytes;
	forget_stats(f, &s);
	ck_assert_uint_le(s.written_bytes - first, 2 * 8192);
	/* The end brings all. */
	forget_close(&f);
	options.ops = NULL;
	f = open_forget(FORGET_KEPT);
	for (int i = 0; i < 3 * FORGET_GATHER_MOST; i++)
		ck_assert(is_gone(f, url_of("b", i), 1ull << 40));
	forget_close(&f);
	end();
}
END_TEST

/* A process that takes the directory over hears of what was gathered, too. */
START_TEST(what_was_gathered_is_handed_on)
{
	own_clock_hold();
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	gather(f, url_of("a", 1));
	ck_assert(forget_rest(f)); /* it is in the log by now */
	gather(f, url_of("a", 2));
	struct purge_entry *list;
	ck_assert_uint_eq(forget_waiting(f, &list), 1);
	free(list);
	struct forget *g;
	ck_assert_int_eq(forget_open(&g, &options), FORGET_KEPT);
	ck_assert(is_gone(g, url_of("a", 1), 1ull << 40));
	forget_close(&g);
	forget_work(f);
	forget_close(&f);
	f = open_forget(FORGET_KEPT);
	ck_assert(is_gone(f, url_of("a", 2), 1ull << 40));
	forget_close(&f);
	end();
}
END_TEST

/* Logs of before 28 November 2026 have the whole hash of a host. */
START_TEST(a_host_of_an_older_log_is_known)
{
	begin();
	struct purge_log l = {.ops = &diskio_system, .dir_fd = dir_fd, .fd = -1};
	struct purge_head head = {
		.id = 1, .starts = 1, .fingerprint = twice_seed_fingerprint(&seed)};
	struct purge_entry e = {
		.at = UINT64_C(1) << 40 | 1, .hash = hash_of("example.com"), .kind = FORGET_HOST};
	if (_i) {
		e.flags = FORGET_SOFT;
		e.hash.lo ^= 0x736f66746c793f21;
	}
	ck_assert_int_eq(purge_log_rewrite(&l, &head, purge_log_bytes(1), &e, 1), 0);
	purge_log_close(&l);
	for (int again = 0; again < 2; again++) {
		struct forget *f = open_forget(FORGET_KEPT);
		ck_assert_int_eq(judge(f, PAGE, "", 1ull << 40), _i ? FORGET_STALE : FORGET_GONE);
		ck_assert_int_eq(judge(f, "http://other/", "", 1ull << 40), FORGET_CLEAN);
		forget_close(&f);
	}
	end();
}
END_TEST

START_TEST(many_invalidations_of_nothing_cost_no_stored_object)
{
	begin();
	options.log_bytes = 16 * 8192;
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f);
	char key[64];
	add(f, FORGET_URL, PAGE);
	for (int i = 0; i < 6000; i++) {
		snprintf(key, sizeof key, "http://a/%d", i);
		forget_add(f, FORGET_URL, hash_of(key), str_of(key), FORGET_PASSING);
	}
	/* Some thousands are nothing to a fetch under way, however small the log. */
	ck_assert(!covers_fetch(f, "http://o/", before));
	for (int i = 0; i < 150000; i++) {
		snprintf(key, sizeof key, "http://b/%d", i);
		forget_add(f, FORGET_URL, hash_of(key), str_of(key), FORGET_PASSING);
		if (i % 4096 == 0)
			wait_shed(f, 56000);
	}
	ck_assert(!is_gone(f, "http://other/", before));
	ck_assert(is_gone(f, PAGE, before));
	/* Instead, nothing that was fetched since then is believed any more. */
	ck_assert(covers_fetch(f, "http://o/", before));
	struct forget_stats s;
	forget_stats(f, &s);
	ck_assert_uint_eq(s.shed, 0);
	forget_close(&f);
	end();
}
END_TEST

START_TEST(what_no_record_is_older_than_is_dropped)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t at = 0;
	char key[64];
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "http://a/%d", i);
		at = add(f, FORGET_URL, key);
	}
	struct forget_stats s;
	ck_assert_int_eq(forget_wait(f, at), 0);
	forget_close(&f);
	oldest_now = at - 10; /* the log of objects has turned over */
	f = open_forget(FORGET_KEPT);
	forget_stats(f, &s);
	ck_assert_uint_eq(s.lasting, 10);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "http://a/%d", i);
		ck_assert(is_gone(f, key, 1ull << 40));
	}
	forget_close(&f);
	oldest_now = 1;
	end();
}
END_TEST

/* ---- a disk that records: what may be there after a loss of power at any step --------------- */

enum what {
	DID_CREATE,
	DID_RENEW,
	DID_WRITE,
	DID_SYNC,
	DID_RENAME,
	DID_REMOVE,
	DID_SYNC_DIR,
	ACKED
};
struct step {
	enum what what;
	int file; /* number of the file, in order of creation */
	int disk; /* of create, rename, remove, sync_dir */
	char name[16];
	off_t at;
	size_t n;
	char *bytes;
	bool lost; /* a write whose sync failed: never again on its way to the device */
	uint64_t acked;
};
enum { MAX_STEPS = 4000, MAX_FILES = 400 };
static struct step steps[MAX_STEPS];
static int steps_n, files_n, files_fd[MAX_FILES];
static int second_fd = -1; /* of the second disk's directory */
static pthread_mutex_t steps_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned fail_each; /* of writes and syncs, one in so many fails */
static unsigned random_state = 1;

static unsigned
dice(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 8;
}

static struct step *
record(enum what what, int fd)
{
	struct step *s = &steps[steps_n];
	ck_assert_int_lt(steps_n, MAX_STEPS);
	*s = (struct step){.what = what, .file = -1};
	for (int i = 0; i < files_n; i++)
		if (files_fd[i] == fd && fd >= 0)
			s->file = i;
	steps_n++;
	return s;
}

static bool
is_to_fail(void) /* under the lock of steps */
{
	static unsigned calls;
	return fail_each && (++calls * 2654435761u >> 16) % fail_each == 0;
}

static int
recorded_create(int d, const char *name)
{
	pthread_mutex_lock(&steps_lock);
	int fd = is_to_fail() ? -1 : diskio_system.create(d, name);
	if (fd >= 0) {
		for (int i = 0; i < files_n; i++)
			if (files_fd[i] == fd)
				files_fd[i] = -1; /* closed since */
		files_fd[files_n++] = fd;
		struct step *s = record(DID_CREATE, fd);
		s->disk = d == second_fd;
		snprintf(s->name, sizeof s->name, "%s", name);
	} else {
		errno = EIO;
	}
	pthread_mutex_unlock(&steps_lock);
	return fd;
}

static int
recorded_renew(int fd, off_t bytes)
{
	pthread_mutex_lock(&steps_lock);
	record(DID_RENEW, fd)->at = bytes;
	int r = diskio_system.renew(fd, bytes);
	pthread_mutex_unlock(&steps_lock);
	return r;
}

static ssize_t
recorded_write(int fd, const void *p, size_t n, off_t at)
{
	pthread_mutex_lock(&steps_lock);
	bool fails = is_to_fail();
	if (fails)
		n = n / 2 / 512 * 512; /* torn */
	struct step *s = record(DID_WRITE, fd);
	s->at = at;
	s->n = n;
	s->bytes = malloc(n + 1);
	memcpy(s->bytes, p, n);
	ssize_t r = fails ? -1 : pwrite(fd, p, n, at);
	if (fails && n)
		(void)!pwrite(fd, p, n, at);
	pthread_mutex_unlock(&steps_lock);
	errno = EIO;
	return r;
}

/* A sync that fails leaves the pages clean: what was not written yet never will be, and the next
 * sync succeeds. */
static int
recorded_sync(int fd)
{
	pthread_mutex_lock(&steps_lock);
	bool fails = is_to_fail();
	int file = record(DID_SYNC, fd)->file;
	if (fails) {
		steps_n--;
		for (int i = steps_n - 1; i >= 0; i--) {
			if (steps[i].file == file && steps[i].what == DID_SYNC)
				break;
			if (steps[i].file == file && steps[i].what == DID_WRITE)
				steps[i].lost = true;
		}
	}
	pthread_mutex_unlock(&steps_lock);
	errno = EIO;
	return fails ? -1 : 0;
}

static int
recorded_sync_dir(int fd)
{
	pthread_mutex_lock(&steps_lock);
	bool fails = is_to_fail();
	if (!fails)
		record(DID_SYNC_DIR, -1)->disk = fd == second_fd;
	pthread_mutex_unlock(&steps_lock);
	errno = EIO;
	return fails ? -1 : 0;
}

static int
recorded_rename(int d, const char *from, const char *to)
{
	pthread_mutex_lock(&steps_lock);
	int r = is_to_fail() ? -1 : diskio_system.rename(d, from, to);
	if (r == 0)
		record(DID_RENAME, -1)->disk = d == second_fd;
	pthread_mutex_unlock(&steps_lock);
	return r;
}

static int
recorded_remove(int d, const char *name)
{
	pthread_mutex_lock(&steps_lock);
	int r = diskio_system.remove(d, name);
	if (r == 0)
		record(DID_REMOVE, -1)->disk = d == second_fd;
	pthread_mutex_unlock(&steps_lock);
	return r;
}

static const struct diskio_ops recorder = {
	.read = pread,
	.read_now = pread,
	.write = recorded_write,
	.renew = recorded_renew,
	.create = recorded_create,
	.rename = recorded_rename,
	.remove = recorded_remove,
	.sync = recorded_sync,
	.sync_dir = recorded_sync_dir,
};

/* The directory's "purges" as of some step: the number of a file, or -1. What was not synced may
 * be there or not; the file system keeps the order of changes to a directory. */
static int
file_named(int upto, int disk)
{
	int sure = 0, changes = 0, current = -1, fresh = -1, seen = 0;
	for (int i = 0; i < upto; i++) {
		if (steps[i].disk != disk)
			continue;
		bool change = steps[i].what == DID_RENAME || steps[i].what == DID_REMOVE ||
			      steps[i].what == DID_CREATE;
		changes += change;
		if (steps[i].what == DID_SYNC_DIR)
			sure = changes;
	}
	int kept = sure + (int)(dice() % (unsigned)(changes - sure + 1));
	for (int i = 0; i < upto && seen < kept; i++) {
		if (steps[i].disk != disk)
			continue;
		if (steps[i].what == DID_CREATE)
			fresh = steps[i].file;
		else if (steps[i].what == DID_RENAME)
			current = fresh;
		else if (steps[i].what == DID_REMOVE)
			current = -1;
		else
			continue;
		seen++;
	}
	return current;
}

/* Pages of a write that was not synced may each be there or not. */
static void
build_file(int file, int upto, const char *path)
{
	int synced = 0;
	for (int i = 0; i < upto; i++)
		if (steps[i].file == file && steps[i].what == DID_SYNC)
			synced = i;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < upto; i++) {
		const struct step *s = &steps[i];
		if (s->file != file)
			continue;
		if (s->what == DID_RENEW)
			ck_assert_int_eq(ftruncate(fd, s->at), 0);
		bool sure = i < synced && !s->lost;
		for (size_t at = 0; s->what == DID_WRITE && at < s->n; at += 4096) {
			size_t n = s->n - at < 4096 ? s->n - at : 4096;
			if (sure || dice() % 2)
				ck_assert_int_eq(pwrite(fd, s->bytes + at, n, s->at + (off_t)at),
						 (ssize_t)n);
		}
	}
	close(fd);
}

enum { URLS = 60 };
static uint64_t url_at[URLS];

/* The logs as they may be after so many steps. The second disk lies in a directory of the first. */
static void
build_logs(int upto, const char *at_dir)
{
	char path[512];
	for (int disk = 0; disk < (second_fd >= 0 ? 2 : 1); disk++) {
		snprintf(path, sizeof path, "%s/%spurges", at_dir, disk ? "second/" : "");
		unlink(path);
		int file = file_named(upto, disk);
		if (file >= 0)
			build_file(file, upto, path);
	}
}

static void
expect_gone(struct forget *f, int upto, uint64_t acked)
{
	char key[64];
	for (int i = 0; i < URLS; i++) {
		snprintf(key, sizeof key, "http://a/%d", i);
		if (url_at[i] && url_at[i] <= acked && url_at[i] <= forget_now(f))
			ck_assert_msg(is_gone(f, key, url_at[i] - 1),
				      "step %d of %d: URL %d is back", upto, steps_n, i);
	}
	ck_assert(!acked || forget_now(f) > acked);
}

/* After the power failed behind so many steps: all that was acknowledged by then is in force. */
static bool
holds_after(int upto, const char *at_dir, int at_fd)
{
	char path[512];
	uint64_t acked = 0;
	for (int i = 0; i < upto; i++)
		if (steps[i].what == ACKED)
			acked = steps[i].acked;
	build_logs(upto, at_dir);
	struct forget_options o = options;
	struct forget_place second = {-1, dir};
	o.ops = NULL;
	o.dir_fd = at_fd;
	if (second_fd >= 0) {
		snprintf(path, sizeof path, "%s/second", at_dir);
		second.dir_fd = open(path, O_RDONLY | O_DIRECTORY);
		o.more = &second;
	}
	struct forget *f;
	enum forget_found found = forget_open(&f, &o);
	if (found == FORGET_KEPT)
		expect_gone(f, upto, acked);
	forget_close(&f);
	if (second_fd >= 0)
		close(second.dir_fd);
	return found == FORGET_KEPT;
}

static void
fail_behind_every_step(int times)
{
	log_set_level(LOG_ERROR);
	random_state = (unsigned)times * 7919 + 17;
	fail_each = times % 3 ? 0 : 12;
	steps_n = files_n = 0;
	memset(url_at, 0, sizeof url_at);
	options.ops = &recorder;
	struct forget *f;
	forget_open(&f, &options);
	ck_assert_int_eq(forget_begin(f, oldest, NULL), 0);
	char key[64];
	for (int i = 0; i < URLS; i++) {
		snprintf(key, sizeof key, "http://a/%d", i);
		url_at[i] = add(f, FORGET_URL, key);
		if (dice() % 3)
			continue; /* some in one commit */
		if (forget_wait(f, url_at[i]) == 0) {
			pthread_mutex_lock(&steps_lock);
			record(ACKED, -1)->acked = url_at[i];
			pthread_mutex_unlock(&steps_lock);
		}
	}
	forget_close(&f);
	char at_dir[256];
	tmpdir_make(at_dir, sizeof at_dir);
	char at_second[300];
	snprintf(at_second, sizeof at_second, "%s/second", at_dir);
	ck_assert_int_eq(mkdir(at_second, 0700), 0);
	int at_fd = open(at_dir, O_RDONLY | O_DIRECTORY), kept = 0, looked = 0;
	for (int upto = 0; upto <= steps_n; upto++)
		for (int again = 0; again < 3; again++) {
			kept += holds_after(upto, at_dir, at_fd);
			looked++;
		}
	if (!fail_each) /* only what was torn in the middle of a page pair may be given up */
		ck_assert_msg(kept > looked * 2 / 3, "%d of %d", kept, looked);
	close(at_fd);
	tmpdir_remove(at_dir);
	for (int i = 0; i < steps_n; i++)
		free(steps[i].bytes);
}

START_TEST(power_fails_behind_every_step)
{
	begin();
	fail_behind_every_step(_i);
	end();
}
END_TEST

/* One of two disks may fail for a while, be left out and come back; then the power fails. */
START_TEST(power_fails_behind_every_step_of_two_disks)
{
	char second_dir[256];
	begin();
	tmpdir_make(second_dir, sizeof second_dir);
	second_fd = open(second_dir, O_RDONLY | O_DIRECTORY);
	struct forget_place second = {second_fd,
				      dir}; /* the same name, so that it is the same set */
	options.more = &second;
	options.more_n = 1;
	fail_behind_every_step(_i);
	close(second_fd);
	second_fd = -1;
	tmpdir_remove(second_dir);
	end();
}
END_TEST

/* ---- a disk that fails --------------------------------------------------------------------- */

static _Atomic bool broken;

static int
broken_sync(int fd)
{
	(void)fd;
	errno = EIO;
	return broken ? -1 : 0;
}

START_TEST(what_is_not_durable_says_so_until_it_is)
{
	begin();
	log_set_level(LOG_ERROR);
	struct diskio_ops ops = diskio_system;
	ops.sync = broken_sync;
	options.ops = &ops;
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f);
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, "http://a/1")), 0);
	broken = true;
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, PAGE)), -1);
	ck_assert(!forget_is_sound_at(f, 0));
	ck_assert(is_gone(f, PAGE, before)); /* in memory all the same */
	/* A crash now leaves nothing that claims to know. */
	ck_assert_int_ne(faccessat(dir_fd, "purges", F_OK, 0), 0);
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, "http://a/2")), -1);
	broken = false;
	unit_wait_until(forget_is_sound_at(f, 0));
	forget_close(&f);
	f = open_forget(FORGET_KEPT);
	ck_assert(is_gone(f, PAGE, before) && is_gone(f, "http://a/1", before) &&
		  is_gone(f, "http://a/2", before));
	forget_close(&f);
	end();
}
END_TEST

/* ---- a log that rests ---------------------------------------------------------------------- */

static _Atomic bool rests;
static _Atomic unsigned trespasses;

static int
create_by_turns(int at, const char *name)
{
	trespasses += rests;
	return diskio_system.create(at, name);
}

static int
sync_nothing(int fd)
{
	(void)fd;
	return 0;
}

/* A successor that is no more is followed by another one at once. */
START_TEST(nobody_writes_a_log_that_rests)
{
	begin();
	struct diskio_ops ops = diskio_system;
	ops.create = create_by_turns;
	ops.sync = ops.sync_dir = sync_nothing;
	options.ops = &ops;
	struct forget *f = open_forget(FORGET_MISSING);
	for (int i = 0; i < 50; i++) {
		ck_assert(forget_rest(f));
		rests = true;
		for (int k = 0; k < 100; k++)
			sched_yield();
		rests = false;
		forget_work(f);
	}
	ck_assert_uint_eq(trespasses, 0);
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, PAGE)), 0);
	forget_close(&f);
	end();
}
END_TEST

/* Nobody writes, and nobody waits for, what is forgotten in memory alone. */
START_TEST(a_log_rests_at_once_behind_what_passes)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	ck_assert_int_eq(forget_wait(f, add(f, FORGET_URL, PAGE)), 0);
	forget_add(f, FORGET_URL, hash_of("http://example.com/x"), STR("http://example.com/x"),
		   FORGET_PASSING);
	ck_assert(forget_rest(f));
	struct forget_stats s;
	forget_stats(f, &s);
	ck_assert(s.sound);
	forget_work(f);
	forget_close(&f);
	end();
}
END_TEST

/* The successor that was no more had begun to write, as of the start behind this one. */
START_TEST(behind_a_successor_that_is_no_more_times_are_later_than_its)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING), *g;
	ck_assert(forget_rest(f));
	uint64_t told = add(f, FORGET_URL, PAGE); /* while it rests */
	ck_assert_int_eq(forget_open(&g, &options), FORGET_KEPT);
	uint64_t written = forget_now(g) + 1000;
	forget_close(&g);
	forget_work(f);
	ck_assert_int_eq(forget_wait(f, told), 0);
	ck_assert(is_gone(f, PAGE, written));
	add(f, FORGET_HOST, "other.example");
	ck_assert(is_gone(f, "http://other.example/", written));
	forget_stop(f);
	forget_close(&f);
	f = open_forget(FORGET_KEPT);
	ck_assert(is_gone(f, PAGE, written));
	ck_assert(forget_now(f) > written);
	forget_close(&f);
	end();
}
END_TEST

/* Nobody may see the host of a prefix without it: who is clean as of then is not asked for it again. */
START_TEST(a_prefix_is_inherited_at_one_time_with_its_host)
{
	begin();
	struct forget *f = open_forget(FORGET_MISSING);
	ck_assert(forget_rest(f));
	forget_add(f, FORGET_PREFIX, hash_of("http://example.com/a"), STR("http://example.com/a"),
		   FORGET_ORDERED);
	struct purge_entry *list;
	size_t n = forget_waiting(f, &list);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(list[0].kind, FORGET_PREFIX_HOST);
	forget_close(&f);
	f = open_forget(FORGET_KEPT);
	uint64_t before = forget_now(f);
	ck_assert_uint_eq(forget_inherit(f, list, 1), before);
	ck_assert_uint_eq(forget_now(f), before);
	ck_assert_uint_eq(forget_inherit(f, list + 1, 1), before + 1);
	ck_assert(is_gone(f, "http://example.com/a/x", before));
	free(list);
	forget_close(&f);
	end();
}
END_TEST

/* ---- a disk that hangs --------------------------------------------------------------------- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool gate_shut;
static unsigned at_gate;

static int
sync_at_gate(int fd)
{
	(void)fd;
	pthread_mutex_lock(&gate);
	at_gate += gate_shut;
	pthread_cond_broadcast(&gate_moved);
	while (gate_shut)
		pthread_cond_wait(&gate_moved, &gate);
	pthread_mutex_unlock(&gate);
	return 0;
}

static void
shut_gate(bool shut)
{
	pthread_mutex_lock(&gate);
	gate_shut = shut;
	at_gate = 0;
	pthread_cond_broadcast(&gate_moved);
	pthread_mutex_unlock(&gate);
}

static void
wait_at_gate(void)
{
	pthread_mutex_lock(&gate);
	while (!at_gate)
		pthread_cond_wait(&gate_moved, &gate);
	pthread_mutex_unlock(&gate);
}

static unsigned told;

static void
be_told(struct forget_letter *l)
{
	(void)l;
	told++;
}

static void
expect_told(struct forget *f, struct mailbox *home, unsigned times, bool is_sound)
{
	mailbox_run(home, false);
	ck_assert_uint_eq(told, times);
	ck_assert_int_eq(forget_is_sound_at(f, 0), is_sound);
}

/* While the clock stands, until the test says that it is enough. */
static _Atomic bool enough;

static void *
pass_time(void *unused)
{
	(void)unused;
	unit_wait_until((own_clock_pass_ms(100), atomic_load(&enough)));
	return NULL;
}

/* Somebody waits in vain, within the limit. */
static void
expect_late(struct forget *f, uint64_t at)
{
	pthread_t t;
	pthread_create(&t, NULL, pass_time, NULL);
	ck_assert_int_eq(forget_wait(f, at), -1);
	atomic_store(&enough, true);
	pthread_join(t, NULL);
}

/* A waiter is told that it is not durable, as is who asks meanwhile; nothing is served from the
 * directory until it is; no letter is lost, and none comes twice. */
START_TEST(a_sync_that_hangs_is_told_and_closes_the_directory)
{
	own_clock_hold();
	begin();
	log_set_level(LOG_ERROR);
	struct diskio_ops ops = diskio_system;
	struct mailbox home;
	mailbox_init(&home);
	ops.sync = sync_at_gate;
	options.ops = &ops;
	struct forget *f = open_forget(FORGET_MISSING);
	uint64_t before = forget_now(f);
	struct forget_letter first = {.home = &home, .done = be_told}, second = first;
	shut_gate(true);
	told = 0;
	forget_tell(f, &first, add(f, FORGET_URL, PAGE));
	wait_at_gate();
	forget_give_up(f, 0); /* nobody has waited since then */
	expect_told(f, &home, 0, true);
	forget_give_up(f, INT64_MAX);
	expect_told(f, &home, 1, false);
	ck_assert(is_gone(f, PAGE, before));
	uint64_t at = add(f, FORGET_URL, "http://a/2"); /* waits for no disk */
	forget_tell(f, &second, at);
	if (_i)
		expect_late(f, at);
	shut_gate(false);
	while (forget_wait(f, at) != 0 || !forget_is_sound_at(f, 0))
		continue;
	expect_told(f, &home, 2, true);
	ck_assert(second.durable && !first.durable);
	forget_close(&f);
	mailbox_fini(&home);
	f = open_forget(FORGET_KEPT);
	ck_assert(is_gone(f, PAGE, before) && is_gone(f, "http://a/2", before));
	forget_close(&f);
	end();
}
END_TEST

/* A successor held the logs for nearly as long as one waits: the disk has its whole time yet. */
START_TEST(the_time_in_which_a_log_rested_is_not_the_disks)
{
	own_clock_hold();
	begin();
	log_set_level(LOG_ERROR);
	struct diskio_ops ops = diskio_system;
	struct mailbox home;
	mailbox_init(&home);
	ops.sync = sync_at_gate;
	options.ops = &ops;
	struct forget *f = open_forget(FORGET_MISSING);
	struct forget_letter letter = {.home = &home, .done = be_told};
	told = 0;
	ck_assert(forget_rest(f));
	forget_tell(f, &letter, add(f, FORGET_URL, PAGE));
	int64_t asked = now_ms();
	own_clock_pass_ms(1);
	shut_gate(true);
	forget_work(f);
	wait_at_gate();
	forget_give_up(f, asked + 1);
	expect_told(f, &home, 0, true);
	forget_give_up(f, now_ms() + 1);
	expect_told(f, &home, 1, false);
	shut_gate(false);
	while (!forget_is_sound_at(f, 0))
		sched_yield();
	forget_close(&f);
	mailbox_fini(&home);
	end();
}
END_TEST

/* ---- many threads -------------------------------------------------------------------------- */

static struct forget *shared;
static _Atomic uint64_t published[16]; /* when each key was last said to be clean */
static _Atomic bool over;

static void
key_of(unsigned i, char *to, size_t n)
{
	snprintf(to, n, "http://host/%u", i % 16);
}

static void *
purge_much(void *arg)
{
	char key[64];
	for (unsigned i = 0; i < 4000; i++) {
		key_of(i * 7 + *(unsigned *)arg, key, sizeof key);
		uint64_t was = atomic_load(&published[(i * 7 + *(unsigned *)arg) % 16]);
		add(shared, i % 50 ? FORGET_URL : FORGET_HOST, i % 50 ? key : "host");
		/* Objects published before this purge began must be gone from now on. */
		if (was && !is_gone(shared, key, was))
			abort();
	}
	return NULL;
}

static void *
publish_much(void *arg)
{
	(void)arg;
	char key[64];
	for (unsigned i = 0; !over; i++) {
		uint64_t begun = forget_now(shared), now;
		key_of(i, key, sizeof key);
		if (!forget_covers_fetch(
			    shared, &(struct forget_thing){hash_of(key), str_of(key), {NULL, 0}},
			    begun, &now))
			atomic_store(&published[i % 16], now);
	}
	return NULL;
}

START_TEST(no_race_brings_anything_back)
{
	begin();
	shared = open_forget(FORGET_MISSING);
	pthread_t p[2], w[2];
	unsigned number[2] = {0, 5};
	over = false;
	for (int i = 0; i < 2; i++) {
		pthread_create(&p[i], NULL, purge_much, &number[i]);
		pthread_create(&w[i], NULL, publish_much, NULL);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(p[i], NULL);
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(w[i], NULL);
	ck_assert_int_eq(forget_wait(shared, forget_now(shared)), 0);
	forget_close(&shared);
	end();
}
END_TEST

UNIT("forget", LOOP(rule, rules), LOOP(tagged_rule, tagged), TEST(what_is_gone_is_not_only_stale),
     TEST(the_first_of_several_says_since_when),
     TEST(many_soft_ones_beyond_the_bound_leave_everything_stale_not_gone),
     TEST(times_are_never_used_twice), TEST(what_passes_is_for_fetches_and_is_not_kept),
     TEST(works_in_memory_alone), TEST(a_damaged_log_is_said_to_be_lost),
     LOOP(a_log_tells_of_the_past_alone, log_times), TEST(nobody_writes_a_log_that_rests),
     TEST(a_log_rests_at_once_behind_what_passes),
     TEST(behind_a_successor_that_is_no_more_times_are_later_than_its),
     TEST(a_prefix_is_inherited_at_one_time_with_its_host),
     TEST(beyond_the_bound_too_much_is_forgotten_and_never_too_little),
     TIMES(purges_of_many_urls_become_one_of_their_host, 2),
     TEST(what_clients_change_costs_nobody_else_a_page),
     TEST(beyond_what_memory_holds_of_them_all_is_stale), TIMES(what_was_ordered_stays_so, 2),
     TEST(what_clients_change_is_written_together), TEST(what_was_gathered_is_handed_on),
     TIMES(a_host_of_an_older_log_is_known, 2),
     TEST(many_invalidations_of_nothing_cost_no_stored_object),
     TEST(what_no_record_is_older_than_is_dropped), TIMES(power_fails_behind_every_step, 9),
     TIMES(power_fails_behind_every_step_of_two_disks, 9),
     TEST(what_is_not_durable_says_so_until_it_is),
     TIMES(a_sync_that_hangs_is_told_and_closes_the_directory, 2),
     TEST(the_time_in_which_a_log_rested_is_not_the_disks), TEST(no_race_brings_anything_back))
