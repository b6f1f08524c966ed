/* test_ram.c - the RAM tier and its policy: bounds that hold, and who stays.
 * rooms: cache http base filter
 */
#include "proxy/base/mem.h"
#include "proxy/cache/ram.h"
#include "tests/kit/unit.h"

#include <stdio.h>
#include <time.h>

/* ---- the policy, against its promises -------------------------------------------------------- */

enum { NODES = 500 };
static struct ram_node nodes[NODES];
static bool held[NODES];

static void
put(struct ram_policy *p, int i, uint64_t bytes, bool on_disk)
{
	if (held[i]) {
		ram_policy_remove(p, &nodes[i]);
		held[i] = false;
	}
	if (!ram_policy_takes(p, bytes, on_disk, 0))
		return;
	for (struct ram_node *n; (n = ram_policy_make_room(p, bytes));)
		held[n - nodes] = false;
	nodes[i] = (struct ram_node){.bytes = bytes, .on_disk = on_disk};
	ram_policy_add(p, &nodes[i]);
	held[i] = true;
}

START_TEST(never_over_its_limit)
{
	unsigned seed = (unsigned)time(NULL) + (unsigned)_i;
	printf("seed %u\n", seed);
	srandom(seed);
	struct ram_policy p;
	ram_policy_init(&p, 100000);
	memset(held, 0, sizeof held);
	for (int step = 0; step < 20000; step++) {
		int i = (int)(random() % NODES);
		uint64_t bytes = 100 + (uint64_t)random() % (random() % 10 ? 900 : 40000);
		if (random() % 3 && held[i])
			ram_policy_touch(&nodes[i]);
		else if (random() % 10 == 0 && held[i])
			ram_policy_moved(&p, &nodes[i], random() % 2);
		else
			put(&p, i, bytes, random() % 2);
		uint64_t sum = 0;
		for (int k = 0; step % 100 == 0 && k < NODES; k++)
			sum += held[k] ? nodes[k].bytes : 0;
		if (step % 100 == 0) {
			ram_policy_check(&p);
			ck_assert_uint_eq(sum, p.used);
		}
	}
}
END_TEST

START_TEST(small_hot_and_not_on_disk_stays)
{
	struct ram_policy p;
	ram_policy_init(&p, 100000);
	memset(held, 0, sizeof held);
	put(&p, 0, 1000, false);  /* small, cold */
	put(&p, 1, 20000, false); /* large, cold */
	put(&p, 2, 1000, true);	  /* on disk, cold */
	put(&p, 3, 1000, false);  /* hot */
	for (int i = 4; i < 400; i++) {
		put(&p, i, 1000, false);
		ram_policy_touch(&nodes[3]);
		if (i == 90) {
			ck_assert(!held[1] && !held[2]);
			ck_assert(held[0]);
		}
	}
	ck_assert(!held[0] && held[3]);
	ck_assert(!ram_policy_takes(&p, 26000, false, 0)); /* more than a quarter of all */
	ck_assert(ram_policy_takes(&p, 500, false, 0));
}
END_TEST

/* All that is held was hit, and is not any more: what is refused makes it older, or nothing else would ever come in. */
START_TEST(what_was_hot_once_makes_room_in_the_end)
{
	enum { HELD = 100, ROUNDS = 5 };
	struct ram_policy p;
	ram_policy_init(&p, HELD * 1000);
	memset(held, 0, sizeof held);
	for (int i = 0; i < HELD; i++) {
		put(&p, i, 1000, false);
		ram_policy_touch(&nodes[i]);
	}
	int came = 0;
	for (int i = HELD; i < ROUNDS * HELD; i++) {
		put(&p, i, 1000, false);
		came += held[i];
		ck_assert(i >= HELD + HELD / 2 || !came); /* it has its time */
	}
	ck_assert_int_gt(came, HELD);
	ram_policy_check(&p);
}
END_TEST

/* ---- the tier ------------------------------------------------------------------------------ */

static struct twice_key_hash
hash_of(unsigned i)
{
	return (struct twice_key_hash){i * 0x9e3779b97f4a7c15u, i};
}

static struct stored *
make(unsigned i, uint32_t body)
{
	char key[32];
	snprintf(key, sizeof key, "key-%u", i);
	struct stored *o = stored_create(NULL, hash_of(i), str_of(key), str_of("head"), STR(""),
					 &(struct terms){0}, OBJECT_RESPONSE);
	struct block *b = block_create(body);
	b->n = body;
	o->block_bytes = body;
	o->pub.body_bytes = body;
	stored_add_block(o, b);
	return o;
}

static bool
keep(struct ram *r, unsigned i, uint32_t body)
{
	struct stored *o = make(i, body);
	bool yes = ram_put(r, o, 0);
	stored_unref(&o);
	return yes;
}

static struct stored *
find(struct ram *r, unsigned i)
{
	char key[32];
	bool first;
	snprintf(key, sizeof key, "key-%u", i);
	return ram_find(r, hash_of(i), str_of(key), 0, &first);
}

START_TEST(holds_finds_replaces_removes)
{
	struct ram *r;
	ram_create(&r, 1 << 20, 1);
	ck_assert(keep(r, 1, 100) && keep(r, 2, 200));
	struct stored *one = find(r, 1);
	ck_assert_uint_eq(one->pub.body_bytes, 100);
	ck_assert(keep(r, 1, 150));
	ck_assert(!ram_holds(r, one)); /* replaced, but whole for who holds it */
	ck_assert_uint_eq(one->pub.body_bytes, 100);
	ram_remove_object(r, one); /* not the one that is there now */
	stored_unref(&one);
	one = find(r, 1);
	ck_assert_uint_eq(one->pub.body_bytes, 150);
	ck_assert(ram_put(r, one, 0)); /* again: nothing changes */
	stored_unref(&one);
	ck_assert(ram_remove(r, hash_of(1), str_of("key-1")));
	ck_assert(!ram_remove(r, hash_of(1), str_of("key-1")));
	ck_assert_ptr_null(find(r, 1));
	struct ram_stats s;
	ram_stats(r, &s);
	ck_assert_uint_eq(s.objects, 1);
	ram_destroy(&r);
}
END_TEST

START_TEST(the_bound_counts_overheads)
{
	struct ram *r;
	ram_create(&r, 4 << 20, _i ? 8 : 0);
	struct ram_stats s;
	for (unsigned i = 0; i < 100000; i++) {
		keep(r, i, i % 100 ? i % 3000 : 200000);
		if (i % 1000 == 0) {
			ram_stats(r, &s);
			ck_assert_uint_le(s.used_bytes, 4 << 20);
			ck_assert_uint_ge(s.used_bytes, s.objects * sizeof(struct stored));
		}
	}
	ck_assert_uint_ge(s.used_bytes, (4 << 20) / 10 * 9);
	ck_assert_uint_gt(s.evicted_objects, 1000);
	ram_destroy(&r);
}
END_TEST

UNIT("ram", TIMES(never_over_its_limit, 3), TEST(small_hot_and_not_on_disk_stays),
     TEST(what_was_hot_once_makes_room_in_the_end), TEST(holds_finds_replaces_removes),
     TIMES(the_bound_counts_overheads, 2))
