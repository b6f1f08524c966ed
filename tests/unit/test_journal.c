/* rooms: fleet origin http base
 *
 * test_journal.c - how a node stands with the journal, and what it keeps of it. */
#include "proxy/fleet/journal_state.h"
#include "proxy/fleet/purge_items.h"
#include "proxy/fleet/replies.h"
#include "tests/kit/unit.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

static struct secret
secret(void)
{
	struct secret s;
	ck_assert_int_eq(secret_make(&s, STR("0123456789abcdef0123456789abcdef")), 0);
	return s;
}

#define ID   "0123456789abcdef0123456789abcdef"
#define ELSE "ffffffffffffffffffffffffffffffff"

static const struct {
	const char *says, *known;
	struct journal_place at, last;
	bool any;
	struct journal_place before; /* of the first entry */
	enum journal_word word;
} days[] = {
	/* clang-format off */
	{"nothing was ever there",         ID,   {0, 0}, {0, 0}, false, {0, 0}, JOURNAL_FOLLOWS},
	{"all is read",                    ID,   {5, 1}, {5, 1}, false, {0, 0}, JOURNAL_FOLLOWS},
	{"the next one names this place",  ID,   {5, 1}, {9, 0}, true,  {5, 1}, JOURNAL_FOLLOWS},
	{"the first one of all",           ID,   {0, 0}, {9, 0}, true,  {0, 0}, JOURNAL_FOLLOWS},
	{"some between are gone",          ID,   {5, 1}, {9, 0}, true,  {5, 2}, JOURNAL_TRIMMED},
	{"the beginning is gone",          ID,   {0, 0}, {9, 0}, true,  {5, 2}, JOURNAL_TRIMMED},
	{"this place is gone",             ID,   {5, 1}, {5, 0}, false, {0, 0}, JOURNAL_OLDER},
	{"all is gone",                    ID,   {5, 1}, {0, 0}, false, {0, 0}, JOURNAL_OLDER},
	{"new ones hide that",             ID,   {5, 1}, {9, 0}, true,  {4, 9}, JOURNAL_OLDER},
	{"another journal",                ELSE, {5, 1}, {5, 1}, false, {0, 0}, JOURNAL_OTHER},
	{"none is known yet",              "",   {0, 0}, {5, 1}, false, {0, 0}, JOURNAL_OTHER},
	/* clang-format on */
};

START_TEST(day)
{
	struct journal_answer a = {.id = ID, .last = days[_i].last, .n = days[_i].any};
	a.of[0].before = days[_i].before;
	a.of[0].has_before = true;
	ck_assert_msg(journal_judge(days[_i].known, days[_i].at, &a) == days[_i].word, "%s",
		      days[_i].says);
}
END_TEST

static const struct {
	const char *says;
	struct journal_place own, last;
	unsigned n;
	struct journal_place of[2];
	bool lacks;
} losses[] = {
	/* clang-format off */
	{"nothing was appended",              {0, 0}, {5, 1}, 0, {{0, 0}}, false},
	{"it is the only one",                {6, 0}, {6, 0}, 1, {{6, 0}}, false},
	{"it is among others",                {6, 1}, {6, 1}, 2, {{6, 0}, {6, 1}}, false},
	{"it comes in a later piece",         {9, 0}, {9, 0}, 2, {{6, 0}, {6, 1}}, false},
	{"all behind the position is gone",   {6, 0}, {5, 1}, 0, {{0, 0}}, true},
	{"those before it are still there",   {6, 1}, {6, 0}, 1, {{6, 0}}, true},
	{"a newer one hides that",            {6, 0}, {7, 0}, 1, {{7, 0}}, true},
	/* clang-format on */
};

START_TEST(loss)
{
	struct journal_answer a = {.last = losses[_i].last, .n = losses[_i].n};
	for (unsigned i = 0; i < a.n; i++)
		a.of[i].at = losses[_i].of[i];
	ck_assert_msg(journal_lacks(losses[_i].own, &a) == losses[_i].lacks, "%s", losses[_i].says);
}
END_TEST

static redisReply *
reply_of(const char *bytes, size_t n)
{
	struct replies *r = replies_create();
	replies_feed(r, bytes, n);
	redisReply *one = replies_next(r);
	ck_assert_ptr_nonnull(one);
	replies_destroy(&r);
	return one;
}

static void
add_text(struct buf *b, struct str s)
{
	buf_printf(b, "$%zu\r\n", s.n);
	buf_add_str(b, s);
	buf_add_lit(b, "\r\n");
}

/* An entry as the command of an append makes it, with a byte of its items changed or not. */
static redisReply *
answer_with(const struct secret *s, struct str items, bool forged)
{
	struct journal_command c;
	struct buf b = {0};
	journal_make(&c,
		     &(struct journal_ask){
			     .order = JOURNAL_APPEND, .known = ID, .node = 7, .items = items},
		     s);
	buf_add_lit(&b,
		    "*4\r\n$7\r\njournal\r\n$32\r\n" ID "\r\n$3\r\n9-1\r\n*1\r\n*2\r\n$3\r\n9-0\r\n"
		    "*8\r\n");
	struct str fields[] = {STR("p"), STR("8-2"),  STR("n"), c.words[12],
			       STR("i"), c.words[13], STR("m"), c.words[14]};
	for (int i = 0; i < 8; i++)
		add_text(&b, fields[i]);
	if (forged)
		b.p[b.n - 3] ^= 1;
	redisReply *r = reply_of(b.p, b.n);
	buf_fini(&b);
	return r;
}

START_TEST(an_entry_counts_when_it_is_signed)
{
	struct secret s = secret();
	struct buf items = {0};
	struct journal_answer a;
	purge_items_begin(&items, 0);
	purge_items_add(&items, &(struct purge_item){5, 1, 0, STR("http://x/")});
	redisReply *r = answer_with(&s, buf_str(&items), false);
	journal_read(r, &s, &a);
	ck_assert(a.word == JOURNAL_IS && a.n == 1 && strcmp(a.id, ID) == 0);
	ck_assert(a.of[0].node == 7 && str_eq(a.of[0].items, buf_str(&items)));
	ck_assert(a.of[0].has_before && a.of[0].before.ms == 8 && a.of[0].before.n == 2);
	freeReplyObject(r);
	r = answer_with(&s, buf_str(&items), true);
	journal_read(r, &s, &a);
	ck_assert(a.word == JOURNAL_IS && a.n == 1 && a.of[0].node == 0);
	freeReplyObject(r);
	buf_fini(&items);
}
END_TEST

START_TEST(items_of_a_newer_version_mean_everything)
{
	struct secret s = secret();
	struct journal_answer a;
	redisReply *r = answer_with(&s, STR("TWF2 what will be"), false);
	journal_read(r, &s, &a);
	ck_assert(a.word == JOURNAL_IS && a.n == 1 && a.of[0].node == 7 && a.of[0].items.n == 0);
	freeReplyObject(r);
}
END_TEST

static const struct {
	const char *says, *bytes;
	int word;
} answers[] = {
	{"an error", "-ERR no\r\n", JOURNAL_BROKEN},
	{"no script", "-NOSCRIPT none\r\n", JOURNAL_NO_SCRIPT},
	{"another secret", "*2\r\n$6\r\nsecret\r\n$2\r\nab\r\n", JOURNAL_OTHER_SECRET},
	{"nothing", "*0\r\n", JOURNAL_BROKEN},
	{"a number", ":7\r\n", JOURNAL_BROKEN},
	{"an identity that is none", "*4\r\n$7\r\njournal\r\n$2\r\nab\r\n$3\r\n1-1\r\n*0\r\n",
	 JOURNAL_BROKEN},
	{"a place that is none", "*4\r\n$7\r\njournal\r\n$32\r\n" ID "\r\n$2\r\n11\r\n*0\r\n",
	 JOURNAL_BROKEN},
	{"no entries", "*4\r\n$7\r\njournal\r\n$32\r\n" ID "\r\n$3\r\n1-1\r\n*0\r\n", JOURNAL_IS},
};

START_TEST(answer)
{
	struct secret s = secret();
	struct journal_answer a;
	redisReply *r = reply_of(answers[_i].bytes, strlen(answers[_i].bytes));
	journal_read(r, &s, &a);
	ck_assert_msg((int)a.word == answers[_i].word, "%s", answers[_i].says);
	freeReplyObject(r);
}
END_TEST

START_TEST(an_engine_that_writes_nothing_down_is_known)
{
	ck_assert(journal_is_forgetful(STR("# Persistence\r\nloading:0\r\naof_enabled:0\r\n")));
	ck_assert(!journal_is_forgetful(STR("# Persistence\r\naof_enabled:1\r\n")));
	ck_assert(!journal_is_forgetful(STR("")));
}
END_TEST

START_TEST(the_place_goes_through_a_file)
{
	struct buf file = {0};
	struct journal_state *j = journal_state_create(), *next = journal_state_create();
	ck_assert(journal_state_holds(j));
	journal_state_write(j, &file);
	ck_assert_int_eq(journal_state_read(next, buf_str(&file), true), 0);
	ck_assert_str_eq(journal_state_known(next), "");
	journal_state_move(j, ID, (struct journal_place){5, 6});
	journal_state_hold(j, false);
	file.n = 0;
	journal_state_write(j, &file);
	ck_assert_int_eq(journal_state_read(next, buf_str(&file), false), 0);
	ck_assert(journal_state_holds(next));
	ck_assert_int_eq(journal_state_read(next, buf_str(&file), true), 0);
	ck_assert(!journal_state_holds(next));
	ck_assert_str_eq(journal_state_known(next), ID);
	ck_assert(journal_state_place(next).ms == 5 && journal_state_place(next).n == 6);
	ck_assert_int_eq(journal_state_read(next, STR("nonsense"), false), -1);
	journal_state_destroy(&j);
	journal_state_destroy(&next);
	buf_fini(&file);
}
END_TEST

START_TEST(what_was_heard_lately_is_bounded)
{
	struct journal_state *j = journal_state_create();
	struct journal_lately l = {0};
	struct purge_items_reader r;
	struct purge_item item;
	static char name[PURGE_ITEM_NAME_MOST];
	struct buf items = {0};
	memset(name, 'a', sizeof name);
	purge_items_begin(&items, 0);
	purge_items_add(&items, &(struct purge_item){5, 1, 0, {name, sizeof name}});
	journal_state_note(j, 7, buf_str(&items), 100);
	ck_assert(journal_state_lately(j, 0, 100, &l) && l.node == 7 && l.serial == 1);
	ck_assert(!journal_state_lately(j, 1, 100, &l) && !journal_state_lately(j, 0, 101, &l));
	for (int i = 0; i < 1000; i++)
		journal_state_note(j, 7, buf_str(&items), 100);
	ck_assert(journal_state_lately(j, 0, 100, &l) && l.serial > 700);
	ck_assert(purge_items_open(&r, l.items) && purge_items_next(&r, &item));
	ck_assert_int_eq(item.kind, PURGE_ITEM_EVERYTHING);
	journal_state_note(j, 7, buf_str(&items), 100 + JOURNAL_OPEN_S + 1);
	ck_assert(journal_state_lately(j, 0, 0, &l) && l.serial == 1002);
	journal_state_destroy(&j);
	buf_fini(&items);
}
END_TEST

static struct journal_place
at(uint64_t ms)
{
	return (struct journal_place){ms, 0};
}

/* A message of a node with those two numbers. */
static struct str
message(struct buf *b, uint64_t first, uint64_t second)
{
	b->n = 0;
	purge_items_begin(b, 0);
	purge_items_add(b, &(struct purge_item){first, 1, 0, STR("http://x/")});
	if (second)
		purge_items_add(b, &(struct purge_item){second, 1, 0, STR("http://x/")});
	return buf_str(b);
}

static bool
count(void *ctx, const struct journal_lately_visit *v)
{
	unsigned *n = ctx;
	n[v->has_place]++;
	return true;
}

START_TEST(its_memory_reaches_as_far_as_what_it_has_not_dropped)
{
	struct journal_state *j = journal_state_create();
	struct buf b = {0};
	journal_state_move(j, ID, at(5));
	ck_assert(!journal_state_reaches_any(j) && !journal_state_reaches(j, at(9)));
	journal_state_remember(j, at(5));
	ck_assert(journal_state_reaches(j, at(5)) && !journal_state_reaches(j, at(4)));
	journal_state_note_at(j, 7, message(&b, 1, 0), at(6), 100);
	journal_state_note(j, 7, message(&b, 2, 0), 100);
	journal_state_note(j, 7, message(&b, 3, 0), 101 + JOURNAL_LATELY_S);
	ck_assert_msg(journal_state_reaches(j, at(6)) && !journal_state_reaches(j, at(5)),
		      "the journal has what was dropped");
	unsigned n[2] = {0};
	journal_state_each(j, 0, count, n);
	ck_assert_msg(n[0] == 2 && n[1] == 0, "the journal does not have the others");
	journal_state_note(j, 7, message(&b, 4, 0), 101 + JOURNAL_OPEN_S);
	ck_assert_msg(!journal_state_reaches_any(j), "nobody can be told of the dropped one");
	journal_state_remember(j, at(8));
	journal_state_pass(j, at(9));
	ck_assert(journal_state_reaches(j, at(9)) && !journal_state_reaches(j, at(8)));
	journal_state_move(j, ID, at(10));
	ck_assert(journal_state_reaches_any(j));
	journal_state_move(j, ELSE, at(1));
	ck_assert(!journal_state_reaches_any(j));
	journal_state_remember(j, at(1));
	journal_state_hold(j, true);
	ck_assert(!journal_state_reaches_any(j));
	journal_state_destroy(&j);
	buf_fini(&b);
}
END_TEST

START_TEST(what_the_journal_has_is_found_among_what_was_heard)
{
	struct journal_state *j = journal_state_create();
	struct buf b = {0};
	unsigned n[2] = {0};
	journal_state_note(j, 7, message(&b, 1, 2), 100);
	journal_state_note(j, 7, message(&b, 3, 4), 100);
	ck_assert(!journal_state_place_those(j, 8, message(&b, 1, 2), at(5)));
	ck_assert(!journal_state_place_those(j, 7, message(&b, 5, 0), at(5)));
	ck_assert_msg(journal_state_place_those(j, 7, message(&b, 1, 0), at(5)), "a part of one");
	journal_state_each(j, 0, count, n);
	ck_assert_msg(n[0] == 2, "a message is there when its last purge is");
	ck_assert(journal_state_place_those(j, 7, message(&b, 2, 3), at(6)));
	n[0] = n[1] = 0;
	journal_state_each(j, 0, count, n);
	ck_assert(n[0] == 1 && n[1] == 1);
	ck_assert(!journal_state_place_those(j, 7, message(&b, 1, 2), at(7)));
	ck_assert(journal_state_covers(j, 7, message(&b, 1, 2)) &&
		  journal_state_covers(j, 7, message(&b, 2, 3)) &&
		  !journal_state_covers(j, 7, message(&b, 4, 5)));
	ck_assert(journal_state_has(j, 7, message(&b, 3, 4)) &&
		  !journal_state_has(j, 7, message(&b, 3, 0)));
	journal_state_move(j, ID, at(1));
	ck_assert_msg(journal_state_place_those(j, 7, message(&b, 1, 2), at(1)),
		      "another journal has to get them again");
	journal_state_destroy(&j);
	buf_fini(&b);
}
END_TEST

UNIT("journal", LOOP(day, days), LOOP(loss, losses), LOOP(answer, answers),
     TEST(an_entry_counts_when_it_is_signed), TEST(items_of_a_newer_version_mean_everything),
     TEST(the_place_goes_through_a_file), TEST(an_engine_that_writes_nothing_down_is_known),
     TEST(what_was_heard_lately_is_bounded),
     TEST(its_memory_reaches_as_far_as_what_it_has_not_dropped),
     TEST(what_the_journal_has_is_found_among_what_was_heard))
