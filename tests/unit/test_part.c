/* test_part.c - what a stored 206 is good for.
 * rooms: serve http cache base filter
 */
#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/rules/part.h"

#include "proxy/http/h1_parse.h"
#include "proxy/http/head.h"
#include "tests/kit/unit.h"

#define HEAD(range, more) "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " range "\r\n" more

/* A part as the cache would hand it out: only its head and terms are looked at. Four hold at a
 * time. */
static struct object
part(const char *head)
{
	static struct buf heads[4];
	static unsigned next;
	struct buf *stored = &heads[next++ % 4];
	struct object o = {.terms = {.last_modified = -1}};
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	ck_assert(h1_parse_response(str_of(head), &r));
	stored->n = 0;
	head_store(&r, 1000, stored, &o.terms);
	o.head = buf_str(stored);
	return o;
}

/* clang-format off */
static const struct {
	const char *says, *head;
	uint64_t body;
	bool sound;
} answers[] = {
	{"a part as long as it says",     HEAD("0-9/100", ""), 10, true},
	{"another length than it says",   HEAD("4-9/10", ""), 5, false},
	{"the length is not known",       HEAD("0-9/100", ""), UINT64_MAX, false},
	{"the total is not known",        HEAD("0-9/*", ""), 10, false},
	{"all of it is no part",          HEAD("0-9/10", ""), 10, false},
	{"it varies",                     HEAD("0-9/100", "Vary: A\r\n"), 10, false},
	{"two ranges said",               HEAD("0-9/100", "Content-Range: bytes 0-9/100\r\n"), 10, false},
	{"too much to hold",              HEAD("0-2000000/9000000", ""), 2000001, false},
};

static const struct {
	const char *says, *range, *if_range;
	bool answers;
	uint64_t at, n;
} wishes[] = { /* of bytes 10-19 of 100, tag "a" */
	{"within",                     "bytes=12-14", NULL, true, 12, 3},
	{"all that is held",           "bytes=10-19", NULL, true, 10, 10},
	{"before",                     "bytes=5-12", NULL, false, 0, 0},
	{"behind",                     "bytes=15-20", NULL, false, 0, 0},
	{"the end of the whole",       "bytes=-5", NULL, false, 0, 0},
	{"two ranges",                 "bytes=10-11,14-15", NULL, false, 0, 0},
	{"of the same representation", "bytes=12-14", "\"a\"", true, 12, 3},
	{"of another representation",  "bytes=12-14", "\"b\"", false, 0, 0},
	{"no range at all",            NULL, NULL, false, 0, 0},
};
/* clang-format on */

START_TEST(soundness)
{
	struct field fields[FIELDS_MAX];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	ck_assert(h1_parse_response(str_of(answers[_i].head), &r));
	ck_assert_msg(part_is_sound(&r, answers[_i].body) == answers[_i].sound, "%s",
		      answers[_i].says);
}
END_TEST

START_TEST(wish)
{
	struct object o = part(HEAD("10-19/100", "ETag: \"a\"\r\n"));
	struct field fields[4];
	struct request rq = {.method = METHOD_GET, .fields = {.v = fields, .cap = 4}};
	struct range want = {0};
	uint64_t total = 0;
	if (wishes[_i].range)
		fields_add(&rq.fields, STR("Range"), str_of(wishes[_i].range));
	if (wishes[_i].if_range)
		fields_add(&rq.fields, STR("If-Range"), str_of(wishes[_i].if_range));
	bool yes = part_answers(&o, &rq, 1000, &want, &total);
	ck_assert_msg(yes == wishes[_i].answers, "%s", wishes[_i].says);
	if (yes) {
		ck_assert_uint_eq(want.at, wishes[_i].at);
		ck_assert_uint_eq(want.n, wishes[_i].n);
		ck_assert_uint_eq(total, 100);
	}
}
END_TEST

UNIT("part", LOOP(soundness, answers), LOOP(wish, wishes))
