/* test_index.c - arrays ordered by tag, against a plain table.
 * rooms: cache http base filter
 */
#include "proxy/cache/store/index.h"
#include "tests/kit/unit.h"

#include <stdio.h>
#include <time.h>

static uint64_t state;

static uint64_t
any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void
seed(unsigned more)
{
	state = (uint64_t)time(NULL) * 2654435761u + more + 1;
	printf("seed %llu\n", (unsigned long long)state);
}

static struct locator
some_place(void)
{
	return (struct locator){.segment = (uint32_t)any() % 5,
				.generation = 1 + (uint32_t)any() % 1000,
				.offset = (uint32_t)any() & ((1u << 26) - 1),
				.bytes = 1 + (uint32_t)any() % RECORD_MAX_BYTES};
}

/* The model: one row a key, present or not. */
enum { KEYS = 2000 };
static struct row {
	uint64_t hash;
	struct locator at;
	unsigned hits;
	bool here;
} model[KEYS];

static bool
same(const struct locator *out, const struct locator *in)
{
	return out->segment == in->segment && out->offset == in->offset &&
	       out->generation == (in->generation & INDEX_GENERATION_MASK) &&
	       out->bytes == (in->bytes + RECORD_UNIT - 1) / RECORD_UNIT * RECORD_UNIT;
}

static void
expect_row(struct index *ix, struct row *r)
{
	struct locator at;
	unsigned hits;
	ck_assert_int_eq(index_find(ix, r->hash, &at), r->here);
	if (r->here)
		ck_assert(same(&at, &r->at));
	ck_assert_int_eq(index_hit(ix, r->hash, &at, &hits), r->here);
	if (r->here)
		ck_assert_uint_eq(hits, r->hits);
	r->hits += r->hits < INDEX_MAX_HITS;
}

static bool
keep_hit(void *ctx, const struct index_entry *e)
{
	(void)ctx;
	return e->hits > 0;
}

static void
sweep(struct index *ix)
{
	uint32_t segment = (uint32_t)any() % 5, generation = 1 + (uint32_t)any() % 1000;
	uint64_t gone = 0;
	for (int i = 0; i < KEYS; i++) {
		struct row *r = &model[i];
		if (!r->here || r->at.segment != segment || r->hits > 0 ||
		    ((r->at.generation ^ generation) & INDEX_GENERATION_MASK))
			continue;
		r->here = false;
		gone++;
	}
	ck_assert_uint_eq(index_sweep(ix, segment, generation, keep_hit, NULL), gone);
}

static void
step(struct index *ix)
{
	struct row *r = &model[any() % KEYS];
	struct locator at = some_place();
	switch (any() % 8) {
	case 0:
	case 1:
	case 2:
	case 3:
		ck_assert_int_eq(index_put(ix, r->hash, &at), r->here);
		*r = (struct row){r->hash, at, 0, true};
		break;
	case 4:
		ck_assert_int_eq(index_remove(ix, r->hash), r->here);
		r->here = false;
		break;
	case 5:
		if (any() % 2)
			at = r->at;
		ck_assert_int_eq(
			index_remove_at(ix, r->hash, &at),
			r->here && same(&(struct locator){at.segment, at.generation & 63, at.offset,
							  (at.bytes + 511) / 512 * 512},
					&r->at));
		if (r->here && at.offset == r->at.offset && at.segment == r->at.segment &&
		    at.generation == r->at.generation)
			r->here = false;
		break;
	default:
		expect_row(ix, r);
	}
}

START_TEST(does_what_a_table_does)
{
	seed((unsigned)_i);
	struct index *ix;
	index_create(&ix);
	uint64_t shard = any() << 54;
	for (int i = 0; i < KEYS; i++) /* on odd runs all keys share a shard and most of a tag */
		model[i] = (struct row){
			.hash = _i & 1 ? shard | (uint64_t)i << 18 << (any() % 3 * 8) | 1u << 17
				       : any()};
	for (int i = 0; i < KEYS; i++) /* two that share the 46 bits are one to the index */
		for (int j = 0; j < i; j++)
			if (model[i].hash >> 18 == model[j].hash >> 18)
				model[i].hash = any();
	for (int i = 0; i < 30000; i++) {
		step(ix);
		if (i % 997 == 0) {
			sweep(ix);
			index_check(ix);
		}
	}
	uint64_t n = 0;
	for (int i = 0; i < KEYS; i++)
		n += model[i].here;
	ck_assert_uint_eq(index_count(ix), n);
	index_destroy(&ix);
	ck_assert_ptr_null(ix);
}
END_TEST

START_TEST(at_most_24_bytes_an_object_at_any_size)
{
	seed(7);
	struct index *ix;
	index_create(&ix);
	for (uint64_t n = 1; n <= 400000; n++) {
		struct locator at = some_place();
		index_put(ix, any(), &at);
		if (n >= 100000 && n % 1000 == 0)
			ck_assert_uint_le(index_memory(ix), n * 24);
	}
	index_check(ix);
	index_destroy(&ix);
}
END_TEST

START_TEST(gives_memory_back)
{
	seed(8);
	struct index *ix;
	index_create(&ix);
	uint64_t empty = index_memory(ix);
	struct locator at = {.segment = 1, .generation = 1, .bytes = 1};
	uint64_t n = 0; /* two keys in 3,500 runs share 46 bits */
	for (int i = 0; i < 200000; i++)
		n += !index_put(ix, any(), &at);
	ck_assert_uint_gt(n, 199990);
	ck_assert_uint_eq(index_sweep(ix, 1, 1, NULL, NULL), n);
	ck_assert_uint_eq(index_count(ix), 0);
	ck_assert_uint_le(index_memory(ix), empty + 1024 * 12 * 200);
	index_check(ix);
	index_destroy(&ix);
}
END_TEST

struct listed {
	uint64_t *hashes;
	size_t n;
};

static void
list(void *ctx, const uint64_t *hash_hi, size_t n)
{
	struct listed *l = ctx;
	for (size_t i = 0; i < n; i++)
		l->hashes[l->n++] = hash_hi[i];
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

START_TEST(lists_what_it_has_by_the_bits_it_knows)
{
	enum { N = 50000 };
	static uint64_t want[N], got[N + 10];
	struct listed l = {.hashes = got};
	struct index *ix;
	seed(9);
	index_create(&ix);
	for (int i = 0; i < N; i++) {
		struct locator at = some_place();
		want[i] = any();
		index_put(ix, want[i], &at);
		want[i] = want[i] >> (64 - INDEX_HASH_BITS) << (64 - INDEX_HASH_BITS);
		index_bury(ix, any(), NULL);
	}
	index_list(ix, list, &l);
	ck_assert_uint_eq(l.n, index_count(ix));
	ck_assert_uint_ge(l.n, N - 2); /* two may share the bits */
	qsort(want, N, sizeof *want, by_value);
	qsort(got, l.n, sizeof *got, by_value);
	for (size_t i = 0, k = 0; i < l.n; i++) {
		while (want[k] < got[i])
			k++;
		ck_assert(want[k] == got[i]);
	}
	index_destroy(&ix);
}
END_TEST

UNIT("index", TIMES(does_what_a_table_does, 6), TEST(at_most_24_bytes_an_object_at_any_size),
     TEST(gives_memory_back), TEST(lists_what_it_has_by_the_bits_it_knows))
