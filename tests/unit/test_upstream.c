/* test_upstream.c - which origin is asked next, and how long one that is away is left alone.
 * rooms: origin http base
 */
#include "proxy/base/log.h"
#include "proxy/origin/upstream.h"

#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CONNECT_MS = 700 };

static struct upstream *
several(unsigned n)
{
	struct origin *all[UPSTREAM_MOST];
	char err[200], url[64];
	for (unsigned i = 0; i < n; i++) {
		snprintf(url, sizeof url, "http://192.0.2.%u", i + 1);
		struct origin_options o = {.url = url, .connect_timeout_ms = CONNECT_MS};
		ck_assert_ptr_nonnull(all[i] = origin_create(&o, err, sizeof err));
	}
	log_set_level(LOG_ERROR);
	return upstream_create(all, n);
}

static const struct fetch_result refused = {.end = FETCH_CONNECT, .word = "connect-failed"};

/* One request at this time: which origin it asks first; all those it asks fail but well. Returns
 * the bits of those asked. */
static uint64_t
ask(struct upstream *u, uint64_t well, int64_t now, int *first)
{
	struct upstream_try t = {0};
	*first = -1;
	while (upstream_pick(u, &t, now)) {
		if (*first < 0)
			*first = (int)t.current;
		if (well >> t.current & 1) {
			upstream_answered(u, &t, 1000);
			break;
		}
		ck_assert(upstream_failed(u, &t, &refused, now));
	}
	return t.tried;
}

/* As a request learns it that has asked all others. */
static bool
is_held(struct upstream *u, unsigned index, int64_t now)
{
	struct upstream_try t = {.tried = ~((uint64_t)1 << index)};
	ck_assert(upstream_pick(u, &t, now) && t.current == index);
	return t.probe || t.held_asked;
}

START_TEST(a_dead_origin_is_left_alone_and_probed_at_growing_intervals)
{
	struct upstream *u = several(2);
	int first, probes = 0;
	int64_t last = 0, gaps[64] = {0};
	ck_assert_uint_eq(ask(u, 2, 1000, &first), 3);
	ck_assert_int_eq(first, 0);
	ck_assert(is_held(u, 0, 1500));
	ck_assert(!is_held(u, 1, 1500));
	for (int64_t now = 1000; now < 400000; now += 50) {
		uint64_t asked = ask(u, 2, now, &first);
		ck_assert(asked & 2); /* nobody goes without an answer */
		if (asked & 1) {
			gaps[probes++] = now - last;
			last = now;
		}
	}
	static const int64_t want[] = {2000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
	for (int i = 1; i < COUNT(want); i++)
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
	ask(u, 2, 1000, &first);
	ask(u, 3, 1999, &first);
	ck_assert_int_eq(first, 1);
	ask(u, 3, 2000, &first); /* the probe */
	ck_assert_int_eq(first, 0);
	ask(u, 3, 2001, &first);
	ck_assert_int_eq(first, 0);
	ck_assert(!is_held(u, 0, 2001));
	ask(u, 2, 3000, &first); /* and the next failure begins with 1 s anew */
	ck_assert_uint_eq(ask(u, 2, 4000, &first) & 1, 1);
	upstream_destroy(&u);
}
END_TEST

START_TEST(while_a_probe_is_under_way_nobody_else_probes)
{
	struct upstream *u = several(2);
	struct upstream_try probe = {0}, other = {0};
	int first;
	ask(u, 2, 1000, &first);
	ck_assert(upstream_pick(u, &probe, 2500));
	ck_assert(probe.probe && probe.current == 0);
	ck_assert(upstream_pick(u, &other, 2500));
	ck_assert_uint_eq(other.current, 1);
	/* A probe that never came to an end is taken up by another after a while. */
	other = (struct upstream_try){0};
	ck_assert(upstream_pick(u, &other, 2500 + UPSTREAM_HOLD_FIRST_MS));
	ck_assert(other.probe && other.current == 0);
	upstream_destroy(&u);
}
END_TEST

START_TEST(a_single_origin_is_never_locked_out)
{
	struct upstream *u = several(1);
	int first;
	for (int64_t now = 1000; now < 100000; now += 100)
		ck_assert_uint_eq(ask(u, 0, now, &first), 1);
	ck_assert(is_held(u, 0, 100000));
	ask(u, 1, 100001, &first); /* back: known at once, not after the time */
	ck_assert(!is_held(u, 0, 100001));
	upstream_destroy(&u);
}
END_TEST

START_TEST(when_none_is_well_a_request_asks_one_that_is_left_alone)
{
	struct upstream *u = several(3);
	int first;
	ck_assert_uint_eq(ask(u, 0, 1000, &first), 7);
	uint64_t asked = ask(u, 0, 1001, &first);
	ck_assert_int_eq(__builtin_popcountll(asked), 1);
	/* One goes away while another is left alone, but back: it is the last way out. */
	ask(u, 4, 5000, &first);
	ck_assert(!is_held(u, 2, 5000));
	asked = ask(u, 3, 5001, &first);
	ck_assert_int_eq(first, 2);
	ck_assert_uint_ne(asked & 3, 0);
	upstream_destroy(&u);
}
END_TEST

/* How a fetch may end, what of it says that the origin is away,
 * and whether another may be asked. */
static const struct {
	const char *says;
	struct fetch_result r;
	int times;
	bool held, next;
} ends[] = {
	{"no such name", {.end = FETCH_DNS}, 1, true, true},
	{"refused", {.end = FETCH_CONNECT}, 1, true, true},
	{"no connection in time", {.end = FETCH_CONNECT_TIMEOUT}, 1, true, true},
	{"no TLS", {.end = FETCH_TLS}, 1, true, true},
	{"we had no connection free", {.end = FETCH_QUEUE_TIMEOUT}, 9, false, true},
	{"one slow URL", {.end = FETCH_READ_TIMEOUT}, 2, false, false},
	{"silent three times in a row", {.end = FETCH_READ_TIMEOUT}, 3, true, false},
	{"silent in the body", {.end = FETCH_READ_TIMEOUT, .head_seen = true}, 9, false, false},
	{"closed", {.end = FETCH_CLOSED}, 9, false, false},
	{"cut", {.end = FETCH_TRUNCATED, .head_seen = true}, 9, false, false},
	{"unreadable", {.end = FETCH_PROTOCOL}, 9, false, false},
	{"the client's body failed", {.end = FETCH_ABORTED}, 9, false, false},
};

START_TEST(what_counts_as_away)
{
	struct upstream *u = several(2);
	struct fetch_result r = ends[_i].r;
	r.word = ends[_i].says;
	for (int i = 0; i < ends[_i].times; i++) {
		struct upstream_try t = {0};
		ck_assert(upstream_pick(u, &t, 1000));
		ck_assert_uint_eq(t.current, 0);
		ck_assert_int_eq(upstream_failed(u, &t, &r, 1000), ends[_i].next);
	}
	ck_assert_msg(is_held(u, 0, 1001) == ends[_i].held, "%s", ends[_i].says);
	upstream_destroy(&u);
}
END_TEST

START_TEST(an_answer_between_two_silences_says_that_it_is_well)
{
	struct upstream *u = several(1);
	struct fetch_result r = {.end = FETCH_READ_TIMEOUT, .word = "read-timeout"};
	for (int i = 0; i < 20; i++) {
		struct upstream_try t = {0};
		upstream_pick(u, &t, 1000);
		if (i % 3 == 2)
			upstream_answered(u, &t, 1000);
		else
			upstream_failed(u, &t, &r, 1000);
		ck_assert(!is_held(u, 0, 1001));
	}
	upstream_destroy(&u);
}
END_TEST

START_TEST(the_usual_time_is_where_one_in_five_is_slower_and_no_outlier_moves_it)
{
	struct upstream *u = several(1);
	struct upstream_try t = {0};
	upstream_pick(u, &t, 1000);
	ck_assert_int_eq(upstream_usual_ms(u), 0);
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < 20000; i++) { /* evenly between 0 and 100 ms */
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		upstream_answered(u, &t, (int64_t)(x % 100000));
	}
	ck_assert_int_ge(upstream_usual_ms(u), 60);
	ck_assert_int_le(upstream_usual_ms(u), 95);
	int64_t was = upstream_usual_ms(u);
	upstream_answered(u, &t, (int64_t)3600 * 1000 * 1000);
	ck_assert_int_le(upstream_usual_ms(u), was * 17 / 16 + 1);
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
		while (upstream_pick(u, &t, now)) {
			atomic_fetch_add(&probes, t.probe);
			if (t.current == 1) {
				upstream_answered(u, &t, 1000);
				break;
			}
			upstream_failed(u, &t, &refused, now);
		}
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
	upstream_destroy(&u);
}
END_TEST

UNIT("upstream", TEST(a_dead_origin_is_left_alone_and_probed_at_growing_intervals),
     TEST(one_that_is_back_is_asked_first_again),
     TEST(while_a_probe_is_under_way_nobody_else_probes), TEST(a_single_origin_is_never_locked_out),
     TEST(when_none_is_well_a_request_asks_one_that_is_left_alone), LOOP(what_counts_as_away, ends),
     TEST(an_answer_between_two_silences_says_that_it_is_well),
     TEST(the_usual_time_is_where_one_in_five_is_slower_and_no_outlier_moves_it),
     TEST(workers_share_it))
