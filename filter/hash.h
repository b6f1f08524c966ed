/* hash.h - bytes to 128 keyed bits, once per key, for every filter and index.
 *
 * Keys are URLs, chosen by strangers. Without the seed nobody can say which
 * bits a key will set, so nobody can aim at them: the seed is made once per
 * installation from random bytes and kept secret beside the cache.
 *
 * Answers   exactly XXH3_128bits_withSecret(key, n, seed->secret, 192), on every
 *           machine.
 * Threads   everything here is pure; a seed is constant after init.
 * Errors    none.
 */
#ifndef TWICE_HASH_H
#define TWICE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct twice_seed {
	unsigned char secret[192];
};

/* 128 independent bits. Compare both halves for "the same key". */
struct twice_key_hash {
	uint64_t lo, hi;
};

/* A key as it lies in somebody's buffer: borrowed until the call returns. */
struct twice_key_bytes {
	const void *p;
	size_t n;
};

/* Stretches n >= 16 random bytes to a seed; the same bytes give the same seed. */
void twice_seed_init(struct twice_seed *seed, const void *random, size_t n);

/* Says which seed this is without telling it: 64 bits for a file's header. */
uint64_t twice_seed_fingerprint(const struct twice_seed *seed);

struct twice_key_hash twice_key_hash_of(const struct twice_seed *seed, const void *key, size_t n);

#ifdef __cplusplus
}
#endif

#endif
