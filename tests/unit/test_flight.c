/* test_flight.c - one answer, many readers: who leads, who follows, what is kept, who is woken.
 * rooms: cache http base filter
 */
#include "proxy/base/block.h"
#include "proxy/base/clock.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/flight/flight.h"
#include "proxy/cache/store/object_facts.h"

#include "tests/kit/unit.h"

#include <pthread.h>

enum { RETAIN = 512 << 10, WINDOW = 256 << 10, TOTAL = 8 << 20 };

struct desk { /* a worker's mailbox and what was heard through it */
	struct mailbox box;
	struct flights *all;
	int woken, led;
};

static void
desk_open(struct desk *d)
{
	struct flights_options o = {RETAIN, WINDOW, TOTAL, NULL};
	*d = (struct desk){.all = flights_create(&o)};
	ck_assert_int_eq(mailbox_init(&d->box), 0);
}

static void
desk_close(struct desk *d)
{
	uint64_t flights, bytes;
	mailbox_run(&d->box, true);
	flights_count(d->all, &flights, &bytes);
	ck_assert_uint_eq(flights, 0);
	ck_assert_uint_eq(bytes, 0);
	flights_destroy(&d->all);
	mailbox_fini(&d->box);
}

static void
on_wake(void *ctx)
{
	((struct desk *)ctx)->woken++;
}

static void
on_leader(void *ctx)
{
	((struct desk *)ctx)->led++;
}

static int64_t now; /* ms */

static const struct twice_key_hash HASH = {1, 2};
#define KEY STR("http://a/x")

static bool
enter(struct desk *d, struct flight_reader **r)
{
	return flights_enter(d->all, HASH, KEY, &d->box, on_wake, d, now, r);
}

static void
publish(struct flight *f, uint64_t length)
{
	struct flight_head h = {.status = 200, .storable = true, .body_bytes = length};
	flight_publish(f, &h);
}

static bool
append(struct flight *f, const char *p, size_t n)
{
	while (n) {
		struct block *b;
		uint32_t at, got;
		if (!flight_append(f, p, n, now, &b, &at, &got))
			return false;
		ck_assert(memcmp(b->p + at, p, got) == 0);
		p += got;
		n -= got;
	}
	return true;
}

static void
land(struct flight *f)
{
	flight_end(f, NULL);
	flights_close(f);
	flight_drop_leader(f);
}

START_TEST(the_first_leads_and_the_others_read_the_same_bytes)
{
	struct desk d;
	struct flight_reader *one, *two;
	const char *p;
	size_t n;
	struct block *b = NULL;
	desk_open(&d);
	ck_assert(enter(&d, &one));
	ck_assert(!enter(&d, &two));
	struct flight *f = flight_of(one);
	ck_assert_ptr_eq(f, flight_of(two));
	ck_assert_uint_eq(flight_followers(f), 0);
	flight_count(two);
	ck_assert_uint_eq(flight_followers(f), 1);
	ck_assert_int_eq(flight_state(f), FLIGHT_WAITING);
	publish(f, 5);
	ck_assert_int_eq(flight_read(two, 0, &p, &n, &b), FLIGHT_LATER);
	ck_assert(append(f, "hello", 5));
	ck_assert_int_eq(flight_read(two, 1, &p, &n, &b), FLIGHT_READY);
	ck_assert(n == 4 && memcmp(p, "ello", 4) == 0);
	block_unref(&b);
	land(f);
	ck_assert_int_eq(flight_read(one, 5, &p, &n, &b), FLIGHT_OVER);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.woken, 2); /* one letter each, however much news */
	flight_leave(&one);
	flight_leave(&two);
	desk_close(&d);
}
END_TEST

START_TEST(who_left_is_not_woken_though_a_letter_is_under_way)
{
	struct desk d;
	struct flight_reader *one;
	desk_open(&d);
	enter(&d, &one);
	struct flight *f = flight_ref(flight_of(one));
	publish(f, 1);
	flight_leave(&one);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.woken, 0);
	land(f);
	flight_unref(&f);
	desk_close(&d);
}
END_TEST

/* Each has a reader that takes nothing, and more to come than it may hold. */
START_TEST(many_flights_hold_little_each)
{
	enum { MANY = 1500, FIRST = 16 << 10, BYTES = 200000 };
	static char body[BYTES];
	static struct flight_reader *r[MANY];
	struct desk d;
	uint64_t flights, bytes;
	desk_open(&d);
	for (unsigned i = 0; i < MANY; i++) {
		r[i] = flights_enter_alone(d.all, 0, &d.box, on_wake, &d, now);
		publish(flight_of(r[i]), BYTES);
		for (unsigned k = 0; k < BYTES / 1000 && append(flight_of(r[i]), body, 1000); k++)
			;
	}
	flights_count(d.all, &flights, &bytes);
	ck_assert_uint_eq(flights, MANY);
	ck_assert_uint_le(bytes, TOTAL + BYTES + (uint64_t)MANY * (FIRST + 64));
	/* The last ones were as little as can be: they go on when that is read. */
	flight_done_until(r[MANY - 1], FIRST);
	ck_assert(append(flight_of(r[MANY - 1]), body, 1000));
	for (unsigned i = 0; i < MANY; i++) {
		flight_fail(flight_of(r[i]), 502, "truncated", 0);
		flight_leave(&r[i]);
	}
	desk_close(&d);
}
END_TEST

START_TEST(a_large_body_keeps_a_window_and_the_slowest_sets_the_pace)
{
	static char kib[1024];
	struct desk d;
	struct flight_reader *fast, *slow;
	desk_open(&d);
	enter(&d, &fast);
	enter(&d, &slow);
	struct flight *f = flight_ref(flight_of(fast));
	flight_set_leader(f, &d.box, on_leader, &d);
	publish(f, 10 << 20);
	uint64_t sent = 0;
	while (append(f, kib, sizeof kib))
		sent += sizeof kib;
	ck_assert_uint_ge(sent, WINDOW);
	ck_assert_uint_le(sent, WINDOW + (64 << 10)); /* the window and the block that is open */
	flight_done_until(fast, sent);
	ck_assert(!append(f, kib, sizeof kib));
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.led, 0);
	flight_leave(&slow);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.led, 1);
	ck_assert(append(f, kib, sizeof kib));
	flight_fail(f, 502, "truncated", 0);
	flights_close(f);
	flight_drop_leader(f);
	flight_leave(&fast);
	flight_unref(&f);
	desk_close(&d);
}
END_TEST

/* Bytes that have come when somebody first met the body on its way; so much later; by then. */
static const struct {
	const char *says;
	size_t first;
	int64_t ms;
	size_t then;
	bool joined;
} drips[] = {
	{"not given time yet", 1, 800, 1, true},
	{"a byte now and then", 1, 2000, 3, false},
	{"nothing but a head", 0, 1000, 0, false},
	{"slow, but on its way", 1000, 2000, 17000, true},
	{"much, and then no more for long", 20000, 60000, 20000, false},
};

/* Its leader is told when all who read may be gone: by a doubt, or because the last other one has left. */
START_TEST(a_flight_is_doubted_while_all_who_read_it_are)
{
	struct desk d;
	struct flight_reader *one, *two, *three;
	desk_open(&d);
	ck_assert(enter(&d, &one));
	struct flight *f = flight_of(one);
	flight_set_leader(f, &d.box, on_leader, &d);
	ck_assert(!enter(&d, &two));
	flight_doubt(one);
	flight_doubt(one);
	mailbox_run(&d.box, true);
	ck_assert(!flight_is_doubted(f) && d.led == 0);
	flight_leave(&two);
	mailbox_run(&d.box, true);
	ck_assert(flight_is_doubted(f) && d.led == 1);
	ck_assert(!enter(&d, &three));
	ck_assert(!flight_is_doubted(f));
	flight_doubt(three);
	mailbox_run(&d.box, true);
	ck_assert(flight_is_doubted(f) && d.led == 2);
	flight_leave(&one);
	flight_leave(&three);
	ck_assert(!flight_is_doubted(f)); /* nobody reads it */
	flight_fail(f, 0, "abandoned", 0);
	flights_close(f);
	flight_drop_leader(f);
	desk_close(&d);
}
END_TEST

/* Bytes of a body that come every `every` ms, the first at 0; whether it is steady so many ms later. */
static const struct {
	const char *says;
	uint64_t body_bytes;
	size_t first, bytes;
	int64_t every, ms;
	bool steady;
} streams[] = {
	{"live audio of 64 kbit/s", UINT64_MAX, 800, 800, 100, 200, true},
	{"the same, later", UINT64_MAX, 800, 800, 100, 60050, true},
	{"in larger pieces", UINT64_MAX, 8000, 8000, 1000, 1000, true},
	{"and between two of them", UINT64_MAX, 8000, 8000, 1000, 2250, true},
	{"not looked at for long enough", UINT64_MAX, 800, 800, 100, 190, false},
	{"all at once, and then nothing", UINT64_MAX, 60000, 0, 100, 300, false},
	{"all at once, and then a little", UINT64_MAX, 60000, 10, 100, 5000, false},
	{"slower than a body that drips", UINT64_MAX, 500, 500, 100, 1000, false},
	{"of known length: it is waited for", 1 << 20, 800, 800, 100, 1000, false},
	{"nothing but a head", UINT64_MAX, 0, 0, 100, 1000, false},
};

START_TEST(a_body_of_unknown_length_may_be_steady)
{
	static char bytes[60000];
	struct desk d;
	struct flight_reader *leader;
	desk_open(&d);
	now = 1000000;
	ck_assert(enter(&d, &leader));
	struct flight *f = flight_ref(flight_of(leader));
	publish(f, streams[_i].body_bytes);
	int64_t begun = now;
	for (int64_t at = 0; at <= streams[_i].ms; at += streams[_i].every) {
		now = begun + at;
		ck_assert(append(f, bytes, at ? streams[_i].bytes : streams[_i].first));
		flight_done_until(leader, UINT64_MAX);
	}
	now = begun + streams[_i].ms;
	ck_assert_msg(flight_is_steady(f, now) == streams[_i].steady, "%s", streams[_i].says);
	land(f);
	flight_leave(&leader);
	flight_unref(&f);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(nobody_joins_a_body_that_drips)
{
	static char bytes[20000];
	struct desk d;
	struct flight_reader *leader, *first, *late;
	desk_open(&d);
	now = 1000000; /* the head may take its time */
	ck_assert(enter(&d, &leader));
	struct flight *f = flight_ref(flight_of(leader));
	now += 5000;
	publish(f, 1 << 20);
	ck_assert(append(f, bytes, drips[_i].first));
	ck_assert(!enter(&d, &first));
	ck_assert(!flight_awaits(first, UINT64_MAX));
	now += drips[_i].ms;
	ck_assert(append(f, bytes, drips[_i].then - drips[_i].first));
	ck_assert_msg(enter(&d, &late) == !drips[_i].joined, "%s", drips[_i].says);
	if (!drips[_i].joined) {
		flights_close(flight_of(late));
		flight_fail(flight_of(late), 0, "left", 0);
	}
	land(f);
	mailbox_run(&d.box, true);
	ck_assert(flight_awaits(first, UINT64_MAX));
	ck_assert_int_ge(d.woken, 1);
	flight_leave(&leader);
	flight_leave(&first);
	flight_leave(&late);
	flight_unref(&f);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(nobody_joins_a_flight_whose_beginning_is_gone)
{
	static char kib[1024];
	struct desk d;
	struct flight_reader *one, *late;
	desk_open(&d);
	enter(&d, &one);
	struct flight *f = flight_ref(flight_of(one));
	publish(f, UINT64_MAX);
	for (uint64_t at = 0; at < 4 * RETAIN; at += sizeof kib) {
		ck_assert(append(f, kib, sizeof kib));
		flight_done_until(one, at + sizeof kib);
	}
	ck_assert(enter(&d, &late)); /* leads another */
	ck_assert_ptr_ne(flight_of(late), f);
	land(f);
	flights_close(flight_of(late));
	flight_leave(&one);
	flight_leave(&late);
	flight_unref(&f);
	desk_close(&d);
}
END_TEST

static struct flight_reader *
wait_for_end(struct desk *d, int64_t most_ms)
{
	return flights_wait(d->all, HASH, KEY, &d->box, on_wake, d, now, most_ms);
}

/* Leads a flight of `whole` bytes whose first `come` came within a second and are read; the fast
 * reader is at its end. */
static struct flight_reader *
begin_large(struct desk *d, bool kept, uint64_t whole, uint64_t come)
{
	static char bytes[64 << 10];
	struct flight_head h = {.status = 200, .storable = true, .kept = kept, .body_bytes = whole};
	struct flight_reader *one;
	now = 0;
	desk_open(d);
	ck_assert(enter(d, &one));
	ck_assert_ptr_null(wait_for_end(d, 1 << 30)); /* no head yet: it can be joined */
	flight_publish(flight_of(one), &h);
	now = 1000;
	for (uint64_t at = 0; at < come; at += sizeof bytes) {
		ck_assert(append(flight_of(one), bytes, sizeof bytes));
		flight_done_until(one, at + sizeof bytes);
	}
	return one;
}

START_TEST(who_comes_late_to_what_is_kept_waits_for_its_end)
{
	struct desk d;
	const char *p;
	size_t n;
	struct block *b = NULL;
	enum { COME = 4 << 20, WHOLE = 16 << 20 };
	struct flight_reader *one = begin_large(&d, true, WHOLE, COME), *late;
	struct flight *f = flight_of(one);
	/* A quarter took a second, so three are left. */
	ck_assert_ptr_null(wait_for_end(&d, 2999));
	late = wait_for_end(&d, 3000);
	ck_assert_ptr_eq(flight_of(late), f);
	ck_assert_uint_eq(flight_readers(f), 2);
	ck_assert_uint_eq(flight_followers(f), 0);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(flight_read(one, COME, &p, &n, &b), FLIGHT_LATER);
	d.woken = 0;
	ck_assert(append(f, "x", 1)); /* news for who reads, not for who waits */
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.woken, 1);
	struct flight_reader *gone = wait_for_end(&d, 1 << 30);
	flight_leave(&gone);
	land(f);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.woken, 2);
	flight_leave(&late);
	flight_leave(&one);
	desk_close(&d);
}
END_TEST

START_TEST(who_waits_for_the_end_is_not_held_up_by_a_slow_reader)
{
	struct desk d;
	enum { COME = 1 << 20, WHOLE = 16 << 20 };
	struct flight_reader *slow = begin_large(&d, true, WHOLE, COME);
	struct flight *f = flight_of(slow);
	struct flight_reader *late = wait_for_end(&d, 1 << 30);
	static char bytes[64 << 10];
	for (int64_t at = COME; at < WHOLE; now += FLIGHT_ASK_MS)
		if (append(f, bytes, sizeof bytes))
			at += sizeof bytes;
		else
			ck_assert_int_lt(now, 60 * 1000);
	land(f);
	flight_leave(&late);
	flight_leave(&slow);
	desk_close(&d);
}
END_TEST

START_TEST(nobody_waits_for_what_is_not_kept)
{
	struct desk d;
	struct flight_reader *one = begin_large(&d, false, 16 << 20, 4 << 20);
	ck_assert_ptr_null(wait_for_end(&d, 1 << 30));
	land(flight_of(one));
	flight_leave(&one);
	desk_close(&d);
}
END_TEST

START_TEST(what_is_invalidated_is_not_joined)
{
	char err[256];
	struct cache *c;
	struct cache_options co = {.memory_bytes = 1 << 20};
	ck_assert_int_eq(cache_open(&c, &co, err, sizeof err), 0);
	struct flights_options o = {RETAIN, WINDOW, TOTAL, c};
	struct desk d = {.all = flights_create(&o)};
	mailbox_init(&d.box);
	struct flight_reader *one, *two;
	enter(&d, &one);
	ck_assert(!enter(&d, &two)); /* it follows */
	flight_leave(&two);
	cache_forget(c, HASH, KEY, STR(""), 0);
	ck_assert(!flights_has(d.all, HASH, KEY));
	ck_assert(enter(&d, &two));
	ck_assert_ptr_ne(flight_of(one), flight_of(two));
	flights_close(flight_of(two));
	flight_leave(&one);
	flight_leave(&two);
	desk_close(&d);
	cache_close(&c);
}
END_TEST

START_TEST(the_last_reader_to_leave_tells_the_leader)
{
	struct desk d;
	struct flight_reader *one;
	desk_open(&d);
	enter(&d, &one);
	struct flight *f = flight_ref(flight_of(one));
	flight_set_leader(f, &d.box, on_leader, &d);
	flight_leave(&one);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.led, 1);
	ck_assert_uint_eq(flight_readers(f), 0);
	flight_fail(f, 0, "abandoned", 0);
	flights_close(f);
	flight_drop_leader(f);
	flight_unref(&f);
	desk_close(&d);
}
END_TEST

/* Reads all that is there; the step that ended it. */
static enum flight_step
read_on(struct flight_reader *r, uint64_t *at)
{
	enum flight_step s;
	for (;;) {
		const char *p;
		size_t n;
		struct block *b = NULL;
		s = flight_read(r, *at, &p, &n, &b);
		if (s != FLIGHT_READY)
			return s;
		*at += n;
		block_unref(&b);
		flight_done_until(r, *at);
	}
}

/* A body of BIG bytes for a fast reader and one that reads nothing, over ten seconds. Returns how
 * many of them the fast one got. */
enum { BIG = 8 << 20 };
static uint64_t
two_speeds(struct desk *d, struct flight *f, struct flight_reader *fast, bool kept)
{
	static char kib[1024];
	uint64_t sent = 0, at = 0;
	struct flight_head h = {.status = 200, .storable = true, .kept = kept, .body_bytes = BIG};
	flight_publish(f, &h);
	for (now = 0; now < 10000 && sent < BIG; now += FLIGHT_ASK_MS) {
		while (sent < BIG && append(f, kib, sizeof kib))
			sent += sizeof kib;
		mailbox_run(&d->box, true);
		enum flight_step s = read_on(fast, &at);
		ck_assert(s == FLIGHT_LATER || s == FLIGHT_OVER);
	}
	return at;
}

static const struct {
	const char *says;
	bool kept, stored;
	enum flight_step before, after;
} left_behind[] = {
	{"kept nowhere", false, false, FLIGHT_LOST, FLIGHT_LOST},
	{"kept, and stored in the end", true, true, FLIGHT_LATER, FLIGHT_STORED},
	{"kept, but it was not stored", true, false, FLIGHT_LATER, FLIGHT_LOST},
};

START_TEST(a_reader_that_reads_nothing_is_left_behind_by_a_fast_one)
{
	struct desk d;
	struct flight_reader *fast, *idle;
	uint64_t at = 0;
	desk_open(&d);
	enter(&d, &fast);
	enter(&d, &idle);
	struct flight *f = flight_ref(flight_of(fast));
	flight_set_leader(f, &d.box, on_leader, &d);
	ck_assert_uint_eq(two_speeds(&d, f, fast, left_behind[_i].kept), BIG);
	ck_assert_int_lt(now, 5000);
	ck_assert_int_eq(read_on(idle, &at), left_behind[_i].before);
	static struct object it; /* never looked into */
	atomic_store(&it.refs, 2);
	int woken = d.woken;
	flight_end(f, left_behind[_i].stored ? &it : NULL);
	mailbox_run(&d.box, true);
	if (left_behind[_i].kept)
		ck_assert_int_ge(d.woken, woken + 1); /* it is told that the whole is there */
	ck_assert_int_eq(read_on(idle, &at), left_behind[_i].after);
	if (left_behind[_i].stored)
		ck_assert_ptr_eq(flight_stored(f), &it);
	flights_close(f);
	flight_drop_leader(f);
	flight_leave(&fast);
	flight_leave(&idle);
	flight_unref(&f);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(two_that_are_both_slow_are_waited_for)
{
	static char kib[1024];
	struct desk d;
	struct flight_reader *r[2];
	uint64_t at[2] = {0};
	desk_open(&d);
	enter(&d, &r[0]);
	enter(&d, &r[1]);
	struct flight *f = flight_ref(flight_of(r[0]));
	flight_set_leader(f, &d.box, on_leader, &d);
	publish(f, BIG);
	/* Each takes 64 KiB every 100 ms, one a little later: nobody starves, nobody is lost. */
	for (now = 0; now < 20000; now += 50) {
		int who = now / 50 % 2;
		while (append(f, kib, sizeof kib))
			;
		flight_done_until(r[who], at[who] += 64 << 10);
	}
	for (int i = 0; i < 2; i++) {
		const char *p;
		size_t n;
		struct block *b = NULL;
		ck_assert_int_eq(flight_read(r[i], at[i], &p, &n, &b), FLIGHT_READY);
		block_unref(&b);
	}
	flight_fail(f, 502, "x", 0);
	flights_close(f);
	flight_drop_leader(f);
	flight_leave(&r[0]);
	flight_leave(&r[1]);
	flight_unref(&f);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(only_those_who_wait_for_news_are_woken)
{
	struct desk d;
	struct flight_reader *one, *two;
	uint64_t at = 0;
	desk_open(&d);
	enter(&d, &one);
	enter(&d, &two);
	struct flight *f = flight_of(one);
	publish(f, UINT64_MAX);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.woken, 2);
	ck_assert_int_eq(read_on(one, &at), FLIGHT_LATER);
	/* The other is busy with its client and has not asked. */
	append(f, "a", 1);
	append(f, "b", 1);
	mailbox_run(&d.box, true);
	ck_assert_int_eq(d.woken, 3);
	ck_assert_int_eq(read_on(one, &at), FLIGHT_LATER);
	ck_assert_uint_eq(at, 2);
	land(f);
	flight_leave(&one);
	flight_leave(&two);
	desk_close(&d);
}
END_TEST

/* ---- second fetches ------------------------------------------------------------------------ */

enum { PATIENCE = 1000 };

static bool
overtake(struct desk *d, struct flight_reader **r)
{
	return flights_overtake(d->all, r, now, PATIENCE);
}

/* The first hangs, or its body does. */
START_TEST(second_fetches_grow_in_number_with_the_time)
{
	struct desk d;
	struct flight_reader *lead, *r[8];
	int64_t tries[8];
	int n = 0;
	desk_open(&d);
	enter(&d, &lead);
	struct flight *slow = flight_ref(flight_of(lead));
	for (int i = 0; i < COUNT(r); i++)
		ck_assert(!enter(&d, &r[i]));
	if (_i == 1) {
		publish(slow, 1 << 20);
		append(slow, "x", 1);
		now = 1;
		ck_assert(!flight_drips(slow, now, PATIENCE)); /* it is looked at from here on */
	}
	for (now = 1001; now < 20000; now += 100)
		for (int i = 0; i < COUNT(r); i++)
			if (flight_of(r[i]) == slow && overtake(&d, &r[i]))
				tries[n++] = now;
	static const int64_t want[] = {1001, 2001, 3001, 3001, 4001, 4001, 5001, 5001};
	ck_assert_int_eq(n, COUNT(want));
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(tries[i], want[i]);
	struct flight_reader *late;
	ck_assert(!enter(&d, &late)); /* who comes now joins the newest */
	ck_assert_ptr_eq(flight_of(late), flight_of(r[7]));
	flights_close(flight_of(late));
	flight_leave(&late);
	flight_leave(&lead);
	for (int i = 0; i < COUNT(r); i++)
		flight_leave(&r[i]);
	flight_unref(&slow);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(those_who_wait_are_told_when_the_second_fetch_has_an_answer)
{
	struct desk d;
	struct flight_reader *lead, *first, *second, *waits;
	desk_open(&d);
	enter(&d, &lead);
	enter(&d, &first);
	enter(&d, &second);
	enter(&d, &waits);
	struct flight *slow = flight_ref(flight_of(lead));
	now = 1000;
	ck_assert(overtake(&d, &first));
	ck_assert(!overtake(&d, &second));
	/* The second fetch fails: the next may try at once. */
	flight_fail(flight_of(first), 503, "x", 1);
	flights_close(flight_of(first));
	ck_assert(!flight_is_overtaken(slow));
	ck_assert(overtake(&d, &second));
	mailbox_run(&d.box, true);
	int woken = d.woken;
	struct flight_head error = {.status = 503}, good = {.status = 200, .storable = true};
	bool well = _i == 0;
	flight_publish(flight_of(second), well ? &good : &error);
	ck_assert_int_eq(flight_is_overtaken(slow), well);
	mailbox_run(&d.box, true);
	ck_assert_int_ge(d.woken, woken + 2); /* those of the slow one too */
	if (!well)
		ck_assert(overtake(&d, &waits));
	flights_close(flight_of(well ? second : waits));
	flight_leave(&first);
	flight_leave(&second);
	flight_leave(&waits);
	flight_leave(&lead);
	flight_unref(&slow);
	desk_close(&d);
	now = 0;
}
END_TEST

/* For each second fetch that fails, however it does, one more may try, not two. */
static const struct {
	const char *says;
	int status; /* of its head; 0: none */
	bool proves, drips;
} failures[] = {
	{"it fails before its head", 0, false, false},
	{"an error page, cut short", 503, false, false},
	{"an answer that breaks off at once", 200, false, false},
	{"an answer that looks well and breaks off", 200, true, false},
	{"an answer that drips, and then breaks off", 200, true, true},
};

START_TEST(each_fetch_that_fails_lets_one_more_try)
{
	static char bytes[65536];
	struct desk d;
	struct flight_reader *lead, *r[4], *seat;
	desk_open(&d);
	enter(&d, &lead);
	struct flight *slow = flight_ref(flight_of(lead));
	for (int i = 0; i < COUNT(r); i++)
		ck_assert(!enter(&d, &r[i]));
	now = 1000;
	ck_assert(overtake(&d, &r[0]) && !overtake(&d, &r[1]));
	struct flight *second = flight_of(r[0]);
	struct flight_head head = {.status = failures[_i].status, .body_bytes = 1 << 20};
	if (head.status)
		flight_publish(second, &head);
	if (failures[_i].proves) {
		append(second, bytes, sizeof bytes);
		ck_assert(flight_is_overtaken(slow));
	}
	while (failures[_i].drips && (seat = flight_join_after(r[1], now, PATIENCE))) {
		flight_leave(&seat);
		now += 100;
	}
	now = 1000; /* no other patience is over */
	flight_fail(second, 503, "x", 1);
	flights_close(second);
	ck_assert(overtake(&d, &r[1]));
	ck_assert(!overtake(&d, &r[2]));
	flights_close(flight_of(r[1]));
	for (int i = 0; i < COUNT(r); i++)
		flight_leave(&r[i]);
	flight_leave(&lead);
	flight_unref(&slow);
	desk_close(&d);
	now = 0;
}
END_TEST

/* Bytes of the second fetch's body, and how long after its head; then those who read the first,
 * which drips, are told. */
static const struct {
	size_t bytes;
	int64_t ms;
	bool told, fails;
} proofs[] = {
	{1, 100, false, false},	   {1, 2000, false, false},   {60000, 100, false, false},
	{65536, 100, true, false}, {9000, 1000, true, false}, {65536, 100, true, true},
};

START_TEST(who_reads_a_body_that_drips_goes_on_from_the_second_fetch)
{
	static char bytes[65536];
	struct desk d;
	struct flight_reader *lead, *a, *b, *c;
	uint64_t at = 5;
	desk_open(&d);
	now = 1;
	enter(&d, &lead);
	enter(&d, &a);
	enter(&d, &b);
	struct flight *slow = flight_ref(flight_of(lead));
	publish(slow, 1 << 20);
	append(slow, "12345", 5);
	ck_assert(!flight_drips(slow, now, PATIENCE));
	ck_assert_ptr_null(flights_try_beside(d.all, a, now, PATIENCE));
	now += PATIENCE;
	ck_assert_ptr_nonnull(c = flights_try_beside(d.all, a, now, PATIENCE));
	ck_assert_ptr_null(flights_try_beside(d.all, b, now, PATIENCE));
	struct flight *second = flight_ref(flight_of(c));
	publish(second, 1 << 20);
	ck_assert_ptr_null(flight_join_after(b, now, PATIENCE));
	append(second, "1", 1);
	now += proofs[_i].ms;
	append(second, bytes, proofs[_i].bytes - 1);
	ck_assert_int_eq(flight_is_overtaken(slow), proofs[_i].told);
	struct flight_reader *joined = flight_join_after(b, now, PATIENCE);
	ck_assert_int_eq(joined != NULL, proofs[_i].told);
	if (proofs[_i].fails) {
		flight_fail(second, 502, "truncated", 1);
		ck_assert(!flight_is_overtaken(slow));
		ck_assert_ptr_null(flight_join_after(b, now, PATIENCE));
	} else if (joined) {
		ck_assert_int_eq(read_on(joined, &at), FLIGHT_LATER);
		ck_assert_uint_eq(at, proofs[_i].bytes);
		flight_leave(&joined);
		flight_drips(second, now, PATIENCE);
		for (int k = 0; k < 2; k++) /* it stops as well */
			flight_drips(second, now += PATIENCE, PATIENCE);
		ck_assert(flight_drips(second, now, PATIENCE));
		ck_assert_ptr_null(flight_join_after(b, now, PATIENCE));
		ck_assert(!flight_is_overtaken(slow));
	}
	flights_close(second);
	flight_leave(&joined);
	flight_leave(&a);
	flight_leave(&b);
	flight_leave(&c);
	flight_leave(&lead);
	flight_unref(&second);
	flight_unref(&slow);
	desk_close(&d);
	now = 0;
}
END_TEST

/* A second fetch may drip behind its beginning as well: one that is whole takes its place. */
START_TEST(those_who_wait_are_sent_to_a_second_fetch_that_is_whole)
{
	static char bytes[65536];
	struct desk d;
	struct flight_reader *lead, *r[3], *joined;
	desk_open(&d);
	now = 1;
	enter(&d, &lead);
	struct flight *slow = flight_ref(flight_of(lead)), *tries[2];
	for (int i = 0; i < COUNT(r); i++)
		enter(&d, &r[i]);
	publish(slow, 1 << 20);
	append(slow, "x", 1);
	ck_assert(!flight_drips(slow, now, PATIENCE));
	for (int i = 0; i < COUNT(tries); i++) {
		now += PATIENCE;
		ck_assert(overtake(&d, &r[i]));
		tries[i] = flight_of(r[i]);
		publish(tries[i], 1 << 20);
	}
	for (int i = 0; i < COUNT(tries); i++)
		append(tries[i], bytes, sizeof bytes);
	ck_assert_ptr_nonnull(joined = flight_join_after(r[2], now, PATIENCE));
	ck_assert_ptr_eq(flight_of(joined), tries[0]);
	flight_leave(&joined);
	flight_end(tries[1], NULL);
	ck_assert_ptr_nonnull(joined = flight_join_after(r[2], now, PATIENCE));
	ck_assert_ptr_eq(flight_of(joined), tries[1]);
	flight_end(tries[0], NULL); /* it stays */
	flight_leave(&joined);
	ck_assert_ptr_nonnull(joined = flight_join_after(r[2], now, PATIENCE));
	ck_assert_ptr_eq(flight_of(joined), tries[1]);
	flights_close(tries[1]);
	flight_leave(&joined);
	for (int i = 0; i < COUNT(r); i++)
		flight_leave(&r[i]);
	flight_leave(&lead);
	flight_unref(&slow);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(a_body_that_waits_for_its_readers_does_not_drip)
{
	static char kib[1024];
	struct desk d;
	struct flight_reader *one;
	desk_open(&d);
	now = 1;
	enter(&d, &one);
	struct flight *f = flight_ref(flight_of(one));
	publish(f, 10 << 20);
	while (append(f, kib, sizeof kib))
		;
	for (int i = 0; i < 4; i++, now += 60000)
		ck_assert(!flight_drips(f, now, PATIENCE));
	flights_close(f);
	flight_leave(&one);
	flight_unref(&f);
	desk_close(&d);
	now = 0;
}
END_TEST

START_TEST(the_second_fetch_that_is_overtaken_too_tells_both)
{
	struct desk d;
	struct flight_reader *lead, *a, *b, *c;
	desk_open(&d);
	enter(&d, &lead);
	enter(&d, &a);
	enter(&d, &b);
	now = 1000;
	ck_assert(overtake(&d, &a));
	enter(&d, &c); /* follows the second */
	struct flight *slow = flight_of(lead), *second = flight_ref(flight_of(a));
	ck_assert_ptr_eq(flight_of(c), second);
	now = 3000;
	ck_assert(overtake(&d, &b));
	struct flight_head good = {.status = 200, .storable = true};
	flight_publish(flight_of(b), &good);
	ck_assert(flight_is_overtaken(slow));
	ck_assert(flight_is_overtaken(second));
	flights_close(flight_of(b));
	flight_leave(&a);
	flight_leave(&b);
	flight_leave(&c);
	flight_leave(&lead);
	flight_unref(&second);
	desk_close(&d);
	now = 0;
}
END_TEST

/* A miss of one body, appended in one go. Its block, a reference. */
static struct block *
pass(struct desk *d, const char *bytes, uint64_t n)
{
	struct flight_reader *r;
	struct block *b;
	uint32_t where, got;
	enter(d, &r);
	struct flight *f = flight_of(r);
	flight_set_leader(f, &d->box, on_leader, d);
	publish(f, n);
	ck_assert(flight_append(f, bytes, n, now, &b, &where, &got));
	ck_assert_uint_eq(where, 0);
	ck_assert_uint_eq(got, n);
	block_ref(b);
	land(f);
	mailbox_run(&d->box, false);
	flight_leave(&r);
	return b;
}

START_TEST(a_block_that_somebody_still_sends_is_no_other_body_s)
{
	struct desk d;
	desk_open(&d);
	struct block *first = pass(&d, "first body", 10);
	struct block *second = pass(&d, "other", 5);
	ck_assert_ptr_ne(first, second);
	ck_assert(memcmp(first->p, "first body", 10) == 0);
	block_unref(&first);
	block_unref(&second);
	desk_close(&d);
}
END_TEST

START_TEST(a_spare_block_is_for_bodies_that_fit)
{
	static char large[20 << 10];
	struct desk d;
	desk_open(&d);
	for (int i = 0; i < 20; i++) {
		size_t n = i % 4 == 3 ? sizeof large : i % 4 == 2 ? 9000 : 10;
		memset(large, 'a' + i, n);
		struct block *b = pass(&d, large, n);
		ck_assert_uint_ge(b->cap, n);
		ck_assert_uint_eq(b->n, n);
		block_unref(&b);
	}
	desk_close(&d);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

#if !SANITIZED

static _Atomic unsigned allocations;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *
malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}
void *
calloc(size_t n, size_t each)
{
	allocations++;
	return __libc_calloc(n, each);
}
void *
realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}

/* A miss as a worker sees it: a flight with its leader and one reader, a head and a small body. */
static void
one_miss(struct desk *d, bool kept)
{
	struct flight_reader *r;
	uint64_t at = 0;
	enter(d, &r);
	struct flight *f = flight_of(r);
	flight_set_leader(f, &d->box, on_leader, d);
	struct flight_head h = {.status = 200, .kept = kept, .body_bytes = 10};
	flight_publish(f, &h);
	struct block *b;
	uint32_t where, got;
	flight_append(f, "0123456789", 10, now, &b, &where, &got);
	mailbox_run(&d->box, false);
	read_on(r, &at);
	land(f);
	mailbox_run(&d->box, false);
	flight_leave(&r);
}

static unsigned
allocations_of_100(struct desk *d, bool kept)
{
	one_miss(d, kept);
	unsigned before = allocations;
	for (int i = 0; i < 100; i++)
		one_miss(d, kept);
	return allocations - before;
}

START_TEST(a_miss_that_nobody_keeps_allocates_nothing)
{
	struct desk d;
	desk_open(&d);
	ck_assert_uint_eq(allocations_of_100(&d, false), 0);
	desk_close(&d);
}
END_TEST

START_TEST(a_miss_that_is_kept_allocates_the_block_of_its_body)
{
	struct desk d;
	desk_open(&d);
	one_miss(&d, false); /* leaves a block that is not for what is kept */
	ck_assert_uint_eq(allocations_of_100(&d, true), 100);
	desk_close(&d);
}
END_TEST
#define MEMORY_TESTS                                      \
	TEST(a_miss_that_nobody_keeps_allocates_nothing), \
		TEST(a_miss_that_is_kept_allocates_the_block_of_its_body),

#else
#define MEMORY_TESTS
#endif

/* ---- threads ------------------------------------------------------------------------------- */

enum { READERS = 4, BODY = 40 << 10 };

static void *
read_all(void *arg)
{
	struct flight_reader *r = arg;
	uint64_t at = 0, wrong = 0;
	for (;;) {
		const char *p;
		size_t n;
		struct block *b = NULL;
		enum flight_step s = flight_read(r, at, &p, &n, &b);
		if (s == FLIGHT_OVER || s == FLIGHT_CUT)
			return (void *)(uintptr_t)(wrong || s == FLIGHT_CUT || at != BODY);
		for (size_t i = 0; s == FLIGHT_READY && i < n; i++)
			wrong += p[i] != (char)((at + i) * 7);
		if (s == FLIGHT_READY)
			at += n;
		block_unref(&b);
		flight_done_until(r, at);
	}
}

START_TEST(threads_read_what_one_appends)
{
	struct desk d;
	struct flight_reader *r[READERS];
	pthread_t t[READERS];
	desk_open(&d);
	for (int i = 0; i < READERS; i++)
		enter(&d, &r[i]);
	struct flight *f = flight_ref(flight_of(r[0]));
	publish(f, UINT64_MAX);
	for (int i = 0; i < READERS; i++)
		pthread_create(&t[i], NULL, read_all, r[i]);
	for (uint64_t at = 0; at < BODY; at += 100) {
		char piece[100];
		size_t n = BODY - at < 100 ? BODY - at : 100;
		for (size_t i = 0; i < n; i++)
			piece[i] = (char)((at + i) * 7);
		ck_assert(append(f, piece, n));
	}
	land(f);
	for (int i = 0; i < READERS; i++) {
		void *wrong;
		pthread_join(t[i], &wrong);
		ck_assert_ptr_null(wrong);
		flight_leave(&r[i]);
	}
	flight_unref(&f);
	desk_close(&d);
}
END_TEST

UNIT("flight", TEST(the_first_leads_and_the_others_read_the_same_bytes),
     TEST(who_left_is_not_woken_though_a_letter_is_under_way), TEST(many_flights_hold_little_each),
     TEST(a_large_body_keeps_a_window_and_the_slowest_sets_the_pace),
     TEST(a_flight_is_doubted_while_all_who_read_it_are),
     LOOP(nobody_joins_a_body_that_drips, drips),
     LOOP(a_body_of_unknown_length_may_be_steady, streams),
     TEST(nobody_joins_a_flight_whose_beginning_is_gone),
     TEST(who_comes_late_to_what_is_kept_waits_for_its_end),
     TEST(who_waits_for_the_end_is_not_held_up_by_a_slow_reader),
     TEST(nobody_waits_for_what_is_not_kept), TEST(what_is_invalidated_is_not_joined),
     TEST(the_last_reader_to_leave_tells_the_leader),
     LOOP(a_reader_that_reads_nothing_is_left_behind_by_a_fast_one, left_behind),
     TEST(two_that_are_both_slow_are_waited_for), TEST(only_those_who_wait_for_news_are_woken),
     TIMES(second_fetches_grow_in_number_with_the_time, 2),
     LOOP(who_reads_a_body_that_drips_goes_on_from_the_second_fetch, proofs),
     TEST(those_who_wait_are_sent_to_a_second_fetch_that_is_whole),
     TEST(a_body_that_waits_for_its_readers_does_not_drip),
     LOOP(each_fetch_that_fails_lets_one_more_try, failures),
     TIMES(those_who_wait_are_told_when_the_second_fetch_has_an_answer, 2),
     TEST(the_second_fetch_that_is_overtaken_too_tells_both),
     TEST(a_block_that_somebody_still_sends_is_no_other_body_s),
     TEST(a_spare_block_is_for_bodies_that_fit), MEMORY_TESTS TEST(threads_read_what_one_appends))
