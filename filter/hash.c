/* hash.c - how a key becomes 128 bits: XXH3 as published, compiled in place so that a
 * short key costs no call through the library.
 *
 * The published code for 17 to 128 bytes, where URLs live, branches on the length, which
 * changes from key to key; the misses and what they throw away cost a first sighting 7%.
 * So there is a second way to the same bits, without branches, for processors that can
 * load part of a vector: test_hash.c holds it against the first for every length.
 */
#include "filter/hash.h"

#include <assert.h>
#include <stdbool.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void
twice_seed_init(struct twice_seed *seed, const void *random, size_t n)
{
	assert(random && n >= 16); /* else the seed would be the published one */
	XXH3_generateSecret(seed->secret, sizeof(seed->secret), random, n);
}

uint64_t
twice_seed_fingerprint(const struct twice_seed *seed)
{
	static const char label[] = "twice: fingerprint of a filter seed";
	return twice_key_hash_of(seed, label, sizeof(label)).lo;
}

#if defined(__x86_64__)

#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

/* Constants of the XXH3 specification. */
#define PRIME64_1 0x9E3779B185EBCA87ULL
#define PRIME64_2 0xC2B2AE3D27D4EB4FULL
#define PRIME64_4 0x85EBCA77C2B2AE63ULL

/* Old processors with these instructions slow down when they meet them; those that have
 * the later AVX512VBMI do not. */
static inline bool
is_wide(void)
{
	return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static inline uint64_t
avalanche(uint64_t h)
{
	h ^= h >> 37;
	h *= 0x165667919E3779F9ULL;
	return h ^ h >> 32;
}

/* Eight times: both halves of the 128-bit product, XORed. */
WIDE static inline __m512i
fold(__m512i a, __m512i b)
{
	__m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
	__m512i low32 = _mm512_set1_epi64(0xffffffff), ll = _mm512_mul_epu32(a, b);
	__m512i lh = _mm512_mul_epu32(a, b_high), hl = _mm512_mul_epu32(a_high, b);
	__m512i hh = _mm512_mul_epu32(a_high, b_high);
	__m512i t = _mm512_add_epi64(hl, _mm512_srli_epi64(ll, 32));
	__m512i u = _mm512_add_epi64(lh, _mm512_and_si512(t, low32));
	__m512i low = _mm512_or_si512(_mm512_slli_epi64(u, 32), _mm512_and_si512(ll, low32));
	__m512i high = _mm512_add_epi64(_mm512_add_epi64(hh, _mm512_srli_epi64(t, 32)),
					_mm512_srli_epi64(u, 32));

	return _mm512_xor_si512(low, high);
}

/* XXH3_len_17to128_128b with seed 0. Round r takes the 16 bytes at 16 r from the start and
 * as many from the end, 32 of the secret, and exists when r = 0 or n > 32 r; all four are
 * worked out side by side, and what does not exist is zero. Nothing outside of the key
 * is touched: the loads are masked. */
WIDE static struct twice_key_hash
hash_17_to_128(const unsigned char *secret, const unsigned char *key, size_t n)
{
	unsigned have = n < 64 ? (unsigned)n : 64;
	const void *last_64 = (const void *)((uintptr_t)key + n - 64); /* may begin before key */
	__m512i head = _mm512_maskz_loadu_epi8(~0ULL >> (64 - have), key);
	__m512i tail = _mm512_maskz_loadu_epi8(~0ULL << (64 - have), last_64);
	__m512i s0 = _mm512_loadu_si512(secret), s1 = _mm512_loadu_si512(secret + 64);

	/* lane r of each: what round r needs */
	tail = _mm512_shuffle_i64x2(tail, tail, 0x1b);
	__m512i x = _mm512_xor_si512(head, _mm512_shuffle_i64x2(s0, s1, 0x88));
	__m512i y = _mm512_xor_si512(tail, _mm512_shuffle_i64x2(s0, s1, 0xdd));
	__m512i product = fold(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
	__m512i sum = _mm512_add_epi64(_mm512_unpacklo_epi64(tail, head),
				       _mm512_unpackhi_epi64(tail, head));

	unsigned last = (unsigned)(n - 1) / 32;
	__mmask8 exists = (__mmask8)((4u << 2 * last) - 1);
	product = _mm512_maskz_mov_epi64(exists, product);
	sum = _mm512_maskz_mov_epi64(exists, sum);

	__m128i acc = _mm_set_epi64x(0, (long long)(n * PRIME64_1));
#define ROUND(r)                                                           \
	acc = _mm_add_epi64(acc, _mm512_extracti64x2_epi64(product, (r))); \
	acc = _mm_xor_si128(acc, _mm512_extracti64x2_epi64(sum, (r)))
	ROUND(3);
	ROUND(2);
	ROUND(1);
	ROUND(0);
#undef ROUND
	uint64_t lo = (uint64_t)_mm_cvtsi128_si64(acc), hi = (uint64_t)_mm_extract_epi64(acc, 1);
	return (struct twice_key_hash){
		.lo = avalanche(lo + hi),
		.hi = 0 - avalanche(lo * PRIME64_1 + hi * PRIME64_4 + n * PRIME64_2),
	};
}

#else

static inline bool
is_wide(void)
{
	return false;
}

static struct twice_key_hash
hash_17_to_128(const unsigned char *secret, const unsigned char *key, size_t n)
{
	(void)secret, (void)key, (void)n;
	return (struct twice_key_hash){0};
}

#endif

/* Apart, so that the other way need not save the registers that this one wants. */
static struct twice_key_hash __attribute__((noinline))
hash_as_published(const unsigned char *secret, const void *key, size_t n)
{
	XXH128_hash_t h = XXH3_128bits_withSecret(key, n, secret, sizeof(struct twice_seed));

	return (struct twice_key_hash){.lo = h.low64, .hi = h.high64};
}

struct twice_key_hash
twice_key_hash_of(const struct twice_seed *seed, const void *key, size_t n)
{
	if (n - 17 <= 128 - 17 && is_wide())
		return hash_17_to_128(seed->secret, key, n);
	return hash_as_published(seed->secret, key, n);
}
