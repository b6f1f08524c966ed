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

static const struct {
	const char *a, *b, *want;
} unions[] = {
	{"", "", ""},	       {"a", "", "a"},		{"", "a", "a"},
	{"a,c", "b", "a,b,c"}, {"a,b", "b,c", "a,b,c"}, {"a,b", "a,b", "a,b"},
};

START_TEST(union_of_names)
{
	struct buf b = {0};
	ck_assert(vary_union(str_of(unions[_i].a), str_of(unions[_i].b), &b));
	ck_assert_msg(str_eq(buf_str(&b), str_of(unions[_i].want)), "%.*s", STR_ARG(buf_str(&b)));
	buf_fini(&b);
}
END_TEST

START_TEST(a_union_has_an_end)
{
	char a[256] = "", b[256] = "";
	struct buf out = {0};
	for (int i = 0; i < 20; i++) {
		sprintf(a + strlen(a), "%sa%02d", i ? "," : "", i);
		sprintf(b + strlen(b), "%sb%02d", i ? "," : "", i);
	}
	ck_assert(vary_union(str_of(a), str_of(a), &out));
	out.n = 0;
	ck_assert(!vary_union(str_of(a), str_of(b), &out));
	ck_assert_uint_eq(out.n, 0);
	buf_fini(&out);
}
END_TEST

UNIT("vary", LOOP(name_list, names), LOOP(union_of_names, unions), TEST(a_union_has_an_end))
