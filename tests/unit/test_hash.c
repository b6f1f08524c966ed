/* rooms: filter
 *
 * The hash is XXH3 as published, keyed; lengths around every branch of it.
 */
#include "tests/kit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "filter/hash.h"

static struct twice_seed
seed_from(const char *bytes)
{
	struct twice_seed s;
	twice_seed_init(&s, bytes, strlen(bytes));
	return s;
}

START_TEST(same_random_bytes_same_seed)
{
	struct twice_seed a = seed_from("0123456789abcdef"), b = seed_from("0123456789abcdef");
	struct twice_seed c = seed_from("0123456789abcdeg");

	ck_assert_mem_eq(&a, &b, sizeof(a));
	ck_assert_mem_ne(&a, &c, sizeof(a));
	ck_assert(twice_seed_fingerprint(&a) == twice_seed_fingerprint(&b));
	ck_assert(twice_seed_fingerprint(&a) != twice_seed_fingerprint(&c));
}
END_TEST

START_TEST(is_xxh3_with_the_seed_as_secret)
{
	struct twice_seed s = seed_from("thirty-two random bytes, or more");
	unsigned char key[600];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(i * 151 + i / 7);
	for (size_t n = 0; n <= sizeof(key); n++) {
		struct twice_key_hash h = twice_key_hash_of(&s, key, n);
		XXH128_hash_t x = XXH3_128bits_withSecret(key, n, s.secret, sizeof(s.secret));
		ck_assert_msg(h.lo == x.low64 && h.hi == x.high64, "length %zu", n);
	}
}
END_TEST

/* A key may lie at the very edge of what can be read. */
START_TEST(nothing_outside_of_the_key_is_read)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE); /* 64 KiB on some arm64 */
	struct twice_seed s = seed_from("0123456789abcdef");
	unsigned char copy[256];
	unsigned char *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_int_eq(mprotect(p + page, page, PROT_READ | PROT_WRITE), 0);
	memset(p + page, 'x', page);
	memset(copy, 'x', sizeof(copy));
	for (size_t n = 1; n <= sizeof(copy); n++) {
		struct twice_key_hash first = twice_key_hash_of(&s, p + page, n), want;
		struct twice_key_hash last = twice_key_hash_of(&s, p + 2 * page - n, n);

		want = twice_key_hash_of(&s, copy, n);
		ck_assert(first.lo == want.lo && first.hi == want.hi);
		ck_assert(last.lo == want.lo && last.hi == want.hi);
	}
	munmap(p, 3 * page);
}
END_TEST

START_TEST(another_seed_is_another_hash)
{
	struct twice_seed a = seed_from("0123456789abcdef"), b = seed_from("fedcba9876543210");

	for (size_t n = 0; n < 40; n++) {
		const char *key = "http://example.com/a/path/that/is/long/enough";
		struct twice_key_hash x = twice_key_hash_of(&a, key, n),
				      y = twice_key_hash_of(&b, key, n);
		ck_assert(x.lo != y.lo && x.hi != y.hi);
	}
}
END_TEST

/* Counters are the worst keys that people use: near each other, mostly equal. */
START_TEST(sequential_keys_spread_evenly)
{
	enum { KEYS = 1 << 16, CELLS = 256 };
	struct twice_seed s = seed_from("0123456789abcdef");
	unsigned lo[CELLS] = {0}, hi[CELLS] = {0};
	double chi_lo = 0, chi_hi = 0, want = (double)KEYS / CELLS;

	for (uint32_t i = 0; i < KEYS; i++) {
		struct twice_key_hash h = twice_key_hash_of(&s, &i, sizeof(i));
		lo[h.lo >> 56]++;
		hi[h.hi & 255]++;
	}
	for (int i = 0; i < CELLS; i++) {
		chi_lo += (lo[i] - want) * (lo[i] - want) / want;
		chi_hi += (hi[i] - want) * (hi[i] - want) / want;
	}
	/* 255 degrees of freedom: mean 255, standard deviation 22.6 */
	ck_assert_msg(chi_lo < 255 + 4 * 22.6, "chi squared %.1f", chi_lo);
	ck_assert_msg(chi_hi < 255 + 4 * 22.6, "chi squared %.1f", chi_hi);
}
END_TEST

UNIT("hash", TEST(same_random_bytes_same_seed), TEST(is_xxh3_with_the_seed_as_secret),
     TEST(nothing_outside_of_the_key_is_read), TEST(another_seed_is_another_hash),
     TEST(sequential_keys_spread_evenly))
