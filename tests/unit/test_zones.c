/* rooms: fleet origin http base filter
 *
 * test_zones.c - members of several zones: who owns what in each, and who of another one is asked. */
#include "filter/family/digest.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/chart.h"
#include "proxy/origin/origin.h"
#include "tests/kit/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { HASHES = 3000 };

static const struct chart_self self = {.id = 1, .zone = "fra"};

static struct member
node(uint64_t id, const char *zone)
{
	struct member m = {.id = id, .instance = 1, .weight = 100, .version = "1"};
	snprintf(m.name, sizeof m.name, "n%d", (int)id);
	snprintf(m.zone, sizeof m.zone, "%s", zone);
	snprintf(m.address, sizeof m.address, "h:1");
	return m;
}

/* Of "fra" 1, 3, 5, ... and of "ams" 2, 4, ... */
static struct roster
two_zones(unsigned n)
{
	struct roster r = {0};
	for (unsigned id = 1; id <= n; id++) {
		struct member m = node(id, id % 2 ? "fra" : "ams");
		roster_put(&r, &m);
	}
	roster_settle(&r);
	return r;
}

static uint64_t
hash_of(unsigned i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u;
}

START_TEST(each_zone_has_the_ring_of_its_own_members)
{
	struct roster all = two_zones(7);
	for (unsigned k = 0; k < 2; k++) {
		struct roster few = {0};
		struct ring_node nodes[4];
		for (unsigned i = 0; i < all.n; i++)
			if (all.of[i].id % 2 != k)
				roster_put(&few, &all.of[i]);
		roster_weigh(&few, nodes);
		struct ring *alone = ring_build(nodes, few.n);
		struct zones z;
		zones_make(&z, &all, k ? "ams" : "fra");
		ck_assert_uint_eq(z.n, 2);
		ck_assert_str_eq(z.of[0].name, k ? "ams" : "fra");
		for (unsigned i = 0; i < HASHES; i++) {
			const struct ring_place *a = ring_find(alone, hash_of(i)),
						*b = ring_find(z.of[0].ring, hash_of(i));
			for (unsigned d = 0; d < 3; d++)
				ck_assert_uint_eq(few.of[a->node[d]].id, all.of[b->node[d]].id);
		}
		unsigned owned[2] = {0};
		for (unsigned i = 0; i < all.n; i++)
			owned[all.of[i].id % 2] += zones_owned(&z, &all, i);
		ck_assert_uint_eq(owned[0], RING_SLOTS);
		ck_assert_uint_eq(owned[1], RING_SLOTS);
		zones_end(&z);
		ring_destroy(&alone);
		roster_fini(&few);
	}
	roster_fini(&all);
}
END_TEST

START_TEST(a_change_in_another_zone_leaves_no_owner_of_before)
{
	struct roster r = two_zones(6);
	struct member m = node(8, "ams");
	roster_put(&r, &m);
	r.hands_over = true;
	struct sibling *of[7];
	for (unsigned i = 0; i < r.n; i++) {
		of[i] = NEW(struct sibling);
		of[i]->m = r.of[i];
		of[i]->users = 1;
		replica_init(&of[i]->replica);
	}
	struct chart *c = chart_make(&r, of, &self);
	for (unsigned i = 0; i < HASHES; i++)
		ck_assert_ptr_null(chart_settled_owner(c, hash_of(i)));
	for (unsigned i = 0; i < r.n; i++)
		chart_unref_sibling(&of[i]);
	chart_unref(&c);
	roster_fini(&r);
}
END_TEST

START_TEST(a_member_that_moves_to_another_zone_moves_rings)
{
	struct roster a = two_zones(4), b = two_zones(4);
	ck_assert(roster_has_ring_of(&a, &b));
	snprintf(b.of[1].zone, sizeof b.of[1].zone, "fra");
	ck_assert(!roster_has_ring_of(&a, &b));
	roster_fini(&a);
	roster_fini(&b);
}
END_TEST

START_TEST(of_very_many_zones_some_have_a_ring)
{
	struct roster r = {0};
	struct zones z;
	for (unsigned id = 1; id <= ZONES_MOST + 3; id++) {
		char name[8];
		snprintf(name, sizeof name, "z%02u", id);
		struct member m = node(id, name);
		roster_put(&r, &m);
	}
	zones_make(&z, &r, "z19");
	ck_assert_uint_eq(z.n, ZONES_MOST);
	ck_assert_str_eq(z.of[0].name, "z19");
	ck_assert_str_eq(z.of[1].name, "z01");
	ck_assert_uint_eq(zones_owned(&z, &r, 0), RING_SLOTS);
	ck_assert_uint_eq(zones_owned(&z, &r, 16), 0);
	zones_end(&z);
	roster_fini(&r);
}
END_TEST

/* ---- who is asked -------------------------------------------------------------------------- */

static struct sibling *
asked_at(const struct member *m)
{
	char err[100];
	struct sibling *s = NEW(struct sibling);
	*s = (struct sibling){.m = *m, .users = 1, .is_self = m->id == self.id};
	if (!s->is_self)
		s->origin = origin_create(&(struct origin_options){.url = "http://192.0.2.1"}, err,
					  sizeof err);
	standing_tell(&s->standing, true, 1);
	replica_init(&s->replica);
	return s;
}

static void
tell(struct sibling *s, uint64_t hash, int64_t now)
{
	struct twice_digest *d = twice_digest_create(1000, 10);
	twice_digest_add(d, replica_key(hash));
	replica_put(&s->replica, d, now);
}

START_TEST(another_zones_owner_is_asked_for_what_it_has)
{
	struct roster r = two_zones(6);
	struct sibling *of[6];
	for (unsigned i = 0; i < r.n; i++)
		of[i] = asked_at(&r.of[i]);
	struct chart *c = chart_make(&r, of, &self);
	for (unsigned i = 0; i < 50; i++) {
		uint64_t h = hash_of(i);
		const struct ring_place *p = ring_find(c->zones.of[1].ring, h);
		struct sibling *owner = c->of[p->node[0]], *second = c->of[p->node[1]];
		ck_assert_ptr_null(chart_across(c, h, h, 1000));
		tell(second, h, 1000); /* it was the owner's once, or never */
		ck_assert_ptr_null(chart_across(c, h, h, 1000));
		tell(owner, h, 1000);
		ck_assert_ptr_eq(chart_across(c, h, h, 1000), owner);
		ck_assert(chart_is_across(c, owner));
		ck_assert(!chart_is_across(c, c->of[0]));
		/* Nobody of this zone has another one's keys told. */
		ck_assert_uint_eq(owner->m.id % 2, 0);
		ck_assert_ptr_null(chart_across(c, h, h, 1000 + REPLICA_OLD_MS));
		/* Only the bits that an index has count. */
		ck_assert(replica_has(&owner->replica, h ^ 1, 1000));
		standing_tell(&owner->standing, false, 1000);
		ck_assert_ptr_null(chart_across(c, h, h, 1000));
		standing_tell(&owner->standing, true, 1000);
		replica_put(&owner->replica, NULL, 0);
		replica_put(&second->replica, NULL, 0);
	}
	chart_unref(&c);
	/* While members change it may lie with whoever comes behind the owner. */
	r.hands_over = true;
	c = chart_make(&r, of, &self);
	struct sibling *third = c->of[ring_find(c->zones.of[1].ring, 7)->node[2]];
	tell(third, 7, 1000);
	ck_assert_ptr_eq(chart_across(c, 7, 7, 1000), third);
	for (unsigned i = 0; i < r.n; i++)
		chart_unref_sibling(&of[i]);
	chart_unref(&c);
	roster_fini(&r);
}
END_TEST

START_TEST(zones_take_turns)
{
	struct roster r = {0};
	struct sibling *of[3];
	unsigned asked[4] = {0};
	for (unsigned id = 1; id <= 3; id++) {
		struct member m = node(id, id == 1 ? "fra" : id == 2 ? "ams" : "");
		roster_put(&r, &m);
		of[id - 1] = asked_at(&m);
	}
	struct chart *c = chart_make(&r, of, &self);
	for (unsigned i = 0; i < HASHES; i++) {
		tell(of[1], hash_of(i), 1);
		tell(of[2], hash_of(i), 1);
		asked[chart_across(c, hash_of(i), hash_of(i), 1)->m.id]++;
	}
	ck_assert_uint_gt(asked[2], HASHES / 2 - 200);
	ck_assert_uint_gt(asked[3], HASHES / 2 - 200);
	for (unsigned i = 0; i < r.n; i++)
		chart_unref_sibling(&of[i]);
	chart_unref(&c);
	roster_fini(&r);
}
END_TEST

UNIT("zones", TEST(each_zone_has_the_ring_of_its_own_members),
     TEST(a_change_in_another_zone_leaves_no_owner_of_before),
     TEST(a_member_that_moves_to_another_zone_moves_rings),
     TEST(of_very_many_zones_some_have_a_ring), TEST(another_zones_owner_is_asked_for_what_it_has),
     TEST(zones_take_turns))
