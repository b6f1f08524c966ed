/* test_alarm.c - timers ring once, in time, and not when they were cancelled.
 * rooms: base
 */
#include "proxy/base/alarm.h"

#include "tests/kit/unit.h"

#include <stdint.h>
#include <stdlib.h>

static struct alarms wheel;
static int64_t now;

struct timer {
	struct alarm alarm; /* first */
	int64_t at_ms, rang_ms;
	unsigned rings;
	struct timer *sets, *cancels;
};

static void
on_ring(struct alarm *a)
{
	struct timer *t = (struct timer *)a;
	ck_assert(!alarm_is_set(a));
	t->rings++;
	t->rang_ms = now;
	if (t->sets)
		alarm_set(&wheel, &t->sets->alarm, now, on_ring);
	if (t->cancels)
		alarm_cancel(&wheel, &t->cancels->alarm);
}

static void
set(struct timer *t, int64_t at_ms)
{
	t->at_ms = at_ms;
	alarm_set(&wheel, &t->alarm, at_ms, on_ring);
}

static unsigned
run_to(int64_t ms)
{
	now = ms;
	return alarm_run(&wheel, ms);
}

static const int64_t delays[] = {
	0,     1,     15,    16,      17,      1023,	1024,	   1025,
	65535, 65536, 65537, 4194303, 4194304, 5000000, 268435456, 600000000,
};

START_TEST(never_early_and_late_by_a_grain_at_most)
{
	int64_t begun = 123457 + _i;
	struct timer t = {0};
	alarm_init(&wheel, begun);
	set(&t, begun + delays[_i]);
	for (int64_t ms = begun; !t.rings; ms += 7) {
		run_to(ms);
		ck_assert_int_lt(ms, begun + delays[_i] + 3 * ALARM_GRAIN_MS);
		if (delays[_i] > 100000 && ms + 100 < begun + delays[_i])
			ms = begun + delays[_i] - 50; /* the wheel turns over all in between */
	}
	ck_assert_int_ge(t.rang_ms, t.at_ms);
	ck_assert_uint_eq(wheel.count, 0);
	run_to(t.rang_ms + 100000);
	ck_assert_uint_eq(t.rings, 1);
}
END_TEST

START_TEST(a_cancelled_alarm_is_silent_and_a_moved_one_rings_once)
{
	struct timer gone = {0}, moved = {0};
	alarm_init(&wheel, 0);
	set(&gone, 100);
	set(&moved, 100);
	alarm_cancel(&wheel, &gone.alarm);
	alarm_cancel(&wheel, &gone.alarm);
	set(&moved, 5000);
	run_to(4000);
	ck_assert_uint_eq(gone.rings + moved.rings, 0);
	run_to(6000);
	ck_assert_uint_eq(gone.rings, 0);
	ck_assert_uint_eq(moved.rings, 1);
}
END_TEST

START_TEST(a_ring_may_set_itself_and_cancel_its_neighbour)
{
	struct timer a = {0}, b = {0};
	alarm_init(&wheel, 0);
	set(&b, 64);
	set(&a, 64);
	a.sets = &a;
	a.cancels = &b;
	b.cancels = &a;
	run_to(70); /* whichever is first silences the other one; a begins anew each time */
	ck_assert_uint_eq(a.rings + b.rings, 1);
	ck_assert_uint_eq(wheel.count, a.rings);
	a.sets = NULL;
	run_to(200);
	ck_assert_uint_eq(wheel.count, 0);
}
END_TEST

START_TEST(thousands_of_them_against_the_plain_rule)
{
	enum { N = 3000 };
	static struct timer t[N];
	unsigned seed = 7, set_count = 0, rang = 0, cancelled = 0;
	int64_t ms = 1000000;
	alarm_init(&wheel, ms);
	for (int step = 0; step < 20000; step++) {
		unsigned i = (unsigned)rand_r(&seed) % N;
		if (rand_r(&seed) % 4 == 0) {
			cancelled += alarm_is_set(&t[i].alarm);
			alarm_cancel(&wheel, &t[i].alarm);
		} else {
			cancelled += alarm_is_set(&t[i].alarm);
			unsigned far = rand_r(&seed) % 3 ? 2000 : 300000;
			set(&t[i], ms + (unsigned)rand_r(&seed) % far);
			set_count++;
		}
		ms += rand_r(&seed) % 50;
		rang += run_to(ms);
		for (unsigned k = i; k < N; k += 97)
			ck_assert(!alarm_is_set(&t[k].alarm) ||
				  t[k].at_ms + 2 * ALARM_GRAIN_MS > ms);
	}
	rang += run_to(ms + 400000);
	ck_assert_uint_eq(wheel.count, 0);
	ck_assert_uint_eq(set_count, rang + cancelled);
	for (unsigned k = 0; k < N; k++)
		ck_assert(t[k].rings == 0 || t[k].rang_ms >= t[k].at_ms || cancelled);
}
END_TEST

UNIT("alarm", LOOP(never_early_and_late_by_a_grain_at_most, delays),
     TEST(a_cancelled_alarm_is_silent_and_a_moved_one_rings_once),
     TEST(a_ring_may_set_itself_and_cancel_its_neighbour),
     TEST(thousands_of_them_against_the_plain_rule))
