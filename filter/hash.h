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
#ifndef FILTER_HASH_H
#define FILTER_HASH_H

#include <stddef.h>
#include <stdint.h>

struct filter_seed {
	unsigned char secret[192];
};

/* 128 independent bits. Compare both halves for "the same key". */
struct key_hash {
	uint64_t lo, hi;
};

/* A key as it lies in somebody's buffer: borrowed until the call returns. */
struct key_bytes {
	const void *p;
	size_t n;
};

/* Stretches n >= 16 random bytes to a seed; the same bytes give the same seed. */
void filter_seed_init(struct filter_seed *seed, const void *random, size_t n);

/* Says which seed this is without telling it: 64 bits for a file's header. */
uint64_t filter_seed_fingerprint(const struct filter_seed *seed);

struct key_hash key_hash_of(const struct filter_seed *seed, const void *key, size_t n);

#endif
