/* rooms: fleet origin http base
 *
 * test_ring.c - who owns a slot, and what moves when members change. */
#include "proxy/fleet/ring.h"
#include "tests/kit/unit.h"

#include <stdbool.h>
#include <stdint.h>

enum { FEW = 10 };

/* Ids far apart and near each other: neither may matter. */
static unsigned
members(struct ring_node *out, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		out[i] = (struct ring_node){i % 2 ? i + 1 : UINT64_MAX - i * 0x123456789u, 1000};
	return n;
}

/* The first of each slot, by another way through the same ring: hashes that reach all slots. */
static void
owners(const struct ring *r, uint16_t out[RING_SLOTS], struct ring_place *whole)
{
	bool seen[RING_SLOTS] = {false};
	unsigned left = RING_SLOTS;
	for (uint64_t h = 1; left; h++) {
		unsigned s = ring_slot(h);
		if (seen[s])
			continue;
		seen[s] = true;
		left--;
		out[s] = ring_find(r, h)->node[0];
		if (whole)
			whole[s] = *ring_find(r, h);
	}
}

START_TEST(shares_follow_weights)
{
	static const unsigned weights[] = {100, 100, 200, 400, 0, 200};
	struct ring_node nodes[6];
	members(nodes, 6);
	for (unsigned i = 0; i < 6; i++)
		nodes[i].weight = weights[i];
	struct ring *r = ring_build(nodes, 6);
	unsigned sum = 0;
	for (unsigned i = 0; i < 6; i++) {
		unsigned want = RING_SLOTS / 1000 * weights[i];
		sum += ring_owned(r, i);
		ck_assert_uint_ge(ring_owned(r, i), want * 19 / 20);
		ck_assert_uint_le(ring_owned(r, i), want * 21 / 20 + (weights[i] ? 600 : 0));
	}
	ck_assert_uint_eq(sum, RING_SLOTS);
	ring_destroy(&r);
	ck_assert_ptr_null(r);
}
END_TEST

START_TEST(each_slot_has_three_different_nodes)
{
	static struct ring_place all[RING_SLOTS];
	static uint16_t first[RING_SLOTS];
	struct ring_node nodes[FEW];
	struct ring *r = ring_build(nodes, members(nodes, FEW));
	owners(r, first, all);
	for (unsigned s = 0; s < RING_SLOTS; s++) {
		const uint16_t *n = all[s].node;
		ck_assert(n[0] < FEW && n[1] < FEW && n[2] < FEW);
		ck_assert(n[0] != n[1] && n[0] != n[2] && n[1] != n[2]);
	}
	ring_destroy(&r);
}
END_TEST

START_TEST(one_that_goes_gives_its_slots_to_their_second_and_no_other_moves)
{
	static struct ring_place before[RING_SLOTS];
	static uint16_t first[RING_SLOTS], after[RING_SLOTS];
	struct ring_node nodes[FEW];
	members(nodes, FEW);
	struct ring *r = ring_build(nodes, FEW);
	owners(r, first, before);
	ring_destroy(&r);
	nodes[3].weight = 0;
	r = ring_build(nodes, FEW);
	owners(r, after, NULL);
	for (unsigned s = 0; s < RING_SLOTS; s++)
		ck_assert_uint_eq(after[s], first[s] == 3 ? before[s].node[1] : first[s]);
	ck_assert_uint_eq(ring_owned(r, 3), 0);
	ring_destroy(&r);
}
END_TEST

START_TEST(one_that_comes_takes_from_all_and_nothing_else_moves)
{
	static uint16_t before[RING_SLOTS], after[RING_SLOTS];
	unsigned took[FEW] = {0};
	struct ring_node nodes[FEW];
	members(nodes, FEW);
	struct ring *r = ring_build(nodes, FEW - 1);
	owners(r, before, NULL);
	ring_destroy(&r);
	r = ring_build(nodes, FEW);
	owners(r, after, NULL);
	for (unsigned s = 0; s < RING_SLOTS; s++) {
		ck_assert(after[s] == before[s] || after[s] == FEW - 1);
		took[before[s]] += after[s] != before[s];
	}
	for (unsigned i = 0; i < FEW - 1; i++) /* a tenth of each one's ninth: 728 */
		ck_assert(took[i] > 600 && took[i] < 860);
	ring_destroy(&r);
}
END_TEST

START_TEST(the_order_of_nodes_does_not_matter)
{
	static uint16_t a[RING_SLOTS], b[RING_SLOTS];
	struct ring_node nodes[FEW], turned[FEW];
	members(nodes, FEW);
	for (unsigned i = 0; i < FEW; i++)
		turned[i] = nodes[FEW - 1 - i];
	struct ring *r = ring_build(nodes, FEW), *t = ring_build(turned, FEW);
	owners(r, a, NULL);
	owners(t, b, NULL);
	for (unsigned s = 0; s < RING_SLOTS; s++)
		ck_assert_uint_eq(a[s], FEW - 1 - b[s]);
	ring_destroy(&r);
	ring_destroy(&t);
}
END_TEST

static const struct {
	const char *says;
	unsigned weights[3], n;
	unsigned known; /* how many of a slot's three there are */
} small[] = {
	{"no node", {0}, 0, 0},
	{"one node", {5}, 1, 1},
	{"two nodes", {5, 5}, 2, 2},
	{"all drain", {0, 0, 0}, 3, 0},
	{"all but one drain", {0, 7, 0}, 3, 1},
};

START_TEST(a_small_fleet)
{
	struct ring_node nodes[3];
	members(nodes, 3);
	for (unsigned i = 0; i < 3; i++)
		nodes[i].weight = small[_i].weights[i];
	struct ring *r = ring_build(nodes, small[_i].n);
	for (uint64_t h = 0; h < 1000; h++)
		for (unsigned k = 0; k < RING_DEEP; k++) {
			unsigned n = ring_find(r, h << 40)->node[k];
			ck_assert_msg((n != RING_NOBODY) == (k < small[_i].known), "%s",
				      small[_i].says);
			ck_assert(n == RING_NOBODY || nodes[n].weight > 0);
		}
	ring_destroy(&r);
}
END_TEST

START_TEST(as_many_as_there_may_be)
{
	static struct ring_node nodes[RING_NODES];
	struct ring *r = ring_build(nodes, members(nodes, SANITIZED ? 100 : RING_NODES));
	ck_assert_uint_gt(ring_owned(r, 0), 0);
	ring_destroy(&r);
}
END_TEST

UNIT("ring", TEST(shares_follow_weights), TEST(each_slot_has_three_different_nodes),
     TEST(one_that_goes_gives_its_slots_to_their_second_and_no_other_moves),
     TEST(one_that_comes_takes_from_all_and_nothing_else_moves),
     TEST(the_order_of_nodes_does_not_matter), LOOP(a_small_fleet, small),
     TEST(as_many_as_there_may_be))
