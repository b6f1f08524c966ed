/* rooms: http base
 *
 * test_chunked.c - strict chunks, wherever the bytes happen to be cut. */
#include "proxy/http/chunked.h"
#include "tests/kit/unit.h"

static const struct {
	const char *says, *wire;
	const char *body; /* NULL: a fault */
} bodies[] = {
	/* clang-format off */
	{"nothing but the end",                      "0\r\n\r\n", ""},
	{"one chunk",                                "5\r\nhello\r\n0\r\n\r\n", "hello"},
	{"two chunks",                               "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "hello!"},
	{"hex in both cases, leading zeros",         "00b\r\nhello world\r\n0A\r\n0123456789\r\n000\r\n\r\n", "hello world0123456789"},
	{"data may hold line ends",                  "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
	{"an extension is skipped",                  "5;a\r\nhello\r\n0;b=c\r\n\r\n", "hello"},
	{"extensions with values and quotes",        "5;a=b;c=\"d;\\\"\r\";e\r\nhello\r\n0\r\n\r\n", NULL},
	{"a quoted value with an escape",            "5;a=b;c=\"d;\\\"\";e\r\nhello\r\n0\r\n\r\n", "hello"},
	{"BWS where the grammar has it",             "5 ; a = b ;c\r\nhello\r\n0\r\n\r\n", "hello"},
	{"trailer fields are dropped",               "0\r\nX: 1\r\nY:\r\n\r\n", ""},
	{"a sign is no digit: +",                    "+5\r\nhello\r\n0\r\n\r\n", NULL},
	{"a sign is no digit: -",                    "-5\r\nhello\r\n0\r\n\r\n", NULL},
	{"0x is not how hex begins here",            "0x5\r\nhello\r\n0\r\n\r\n", NULL},
	{"no space before",                          " 5\r\nhello\r\n0\r\n\r\n", NULL},
	{"no space behind",                          "5 \r\nhello\r\n0\r\n\r\n", NULL},
	{"no tab behind",                            "5\t\r\nhello\r\n0\r\n\r\n", NULL},
	{"an empty size",                            "\r\nhello\r\n0\r\n\r\n", NULL},
	{"only an extension",                        ";a\r\nhello\r\n0\r\n\r\n", NULL},
	{"not hex",                                  "5g\r\nhello\r\n0\r\n\r\n", NULL},
	{"underscores are for programs",             "1_0\r\n0123456789abcdef\r\n0\r\n\r\n", NULL},
	{"the largest size that is not one more",    "8000000000000000\r\n", NULL},
	{"a size that wraps to 5",                   "10000000000000005\r\nhello\r\n0\r\n\r\n", NULL},
	{"a bare LF ends no size line",              "5\nhello\r\n0\r\n\r\n", NULL},
	{"a bare CR neither",                        "5\rhello\r\n0\r\n\r\n", NULL},
	{"two CRs",                                  "5\r\r\nhello\r\n0\r\n\r\n", NULL},
	{"a bare LF in an extension",                "5;a\nhello\r\n0\r\n\r\n", NULL},
	{"a bare CR in an extension",                "5;a\rb\r\nhello\r\n0\r\n\r\n", NULL},
	{"a control byte in an extension",           "5;a\001\r\nhello\r\n0\r\n\r\n", NULL},
	{"a line feed inside quotes",                "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", NULL},
	{"quotes that never close",                  "5;a=\"b\r\nhello\r\n0\r\n\r\n", NULL},
	{"an extension without a name",              "5;\r\nhello\r\n0\r\n\r\n", NULL},
	{"an extension without its value",           "5;a=\r\nhello\r\n0\r\n\r\n", NULL},
	{"a space inside an extension's name",       "5;a b\r\nhello\r\n0\r\n\r\n", NULL},
	{"something behind a quoted value",          "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n", NULL},
	{"more data than announced",                 "4\r\nhello\r\n0\r\n\r\n", NULL},
	{"less data than announced",                 "6\r\nhello\r\n0\r\n\r\n", NULL},
	{"data ended by a bare LF",                  "5\r\nhello\n0\r\n\r\n", NULL},
	{"data ended by a bare CR",                  "5\r\nhello\r0\r\n\r\n", NULL},
	{"a trailer without a colon",                "0\r\nX\r\n\r\n", NULL},
	{"a trailer without a name",                 "0\r\n: x\r\n\r\n", NULL},
	{"space before a trailer's colon",           "0\r\nX : 1\r\n\r\n", NULL},
	{"a folded trailer",                         "0\r\nX: 1\r\n 2\r\n\r\n", NULL},
	{"a trailer ended by a bare LF",             "0\r\nX: 1\n\r\n", NULL},
	{"the end is a bare LF",                     "0\r\n\n", NULL},
	{"a bare CR in a trailer",                   "0\r\nX: 1\r2\r\n\r\n", NULL},
	/* clang-format on */
};

/* Decodes wire cut into pieces of at most step bytes, the first of them first bytes. */
static enum chunked_step
decode(struct str wire, size_t first, size_t step, char *body, size_t *body_bytes)
{
	struct chunked c = {0};
	enum chunked_step s = CHUNKED_MORE;
	*body_bytes = 0;
	for (size_t at = 0, piece = first; at < wire.n && s != CHUNKED_FAULT && s != CHUNKED_DONE;
	     at += piece, piece = step) {
		struct str in = {wire.p + at, piece < wire.n - at ? piece : wire.n - at}, data;
		const struct fault *fault = NULL;
		while ((s = chunked_decode(&c, &in, &data, &fault)) == CHUNKED_DATA) {
			memcpy(body + *body_bytes, data.p, data.n);
			*body_bytes += data.n;
		}
		ck_assert((s == CHUNKED_FAULT) == (fault != NULL));
	}
	return s;
}

START_TEST(wherever_it_is_cut)
{
	struct str wire = str_of(bodies[_i].wire);
	for (size_t first = 1; first <= wire.n; first++) {
		for (size_t step = 1; step <= wire.n; step += wire.n - 1) {
			char body[64];
			size_t n;
			enum chunked_step s = decode(wire, first, step, body, &n);
			if (!bodies[_i].body) { /* the announced end never came, at best */
				ck_assert_msg(s != CHUNKED_DONE, "%s", bodies[_i].says);
				continue;
			}
			ck_assert_msg(s == CHUNKED_DONE, "%s", bodies[_i].says);
			ck_assert_msg(str_eq((struct str){body, n}, str_of(bodies[_i].body)), "%s",
				      bodies[_i].says);
		}
	}
}
END_TEST

START_TEST(what_follows_the_end_is_left_alone)
{
	struct chunked c = {0};
	struct str in = STR("0\r\n\r\nGET /"), data;
	const struct fault *fault;
	ck_assert_int_eq(chunked_decode(&c, &in, &data, &fault), CHUNKED_DONE);
	ck_assert(str_eq(in, STR("GET /")));
	ck_assert_int_eq(chunked_decode(&c, &in, &data, &fault), CHUNKED_DONE);
	ck_assert(str_eq(in, STR("GET /")));
}
END_TEST

/* Feeds one piece and then the same byte for ever: it must end in a fault. */
static const struct fault *
flood(const char *begin, char b, size_t limit)
{
	struct chunked c = {0};
	struct str in = str_of(begin), data;
	const struct fault *fault = NULL;
	ck_assert_int_eq(chunked_decode(&c, &in, &data, &fault), CHUNKED_MORE);
	for (size_t i = 0; i < limit; i++) {
		in = (struct str){&b, 1};
		if (chunked_decode(&c, &in, &data, &fault) == CHUNKED_FAULT)
			return fault;
	}
	return NULL;
}

START_TEST(nothing_grows_without_bound)
{
	ck_assert_ptr_eq(flood("5;a", 'a', 300), &fault_CHUNK);
	ck_assert_ptr_eq(flood("", '0', 300), &fault_CHUNK);
	ck_assert_ptr_eq(flood("5;a=\"", ' ', 300), &fault_CHUNK);
	ck_assert_ptr_eq(flood("0\r\nX:", 'x', 9000), &fault_TRAILER);
}
END_TEST

START_TEST(a_broken_body_stays_broken)
{
	struct chunked c = {0};
	struct str in = STR("g"), data;
	const struct fault *fault = NULL;
	ck_assert_int_eq(chunked_decode(&c, &in, &data, &fault), CHUNKED_FAULT);
	in = STR("0\r\n\r\n");
	ck_assert_int_eq(chunked_decode(&c, &in, &data, &fault), CHUNKED_FAULT);
}
END_TEST

START_TEST(size_lines)
{
	char out[20];
	ck_assert(str_eq((struct str){out, chunked_size_line(out, 0)}, STR("0\r\n")));
	ck_assert(str_eq((struct str){out, chunked_size_line(out, 0x1a2b)}, STR("1a2b\r\n")));
	ck_assert(str_eq((struct str){out, chunked_size_line(out, UINT64_MAX)},
			 STR("ffffffffffffffff\r\n")));
}
END_TEST

UNIT("chunked", LOOP(wherever_it_is_cut, bodies), TEST(what_follows_the_end_is_left_alone),
     TEST(nothing_grows_without_bound), TEST(a_broken_body_stays_broken), TEST(size_lines))
