/* rooms: serve coding http base filter
 * test_request_id.c - names of requests: none twice, and of strangers none that is not plain.
 */
#include "proxy/serve/rules/request_id.h"
#include "tests/kit/heads.h"

static const struct {
	const char *says, *fields, *want;
} lines[] = {
	/* clang-format off */
	{"a UUID",                 "X-Request-ID: 0f9c-11", "0f9c-11"},
	{"what others make",       "x-request-id: Root=1-a_b.c:d+e/f", "Root=1-a_b.c:d+e/f"},
	{"none",                   "A: b", ""},
	{"an empty one",           "X-Request-ID:", ""},
	{"two",                    "X-Request-ID: a\nX-Request-ID: b", ""},
	{"the same twice",         "X-Request-ID: a\nX-Request-ID: a", ""},
	{"a quote",                "X-Request-ID: a\"b", ""},
	{"a tag",                  "X-Request-ID: <b>", ""},
	{"a blank",                "X-Request-ID: a b", ""},
	{"a list",                 "X-Request-ID: a, b", ""},
	{"a byte above ASCII",     "X-Request-ID: a\xe9", ""},
	{"64 bytes",               "X-Request-ID: 0123456789012345678901234567890123456789012345678901234567890123", "0123456789012345678901234567890123456789012345678901234567890123"},
	{"65 bytes",               "X-Request-ID: 01234567890123456789012345678901234567890123456789012345678901234", ""},
	/* clang-format on */
};

START_TEST(said)
{
	struct str got = request_id_said(fields_of(lines[_i].fields));
	ck_assert_msg(str_eq(got, str_of(lines[_i].want)), "%s: %.*s", lines[_i].says,
		      STR_ARG(got));
}
END_TEST

START_TEST(each_is_another)
{
	enum { MANY = 2000 };
	static char ids[MANY][REQUEST_ID_BYTES];
	struct request_ids workers[2] = {0};
	for (int i = 0; i < MANY; i++) {
		request_id_make(&workers[i % 2], ids[i]);
		bool hex = true, twice = false;
		for (int b = 0; b < REQUEST_ID_BYTES; b++)
			hex = hex && memchr("0123456789abcdef", ids[i][b], 16);
		for (int k = 0; k < i; k++) /* not even one half of it */
			twice = twice || memcmp(ids[k], ids[i], 16) == 0 ||
				memcmp(ids[k] + 16, ids[i] + 16, 16) == 0;
		ck_assert(hex && !twice);
	}
}
END_TEST

START_TEST(its_digits_are_those_of_the_hash)
{
	struct request_ids ids = {0};
	for (int i = 0; i < 1000; i++) {
		char id[REQUEST_ID_BYTES], want[REQUEST_ID_BYTES + 1];
		request_id_make(&ids, id);
		struct twice_key_hash h =
			twice_key_hash_of(&ids.seed, &ids.count, sizeof ids.count);
		snprintf(want, sizeof want, "%016llx%016llx", (unsigned long long)h.lo,
			 (unsigned long long)h.hi);
		ck_assert_mem_eq(id, want, REQUEST_ID_BYTES);
	}
}
END_TEST

UNIT("request_id", LOOP(said, lines), TEST(each_is_another), TEST(its_digits_are_those_of_the_hash))
