/* test_upstream.c - which server is asked next, and how long one that fails is left alone.
 * rooms: origin http base
 */
#include "proxy/base/log.h"
#include "proxy/origin/upstream.h"

#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CONNECT_MS = 700 };

/* Servers numbered from 0, as a configuration numbers them. */
static struct upstream *
group(const struct upstream_options *o, unsigned n, unsigned backups)
{
	struct upstream_server all[UPSTREAM_MOST] = {{0}};
	char err[200], url[64];
	for (unsigned i = 0; i < n; i++) {
		snprintf(url, sizeof url, "http://192.0.2.%u", i + 1);
		struct origin_options oo = {.url = url, .connect_timeout_ms = CONNECT_MS};
		ck_assert_ptr_nonnull(all[i].origin = origin_create(&oo, err, sizeof err));
		all[i].backup = i >= n - backups;
		all[i].number = i;
	}
	log_set_level(LOG_ERROR);
	return upstream_create(o, all, n);
}

static struct upstream *
checked(unsigned n)
{
	struct upstream_options o = {
		.name = "g",
		.checks = {.path = "/h", .least = 200, .most = 399, .fall = 3, .rise = 2},
	};
	return group(&o, n, 0);
}

static struct upstream *
several(unsigned n)
{
	return group(&(struct upstream_options){.name = "g", .retries = UPSTREAM_MOST}, n, 0);
}

static const struct fetch_result refused = {.end = FETCH_CONNECT, .word = "connect-failed"};

/* One request at this time: which server it asks first; all those it asks fail but well. Returns
 * the bits of those asked. */
static uint64_t
ask(struct upstream *u, uint64_t well, int64_t now, int *first)
{
	struct upstream_try t = {0};
	ck_assert(upstream_begin(u, &t, now));
	*first = (int)t.current;
	for (;;) {
		if (well >> t.current & 1) {
			upstream_answered(u, &t, 200, 1000, now);
			break;
		}
		upstream_failed(u, &t, &refused, now);
		if (!upstream_retry(u, &t, now))
			break;
	}
	upstream_end(u, &t);
	return t.tried;
}

/* So often that it is one time too many. */
static void
fails(struct upstream *u, uint64_t well, int64_t now)
{
	int first;
	for (int i = 0; i < UPSTREAM_FAILURES; i++)
		ask(u, well, now, &first);
}

static bool
is_out(const struct upstream *u, unsigned i, int64_t now)
{
	return upstream_state(u, i, now).condition == UPSTREAM_OUT;
}

START_TEST(five_failures_in_a_row_are_too_many_and_four_are_not)
{
	struct upstream *u = several(2);
	int first;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < UPSTREAM_FAILURES - 1; i++) {
			ask(u, 2, 1000, &first);
			ck_assert_int_eq(first, 0);
			ck_assert(!is_out(u, 0, 1000));
		}
		if (round < 19)
			ask(u, 3, 1000, &first); /* an answer in between */
	}
	ask(u, 2, 1000, &first);
	ck_assert(is_out(u, 0, 1000) && !is_out(u, 1, 1000));
	ask(u, 2, 1001, &first);
	ck_assert_int_eq(first, 1);
	struct upstream_state s = upstream_state(u, 0, 1300);
	ck_assert_str_eq(s.why, "connect-failed");
	ck_assert_int_eq(s.returns_ms, 700);
	ck_assert_str_eq(s.group, "g");
	upstream_destroy(&u);
}
END_TEST

START_TEST(one_that_is_left_alone_is_probed_at_growing_intervals)
{
	struct upstream *u = several(2);
	int first, probes = 0;
	int64_t last = 0, gaps[64] = {0};
	fails(u, 2, 1000);
	for (int64_t now = 1000; now < 400000; now += 50) {
		uint64_t asked = ask(u, 2, now, &first);
		ck_assert(asked & 2); /* nobody goes without an answer */
		if (asked & 1) {
			gaps[probes++] = now - last;
			last = now;
		}
	}
	static const int64_t want[] = {2000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
	for (int i = 0; i < COUNT(want); i++)
		ck_assert_msg(gaps[i] >= want[i] && gaps[i] <= want[i] + 100,
			      "gap %d is %lld, not %lld", i, (long long)gaps[i],
			      (long long)want[i]);
	ck_assert_int_lt(probes, 20);
	upstream_destroy(&u);
	ck_assert_ptr_null(u);
}
END_TEST

START_TEST(one_that_is_back_is_asked_first_again)
{
	struct upstream *u = several(2);
	int first;
	fails(u, 2, 1000);
	ask(u, 3, 1999, &first);
	ck_assert_int_eq(first, 1);
	ask(u, 3, 2000, &first); /* the probe */
	ck_assert_int_eq(first, 0);
	ask(u, 3, 2001, &first);
	ck_assert_int_eq(first, 0);
	ck_assert(!is_out(u, 0, 2001));
	fails(u, 2, 3000); /* and the next time begins with 1 s anew */
	ck_assert_int_eq(upstream_state(u, 0, 3000).returns_ms, 1000);
	upstream_destroy(&u);
}
END_TEST

START_TEST(while_a_probe_is_under_way_nobody_else_probes)
{
	struct upstream *u = several(2);
	struct upstream_try probe = {0}, other = {0}, third = {0};
	fails(u, 2, 1000);
	upstream_begin(u, &probe, 2500);
	ck_assert(probe.probe && probe.current == 0);
	upstream_begin(u, &other, 2500);
	ck_assert_uint_eq(other.current, 1);
	/* A probe that never came to an end is taken up by another after a while. */
	upstream_begin(u, &third, 2500 + UPSTREAM_HOLD_FIRST_MS);
	ck_assert(third.probe && third.current == 0);
	upstream_end(u, &probe);
	upstream_end(u, &other);
	upstream_end(u, &third);
	upstream_destroy(&u);
}
END_TEST

/* Each of these is the one request at its time; door 0 answers 503 until 20,000 ms, and only to client
 * 1 from then on. */
START_TEST(a_client_whose_probe_brought_nothing_lets_others_find_out_next)
{
	static const struct {
		int64_t at;
		struct source from;
		bool probes;
	} asks[] = {
		{2000, {1, 1}, true}, /* left alone up to 4000 */
		{4000, {1, 1}, false},	{4000, {1, 2}, false},
		{4000, {2, 1}, false},	{4000, {2, 2}, true}, /* up to 8000 */
		{8000, {2, 1}, false},	{8999, {2, 2}, false},
		{9000, {2, 2}, true},  /* there were no others; up to 17,000 */
		{17000, {1, 1}, true}, /* up to 33,000 */
		{33000, {1, 1}, false}, {33001, {2, 2}, true},
	};
	struct upstream *u = several(2);
	int first;
	fails(u, 2, 1000);
	for (int i = 0; i < COUNT(asks); i++) {
		struct upstream_try t = {.from = asks[i].from};
		upstream_begin(u, &t, asks[i].at);
		ck_assert_msg(t.probe == asks[i].probes, "row %d", i);
		ck_assert_uint_eq(t.current, asks[i].probes ? 0 : 1);
		bool well = t.current == 1 || (asks[i].at > 20000 && asks[i].from.client != 1);
		upstream_answered(u, &t, well ? 200 : 503, 1000, asks[i].at);
		upstream_end(u, &t);
	}
	ck_assert(!is_out(u, 0, 33001));
	fails(u, 2, 50000);
	struct upstream_try hangs = {.from = {1, 1}}, again = hangs, other = {.from = {2, 2}};
	upstream_begin(u, &hangs, 51000); /* what was before is forgotten */
	upstream_begin(u, &again, 52000); /* the first has no answer yet */
	upstream_begin(u, &other, 52000);
	ck_assert(hangs.probe && !again.probe && other.probe);
	upstream_end(u, &hangs);
	upstream_end(u, &again);
	upstream_end(u, &other);
	ask(u, 3, 52001, &first);
	upstream_destroy(&u);
}
END_TEST

START_TEST(never_more_than_half_of_a_group_is_left_alone)
{
	for (unsigned n = 1; n <= 9; n++) {
		struct upstream *u = several(n);
		unsigned out = 0, failing = 0;
		for (int i = 0; i < 40; i++)
			fails(u, 0, 1000);
		for (unsigned i = 0; i < n; i++) {
			out += is_out(u, i, 1000);
			failing += upstream_state(u, i, 1000).condition == UPSTREAM_FAILING;
		}
		ck_assert_msg(out == n / 2 && out + failing == n, "%u servers: %u out, %u failing",
			      n, out, failing);
		upstream_destroy(&u);
	}
}
END_TEST

/* A backup, or one far back in the order, is asked by nobody while the others are well. */
START_TEST(whom_nobody_asks_takes_no_place_among_the_half_for_ever)
{
	struct upstream_options o = {
		.name = "g", .balance = BALANCE_LEAST, .retries = UPSTREAM_MOST};
	struct upstream *u = group(&o, 3, 1);
	int first;
	fails(u, 0, 1000); /* all are dead, and one of the first two has the place */
	for (int i = 0; i < 4; i++)
		ask(u, 7, 5000, &first); /* both are back */
	ask(u, 0, 6000, &first); /* then none answers once, and the backup had failed before */
	ask(u, 7, 7000, &first);
	ck_assert(is_out(u, 2, 7000));
	int64_t now = 7000;
	for (; now < 7000 + 2 * UPSTREAM_HOLD_MOST_MS; now += 100)
		ask(u, 7, now, &first);
	for (int i = 0; i < 4 * UPSTREAM_FAILURES; i++) /* much later the first dies */
		ask(u, 6, now, &first);
	ck_assert(is_out(u, 0, now));
	ck_assert(!is_out(u, 1, now) && !is_out(u, 2, now));
	upstream_destroy(&u);
}
END_TEST

START_TEST(the_place_of_one_that_is_never_asked_is_there_for_checks_too)
{
	struct upstream *u = checked(2);
	struct upstream_try t = {.tried = 2, .current = 1};
	for (int i = 0; i < UPSTREAM_FAILURES; i++)
		upstream_failed(u, &t, &refused, 1000);
	ck_assert(is_out(u, 1, 1000));
	for (int i = 0; i < 3; i++)
		upstream_checked(u, 0, 503, FETCH_OK, 1000 + 2 * UPSTREAM_HOLD_MOST_MS);
	ck_assert(is_out(u, 0, 1000 + 2 * UPSTREAM_HOLD_MOST_MS));
	ck_assert(!is_out(u, 1, 1000 + 2 * UPSTREAM_HOLD_MOST_MS));
	upstream_destroy(&u);
}
END_TEST

START_TEST(a_single_server_is_asked_always_and_known_to_be_back_at_once)
{
	struct upstream *u = several(1);
	int first;
	for (int64_t now = 1000; now < 100000; now += 100)
		ck_assert_uint_eq(ask(u, 0, now, &first), 1);
	ck_assert_int_eq(upstream_state(u, 0, 100000).condition, UPSTREAM_FAILING);
	ask(u, 1, 100001, &first);
	ck_assert_int_eq(upstream_state(u, 0, 100001).condition, UPSTREAM_WELL);
	ck_assert_ptr_null(upstream_state(u, 0, 100001).why);
	upstream_destroy(&u);
}
END_TEST

START_TEST(when_none_is_well_a_request_asks_one_that_is_left_alone)
{
	struct upstream *u = several(2);
	struct upstream_try t = {0};
	fails(u, 2, 1000);
	upstream_begin(u, &t, 1001);
	ck_assert_uint_eq(t.current, 1);
	upstream_failed(u, &t, &refused, 1001);
	ck_assert(upstream_retry(u, &t, 1001));
	ck_assert(t.current == 0 && t.held_asked && !t.probe);
	upstream_answered(u, &t, 200, 1000, 1001); /* it is back before its time */
	ck_assert(!is_out(u, 0, 1001));
	upstream_end(u, &t);
	upstream_destroy(&u);
}
END_TEST

START_TEST(backups_are_asked_when_none_of_the_others_may_be)
{
	struct upstream_options o = {.name = "g", .balance = BALANCE_LEAST, .retries = 1};
	struct upstream *u = group(&o, 4, 1);
	int first;
	for (int i = 0; i < 60; i++) {
		ask(u, 15, 1000, &first);
		ck_assert_int_ne(first, 3);
	}
	/* Two of four may be left alone; the third fails and is asked, and the backup after it. */
	for (int i = 0; i < 60; i++)
		ask(u, 8, 1000, &first);
	ck_assert_uint_eq(ask(u, 8, 1000, &first) >> 3, 1);
	ck_assert_int_ne(first, 3);
	upstream_destroy(&u);
}
END_TEST

/* The number of the one that is asked, of three of which the last is a backup. */
static int
ask_at_home(enum balance balance, unsigned home, bool stays, unsigned failing)
{
	struct upstream_options o = {.name = "g", .balance = balance, .retries = 3};
	struct upstream *u = group(&o, 3, 1);
	struct upstream_try t = {.tried = 1u << home, .current = home};
	int first = 0, n = 0, counts[3] = {0};
	uint16_t mark = upstream_mark(u, &t);
	ck_assert_uint_ne(mark, 0);
	if (failing < 3)
		for (int i = 0; i < 2 * UPSTREAM_FAILURES * 3; i++)
			ask(u, ~(UINT64_C(1) << failing), 1000, &first);
	for (; n < 6; n++) {
		t = (struct upstream_try){.home = mark, .stays = stays};
		ck_assert(upstream_begin(u, &t, 1001));
		counts[t.current]++;
		upstream_end(u, &t);
	}
	upstream_destroy(&u);
	for (int i = 0; i < 3; i++)
		if (counts[i] == n)
			return i;
	return -1; /* several, in turn */
}

static const struct {
	const char *says;
	enum balance balance;
	unsigned home;
	bool stays;
	unsigned failing;
	int want;
} homes[] = {
	{"in turn, but for what one of them has", BALANCE_ROUND_ROBIN, 1, false, 3, 1},
	{"by load as well", BALANCE_LEAST, 0, false, 3, 0},
	{"it is left alone", BALANCE_LEAST, 0, false, 0, 1},
	{"a backup is none while others are well", BALANCE_LEAST, 2, false, 3, -1},
	{"but for an answer that has begun", BALANCE_LEAST, 2, true, 3, 2},
	{"an order is an order", BALANCE_ORDER, 1, false, 3, 0},
	{"but for an answer that has begun", BALANCE_ORDER, 1, true, 3, 1},
};

START_TEST(one_that_has_what_is_asked_for_is_asked)
{
	ck_assert_msg(ask_at_home(homes[_i].balance, homes[_i].home, homes[_i].stays,
				  homes[_i].failing) == homes[_i].want,
		      "%s", homes[_i].says);
}
END_TEST

START_TEST(one_that_has_it_and_fails_is_not_asked_again)
{
	struct upstream *u = several(2);
	struct upstream_try t = {.tried = 2, .current = 1};
	t = (struct upstream_try){.home = upstream_mark(u, &t), .stays = true};
	ck_assert(upstream_begin(u, &t, 1000));
	ck_assert_uint_eq(t.current, 1);
	upstream_failed(u, &t, &refused, 1000);
	ck_assert(upstream_retry(u, &t, 1000));
	ck_assert_uint_eq(t.current, 0);
	upstream_end(u, &t);
	upstream_destroy(&u);
}
END_TEST

START_TEST(what_is_under_way_is_counted_and_given_back)
{
	struct upstream_options o = {
		.name = "g", .balance = BALANCE_LEAST, .retries = 1, .most = 3};
	struct upstream *u = group(&o, 2, 0);
	struct upstream_try t[4] = {{0}};
	for (int i = 0; i < 3; i++)
		ck_assert(upstream_begin(u, &t[i], 1000));
	ck_assert(!upstream_begin(u, &t[3], 1000)); /* one too many: refused */
	upstream_end(u, &t[3]);
	upstream_end(u, &t[3]);
	ck_assert_uint_eq(upstream_state(u, 0, 0).active + upstream_state(u, 1, 0).active, 3);
	upstream_failed(u, &t[0], &refused, 1000);
	ck_assert(upstream_retry(u, &t[0], 1000));
	ck_assert_uint_eq(upstream_state(u, 0, 0).active + upstream_state(u, 1, 0).active, 3);
	for (int i = 0; i < 3; i++)
		upstream_end(u, &t[i]);
	ck_assert_uint_eq(upstream_state(u, 0, 0).active + upstream_state(u, 1, 0).active, 0);
	t[3] = (struct upstream_try){0};
	ck_assert(upstream_begin(u, &t[3], 1000));
	upstream_end(u, &t[3]);
	upstream_destroy(&u);
}
END_TEST

START_TEST(a_request_that_is_refused_finds_out_nothing)
{
	static const enum balance how[] = {BALANCE_ORDER, BALANCE_LEAST};
	struct upstream_options o = {.name = "g", .balance = how[_i], .retries = 1, .most = 1};
	struct upstream *u = group(&o, 2, 0);
	struct upstream_try one = {0}, refused_one = {0}, next = {0};
	int first;
	while (!is_out(u, 0, 1000))
		ask(u, 2, 1000, &first);
	ck_assert(upstream_begin(u, &one, 1999));
	ck_assert(!upstream_begin(u, &refused_one, 2500)); /* it is asked by nobody's request */
	ck_assert(!refused_one.probe);
	upstream_end(u, &refused_one);
	upstream_end(u, &one);
	ck_assert(upstream_begin(u, &next, 2500));
	ck_assert(next.probe && next.current == 0);
	upstream_end(u, &next);
	upstream_destroy(&u);
}
END_TEST

START_TEST(a_tunnel_is_counted_by_its_server_and_takes_no_place_in_the_queue)
{
	struct upstream_options o = {
		.name = "g", .balance = BALANCE_LEAST, .retries = 1, .most = 1};
	struct upstream *u = group(&o, 2, 0);
	struct upstream_try tunnel = {0}, next = {0}, more = {0};
	ck_assert(upstream_begin(u, &tunnel, 1000));
	upstream_apart(u, &tunnel);
	ck_assert(upstream_begin(u, &next, 1000)); /* there is room for one */
	ck_assert(!upstream_begin(u, &more, 1000));
	ck_assert_uint_ne(next.current, tunnel.current); /* the other server is the freer one */
	upstream_end(u, &more);
	upstream_end(u, &next);
	ck_assert_uint_eq(upstream_state(u, tunnel.current, 0).active, 1);
	upstream_end(u, &tunnel);
	upstream_end(u, &tunnel);
	ck_assert_uint_eq(upstream_state(u, 0, 0).active + upstream_state(u, 1, 0).active, 0);
	more = (struct upstream_try){0};
	ck_assert(upstream_begin(u, &more, 1000));
	upstream_end(u, &more);
	upstream_destroy(&u);
}
END_TEST

/* Retries are a fifth of what is under way, and three at least: when all fails at once, the
 * others of the group do not get all of it twice. */
START_TEST(retries_have_a_budget)
{
	enum { MANY = 100 };
	struct upstream_options o = {.name = "g", .balance = BALANCE_LEAST, .retries = 1};
	struct upstream *u = group(&o, 3, 0);
	static struct upstream_try t[MANY];
	unsigned retried = 0;
	memset(t, 0, sizeof t);
	for (int i = 0; i < MANY; i++)
		upstream_begin(u, &t[i], 1000);
	for (int i = 0; i < MANY; i++)
		retried += upstream_retry(u, &t[i], 1000);
	ck_assert_uint_eq(retried, MANY / UPSTREAM_RETRIES_SHARE);
	for (int i = 0; i < MANY; i++)
		ck_assert(!upstream_retry(u, &t[i], 1000)); /* one each at most */
	for (int i = 0; i < MANY; i++)
		upstream_end(u, &t[i]);
	memset(t, 0, sizeof t);
	for (int i = 0; i < 4; i++)
		upstream_begin(u, &t[i], 1000);
	for (int i = 0; i < 4; i++)
		ck_assert(upstream_retry(u, &t[i], 1000) == (i < UPSTREAM_RETRIES_LEAST));
	for (int i = 0; i < 4; i++)
		upstream_end(u, &t[i]);
	upstream_destroy(&u);
}
END_TEST

START_TEST(a_client_whose_retries_hang_leaves_some_to_others)
{
	enum { MANY = 8 }; /* of which a fifth is less than three */
	struct upstream_options o = {.name = "g", .balance = BALANCE_LEAST, .retries = 1};
	struct upstream *u = group(&o, 2, 0);
	struct upstream_try bad[MANY] = {{0}}, other[MANY] = {{0}};
	unsigned retried = 0;
	for (uint32_t i = 0; i < MANY; i++) {
		bad[i].from = (struct source){1, i + 1};
		upstream_begin(u, &bad[i], 1000);
		retried += upstream_retry(u, &bad[i], 1000);
	}
	ck_assert_uint_eq(retried, UPSTREAM_RETRIES_LEAST);
	for (uint32_t i = 0; i < MANY; i++) { /* two of each */
		other[i].from = (struct source){2 + i / 2, 1};
		upstream_begin(u, &other[i], 1000);
		ck_assert(upstream_retry(u, &other[i], 1000) ==
			  (i % 2 == 0 && i / 2 < UPSTREAM_RETRIES_LEAST));
	}
	for (uint32_t i = 0; i < MANY; i++) {
		upstream_end(u, &bad[i]);
		upstream_end(u, &other[i]);
	}
	bad[0] = (struct upstream_try){.from = {1, 1}};
	upstream_begin(u, &bad[0], 1000);
	ck_assert(upstream_retry(u, &bad[0], 1000));
	upstream_end(u, &bad[0]);
	upstream_destroy(&u);
}
END_TEST

START_TEST(a_server_that_is_back_gets_its_part_bit_by_bit)
{
	struct upstream_options o = {.name = "g", .balance = BALANCE_ROUND_ROBIN, .retries = 1};
	struct upstream *u = group(&o, 2, 0);
	int first;
	while (!is_out(u, 0, 1000))
		ask(u, 2, 1000, &first);
	ask(u, 3, 2000, &first); /* the probe finds it well */
	ck_assert(!is_out(u, 0, 2000));
	int counts[3] = {0};
	static const int64_t at[] = {2001, 2000 + UPSTREAM_SLOW_RETURN_MS / 2,
				     2000 + UPSTREAM_SLOW_RETURN_MS};
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 16 * 17 * 3; i++) {
			ask(u, 3, at[k], &first);
			counts[k] += first == 0;
		}
	ck_assert_int_eq(counts[0], 16 * 3);	      /* 1 of 17 */
	ck_assert_int_eq(counts[1], 16 * 17);	      /* 8 of 24 */
	ck_assert_int_eq(counts[2], 16 * 17 * 3 / 2); /* one of two */
	upstream_destroy(&u);
}
END_TEST

START_TEST(by_hash_a_key_has_one_server_until_it_fails)
{
	struct upstream_options o = {.name = "g", .balance = BALANCE_HASH, .retries = 1};
	struct upstream *u = group(&o, 5, 0);
	struct upstream_try t = {.key = 77}, again = {.key = 77}, third = {.key = 77};
	upstream_begin(u, &t, 1000);
	upstream_end(u, &t);
	upstream_begin(u, &again, 1000);
	ck_assert_uint_eq(again.current, t.current);
	upstream_failed(u, &again, &refused, 1000);
	ck_assert(upstream_retry(u, &again, 1000));
	ck_assert_uint_ne(again.current, t.current);
	upstream_end(u, &again);
	upstream_begin(u, &third, 1000);
	ck_assert_uint_eq(third.current, t.current);
	upstream_end(u, &third);
	upstream_destroy(&u);
}
END_TEST

/* How a fetch may end, whether five times in a row says that the server fails, and whether another
 * may be asked: for a safe method, for others. */
static const struct {
	const char *says;
	struct fetch_result r;
	bool out, safe, other;
} ends[] = {
	{"no such name", {.end = FETCH_DNS}, true, true, true},
	{"refused", {.end = FETCH_CONNECT}, true, true, true},
	{"no connection in time", {.end = FETCH_CONNECT_TIMEOUT}, true, true, true},
	{"no TLS", {.end = FETCH_TLS}, true, true, true},
	{"no TLS, and the body is gone",
	 {.end = FETCH_TLS, .body_taken = true},
	 true,
	 false,
	 false},
	{"we had no connection free", {.end = FETCH_QUEUE_TIMEOUT}, false, true, true},
	{"we had no socket", {.end = FETCH_NO_SOCKET}, false, true, true},
	{"the group's queue is full", {.end = FETCH_QUEUE_FULL}, false, false, false},
	{"silence", {.end = FETCH_READ_TIMEOUT}, true, true, false},
	{"silence in the head", {.end = FETCH_READ_TIMEOUT, .begun = true}, true, false, false},
	{"silence in the body",
	 {.end = FETCH_READ_TIMEOUT, .begun = true, .head_seen = true},
	 false,
	 false,
	 false},
	{"closed", {.end = FETCH_CLOSED}, true, true, false},
	{"closed in the head", {.end = FETCH_CLOSED, .begun = true}, true, false, false},
	{"it took no more", {.end = FETCH_SEND}, true, true, false},
	{"it took no more of a body", {.end = FETCH_SEND, .body_taken = true}, true, false, false},
	{"cut", {.end = FETCH_TRUNCATED, .begun = true, .head_seen = true}, false, false, false},
	{"unreadable", {.end = FETCH_PROTOCOL, .begun = true}, false, false, false},
	{"silence, for as long as all may take", {.end = FETCH_TOTAL_TIMEOUT}, true, false, false},
	{"a body took as long",
	 {.end = FETCH_TOTAL_TIMEOUT, .body_taken = true},
	 false,
	 false,
	 false},
	{"took too long altogether",
	 {.end = FETCH_TOTAL_TIMEOUT, .begun = true, .head_seen = true},
	 false,
	 false,
	 false},
	{"the client's body failed", {.end = FETCH_ABORTED}, false, false, false},
};

START_TEST(what_counts_as_a_failure_and_what_is_tried_again)
{
	struct upstream *u = several(2);
	struct fetch_result r = ends[_i].r;
	int first;
	r.word = ends[_i].says;
	ask(u, 3, 1000, &first); /* so that none of it is silence to everybody */
	for (int i = 0; i < UPSTREAM_FAILURES; i++) {
		struct upstream_try t = {0};
		upstream_begin(u, &t, 1000);
		ck_assert_uint_eq(t.current, 0);
		upstream_failed(u, &t, &r, 1000);
		upstream_end(u, &t);
	}
	ck_assert_msg(is_out(u, 0, 1001) == ends[_i].out, "%s", ends[_i].says);
	ck_assert_msg(upstream_may_ask_another(&r, true) == ends[_i].safe, "%s", ends[_i].says);
	ck_assert_msg(upstream_may_ask_another(&r, false) == ends[_i].other, "%s", ends[_i].says);
	upstream_destroy(&u);
}
END_TEST

static void
connects_to_nobody(struct upstream *u, int64_t now)
{
	static const struct fetch_result silent = {.end = FETCH_CONNECT_TIMEOUT,
						   .word = "connect-timeout"};
	struct upstream_try t = {0};
	upstream_begin(u, &t, now - CONNECT_MS);
	ck_assert_uint_eq(t.current, 0);
	upstream_failed(u, &t, &silent, now);
	upstream_end(u, &t);
}

/* When the server answered somebody, before it took no connection within CONNECT_MS until 10,000. */
static const struct {
	int64_t answered;
	bool out;
} silences[] = {{0, true}, {1, true}, {9050, true}, {9051, false}, {9999, false}};

START_TEST(one_that_answers_nobody_while_it_is_connected_to_is_left_alone_at_once)
{
	struct upstream *u = several(2), *next = several(2);
	int first;
	if (silences[_i].answered)
		ask(u, 3, silences[_i].answered, &first);
	upstream_learn_from(next, u); /* a reload meanwhile */
	connects_to_nobody(u, 10000);
	connects_to_nobody(next, 10000);
	ck_assert(is_out(u, 0, 10000) == silences[_i].out);
	ck_assert(is_out(next, 0, 10000) == silences[_i].out);
	for (int i = 1; !is_out(u, 0, 10000); i++) {
		ck_assert_int_lt(i, UPSTREAM_FAILURES);
		connects_to_nobody(u, 10000);
	}
	ask(u, 2, 10001, &first);
	ck_assert_int_eq(first, 1);
	upstream_destroy(&u);
	upstream_destroy(&next);
}
END_TEST

START_TEST(where_there_is_no_other_it_is_failing_after_five_such_failures)
{
	struct upstream *u = several(1);
	for (int i = 0; i < UPSTREAM_FAILURES; i++) {
		ck_assert_int_eq(upstream_state(u, 0, 10000).condition, UPSTREAM_WELL);
		connects_to_nobody(u, 10000);
	}
	ck_assert_int_eq(upstream_state(u, 0, 10000).condition, UPSTREAM_FAILING);
	upstream_destroy(&u);
}
END_TEST

static const struct {
	int status;
	bool out;
} answers[] = {{200, false}, {404, false}, {500, false}, {501, false},
	       {502, true},  {503, true},  {504, true},	 {505, false}};

START_TEST(answers_of_a_gateway_that_has_nothing_behind_it_are_failures)
{
	struct upstream *u = several(2);
	char word[8];
	for (int i = 0; i < UPSTREAM_FAILURES; i++) {
		struct upstream_try t = {0};
		upstream_begin(u, &t, 1000);
		upstream_answered(u, &t, answers[_i].status, 1000, 1000);
		upstream_end(u, &t);
	}
	ck_assert(is_out(u, 0, 1001) == answers[_i].out);
	snprintf(word, sizeof word, "%d", answers[_i].status);
	if (answers[_i].out)
		ck_assert_str_eq(upstream_state(u, 0, 1001).why, word);
	upstream_destroy(&u);
}
END_TEST

static int64_t
usual(const struct upstream *u)
{
	bool several;
	return upstream_usual_ms(u, &several);
}

/* The judgement is test_outlier's; here it is what becomes of it. */
START_TEST(one_client_has_no_server_left_alone_and_finds_no_lone_one_failing)
{
	struct upstream *u = several(2), *one = several(1);
	struct upstream_try good = {.from = {2, 2}, .tried = 1}, bad = {.from = {1, 1}, .tried = 1};
	for (int64_t now = 1000; now < 60000; now += 100) {
		upstream_answered(u, &good, 200, 1000, now);
		upstream_answered(one, &good, 200, 1000, now);
		for (int i = 0; i < 4 * UPSTREAM_FAILURES; i++) {
			upstream_answered(u, &bad, 503, 1000, now);
			upstream_answered(one, &bad, 503, 1000, now);
		}
		ck_assert(!is_out(u, 0, now));
		ck_assert_int_eq(upstream_state(one, 0, now).condition, UPSTREAM_WELL);
	}
	for (uint32_t i = 0; i < UPSTREAM_FAILURES; i++) {
		struct upstream_try t = {.from = {i, i}, .tried = 1};
		upstream_answered(u, &t, 503, 1000, 60000);
		upstream_answered(one, &t, 503, 1000, 60000);
	}
	ck_assert(is_out(u, 0, 60000));
	ck_assert_int_eq(upstream_state(one, 0, 60000).condition, UPSTREAM_FAILING);
	upstream_answered(one, &good, 200, 1000, 60000);
	ck_assert_int_eq(upstream_state(one, 0, 60000).condition, UPSTREAM_WELL);
	upstream_destroy(&u);
	upstream_destroy(&one);
}
END_TEST

START_TEST(one_that_is_back_is_judged_anew)
{
	struct upstream *u = several(2);
	struct upstream_try good = {.from = {9, 9}, .tried = 1}, probe = {.from = {9, 9}};
	for (uint32_t i = 1; i <= UPSTREAM_FAILURES; i++) {
		struct upstream_try t = {.from = {i, i}, .tried = 1};
		ck_assert(!is_out(u, 0, 1000));
		upstream_answered(u, &good, 404, 1000, 1000);
		upstream_answered(u, &t, 503, 1000, 1000);
	}
	ck_assert(is_out(u, 0, 1000));
	upstream_begin(u, &probe, 2000);
	ck_assert(probe.probe);
	upstream_answered(u, &probe, 200, 1000, 2000);
	upstream_end(u, &probe);
	for (uint32_t i = 1; i < UPSTREAM_FAILURES; i++) {
		struct upstream_try t = {.from = {i, i}, .tried = 1};
		upstream_answered(u, &t, 503, 1000, 2000);
		ck_assert(!is_out(u, 0, 2000));
	}
	upstream_destroy(&u);
}
END_TEST

START_TEST(the_usual_time_is_where_one_in_five_is_slower_and_no_outlier_moves_it)
{
	struct upstream *u = several(1);
	struct upstream_try t = {0};
	upstream_begin(u, &t, 1000);
	ck_assert_int_eq(usual(u), 0);
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < 20000; i++) { /* evenly between 0 and 100 ms */
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		upstream_answered(u, &t, 200, (int64_t)(x % 100000), 1000);
	}
	ck_assert_int_ge(usual(u), 60);
	ck_assert_int_le(usual(u), 95);
	int64_t was = usual(u);
	upstream_answered(u, &t, 200, (int64_t)3600 * 1000 * 1000, 1000);
	ck_assert_int_le(usual(u), was * 17 / 16 + 1);
	upstream_end(u, &t);
	upstream_destroy(&u);
}
END_TEST

enum { THREADS = 4, TURNS = 20000 };
static _Atomic int64_t the_time = 1000;
static _Atomic int probes;

static void *
hammer(void *arg)
{
	struct upstream *u = arg;
	for (int i = 0; i < TURNS; i++) {
		struct upstream_try t = {0};
		int64_t now = atomic_fetch_add(&the_time, 1);
		upstream_begin(u, &t, now);
		do {
			atomic_fetch_add(&probes, t.probe);
			if (t.current == 1) {
				upstream_answered(u, &t, 200, 1000, now);
				break;
			}
			upstream_failed(u, &t, &refused, now);
		} while (upstream_retry(u, &t, now));
		upstream_end(u, &t);
	}
	return NULL;
}

START_TEST(workers_share_it)
{
	struct upstream *u = several(2);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, u);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* 80 s: 1, 2, 4, 8, 16, 30 s and what remains. */
	ck_assert_int_ge(atomic_load(&probes), 4);
	ck_assert_int_le(atomic_load(&probes), 8);
	ck_assert_uint_eq(upstream_state(u, 0, 0).active + upstream_state(u, 1, 0).active, 0);
	upstream_destroy(&u);
}
END_TEST

/* Servers that come and go under all threads: the places among the half are given back. */
static void *
flap(void *arg)
{
	struct upstream *u = arg;
	for (int i = 0; i < TURNS; i++) {
		struct upstream_try t = {0};
		int64_t now = atomic_fetch_add(&the_time, 7);
		upstream_begin(u, &t, now);
		if (i / 50 % 3)
			upstream_failed(u, &t, &refused, now);
		else
			upstream_answered(u, &t, 200, 1000, now);
		upstream_end(u, &t);
	}
	return NULL;
}

START_TEST(places_of_those_left_alone_are_given_back)
{
	struct upstream_options o = {.name = "g", .balance = BALANCE_ROUND_ROBIN, .retries = 1};
	struct upstream *u = group(&o, 4, 0);
	pthread_t threads[THREADS];
	int first;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, flap, u);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	int64_t now = atomic_load(&the_time);
	for (int i = 0; i < 400; i++, now += 1000)
		ask(u, 15, now, &first);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(upstream_state(u, i, now).condition, UPSTREAM_WELL);
	for (int i = 0; i < 100; i++)
		fails(u, 0, now);
	unsigned out = 0;
	for (unsigned i = 0; i < 4; i++)
		out += is_out(u, i, now);
	ck_assert_uint_eq(out, 2);
	upstream_destroy(&u);
}
END_TEST

/* A group of another shape for the same servers, as a reload makes it. */
START_TEST(a_new_group_knows_what_the_old_one_knew)
{
	struct upstream_options o = {.name = "g", .balance = BALANCE_ROUND_ROBIN, .retries = 1};
	struct upstream *old = group(&o, 4, 0);
	for (int i = 0; i < 100; i++)
		fails(old, 0, i);
	ck_assert(is_out(old, 0, 100) + is_out(old, 1, 100) + is_out(old, 2, 100) +
			  is_out(old, 3, 100) ==
		  2);
	struct upstream *same = group(&o, 4, 0), *less = group(&o, 2, 0);
	upstream_learn_from(same, old);
	upstream_learn_from(less, old);
	unsigned out = 0;
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(is_out(same, i, 100), is_out(old, i, 100));
	for (unsigned i = 0; i < 2; i++)
		out += is_out(less, i, 100);
	ck_assert_uint_le(out, 1); /* at most half of the smaller one, too */
	upstream_destroy(&old);
	upstream_destroy(&same);
	upstream_destroy(&less);
}
END_TEST

START_TEST(a_group_is_the_same_only_if_nothing_of_it_differs)
{
	struct upstream_options o = {.name = "g", .retries = 1}, other = o;
	struct upstream *u = group(&o, 2, 0);
	struct upstream_server s[2] = {
		{.origin = (struct origin *)(uintptr_t)upstream_server_origin(u, 0)},
		{.origin = (struct origin *)(uintptr_t)upstream_server_origin(u, 1), .number = 1}};
	ck_assert(upstream_is(u, &o, s, 2));
	ck_assert(!upstream_is(u, &o, s, 1));
	other.retries = 2;
	ck_assert(!upstream_is(u, &other, s, 2));
	s[1].weight = 2;
	ck_assert(!upstream_is(u, &o, s, 2));
	struct upstream *again = upstream_ref(u);
	upstream_destroy(&u);
	ck_assert_uint_eq(upstream_count(again), 2);
	upstream_destroy(&again);
}
END_TEST

static const struct {
	const char *says;
	struct origin_options with;
	bool same;
} origins[] = {
	{"all as before", {.url = "http://a"}, true},
	{"a default that is written out", {.url = "http://a", .connect_timeout_ms = 5000}, true},
	{"another place", {.url = "http://b"}, false},
	{"another host", {.url = "http://a", .host = "x"}, false},
	{"another time limit", {.url = "http://a", .read_timeout_ms = 1}, false},
	{"other connections", {.url = "http://a", .max_connections = 1}, false},
	{"other trust", {.url = "http://a", .ca_file = "/etc/passwd"}, false},
	{"none", {.url = "http://a", .insecure = true}, false},
	{"a certificate", {.url = "http://a", .cert_file = "/etc/passwd"}, false},
	{"another name in TLS", {.url = "http://a", .server_name = "b"}, false},
};

START_TEST(an_origin_is_the_same_only_if_nothing_of_it_differs)
{
	char err[200];
	struct origin *o =
		origin_create(&(struct origin_options){.url = "http://a"}, err, sizeof err);
	ck_assert_msg(origin_is(o, &origins[_i].with) == origins[_i].same, "%s", origins[_i].says);
	struct origin *again = origin_ref(o);
	origin_destroy(&o);
	ck_assert_ptr_null(o);
	ck_assert_str_eq(origin_url(again), "http://a");
	origin_destroy(&again);
}
END_TEST

/* ---- checks ---------------------------------------------------------------------------------- */

/* steps: g and b, a check that is good or bad; a, an answer to a request; f, five failures. Of
 * server 0 at the end. */
static const struct {
	const char *says, *steps;
	enum upstream_condition is;
} checks[] = {
	{"two bad checks are not three", "bb", UPSTREAM_WELL},
	{"three are", "bbb", UPSTREAM_OUT},
	{"only in a row", "bbgbb", UPSTREAM_WELL},
	{"one good check is not two", "bbbg", UPSTREAM_OUT},
	{"two are", "bbbgg", UPSTREAM_WELL},
	{"only in a row", "bbbgbgb", UPSTREAM_OUT},
	{"good ones before count for nothing", "ggggbbb", UPSTREAM_OUT},
	{"an answer does not bring it back", "bbba", UPSTREAM_OUT},
	{"failures of requests count beside", "gggf", UPSTREAM_OUT},
	{"such a server returns by an answer", "fa", UPSTREAM_WELL},
	{"one out by both stays out by its checks", "fbbba", UPSTREAM_OUT},
	{"and returns by them", "fbbbgg", UPSTREAM_WELL},
	{"good checks do not shorten what failures of requests brought", "fgg", UPSTREAM_OUT},
};

static void
step(struct upstream *u, char what)
{
	struct upstream_try t = {.tried = 1, .current = 0};
	if (what == 'g' || what == 'b')
		upstream_checked(u, 0, what == 'g' ? 204 : 503, FETCH_OK, 1000);
	if (what == 'a')
		upstream_answered(u, &t, 200, 1000, 1000);
	for (int i = 0; what == 'f' && i < UPSTREAM_FAILURES; i++)
		upstream_failed(u, &t, &refused, 1000);
}

START_TEST(checks_put_a_server_out_and_bring_it_back)
{
	struct upstream *u = checked(2);
	for (const char *s = checks[_i].steps; *s; s++)
		step(u, *s);
	ck_assert_msg(upstream_state(u, 0, 1001).condition == checks[_i].is, "%s", checks[_i].says);
	/* The only place is given back: the other may be left alone, or may not. */
	for (int i = 0; i < 3; i++)
		upstream_checked(u, 1, 0, FETCH_CONNECT, 1000);
	ck_assert_msg(is_out(u, 1, 1001) == (checks[_i].is == UPSTREAM_WELL), "%s",
		      checks[_i].says);
	ck_assert_str_eq(upstream_state(u, 1, 1001).why, "health check: connect-failed");
	upstream_destroy(&u);
}
END_TEST

START_TEST(one_out_by_its_checks_does_not_return_by_time_and_half_stay)
{
	for (unsigned n = 2; n <= 5; n++) {
		struct upstream *u = checked(n);
		unsigned out = 0;
		int first;
		for (int i = 0; i < 3; i++)
			for (unsigned k = 0; k < n; k++)
				upstream_checked(u, k, 503, FETCH_OK, 1000);
		for (unsigned k = 0; k < n; k++) {
			out += is_out(u, k, 1000);
			ck_assert_int_ne(upstream_state(u, k, 1000).condition, UPSTREAM_WELL);
			ck_assert_str_eq(upstream_state(u, k, 1000).why, "health check: 503");
		}
		ck_assert_uint_eq(out, n / 2);
		ck_assert_int_eq(upstream_state(u, 0, 1000).returns_ms, 0);
		ask(u, UINT64_MAX, INT64_C(1) << 40, &first);
		ck_assert(!is_out(u, (unsigned)first, 1000));
		upstream_destroy(&u);
	}
}
END_TEST

START_TEST(another_configuration_keeps_what_checks_found_as_long_as_there_are_any)
{
	struct upstream *old = checked(2), *same = checked(2);
	struct upstream *none = group(&(struct upstream_options){.name = "g"}, 2, 0);
	for (int i = 0; i < 3; i++)
		upstream_checked(old, 0, 503, FETCH_OK, 1000);
	upstream_learn_from(same, old);
	upstream_learn_from(none, old);
	ck_assert(is_out(same, 0, 1000) && !is_out(none, 0, 1000));
	ck_assert_int_eq(upstream_state(none, 0, 1000).condition, UPSTREAM_WELL);
	upstream_destroy(&old);
	upstream_destroy(&same);
	upstream_destroy(&none);
}
END_TEST

UNIT("upstream", LOOP(checks_put_a_server_out_and_bring_it_back, checks),
     TEST(one_out_by_its_checks_does_not_return_by_time_and_half_stay),
     TEST(another_configuration_keeps_what_checks_found_as_long_as_there_are_any),
     TEST(a_new_group_knows_what_the_old_one_knew),
     TEST(a_group_is_the_same_only_if_nothing_of_it_differs),
     LOOP(an_origin_is_the_same_only_if_nothing_of_it_differs, origins),
     TEST(five_failures_in_a_row_are_too_many_and_four_are_not),
     TEST(one_that_is_left_alone_is_probed_at_growing_intervals),
     TEST(one_that_is_back_is_asked_first_again),
     TEST(while_a_probe_is_under_way_nobody_else_probes),
     TEST(a_client_whose_probe_brought_nothing_lets_others_find_out_next),
     TEST(never_more_than_half_of_a_group_is_left_alone),
     TEST(whom_nobody_asks_takes_no_place_among_the_half_for_ever),
     TEST(the_place_of_one_that_is_never_asked_is_there_for_checks_too),
     TEST(a_single_server_is_asked_always_and_known_to_be_back_at_once),
     TEST(when_none_is_well_a_request_asks_one_that_is_left_alone),
     TEST(backups_are_asked_when_none_of_the_others_may_be),
     LOOP(one_that_has_what_is_asked_for_is_asked, homes),
     TEST(one_that_has_it_and_fails_is_not_asked_again),
     TEST(what_is_under_way_is_counted_and_given_back),
     TIMES(a_request_that_is_refused_finds_out_nothing, 2),
     TEST(a_tunnel_is_counted_by_its_server_and_takes_no_place_in_the_queue),
     TEST(retries_have_a_budget), TEST(a_client_whose_retries_hang_leaves_some_to_others),
     TEST(a_server_that_is_back_gets_its_part_bit_by_bit),
     TEST(by_hash_a_key_has_one_server_until_it_fails),
     LOOP(what_counts_as_a_failure_and_what_is_tried_again, ends),
     LOOP(one_that_answers_nobody_while_it_is_connected_to_is_left_alone_at_once, silences),
     TEST(where_there_is_no_other_it_is_failing_after_five_such_failures),
     TEST(one_client_has_no_server_left_alone_and_finds_no_lone_one_failing),
     TEST(one_that_is_back_is_judged_anew),
     LOOP(answers_of_a_gateway_that_has_nothing_behind_it_are_failures, answers),
     TEST(the_usual_time_is_where_one_in_five_is_slower_and_no_outlier_moves_it),
     TEST(workers_share_it), TEST(places_of_those_left_alone_are_given_back))
