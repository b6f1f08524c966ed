/* rooms: fleet origin http base
 *
 * test_purge_items.c - purges as nodes tell them, there and back, and bytes that are none. */
#include "proxy/fleet/parcel.h"
#include "tests/kit/unit.h"

static void
begin(struct buf *b)
{
	*b = (struct buf){0};
	purge_items_begin(b, 77);
	purge_items_add(b, &(struct purge_item){5, 1, 0, STR("http://x/")});
	purge_items_add(b, &(struct purge_item){6, 3, PURGE_ITEM_SOFT, STR("")});
}

START_TEST(reads_as_written)
{
	struct buf b;
	struct purge_items_reader r;
	struct purge_item i;
	begin(&b);
	ck_assert(purge_items_open(&r, buf_str(&b)));
	ck_assert_uint_eq(r.base, 77);
	ck_assert(purge_items_next(&r, &i));
	ck_assert_uint_eq(i.number, 5);
	ck_assert(i.kind == 1 && i.flags == 0 && str_eq(i.name, STR("http://x/")));
	ck_assert(purge_items_next(&r, &i));
	ck_assert(i.number == 6 && i.kind == 3 && i.flags == PURGE_ITEM_SOFT && i.name.n == 0);
	ck_assert(!purge_items_next(&r, &i));
	buf_fini(&b);
}
END_TEST

START_TEST(cut_or_longer_it_is_none)
{
	struct buf b;
	struct purge_items_reader r;
	begin(&b);
	for (size_t n = 0; n < b.n; n++)
		ck_assert(!purge_items_open(&r, (struct str){b.p, n}));
	buf_add_lit(&b, "x");
	ck_assert(!purge_items_open(&r, buf_str(&b)));
	b.n--;
	b.p[0]++;
	ck_assert(!purge_items_open(&r, buf_str(&b)));
	buf_fini(&b);
}
END_TEST

START_TEST(items_go_together)
{
	struct buf b, c = {0};
	struct purge_items_reader r;
	begin(&b);
	purge_items_begin(&c, 0);
	purge_items_append(&c, buf_str(&b));
	purge_items_append(&c, buf_str(&b));
	ck_assert(purge_items_open(&r, buf_str(&c)));
	ck_assert_uint_eq(r.left, 4);
	buf_fini(&b);
	buf_fini(&c);
}
END_TEST

START_TEST(a_parcel_is_bounded)
{
	static char name[PURGE_ITEM_NAME_MOST];
	struct purge_item i = {9, 1, 0, {name, sizeof name}};
	struct parcel *p = parcel_create(1);
	memset(name, 'a', sizeof name);
	ck_assert(parcel_add(p, &i));
	i.number = 8;
	ck_assert(parcel_add(p, &i));
	ck_assert(!parcel_add(p, &i));
	ck_assert(p->low == 8 && p->high == 9 && p->lasts);
	parcel_unref(&p);
}
END_TEST

UNIT("purge_items", TEST(reads_as_written), TEST(cut_or_longer_it_is_none), TEST(items_go_together),
     TEST(a_parcel_is_bounded))
