/* rooms: fleet origin http base
 *
 * test_recall.c - what a node asks that cannot read the journal, and what it is answered. */
#include "proxy/fleet/member.h"
#include "proxy/fleet/parcel.h"
#include "proxy/fleet/recall.h"
#include "proxy/fleet/ring.h"
#include "tests/kit/unit.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct str
question(struct buf *b)
{
	struct recall_question q = {
		.known = ID, .from = {5, 6}, .memory = 7, .behind = 8, .record = STR("a record")};
	b->n = 0;
	recall_put_question(&q, b);
	return buf_str(b);
}

START_TEST(a_question_comes_back_whole)
{
	struct buf b = {0};
	struct recall_question q;
	struct str s = question(&b);
	ck_assert_int_eq(recall_take_question(s, &q), 0);
	ck_assert_str_eq(q.known, ID);
	ck_assert(q.from.ms == 5 && q.from.n == 6 && q.memory == 7 && q.behind == 8);
	ck_assert(str_eq(q.record, STR("a record")));
	for (size_t n = 0; n < s.n - 8; n++)
		ck_assert_int_eq(recall_take_question((struct str){s.p, n}, &q), -1);
	b.p[6] = '\0';
	ck_assert_int_eq(recall_take_question(s, &q), -1);
	question(&b);
	while (b.n <= 68 + MEMBER_RECORD_MOST)
		buf_add_lit(&b, "x");
	ck_assert_int_eq(recall_take_question(buf_str(&b), &q), -1);
	buf_fini(&b);
}
END_TEST

START_TEST(an_answer_comes_back_whole)
{
	static const uint64_t ids[] = {3, 4};
	struct buf b = {0};
	struct recall_answer a;
	uint64_t node;
	struct str items;
	recall_begin(&b, RECALL_YOUNG, 7, ids, 2);
	ck_assert(recall_add(&b, 3, STR("purges")) && recall_add(&b, 4, STR("")));
	recall_end(&b, true, 9);
	ck_assert_int_eq(recall_take(buf_str(&b), &a), 0);
	ck_assert(a.word == RECALL_YOUNG && a.ends && a.memory == 7 && a.behind == 9);
	ck_assert(a.members == 2 && recall_member(&a, 0) == 3 && recall_member(&a, 1) == 4);
	ck_assert(recall_next(&a, &node, &items) && node == 3 && str_eq(items, STR("purges")));
	ck_assert(recall_next(&a, &node, &items) && node == 4 && items.n == 0);
	ck_assert(!recall_next(&a, &node, &items));
	size_t whole = b.n;
	for (size_t n = 0; n < whole; n++)
		ck_assert_msg(recall_take((struct str){b.p, n}, &a) == -1 || n == 40 || n == 58,
			      "cut at %zu, not between two messages", n);
	b.p[4] = RECALL_WORDS;
	ck_assert_int_eq(recall_take(buf_str(&b), &a), -1);
	buf_fini(&b);
}
END_TEST

START_TEST(an_answer_is_bounded_and_has_room_for_one_message_of_any_fleet)
{
	static uint64_t ids[RING_NODES];
	static char bytes[PARCEL_BYTES_MOST];
	struct buf b = {0};
	struct recall_answer a;
	recall_begin(&b, RECALL_KNOWS, 7, ids, RING_NODES);
	ck_assert(recall_add(&b, 3, (struct str){bytes, sizeof bytes}));
	ck_assert(!recall_add(&b, 3, (struct str){bytes, sizeof bytes}));
	recall_end(&b, false, 1);
	ck_assert(b.n <= RECALL_MOST && recall_take(buf_str(&b), &a) == 0 && !a.ends);
	buf_fini(&b);
}
END_TEST

START_TEST(each_word_is_said_in_its_own_way)
{
	for (int i = 0; i < RECALL_WORDS; i++)
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(recall_say((enum recall_word)i),
					 recall_say((enum recall_word)k));
}
END_TEST

UNIT("recall", TEST(a_question_comes_back_whole), TEST(an_answer_comes_back_whole),
     TEST(an_answer_is_bounded_and_has_room_for_one_message_of_any_fleet),
     TEST(each_word_is_said_in_its_own_way))
