/* rooms: fleet origin http base filter
 *
 * test_roster.c - members from the engine and from a file, and the rings that are made of them. */
#include "proxy/fleet/chart.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replies.h"
#include "proxy/fleet/roster.h"
#include "tests/kit/unit.h"

#include "proxy/base/mem.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

static struct secret
secret(const char *text)
{
	struct secret s;
	ck_assert_int_eq(secret_make(&s, str_of(text)), 0);
	return s;
}
#define OURS   "0123456789abcdef0123456789abcdef"
#define OTHERS "a secret of another fleet, 32 bytes"

static struct member
node(uint64_t id, uint64_t weight)
{
	struct member m = {.id = id, .instance = 1, .weight = weight, .version = "1"};
	snprintf(m.name, sizeof m.name, "n%llu", (unsigned long long)id);
	snprintf(m.address, sizeof m.address, "10.0.0.%llu:8443", (unsigned long long)id);
	return m;
}

static void
add_bulk(struct buf *b, struct str s)
{
	buf_printf(b, "$%zu\r\n", s.n);
	buf_add_str(b, s);
	buf_add_lit(b, "\r\n");
}

static void
add_node(struct buf *b, const struct member *m, const struct secret *s)
{
	char id[NODE_ID_TEXT + 1];
	struct buf record = {0};
	member_format(m, s, &record);
	add_bulk(b, str_of(node_id_print(m->id, id)));
	add_bulk(b, buf_str(&record));
	buf_fini(&record);
}

static void
add_drain(struct buf *b, uint64_t id, const struct secret *s)
{
	char text[NODE_ID_TEXT + 1], mac[SECRET_MAC_TEXT];
	struct str part = str_of(node_id_print(id, text));
	secret_sign(s, SECRET_DRAIN, &part, 1, mac);
	add_bulk(b, part);
	add_bulk(b, (struct str){mac, sizeof mac});
}

/* The script's answer: nodes 3, 1, 2 in the order of a hash, 4 of a stranger; 2 drains, and a stranger wants 1 to. */
static int
take_that(struct roster *r, const struct secret *s, struct str known)
{
	struct secret stranger = secret(OTHERS);
	struct member m[] = {node(3, 100), node(1, 100), node(2, 100), node(4, 100)};
	struct buf b = {0};
	struct str text;
	buf_add_lit(&b, "*6\r\n$7\r\nmembers\r\n");
	add_bulk(&b, known);
	add_bulk(&b,
		 STR("0000000000000002 100\nnonsense\n0000000000000001 50\n0000000000000001 7"));
	buf_add_lit(&b, ":1\r\n*8\r\n");
	for (int i = 0; i < 4; i++)
		add_node(&b, &m[i], i < 3 ? s : &stranger);
	buf_add_lit(&b, "*4\r\n");
	add_drain(&b, 2, s);
	add_drain(&b, 1, &stranger);
	struct replies *in = replies_create();
	replies_feed(in, b.p, b.n);
	struct redisReply *reply = replies_next(in);
	ck_assert_ptr_nonnull(reply);
	ck_assert_int_eq(beat_read(reply, &text), BEAT_MEMBERS);
	int result = roster_take(r, reply, s);
	freeReplyObject(reply);
	replies_destroy(&in);
	buf_fini(&b);
	return result;
}

static int
take(struct roster *r, const struct secret *s)
{
	return take_that(r, s, STR("1.5:712"));
}

static void
check_all(const struct roster *r)
{
	ck_assert_uint_eq(r->n, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(r->of[i].id, i + 1);
		ck_assert(r->of[i].drains == (i == 1));
	}
	ck_assert_uint_eq(r->settled_n, 2);
	ck_assert(r->settled[0].id == 1 && r->settled[1].id == 2);
	ck_assert(r->hands_over);
}

START_TEST(the_word_for_it_is_text)
{
	struct secret s = secret(OURS);
	struct roster r = {0};
	ck_assert_int_eq(take_that(&r, &s, STR("1.5:\xff")), -1);
	ck_assert_int_eq(take_that(&r, &s, STR("1.5 :7")), -1);
	ck_assert_int_eq(take_that(&r, &s, STR("1.5:\0")), -1);
	ck_assert_int_eq(take_that(&r, &s,
				   STR("1.5:1234567890123456789012345678901234567890123456789"
				       "0123456789012345678901234567890")),
			 -1);
	ck_assert_uint_eq(r.n, 0);
}
END_TEST

START_TEST(only_what_is_signed_counts)
{
	struct secret s = secret(OURS);
	struct roster r = {0};
	ck_assert_int_eq(take(&r, &s), 0);
	check_all(&r);
	ck_assert_str_eq(r.known, "1.5:712");
	ck_assert_uint_eq(r.refused, 2);
	roster_fini(&r);
}
END_TEST

START_TEST(a_file_brings_them_back)
{
	struct secret s = secret(OURS), other = secret(OTHERS);
	struct roster r = {0}, again = {0};
	struct buf b = {0};
	take(&r, &s);
	roster_write(&r, &s, &b);
	ck_assert_int_eq(roster_read(&again, buf_str(&b), &s), 0);
	check_all(&again);
	ck_assert(roster_has_ring_of(&r, &again));
	ck_assert_str_eq(again.known, "1.5:712");
	roster_fini(&again);
	ck_assert_int_eq(roster_read(&again, buf_str(&b), &other), 0);
	ck_assert_uint_eq(again.n, 0);
	ck_assert_uint_eq(again.refused, 4);
	roster_fini(&again);
	for (size_t n = 0; n + 2 < b.n; n += 7) /* cut short */
		ck_assert_int_eq(roster_read(&again, (struct str){b.p, n}, &s), -1);
	buf_fini(&b);
	roster_fini(&r);
}
END_TEST

static const struct {
	const char *says, *name;
	uint64_t id; /* 0: none */
	bool twice;
} names[] = {
	{"by its name", "n3", 3, false},
	{"in capital letters", "N3", 3, false},
	{"by its id", "0000000000000003", 3, false},
	{"one of two", "same", 0, true},
	{"nobody", "n9", 0, false},
	{"no id of a member", "0000000000000009", 0, false},
};

START_TEST(a_member_is_found)
{
	struct roster r = {0};
	struct member m = node(3, 1);
	bool twice;
	roster_put(&r, &m);
	for (uint64_t id = 1; id <= 2; id++) {
		m = node(id, 1);
		strcpy(m.name, "same");
		roster_put(&r, &m);
	}
	const struct member *found = roster_find(&r, str_of(names[_i].name), &twice);
	ck_assert_msg((found ? found->id : 0) == names[_i].id, "%s", names[_i].says);
	ck_assert_msg(twice == names[_i].twice, "%s", names[_i].says);
	roster_fini(&r);
}
END_TEST

START_TEST(one_is_put_in_its_place)
{
	struct roster r = {0};
	struct member m = node(2, 5);
	roster_put(&r, &m);
	m = node(1, 5);
	roster_put(&r, &m);
	m = node(2, 7);
	roster_put(&r, &m);
	ck_assert(r.n == 2 && r.of[0].id == 1 && r.of[1].weight == 7);
	roster_fini(&r);
}
END_TEST

static const struct {
	const char *says;
	uint64_t weight;
	const char *address;
	bool drains, gone, is_same;
} changes[] = {
	{"nothing", 100, "10.0.0.2:8443", false, false, true},
	{"another address", 100, "10.0.0.9:8443", false, false, true},
	{"another weight", 101, "10.0.0.2:8443", false, false, false},
	{"it drains", 100, "10.0.0.2:8443", true, false, false},
	{"it is gone", 100, "10.0.0.2:8443", false, true, false},
};

START_TEST(a_ring_is_of_ids_and_weights)
{
	struct roster a = {0}, b = {0};
	struct member one = node(1, 100), two = node(2, 100), other = two;
	other.weight = changes[_i].weight;
	other.drains = changes[_i].drains;
	strcpy(other.address, changes[_i].address);
	roster_put(&a, &one);
	roster_put(&a, &two);
	roster_put(&b, &one);
	if (!changes[_i].gone)
		roster_put(&b, &other);
	ck_assert_msg(roster_has_ring_of(&a, &b) == changes[_i].is_same, "%s", changes[_i].says);
	roster_fini(&a);
	roster_fini(&b);
}
END_TEST

/* ---- charts -------------------------------------------------------------------------------- */

static struct sibling *
sibling(const struct member *m)
{
	struct sibling *s = NEW(struct sibling);
	s->m = *m;
	s->users = 1;
	return s;
}

static const struct chart_self self = {.id = 1};

/* Node 3 has come: before, 1 and 2 shared all keys. */
START_TEST(keys_that_moved_have_an_owner_of_before)
{
	struct roster r = {0};
	struct sibling *of[3], *owners[RING_DEEP];
	unsigned moved = 0;
	for (uint64_t id = 1; id <= 3; id++) {
		struct member m = node(id, 100);
		if (id == 3)
			roster_settle(&r);
		roster_put(&r, &m);
		of[id - 1] = sibling(&m);
	}
	r.hands_over = true;
	struct chart *c = chart_make(&r, of, &self);
	for (unsigned i = 0; i < 3; i++)
		chart_unref_sibling(&of[i]);
	for (uint64_t h = 0; h < 3000; h++) {
		ck_assert_uint_eq(chart_owners(c, h << 20, owners), 3);
		const struct sibling *before = chart_settled_owner(c, h << 20);
		ck_assert((before != NULL) == (owners[0]->m.id == 3));
		ck_assert(!before || before == owners[1]);
		moved += before != NULL;
	}
	ck_assert(moved > 800 && moved < 1200);
	chart_unref(&c);
	roster_fini(&r);
}
END_TEST

START_TEST(an_owner_of_before_that_is_gone_is_nobody)
{
	struct roster r = {0};
	struct member one = node(1, 100), two = node(2, 100);
	struct sibling *of[] = {sibling(&one)};
	roster_put(&r, &one);
	roster_put(&r, &two);
	roster_settle(&r);
	r.n = 1;
	r.hands_over = true;
	struct chart *c = chart_make(&r, of, &self);
	for (uint64_t h = 0; h < 300; h++)
		ck_assert_ptr_null(chart_settled_owner(c, h << 20));
	chart_unref(&c);
	chart_unref_sibling(&of[0]);
	roster_fini(&r);
}
END_TEST

UNIT("roster", TEST(only_what_is_signed_counts), TEST(the_word_for_it_is_text),
     TEST(a_file_brings_them_back), LOOP(a_member_is_found, names), TEST(one_is_put_in_its_place),
     LOOP(a_ring_is_of_ids_and_weights, changes), TEST(keys_that_moved_have_an_owner_of_before),
     TEST(an_owner_of_before_that_is_gone_is_nobody))
