/* test_retouched.c - clearing false positives costs what its rule says.
 * rooms: filter
 */
#include "filter/family/bloom.h"
#include "filter/family/retouched.h"
#include "tests/kit/family.h"

SEALED(retouched)

#define KEYS	2000
#define STRANGE 20000 /* keys never added; one in two of those found does harm */

struct bill {
	unsigned cleared, lost; /* strange keys no longer found; true keys no longer found */
};

static struct twice_retouched *
filled(uint64_t salt)
{
	struct twice_retouched *r =
		twice_retouched_create(&(struct twice_probe){16000, 4, TWICE_PROBE_ENHANCED}, salt);
	for (uint64_t i = 0; i < KEYS; i++)
		twice_retouched_add(r, key_at(salt, i));
	return r;
}

static unsigned
found(const struct twice_retouched *r, uint64_t salt, uint64_t first, uint64_t n)
{
	unsigned hits = 0;
	for (uint64_t i = first; i < first + n; i++)
		hits += twice_retouched_has(r, key_at(salt, i));
	return hits;
}

static struct bill
clear_half(enum twice_retouched_rule rule, uint64_t salt)
{
	struct twice_retouched *r = filled(salt);
	unsigned before = found(r, salt, KEYS, STRANGE);
	for (uint64_t i = KEYS; i < KEYS + STRANGE; i += 2)
		if (twice_retouched_has(r, key_at(salt, i)))
			twice_retouched_trouble(r, key_at(salt, i));
	for (uint64_t i = KEYS; i < KEYS + STRANGE; i += 2)
		twice_retouched_clear(r, key_at(salt, i), rule);
	for (uint64_t i = KEYS; i < KEYS + STRANGE; i += 2)
		ck_assert(!twice_retouched_has(r, key_at(salt, i)));
	struct bill bill = {before - found(r, salt, KEYS, STRANGE), KEYS - found(r, salt, 0, KEYS)};
	twice_retouched_destroy(&r);
	return bill;
}

static struct bill
sum_of(enum twice_retouched_rule rule)
{
	struct bill sum = {0};
	for (uint64_t salt = 1; salt <= 5; salt++) {
		struct bill b = clear_half(rule, salt);
		sum.cleared += b.cleared;
		sum.lost += b.lost;
	}
	return sum;
}

START_TEST(each_rule_is_best_at_what_it_is_for)
{
	struct bill random = sum_of(TWICE_RETOUCHED_RANDOM);
	struct bill fewest = sum_of(TWICE_RETOUCHED_FEWEST_FALSE_NEGATIVES);
	struct bill most = sum_of(TWICE_RETOUCHED_MOST_FALSE_POSITIVES);
	struct bill ratio = sum_of(TWICE_RETOUCHED_BEST_RATIO);
	printf("cleared/lost: random %u/%u, fewest %u/%u, most %u/%u, ratio %u/%u\n",
	       random.cleared, random.lost, fewest.cleared, fewest.lost, most.cleared, most.lost,
	       ratio.cleared, ratio.lost);
	ck_assert_uint_lt(fewest.lost, random.lost);
	/* Fewer clearings rid us of the same keys: fewer true keys are lost than at random. */
	ck_assert_uint_lt(most.lost, random.lost);
	ck_assert_uint_lt(ratio.lost, random.lost);
	ck_assert_double_gt((double)ratio.cleared / ratio.lost,
			    (double)random.cleared / random.lost);
	ck_assert_double_gt((double)ratio.cleared / ratio.lost, (double)most.cleared / most.lost);
}
END_TEST

START_TEST(the_random_bit_is_one_of_the_keys_own)
{
	for (uint64_t salt = 10; salt < 60; salt++) {
		struct twice_retouched *r = filled(salt);
		ck_assert(twice_retouched_clear(r, key_at(salt, 5), TWICE_RETOUCHED_RANDOM));
		ck_assert(!twice_retouched_has(r, key_at(salt, 5)));
		ck_assert(!twice_retouched_clear(r, key_at(salt, 5), TWICE_RETOUCHED_RANDOM));
		twice_retouched_destroy(&r);
	}
}
END_TEST

START_TEST(untouched_it_is_a_bloom_filter)
{
	struct twice_retouched *r = filled(3);
	ck_assert_uint_eq(found(r, 3, 0, KEYS), KEYS);
	check_rate(found(r, 3, KEYS, 200000), 200000, twice_retouched_fpr(r));
	twice_retouched_destroy(&r);
	ck_assert_ptr_null(r);
}
END_TEST

START_TEST(sealed_bytes_come_back_or_are_refused)
{
	struct twice_retouched *r =
		twice_retouched_create(&(struct twice_probe){1000, 4, TWICE_PROBE_ENHANCED}, 1);
	for (uint64_t i = 0; i < 200; i++)
		twice_retouched_add(r, key_at(4, i));
	twice_retouched_trouble(r, key_at(4, 300));
	struct twice_retouched *again = check_sealed(&retouched_sealed, r);
	ck_assert_uint_eq(twice_retouched_count(again), twice_retouched_count(r));
	for (uint64_t i = 0; i < 500; i++)
		ck_assert(twice_retouched_clear(r, key_at(4, i), TWICE_RETOUCHED_RANDOM) ==
			  twice_retouched_clear(again, key_at(4, i), TWICE_RETOUCHED_RANDOM));
	twice_retouched_destroy(&r);
	twice_retouched_destroy(&again);
}
END_TEST

/* The bits alone are sent out, a classic filter to whoever asks it. */
START_TEST(the_bits_alone_are_a_bloom_filter)
{
	struct twice_probe shape = twice_bloom_shape(2000, 0.01);
	struct twice_retouched *r = twice_retouched_create(&shape, 1);
	for (uint64_t i = 0; i < 2000; i++)
		twice_retouched_add(r, key_at(5, i));
	for (uint64_t i = 5000; i < 9000; i++)
		twice_retouched_clear(r, key_at(5, i), TWICE_RETOUCHED_RANDOM);
	ck_assert(!twice_retouched_clear(r, key_at(5, 1), TWICE_RETOUCHED_RULE_COUNT));

	struct twice_snapshot_buffer b = {.bytes = malloc(SEALED_ROOM), .size = SEALED_ROOM};
	struct twice_snapshot_sink to = {twice_snapshot_buffer_write, &b, SEALED_TAG};
	ck_assert_int_eq(twice_retouched_save_bits(r, &to), 0);
	ck_assert_uint_lt(b.used, twice_retouched_memory(r) / 30);
	struct twice_snapshot_buffer bytes = {b.bytes, b.used, 0};
	struct twice_snapshot_source from = {.read = twice_snapshot_buffer_read,
					     .ctx = &bytes,
					     .tag = SEALED_TAG,
					     .limit = b.used};
	struct twice_bloom *sent = twice_bloom_load(&from);
	ck_assert_ptr_nonnull(sent);
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert(twice_bloom_has(sent, key_at(5, i)) ==
			  twice_retouched_has(r, key_at(5, i)));
	twice_bloom_destroy(&sent);
	free(b.bytes);
	twice_retouched_destroy(&r);
}
END_TEST

UNIT("retouched", TEST(the_bits_alone_are_a_bloom_filter),
     TEST(each_rule_is_best_at_what_it_is_for), TEST(the_random_bit_is_one_of_the_keys_own),
     TEST(untouched_it_is_a_bloom_filter), TEST(sealed_bytes_come_back_or_are_refused))
