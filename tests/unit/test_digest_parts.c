/* rooms: fleet origin http base filter
 *
 * test_digest_parts.c - a digest comes to another node in parts, whole or not at all. */
#include "filter/family/digest.h"
#include "proxy/fleet/digest_parts.h"
#include "tests/kit/unit.h"

#include <stdlib.h>

enum { KEYS = 200000 };

static struct buf
digest(uint64_t keys, uint64_t from)
{
	struct buf b = {0};
	struct twice_digest *d = twice_digest_create(keys, DIGEST_PARTS_BITS);
	for (uint64_t i = from; i < from + keys; i++)
		twice_digest_add(d, i << 18);
	digest_parts_save(d, &b);
	twice_digest_destroy(&d);
	return b;
}

/* One question and its answer, of a digest with that number. */
static enum digest_parts_step
go(struct digest_parts *p, const struct buf *whole, uint64_t number)
{
	char target[DIGEST_PARTS_TARGET];
	uint64_t made = 99, at = 99;
	struct buf answer = {0};
	digest_parts_target(p, target);
	ck_assert(digest_parts_asked(str_of(target), &made, &at));
	digest_parts_answer(buf_str(whole), number, made, at, &answer);
	ck_assert_uint_le(answer.n, DIGEST_PART + 64);
	enum digest_parts_step step = digest_parts_take(p, buf_str(&answer));
	buf_fini(&answer);
	return step;
}

START_TEST(a_digest_comes_in_parts)
{
	struct buf whole = digest(KEYS, 0);
	struct digest_parts p = {0};
	unsigned asked = 1;
	const char *why;
	while (go(&p, &whole, 7) == DIGEST_PARTS_MORE)
		asked++;
	ck_assert_uint_eq(asked, (whole.n + DIGEST_PART - 1) / DIGEST_PART);
	ck_assert_uint_gt(asked, 2);
	struct twice_digest *d = digest_parts_load(&p, &why);
	ck_assert_msg(d != NULL, "%s", why);
	ck_assert(p.made == 0 && p.bytes.n == 0);
	for (uint64_t i = 0; i < KEYS; i++)
		ck_assert(twice_digest_has(d, i << 18));
	twice_digest_destroy(&d);
	buf_fini(&whole);
}
END_TEST

START_TEST(one_that_is_made_anew_meanwhile_begins_again)
{
	struct buf before = digest(KEYS, 0), after = digest(KEYS / 2, KEYS);
	struct digest_parts p = {0};
	const char *why;
	ck_assert_int_eq(go(&p, &before, 7), DIGEST_PARTS_MORE);
	ck_assert_int_eq(go(&p, &before, 7), DIGEST_PARTS_MORE);
	while (go(&p, &after, 8) == DIGEST_PARTS_MORE)
		;
	ck_assert(p.made == 8);
	struct twice_digest *d = digest_parts_load(&p, &why);
	ck_assert_msg(d != NULL, "%s", why);
	for (uint64_t i = KEYS; i < KEYS + KEYS / 2; i++)
		ck_assert(twice_digest_has(d, i << 18));
	twice_digest_destroy(&d);
	/* And it may be gone altogether. */
	ck_assert_int_eq(go(&p, &before, 7), DIGEST_PARTS_MORE);
	ck_assert_int_eq(go(&p, &(struct buf){0}, 0), DIGEST_PARTS_NONE);
	ck_assert(p.made == 0 && !p.bytes.p);
	buf_fini(&before);
	buf_fini(&after);
}
END_TEST

static const struct {
	const char *says, *target;
	bool is;
	uint64_t made, at;
} targets[] = {
	{"the first question", "/.twice/digest?made=0&at=0", true, 0, 0},
	{"the next one", "/.twice/digest?made=00000000000000ff&at=49152", true, 255, 49152},
	{"no number", "/.twice/digest?made=&at=0", false, 0, 0},
	{"a short number", "/.twice/digest?made=ff&at=0", false, 0, 0},
	{"no place", "/.twice/digest?made=0", false, 0, 0},
	{"an empty place", "/.twice/digest?made=0&at=", false, 0, 0},
	{"a place below 0", "/.twice/digest?made=0&at=-1", false, 0, 0},
	{"more behind it", "/.twice/digest?made=0&at=1&x=1", false, 0, 0},
	{"another order", "/.twice/digest?at=0&made=0", false, 0, 0},
	{"nothing", "/.twice/digest", false, 0, 0},
	{"another thing", "/.twice/state", false, 0, 0},
};

START_TEST(target)
{
	uint64_t made = 0, at = 0;
	ck_assert_msg(digest_parts_asked(str_of(targets[_i].target), &made, &at) == targets[_i].is,
		      "%s", targets[_i].says);
	ck_assert(!targets[_i].is || (made == targets[_i].made && at == targets[_i].at));
}
END_TEST

START_TEST(a_place_behind_the_end_is_the_beginning)
{
	struct buf out = {0};
	digest_parts_answer(STR("abc"), 1, 1, 4, &out);
	ck_assert(str_eq(buf_str(&out), STR("0000000000000001 3\nabc")));
	buf_fini(&out);
}
END_TEST

#define SEVEN "0000000000000007 "

/* Behind "0000000000000007 8\nabcd". */
static const struct {
	const char *says, *content;
	enum digest_parts_step want;
} answers[] = {
	{"the rest", SEVEN "8\nefgh", DIGEST_PARTS_WHOLE},
	{"a part of it", SEVEN "8\ne", DIGEST_PARTS_MORE},
	{"another one", "0000000000000008 4\na", DIGEST_PARTS_MORE},
	{"another one, whole", "0000000000000008 1\na", DIGEST_PARTS_WHOLE},
	{"none any more", "0 0\n", DIGEST_PARTS_NONE},
	{"nothing", "", DIGEST_PARTS_WRONG},
	{"no line", SEVEN "8", DIGEST_PARTS_WRONG},
	{"no length", SEVEN "\nefgh", DIGEST_PARTS_WRONG},
	{"no bytes", SEVEN "8\n", DIGEST_PARTS_WRONG},
	{"too many bytes", SEVEN "8\nefghi", DIGEST_PARTS_WRONG},
	{"another length", SEVEN "9\nefghi", DIGEST_PARTS_WRONG},
	{"a length of 0", SEVEN "0\n", DIGEST_PARTS_WRONG},
	{"bytes of none", "0 0\na", DIGEST_PARTS_WRONG},
	{"a length of none", "0 4\na", DIGEST_PARTS_WRONG},
	{"more than there may be", "0000000000000008 33554433\na", DIGEST_PARTS_WRONG},
	{"a length below 0", SEVEN "-8\nefgh", DIGEST_PARTS_WRONG},
	{"a page of somebody else", "<html>\n<body>", DIGEST_PARTS_WRONG},
};

START_TEST(answer)
{
	struct digest_parts p = {0};
	const char *why;
	ck_assert_int_eq(digest_parts_take(&p, STR(SEVEN "8\nabcd")), DIGEST_PARTS_MORE);
	ck_assert_msg(digest_parts_take(&p, str_of(answers[_i].content)) == answers[_i].want, "%s",
		      answers[_i].says);
	if (answers[_i].want == DIGEST_PARTS_WHOLE) {
		ck_assert_ptr_null(digest_parts_load(&p, &why));
		ck_assert_ptr_nonnull(why);
	}
	if (answers[_i].want != DIGEST_PARTS_MORE)
		ck_assert(p.made == 0 && !p.bytes.p);
	digest_parts_fini(&p);
}
END_TEST

START_TEST(damaged_bytes_are_no_digest)
{
	struct buf whole = digest(2000, 0);
	for (size_t i = 0; i <= whole.n; i += 7) {
		struct digest_parts p = {.made = 1, .total = whole.n};
		const char *why = NULL;
		buf_add_str(&p.bytes, buf_str(&whole));
		if (i < whole.n)
			p.bytes.p[i] ^= 4;
		else
			buf_add_lit(&p.bytes, "x");
		ck_assert_ptr_null(digest_parts_load(&p, &why));
		ck_assert_ptr_nonnull(why);
	}
	buf_fini(&whole);
}
END_TEST

UNIT("digest_parts", TEST(a_digest_comes_in_parts),
     TEST(one_that_is_made_anew_meanwhile_begins_again), LOOP(target, targets),
     TEST(a_place_behind_the_end_is_the_beginning), LOOP(answer, answers),
     TEST(damaged_bytes_are_no_digest))
