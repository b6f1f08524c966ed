/* rooms: http base
 *
 * test_vary.c - which fields select a variant. */
#include "proxy/http/cachekey.h"
#include "tests/kit/heads.h"

#define STAR "(star)"
static const struct {
	const char *says, *lines, *want;
} names[] = {
	/* clang-format off */
	{"no Vary",                        "A: b", ""},
	{"an empty one",                   "Vary:", ""},
	{"one name",                       "Vary: Accept-Encoding", "accept-encoding"},
	{"sorted, lower case, once",       "Vary: b, A, B,c", "a,b,c"},
	{"several lines",                  "Vary: b\nVary: a, b", "a,b"},
	{"*",                              "Vary: *", STAR},
	{"* after a name",                 "Vary: Foo, *", STAR},
	{"* before a name",                "Vary: *, Foo", STAR},
	{"* after nothing",                "Vary: , *", STAR},
	{"* in another line",              "Vary: \nVary: *", STAR},
	{"what is no name never matches",  "Vary: a b", STAR},
	/* clang-format on */
};

START_TEST(name_list)
{
	struct buf b = {0};
	bool ok = vary_names(fields_of(names[_i].lines), &b);
	struct str got = ok ? buf_str(&b) : STR(STAR);
	ck_assert_msg(str_eq(got, str_of(names[_i].want)), "%s: %.*s", names[_i].says,
		      STR_ARG(got));
	ck_assert(ok || b.n == 0);
	buf_fini(&b);
}
END_TEST

START_TEST(a_union_is_a_list_of_names_too)
{
	struct buf b = {0}, many = {0};
	ck_assert(vary_union(STR("accept,cookie"), STR("accept,x-a"), &b));
	ck_assert(str_eq(buf_str(&b), STR("accept,cookie,x-a")));
	b.n = 0;
	ck_assert(vary_union(STR(""), STR(""), &b) && b.n == 0);
	ck_assert(vary_union(STR("x-a"), STR(""), &b));
	ck_assert(str_eq(buf_str(&b), STR("x-a")));
	b.n = 0;
	for (int i = 0; i < 32; i++)
		buf_printf(&many, "%sn%02d", i ? "," : "", i);
	ck_assert(vary_union(buf_str(&many), STR("n00"), &b));
	ck_assert(str_eq(buf_str(&b), buf_str(&many)));
	b.n = 0;
	ck_assert(!vary_union(buf_str(&many), STR("one-too-many"), &b) && b.n == 0);
	buf_fini(&b);
	buf_fini(&many);
}
END_TEST

UNIT("vary", LOOP(name_list, names), TEST(a_union_is_a_list_of_names_too))
