/* test_segment.c - records, batches, footers: to bytes and back, and nothing damaged believed.
 * rooms: cache http base filter
 */
#include "proxy/cache/store/segment.h"
#include "tests/kit/unit.h"

static struct record
some_record(bool is_inline, size_t body)
{
	static char bytes[5000], table[2 * FRAGMENT_ENTRY_BYTES];
	memset(bytes, 'b', sizeof bytes);
	fragment_put(table, 0, &(struct fragment){{1, 2, 3, 4096}, 99});
	fragment_put(table, 1, &(struct fragment){{1, 2, 900, (uint32_t)body}, 98});
	return (struct record){
		.at = {3, 70000, 12345, 0},
		.hash = {1, 2},
		.key = str_of("http://example.com/a"),
		.head = str_of("HTTP/1.1 200 OK\r\nA: b\r\n"),
		.terms = {.response_time = -5, .lifetime = 1ll << 40, .status = 200, .etag_at = 7},
		.body_bytes = is_inline ? body : body + 4096,
		.whole_bytes = 5ull << 40,
		.plain_bytes = 9ull << 40,
		.clean_as_of = 3ull << 40 | 7,
		.kind = 1,
		.is_inline = is_inline,
		.fragments_n = is_inline ? 0 : 2,
		.fragments = table,
		.body = bytes,
		.body_checksum = segment_checksum(bytes, is_inline ? body : 0),
	};
}

static size_t
bytes_of(const struct record *r)
{
	return record_bytes(record_text_bytes(r), r->fragments_n, r->is_inline ? r->body_bytes : 0);
}

static const struct {
	bool is_inline;
	size_t body;
} shapes[] = {{true, 0}, {true, 1}, {true, 4999}, {false, 1}, {false, 4096}};

START_TEST(there_and_back)
{
	struct record r = some_record(shapes[_i].is_inline, shapes[_i].body), back;
	size_t n = bytes_of(&r);
	char *p = malloc(n);
	record_format(&r, p);
	ck_assert_ptr_null(record_parse(p, n, &back));
	ck_assert(record_body_is_right(&back));
	ck_assert(str_eq(back.key, r.key) && str_eq(back.head, r.head));
	ck_assert_uint_eq(back.at.bytes, n);
	ck_assert_uint_eq(back.at.generation, 70000);
	ck_assert_int_eq(back.terms.response_time, -5);
	ck_assert_int_eq(back.terms.lifetime, 1ll << 40);
	ck_assert_uint_eq(back.clean_as_of, 3ull << 40 | 7);
	ck_assert_uint_eq(back.whole_bytes, 5ull << 40);
	ck_assert_uint_eq(back.plain_bytes, 9ull << 40);
	ck_assert_uint_eq(back.body_bytes, r.body_bytes);
	ck_assert_uint_eq(back.fragments_n, r.fragments_n);
	if (back.is_inline && back.body_bytes) {
		ck_assert_mem_eq(back.body, r.body, r.body_bytes);
		ck_assert_uint_eq((uint64_t)(back.body - p) % SEGMENT_ALIGN, 0);
	}
	free(p);
}
END_TEST

/* Every single byte matters, but for the four spare ones and the padding before the body. */
START_TEST(no_flipped_byte_is_believed)
{
	struct record r = some_record(shapes[_i].is_inline, shapes[_i].body), back;
	size_t n = bytes_of(&r), front = record_bytes(record_text_bytes(&r), r.fragments_n, 0);
	size_t body = r.is_inline ? n - r.body_bytes : n;
	char *p = malloc(n);
	record_format(&r, p);
	for (size_t i = 0; i < n; i++) {
		bool spare = (i >= 4 && i < 8) || (i >= front && i < body);
		p[i] ^= 0x10;
		bool believed = !record_parse(p, n, &back) && record_body_is_right(&back);
		ck_assert_msg(believed == spare, "byte %zu of %zu", i, n);
		p[i] ^= 0x10;
	}
	for (size_t cut = 0; cut < n; cut++) {
		char *exact = malloc(cut ? cut : 1); /* so that a look behind the end is noticed */
		memcpy(exact, p, cut);
		ck_assert_ptr_nonnull(record_parse(exact, cut, &back));
		free(exact);
	}
	free(p);
}
END_TEST

START_TEST(batch_headers)
{
	struct batch_header h = {.segment = 1,
				 .generation = 2,
				 .page = 3,
				 .bytes = 8192,
				 .table_at = 200,
				 .entries = 4,
				 .table_checksum = 5,
				 .link = 6,
				 .clean_as_of = 9,
				 .opened_s = 10},
			    back;
	char p[SEGMENT_HEADER_BYTES];
	batch_header_format(&h, p);
	ck_assert(batch_header_parse(p, sizeof p, &back));
	ck_assert_uint_eq(back.seal, h.seal);
	ck_assert_uint_eq(back.link, 6);
	ck_assert_uint_eq(back.bytes, 8192);
	ck_assert_uint_eq(back.clean_as_of, 9);
	ck_assert_uint_eq(back.opened_s, 10);
	for (size_t i = 0; i < sizeof p; i++) {
		p[i] ^= 1;
		ck_assert(!batch_header_parse(p, sizeof p, &back));
		p[i] ^= 1;
		ck_assert(!batch_header_parse(p, i, &back));
	}
	h.entries = 8192;
	batch_header_format(&h, p);
	ck_assert(!batch_header_parse(p, sizeof p, &back)); /* a table that cannot fit */
}
END_TEST

START_TEST(entries)
{
	char p[2 * SEGMENT_ENTRY_BYTES];
	struct entry e = {0x1122334455667788, 0x3ffffff, RECORD_MAX_BYTES,
			  ENTRY_RECORD | ENTRY_REPLACES};
	entry_put(p, 1, &e);
	struct entry back = entry_get(p, 1);
	ck_assert_uint_eq(back.hash_hi, e.hash_hi);
	ck_assert_uint_eq(back.offset, e.offset);
	ck_assert_uint_eq(back.bytes, e.bytes);
	ck_assert_uint_eq(back.what, e.what);
}
END_TEST

UNIT("segment", LOOP(there_and_back, shapes), LOOP(no_flipped_byte_is_believed, shapes),
     TEST(batch_headers), TEST(entries))
