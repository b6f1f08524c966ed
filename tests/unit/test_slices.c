/* test_slices.c - which body lies in slices, which slice holds which bytes, and what an answer to a
 * question for some is worth.
 * rooms: serve cache coding http base filter
 */
#include "proxy/serve/key.h"
#include "proxy/serve/rules/slices.h"

#include "proxy/http/head.h"
#include "tests/kit/heads.h"

enum { NOW = 1700000000 };
#define MIB   UINT64_C(1048576)
#define OK200 "HTTP/1.1 200 OK\n"

static const struct {
	const char *says, *head;
	uint64_t total;
	bool may;
} bodies[] = {
	/* clang-format off */
	{"a strong tag and ranges", OK200 "ETag: \"v\"\nAccept-Ranges: bytes", 2 * MIB, true},
	{"one byte more than a slice", OK200 "ETag: \"v\"\nAccept-Ranges: bytes", MIB + 1, true},
	{"a slice and no more", OK200 "ETag: \"v\"\nAccept-Ranges: bytes", MIB, false},
	{"no length", OK200 "ETag: \"v\"\nAccept-Ranges: bytes", UINT64_MAX, false},
	{"an absurd length", OK200 "ETag: \"v\"\nAccept-Ranges: bytes", UINT64_C(1) << 62, false},
	{"as long as numbers reach", OK200 "ETag: \"v\"\nAccept-Ranges: bytes", UINT64_C(1) << 52, true},
	{"a weak tag", OK200 "ETag: W/\"v\"\nAccept-Ranges: bytes", 2 * MIB, false},
	{"no validator", OK200 "Accept-Ranges: bytes", 2 * MIB, false},
	{"no ranges offered", OK200 "ETag: \"v\"", 2 * MIB, false},
	{"ranges refused", OK200 "ETag: \"v\"\nAccept-Ranges: none", 2 * MIB, false},
	{"a strong date", OK200 "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\nDate: Thu, 01 Jan 2026 00:00:00 GMT\nAccept-Ranges: bytes", 2 * MIB, true},
	{"a date of this second", OK200 "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\nDate: Thu, 01 Jan 2026 00:00:00 GMT\nAccept-Ranges: bytes", 2 * MIB, false},
	{"a strong tag beside a time that all files have", OK200 "ETag: \"v\"\nLast-Modified: Thu, 01 Jan 1970 00:00:01 GMT\nAccept-Ranges: bytes", 2 * MIB, false},
	{"the same, of an archive", OK200 "ETag: \"v\"\nLast-Modified: Tue, 01 Jan 1980 00:00:00 GMT\nAccept-Ranges: bytes", 2 * MIB, false},
	{"a time of 1970 and no tag", OK200 "Last-Modified: Thu, 01 Jan 1970 00:00:01 GMT\nDate: Thu, 01 Jan 2026 00:00:00 GMT\nAccept-Ranges: bytes", 2 * MIB, false},
	{"a part of such a one", "HTTP/1.1 206 Part\nETag: \"v\"\nLast-Modified: Thu, 01 Jan 1970 00:00:01 GMT\nContent-Range: bytes 0-9/2097152", 2 * MIB, false},
	{"a strong tag beside a time", OK200 "ETag: \"v\"\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\nAccept-Ranges: bytes", 2 * MIB, true},
	{"a strong tag beside what is no date", OK200 "ETag: \"v\"\nLast-Modified: yesterday\nAccept-Ranges: bytes", 2 * MIB, true},
	{"a weak tag beside a strong date", OK200 "ETag: W/\"v\"\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\nDate: Thu, 01 Jan 2026 00:00:00 GMT\nAccept-Ranges: bytes", 2 * MIB, false},
	{"a part", "HTTP/1.1 206 Part\nETag: \"v\"\nContent-Range: bytes 0-9/2097152", 2 * MIB, true},
	{"a part of a small body", "HTTP/1.1 206 Part\nETag: \"v\"\nContent-Range: bytes 0-9/20", 20, true},
	{"a part of nothing", "HTTP/1.1 206 Part\nETag: \"v\"\nContent-Range: bytes 0-9/0", 0, false},
	{"a part in two minds", "HTTP/1.1 206 Part\nETag: \"v\"\nContent-Range: bytes 0-9/2097152\nContent-Range: bytes 0-9/4194304", 2 * MIB, false},
	{"another status", "HTTP/1.1 404 No\nETag: \"v\"\nAccept-Ranges: bytes", 2 * MIB, false},
	/* clang-format on */
};

START_TEST(what_lies_in_slices)
{
	const struct response *r = response_of(bodies[_i].head);
	ck_assert_msg(slices_may(r, bodies[_i].total, NOW) == bodies[_i].may, "%s",
		      bodies[_i].says);
}
END_TEST

START_TEST(slices_cover_the_body_and_no_more)
{
	static const uint64_t totals[] = {1, MIB - 1, MIB, MIB + 1, 5 * MIB, 5 * MIB + 123};
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
		uint64_t at = 0, total = totals[i];
		for (uint64_t n = 0; n < slices_end(total); n++) {
			struct range s = slices_bytes(n, total);
			ck_assert_uint_eq(s.at, at);
			ck_assert(s.n > 0 && s.n <= SLICE_BYTES);
			ck_assert_uint_eq(slices_number(s.at), n);
			ck_assert_uint_eq(slices_number(s.at + s.n - 1), n);
			at += s.n;
		}
		ck_assert_uint_eq(at, total);
		ck_assert_uint_eq(slices_bytes(slices_end(total), total).n, 0);
		ck_assert_uint_eq(slices_bytes(UINT64_MAX, total).n, 0);
	}
}
END_TEST

#define PART "HTTP/1.1 206 Part\nETag: \"v\"\nContent-Range: bytes "

static const struct {
	const char *says, *head;
	uint64_t body_bytes;
	enum slices_answer want;
} answers[] = {
	/* clang-format off */
	{"what was asked for", PART "1048576-2097151/5242880", MIB, SLICES_IT},
	{"the same without a length of its own", PART "1048576-2097151/5242880", UINT64_MAX, SLICES_IT},
	{"the same, coded as the whole", PART "1048576-2097151/5242880\nContent-Encoding: gzip", MIB, SLICES_IT},
	{"coded otherwise", PART "1048576-2097151/5242880\nContent-Encoding: br", MIB, SLICES_ODD},
	{"shifted", PART "1048575-2097150/5242880", MIB, SLICES_ODD},
	{"shorter", PART "1048576-2097150/5242880", MIB - 1, SLICES_ODD},
	{"longer", PART "1048576-2097152/5242880", MIB + 1, SLICES_ODD},
	{"of another whole", PART "1048576-2097151/5242881", MIB, SLICES_ODD},
	{"of nobody knows how much", PART "1048576-2097151/*", MIB, SLICES_ODD},
	{"a length that is not that of the range", PART "1048576-2097151/5242880", MIB - 1, SLICES_ODD},
	{"no Content-Range", "HTTP/1.1 206 Part\nETag: \"v\"", MIB, SLICES_ODD},
	{"two of them", PART "1048576-2097151/5242880\nContent-Range: bytes 0-1/5242880", MIB, SLICES_ODD},
	{"another version", "HTTP/1.1 206 Part\nETag: \"w\"\nContent-Range: bytes 1048576-2097151/5242880", MIB, SLICES_CHANGED},
	{"a weak tag", "HTTP/1.1 206 Part\nETag: W/\"v\"\nContent-Range: bytes 1048576-2097151/5242880", MIB, SLICES_CHANGED},
	{"no tag", "HTTP/1.1 206 Part\nContent-Range: bytes 1048576-2097151/5242880", MIB, SLICES_CHANGED},
	{"the whole of the same", OK200 "ETag: \"v\"", 5 * MIB, SLICES_IGNORED},
	{"a whole of another length", OK200 "ETag: \"v\"", 4 * MIB, SLICES_ODD},
	{"the whole of another version", OK200 "ETag: \"w\"", 5 * MIB, SLICES_CHANGED},
	{"not satisfiable any more", "HTTP/1.1 416 No", 0, SLICES_CHANGED},
	{"gone", "HTTP/1.1 404 No", 9, SLICES_CHANGED},
	{"trouble", "HTTP/1.1 503 No", 9, SLICES_FAILED},
	{"too many", "HTTP/1.1 429 No", 9, SLICES_FAILED},
	/* clang-format on */
};

START_TEST(what_an_answer_is_worth)
{
	struct buf head = {0};
	struct terms terms = {0};
	head_store(response_of(OK200 "ETag: \"v\"\nContent-Encoding: gzip"), NOW, &head, &terms);
	const struct response *r = response_of(answers[_i].head);
	struct slices_question q = {buf_str(&head), 5 * MIB, {MIB, MIB}, false};
	ck_assert_msg(slices_answer(&q, r, answers[_i].body_bytes) == answers[_i].want, "%s",
		      answers[_i].says);
	buf_fini(&head);
}
END_TEST

#define DAY(d)	     "Date: Thu, " d " Jan 2026 00:00:00 GMT\n"
#define WRITTEN(t)   "Last-Modified: Thu, 01 Jan " t " GMT\n"
#define RANGE	     "HTTP/1.1 206 Part\nContent-Range: bytes 1048576-2097151/5242880\n"
#define OLD	     WRITTEN("2015 00:00:00")
#define MINE	     OK200 DAY("01") OLD "ETag: \"v\""
#define MINE_OF(t)   OK200 DAY("01") WRITTEN(t) "ETag: \"v\""
#define THEIRS_OF(t) OK200 DAY("08") WRITTEN(t) "ETag: \"w\""

/* Of another server than that of the head, whose tag is "v". */
static const struct {
	const char *says, *mine, *theirs;
	uint64_t body_bytes;
	enum slices_answer want, at_home;
} elsewheres[] = {
	/* clang-format off */
	{"the same tag", MINE, RANGE DAY("08") OLD "ETag: \"v\"", MIB, SLICES_IT, SLICES_IT},
	{"another tag, but written at the same time", MINE, RANGE DAY("08") OLD "ETag: \"w\"", MIB, SLICES_IT, SLICES_CHANGED},
	{"the whole of it", MINE, THEIRS_OF("2015 00:00:00"), 5 * MIB, SLICES_RENAMED, SLICES_CHANGED},
	{"of another length", MINE, THEIRS_OF("2015 00:00:00"), 5 * MIB + 1, SLICES_CHANGED, SLICES_CHANGED},
	{"written a second later", MINE, THEIRS_OF("2015 00:00:01"), 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"coded otherwise", MINE, THEIRS_OF("2015 00:00:00") "\nContent-Encoding: br", 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"written at no time", MINE_OF("1980 00:00:00"), THEIRS_OF("1980 00:00:00"), 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"written when mine was served", MINE_OF("2026 00:00:00"), THEIRS_OF("2026 00:00:00"), 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"written half a minute before that", OK200 "Date: Thu, 01 Jan 2026 00:00:30 GMT\n" WRITTEN("2026 00:00:00") "ETag: \"v\"", THEIRS_OF("2026 00:00:00"), 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"written when it was served there", MINE, OK200 "Date: Thu, 01 Jan 2015 00:00:00 GMT\n" OLD "ETag: \"w\"", 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"neither says when", OK200 DAY("01") "ETag: \"v\"", OK200 DAY("08") "ETag: \"w\"", 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"no tag there", MINE, OK200 DAY("08") OLD, 5 * MIB, SLICES_CHANGED, SLICES_CHANGED},
	{"other bytes than those", MINE, "HTTP/1.1 206 Part\nContent-Range: bytes 0-1048575/5242880\n" DAY("08") OLD "ETag: \"w\"", MIB, SLICES_CHANGED, SLICES_CHANGED},
	/* clang-format on */
};

START_TEST(what_an_answer_of_another_server_is_worth)
{
	struct buf head = {0};
	struct terms terms = {0};
	head_store(response_of(elsewheres[_i].mine), NOW, &head, &terms);
	const struct response *r = response_of(elsewheres[_i].theirs);
	struct slices_question q = {buf_str(&head), 5 * MIB, {MIB, MIB}, true};
	ck_assert_msg(slices_answer(&q, r, elsewheres[_i].body_bytes) == elsewheres[_i].want, "%s",
		      elsewheres[_i].says);
	q.elsewhere = false;
	ck_assert_msg(slices_answer(&q, r, elsewheres[_i].body_bytes) == elsewheres[_i].at_home,
		      "%s: at home", elsewheres[_i].says);
	buf_fini(&head);
}
END_TEST

/* Of whatever is in a validator, two slices that differ in anything have two keys. */
START_TEST(keys_tell_versions_lengths_and_numbers_apart)
{
	static const struct {
		const char *version;
		uint64_t total, number;
	} rows[] = {
		{" \"a\"", 12, 3},     {" \"a\"", 1, 23},   {" \"a\"", 123, 0}, {" \"a\" 3", 12, 3},
		{"gzip \"a\"", 12, 3}, {" 3 \"a\"", 12, 3}, {"", 12, 3},	{" \"b\"", 12, 3},
	};
	enum { N = sizeof rows / sizeof *rows };
	static struct twice_seed seed;
	struct key k[N] = {0};
	for (int i = 0; i < N; i++) {
		buf_add_lit(&k[i].text, "http://h/x");
		key_is_primary(&k[i], &seed);
		size_t base = k[i].text.n;
		key_to_slice(&k[i], &seed, base, str_of(rows[i].version), rows[i].total,
			     rows[i].number);
		ck_assert(str_eq(key_primary(&k[i]), STR("http://h/x")));
		for (int j = 0; j < i; j++)
			ck_assert(!str_eq(buf_str(&k[i].text), buf_str(&k[j].text)) &&
				  k[i].hash.lo != k[j].hash.lo);
		/* From slice to slice the base stays. */
		key_to_slice(&k[i], &seed, base, str_of(rows[i].version), rows[i].total,
			     rows[i].number);
	}
	for (int i = 0; i < N; i++)
		key_fini(&k[i]);
}
END_TEST

UNIT("slices", LOOP(what_lies_in_slices, bodies), TEST(slices_cover_the_body_and_no_more),
     LOOP(what_an_answer_is_worth, answers),
     LOOP(what_an_answer_of_another_server_is_worth, elsewheres),
     TEST(keys_tell_versions_lengths_and_numbers_apart))
