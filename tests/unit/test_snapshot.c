/* test_snapshot.c - an envelope is whole, ours and undamaged, or it is refused before it costs
 * anything. rooms: filter
 */
#include "tests/kit/family.h"

#define KIND TWICE_SNAPSHOT_BLOOM

static const uint64_t params[TWICE_SNAPSHOT_PARAMS] = {1, 2, 3, 4, 5, 6, 7, 8};
static unsigned char room[4096];

static struct twice_snapshot_buffer
sealed(const void *payload, uint64_t n)
{
	struct twice_snapshot_buffer b = {.bytes = room, .size = sizeof(room)};
	ck_assert_int_eq(0,
			 twice_snapshot_write(
				 &(struct twice_snapshot_sink){twice_snapshot_buffer_write, &b, 9},
				 KIND, params, payload, n));
	return (struct twice_snapshot_buffer){.bytes = room, .size = b.used};
}

static struct twice_snapshot_source
source(struct twice_snapshot_buffer *b)
{
	return (struct twice_snapshot_source){
		.read = twice_snapshot_buffer_read, .ctx = b, .tag = 9, .limit = b->size};
}

START_TEST(what_went_in_comes_out)
{
	struct twice_snapshot_head head;
	char payload[12];
	struct twice_snapshot_buffer b = sealed("hello, world", 12);
	struct twice_snapshot_source from = source(&b);
	ck_assert_int_eq(0, twice_snapshot_open(&from, KIND, &head));
	ck_assert_uint_eq(head.payload_bytes, 12);
	ck_assert_mem_eq(head.params, params, sizeof(params));
	ck_assert_int_eq(0, twice_snapshot_take(&from, &head, payload));
	ck_assert_mem_eq(payload, "hello, world", 12);
	ck_assert_uint_eq(from.limit, 0);
	ck_assert_ptr_null(from.why);
}
END_TEST

static int
open_and_take(struct twice_snapshot_source from, enum twice_snapshot_kind kind,
	      enum twice_snapshot_fault *fault)
{
	struct twice_snapshot_head head;
	char payload[64];
	int r = twice_snapshot_open(&from, kind, &head);
	if (!r && head.payload_bytes <= sizeof(payload))
		r = twice_snapshot_take(&from, &head, payload);
	*fault = from.fault;
	ck_assert((from.why != NULL) == (r != 0));
	return r;
}

START_TEST(every_bit_counts)
{
	enum twice_snapshot_fault fault;
	struct twice_snapshot_buffer b = sealed("hello, world", 12);
	for (size_t bit = 0; bit < b.size * 8; bit++) {
		b.used = 0;
		room[bit / 8] ^= (unsigned char)(1u << bit % 8);
		ck_assert_int_eq(-1, open_and_take(source(&b), KIND, &fault));
		room[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}
END_TEST

START_TEST(a_seal_that_ends_too_early_is_cut)
{
	enum twice_snapshot_fault fault;
	struct twice_snapshot_buffer b = sealed("hello, world", 12);
	for (size_t n = 0; n < b.size; n++) {
		struct twice_snapshot_buffer cut = {.bytes = room, .size = n};
		ck_assert_int_eq(-1, open_and_take(source(&cut), KIND, &fault));
		ck_assert_int_eq(fault, TWICE_SNAPSHOT_CUT);
	}
}
END_TEST

START_TEST(another_kind_or_seed_is_foreign)
{
	enum twice_snapshot_fault fault;
	struct twice_snapshot_buffer b = sealed("hello, world", 12);
	ck_assert_int_eq(-1, open_and_take(source(&b), TWICE_SNAPSHOT_STABLE, &fault));
	ck_assert_int_eq(fault, TWICE_SNAPSHOT_FOREIGN);
	b.used = 0;
	struct twice_snapshot_source other = source(&b);
	other.tag = 10;
	ck_assert_int_eq(-1, open_and_take(other, KIND, &fault));
	ck_assert_int_eq(fault, TWICE_SNAPSHOT_FOREIGN);
}
END_TEST

/* The checksum is right, the length is a lie: the source's limit unmasks it. */
START_TEST(a_length_beyond_the_source_is_refused_at_the_head)
{
	struct twice_snapshot_head head;
	unsigned char big[2048] = {0};
	struct twice_snapshot_buffer b = sealed(big, sizeof(big));
	b.size = 1000;
	struct twice_snapshot_source from = source(&b);
	ck_assert_int_eq(-1, twice_snapshot_open(&from, KIND, &head));
	ck_assert_int_eq(from.fault, TWICE_SNAPSHOT_CUT);
}
END_TEST

START_TEST(a_head_alone_has_no_payload)
{
	uint64_t got[TWICE_SNAPSHOT_PARAMS];
	struct twice_snapshot_buffer b = sealed("x", 1);
	struct twice_snapshot_source from = source(&b);
	ck_assert_int_eq(-1, twice_snapshot_read(&from, KIND, got));
	ck_assert_int_eq(from.fault, TWICE_SNAPSHOT_ABSURD);
	b = sealed(NULL, 0);
	from = source(&b);
	ck_assert_int_eq(0, twice_snapshot_read(&from, KIND, got));
	ck_assert_mem_eq(got, params, sizeof(params));
}
END_TEST

START_TEST(a_sink_that_fails_is_reported)
{
	size_t whole = sealed("hello, world", 12).size;
	for (size_t n = 0; n < whole; n++) {
		struct twice_snapshot_buffer b = {.bytes = room, .size = n};
		ck_assert_int_eq(-1, twice_snapshot_write(
					     &(struct twice_snapshot_sink){
						     twice_snapshot_buffer_write, &b, 9},
					     KIND, params, "hello, world", 12));
	}
}
END_TEST

UNIT("seal", TEST(what_went_in_comes_out), TEST(every_bit_counts),
     TEST(a_seal_that_ends_too_early_is_cut), TEST(another_kind_or_seed_is_foreign),
     TEST(a_length_beyond_the_source_is_refused_at_the_head), TEST(a_head_alone_has_no_payload),
     TEST(a_sink_that_fails_is_reported))
