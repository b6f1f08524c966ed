/* test_flight.c - one answer, many readers: who leads, who follows, what is kept, who is woken.
 * rooms: cache http base filter
 */
#include "proxy/cache/flight.h"

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

static const struct key_hash HASH = {1, 2};
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
	cache_forget(c, HASH, KEY, 0);
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
     TEST(who_left_is_not_woken_though_a_letter_is_under_way),
     TEST(a_large_body_keeps_a_window_and_the_slowest_sets_the_pace),
     TEST(nobody_joins_a_flight_whose_beginning_is_gone), TEST(what_is_invalidated_is_not_joined),
     TEST(the_last_reader_to_leave_tells_the_leader),
     LOOP(a_reader_that_reads_nothing_is_left_behind_by_a_fast_one, left_behind),
     TEST(two_that_are_both_slow_are_waited_for), TEST(only_those_who_wait_for_news_are_woken),
     TEST(threads_read_what_one_appends))
