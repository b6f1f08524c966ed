/* rooms: http base
 *
 * test_field_block.c - what is written is read back, whatever its lengths; what somebody else wrote
 * is read without leaving it. */
#include "proxy/http/field_block.h"
#include "tests/kit/unit.h"

#include <stdio.h>

static void
write_block(struct buf *b)
{
	struct field_block_writer w;
	field_block_begin(&w, b, 200, STR("OK"));
	ck_assert(field_block_add(&w, FIELD_ETAG, STR("ETag"), STR("\"x\"")));
	ck_assert(field_block_add(&w, FIELD_OTHER, STR("X-Empty"), STR("")));
	ck_assert(field_block_add(&w, FIELD_ETAG, STR("etag"), STR("second")));
	field_block_end(&w);
}

START_TEST(what_is_written_is_sent_and_read)
{
	struct buf b = {0};
	struct field_block k;
	struct field_cursor at = {0};
	struct field_line line;
	write_block(&b);
	ck_assert(field_block_check(buf_str(&b)));
	ck_assert(field_block_open(buf_str(&b), &k));
	ck_assert_int_eq(k.status, 200);
	ck_assert(str_eq(field_block_reason(&k), STR("OK")));
	ck_assert(str_eq(k.start, STR("HTTP/1.1 200 OK\r\n")));
	ck_assert(str_eq(k.lines, STR("ETag: \"x\"\r\nX-Empty: \r\netag: second\r\n")));
	ck_assert(k.start.p + k.start.n == k.lines.p); /* one piece to send */
	ck_assert(str_eq(field_block_get(&k, FIELD_ETAG), STR("\"x\"")));
	ck_assert(!field_block_get(&k, FIELD_AGE).p);

	ck_assert(field_block_next(&k, &at, &line) && line.id == FIELD_ETAG);
	ck_assert(str_eq(line.text, STR("ETag: \"x\"\r\n")));
	ck_assert(field_block_next(&k, &at, &line) && line.id == FIELD_OTHER);
	ck_assert(str_eq(line.name, STR("X-Empty")) && line.value.n == 0);
	ck_assert(field_block_next(&k, &at, &line) && line.id == FIELD_ETAG);
	ck_assert(!field_block_next(&k, &at, &line));
	buf_fini(&b);
}
END_TEST

START_TEST(several_in_a_row_are_taken_one_by_one)
{
	struct buf b = {0};
	struct field_block k;
	struct field_block_writer w;
	write_block(&b);
	field_block_begin(&w, &b, 103, STR(""));
	field_block_end(&w);
	write_block(&b);
	struct str rest = buf_str(&b), cut = {b.p, b.n - 1};
	ck_assert(field_block_take(&rest, &k) && k.status == 200 && k.count == 3);
	ck_assert(field_block_take(&rest, &k) && k.status == 103 && k.lines.n == 0);
	ck_assert(field_block_take(&rest, &k) && k.status == 200 && rest.n == 0);
	ck_assert(!field_block_take(&rest, &k));
	ck_assert(field_block_take(&cut, &k) && field_block_take(&cut, &k));
	ck_assert(!field_block_take(&cut, &k) && cut.n > 0);
	for (size_t n = 0; n < 12; n++)
		ck_assert(!field_block_take(&(struct str){b.p, n}, &k));
	buf_fini(&b);
}
END_TEST

START_TEST(its_cost_is_what_the_header_says)
{
	struct buf b = {0};
	struct field_block k;
	write_block(&b);
	ck_assert(field_block_open(buf_str(&b), &k));
	ck_assert_uint_eq(b.n, k.start.n + k.lines.n + 12 + 4 * k.count);
	buf_fini(&b);
}
END_TEST

/* Around what a byte and two bytes can say. */
static const struct {
	size_t name, value;
} lengths[] = {{1, 0},	   {255, 1},   {256, 1},     {300, 0},	    {1, 65534},
	       {1, 65535}, {1, 65536}, {256, 65535}, {4000, 70000}, {255, 65534}};

START_TEST(lengths_of_any_size)
{
	static char name[5000], value[80000];
	struct field_block_writer w;
	struct field_block k;
	struct field_cursor at = {0};
	struct field_line line;
	struct buf b = {0};
	memset(name, 'n', sizeof name);
	memset(value, ':', sizeof value); /* a colon is no end of a name once it has ended */
	struct str n = {name, lengths[_i].name}, v = {value, lengths[_i].value};
	field_block_begin(&w, &b, 404, STR(""));
	field_block_add(&w, FIELD_OTHER, n, v);
	field_block_add(&w, FIELD_AGE, STR("Age"), STR("1"));
	field_block_end(&w);
	ck_assert(field_block_check(buf_str(&b)) && field_block_open(buf_str(&b), &k));
	ck_assert(field_block_next(&k, &at, &line));
	ck_assert(str_eq(line.name, n) && str_eq(line.value, v));
	ck_assert(field_block_next(&k, &at, &line) && line.id == FIELD_AGE);
	ck_assert(str_eq(line.value, STR("1")));
	ck_assert_uint_eq(field_block_reason(&k).n, 0);
	buf_fini(&b);
}
END_TEST

START_TEST(as_many_lines_as_a_head_may_have)
{
	struct field v[FIELDS_MAX];
	struct fields f = {.v = v, .cap = FIELDS_MAX};
	struct field_block_writer w;
	struct field_block k;
	struct buf b = {0};
	field_block_begin(&w, &b, 200, STR("OK"));
	for (unsigned i = 0; i < FIELDS_MAX; i++)
		ck_assert(field_block_add(&w, FIELD_OTHER, STR("a"), STR("b")));
	ck_assert(!field_block_add(&w, FIELD_OTHER, STR("a"), STR("b")));
	field_block_end(&w);
	ck_assert(field_block_check(buf_str(&b)) && field_block_open(buf_str(&b), &k));
	ck_assert(field_block_fields(&k, &f));
	ck_assert_uint_eq(f.n, FIELDS_MAX);
	f.cap--;
	ck_assert(!field_block_fields(&k, &f));
	buf_fini(&b);
}
END_TEST

START_TEST(names_of_other_editions)
{
	struct buf b = {0};
	struct field_block k;
	write_block(&b);
	char *id = b.p + b.n - 3 * 4 + 1;
	*id = FIELD_OTHER;
	ck_assert(!field_block_check(buf_str(&b)));
	b.p[6] = FIELD_COUNT - 1; /* written when a name was not known yet */
	ck_assert(field_block_check(buf_str(&b)) && field_block_open(buf_str(&b), &k));
	ck_assert(str_eq(field_block_get(&k, FIELD_ETAG), STR("\"x\"")));
	b.p[6] = FIELD_COUNT + 1; /* written by one who knows more */
	*id = FIELD_COUNT;
	ck_assert(field_block_check(buf_str(&b)) && field_block_open(buf_str(&b), &k));
	ck_assert(str_eq(field_block_get(&k, FIELD_ETAG), STR("second")));
	buf_fini(&b);
}
END_TEST

/* The places of these rows are on disk. A new row goes behind them, and then here. */
START_TEST(rows_of_field_names_keep_their_places)
{
	static const struct {
		enum field_id id;
		int place;
	} fixed[] = {{FIELD_ACCEPT, 1},
		     {FIELD_ALLOW, 6},
		     {FIELD_CONTENT_RANGE, 16},
		     {FIELD_HOST, 24},
		     {FIELD_LOCATION, 32},
		     {FIELD_SET_COOKIE, 40},
		     {FIELD_X_FORWARDED_PROTO, 52}};
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		ck_assert_int_eq((int)fixed[i].id, fixed[i].place);
}
END_TEST

/* Every single byte changed, in a copy of exactly that size: nothing is read outside of it. */
START_TEST(damaged_bytes_are_noticed_or_harmless)
{
	struct buf b = {0};
	write_block(&b);
	for (size_t i = 0; i < b.n; i++) {
		for (unsigned x = 1; x < 256; x <<= 1) {
			char *copy = malloc(b.n);
			struct field v[8];
			struct fields f = {.v = v, .cap = 8};
			struct field_block k;
			memcpy(copy, b.p, b.n);
			copy[i] = (char)(copy[i] ^ (int)x);
			if (field_block_open((struct str){copy, b.n}, &k))
				field_block_fields(&k, &f);
			field_block_check((struct str){copy, b.n});
			free(copy);
		}
	}
	for (size_t n = 0; n < b.n; n++)
		ck_assert(!field_block_check((struct str){b.p, n}));
	buf_fini(&b);
}
END_TEST

UNIT("field_block", TEST(what_is_written_is_sent_and_read),
     TEST(several_in_a_row_are_taken_one_by_one), TEST(its_cost_is_what_the_header_says),
     LOOP(lengths_of_any_size, lengths), TEST(as_many_lines_as_a_head_may_have),
     TEST(names_of_other_editions), TEST(rows_of_field_names_keep_their_places),
     TEST(damaged_bytes_are_noticed_or_harmless))
