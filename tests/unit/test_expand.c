/* rooms: coding http base
 *
 * test_expand.c - coded bodies come out as they went in, wherever they are cut, and nothing else comes out. */
#include "proxy/coding/expand.h"
#include "tests/kit/coded.h"
#include "tests/kit/expanded.h"
#include "tests/kit/unit.h"

#define MOST (8 << 20)
#define ck_expansion(says, got, want) \
	ck_assert_msg((got) == (want), "%s: %s, not %s", says, expand_word(got), expand_word(want))

/* All of s, in pieces and rooms of sizes from next; a fault is the same ever after. */
static enum expansion
in_pieces(enum coding c, struct str s, const struct expand_limits *l, uint64_t *seed, size_t piece,
	  size_t room, struct buf *out)
{
	struct expander *x = expand_create(c, l);
	enum expansion e = EXPAND_MORE;
	while (s.n && e == EXPAND_MORE) {
		size_t n = seed ? 1 + coded_below(seed, piece) : piece;
		struct str in = {s.p, n < s.n ? n : s.n};
		s = str_from(s, in.n);
		do {
			size_t r = seed ? 1 + coded_below(seed, room) : room, made;
			char *to = malloc(r); /* a sanitizer sees one byte too far */
			e = expand_feed(x, &in, to, r, &made);
			buf_add(out, to, made);
			free(to);
			ck_assert(made <= r && (e != EXPAND_MORE || in.n == 0));
			ck_assert(e != EXPAND_FULL || made == r);
		} while (e == EXPAND_FULL);
	}
	enum expansion end = expand_end(x);
	if (e != EXPAND_MORE) {
		size_t made;
		char byte;
		ck_assert_int_eq(end, e);
		ck_assert_int_eq(expand_feed(x, &(struct str){"x", 1}, &byte, 1, &made), e);
		ck_assert_uint_eq(made, 0);
	}
	expand_destroy(&x);
	ck_assert_ptr_null(x);
	return end;
}

static enum expansion
whole(enum coding c, struct str s, uint64_t most, struct buf *out)
{
	return expanded_whole(c, &PIECES_OF(s), &(struct expand_limits){most, 0}, out);
}

/* ---- bytes by hand ---------------------------------------------------------------------------- */

#define GZ_HEAD	 "\x1f\x8b\x08\0\0\0\0\0\0\xff"
#define GZ_A	 GZ_HEAD "\x4b\x04\0\x43\xbe\xb7\xe8\x01\0\0\0" /* "a" */
#define GZ_NONE	 GZ_HEAD "\x03\0\0\0\0\0\0\0\0\0"
#define ZS_A	 "\x28\xb5\x2f\xfd\x20\x01\x09\0\0\x61" /* "a": one segment, a raw block */
#define ZS_NONE	 "\x28\xb5\x2f\xfd\x20\0\x01\0\0"
#define ZS_SKIP	 "\x5a\x2a\x4d\x18\x03\0\0\0xyz"
#define ZS_SKIP0 "\x50\x2a\x4d\x18\0\0\0\0"
#define BR_A	 "\x0b\0\x80\x61\x03"
#define B(bytes) STR_INIT(bytes)

static const struct {
	const char *says;
	enum coding coding;
	struct str bytes;
	enum expansion want;
	const char *body;
} by_hand[] = {
	/* clang-format off */
	{"gzip",                                  CODING_GZIP, B(GZ_A), EXPAND_DONE, "a"},
	{"gzip of nothing",                       CODING_GZIP, B(GZ_NONE), EXPAND_DONE, ""},
	{"members one behind the other",          CODING_GZIP, B(GZ_A GZ_NONE GZ_A), EXPAND_DONE, "aa"},
	{"a name, a comment, an extra field",     CODING_GZIP, B("\x1f\x8b\x08\x1c\0\0\0\0\0\xff\x02\0xxname\0comment\0" "\x4b\x04\0\x43\xbe\xb7\xe8\x01\0\0\0"), EXPAND_DONE, "a"},
	{"nothing at all is cut",                 CODING_GZIP, B(""), EXPAND_CUT, ""},
	{"half a magic number",                   CODING_GZIP, B("\x1f"), EXPAND_CUT, ""},
	{"the head alone",                        CODING_GZIP, B(GZ_HEAD), EXPAND_CUT, ""},
	{"zeros behind",                          CODING_GZIP, B(GZ_A "\0\0\0\0"), EXPAND_TRAILING, ""},
	{"a line end behind",                     CODING_GZIP, B(GZ_A "\r\n"), EXPAND_TRAILING, ""},
	{"half a magic number behind",            CODING_GZIP, B(GZ_A "\x1f"), EXPAND_TRAILING, ""},
	{"a whole one behind",                    CODING_GZIP, B(GZ_A "\x1f\x8b"), EXPAND_CUT, ""},
	{"another method behind",                 CODING_GZIP, B(GZ_A "\x1f\x8b\x09\0"), EXPAND_CORRUPT, ""},
	{"a wrong checksum",                      CODING_GZIP, B(GZ_HEAD "\x4b\x04\0\x44\xbe\xb7\xe8\x01\0\0\0"), EXPAND_CORRUPT, ""},
	{"a wrong length",                        CODING_GZIP, B(GZ_HEAD "\x4b\x04\0\x43\xbe\xb7\xe8\x02\0\0\0"), EXPAND_CORRUPT, ""},
	{"a block type that is none",             CODING_GZIP, B(GZ_HEAD "\x07"), EXPAND_CORRUPT, ""},
	{"a distance before the beginning",       CODING_GZIP, B(GZ_HEAD "\x03\x02\0\0"), EXPAND_CORRUPT, ""},
	{"reserved flags",                        CODING_GZIP, B("\x1f\x8b\x08\xe0\0\0\0\0\0\xff"), EXPAND_CORRUPT, ""},
	{"zlib is not gzip",                      CODING_GZIP, B("\x78\x9c\x4b\x04\0\0\x62\0\x62"), EXPAND_WRONG_CODING, ""},
	{"nor is raw deflate",                    CODING_GZIP, B("\x4b\x04\0"), EXPAND_WRONG_CODING, ""},
	{"nor plain text",                        CODING_GZIP, B("<html>"), EXPAND_WRONG_CODING, ""},
	{"nor zstd",                              CODING_GZIP, B(ZS_A), EXPAND_WRONG_CODING, ""},

	{"zstd",                                  CODING_ZSTD, B(ZS_A), EXPAND_DONE, "a"},
	{"zstd of nothing",                       CODING_ZSTD, B(ZS_NONE), EXPAND_DONE, ""},
	{"frames one behind the other",           CODING_ZSTD, B(ZS_A ZS_NONE ZS_A), EXPAND_DONE, "aa"},
	{"frames that are skipped",               CODING_ZSTD, B(ZS_SKIP ZS_SKIP0 ZS_A ZS_SKIP ZS_A ZS_SKIP0), EXPAND_DONE, "aa"},
	{"nothing but those",                     CODING_ZSTD, B(ZS_SKIP), EXPAND_DONE, ""},
	{"one that is skipped and cut",           CODING_ZSTD, B("\x5a\x2a\x4d\x18\x03\0\0\0xy"), EXPAND_CUT, ""},
	{"one of a length that wraps",            CODING_ZSTD, B("\x5a\x2a\x4d\x18\xff\xff\xff\xff" "x"), EXPAND_CUT, ""},
	{"no frame is cut",                       CODING_ZSTD, B(""), EXPAND_CUT, ""},
	{"three bytes",                           CODING_ZSTD, B("\x28\xb5\x2f"), EXPAND_CUT, ""},
	{"three bytes behind",                    CODING_ZSTD, B(ZS_A "\x28\xb5\x2f"), EXPAND_TRAILING, "a"},
	{"the magic number behind",               CODING_ZSTD, B(ZS_A "\x28\xb5\x2f\xfd"), EXPAND_TRAILING, "a"},
	{"a zero behind",                         CODING_ZSTD, B(ZS_A "\0"), EXPAND_TRAILING, "a"},
	{"an old version's frame",                CODING_ZSTD, B("\x27\xb5\x2f\xfd\x20\x01\x09\0\0\x61"), EXPAND_WRONG_CODING, ""},
	{"one behind",                            CODING_ZSTD, B(ZS_A "\x27\xb5\x2f\xfd\x20\x01\x09\0\0\x61"), EXPAND_TRAILING, "a"},
	{"gzip is not zstd",                      CODING_ZSTD, B(GZ_A), EXPAND_WRONG_CODING, ""},
	{"a window of 8 MiB",                     CODING_ZSTD, B("\x28\xb5\x2f\xfd\0\x68\x09\0\0\x61"), EXPAND_DONE, "a"},
	{"one of 9 MiB",                          CODING_ZSTD, B("\x28\xb5\x2f\xfd\0\x69\x09\0\0\x61"), EXPAND_TOO_LARGE, ""},
	{"the largest there is",                  CODING_ZSTD, B("\x28\xb5\x2f\xfd\0\xff\x09\0\0\x61"), EXPAND_TOO_LARGE, ""},
	{"one segment of 16 MiB",                 CODING_ZSTD, B("\x28\xb5\x2f\xfd\xa0\0\0\0\x01\x09\0\0\x61"), EXPAND_TOO_LARGE, ""},
	{"a dictionary that nobody has",          CODING_ZSTD, B("\x28\xb5\x2f\xfd\x21\x07\x01\x09\0\0\x61"), EXPAND_CORRUPT, ""},
	{"another size than the head's",          CODING_ZSTD, B("\x28\xb5\x2f\xfd\x20\x02\x09\0\0\x61"), EXPAND_CORRUPT, ""},
	{"a reserved bit",                        CODING_ZSTD, B("\x28\xb5\x2f\xfd\x28\x01\x09\0\0\x61"), EXPAND_CORRUPT, ""},
	{"a reserved block",                      CODING_ZSTD, B("\x28\xb5\x2f\xfd\x20\x01\x0f\0\0\x61"), EXPAND_CORRUPT, ""},
	/* Behind the magic number, this head looks like a frame that is skipped. */
	{"a head that looks like a frame",        CODING_ZSTD, B("\x28\xb5\x2f\xfd\x50\x2a\x4d\x18\0\0\0\0"), EXPAND_CUT, ""},

	{"br",                                    CODING_BR, B(BR_A), EXPAND_DONE, "a"},
	{"br of nothing",                         CODING_BR, B("\x06"), EXPAND_DONE, ""},
	{"nothing is cut",                        CODING_BR, B(""), EXPAND_CUT, ""},
	{"a byte behind",                         CODING_BR, B(BR_A "\0"), EXPAND_TRAILING, "a"},
	{"a second stream behind",                CODING_BR, B(BR_A BR_A), EXPAND_TRAILING, "a"},
	{"a large window is another format",      CODING_BR, B("\x11\x1a\x03"), EXPAND_CORRUPT, ""},
	{"padding that is not zero",              CODING_BR, B("\x86"), EXPAND_CORRUPT, ""},
	{"gzip is not br",                        CODING_BR, B(GZ_A), EXPAND_WRONG_CODING, ""},
	{"zstd is not br",                        CODING_BR, B(ZS_A), EXPAND_WRONG_CODING, ""},
	/* clang-format on */
};

START_TEST(bytes_by_hand)
{
	const struct expand_limits unknown = {MOST, 0};
	struct buf out = {0};
	buf_add_lit(&out, "before");
	enum expansion e = whole(by_hand[_i].coding, by_hand[_i].bytes, MOST, &out);
	ck_expansion(by_hand[_i].says, e, by_hand[_i].want);
	struct str body = str_from(buf_str(&out), 6);
	ck_assert(str_eq(body, e == EXPAND_DONE ? str_of(by_hand[_i].body) : STR("")));
	/* Cut anywhere, it is the same; its bytes too, but for a fault. */
	for (size_t piece = 1; piece <= by_hand[_i].bytes.n; piece++) {
		out.n = 0;
		e = in_pieces(by_hand[_i].coding, by_hand[_i].bytes, &unknown, NULL, piece,
			      1 + piece % 3, &out);
		ck_expansion(by_hand[_i].says, e, by_hand[_i].want);
		ck_assert(e != EXPAND_DONE || str_eq(buf_str(&out), str_of(by_hand[_i].body)));
	}
	buf_fini(&out);
}
END_TEST

/* ---- any body --------------------------------------------------------------------------------- */

static int
objects(void)
{
	return getenv("TWICE_LONG") ? 100000 : SANITIZED ? 1000 : 10000;
}

/* As random as it is, a cut one never passes for a whole one, and gives nothing but its beginning. */
static void
cut_one(enum coding c, struct str body, struct str coded, uint64_t *seed, struct buf *out)
{
	struct str part = {coded.p, coded_below(seed, coded.n)};
	/* The window may be larger than the rest of the stream: the ratio of the whole counts. */
	const struct expand_limits l = {MOST, coded.n * 1000};
	out->n = 0;
	ck_expansion("a cut body", in_pieces(c, part, &l, seed, 4096, 4096, out), EXPAND_CUT);
	ck_assert(str_starts(body, buf_str(out)));
	out->n = 0;
	enum expansion e = whole(c, part, MOST, out);
	ck_assert_msg(e == EXPAND_CUT || e == EXPAND_BOMB, "%s", expand_word(e));
}

START_TEST(any_body_cut_anywhere)
{
	uint64_t seed = 37 + (uint64_t)_i;
	enum coding c = coded_all[_i];
	struct buf body = {0}, coded = {0}, out = {0};
	for (int i = 0; i < objects(); i++) {
		uint64_t from = seed;
		body.n = coded.n = out.n = 0;
		coded_body(&body, &seed, i % 100 ? 6000 : 200000);
		coded_as(c, buf_str(&body), &coded);
		const struct expand_limits l = {body.n, coded.n * 1000};
		size_t some = 1 + coded_below(&seed, 20000);
		enum expansion e = in_pieces(c, buf_str(&coded), &l, &seed, some, some, &out);
		ck_assert_msg(e == EXPAND_DONE && str_eq(buf_str(&out), buf_str(&body)),
			      "%s, seed %llu: %s", coding_word(c), (unsigned long long)from,
			      expand_word(e));
		cut_one(c, buf_str(&body), buf_str(&coded), &seed, &out);
	}
	buf_fini(&body);
	buf_fini(&coded);
	buf_fini(&out);
}
END_TEST

START_TEST(one_byte_at_a_time)
{
	uint64_t seed = 1;
	const struct expand_limits l = {MOST, 0};
	struct buf body = {0}, coded = {0}, out = {0};
	coded_html(&body, &seed, 100000);
	coded_as(coded_all[_i], buf_str(&body), &coded);
	enum expansion e = in_pieces(coded_all[_i], buf_str(&coded), &l, NULL, 1, 1, &out);
	ck_expansion("one byte", e, EXPAND_DONE);
	ck_assert(str_eq(buf_str(&out), buf_str(&body)));
	buf_fini(&body);
	buf_fini(&coded);
	buf_fini(&out);
}
END_TEST

/* libzstd calls it an error when nothing comes sixteen times. */
START_TEST(empty_pieces_are_nothing)
{
	enum coding c = coded_all[_i];
	const struct expand_limits l = {MOST, 0};
	struct expander *x = expand_create(c, &l);
	struct buf coded = {0};
	char to[64];
	size_t made, all = 0;
	coded_as(c, STR("hello"), &coded);
	for (size_t at = 0; at <= coded.n; at++) {
		for (int i = 0; i < 40; i++) {
			struct str none = {NULL, 0};
			ck_assert_int_eq(expand_feed(x, &none, to, 1, &made), EXPAND_MORE);
			ck_assert_uint_eq(made, 0);
		}
		if (at == coded.n)
			break;
		struct str byte = {coded.p + at, 1};
		ck_assert_int_eq(expand_feed(x, &byte, to + all, sizeof to - all, &made),
				 EXPAND_MORE);
		all += made;
	}
	ck_assert_int_eq(expand_end(x), EXPAND_DONE);
	ck_assert_int_eq(expand_end(x), EXPAND_DONE);
	ck_assert(all == 5 && memcmp(to, "hello", 5) == 0);
	expand_destroy(&x);
	expand_destroy(&x);
	buf_fini(&coded);
}
END_TEST

START_TEST(every_label_on_every_body)
{
	static const struct str plain =
		STR_INIT("<!DOCTYPE html><p>A page that is not coded at all.</p>\n");
	for (int j = 0; j <= COUNT(coded_all); j++) {
		struct buf coded = {0}, out = {0};
		if (j == COUNT(coded_all))
			buf_add_str(&coded, plain);
		else
			coded_as(coded_all[j], plain, &coded);
		enum expansion e = whole(coded_all[_i], buf_str(&coded), MOST, &out);
		bool magic = coded_all[_i] != CODING_BR || (j < COUNT(coded_all) && j != 1);
		if (j == _i)
			ck_expansion("its own label", e, EXPAND_DONE);
		else if (magic)
			ck_expansion(coding_word(coded_all[_i]), e, EXPAND_WRONG_CODING);
		else
			ck_assert_msg(expand_is_fault(e), "plain as br: %s", expand_word(e));
		buf_fini(&coded);
		buf_fini(&out);
	}
}
END_TEST

/* The label names one coding, and one is taken away: that is what each client of it does. */
START_TEST(coded_twice_is_expanded_once)
{
	for (int j = 0; j < COUNT(coded_all); j++) {
		struct buf inner = {0}, outer = {0}, out = {0};
		coded_as(coded_all[j], STR("hello, hello"), &inner);
		coded_as(coded_all[_i], buf_str(&inner), &outer);
		ck_expansion("twice", whole(coded_all[_i], buf_str(&outer), MOST, &out),
			     EXPAND_DONE);
		ck_assert(str_eq(buf_str(&out), buf_str(&inner)));
		buf_fini(&inner);
		buf_fini(&outer);
		buf_fini(&out);
	}
}
END_TEST

/* ---- how much --------------------------------------------------------------------------------- */

START_TEST(limits_are_exact)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};
	enum coding c = coded_all[_i];
	uint64_t seed = 2;
	for (int i = 0; i < COUNT(sizes); i++) {
		struct buf body = {0}, coded = {0}, out = {0};
		coded_random(&body, &seed, sizes[i]);
		coded_as(c, buf_str(&body), &coded);
		ck_expansion("as many as may be", whole(c, buf_str(&coded), sizes[i], &out),
			     EXPAND_DONE);
		ck_assert(str_eq(buf_str(&out), buf_str(&body)));
		if (sizes[i])
			ck_expansion("one too many", whole(c, buf_str(&coded), sizes[i] - 1, &out),
				     EXPAND_TOO_LARGE);
		ck_assert_uint_eq(out.n, sizes[i]); /* as it was */
		buf_fini(&body);
		buf_fini(&coded);
		buf_fini(&out);
	}
}
END_TEST

static void
zeros(struct buf *b, size_t n)
{
	memset(buf_room(b, n), 0, n);
	b->n += n;
}

START_TEST(bombs)
{
	static const struct {
		const char *says;
		size_t bytes;
		enum expansion want;
	} rows[] = {
		{"a small file of zeros", 65536, EXPAND_DONE},
		{"one zero more", 65537, EXPAND_BOMB},
		{"a megabyte", 1 << 20, EXPAND_BOMB},
		{"a large one", 64 << 20, EXPAND_BOMB},
	};
	for (int i = 0; i < COUNT(rows); i++) {
		struct buf body = {0}, coded = {0}, out = {0};
		const struct expand_limits known = {MOST, 1000}, unknown = {MOST, 0};
		zeros(&body, rows[i].bytes);
		coded_as(coded_all[_i], buf_str(&body), &coded);
		if (coded.n < 1000 || rows[i].bytes > 20000 * 20) {
			ck_expansion(rows[i].says,
				     whole(coded_all[_i], buf_str(&coded), MOST, &out),
				     rows[i].want);
			ck_assert_uint_le(out.cap, 2 * (20 * coded.n + 131072));
		}
		out.n = 0;
		enum expansion e =
			in_pieces(coded_all[_i], buf_str(&coded), &known, NULL, 100, 5000, &out);
		ck_expansion(rows[i].says, e, rows[i].want);
		ck_assert_uint_le(out.n, 65536);
		out.n = 0;
		e = in_pieces(coded_all[_i], buf_str(&coded), &unknown, NULL, 100, 5000, &out);
		ck_expansion(rows[i].says, e, rows[i].want);
		ck_assert_uint_le(out.n,
				  rows[i].want == EXPAND_DONE ? 65536 : 20 * coded.n + 65536);
		buf_fini(&body);
		buf_fini(&coded);
		buf_fini(&out);
	}
}
END_TEST

/* A member's name makes the coded body as long as is wanted. */
static void
of_length(struct str body, size_t bytes, struct buf *out)
{
	struct buf bare = {0}, name = {0};
	gz_header head = {.os = 255};
	coded_gzip(body, 9, NULL, &bare);
	ck_assert_uint_gt(bytes, bare.n);
	memset(buf_room(&name, bytes - bare.n), 'n', bytes - bare.n);
	name.p[bytes - bare.n - 1] = 0;
	head.name = (Bytef *)name.p;
	coded_gzip(body, 9, &head, out);
	ck_assert_uint_eq(out->n, bytes);
	buf_fini(&bare);
	buf_fini(&name);
}

START_TEST(twenty_times_is_no_bomb)
{
	struct buf body = {0}, coded = {0}, out = {0};
	zeros(&body, 20 * 9999);
	of_length(buf_str(&body), 9999, &coded);
	ck_expansion("20 times", whole(CODING_GZIP, buf_str(&coded), MOST, &out), EXPAND_DONE);
	ck_assert_uint_eq(out.n, 20 * 9999);
	coded.n = 0;
	zeros(&body, 1);
	of_length(buf_str(&body), 9999, &coded);
	ck_expansion("a byte more", whole(CODING_GZIP, buf_str(&coded), MOST, &out), EXPAND_BOMB);
	buf_fini(&body);
	buf_fini(&coded);
	buf_fini(&out);
}
END_TEST

/* Each member alone is small, and so is each step: the sum counts. */
START_TEST(many_members_are_one_body)
{
	struct buf body = {0}, one = {0}, coded = {0}, out = {0};
	zeros(&body, 60000);
	coded_as(coded_all[2 * _i], buf_str(&body), &one);
	for (int i = 0; i < 50; i++)
		buf_add_str(&coded, buf_str(&one));
	ck_expansion("50 of them", whole(coded_all[2 * _i], buf_str(&coded), MOST, &out),
		     EXPAND_BOMB);
	buf_fini(&body);
	buf_fini(&one);
	buf_fini(&coded);
	buf_fini(&out);
}
END_TEST

/* As many bytes as a window of 16 MiB would need are never held, and a stream that says 16 MiB and has
 * less does not need them. */
START_TEST(windows_of_br)
{
	struct buf body = {0}, coded = {0}, out = {0};
	uint64_t seed = 3;
	coded_json(&body, &seed, 1 << 20);
	coded_br(buf_str(&body), 5, 24, &coded);
	ck_expansion("1 MiB in a window of 16", whole(CODING_BR, buf_str(&coded), MOST, &out),
		     EXPAND_DONE);
	ck_assert(str_eq(buf_str(&out), buf_str(&body)));
	/* WBITS 24, not the last, MLEN 16 MiB, not compressed. */
	char head[8] = {0};
	uint64_t bits = 0xf | 0ull << 4 | 2ull << 5 | 0xffffffull << 7 | 1ull << 31;
	for (int i = 0; i < 4; i++)
		head[i] = (char)(bits >> (8 * i));
	out.n = coded.n = 0;
	buf_add(&coded, head, 4);
	buf_add_str(&coded, buf_str(&body));
	const struct expand_limits l = {MOST, 0};
	enum expansion e = in_pieces(CODING_BR, buf_str(&coded), &l, NULL, 4096, 4096, &out);
	ck_expansion("a part of 16 MiB", e, EXPAND_TOO_LARGE);
	buf_fini(&body);
	buf_fini(&coded);
	buf_fini(&out);
}
END_TEST

START_TEST(a_body_in_several_pieces)
{
	struct buf body = {0}, coded = {0}, out = {0};
	uint64_t seed = 4;
	coded_html(&body, &seed, 50000);
	coded_as(coded_all[_i], buf_str(&body), &coded);
	struct str at[] = {
		{coded.p, 1}, {NULL, 0}, {coded.p + 1, 999}, {coded.p + 1000, coded.n - 1000}};
	struct pieces p = {at, 4};
	ck_assert_uint_eq(pieces_bytes(&p), coded.n);
	ck_expansion("four pieces",
		     expanded_whole(coded_all[_i], &p, &(struct expand_limits){MOST, 0}, &out),
		     EXPAND_DONE);
	ck_assert(str_eq(buf_str(&out), buf_str(&body)));
	p.n = 0;
	ck_expansion("none",
		     expanded_whole(coded_all[_i], &p, &(struct expand_limits){MOST, 0}, &out),
		     EXPAND_CUT);
	buf_fini(&body);
	buf_fini(&coded);
	buf_fini(&out);
}
END_TEST

UNIT("expand", LOOP(bytes_by_hand, by_hand), LOOP(any_body_cut_anywhere, coded_all),
     LOOP(one_byte_at_a_time, coded_all), LOOP(empty_pieces_are_nothing, coded_all),
     LOOP(every_label_on_every_body, coded_all), LOOP(coded_twice_is_expanded_once, coded_all),
     LOOP(limits_are_exact, coded_all), LOOP(bombs, coded_all), TEST(twenty_times_is_no_bomb),
     TIMES(many_members_are_one_body, 2), TEST(windows_of_br),
     LOOP(a_body_in_several_pieces, coded_all))
