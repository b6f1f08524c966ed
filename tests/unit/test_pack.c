/* rooms: coding http base
 *
 * test_pack.c - a packed body is the body, and smaller by a sixteenth; or it is none. */
#include "proxy/coding/expand.h"
#include "proxy/coding/pack.h"
#include "tests/kit/coded.h"
#include "tests/kit/expanded.h"
#include "tests/kit/unit.h"

#include <dlfcn.h>

static const struct pack_as usual[] = {
	{CODING_GZIP, PACK_GZIP_LEVEL}, {CODING_BR, PACK_BR_LEVEL}, {CODING_ZSTD, PACK_ZSTD_LEVEL}};

#define ck_packing(says, got, want) \
	ck_assert_msg((got) == (want), "%s: %s, not %s", says, pack_word(got), pack_word(want))

/* A library that fails: libzstd's decoder, which the program finds here first, changes one byte, or
 * leaves out the last one. */
static enum { WELL, ONE_BYTE, FEWER } zstd_is;
size_t
ZSTD_decompressStream(ZSTD_DStream *z, ZSTD_outBuffer *out, ZSTD_inBuffer *in)
{
	static size_t (*real)(ZSTD_DStream *, ZSTD_outBuffer *, ZSTD_inBuffer *);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ZSTD_decompressStream");
	size_t r = real(z, out, in);
	if (zstd_is == ONE_BYTE && out->pos)
		((char *)out->dst)[out->pos - 1] ^= 1;
	if (zstd_is == FEWER && r == 0 && out->pos)
		out->pos--;
	return r;
}

static void
expect_body(enum coding c, struct str packed, struct str body)
{
	struct buf out = {0};
	const struct expand_limits l = {body.n, EXPAND_ANY_RATIO};
	enum expansion e = expanded_whole(c, &PIECES_OF(packed), &l, &out);
	ck_assert_msg(e == EXPAND_DONE, "%s: %s", coding_word(c), expand_word(e));
	ck_assert(str_eq(buf_str(&out), body));
	buf_fini(&out);
}

/* ---- which bodies ---------------------------------------------------------------------------- */

static void
zeros(struct buf *b, uint64_t *seed, size_t n)
{
	(void)seed;
	memset(buf_room(b, n), 0, n);
	b->n += n;
}

static void
coded_already(struct buf *b, uint64_t *seed, size_t n)
{
	struct buf page = {0};
	while (b->n < n) {
		page.n = 0;
		coded_html(&page, seed, 2 * n);
		coded_gzip(buf_str(&page), 6, NULL, b);
	}
	buf_fini(&page);
}

static const struct {
	const char *says;
	void (*make)(struct buf *b, uint64_t *seed, size_t n);
	size_t bytes;
	enum packing want;
} bodies[] = {
	{"nothing", coded_random, 0, PACK_NOT_SMALLER},
	{"a byte", coded_random, 1, PACK_NOT_SMALLER},
	{"a small page", coded_html, 1024, PACK_DONE},
	{"a page", coded_html, 50000, PACK_DONE},
	{"a page beyond the least that is sampled", coded_html, 70000, PACK_DONE},
	{"the largest page", coded_html, 1 << 20, PACK_DONE},
	{"one byte more", coded_html, (1 << 20) + 1, PACK_TOO_LARGE},
	{"the largest answer of an API", coded_json, 1 << 20, PACK_DONE},
	{"a picture within a text", coded_base64, 100000, PACK_DONE},
	{"zeros, over 20 times", zeros, 1 << 20, PACK_DONE},
	{"what is coded already", coded_already, 1000, PACK_NOT_SMALLER},
	{"a lot of it", coded_already, 300000, PACK_NOT_SMALLER},
	{"random bytes, as many as are not sampled", coded_random, 65536, PACK_NOT_SMALLER},
	{"random bytes that are sampled", coded_random, 65537, PACK_NOT_SMALLER},
	{"random bytes", coded_random, 1 << 20, PACK_NOT_SMALLER},
};

START_TEST(which_bodies)
{
	struct pack *p = pack_create();
	struct buf body = {0}, out = {0};
	uint64_t seed = 5;
	bodies[_i].make(&body, &seed, bodies[_i].bytes);
	body.n = bodies[_i].bytes;
	struct str s = buf_str(&body);
	for (int i = 0; i < COUNT(usual); i++) {
		out.n = 0;
		buf_add_lit(&out, "before");
		enum packing r = pack_and_check(p, usual[i], &PIECES_OF(s), &out);
		ck_packing(bodies[_i].says, r, bodies[_i].want);
		ck_assert(str_starts(buf_str(&out), STR("before")));
		if (r != PACK_DONE) {
			ck_assert_uint_eq(out.n, 6);
			continue;
		}
		ck_assert_uint_le(out.n - 6, s.n - s.n / 16);
		expect_body(usual[i].coding, str_from(buf_str(&out), 6), s);
	}
	buf_fini(&body);
	buf_fini(&out);
	pack_destroy(&p);
	pack_destroy(&p);
}
END_TEST

/* Zeros in front of random bytes, one by one: the first body that is packed is as small as must be. */
START_TEST(a_sixteenth)
{
	struct pack *p = pack_create();
	struct buf noise = {0}, body = {0}, out = {0};
	uint64_t seed = 6;
	enum packing r = PACK_NOT_SMALLER;
	coded_random(&noise, &seed, 16000);
	for (size_t n = 900; r != PACK_DONE; n++) {
		ck_assert_uint_lt(n, 1200);
		body.n = 0;
		zeros(&body, NULL, n);
		buf_add_str(&body, buf_str(&noise));
		struct str s = buf_str(&body);
		out.n = 0;
		r = pack_and_check(p, usual[_i], &PIECES_OF(s), &out);
	}
	ck_assert_uint_le(out.n, body.n - (body.n + 15) / 16);
	ck_assert_uint_ge(out.n + 64, body.n - body.n / 16);
	buf_fini(&noise);
	buf_fini(&body);
	buf_fini(&out);
	pack_destroy(&p);
}
END_TEST

/* Two of the samples are noise, and what would shrink lies between: it is looked at in three places. */
START_TEST(samples_are_of_three_places)
{
	struct pack *p = pack_create();
	struct buf body = {0}, out = {0};
	uint64_t seed = 7;
	coded_random(&body, &seed, 100000);
	coded_html(&body, &seed, 150000);
	body.n = 150000;
	coded_random(&body, &seed, 100000);
	struct str s = buf_str(&body);
	ck_packing("text in the middle", pack_and_check(p, usual[_i], &PIECES_OF(s), &out),
		   PACK_DONE);
	buf_fini(&body);
	buf_fini(&out);
	pack_destroy(&p);
}
END_TEST

/* ---- any body --------------------------------------------------------------------------------- */

/* Cut into pieces of any sizes, empty ones too. */
static struct pieces
cut(struct str s, uint64_t *seed, struct str at[16])
{
	size_t n = 1 + coded_below(seed, 16);
	for (size_t i = 0; i < n; i++) {
		size_t some =
			i + 1 == n ? s.n : coded_below(seed, s.n + 1) / (1 + coded_below(seed, 4));
		at[i] = (struct str){s.p, some};
		s = str_from(s, some);
	}
	return (struct pieces){at, n};
}

START_TEST(any_body)
{
	int times = getenv("TWICE_LONG") ? 100000 : SANITIZED ? 500 : 10000;
	uint64_t seed = 41 + (uint64_t)_i;
	struct pack *p = pack_create();
	struct buf body = {0}, out = {0};
	struct str at[16];
	int done = 0;
	for (int i = 0; i < times; i++) {
		uint64_t from = seed;
		body.n = out.n = 0;
		coded_body(&body, &seed, i % 100 ? 6000 : 300000);
		struct pieces in = cut(buf_str(&body), &seed, at);
		struct pack_as as = {usual[_i].coding, 1 + (int)coded_below(&seed, 6)};
		enum packing r = pack_and_check(p, as, &in, &out);
		ck_assert_msg(r == PACK_DONE || r == PACK_NOT_SMALLER, "seed %llu: %s",
			      (unsigned long long)from, pack_word(r));
		ck_assert(r != PACK_DONE || out.n <= body.n - (body.n + 15) / 16);
		if (r == PACK_DONE && i % 10 == 0)
			expect_body(as.coding, buf_str(&out), buf_str(&body));
		done += r == PACK_DONE;
	}
	ck_assert_int_gt(done, times / 4);
	ck_assert_int_lt(done, times - times / 50);
	buf_fini(&body);
	buf_fini(&out);
	pack_destroy(&p);
}
END_TEST

START_TEST(what_comes_out_otherwise_is_not_packed)
{
	struct pack *p = pack_create();
	struct buf body = {0}, out = {0};
	uint64_t seed = 8;
	coded_html(&body, &seed, 100000);
	struct str s = buf_str(&body);
	zstd_is = ONE_BYTE;
	ck_packing("one byte", pack_and_check(p, usual[2], &PIECES_OF(s), &out), PACK_DIFFERS);
	zstd_is = FEWER;
	ck_packing("fewer", pack_and_check(p, usual[2], &PIECES_OF(s), &out), PACK_DIFFERS);
	ck_assert_uint_eq(out.n, 0);
	zstd_is = WELL;
	ck_packing("well", pack_and_check(p, usual[2], &PIECES_OF(s), &out), PACK_DONE);
	buf_fini(&body);
	buf_fini(&out);
	pack_destroy(&p);
}
END_TEST

/* ---- streams --------------------------------------------------------------------------------- */

/* A decoder that is given what came of a flush has all bytes that were added before it. */
START_TEST(a_flush_gives_all_there_is)
{
	struct pack *p = pack_create();
	const struct expand_limits l = {8 << 20, EXPAND_ANY_RATIO};
	uint64_t seed = 9;
	struct buf body = {0}, out = {0};
	coded_json(&body, &seed, 300000);
	for (int round = 0; round < 3; round++) {
		struct expander *x = expand_create(usual[_i].coding, &l);
		struct str rest = buf_str(&body);
		size_t all = 0, made;
		char *to = malloc(body.n + 1);
		ck_assert(pack_begin(p, usual[_i]));
		while (rest.n) {
			size_t n = 1 + coded_below(&seed, round == 0 ? 300 : 60000);
			struct str some = {rest.p, n < rest.n ? n : rest.n};
			rest = str_from(rest, some.n);
			out.n = 0;
			/* in two parts, the first of them perhaps empty */
			size_t first = coded_below(&seed, some.n + 1);
			ck_assert(pack_add(p, (struct str){some.p, first}, &out));
			ck_assert(pack_add(p, str_from(some, first), &out));
			ck_assert(pack_flush(p, &out));
			struct str in = buf_str(&out);
			ck_assert_int_eq(expand_feed(x, &in, to + all, body.n + 1 - all, &made),
					 EXPAND_MORE);
			all += made;
			ck_assert_uint_eq(all, body.n - rest.n);
		}
		out.n = 0;
		ck_assert(pack_flush(p, &out)); /* there is nothing to give */
		ck_assert(pack_end(p, &out));
		struct str in = buf_str(&out);
		ck_assert_int_eq(expand_feed(x, &in, to, 1, &made), EXPAND_MORE);
		ck_assert_uint_eq(made, 0);
		ck_assert_int_eq(expand_end(x), EXPAND_DONE);
		ck_assert(all == body.n && memcmp(to, body.p, all) == 0);
		expand_destroy(&x);
		free(to);
	}
	buf_fini(&body);
	buf_fini(&out);
	pack_destroy(&p);
}
END_TEST

START_TEST(streams_end_or_are_abandoned)
{
	struct pack *p = pack_create();
	struct buf body = {0}, out = {0};
	uint64_t seed = 10;
	coded_html(&body, &seed, 200000);
	for (int round = 0; round < 3; round++) {
		out.n = 0;
		ck_assert(pack_begin(p, usual[_i]));
		ck_assert(pack_add(p, buf_str(&body), &out));
		pack_abandon(p);
		out.n = 0;
		ck_assert(pack_begin(p, usual[_i]) && pack_end(p, &out));
		expect_body(usual[_i].coding, buf_str(&out), STR(""));
		out.n = 0;
		ck_assert(pack_begin(p, (struct pack_as){usual[_i].coding, 1 + round}));
		ck_assert(pack_add(p, buf_str(&body), &out) && pack_end(p, &out));
		ck_assert_uint_lt(out.n, body.n / 2);
		expect_body(usual[_i].coding, buf_str(&out), buf_str(&body));
		struct str s = buf_str(&body);
		ck_packing("between", pack_and_check(p, usual[round], &PIECES_OF(s), &out),
			   PACK_DONE);
	}
	ck_assert(pack_begin(p, usual[_i]));
	pack_destroy(&p); /* with a stream under way */
	buf_fini(&body);
	buf_fini(&out);
}
END_TEST

UNIT("pack", LOOP(which_bodies, bodies), LOOP(a_sixteenth, usual),
     LOOP(samples_are_of_three_places, usual), LOOP(any_body, usual),
     TEST(what_comes_out_otherwise_is_not_packed), LOOP(a_flush_gives_all_there_is, usual),
     LOOP(streams_end_or_are_abandoned, usual))
