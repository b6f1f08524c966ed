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

UNIT("vary", LOOP(name_list, names))
