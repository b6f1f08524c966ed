/* seen_file.h - the log of sightings as bytes: the file "sightings" beside the snapshot "filter", which holds
 * what was recorded since that was written. Pure.
 *
 * All numbers are little-endian. A head, and blocks one behind the other; no padding.
 *
 * head (32)
 *   0 u64 magic "TWsight1"   8 u64 shape: which memory understands the keys (seed, options)
 *  16 u32 bytes of a key: 8 (twice_pair_pack_key) or 16 (hash.lo, hash.hi)
 *  20 u32 0                 24 u64 XXH3 of bytes 0..23
 * block: head (24), keys
 *   0 u32 magic "TWsb"       4 u32 keys (at least 1, at most 65536)
 *   8 u64 generation that the keys were recorded in
 *  16 u64 XXH3 of two numbers: XXH3 of bytes 0..15, and of the keys
 *
 * Valid     a block counts when its checksum is right and all before it do.
 * Crash     the last block may be torn: it does not count, and is written over by the next one.
 * Twice     a key may be in the snapshot too: it is recorded again. Blocks of a generation before the
 *           snapshot's are in it for certain.
 */
#ifndef CACHE_SEEN_FILE_H
#define CACHE_SEEN_FILE_H

#include "filter/hash.h"
#include "proxy/base/str.h"

#include <stdbool.h>

enum {
	SEEN_FILE_HEAD = 32,
	SEEN_BLOCK_HEAD = 24,
	SEEN_BLOCK_KEYS = 65536,
	SEEN_KEY_MOST = 16,
	SEEN_BLOCK_MOST = SEEN_BLOCK_HEAD + SEEN_BLOCK_KEYS * SEEN_KEY_MOST
};

struct seen_file {
	uint64_t shape;
	uint32_t key_bytes;
};

void seen_file_format(const struct seen_file *f, char to[SEEN_FILE_HEAD]);
/* NULL, or why this is no head of a log with keys of this shape. */
const char *seen_file_fault(struct str bytes, const struct seen_file *want);

struct seen_block {
	uint64_t generation;
	uint32_t keys;
};

/* In front of its keys, which are there already. */
void seen_block_format(const struct seen_file *f, const struct seen_block *b, char *at);
/* The bytes of the block that these begin with; 0: it is torn, damaged or none. */
size_t seen_block_parse(const struct seen_file *f, struct str bytes, struct seen_block *out);
/* Key i of a right block; packed ones are in lo. */
struct twice_key_hash seen_block_key(const struct seen_file *f, const char *at, uint32_t i);
void seen_block_put_key(const struct seen_file *f, char *at, uint32_t i, struct twice_key_hash key);

#endif
