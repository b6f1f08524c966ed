/* rooms: fleet origin http base
 *
 * test_outbox.c - purges on their way: order, gathering, what is kept, and how much. */
#include "proxy/fleet/outbox.h"
#include "tests/kit/unit.h"

#include <stdio.h>

enum { SELF = 7, NOW = 1000 };
static int woken;

static void
wake(void *ctx)
{
	(void)ctx;
	woken++;
}

static uint64_t
put(struct outbox *o, const char *name, uint8_t flags)
{
	return outbox_put(o, &(struct purge_item){.kind = 1, .flags = flags, .name = str_of(name)},
			  NOW);
}

START_TEST(without_a_fleet_nothing_is_put)
{
	struct purge_names *l = purge_names_create(100);
	struct outbox *o = outbox_create(l);
	ck_assert_uint_eq(put(o, "http://x/", 0), 0);
	outbox_join(o, wake, o, SELF);
	ck_assert_uint_eq(put(o, "http://x/", 0), 100);
	outbox_shut(o);
	ck_assert_uint_eq(put(o, "http://x/", 0), 0);
	ck_assert_ptr_null(outbox_take(o, true));
	outbox_destroy(&o);
	purge_names_destroy(&l);
}
END_TEST

START_TEST(what_waits_is_taken_by_who_follows)
{
	struct purge_names *l = purge_names_create(100);
	struct outbox *o = outbox_create(l);
	woken = 0;
	outbox_expect(o, SELF);
	ck_assert_uint_eq(put(o, "http://x/0", 0), 100);
	struct parcel *early = outbox_take(o, false);
	parcel_unref(&early);
	outbox_join(o, wake, l, SELF);
	put(o, "http://x/1", 0);
	put(o, "http://x/2", 0);
	ck_assert_int_eq(woken, 1);
	outbox_join(o, wake, o, SELF);
	ck_assert_int_eq(woken, 2);
	outbox_leave(o, l); /* who was followed already */
	struct parcel *p = outbox_take(o, false);
	ck_assert(p && p->low == 101 && p->high == 102);
	parcel_unref(&p);
	put(o, "http://x/3", 0);
	ck_assert_int_eq(woken, 3);
	outbox_destroy(&o);
	purge_names_destroy(&l);
}
END_TEST

START_TEST(what_passes_is_gathered_and_bounded)
{
	char name[1000];
	int64_t due_ms;
	struct purge_names *l = purge_names_create(100);
	struct outbox *o = outbox_create(l);
	outbox_join(o, wake, o, SELF);
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(put(o, name, PURGE_ITEM_PASSING), 0);
	ck_assert_uint_gt(outbox_facts(o).dropped, 50);
	ck_assert_ptr_null(outbox_take_passing(o, NOW + OUTBOX_GATHER_MS - 1, &due_ms));
	ck_assert_int_eq(due_ms, NOW + OUTBOX_GATHER_MS);
	struct parcel *p = outbox_take_passing(o, NOW + OUTBOX_GATHER_MS, &due_ms);
	ck_assert(p && !p->lasts && p->low == 0);
	parcel_unref(&p);
	ck_assert_ptr_null(outbox_take_passing(o, NOW + 2 * OUTBOX_GATHER_MS, &due_ms));
	ck_assert_int_eq(due_ms, 0);
	outbox_destroy(&o);
	purge_names_destroy(&l);
}
END_TEST

START_TEST(what_is_kept_goes_through_a_file)
{
	struct buf file = {0};
	struct purge_names *l = purge_names_create(100);
	struct outbox *o = outbox_create(l), *next = outbox_create(l);
	outbox_join(o, wake, o, SELF);
	for (int i = 0; i < 2; i++) {
		put(o, "http://x/", 0);
		struct parcel *p = outbox_take(o, true);
		parcel_unref(&p);
	}
	outbox_write(o, &file);
	for (size_t n = 0; n < file.n; n++)
		ck_assert_int_eq(outbox_read(next, (struct str){file.p, n}), -1);
	ck_assert_int_eq(outbox_read(next, buf_str(&file)), 0);
	ck_assert_uint_eq(outbox_facts(next).parcels, 2);
	struct parcel *first = outbox_first(next);
	ck_assert(first->low == 100 && first->lasts);
	outbox_drop(next, first);
	ck_assert_uint_eq(outbox_first(next)->low, 101);
	outbox_destroy(&o);
	outbox_destroy(&next);
	purge_names_destroy(&l);
	buf_fini(&file);
}
END_TEST

START_TEST(too_much_becomes_a_purge_of_everything)
{
	static char name[8001];
	struct purge_names *l = purge_names_create(100);
	struct outbox *o = outbox_create(l);
	outbox_join(o, wake, o, SELF);
	memset(name, 'a', sizeof name - 1);
	for (int i = 0; i < 1000; i++) {
		struct parcel *p;
		put(o, name, 0);
		while ((p = outbox_take(o, true)))
			parcel_unref(&p);
		ck_assert_uint_le(outbox_facts(o).bytes, OUTBOX_KEPT_MOST + sizeof name + 100);
	}
	ck_assert_uint_ge(outbox_facts(o).collapsed, 1);
	ck_assert_uint_eq(outbox_first(o)->low, 100);
	outbox_destroy(&o);
	purge_names_destroy(&l);
}
END_TEST

UNIT("outbox", TEST(without_a_fleet_nothing_is_put), TEST(what_waits_is_taken_by_who_follows),
     TEST(what_passes_is_gathered_and_bounded), TEST(what_is_kept_goes_through_a_file),
     TEST(too_much_becomes_a_purge_of_everything))
