/* hash.c - how a key becomes 128 bits: XXH3 as published, compiled in place so
 * that a short key costs no call through the library.
 */
#include "filter/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void
filter_seed_init(struct filter_seed *seed, const void *random, size_t n)
{
	XXH3_generateSecret(seed->secret, sizeof(seed->secret), random, n);
}

uint64_t
filter_seed_fingerprint(const struct filter_seed *seed)
{
	static const char label[] = "twice: fingerprint of a filter seed";
	return key_hash_of(seed, label, sizeof(label)).lo;
}

struct key_hash
key_hash_of(const struct filter_seed *seed, const void *key, size_t n)
{
	XXH128_hash_t h = XXH3_128bits_withSecret(key, n, seed->secret, sizeof(seed->secret));
	return (struct key_hash){.lo = h.low64, .hi = h.high64};
}
